// SPDX-License-Identifier: MIT
// batch_matmul.cl - c[i,m,n] = act(scale * sum_k a[i,m,k] * b[i,k,n] + mask[m,n]) + r[m,n]
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). What follows
// the sum is float. BMM_ACC says how sums are kept. In each mode every kernel adds in the order of
// k. Where it is not 0, batch_matmul_nt adds even and odd k apart until the chunk ends:
//
//   0  in one float per output, by fma
//   1  in half inside a chunk of 32 k, or of 4 behind the last whole one; the chunks in float
//   2  in half
//
// With BMM_PARTS, each part of k so, and then the parts in float, in their order.
//
// a, b and c are stacks of matrices: a batch stride, a row stride (ld) and a first element (off),
// in elements. Every byte offset into them fits an int. So a head, whose rows are pieces of longer
// rows, is read and written in place. stridea = 0 or strideb = 0: one matrix for all batch items.
// Elements of c lie in distinct places: stridec >= (m-1)*ldc + n, or, where batch items lie side by
// side, stridec >= n and ldc >= (batch-1)*stridec + n. Buffers start on multiples of 16 bytes, as
// OpenCL's do. mask is dense; stridem is m*n, or 0 for one mask for all batch items. With ldm = 0
// it has one row: a bias. An absent mask counts as zeros, and may be null.
//
// r and a2 are one matrix each, for all batch items. An absent r is not added, and may be null.
// Where there is one batch item, c may be r, element on element; else no output overlaps an input.
//
// With BMM_K2, a has the first k columns of the left matrix and a2 the next k2, as after a concat
// that is not computed. Rows k to k + k2 - 1 of the right matrix belong to a2. A chunk ends with
// its source. Without, a2 may be null, and k2, lda2 and offa2 are not used.
//
// The two letters of a kernel say how a and b lie: n as in the formula, t transposed; _tn and _tt
// are in batch_matmul_transposed.cl. A work-item has a tile of 4 or 8 columns (batch_matmul_plain:
// one output). By aligned 4-vectors it takes BMM_K0 k a trip, or a chunk. A tile that would reach
// past an edge is moved back, so that it ends there. Then it shares rows or columns with its
// neighbour, and stores only its own.
//
//     kernel   a vector of a holds   a vector of b holds    rows x columns of a tile
//     _nt      4 k of a row          4 k of a column        BMM_M0 x 4
//     _nn      4 k of a row          4 columns at one k     BMM_M0 x BMM_N0
//
// The second vector of columns of a tile of 8 lies 4*BMM_LX further on, so that those of a group's
// work-items lie side by side.
//
//@define CLAM_F16     off                          store tensors as half
//@define CLAM_NATIVE  off                          activations by native_exp2 and native_recip
//@define BMM_ACC      0 {0,1,2}                    sums in float, chunks, half
//@define BMM_M0       4 {1,2,4,5,6,8}              rows of a tile
//@define BMM_N0       4 {4,8}                      columns of a tile of _nn
//@define BMM_K0       4 {4,8,16}                   k a trip, but for chunks
//@define BMM_LX       16 {1,2,4,8,16}              work-items of a group along n
//@define BMM_LY       4 {1,2,4,8,16,32,64,128,256} work-items of a group along m
//@define BMM_PARTS    1 {1,2,4}                    work-items that share a tile's k
//@define BMM_SPLIT    0 {0,1}                      addresses in two halves
//@define BMM_WHOLE    0 {0,1}                      c, r and mask in aligned vectors of 4
//@define BMM_K2       0 {0,1}                      a second source of k: a2
//@define BMM_LDA      0                            fixes lda where it is not 0
//@define BMM_LDA2     0                            fixes lda2 where it is not 0
//@define BMM_LDB      0                            fixes ldb where it is not 0
//@define BMM_MASK     0 {0,1}                      mask is added
//@define BMM_RESIDUAL 0 {0,1}                      r is added
//@define BMM_ACT      none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid,scaled}  activation

//@shared options
#ifndef BMM_ACC
#define BMM_ACC 0
#endif
#if BMM_ACC != 0 && BMM_ACC != 1 && BMM_ACC != 2
#error "batch_matmul.cl: BMM_ACC must be 0, 1 or 2"
#endif
#ifndef BMM_M0
#define BMM_M0 4
#endif
#if BMM_M0 != 1 && BMM_M0 != 2 && BMM_M0 != 4 && \
    BMM_M0 != 5 && BMM_M0 != 6 && BMM_M0 != 8
#error "batch_matmul.cl: BMM_M0 must be 1, 2, 4, 5, 6 or 8"
#endif
#ifndef BMM_N0
#define BMM_N0 4
#endif
#if BMM_N0 != 4 && BMM_N0 != 8
#error "batch_matmul.cl: BMM_N0 must be 4 or 8"
#endif
#ifndef BMM_K0
#define BMM_K0 4
#endif
#if BMM_K0 != 4 && BMM_K0 != 8 && BMM_K0 != 16
#error "batch_matmul.cl: BMM_K0 must be 4, 8 or 16"
#endif
#ifndef BMM_LX
#define BMM_LX 16
#endif
#if BMM_LX < 1 || BMM_LX > 16 || BMM_LX & (BMM_LX - 1)
#error "batch_matmul.cl: BMM_LX must be a power of two from 1 to 16"
#endif
#ifndef BMM_LY
#define BMM_LY 4
#endif
#if BMM_LY < 1 || BMM_LY > 256 || BMM_LY & (BMM_LY - 1)
#error "batch_matmul.cl: BMM_LY must be a power of two from 1 to 256"
#endif
#ifndef BMM_PARTS
#define BMM_PARTS 1
#endif
#if BMM_PARTS != 1 && BMM_PARTS != 2 && BMM_PARTS != 4
#error "batch_matmul.cl: BMM_PARTS must be 1, 2 or 4"
#endif
#ifndef BMM_SPLIT
#define BMM_SPLIT 0
#endif
#if BMM_SPLIT != 0 && BMM_SPLIT != 1
#error "batch_matmul.cl: BMM_SPLIT must be 0 or 1"
#endif
#ifndef BMM_WHOLE
#define BMM_WHOLE 0
#endif
#if BMM_WHOLE != 0 && BMM_WHOLE != 1
#error "batch_matmul.cl: BMM_WHOLE must be 0 or 1"
#endif
#ifndef BMM_K2
#define BMM_K2 0
#endif
#if BMM_K2 != 0 && BMM_K2 != 1
#error "batch_matmul.cl: BMM_K2 must be 0 or 1"
#endif
#ifndef BMM_LDA
#define BMM_LDA 0
#endif
#ifndef BMM_LDA2
#define BMM_LDA2 0
#endif
#ifndef BMM_LDB
#define BMM_LDB 0
#endif
#ifndef BMM_MASK
#define BMM_MASK 0
#endif
#if BMM_MASK != 0 && BMM_MASK != 1
#error "batch_matmul.cl: BMM_MASK must be 0 or 1"
#endif
#ifndef BMM_RESIDUAL
#define BMM_RESIDUAL 0
#endif
#if BMM_RESIDUAL != 0 && BMM_RESIDUAL != 1
#error "batch_matmul.cl: BMM_RESIDUAL must be 0 or 1"
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

#if BMM_LDA % 4 != 0 || BMM_LDA2 % 4 != 0 || BMM_LDB % 4 != 0
#error "batch_matmul.cl: BMM_LDA, LDA2 and LDB must be multiples of 4, for aligned vector loads"
#endif

//@shared element2
#ifdef CLAM_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half T;
typedef half2 T2;
typedef half4 T4;
#else
typedef float T;
typedef float2 T2;
typedef float4 T4;
#endif

#define SIZE ((uint)sizeof(T))
//@end

// The names of the shared text.
#define ROWS BMM_M0
#define VECTORS (BMM_N0 / 4)
#define K0 BMM_K0
#define LX BMM_LX
#define LY BMM_LY
#define ACC BMM_ACC
#define PARTS BMM_PARTS
#define SPLIT BMM_SPLIT
#define WHOLE BMM_WHOLE
#define SECOND BMM_K2
#define ADDEND BMM_MASK
#define RESIDUAL BMM_RESIDUAL
#define ACT BMM_ACT

#define APART (4 * LX)                      // columns from a vector of a tile to the next
#define MAY_BE_EMPTY (SECOND && PARTS > 1)  // a part that has no k of one source

#define GROUP __attribute__((reqd_work_group_size(LX, LY, PARTS)))
#define FLAT_GROUP __attribute__((reqd_work_group_size(LX, LY, 1)))

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

// ---- sums over rows of k ----

#define LOAD_W(v, k_at) \
  const S4 w##v = load_t((__global const T4*)PLACE(w, (k_at) * w_stride + v * w_apart));

//@shared sources
// The k that a work-item sums, from `begin` on: all, or a part, which begins a trip of the loop.
// `of_x` of them are with x, from its `begin_x` on, and `of_x2` with x2.
typedef struct {
  int begin, of_x, begin_x, of_x2, begin_x2;
} Range;

void own_range(Range* range, int k, int k2) {
  const int all = SECOND ? k + k2 : k;
  const int trip = ACC == 1 ? CHUNK : K0, part = all / (trip * PARTS) * trip;
  const int at = PARTS > 1 ? (int)get_local_id(2) : 0;
  const int products = at < PARTS - 1 ? part : all - at * part;
  range->begin = at * part;
  range->begin_x2 = MAY_BE_EMPTY ? max(range->begin - k, 0) : 0;
  range->begin_x = range->begin - range->begin_x2;
  range->of_x = MAY_BE_EMPTY ? min(k - range->begin_x, products) : SECOND ? k : products;
  range->of_x2 = products - range->of_x;
}

// The second source: a work-item has its rows from `row` on, and of each sums `products` elements
// from `begin` on.
typedef struct {
  __global const T* x;
  int row, ld, off, begin, products;
} Source;

int first_of_row(Source source, int row) { return source.off + row * source.ld + source.begin; }

Lines lines_of(Source source) {
  __global const T* first = source.x + first_of_row(source, source.row);
  const Lines lines = {(__global const char*)first, source.ld * SIZE, SIZE, 0};
  return lines;
}

// Of a part that lies in x alone, nothing of x2 is read.
int second_ends_above(Source second) {
  if (!SECOND) return 0;
  const int at = first_of_row(second, second.row + ROWS - 1);
  return (second.products > 0) & ends_above(second.x, (at + second.products) * SIZE);
}

// Where rows of x begin is computed once: Mesa does not move products out of a loop.
#define ROW_OF_X(i, unused1, unused2) const uint x_at##i = i * x_stride;
#define LOAD_X(i, k_at, unused) \
  const S4 x##i = load_t((__global const T4*)PLACE(x, x_at##i + (k_at) * SIZE));

// Four k: rows of x, then for each k its vectors of w, each for all rows. `k_of` is one component
// of a row's four k. With two rows and one vector of columns:
//
//   x0 = row 0's k .. k+3;  x1 = row 1's
//   w0 = w at k;            t0_0 += x0.x * w0;  t1_0 += x1.x * w0
//   w0 = w at k + 1;        t0_0 += x0.y * w0;  t1_0 += x1.y * w0;  and so on with z and w
#define FIRST(i, v, k_of) FIRST_BY(i, v, x##i.k_of)
#define NEXT(i, v, k_of) NEXT_BY(i, v, x##i.k_of)
#define WITH_W(v, ADD, k_of, k_at) LOAD_W(v, k_at) EACH_ROW(ADD, v, k_of)
#if ROWS != 5
#define FOUR_K(ADD, k_at)                          \
  {                                                \
    EACH_ROW(LOAD_X, k_at, )                       \
    { EACH_VECTOR(WITH_W, ADD, x, k_at) }          \
    { EACH_VECTOR(WITH_W, NEXT, y, (k_at) + 1) }   \
    { EACH_VECTOR(WITH_W, NEXT, z, (k_at) + 2) }   \
    { EACH_VECTOR(WITH_W, NEXT, w, (k_at) + 3) }   \
  }
#else
// Beside ten vectors of sums there are registers for four k of one row, and for two of the others.
#define LOAD_TWO(i, k_at) \
  const float2 x##i = load_two((__global const T2*)PLACE(x, x_at##i + (k_at) * SIZE));
#define TWO_K(ADD, half_of_x0, k_at)                                            \
  {                                                                             \
    const float2 x0 = half_of_x0;                                               \
    LOAD_TWO(1, k_at) LOAD_TWO(2, k_at) LOAD_TWO(3, k_at) LOAD_TWO(4, k_at)     \
    { EACH_VECTOR(WITH_W, ADD, x, k_at) }                                       \
    { EACH_VECTOR(WITH_W, NEXT, y, (k_at) + 1) }                                \
  }
#define FOUR_K(ADD, k_at)                                                       \
  {                                                                             \
    const float4 four = load_t((__global const T4*)PLACE(x, x_at0 + (k_at) * SIZE)); \
    TWO_K(ADD, four.xy, k_at) TWO_K(NEXT, four.zw, (k_at) + 2)                  \
  }

float2 load_two(__global const T2* p) {
  const T2 v = *p;
  return (float2)((float)v.x, (float)v.y);
}
#endif

// The k of x, then those of x2. For Mesa's register allocator: the place of x2 is computed behind
// the first loop, which has no register for it. The maximum, which is the row, keeps compilers from
// using an earlier product.
#if SECOND
#define SUM_SOURCES(FOUR, END_TRIP, w_step)                               \
  {                                                                       \
    EACH_ROW(ROW_OF_X, 0, )                                               \
    SUM_K(FOUR, END_TRIP, SIZE, w_step, k)                                \
  }                                                                       \
  x = ADDRESS(second.x, first_of_row(second, max(second.row, 0)) * SIZE); \
  x_stride = second.ld * SIZE;                                            \
  {                                                                       \
    EACH_ROW(ROW_OF_X, 0, )                                               \
    SUM_K(FOUR, END_TRIP, SIZE, w_step, second.products)                  \
  }
#else
#define SUM_SOURCES(FOUR, END_TRIP, w_step) \
  EACH_ROW(ROW_OF_X, 0, )                   \
  SUM_K(FOUR, END_TRIP, SIZE, w_step, k)
#endif
//@end

// x holds rows of k. w holds vectors of four columns at one k, the tile's second `w_apart` bytes
// behind its first.
void sum_columns(float4* sum, Address x, uint x_stride, Source second, Address w, uint w_stride,
                 uint w_apart, int k) {
  EACH_SUM(DECLARE)
  SUM_SOURCES(FOUR_K, ADD_UP, w_stride)
  EACH_SUM(HAND_OVER)
}

#if VECTORS == 1
// Both hold rows of k, w four of them; x is loaded row by row. In float, t0_0 sums row 0. In half,
// p0_1 sums row 0 and column 1: its even k and its odd k.
#if ACC == 0
#define DECLARE_ROW DECLARE
#define ROW_ENDS ADD_UP
#define HAND_OVER_ROW HAND_OVER
#define FIRST_ROW(i, unused, k_at)                  \
  {                                                \
    LOAD_X(i, k_at, )                              \
    t##i##_0.x = add_row(t##i##_0.x, x##i, w0);    \
    t##i##_0.y = add_row(t##i##_0.y, x##i, w1);    \
    t##i##_0.z = add_row(t##i##_0.z, x##i, w2);    \
    t##i##_0.w = add_row(t##i##_0.w, x##i, w3);    \
  }
#define NEXT_ROW FIRST_ROW
float add_row(float sum, S4 x, S4 w) {
  return fma(x.w, w.w, fma(x.z, w.z, fma(x.y, w.y, fma(x.x, w.x, sum))));
}
#else
typedef half2 S2;
#define JOINED(i) join(p##i##_0, p##i##_1, p##i##_2, p##i##_3)
#if ACC == 1
#define DECLARE_ROW(i, unused1, unused2) \
  float4 c##i##_0 = (float4)(0.0f);      \
  S2 p##i##_0, p##i##_1, p##i##_2, p##i##_3;
#define ROW_ENDS(i, unused1, unused2) c##i##_0 += JOINED(i);
#define HAND_OVER_ROW HAND_OVER
#else
#define DECLARE_ROW(i, unused1, unused2) \
  S2 p##i##_0 = (S2)((S)0), p##i##_1 = p##i##_0, p##i##_2 = p##i##_0, p##i##_3 = p##i##_0;
#define ROW_ENDS ADD_UP
#define HAND_OVER_ROW(i, unused1, unused2) sum[i] = JOINED(i);
#endif
#define FIRST_ROW(i, unused, k_at)       \
  {                                     \
    LOAD_X(i, k_at, )                   \
    p##i##_0 = first_pair(x##i, w0);    \
    p##i##_1 = first_pair(x##i, w1);    \
    p##i##_2 = first_pair(x##i, w2);    \
    p##i##_3 = first_pair(x##i, w3);    \
  }
#define NEXT_ROW(i, unused, k_at)               \
  {                                            \
    LOAD_X(i, k_at, )                          \
    p##i##_0 = add_pair(p##i##_0, x##i, w0);   \
    p##i##_1 = add_pair(p##i##_1, x##i, w1);   \
    p##i##_2 = add_pair(p##i##_2, x##i, w2);   \
    p##i##_3 = add_pair(p##i##_3, x##i, w3);   \
  }
S2 first_pair(S4 x, S4 w) { return fma(x.zw, w.zw, x.xy * w.xy); }
S2 add_pair(S2 sum, S4 x, S4 w) { return fma(x.zw, w.zw, fma(x.xy, w.xy, sum)); }
float4 join(S2 p0, S2 p1, S2 p2, S2 p3) {
  return (float4)((float)(p0.x + p0.y), (float)(p1.x + p1.y), (float)(p2.x + p2.y),
                  (float)(p3.x + p3.y));
}
#endif

#define LOAD_W_ROW(n, k_at) \
  const S4 w##n = load_t((__global const T4*)PLACE(w, w_at##n + (k_at) * SIZE));
#define FOUR_K_OF_ROWS(ADD, k_at)                                                   \
  {                                                                                 \
    LOAD_W_ROW(0, k_at) LOAD_W_ROW(1, k_at) LOAD_W_ROW(2, k_at) LOAD_W_ROW(3, k_at) \
    EACH_ROW(ADD##_ROW, 0, k_at)                                                    \
  }

void sum_rows(float4* sum, Address x, uint x_stride, Source second, Address w, uint w_stride,
              int k) {
  const uint w_at0 = 0, w_at1 = w_stride, w_at2 = 2 * w_stride, w_at3 = 3 * w_stride;
  EACH_SUM(DECLARE_ROW)
  SUM_SOURCES(FOUR_K_OF_ROWS, ROW_ENDS, SIZE)
  EACH_SUM(HAND_OVER_ROW)
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

// The same for the columns of a vector, which end at the last of n or before. Where n < 4, those
// past it are read, but not stored.
void own_columns_again(Tile* tile, int own_col, int n) {
  tile->col = max(n - max(n - own_col, 4), 0);
  tile->first = own_col - tile->col;
}

// What becomes of the sums of nt and nn. Where it stands is chosen for Mesa's register allocator. A
// place in c that is known before the loop over k is kept in a register through it.
#define OUTPUT {mask, r, c, n, ldm, ldr, ldc, item * stridem, offr, offc + item * stridec, scale}

#if VECTORS == 1
// One work-item a tile, or BMM_PARTS of them; a in rows along k, b in rows along k.
//@kernel batch_matmul_nt
//@arg    0  a        in   T[offa + batch*stridea]
//@arg    1  a2       in   T[offa2 + m*lda2]
//@arg    2  b        in   T[offb + batch*strideb]
//@arg    3  mask     in   T[m*n + (batch-1)*stridem]
//@arg    4  r        in   T[offr + m*ldr]
//@arg    5  c        out  T[offc + batch*stridec]    may be r
//@arg    6  m        int      rows of c
//@arg    7  n        int      columns of c
//@arg    8  k        int      products of a sum, the zeros that fill up a and b included
//@arg    9  k2       int      those with a2 behind them
//@arg    10 lda      int
//@arg    11 lda2     int
//@arg    12 ldb      int
//@arg    13 ldm      int      n, or 0: the mask has one row for all rows of c
//@arg    14 ldr      int
//@arg    15 ldc      int
//@arg    16 stridea  int      0: one matrix for all batch items
//@arg    17 strideb  int      0: one matrix for all batch items
//@arg    18 stridem  int      m*n, or 0: one mask for all batch items
//@arg    19 stridec  int
//@arg    20 offa     int
//@arg    21 offa2    int
//@arg    22 offb     int
//@arg    23 offr     int
//@arg    24 offc     int
//@arg    25 scale    float    factor of the sum
//@null   a2 if BMM_K2==0
//@null   mask if BMM_MASK==0
//@null   r if BMM_RESIDUAL==0
//@global ceil(n/(4*BMM_LX))*BMM_LX ceil(m/(BMM_M0*BMM_LY))*BMM_LY batch*BMM_PARTS
//@local  BMM_LX BMM_LY BMM_PARTS
//@needs  m >= BMM_M0, n >= 1, BMM_N0 == 4
//@needs  b has at least 4 rows; those from n on are read and not used
//@needs  k >= 1, k % BMM_K0 == 0, k + k2 >= BMM_K0*BMM_PARTS
//@needs  k + k2 >= 32*BMM_PARTS*(BMM_PARTS>1)*(BMM_ACC==1)
//@needs  (k2 >= 1) == BMM_K2, k2 % BMM_K0 == 0, lda2 % 4 == 0, offa2 % 4 == 0
//@needs  lda % 4 == 0, stridea % 4 == 0, offa % 4 == 0, ldm % n == 0
//@needs  ldb % 4 == 0, strideb % 4 == 0, offb % 4 == 0, c overlaps no input but r
//@needs  n % 4 == 0 || BMM_WHOLE == 0, ldc % 4 == 0 || BMM_WHOLE == 0
//@needs  stridec % 4 == 0 || BMM_WHOLE == 0, offc % 4 == 0 || BMM_WHOLE == 0
//@needs  ldr % 4 == 0 || BMM_WHOLE == 0, offr % 4 == 0 || BMM_WHOLE == 0
__kernel GROUP void batch_matmul_nt(__global const T* a, __global const T* a2,
                                    __global const T* b, __global const T* mask,
                                    __global const T* r, __global T* c, int m, int n, int k, int k2,
                                    int lda, int lda2, int ldb, int ldm, int ldr, int ldc,
                                    int stridea, int strideb, int stridem, int stridec, int offa,
                                    int offa2, int offb, int offr, int offc, float scale) {
  __local float4 partial[PARTIAL_SIZE];
  Tile tile;
  Range range;
  const int item = get_group_id(2);
  const int own_row = (int)get_global_id(1) * ROWS, own_col = (int)get_global_id(0) * 4;
  own_tile(&tile, own_row, m - ROWS);
  own_columns_again(&tile, own_col, n);
  own_range(&range, k, k2);
  if (PARTS == 1 && (own_row >= m || own_col >= n)) return;
  const int a_row = BMM_LDA ? BMM_LDA : lda, b_row = BMM_LDB ? BMM_LDB : ldb;
  const int a_at = offa + item * stridea + tile.row * a_row + range.begin_x;
  const Source second = {a2,    tile.row,       BMM_LDA2 ? BMM_LDA2 : lda2,
                         offa2, range.begin_x2, range.of_x2};
  const int b_at = offb + item * strideb + tile.col * b_row + range.begin;
  // Not ||, for Mesa's register allocator: that would be two branches to one place. What is used
  // there would be kept in registers through the loop.
  if (ends_above(a, reach(a_at, ROWS, a_row, range.of_x) * SIZE) | second_ends_above(second) |
      ends_above(b, reach(b_at, 4, b_row, range.of_x + range.of_x2) * SIZE)) {
    const Output out = OUTPUT;
    const Lines rows = {(__global const char*)(a + a_at), a_row * SIZE, SIZE, 0};
    const Lines columns = {(__global const char*)(b + b_at), b_row * SIZE, SIZE, 0};
    sum_slowly(rows, range.of_x, lines_of(second), range.of_x2, columns, ACC != 0, tile, out,
               partial);
  } else {
    float4 sum[SUMS];
    sum_rows(sum, ADDRESS(a, a_at * SIZE), a_row * SIZE, second, ADDRESS(b, b_at * SIZE),
             b_row * SIZE, range.of_x);
    if (!WHOLE) own_rows_again(&tile, own_row, m);  // its listing is best so
    own_columns_again(&tile, own_col, n);
    const Output out = OUTPUT;
    EACH_SUM(TAKE)
  }
  const Output out = OUTPUT;
  finish_parts(tile, out, partial);
}
#endif

// One work-item a tile, or BMM_PARTS of them; a in rows along k, b in rows along n.
//@kernel batch_matmul_nn
//@arg    0  a        in   T[offa + batch*stridea]
//@arg    1  a2       in   T[offa2 + m*lda2]
//@arg    2  b        in   T[offb + batch*strideb]
//@arg    3  mask     in   T[m*n + (batch-1)*stridem]
//@arg    4  r        in   T[offr + m*ldr]
//@arg    5  c        out  T[offc + batch*stridec]    may be r
//@arg    6  m        int      rows of c
//@arg    7  n        int      columns of c
//@arg    8  k        int      products of a sum, the zeros that fill up a and b included
//@arg    9  k2       int      those with a2 behind them
//@arg    10 lda      int
//@arg    11 lda2     int
//@arg    12 ldb      int
//@arg    13 ldm      int      n, or 0: the mask has one row for all rows of c
//@arg    14 ldr      int
//@arg    15 ldc      int
//@arg    16 stridea  int      0: one matrix for all batch items
//@arg    17 strideb  int      0: one matrix for all batch items
//@arg    18 stridem  int      m*n, or 0: one mask for all batch items
//@arg    19 stridec  int
//@arg    20 offa     int
//@arg    21 offa2    int
//@arg    22 offb     int
//@arg    23 offr     int
//@arg    24 offc     int
//@arg    25 scale    float    factor of the sum
//@null   a2 if BMM_K2==0
//@null   mask if BMM_MASK==0
//@null   r if BMM_RESIDUAL==0
//@global ceil(n/(BMM_N0*BMM_LX))*BMM_LX ceil(m/(BMM_M0*BMM_LY))*BMM_LY batch*BMM_PARTS
//@local  BMM_LX BMM_LY BMM_PARTS
//@needs  m >= BMM_M0, n >= 1, ldb >= ceil(n/4)*4, n % (8*BMM_LX) == 0 || BMM_N0 == 4
//@needs  every row of b has ceil(n/4)*4 columns; those from n on are read and not used
//@needs  k >= 1, k % BMM_K0 == 0, k + k2 >= BMM_K0*BMM_PARTS
//@needs  k + k2 >= 32*BMM_PARTS*(BMM_PARTS>1)*(BMM_ACC==1)
//@needs  (k2 >= 1) == BMM_K2, k2 % BMM_K0 == 0, lda2 % 4 == 0, offa2 % 4 == 0
//@needs  lda % 4 == 0, stridea % 4 == 0, offa % 4 == 0, ldm % n == 0
//@needs  ldb % 4 == 0, strideb % 4 == 0, offb % 4 == 0, c overlaps no input but r
//@needs  n % 4 == 0 || BMM_WHOLE == 0, ldc % 4 == 0 || BMM_WHOLE == 0
//@needs  stridec % 4 == 0 || BMM_WHOLE == 0, offc % 4 == 0 || BMM_WHOLE == 0
//@needs  ldr % 4 == 0 || BMM_WHOLE == 0, offr % 4 == 0 || BMM_WHOLE == 0
__kernel GROUP void batch_matmul_nn(__global const T* a, __global const T* a2,
                                    __global const T* b, __global const T* mask,
                                    __global const T* r, __global T* c, int m, int n, int k, int k2,
                                    int lda, int lda2, int ldb, int ldm, int ldr, int ldc,
                                    int stridea, int strideb, int stridem, int stridec, int offa,
                                    int offa2, int offb, int offr, int offc, float scale) {
  __local float4 partial[PARTIAL_SIZE];
  Tile tile;
  Range range;
  const int item = get_group_id(2), own_row = (int)get_global_id(1) * ROWS;
  own_tile(&tile, own_row, m - ROWS);
  own_range(&range, k, k2);
  if (PARTS == 1 && (own_row >= m || tile.col >= n)) return;
  const int a_row = BMM_LDA ? BMM_LDA : lda, b_row = BMM_LDB ? BMM_LDB : ldb;
  const int a_at = offa + item * stridea + tile.row * a_row + range.begin_x;
  const Source second = {a2,    tile.row,       BMM_LDA2 ? BMM_LDA2 : lda2,
                         offa2, range.begin_x2, range.of_x2};
  // Items beyond the last column read what another one reads.
  const int col = PARTS == 1 ? tile.col : min(tile.col, (n - 1) / 4 * 4);
  const int b_at = offb + item * strideb + range.begin * b_row + col;
  const int b_rows = range.of_x + range.of_x2;
  const Output out = OUTPUT;
  if (ends_above(a, reach(a_at, ROWS, a_row, range.of_x) * SIZE) | second_ends_above(second) |
      ends_above(b, reach(b_at, b_rows, b_row, (VECTORS - 1) * APART + 4) * SIZE)) {
    const Lines rows = {(__global const char*)(a + a_at), a_row * SIZE, SIZE, 0};
    const Lines columns = {(__global const char*)(b + b_at), SIZE, b_row * SIZE, 0};
    sum_slowly(rows, range.of_x, lines_of(second), range.of_x2, columns, 0, tile, out, partial);
  } else {
    float4 sum[SUMS];
    sum_columns(sum, ADDRESS(a, a_at * SIZE), a_row * SIZE, second, ADDRESS(b, b_at * SIZE),
                b_row * SIZE, APART * SIZE, range.of_x);
    // In parts its listing is better with the first ones, for Mesa's register allocator.
    if (PARTS == 1) own_rows_again(&tile, own_row, m);
    EACH_SUM(TAKE)
  }
  finish_parts(tile, out, partial);
}

// One work-item an output, by scalar loads: any stride, any offset, either order of a and b.
//@kernel batch_matmul_plain
//@arg    0  a        in   T[offa + batch*stridea]
//@layout a[offa + batch*stridea + m*a_m + k*a_k] = a[batch][m][k]
//@arg    1  b        in   T[offb + batch*strideb]
//@layout b[offb + batch*strideb + k*b_k + n*b_n] = b[batch][k][n]
//@arg    2  mask     in   T[m*n + (batch-1)*stridem]
//@arg    3  c        out  T[offc + batch*stridec]
//@arg    4  m        int      rows of c
//@arg    5  n        int      columns of c
//@arg    6  k        int      products of a sum
//@arg    7  a_m      int      from an element of a to the next row's
//@arg    8  a_k      int      from an element of a to the next k's
//@arg    9  b_k      int      from an element of b to the next k's
//@arg    10 b_n      int      from an element of b to the next column's
//@arg    11 ldc      int
//@arg    12 stridea  int      0: one matrix for all batch items
//@arg    13 strideb  int      0: one matrix for all batch items
//@arg    14 stridem  int      m*n, or 0: one mask for all batch items
//@arg    15 stridec  int
//@arg    16 offa     int
//@arg    17 offb     int
//@arg    18 offc     int
//@arg    19 scale    float    factor of the sum
//@null   mask if BMM_MASK==0
//@global ceil(n/BMM_LX)*BMM_LX ceil(m/BMM_LY)*BMM_LY batch
//@local  BMM_LX BMM_LY 1
//@needs  m >= 1, n >= 1, k >= 1, c overlaps no input
__kernel FLAT_GROUP void batch_matmul_plain(__global const T* a, __global const T* b,
                                            __global const T* mask, __global T* c, int m, int n,
                                            int k, int a_m, int a_k, int b_k, int b_n, int ldc,
                                            int stridea, int strideb, int stridem, int stridec,
                                            int offa, int offb, int offc, float scale) {
  const int row = get_global_id(1), col = get_global_id(0), item = get_global_id(2);
  if (row >= m || col >= n) return;
  __global const T *a_row = a + (offa + item * stridea + row * a_m);
  __global const T *b_column = b + (offb + item * strideb + col * b_n);
  const Lines one_row = {(__global const char*)a_row, 0, a_k * SIZE, 0};
  const Lines one_column = {(__global const char*)b_column, 0, b_k * SIZE, 0};
  const float sum = sum_one(one_row, k, 0, 0, one_column, 0);
  const float addend = BMM_MASK ? (float)mask[item * stridem + row * n + col] : 0.0f;
  const float z = fma(scale, sum, addend);
  c[offc + item * stridec + row * ldc + col] = (T)BMM_ACT(z);
}

// Matrices into rows of whole, aligned vectors, zeros where they have no element; one work-item for
// four elements of a row.
//@kernel batch_matmul_pad
//@arg    0  src     in   T[off + batch*stride]
//@arg    1  dst     out  T[batch*padded*ceil(cols/4)*4]
//@layout dst[(batch*padded + r)*ceil(cols/4)*4 + i] = src[off + batch*stride + r*ld + i], else 0
//@arg    2  rows    int
//@arg    3  cols    int      elements of a row
//@arg    4  padded  int      rows of dst
//@arg    5  ld      int
//@arg    6  stride  int
//@arg    7  off     int
//@global ceil(ceil(cols/4)/BMM_LX)*BMM_LX ceil(padded/BMM_LY)*BMM_LY batch
//@local  BMM_LX BMM_LY 1
//@needs  rows >= 1, cols >= 1, padded >= rows
__kernel FLAT_GROUP void batch_matmul_pad(__global const T* src, __global T* dst, int rows,
                                          int cols, int padded, int ld, int stride, int off) {
  const int i = get_global_id(0), row = get_global_id(1), item = get_global_id(2);
  const int vectors = (cols + 3) / 4, end = row < rows ? cols - 4 * i : 0;
  if (i >= vectors || row >= padded) return;
  // Elements from `end` on are neither read nor addressed.
  T4 v = (T4)((T)0);
  if (end > 0) {
    __global const T* p = src + (off + item * stride + row * ld + 4 * i);
    v.x = p[0];
    if (end > 1) v.y = p[1];
    if (end > 2) v.z = p[2];
    if (end > 3) v.w = p[3];
  }
  ((__global T4*)dst)[(item * padded + row) * vectors + i] = v;
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops batch_matmul_nt
//@loop   floor(k/(BMM_K0*BMM_PARTS))..k/BMM_K0-floor(k/(BMM_K0*BMM_PARTS))*(BMM_PARTS-1) if (BMM_ACC!=1)*(BMM_K2*(BMM_PARTS>1)==0)  over the k of a part
//@loop   k/(BMM_K0*BMM_PARTS) if (BMM_ACC!=1)*BMM_K2*(BMM_PARTS>1)  over those of x in a part, by the mean of the parts
//@loop   k2/BMM_K0 if (BMM_ACC!=1)*BMM_K2*(BMM_PARTS==1)  over the k of x2
//@loop   k2/(BMM_K0*BMM_PARTS) if (BMM_ACC!=1)*BMM_K2*(BMM_PARTS>1)  over those of x2 in a part
//@loop   floor(k/(32*BMM_PARTS))..floor(k/32)-floor(k/(32*BMM_PARTS))*(BMM_PARTS-1) if (BMM_ACC==1)*(BMM_K2*(BMM_PARTS>1)==0)  over the chunks of a part
//@loop   floor(k/32)/BMM_PARTS if (BMM_ACC==1)*BMM_K2*(BMM_PARTS>1)  over those of x in a part, by the mean of the parts
//@loop   0..(k-floor(k/32)*32)/4 if BMM_ACC==1  over the k that are left, four a trip
//@loop   floor(k2/32) if (BMM_ACC==1)*BMM_K2*(BMM_PARTS==1)  over the chunks of x2
//@loop   floor(k2/32)/BMM_PARTS if (BMM_ACC==1)*BMM_K2*(BMM_PARTS>1)  over those of x2 in a part
//@loop   (k2-floor(k2/32)*32)/4 if (BMM_ACC==1)*BMM_K2*(BMM_PARTS==1)  over the k that are left
//@loop   0..min(k2/4,7) if (BMM_ACC==1)*BMM_K2*(BMM_PARTS>1)  over those of a part
//@loop   0*k if BMM_SPLIT*(BMM_M0*BMM_N0>4)  over the sums of a tile that lies across 4 GiB
//@loop   0*k if BMM_SPLIT  over the columns of such a sum
//@loop   0*k if BMM_SPLIT  over its chunks, or once
//@loop   0*k if BMM_SPLIT  over the k of a column

//@loops batch_matmul_nn
//@loop   floor(k/(BMM_K0*BMM_PARTS))..k/BMM_K0-floor(k/(BMM_K0*BMM_PARTS))*(BMM_PARTS-1) if (BMM_ACC!=1)*(BMM_K2*(BMM_PARTS>1)==0)  over the k of a part
//@loop   k/(BMM_K0*BMM_PARTS) if (BMM_ACC!=1)*BMM_K2*(BMM_PARTS>1)  over those of x in a part, by the mean of the parts
//@loop   k2/BMM_K0 if (BMM_ACC!=1)*BMM_K2*(BMM_PARTS==1)  over the k of x2
//@loop   k2/(BMM_K0*BMM_PARTS) if (BMM_ACC!=1)*BMM_K2*(BMM_PARTS>1)  over those of x2 in a part
//@loop   floor(k/(32*BMM_PARTS))..floor(k/32)-floor(k/(32*BMM_PARTS))*(BMM_PARTS-1) if (BMM_ACC==1)*(BMM_K2*(BMM_PARTS>1)==0)  over the chunks of a part
//@loop   floor(k/32)/BMM_PARTS if (BMM_ACC==1)*BMM_K2*(BMM_PARTS>1)  over those of x in a part, by the mean of the parts
//@loop   0..(k-floor(k/32)*32)/4 if BMM_ACC==1  over the k that are left, four a trip
//@loop   floor(k2/32) if (BMM_ACC==1)*BMM_K2*(BMM_PARTS==1)  over the chunks of x2
//@loop   floor(k2/32)/BMM_PARTS if (BMM_ACC==1)*BMM_K2*(BMM_PARTS>1)  over those of x2 in a part
//@loop   (k2-floor(k2/32)*32)/4 if (BMM_ACC==1)*BMM_K2*(BMM_PARTS==1)  over the k that are left
//@loop   0..min(k2/4,7) if (BMM_ACC==1)*BMM_K2*(BMM_PARTS>1)  over those of a part
//@loop   0*k if BMM_SPLIT*(BMM_M0*BMM_N0>4)  over the sums of a tile that lies across 4 GiB
//@loop   0*k if BMM_SPLIT  over the columns of such a sum
//@loop   0*k if BMM_SPLIT  over its chunks, or once
//@loop   0*k if BMM_SPLIT  over the k of a column

//@loops batch_matmul_plain
//@loop   floor(k/32)+ceil((k-floor(k/32)*32)/4) if BMM_ACC==1  over the chunks
//@loop   0*k..min(k,32) if BMM_ACC==1  over the k of a chunk
//@loop   1*(k>0) if BMM_ACC!=1  once
//@loop   k if BMM_ACC!=1  over k
