// SPDX-License-Identifier: MIT
// kernel.cl - F(2, 3) of Winograd in half: two neighbours of a convolution of three weights, by
// four products. The values are small integers, so every step is exact.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel void winograd_2_3(__global const half* src, __global const half* w, __global half* dst) {
  const int i = get_global_id(0) * 2;
  const half d0 = src[i], d1 = src[i + 1], d2 = src[i + 2], d3 = src[i + 3];
  const half g0 = w[0], g1 = w[1], g2 = w[2];
  const half2 sides = (half2)(g0 + g1 + g2, g0 - g1 + g2) * (half2)(0.5f, 0.5f);
  const half m0 = (d0 - d2) * g0;
  const half m1 = (d1 + d2) * sides.x;
  const half m2 = (d2 - d1) * sides.y;
  const half m3 = (d1 - d3) * g2;
  dst[i] = m0 + m1 + m2;
  dst[i + 1] = m1 - m2 - m3;
}
