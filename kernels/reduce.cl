// SPDX-License-Identifier: MIT
// reduce.cl - dst = the sum, product, largest or smallest of elements of src along some axes
//
//   dst[i,j,k] = scale * sum over a, b of src[i,a,j,b,k]       a < r1, b < r2; one of them may be 1
//
//   op                 REDUCE_MERGE  REDUCE_TERM  REDUCE_ROOT  scale
//   sum, mean          0             0            0            1, 1 / (r1 * r2)
//   sum_square, l2     0             1            0, 1         1
//   l1                 0             2            0            1
//   prod, max, min     1, 2, 3       0            0            1
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Everything is
// float from the first element to the last, and rounded to T once. A NaN gives NaN, also for the
// largest and the smallest; of -0 and +0 either may be the largest.
//
// Every byte offset fits an int. Buffers start on multiples of 16 bytes, as OpenCL's do.
//
//@define CLAM_F16      off                          store tensors as half
//@define REDUCE_MERGE  0 {0,1,2,3}                  sum, product, largest, smallest
//@define REDUCE_TERM   0 {0,1,2}                    of elements, of their squares, of magnitudes
//@define REDUCE_ROOT   0 {0,1}                      then the square root
//@define REDUCE_UNIT   1 {1,4}                      elements of an item that lie side by side
//@define REDUCE_LANES  16 {1,2,4,8,16,32,64,128,256}  work-items that share a result
//@define REDUCE_ROWS   4 {1,2,4,8,16,32,64,128,256}   results of a group, in units

//@shared options
#ifndef REDUCE_MERGE
#define REDUCE_MERGE 0
#endif
#if REDUCE_MERGE < 0 || REDUCE_MERGE > 3
#error "reduce.cl: REDUCE_MERGE must be 0 to 3"
#endif
#ifndef REDUCE_TERM
#define REDUCE_TERM 0
#endif
#if REDUCE_TERM != 0 && REDUCE_TERM != 1 && REDUCE_TERM != 2
#error "reduce.cl: REDUCE_TERM must be 0, 1 or 2"
#endif
#ifndef REDUCE_ROOT
#define REDUCE_ROOT 0
#endif
#if REDUCE_ROOT != 0 && REDUCE_ROOT != 1
#error "reduce.cl: REDUCE_ROOT must be 0 or 1"
#endif
#ifndef REDUCE_UNIT
#define REDUCE_UNIT 1
#endif
#if REDUCE_UNIT != 1 && REDUCE_UNIT != 4
#error "reduce.cl: REDUCE_UNIT must be 1 or 4"
#endif
#ifndef REDUCE_LANES
#define REDUCE_LANES 16
#endif
#if REDUCE_LANES < 1 || REDUCE_LANES > 256 || REDUCE_LANES & (REDUCE_LANES - 1)
#error "reduce.cl: REDUCE_LANES must be a power of two from 1 to 256"
#endif
#ifndef REDUCE_ROWS
#define REDUCE_ROWS 4
#endif
#if REDUCE_ROWS < 1 || REDUCE_ROWS > 256 || REDUCE_ROWS & (REDUCE_ROWS - 1)
#error "reduce.cl: REDUCE_ROWS must be a power of two from 1 to 256"
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

#define UNIT REDUCE_UNIT
#define LANES REDUCE_LANES
#define ROW_GROUP __attribute__((reqd_work_group_size(LANES, REDUCE_ROWS, 1)))
#define COLUMN_GROUP __attribute__((reqd_work_group_size(REDUCE_ROWS, LANES, 1)))

// Of numbers or of vectors. A comparison with NaN is false, so a NaN stays once it is there.
#if REDUCE_MERGE == 0
#define START 0.0f
#define MERGE(a, b) ((a) + (b))
#elif REDUCE_MERGE == 1
#define START 1.0f
#define MERGE(a, b) ((a) * (b))
#elif REDUCE_MERGE == 2
#define START (-INFINITY)
#define MERGE(a, b) select(a, b, ((b) > (a)) | ((b) != (b)))
#else
#define START INFINITY
#define MERGE(a, b) select(a, b, ((b) < (a)) | ((b) != (b)))
#endif

#define TERM(v) (REDUCE_TERM == 1 ? (v) * (v) : REDUCE_TERM == 2 ? fabs(v) : (v))
#define FINISH(v) (REDUCE_ROOT ? sqrt(v) : (v) * scale)

//@shared load_and_store
// A 64-bit base and an unsigned byte offset cost Mali compilers the least.
float load1(__global const T* p, uint at) {
  return (float)*(__global const T*)((__global const char*)p + at);
}

float4 load4(__global const T* p, uint at) {
  const T4 v = *(__global const T4*)((__global const char*)p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store1(float v, __global T* p, uint at) { *(__global T*)((__global char*)p + at) = (T)v; }

void store4(float4 v, __global T* p, uint at) {
  *(__global T4*)((__global char*)p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}

#if UNIT == 4
typedef float4 Unit;
#define LOAD load4
#define STORE store4
#else
typedef float Unit;
#define LOAD load1
#define STORE store1
#endif
//@end

// Not v.x + v.y + ...: of that LLVM makes shuffles that end the simulator Oclgrind 21.10.
float merge4(float4 v) {
#if REDUCE_MERGE == 0
  return dot(v, (float4)(1.0f));
#else
  const float a = MERGE(v.x, v.y), b = MERGE(v.z, v.w);
  return MERGE(a, b);
#endif
}

#if REDUCE_LANES >= 4
//@shared merge_lanes
// What lane `lane` has of n elements from number `first` on, which may start anywhere. Up to three
// before the first aligned vector, and up to three behind the last, are single ones.
float merge_piece(__global const T* x, uint first, uint n, uint lane) {
  const uint head = min(-first & 3, n), vectors = (n - head) / 4;
  const uint tail = n - head - vectors * 4, body = (first + head) * SIZE;
  float4 all = (float4)(START);
  for (uint i = lane; i < vectors; i += LANES) {
    const float4 v = load4(x, body + i * (4 * SIZE));
    all = MERGE(all, TERM(v));
  }
  float own = merge4(all);
  if (lane < head) {
    const float v = load1(x, (first + lane) * SIZE);
    own = MERGE(own, TERM(v));
  }
  if (lane < tail) {
    const float v = load1(x, body + (vectors * 4 + lane) * SIZE);
    own = MERGE(own, TERM(v));
  }
  return own;
}

// What the LANES items of a row have found, merged. `row` is the row's number in the group. All
// items of the group must call it.
float merge_lanes(float own, __local float4* partials, uint row, uint lane) {
  ((__local float*)partials)[row * LANES + lane] = own;
  barrier(CLK_LOCAL_MEM_FENCE);  // every lane's result is there
  __local const float4* of_row = partials + row * (LANES / 4);
  float4 merged = of_row[0];
  for (int i = 1; i < LANES / 4; ++i) {
    const float4 v = of_row[i];
    merged = MERGE(merged, v);
  }
  return merge4(merged);
}
//@end

// Lanes along what is reduced, which lies in one piece or in r1 of them.
//
//   piece    . a a a A A A A B B B B C C C C D D D D E E E E z .      LANES = 4
//   lane       0 1 2 0....... 1...... 2...... 3...... 0...... 0
//@kernel reduce_row
//@arg    0 src   in  T[outer*r1*rows*n]
//@arg    1 dst   out T[outer*rows]
//@arg    2 r1    int                     pieces
//@arg    3 rows  int
//@arg    4 n     int                     elements of a piece
//@arg    5 scale float                   not used with REDUCE_ROOT
//@global REDUCE_LANES, ceil(rows/REDUCE_ROWS)*REDUCE_ROWS, outer
//@local  REDUCE_LANES, REDUCE_ROWS
//@needs  r1 >= 1, rows >= 1, n >= 1, REDUCE_LANES >= 4
__kernel ROW_GROUP void reduce_row(__global const T* src, __global T* dst, int r1, int rows, int n,
                                   float scale) {
  __local float4 partials[LANES * REDUCE_ROWS / 4];
  const uint lane = get_local_id(0), row = get_global_id(1), z = get_global_id(2);
  // Rows of a group past the last one are the last one again, and are not stored.
  const uint there = min(row, (uint)rows - 1);
  float own = START;
  for (int i = 0; i < r1; ++i) {
    const float of_piece = merge_piece(src, ((z * r1 + i) * rows + there) * n, n, lane);
    own = MERGE(own, of_piece);
  }
  const float all = merge_lanes(own, partials, get_local_id(1), lane);
  if (lane == 0 && row < (uint)rows) store1(FINISH(all), dst, (z * rows + row) * SIZE);
}
#endif

// Items side by side along what stays, lanes along the inner one of what is reduced. c may be 1.
//@kernel reduce_column
//@arg    0 src   in  T[outer*r1*blocks*r2*c]
//@arg    1 dst   out T[outer*blocks*c]
//@arg    2 r1    int
//@arg    3 r2    int
//@arg    4 c     int                          elements side by side that stay
//@arg    5 scale float                        not used with REDUCE_ROOT
//@global ceil(c/REDUCE_UNIT/REDUCE_ROWS)*REDUCE_ROWS, REDUCE_LANES*blocks, outer
//@local  REDUCE_ROWS, REDUCE_LANES
//@needs  r1 >= 1, r2 >= 1, c >= 1, c % REDUCE_UNIT == 0
__kernel COLUMN_GROUP void reduce_column(__global const T* src, __global T* dst, int r1, int r2,
                                         int c, float scale) {
  __local Unit partials[LANES * REDUCE_ROWS];
  const uint column = get_global_id(0), own_column = get_local_id(0), lane = get_local_id(1);
  const uint block = get_group_id(1), blocks = get_num_groups(1), z = get_global_id(2);
  const uint units = c / REDUCE_UNIT;
  // Columns past the last one are the last one again, and are not stored.
  const uint at = min(column, units - 1) * REDUCE_UNIT, step = LANES * c * SIZE;
  Unit all = (Unit)(START);
  for (int i = 0; i < r1; ++i) {
    uint from = ((((z * r1 + i) * blocks + block) * r2 + lane) * c + at) * SIZE;
    for (uint j = lane; j < (uint)r2; j += LANES, from += step) {
      const Unit v = LOAD(src, from);
      all = MERGE(all, TERM(v));
    }
  }
  partials[lane * REDUCE_ROWS + own_column] = all;
  barrier(CLK_LOCAL_MEM_FENCE);  // every lane's result is there
  Unit merged = partials[own_column];
  for (int i = 1; i < LANES; ++i) {
    const Unit v = partials[i * REDUCE_ROWS + own_column];
    merged = MERGE(merged, v);
  }
  if (lane == 0 && column < units) STORE(FINISH(merged), dst, ((z * blocks + block) * c + at) * SIZE);
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops reduce_row
//@loop   r1  over the pieces
//@loop   max(0,floor(floor((n-3)/4)/REDUCE_LANES))..ceil(floor(n/4)/REDUCE_LANES)  over the vectors of a lane
//@loop   REDUCE_LANES/4-1  over the results of the other lanes

//@loops reduce_column
//@loop   r1  over the outer axis
//@loop   floor(r2/REDUCE_LANES)..ceil(r2/REDUCE_LANES)  over the elements of a lane
//@loop   REDUCE_LANES-1  over the results of the other lanes
