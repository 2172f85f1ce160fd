// SPDX-License-Identifier: MIT
// slice.cl - dst = every step-th element of src from a first one on, along each axis
//
//   dst[i, j, ...] = src[start_0 + i * step_0, start_1 + j * step_1, ...]
//
//   src   0 1 2 3 4 5 6 7 8 9     start 9, step -2:   dst   9 7 5 3 1
//
// The host leaves out axes of one element and merges axes that lie in src as one. At most four are
// left: that of a row, the rows, one along z, and `planes` of the last, through which each item
// loops. Steps may be negative, or 0: then an element is repeated.
//
// Elements are moved as integers, so every bit stays. Builds alone, as is (float) or with
// -DCLAM_F16 (half: ushort in place of uint). Every byte offset fits an int. Buffers start on
// multiples of 16 bytes, as OpenCL's do. dst is not src.
//
//@define CLAM_F16    off                            elements are halves
//@define SLICE_UNIT  1 {1,2,4,8}                    elements that an item moves
//@define SLICE_LX    16 {1,2,4,8,16,32,64,128,256}  work-items of a group along a row
//@define SLICE_LY    4 {1,2,4,8,16,32,64,128,256}   and rows

//@shared options
#ifndef SLICE_UNIT
#define SLICE_UNIT 1
#endif
#if SLICE_UNIT < 1 || SLICE_UNIT > 8 || SLICE_UNIT & (SLICE_UNIT - 1)
#error "slice.cl: SLICE_UNIT must be a power of two from 1 to 8"
#endif
#ifndef SLICE_LX
#define SLICE_LX 16
#endif
#if SLICE_LX < 1 || SLICE_LX > 256 || SLICE_LX & (SLICE_LX - 1)
#error "slice.cl: SLICE_LX must be a power of two from 1 to 256"
#endif
#ifndef SLICE_LY
#define SLICE_LY 4
#endif
#if SLICE_LY < 1 || SLICE_LY > 256 || SLICE_LY & (SLICE_LY - 1)
#error "slice.cl: SLICE_LY must be a power of two from 1 to 256"
#endif
//@end

#define UNIT SLICE_UNIT

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

// ---- kernels ----

// A unit of a row of dst an item, in each plane.
//@kernel slice_rows
//@arg    0 src       in  T[...]
//@arg    1 dst       out T[...]
//@arg    2 n         int         elements of a row of dst
//@arg    3 rows      int
//@arg    4 planes    int
//@arg    5 first     int         the element of src that is dst[0]
//@arg    6 src_step  int         elements of src from one of a row of dst to the next
//@arg    7 src_row   int         from a row to the next
//@arg    8 src_z     int         from a work-item's z to the next
//@arg    9 src_plane int         from a plane to the next
//@arg   10 dst_row   int         elements of dst
//@arg   11 dst_z     int
//@arg   12 dst_plane int
//@global ceil(n/SLICE_UNIT/SLICE_LX)*SLICE_LX, ceil(rows/SLICE_LY)*SLICE_LY, z
//@local  SLICE_LX, SLICE_LY
//@needs  n >= 1, rows >= 1, planes >= 1, n % SLICE_UNIT == 0, src_step == 1 || SLICE_UNIT == 1
//@needs  first % SLICE_UNIT == 0, src_row % SLICE_UNIT == 0, src_z % SLICE_UNIT == 0
//@needs  src_plane % SLICE_UNIT == 0, dst_row % SLICE_UNIT == 0, dst_z % SLICE_UNIT == 0
//@needs  dst_plane % SLICE_UNIT == 0
__kernel __attribute__((reqd_work_group_size(SLICE_LX, SLICE_LY, 1))) void slice_rows(
    __global const T* src, __global T* dst, int n, int rows, int planes, int first, int src_step,
    int src_row, int src_z, int src_plane, int dst_row, int dst_z, int dst_plane) {
  const uint i = get_global_id(0) * UNIT, row = get_global_id(1), z = get_global_id(2);
  if (i >= (uint)n || row >= (uint)rows) return;
  // Of negative steps too: sums wrap around in 32 bits, and end inside src.
  uint from = (first + z * src_z + row * src_row + i * src_step) * SIZE;
  uint to = (z * dst_z + row * dst_row + i) * SIZE;
  for (int plane = 0; plane < planes; ++plane) {
    AT(Unit, dst, to) = FROM(Unit, src, from);
    from += src_plane * SIZE;
    to += dst_plane * SIZE;
  }
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops slice_rows
//@loop   planes  over the planes
