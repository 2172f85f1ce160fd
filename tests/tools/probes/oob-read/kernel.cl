// SPDX-License-Identifier: MIT
// kernel.cl - reads far behind its buffer.

__kernel void read_far(__global const int* src, __global int* dst, int far) {
  const int i = get_global_id(0);
  dst[i] = src[i + far];
}
