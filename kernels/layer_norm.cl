// SPDX-License-Identifier: MIT
// layer_norm.cl - dst = act((src - mean) / sqrt(variance + eps) * gamma + beta), row by row
//
//   mean      m = sum_i x_i / n                 over the n elements of a row
//   variance  v = sum_i (x_i - m)^2 / n         of differences, so a large mean costs it nothing
//   result    y_i = act((x_i - m) / sqrt(v + eps) * gamma_i + beta_i)
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Everything in
// between is float. A row that holds NaN or an infinity is NaN, and no other row is.
//
// LAYER_NORM_LANES work-items share a row, and a group has LAYER_NORM_ROWS rows. The lanes agree on
// m, and then on v, through local memory: each writes its own, one barrier, each reads all.
//
//   lane        0    1    2    3    0    1    2    3    0    1         LANES = 4, n = 10 units:
//   unit of x   0    1    2    3    4    5    6    7    8    9         a lane holds 3 or 2 of them
//   held        x[0] ............   x[1] ............   x[2] ..        (LAYER_NORM_HELD = 3)
//
// Every byte offset fits an int. Buffers start on multiples of 16 bytes, as OpenCL's do. dst may be
// src; else it overlaps no input.
//
//@define CLAM_F16           off                          store tensors as half
//@define CLAM_NATIVE        off                          activations by native_exp2 and native_recip
//@define LAYER_NORM_UNIT    1 {1,4}                      elements that a lane loads at a time
//@define LAYER_NORM_LANES   16 {4,8,16,32,64}            work-items that share a row
//@define LAYER_NORM_ROWS    4 {1,2,4,8,16,32,64}         rows of a group
//@define LAYER_NORM_HELD    4 {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}  units that a lane holds
//@define LAYER_NORM_ACT     none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid,scaled}  activation

//@shared options
#ifndef LAYER_NORM_UNIT
#define LAYER_NORM_UNIT 1
#endif
#if LAYER_NORM_UNIT != 1 && LAYER_NORM_UNIT != 4
#error "layer_norm.cl: LAYER_NORM_UNIT must be 1 or 4"
#endif
#ifndef LAYER_NORM_LANES
#define LAYER_NORM_LANES 16
#endif
#if LAYER_NORM_LANES < 4 || LAYER_NORM_LANES > 64 || LAYER_NORM_LANES & (LAYER_NORM_LANES - 1)
#error "layer_norm.cl: LAYER_NORM_LANES must be a power of two from 4 to 64"
#endif
#ifndef LAYER_NORM_ROWS
#define LAYER_NORM_ROWS 4
#endif
#if LAYER_NORM_ROWS < 1 || LAYER_NORM_ROWS > 64 || LAYER_NORM_ROWS & (LAYER_NORM_ROWS - 1)
#error "layer_norm.cl: LAYER_NORM_ROWS must be a power of two from 1 to 64"
#endif
#ifndef LAYER_NORM_HELD
#define LAYER_NORM_HELD 4
#endif
#if LAYER_NORM_HELD < 1 || LAYER_NORM_HELD > 16
#error "layer_norm.cl: LAYER_NORM_HELD must be 1 to 16"
#endif
#ifndef LAYER_NORM_ACT
#define LAYER_NORM_ACT none
#endif
#ifndef CLAM_ACT_ALPHA
#define CLAM_ACT_ALPHA 0.2f
#endif
#ifndef CLAM_ACT_BETA
#define CLAM_ACT_BETA 0.5f
#endif
#ifndef CLAM_ACT_OF
#define CLAM_ACT_OF none
#endif
#ifndef CLAM_ACT_SCALE
#define CLAM_ACT_SCALE 1.0f
#endif
#ifndef CLAM_ACT_SHIFT
#define CLAM_ACT_SHIFT 0.0f
#endif
//@end

#if LAYER_NORM_HELD < 1 || LAYER_NORM_HELD * LAYER_NORM_UNIT > 16
#error "layer_norm.cl: a lane holds 1 to 16 elements: LAYER_NORM_HELD * LAYER_NORM_UNIT"
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

// Sums of long rows keep what rounding takes from them: nothing may be reordered.
#pragma OPENCL FP_CONTRACT OFF

// PoCL 3.1 mixes the items' arrays of two floats up; of three it does not.
#define REGISTERS (LAYER_NORM_HELD == 2 ? 3 : LAYER_NORM_HELD)
#define GROUP __attribute__((reqd_work_group_size(LAYER_NORM_LANES, LAYER_NORM_ROWS, 1)))

// ---- activations: LAYER_NORM_ACT is the name of one of these, or of a built-in ----

//@shared activation
//@define CLAM_ACT_ALPHA 0.2f  slope of hard_sigmoid; of leaky_relu below 0; the least of clip
//@define CLAM_ACT_BETA  0.5f  hard_sigmoid of 0; the most of clip
//@define CLAM_ACT_OF    none  {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid}  what `scaled` scales
//@define CLAM_ACT_SCALE 1.0f  the factor of `scaled`
//@define CLAM_ACT_SHIFT 0.0f  what `scaled` adds

float none(float z) { return z; }

// Written so that NaN stays NaN; fmax would swallow it.
float relu(float z) { return z < 0.0f ? 0.0f : z; }

float relu6(float z) { return z < 0.0f ? 0.0f : (z > 6.0f ? 6.0f : z); }

float clip(float z) {
  return z < CLAM_ACT_ALPHA ? CLAM_ACT_ALPHA : (z > CLAM_ACT_BETA ? CLAM_ACT_BETA : z);
}

float leaky_relu(float z) { return z < 0.0f ? CLAM_ACT_ALPHA * z : z; }

float hard_sigmoid(float z) {
  const float y = fma(CLAM_ACT_ALPHA, z, CLAM_ACT_BETA);
  return y < 0.0f ? 0.0f : (y > 1.0f ? 1.0f : y);
}

// A clamp may swallow NaN here: z is still a factor.
float hard_swish(float z) { return z * clamp(fma(z, 0.166666672f, 0.5f), 0.0f, 1.0f); }

// What follows takes exp of what is not above 0, and divides by what is in [1, 5]. A host defines
// CLAM_NATIVE where native_exp2 is within 4 ulp there, and so is a reciprocal by native_recip and a
// step of Newton.
#ifdef CLAM_NATIVE
float exp_minus(float a) { return native_exp2(a * -1.44269504f); }

float quotient(float a, float b) {
  const float r = native_recip(b);
  return a * fma(fma(-b, r, 1.0f), r, r);
}
#else
float exp_minus(float a) { return exp(-a); }

float quotient(float a, float b) { return a / b; }
#endif

// v * sigmoid(z)
float gate(float v, float z) {
  const float e = exp_minus(fabs(z));
  return quotient(z < 0.0f ? v * e : v, 1.0f + e);
}

float sigmoid(float z) { return gate(1.0f, z); }

float silu(float z) { return gate(z, z); }

// z * Phi(z), by Abramowitz and Stegun 7.1.26 for the tail of the normal distribution: within
// 2.6e-7 of the exact value. Past 16 the tail is 0 in float; the clamp keeps 0 * inf out.
float gelu(float z) {
  const float a = fmin(fabs(z), 16.0f);
  const float t = quotient(1.0f, fma(0.231641887f, a, 1.0f));
  float p = fma(1.061405429f, t, -1.453152027f);
  p = fma(p, t, 1.421413741f);
  p = fma(p, t, -0.284496736f);
  p = fma(p, t, 0.254829592f);
  return relu(z) - 0.5f * a * p * t * exp_minus(0.5f * a * a);
}

// z / 2 * (1 + tanh(u)) = z * sigmoid(2 u), u = sqrt(2 / pi) * (z + 0.044715 z^3)
float gelu_tanh(float z) { return gate(z, 1.5957691216f * fma(0.044715f * z * z, z, z)); }

// Another activation, with a factor and a term.
float scaled(float z) { return fma(CLAM_ACT_SCALE, CLAM_ACT_OF(z), CLAM_ACT_SHIFT); }
//@end

// ---- units: what a lane loads, computes and stores at a time ----

//@shared total
float largest4(float4 v) { return fmax(fmax(v.x, v.y), fmax(v.z, v.w)); }

// Not v.x + v.y + ...: of that LLVM makes shuffles that end the simulator Oclgrind 21.10.
float total4(float4 v) { return dot(v, (float4)(1.0f)); }
//@end

// A 64-bit base and an unsigned byte offset cost Mali compilers the least.
#if LAYER_NORM_UNIT == 4
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

float total(float4 v) { return total4(v); }

float4 activated(float4 z) {
  return (float4)(LAYER_NORM_ACT(z.x), LAYER_NORM_ACT(z.y), LAYER_NORM_ACT(z.z),
                  LAYER_NORM_ACT(z.w));
}
#else
//@shared unit_of_one
typedef float Unit;

float load(__global const T* p, uint at) {
  return (float)*(__global const T*)((__global const char*)p + at);
}

void store(float v, __global T* p, uint at) { *(__global T*)((__global char*)p + at) = (T)v; }
//@end

float total(float v) { return v; }
float activated(float z) { return LAYER_NORM_ACT(z); }
#endif

#define STEP (LAYER_NORM_LANES * LAYER_NORM_UNIT * SIZE)  // bytes from a lane's unit to its next

// What becomes of a difference from the mean. `at` is its place in a row, in bytes.
Unit result(Unit difference, float factor, __global const T* gamma, __global const T* beta,
            uint at) {
  return activated(fma(difference * factor, load(gamma, at), load(beta, at)));
}

// ---- what the lanes of a row agree on ----

#define PARTIALS (LAYER_NORM_LANES * LAYER_NORM_ROWS / 4)  // float4 of a group: a float each item

// The sum of `own` over the row's lanes. `row` is the row's number in the group. All items of the
// group must call it, once for each array.
float share_sum(float own, __local float4* partials, uint row, uint lane) {
  ((__local float*)partials)[row * LAYER_NORM_LANES + lane] = own;
  // Every lane's sum is there; and all of src is read that the group is going to overwrite.
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  __local const float4* of_row = partials + row * (LAYER_NORM_LANES / 4);
  float4 sum = of_row[0];
  for (int i = 1; i < LAYER_NORM_LANES / 4; ++i) sum += of_row[i];
  return total4(sum);
}

// ---- a row in registers ----

// x[0..HELD-1]: one unit every STEP bytes from `at` on; the last only where there is one, else 0.
void hold(Unit* x, __global const T* src, uint at, int has_last) {
  for (int i = 0; i < LAYER_NORM_HELD - 1; ++i) x[i] = load(src, at + i * STEP);
  x[LAYER_NORM_HELD - 1] = (Unit)(0.0f);
  if (has_last) x[LAYER_NORM_HELD - 1] = load(src, at + (LAYER_NORM_HELD - 1) * STEP);
}

// From x to its differences from the mean; returns 1 / sqrt(variance + eps).
float centre(Unit* x, int n, float eps, int has_last, __local float4* sums, __local float4* squares,
             uint row, uint lane) {
  Unit sum = x[0];
  for (int i = 1; i < LAYER_NORM_HELD; ++i) sum += x[i];
  const float mean = share_sum(total(sum), sums, row, lane) / (float)n;
  Unit square = (Unit)(0.0f);
  for (int i = 0; i < LAYER_NORM_HELD; ++i) {
    x[i] = i < LAYER_NORM_HELD - 1 || has_last ? x[i] - mean : (Unit)(0.0f);
    square = fma(x[i], x[i], square);
  }
  return rsqrt(share_sum(total(square), squares, row, lane) / (float)n + eps);
}

// Lanes along the row, which is read once. Rows of a group past the last one are the last one
// again, and are not stored.
//@kernel layer_norm_row
//@arg    0 src   in  T[rows*n]
//@arg    1 gamma in  T[n]
//@arg    2 beta  in  T[n]
//@arg    3 dst   out T[rows*n]  may be src
//@arg    4 rows  int
//@arg    5 n     int            elements of a row
//@arg    6 eps   float          added to the variance
//@global LAYER_NORM_LANES, ceil(rows/LAYER_NORM_ROWS)*LAYER_NORM_ROWS
//@local  LAYER_NORM_LANES, LAYER_NORM_ROWS
//@needs  rows >= 1, n >= 1, n % LAYER_NORM_UNIT == 0, eps > 0
//@needs  LAYER_NORM_HELD == ceil(n/(LAYER_NORM_UNIT*LAYER_NORM_LANES))
__kernel GROUP void layer_norm_row(__global const T* src, __global const T* gamma,
                                   __global const T* beta, __global T* dst, int rows, int n,
                                   float eps) {
  __local float4 sums[PARTIALS], squares[PARTIALS];
  const uint lane = get_local_id(0), y = get_global_id(1);
  const uint first = lane * LAYER_NORM_UNIT * SIZE;
  const uint at = min(y, (uint)rows - 1) * n * SIZE + first;
  const int has_last = first + (LAYER_NORM_HELD - 1) * STEP < n * SIZE;
  Unit x[REGISTERS];
  hold(x, src, at, has_last);
  const float factor = centre(x, n, eps, has_last, sums, squares, get_local_id(1), lane);
  if (y >= (uint)rows) return;
  for (int i = 0; i < LAYER_NORM_HELD - 1; ++i) {
    store(result(x[i], factor, gamma, beta, first + i * STEP), dst, at + i * STEP);
  }
  const uint last = (LAYER_NORM_HELD - 1) * STEP;
  if (!has_last) return;
  store(result(x[LAYER_NORM_HELD - 1], factor, gamma, beta, first + last), dst, at + last);
}

// ---- a row of any length ----

// sum += term, by Kahan: `lost` is what rounding added to the sum so far, and the next term makes
// good. So the error of a sum does not grow with the number of its terms.
void add(Unit term, Unit* sum, Unit* lost) {
  const Unit mended = term - *lost;
  const Unit next = *sum + mended;
  *lost = (next - *sum) - mended;
  *sum = next;
}

// The sum of every LAYER_NORM_LANES-th unit of a row; `begin` and `end` are bytes of src.
float sum_units(__global const T* src, uint begin, uint end) {
  Unit sum = (Unit)(0.0f), lost = (Unit)(0.0f);
  for (uint at = begin; at < end; at += STEP) add(load(src, at), &sum, &lost);
  return total(sum);
}

float sum_squares(__global const T* src, uint begin, uint end, float mean) {
  Unit sum = (Unit)(0.0f), lost = (Unit)(0.0f);
  for (uint at = begin; at < end; at += STEP) {
    const Unit difference = load(src, at) - mean;
    add(difference * difference, &sum, &lost);
  }
  return total(sum);
}

// A group a row, which is read three times, the last two from a cache where it fits one.
//@kernel layer_norm_row_long
//@arg    0 src   in  T[rows*n]
//@arg    1 gamma in  T[n]
//@arg    2 beta  in  T[n]
//@arg    3 dst   out T[rows*n]  may be src
//@arg    4 rows  int
//@arg    5 n     int            elements of a row
//@arg    6 eps   float          added to the variance
//@global LAYER_NORM_LANES, rows
//@local  LAYER_NORM_LANES, LAYER_NORM_ROWS
//@needs  rows >= 1, n >= 1, n % LAYER_NORM_UNIT == 0, eps > 0, LAYER_NORM_ROWS == 1
__kernel GROUP void layer_norm_row_long(__global const T* src, __global const T* gamma,
                                        __global const T* beta, __global T* dst, int rows, int n,
                                        float eps) {
  __local float4 sums[PARTIALS], squares[PARTIALS];
  const uint lane = get_local_id(0), row = get_global_id(1) * n * SIZE;
  const uint first = lane * LAYER_NORM_UNIT * SIZE, end = row + n * SIZE;
  const float sum = sum_units(src, row + first, end);
  const float mean = share_sum(sum, sums, 0, lane) / (float)n;
  const float square = sum_squares(src, row + first, end, mean);
  const float factor = rsqrt(share_sum(square, squares, 0, lane) / (float)n + eps);
  for (uint at = first; at < n * SIZE; at += STEP) {
    store(result(load(src, row + at) - mean, factor, gamma, beta, at), dst, row + at);
  }
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops layer_norm_row
//@loop   LAYER_NORM_LANES/4-1  over the sums of the other lanes
//@loop   LAYER_NORM_LANES/4-1  over their sums of squares

//@loops layer_norm_row_long
//@loop   floor(n/LAYER_NORM_UNIT/LAYER_NORM_LANES)..ceil(n/LAYER_NORM_UNIT/LAYER_NORM_LANES)  over the units of a lane, for the mean
//@loop   LAYER_NORM_LANES/4-1  over the sums of the other lanes
//@loop   floor(n/LAYER_NORM_UNIT/LAYER_NORM_LANES)..ceil(n/LAYER_NORM_UNIT/LAYER_NORM_LANES)  for the variance
//@loop   LAYER_NORM_LANES/4-1  over the sums of squares
//@loop   floor(n/LAYER_NORM_UNIT/LAYER_NORM_LANES)..ceil(n/LAYER_NORM_UNIT/LAYER_NORM_LANES)  for the result
