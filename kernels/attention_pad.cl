// SPDX-License-Identifier: MIT
// attention_pad.cl - q, k or v of attention.cl into dense rows of whole, aligned vectors
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). src has a row
// stride (ld), a head stride, a batch stride and a first element (off), in elements; every byte
// offset fits an int. dst overlaps no src.
//
//@define CLAM_F16    off                   store tensors as half
//@define ATT_TILES   4 {1,2,4}             vectors of a row in a group
//@define ATT_LANES   16 {4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64}  rows of a group

//@shared options
#ifndef ATT_TILES
#define ATT_TILES 4
#endif
#if ATT_TILES != 1 && ATT_TILES != 2 && ATT_TILES != 4
#error "attention_pad.cl: ATT_TILES must be 1, 2 or 4"
#endif
#ifndef ATT_LANES
#define ATT_LANES 16
#endif
#if ATT_LANES != 4 && ATT_LANES != 8 && ATT_LANES != 12 && \
    ATT_LANES != 16 && ATT_LANES != 20 && ATT_LANES != 24 && \
    ATT_LANES != 28 && ATT_LANES != 32 && ATT_LANES != 36 && \
    ATT_LANES != 40 && ATT_LANES != 44 && ATT_LANES != 48 && \
    ATT_LANES != 52 && ATT_LANES != 56 && ATT_LANES != 60 && \
    ATT_LANES != 64
#error "attention_pad.cl: ATT_LANES must be 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60 or 64"
#endif
//@end

//@shared element
#ifdef CLAM_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half T;
typedef half4 T4;
#else
typedef float T;
typedef float4 T4;
#endif

#define SIZE ((uint)sizeof(T))
//@end

#define GROUP __attribute__((reqd_work_group_size(ATT_TILES, ATT_LANES, 1)))

// One work-item four elements of a row: zeros where src has none.
//@kernel attention_pad
//@arg    0  src     in   T[off + batch*stride]
//@arg    1  dst     out  T[batch*heads*padded*ceil(cols/4)*4]
//@layout dst[((batch*heads + h)*padded + r)*ceil(cols/4)*4 + i] = src[off + batch*stride + h*head_step + r*ld + i], else 0
//@arg    2  heads   int
//@arg    3  rows    int
//@arg    4  cols    int      elements of a row
//@arg    5  padded  int      rows of a head of dst
//@arg    6  ld      int
//@arg    7  head_step int    from a head to the next
//@arg    8  stride  int      from a batch item to the next
//@arg    9  off     int
//@global ceil(ceil(cols/4)/ATT_TILES)*ATT_TILES ceil(padded/ATT_LANES)*ATT_LANES batch*heads
//@local  ATT_TILES ATT_LANES 1
//@needs  heads >= 1, rows >= 1, cols >= 1, padded >= rows
__kernel GROUP void attention_pad(__global const T* src, __global T* dst, int heads, int rows,
                                  int cols, int padded, int ld, int head_step, int stride,
                                  int off) {
  const int i = get_global_id(0), row = get_global_id(1), z = get_global_id(2);
  const int vectors = (cols + 3) / 4, end = row < rows ? cols - 4 * i : 0;
  if (i >= vectors || row >= padded) return;
  // Elements from `end` on are neither read nor addressed.
  T4 v = (T4)((T)0);
  if (end > 0) {
    const int head = off + z / heads * stride + z % heads * head_step;
    __global const T* p = src + (head + row * ld + 4 * i);
    v.x = p[0];
    if (end > 1) v.y = p[1];
    if (end > 2) v.z = p[2];
    if (end > 3) v.w = p[3];
  }
  ((__global T4*)dst)[(z * padded + row) * vectors + i] = v;
}
