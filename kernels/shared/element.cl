// SPDX-License-Identifier: MIT
// element.cl - how a tensor stores an element, T, of SIZE bytes, and four of them.

#ifdef CLAM_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half T;
typedef half4 T4;
#else
typedef float T;
typedef float4 T4;
#endif

#define SIZE ((uint)sizeof(T))
