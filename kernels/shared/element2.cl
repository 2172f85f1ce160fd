// SPDX-License-Identifier: MIT
// element2.cl - how a tensor stores an element, T, of SIZE bytes, and two or four of them.

#ifdef CLAM_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half T;
typedef half2 T2;
typedef half4 T4;
#else
typedef float T;
typedef float2 T2;
typedef float4 T4;
#endif

#define SIZE ((uint)sizeof(T))
