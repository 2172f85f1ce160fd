// SPDX-License-Identifier: MIT
// kernel.cl - the image's pixels, row by row.

__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;

__kernel void copy_image(__read_only image2d_t image, __global float* dst) {
  const int x = get_global_id(0);
  const int y = get_global_id(1);
  const float4 pixel = read_imagef(image, nearest, (int2)(x, y));
  vstore4(pixel, y * get_global_size(0) + x, dst);
}
