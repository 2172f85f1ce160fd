// SPDX-License-Identifier: MIT
// conv2d_product.cl - y[k,p] = act(sum_t,i w[k,t,i] * plane_i[p + t] + b[k]) + r[k,p]
//
// A convolution as a product of weights and planes. A plane is a run of pixels in the order of y,
// and plane_i[p + t] is what tap t takes for pixel p. Planes are x itself where the filter is 1x1,
// or what conv2d_move.cl writes. Rows of y lie in a plane as rows of whole vectors of 4 pixels. The
// pixels behind the end of a row are computed and not stored.
//
//   tap t starts at pixel:   (t*dilation)/stride rows, and (t*dilation)%stride phases of rows, on
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Sums in the
// order of t, then i. With CONV2D_PARTS each of so many ranges of i has a sum, and these are added
// in their order, in float. What follows the sum is float too. CONV2D_ACC says how sums are kept:
//
//   0  in one float per output, by fma
//   1  in half inside a chunk of 32 planes of a tap; behind the last whole one in a chunk of
//      CONV2D_REST planes, or in chunks of 4 and of 1; the chunks in float
//   2  in half
//
// All tensors are dense and start on multiples of 16 bytes; every byte offset into them fits an
// int. An absent b counts as zeros, and an absent r is not added; both may then be null. y may be
// r, element on element; else no output overlaps an input.
//
// A work-item computes a tile of CONV2D_CHANNELS channels x 4 pixels. With CONV2D_LOOSE the last
// vector of a row starts 4 pixels before its end. So a row need not be whole vectors, nor be
// aligned.
//
// A launch has `n` products of each group: images, or 1 where a plane has the maps of all images.
//
// With CONV2D_SPLIT, a work-item whose bytes lie on both sides of a multiple of 4 GiB reads them
// one by one, in the same order.
//
//@define CLAM_F16         off            store tensors as half
//@define CLAM_NATIVE      off            activations by native_exp2 and native_recip
//@define CONV2D_ACC       0 {0,1,2}      sums in float, chunks, half
//@define CONV2D_CHANNELS  4 {4,8}        channels of a tile
//@define CONV2D_LX        16 {1,2,4,8,16,32,64}         work-items of a group along the pixels
//@define CONV2D_LY        4 {1,2,4,8,16,32,64,128,256}  work-items of a group along k
//@define CONV2D_PARTS     1 {1,2,3,4,6,8,12,16,24}      work-items that share the sums of a tile
//@define CONV2D_WHOLE     0 {0,1,2}      1: parts are whole trips of 8, 32 or 16 planes, and CONV2D_REST; 2: CONV2D_REST alone
//@define CONV2D_REST      0 {0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31}  planes of each part behind its whole chunks; with CONV2D_ACC 1 and CONV2D_WHOLE
//@define CONV2D_FLAT      0 {0,1}        a plane's vectors are those of a map of y
//@define CONV2D_LOOSE     0 {0,1,2}      rows of 4 pixels or more, maybe no whole vectors; 1: one row
//@define CONV2D_GROUPED   0 {0,1}        there are groups of channels
//@define CONV2D_SPLIT     0 {0,1}        addresses in two halves
//@define CONV2D_BIAS      0 {0,1}        b is added
//@define CONV2D_RESIDUAL  0 {0,1}        r is added
//@define CONV2D_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid,scaled}  activation

//@shared options
#ifndef CONV2D_ACC
#define CONV2D_ACC 0
#endif
#if CONV2D_ACC != 0 && CONV2D_ACC != 1 && CONV2D_ACC != 2
#error "conv2d_product.cl: CONV2D_ACC must be 0, 1 or 2"
#endif
#ifndef CONV2D_CHANNELS
#define CONV2D_CHANNELS 4
#endif
#if CONV2D_CHANNELS != 4 && CONV2D_CHANNELS != 8
#error "conv2d_product.cl: CONV2D_CHANNELS must be 4 or 8"
#endif
#ifndef CONV2D_LX
#define CONV2D_LX 16
#endif
#if CONV2D_LX < 1 || CONV2D_LX > 64 || CONV2D_LX & (CONV2D_LX - 1)
#error "conv2d_product.cl: CONV2D_LX must be a power of two from 1 to 64"
#endif
#ifndef CONV2D_LY
#define CONV2D_LY 4
#endif
#if CONV2D_LY < 1 || CONV2D_LY > 256 || CONV2D_LY & (CONV2D_LY - 1)
#error "conv2d_product.cl: CONV2D_LY must be a power of two from 1 to 256"
#endif
#ifndef CONV2D_PARTS
#define CONV2D_PARTS 1
#endif
#if CONV2D_PARTS != 1 && CONV2D_PARTS != 2 && CONV2D_PARTS != 3 && \
    CONV2D_PARTS != 4 && CONV2D_PARTS != 6 && CONV2D_PARTS != 8 && \
    CONV2D_PARTS != 12 && CONV2D_PARTS != 16 && CONV2D_PARTS != 24
#error "conv2d_product.cl: CONV2D_PARTS must be 1, 2, 3, 4, 6, 8, 12, 16 or 24"
#endif
#ifndef CONV2D_WHOLE
#define CONV2D_WHOLE 0
#endif
#if CONV2D_WHOLE != 0 && CONV2D_WHOLE != 1 && CONV2D_WHOLE != 2
#error "conv2d_product.cl: CONV2D_WHOLE must be 0, 1 or 2"
#endif
#ifndef CONV2D_REST
#define CONV2D_REST 0
#endif
#if CONV2D_REST < 0 || CONV2D_REST > 31
#error "conv2d_product.cl: CONV2D_REST must be 0 to 31"
#endif
#ifndef CONV2D_FLAT
#define CONV2D_FLAT 0
#endif
#if CONV2D_FLAT != 0 && CONV2D_FLAT != 1
#error "conv2d_product.cl: CONV2D_FLAT must be 0 or 1"
#endif
#ifndef CONV2D_LOOSE
#define CONV2D_LOOSE 0
#endif
#if CONV2D_LOOSE != 0 && CONV2D_LOOSE != 1 && CONV2D_LOOSE != 2
#error "conv2d_product.cl: CONV2D_LOOSE must be 0, 1 or 2"
#endif
#ifndef CONV2D_GROUPED
#define CONV2D_GROUPED 0
#endif
#if CONV2D_GROUPED != 0 && CONV2D_GROUPED != 1
#error "conv2d_product.cl: CONV2D_GROUPED must be 0 or 1"
#endif
#ifndef CONV2D_SPLIT
#define CONV2D_SPLIT 0
#endif
#if CONV2D_SPLIT != 0 && CONV2D_SPLIT != 1
#error "conv2d_product.cl: CONV2D_SPLIT must be 0 or 1"
#endif
#ifndef CONV2D_BIAS
#define CONV2D_BIAS 0
#endif
#if CONV2D_BIAS != 0 && CONV2D_BIAS != 1
#error "conv2d_product.cl: CONV2D_BIAS must be 0 or 1"
#endif
#ifndef CONV2D_RESIDUAL
#define CONV2D_RESIDUAL 0
#endif
#if CONV2D_RESIDUAL != 0 && CONV2D_RESIDUAL != 1
#error "conv2d_product.cl: CONV2D_RESIDUAL must be 0 or 1"
#endif
#ifndef CONV2D_ACT
#define CONV2D_ACT none
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

#if CONV2D_REST && (CONV2D_ACC != 1 || !CONV2D_WHOLE)
#error "conv2d_product.cl: CONV2D_REST goes with CONV2D_ACC 1 and CONV2D_WHOLE"
#endif
#if CONV2D_WHOLE == 2 && !CONV2D_REST
#error "conv2d_product.cl: CONV2D_WHOLE 2 goes with CONV2D_REST"
#endif
#if CONV2D_PARTS > 1 && CONV2D_LX * CONV2D_LY * CONV2D_PARTS > 64
#error "conv2d_product.cl: groups have up to 64 work-items where sums are in parts"
#endif
#if CONV2D_LOOSE && CONV2D_FLAT
#error "conv2d_product.cl: CONV2D_LOOSE and CONV2D_FLAT exclude each other"
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

#define ACC CONV2D_ACC
#define SPLIT CONV2D_SPLIT
#define GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, CONV2D_PARTS)))
#define FLAT_GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, 1)))

// ---- activations: CONV2D_ACT is the name of one of these, or of a built-in ----

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

//@shared loose
// Four elements from any element on. Mesa's compilers for Mali load or store them in one
// instruction. vload4 and vstore4 take four, and their addresses.
typedef struct __attribute__((packed, aligned(sizeof(T)))) {
  T4 of;
} Loose4;
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

S4 load_loose(__global const Loose4* p) {
  const T4 v = p->of;
  return (S4)((S)v.x, (S)v.y, (S)v.z, (S)v.w);
}

#define CHANNELS CONV2D_CHANNELS
#define WEIGHT_STEP (CHANNELS * CONV2D_LY * (uint)sizeof(S))

// Sums are variables of their own: arrays cost Mesa's compilers a fifth of the loop. t0 is that of
// channel 0, and c0 what a loop carries of it. `of` is its weight.
#define FOUR_OF(DO, a, b, c, d, j) \
  DO(a, weights##j.x) DO(b, weights##j.y) DO(c, weights##j.z) DO(d, weights##j.w)
#if CHANNELS == 4
#define EACH_WEIGHTS(DO, a) DO(0, a)
#define EACH_CHANNEL(DO) FOUR_OF(DO, 0, 1, 2, 3, 0)
#else
#define EACH_WEIGHTS(DO, a) DO(0, a) DO(1, a)
#define EACH_CHANNEL(DO) FOUR_OF(DO, 0, 1, 2, 3, 0) FOUR_OF(DO, 4, 5, 6, 7, 1)
#endif

// What a trip of a loop begins and ends with. With ACC 2 halves are carried from trip to trip as
// words. Else Mesa 25 carries them one by one, and no longer multiplies in pairs.
#if ACC == 0
#define DECLARE(i, of) S4 t##i = (S4)(0.0f);
#define BEGIN(i, of)
#define END(i, of)
#define HAND_OVER(i, of) sum[i] = t##i;
#elif ACC == 1
#define DECLARE(i, of) float4 c##i = (float4)(0.0f);
#define BEGIN(i, of) S4 t##i;
#define END(i, of) c##i += widen(t##i);
#define HAND_OVER(i, of) sum[i] = c##i;
#else
#define DECLARE(i, of) uint2 c##i = (uint2)(0);
#define BEGIN(i, of) S4 t##i = as_half4(c##i);
#define END(i, of) c##i = as_uint2(t##i);
#define HAND_OVER(i, of) sum[i] = widen(as_half4(c##i));
#endif

// The first product of a chunk is not added to a zero: Mesa 25 would then not multiply halves in
// pairs.
#define NEXT(i, of) t##i = fma((S4)(of), pixels, t##i);
#if ACC == 1
#define FIRST(i, of) t##i = (S4)(of) * pixels;
#else
#define FIRST NEXT
#endif
#if CONV2D_LOOSE
#define PIXELS(x, behind) load_loose((__global const Loose4*)PLACE(x, behind))
#else
#define PIXELS(x, behind) load_t((__global const T4*)PLACE(x, behind))
#endif
#define WEIGHTS(j, i_at) \
  const S4 weights##j =  \
      *(__global const S4*)PLACE(w, (i_at) * WEIGHT_STEP + j * 4 * (uint)sizeof(S));
// The plane that lies `bytes` behind x. Multiples of a plane's bytes stay in registers: x moves on
// once in four planes.
#define PLANE(ADD, i_at, bytes)          \
  {                                      \
    const uint behind = bytes;           \
    EACH_WEIGHTS(WEIGHTS, i_at)          \
    const S4 pixels = PIXELS(x, behind); \
    EACH_CHANNEL(ADD)                    \
  }
#define FOUR(ADD, i_at)                               \
  PLANE(ADD, i_at, 0) PLANE(NEXT, i_at + 1, in.plane) \
  PLANE(NEXT, i_at + 2, two) PLANE(NEXT, i_at + 3, three) MOVE(x, four);

#if ACC == 0
#define TRIP 8
#define ALL FOUR(FIRST, 0) FOUR(NEXT, 4)
#elif ACC == 1
#define TRIP CHUNK
#define ALL                                                 \
  FOUR(FIRST, 0) FOUR(NEXT, 4) FOUR(NEXT, 8) FOUR(NEXT, 12) \
  FOUR(NEXT, 16) FOUR(NEXT, 20) FOUR(NEXT, 24) FOUR(NEXT, 28)
#else
#define TRIP 16
#define ALL FOUR(FIRST, 0) FOUR(NEXT, 4) FOUR(NEXT, 8) FOUR(NEXT, 12)
#endif

// The rest, one plane after the other: a compiler knows which of them there are.
#define ONE_MORE(i, bytes) if (i < CONV2D_REST) PLANE(NEXT, i, bytes)
#define THREE_MORE(i) ONE_MORE(i, in.plane) ONE_MORE(i + 1, two) ONE_MORE(i + 2, three)
#define FOUR_MORE(i) MOVE(x, i < CONV2D_REST ? four : 0); ONE_MORE(i, 0) THREE_MORE(i + 1)
#define REST                                                                             \
  PLANE(FIRST, 0, 0) THREE_MORE(1) FOUR_MORE(4) FOUR_MORE(8) FOUR_MORE(12) FOUR_MORE(16) \
  FOUR_MORE(20) FOUR_MORE(24) FOUR_MORE(28)

#define TRIPS(DO, step, end)     \
  while (BEFORE(x, end)) {       \
    EACH_CHANNEL(BEGIN)          \
    DO                           \
    EACH_CHANNEL(END)            \
    MOVE(w, step * WEIGHT_STEP); \
  }

// For Mesa's register allocator: half sums of eight channels, and the floats that they are added to,
// leave few registers. A work-item's tap, its tile, its start and its place in the group wait in local
// memory then. They are read again where they are used. Volatile, or a compiler would keep them.
#define WAITS (ACC == 1 && CHANNELS == 8 && SPLIT)
typedef volatile __local int4* Waiting;
#if WAITS
#define TAP_WAITS waiting[0] = (int4)(LOW(tap), left, phase, planes);
#define TILE_WAITS                                                 \
  waiting[1] = (int4)(out.at, out.b_at, out.channels, place.from); \
  waiting[2] = (int4)(x_at, w_at, count, part * LANES + lane);
#define TAP_AGAIN                 \
  const int4 waited = waiting[0]; \
  LOW(tap) = (uint)waited.x;      \
  left = waited.y;                \
  phase = waited.z;               \
  planes = waited.w;
#define TILE_AGAIN                                  \
  const int4 tile = waiting[1], start = waiting[2]; \
  out.at = (uint)tile.x;                            \
  out.b_at = (uint)tile.y;                          \
  out.channels = tile.z;                            \
  place.from = tile.w;                              \
  x_at = (uint)start.x;                             \
  w_at = (uint)start.y;                             \
  count = start.z;                                  \
  part = (uint)start.w / LANES, lane = (uint)start.w % LANES;
#else
#define TAP_WAITS
#define TILE_WAITS
#define TAP_AGAIN
#define TILE_AGAIN
#endif

// Where planes and taps lie, in bytes. From a tap to the next: `step`, and once `turn` has summed
// up to `phases`, `wrap` more.
typedef struct {
  uint plane;
  int taps, step, turn, phases, wrap;
} Planes;

// `planes`: of each tap. Returns `waiting`, but no compiler knows that it is the same: it would keep
// addresses in registers.
Waiting sum_taps(float4* sum, Address x, Address w, int planes, Planes in, Waiting waiting) {
  const uint two = 2 * in.plane, three = 3 * in.plane, four = 4 * in.plane;
  EACH_CHANNEL(DECLARE)
  Address tap = x;
  int left = in.taps, phase = 0;
  do {
    TAP_WAITS
    x = tap;
#if CONV2D_WHOLE < 2
    const Limit end_trips = LIMIT(tap, (uint)planes / TRIP * TRIP * in.plane);
    TRIPS(ALL, TRIP, end_trips)
#endif
#if !CONV2D_WHOLE
    const Limit end4 = LIMIT(tap, (uint)planes / 4 * 4 * in.plane);
    TRIPS(FOUR(FIRST, 0), 4, end4)
    const Limit end = LIMIT(tap, (uint)planes * in.plane);
    TRIPS(PLANE(FIRST, 0, 0) MOVE(x, in.plane);, 1, end)
#elif CONV2D_REST
    EACH_CHANNEL(BEGIN)
    REST
    EACH_CHANNEL(END)
    MOVE(w, CONV2D_REST * WEIGHT_STEP);
#endif
    TAP_AGAIN
    phase += in.turn;
    const int wraps = phase >= in.phases;
    MOVE(tap, in.step + (wraps ? in.wrap : 0));
    phase -= wraps ? in.phases : 0;
  } while (--left > 0);
  EACH_CHANNEL(HAND_OVER)
  return (Waiting)((volatile __local char*)waiting + left);
}

// One output's sum by scalar loads.
float sum_one(__global const char* tap, __global const char* w, int planes, Planes in) {
  float total = 0.0f;
  S t = (S)0;
  for (int left = in.taps, phase = 0; left > 0; --left) {
    __global const char* x = tap;
    for (int i = 0; i < planes; ++i) {
      const int in_rest = !CONV2D_REST && i >= planes / TRIP * TRIP;
      const int first = i % TRIP == 0 || (in_rest && (i % 4 == 0 || i >= planes / 4 * 4));
      if (ACC == 1 && first) {
        total += (float)t;
        t = (S)0;
      }
      t = fma((S)*(__global const T*)x, *(__global const S*)w, t);
      x += in.plane;
      w += WEIGHT_STEP;
    }
    phase += in.turn;
    const int wraps = phase >= in.phases;
    tap += in.step + (wraps ? in.wrap : 0);
    phase -= wraps ? in.phases : 0;
  }
  return total + (float)t;
}

// ---- from the sum to the output ----

//@shared divide
// a / b for a >= 0, b >= 1. Division of integers takes Mali compilers 80 instructions, and 1.0f / b
// takes them 14. half_recip takes one, and is within 2^-10 on any device. A step of Newton makes
// that 2^-20; 2^-18 is taken off, so that both quotients are too small, by less than 2 in the end.
int divide(int a, int b) {
  const float of = (float)b, near = half_recip(of);
  const float inverse = fma(near, fma(-of, near, 0x1.ffff8p-1f), near);
  const int about = (int)((float)a * inverse), left = a - about * b;
  const int closer = about + (int)((float)left * inverse);
  return closer + (a - closer * b >= b);
}
//@end

// Where y lies: `at` is the byte of its first element in the tile's first channel. b has that
// channel at byte `b_at`. `map` bytes go from a channel to the next. Rows have `width` pixels. In a
// plane a row is `row` vectors long, and y goes on `next` elements further.
typedef struct {
  __global const char *b, *r;
  __global char* y;
  uint at, map, b_at;
  int channels, width, row, next;
} Outputs;

// The byte of a map where a vector of pixels lies, and that of a plane. Its pixels from `from` on,
// and before `end`, are stored.
typedef struct {
  uint at, x;
  int from, end;
} Place;

Place place_of(int v, Outputs out) {
  Place place = {4 * v * SIZE, 4 * v * SIZE, 0, 4};
#if !CONV2D_FLAT
  const int row = CONV2D_LOOSE == 1 ? 0 : divide(v, out.row), column = 4 * (v - row * out.row);
#if CONV2D_LOOSE
  const int start = min(column, out.width - 4);
  place.from = column - start;
  place.x -= place.from * SIZE;
#else
  const int start = column;
  place.end = out.width - column;
#endif
  place.at = (row * out.next + start) * SIZE;
#endif
  return place;
}

#if !CONV2D_FLAT
#if CONV2D_LOOSE
float4 load4_loose(__global const char* p, uint at) {
  const T4 v = ((__global const Loose4*)(p + at))->of;
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store4_loose(float4 v, __global char* p, uint at) {
  ((__global Loose4*)(p + at))->of = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}

// Where vectors overlap, both work-items store the same bits, unless they add r to them, which may
// be y.
#define IS_WHOLE (!CONV2D_RESIDUAL || place.from <= 0)
#define IS_STORED(pixel) (place.from <= pixel)
#else
#define IS_STORED(pixel) (pixel < place.end)
#endif
#define ADD_R(of, pixel) \
  if (IS_STORED(pixel)) v.of += load1(out.r, at + pixel * SIZE);
#define STORE(of, pixel) \
  if (IS_STORED(pixel)) store1(v.of, out.y, at + pixel * SIZE);
#define EACH_PIXEL(DO) DO(x, 0) DO(y, 1) DO(z, 2) DO(w, 3)
#endif

// An absent b is a 0 that no compiler knows. One that it knows is not added, and sums of zeros are
// -0 then on llvmpipe.
float bias_of(int i, Outputs out) {
  return CONV2D_BIAS ? load1(out.b, out.b_at + i * SIZE) : as_float(out.width >> 31);
}

// The tile's pixels of one channel. They lie at byte `at` of y.
void finish(float4 sum, float bias, uint at, Place place, Outputs out) {
  const float4 z = sum + (float4)(bias);
  float4 v = (float4)(CONV2D_ACT(z.x), CONV2D_ACT(z.y), CONV2D_ACT(z.z), CONV2D_ACT(z.w));
#if CONV2D_FLAT
  if (CONV2D_RESIDUAL) v += load4(out.r, at);
  store4(v, out.y, at);
#else
#if CONV2D_LOOSE
  if (IS_WHOLE) {
    if (CONV2D_RESIDUAL) v += load4_loose(out.r, at);
    store4_loose(v, out.y, at);
    return;
  }
#endif
  if (CONV2D_RESIDUAL) {
    EACH_PIXEL(ADD_R)
  }
  EACH_PIXEL(STORE)
#endif
}

// Channel i of the tile.
void finish_channel(int i, float4 sum, Place place, Outputs out) {
  if (i < out.channels) finish(sum, bias_of(i, out), out.at + i * out.map, place, out);
}

#define PARTIAL_SIZE (CONV2D_PARTS == 1 ? 1 : CONV2D_PARTS * CHANNELS * LANES)
#define LANES (CONV2D_LX * CONV2D_LY)

int lane_of(void) { return (int)get_local_id(1) * CONV2D_LX + (int)get_local_id(0); }

// Sum i of the tile where parts find each other's.
void hand_on(float4 sum, int i, int part, int lane, __local float4* partial) {
  partial[(part * CHANNELS + i) * LANES + lane] = sum;
}

// All sums of a tile by scalar loads.
void sum_slowly(__global const char* x, __global const char* w, int planes, Planes in, Place place,
                Outputs out, int part, int lane, __local float4* partial) {
  for (int i = 0; i < CHANNELS; ++i) {
    float4 sum = (float4)(0.0f);
    for (int pixel = 0; pixel < 4; ++pixel) {
      const float one = sum_one(x + pixel * SIZE, w + i * (uint)sizeof(S), planes, in);
      sum = (float4)(sum.yzw, one);
    }
    if (CONV2D_PARTS > 1) hand_on(sum, i, part, lane, partial);
    if (CONV2D_PARTS == 1) finish_channel(i, sum, place, out);
  }
}

// ---- the kernels ----

// Where an odd number of registers is taken, Mesa 25 moves the lower half of each address once
// more. That is 52 instructions of 546, or 85 of 963. One more value makes it even in these forms.
#define KEEPS (WAITS || (CONV2D_PARTS == 1 && CONV2D_LOOSE && !CONV2D_RESIDUAL))

// One work-item a tile, or CONV2D_PARTS of them, each with its range of planes. wp is packed by
// conv2d_product_pack: a work-item reads it from its first element to its last.
//@kernel conv2d_product
//@arg    0  p        in   T[n*groups*planes*plane]  in elements
//@arg    1  wp       in   S[groups*ceil(k/(CONV2D_CHANNELS*CONV2D_LY))*planes*taps*CONV2D_CHANNELS*CONV2D_LY]
//@layout as conv2d_product_pack writes it, with a CONV2D_LY of CONV2D_CHANNELS/4*CONV2D_LY
//@arg    2  b        in   T[groups*k]
//@arg    3  r        in   T[images*groups*k*map]
//@arg    4  y        out  T[images*groups*k*map]  may be r
//@arg    5  groups   int  groups of channels
//@arg    6  planes   int  planes of a group
//@arg    7  range    int  planes of a part
//@arg    8  plane    int  bytes from a plane to the next
//@arg    9  vectors  int  vectors of 4 pixels that a plane has of y
//@arg    10 taps     int  taps, each of them with all planes
//@arg    11 tap_step int  bytes from a tap to the next
//@arg    12 turn     int  phases from a tap to the next
//@arg    13 phases   int  phases of the rows
//@arg    14 wrap     int  bytes more where the last phase is passed
//@arg    15 k        int  output channels of a group
//@arg    16 map      int  elements of y from a channel to the next
//@arg    17 width    int  pixels of a row
//@arg    18 row      int  vectors of a row in a plane
//@arg    19 next     int  elements of y from a row to the next
//@null   b if CONV2D_BIAS==0
//@null   r if CONV2D_RESIDUAL==0
//@global ceil(vectors/CONV2D_LX)*CONV2D_LX ceil(k/(CONV2D_CHANNELS*CONV2D_LY))*CONV2D_LY n*groups*CONV2D_PARTS
//@local  CONV2D_LX CONV2D_LY CONV2D_PARTS
//@needs  groups >= 1, planes >= 1, range >= 1, vectors >= 1, taps >= 1, phases >= 1, k >= 1
//@needs  turn >= 0, turn < phases, width >= 1, row >= 1, (CONV2D_PARTS-1)*range < planes
//@needs  range*CONV2D_PARTS >= planes, planes == range*CONV2D_PARTS || CONV2D_WHOLE == 0
//@needs  range % 8 == 0 || CONV2D_WHOLE == 0 || CONV2D_ACC != 0
//@needs  range % 32 == CONV2D_REST || CONV2D_WHOLE == 0 || CONV2D_ACC != 1
//@needs  range % 16 == 0 || CONV2D_WHOLE == 0 || CONV2D_ACC != 2
//@needs  range == CONV2D_REST || CONV2D_WHOLE != 2
__kernel GROUP void conv2d_product(__global const T* p, __global const S* wp, __global const T* b,
                                   __global const T* r, __global T* y, int groups, int planes,
                                   int range, int plane, int vectors, int taps, int tap_step,
                                   int turn, int phases, int wrap, int k, int map, int width,
                                   int row, int next) {
  __local float4 partial[PARTIAL_SIZE];
  int part = CONV2D_PARTS == 1 ? 0 : (int)get_local_id(2), lane = lane_of();
#if WAITS
  __local int4 wait[3 * LANES * CONV2D_PARTS];
  Waiting waiting = wait + 3 * (part * LANES + lane);
#else
  Waiting waiting = 0;
#endif
  const int channel = (int)get_global_id(1) * CHANNELS, z = get_group_id(2);
  const int own = get_global_id(0), has_tile = CONV2D_PARTS == 1 || own < vectors;
  // In parts every item stays, for the barrier; those without a tile share the last one's work.
  if (CONV2D_PARTS == 1 && (own >= vectors || channel >= k)) return;
  const int vector = CONV2D_PARTS == 1 ? own : min(own, vectors - 1);
  const int group = CONV2D_GROUPED ? z - divide(z, groups) * groups : 0;
  const int begin = part * range;
  int count = max(min(range, planes - begin), 0);
  const int panel = group * (int)get_num_groups(1) + (int)get_group_id(1);
  uint w_at = (panel * planes + begin) * taps * WEIGHT_STEP +
              (int)get_local_id(1) * CHANNELS * (uint)sizeof(S);
  Outputs out = {(__global const char*)b, (__global const char*)r, (__global char*)y,
                 (z * k + channel) * map * SIZE, map * SIZE, (group * k + channel) * SIZE,
                 has_tile ? k - channel : 0, width, row, next};
  Place place = place_of(vector, out);
  uint x_at = (z * planes + begin) * plane + place.x;
  out.at += place.at;
  const Planes in = {plane, taps, tap_step, turn, phases, wrap};
  TILE_WAITS
  // A loop's limit may lie a plane behind the last of them.
  if (ends_above(p, (uint)(z * planes + planes + 1) * (uint)plane) |
      ends_above(wp, w_at + taps * count * WEIGHT_STEP)) {
    TILE_AGAIN
    sum_slowly((__global const char*)p + x_at, (__global const char*)wp + w_at, count, in, place,
               out, part, lane, partial);
  } else {
    float4 sum[CHANNELS];
    const int kept = out.channels | own;
    waiting = sum_taps(sum, ADDRESS(p, x_at), ADDRESS(wp, w_at), count, in, waiting);
    TILE_AGAIN
    if (KEEPS) out.channels = min(out.channels, kept);
#if CONV2D_PARTS == 1
#define FINISH(i, of) finish_channel(i, sum[i], place, out);
    EACH_CHANNEL(FINISH)
#else
#define HAND_ON(i, of) hand_on(sum[i], i, part, lane, partial);
    EACH_CHANNEL(HAND_ON)
#endif
  }
#if CONV2D_PARTS > 1
  // Every part's sums are there before any is read.
  barrier(CLK_LOCAL_MEM_FENCE);
  if (part >= CHANNELS) return;
  for (int j = 0; j < (CHANNELS + CONV2D_PARTS - 1) / CONV2D_PARTS; ++j) {
    const int i = part + j * CONV2D_PARTS;
    if (i >= CHANNELS || i >= out.channels) continue;
    __local const float4* from = partial + i * LANES + lane;
    float4 total = *from;
    for (int q = 1; q < CONV2D_PARTS; ++q) {
      from += CHANNELS * LANES;
      total += *from;
    }
    finish(total, bias_of(i, out), out.at + i * out.map, place, out);
  }
#endif
}

// w into the order in which conv2d_product reads it; one work-item for four channels at one plane
// of one tap. Planes of a convolution whose rows of the filter are taps are its channels x columns.
//@kernel conv2d_product_pack
//@arg    0  w        in   T[groups*k*planes*taps]
//@arg    1  wp       out  S[groups*ceil(k/(4*CONV2D_LY))*planes*taps*4*CONV2D_LY]
//@layout wp[((at*taps + t*count + q - begin)*CONV2D_LY + j/4%CONV2D_LY)*4 + j%4] = w[k][c][t][s]
//@layout j: channel of group g, k = g*k + j; q: plane, c = q/columns, s = q%columns; zeros behind k
//@layout at = (g*ceil(k/(4*CONV2D_LY)) + j/(4*CONV2D_LY))*planes + begin, begin = q/range*range
//@layout count = min(range, planes - begin)
//@arg    2  k        int  output channels of a group
//@arg    3  planes   int  planes of a group
//@arg    4  range    int  planes of a part
//@arg    5  taps     int  taps
//@arg    6  columns  int  neighbouring planes that are columns of the filter
//@global ceil(planes*taps/CONV2D_LX)*CONV2D_LX ceil(k/(4*CONV2D_LY))*CONV2D_LY groups
//@local  CONV2D_LX CONV2D_LY
//@needs  groups >= 1, k >= 1, planes >= 1, range >= 1, taps >= 1, columns >= 1
//@needs  planes % columns == 0
__kernel FLAT_GROUP void conv2d_product_pack(__global const T* w, __global S* wp, int k, int planes,
                                             int range, int taps, int columns) {
  const int at = get_global_id(0), tile = get_global_id(1), g = get_global_id(2);
  if (at >= planes * taps) return;
  const int t = at / planes, q = at - t * planes, c = q / columns, each = planes * taps;
  const int from = (g * k + 4 * tile) * each + (c * (taps - 1) + t) * columns + q;
  const int channels = k - 4 * tile;
  T4 v = (T4)((T)0);
  if (channels > 0) v.x = w[from];
  if (channels > 1) v.y = w[from + each];
  if (channels > 2) v.z = w[from + 2 * each];
  if (channels > 3) v.w = w[from + 3 * each];
  const int begin = q / range * range, count = min(range, planes - begin);
  const int panel = g * (int)get_num_groups(1) + (int)get_group_id(1);
  const int to = (panel * planes + begin) * taps + t * count + q - begin;
  ((__global S4*)wp)[to * CONV2D_LY + (int)get_local_id(1)] =
      (S4)((S)v.x, (S)v.y, (S)v.z, (S)v.w);
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops conv2d_product
//@loop   taps  over the taps
//@loop   floor(max(min(planes-(CONV2D_PARTS-1)*range,range),0)/8)..floor(min(range,planes)/8) if CONV2D_ACC==0  over the planes of a part, eight a trip
//@loop   floor(max(min(planes-(CONV2D_PARTS-1)*range,range),0)/32)..floor(min(range,planes)/32) if (CONV2D_ACC==1)*(CONV2D_WHOLE<2)  over its chunks
//@loop   floor(max(min(planes-(CONV2D_PARTS-1)*range,range),0)/16)..floor(min(range,planes)/16) if CONV2D_ACC==2  over its planes, sixteen a trip
//@loop   (CONV2D_PARTS==1)*floor(planes%8/4)..floor(max(range%8*(CONV2D_PARTS>1),(planes-(CONV2D_PARTS-1)*range)%8)/4) if (CONV2D_WHOLE==0)*(CONV2D_ACC==0)  over those that are left, four a trip
//@loop   (CONV2D_PARTS==1)*floor(planes%32/4)..floor(max(range%32*(CONV2D_PARTS>1),(planes-(CONV2D_PARTS-1)*range)%32)/4) if (CONV2D_WHOLE==0)*(CONV2D_ACC==1)  the same
//@loop   (CONV2D_PARTS==1)*floor(planes%16/4)..floor(max(range%16*(CONV2D_PARTS>1),(planes-(CONV2D_PARTS-1)*range)%16)/4) if (CONV2D_WHOLE==0)*(CONV2D_ACC==2)  the same
//@loop   (CONV2D_PARTS==1)*(planes%4)..max(range%4*(CONV2D_PARTS>1),(planes-(CONV2D_PARTS-1)*range)%4) if CONV2D_WHOLE==0  over those that are left then
//@loop   0*k if CONV2D_SPLIT  over the sums of a tile that lies across 4 GiB
//@loop   0*k if CONV2D_SPLIT  over the pixels of such a sum
//@loop   0*k if CONV2D_SPLIT  over its taps
//@loop   0*k if CONV2D_SPLIT  over its planes
//@loop   CONV2D_PARTS-1  over the other parts
