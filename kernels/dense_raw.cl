// SPDX-License-Identifier: MIT
// dense_raw.cl - y[m,n] = act(alpha * sum_k x[m,k] * w[n,k] + b[n]) + r[m,n], for weights that change
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). What follows
// the sum is float. DENSE_ACC says how an output's sum is kept, in the order of k:
//
//   0  in one float, by fma
//   1  in half inside a chunk of 32 k, or of 4 behind the last whole one; the chunks in float
//   2  in half
//
// With DENSE_PARTS, each part of k so, and then the parts in float, in their order. In half,
// dense_nt adds even and odd k apart.
//
// x, x2, w, r and y are matrices with a row stride (ld) and a first element (off), in elements.
// Every byte offset into them fits an int. Buffers start on multiples of 16 bytes, as OpenCL's do.
// An absent b counts as zeros, and an absent r is not added; both may then be null. y may be r,
// element on element; else no output overlaps an input.
//
// w is read as it is. A work-item has a tile of DENSE_M0 rows x DENSE_N0 columns, in vectors of 4
// columns. The vectors of a group's items lie side by side, so 16 lanes of dense_nn read four lines
// of memory. With DENSE_LX = 4 and DENSE_N0 = 8:
//
//   column          0..3    4..7    8..11   12..15  16..19  20..23  24..27  28..31
//   item            0       1       2       3       0       1       2       3
//   DENSE_ACC = 2   0       0       1       1       2       2       3       3
//
// A tile that would reach past the last row is moved up, so that it ends there. Then it shares rows
// with the tile above, and stores only its own.
//
//        columns 0..3   4..7   8..9           m = 7, n = 10, DENSE_M0 = 4: the tiles of rows 4..7
//   row 3      .  .  .  :  .  .  .  :  .  .   start at row 3, which they compute but do not store
//   row 4..6   own         own         own
//
// With DENSE_K2, x has the first k columns of the left matrix and x2 the next k2, as after a concat
// that is not computed. Weights k to k + k2 - 1 belong to x2. A chunk ends with its source.
// Without, x2 may be null, and k2, ldx2 and offx2 are 0.
//
//@define CLAM_F16        off                                     store tensors as half
//@define DENSE_ACC       0 {0,1,2}                               sums in float, chunks, half
//@define DENSE_M0        4 {1,2,4,6,8}                           rows of a tile
//@define DENSE_N0        4 {4,8}                                 columns of a tile
//@define DENSE_K0        4 {4,8}                                 k a trip, but for chunks
//@define DENSE_LX        16 {1,2,4,8,16}                         work-items of a group along n
//@define DENSE_LY        4 {1,2,4,8,16,32,64,128,256}            work-items of a group along m
//@define DENSE_PARTS     1 {1,2,4}                               work-items that share a tile's k
//@define DENSE_SPLIT     0 {0,1}                                 addresses in two halves
//@define DENSE_WHOLE     0 {0,1}                                 y, r and b in aligned vectors of 4
//@define DENSE_K2        0 {0,1}                                 a second source of k: x2
//@define DENSE_LDX       0                                       fixes ldx where it is not 0
//@define DENSE_LDX2      0                                       fixes ldx2 where it is not 0
//@define DENSE_LDW       0                                       fixes ldw where it is not 0
//@define DENSE_BIAS      0 {0,1}                                 b is added
//@define DENSE_RESIDUAL  0 {0,1}                                 r is added
//@define DENSE_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp}  activation

#ifndef DENSE_ACC
#define DENSE_ACC 0
#endif
#ifndef DENSE_M0
#define DENSE_M0 4
#endif
#ifndef DENSE_N0
#define DENSE_N0 4
#endif
#ifndef DENSE_K0
#define DENSE_K0 4
#endif
#ifndef DENSE_LX
#define DENSE_LX 16
#endif
#ifndef DENSE_LY
#define DENSE_LY 4
#endif
#ifndef DENSE_PARTS
#define DENSE_PARTS 1
#endif
#ifndef DENSE_SPLIT
#define DENSE_SPLIT 0
#endif
#ifndef DENSE_WHOLE
#define DENSE_WHOLE 0
#endif
#ifndef DENSE_K2
#define DENSE_K2 0
#endif
#ifndef DENSE_LDX
#define DENSE_LDX 0
#endif
#ifndef DENSE_LDX2
#define DENSE_LDX2 0
#endif
#ifndef DENSE_LDW
#define DENSE_LDW 0
#endif
#ifndef DENSE_BIAS
#define DENSE_BIAS 0
#endif
#ifndef DENSE_RESIDUAL
#define DENSE_RESIDUAL 0
#endif
#ifndef DENSE_ACT
#define DENSE_ACT none
#endif

#if DENSE_ACC < 0 || DENSE_ACC > 2
#error "dense_raw.cl: DENSE_ACC must be 0, 1 or 2"
#endif
#if DENSE_ACC != 0 && !defined(CLAM_F16)
#error "dense_raw.cl: DENSE_ACC 1 and 2 sum in half, and need CLAM_F16"
#endif
#if DENSE_M0 != 1 && DENSE_M0 != 2 && DENSE_M0 != 4 && DENSE_M0 != 6 && DENSE_M0 != 8
#error "dense_raw.cl: DENSE_M0 must be 1, 2, 4, 6 or 8"
#endif
#if DENSE_N0 != 4 && DENSE_N0 != 8
#error "dense_raw.cl: DENSE_N0 must be 4 or 8"
#endif
#if DENSE_K0 != 4 && DENSE_K0 != 8
#error "dense_raw.cl: DENSE_K0 must be 4 or 8"
#endif
#if DENSE_LX < 1 || DENSE_LX > 16 || DENSE_LX & (DENSE_LX - 1)
#error "dense_raw.cl: DENSE_LX must be a power of two up to 16"
#endif
#if DENSE_LY < 1 || DENSE_LY > 256 || DENSE_LY & (DENSE_LY - 1)
#error "dense_raw.cl: DENSE_LY must be a power of two up to 256"
#endif
#if DENSE_PARTS != 1 && DENSE_PARTS != 2 && DENSE_PARTS != 4
#error "dense_raw.cl: DENSE_PARTS must be 1, 2 or 4"
#endif
#if DENSE_PARTS > 1 && DENSE_LX * DENSE_LY * DENSE_PARTS > 64
#error "dense_raw.cl: a group must have up to 64 work-items where they share k"
#endif
#if DENSE_LDX % 4 != 0 || DENSE_LDX2 % 4 != 0 || DENSE_LDW % 4 != 0
#error "dense_raw.cl: DENSE_LDX, LDX2 and LDW must be multiples of 4, so that vector loads are aligned"
#endif
#if DENSE_K2 != 0 && DENSE_K2 != 1
#error "dense_raw.cl: DENSE_K2 must be 0 or 1"
#endif
#if DENSE_WHOLE != 0 && DENSE_WHOLE != 1
#error "dense_raw.cl: DENSE_WHOLE must be 0 or 1"
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
//@end

#define ROWS DENSE_M0
#define VECTORS (DENSE_N0 / 4)
#define ACC DENSE_ACC
#define SPLIT DENSE_SPLIT

#define SIZE ((uint)sizeof(T))
#define GROUP __attribute__((reqd_work_group_size(DENSE_LX, DENSE_LY, DENSE_PARTS)))

// ---- activations: DENSE_ACT is the name of one of these, or of a built-in ----

//@shared activation
float none(float z) { return z; }

// Written so that NaN stays NaN; fmax would swallow it.
float relu(float z) { return z < 0.0f ? 0.0f : z; }

float relu6(float z) { return z < 0.0f ? 0.0f : (z > 6.0f ? 6.0f : z); }

float sigmoid(float z) { return 1.0f / (1.0f + exp(-z)); }

float silu(float z) { return z / (1.0f + exp(-z)); }

// z * Phi(z), by Abramowitz and Stegun 7.1.26 for the tail of the normal distribution: within
// 2.6e-7 of the exact value. Past 16 the tail is 0 in float; the clamp keeps 0 * inf out.
float gelu(float z) {
  const float a = fmin(fabs(z), 16.0f);
  const float t = 1.0f / fma(0.231641887f, a, 1.0f);
  float p = fma(1.061405429f, t, -1.453152027f);
  p = fma(p, t, 1.421413741f);
  p = fma(p, t, -0.284496736f);
  p = fma(p, t, 0.254829592f);
  return relu(z) - 0.5f * a * p * t * exp(-0.5f * a * a);
}

// z / 2 * (1 + tanh(u)) = z * sigmoid(2 u), u = sqrt(2 / pi) * (z + 0.044715 z^3)
float gelu_tanh(float z) { return z / (1.0f + exp(-1.5957691216f * fma(0.044715f * z * z, z, z))); }
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
// and what is read have the same upper half: see ends_above.
#if SPLIT
typedef uint2 Address;
#define ADDRESS(base, at) (as_uint2((ulong)(base)) + (uint2)(at, 0))
#define PLACE(address, at) as_ulong((uint2)((address).x + (at), (address).y))
#define MOVE(address, bytes) (address).x += (bytes)
#define LOW(address) (address).x
#else
typedef __global const char* Address;
#define ADDRESS(base, at) ((__global const char*)(base) + (at))
#define PLACE(address, at) ((address) + (at))
#define MOVE(address, bytes) (address) += (bytes)
#define LOW(address) ((uint)(ulong)(address))
#endif

// Whether the last of `bytes` from the base on has another upper half than the base.
int ends_above(__global const void* base, uint bytes) {
  return SPLIT && (uint)(ulong)base + (bytes - 1) < (uint)(ulong)base;
}
//@end

// ---- sums ----

//@shared factor
// What is multiplied and summed, until a chunk ends. Packed operands are stored so.
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

//@shared dense_sums
// What becomes of a sum before the loop, as a trip of it begins and ends, and behind it.
#if ACC == 1
#define DECLARE(i, v, unused) float4 c##i##_##v = (float4)(0.0f);
#define BEGIN(i, v, unused) S4 t##i##_##v;
#define END(i, v, unused) c##i##_##v += widen(t##i##_##v);
#define HAND_OVER(i, v, unused) sum[i * VECTORS + v] = c##i##_##v;
#else
#define DECLARE(i, v, unused) S4 t##i##_##v = (S4)((S)0);
#define BEGIN(i, v, unused)
#define END(i, v, unused)
#define HAND_OVER(i, v, unused) sum[i * VECTORS + v] = widen(t##i##_##v);
#endif

// Four k: x by rows of k, then for each k its vectors of w, each for all rows. The first product of
// a chunk is not added to a zero: Mesa 25 would then not multiply halves in pairs.
#if ACC == 1
#define FIRST(i, v, k_of) t##i##_##v = (S4)(x##i.k_of) * w##v;
#else
#define FIRST(i, v, k_of) t##i##_##v = fma((S4)(x##i.k_of), w##v, t##i##_##v);
#endif
#define NEXT(i, v, k_of) t##i##_##v = fma((S4)(x##i.k_of), w##v, t##i##_##v);
#define LOAD_X(i, k_at, unused) \
  const S4 x##i = load_t((__global const T4*)PLACE(x, i * x_stride + (k_at) * SIZE));
#define WITH_W(v, ADD, k_of, k_at) LOAD_W(v, (k_at) * w_stride) EACH_ROW(ADD, v, k_of)
#define FOUR_K(ADD, k_at)                 \
  {                                       \
    EACH_ROW(LOAD_X, k_at, )              \
    { EACH_VECTOR(WITH_W, ADD, x, k_at) } \
    { EACH_VECTOR(WITH_W, NEXT, y, k_at + 1) } \
    { EACH_VECTOR(WITH_W, NEXT, z, k_at + 2) } \
    { EACH_VECTOR(WITH_W, NEXT, w, k_at + 3) } \
  }

#if DENSE_K0 == 4
#define TRIP(FOUR) FOUR(NEXT, 0)
#else
#define TRIP(FOUR) FOUR(NEXT, 0) FOUR(NEXT, 4)
#endif

#define TRIPS(DO, step, x_step, end) \
  do {                               \
    EACH_SUM(BEGIN)                  \
    DO                               \
    EACH_SUM(END)                    \
    MOVE(x, (step) * x_step);        \
    MOVE(w, (step) * w_stride);      \
  } while (LOW(x) != end);

// The second source of k: of x2's rows an item has those from `row` on, and of each sums `products`
// elements from `begin` on.
typedef struct {
  __global const T* x;
  int row, ld, off, begin, products;
} Source;

int first_of_row(Source source, int row) { return source.off + row * source.ld + source.begin; }

// A part may lie in one source alone.
#if DENSE_K2 && DENSE_PARTS > 1
#define UNLESS_EMPTY(end) if (LOW(x) != end)
#else
#define UNLESS_EMPTY(end)
#endif

// All k of a source. FOUR sums four of them, TRIP_ those of a trip, but for chunks; the next k lies
// x_step bytes on in x.
#define BEGIN_SOURCE
#if ACC == 1
#define SUM_SOURCE(FOUR, TRIP_, x_step, k)                                                    \
  BEGIN_SOURCE                                                                                \
  const uint rest = LOW(x) + k / CHUNK * CHUNK * x_step;                                      \
  if (LOW(x) != rest) {                                                                       \
    TRIPS(FOUR(FIRST, 0) FOUR(NEXT, 4) FOUR(NEXT, 8) FOUR(NEXT, 12) FOUR(NEXT, 16)            \
          FOUR(NEXT, 20) FOUR(NEXT, 24) FOUR(NEXT, 28), CHUNK, x_step, rest)                  \
  }                                                                                           \
  const uint end = rest + k % CHUNK * x_step;                                                 \
  if (rest != end) {                                                                          \
    TRIPS(FOUR(FIRST, 0), 4, x_step, end)                                                     \
  }
#else
#define SUM_SOURCE(FOUR, TRIP_, x_step, k)  \
  BEGIN_SOURCE                              \
  const uint end = LOW(x) + k * x_step;     \
  UNLESS_EMPTY(end) {                       \
    TRIPS(TRIP_, DENSE_K0, x_step, end)     \
  }
#endif

#define SUM(FOUR, TRIP_, x_step)          \
  EACH_SUM(DECLARE)                       \
  { SUM_SOURCE(FOUR, TRIP_, x_step, k) }  \
  EACH_SUM(HAND_OVER)

// Both sources. The place of the second is computed behind the first's loop, which has no register
// for it. The maximum, which is the row, keeps compilers from using an earlier product.
#define NEXT_SOURCE                                                       \
  x = ADDRESS(second.x, first_of_row(second, max(second.row, 0)) * SIZE); \
  x_stride = second.ld * SIZE;
#if DENSE_K2
#define SUM_BOTH(FOUR, TRIP_, x_step)                    \
  EACH_SUM(DECLARE)                                      \
  { SUM_SOURCE(FOUR, TRIP_, x_step, k) }                 \
  NEXT_SOURCE                                            \
  { SUM_SOURCE(FOUR, TRIP_, x_step, second.products) }   \
  EACH_SUM(HAND_OVER)
#else
#define SUM_BOTH(FOUR, TRIP_, x_step) SUM(FOUR, TRIP_, x_step)
#endif

// One output's sum by scalar loads: rows of x and w, or rows of x and columns of w. It has k
// products with x, and then those with a second x, if there is one. `pairs`: even and odd k apart.
float sum_one(__global const char* x, __global const char* w, uint w_step, int packed, int pairs,
              int k, __global const char* x2, int k2) {
  float total = 0.0f;
  int left = DENSE_K2 ? k + k2 : k;
  if (DENSE_K2 && k == 0) x = x2;
  while (left > 0) {
    const int of_source = DENSE_K2 && k > 0 ? k : left;
    const int of_chunk = of_source < CHUNK ? min(of_source, 4) : CHUNK;
    const int products = ACC != 1 ? left : of_chunk;
    S even = (S)0, odd = (S)0;
    for (int i = 0; i < products; ++i) {
      const S v = (S)*(__global const T*)x;
      const S weight = packed ? *(__global const S*)w : (S)*(__global const T*)w;
      if (pairs && (i & 1)) {
        odd = fma(v, weight, odd);
      } else {
        even = fma(v, weight, even);
      }
      x += SIZE;
      w += w_step;
      if (DENSE_K2 && --k == 0) x = x2;
    }
    total += (float)(pairs ? even + odd : even);
    left -= products;
  }
  return total;
}
//@end

// ---- sums with raw weights ----

// Where rows of x begin is computed once: Mesa does not move products out of a loop.
#define ROW_OF_X(i, unused1, unused2) const uint x_at##i = i * x_stride;
#undef BEGIN_SOURCE
#define BEGIN_SOURCE EACH_ROW(ROW_OF_X, 0, )
#undef LOAD_X
#define LOAD_X(i, k_at, unused) \
  const S4 x##i = load_t((__global const T4*)PLACE(x, x_at##i + (k_at) * SIZE));

// x holds rows of k. w holds vectors of four columns at one k, the tile's second `w_apart` bytes
// behind its first.
void sum_columns(float4* sum, Address x, uint x_stride, Source second, Address w, uint w_stride,
                 uint w_apart, int k) {
#define LOAD_W(v, at) const S4 w##v = load_t((__global const T4*)PLACE(w, at + v * w_apart));
  SUM_BOTH(FOUR_K, TRIP(FOUR_K), SIZE)
#undef LOAD_W
}

//@shared row_products
// Both hold rows of k, w four of them; x is loaded row by row.
#if ACC == 0
float add_row(float sum, S4 x, S4 w) {
  return fma(x.w, w.w, fma(x.z, w.z, fma(x.y, w.y, fma(x.x, w.x, sum))));
}
#define FIRST_ROW(i, unused, k_at)                        \
  {                                                      \
    LOAD_X(i, k_at, )                                    \
    t##i##_0.x = add_row(t##i##_0.x, x##i, w0);          \
    t##i##_0.y = add_row(t##i##_0.y, x##i, w1);          \
    t##i##_0.z = add_row(t##i##_0.z, x##i, w2);          \
    t##i##_0.w = add_row(t##i##_0.w, x##i, w3);          \
  }
#define NEXT_ROW FIRST_ROW
#else
// p0_1 is the sum of row 0 and column 1: of its even k and of its odd k.
typedef half2 S2;
S2 first_pair(S4 x, S4 w) { return fma(x.zw, w.zw, x.xy * w.xy); }
S2 add_pair(S2 sum, S4 x, S4 w) { return fma(x.zw, w.zw, fma(x.xy, w.xy, sum)); }
#define DECLARE_PAIRS(i, unused1, unused2) S2 p##i##_0, p##i##_1, p##i##_2, p##i##_3;
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
float4 join(S2 p0, S2 p1, S2 p2, S2 p3) {
  return (float4)((float)(p0.x + p0.y), (float)(p1.x + p1.y), (float)(p2.x + p2.y),
                  (float)(p3.x + p3.y));
}
#endif

#define LOAD_W_ROW(n, k_at) \
  const S4 w##n = load_t((__global const T4*)PLACE(w, w_at##n + (k_at) * SIZE));
#define FOUR_K_OF_ROWS(ROW, k_at)                                                   \
  {                                                                                 \
    LOAD_W_ROW(0, k_at) LOAD_W_ROW(1, k_at) LOAD_W_ROW(2, k_at) LOAD_W_ROW(3, k_at) \
    EACH_ROW(ROW, 0, k_at)                                                          \
  }
//@end

#define TRIPS_OF_ROWS(DO, step)  \
  do {                           \
    DO                           \
    MOVE(x, (step) * SIZE);      \
    MOVE(w, (step) * SIZE);      \
  } while (LOW(x) != end);

#if ACC == 1
#define ADD_UP_PAIRS(i, unused1, unused2) c##i##_0 += join(p##i##_0, p##i##_1, p##i##_2, p##i##_3);
#define ROWS_OF_SOURCE(k)                                                        \
  BEGIN_SOURCE                                                                   \
  const uint rest = LOW(x) + k / CHUNK * CHUNK * SIZE;                           \
  if (LOW(x) != rest) {                                                          \
    const uint end = rest;                                                       \
    TRIPS_OF_ROWS(FOUR_K_OF_ROWS(FIRST_ROW, 0) FOUR_K_OF_ROWS(NEXT_ROW, 4)       \
                  FOUR_K_OF_ROWS(NEXT_ROW, 8) FOUR_K_OF_ROWS(NEXT_ROW, 12)       \
                  FOUR_K_OF_ROWS(NEXT_ROW, 16) FOUR_K_OF_ROWS(NEXT_ROW, 20)      \
                  FOUR_K_OF_ROWS(NEXT_ROW, 24) FOUR_K_OF_ROWS(NEXT_ROW, 28)      \
                  EACH_ROW(ADD_UP_PAIRS, 0, ), CHUNK)                            \
  }                                                                              \
  const uint end = rest + k % CHUNK * SIZE;                                      \
  if (rest != end) {                                                             \
    TRIPS_OF_ROWS(FOUR_K_OF_ROWS(FIRST_ROW, 0) EACH_ROW(ADD_UP_PAIRS, 0, ), 4)   \
  }
#else
#define ROWS_OF_SOURCE(k)                            \
  BEGIN_SOURCE                                       \
  const uint end = LOW(x) + k * SIZE;                \
  UNLESS_EMPTY(end) {                                \
    TRIPS_OF_ROWS(FOUR_K_OF_ROWS(NEXT_ROW, 0), 4)    \
  }
#endif

void sum_rows(float4* sum, Address x, uint x_stride, Source second, Address w, uint w_stride,
              int k) {
  const uint w_at0 = 0, w_at1 = w_stride, w_at2 = 2 * w_stride, w_at3 = 3 * w_stride;
#if ACC == 0
  EACH_ROW(DECLARE, 0, )
#elif ACC == 1
  EACH_ROW(DECLARE, 0, )
  EACH_ROW(DECLARE_PAIRS, 0, )
#else
#define DECLARE_ZERO_PAIRS(i, unused1, unused2) \
  S2 p##i##_0 = (S2)((S)0), p##i##_1 = p##i##_0, p##i##_2 = p##i##_0, p##i##_3 = p##i##_0;
  EACH_ROW(DECLARE_ZERO_PAIRS, 0, )
#endif
  { ROWS_OF_SOURCE(k) }
#if DENSE_K2
  NEXT_SOURCE
  { ROWS_OF_SOURCE(second.products) }
#endif
#if ACC == 2
#define JOIN_PAIRS(i, unused1, unused2) sum[i] = join(p##i##_0, p##i##_1, p##i##_2, p##i##_3);
  EACH_ROW(JOIN_PAIRS, 0, )
#else
#define HAND_OVER_ROW(i, unused1, unused2) HAND_OVER(i, 0, )
  EACH_ROW(HAND_OVER_ROW, 0, )
#endif
}

// ---- tiles ----

//@shared dense_tile
// What a work-item computes: rows from `row` on, and vectors of four columns, one every APART from
// `col` on. What it owns: all rows but the first ones, which belong to the tile above. Of a vector
// it owns the columns from `first` on that y has.
//
// If an odd number of values lives through the loop over k, Mesa's register allocator loses a
// register, and each load costs a move more. So what is needed behind the loop is kept in an even
// number, by both versions' counts.
typedef struct {
  int row, above, col, first;
} Tile;

#define PANEL (DENSE_N0 * DENSE_LX)  // columns of a group's tiles
#define APART (ACC == 2 ? 4 : 4 * DENSE_LX)

// Columns of a panel, from a multiple of four on and all inside of it. Through a pointer: Oclgrind
// cannot take what a compiler makes of a struct that is returned.
void own_tile(Tile* tile, int m) {
  const int own_row = (int)get_global_id(1) * ROWS;
  tile->row = min(own_row, m - ROWS);
  tile->above = own_row - tile->row;
  tile->col = (int)get_group_id(0) * PANEL + (int)get_local_id(0) * (ACC == 2 ? DENSE_N0 : 4);
  tile->first = 0;
}
//@end

// Four columns that end at the last one of y or before.
void own_square_tile(Tile* tile, int own_col, int m, int n) {
  own_tile(tile, m);
  tile->col = min(own_col, n - 4);
  tile->first = own_col - tile->col;
}

// The same columns, written so that a compiler does not keep those from before the loop.
void own_columns_again(Tile* tile, int own_col, int n) {
  tile->col = n - max(n - own_col, 4);
  tile->first = own_col - tile->col;
}

//@shared dense_range
// The k that an item sums, from `begin` on: all, or a part, which begins a trip of the loop. `of_x`
// of them are with x, from its `begin_x` on, and `of_x2` with x2.
typedef struct {
  int begin, of_x, begin_x, of_x2, begin_x2;
} Range;

void own_range(Range* range, int k, int k2) {
  const int all = DENSE_K2 ? k + k2 : k;
  const int trip = ACC == 1 ? CHUNK : DENSE_K0, part = all / (trip * DENSE_PARTS) * trip;
  const int at = DENSE_PARTS > 1 ? (int)get_local_id(2) : 0;
  const int products = at < DENSE_PARTS - 1 ? part : all - at * part;
  const int in_parts = DENSE_K2 ? DENSE_PARTS > 1 : 0;
  range->begin = at * part;
  range->begin_x2 = in_parts ? max(range->begin - k, 0) : 0;
  range->begin_x = range->begin - range->begin_x2;
  range->of_x = in_parts ? min(k - range->begin_x, products) : DENSE_K2 ? k : products;
  range->of_x2 = products - range->of_x;
}
//@end

// ---- from the sum to the output ----

typedef struct {
  int n, ldr, ldy, offr, offy;
  float alpha;
} Output;

//@shared own_columns
int owns(int i, int first, int end) { return i >= first && i < end; }

// The own elements of a vector; `whole` when all four are its own and aligned.
float4 load_own(__global const char* p, uint at, int first, int end, int whole) {
  if (whole) return load4(p, at);
  return (float4)(owns(0, first, end) ? load1(p, at) : 0.0f,
                  owns(1, first, end) ? load1(p, at + SIZE) : 0.0f,
                  owns(2, first, end) ? load1(p, at + 2 * SIZE) : 0.0f,
                  owns(3, first, end) ? load1(p, at + 3 * SIZE) : 0.0f);
}

void store_own(float4 v, __global char* p, uint at, int first, int end, int whole) {
  if (whole) {
    store4(v, p, at);
    return;
  }
  if (owns(0, first, end)) store1(v.x, p, at);
  if (owns(1, first, end)) store1(v.y, p, at + SIZE);
  if (owns(2, first, end)) store1(v.z, p, at + 2 * SIZE);
  if (owns(3, first, end)) store1(v.w, p, at + 3 * SIZE);
}
//@end

//@shared dense_finish
// Sum i of the tile.
void finish_vector(float4 sum, int i, Tile tile, Output out, __global const T* b,
                   __global const T* r, __global T* y) {
  const int row = tile.row + i / VECTORS, col = tile.col + i % VECTORS * APART;
  const int end = out.n - col;
  if (i / VECTORS < tile.above || end <= 0) return;
  const int whole = DENSE_WHOLE || ((out.n | out.ldr | out.ldy | out.offr | out.offy) & 3) == 0;
  const int first = tile.first;
  float4 z = (float4)(0.0f);
  if (DENSE_BIAS) z = load_own((__global const char*)b, col * SIZE, first, end, whole);
  z = fma((float4)(out.alpha), sum, z);
  float4 v = (float4)(DENSE_ACT(z.x), DENSE_ACT(z.y), DENSE_ACT(z.z), DENSE_ACT(z.w));
  if (DENSE_RESIDUAL) {
    const uint at = (out.offr + row * out.ldr + col) * SIZE;
    v += load_own((__global const char*)r, at, first, end, whole);
  }
  store_own(v, (__global char*)y, (out.offy + row * out.ldy + col) * SIZE, first, end, whole);
}
//@end

#define SUMS (ROWS * VECTORS)

//@shared dense_parts
#if DENSE_PARTS == 1
#define PARTIAL_SIZE 1
#else
#define PARTIAL_SIZE (DENSE_PARTS * SUMS * DENSE_LX * DENSE_LY)
#endif

// Sum i of the tile: finished, or, in parts, put where the others find it.
void take(float4 sum, int i, Tile tile, Output out, __global const T* b, __global const T* r,
          __global T* y, __local float4* partial) {
#if DENSE_PARTS == 1
  finish_vector(sum, i, tile, out, b, r, y);
#else
  const int lane = (int)get_local_id(1) * DENSE_LX + (int)get_local_id(0);
  partial[((int)get_local_id(2) * SUMS + i) * DENSE_LX * DENSE_LY + lane] = sum;
#endif
}

// Items share out the sums of their tile; each adds those of all parts, in their order.
void finish_parts(Tile tile, Output out, __global const T* b, __global const T* r, __global T* y,
                  __local const float4* partial) {
#if DENSE_PARTS > 1
  const int lane = (int)get_local_id(1) * DENSE_LX + (int)get_local_id(0);
  const int lanes = DENSE_LX * DENSE_LY;
  // Every part's sums are there before any is read.
  barrier(CLK_LOCAL_MEM_FENCE);
  if (tile.first > 3) return;  // another item has these columns
  // As many trips for all: llvmpipe goes wrong where items leave such a loop one by one.
  for (int j = 0; j < SUMS; j += DENSE_PARTS) {
    const int i = j + (int)get_local_id(2);
    if (i >= SUMS) continue;
    float4 sum = partial[i * lanes + lane];
    for (int part = 1; part < DENSE_PARTS; ++part) sum += partial[(part * SUMS + i) * lanes + lane];
    finish_vector(sum, i, tile, out, b, r, y);
  }
#endif
}

#define TAKE(i, v, unused) \
  take(sum[i * VECTORS + v], i * VECTORS + v, tile, out, b, r, y, partial);

// All sums of a tile by scalar loads: from w on, a vector every w_apart bytes, a column every
// w_column, a k every w_step.
void sum_slowly(__global const char* x, uint x_stride, Source second, __global const char* w,
                uint w_apart, uint w_column, uint w_step, int packed, int pairs, int k, Tile tile,
                Output out, __global const T* b, __global const T* r, __global T* y,
                __local float4* partial) {
  for (int i = 0; i < SUMS; ++i) {
    __global const T* x2 = second.x + first_of_row(second, second.row + i / VECTORS);
    float4 sum = (float4)(0.0f);
    for (int column = 0; column < 4; ++column) {
      const float one = sum_one(x + i / VECTORS * x_stride,
                                w + i % VECTORS * w_apart + column * w_column, w_step, packed,
                                pairs, k, (__global const char*)x2, second.products);
      sum = (float4)(sum.yzw, one);
    }
    take(sum, i, tile, out, b, r, y, partial);
  }
}

// ---- where reads end ----

// The elements from a matrix's start to the end of `rows` rows of `row` elements.
int reach(int at, int rows, int ld, int row) { return at + (rows - 1) * ld + row; }

// Of a part that lies in x alone, nothing of x2 is read.
int second_ends_above(Source second) {
  if (!DENSE_K2) return 0;
  const int at = first_of_row(second, second.row + ROWS - 1);
  return (second.products > 0) & ends_above(second.x, (at + second.products) * SIZE);
}
//@end

// ---- the kernels ----

#if VECTORS == 1
// One work-item a tile, or DENSE_PARTS of them. w lies in rows along k. A tile that would hang over
// the last column is moved left as others are moved up.
//@kernel dense_nt
//@arg    0  x      in   T[m*ldx]
//@arg    1  x2     in   T[m*ldx2] null without DENSE_K2
//@arg    2  w      in   T[n*ldw]
//@arg    3  b      in   T[n]      null without DENSE_BIAS
//@arg    4  r      in   T[m*ldr]  null without DENSE_RESIDUAL
//@arg    5  y      out  T[m*ldy]  may be r
//@arg    6  m      int            rows
//@arg    7  n      int            columns
//@arg    8  k      int            products of a sum
//@arg    9  k2     int            those with x2 behind them
//@arg    10 ldx    int
//@arg    11 ldx2   int
//@arg    12 ldw    int
//@arg    13 ldr    int            n without DENSE_RESIDUAL
//@arg    14 ldy    int
//@arg    15 offx   int
//@arg    16 offx2  int
//@arg    17 offw   int
//@arg    18 offr   int            0 without DENSE_RESIDUAL
//@arg    19 offy   int
//@arg    20 alpha  float          factor of the sum
//@global ceil(n/(DENSE_N0*DENSE_LX))*DENSE_LX ceil(m/(DENSE_M0*DENSE_LY))*DENSE_LY DENSE_PARTS
//@local  DENSE_LX DENSE_LY DENSE_PARTS
//@needs  m >= DENSE_M0, n >= 4, DENSE_N0 == 4
//@needs  k >= 1, k % DENSE_K0 == 0, k + k2 >= DENSE_K0*DENSE_PARTS
//@needs  k + k2 >= 32*DENSE_PARTS*(DENSE_PARTS>1)*(DENSE_ACC==1)
//@needs  (k2 >= 1) == DENSE_K2, k2 % DENSE_K0 == 0, ldx2 % 4 == 0, offx2 % 4 == 0
//@needs  ldx % 4 == 0, offx % 4 == 0, ldw % 4 == 0, offw % 4 == 0
//@needs  n % 4 == 0 || DENSE_WHOLE == 0, ldr % 4 == 0 || DENSE_WHOLE == 0
//@needs  ldy % 4 == 0 || DENSE_WHOLE == 0, offr % 4 == 0 || DENSE_WHOLE == 0
//@needs  offy % 4 == 0 || DENSE_WHOLE == 0
//@loop   floor(k/(4*DENSE_PARTS))..k/4-floor(k/(4*DENSE_PARTS))*(DENSE_PARTS-1) if (DENSE_ACC!=1)*(DENSE_K2*(DENSE_PARTS>1)==0)  over the k of a part, four a trip
//@loop   0..min(k,k+k2-floor((k+k2)/(DENSE_K0*DENSE_PARTS))*DENSE_K0*(DENSE_PARTS-1))/4 if (DENSE_ACC!=1)*DENSE_K2*(DENSE_PARTS>1)  over those of x in a part
//@loop   k2/4 if (DENSE_ACC!=1)*DENSE_K2*(DENSE_PARTS==1)  over the k of x2
//@loop   0..min(k2,k+k2-floor((k+k2)/(DENSE_K0*DENSE_PARTS))*DENSE_K0*(DENSE_PARTS-1))/4 if (DENSE_ACC!=1)*DENSE_K2*(DENSE_PARTS>1)  over those of x2 in a part
//@loop   floor(k/(32*DENSE_PARTS))..floor(k/32)-floor(k/(32*DENSE_PARTS))*(DENSE_PARTS-1) if (DENSE_ACC==1)*(DENSE_K2*(DENSE_PARTS>1)==0)  over the chunks of a part
//@loop   0..min(floor(k/32),ceil((k+k2)/32)-floor((k+k2)/(32*DENSE_PARTS))*(DENSE_PARTS-1)) if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS>1)  over those of x in a part
//@loop   0..(k-floor(k/32)*32)/4 if DENSE_ACC==1  over the k that are left, four a trip
//@loop   floor(k2/32) if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS==1)  over the chunks of x2
//@loop   0..min(floor(k2/32),ceil((k+k2)/32)-floor((k+k2)/(32*DENSE_PARTS))*(DENSE_PARTS-1)) if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS>1)  over those of x2 in a part
//@loop   (k2-floor(k2/32)*32)/4 if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS==1)  over the k that are left
//@loop   0..min(k2/4,7) if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS>1)  over those of a part
//@loop   0*k if DENSE_SPLIT*(DENSE_M0*DENSE_N0>4)  over the sums of a tile that lies across 4 GiB
//@loop   0*k if DENSE_SPLIT  over the columns of such a sum
//@loop   0*k if DENSE_SPLIT  over its chunks, or once
//@loop   0*k if DENSE_SPLIT  over the k of a column
__kernel GROUP void dense_nt(__global const T* x, __global const T* x2, __global const T* w,
                             __global const T* b, __global const T* r, __global T* y, int m, int n,
                             int k, int k2, int ldx, int ldx2, int ldw, int ldr, int ldy, int offx,
                             int offx2, int offw, int offr, int offy, float alpha) {
  __local float4 partial[PARTIAL_SIZE];
  Tile tile;
  Range range;
  const int own_col = (int)get_global_id(0) * 4;
  own_square_tile(&tile, own_col, m, n);
  own_range(&range, k, k2);
  if (DENSE_PARTS == 1 && (tile.above >= ROWS || own_col >= n)) return;
  const int x_stride = DENSE_LDX ? DENSE_LDX : ldx, w_stride = DENSE_LDW ? DENSE_LDW : ldw;
  const int x_at = offx + tile.row * x_stride + range.begin_x;
  const Source second = {x2,    tile.row,       DENSE_LDX2 ? DENSE_LDX2 : ldx2,
                         offx2, range.begin_x2, range.of_x2};
  const int w_at = offw + tile.col * w_stride + range.begin;
  const Output out = {n, ldr, ldy, offr, offy, alpha};
  // Not ||: that would be two branches to one place, and what is used there would be kept in
  // registers through the loop.
  if (ends_above(x, reach(x_at, ROWS, x_stride, range.of_x) * SIZE) | second_ends_above(second) |
      ends_above(w, reach(w_at, 4, w_stride, range.of_x + range.of_x2) * SIZE)) {
    sum_slowly((__global const char*)(x + x_at), x_stride * SIZE, second,
               (__global const char*)(w + w_at), 0, w_stride * SIZE, SIZE, 0, ACC != 0, range.of_x,
               tile, out, b, r, y, partial);
  } else {
    float4 sum[SUMS];
    sum_rows(sum, ADDRESS(x, x_at * SIZE), x_stride * SIZE, second,
             ADDRESS(w, w_at * SIZE), w_stride * SIZE, range.of_x);
    own_columns_again(&tile, own_col, n);
    EACH_SUM(TAKE)
  }
  finish_parts(tile, out, b, r, y, partial);
}
#endif

// The same with w transposed: in rows along n.
//@kernel dense_nn
//@arg    0  x      in   T[m*ldx]
//@arg    1  x2     in   T[m*ldx2] null without DENSE_K2
//@arg    2  w      in   T[(k+k2)*ldw]
//@arg    3  b      in   T[n]      null without DENSE_BIAS
//@arg    4  r      in   T[m*ldr]  null without DENSE_RESIDUAL
//@arg    5  y      out  T[m*ldy]  may be r
//@arg    6  m      int            rows
//@arg    7  n      int            columns
//@arg    8  k      int            products of a sum
//@arg    9  k2     int            those with x2 behind them
//@arg    10 ldx    int
//@arg    11 ldx2   int
//@arg    12 ldw    int
//@arg    13 ldr    int            n without DENSE_RESIDUAL
//@arg    14 ldy    int
//@arg    15 offx   int
//@arg    16 offx2  int
//@arg    17 offw   int
//@arg    18 offr   int            0 without DENSE_RESIDUAL
//@arg    19 offy   int
//@arg    20 alpha  float          factor of the sum
//@global ceil(n/(DENSE_N0*DENSE_LX))*DENSE_LX ceil(m/(DENSE_M0*DENSE_LY))*DENSE_LY DENSE_PARTS
//@local  DENSE_LX DENSE_LY DENSE_PARTS
//@needs  m >= DENSE_M0, n % 4 == 0, n % (8*DENSE_LX*(DENSE_N0==8)+4*(DENSE_N0==4)) == 0
//@needs  k >= 1, k % DENSE_K0 == 0, k + k2 >= DENSE_K0*DENSE_PARTS
//@needs  k + k2 >= 32*DENSE_PARTS*(DENSE_PARTS>1)*(DENSE_ACC==1)
//@needs  (k2 >= 1) == DENSE_K2, k2 % DENSE_K0 == 0, ldx2 % 4 == 0, offx2 % 4 == 0
//@needs  ldx % 4 == 0, offx % 4 == 0, ldw % 4 == 0, offw % 4 == 0
//@needs  n % 4 == 0 || DENSE_WHOLE == 0, ldr % 4 == 0 || DENSE_WHOLE == 0
//@needs  ldy % 4 == 0 || DENSE_WHOLE == 0, offr % 4 == 0 || DENSE_WHOLE == 0
//@needs  offy % 4 == 0 || DENSE_WHOLE == 0
//@loop   floor(k/(DENSE_K0*DENSE_PARTS))..k/DENSE_K0-floor(k/(DENSE_K0*DENSE_PARTS))*(DENSE_PARTS-1) if (DENSE_ACC!=1)*(DENSE_K2*(DENSE_PARTS>1)==0)  over the k of a part
//@loop   0..min(k,k+k2-floor((k+k2)/(DENSE_K0*DENSE_PARTS))*DENSE_K0*(DENSE_PARTS-1))/DENSE_K0 if (DENSE_ACC!=1)*DENSE_K2*(DENSE_PARTS>1)  over those of x in a part
//@loop   k2/DENSE_K0 if (DENSE_ACC!=1)*DENSE_K2*(DENSE_PARTS==1)  over the k of x2
//@loop   0..min(k2,k+k2-floor((k+k2)/(DENSE_K0*DENSE_PARTS))*DENSE_K0*(DENSE_PARTS-1))/DENSE_K0 if (DENSE_ACC!=1)*DENSE_K2*(DENSE_PARTS>1)  over those of x2 in a part
//@loop   floor(k/(32*DENSE_PARTS))..floor(k/32)-floor(k/(32*DENSE_PARTS))*(DENSE_PARTS-1) if (DENSE_ACC==1)*(DENSE_K2*(DENSE_PARTS>1)==0)  over the chunks of a part
//@loop   0..min(floor(k/32),ceil((k+k2)/32)-floor((k+k2)/(32*DENSE_PARTS))*(DENSE_PARTS-1)) if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS>1)  over those of x in a part
//@loop   0..(k-floor(k/32)*32)/4 if DENSE_ACC==1  over the k that are left, four a trip
//@loop   floor(k2/32) if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS==1)  over the chunks of x2
//@loop   0..min(floor(k2/32),ceil((k+k2)/32)-floor((k+k2)/(32*DENSE_PARTS))*(DENSE_PARTS-1)) if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS>1)  over those of x2 in a part
//@loop   (k2-floor(k2/32)*32)/4 if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS==1)  over the k that are left
//@loop   0..min(k2/4,7) if (DENSE_ACC==1)*DENSE_K2*(DENSE_PARTS>1)  over those of a part
//@loop   0*k if DENSE_SPLIT*(DENSE_M0*DENSE_N0>4)  over the sums of a tile that lies across 4 GiB
//@loop   0*k if DENSE_SPLIT  over the columns of such a sum
//@loop   0*k if DENSE_SPLIT  over its chunks, or once
//@loop   0*k if DENSE_SPLIT  over the k of a column
__kernel GROUP void dense_nn(__global const T* x, __global const T* x2, __global const T* w,
                             __global const T* b, __global const T* r, __global T* y, int m, int n,
                             int k, int k2, int ldx, int ldx2, int ldw, int ldr, int ldy, int offx,
                             int offx2, int offw, int offr, int offy, float alpha) {
  __local float4 partial[PARTIAL_SIZE];
  Tile tile;
  Range range;
  own_tile(&tile, m);
  own_range(&range, k, k2);
  if (DENSE_PARTS == 1 && (tile.above >= ROWS || tile.col >= n)) return;
  const int x_stride = DENSE_LDX ? DENSE_LDX : ldx, w_stride = DENSE_LDW ? DENSE_LDW : ldw;
  const int x_at = offx + tile.row * x_stride + range.begin_x;
  const Source second = {x2,    tile.row,       DENSE_LDX2 ? DENSE_LDX2 : ldx2,
                         offx2, range.begin_x2, range.of_x2};
  // Items beyond the last column read what another one reads.
  const int w_at = offw + range.begin * w_stride + min(tile.col, n - (VECTORS - 1) * APART - 4);
  const Output out = {n, ldr, ldy, offr, offy, alpha};
  const int w_rows = range.of_x + range.of_x2;
  if (ends_above(x, reach(x_at, ROWS, x_stride, range.of_x) * SIZE) | second_ends_above(second) |
      ends_above(w, reach(w_at, w_rows, w_stride, (VECTORS - 1) * APART + 4) * SIZE)) {
    sum_slowly((__global const char*)(x + x_at), x_stride * SIZE, second,
               (__global const char*)(w + w_at), APART * SIZE, SIZE, w_stride * SIZE, 0, 0,
               range.of_x, tile, out, b, r, y, partial);
  } else {
    float4 sum[SUMS];
    sum_columns(sum, ADDRESS(x, x_at * SIZE), x_stride * SIZE, second,
                ADDRESS(w, w_at * SIZE), w_stride * SIZE, APART * SIZE, range.of_x);
    EACH_SUM(TAKE)
  }
  finish_parts(tile, out, b, r, y, partial);
}
