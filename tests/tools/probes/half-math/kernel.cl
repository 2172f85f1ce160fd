// SPDX-License-Identifier: MIT
// kernel.cl - sqrt and exp of halves, and the size of their type.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel void half_functions(__global const half* src, __global half* roots, __global half* powers,
                             __global int* sizes) {
  const int i = get_global_id(0);
  const half x = src[i];
  roots[i] = sqrt(x);
  powers[i] = exp(x * (half)0.0f);
  sizes[i] = sizeof(sqrt(x)) * 16 + sizeof(exp(x));
}
