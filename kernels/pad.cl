// SPDX-License-Identifier: MIT
// pad.cl - dst = src with elements before and after it along each axis
//
//   src   1 2 3 4    PAD_MODE 0  constant   0 0|1 2 3 4|0 0 0    `fill`
//                             1  edge       1 1|1 2 3 4|4 4 4    the nearest element
//                             2  reflect    3 2|1 2 3 4|3 2 1    as in a mirror on the edge's middle
//                             3  wrap       3 4|1 2 3 4|1 2 3    from the other end
//
// The host leaves out axes of one element and merges axes that are not padded. At most four are
// left: that of a row, the rows, one along z, and `planes` of the last, through which each item
// loops. Of each axis the kernel has the extent in src and the elements before it.
//
// Elements are moved as integers, so every bit stays. Builds alone, as is (float) or with
// -DCLAM_F16 (half: ushort in place of uint). Every byte offset fits an int. Buffers start on
// multiples of 16 bytes, as OpenCL's do. dst is not src.
//
//@define CLAM_F16  off                            elements are halves
//@define PAD_MODE  0 {0,1,2,3}                    what is added, see above
//@define PAD_UNIT  1 {1,2,4,8}                    elements that an item moves
//@define PAD_LX    16 {1,2,4,8,16,32,64,128,256}  work-items of a group along a row
//@define PAD_LY    4 {1,2,4,8,16,32,64,128,256}   and rows

//@shared options
#ifndef PAD_MODE
#define PAD_MODE 0
#endif
#if PAD_MODE < 0 || PAD_MODE > 3
#error "pad.cl: PAD_MODE must be 0 to 3"
#endif
#ifndef PAD_UNIT
#define PAD_UNIT 1
#endif
#if PAD_UNIT < 1 || PAD_UNIT > 8 || PAD_UNIT & (PAD_UNIT - 1)
#error "pad.cl: PAD_UNIT must be a power of two from 1 to 8"
#endif
#ifndef PAD_LX
#define PAD_LX 16
#endif
#if PAD_LX < 1 || PAD_LX > 256 || PAD_LX & (PAD_LX - 1)
#error "pad.cl: PAD_LX must be a power of two from 1 to 256"
#endif
#ifndef PAD_LY
#define PAD_LY 4
#endif
#if PAD_LY < 1 || PAD_LY > 256 || PAD_LY & (PAD_LY - 1)
#error "pad.cl: PAD_LY must be a power of two from 1 to 256"
#endif
//@end

#define UNIT PAD_UNIT

//@shared unit
// ---- units: what an item moves at a time ----

#ifdef CLAM_F16
typedef ushort T;
#if UNIT == 1
typedef ushort Unit;
#elif UNIT == 2
typedef uint Unit;
#elif UNIT == 4
typedef uint2 Unit;
#else
typedef uint4 Unit;
#endif
#else
typedef uint T;
#if UNIT == 1
typedef uint Unit;
#elif UNIT == 2
typedef uint2 Unit;
#elif UNIT == 4
typedef uint4 Unit;
#else
#error "UNIT must be 1, 2 or 4"
#endif
#endif

#define SIZE ((uint)sizeof(T))

// A 64-bit base and an unsigned byte offset cost Mali compilers the least.
#define AT(type, p, at) (*(__global type*)((__global char*)(p) + (at)))
#define FROM(type, p, at) (*(__global const type*)((__global const char*)(p) + (at)))
//@end

// ---- places ----

// Where along an axis of n elements the i-th one of dst lies. A constant may lie outside.
int place(int i, int before, int n) {
  const int at = i - before;
#if PAD_MODE == 1
  return clamp(at, 0, n - 1);
#elif PAD_MODE == 2
  return at < 0 ? -at : at < n ? at : 2 * (n - 1) - at;
#elif PAD_MODE == 3
  return at < 0 ? at + n : at < n ? at : at - n;
#else
  return at;
#endif
}

int is_inside(int at, int n) { return PAD_MODE != 0 || (uint)at < (uint)n; }

// ---- kernels ----

// A unit of a row of dst an item, in each plane. A unit lies in src, or outside, as a whole.
//@kernel pad_rows
//@arg    0 src          in  T[...]
//@arg    1 dst          out T[...]
//@arg    2 fill         int         the bits of a float, or of a half twice
//@arg    3 n            int         elements of a row of dst
//@arg    4 rows         int         of dst
//@arg    5 planes       int         of dst
//@arg    6 src_n        int         elements of a row of src
//@arg    7 before       int         elements before them
//@arg    8 src_rows     int
//@arg    9 before_rows  int
//@arg   10 src_row      int         elements of src from a row to the next
//@arg   11 dst_row      int         and of dst
//@arg   12 src_zs       int         extent of src along z
//@arg   13 before_zs    int
//@arg   14 src_z        int
//@arg   15 dst_z        int
//@arg   16 src_planes   int
//@arg   17 before_planes int
//@arg   18 src_plane    int
//@arg   19 dst_plane    int
//@global ceil(n/PAD_UNIT/PAD_LX)*PAD_LX, ceil(rows/PAD_LY)*PAD_LY, z
//@local  PAD_LX, PAD_LY
//@needs  n >= 1, rows >= 1, planes >= 1, src_n >= 1, src_rows >= 1, src_zs >= 1, src_planes >= 1
//@needs  n % PAD_UNIT == 0, src_n % PAD_UNIT == 0, before % PAD_UNIT == 0, so the steps
//@needs  PAD_UNIT == 1 || PAD_MODE == 0 || PAD_MODE == 3 || n == src_n
//@needs  PAD_MODE 2: less is added on a side than src has; 3: no more
__kernel __attribute__((reqd_work_group_size(PAD_LX, PAD_LY, 1))) void pad_rows(
    __global const T* src, __global T* dst, int fill, int n, int rows, int planes, int src_n,
    int before, int src_rows, int before_rows, int src_row, int dst_row, int src_zs, int before_zs,
    int src_z, int dst_z, int src_planes, int before_planes, int src_plane, int dst_plane) {
  const int i = get_global_id(0) * UNIT, row = get_global_id(1), z = get_global_id(2);
  if (i >= n || row >= rows) return;
  const int at = place(i, before, src_n), at_row = place(row, before_rows, src_rows),
            at_z = place(z, before_zs, src_zs);
  const int inside =
      is_inside(at, src_n) && is_inside(at_row, src_rows) && is_inside(at_z, src_zs);
  const uint from = at_z * src_z + at_row * src_row + at;
  uint to = (z * dst_z + row * dst_row + i) * SIZE;
  for (int plane = 0; plane < planes; ++plane) {
    const int at_plane = place(plane, before_planes, src_planes);
    Unit unit = (Unit)((uint)fill);
    if (inside && is_inside(at_plane, src_planes)) {
      unit = FROM(Unit, src, (from + at_plane * src_plane) * SIZE);
    }
    AT(Unit, dst, to) = unit;
    to += dst_plane * SIZE;
  }
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops pad_rows
//@loop   planes  over the planes
