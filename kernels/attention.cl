// SPDX-License-Identifier: MIT
// attention.cl - o = softmax(scale * q k^T + mask) v, head by head, without the scores in memory
//
//   x_ij = scale * sum_c q[i,c] * k[j,c] + mask[i,j]      scores, for all keys j of a query i
//   o_i  = sum_j exp(x_ij - m) * v_j / sum_j exp(x_ij - m)   m = max_j x_ij
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Scores, maxima,
// weights exp(x - m) and their sums are float. ATT_ACC says how products are summed:
//
//   0  in one float per score and per output, by fma, in the order of c and of j
//   1  in half inside a chunk of 32 (of 4 behind the last whole one), the chunks in float; even and
//      odd c apart; a weight is rounded to half before it multiplies v
//
// x = -inf gives a weight of 0; a query of nothing but -inf gives zeros. A query with a score of
// +inf or NaN gives NaN, and no other does. A weight of 0 does not hide an infinity or NaN in v.
// With ATT_CAUSAL query i sees keys 0 to i alone. The maximum is subtracted before anything is
// multiplied: the shorter fma(x, log2(e), -m * log2(e)) has an error that grows with |m|.
//
// A work-item has a tile of ATT_ROWS queries. Its lane is a unit of four keys, and then a vector of
// four columns of v:
//
//        keys of a block             columns of v              A group: ATT_TILES tiles by ATT_LANES
//        lane 0 | lane 1 | ...       lane 0 | lane 1 | ...     lanes. For each block of 4 keys a
//      +--------+--------+---      +--------+--------+---      lane, scores; the group agrees on
//   q  | scores |        |       o |  sums  |        |         the maxima so far; weights go to
//      +--------+--------+---      +--------+--------+---      local memory; each lane adds up.
//
// Sums so far are rescaled whenever a maximum rises. A tile that would reach past the last
// query is moved back, so that it ends there. It stores only its own rows. The last block of
// several is moved back in the same way, by up to three keys. These keys then have the weight 0.
//
// With ATT_CUT there is one query. Each tile of a group has a part of the keys for it. In the end
// the sums of the parts are brought to one maximum and added, in order of the keys.
//
// Every tensor has a row stride (ld), a head stride, a batch stride and a first element (off), in
// elements. Every byte offset fits an int. So heads that are pieces of longer rows are read and
// written in place. Elements of o lie in distinct places. mask is dense. It has nq*nk elements for
// each batch item, or one for all: maskb = 0. The same holds for heads and maskh. It may be null
// without ATT_MASK. Buffers start on multiples of 16 bytes, as OpenCL's do. No output overlaps an
// input. attention_pad.cl copies what is not aligned, and attention_plain.cl needs neither that nor
// local memory.
//
//@define CLAM_F16    off                   store tensors as half
//@define ATT_ACC     0 {0,1}               sums in float, chunks
//@define ATT_ROWS    4 {1,2,4,6}           queries of a tile
//@define ATT_TILES   4 {1,2,4,8,16,32}     tiles of a group
//@define ATT_CUT     0 {0,1}               the tiles of a group are parts of the keys of one query
//@define ATT_LANES   16 {4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64}  work-items of a tile
//@define ATT_PIECES  1                     pieces of 4*ATT_LANES columns: groups that share a tile
//@define ATT_SHARE   1                     heads of q that share one of k and v
//@define ATT_SPLIT   0 {0,1}               addresses in two halves
//@define ATT_WHOLE   0 {0,1}               mask and o in aligned vectors of 4
//@define ATT_LDQ     0                     fixes ldq where it is not 0
//@define ATT_LDK     0                     fixes ldk where it is not 0
//@define ATT_LDV     0                     fixes ldv where it is not 0
//@define ATT_MASK    0 {0,1}               mask is added
//@define ATT_CAUSAL  0 {0,1}               query i sees keys 0 to i alone
//@define ATT_NATIVE  0 {0,1}               native_exp2 for exp2

//@shared options
#ifndef ATT_ACC
#define ATT_ACC 0
#endif
#if ATT_ACC != 0 && ATT_ACC != 1
#error "attention.cl: ATT_ACC must be 0 or 1"
#endif
#ifndef ATT_ROWS
#define ATT_ROWS 4
#endif
#if ATT_ROWS != 1 && ATT_ROWS != 2 && ATT_ROWS != 4 && \
    ATT_ROWS != 6
#error "attention.cl: ATT_ROWS must be 1, 2, 4 or 6"
#endif
#ifndef ATT_TILES
#define ATT_TILES 4
#endif
#if ATT_TILES < 1 || ATT_TILES > 32 || ATT_TILES & (ATT_TILES - 1)
#error "attention.cl: ATT_TILES must be a power of two from 1 to 32"
#endif
#ifndef ATT_CUT
#define ATT_CUT 0
#endif
#if ATT_CUT != 0 && ATT_CUT != 1
#error "attention.cl: ATT_CUT must be 0 or 1"
#endif
#ifndef ATT_LANES
#define ATT_LANES 16
#endif
#if ATT_LANES != 4 && ATT_LANES != 8 && ATT_LANES != 12 && \
    ATT_LANES != 16 && ATT_LANES != 20 && ATT_LANES != 24 && \
    ATT_LANES != 28 && ATT_LANES != 32 && ATT_LANES != 36 && \
    ATT_LANES != 40 && ATT_LANES != 44 && ATT_LANES != 48 && \
    ATT_LANES != 52 && ATT_LANES != 56 && ATT_LANES != 60 && \
    ATT_LANES != 64
#error "attention.cl: ATT_LANES must be 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60 or 64"
#endif
#ifndef ATT_PIECES
#define ATT_PIECES 1
#endif
#ifndef ATT_SHARE
#define ATT_SHARE 1
#endif
#ifndef ATT_SPLIT
#define ATT_SPLIT 0
#endif
#if ATT_SPLIT != 0 && ATT_SPLIT != 1
#error "attention.cl: ATT_SPLIT must be 0 or 1"
#endif
#ifndef ATT_WHOLE
#define ATT_WHOLE 0
#endif
#if ATT_WHOLE != 0 && ATT_WHOLE != 1
#error "attention.cl: ATT_WHOLE must be 0 or 1"
#endif
#ifndef ATT_LDQ
#define ATT_LDQ 0
#endif
#ifndef ATT_LDK
#define ATT_LDK 0
#endif
#ifndef ATT_LDV
#define ATT_LDV 0
#endif
#ifndef ATT_MASK
#define ATT_MASK 0
#endif
#if ATT_MASK != 0 && ATT_MASK != 1
#error "attention.cl: ATT_MASK must be 0 or 1"
#endif
#ifndef ATT_CAUSAL
#define ATT_CAUSAL 0
#endif
#if ATT_CAUSAL != 0 && ATT_CAUSAL != 1
#error "attention.cl: ATT_CAUSAL must be 0 or 1"
#endif
#ifndef ATT_NATIVE
#define ATT_NATIVE 0
#endif
#if ATT_NATIVE != 0 && ATT_NATIVE != 1
#error "attention.cl: ATT_NATIVE must be 0 or 1"
#endif
//@end

#if ATT_ROWS > ATT_LANES
#error "attention.cl: ATT_LANES must be at least ATT_ROWS: a lane agrees on the maximum of a row"
#endif
#if ATT_CUT && (ATT_ROWS != 1 || ATT_CAUSAL)
#error "attention.cl: ATT_CUT is for one query: ATT_ROWS must be 1 and ATT_CAUSAL 0"
#endif
#if ATT_PIECES < 1 || ATT_SHARE < 1
#error "attention.cl: ATT_PIECES and ATT_SHARE must be at least 1"
#endif
#if ATT_LDQ % 4 != 0 || ATT_LDK % 4 != 0 || ATT_LDV % 4 != 0
#error "attention.cl: ATT_LDQ, ATT_LDK and ATT_LDV must be multiples of 4, for aligned vector loads"
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

// The operations are those of the text: x - m must not become a part of one fma.
#pragma OPENCL FP_CONTRACT OFF

#define ROWS ATT_ROWS
#define TILES ATT_TILES
#define LANES ATT_LANES
#define ACC ATT_ACC
#define SPLIT ATT_SPLIT

#define NATIVE ATT_NATIVE
#define GROUP __attribute__((reqd_work_group_size(TILES, LANES, 1)))
#define UNROLL __attribute__((opencl_unroll_hint))

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

// Sums are variables of their own: arrays cost Mesa's compilers a fifth of a loop.
#if ROWS == 1
#define EACH_ROW(DO, a) DO(0, a)
#elif ROWS == 2
#define EACH_ROW(DO, a) DO(0, a) DO(1, a)
#elif ROWS == 4
#define EACH_ROW(DO, a) DO(0, a) DO(1, a) DO(2, a) DO(3, a)
#else
#define EACH_ROW(DO, a) DO(0, a) DO(1, a) DO(2, a) DO(3, a) DO(4, a) DO(5, a)
#endif

// A number for each row.
#if ROWS <= 4
typedef float4 Each;
#define EACH(number) (float4)(number)
#else
typedef float8 Each;
#define EACH(number) (float8)(number)
#endif

// ---- what is kept from one block of keys to the next ----

// Sums of weights and of weighted columns of v belong to one item. They lie in local memory, a
// vector of all items side by side. Registers do not hold them beside the scores' loop.
#define ITEMS (TILES * LANES)
#define OUTPUT(i) ((i) * ITEMS)
#define BLOCK (4 * LANES)  // keys of a block

// ---- scores: rows of q times four rows of k, both read along d ----

#define LOAD_Q(i, at) \
  const S4 q##i = load_t((__global const T4*)PLACE(q, i * q_row + (at) * SIZE));
#define LOAD_K(j, at) \
  const S4 k##j = load_t((__global const T4*)PLACE(k, j * k_row + (at) * SIZE));
#define FOUR_C(ROW, at)                                 \
  {                                                     \
    LOAD_K(0, at) LOAD_K(1, at) LOAD_K(2, at) LOAD_K(3, at) \
    EACH_ROW(ROW, at)                                   \
  }
#define DECLARE_SCORES(i, none_) float4 s##i = (float4)(0.0f);
#define HAND_OVER_SCORES(i, none_) s[i] = s##i;

#if ACC == 0
float add_row(float sum, S4 q, S4 k) {
  return fma(q.w, k.w, fma(q.z, k.z, fma(q.y, k.y, fma(q.x, k.x, sum))));
}
#define SCORE_ROW(i, at)               \
  {                                    \
    LOAD_Q(i, at)                      \
    s##i.x = add_row(s##i.x, q##i, k0); \
    s##i.y = add_row(s##i.y, q##i, k1); \
    s##i.z = add_row(s##i.z, q##i, k2); \
    s##i.w = add_row(s##i.w, q##i, k3); \
  }

// s[i]: row i of q, q_row bytes after the one before, times four rows of k, k_row bytes apart.
void score(float4* s, Address q, uint q_row, Address k, uint k_row, int d) {
  EACH_ROW(DECLARE_SCORES, )
  const uint end = LOW(k) + d * SIZE;
  do {
    FOUR_C(SCORE_ROW, 0)
    MOVE(q, 4 * SIZE);
    MOVE(k, 4 * SIZE);
  } while (LOW(k) != end);
  EACH_ROW(HAND_OVER_SCORES, )
}
#else
// c0_1 is the sum in a chunk of row 0 and key 1: of its even c and of its odd c.
typedef half2 S2;
S2 first_pair(S4 q, S4 k) { return fma(q.zw, k.zw, q.xy * k.xy); }
S2 add_pair(S2 sum, S4 q, S4 k) { return fma(q.zw, k.zw, fma(q.xy, k.xy, sum)); }
float4 join(S2 c0, S2 c1, S2 c2, S2 c3) {
  return (float4)((float)(c0.x + c0.y), (float)(c1.x + c1.y), (float)(c2.x + c2.y),
                  (float)(c3.x + c3.y));
}
#define DECLARE_PAIRS(i, none_) S2 c##i##_0, c##i##_1, c##i##_2, c##i##_3;
// The first product of a chunk is not added to a zero: Mesa 25 would then not multiply halves in
// pairs.
#define FIRST_SCORES(i, at)           \
  {                                   \
    LOAD_Q(i, at)                     \
    c##i##_0 = first_pair(q##i, k0);  \
    c##i##_1 = first_pair(q##i, k1);  \
    c##i##_2 = first_pair(q##i, k2);  \
    c##i##_3 = first_pair(q##i, k3);  \
  }
#define NEXT_SCORES(i, at)                     \
  {                                            \
    LOAD_Q(i, at)                              \
    c##i##_0 = add_pair(c##i##_0, q##i, k0);   \
    c##i##_1 = add_pair(c##i##_1, q##i, k1);   \
    c##i##_2 = add_pair(c##i##_2, q##i, k2);   \
    c##i##_3 = add_pair(c##i##_3, q##i, k3);   \
  }
#define END_CHUNK(i, none_) s##i += join(c##i##_0, c##i##_1, c##i##_2, c##i##_3);

// As above, d in chunks.
void score(float4* s, Address q, uint q_row, Address k, uint k_row, int d) {
  EACH_ROW(DECLARE_SCORES, )
  EACH_ROW(DECLARE_PAIRS, )
  const uint rest = LOW(k) + (uint)d / CHUNK * CHUNK * SIZE;
  if (LOW(k) != rest) {
    do {
      FOUR_C(FIRST_SCORES, 0)
      FOUR_C(NEXT_SCORES, 4)
      FOUR_C(NEXT_SCORES, 8)
      FOUR_C(NEXT_SCORES, 12)
      FOUR_C(NEXT_SCORES, 16)
      FOUR_C(NEXT_SCORES, 20)
      FOUR_C(NEXT_SCORES, 24)
      FOUR_C(NEXT_SCORES, 28)
      EACH_ROW(END_CHUNK, )
      MOVE(q, CHUNK * SIZE);
      MOVE(k, CHUNK * SIZE);
    } while (LOW(k) != rest);
  }
  if (d % CHUNK != 0) {
    const uint end = LOW(k) + (uint)d % CHUNK * SIZE;
    do {
      FOUR_C(FIRST_SCORES, 0)
      EACH_ROW(END_CHUNK, )
      MOVE(q, 4 * SIZE);
      MOVE(k, 4 * SIZE);
    } while (LOW(k) != end);
  }
  EACH_ROW(HAND_OVER_SCORES, )
}
#endif

// ---- outputs: weights, from local memory, times rows of v ----

// Weights of unit u, row i and tile t: tiles lie side by side, for they are read together.
#define UNIT (ROWS * TILES)
#define WEIGHTS(u, i, t) (((u) * ROWS + (i)) * TILES + (t))

#define LOAD_V(j, at) \
  const S4 v##j = load_t((__global const T4*)PLACE(v, ((at) * 4 + j) * v_row));
#define FOUR_KEYS(ROW, at)                              \
  {                                                     \
    LOAD_V(0, at) LOAD_V(1, at) LOAD_V(2, at) LOAD_V(3, at) \
    EACH_ROW(ROW, at)                                   \
  }
#define TAKE_OUTPUT(i, none_) float4 o##i = o[i * ITEMS] * down.s##i;
#define KEEP_OUTPUT(i, none_) o[i * ITEMS] = o##i;

#if ACC == 0
#define OUTPUT_ROW(i, at)                                       \
  {                                                             \
    const float4 w = weights[WEIGHTS(at, i, 0)];                \
    o##i = fma(w.xxxx, v0, o##i);                               \
    o##i = fma(w.yyyy, v1, o##i);                               \
    o##i = fma(w.zzzz, v2, o##i);                               \
    o##i = fma(w.wwww, v3, o##i);                               \
  }

// o[i] += weights of row i times v, rows v_row bytes apart, for `units` times four keys.
void add_values(__local float4* o, Each down, __local const S4* weights, Address v, uint v_row,
                uint units) {
  EACH_ROW(TAKE_OUTPUT, )
  const uint end = LOW(v) + units * 4 * v_row;
  do {
    FOUR_KEYS(OUTPUT_ROW, 0)
    MOVE(v, 4 * v_row);
    weights += UNIT;
  } while (LOW(v) != end);
  EACH_ROW(KEEP_OUTPUT, )
}
#else
#define DECLARE_CHUNK(i, none_) S4 c##i;
#define FIRST_OUTPUTS(i, at)                                    \
  {                                                             \
    const S4 w = weights[WEIGHTS(at, i, 0)];                    \
    c##i = w.xxxx * v0;                                         \
    c##i = fma(w.yyyy, v1, c##i);                               \
    c##i = fma(w.zzzz, v2, c##i);                               \
    c##i = fma(w.wwww, v3, c##i);                               \
  }
#define NEXT_OUTPUTS(i, at)                                     \
  {                                                             \
    const S4 w = weights[WEIGHTS(at, i, 0)];                    \
    c##i = fma(w.xxxx, v0, c##i);                               \
    c##i = fma(w.yyyy, v1, c##i);                               \
    c##i = fma(w.zzzz, v2, c##i);                               \
    c##i = fma(w.wwww, v3, c##i);                               \
  }
#define ADD_CHUNK(i, none_) o##i += widen(c##i);

// As above, keys in chunks.
void add_values(__local float4* o, Each down, __local const S4* weights, Address v, uint v_row,
                uint units) {
  EACH_ROW(TAKE_OUTPUT, )
  EACH_ROW(DECLARE_CHUNK, )
  const uint rest = LOW(v) + units / (CHUNK / 4) * CHUNK * v_row;
  const uint end = LOW(v) + units * 4 * v_row;
  if (LOW(v) != rest) {
    do {
      FOUR_KEYS(FIRST_OUTPUTS, 0)
      FOUR_KEYS(NEXT_OUTPUTS, 1)
      FOUR_KEYS(NEXT_OUTPUTS, 2)
      FOUR_KEYS(NEXT_OUTPUTS, 3)
      FOUR_KEYS(NEXT_OUTPUTS, 4)
      FOUR_KEYS(NEXT_OUTPUTS, 5)
      FOUR_KEYS(NEXT_OUTPUTS, 6)
      FOUR_KEYS(NEXT_OUTPUTS, 7)
      EACH_ROW(ADD_CHUNK, )
      MOVE(v, CHUNK * v_row);
      weights += CHUNK / 4 * UNIT;
    } while (LOW(v) != rest);
  }
  if (rest != end) {
    do {
      FOUR_KEYS(FIRST_OUTPUTS, 0)
      EACH_ROW(ADD_CHUNK, )
      MOVE(v, 4 * v_row);
      weights += UNIT;
    } while (LOW(v) != end);
  }
  EACH_ROW(KEEP_OUTPUT, )
}
#endif

// ---- what the lanes of a tile agree on ----

// A float each item and row. Row i of tile t has its lanes side by side.
#define PARTIALS (TILES * ROWS * LANES / 4)

#define PARTIAL(i, t) ((__local float*)partial)[((t) * ROWS + i) * LANES + lane]

float largest_of_lanes(__local const float4* partial, float most) {
  float4 found = partial[0];
  for (int i = 1; i < LANES / 4; ++i) found = fmax(found, partial[i]);
  return fmax(most, largest4(found));
}

float total_of_lanes(__local const float4* partial) {
  float4 sum = partial[0];
  for (int i = 1; i < LANES / 4; ++i) sum += partial[i];
  return total4(sum);
}

// ---- a block of keys ----

// Where a tile's queries and a block's keys are. Keys of the block are first to end - 1, and its
// units start at `start`, which may be up to three keys earlier. Those were counted before.
typedef struct {
  int query, start, first, end;
} Block;

int sees(Block at, int i, int key) {
  return key >= at.first && key < at.end && (!ATT_CAUSAL || key <= at.query + i);
}

// Four elements of a row of the mask, from `key` on; past the last key, the last one again.
float4 load_mask(__global const T* mask, uint row_at, int key, int nk) {
  __global const char* p = (__global const char*)mask;
  if (ATT_WHOLE) return load4(p, (row_at + key) * SIZE);
  return (float4)(load1(p, (row_at + min(key, nk - 1)) * SIZE),
                  load1(p, (row_at + min(key + 1, nk - 1)) * SIZE),
                  load1(p, (row_at + min(key + 2, nk - 1)) * SIZE),
                  load1(p, (row_at + min(key + 3, nk - 1)) * SIZE));
}

#define FINISH_ROW(i, none_)                                                                      \
  s[i] = ATT_MASK ? fma((float4)(scale), s[i], load_mask(mask, mask_at + i * nk, read_key, nk))   \
                  : scale * s[i];
#define HIDE_ROW(i, none_)                                            \
  s[i] = (float4)(sees(at, i, key) ? s[i].x : -INFINITY,              \
                  sees(at, i, key + 1) ? s[i].y : -INFINITY,          \
                  sees(at, i, key + 2) ? s[i].z : -INFINITY,          \
                  sees(at, i, key + 3) ? s[i].w : -INFINITY);

// From sums to scores; -inf where a query does not see a key. `read_key`: where the item's sums
// are from, which is `key` wherever it sees any.
void finish_scores(float4* s, Block at, int key, int read_key, __global const T* mask, uint mask_at,
                   int nk, float scale) {
  EACH_ROW(FINISH_ROW, )
  const int all = at.start == at.first && at.start + 4 * LANES <= at.end &&
                  (!ATT_CAUSAL || at.start + 4 * LANES <= at.query + 1);
  if (all) return;
  EACH_ROW(HIDE_ROW, )
}

// What the items of a tile share, for each of its rows: the maxima so far, and the factors of the
// sums of earlier blocks.
typedef struct {
  Each most[TILES], down[TILES];
} Maxima;

#define PUT_LARGEST(i, tile) PARTIAL(i, tile) = largest4(s[i]);

// The first lanes of a tile have a row each. All items of the group must call it.
void agree(const float4* s, int tile, int lane, __local float4* partial, __local Maxima* maxima) {
  EACH_ROW(PUT_LARGEST, tile)
  barrier(CLK_LOCAL_MEM_FENCE);  // every lane's maxima are there
  if (lane < ROWS) {
    __local float *most = (__local float*)&maxima->most[tile] + lane;
    const float before = *most;
    const float now = largest_of_lanes(partial + (tile * ROWS + lane) * (LANES / 4), before);
    *most = now;
    ((__local float*)&maxima->down[tile])[lane] = EXP2((before - now) * LOG2_E);
  }
  // The maxima are there, and the weights of the block before are used.
  barrier(CLK_LOCAL_MEM_FENCE);
}

#define WEIGH_ROW(i, none_)                                                  \
  {                                                                          \
    const float4 w = EXP2((s[i] - most->s##i) * LOG2_E);                     \
    own->s##i = own->s##i * down->s##i + total4(w);                          \
    weights[WEIGHTS(lane, i, tile)] = (S4)((S)w.x, (S)w.y, (S)w.z, (S)w.w);  \
  }

// From scores to weights in local memory. All items of the group must call it.
void weigh(const float4* s, __local const Each* most, __local const Each* down, int tile, int lane,
           __local Each* own, __local S4* weights) {
  EACH_ROW(WEIGH_ROW, )
  barrier(CLK_LOCAL_MEM_FENCE);  // every lane's weights are there
}

#define PUT_TOTAL(i, tile) PARTIAL(i, tile) = own.s##i;
#define TOTAL_OF_ROW(i, none_) \
  total.s##i = total_of_lanes(partial + (tile * ROWS + i) * (LANES / 4));

// The sums of weights over all lanes. All items of the group must call it.
Each share_total(Each own, int tile, int lane, __local float4* partial) {
  EACH_ROW(PUT_TOTAL, tile)
  barrier(CLK_LOCAL_MEM_FENCE);  // every lane's sums are there
  Each total = EACH(0.0f);
  EACH_ROW(TOTAL_OF_ROW, )
  return total;
}

//@shared attention_one
// ---- slowly: one query by scalar loads, any strides ----

// What a sum of weights divides by: a query that sees no key has zeros.
float divisor(float total) { return total == 0.0f ? 0.0f : 1.0f / total; }

// First elements of a query's rows and of its head's.
typedef struct {
  __global const T *q, *k, *v, *mask;
  int ldk, ldv, d, keys;
  float scale;
} Query;

float score_one(Query query, int key) {
  __global const T* k = query.k + (uint)(key * query.ldk);
  float sum = 0.0f;
  for (int c = 0; c < query.d; ++c) sum = fma((float)query.q[c], (float)k[c], sum);
  return ATT_MASK ? fma(query.scale, sum, (float)query.mask[key]) : query.scale * sum;
}

// A column of the query's output: all scores for the maximum, and once more for the sums.
float attend_one(Query query, int column) {
  float most = LOWEST;
  for (int key = 0; key < query.keys; ++key) most = fmax(most, score_one(query, key));
  float total = 0.0f, sum = 0.0f;
  for (int key = 0; key < query.keys; ++key) {
    const float w = EXP2((score_one(query, key) - most) * LOG2_E);
    total += w;
    sum = fma(w, (float)query.v[(uint)(key * query.ldv + column)], sum);
  }
  return sum * divisor(total);
}
//@end

// ---- the output ----

// Four columns of a row of o, `own` of which there are.
void store_row(float4 v, __global T* o, uint at, int own) {
  __global char* p = (__global char*)o;
#if ATT_WHOLE
  if (own > 0) store4(v, p, at);
#else
  if (own > 0) store1(v.x, p, at);
  if (own > 1) store1(v.y, p, at + SIZE);
  if (own > 2) store1(v.z, p, at + 2 * SIZE);
  if (own > 3) store1(v.w, p, at + 3 * SIZE);
#endif
}

// The elements from a tensor's start to the end of a head's rows.
uint reach(int at, int rows, int ld, int row) { return at + (rows - 1) * ld + row; }

// In another order of the items than their sums are read in, for the sake of registers: see where
// `starts` is written.
#define CLEAR_ROW(i, none_) sums[OUTPUT(i) + tile * LANES + lane] = (float4)(0.0f);
#define STORE_ROW(i, none_)                                                              \
  if (i >= out.above) {                                                                  \
    store_row(own[OUTPUT(i)] * divisor(total.s##i), o, (out.at + i * ldo) * SIZE, out.columns); \
  }

// Where an item's outputs go: its first element of o, the tile's first query, and the columns of o
// from its first on. Also how many of its rows the tile before stores. And which item of the group
// it is: lane * TILES + tile.
typedef struct {
  uint at;
  int query, columns;
  ushort above, item;
} Output;

// The item's lane and tile.
#define LANE(output) ((output).item / TILES)
#define TILE(output) ((output).item % TILES)

// ---- the parts of the keys ----

#if ATT_CUT
// Brings the sums of all parts to one maximum, adds them, and stores: the first tile alone has a
// row to store. sums and totals are those of the item's lane.
void store_parts(__local const float4* sums, __local const Each* totals,
                 __local const Maxima* maxima, __global T* o, Output out) {
  float most = maxima->most[0].s0, total = 0.0f;
  UNROLL for (int part = 1; part < TILES; ++part) most = fmax(most, maxima->most[part].s0);
  float4 sum = (float4)(0.0f);
  UNROLL for (int part = 0; part < TILES; ++part) {
    const float down = EXP2((maxima->most[part].s0 - most) * LOG2_E);
    sum += sums[part] * down;
    total += totals[part].s0 * down;
  }
  if (out.above == 0) store_row(sum * divisor(total), o, out.at * SIZE, out.columns);
}
#endif

// ---- the kernel ----

// One group TILES tiles of a head, or the parts of one, and, of o, a piece of 4*ATT_LANES columns.
//@kernel attention_online
//@arg    0  q       in   T[offq + batch*strideq]
//@arg    1  k       in   T[offk + max(batch*stridek,-stridek)]
//@arg    2  v       in   T[offv + max(batch*stridev,-stridev)]
//@arg    3  mask    in   T[nq*nk + (heads-1)*maskh + (batch-1)*maskb]
//@arg    4  o       out  T[offo + batch*strideo]
//@arg    5  nq      int      queries
//@arg    6  nk      int      keys
//@arg    7  d       int      products of a score, the zeros that fill up q and k included
//@arg    8  dv      int      columns of v and o
//@arg    9  ldq     int
//@arg    10 ldk     int
//@arg    11 ldv     int
//@arg    12 ldo     int
//@arg    13 headq   int
//@arg    14 headk   int
//@arg    15 headv   int
//@arg    16 heado   int
//@arg    17 maskh   int      from a head's mask to the next one's: nq*nk, or 0: one for all heads
//@arg    18 strideq int
//@arg    19 stridek int      under 0: batch items from the last to the first
//@arg    20 stridev int      as stridek
//@arg    21 strideo int
//@arg    22 maskb   int      from a batch item's mask to the next one's, or 0: one for all
//@arg    23 offq    int
//@arg    24 offk    int
//@arg    25 offv    int
//@arg    26 offo    int
//@arg    27 scale   float    factor of the products' sum
//@null   mask if ATT_MASK==0
//@global ceil(nq/(ATT_ROWS*ATT_TILES))*ATT_TILES ATT_LANES*heads batch*ATT_PIECES
//@local  ATT_TILES ATT_LANES 1
//@needs  nq == 1 || ATT_CUT == 0
//@needs  nq >= ATT_ROWS, nk >= 1, d >= 4, d % 4 == 0, dv >= 1, ATT_PIECES == ceil(dv/(4*ATT_LANES))
//@needs  k and v have ceil(nk/4)*4 rows where nk is under 4*ATT_LANES; those from nk on are read and
//@needs  weigh 0: v must be finite there
//@needs  every row of v has ceil(dv/4)*4 columns; those from dv on are read and not used
//@needs  ldq % 4 == 0, headq % 4 == 0, strideq % 4 == 0, offq % 4 == 0
//@needs  ldk % 4 == 0, headk % 4 == 0, stridek % 4 == 0, offk % 4 == 0
//@needs  ldv % 4 == 0, headv % 4 == 0, stridev % 4 == 0, offv % 4 == 0
//@needs  nk % 4 == 0 || ATT_WHOLE*ATT_MASK == 0, dv % 4 == 0 || ATT_WHOLE == 0, ldo % 4 == 0 || ATT_WHOLE == 0
//@needs  heado % 4 == 0 || ATT_WHOLE == 0, strideo % 4 == 0 || ATT_WHOLE == 0, offo % 4 == 0 || ATT_WHOLE == 0
//@needs  o overlaps no input
__kernel GROUP void attention_online(__global const T* q, __global const T* k, __global const T* v,
                                     __global const T* mask, __global T* o, int nq, int nk, int d,
                                     int dv, int ldq, int ldk, int ldv, int ldo, int headq,
                                     int headk, int headv, int heado, int maskh, int strideq,
                                     int stridek, int stridev, int strideo, int maskb, int offq,
                                     int offk, int offv, int offo, float scale) {
  __local float4 partial[PARTIALS];
  __local S4 weights[LANES * UNIT];
  __local Each totals[ITEMS];
  __local float4 sums[ROWS * ITEMS];
  __local Maxima maxima;
  __local uint4 starts[ITEMS];
  __local Output outputs[ITEMS];
  const int tile = get_local_id(0), lane = get_local_id(1);
  const int head = get_group_id(1), item = get_group_id(2) / ATT_PIECES;
  const int own_query = (int)get_global_id(0) * ROWS, query = min(own_query, nq - ROWS);
  const int col = (get_group_id(2) % ATT_PIECES * LANES + lane) * 4;
  const int q_head = offq + item * strideq + head * headq;
  const int k_head = offk + item * stridek + head / ATT_SHARE * headk;
  const int v_head = offv + item * stridev + head / ATT_SHARE * headv;
  const int o_head = offo + item * strideo + head * heado, mask_head = item * maskb + head * maskh;
  const uint q_row = ATT_LDQ ? ATT_LDQ : ldq, k_row = ATT_LDK ? ATT_LDK : ldk;
  const uint v_row = ATT_LDV ? ATT_LDV : ldv;
  if (ends_above(q, reach(q_head, nq, q_row, d) * SIZE) |
      ends_above(k, reach(k_head, (nk + 3) / 4 * 4, k_row, d) * SIZE) |
      ends_above(v, reach(v_head, (nk + 3) / 4 * 4, v_row, dv) * SIZE)) {
    for (int i = own_query - query; i < ROWS; ++i) {
      const Query one = {q + (q_head + (query + i) * q_row), k + k_head, v + v_head,
                         mask + (mask_head + (query + i) * nk), k_row, v_row, d,
                         ATT_CAUSAL ? min(nk, query + i + 1) : nk, scale};
      __global T* to = o + (o_head + (query + i) * ldo);
      for (int c = col; c < min(col + 4, dv); ++c) to[c] = (T)attend_one(one, c);
    }
    return;
  }
  // What registers do not hold beside the scores' loop waits in local memory. An address with the
  // same text in and outside the loop over blocks takes a register all the time. So it has `|` here,
  // `+` there and `^` behind it. Behind the scores' loop an item reads again which one it is.
  starts[lane * TILES | tile] =
      (uint4)(q_head + query * q_row, k_head, v_head + min(col, (dv - 1) / 4 * 4),
              mask_head + query * nk);
  const Output output = {o_head + query * ldo + col, query, dv - col, own_query - query,
                         lane * TILES + tile};
  outputs[lane * TILES | tile] = output;
  // Keys that any query of the group sees, in whole units.
  const int seen = ((int)get_group_id(0) + 1) * (TILES * ROWS) + 3;
  const int keys = ATT_CAUSAL ? min(nk, seen / 4 * 4) : nk;
  if (lane == 0) {
    maxima.most[tile] = EACH(LOWEST);
    maxima.down[tile] = EACH(0.0f);
  }
  totals[tile * LANES + lane] = EACH(0.0f);
  EACH_ROW(CLEAR_ROW, )
  // Of the item's tile: whole blocks, as many for each part. Those behind the last key are empty.
  const int part =
      ATT_CUT ? (uint)(keys + BLOCK * TILES - 1) / (BLOCK * TILES) * BLOCK : keys;
  int block = 0;
  do {
    const int first = ATT_CUT ? tile * part + block : block;
    const int end = min(first + BLOCK, keys);
    const int units = (uint)(ATT_CUT ? max(end - first + 3, 4) : end - first + 3) / 4;
    const int begin = max(end - 4 * units, 0), read_key = begin + 4 * min(lane, units - 1);
    __local const uint4* start = starts + (lane * TILES + tile);
    float4 s[ROWS];
    score(s, ADDRESS(q, start->x * SIZE), q_row * SIZE,
          ADDRESS(k, (start->y + read_key * k_row) * SIZE), k_row * SIZE, d);
    const Output out = outputs[lane * TILES + tile];
    const Block at = {out.query, begin, first, end};
    finish_scores(s, at, begin + 4 * LANE(out), read_key, mask, start->w, nk, scale);
    agree(s, TILE(out), LANE(out), partial, &maxima);
    weigh(s, maxima.most + TILE(out), maxima.down + TILE(out), TILE(out), LANE(out),
          totals + out.item, weights);
    add_values(sums + out.item + OUTPUT(0), maxima.down[TILE(out)], weights + TILE(out),
               ADDRESS(v, (start->z + at.start * v_row) * SIZE), v_row * SIZE, units);
    block += BLOCK;
  } while (block < part);
  const Output out = outputs[lane * TILES ^ tile];
  __local const float4* own = sums + out.item;
  const Each total = share_total(totals[out.item], TILE(out), LANE(out), partial);
#if ATT_CUT
  totals[out.item] = total;
  barrier(CLK_LOCAL_MEM_FENCE);  // every part's sums are there
  store_parts(own - TILE(out), totals + (out.item - TILE(out)), &maxima, o, out);
#else
  EACH_ROW(STORE_ROW, )
#endif
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops attention_online
//@loop   ceil(nk/(4*ATT_LANES*(1+ATT_CUT*(ATT_TILES-1)))) if ATT_CAUSAL==0  over blocks of keys
//@loop   1*(nk>0)..ceil(nk/(4*ATT_LANES*(1+ATT_CUT*(ATT_TILES-1)))) if ATT_CAUSAL  over blocks of keys
//@loop   d/4 if ATT_ACC==0  over the products of a score, four a trip
//@loop   floor(d/32) if ATT_ACC==1  over the chunks of a score
//@loop   (d-floor(d/32)*32)/4 if ATT_ACC==1  over the products that are left, four a trip
//@loop   ATT_LANES/4-1  over the maxima of the other lanes
//@loop   ceil(nk/4)/ceil(nk/(4*ATT_LANES)) if ATT_ACC==0  over the units of a block
//@loop   floor(nk/32/ceil(nk/(4*ATT_LANES)))..ceil(ATT_LANES/8)*(nk>0) if ATT_ACC==1  over the chunks of a block
//@loop   0*nk..min(7,ATT_LANES-floor(ATT_LANES/8)*8+ceil(nk/4)-floor(nk/32)*8) if ATT_ACC==1  over the units that are left
//@loop   ATT_LANES/4-1  over the sums of the other lanes
//@loop   0*nk if ATT_SPLIT  over the rows of a tile whose head lies across 4 GiB
//@loop   0*nk if ATT_SPLIT  over its columns
//@loop   0*nk if ATT_SPLIT  over the keys, for the maximum
//@loop   0*nk if ATT_SPLIT  over the products of a score
//@loop   0*nk if ATT_SPLIT  over the keys again
//@loop   0*nk if ATT_SPLIT  over the products of a score
