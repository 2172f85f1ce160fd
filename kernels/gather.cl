// SPDX-License-Identifier: MIT
// gather.cl - dst = the slices of src along an axis that an index names
//
//   dst[outer, j, inner] = src[outer, index[j], inner]    extents before, along and behind the axis
//
//   src    |slice 0|slice 1|slice 2|slice 3|     index = 2 0 2
//   dst    |slice 2|slice 0|slice 2|
//
// An index below 0 is taken as 0, one past the last slice as the last: nothing outside src is read.
//
// Elements are moved as integers, so every bit stays. Builds alone, as is (float) or with
// -DCLAM_F16 (half: ushort in place of uint). Every byte offset fits an int. Buffers start on
// multiples of 16 bytes, as OpenCL's do. dst is not src.
//
//@define CLAM_F16     off                            elements are halves
//@define GATHER_UNIT  1 {1,2,4,8}                    elements that an item moves
//@define GATHER_LX    16 {1,2,4,8,16,32,64,128,256}  work-items of a group along a slice
//@define GATHER_LY    4 {1,2,4,8,16,32,64,128,256}   and slices

//@shared options
#ifndef GATHER_UNIT
#define GATHER_UNIT 1
#endif
#if GATHER_UNIT < 1 || GATHER_UNIT > 8 || GATHER_UNIT & (GATHER_UNIT - 1)
#error "gather.cl: GATHER_UNIT must be a power of two from 1 to 8"
#endif
#ifndef GATHER_LX
#define GATHER_LX 16
#endif
#if GATHER_LX < 1 || GATHER_LX > 256 || GATHER_LX & (GATHER_LX - 1)
#error "gather.cl: GATHER_LX must be a power of two from 1 to 256"
#endif
#ifndef GATHER_LY
#define GATHER_LY 4
#endif
#if GATHER_LY < 1 || GATHER_LY > 256 || GATHER_LY & (GATHER_LY - 1)
#error "gather.cl: GATHER_LY must be a power of two from 1 to 256"
#endif
//@end

#define UNIT GATHER_UNIT

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

// A unit of dst an item.
//@kernel gather_slices
//@arg    0 src    in  T[outer*extent*inner]
//@arg    1 index  in  int[count]             0 to extent - 1; others are clamped
//@arg    2 dst    out T[outer*count*inner]
//@arg    3 extent int                        slices of src
//@arg    4 count  int                        slices of dst
//@arg    5 inner  int                        elements of a slice
//@global ceil(inner/GATHER_UNIT/GATHER_LX)*GATHER_LX, ceil(count/GATHER_LY)*GATHER_LY, outer
//@local  GATHER_LX, GATHER_LY
//@needs  extent >= 1, count >= 1, inner >= 1, inner % GATHER_UNIT == 0
__kernel __attribute__((reqd_work_group_size(GATHER_LX, GATHER_LY, 1))) void gather_slices(
    __global const T* src, __global const int* index, __global T* dst, int extent, int count,
    int inner) {
  const uint i = get_global_id(0) * UNIT, j = get_global_id(1), outer = get_global_id(2);
  if (i >= (uint)inner || j >= (uint)count) return;
  const uint slice = clamp(index[j], 0, extent - 1);
  const uint from = ((outer * extent + slice) * inner + i) * SIZE;
  AT(Unit, dst, ((outer * count + j) * inner + i) * SIZE) = FROM(Unit, src, from);
}
