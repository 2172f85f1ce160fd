// SPDX-License-Identifier: MIT
// batch_matmul_transposed.cl - c[i,m,n] = act(scale * sum_k a[i,m,k] * b[i,k,n] + mask[m,n])
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). What follows
// the sum is float. BMM_ACC says how sums are kept; in each mode every kernel adds in the order of
// k:
//
//   0  in one float per output, by fma
//   1  in half inside a chunk of 32 k, or of 4 behind the last whole one; the chunks in float
//   2  in half
//
// a, b and c are stacks of matrices: a batch stride, a row stride (ld) and a first element (off),
// in elements. Every byte offset into them fits an int. So a head, whose rows are pieces of longer
// rows, is read and written in place. stridea = 0 or strideb = 0: one matrix for all batch items.
// Elements of c lie in distinct places: stridec >= (m-1)*ldc + n, or, where batch items lie side by
// side, stridec >= n and ldc >= (batch-1)*stridec + n. Buffers start on multiples of 16 bytes, as
// OpenCL's do. mask is dense; stridem is m*n, or 0 for one mask for all batch items. An absent mask
// counts as zeros, and may be null. No output overlaps an input.
//
// The two letters of a kernel say how a and b lie: n as in the formula, t transposed; _nn and _nt
// are in batch_matmul.cl. A work-item has a tile of 4 or 8 columns and takes 4 k a trip, or a
// chunk, by aligned 4-vectors. A tile that would reach past an edge is moved back, so that it ends
// there. Then it shares rows or columns with its neighbour, and stores only its own.
//
//     kernel   a vector of a holds   a vector of b holds    rows x columns of a tile
//     _tn      4 rows at one k       4 columns at one k     BMM_M0 x BMM_N0, BMM_M0 4 or 8
//     _tt      4 rows at one k       4 k of a column        4 x 4, sums in float
//
// The second vector of columns of a tile of 8 lies 4*BMM_LX further on, so that those of a group's
// work-items lie side by side.
//
//@define CLAM_F16  off                          store tensors as half
//@define CLAM_NATIVE off                          activations by native_exp2 and native_recip
//@define BMM_ACC   0 {0,1,2}                    sums in float, chunks, half
//@define BMM_M0    4 {4,8}                      rows of a tile
//@define BMM_N0    4 {4,8}                      columns of a tile of _tn
//@define BMM_LX    16 {1,2,4,8,16}              work-items of a group along n
//@define BMM_LY    4 {1,2,4,8,16,32,64,128,256} work-items of a group along m
//@define BMM_SPLIT 0 {0,1}                      addresses in two halves
//@define BMM_WHOLE 0 {0,1}                      c and mask in aligned vectors of 4
//@define BMM_LDA   0                            fixes lda where it is not 0
//@define BMM_LDB   0                            fixes ldb where it is not 0
//@define BMM_MASK  0 {0,1}                      mask is added
//@define BMM_ACT   none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid,scaled}  activation

//@shared options
#ifndef BMM_ACC
#define BMM_ACC 0
#endif
#if BMM_ACC != 0 && BMM_ACC != 1 && BMM_ACC != 2
#error "batch_matmul_transposed.cl: BMM_ACC must be 0, 1 or 2"
#endif
#ifndef BMM_M0
#define BMM_M0 4
#endif
#if BMM_M0 != 4 && BMM_M0 != 8
#error "batch_matmul_transposed.cl: BMM_M0 must be 4 or 8"
#endif
#ifndef BMM_N0
#define BMM_N0 4
#endif
#if BMM_N0 != 4 && BMM_N0 != 8
#error "batch_matmul_transposed.cl: BMM_N0 must be 4 or 8"
#endif
#ifndef BMM_LX
#define BMM_LX 16
#endif
#if BMM_LX < 1 || BMM_LX > 16 || BMM_LX & (BMM_LX - 1)
#error "batch_matmul_transposed.cl: BMM_LX must be a power of two from 1 to 16"
#endif
#ifndef BMM_LY
#define BMM_LY 4
#endif
#if BMM_LY < 1 || BMM_LY > 256 || BMM_LY & (BMM_LY - 1)
#error "batch_matmul_transposed.cl: BMM_LY must be a power of two from 1 to 256"
#endif
#ifndef BMM_SPLIT
#define BMM_SPLIT 0
#endif
#if BMM_SPLIT != 0 && BMM_SPLIT != 1
#error "batch_matmul_transposed.cl: BMM_SPLIT must be 0 or 1"
#endif
#ifndef BMM_WHOLE
#define BMM_WHOLE 0
#endif
#if BMM_WHOLE != 0 && BMM_WHOLE != 1
#error "batch_matmul_transposed.cl: BMM_WHOLE must be 0 or 1"
#endif
#ifndef BMM_LDA
#define BMM_LDA 0
#endif
#ifndef BMM_LDB
#define BMM_LDB 0
#endif
#ifndef BMM_MASK
#define BMM_MASK 0
#endif
#if BMM_MASK != 0 && BMM_MASK != 1
#error "batch_matmul_transposed.cl: BMM_MASK must be 0 or 1"
#endif
#ifndef BMM_ACT
#define BMM_ACT none
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

#if BMM_LDA % 4 != 0 || BMM_LDB % 4 != 0
#error "batch_matmul_transposed.cl: BMM_LDA and BMM_LDB must be multiples of 4, for vector loads"
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

// The names of the shared text.
#define ROWS BMM_M0
#define VECTORS (BMM_N0 / 4)
#define K0 4
#define LX BMM_LX
#define LY BMM_LY
#define ACC BMM_ACC
#define PARTS 1  // no work-items share k
#define SPLIT BMM_SPLIT
#define WHOLE BMM_WHOLE
#define SECOND 0  // one source of k
#define ADDEND BMM_MASK
#define RESIDUAL 0
#define ACT BMM_ACT

#define APART (4 * LX)  // columns from a vector of a tile to the next
#define MAY_BE_EMPTY 0

#define GROUP __attribute__((reqd_work_group_size(LX, LY, 1)))

// ---- activations: BMM_ACT is the name of one of these, or of a built-in ----

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

// ---- memory: a 64-bit base and an unsigned byte offset cost Mali compilers the least ----

//@shared memory
float load1(__global const char* p, uint at) { return (float)*(__global const T*)(p + at); }

float4 load4(__global const char* p, uint at) {
  const T4 v = *(__global const T4*)(p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store1(float v, __global char* p, uint at) { *(__global T*)(p + at) = (T)v; }

void store4(float4 v, __global char* p, uint at) {
  *(__global T4*)(p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}
//@end

// ---- addresses that a loop moves along ----

//@shared address
// With SPLIT, a load adds to the lower half of an address alone. Mesa's compilers for Mali spend
// two instructions on that. A sum of 64 bits takes three, and more registers. Right only where base
// and what is read have the same upper half: see ends_above. A loop moves on BEFORE a LIMIT.
#if SPLIT
typedef uint2 Address;
typedef uint Limit;
#define ADDRESS(base, at) (as_uint2((ulong)(base)) + (uint2)(at, 0))
#define PLACE(address, at) as_ulong((uint2)((address).x + (at), (address).y))
#define MOVE(address, bytes) (address).x += (bytes)
#define LOW(address) (address).x
#define LIMIT(address, bytes) ((address).x + (bytes))
#define BEFORE(address, limit) ((address).x < (limit))
#else
typedef __global const char *Address, *Limit;
#define ADDRESS(base, at) ((__global const char*)(base) + (at))
#define PLACE(address, at) ((address) + (at))
#define MOVE(address, bytes) (address) += (bytes)
#define LOW(address) ((uint)(ulong)(address))
#define LIMIT(address, bytes) ((address) + (bytes))
#define BEFORE(address, limit) ((address) < (limit))
#endif

// Whether what lies behind `bytes` from the base on has another upper half than the base.
int ends_above(__global const void* base, uint bytes) {
  return SPLIT && (uint)(ulong)base + bytes < (uint)(ulong)base;
}
//@end

// ---- sums ----

//@shared factor
#if ACC != 0 && !defined(CLAM_F16)
#error "sums in half, the option that ends in _ACC, need CLAM_F16"
#endif

// What is multiplied and summed, until a chunk ends. Packed operands are stored so, unless
// their kernel says otherwise.
#if ACC == 0
typedef float S;
typedef float4 S4;
#else
typedef half S;
typedef half4 S4;
#endif

#define CHUNK 32  // products of a chunk

// Through components: some compilers lack the conversions of half vectors.
float4 widen(S4 v) { return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w); }

S4 load_t(__global const T4* p) {
  const T4 v = *p;
  return (S4)((S)v.x, (S)v.y, (S)v.z, (S)v.w);
}
//@end

//@shared rows_and_vectors
// Sums are variables of their own: arrays cost Mesa's compilers a fifth of the loop. t0_1 is that
// of row 0 and vector 1 of columns, and c0_1 the total of its chunks.
#if ROWS == 1
#define EACH_ROW(DO, v, a) DO(0, v, a)
#elif ROWS == 2
#define EACH_ROW(DO, v, a) DO(0, v, a) DO(1, v, a)
#elif ROWS == 4
#define EACH_ROW(DO, v, a) DO(0, v, a) DO(1, v, a) DO(2, v, a) DO(3, v, a)
#elif ROWS == 5
#define EACH_ROW(DO, v, a) DO(0, v, a) DO(1, v, a) DO(2, v, a) DO(3, v, a) DO(4, v, a)
#elif ROWS == 6
#define EACH_ROW(DO, v, a) \
  DO(0, v, a) DO(1, v, a) DO(2, v, a) DO(3, v, a) DO(4, v, a) DO(5, v, a)
#else
#define EACH_ROW(DO, v, a)                                                \
  DO(0, v, a) DO(1, v, a) DO(2, v, a) DO(3, v, a) DO(4, v, a) DO(5, v, a) \
  DO(6, v, a) DO(7, v, a)
#endif
#if VECTORS == 1
#define EACH_VECTOR(DO, a, b, c) DO(0, a, b, c)
#define EACH_SUM(DO) EACH_ROW(DO, 0, )
#else
#define EACH_VECTOR(DO, a, b, c) DO(0, a, b, c) DO(1, a, b, c)
#define EACH_SUM(DO) EACH_ROW(DO, 0, ) EACH_ROW(DO, 1, )
#endif
//@end

//@shared sums
#if ROWS == 5 && ACC != 0
#error "a tile of 5 rows has sums in float: the option that ends in _ACC must be 0"
#endif
#if K0 == 16 && ACC == 2
#error "the option that ends in _K0 must be 4 or 8 where sums are half"
#endif

// A sum before the loop, as a trip ends, and behind the loop.
#if ACC == 1
#define DECLARE(i, v, unused) float4 c##i##_##v = (float4)(0.0f); S4 t##i##_##v;
#define ADD_UP(i, v, unused) c##i##_##v += widen(t##i##_##v);
#define HAND_OVER(i, v, unused) sum[i * VECTORS + v] = c##i##_##v;
#else
#define DECLARE(i, v, unused) S4 t##i##_##v = (S4)((S)0);
#define ADD_UP(i, v, unused)
#define HAND_OVER(i, v, unused) sum[i * VECTORS + v] = widen(t##i##_##v);
#endif

// One product each, with vector v of w. The first one of a chunk is not added to a zero: Mesa 25
// would then not multiply halves in pairs.
#define NEXT_BY(i, v, factor) t##i##_##v = fma((S4)(factor), w##v, t##i##_##v);
#if ACC == 1
#define FIRST_BY(i, v, factor) t##i##_##v = (S4)(factor) * w##v;
#else
#define FIRST_BY NEXT_BY
#endif

// Adds k products: x moves on by x_step bytes a k, w by w_step. FOUR(FIRST or NEXT, at) adds those
// of four k, `at` k behind the place of x and w. END_TRIP is what becomes of a sum as a chunk ends.
// The loops are do loops: Mesa does not turn others into these, and would move sums at each trip.
// Whole chunks end at `rest`. `end` is computed where it is used, for Mesa's register allocator.
#if ACC == 1
#define SUM_K(FOUR, END_TRIP, x_step, w_step, k)                  \
  {                                                               \
    const Limit rest = LIMIT(x, (k) / CHUNK * CHUNK * (x_step));      \
    if (BEFORE(x, rest)) {                                        \
      do {                                                        \
        FOUR(FIRST, 0) FOUR(NEXT, 4) FOUR(NEXT, 8) FOUR(NEXT, 12) \
        FOUR(NEXT, 16) FOUR(NEXT, 20) FOUR(NEXT, 24) FOUR(NEXT, 28) \
        EACH_SUM(END_TRIP)                                        \
        MOVE(x, CHUNK * (x_step));                                \
        MOVE(w, CHUNK * (w_step));                                \
      } while (BEFORE(x, rest));                                  \
    }                                                             \
    const Limit end = rest + (k) % CHUNK * (x_step);              \
    if (BEFORE(x, end)) {                                         \
      do {                                                        \
        FOUR(FIRST, 0)                                            \
        EACH_SUM(END_TRIP)                                        \
        MOVE(x, 4 * (x_step));                                    \
        MOVE(w, 4 * (w_step));                                    \
      } while (BEFORE(x, end));                                   \
    }                                                             \
  }
#else
#if K0 == 4
#define TRIP(FOUR) FOUR(NEXT, 0)
#elif K0 == 8
#define TRIP(FOUR) FOUR(NEXT, 0) FOUR(NEXT, 4)
#else
#define TRIP(FOUR) FOUR(NEXT, 0) FOUR(NEXT, 4) FOUR(NEXT, 8) FOUR(NEXT, 12)
#endif
#define SUM_K(FOUR, END_TRIP, x_step, w_step, k)                  \
  {                                                               \
    const Limit end = LIMIT(x, (k) * (x_step));                       \
    if (!MAY_BE_EMPTY || BEFORE(x, end)) {                        \
      do {                                                        \
        TRIP(FOUR)                                                \
        MOVE(x, K0 * (x_step));                                   \
        MOVE(w, K0 * (w_step));                                   \
      } while (BEFORE(x, end));                                   \
    }                                                             \
  }
#endif
//@end

//@shared sum_one
// Where an operand lies: rows of x or columns of w every `line` bytes from `at` on, and their k
// every `step`. Its elements are S if it is packed, else T.
typedef struct {
  __global const char* at;
  uint line, step;
  int packed;
} Lines;

S element(__global const char* p, int packed) {
  return packed ? *(__global const S*)p : (S)*(__global const T*)p;
}

// The sum of one row and one column: k products with x, then k2 with x2, which lies as x does.
// `pairs`: even and odd k apart.
float sum_one(Lines x, int k, __global const char* x2, int k2, Lines w, int pairs) {
  float total = 0.0f;
  int left = SECOND ? k + k2 : k;
  if (SECOND && k == 0) x.at = x2;
  while (left > 0) {
    const int of_source = SECOND && k > 0 ? k : left;
    const int of_chunk = of_source < CHUNK ? min(of_source, 4) : CHUNK;
    const int products = ACC != 1 ? left : of_chunk;
    S even = (S)0, odd = (S)0;
    for (int i = 0; i < products; ++i) {
      const S v = element(x.at, x.packed), weight = element(w.at, w.packed);
      if (pairs && (i & 1)) {
        odd = fma(v, weight, odd);
      } else {
        even = fma(v, weight, even);
      }
      x.at += x.step;
      w.at += w.step;
      if (SECOND && --k == 0) x.at = x2;
    }
    total += (float)(pairs ? even + odd : even);
    left -= products;
  }
  return total;
}
//@end

// ---- sums over vectors of rows ----

// Both hold vectors at one k: x one of four rows, or two; w of four columns, the tile's second
// `w_apart` bytes behind its first.
#define LOAD_W(v, k_at) \
  const S4 w##v = load_t((__global const T4*)PLACE(w, (k_at) * w_stride + v * w_apart));
#define LOAD_ROWS(i, k_at) \
  const S4 x##i = load_t((__global const T4*)PLACE(x, (k_at) * x_stride + i * SIZE));

//@shared outer_products
// x as a vector of four rows at one k, or two, and its products with all vectors of w.
#define X_OF_0 x0.x
#define X_OF_1 x0.y
#define X_OF_2 x0.z
#define X_OF_3 x0.w
#define X_OF_4 x4.x
#define X_OF_5 x4.y
#define X_OF_6 x4.z
#define X_OF_7 x4.w
#define FIRST_OUTER(i, v, unused) FIRST_BY(i, v, X_OF_##i)
#define NEXT_OUTER(i, v, unused) NEXT_BY(i, v, X_OF_##i)
#if ROWS == 4
#define LOAD_ALL_ROWS(k_at) LOAD_ROWS(0, k_at)
#else
#define LOAD_ALL_ROWS(k_at) LOAD_ROWS(0, k_at) LOAD_ROWS(4, k_at)
#endif
#define WITH_W_OUTER(v, ADD, k_at, unused) LOAD_W(v, k_at) EACH_ROW(ADD, v, )
#define ONE_K(ADD, k_at) { LOAD_ALL_ROWS(k_at) EACH_VECTOR(WITH_W_OUTER, ADD, k_at, ) }
#define FOUR_K_OUTER(ADD, k_at)                            \
  ONE_K(ADD##_OUTER, k_at) ONE_K(NEXT_OUTER, (k_at) + 1)   \
  ONE_K(NEXT_OUTER, (k_at) + 2) ONE_K(NEXT_OUTER, (k_at) + 3)
//@end

void sum_vectors(float4* sum, Address x, uint x_stride, Address w, uint w_stride, uint w_apart,
                 int k) {
  EACH_SUM(DECLARE)
  SUM_K(FOUR_K_OUTER, ADD_UP, x_stride, w_stride, k)
  EACH_SUM(HAND_OVER)
}

#if ACC == 0
// x holds vectors of four rows at one k, w four rows of k.
float add_along_k(float sum, float x0, float x1, float x2, float x3, float4 w) {
  return fma(x3, w.w, fma(x2, w.z, fma(x1, w.y, fma(x0, w.x, sum))));
}

float4 add_columns(float4 sum, float x0, float x1, float x2, float x3, float4 w0, float4 w1,
                   float4 w2, float4 w3) {
  return (float4)(add_along_k(sum.x, x0, x1, x2, x3, w0), add_along_k(sum.y, x0, x1, x2, x3, w1),
                  add_along_k(sum.z, x0, x1, x2, x3, w2), add_along_k(sum.w, x0, x1, x2, x3, w3));
}

void sum_vectors_by_rows(float4* sum, __global const char* x, uint x_stride,
                         __global const char* w, uint w_stride, int k) {
  float4 t0 = (float4)(0.0f), t1 = t0, t2 = t0, t3 = t0;
  do {
    const float4 x0 = load4(x, 0), x1 = load4(x, x_stride);
    const float4 x2 = load4(x, 2 * x_stride), x3 = load4(x, 3 * x_stride);
    const float4 w0 = load4(w, 0), w1 = load4(w, w_stride);
    const float4 w2 = load4(w, 2 * w_stride), w3 = load4(w, 3 * w_stride);
    t0 = add_columns(t0, x0.x, x1.x, x2.x, x3.x, w0, w1, w2, w3);
    t1 = add_columns(t1, x0.y, x1.y, x2.y, x3.y, w0, w1, w2, w3);
    t2 = add_columns(t2, x0.z, x1.z, x2.z, x3.z, w0, w1, w2, w3);
    t3 = add_columns(t3, x0.w, x1.w, x2.w, x3.w, w0, w1, w2, w3);
    x += 4 * x_stride;
    w += 4 * SIZE;
    k -= 4;
  } while (k > 0);
  sum[0] = t0;
  sum[1] = t1;
  sum[2] = t2;
  sum[3] = t3;
}
#endif

// ---- tiles ----

#define COLUMN_GROUP get_group_id(0)

//@shared tile
// A tile: ROWS rows from `row` on, and VECTORS vectors of four columns, one every APART from `col`
// on. The work-item owns, and stores, rows `above` to `below` - 1 of them. Of a vector it owns the
// columns from `first` on that the output has. own_tile moves tiles up alone: `below` is ROWS,
// and `first` is 0.
//
// For Mesa's register allocator: as many values live through the loop over k as its listing is best
// with. With one more or less, a load may cost a move more. So some are computed again behind it.
typedef struct {
  int row, above, below, col, first;
} Tile;

// The vectors of a group's work-items lie side by side, whether the output has all columns or not.
// The first row is `last` at most. Through a pointer: Oclgrind cannot take what a compiler makes of
// a struct that is returned.
void own_tile(Tile* tile, int own_row, int last) {
  const int lane = get_local_id(0);
  tile->row = min(own_row, last);
  tile->above = own_row - tile->row;
  tile->below = ROWS;
  tile->col = (int)COLUMN_GROUP * (4 * VECTORS * LX) + lane * (APART == 4 ? 4 * VECTORS : 4);
  tile->first = 0;
}

// The elements from a matrix's start to the end of `rows` rows of `row` elements.
int reach(int at, int rows, int ld, int row) { return at + (rows - 1) * ld + row; }
//@end

// ---- from the sum to the output ----

//@shared finish
// What is added before and after the activation, and the output. Element [row][col] of each lies
// at_ + row * ld_ + col elements behind its pointer.
typedef struct {
  __global const T *addend, *residual;
  __global T* y;
  int n, ld_addend, ld_residual, ld_y, at_addend, at_residual, at_y;
  float factor;
} Output;

int owns(int i, int first, int end) { return i >= first && i < end; }

// The own elements of a vector; `whole` when all four are its own and aligned.
float4 load_own(__global const T* base, int index, int first, int end, int whole) {
  __global const char* p = (__global const char*)base;
  const uint at = index * SIZE;
  if (whole) return load4(p, at);
  return (float4)(owns(0, first, end) ? load1(p, at) : 0.0f,
                  owns(1, first, end) ? load1(p, at + SIZE) : 0.0f,
                  owns(2, first, end) ? load1(p, at + 2 * SIZE) : 0.0f,
                  owns(3, first, end) ? load1(p, at + 3 * SIZE) : 0.0f);
}

void store_own(float4 v, __global T* base, int index, int first, int end, int whole) {
  __global char* p = (__global char*)base;
  const uint at = index * SIZE;
  if (whole) {
    store4(v, p, at);
    return;
  }
  if (owns(0, first, end)) store1(v.x, p, at);
  if (owns(1, first, end)) store1(v.y, p, at + SIZE);
  if (owns(2, first, end)) store1(v.z, p, at + 2 * SIZE);
  if (owns(3, first, end)) store1(v.w, p, at + 3 * SIZE);
}

// Sum i of the tile: vector i % VECTORS of row i / VECTORS.
void finish_vector(float4 sum, int i, Tile tile, Output out) {
  const int row = tile.row + i / VECTORS, col = tile.col + i % VECTORS * APART;
  const int first = tile.first, end = out.n - col;
  if (i / VECTORS < tile.above || i / VECTORS >= tile.below || end <= 0) return;
  const int odd = out.n | out.ld_y | out.at_y | (RESIDUAL ? out.ld_residual | out.at_residual : 0);
  const int whole = WHOLE || (odd & 3) == 0;
  float4 z = (float4)(0.0f);
  if (ADDEND) {
    z = load_own(out.addend, out.at_addend + row * out.ld_addend + col, first, end, whole);
  }
  z = fma((float4)(out.factor), sum, z);
  float4 v = (float4)(ACT(z.x), ACT(z.y), ACT(z.z), ACT(z.w));
  if (RESIDUAL) {
    v += load_own(out.residual, out.at_residual + row * out.ld_residual + col, first, end, whole);
  }
  store_own(v, out.y, out.at_y + row * out.ld_y + col, first, end, whole);
}
//@end

//@shared parts
#if PARTS > 1 && LX * LY * PARTS > 64
#error "_LX * _LY * _PARTS must be up to 64 where work-items share k"
#endif

#define SUMS (ROWS * VECTORS)
#define PARTIAL_SIZE (PARTS == 1 ? 1 : PARTS * SUMS * LX * LY)

// Sum i of the tile: finished, or, in parts, put where the others find it.
void take(float4 sum, int i, Tile tile, Output out, __local float4* partial) {
#if PARTS == 1
  finish_vector(sum, i, tile, out);
#else
  const int lane = (int)get_local_id(1) * LX + (int)get_local_id(0);
  partial[((int)get_local_id(2) * SUMS + i) * LX * LY + lane] = sum;
#endif
}

#define TAKE(i, v, unused) take(sum[i * VECTORS + v], i * VECTORS + v, tile, out, partial);

// Items share out the sums of their tile; each adds those of all parts, in their order.
void finish_parts(Tile tile, Output out, __local const float4* partial) {
#if PARTS > 1
  const int lane = (int)get_local_id(1) * LX + (int)get_local_id(0), lanes = LX * LY;
  // Every part's sums are there before any is read.
  barrier(CLK_LOCAL_MEM_FENCE);
  if (tile.first > 3) return;  // another item has these columns
  // As many trips for all: llvmpipe goes wrong where items leave such a loop one by one.
  for (int j = 0; j < SUMS; j += PARTS) {
    const int i = j + (int)get_local_id(2);
    if (i >= SUMS) continue;
    float4 sum = partial[i * lanes + lane];
    for (int part = 1; part < PARTS; ++part) sum += partial[(part * SUMS + i) * lanes + lane];
    finish_vector(sum, i, tile, out);
  }
#endif
}

// All sums of a tile by scalar loads: k products with x, then k2 with x2. `pairs`: see sum_one.
void sum_slowly(Lines x, int k, Lines x2, int k2, Lines w, int pairs, Tile tile, Output out,
                __local float4* partial) {
  for (int i = 0; i < SUMS; ++i) {
    const int row = i / VECTORS, col = i % VECTORS * APART;
    float4 sum = (float4)(0.0f);
    for (int column = 0; column < 4; ++column) {
      const Lines row_of_x = {x.at + row * x.line, x.line, x.step, x.packed};
      const Lines column_of_w = {w.at + (col + column) * w.line, w.line, w.step, w.packed};
      const float one = sum_one(row_of_x, k, x2.at + row * x2.line, k2, column_of_w, pairs);
      sum = (float4)(sum.yzw, one);
    }
    take(sum, i, tile, out, partial);
  }
}
//@end

// ---- the kernels ----

//@shared rows_again
// The rows of a tile again. For Mesa's register allocator: written so that a compiler does not keep
// the first ones in registers through the loop over k.
void own_rows_again(Tile* tile, int own_row, int m) {
  tile->row = m - max(m - own_row, ROWS);
  tile->above = own_row - tile->row;
}
//@end

// What becomes of the sums of a kernel. It is written where it is used, for Mesa's register
// allocator. A place in c that is known before the loop over k would take a register through it.
#define OUTPUT {mask, 0, c, n, n, 0, ldc, item * stridem, 0, offc + item * stridec, scale}

// One work-item a tile; a in rows along m, b in rows along n: outer products of vectors.
//@kernel batch_matmul_tn
//@arg    0  a        in   T[offa + batch*stridea]
//@arg    1  b        in   T[offb + batch*strideb]
//@arg    2  mask     in   T[m*n + (batch-1)*stridem]
//@arg    3  c        out  T[offc + batch*stridec]
//@arg    4  m        int      rows of c
//@arg    5  n        int      columns of c
//@arg    6  k        int      products of a sum, the zeros that fill up a and b included
//@arg    7  lda      int
//@arg    8  ldb      int
//@arg    9  ldc      int
//@arg    10 stridea  int      0: one matrix for all batch items
//@arg    11 strideb  int      0: one matrix for all batch items
//@arg    12 stridem  int      m*n, or 0: one mask for all batch items
//@arg    13 stridec  int
//@arg    14 offa     int
//@arg    15 offb     int
//@arg    16 offc     int
//@arg    17 scale    float    factor of the sum
//@null   mask if BMM_MASK==0
//@global ceil(n/(BMM_N0*BMM_LX))*BMM_LX ceil(m/(BMM_M0*BMM_LY))*BMM_LY batch
//@local  BMM_LX BMM_LY 1
//@needs  m >= 1, ceil(m/4)*4 >= BMM_M0, lda >= ceil(m/4)*4
//@needs  n >= 1, ldb >= ceil(n/4)*4, n % (8*BMM_LX) == 0 || BMM_N0 == 4
//@needs  every row of a has ceil(m/4)*4 columns; those from m on are read and not used
//@needs  every row of b has ceil(n/4)*4 columns; those from n on are read and not used
//@needs  k >= 4, k % 4 == 0, lda % 4 == 0, stridea % 4 == 0, offa % 4 == 0
//@needs  ldb % 4 == 0, strideb % 4 == 0, offb % 4 == 0, c overlaps no input
//@needs  n % 4 == 0 || BMM_WHOLE == 0, ldc % 4 == 0 || BMM_WHOLE == 0
//@needs  stridec % 4 == 0 || BMM_WHOLE == 0, offc % 4 == 0 || BMM_WHOLE == 0
__kernel GROUP void batch_matmul_tn(__global const T* a, __global const T* b,
                                    __global const T* mask, __global T* c, int m, int n, int k,
                                    int lda, int ldb, int ldc, int stridea, int strideb,
                                    int stridem, int stridec, int offa, int offb, int offc,
                                    float scale) {
  __local float4 partial[PARTIAL_SIZE];
  Tile tile;
  const int item = get_group_id(2);
  const int own_row = (int)get_global_id(1) * ROWS, padded_m = (m + 3) & ~3;
  own_tile(&tile, own_row, padded_m - ROWS);
  tile.below = m - tile.row;
  if (own_row >= m || tile.col >= n) return;
  const int a_row = BMM_LDA ? BMM_LDA : lda, b_row = BMM_LDB ? BMM_LDB : ldb;
  const int a_at = offa + item * stridea + tile.row;
  const int b_at = offb + item * strideb + tile.col;
  // Not ||, for Mesa's register allocator: that would be two branches to one place. What is used
  // there would be kept in registers through the loop.
  if (ends_above(a, reach(a_at, k, a_row, ROWS) * SIZE) |
      ends_above(b, reach(b_at, k, b_row, (VECTORS - 1) * APART + 4) * SIZE)) {
    const Output out = OUTPUT;
    const Lines rows = {(__global const char*)(a + a_at), SIZE, a_row * SIZE, 0};
    const Lines columns = {(__global const char*)(b + b_at), SIZE, b_row * SIZE, 0};
    sum_slowly(rows, k, rows, 0, columns, 0, tile, out, partial);
  } else {
    float4 sum[SUMS];
    sum_vectors(sum, ADDRESS(a, a_at * SIZE), a_row * SIZE, ADDRESS(b, b_at * SIZE), b_row * SIZE,
                APART * SIZE, k);
    own_rows_again(&tile, own_row, padded_m);
    tile.below = m - tile.row;
    const Output out = OUTPUT;
    EACH_SUM(TAKE)
  }
}

#if ACC == 0
// One work-item a tile; a in rows along m, b in rows along k.
//@kernel batch_matmul_tt
//@arg    0  a        in   T[offa + batch*stridea]
//@arg    1  b        in   T[offb + batch*strideb]
//@arg    2  mask     in   T[m*n + (batch-1)*stridem]
//@arg    3  c        out  T[offc + batch*stridec]
//@arg    4  m        int      rows of c
//@arg    5  n        int      columns of c
//@arg    6  k        int      products of a sum, the zeros that fill up a and b included
//@arg    7  lda      int
//@arg    8  ldb      int
//@arg    9  ldc      int
//@arg    10 stridea  int      0: one matrix for all batch items
//@arg    11 strideb  int      0: one matrix for all batch items
//@arg    12 stridem  int      m*n, or 0: one mask for all batch items
//@arg    13 stridec  int
//@arg    14 offa     int
//@arg    15 offb     int
//@arg    16 offc     int
//@arg    17 scale    float    factor of the sum
//@null   mask if BMM_MASK==0
//@global ceil(n/(4*BMM_LX))*BMM_LX ceil(m/(4*BMM_LY))*BMM_LY batch
//@local  BMM_LX BMM_LY 1
//@needs  m >= 1, lda >= ceil(m/4)*4, n >= 1, BMM_ACC == 0
//@needs  every row of a has ceil(m/4)*4 columns; those from m on are read and not used
//@needs  b has at least 4 rows; those from n on are read and not used
//@needs  k >= 4, k % 4 == 0, lda % 4 == 0, stridea % 4 == 0, offa % 4 == 0
//@needs  ldb % 4 == 0, strideb % 4 == 0, offb % 4 == 0, c overlaps no input
//@needs  n % 4 == 0 || BMM_WHOLE == 0, ldc % 4 == 0 || BMM_WHOLE == 0
//@needs  stridec % 4 == 0 || BMM_WHOLE == 0, offc % 4 == 0 || BMM_WHOLE == 0
__kernel GROUP void batch_matmul_tt(__global const T* a, __global const T* b,
                                    __global const T* mask, __global T* c, int m, int n, int k,
                                    int lda, int ldb, int ldc, int stridea, int strideb,
                                    int stridem, int stridec, int offa, int offb, int offc,
                                    float scale) {
  const int row = (int)get_global_id(1) * 4, own_col = (int)get_global_id(0) * 4;
  if (row >= m || own_col >= n) return;
  const int col = max(min(own_col, n - 4), 0);
  const Tile tile = {row, 0, m - row, col, own_col - col};
  const int item = get_group_id(2);
  const int a_row = BMM_LDA ? BMM_LDA : lda, b_row = BMM_LDB ? BMM_LDB : ldb;
  const int a_at = offa + item * stridea + row, b_at = offb + item * strideb + tile.col * b_row;
  float4 sum[4];
  sum_vectors_by_rows(sum, (__global const char*)(a + a_at), a_row * SIZE,
                      (__global const char*)(b + b_at), b_row * SIZE, k);
  const Output out = OUTPUT;
  finish_vector(sum[0], 0 * VECTORS, tile, out);
  finish_vector(sum[1], 1 * VECTORS, tile, out);
  finish_vector(sum[2], 2 * VECTORS, tile, out);
  finish_vector(sum[3], 3 * VECTORS, tile, out);
}
#endif

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops batch_matmul_tn
//@loop   k/4 if BMM_ACC!=1  over k, four a trip
//@loop   floor(k/32) if BMM_ACC==1  over the chunks
//@loop   (k-floor(k/32)*32)/4 if BMM_ACC==1  over the k that are left, four a trip
//@loop   0*k if BMM_SPLIT*(BMM_M0*BMM_N0>4)  over the sums of a tile that lies across 4 GiB
//@loop   0*k if BMM_SPLIT  over the columns of such a sum
//@loop   0*k if BMM_SPLIT  over its chunks, or once
//@loop   0*k if BMM_SPLIT  over the k of a column

//@loops batch_matmul_tt
//@loop   k/4  over k, four a trip
