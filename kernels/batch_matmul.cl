// SPDX-License-Identifier: MIT
// batch_matmul.cl - c[i,m,n] = act(scale * sum_k a[i,m,k] * b[i,k,n] + mask[m,n])
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
// OpenCL's do. mask is dense; stridem is m*n, or 0 for one mask for all batch items. An absent mask
// counts as zeros, and may be null. No output overlaps an input.
//
// The two letters of a kernel say how a and b lie: n as in the formula, t transposed; _tn and _tt
// are in batch_matmul_transposed.cl. A work-item has a tile of 4 or 8 columns (batch_matmul_plain:
// one output) and takes 4 k a trip, or a chunk, by aligned 4-vectors. A tile that would reach past
// an edge is moved back, so that it ends there. Then it shares rows or columns with its neighbour,
// and stores only its own.
//
//     kernel   a vector of a holds   a vector of b holds    rows x columns of a tile
//     _nt      4 k of a row          4 k of a column        BMM_M0 x 4
//     _nn      4 k of a row          4 columns at one k     BMM_M0 x BMM_N0
//
// The second vector of columns of a tile of 8 lies 4*BMM_LX further on, so that those of a group's
// work-items lie side by side.
//
//@define CLAM_F16  off                          store tensors as half
//@define BMM_ACC   0 {0,1,2}                    sums in float, chunks, half
//@define BMM_M0    4 {1,2,4,6,8}                rows of a tile
//@define BMM_N0    4 {4,8}                      columns of a tile of _nn
//@define BMM_LX    16 {1,2,4,8,16}              work-items of a group along n
//@define BMM_LY    4 {1,2,4,8,16,32,64,128,256} work-items of a group along m
//@define BMM_PARTS 1 {1,2,4}                    work-items that share a tile's k
//@define BMM_SPLIT 0 {0,1}                      addresses in two halves
//@define BMM_WHOLE 0 {0,1}                      c and mask in aligned vectors of 4
//@define BMM_LDA   0                            fixes lda where it is not 0
//@define BMM_LDB   0                            fixes ldb where it is not 0
//@define BMM_MASK  0 {0,1}                      mask is added
//@define BMM_ACT   none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp}  activation

#ifndef BMM_ACC
#define BMM_ACC 0
#endif
#ifndef BMM_M0
#define BMM_M0 4
#endif
#ifndef BMM_N0
#define BMM_N0 4
#endif
#ifndef BMM_LX
#define BMM_LX 16
#endif
#ifndef BMM_LY
#define BMM_LY 4
#endif
#ifndef BMM_PARTS
#define BMM_PARTS 1
#endif
#ifndef BMM_SPLIT
#define BMM_SPLIT 0
#endif
#ifndef BMM_WHOLE
#define BMM_WHOLE 0
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
#ifndef BMM_ACT
#define BMM_ACT none
#endif

#if BMM_ACC < 0 || BMM_ACC > 2
#error "batch_matmul.cl: BMM_ACC must be 0, 1 or 2"
#endif
#if BMM_ACC != 0 && !defined(CLAM_F16)
#error "batch_matmul.cl: BMM_ACC 1 and 2 sum in half, and need CLAM_F16"
#endif
#if BMM_M0 != 1 && BMM_M0 != 2 && BMM_M0 != 4 && BMM_M0 != 6 && BMM_M0 != 8
#error "batch_matmul.cl: BMM_M0 must be 1, 2, 4, 6 or 8"
#endif
#if BMM_N0 != 4 && BMM_N0 != 8
#error "batch_matmul.cl: BMM_N0 must be 4 or 8"
#endif
#if BMM_LX < 1 || BMM_LX > 16 || BMM_LX & (BMM_LX - 1)
#error "batch_matmul.cl: BMM_LX must be a power of two up to 16"
#endif
#if BMM_LY < 1 || BMM_LY > 256 || BMM_LY & (BMM_LY - 1)
#error "batch_matmul.cl: BMM_LY must be a power of two up to 256"
#endif
#if BMM_PARTS != 1 && BMM_PARTS != 2 && BMM_PARTS != 4
#error "batch_matmul.cl: BMM_PARTS must be 1, 2 or 4"
#endif
#if BMM_PARTS > 1 && BMM_LX * BMM_LY * BMM_PARTS > 64
#error "batch_matmul.cl: BMM_LX * BMM_LY * BMM_PARTS must be up to 64 where items share k"
#endif
#if BMM_SPLIT != 0 && BMM_SPLIT != 1
#error "batch_matmul.cl: BMM_SPLIT must be 0 or 1"
#endif
#if BMM_LDA % 4 != 0 || BMM_LDB % 4 != 0
#error "batch_matmul.cl: BMM_LDA and BMM_LDB must be multiples of 4, for aligned vector loads"
#endif
#if BMM_MASK != 0 && BMM_MASK != 1
#error "batch_matmul.cl: BMM_MASK must be 0 or 1"
#endif
#if BMM_WHOLE != 0 && BMM_WHOLE != 1
#error "batch_matmul.cl: BMM_WHOLE must be 0 or 1"
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

#define ROWS BMM_M0
#define VECTORS (BMM_N0 / 4)
#define ACC BMM_ACC
#define SPLIT BMM_SPLIT

#define SIZE ((uint)sizeof(T))
#define GROUP __attribute__((reqd_work_group_size(BMM_LX, BMM_LY, BMM_PARTS)))
#define FLAT_GROUP __attribute__((reqd_work_group_size(BMM_LX, BMM_LY, 1)))

// ---- activations: BMM_ACT is the name of one of these, or of a built-in ----

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

//@shared batch_matmul_sums
#if ACC == 1
#define DECLARE(i, v, unused) float4 c##i##_##v = (float4)(0.0f); S4 t##i##_##v;
#define ADD_UP(i, v, unused) c##i##_##v += widen(t##i##_##v);
#define HAND_OVER(i, v, unused) sum[i * VECTORS + v] = c##i##_##v;
#else
#define DECLARE(i, v, unused) S4 t##i##_##v = (S4)((S)0);
#define ADD_UP(i, v, unused)
#define HAND_OVER(i, v, unused) sum[i * VECTORS + v] = widen(t##i##_##v);
#endif

// The first product of a chunk is not added to a zero: Mesa 25 would then not multiply halves in
// pairs.
#if ACC == 1
#define FIRST_BY(i, v, factor) t##i##_##v = (S4)(factor) * w##v;
#else
#define FIRST_BY NEXT_BY
#endif
#define NEXT_BY(i, v, factor) t##i##_##v = fma((S4)(factor), w##v, t##i##_##v);
#define LOAD_W(v, k_at) \
  const S4 w##v = load_t((__global const T4*)PLACE(w, (k_at) * w_stride + v * w_apart));

// The sums, `FOUR` k after the other: x moves on by x_step bytes a k, w by w_step.
#if ACC == 1
#define SUM(FOUR, x_step, w_step)                                             \
  const uint end = LOW(x) + k * (x_step);                                     \
  const uint rest = LOW(x) + k / CHUNK * CHUNK * (x_step);                    \
  EACH_SUM(DECLARE)                                                           \
  if (LOW(x) != rest) {                                                       \
    do {                                                                      \
      FOUR(FIRST, 0) FOUR(NEXT, 4) FOUR(NEXT, 8) FOUR(NEXT, 12)               \
      FOUR(NEXT, 16) FOUR(NEXT, 20) FOUR(NEXT, 24) FOUR(NEXT, 28)             \
      EACH_SUM(ADD_UP)                                                        \
      MOVE(x, CHUNK * (x_step));                                              \
      MOVE(w, CHUNK * (w_step));                                              \
    } while (LOW(x) != rest);                                                 \
  }                                                                           \
  if (LOW(x) != end) {                                                        \
    do {                                                                      \
      FOUR(FIRST, 0)                                                          \
      EACH_SUM(ADD_UP)                                                        \
      MOVE(x, 4 * (x_step));                                                  \
      MOVE(w, 4 * (w_step));                                                  \
    } while (LOW(x) != end);                                                  \
  }                                                                           \
  EACH_SUM(HAND_OVER)
#else
#define SUM(FOUR, x_step, w_step)                                             \
  const uint end = LOW(x) + k * (x_step);                                     \
  EACH_SUM(DECLARE)                                                           \
  do {                                                                        \
    FOUR(NEXT, 0)                                                             \
    MOVE(x, 4 * (x_step));                                                    \
    MOVE(w, 4 * (w_step));                                                    \
  } while (LOW(x) != end);                                                    \
  EACH_SUM(HAND_OVER)
#endif

// One output's sum by scalar loads, a k every x_step and w_step bytes. `pairs`: as sum_rows adds.
float sum_one(__global const char* x, uint x_step, __global const char* w, uint w_step, int pairs,
              int k) {
  float total = 0.0f;
  while (k > 0) {
    const int products = ACC != 1 ? k : (k < CHUNK ? min(k, 4) : CHUNK);
    S even = (S)0, odd = (S)0;
    for (int i = 0; i < products; ++i) {
      const S v = (S)*(__global const T*)x, weight = (S)*(__global const T*)w;
      if (pairs && (i & 1)) {
        odd = fma(v, weight, odd);
      } else {
        even = fma(v, weight, even);
      }
      x += x_step;
      w += w_step;
    }
    total += (float)(pairs ? even + odd : even);
    k -= products;
  }
  return total;
}
//@end

// ---- sums over rows of k ----

// Four k: x by rows of k, then for each k its vectors of w, each for all rows.
#define FIRST(i, v, k_of) FIRST_BY(i, v, x##i.k_of)
#define NEXT(i, v, k_of) NEXT_BY(i, v, x##i.k_of)
// Where rows of x begin: computed once, for Mesa does not move products out of a loop.
#define ROW_OF_X(i, unused1, unused2) const uint x_at##i = i * x_stride;
#define LOAD_X(i, k_at, unused) \
  const S4 x##i = load_t((__global const T4*)PLACE(x, x_at##i + (k_at) * SIZE));
#define WITH_W(v, ADD, k_of, k_at)   \
  {                                  \
    LOAD_W(v, k_at)                  \
    EACH_ROW(ADD, v, k_of)           \
  }
#define FOUR_K(ADD, k_at)                     \
  {                                           \
    EACH_ROW(LOAD_X, k_at, )                  \
    EACH_VECTOR(WITH_W, ADD, x, k_at)         \
    EACH_VECTOR(WITH_W, NEXT, y, (k_at) + 1)  \
    EACH_VECTOR(WITH_W, NEXT, z, (k_at) + 2)  \
    EACH_VECTOR(WITH_W, NEXT, w, (k_at) + 3)  \
  }

// x holds rows of k. w holds vectors of four columns at one k, the tile's second `w_apart` bytes
// behind its first.
void sum_columns(float4* sum, Address x, uint x_stride, Address w, uint w_stride, uint w_apart,
                 int k) {
  EACH_ROW(ROW_OF_X, 0, )
  SUM(FOUR_K, SIZE, w_stride)
}

#if VECTORS == 1
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

void sum_rows(float4* sum, Address x, uint x_stride, Address w, uint w_stride, int k) {
  const uint w_at0 = 0, w_at1 = w_stride, w_at2 = 2 * w_stride, w_at3 = 3 * w_stride;
  EACH_ROW(ROW_OF_X, 0, )
  EACH_ROW(DECLARE, 0, )
#if ACC == 0
  const uint end = LOW(x) + k * SIZE;
  do {
    FOUR_K_OF_ROWS(NEXT_ROW, 0)
    MOVE(x, 4 * SIZE);
    MOVE(w, 4 * SIZE);
  } while (LOW(x) != end);
#elif ACC == 1
  EACH_ROW(DECLARE_PAIRS, 0, )
#define ADD_UP_PAIRS(i, unused1, unused2) c##i##_0 += join(p##i##_0, p##i##_1, p##i##_2, p##i##_3);
  const uint rest = LOW(x) + k / CHUNK * CHUNK * SIZE;
  if (LOW(x) != rest) {
    do {
      FOUR_K_OF_ROWS(FIRST_ROW, 0)
      FOUR_K_OF_ROWS(NEXT_ROW, 4)
      FOUR_K_OF_ROWS(NEXT_ROW, 8)
      FOUR_K_OF_ROWS(NEXT_ROW, 12)
      FOUR_K_OF_ROWS(NEXT_ROW, 16)
      FOUR_K_OF_ROWS(NEXT_ROW, 20)
      FOUR_K_OF_ROWS(NEXT_ROW, 24)
      FOUR_K_OF_ROWS(NEXT_ROW, 28)
      EACH_ROW(ADD_UP_PAIRS, 0, )
      MOVE(x, CHUNK * SIZE);
      MOVE(w, CHUNK * SIZE);
    } while (LOW(x) != rest);
  }
  const uint end = rest + k % CHUNK * SIZE;
  if (rest != end) {
    do {
      FOUR_K_OF_ROWS(FIRST_ROW, 0)
      EACH_ROW(ADD_UP_PAIRS, 0, )
      MOVE(x, 4 * SIZE);
      MOVE(w, 4 * SIZE);
    } while (LOW(x) != end);
  }
#else
#define DECLARE_ZERO_PAIRS(i, unused1, unused2) \
  S2 p##i##_0 = (S2)((S)0), p##i##_1 = p##i##_0, p##i##_2 = p##i##_0, p##i##_3 = p##i##_0;
#define JOIN_PAIRS(i, unused1, unused2) sum[i] = join(p##i##_0, p##i##_1, p##i##_2, p##i##_3);
  EACH_ROW(DECLARE_ZERO_PAIRS, 0, )
  const uint end = LOW(x) + k * SIZE;
  do {
    FOUR_K_OF_ROWS(NEXT_ROW, 0)
    MOVE(x, 4 * SIZE);
    MOVE(w, 4 * SIZE);
  } while (LOW(x) != end);
  EACH_ROW(JOIN_PAIRS, 0, )
  return;
#endif
#define HAND_OVER_ROW(i, unused1, unused2) HAND_OVER(i, 0, )
  EACH_ROW(HAND_OVER_ROW, 0, )
}
#endif

// ---- tiles ----

//@shared batch_matmul_tile
// What a work-item computes: rows from `row` on, and vectors of four columns, one every APART from
// `col` on. What it owns: all rows but the first ones, which belong to the tile above. Of a vector
// it owns the columns from `first` on that c has.
typedef struct {
  int row, above, col, first;
} Tile;

#define APART (4 * BMM_LX)

// Vectors that a tile may read even past the last of n, but not store. `last`: the last row at
// which a tile may start.
Tile tile_at(int own_row, int last) {
  const int col = (int)get_group_id(0) * (VECTORS * APART) + (int)get_local_id(0) * 4;
  const int row = min(own_row, last);
  const Tile tile = {row, own_row - row, col, 0};
  return tile;
}

// Four columns that end at the last of n; where n < 4, those past it are read, but not stored.
Tile tile_within(int own_row, int last, int n) {
  const int own_col = (int)get_global_id(0) * 4, col = max(min(own_col, n - 4), 0);
  const int row = min(own_row, last);
  const Tile tile = {row, own_row - row, col, own_col - col};
  return tile;
}
//@end

// The k that an item sums: all, or a part, which begins a trip of the loop.
typedef struct {
  int begin, products;
} Range;

Range own_range(int k) {
  const int trip = ACC == 1 ? CHUNK : 4, part = k / (trip * BMM_PARTS) * trip;
  const int at = BMM_PARTS > 1 ? (int)get_local_id(2) : 0;
  const Range range = {at * part, at < BMM_PARTS - 1 ? part : k - at * part};
  return range;
}

// ---- from the sum to the output ----

//@shared batch_matmul_output
// A batch item of c and of mask: its extents, its first elements, and whether every tile has
// vectors of its own, aligned.
typedef struct {
  int m, n, ldc, c_at, mask_at, whole;
  float scale;
} Output;

Output output_of(int item, int m, int n, int ldc, int stridem, int stridec, int offc, float scale) {
  const int whole = BMM_WHOLE || ((n | ldc | offc | stridec) & 3) == 0;
  const Output out = {m, n, ldc, offc + item * stridec, item * stridem, whole, scale};
  return out;
}
//@end

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

//@shared batch_matmul_finish
// Vector v of row i of the tile.
void finish_vector(float4 sum, int i, int v, Tile tile, Output out, __global const T* mask,
                   __global T* c) {
  const int row = tile.row + i, col = tile.col + v * APART;
  if (i < tile.above || row >= out.m || col >= out.n) return;
  const int first = tile.first, end = out.n - col;
  float4 addend = (float4)(0.0f);
  if (BMM_MASK) {
    addend = load_own((__global const char*)mask, (out.mask_at + row * out.n + col) * SIZE, first,
                      end, out.whole);
  }
  const float4 z = fma((float4)(out.scale), sum, addend);
  const float4 result = (float4)(BMM_ACT(z.x), BMM_ACT(z.y), BMM_ACT(z.z), BMM_ACT(z.w));
  store_own(result, (__global char*)c, (out.c_at + row * out.ldc + col) * SIZE, first, end, out.whole);
}
//@end

#define SUMS (ROWS * VECTORS)

#if BMM_PARTS == 1
#define PARTIAL_SIZE 1
#else
#define PARTIAL_SIZE (BMM_PARTS * SUMS * BMM_LX * BMM_LY)
#endif

// Sum i of the tile: finished, or, in parts, put where the others find it.
void take(float4 sum, int i, Tile tile, Output out, __global const T* mask, __global T* c,
          __local float4* partial) {
#if BMM_PARTS == 1
  finish_vector(sum, i / VECTORS, i % VECTORS, tile, out, mask, c);
#else
  const int lane = (int)get_local_id(1) * BMM_LX + (int)get_local_id(0);
  partial[((int)get_local_id(2) * SUMS + i) * BMM_LX * BMM_LY + lane] = sum;
#endif
}

// Items share out the sums of their tile; each adds those of all parts, in their order.
void finish_parts(Tile tile, Output out, __global const T* mask, __global T* c,
                  __local const float4* partial) {
#if BMM_PARTS > 1
  const int lane = (int)get_local_id(1) * BMM_LX + (int)get_local_id(0);
  const int lanes = BMM_LX * BMM_LY;
  // Every part's sums are there before any is read.
  barrier(CLK_LOCAL_MEM_FENCE);
  if (tile.first > 3) return;  // another item has these columns
  // As many trips for all: llvmpipe goes wrong where items leave such a loop one by one.
  for (int j = 0; j < SUMS; j += BMM_PARTS) {
    const int i = j + (int)get_local_id(2);
    if (i >= SUMS) continue;
    float4 sum = partial[i * lanes + lane];
    for (int part = 1; part < BMM_PARTS; ++part) sum += partial[(part * SUMS + i) * lanes + lane];
    finish_vector(sum, i / VECTORS, i % VECTORS, tile, out, mask, c);
  }
#endif
}

#define TAKE(i, v, unused) \
  take(sum[i * VECTORS + v], i * VECTORS + v, tile, out, mask, c, partial);

// All sums of a tile by scalar loads. From x on, rows are x_stride bytes apart and k x_step. From w
// on, vectors are w_apart, columns w_column and k w_step apart.
void sum_slowly(__global const char* x, uint x_stride, uint x_step, __global const char* w,
                uint w_apart, uint w_column, uint w_step, int pairs, int k, Tile tile, Output out,
                __global const T* mask, __global T* c, __local float4* partial) {
  for (int i = 0; i < SUMS; ++i) {
    float4 sum = (float4)(0.0f);
    for (int column = 0; column < 4; ++column) {
      const float one = sum_one(x + i / VECTORS * x_stride, x_step,
                                w + i % VECTORS * w_apart + column * w_column, w_step, pairs, k);
      sum = (float4)(sum.yzw, one);
    }
    take(sum, i, tile, out, mask, c, partial);
  }
}

// ---- the kernels ----

// The rows of a tile again. They are written so that a compiler does not keep the first ones in
// registers through the loop over k. The listings say where that pays. On a G610 nn takes 661
// instructions with it and 699 without. nt of whole rows takes 466 with it and 437 without.
void own_rows_again(Tile* tile, int own_row, int m) {
  tile->row = m - max(m - own_row, ROWS);
  tile->above = own_row - tile->row;
}

// The elements from a stack's start to the end of `rows` rows of `row` elements.
int reach(int at, int rows, int ld, int row) { return at + (rows - 1) * ld + row; }

#if VECTORS == 1
// One work-item a tile; a in rows along k, b in rows along k: both rows are read along k.
//@kernel batch_matmul_nt
//@arg    0  a        in   T[offa + batch*stridea]
//@arg    1  b        in   T[offb + batch*strideb]
//@arg    2  mask     in   T[m*n + (batch-1)*stridem]  null without BMM_MASK
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
//@global ceil(n/(4*BMM_LX))*BMM_LX ceil(m/(BMM_M0*BMM_LY))*BMM_LY batch*BMM_PARTS
//@local  BMM_LX BMM_LY BMM_PARTS
//@needs  m >= BMM_M0, n >= 1, BMM_N0 == 4
//@needs  b has at least 4 rows; those from n on are read and not used
//@needs  k >= 4*BMM_PARTS, k >= 32*BMM_PARTS*(BMM_PARTS>1)*(BMM_ACC==1)
//@needs  k % 4 == 0, lda % 4 == 0, stridea % 4 == 0, offa % 4 == 0
//@needs  ldb % 4 == 0, strideb % 4 == 0, offb % 4 == 0, c overlaps no input
//@needs  n % 4 == 0 || BMM_WHOLE == 0, ldc % 4 == 0 || BMM_WHOLE == 0
//@needs  stridec % 4 == 0 || BMM_WHOLE == 0, offc % 4 == 0 || BMM_WHOLE == 0
//@loop   floor(k/(4*BMM_PARTS))..k/4-floor(k/(4*BMM_PARTS))*(BMM_PARTS-1) if BMM_ACC!=1  over the k of a part
//@loop   floor(k/(32*BMM_PARTS))..floor(k/32)-floor(k/(32*BMM_PARTS))*(BMM_PARTS-1) if BMM_ACC==1  over the chunks of a part
//@loop   0..(k-floor(k/32)*32)/4 if BMM_ACC==1  over the k that are left, four a trip
//@loop   0*k if BMM_SPLIT*(BMM_M0*BMM_N0>4)  over the sums of a tile that lies across 4 GiB
//@loop   0*k if BMM_SPLIT  over the columns of such a sum
//@loop   0*k if BMM_SPLIT  over its chunks, or once
//@loop   0*k if BMM_SPLIT  over the k of a column
__kernel GROUP void batch_matmul_nt(__global const T* a, __global const T* b,
                                    __global const T* mask, __global T* c, int m, int n, int k,
                                    int lda, int ldb, int ldc, int stridea, int strideb,
                                    int stridem, int stridec, int offa, int offb, int offc,
                                    float scale) {
  __local float4 partial[PARTIAL_SIZE];
  const int own_row = (int)get_global_id(1) * ROWS, own_col = (int)get_global_id(0) * 4;
  if (BMM_PARTS == 1 && (own_row >= m || own_col >= n)) return;
  Tile tile = BMM_WHOLE ? tile_at(own_row, m - ROWS) : tile_within(own_row, m - ROWS, n);
  const int item = get_group_id(2);
  const Range range = own_range(k);
  const int a_row = BMM_LDA ? BMM_LDA : lda, b_row = BMM_LDB ? BMM_LDB : ldb;
  const int a_at = offa + item * stridea + tile.row * a_row + range.begin;
  const int col = BMM_PARTS == 1 ? tile.col : min(tile.col, (n - 1) / 4 * 4);
  const int b_at = offb + item * strideb + col * b_row + range.begin;
  // Not ||: that would be two branches to one place, and what is used there would be kept in
  // registers through the loop.
  if (ends_above(a, reach(a_at, ROWS, a_row, range.products) * SIZE) |
      ends_above(b, reach(b_at, 4, b_row, range.products) * SIZE)) {
    const Output out = output_of(item, m, n, ldc, stridem, stridec, offc, scale);
    sum_slowly((__global const char*)(a + a_at), a_row * SIZE, SIZE,
               (__global const char*)(b + b_at), 0, b_row * SIZE, SIZE, ACC != 0, range.products,
               tile, out, mask, c, partial);
  } else {
    float4 sum[SUMS];
    sum_rows(sum, ADDRESS(a, a_at * SIZE), a_row * SIZE, ADDRESS(b, b_at * SIZE), b_row * SIZE,
             range.products);
    if (!BMM_WHOLE) own_rows_again(&tile, own_row, m);
    const Output out = output_of(item, m, n, ldc, stridem, stridec, offc, scale);
    EACH_SUM(TAKE)
  }
  finish_parts(tile, output_of(item, m, n, ldc, stridem, stridec, offc, scale), mask, c, partial);
}
#endif

// One work-item a tile; a in rows along k, b in rows along n.
//@kernel batch_matmul_nn
//@arg    0  a        in   T[offa + batch*stridea]
//@arg    1  b        in   T[offb + batch*strideb]
//@arg    2  mask     in   T[m*n + (batch-1)*stridem]  null without BMM_MASK
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
//@global ceil(n/(BMM_N0*BMM_LX))*BMM_LX ceil(m/(BMM_M0*BMM_LY))*BMM_LY batch*BMM_PARTS
//@local  BMM_LX BMM_LY BMM_PARTS
//@needs  m >= BMM_M0, n >= 1, ldb >= ceil(n/4)*4, n % (8*BMM_LX) == 0 || BMM_N0 == 4
//@needs  every row of b has ceil(n/4)*4 columns; those from n on are read and not used
//@needs  k >= 4*BMM_PARTS, k >= 32*BMM_PARTS*(BMM_PARTS>1)*(BMM_ACC==1)
//@needs  k % 4 == 0, lda % 4 == 0, stridea % 4 == 0, offa % 4 == 0
//@needs  ldb % 4 == 0, strideb % 4 == 0, offb % 4 == 0, c overlaps no input
//@needs  n % 4 == 0 || BMM_WHOLE == 0, ldc % 4 == 0 || BMM_WHOLE == 0
//@needs  stridec % 4 == 0 || BMM_WHOLE == 0, offc % 4 == 0 || BMM_WHOLE == 0
//@loop   floor(k/(4*BMM_PARTS))..k/4-floor(k/(4*BMM_PARTS))*(BMM_PARTS-1) if BMM_ACC!=1  over the k of a part
//@loop   floor(k/(32*BMM_PARTS))..floor(k/32)-floor(k/(32*BMM_PARTS))*(BMM_PARTS-1) if BMM_ACC==1  over the chunks of a part
//@loop   0..(k-floor(k/32)*32)/4 if BMM_ACC==1  over the k that are left, four a trip
//@loop   0*k if BMM_SPLIT*(BMM_M0*BMM_N0>4)  over the sums of a tile that lies across 4 GiB
//@loop   0*k if BMM_SPLIT  over the columns of such a sum
//@loop   0*k if BMM_SPLIT  over its chunks, or once
//@loop   0*k if BMM_SPLIT  over the k of a column
__kernel GROUP void batch_matmul_nn(__global const T* a, __global const T* b,
                                    __global const T* mask, __global T* c, int m, int n, int k,
                                    int lda, int ldb, int ldc, int stridea, int strideb,
                                    int stridem, int stridec, int offa, int offb, int offc,
                                    float scale) {
  __local float4 partial[PARTIAL_SIZE];
  const int own_row = (int)get_global_id(1) * ROWS;
  Tile tile = tile_at(own_row, m - ROWS);
  // For chunks not as it is asked behind the loop: Mesa 25 would keep the answer through it.
  const int beyond = ACC == 1 ? n - tile.col <= 0 : tile.col >= n;
  if (BMM_PARTS == 1 && (own_row >= m || beyond)) return;
  const int item = get_group_id(2);
  const Range range = own_range(k);
  const int a_row = BMM_LDA ? BMM_LDA : lda, b_row = BMM_LDB ? BMM_LDB : ldb;
  const int a_at = offa + item * stridea + tile.row * a_row + range.begin;
  // Items beyond the last column read what another one reads.
  const int col = BMM_PARTS == 1 ? tile.col : min(tile.col, (n - 1) / 4 * 4);
  const int b_at = offb + item * strideb + range.begin * b_row + col;
  if (ends_above(a, reach(a_at, ROWS, a_row, range.products) * SIZE) |
      ends_above(b, reach(b_at, range.products, b_row, (VECTORS - 1) * APART + 4) * SIZE)) {
    const Output out = output_of(item, m, n, ldc, stridem, stridec, offc, scale);
    sum_slowly((__global const char*)(a + a_at), a_row * SIZE, SIZE,
               (__global const char*)(b + b_at), APART * SIZE, SIZE, b_row * SIZE, 0,
               range.products, tile, out, mask, c, partial);
  } else {
    float4 sum[SUMS];
    sum_columns(sum, ADDRESS(a, a_at * SIZE), a_row * SIZE, ADDRESS(b, b_at * SIZE), b_row * SIZE,
                APART * SIZE, range.products);
    own_rows_again(&tile, own_row, m);
    const Output out = output_of(item, m, n, ldc, stridem, stridec, offc, scale);
    EACH_SUM(TAKE)
  }
  finish_parts(tile, output_of(item, m, n, ldc, stridem, stridec, offc, scale), mask, c, partial);
}

// One work-item an output, by scalar loads: any stride, any offset, either order of a and b.
//@kernel batch_matmul_plain
//@arg    0  a        in   T[offa + batch*stridea]
//@layout a[offa + batch*stridea + m*a_m + k*a_k] = a[batch][m][k]
//@arg    1  b        in   T[offb + batch*strideb]
//@layout b[offb + batch*strideb + k*b_k + n*b_n] = b[batch][k][n]
//@arg    2  mask     in   T[m*n + (batch-1)*stridem]  null without BMM_MASK
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
//@global ceil(n/BMM_LX)*BMM_LX ceil(m/BMM_LY)*BMM_LY batch
//@local  BMM_LX BMM_LY 1
//@needs  m >= 1, n >= 1, k >= 1, c overlaps no input
//@loop   floor(k/32)+ceil((k-floor(k/32)*32)/4) if BMM_ACC==1  over the chunks
//@loop   0*k..min(k,32) if BMM_ACC==1  over the k of a chunk
//@loop   1*(k>0) if BMM_ACC!=1  once
//@loop   k if BMM_ACC!=1  over k
__kernel FLAT_GROUP void batch_matmul_plain(__global const T* a, __global const T* b,
                                            __global const T* mask, __global T* c, int m, int n,
                                            int k, int a_m, int a_k, int b_k, int b_n, int ldc,
                                            int stridea, int strideb, int stridem, int stridec,
                                            int offa, int offb, int offc, float scale) {
  const int row = get_global_id(1), col = get_global_id(0), item = get_global_id(2);
  if (row >= m || col >= n) return;
  const float sum =
      sum_one((__global const char*)(a + (offa + item * stridea + row * a_m)), a_k * SIZE,
              (__global const char*)(b + (offb + item * strideb + col * b_n)), b_k * SIZE, 0, k);
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
