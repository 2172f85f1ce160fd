// SPDX-License-Identifier: MIT
// kernel.cl - twelve buffers, each with digits of its own in the sum.

__kernel void add_buffers(__global const int* a, __global const int* b, __global const int* c,
                          __global const int* d, __global const int* e, __global const int* f,
                          __global const int* g, __global const int* h, __global const int* j,
                          __global const int* k, __global const int* l, __global int* dst) {
  const int i = get_global_id(0);
  dst[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i] + j[i] + k[i] + l[i];
}
