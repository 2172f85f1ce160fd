// SPDX-License-Identifier: MIT
// conv2d_1x1.cl - y[n,k,p] = act(sum_c w[k,c] * x[n,c,p] + b[k]) + r[n,k,p], p a pixel of a map
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Sums in the
// order of c by fma, in one float per output, or in one for each of CONV2D_PARTS ranges of c, which
// are then added in their order. What follows the sum is float too.
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
//@define CLAM_F16         off                           store tensors as half
//@define CONV2D_LX        16 {1,2,4,8,16}               work-items of a group along the map
//@define CONV2D_LY        4 {1,2,4,8,16,32,64,128,256}  work-items of a group along k
//@define CONV2D_PARTS     1 {1,16}                      work-items that share the sums of a tile
//@define CONV2D_VECTORS   1 {1,2}                       vectors of 4 pixels in a tile
//@define CONV2D_BIAS      0 {0,1}                       b is added
//@define CONV2D_RESIDUAL  0 {0,1}                       r is added
//@define CONV2D_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp}  activation

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
#ifndef CONV2D_BIAS
#define CONV2D_BIAS 0
#endif
#ifndef CONV2D_RESIDUAL
#define CONV2D_RESIDUAL 0
#endif
#ifndef CONV2D_ACT
#define CONV2D_ACT none
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
#if CONV2D_PARTS > 1 && CONV2D_LX * CONV2D_LY > 16
#error "conv2d_1x1.cl: CONV2D_LX * CONV2D_LY must be up to 16 where sums are in parts"
#endif

#ifdef CLAM_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half T;
typedef half4 T4;
#else
typedef float T;
typedef float4 T4;
#endif

#define SIZE ((uint)sizeof(T))
#define GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, CONV2D_PARTS)))
#define FLAT_GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, 1)))

// ---- activations: CONV2D_ACT is the name of one of these, or of a built-in ----

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

// ---- memory: a 64-bit base and an unsigned byte offset cost Mali compilers the least ----

float4 load4(__global const char* p, uint at) {
  const T4 v = *(__global const T4*)(p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store4(float4 v, __global char* p, uint at) {
  *(__global T4*)(p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}

// ---- the sum ----

// sum[i] holds a vector of pixels of channel i.
void add_pixels(float4* sum, float4 w, float4 x) {
  sum[0] = fma((float4)(w.x), x, sum[0]);
  sum[1] = fma((float4)(w.y), x, sum[1]);
  sum[2] = fma((float4)(w.z), x, sum[2]);
  sum[3] = fma((float4)(w.w), x, sum[3]);
}

#define WEIGHT_STEP (4 * CONV2D_LY * SIZE)
#define VECTOR_STEP (CONV2D_LX * 4 * SIZE)

void add_channel(float4* sum, __global const char* x, uint at, float4 w) {
  add_pixels(sum, w, load4(x, at));
#if CONV2D_VECTORS > 1
  add_pixels(sum + 4, w, load4(x, at + VECTOR_STEP));
#endif
}

// `plane`: bytes from a channel to the next. Four channels a trip; then, one a trip, the others.
void sum_channels(float4* sum, __global const char* x, uint at, uint plane, __global const char* w,
                  int channels) {
  for (int i = 0; i < 4 * CONV2D_VECTORS; ++i) sum[i] = (float4)(0.0f);
  const uint end4 = at + (uint)(channels & ~3) * plane, end = at + (uint)channels * plane;
  while (at != end4) {
    const float4 w0 = load4(w, 0), w1 = load4(w, WEIGHT_STEP);
    const float4 w2 = load4(w, 2 * WEIGHT_STEP), w3 = load4(w, 3 * WEIGHT_STEP);
    add_channel(sum, x, at, w0);
    add_channel(sum, x, at + plane, w1);
    add_channel(sum, x, at + 2 * plane, w2);
    add_channel(sum, x, at + 3 * plane, w3);
    at += 4 * plane;
    w += 4 * WEIGHT_STEP;
  }
  while (at != end) {
    add_channel(sum, x, at, load4(w, 0));
    at += plane;
    w += WEIGHT_STEP;
  }
}

// ---- from the sum to the output ----

// One vector of pixels of channel `channel`; `image`: channels of the images before.
void finish_vector(float4 sum, int channel, int vector, int image, int hw, int k,
                   __global const T* b, __global const T* r, __global T* y) {
  if (channel >= k) return;
  const float4 z = sum + (float4)(CONV2D_BIAS ? (float)b[channel] : 0.0f);
  const uint at = ((image + channel) * hw + 4 * vector) * SIZE;
  float4 v = (float4)(CONV2D_ACT(z.x), CONV2D_ACT(z.y), CONV2D_ACT(z.z), CONV2D_ACT(z.w));
  if (CONV2D_RESIDUAL) v += load4((__global const char*)r, at);
  store4(v, (__global char*)y, at);
}

// ---- the kernels ----

// One work-item a tile, or CONV2D_PARTS of them, each with its range of c. w is packed by
// conv2d_1x1_pack, so that the vectors which a group reads for one c lie side by side.
//@kernel conv2d_1x1
//@arg    0  x   in   T[n*c*hw]
//@arg    1  wp  in   T[ceil(k/(4*CONV2D_LY))*c*4*CONV2D_LY]
//@layout wp[(k/(4*CONV2D_LY)*c + i)*4*CONV2D_LY + k%(4*CONV2D_LY)] = w[k][i], else 0
//@arg    2  b   in   T[k]       null without CONV2D_BIAS
//@arg    3  r   in   T[n*k*hw]  null without CONV2D_RESIDUAL
//@arg    4  y   out  T[n*k*hw]  may be r
//@arg    5  c   int             input channels
//@arg    6  hw  int             pixels of a map
//@arg    7  k   int             output channels
//@global ceil(hw/(4*CONV2D_VECTORS*CONV2D_LX))*CONV2D_LX ceil(k/(4*CONV2D_LY))*CONV2D_LY n*CONV2D_PARTS
//@local  CONV2D_LX CONV2D_LY CONV2D_PARTS
//@needs  c >= 1, k >= 1, hw % 4 == 0, hw >= (CONV2D_VECTORS - 1)*8*CONV2D_LX
//@loop   floor(max(c-(CONV2D_PARTS-1)*ceil(c/(4*CONV2D_PARTS))*4,0)/4)..floor(min(ceil(c/(4*CONV2D_PARTS))*4,c)/4)  over the input channels of a part, four a trip
//@loop   (CONV2D_PARTS==1)*(c%4)..c%4  over those that are left
//@loop   CONV2D_PARTS-1  over the other parts
__kernel GROUP void conv2d_1x1(__global const T* x, __global const T* wp, __global const T* b,
                               __global const T* r, __global T* y, int c, int hw, int k) {
  const int vectors = hw / 4, n = get_group_id(2), part = get_local_id(2);
  const int own = (int)get_group_id(0) * CONV2D_LX * CONV2D_VECTORS + (int)get_local_id(0);
  const int channel = (int)get_global_id(1) * 4;
  // In parts every item stays, for the barrier; those without a tile share the last one's work.
  if (CONV2D_PARTS == 1 && (own >= vectors || channel >= k)) return;
  const int moved = CONV2D_VECTORS > 1 && own + CONV2D_LX >= vectors;
  const int first = moved ? own - CONV2D_LX : min(own, vectors - 1);
  // Ranges of whole trips of 4 channels.
  const int range = CONV2D_PARTS == 1 ? c : (c + 4 * CONV2D_PARTS - 1) / (4 * CONV2D_PARTS) * 4;
  const int begin = min(part * range, c), channels = min(range, c - begin);
  const uint at = ((n * c + begin) * hw + 4 * first) * SIZE;
  const uint w_at = (((int)get_group_id(1) * c + begin) * CONV2D_LY + (int)get_local_id(1)) * 4;
  float4 sum[4 * CONV2D_VECTORS];
  sum_channels(sum, (__global const char*)x, at, hw * SIZE, (__global const char*)(wp + w_at),
               channels);
#if CONV2D_PARTS == 1
#define FINISH_VECTOR(i, vector) \
  finish_vector(sum[i], channel + (i) % 4, vector, n * k, hw, k, b, r, y)
  if (!moved) {
    FINISH_VECTOR(0, first);
    FINISH_VECTOR(1, first);
    FINISH_VECTOR(2, first);
    FINISH_VECTOR(3, first);
  }
#if CONV2D_VECTORS > 1
  FINISH_VECTOR(4, first + CONV2D_LX);
  FINISH_VECTOR(5, first + CONV2D_LX);
  FINISH_VECTOR(6, first + CONV2D_LX);
  FINISH_VECTOR(7, first + CONV2D_LX);
#endif
#undef FINISH_VECTOR
#else
  __local float4 partial[CONV2D_PARTS * 4 * CONV2D_LX * CONV2D_LY];
  const int lane = (int)get_local_id(1) * CONV2D_LX + (int)get_local_id(0);
  const int step = CONV2D_LX * CONV2D_LY;
  for (int i = 0; i < 4; ++i) partial[(part * 4 + i) * step + lane] = sum[i];
  // Every part's sums are there before any is read.
  barrier(CLK_LOCAL_MEM_FENCE);
  if (part >= 4 || own >= vectors) return;
  float4 total = partial[part * step + lane];
  for (int i = 1; i < CONV2D_PARTS; ++i) total += partial[(i * 4 + part) * step + lane];
  finish_vector(total, channel + part, own, n * k, hw, k, b, r, y);
#endif
}

// w into the panels that conv2d_1x1 reads; one work-item for four channels at one c.
//@kernel conv2d_1x1_pack
//@arg    0  w   in   T[k*c]
//@arg    1  wp  out  T[ceil(k/(4*CONV2D_LY))*c*4*CONV2D_LY]
//@layout wp[(k/(4*CONV2D_LY)*c + i)*4*CONV2D_LY + k%(4*CONV2D_LY)] = w[k][i], else 0
//@arg    2  c   int            input channels
//@arg    3  k   int            output channels
//@global ceil(c/CONV2D_LX)*CONV2D_LX ceil(k/(4*CONV2D_LY))*CONV2D_LY
//@local  CONV2D_LX CONV2D_LY
//@needs  c >= 1, k >= 1
__kernel FLAT_GROUP void conv2d_1x1_pack(__global const T* w, __global T* wp, int c, int k) {
  const int i = get_global_id(0), channel = (int)get_global_id(1) * 4;
  if (i >= c) return;
  const int from = channel * c + i;
  T4 v = (T4)((T)0);
  if (channel < k) v.x = w[from];
  if (channel + 1 < k) v.y = w[from + c];
  if (channel + 2 < k) v.z = w[from + 2 * c];
  if (channel + 3 < k) v.w = w[from + 3 * c];
  const int at = ((int)get_group_id(1) * c + i) * CONV2D_LY + (int)get_local_id(1);
  ((__global T4*)wp)[at] = v;
}
