// SPDX-License-Identifier: MIT
// loose.cl - four elements at an address that is a multiple of one alone. Needs T and T4.

// Four elements from any element on. Mesa's compilers for Mali load or store them in one
// instruction. vload4 and vstore4 take four, and their addresses.
typedef struct __attribute__((packed, aligned(sizeof(T)))) {
  T4 of;
} Loose4;
