// SPDX-License-Identifier: MIT
// kernel.cl - built, not launched.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel void read_volume(__read_only image3d_t volume, __global half4* dst) {
  const int i = get_global_id(0);
  dst[i] = read_imageh(volume, nearest, (int4)(i, 0, 0, 0));
}
