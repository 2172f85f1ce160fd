// SPDX-License-Identifier: MIT
// half_log.cl - log() of half: legal wherever there is cl_khr_fp16, and the end of the process that
// builds it with Mesa 25.0's rusticl, on every GPU that it drives.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel void half_log(__global const half* src, __global half* dst) {
  const size_t i = get_global_id(0);
  dst[i] = log(src[i]);
}
