// SPDX-License-Identifier: MIT
// concat.cl - dst = a, b, c and d, one behind the other along an axis
//
//   dst[row] = a[row], b[row] and, where they are there, c[row], d[row]
//
// A row is of the extents before the axis; its elements are those along the axis and behind it.
//
//   dst   |.... a, row 0 ....|.. b, row 0 ..|.... a, row 1 ....|.. b, row 1 ..|...
//
// Elements are moved as integers, so every bit stays. Builds alone, as is (float) or with
// -DCLAM_F16 (half: ushort in place of uint). Every byte offset fits an int. Buffers start on
// multiples of 16 bytes, as OpenCL's do. dst is no input.
//
//@define CLAM_F16     off                            elements are halves
//@define CONCAT_UNIT  1 {1,2,4,8}                    elements that an item moves
//@define CONCAT_LX    16 {1,2,4,8,16,32,64,128,256}  work-items of a group along a row
//@define CONCAT_LY    4 {1,2,4,8,16,32,64,128,256}   and rows

//@shared options
#ifndef CONCAT_UNIT
#define CONCAT_UNIT 1
#endif
#if CONCAT_UNIT < 1 || CONCAT_UNIT > 8 || CONCAT_UNIT & (CONCAT_UNIT - 1)
#error "concat.cl: CONCAT_UNIT must be a power of two from 1 to 8"
#endif
#ifndef CONCAT_LX
#define CONCAT_LX 16
#endif
#if CONCAT_LX < 1 || CONCAT_LX > 256 || CONCAT_LX & (CONCAT_LX - 1)
#error "concat.cl: CONCAT_LX must be a power of two from 1 to 256"
#endif
#ifndef CONCAT_LY
#define CONCAT_LY 4
#endif
#if CONCAT_LY < 1 || CONCAT_LY > 256 || CONCAT_LY & (CONCAT_LY - 1)
#error "concat.cl: CONCAT_LY must be a power of two from 1 to 256"
#endif
//@end

#define UNIT CONCAT_UNIT

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
//@kernel concat_rows
//@arg    0 a    in  T[rows*na]
//@arg    1 b    in  T[rows*nb]
//@arg    2 dst  out T[rows*(na+nb)]
//@arg    3 rows int
//@arg    4 na   int                  elements of a row of a
//@arg    5 nb   int                  of b
//@global ceil((na+nb)/CONCAT_UNIT/CONCAT_LX)*CONCAT_LX, ceil(rows/CONCAT_LY)*CONCAT_LY
//@local  CONCAT_LX, CONCAT_LY
//@needs  rows >= 1, na >= 1, nb >= 1, na % CONCAT_UNIT == 0, nb % CONCAT_UNIT == 0
__kernel __attribute__((reqd_work_group_size(CONCAT_LX, CONCAT_LY, 1))) void concat_rows(
    __global const T* a, __global const T* b, __global T* dst, int rows, int na, int nb) {
  const uint i = get_global_id(0) * UNIT, row = get_global_id(1), n = na + nb;
  if (i >= n || row >= (uint)rows) return;
  const uint to = (row * n + i) * SIZE;
  if (i < (uint)na) {
    AT(Unit, dst, to) = FROM(Unit, a, (row * na + i) * SIZE);
  } else {
    AT(Unit, dst, to) = FROM(Unit, b, (row * nb + i - na) * SIZE);
  }
}

// The same of three inputs or four.
//@kernel concat_four
//@arg    0 a    in  T[rows*na]
//@arg    1 b    in  T[rows*nb]
//@arg    2 c    in  T[rows*nc]
//@arg    3 d    in  T[rows*nd]
//@arg    4 dst  out T[rows*(na+nb+nc+nd)]
//@arg    5 rows int
//@arg    6 na   int                        elements of a row of a
//@arg    7 nb   int                        of b
//@arg    8 nc   int                        of c
//@arg    9 nd   int                        of d; 0: there is none
//@null   d if nd==0
//@global ceil((na+nb+nc+nd)/CONCAT_UNIT/CONCAT_LX)*CONCAT_LX, ceil(rows/CONCAT_LY)*CONCAT_LY
//@local  CONCAT_LX, CONCAT_LY
//@needs  rows >= 1, na >= 1, nb >= 1, nc >= 1, nd >= 0, na % CONCAT_UNIT == 0
//@needs  nb % CONCAT_UNIT == 0, nc % CONCAT_UNIT == 0, nd % CONCAT_UNIT == 0
__kernel __attribute__((reqd_work_group_size(CONCAT_LX, CONCAT_LY, 1))) void concat_four(
    __global const T* a, __global const T* b, __global const T* c, __global const T* d,
    __global T* dst, int rows, int na, int nb, int nc, int nd) {
  const int i = get_global_id(0) * UNIT, row = get_global_id(1), ab = na + nb, abc = ab + nc;
  if (i >= abc + nd || row >= rows) return;
  __global const T* src = i < na ? a : i < ab ? b : i < abc ? c : d;
  const int width = i < na ? na : i < ab ? nb : i < abc ? nc : nd;
  const int first = i < na ? 0 : i < ab ? na : i < abc ? ab : abc;
  const uint to = (row * (abc + nd) + i) * SIZE;
  AT(Unit, dst, to) = FROM(Unit, src, (uint)(row * width + i - first) * SIZE);
}
