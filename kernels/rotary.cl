// SPDX-License-Identifier: MIT
// rotary.cl - dst = src * cos + rotate(src) * sin, for rows of d elements that share tables
//
//   dst[m,i,j] = src[m,i,j] * cos[i,j] + rotate(src)[m,i,j] * sin[i,j]    j < rotary_dim
//   dst[m,i,j] = src[m,i,j], bit for bit                                  rotary_dim <= j < d
//
//   rotary_adjacent  rotate(t)[2j] = -t[2j+1]   rotate(t)[2j+1] = t[2j]
//   rotary_halves    rotate(t)[j] = -t[j+half]  rotate(t)[j+half] = t[j]  half = rotary_dim / 2
//
// Matrix m is one of batch * heads, row i one of n positions. Element [m,i,j] of src lies at
// src_offset + m * src_head + i * src_ld + j, so heads may be pieces of longer rows; dst likewise.
//
//   row of src, rotary_dim = 8, d = 12      0 1 2 3   4 5 6 7   8 9 10 11
//   item of rotary_adjacent, UNIT = 4       0......   1......   2........   the last is a copy
//   item of rotary_halves, UNIT = 4         0......   0......   1........
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Products and
// sum are float, rounded to T once. Every byte offset fits an int. Buffers start on multiples of 16
// bytes, as OpenCL's do. dst may be src; else no output overlaps an input.
//
//@define CLAM_F16      off                            store tensors as half
//@define ROTARY_UNIT   1 {1,4}                        elements that an item loads at a time
//@define ROTARY_HEADS  1 {1,2,4}                      matrices of an item, for one load of tables
//@define ROTARY_LX     16 {1,2,4,8,16,32,64,128,256}  work-items of a group along a row
//@define ROTARY_LY     4 {1,2,4,8,16,32,64,128,256}   and rows

//@shared options
#ifndef ROTARY_UNIT
#define ROTARY_UNIT 1
#endif
#if ROTARY_UNIT != 1 && ROTARY_UNIT != 4
#error "rotary.cl: ROTARY_UNIT must be 1 or 4"
#endif
#ifndef ROTARY_HEADS
#define ROTARY_HEADS 1
#endif
#if ROTARY_HEADS != 1 && ROTARY_HEADS != 2 && ROTARY_HEADS != 4
#error "rotary.cl: ROTARY_HEADS must be 1, 2 or 4"
#endif
#ifndef ROTARY_LX
#define ROTARY_LX 16
#endif
#if ROTARY_LX < 1 || ROTARY_LX > 256 || ROTARY_LX & (ROTARY_LX - 1)
#error "rotary.cl: ROTARY_LX must be a power of two from 1 to 256"
#endif
#ifndef ROTARY_LY
#define ROTARY_LY 4
#endif
#if ROTARY_LY < 1 || ROTARY_LY > 256 || ROTARY_LY & (ROTARY_LY - 1)
#error "rotary.cl: ROTARY_LY must be a power of two from 1 to 256"
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

//@shared bits
#ifdef CLAM_F16
typedef ushort Bits;
typedef ushort2 Bits2;
typedef ushort4 Bits4;
#else
typedef uint Bits;
typedef uint2 Bits2;
typedef uint4 Bits4;
#endif
//@end

#define GROUP __attribute__((reqd_work_group_size(ROTARY_LX, ROTARY_LY, 1)))

// ---- units: what an item loads, computes and stores at a time ----

// A 64-bit base and an unsigned byte offset cost Mali compilers the least.
#if ROTARY_UNIT == 4
//@shared unit_of_four
typedef float4 Unit;

float4 load(__global const T* p, uint at) {
  const T4 v = *(__global const T4*)((__global const char*)p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store(float4 v, __global T* p, uint at) {
  *(__global T4*)((__global char*)p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}
//@end

void copy(__global const T* src, uint from, __global T* dst, uint to) {
  *(__global Bits4*)((__global char*)dst + to) =
      *(__global const Bits4*)((__global const char*)src + from);
}
#else
//@shared unit_of_one
typedef float Unit;

float load(__global const T* p, uint at) {
  return (float)*(__global const T*)((__global const char*)p + at);
}

void store(float v, __global T* p, uint at) { *(__global T*)((__global char*)p + at) = (T)v; }
//@end

void copy(__global const T* src, uint from, __global T* dst, uint to) {
  *(__global Bits*)((__global char*)dst + to) =
      *(__global const Bits*)((__global const char*)src + from);
}
#endif

// ---- kernels ----

// A unit behind the rotated elements, in each matrix.
void copy_rest(__global const T* src, uint from, uint src_step, __global T* dst, uint to,
               uint dst_step) {
  for (int m = 0; m < ROTARY_HEADS; ++m) copy(src, from + m * src_step, dst, to + m * dst_step);
}

// An item rotates a vector of two pairs, or a pair, or copies a unit.
//@kernel rotary_adjacent
//@arg    0 src        in  T[src_offset+(matrices-1)*src_head+(n-1)*src_ld+d]
//@arg    1 cos_table  in  T[n*d]      columns past rotary_dim are not read
//@arg    2 sin_table  in  T[n*d]
//@arg    3 dst        out T[dst_offset+(matrices-1)*dst_head+(n-1)*dst_ld+d]  may be src, if it lies as src does
//@arg    4 n          int             positions
//@arg    5 d          int             elements of a row
//@arg    6 rotary_dim int             of them rotated
//@arg    7 items      int             of a row: rotary_dim/max(2,UNIT) + (d-rotary_dim)/UNIT
//@arg    8 src_ld     int             from a row of src to the next, in elements
//@arg    9 src_head   int             from a matrix to the next
//@arg   10 src_offset int             first element
//@arg   11 dst_ld     int
//@arg   12 dst_head   int
//@arg   13 dst_offset int
//@global ceil(items/ROTARY_LX)*ROTARY_LX, ceil(n/ROTARY_LY)*ROTARY_LY, matrices/ROTARY_HEADS
//@local  ROTARY_LX, ROTARY_LY
//@needs  n >= 1, d >= 2, rotary_dim >= 2, rotary_dim <= d, rotary_dim % 2 == 0
//@needs  src_ld % ROTARY_UNIT == 0, src_head % ROTARY_UNIT == 0, src_offset % ROTARY_UNIT == 0
//@needs  dst_ld % ROTARY_UNIT == 0, dst_head % ROTARY_UNIT == 0, dst_offset % ROTARY_UNIT == 0
//@needs  src_ld >= d, dst_ld >= d, d % ROTARY_UNIT == 0, rotary_dim % ROTARY_UNIT == 0, matrices % ROTARY_HEADS == 0
__kernel GROUP void rotary_adjacent(__global const T* src, __global const T* cos_table,
                                    __global const T* sin_table, __global T* dst, int n, int d,
                                    int rotary_dim, int items, int src_ld, int src_head,
                                    int src_offset, int dst_ld, int dst_head, int dst_offset) {
  const uint x = get_global_id(0), i = get_global_id(1), z = get_global_id(2);
  if (x >= (uint)items || i >= (uint)n) return;
  const uint width = ROTARY_UNIT == 4 ? 4 : 2, rotated = (uint)rotary_dim / width;
  const uint in_row = x < rotated ? x * width : rotary_dim + (x - rotated) * ROTARY_UNIT;
  const uint m0 = z * ROTARY_HEADS, place = (i * d + in_row) * SIZE;
  const uint from = (src_offset + m0 * src_head + i * src_ld + in_row) * SIZE;
  const uint to = (dst_offset + m0 * dst_head + i * dst_ld + in_row) * SIZE;
  const uint src_step = src_head * SIZE, dst_step = dst_head * SIZE;
  if (x >= rotated) {
    copy_rest(src, from, src_step, dst, to, dst_step);
    return;
  }
#if ROTARY_UNIT == 4
  const float4 c = load(cos_table, place), s = load(sin_table, place);
  for (int m = 0; m < ROTARY_HEADS; ++m) {
    const float4 t = load(src, from + m * src_step);
    store(fma((float4)(-t.y, t.x, -t.w, t.z), s, t * c), dst, to + m * dst_step);
  }
#else
  const float c0 = load(cos_table, place), s0 = load(sin_table, place);
  const float c1 = load(cos_table, place + SIZE), s1 = load(sin_table, place + SIZE);
  for (int m = 0; m < ROTARY_HEADS; ++m) {
    const float a = load(src, from + m * src_step), b = load(src, from + m * src_step + SIZE);
    store(fma(-b, s0, a * c0), dst, to + m * dst_step);
    store(fma(a, s1, b * c1), dst, to + m * dst_step + SIZE);
  }
#endif
}

// An item rotates a unit of the first half with its partner in the second, or copies a unit.
//@kernel rotary_halves
//@arg    0 src        in  T[src_offset+(matrices-1)*src_head+(n-1)*src_ld+d]
//@arg    1 cos_table  in  T[n*d]      columns past rotary_dim are not read
//@arg    2 sin_table  in  T[n*d]
//@arg    3 dst        out T[dst_offset+(matrices-1)*dst_head+(n-1)*dst_ld+d]  may be src, if it lies as src does
//@arg    4 n          int             positions
//@arg    5 d          int             elements of a row
//@arg    6 rotary_dim int             of them rotated
//@arg    7 items      int             of a row: rotary_dim/2/UNIT + (d-rotary_dim)/UNIT
//@arg    8 src_ld     int             from a row of src to the next, in elements
//@arg    9 src_head   int             from a matrix to the next
//@arg   10 src_offset int             first element
//@arg   11 dst_ld     int
//@arg   12 dst_head   int
//@arg   13 dst_offset int
//@global ceil(items/ROTARY_LX)*ROTARY_LX, ceil(n/ROTARY_LY)*ROTARY_LY, matrices/ROTARY_HEADS
//@local  ROTARY_LX, ROTARY_LY
//@needs  n >= 1, d >= 2, rotary_dim >= 2, rotary_dim <= d, rotary_dim % 2 == 0
//@needs  src_ld % ROTARY_UNIT == 0, src_head % ROTARY_UNIT == 0, src_offset % ROTARY_UNIT == 0
//@needs  dst_ld % ROTARY_UNIT == 0, dst_head % ROTARY_UNIT == 0, dst_offset % ROTARY_UNIT == 0
//@needs  src_ld >= d, dst_ld >= d, d % ROTARY_UNIT == 0, rotary_dim / 2 % ROTARY_UNIT == 0, matrices % ROTARY_HEADS == 0
__kernel GROUP void rotary_halves(__global const T* src, __global const T* cos_table,
                                  __global const T* sin_table, __global T* dst, int n, int d,
                                  int rotary_dim, int items, int src_ld, int src_head,
                                  int src_offset, int dst_ld, int dst_head, int dst_offset) {
  const uint x = get_global_id(0), i = get_global_id(1), z = get_global_id(2);
  if (x >= (uint)items || i >= (uint)n) return;
  const uint rotated = (uint)rotary_dim / (2 * ROTARY_UNIT), other = rotary_dim / 2 * SIZE;
  const uint in_row = x < rotated ? x * ROTARY_UNIT : rotary_dim + (x - rotated) * ROTARY_UNIT;
  const uint m0 = z * ROTARY_HEADS, place = (i * d + in_row) * SIZE;
  const uint from = (src_offset + m0 * src_head + i * src_ld + in_row) * SIZE;
  const uint to = (dst_offset + m0 * dst_head + i * dst_ld + in_row) * SIZE;
  const uint src_step = src_head * SIZE, dst_step = dst_head * SIZE;
  if (x >= rotated) {
    copy_rest(src, from, src_step, dst, to, dst_step);
    return;
  }
  const Unit c0 = load(cos_table, place), s0 = load(sin_table, place);
  const Unit c1 = load(cos_table, place + other), s1 = load(sin_table, place + other);
  for (int m = 0; m < ROTARY_HEADS; ++m) {
    const Unit a = load(src, from + m * src_step), b = load(src, from + m * src_step + other);
    store(fma(-b, s0, a * c0), dst, to + m * dst_step);
    store(fma(a, s1, b * c1), dst, to + m * dst_step + other);
  }
}
