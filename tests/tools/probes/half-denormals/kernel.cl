// SPDX-License-Identifier: MIT
// kernel.cl - doubles halves below 2^-14, by a sum and by a product.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel void twice(__global const half* src, __global half* sums, __global half* products) {
  const int i = get_global_id(0);
  const half x = src[i];
  sums[i] = x + x;
  products[i] = x * (half)2.0f;
}
