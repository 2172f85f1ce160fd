// SPDX-License-Identifier: MIT
// conv2d_1x1.cl - y[n,k,p] = act(sum_c w[k,c] * x[n,c,p] + b[k]) + r[n,k,p], p a pixel of a map
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Sums in the
// order of c. With CONV2D_PARTS each of so many ranges of c has a sum, and these are added in their
// order, in float. What follows the sum is float too. CONV2D_ACC says how sums are kept:
//
//   0  in one float per output, by fma
//   1  in half inside a chunk of 32 c; behind the last whole one in chunks of 4 c, and of 1; the
//      chunks in float
//   2  in half
//
// All tensors are dense and start on multiples of 16 bytes; every byte offset into them fits an
// int. An absent b counts as zeros, and an absent r is not added; both may then be null. y may be
// r, element on element; else no output overlaps an input.
//
// A work-item computes a tile of 4 channels x CONV2D_VECTORS vectors of 4 pixels, which lie
// CONV2D_LX vectors apart, so that neighbours read neighbours. A tile that would hang over the end
// of the map is moved left by CONV2D_LX vectors, and stores only its last vector.
//
//   pixels   0..3   4..7  ...  60..63 | 64..67  ...       CONV2D_LX = 16, CONV2D_VECTORS = 2
//   item     0      1     ...  15     | 0       ...
//
// With CONV2D_SPLIT, a work-item whose bytes lie on both sides of a multiple of 4 GiB reads them
// one by one, in the same order.
//
//@define CLAM_F16         off                           store tensors as half
//@define CONV2D_ACC       0 {0,1,2}                     sums in float, chunks, half
//@define CONV2D_LX        16 {1,2,4,8,16}               work-items of a group along the map
//@define CONV2D_LY        4 {1,2,4,8,16,32,64,128,256}  work-items of a group along k
//@define CONV2D_PARTS     1 {1,16}                      work-items that share the sums of a tile
//@define CONV2D_VECTORS   1 {1,2}                       vectors of 4 pixels in a tile
//@define CONV2D_REST      1 {0,1}                       c need not be whole trips of 8, 32 or 16
//@define CONV2D_SPLIT     0 {0,1}                       addresses in two halves
//@define CONV2D_BIAS      0 {0,1}                       b is added
//@define CONV2D_RESIDUAL  0 {0,1}                       r is added
//@define CONV2D_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp}  activation

#ifndef CONV2D_ACC
#define CONV2D_ACC 0
#endif
#ifndef CONV2D_LX
#define CONV2D_LX 16
#endif
#ifndef CONV2D_LY
#define CONV2D_LY 4
#endif
#ifndef CONV2D_PARTS
#define CONV2D_PARTS 1
#endif
#ifndef CONV2D_VECTORS
#define CONV2D_VECTORS 1
#endif
#ifndef CONV2D_REST
#define CONV2D_REST 1
#endif
#ifndef CONV2D_SPLIT
#define CONV2D_SPLIT 0
#endif
#ifndef CONV2D_BIAS
#define CONV2D_BIAS 0
#endif
#ifndef CONV2D_RESIDUAL
#define CONV2D_RESIDUAL 0
#endif
#ifndef CONV2D_ACT
#define CONV2D_ACT none
#endif

#if CONV2D_ACC < 0 || CONV2D_ACC > 2
#error "conv2d_1x1.cl: CONV2D_ACC must be 0, 1 or 2"
#endif
#if CONV2D_ACC != 0 && !defined(CLAM_F16)
#error "conv2d_1x1.cl: CONV2D_ACC 1 and 2 sum in half, and need CLAM_F16"
#endif
#if CONV2D_LX < 1 || CONV2D_LX > 16 || CONV2D_LX & (CONV2D_LX - 1)
#error "conv2d_1x1.cl: CONV2D_LX must be a power of two up to 16"
#endif
#if CONV2D_LY < 1 || CONV2D_LY > 256 || CONV2D_LY & (CONV2D_LY - 1)
#error "conv2d_1x1.cl: CONV2D_LY must be a power of two up to 256"
#endif
#if CONV2D_PARTS != 1 && CONV2D_PARTS != 16
#error "conv2d_1x1.cl: CONV2D_PARTS must be 1 or 16"
#endif
#if CONV2D_VECTORS != 1 && CONV2D_VECTORS != 2
#error "conv2d_1x1.cl: CONV2D_VECTORS must be 1 or 2"
#endif
#if CONV2D_PARTS > 1 && CONV2D_VECTORS > 1
#error "conv2d_1x1.cl: tiles of one vector only are summed in parts"
#endif
#if CONV2D_PARTS > 1 && !CONV2D_REST
#error "conv2d_1x1.cl: parts are no whole trips: they need CONV2D_REST"
#endif
#if CONV2D_PARTS > 1 && CONV2D_LX * CONV2D_LY > 16
#error "conv2d_1x1.cl: CONV2D_LX * CONV2D_LY must be up to 16 where sums are in parts"
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

#define SIZE ((uint)sizeof(T))
#define ACC CONV2D_ACC
#define SPLIT CONV2D_SPLIT
#define GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, CONV2D_PARTS)))
#define FLAT_GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, 1)))

// ---- activations: CONV2D_ACT is the name of one of these, or of a built-in ----

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

#define WEIGHT_STEP (4 * CONV2D_LY * (uint)sizeof(S))
#define VECTOR_STEP (CONV2D_LX * 4 * SIZE)

// Sums are variables of their own: arrays cost Mesa's compilers a fifth of the loop. t0_1 is that
// of channel 0 and vector 1 of pixels, and c0_1 what a loop carries of it.
#define EACH_CHANNEL(DO, v) DO(0, x, v) DO(1, y, v) DO(2, z, v) DO(3, w, v)
#if CONV2D_VECTORS == 1
#define EACH_VECTOR(DO, a) DO(0, a)
#define EACH_SUM(DO) EACH_CHANNEL(DO, 0)
#else
#define EACH_VECTOR(DO, a) DO(0, a) DO(1, a)
#define EACH_SUM(DO) EACH_CHANNEL(DO, 0) EACH_CHANNEL(DO, 1)
#endif

// What a trip of a loop begins and ends with. With ACC 2 halves are carried from trip to trip as
// words. Else Mesa 25 carries them one by one, and no longer multiplies in pairs.
#if ACC == 0
#define DECLARE(i, of, v) S4 t##i##_##v = (S4)(0.0f);
#define BEGIN(i, of, v)
#define END(i, of, v)
#define HAND_OVER(i, of, v) sum[i + 4 * v] = t##i##_##v;
#elif ACC == 1
#define DECLARE(i, of, v) float4 c##i##_##v = (float4)(0.0f);
#define BEGIN(i, of, v) S4 t##i##_##v;
#define END(i, of, v) c##i##_##v += widen(t##i##_##v);
#define HAND_OVER(i, of, v) sum[i + 4 * v] = c##i##_##v;
#else
#define DECLARE(i, of, v) uint2 c##i##_##v = (uint2)(0);
#define BEGIN(i, of, v) S4 t##i##_##v = as_half4(c##i##_##v);
#define END(i, of, v) c##i##_##v = as_uint2(t##i##_##v);
#define HAND_OVER(i, of, v) sum[i + 4 * v] = widen(as_half4(c##i##_##v));
#endif

// The first product of a chunk is not added to a zero: Mesa 25 would then not multiply halves in
// pairs.
#define NEXT(i, of, v) t##i##_##v = fma((S4)(weights.of), x##v, t##i##_##v);
#if ACC == 1
#define FIRST(i, of, v) t##i##_##v = (S4)(weights.of) * x##v;
#else
#define FIRST NEXT
#endif
#define WITH_X(v, ADD)                                                     \
  {                                                                        \
    const S4 x##v = load_t((__global const T4*)PLACE(x, v * VECTOR_STEP)); \
    EACH_CHANNEL(ADD, v)                                                   \
  }
#define ONE_C(ADD, c_at)                                                    \
  {                                                                         \
    const S4 weights = *(__global const S4*)PLACE(w, (c_at) * WEIGHT_STEP); \
    EACH_VECTOR(WITH_X, ADD)                                                \
    MOVE(x, plane);                                                         \
  }
#define FOUR_C(ADD, c_at) \
  ONE_C(ADD, c_at) ONE_C(NEXT, c_at + 1) ONE_C(NEXT, c_at + 2) ONE_C(NEXT, c_at + 3)

#if ACC == 0
#define TRIP 8
#define ALL_C FOUR_C(FIRST, 0) FOUR_C(NEXT, 4)
#elif ACC == 1
#define TRIP CHUNK
#define ALL_C                                                       \
  FOUR_C(FIRST, 0) FOUR_C(NEXT, 4) FOUR_C(NEXT, 8) FOUR_C(NEXT, 12) \
  FOUR_C(NEXT, 16) FOUR_C(NEXT, 20) FOUR_C(NEXT, 24) FOUR_C(NEXT, 28)
#else
#define TRIP 16
#define ALL_C FOUR_C(FIRST, 0) FOUR_C(NEXT, 4) FOUR_C(NEXT, 8) FOUR_C(NEXT, 12)
#endif

#define TRIPS(DO, step, end)       \
  if (LOW(x) != end) {             \
    do {                           \
      EACH_SUM(BEGIN)              \
      DO                           \
      EACH_SUM(END)                \
      MOVE(w, step * WEIGHT_STEP); \
    } while (LOW(x) != end);       \
  }

// `plane`: bytes from a channel of x to the next.
void sum_channels(float4* sum, Address x, uint plane, Address w, int channels) {
  EACH_SUM(DECLARE)
  const uint end_trips = LOW(x) + channels / TRIP * TRIP * plane;
  TRIPS(ALL_C, TRIP, end_trips)
#if CONV2D_REST
  const uint end4 = end_trips + channels % TRIP / 4 * 4 * plane;
  TRIPS(FOUR_C(FIRST, 0), 4, end4)
  const uint end = end4 + channels % 4 * plane;
  TRIPS(ONE_C(FIRST, 0), 1, end)
#endif
  EACH_SUM(HAND_OVER)
}

// One output's sum by scalar loads.
float sum_one(__global const char* x, uint plane, __global const char* w, int channels) {
  float total = 0.0f;
  while (channels > 0) {
    const int few = channels < 4 ? 1 : 4;
    const int products = ACC != 1 ? channels : (channels < CHUNK ? few : CHUNK);
    S t = (S)0;
    for (int i = 0; i < products; ++i) {
      t = fma((S)*(__global const T*)x, *(__global const S*)w, t);
      x += plane;
      w += WEIGHT_STEP;
    }
    total += (float)t;
    channels -= products;
  }
  return total;
}

// ---- from the sum to the output ----

// The loops leave two registers. One is the element of y that is first in the tile. The other is
// twice the first of its channels, plus one if its first vector of pixels belongs to another tile.
typedef struct {
  int at, channel;
} Tile;

// Vector i of the tile: that of channel i % 4, and i / 4 along the pixels.
void finish_vector(float4 sum, int i, Tile tile, int hw, int k, __global const T* b,
                   __global const T* r, __global T* y) {
  const int channel = (tile.channel >> 1) + i % 4;
  if (channel >= k) return;
  const float4 z = sum + (float4)(CONV2D_BIAS ? (float)b[channel] : 0.0f);
  const uint at = (tile.at + i % 4 * hw + i / 4 * 4 * CONV2D_LX) * SIZE;
  float4 v = (float4)(CONV2D_ACT(z.x), CONV2D_ACT(z.y), CONV2D_ACT(z.z), CONV2D_ACT(z.w));
  if (CONV2D_RESIDUAL) v += load4((__global const char*)r, at);
  store4(v, (__global char*)y, at);
}

#if CONV2D_PARTS == 1
#define PARTIAL_SIZE 1
#else
#define PARTIAL_SIZE (CONV2D_PARTS * 4 * CONV2D_LX * CONV2D_LY)
#endif

// Sum i of the tile: finished, or, in parts, put where the others find it.
void take(float4 sum, int i, Tile tile, int hw, int k, __global const T* b, __global const T* r,
          __global T* y, __local float4* partial) {
#if CONV2D_PARTS == 1
  if (i < 4 && (tile.channel & 1)) return;
  finish_vector(sum, i, tile, hw, k, b, r, y);
#else
  const int lane = (int)get_local_id(1) * CONV2D_LX + (int)get_local_id(0);
  partial[((int)get_local_id(2) * 4 + i) * CONV2D_LX * CONV2D_LY + lane] = sum;
#endif
}

#define TAKE(i, of, v) take(sum[i + 4 * v], i + 4 * v, tile, hw, k, b, r, y, partial);

// All sums of a tile by scalar loads.
void sum_slowly(__global const char* x, uint plane, __global const char* w, int channels, Tile tile,
                int hw, int k, __global const T* b, __global const T* r, __global T* y,
                __local float4* partial) {
  for (int i = 0; i < 4 * CONV2D_VECTORS; ++i) {
    float4 sum = (float4)(0.0f);
    for (int pixel = 0; pixel < 4; ++pixel) {
      const float one = sum_one(x + i / 4 * VECTOR_STEP + pixel * SIZE, plane,
                                w + i % 4 * (uint)sizeof(S), channels);
      sum = (float4)(sum.yzw, one);
    }
    take(sum, i, tile, hw, k, b, r, y, partial);
  }
}

// The first items of a tile add up the sums of all parts, in their order: a channel each.
void finish_parts(Tile tile, int hw, int k, __global const T* b, __global const T* r,
                  __global T* y, __local const float4* partial) {
#if CONV2D_PARTS > 1
  const int lane = (int)get_local_id(1) * CONV2D_LX + (int)get_local_id(0);
  const int lanes = CONV2D_LX * CONV2D_LY, i = get_local_id(2);
  // Every part's sums are there before any is read.
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i >= 4 || (tile.channel & 1)) return;
  float4 total = partial[i * lanes + lane];
  for (int part = 1; part < CONV2D_PARTS; ++part) total += partial[(part * 4 + i) * lanes + lane];
  finish_vector(total, i, tile, hw, k, b, r, y);
#endif
}

// ---- the kernels ----

// One work-item a tile, or CONV2D_PARTS of them, each with its range of c. w is packed by
// conv2d_1x1_pack, so that the vectors which a group reads for one c lie side by side.
//@kernel conv2d_1x1
//@arg    0  x      in   T[n*c*hw]
//@arg    1  wp     in   S[ceil(k/(4*CONV2D_LY))*c*4*CONV2D_LY]
//@layout wp[(k/(4*CONV2D_LY)*c + i)*4*CONV2D_LY + k%(4*CONV2D_LY)] = w[k][i], else 0
//@arg    2  b      in   T[k]
//@arg    3  r      in   T[n*k*hw]
//@arg    4  y      out  T[n*k*hw]  may be r
//@arg    5  c      int             input channels
//@arg    6  hw     int             pixels of a map
//@arg    7  k      int             output channels
//@arg    8  plane  int             bytes of a map of x: as an argument it needs no register
//@null   b if CONV2D_BIAS==0
//@null   r if CONV2D_RESIDUAL==0
//@global ceil(hw/(4*CONV2D_VECTORS*CONV2D_LX))*CONV2D_LX ceil(k/(4*CONV2D_LY))*CONV2D_LY n*CONV2D_PARTS
//@local  CONV2D_LX CONV2D_LY CONV2D_PARTS
//@needs  CONV2D_REST or c is a multiple of the channels of a trip
//@needs  (1-CONV2D_REST)*(c%(8+24*(CONV2D_ACC==1)+8*(CONV2D_ACC==2))) == 0
//@needs  c >= 1, k >= 1, hw % 4 == 0, hw >= (CONV2D_VECTORS - 1)*8*CONV2D_LX
__kernel GROUP void conv2d_1x1(__global const T* x, __global const S* wp, __global const T* b,
                               __global const T* r, __global T* y, int c, int hw, int k,
                               int plane) {
  __local float4 partial[PARTIAL_SIZE];
  const int vectors = hw >> 2, n = get_group_id(2), channel = (int)get_global_id(1) * 4;
  const int own = (int)get_group_id(0) * CONV2D_LX * CONV2D_VECTORS + (int)get_local_id(0);
  // In parts every item stays, for the barrier; those without a tile share the last one's work.
  if (CONV2D_PARTS == 1 && (own >= vectors || channel >= k)) return;
  const int moved = CONV2D_VECTORS * CONV2D_PARTS > 1 &&
                    own + (CONV2D_VECTORS - 1) * CONV2D_LX >= vectors;
  const int last = CONV2D_VECTORS > 1 ? own - CONV2D_LX : vectors - 1;
  const int first = moved ? last : own;
  Tile tile;
  tile.at = (n * k + channel) * hw + 4 * first;
  tile.channel = 2 * channel + moved;
  // Ranges of whole trips of 4 channels.
  const int range = CONV2D_PARTS == 1 ? c : (c + 4 * CONV2D_PARTS - 1) / (4 * CONV2D_PARTS) * 4;
  const int part = CONV2D_PARTS == 1 ? 0 : (int)get_local_id(2);
  const int begin = min(part * range, c), channels = min(range, c - begin);
  const uint x_at = (n * c + begin) * plane + 4 * first * SIZE;
  const uint w_at = (((int)get_group_id(1) * c + begin) * CONV2D_LY + (int)get_local_id(1)) *
                    4 * (uint)sizeof(S);
  // The last byte, and not what lies behind it, for Mesa's register allocator. Loops end on !=.
  if (ends_above(x, x_at + channels * plane - 1) ||
      ends_above(wp, w_at + channels * WEIGHT_STEP - 1)) {
    sum_slowly((__global const char*)x + x_at, plane, (__global const char*)wp + w_at, channels,
               tile, hw, k, b, r, y, partial);
  } else {
    float4 sum[4 * CONV2D_VECTORS];
    sum_channels(sum, ADDRESS(x, x_at), plane, ADDRESS(wp, w_at), channels);
    EACH_SUM(TAKE)
  }
  finish_parts(tile, hw, k, b, r, y, partial);
}

// w into the panels that conv2d_1x1 reads; one work-item for four channels at one c.
//@kernel conv2d_1x1_pack
//@arg    0  w   in   T[k*c]
//@arg    1  wp  out  S[ceil(k/(4*CONV2D_LY))*c*4*CONV2D_LY]
//@layout wp[(k/(4*CONV2D_LY)*c + i)*4*CONV2D_LY + k%(4*CONV2D_LY)] = w[k][i], else 0
//@arg    2  c   int            input channels
//@arg    3  k   int            output channels
//@global ceil(c/CONV2D_LX)*CONV2D_LX ceil(k/(4*CONV2D_LY))*CONV2D_LY
//@local  CONV2D_LX CONV2D_LY
//@needs  c >= 1, k >= 1
__kernel FLAT_GROUP void conv2d_1x1_pack(__global const T* w, __global S* wp, int c, int k) {
  const int i = get_global_id(0), channel = (int)get_global_id(1) * 4;
  if (i >= c) return;
  const int from = channel * c + i;
  T4 v = (T4)((T)0);
  if (channel < k) v.x = w[from];
  if (channel + 1 < k) v.y = w[from + c];
  if (channel + 2 < k) v.z = w[from + 2 * c];
  if (channel + 3 < k) v.w = w[from + 3 * c];
  const int at = ((int)get_group_id(1) * c + i) * CONV2D_LY + (int)get_local_id(1);
  ((__global S4*)wp)[at] = (S4)((S)v.x, (S)v.y, (S)v.z, (S)v.w);
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops conv2d_1x1
//@loop   floor(max(c-(CONV2D_PARTS-1)*ceil(c/(4*CONV2D_PARTS))*4,0)/8)..floor(min(ceil(c/(4*CONV2D_PARTS))*4,c)/8) if CONV2D_ACC==0  over the input channels of a part, eight a trip
//@loop   floor(max(c-(CONV2D_PARTS-1)*ceil(c/(4*CONV2D_PARTS))*4,0)/32)..floor(min(ceil(c/(4*CONV2D_PARTS))*4,c)/32) if CONV2D_ACC==1  over its chunks
//@loop   floor(max(c-(CONV2D_PARTS-1)*ceil(c/(4*CONV2D_PARTS))*4,0)/16)..floor(min(ceil(c/(4*CONV2D_PARTS))*4,c)/16) if CONV2D_ACC==2  over its channels, sixteen a trip
//@loop   0..1 if CONV2D_REST*(CONV2D_ACC==0)  over those that are left, four a trip
//@loop   0..min(7,c/4) if CONV2D_REST*(CONV2D_ACC==1)  the same
//@loop   0..3 if CONV2D_REST*(CONV2D_ACC==2)  the same
//@loop   (CONV2D_PARTS==1)*(c%4)..c%4 if CONV2D_REST  over those that are left then
//@loop   0*c if CONV2D_SPLIT  over the sums of a tile that lies across 4 GiB
//@loop   0*c if CONV2D_SPLIT  over the pixels of such a sum
//@loop   0*c if CONV2D_SPLIT  over its chunks; once where there are none
//@loop   0*c if CONV2D_SPLIT  over the channels of a pixel
//@loop   CONV2D_PARTS-1  over the other parts
