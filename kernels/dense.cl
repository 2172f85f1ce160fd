// SPDX-License-Identifier: MIT
// dense.cl - y[m,n] = act(alpha * sum_k x[m,k] * w[n,k] + b[n]) + r[m,n]
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). What follows
// the sum is float. DENSE_ACC says how an output's sum is kept, in the order of k:
//
//   0  in one float, by fma
//   1  in half inside a chunk of 32 k, or of 4 behind the last whole one; the chunks in float
//   2  in half
//
// With DENSE_PARTS, each part of k so, and then the parts in float, in their order.
//
// x, x2, w, r and y are matrices with a row stride (ld) and a first element (off), in elements.
// Every byte offset into them fits an int. Buffers start on multiples of 16 bytes, as OpenCL's do.
// An absent b counts as zeros, and an absent r is not added; both may then be null. y may be r,
// element on element; else no output overlaps an input.
//
// dense_packed reads weights that dense_pack_w has packed. dense_both_packed also reads a packed x,
// of dense_pack_x_panels or of the kernel that computes it. batch_matmul.cl takes weights that
// change, as b.
// A work-item computes a tile of DENSE_M0 rows x DENSE_N0 columns, in vectors of 4 columns. The
// vectors of a group's items lie side by side, so that 16 lanes read four lines of memory: with
// DENSE_LX = 4 and DENSE_N0 = 8
//
//   column          0..3    4..7    8..11   12..15  16..19  20..23  24..27  28..31
//   item            0       1       2       3       0       1       2       3
//   DENSE_ACC = 2   0       0       1       1       2       2       3       3
//
// A tile of dense_packed that would reach past the last row is moved up, so that it ends there.
// Then it shares rows with the tile above, and stores only its own. dense_both_packed does not move
// tiles: its x has zeros there.
//
//        columns 0..3   4..7   8..9           m = 7, n = 10, DENSE_M0 = 4: the tiles of rows 4..7
//   row 3      .  .  .  :  .  .  .  :  .  .   start at row 3, which they compute but do not store
//   row 4..6   own         own         own
//
// Groups that follow one another compute neighbouring columns. What runs at a time then reads all of
// w for a few rows of x. With DENSE_BAND they go down so many groups of rows first:
//
//   DENSE_BAND  1   0 1 2 3 4 5        2   0 2 4 6 8 10       groups' columns from left to right,
//                   6 7 8 9 10 11          1 3 5 7 9 11       their rows from top to bottom
//
// With DENSE_K2, x has the first k columns of the left matrix and x2 the next k2, as after a concat
// that is not computed. Weights k to k + k2 - 1 belong to x2. A chunk ends with its source.
// Without, x2 may be null, and k2, ldx2 and offx2 are 0.
//
//@define CLAM_F16        off                                     store tensors as half
//@define CLAM_NATIVE     off                                     activations by native_exp2 and native_recip
//@define DENSE_ACC       0 {0,1,2}                               sums in float, chunks, half
//@define DENSE_M0        4 {1,2,4,5,6,8}                         rows of a tile
//@define DENSE_N0        4 {4,8}                                 columns of a tile
//@define DENSE_K0        4 {4,8,16}                              k a trip, but for chunks
//@define DENSE_LX        16 {1,2,4,8,16}                         work-items of a group along n
//@define DENSE_LY        4 {1,2,4,8,16,32,64,128,256}            work-items of a group along m
//@define DENSE_PARTS     1 {1,2,4}                               work-items that share a tile's k
//@define DENSE_BAND      1                                       rows of groups, one after another, up to 64
//@define DENSE_SPLIT     0 {0,1}                                 addresses in two halves
//@define DENSE_WHOLE     0 {0,1}                                 y, r and b in aligned vectors of 4
//@define DENSE_STORED    0 {0,1}                                 packed weights are stored as w is
//@define DENSE_K2        0 {0,1}                                 a second source of k: x2
//@define DENSE_LDX       0                                       fixes ldx where it is not 0
//@define DENSE_LDX2      0                                       fixes ldx2 where it is not 0
//@define DENSE_BIAS      0 {0,1}                                 b is added
//@define DENSE_RESIDUAL  0 {0,1}                                 r is added
//@define DENSE_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid,scaled}  activation

//@shared options
#ifndef DENSE_ACC
#define DENSE_ACC 0
#endif
#if DENSE_ACC != 0 && DENSE_ACC != 1 && DENSE_ACC != 2
#error "dense.cl: DENSE_ACC must be 0, 1 or 2"
#endif
#ifndef DENSE_M0
#define DENSE_M0 4
#endif
#if DENSE_M0 != 1 && DENSE_M0 != 2 && DENSE_M0 != 4 && \
    DENSE_M0 != 5 && DENSE_M0 != 6 && DENSE_M0 != 8
#error "dense.cl: DENSE_M0 must be 1, 2, 4, 5, 6 or 8"
#endif
#ifndef DENSE_N0
#define DENSE_N0 4
#endif
#if DENSE_N0 != 4 && DENSE_N0 != 8
#error "dense.cl: DENSE_N0 must be 4 or 8"
#endif
#ifndef DENSE_K0
#define DENSE_K0 4
#endif
#if DENSE_K0 != 4 && DENSE_K0 != 8 && DENSE_K0 != 16
#error "dense.cl: DENSE_K0 must be 4, 8 or 16"
#endif
#ifndef DENSE_LX
#define DENSE_LX 16
#endif
#if DENSE_LX < 1 || DENSE_LX > 16 || DENSE_LX & (DENSE_LX - 1)
#error "dense.cl: DENSE_LX must be a power of two from 1 to 16"
#endif
#ifndef DENSE_LY
#define DENSE_LY 4
#endif
#if DENSE_LY < 1 || DENSE_LY > 256 || DENSE_LY & (DENSE_LY - 1)
#error "dense.cl: DENSE_LY must be a power of two from 1 to 256"
#endif
#ifndef DENSE_PARTS
#define DENSE_PARTS 1
#endif
#if DENSE_PARTS != 1 && DENSE_PARTS != 2 && DENSE_PARTS != 4
#error "dense.cl: DENSE_PARTS must be 1, 2 or 4"
#endif
#ifndef DENSE_BAND
#define DENSE_BAND 1
#endif
#ifndef DENSE_SPLIT
#define DENSE_SPLIT 0
#endif
#if DENSE_SPLIT != 0 && DENSE_SPLIT != 1
#error "dense.cl: DENSE_SPLIT must be 0 or 1"
#endif
#ifndef DENSE_WHOLE
#define DENSE_WHOLE 0
#endif
#if DENSE_WHOLE != 0 && DENSE_WHOLE != 1
#error "dense.cl: DENSE_WHOLE must be 0 or 1"
#endif
#ifndef DENSE_STORED
#define DENSE_STORED 0
#endif
#if DENSE_STORED != 0 && DENSE_STORED != 1
#error "dense.cl: DENSE_STORED must be 0 or 1"
#endif
#ifndef DENSE_K2
#define DENSE_K2 0
#endif
#if DENSE_K2 != 0 && DENSE_K2 != 1
#error "dense.cl: DENSE_K2 must be 0 or 1"
#endif
#ifndef DENSE_LDX
#define DENSE_LDX 0
#endif
#ifndef DENSE_LDX2
#define DENSE_LDX2 0
#endif
#ifndef DENSE_BIAS
#define DENSE_BIAS 0
#endif
#if DENSE_BIAS != 0 && DENSE_BIAS != 1
#error "dense.cl: DENSE_BIAS must be 0 or 1"
#endif
#ifndef DENSE_RESIDUAL
#define DENSE_RESIDUAL 0
#endif
#if DENSE_RESIDUAL != 0 && DENSE_RESIDUAL != 1
#error "dense.cl: DENSE_RESIDUAL must be 0 or 1"
#endif
#ifndef DENSE_ACT
#define DENSE_ACT none
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

#if DENSE_LDX % 4 != 0 || DENSE_LDX2 % 4 != 0
#error "dense.cl: DENSE_LDX and DENSE_LDX2 must be multiples of 4, so that vector loads are aligned"
#endif
#if DENSE_BAND < 1 || DENSE_BAND > 64
#error "dense.cl: DENSE_BAND must be 1 to 64"
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
#define ROWS DENSE_M0
#define VECTORS (DENSE_N0 / 4)
#define K0 DENSE_K0
#define LX DENSE_LX
#define LY DENSE_LY
#define ACC DENSE_ACC
#define PARTS DENSE_PARTS
#define SPLIT DENSE_SPLIT
#define WHOLE DENSE_WHOLE
#define SECOND DENSE_K2
#define ADDEND DENSE_BIAS
#define RESIDUAL DENSE_RESIDUAL
#define ACT DENSE_ACT

#define PANEL (4 * VECTORS * LX)        // columns of a group's tiles
#define APART (ACC == 2 ? 4 : 4 * LX)   // columns from a vector of a tile to the next
#define MAY_BE_EMPTY (SECOND && PARTS > 1)  // a part that has no k of one source

#define GROUP __attribute__((reqd_work_group_size(LX, LY, PARTS)))
#define FLAT_GROUP __attribute__((reqd_work_group_size(LX, LY, 1)))

// ---- activations: DENSE_ACT is the name of one of these, or of a built-in ----

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

// ---- sums with packed weights ----

// Packed weights lie as they are multiplied, or as w does.
#if DENSE_STORED
typedef T W;
typedef T4 W4;
#else
typedef S W;
typedef S4 W4;
#endif

// w holds vectors of four columns at one k, the tile's second `w_apart` bytes behind its first.
#if ACC == 2 && VECTORS == 2
// Both by one load, that of the first: Mesa 26 takes them apart for nothing.
#define LOAD_W(v, k_at) LOAD_W_##v(k_at)
#define LOAD_W_0(k_at)                                                   \
  const uint4 both = *(__global const uint4*)PLACE(w, (k_at) * w_stride); \
  const S4 w0 = as_half4(both.xy);
#define LOAD_W_1(k_at) const S4 w1 = as_half4(both.zw);
#elif DENSE_STORED
#define LOAD_W(v, k_at) \
  const S4 w##v = load_t((__global const T4*)PLACE(w, (k_at) * w_stride + v * w_apart));
#else
#define LOAD_W(v, k_at) \
  const S4 w##v = *(__global const S4*)PLACE(w, (k_at) * w_stride + v * w_apart);
#endif

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

#if ACC == 2 && K0 == 8
// Eight k of a row of x by one load, too.
#define DECLARE_EIGHT(i, unused1, unused2) uint4 e##i;
#undef LOAD_X
#define LOAD_X(i, k_at, unused)                                        \
  if ((k_at) == 0) e##i = *(__global const uint4*)PLACE(x, x_at##i);    \
  const S4 x##i = as_half4((k_at) == 0 ? e##i.xy : e##i.zw);
#else
#define DECLARE_EIGHT(i, unused1, unused2)
#endif

void sum_packed(float4* sum, Address x, uint x_stride, Source second, Address w, uint w_stride,
                uint w_apart, int k) {
  EACH_ROW(DECLARE_EIGHT, 0, )
  EACH_SUM(DECLARE)
  SUM_SOURCES(FOUR_K, ADD_UP, w_stride)
  EACH_SUM(HAND_OVER)
}

// Where x is packed too: M0 rows at one k, then those at the next.
#define PACKED_ROWS (PARTS == 1 && ROWS % 4 == 0)
#if PACKED_ROWS
#define LOAD_ROWS(i, k_at) \
  const S4 x##i = *(__global const S4*)PLACE(x, ((k_at) * ROWS + i) * (uint)sizeof(S));

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

void sum_both_packed(float4* sum, Address x, Address w, uint w_stride, uint w_apart, int k) {
  EACH_SUM(DECLARE)
  SUM_K(FOUR_K_OUTER, ADD_UP, ROWS * (uint)sizeof(S), w_stride, k)
  EACH_SUM(HAND_OVER)
}
#endif

// ---- tiles ----

// A work-item's place among those along m, and its group's among those along n.
#if DENSE_BAND == 1
#define ROW_ITEM (int)get_global_id(1)
#define COLUMN_GROUP get_group_id(0)
#else
#define ROW_GROUP ((uint)get_group_id(1) * DENSE_BAND + (uint)get_group_id(0) % DENSE_BAND)
#define ROW_ITEM (int)(ROW_GROUP * LY + (uint)get_local_id(1))
#define COLUMN_GROUP ((uint)get_group_id(0) / DENSE_BAND)
#endif

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

// One work-item a tile, or DENSE_PARTS of them. w is packed by dense_pack_w.
//@kernel dense_packed
//@arg    0  x      in   T[m*ldx]
//@arg    1  x2     in   T[m*ldx2]
//@arg    2  wp     in   W[ceil(n/(DENSE_N0*DENSE_LX))*(k+k2)*DENSE_N0*DENSE_LX]
//@null   x2 if DENSE_K2==0
//@layout with P = DENSE_N0*DENSE_LX: wp[(n/P*(k+k2) + i)*P + n%P] = w[n][i], else 0; W is T with DENSE_STORED, else S
//@arg    3  b      in   T[n]
//@arg    4  r      in   T[m*ldr]
//@arg    5  y      out  T[m*ldy]  may be r
//@arg    6  m      int            rows
//@arg    7  n      int            columns
//@arg    8  k      int            products of a sum, the zeros that fill up x and wp included
//@arg    9  k2     int            the same of x2
//@arg    10 ldx    int
//@arg    11 ldx2   int
//@arg    12 ldr    int            n without DENSE_RESIDUAL
//@arg    13 ldy    int
//@arg    14 offx   int
//@arg    15 offx2  int
//@arg    16 offr   int            0 without DENSE_RESIDUAL
//@arg    17 offy   int
//@arg    18 alpha  float          factor of the sum
//@null   b if DENSE_BIAS==0
//@null   r if DENSE_RESIDUAL==0
//@global ceil(n/(DENSE_N0*DENSE_LX))*DENSE_LX*DENSE_BAND ceil(m/(DENSE_M0*DENSE_LY*DENSE_BAND))*DENSE_LY DENSE_PARTS
//@local  DENSE_LX DENSE_LY DENSE_PARTS
//@needs  m >= DENSE_M0, n >= 1
//@needs  k >= 1, k % DENSE_K0 == 0, k + k2 >= DENSE_K0*DENSE_PARTS
//@needs  k + k2 >= 32*DENSE_PARTS*(DENSE_PARTS>1)*(DENSE_ACC==1)
//@needs  (k2 >= 1) == DENSE_K2, k2 % DENSE_K0 == 0, ldx2 % 4 == 0, offx2 % 4 == 0
//@needs  ldx % 4 == 0, offx % 4 == 0
//@needs  ldx % 8 == 0 || DENSE_ACC != 2 || DENSE_K0 == 4, offx % 8 == 0 || DENSE_ACC != 2 || DENSE_K0 == 4
//@needs  ldx2 % 8 == 0 || DENSE_ACC != 2 || DENSE_K0 == 4, offx2 % 8 == 0 || DENSE_ACC != 2 || DENSE_K0 == 4
//@needs  n % 4 == 0 || DENSE_WHOLE == 0, ldr % 4 == 0 || DENSE_WHOLE == 0
//@needs  ldy % 4 == 0 || DENSE_WHOLE == 0, offr % 4 == 0 || DENSE_WHOLE == 0
//@needs  offy % 4 == 0 || DENSE_WHOLE == 0
__kernel GROUP void dense_packed(__global const T* x, __global const T* x2, __global const W* wp,
                                 __global const T* b, __global const T* r, __global T* y, int m,
                                 int n, int k, int k2, int ldx, int ldx2, int ldr, int ldy,
                                 int offx, int offx2, int offr, int offy, float alpha) {
  __local float4 partial[PARTIAL_SIZE];
  Tile tile;
  Range range;
  own_tile(&tile, ROW_ITEM * ROWS, m - ROWS);
  own_range(&range, k, k2);
  // In parts, all come to the barrier; finish_vector stores nothing of rows and columns not there.
  if (PARTS == 1 && (tile.above >= ROWS || tile.col >= n)) return;
  const int x_stride = DENSE_LDX ? DENSE_LDX : ldx, all_k = SECOND ? k + k2 : k;
  const int x_at = offx + tile.row * x_stride + range.begin_x;
  const Source second = {x2,    tile.row,       DENSE_LDX2 ? DENSE_LDX2 : ldx2,
                         offx2, range.begin_x2, range.of_x2};
  const int w_at = ((int)COLUMN_GROUP * all_k + range.begin) * PANEL + tile.col % PANEL;
  const int w_end = w_at + (range.of_x + range.of_x2) * PANEL;
  const uint w_size = sizeof(W);
  const Output out = {b, r, y, n, 0, ldr, ldy, 0, offr, offy, alpha};
  // Not ||, for Mesa's register allocator: that would be two branches to one place. What is used
  // there would be kept in registers through the loop.
  if (ends_above(x, reach(x_at, ROWS, x_stride, range.of_x) * SIZE) | second_ends_above(second) |
      ends_above(wp, w_end * w_size)) {
    const Lines rows = {(__global const char*)(x + x_at), x_stride * SIZE, SIZE, 0};
    const Lines columns = {(__global const char*)(wp + w_at), w_size, PANEL * w_size,
                           !DENSE_STORED};
    sum_slowly(rows, range.of_x, lines_of(second), range.of_x2, columns, 0, tile, out, partial);
  } else {
    float4 sum[SUMS];
    sum_packed(sum, ADDRESS(x, x_at * SIZE), x_stride * SIZE, second, ADDRESS(wp, w_at * w_size),
               PANEL * w_size, APART * w_size, range.of_x);
    EACH_SUM(TAKE)
  }
  finish_parts(tile, out, partial);
}

#if PACKED_ROWS
// One work-item a tile, with x packed as well as w: into panels of as many rows as a tile has. A
// kernel that computes x may store it so itself; else dense_pack_x_panels copies it.
//@kernel dense_both_packed
//@arg    0  xp     in   S[ceil(m/DENSE_M0)*k*DENSE_M0]
//@layout xp[(m/DENSE_M0*k + i)*DENSE_M0 + m%DENSE_M0] = x[m][i], else 0; S is half where CLAM_F16 and DENSE_ACC > 0, else float
//@arg    1  wp     in   S[ceil(n/(DENSE_N0*DENSE_LX))*k*DENSE_N0*DENSE_LX]
//@layout with P = DENSE_N0*DENSE_LX: wp[(n/P*k + i)*P + n%P] = w[n][i], else 0
//@arg    2  b      in   T[n]
//@arg    3  r      in   T[m*ldr]
//@arg    4  y      out  T[m*ldy]  may be r
//@arg    5  m      int            rows
//@arg    6  n      int            columns
//@arg    7  k      int            products of a sum, the zeros that fill up xp and wp included
//@arg    8  ldr    int            n without DENSE_RESIDUAL
//@arg    9  ldy    int
//@arg    10 offr   int            0 without DENSE_RESIDUAL
//@arg    11 offy   int
//@arg    12 alpha  float          factor of the sum
//@null   b if DENSE_BIAS==0
//@null   r if DENSE_RESIDUAL==0
//@global ceil(n/(DENSE_N0*DENSE_LX))*DENSE_LX*DENSE_BAND ceil(m/(DENSE_M0*DENSE_LY*DENSE_BAND))*DENSE_LY
//@local  DENSE_LX DENSE_LY
//@needs  m >= 1, n >= 1, DENSE_M0 % 4 == 0, DENSE_PARTS == 1, DENSE_STORED == 0
//@needs  k % DENSE_K0 == 0, k >= DENSE_K0
//@needs  n % 4 == 0 || DENSE_WHOLE == 0, ldr % 4 == 0 || DENSE_WHOLE == 0
//@needs  ldy % 4 == 0 || DENSE_WHOLE == 0, offr % 4 == 0 || DENSE_WHOLE == 0
//@needs  offy % 4 == 0 || DENSE_WHOLE == 0
__kernel GROUP void dense_both_packed(__global const S* xp, __global const S* wp,
                                      __global const T* b, __global const T* r, __global T* y,
                                      int m, int n, int k, int ldr, int ldy, int offr, int offy,
                                      float alpha) {
  __local float4 partial[PARTIAL_SIZE];
  Tile tile;
  const int row = ROW_ITEM * ROWS;
  own_tile(&tile, row, row);
  tile.below = m - row;  // of the panel's rows
  if (tile.below <= 0 || tile.col >= n) return;
  const int x_at = row * k, w_at = (int)COLUMN_GROUP * k * PANEL + tile.col % PANEL;
  const uint s_size = sizeof(S);
  const Output out = {b, r, y, n, 0, ldr, ldy, 0, offr, offy, alpha};
  if (ends_above(xp, (x_at + k * ROWS) * s_size) | ends_above(wp, (w_at + k * PANEL) * s_size)) {
    const Lines rows = {(__global const char*)(xp + x_at), s_size, ROWS * s_size, 1};
    const Lines columns = {(__global const char*)(wp + w_at), s_size, PANEL * s_size, 1};
    sum_slowly(rows, k, rows, 0, columns, 0, tile, out, partial);
  } else {
    float4 sum[SUMS];
    sum_both_packed(sum, ADDRESS(xp, x_at * s_size), ADDRESS(wp, w_at * s_size), PANEL * s_size,
                    APART * s_size, k);
    EACH_SUM(TAKE)
  }
}
#endif

// One work-item an output, by scalar loads: any stride, any offset, either order of w.
//@kernel dense_plain
//@arg    0  x      in   T[m*ldx]
//@arg    1  x2     in   T[m*ldx2]
//@arg    2  w      in   T[n*step_n + (k+k2)*step_k]
//@null   x2 if DENSE_K2==0
//@layout w[offw + n*step_n + k*step_k] = w[n][k]
//@arg    3  b      in   T[n]
//@arg    4  r      in   T[m*ldr]
//@arg    5  y      out  T[m*ldy]  may be r
//@arg    6  m      int            rows
//@arg    7  n      int            columns
//@arg    8  k      int            products of a sum
//@arg    9  k2     int            those with x2 behind them
//@arg    10 ldx    int
//@arg    11 ldx2   int
//@arg    12 step_n int            from a column's weights to the next's
//@arg    13 step_k int            from a column's weight to the next
//@arg    14 ldr    int
//@arg    15 ldy    int
//@arg    16 offx   int
//@arg    17 offx2  int
//@arg    18 offw   int
//@arg    19 offr   int
//@arg    20 offy   int
//@arg    21 alpha  float          factor of the sum
//@null   b if DENSE_BIAS==0
//@null   r if DENSE_RESIDUAL==0
//@global ceil(n/DENSE_LX)*DENSE_LX ceil(m/DENSE_LY)*DENSE_LY
//@local  DENSE_LX DENSE_LY
//@needs  m >= 1, n >= 1, k >= 1, (k2 >= 1) == DENSE_K2
__kernel FLAT_GROUP void dense_plain(__global const T* x, __global const T* x2,
                                     __global const T* w, __global const T* b,
                                     __global const T* r, __global T* y, int m, int n, int k,
                                     int k2, int ldx, int ldx2, int step_n, int step_k, int ldr,
                                     int ldy, int offx, int offx2, int offw, int offr, int offy,
                                     float alpha) {
  const int row = get_global_id(1), col = get_global_id(0);
  if (row >= m || col >= n) return;
  const Lines one_row = {(__global const char*)(x + (offx + row * ldx)), 0, SIZE, 0};
  const Lines column = {(__global const char*)(w + (offw + col * step_n)), 0, step_k * SIZE, 0};
  const float sum =
      sum_one(one_row, k, (__global const char*)(x2 + (offx2 + row * ldx2)), k2, column, 0);
  const float z = fma(alpha, sum, DENSE_BIAS ? (float)b[col] : 0.0f);
  float v = DENSE_ACT(z);
  if (DENSE_RESIDUAL) v += (float)r[offr + row * ldr + col];
  y[offy + row * ldy + col] = (T)v;
}

// Four elements, one every `step`; those from `end` on are zeros, and neither read nor addressed.
T4 padded4(__global const T* p, int step, int end) {
  return (T4)(0 < end ? p[0] : (T)0, 1 < end ? p[step] : (T)0, 2 < end ? p[2 * step] : (T)0,
              3 < end ? p[3 * step] : (T)0);
}

// w into the panels that dense_packed reads; one work-item for four columns at one k. The k of each
// source are filled up with zeros to whole vectors of four.
//@kernel dense_pack_w
//@arg    0  w      in   T[n*step_n + (k+k2)*step_k]
//@arg    1  wp     out  W[ceil(n/(DENSE_N0*DENSE_LX))*(ceil(k/4)+ceil(k2/4))*4*DENSE_N0*DENSE_LX]
//@layout with P = DENSE_N0*DENSE_LX: wp[(n/P*(ceil(k/4)+ceil(k2/4))*4 + i)*P + n%P] = w[n][i], i < k; w[n][k + i - ceil(k/4)*4] for k2 of them from i = ceil(k/4)*4 on; else 0
//@arg    2  n      int            columns
//@arg    3  k      int            products of a sum
//@arg    4  k2     int            those with x2 behind them
//@arg    5  step_n int            from a column's weights to the next's
//@arg    6  step_k int            from a column's weight to the next
//@arg    7  offw   int
//@global ceil(n/(DENSE_N0*DENSE_LX))*DENSE_N0/4*DENSE_LX ceil((ceil(k/4)+ceil(k2/4))*4/DENSE_LY)*DENSE_LY
//@local  DENSE_LX DENSE_LY
//@needs  n >= 1, k >= 1, (k2 >= 1) == DENSE_K2
__kernel FLAT_GROUP void dense_pack_w(__global const T* w, __global W* wp, int n, int k, int k2,
                                      int step_n, int step_k, int offw) {
  const int col = (int)get_global_id(0) * 4, i = get_global_id(1), k4 = (k + 3) / 4 * 4;
  const int all = DENSE_K2 ? k4 + (k2 + 3) / 4 * 4 : k4;
  if (i >= all) return;
  const int at = (col / PANEL * all + i) * PANEL + col % PANEL;
  const int is_x2 = DENSE_K2 && i >= k4;
  const int from = is_x2 ? i - k4 + k : i, end = is_x2 ? k + k2 : k;
  T4 v = (T4)((T)0);
  if (col < n && from < end) {
    v = padded4(w + (offw + col * step_n + from * step_k), step_n, n - col);
  }
  *(__global W4*)(wp + at) = (W4)((W)v.x, (W)v.y, (W)v.z, (W)v.w);
}

// x with rows of whole, aligned vectors; one work-item for four elements of a row.
//@kernel dense_pack_x
//@arg    0  x      in   T[m*ldx]
//@arg    1  xp     out  T[m*ceil(k/4)*4]
//@layout xp[m*ceil(k/4)*4 + i] = x[m][i], else 0
//@arg    2  m      int            rows
//@arg    3  k      int            elements of a row
//@arg    4  ldx    int
//@arg    5  offx   int
//@global ceil(ceil(k/4)/DENSE_LX)*DENSE_LX ceil(m/DENSE_LY)*DENSE_LY
//@local  DENSE_LX DENSE_LY
//@needs  m >= 1, k >= 1
__kernel FLAT_GROUP void dense_pack_x(__global const T* x, __global T* xp, int m, int k, int ldx,
                                 int offx) {
  const int i = (int)get_global_id(0), row = get_global_id(1), k4 = (k + 3) / 4;
  if (i >= k4 || row >= m) return;
  ((__global T4*)xp)[row * k4 + i] = padded4(x + (offx + row * ldx + 4 * i), 1, k - 4 * i);
}

#if PACKED_ROWS
// Four elements of a row from the k-th on; zeros where there are none.
T4 four_of_row(__global const T* x, int row, int i, int m, int k, int ldx, int offx) {
  if (row >= m) return (T4)((T)0);
  __global const T* p = x + (offx + row * ldx + i);
  if (((k | ldx | offx) & 3) == 0) return *(__global const T4*)p;
  return padded4(p, 1, k - i);
}

void store_column(__global S* p, T a, T b, T c, T d) {
  *(__global S4*)p = (S4)((S)a, (S)b, (S)c, (S)d);
}

// x into the panels that dense_both_packed reads; one work-item for four rows at four k.
//@kernel dense_pack_x_panels
//@arg    0  x      in   T[m*ldx]
//@arg    1  xp     out  S[ceil(m/DENSE_M0)*ceil(k/4)*4*DENSE_M0]
//@layout xp[(m/DENSE_M0*ceil(k/4)*4 + i)*DENSE_M0 + m%DENSE_M0] = x[m][i], else 0
//@arg    2  m      int            rows
//@arg    3  k      int            elements of a row
//@arg    4  ldx    int
//@arg    5  offx   int
//@global ceil(ceil(k/4)/DENSE_LX)*DENSE_LX ceil(ceil(m/DENSE_M0)*DENSE_M0/4/DENSE_LY)*DENSE_LY
//@local  DENSE_LX DENSE_LY
//@needs  m >= 1, k >= 1, DENSE_M0 % 4 == 0, DENSE_PARTS == 1
__kernel FLAT_GROUP void dense_pack_x_panels(__global const T* x, __global S* xp, int m, int k,
                                             int ldx, int offx) {
  const int i = (int)get_global_id(0) * 4, row = (int)get_global_id(1) * 4, k4 = (k + 3) / 4 * 4;
  if (i >= k4 || row >= (m + ROWS - 1) / ROWS * ROWS) return;
  const T4 v0 = four_of_row(x, row, i, m, k, ldx, offx);
  const T4 v1 = four_of_row(x, row + 1, i, m, k, ldx, offx);
  const T4 v2 = four_of_row(x, row + 2, i, m, k, ldx, offx);
  const T4 v3 = four_of_row(x, row + 3, i, m, k, ldx, offx);
  __global S* p = xp + ((row / ROWS * k4 + i) * ROWS + row % ROWS);
  store_column(p, v0.x, v1.x, v2.x, v3.x);
  store_column(p + ROWS, v0.y, v1.y, v2.y, v3.y);
  store_column(p + 2 * ROWS, v0.z, v1.z, v2.z, v3.z);
  store_column(p + 3 * ROWS, v0.w, v1.w, v2.w, v3.w);
}
#endif

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops dense_packed
//@loop   floor(k/(DENSE_K0*DENSE_PARTS))..k/DENSE_K0-floor(k/(DENSE_K0*DENSE_PARTS))*(DENSE_PARTS-1) if (DENSE_ACC!=1)*(DENSE_K2*(DENSE_PARTS>1)==0)  over the k of a part
//@loop   k/(DENSE_K0*DENSE_PARTS) if (DENSE_ACC!=1)*DENSE_K2*(DENSE_PARTS>1)  over those of x in a part, by the mean of the parts
//@loop   k2/DENSE_K0 if (DENSE_ACC!=1)*DENSE_K2*(DENSE_PARTS==1)  over the k of x2
//@loop   k2/(DENSE_K0*DENSE_PARTS) if (DENSE_ACC!=1)*DENSE_K2*(DENSE_PARTS>1)  over those of x2 in a part
//@loop   floor(k/(32*DENSE_PARTS))..floor(k/32)-floor(k/(32*DENSE_PARTS))*(DENSE_PARTS-1) if (DENSE_ACC==1)*(DENSE_K2*(DENSE_PARTS>1)==0)  over the chunks of a part
//@loop   floor(k/32)/DENSE_PARTS if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS>1)  over those of x in a part, by the mean of the parts
//@loop   0..(k-floor(k/32)*32)/4 if DENSE_ACC==1  over the k that are left, four a trip
//@loop   floor(k2/32) if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS==1)  over the chunks of x2
//@loop   floor(k2/32)/DENSE_PARTS if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS>1)  over those of x2 in a part
//@loop   (k2-floor(k2/32)*32)/4 if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS==1)  over the k that are left
//@loop   0..min(k2/4,7) if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS>1)  over those of a part
//@loop   0*k if DENSE_SPLIT*(DENSE_M0*DENSE_N0>4)  over the sums of a tile that lies across 4 GiB
//@loop   0*k if DENSE_SPLIT  over the columns of such a sum
//@loop   0*k if DENSE_SPLIT  over its chunks, or once
//@loop   0*k if DENSE_SPLIT  over the k of a column

//@loops dense_both_packed
//@loop   k/DENSE_K0 if DENSE_ACC!=1  over k
//@loop   floor(k/32) if DENSE_ACC==1  over the chunks
//@loop   0..(k-floor(k/32)*32)/4 if DENSE_ACC==1  over the k that are left, four a trip
//@loop   0*k if DENSE_SPLIT  over the sums of a tile that lies across 4 GiB
//@loop   0*k if DENSE_SPLIT  over the columns of such a sum
//@loop   0*k if DENSE_SPLIT  over its chunks, or once
//@loop   0*k if DENSE_SPLIT  over the k of a column

//@loops dense_plain
//@loop   floor(k/32)+ceil((k-floor(k/32)*32)/4)+floor(k2/32)+ceil((k2-floor(k2/32)*32)/4) if DENSE_ACC==1  over the chunks
//@loop   0*k..min(max(k,k2),32) if DENSE_ACC==1  over the k of a chunk
//@loop   1*(k>0) if DENSE_ACC!=1  once
//@loop   k+k2 if DENSE_ACC!=1  over k
