// SPDX-License-Identifier: MIT
// kernel.cl - loads and stores through pointers to half, alone and in vectors.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel void copy_half(__global const half* src, __global half* dst, __global half4* dst4) {
  const int i = get_global_id(0);
  dst[i] = src[i];
  if (i % 4 == 0) dst4[i / 4] = *(__global const half4*)(src + i);
}
