// SPDX-License-Identifier: MIT
// floor.cl - what no plan is quicker than: a copy of as many bytes, and a launch.

// An item copies 16 bytes.
__kernel void floor_copy(__global const uint4* src, __global uint4* dst, int n) {
  const int i = get_global_id(0);
  if (i < n) dst[i] = src[i];
}

__kernel void floor_launch(__global int* dst) { dst[get_global_id(0)] = get_global_id(0); }
