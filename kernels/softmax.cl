// SPDX-License-Identifier: MIT
// softmax.cl - dst = exp(x - m) / sum exp(x - m), or its logarithm; x = scale * src + mask
//
//   softmax      y_i = exp(x_i - m) / s        m = max_j x_j,  s = sum_j exp(x_j - m)
//   log-softmax  y_i = x_i - m - log(s)        over the n elements of a row
//
// A row is the elements along the axis: neighbours in memory (softmax_row, softmax_row_long), or
// one every `inner` elements (softmax_column, softmax_column_long).
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). x, maxima and
// sums are always float. The maximum is subtracted before anything is multiplied: the shorter
// fma(x, log2(e), -m * log2(e)) has an error that grows with |m|.
//
// x = -inf gives 0, or -inf where the logarithm is asked for. A row of nothing but -inf gives
// zeros, or -inf. A row that holds +inf or NaN is NaN, and no other row is.
//
// SOFTMAX_LANES work-items share a row, and a group has SOFTMAX_ROWS rows. The lanes agree on m,
// and then on s, through local memory: each writes its own, one barrier, each reads all.
//
//   lane        0    1    2    3    0    1    2    3    0    1         LANES = 4, n = 10 units:
//   unit of x   0    1    2    3    4    5    6    7    8    9         a lane holds 3 or 2 of them
//   held        x[0] ............   x[1] ............   x[2] ..        (SOFTMAX_HELD = 3)
//
// Every byte offset fits an int. Buffers start on multiples of 16 bytes, as OpenCL's do. mask may
// be null without SOFTMAX_MASK. dst may be src; else no output overlaps an input.
//
//@define CLAM_F16        off                          store tensors as half
//@define SOFTMAX_UNIT    1 {1,4}                      elements that a lane loads at a time
//@define SOFTMAX_LANES   16 {4,8,16,32,64,128,256}    work-items that share a row
//@define SOFTMAX_ROWS    4 {1,2,4,8,16,32,64}         rows of a group
//@define SOFTMAX_HELD    4 {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}  units that a lane holds
//@define SOFTMAX_MASK    0 {0,1}                      mask is added
//@define SOFTMAX_SCALE   0 {0,1}                      without a mask: src is multiplied by scale
//@define SOFTMAX_LOG     0 {0,1}                      the logarithm of the softmax
//@define SOFTMAX_NATIVE  0 {0,1}                      native_exp2 for exp2

//@shared options
#ifndef SOFTMAX_UNIT
#define SOFTMAX_UNIT 1
#endif
#if SOFTMAX_UNIT != 1 && SOFTMAX_UNIT != 4
#error "softmax.cl: SOFTMAX_UNIT must be 1 or 4"
#endif
#ifndef SOFTMAX_LANES
#define SOFTMAX_LANES 16
#endif
#if SOFTMAX_LANES < 4 || SOFTMAX_LANES > 256 || SOFTMAX_LANES & (SOFTMAX_LANES - 1)
#error "softmax.cl: SOFTMAX_LANES must be a power of two from 4 to 256"
#endif
#ifndef SOFTMAX_ROWS
#define SOFTMAX_ROWS 4
#endif
#if SOFTMAX_ROWS < 1 || SOFTMAX_ROWS > 64 || SOFTMAX_ROWS & (SOFTMAX_ROWS - 1)
#error "softmax.cl: SOFTMAX_ROWS must be a power of two from 1 to 64"
#endif
#ifndef SOFTMAX_HELD
#define SOFTMAX_HELD 4
#endif
#if SOFTMAX_HELD < 1 || SOFTMAX_HELD > 16
#error "softmax.cl: SOFTMAX_HELD must be 1 to 16"
#endif
#ifndef SOFTMAX_MASK
#define SOFTMAX_MASK 0
#endif
#if SOFTMAX_MASK != 0 && SOFTMAX_MASK != 1
#error "softmax.cl: SOFTMAX_MASK must be 0 or 1"
#endif
#ifndef SOFTMAX_SCALE
#define SOFTMAX_SCALE 0
#endif
#if SOFTMAX_SCALE != 0 && SOFTMAX_SCALE != 1
#error "softmax.cl: SOFTMAX_SCALE must be 0 or 1"
#endif
#ifndef SOFTMAX_LOG
#define SOFTMAX_LOG 0
#endif
#if SOFTMAX_LOG != 0 && SOFTMAX_LOG != 1
#error "softmax.cl: SOFTMAX_LOG must be 0 or 1"
#endif
#ifndef SOFTMAX_NATIVE
#define SOFTMAX_NATIVE 0
#endif
#if SOFTMAX_NATIVE != 0 && SOFTMAX_NATIVE != 1
#error "softmax.cl: SOFTMAX_NATIVE must be 0 or 1"
#endif
//@end

#if SOFTMAX_HELD < 1 || SOFTMAX_HELD * SOFTMAX_UNIT > 16
#error "softmax.cl: a lane holds 1 to 16 elements: SOFTMAX_HELD * SOFTMAX_UNIT"
#endif

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

// The operations are those of the text: scale * src - m must not become one fma.
#pragma OPENCL FP_CONTRACT OFF

#define NATIVE SOFTMAX_NATIVE
// PoCL 3.1 mixes the items' arrays of two floats up; of three it does not.
#define REGISTERS (SOFTMAX_HELD == 2 ? 3 : SOFTMAX_HELD)
#define ROW_GROUP __attribute__((reqd_work_group_size(SOFTMAX_LANES, SOFTMAX_ROWS, 1)))
#define COLUMN_GROUP __attribute__((reqd_work_group_size(SOFTMAX_ROWS, SOFTMAX_LANES, 1)))

//@shared exponent
#define LOG2_E 1.44269504f
#define LOWEST (-3.402823466e+38f)  // below every x but -inf; -inf - -inf would be NaN

#if NATIVE
#define EXP2 native_exp2
#else
#define EXP2 exp2
#endif
//@end

//@shared total
float largest4(float4 v) { return fmax(fmax(v.x, v.y), fmax(v.z, v.w)); }

// Not v.x + v.y + ...: of that LLVM makes shuffles that end the simulator Oclgrind 21.10.
float total4(float4 v) { return dot(v, (float4)(1.0f)); }
//@end

// ---- units: what a lane loads, computes and stores at a time ----

// A 64-bit base and an unsigned byte offset cost Mali compilers the least.
#if SOFTMAX_UNIT == 4
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

float largest(float4 v) { return largest4(v); }
float total(float4 v) { return total4(v); }
#else
//@shared unit_of_one
typedef float Unit;

float load(__global const T* p, uint at) {
  return (float)*(__global const T*)((__global const char*)p + at);
}

void store(float v, __global T* p, uint at) { *(__global T*)((__global char*)p + at) = (T)v; }
//@end

float largest(float v) { return v; }
float total(float v) { return v; }
#endif

// exp of differences from the maximum.
Unit exp_units(Unit d) { return EXP2(d * LOG2_E); }
float exp_one(float d) { return EXP2(d * LOG2_E); }

Unit load_x(__global const T* src, uint at, __global const T* mask, uint mask_at, float scale) {
  const Unit v = load(src, at);
#if SOFTMAX_MASK
  return fma((Unit)(scale), v, load(mask, mask_at));
#elif SOFTMAX_SCALE
  return scale * v;
#else
  return v;
#endif
}

// ---- what the lanes of a row agree on ----

#define PARTIALS (SOFTMAX_LANES * SOFTMAX_ROWS / 4)  // float4 of a group: a float each item

// The largest `own` of the row's lanes. `row` is the row's number in the group. All items of the
// group must call it, once for each array.
float share_max(float own, __local float4* partials, uint row, uint lane) {
  ((__local float*)partials)[row * SOFTMAX_LANES + lane] = own;
  // Every lane's maximum is there; and all of src is read that the group is going to overwrite.
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  __local const float4* of_row = partials + row * (SOFTMAX_LANES / 4);
  float4 most = of_row[0];
  for (int i = 1; i < SOFTMAX_LANES / 4; ++i) most = fmax(most, of_row[i]);
  return largest4(most);
}

// The sum of `own` over the row's lanes, as share_max.
float share_sum(float own, __local float4* partials, uint row, uint lane) {
  ((__local float*)partials)[row * SOFTMAX_LANES + lane] = own;
  barrier(CLK_LOCAL_MEM_FENCE);  // every lane's sum is there
  __local const float4* of_row = partials + row * (SOFTMAX_LANES / 4);
  float4 sum = of_row[0];
  for (int i = 1; i < SOFTMAX_LANES / 4; ++i) sum += of_row[i];
  return total4(sum);
}

// What is left to do to a unit: a factor for exp(x - m), or a term for x - m. The sum of a row of
// nothing but -inf is 0.
float finisher(float sum) {
  return sum == 0.0f ? 0.0f : SOFTMAX_LOG ? log(sum) : 1.0f / sum;
}

Unit finish(Unit v, float finisher) {
  return SOFTMAX_LOG ? v - finisher : v * finisher;
}

// ---- a row in registers ----

// x[0..HELD-1]: one unit every `step` bytes from `at` on; the last only where there is one.
void hold(Unit* x, __global const T* src, uint at, uint step, __global const T* mask, uint mask_at,
          uint mask_step, float scale, int has_last) {
  for (int i = 0; i < SOFTMAX_HELD - 1; ++i) {
    x[i] = load_x(src, at + i * step, mask, mask_at + i * mask_step, scale);
  }
  x[SOFTMAX_HELD - 1] = (Unit)(-INFINITY);
  if (has_last) {
    x[SOFTMAX_HELD - 1] = load_x(src, at + (SOFTMAX_HELD - 1) * step, mask,
                                 mask_at + (SOFTMAX_HELD - 1) * mask_step, scale);
  }
}

// From x to what finish() takes; returns its other argument.
float exponentiate(Unit* x, __local float4* maxima, __local float4* sums, uint row, uint lane) {
  float m = LOWEST;
  for (int i = 0; i < SOFTMAX_HELD; ++i) m = fmax(m, largest(x[i]));
  m = share_max(m, maxima, row, lane);
  Unit sum = (Unit)(0.0f);
  for (int i = 0; i < SOFTMAX_HELD; ++i) {
    const Unit d = x[i] - m;
    const Unit e = exp_units(d);
    sum += e;
    x[i] = SOFTMAX_LOG ? d : e;
  }
  return finisher(share_sum(total(sum), sums, row, lane));
}

void put(const Unit* x, float finisher, __global T* dst, uint at, uint step, int has_last) {
  for (int i = 0; i < SOFTMAX_HELD - 1; ++i) store(finish(x[i], finisher), dst, at + i * step);
  if (has_last) {
    store(finish(x[SOFTMAX_HELD - 1], finisher), dst, at + (SOFTMAX_HELD - 1) * step);
  }
}

// ---- a row in two passes ----

// Maximum and sum of every SOFTMAX_LANES-th unit, from number `lane` on, in one pass. The sum is
// that of exp(x - m) for the m so far, and is rescaled whenever m rises.
float2 scan(uint lane, uint units, __global const T* src, uint at, uint step,
            __global const T* mask, uint mask_at, uint mask_step, float scale) {
  float m = LOWEST, sum = 0.0f;
  for (uint i = lane; i < units; i += SOFTMAX_LANES, at += step, mask_at += mask_step) {
    const Unit x = load_x(src, at, mask, mask_at, scale);
    const float higher = fmax(m, largest(x));
    sum = fma(sum, exp_one(m - higher), total(exp_units(x - higher)));
    m = higher;
  }
  return (float2)(m, sum);
}

// (maximum, finisher) of the row whose lanes found `own`.
float2 agree(float2 own, __local float4* maxima, __local float4* sums, uint row, uint lane) {
  const float m = share_max(own.x, maxima, row, lane);
  const float sum = share_sum(own.y * exp_one(own.x - m), sums, row, lane);
  return (float2)(m, finisher(sum));
}

void put_again(float2 agreed, uint lane, uint units, __global const T* src, uint at, uint step,
               __global const T* mask, uint mask_at, uint mask_step, float scale, __global T* dst) {
  for (uint i = lane; i < units; i += SOFTMAX_LANES, at += step, mask_at += mask_step) {
    const Unit d = load_x(src, at, mask, mask_at, scale) - agreed.x;
    store(finish(SOFTMAX_LOG ? d : exp_units(d), agreed.y), dst, at);
  }
}

// ---- rows that lie in one piece ----

// Lanes along the row, which is read once. Rows of a group past the last one are the last one
// again, and are not stored.
//@kernel softmax_row
//@arg    0 src   in  T[blocks*rows*n]
//@arg    1 mask  in  T[rows*n]
//@arg    2 dst   out T[blocks*rows*n]  may be src
//@arg    3 rows  int                   that a mask has; without one, all
//@arg    4 n     int                   elements of a row
//@arg    5 scale float                 1 without SOFTMAX_MASK and SOFTMAX_SCALE
//@null   mask if SOFTMAX_MASK==0
//@global SOFTMAX_LANES, ceil(rows/SOFTMAX_ROWS)*SOFTMAX_ROWS, blocks
//@local  SOFTMAX_LANES, SOFTMAX_ROWS
//@needs  rows >= 1, n >= 1, n % SOFTMAX_UNIT == 0
//@needs  SOFTMAX_HELD == ceil(n/(SOFTMAX_UNIT*SOFTMAX_LANES))
__kernel ROW_GROUP void softmax_row(__global const T* src, __global const T* mask, __global T* dst,
                                    int rows, int n, float scale) {
  __local float4 maxima[PARTIALS], sums[PARTIALS];
  const uint lane = get_local_id(0), y = get_global_id(1), z = get_global_id(2);
  const uint of_mask = min(y, (uint)rows - 1);
  const uint first = lane * SOFTMAX_UNIT, step = SOFTMAX_LANES * SOFTMAX_UNIT;
  const uint at = ((z * rows + of_mask) * n + first) * SIZE;
  const int has_last = first + (SOFTMAX_HELD - 1) * step < (uint)n;
  Unit x[REGISTERS];
  hold(x, src, at, step * SIZE, mask, (of_mask * n + first) * SIZE, step * SIZE, scale, has_last);
  const float finisher = exponentiate(x, maxima, sums, get_local_id(1), lane);
  if (y < (uint)rows) put(x, finisher, dst, at, step * SIZE, has_last);
}

// Lanes along the row, which is read twice: for rows of any length.
//@kernel softmax_row_long
//@arg    0 src   in  T[blocks*rows*n]
//@arg    1 mask  in  T[rows*n]
//@arg    2 dst   out T[blocks*rows*n]  may be src
//@arg    3 rows  int                   that a mask has; without one, all
//@arg    4 n     int                   elements of a row
//@arg    5 scale float                 1 without SOFTMAX_MASK and SOFTMAX_SCALE
//@null   mask if SOFTMAX_MASK==0
//@global SOFTMAX_LANES, rows, blocks
//@local  SOFTMAX_LANES, SOFTMAX_ROWS
//@needs  rows >= 1, n >= 1, n % SOFTMAX_UNIT == 0, SOFTMAX_ROWS == 1
__kernel ROW_GROUP void softmax_row_long(__global const T* src, __global const T* mask,
                                         __global T* dst, int rows, int n, float scale) {
  __local float4 maxima[PARTIALS], sums[PARTIALS];
  const uint lane = get_local_id(0), y = get_global_id(1), z = get_global_id(2);
  const uint first = lane * SOFTMAX_UNIT, step = SOFTMAX_LANES * SOFTMAX_UNIT * SIZE;
  const uint units = n / SOFTMAX_UNIT;
  const uint at = ((z * rows + y) * n + first) * SIZE, mask_at = (y * n + first) * SIZE;
  const float2 own = scan(lane, units, src, at, step, mask, mask_at, step, scale);
  const float2 agreed = agree(own, maxima, sums, 0, lane);
  put_again(agreed, lane, units, src, at, step, mask, mask_at, step, scale, dst);
}

// ---- rows across the memory ----

// SOFTMAX_ROWS items along the memory, lanes along the axis; each row is read once. Group (x,y,z)
// looks at block y of those that the mask repeats for, and there at its z-th n x inner elements.
// A mask that does not reach as far as the axis has mask_period elements, which repeat along the
// memory; mask_step is 0 then. Else mask_step and mask_period are inner.
//@kernel softmax_column
//@arg    0 src         in  T[blocks*outer*n*inner]
//@arg    1 mask        in  T[outer*n*inner]         or less, see below
//@arg    2 dst         out T[blocks*outer*n*inner]  may be src
//@arg    3 outer       int                          that a mask has; without one, all
//@arg    4 n           int                          elements of a row
//@arg    5 inner       int                          from an element of a row to its next
//@arg    6 mask_step   int                          inner, or 0: see below
//@arg    7 mask_period int                          inner, or less: see below
//@arg    8 scale       float                        1 without SOFTMAX_MASK and SOFTMAX_SCALE
//@null   mask if SOFTMAX_MASK==0
//@global ceil(inner/SOFTMAX_ROWS)*SOFTMAX_ROWS, SOFTMAX_LANES*blocks, outer
//@local  SOFTMAX_ROWS, SOFTMAX_LANES
//@needs  outer >= 1, n >= 1, inner >= 1, mask_period >= 1, inner % mask_period == 0
//@needs  SOFTMAX_UNIT == 1, SOFTMAX_HELD == ceil(n/SOFTMAX_LANES)
__kernel COLUMN_GROUP void softmax_column(__global const T* src, __global const T* mask,
                                          __global T* dst, int outer, int n, int inner,
                                          int mask_step, int mask_period, float scale) {
  __local float4 maxima[PARTIALS], sums[PARTIALS];
  const uint column = get_global_id(0), lane = get_local_id(1), z = get_global_id(2);
  const uint j = min(column, (uint)inner - 1);
  const uint at = (((get_group_id(1) * outer + z) * n + lane) * inner + j) * SIZE;
  const uint mask_at = ((z * n + lane) * mask_step + j % mask_period) * SIZE;
  const int has_last = lane + (SOFTMAX_HELD - 1) * SOFTMAX_LANES < (uint)n;
  Unit x[REGISTERS];
  hold(x, src, at, SOFTMAX_LANES * inner * SIZE, mask, mask_at, SOFTMAX_LANES * mask_step * SIZE,
       scale, has_last);
  const float finisher = exponentiate(x, maxima, sums, get_local_id(0), lane);
  if (column < (uint)inner) put(x, finisher, dst, at, SOFTMAX_LANES * inner * SIZE, has_last);
}

// As softmax_column, but each row is read twice: for rows of any length.
//@kernel softmax_column_long
//@arg    0 src         in  T[blocks*outer*n*inner]
//@arg    1 mask        in  T[outer*n*inner]         see there
//@arg    2 dst         out T[blocks*outer*n*inner]  may be src
//@arg    3 outer       int                          that a mask has; without one, all
//@arg    4 n           int                          elements of a row
//@arg    5 inner       int                          from an element of a row to its next
//@arg    6 mask_step   int                          as for softmax_column
//@arg    7 mask_period int                          as for softmax_column
//@arg    8 scale       float                        1 without SOFTMAX_MASK and SOFTMAX_SCALE
//@null   mask if SOFTMAX_MASK==0
//@global ceil(inner/SOFTMAX_ROWS)*SOFTMAX_ROWS, SOFTMAX_LANES*blocks, outer
//@local  SOFTMAX_ROWS, SOFTMAX_LANES
//@needs  outer >= 1, n >= 1, inner >= 1, mask_period >= 1, inner % mask_period == 0
//@needs  SOFTMAX_UNIT == 1
__kernel COLUMN_GROUP void softmax_column_long(__global const T* src, __global const T* mask,
                                               __global T* dst, int outer, int n, int inner,
                                               int mask_step, int mask_period, float scale) {
  __local float4 maxima[PARTIALS], sums[PARTIALS];
  const uint column = get_global_id(0), lane = get_local_id(1), z = get_global_id(2);
  // Items past the last column pass the barriers with nothing to do.
  const uint units = column < (uint)inner ? n : 0;
  const uint step = SOFTMAX_LANES * inner * SIZE, mask_down = SOFTMAX_LANES * mask_step * SIZE;
  const uint at = (((get_group_id(1) * outer + z) * n + lane) * inner + column) * SIZE;
  const uint mask_at = ((z * n + lane) * mask_step + column % mask_period) * SIZE;
  const float2 own = scan(lane, units, src, at, step, mask, mask_at, mask_down, scale);
  const float2 agreed = agree(own, maxima, sums, get_local_id(0), lane);
  put_again(agreed, lane, units, src, at, step, mask, mask_at, mask_down, scale, dst);
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops softmax_row
//@loop   SOFTMAX_LANES/4-1  over the maxima of the other lanes
//@loop   SOFTMAX_LANES/4-1  over their sums

//@loops softmax_row_long
//@loop   floor(n/SOFTMAX_UNIT/SOFTMAX_LANES)..ceil(n/SOFTMAX_UNIT/SOFTMAX_LANES)  over the units of a lane, for maximum and sum
//@loop   SOFTMAX_LANES/4-1  over the maxima of the other lanes
//@loop   SOFTMAX_LANES/4-1  over their sums
//@loop   floor(n/SOFTMAX_UNIT/SOFTMAX_LANES)..ceil(n/SOFTMAX_UNIT/SOFTMAX_LANES)  over them again, for the result

//@loops softmax_column
//@loop   SOFTMAX_LANES/4-1  over the maxima of the other lanes
//@loop   SOFTMAX_LANES/4-1  over their sums

//@loops softmax_column_long
//@loop   (inner%SOFTMAX_ROWS==0)*floor(n/SOFTMAX_LANES)..ceil(n/SOFTMAX_LANES)  over the elements of a lane, for maximum and sum
//@loop   SOFTMAX_LANES/4-1  over the maxima of the other lanes
//@loop   SOFTMAX_LANES/4-1  over their sums
//@loop   (inner%SOFTMAX_ROWS==0)*floor(n/SOFTMAX_LANES)..ceil(n/SOFTMAX_LANES)  over them again, for the result
