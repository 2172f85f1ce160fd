// SPDX-License-Identifier: MIT
// kernel.cl - vectors of three lie three apart in memory, unlike the type float3.

__kernel void copy_threes(__global const float* src, __global float* dst) {
  const int i = get_global_id(0);
  vstore3(vload3(i, src), i, dst);
}
