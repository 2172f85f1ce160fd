// SPDX-License-Identifier: MIT
// attention_plain.cl - o = softmax(scale * q k^T + mask) v, head by head, one output a work-item
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). The tensors and
// what is computed are those of attention.cl; all sums are float.
//
//@define CLAM_F16    off                   store tensors as half
//@define ATT_TILES   4 {1,2,4}             queries of a group
//@define ATT_LANES   16 {4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64}  columns of a group
//@define ATT_PIECES  1                     pieces of ATT_LANES columns: groups that share queries
//@define ATT_SHARE   1                     heads of q that share one of k and v
//@define ATT_MASK    0 {0,1}               mask is added
//@define ATT_CAUSAL  0 {0,1}               query i sees keys 0 to i alone
//@define ATT_NATIVE  0 {0,1}               native_exp2 for exp2

//@shared options
#ifndef ATT_TILES
#define ATT_TILES 4
#endif
#if ATT_TILES != 1 && ATT_TILES != 2 && ATT_TILES != 4
#error "attention_plain.cl: ATT_TILES must be 1, 2 or 4"
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
#error "attention_plain.cl: ATT_LANES must be 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60 or 64"
#endif
#ifndef ATT_PIECES
#define ATT_PIECES 1
#endif
#ifndef ATT_SHARE
#define ATT_SHARE 1
#endif
#ifndef ATT_MASK
#define ATT_MASK 0
#endif
#if ATT_MASK != 0 && ATT_MASK != 1
#error "attention_plain.cl: ATT_MASK must be 0 or 1"
#endif
#ifndef ATT_CAUSAL
#define ATT_CAUSAL 0
#endif
#if ATT_CAUSAL != 0 && ATT_CAUSAL != 1
#error "attention_plain.cl: ATT_CAUSAL must be 0 or 1"
#endif
#ifndef ATT_NATIVE
#define ATT_NATIVE 0
#endif
#if ATT_NATIVE != 0 && ATT_NATIVE != 1
#error "attention_plain.cl: ATT_NATIVE must be 0 or 1"
#endif
//@end

#if ATT_PIECES < 1 || ATT_SHARE < 1
#error "attention_plain.cl: ATT_PIECES and ATT_SHARE must be at least 1"
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

#define GROUP __attribute__((reqd_work_group_size(ATT_TILES, ATT_LANES, 1)))
#define NATIVE ATT_NATIVE

//@shared exponent
#define LOG2_E 1.44269504f
#define LOWEST (-3.402823466e+38f)  // below every x but -inf; -inf - -inf would be NaN

#if NATIVE
#define EXP2 native_exp2
#else
#define EXP2 exp2
#endif
//@end

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

// ---- the kernel ----

// Any stride, any offset. All scores are computed twice for each of a query's columns.
//@kernel attention_plain
//@arg    0  q       in   T[offq + batch*strideq]
//@arg    1  k       in   T[offk + max(batch*stridek,-stridek)]
//@arg    2  v       in   T[offv + max(batch*stridev,-stridev)]
//@arg    3  mask    in   T[nq*nk + (heads-1)*maskh + (batch-1)*maskb]
//@arg    4  o       out  T[offo + batch*strideo]
//@arg    5  nq      int      queries
//@arg    6  nk      int      keys
//@arg    7  d       int      products of a score
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
//@global ceil(nq/ATT_TILES)*ATT_TILES ATT_LANES*heads batch*ATT_PIECES
//@local  ATT_TILES ATT_LANES 1
//@needs  nq >= 1, nk >= 1, d >= 1, dv >= 1, ATT_PIECES == ceil(dv/ATT_LANES), o overlaps no input
__kernel GROUP void attention_plain(__global const T* q, __global const T* k, __global const T* v,
                                    __global const T* mask, __global T* o, int nq, int nk, int d,
                                    int dv, int ldq, int ldk, int ldv, int ldo, int headq,
                                    int headk, int headv, int heado, int maskh, int strideq,
                                    int stridek, int stridev, int strideo, int maskb, int offq,
                                    int offk, int offv, int offo, float scale) {
  const int row = get_global_id(0), head = get_group_id(1), item = get_group_id(2) / ATT_PIECES;
  const int col = get_group_id(2) % ATT_PIECES * ATT_LANES + get_local_id(1);
  if (row >= nq || col >= dv) return;
  const Query one = {q + (offq + item * strideq + head * headq + row * ldq),
                     k + (offk + item * stridek + head / ATT_SHARE * headk),
                     v + (offv + item * stridev + head / ATT_SHARE * headv),
                     mask + (item * maskb + head * maskh + row * nk), ldk, ldv, d,
                     ATT_CAUSAL ? min(nk, row + 1) : nk, scale};
  o[offo + item * strideo + head * heado + row * ldo + col] = (T)attend_one(one, col);
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops attention_plain
//@loop   nk if ATT_CAUSAL==0  over the keys, for the maximum
//@loop   1*(nk>0)..nk if ATT_CAUSAL  over the keys, for the maximum
//@loop   d  over the products of a score
//@loop   nk if ATT_CAUSAL==0  over the keys again
//@loop   1*(nk>0)..nk if ATT_CAUSAL  over the keys again
//@loop   d  over the products of a score
