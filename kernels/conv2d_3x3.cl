// SPDX-License-Identifier: MIT
// conv2d_3x3.cl - y[n,k,oy,ox] = act(sum_c,r,s w[k,c,r,s] * x[n,c,iy,ix] + b[k]) + r[n,k,oy,ox]
//                 iy = oy * stride - pad_t + r, ix = ox * stride - 1 + s; r, s = 0, 1, 2;
//                 taps outside x are left out
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Sums in the
// order of c, r, s by fma, in one float per output. With CONV2D_PARTS there is one for each of so
// many ranges of c, and these are added in their order. With CONV2D_CHUNK, the products of a row of
// taps with so many channels are summed in half: 3 * CONV2D_CHUNK of them. These sums are added in
// float, r by r. What follows the sum is float.
//
// All tensors are dense and start on multiples of 16 bytes; every byte offset into them fits an
// int. An absent b counts as zeros, and an absent r is not added; both may then be null. y may be
// r, element on element; else no output overlaps an input. Output channels of a group of channels
// read the input channels of that group alone.
//
// A work-item computes a tile of 4 channels of one group x CONV2D_VECTORS vectors of 4 pixels of a
// row. Tiles lie along x as the pixels of a map do, and along y by channel, group after group. A
// tile over the end of a row or of a group of channels computes what it does not store.
//
//   ow = 10, oh = 2:   tile  0 0 0 0  1 1 1 1  2 2 . .      kg = 6:  0 0 0 0  1 1 . .
//                            3 3 3 3  4 4 4 4  5 5 . .               2 2 2 2  3 3 . .
//
// What a tile of one vector reads of a row of x (two vectors: twice the m of it):
//
//   stride 1   l | m m m m | h             l, h: one element each, left out at the ends of the row
//   stride 2   l | m m m m   m m m m
//
// On Mali a load is cheapest if its address is a sum of 32 bits. So CONV2D_SPLIT keeps the upper
// half of an address and adds to the lower one. A multiple of 4 GiB may lie between the start of a
// tensor and the last byte that a work-item reads. Then the item uses 64-bit sums, in the same
// order.
//
//@define CLAM_F16         off                           store tensors as half
//@define CLAM_NATIVE      off                           activations by native_exp2 and native_recip
//@define CONV2D_LX        16 {1,2,4,8,16}               work-items of a group along the map
//@define CONV2D_LY        4 {1,2,4,8,16,32,64,128,256}  work-items of a group along k
//@define CONV2D_PARTS     1 {1,16}                      work-items that share the sums of a tile
//@define CONV2D_VECTORS   1 {1,2}                       vectors of 4 pixels in a tile
//@define CONV2D_STRIDE    1 {1,2}                       stride
//@define CONV2D_CHUNK     0 {0,1,2,3,4,8}               channels that are summed in half; 0: none
//@define CONV2D_H         0                             fixes h where it is not 0
//@define CONV2D_W         0                             fixes w where it is not 0
//@define CONV2D_SPLIT     0 {0,1}                       addresses are kept in two halves
//@define CONV2D_BIAS      0 {0,1}                       b is added
//@define CONV2D_RESIDUAL  0 {0,1}                       r is added
//@define CONV2D_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp,hard_swish,clip,leaky_relu,hard_sigmoid,scaled}  activation

//@shared options
#ifndef CONV2D_LX
#define CONV2D_LX 16
#endif
#if CONV2D_LX < 1 || CONV2D_LX > 16 || CONV2D_LX & (CONV2D_LX - 1)
#error "conv2d_3x3.cl: CONV2D_LX must be a power of two from 1 to 16"
#endif
#ifndef CONV2D_LY
#define CONV2D_LY 4
#endif
#if CONV2D_LY < 1 || CONV2D_LY > 256 || CONV2D_LY & (CONV2D_LY - 1)
#error "conv2d_3x3.cl: CONV2D_LY must be a power of two from 1 to 256"
#endif
#ifndef CONV2D_PARTS
#define CONV2D_PARTS 1
#endif
#if CONV2D_PARTS != 1 && CONV2D_PARTS != 16
#error "conv2d_3x3.cl: CONV2D_PARTS must be 1 or 16"
#endif
#ifndef CONV2D_VECTORS
#define CONV2D_VECTORS 1
#endif
#if CONV2D_VECTORS != 1 && CONV2D_VECTORS != 2
#error "conv2d_3x3.cl: CONV2D_VECTORS must be 1 or 2"
#endif
#ifndef CONV2D_STRIDE
#define CONV2D_STRIDE 1
#endif
#if CONV2D_STRIDE != 1 && CONV2D_STRIDE != 2
#error "conv2d_3x3.cl: CONV2D_STRIDE must be 1 or 2"
#endif
#ifndef CONV2D_CHUNK
#define CONV2D_CHUNK 0
#endif
#if CONV2D_CHUNK != 0 && CONV2D_CHUNK != 1 && CONV2D_CHUNK != 2 && \
    CONV2D_CHUNK != 3 && CONV2D_CHUNK != 4 && CONV2D_CHUNK != 8
#error "conv2d_3x3.cl: CONV2D_CHUNK must be 0, 1, 2, 3, 4 or 8"
#endif
#ifndef CONV2D_H
#define CONV2D_H 0
#endif
#ifndef CONV2D_W
#define CONV2D_W 0
#endif
#ifndef CONV2D_SPLIT
#define CONV2D_SPLIT 0
#endif
#if CONV2D_SPLIT != 0 && CONV2D_SPLIT != 1
#error "conv2d_3x3.cl: CONV2D_SPLIT must be 0 or 1"
#endif
#ifndef CONV2D_BIAS
#define CONV2D_BIAS 0
#endif
#if CONV2D_BIAS != 0 && CONV2D_BIAS != 1
#error "conv2d_3x3.cl: CONV2D_BIAS must be 0 or 1"
#endif
#ifndef CONV2D_RESIDUAL
#define CONV2D_RESIDUAL 0
#endif
#if CONV2D_RESIDUAL != 0 && CONV2D_RESIDUAL != 1
#error "conv2d_3x3.cl: CONV2D_RESIDUAL must be 0 or 1"
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

#if CONV2D_PARTS > 1 && CONV2D_LX * CONV2D_LY > 16
#error "conv2d_3x3.cl: CONV2D_LX * CONV2D_LY must be up to 16 where sums are in parts"
#endif
#if CONV2D_CHUNK > 0 && !defined(CLAM_F16)
#error "conv2d_3x3.cl: CONV2D_CHUNK sums in half, so it needs CLAM_F16"
#endif
#if CONV2D_CHUNK > 0 && CONV2D_VECTORS > 1 && CONV2D_PARTS > 1
#error "conv2d_3x3.cl: parts with CONV2D_CHUNK have one vector, or local memory would not hold their sums"
#endif
#if CONV2D_W % (4 * CONV2D_VECTORS) != 0
#error "conv2d_3x3.cl: CONV2D_W must be a multiple of a tile, so that vector loads are aligned"
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

#define PIXELS (4 * CONV2D_VECTORS)
#define GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, CONV2D_PARTS)))

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

// ---- memory ----

//@shared conv2d_address
// Where a loop reads: a base to which constant offsets are added.
#if CONV2D_SPLIT
typedef struct {
  uint lo, hi;
} Address;
#else
typedef __global const char* Address;
#endif

Address address_of(__global const char* p) {
#if CONV2D_SPLIT
  const uint2 halves = as_uint2((ulong)p);
  const Address address = {halves.x, halves.y};
  return address;
#else
  return p;
#endif
}

uint low_half(Address a) {
#if CONV2D_SPLIT
  return a.lo;
#else
  return (uint)(ulong)a;
#endif
}

// a + offset; with `carry` the sum may pass a multiple of 4 GiB. Offsets are ints, and some are
// negative.
__global const char* place(Address a, uint offset, int carry) {
#if CONV2D_SPLIT
  const ulong far = as_ulong((uint2)(a.lo, a.hi)) + (long)(int)offset;
  return (__global const char*)(carry ? far : as_ulong((uint2)(a.lo + offset, a.hi)));
#else
  return a + (int)offset;
#endif
}

Address advanced(Address a, uint offset, int carry) { return address_of(place(a, offset, carry)); }

// base + offset with the upper half of the base, which takes no register.
Address beside(__global const void* base, int offset) {
#if CONV2D_SPLIT
  const uint2 halves = as_uint2((ulong)base);
  const Address address = {halves.x + (uint)offset, halves.y};
  return address;
#else
  return (__global const char*)base + offset;
#endif
}

// Whether the last of `bytes` from the base on has another upper half than the base.
int ends_above(__global const void* base, uint bytes) {
  return CONV2D_SPLIT && (uint)(ulong)base + (bytes - 1) < (uint)(ulong)base;
}

T4 get4(Address a, uint at, int carry) { return *(__global const T4*)place(a, at, carry); }

T get1(Address a, uint at, int carry) { return *(__global const T*)place(a, at, carry); }

float4 load4(Address a, uint at, int carry) {
  const T4 v = get4(a, at, carry);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

float load1(Address a, uint at, int carry) { return (float)get1(a, at, carry); }
//@end

//@shared conv2d_memory
float load_from(__global const char* p, uint at) { return (float)*(__global const T*)(p + at); }

float4 load4_from(__global const char* p, uint at) {
  const T4 v = *(__global const T4*)(p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store1(float v, __global char* p, uint at) { *(__global T*)(p + at) = (T)v; }

void store4(float4 v, __global char* p, uint at) {
  *(__global T4*)(p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}
//@end

#define WEIGHT_STEP (4 * CONV2D_LY * SIZE)

// ---- tiles ----

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

// Parts are ranges of whole chunks, or of whole vectors of channels.
#define GRAIN (CONV2D_CHUNK ? CONV2D_CHUNK : 4)

// What a work-item computes: pixels from column ox of row oy on, channels 4 * tile to 4 * tile + 3
// of group g, of image n. It sums `channels` input channels from `begin` on. `stored` is 0 for an
// item that has no tile of its own.
typedef struct {
  int n, g, tile, oy, ox, begin, channels, stored;
} Tile;

// Through a pointer: Oclgrind cannot take what a compiler makes of a struct that is returned.
void own_tile(Tile* tile, int groups, int cg, int kg, int oh, int ow) {
  const int columns = (ow + PIXELS - 1) / PIXELS, tiles = (kg + 3) / 4;
  const int at = get_global_id(0), plane = get_global_id(1);
  const int range =
      CONV2D_PARTS == 1 ? cg : (cg + GRAIN * CONV2D_PARTS - 1) / (GRAIN * CONV2D_PARTS) * GRAIN;
  const int map = min(at, columns * oh - 1), row = divide(map, columns);
  const int channel = min(plane, groups * tiles - 1), group = divide(channel, tiles);
  tile->n = get_group_id(2);
  tile->g = group;
  tile->tile = channel - group * tiles;
  tile->oy = row;
  tile->ox = (map - row * columns) * PIXELS;
  tile->begin = min((int)get_local_id(2) * range, cg);
  tile->channels = min(range, cg - tile->begin);
  tile->stored = map == at && channel == plane;
}

// ---- from the sum to the output ----

// Where a tile's outputs lie. One register has the first of its output channels, times 8, and how
// many it stores, up to 4. The others have the number of its first pixel in the tensor, the pixels
// to the end of the row, and those of a map.
typedef struct {
  int channels, pixel, pixels, map, whole;
} Outputs;

// Four pixels from pixel `first` of the tile on, of its channel `channel`.
void finish_row(float4 sum, int first, int channel, Outputs out, __global const T* b,
                __global const T* r, __global T* y) {
  if (channel >= (out.channels & 7)) return;
  const uint at = (out.pixel + channel * out.map + first) * SIZE;
  const int pixels = out.pixels - first;
  const float4 z = sum + (float4)(CONV2D_BIAS ? (float)b[(out.channels >> 3) + channel] : 0.0f);
  float4 v = (float4)(CONV2D_ACT(z.x), CONV2D_ACT(z.y), CONV2D_ACT(z.z), CONV2D_ACT(z.w));
  __global const char* from = (__global const char*)r;
  __global char* to = (__global char*)y;
  if (out.whole) {
    if (CONV2D_RESIDUAL) v += load4_from(from, at);
    store4(v, to, at);
    return;
  }
  if (CONV2D_RESIDUAL) {
    v.x += load_from(from, at);
    if (pixels > 1) v.y += load_from(from, at + SIZE);
    if (pixels > 2) v.z += load_from(from, at + 2 * SIZE);
    if (pixels > 3) v.w += load_from(from, at + 3 * SIZE);
  }
  store1(v.x, to, at);
  if (pixels > 1) store1(v.y, to, at + SIZE);
  if (pixels > 2) store1(v.z, to, at + 2 * SIZE);
  if (pixels > 3) store1(v.w, to, at + 3 * SIZE);
}

// Beside 32 float sums there are no registers for those of CONV2D_CHUNK. The last 16 wait in local
// memory from chunk to chunk. Volatile, or a compiler would keep them.
#define WAITS (CONV2D_CHUNK > 0 && CONV2D_VECTORS == 2)
typedef volatile __local float4* Waiting;

#define PARTIAL_SIZE (CONV2D_PARTS == 1 ? 1 : CONV2D_PARTS * PIXELS * CONV2D_LX * CONV2D_LY)

// sum[i] holds the four channels of pixel i. In parts, the first items of a tile add up and store
// four pixels of one channel each. Row by row in the text. Where the activation is long, compilers
// do not unroll a loop, and the sums lie in memory also through the loop over c.
void finish(const float4* sum, Outputs out, __global const T* b, __global const T* r,
            __global T* y, __local float4* partial) {
#if CONV2D_PARTS == 1
#define FINISH_ROW(v, i, of)                                                                   \
  finish_row((float4)(sum[4 * v].of, sum[4 * v + 1].of, sum[4 * v + 2].of, sum[4 * v + 3].of), \
             4 * v, i, out, b, r, y);
  FINISH_ROW(0, 0, x)
  FINISH_ROW(0, 1, y)
  FINISH_ROW(0, 2, z)
  FINISH_ROW(0, 3, w)
#if CONV2D_VECTORS == 2
  FINISH_ROW(1, 0, x)
  FINISH_ROW(1, 1, y)
  FINISH_ROW(1, 2, z)
  FINISH_ROW(1, 3, w)
#endif
#undef FINISH_ROW
#else
  const int lane = (int)get_local_id(1) * CONV2D_LX + (int)get_local_id(0);
  const int step = CONV2D_LX * CONV2D_LY, part = get_local_id(2);
  for (int i = 0; i < PIXELS; ++i) partial[(part * PIXELS + i) * step + lane] = sum[i];
  // Every part's sums are there before any is read.
  barrier(CLK_LOCAL_MEM_FENCE);
  if (part >= PIXELS) return;
  const int channel = part & 3, vector = part >> 2;
  __local const float* from = (__local const float*)(partial + 4 * vector * step + lane) + channel;
  float4 v = (float4)(from[0], from[4 * step], from[8 * step], from[12 * step]);
  for (int i = 1; i < CONV2D_PARTS; ++i) {
    from += 4 * PIXELS * step;
    v += (float4)(from[0], from[4 * step], from[8 * step], from[12 * step]);
  }
  finish_row(v, 4 * vector, channel, out, b, r, y);
#endif
}

// ---- the sum ----

// What a work-item reads. x starts at the tile's first pixel in the row of the first taps of
// channel `begin`, and w at the weights of that channel.
typedef struct {
  Address x, w;
  uint row, plane;         // bytes from a row, and a map, of x to the next
  uint second;             // from the first vector of a row to the second, or 0 where there is none
  int channels;            // of c
  int iy, ix, rows, columns;  // the pixel of x, and the extents of x
  Waiting waiting;            // sums of the second vector of pixels
} Reads;

// What lies inside x: a row of taps, and l and h of the file's picture. Asked where it is needed:
// five answers would take five registers of the loop.
int has_row(const Reads* in, int i) { return (uint)(in->iy + i) < (uint)in->rows; }

// The rows of taps that lie inside x: from the first one to before the end.
int first_row(const Reads* in) { return max(-in->iy, 0); }

int end_row(const Reads* in) { return min(in->rows - in->iy, 3); }

int has_low(const Reads* in) { return in->ix > 0; }

int has_high(const Reads* in) { return in->ix + 4 * CONV2D_VECTORS < in->columns; }

#if CONV2D_CHUNK == 0

// One row of taps of a channel. A tap outside the row is left out, not multiplied by zero: its
// weight may be infinite.
void add_row(float4* sum, const Reads* in, Address x, uint at, Address w, uint w_at) {
  const float4 w0 = load4(w, w_at, 0);
#if CONV2D_STRIDE == 1
  float m[PIXELS];
  for (int i = 0; i < CONV2D_VECTORS; ++i) {
    const float4 v = load4(x, at + 4 * i * SIZE, 0);
    m[4 * i] = v.x;
    m[4 * i + 1] = v.y;
    m[4 * i + 2] = v.z;
    m[4 * i + 3] = v.w;
  }
  if (has_low(in)) sum[0] = fma((float4)(load1(x, at - SIZE, 0)), w0, sum[0]);
  for (int i = 1; i < PIXELS; ++i) sum[i] = fma((float4)(m[i - 1]), w0, sum[i]);
  const float4 w1 = load4(w, w_at + WEIGHT_STEP, 0);
  for (int i = 0; i < PIXELS; ++i) sum[i] = fma((float4)(m[i]), w1, sum[i]);
  const float4 w2 = load4(w, w_at + 2 * WEIGHT_STEP, 0);
  for (int i = 0; i < PIXELS - 1; ++i) sum[i] = fma((float4)(m[i + 1]), w2, sum[i]);
  if (has_high(in)) {
    const float h = load1(x, at + PIXELS * SIZE, 0);
    sum[PIXELS - 1] = fma((float4)(h), w2, sum[PIXELS - 1]);
  }
#else
  const float4 w1 = load4(w, w_at + WEIGHT_STEP, 0);
  const float4 w2 = load4(w, w_at + 2 * WEIGHT_STEP, 0);
  if (has_low(in)) sum[0] = fma((float4)(load1(x, at - SIZE, 0)), w0, sum[0]);
  for (int i = 0; i < PIXELS / 2; ++i) {
    const float4 m = load4(x, at + (i == 1 ? in->second : 4 * i * SIZE), 0);
    sum[2 * i] = fma((float4)(m.x), w1, sum[2 * i]);
    sum[2 * i] = fma((float4)(m.y), w2, sum[2 * i]);
    sum[2 * i + 1] = fma((float4)(m.y), w0, sum[2 * i + 1]);
    sum[2 * i + 1] = fma((float4)(m.z), w1, sum[2 * i + 1]);
    sum[2 * i + 1] = fma((float4)(m.w), w2, sum[2 * i + 1]);
    if (2 * i + 2 < PIXELS) sum[2 * i + 2] = fma((float4)(m.w), w0, sum[2 * i + 2]);
  }
#endif
}

// Pixel by pixel and tap by tap, wherever the rows lie. It needs few registers, so it spills no
// more than the loop over whole rows. What lies inside x is asked anew for each row of taps.
float4 pixel_anywhere(const Reads* in, int pixel) {
  Address x = advanced(in->x, (CONV2D_STRIDE * pixel - 1) * (int)SIZE, 1), w = in->w;
  float4 sum = (float4)(0.0f);
  for (int c = 0; c < in->channels; ++c) {
    for (int i = first_row(in); i < end_row(in); ++i) {
      const int column = in->ix + CONV2D_STRIDE * pixel;
      for (int j = max(1 - column, 0); j < min(in->columns - column + 1, 3); ++j) {
        const float v = load1(x, i * in->row + j * SIZE, 1);
        sum = fma((float4)(v), load4(w, (3 * i + j) * WEIGHT_STEP, 1), sum);
      }
    }
    x = advanced(x, in->plane, 1);
    w = advanced(w, 9 * WEIGHT_STEP, 1);
  }
  return sum;
}

void sum_anywhere(float4* sum, const Reads* in) {
  for (int i = 0; i < PIXELS; ++i) {
    const float4 v = pixel_anywhere(in, i);
    for (int j = 0; j < PIXELS; ++j) {
      if (j == i) sum[j] = v;
    }
  }
}

void sum_channels(float4* sum, const Reads* in) {
  Address x = in->x, w = in->w;
  const uint end = low_half(x) + in->channels * in->plane;
  while (low_half(x) != end) {
    if (has_row(in, 0)) add_row(sum, in, x, 0, w, 0);
    if (has_row(in, 1)) add_row(sum, in, x, in->row, w, 3 * WEIGHT_STEP);
    if (has_row(in, 2)) add_row(sum, in, x, 2 * in->row, w, 6 * WEIGHT_STEP);
    x = advanced(x, in->plane, 0);
    w = advanced(w, 9 * WEIGHT_STEP, 0);
  }
}

#else

// A row of taps of one channel, in half. t[i] has the taps that every pixel has. Those of the ends
// of the row are apart. A chain of half sums has to begin with a multiplication: compilers then
// keep it in pairs.
typedef struct {
  half4 t[PIXELS], l, h;
} Chunk;

half4 term(half x, half4 w, half4 t, int begins) {
  return begins ? (half4)(x) * w : fma((half4)(x), w, t);
}

void add_row(Chunk* sum, const Reads* in, Address x, uint at, Address w, uint w_at, int begins) {
  half m[PIXELS * CONV2D_STRIDE];
  for (int i = 0; i < CONV2D_VECTORS * CONV2D_STRIDE; ++i) {
    const int is_second = CONV2D_STRIDE == 2 && i == 1;
    const half4 v = get4(x, at + (is_second ? in->second : 4 * i * SIZE), 0);
    m[4 * i] = v.x;
    m[4 * i + 1] = v.y;
    m[4 * i + 2] = v.z;
    m[4 * i + 3] = v.w;
  }
  const half4 w1 = get4(w, w_at + WEIGHT_STEP, 0);
  for (int i = 0; i < PIXELS; ++i) {
    sum->t[i] = term(m[CONV2D_STRIDE * i], w1, sum->t[i], begins);
  }
  const half4 w0 = get4(w, w_at, 0);
  for (int i = 1; i < PIXELS; ++i) {
    sum->t[i] = fma((half4)(m[CONV2D_STRIDE * i - 1]), w0, sum->t[i]);
  }
  // Where l or h lies outside, a neighbour is read and its sum dropped.
  const half l = get1(x, at - (has_low(in) ? SIZE : 0), 0);
  sum->l = term(l, w0, sum->l, begins);
  const half4 w2 = get4(w, w_at + 2 * WEIGHT_STEP, 0);
  for (int i = 0; i < PIXELS - (CONV2D_STRIDE == 1); ++i) {
    sum->t[i] = fma((half4)(m[CONV2D_STRIDE * i + 1]), w2, sum->t[i]);
  }
#if CONV2D_STRIDE == 1
  const half h = get1(x, at + (has_high(in) ? PIXELS * SIZE : 0), 0);
  sum->h = term(h, w2, sum->h, begins);
#endif
}

// To the sums of pixel i.
void add_to(float4* sum, const Reads* in, int i, half4 t) {
  const float4 v = (float4)((float)t.x, (float)t.y, (float)t.z, (float)t.w);
  if (i < 4 || !WAITS) {
    sum[i] += v;
  } else {
    in->waiting[(i - 4) * CONV2D_LX * CONV2D_LY] += v;
  }
}

void add_chunk(float4* sum, const Reads* in, Chunk* part) {
  if (has_low(in)) part->t[0] += part->l;
#if CONV2D_STRIDE == 1
  if (has_high(in)) part->t[PIXELS - 1] += part->h;
#endif
  for (int i = 0; i < PIXELS; ++i) add_to(sum, in, i, part->t[i]);
}

// The channels of a chunk for one pixel, wherever they lie. Taps 1, 0, 2 are summed in t[i], and a
// tap of l or h apart. `column`: of the pixel's tap 1, from the tile's first on.
half4 pixel_of_chunk(const Reads* in, Address x, Address w, int column) {
  const int is_low = column == 0;
  const int is_high = CONV2D_STRIDE == 1 && column == PIXELS - 1;
  half4 t = (half4)((half)0), end_of_row = (half4)((half)0);
  const uint end = low_half(x) + CONV2D_CHUNK * in->plane;
  while (low_half(x) != end) {
    const half4 w0 = get4(w, 0, 1), w1 = get4(w, WEIGHT_STEP, 1), w2 = get4(w, 2 * WEIGHT_STEP, 1);
    t = fma((half4)(get1(x, 0, 1)), w1, t);
    if (!is_low) {
      t = fma((half4)(get1(x, -SIZE, 1)), w0, t);
    } else if (has_low(in)) {
      end_of_row = fma((half4)(get1(x, -SIZE, 1)), w0, end_of_row);
    }
    if (!is_high) {
      t = fma((half4)(get1(x, SIZE, 1)), w2, t);
    } else if (has_high(in)) {
      end_of_row = fma((half4)(get1(x, SIZE, 1)), w2, end_of_row);
    }
    x = advanced(x, in->plane, 1);
    w = advanced(w, 9 * WEIGHT_STEP, 1);
  }
  return is_low || is_high ? t + end_of_row : t;
}

void sum_anywhere(float4* sum, const Reads* in) {
  for (int i = first_row(in); i < end_row(in); ++i) {
    Address x = advanced(in->x, i * in->row, 1), w = advanced(in->w, i * 3 * WEIGHT_STEP, 1);
    for (int c = 0; c < in->channels; c += CONV2D_CHUNK) {
      Address pixel = x;
      // Pixels past the end of x's row are no outputs.
      const int columns = CONV2D_STRIDE == 2 && in->second == 0 ? 4 : PIXELS * CONV2D_STRIDE;
      const uint begin = low_half(x), end = begin + columns * SIZE;
      do {
        const int column = (int)(low_half(pixel) - begin) / (int)SIZE;
        const half4 t = pixel_of_chunk(in, pixel, w, column);
        for (int j = 0; j < PIXELS; ++j) {
          if (j * CONV2D_STRIDE == column) add_to(sum, in, j, t);
        }
        pixel = advanced(pixel, CONV2D_STRIDE * SIZE, 1);
      } while (low_half(pixel) != end);
      x = advanced(x, CONV2D_CHUNK * in->plane, 1);
      w = advanced(w, CONV2D_CHUNK * 9 * WEIGHT_STEP, 1);
    }
  }
}

void sum_channels(float4* sum, const Reads* in) {
  for (int i = first_row(in); i < end_row(in); ++i) {
    Address x = advanced(in->x, i * in->row, 0), w = advanced(in->w, i * 3 * WEIGHT_STEP, 0);
    const uint end = low_half(x) + in->channels * in->plane;
    while (low_half(x) != end) {
      Chunk part;
      for (int j = 0; j < CONV2D_CHUNK; ++j) {
        add_row(&part, in, x, j * in->plane, w, j * 9 * WEIGHT_STEP, j == 0);
      }
      add_chunk(sum, in, &part);
      x = advanced(x, CONV2D_CHUNK * in->plane, 0);
      w = advanced(w, CONV2D_CHUNK * 9 * WEIGHT_STEP, 0);
    }
  }
}

#endif

// ---- the kernel ----

// Where an odd number of registers is taken, Mesa 25 moves the lower half of each address once more:
// 44 instructions of 450. One value more in the loop makes it even.
#define KEEPS (CONV2D_CHUNK > 0 && (CONV2D_W & (CONV2D_W - 1)) != 0)

// One work-item a tile, or CONV2D_PARTS of them, each with its range of c. w is packed by
// conv2d_pack of conv2d.cl, so that the vectors which a group reads for one tap lie side by side.
//@kernel conv2d_3x3
//@arg    0  x       in   T[n*groups*cg*h*w]
//@arg    1  wp      in   T[ceil(groups*ceil(kg/4)/CONV2D_LY)*cg*9*4*CONV2D_LY]
//@layout as conv2d_pack writes it
//@arg    2  b       in   T[groups*kg]
//@arg    3  r       in   T[n*groups*kg*oh*ow]
//@arg    4  y       out  T[n*groups*kg*oh*ow]  may be r
//@arg    5  groups  int                        groups of channels
//@arg    6  cg      int                        input channels of a group
//@arg    7  h       int                        rows of x
//@arg    8  w       int                        columns of x
//@arg    9  kg      int                        output channels of a group
//@arg    10 oh      int                        rows of y
//@arg    11 ow      int                        columns of y
//@arg    12 pad_t   int                        rows of padding above x; left of it lies one column
//@null   b if CONV2D_BIAS==0
//@null   r if CONV2D_RESIDUAL==0
//@global ceil(ceil(ow/(4*CONV2D_VECTORS))*oh/CONV2D_LX)*CONV2D_LX ceil(groups*ceil(kg/4)/CONV2D_LY)*CONV2D_LY n*CONV2D_PARTS
//@local  CONV2D_LX CONV2D_LY CONV2D_PARTS
//@needs  groups >= 1, cg >= 1, kg >= 1, cg % max(CONV2D_CHUNK,1) == 0, pad_t >= 0
//@needs  w % 4 == 0, ow*CONV2D_STRIDE <= w, ow*CONV2D_STRIDE >= w-1
//@needs  w % (4*CONV2D_VECTORS*max(CONV2D_STRIDE*(CONV2D_VECTORS-1),1)) == 0
//@needs  CONV2D_H is 0 or h, and CONV2D_W is 0 or both w and ow*CONV2D_STRIDE
__kernel GROUP void conv2d_3x3(__global const T* x, __global const T* wp, __global const T* b,
                               __global const T* r, __global T* y, int groups, int cg, int h, int w,
                               int kg, int oh, int ow, int pad_t) {
  __local float4 partial[PARTIAL_SIZE];
  Tile tile;
  const int rows = CONV2D_H ? CONV2D_H : h, columns = CONV2D_W ? CONV2D_W : w;
  const int across = CONV2D_W ? CONV2D_W / CONV2D_STRIDE : ow;
  own_tile(&tile, groups, cg, kg, oh, across);
  if (CONV2D_PARTS == 1 && !tile.stored) return;
  const int k = tile.g * kg + 4 * tile.tile;
  Outputs out;
  out.channels = tile.stored ? 8 * k + min(kg - 4 * tile.tile, 4) : 0;
  out.pixel = ((tile.n * groups * kg + k) * oh + tile.oy) * across + tile.ox;
  out.pixels = across - tile.ox;
  out.map = oh * across;
  out.whole = (across & 3) == 0;
  const int iy = tile.oy * CONV2D_STRIDE - pad_t, ix = tile.ox * CONV2D_STRIDE;
  const uint row = columns * SIZE, plane = rows * row;
  // iy may be -1 or less: the sum is right again, modulo 2^32, for every row inside.
  const uint x_at = ((tile.n * groups + tile.g) * cg + tile.begin) * plane;
  const int first = (int)x_at + iy * (int)row + ix * (int)SIZE;
  const uint w_at =
      (((int)get_group_id(1) * cg + tile.begin) * 9 * CONV2D_LY + (int)get_local_id(1)) * 4 * SIZE;
  Reads in;
  in.row = row;
  in.plane = plane;
  in.channels = tile.channels;
  in.iy = iy;
  in.ix = ix;
  in.rows = rows;
  in.columns = columns;
  // With stride 2 the last tile of a row may need less than two vectors.
  const int always = CONV2D_VECTORS == 2 || (CONV2D_W > 0 && CONV2D_W % 8 == 0);
  in.second = always || has_high(&in) ? 4 * SIZE : 0;
#if WAITS
  __local float4 wait[4 * CONV2D_LX * CONV2D_LY];
  in.waiting = wait + (int)get_local_id(1) * CONV2D_LX + (int)get_local_id(0);
#endif
  float4 sum[PIXELS];
  for (int i = 0; i < PIXELS; ++i) sum[i] = (float4)(0.0f);
  for (int i = 0; WAITS && i < 4; ++i) in.waiting[i * CONV2D_LX * CONV2D_LY] = (float4)(0.0f);
  const int kept = out.channels | tile.oy;
  // `|` makes one branch, and so leaves fewer values in registers than `||`.
  if (ends_above(x, x_at + tile.channels * plane) |
      ends_above(wp, w_at + tile.channels * 9 * WEIGHT_STEP)) {
    in.x = address_of((__global const char*)x + first);
    in.w = address_of((__global const char*)wp + w_at);
    sum_anywhere(sum, &in);
  } else {
    in.x = beside(x, first);
    in.w = beside(wp, w_at);
    sum_channels(sum, &in);
  }
  if (KEEPS) out.channels = min(out.channels, kept);
  for (int i = 0; WAITS && i < 4; ++i) sum[4 + i] = in.waiting[i * CONV2D_LX * CONV2D_LY];
  finish(sum, out, b, r, y, partial);
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops conv2d_3x3
//@loop   max(cg-(CONV2D_PARTS-1)*ceil(cg/(4*CONV2D_PARTS))*4,0)..min(ceil(cg/(4*CONV2D_PARTS))*4,cg) if CONV2D_CHUNK==0  over the input channels of a part
//@loop   0*cg if CONV2D_SPLIT*(CONV2D_CHUNK==0)  over the pixels, where bytes lie across 4 GiB
//@loop   0*cg if CONV2D_SPLIT*(CONV2D_CHUNK==0)  over the input channels, there
//@loop   0*cg if CONV2D_SPLIT*(CONV2D_CHUNK==0)  over the rows of taps, there
//@loop   0*cg if CONV2D_SPLIT*(CONV2D_CHUNK==0)  over the taps of a row, there
//@loop   min(3,h) if CONV2D_CHUNK>0  over the rows of taps; one less at an end of the map
//@loop   max(cg/max(CONV2D_CHUNK,1)-(CONV2D_PARTS-1)*ceil(cg/(max(CONV2D_CHUNK,1)*CONV2D_PARTS)),0)..min(ceil(cg/(max(CONV2D_CHUNK,1)*CONV2D_PARTS)),cg/max(CONV2D_CHUNK,1)) if CONV2D_CHUNK>0  over the chunks of a part
//@loop   0*cg if CONV2D_SPLIT*(CONV2D_CHUNK>0)  over the rows of taps, where bytes lie across 4 GiB
//@loop   0*cg if CONV2D_SPLIT*(CONV2D_CHUNK>0)  over the chunks, there
//@loop   0*cg if CONV2D_SPLIT*(CONV2D_CHUNK>0)  over the pixels, there
//@loop   0*cg if CONV2D_SPLIT*(CONV2D_CHUNK>0)  over the channels of a chunk, there
//@loop   CONV2D_PARTS-1  over the other parts
