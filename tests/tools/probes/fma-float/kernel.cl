// SPDX-License-Identifier: MIT
// kernel.cl - a * b + c that is 0 when the product is rounded first, and 2^-24 when it is not.

__kernel void fuse(__global const float* a, __global const float* b, __global const float* c,
                   __global float* dst) {
  const int i = get_global_id(0);
  const float exact = fma(a[i], b[i], c[i]);
  dst[i] = exact;
}
