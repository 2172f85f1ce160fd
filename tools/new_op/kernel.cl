// SPDX-License-Identifier: MIT
// new_op.cl - dst[i] = factor * src[i]
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). The product is
// float, rounded once to T.
//
//@define CLAM_F16    off                    store tensors as half
//@define NEW_OP_WG  64 {16,32,64,128,256}  work-items of a group

//@shared options
#ifndef NEW_OP_WG
#define NEW_OP_WG 64
#endif
#if NEW_OP_WG < 16 || NEW_OP_WG > 256 || NEW_OP_WG & (NEW_OP_WG - 1)
#error "new_op.cl: NEW_OP_WG must be a power of two from 16 to 256"
#endif
//@end

#ifdef CLAM_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half T;
#else
typedef float T;
#endif

// One work-item per element.
//@kernel new_op_plain
//@arg    0 src    in  T[n]
//@arg    1 dst    out T[n]  may be src
//@arg    2 n      int
//@arg    3 factor float
//@global ceil(n/NEW_OP_WG)*NEW_OP_WG
//@local  NEW_OP_WG
//@needs  n >= 1
__attribute__((reqd_work_group_size(NEW_OP_WG, 1, 1))) __kernel void new_op_plain(
    __global const T* src, __global T* dst, int n, float factor) {
  const int i = get_global_id(0);
  if (i < n) dst[i] = (T)((float)src[i] * factor);
}
