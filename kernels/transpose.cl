// SPDX-License-Identifier: MIT
// transpose.cl - dst = src with its axes in another order
//
//   dst[i_p0, i_p1, ...] = src[i_0, i_1, ...]    for the permutation p of the axes
//
// Elements are moved as integers, so every bit stays. The host leaves out axes of one element and
// merges axes that stay together. At most four are left: the two of a kernel's plane, one along z,
// and `planes` of the last, through which each item loops.
//
//   transpose_rows    the innermost axis stays: rows are copied, in units of up to 16 bytes
//   transpose_blocks  it moves: an item turns a block of 4 x 4 in its registers; 4 x 4 lanes load
//                     and store whole lines of memory
//   transpose_tile    it moves: a group turns a tile of 16 x 16 in local memory
//
//   plane: a, innermost in src, and b, innermost in dst
//   src   a0 a1 a2 ...   row b0 (src_b further on: b1)     dst   b0 b1 b2 ...   row a0
//
// Builds alone, as is (float) or with -DCLAM_F16 (half: ushort in place of uint). Every byte offset
// fits an int. Buffers start on multiples of 16 bytes, as OpenCL's do. dst is not src.
//
//@define CLAM_F16        off                            elements are halves
//@define TRANSPOSE_UNIT  1 {1,2,4,8}                    elements that transpose_rows moves
//@define TRANSPOSE_LX    16 {1,2,4,8,16,32,64,128,256}  work-items of a group along x; of a tile 16
//@define TRANSPOSE_LY    4 {1,2,4,8,16,32,64,128,256}   and along y; of a tile up to 16

//@shared options
#ifndef TRANSPOSE_UNIT
#define TRANSPOSE_UNIT 1
#endif
#if TRANSPOSE_UNIT < 1 || TRANSPOSE_UNIT > 8 || TRANSPOSE_UNIT & (TRANSPOSE_UNIT - 1)
#error "transpose.cl: TRANSPOSE_UNIT must be a power of two from 1 to 8"
#endif
#ifndef TRANSPOSE_LX
#define TRANSPOSE_LX 16
#endif
#if TRANSPOSE_LX < 1 || TRANSPOSE_LX > 256 || TRANSPOSE_LX & (TRANSPOSE_LX - 1)
#error "transpose.cl: TRANSPOSE_LX must be a power of two from 1 to 256"
#endif
#ifndef TRANSPOSE_LY
#define TRANSPOSE_LY 4
#endif
#if TRANSPOSE_LY < 1 || TRANSPOSE_LY > 256 || TRANSPOSE_LY & (TRANSPOSE_LY - 1)
#error "transpose.cl: TRANSPOSE_LY must be a power of two from 1 to 256"
#endif
//@end

#define UNIT TRANSPOSE_UNIT

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

#ifdef CLAM_F16
typedef ushort4 T4;
#else
typedef uint4 T4;
#endif

#define GROUP __attribute__((reqd_work_group_size(TRANSPOSE_LX, TRANSPOSE_LY, 1)))

// One unit of a row an item, in each plane.
//@kernel transpose_rows
//@arg    0 src       in  T[...]
//@arg    1 dst       out T[...]
//@arg    2 n         int         elements of a row
//@arg    3 rows      int
//@arg    4 planes    int
//@arg    5 src_row   int         elements from a row to the next
//@arg    6 src_z     int         from a work-item's z to the next
//@arg    7 src_plane int         from a plane to the next
//@arg    8 dst_row   int
//@arg    9 dst_z     int
//@arg    10 dst_plane int
//@global ceil(n/TRANSPOSE_UNIT/TRANSPOSE_LX)*TRANSPOSE_LX, ceil(rows/TRANSPOSE_LY)*TRANSPOSE_LY, z
//@local  TRANSPOSE_LX, TRANSPOSE_LY
//@needs  n >= 1, rows >= 1, planes >= 1, n % TRANSPOSE_UNIT == 0, src_row % TRANSPOSE_UNIT == 0
//@needs  src_z % TRANSPOSE_UNIT == 0, src_plane % TRANSPOSE_UNIT == 0, and so those of dst
__kernel GROUP void transpose_rows(__global const T* src, __global T* dst, int n, int rows,
                                   int planes, int src_row, int src_z, int src_plane, int dst_row,
                                   int dst_z, int dst_plane) {
  const uint i = get_global_id(0) * UNIT, row = get_global_id(1), z = get_global_id(2);
  if (i >= (uint)n || row >= (uint)rows) return;
  uint from = (z * src_z + row * src_row + i) * SIZE, to = (z * dst_z + row * dst_row + i) * SIZE;
  for (int plane = 0; plane < planes; ++plane) {
    AT(Unit, dst, to) = FROM(Unit, src, from);
    from += src_plane * SIZE;
    to += dst_plane * SIZE;
  }
}

// Block of 4 x 4 elements an item, in each plane.
//@kernel transpose_blocks
//@arg    0 src       in  T[...]
//@arg    1 dst       out T[...]
//@arg    2 a         int         extent of the axis that is innermost in src
//@arg    3 b         int         extent of the axis that is innermost in dst
//@arg    4 planes    int
//@arg    5 src_b     int         elements of src from a b to the next
//@arg    6 src_z     int         from a work-item's z to the next
//@arg    7 src_plane int         from a plane to the next
//@arg    8 dst_a     int         elements of dst from an a to the next
//@arg    9 dst_z     int
//@arg    10 dst_plane int
//@global ceil(a/4/TRANSPOSE_LX)*TRANSPOSE_LX, ceil(b/4/TRANSPOSE_LY)*TRANSPOSE_LY, z
//@local  TRANSPOSE_LX, TRANSPOSE_LY
//@needs  a >= 4, b >= 4, planes >= 1, a % 4 == 0, b % 4 == 0, src_b % 4 == 0, dst_a % 4 == 0
//@needs  src_z % 4 == 0, src_plane % 4 == 0, dst_z % 4 == 0, dst_plane % 4 == 0
__kernel GROUP void transpose_blocks(__global const T* src, __global T* dst, int a, int b,
                                     int planes, int src_b, int src_z, int src_plane, int dst_a,
                                     int dst_z, int dst_plane) {
  const uint ia = get_global_id(0) * 4, ib = get_global_id(1) * 4, z = get_global_id(2);
  if (ia >= (uint)a || ib >= (uint)b) return;
  uint from = (z * src_z + ib * src_b + ia) * SIZE, to = (z * dst_z + ia * dst_a + ib) * SIZE;
  const uint down = src_b * SIZE, on = dst_a * SIZE;
  for (int plane = 0; plane < planes; ++plane) {
    const T4 r0 = FROM(T4, src, from), r1 = FROM(T4, src, from + down);
    const T4 r2 = FROM(T4, src, from + 2 * down), r3 = FROM(T4, src, from + 3 * down);
    AT(T4, dst, to) = (T4)(r0.x, r1.x, r2.x, r3.x);
    AT(T4, dst, to + on) = (T4)(r0.y, r1.y, r2.y, r3.y);
    AT(T4, dst, to + 2 * on) = (T4)(r0.z, r1.z, r2.z, r3.z);
    AT(T4, dst, to + 3 * on) = (T4)(r0.w, r1.w, r2.w, r3.w);
    from += src_plane * SIZE;
    to += dst_plane * SIZE;
  }
}

#define TILE 16

// A tile of 16 x 16 a group, in each plane. A row of the tile has one element more, so that neither
// its rows nor its columns fall into one bank.
//@kernel transpose_tile
//@arg    0 src       in  T[...]
//@arg    1 dst       out T[...]
//@arg    2 a         int         extent of the axis that is innermost in src
//@arg    3 b         int         extent of the axis that is innermost in dst
//@arg    4 planes    int
//@arg    5 src_b     int         elements of src from a b to the next
//@arg    6 src_z     int         from a work-item's z to the next
//@arg    7 src_plane int         from a plane to the next
//@arg    8 dst_a     int         elements of dst from an a to the next
//@arg    9 dst_z     int
//@arg    10 dst_plane int
//@global ceil(a/16)*16, ceil(b/16)*TRANSPOSE_LY, z
//@local  TRANSPOSE_LX, TRANSPOSE_LY
//@needs  a >= 1, b >= 1, planes >= 1, TRANSPOSE_LX == 16, TRANSPOSE_LY <= 16
__kernel GROUP void transpose_tile(__global const T* src, __global T* dst, int a, int b, int planes,
                                   int src_b, int src_z, int src_plane, int dst_a, int dst_z,
                                   int dst_plane) {
  __local T tile[TILE][TILE + 1];
  const uint x = get_local_id(0), y = get_local_id(1), z = get_global_id(2);
  const uint first_a = get_group_id(0) * TILE, first_b = get_group_id(1) * TILE;
  const uint src_at = z * src_z + first_a + x, dst_at = z * dst_z + first_b + x;
  for (int plane = 0; plane < planes; ++plane) {
    for (uint row = y; row < TILE; row += TRANSPOSE_LY) {
      if (first_a + x < (uint)a && first_b + row < (uint)b) {
        tile[row][x] = FROM(T, src, (src_at + (first_b + row) * src_b + plane * src_plane) * SIZE);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // the tile is there
    for (uint row = y; row < TILE; row += TRANSPOSE_LY) {
      if (first_b + x < (uint)b && first_a + row < (uint)a) {
        AT(T, dst, (dst_at + (first_a + row) * dst_a + plane * dst_plane) * SIZE) = tile[x][row];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // the tile is read before the next plane's is written
  }
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops transpose_rows
//@loop   planes  over the planes

//@loops transpose_blocks
//@loop   planes  over the planes

//@loops transpose_tile
//@loop   planes  over the planes
//@loop   16/TRANSPOSE_LY  over the rows of the tile that an item loads
//@loop   16/TRANSPOSE_LY  over those that it stores
