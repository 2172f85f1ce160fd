// SPDX-License-Identifier: MIT
// kernel.cl - says a number that the compiler does not know.

__kernel void speak(__global const int* value) { printf("clam %d ends\n", value[0]); }
