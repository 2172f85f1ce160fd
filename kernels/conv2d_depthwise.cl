// SPDX-License-Identifier: MIT
// conv2d_depthwise.cl - y[n,k,oy,ox] = act(sum_r,s w[k,r,s] * x[n,k,iy,ix] + b[k]) + r[n,k,oy,ox]
//                       iy = oy * stride - pad_t + r, ix = ox * stride - 1 + s; r, s = 0, 1, 2;
//                       taps outside x are left out
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Sums in the
// order of r, s by fma, in one float per output, or in one half with CONV2D_CHUNK. What follows the
// sum is float.
//
// All tensors are dense and start on multiples of 16 bytes; every byte offset into them fits an
// int. An absent b counts as zeros, and an absent r is not added; both may then be null. y may be
// r, element on element; else no output overlaps an input.
//
// A work-item computes a tile of CONV2D_ROWS x 4 pixels of a map, and reads each row of x that the
// tile needs once:
//
//   stride 1   l | m m m m | h       l, h: one element each, left out at the ends of the row
//   stride 2   l | m m m m | h h h h
//
//@define CLAM_F16         off                             store tensors as half
//@define CONV2D_LX        4 {1,2,4}                       work-items of a group along a row
//@define CONV2D_LY        4 {1,2,4}                       work-items of a group along a column
//@define CONV2D_LZ        4 {1,2,4,8,16,32,64,128,256}    maps of a group
//@define CONV2D_ROWS      4 {1,2,4}                       rows of a tile
//@define CONV2D_STRIDE    1 {1,2}                         stride
//@define CONV2D_CHUNK     0 {0,9}                         products that are summed in half; 0: none
//@define CONV2D_H         0                               fixes h where it is not 0
//@define CONV2D_W         0                               fixes w where it is not 0
//@define CONV2D_BIAS      0 {0,1}                         b is added
//@define CONV2D_RESIDUAL  0 {0,1}                         r is added
//@define CONV2D_ACT       none {none,relu,relu6,silu,gelu,gelu_tanh,sigmoid,tanh,exp}  activation

#ifndef CONV2D_LX
#define CONV2D_LX 4
#endif
#ifndef CONV2D_LY
#define CONV2D_LY 4
#endif
#ifndef CONV2D_LZ
#define CONV2D_LZ 4
#endif
#ifndef CONV2D_ROWS
#define CONV2D_ROWS 4
#endif
#ifndef CONV2D_STRIDE
#define CONV2D_STRIDE 1
#endif
#ifndef CONV2D_CHUNK
#define CONV2D_CHUNK 0
#endif
#ifndef CONV2D_H
#define CONV2D_H 0
#endif
#ifndef CONV2D_W
#define CONV2D_W 0
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

#if CONV2D_LX != 1 && CONV2D_LX != 2 && CONV2D_LX != 4
#error "conv2d_depthwise.cl: CONV2D_LX must be 1, 2 or 4"
#endif
#if CONV2D_LY != 1 && CONV2D_LY != 2 && CONV2D_LY != 4
#error "conv2d_depthwise.cl: CONV2D_LY must be 1, 2 or 4"
#endif
#if CONV2D_LZ < 1 || CONV2D_LZ > 256 || CONV2D_LZ & (CONV2D_LZ - 1)
#error "conv2d_depthwise.cl: CONV2D_LZ must be a power of two up to 256"
#endif
#if CONV2D_ROWS != 1 && CONV2D_ROWS != 2 && CONV2D_ROWS != 4
#error "conv2d_depthwise.cl: CONV2D_ROWS must be 1, 2 or 4"
#endif
#if CONV2D_STRIDE != 1 && CONV2D_STRIDE != 2
#error "conv2d_depthwise.cl: CONV2D_STRIDE must be 1 or 2"
#endif

#if CONV2D_CHUNK != 0 && CONV2D_CHUNK != 9
#error "conv2d_depthwise.cl: CONV2D_CHUNK must be 0 or 9"
#endif
#if CONV2D_CHUNK > 0 && !defined(CLAM_F16)
#error "conv2d_depthwise.cl: CONV2D_CHUNK sums in half, so it needs CLAM_F16"
#endif
#if CONV2D_W % 4 != 0
#error "conv2d_depthwise.cl: CONV2D_W must be a multiple of 4, so that vector loads are aligned"
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

// Of operands and sums.
#if CONV2D_CHUNK
typedef half S;
typedef half4 S4;
#else
typedef float S;
typedef float4 S4;
#endif

#define SIZE ((uint)sizeof(T))
#define GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, CONV2D_LZ)))

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

// ---- the sum ----

S get1(__global const char* p, uint at) { return (S)*(__global const T*)(p + at); }

S4 get4(__global const char* p, uint at) {
  const T4 v = *(__global const T4*)(p + at);
  return (S4)((S)v.x, (S)v.y, (S)v.z, (S)v.w);
}

// The elements that the four pixels of a row need: l, and a vector for each of taps 1 and 2. Where
// an end of the row leaves a tap out, its element and its weight are 0. So the sum keeps its bits
// whatever lies there.
typedef struct {
  S l;
  S4 tap1, tap2;
} Row;

// One row of the filter: the first pixel's weight of tap 0 and the last pixel's of tap 2 may be 0.
typedef struct {
  S first0, w0, w1, w2, last2;
} Filter;

// `at`: where m of the file's picture lies. `low` and `high`: from there to l and h, or 0, so that
// nothing outside the row is read. Through a pointer: Oclgrind cannot take what a compiler makes of
// a struct that is returned.
void load_row(Row* row, __global const char* x, uint at, uint low, uint high) {
  const S4 m = get4(x, at);
  const S l = low ? get1(x, at - low) : (S)0;
  row->l = l;
#if CONV2D_STRIDE == 1
  const S h = high ? get1(x, at + high) : (S)0;
  row->tap1 = m;
  row->tap2 = (S4)(m.y, m.z, m.w, h);
#else
  const S4 h = get4(x, at + high);
  row->tap1 = (S4)(m.x, m.z, h.x, h.z);
  row->tap2 = (S4)(m.y, m.w, h.y, h.w);
#endif
}

// Tap 0 of a pixel is tap 1 (stride 1) or tap 2 (stride 2) of the pixel before it.
S4 add_taps(S4 sum, Row row, Filter f) {
  const S4 before = CONV2D_STRIDE == 1 ? row.tap1 : row.tap2;
  sum.x = fma(f.first0, row.l, sum.x);
  sum.y = fma(f.w0, before.x, sum.y);
  sum.z = fma(f.w0, before.y, sum.z);
  sum.w = fma(f.w0, before.z, sum.w);
  sum = fma((S4)(f.w1), row.tap1, sum);
  return fma((S4)(f.w2, f.w2, f.w2, f.last2), row.tap2, sum);
}

void load_filter(Filter* f, __global const T* w, uint low, uint high) {
  f->w0 = (S)w[0];
  f->w1 = (S)w[1];
  f->w2 = (S)w[2];
  f->first0 = low ? f->w0 : (S)0;
  f->last2 = CONV2D_STRIDE == 2 || high ? f->w2 : (S)0;
}

// ---- from the sum to the output ----

//@shared conv2d_pixels
// Adds `pixels` of r to v, from byte `at` on, and stores them in y; `whole`: all four, aligned.
void finish_pixels(float4 v, __global const T* r, __global T* y, uint at, int pixels, int whole) {
  __global const char* from = (__global const char*)r;
  __global char* to = (__global char*)y;
  if (whole) {
    if (CONV2D_RESIDUAL) v += load4(from, at);
    store4(v, to, at);
    return;
  }
  if (CONV2D_RESIDUAL) {
    v.x += load1(from, at);
    if (pixels > 1) v.y += load1(from, at + SIZE);
    if (pixels > 2) v.z += load1(from, at + 2 * SIZE);
    if (pixels > 3) v.w += load1(from, at + 3 * SIZE);
  }
  store1(v.x, to, at);
  if (pixels > 1) store1(v.y, to, at + SIZE);
  if (pixels > 2) store1(v.z, to, at + 2 * SIZE);
  if (pixels > 3) store1(v.w, to, at + 3 * SIZE);
}
//@end

void finish_row(S4 sum, int oy, int ox, int oh, int ow, int plane, float bias,
                __global const T* r, __global T* y) {
  if (oy >= oh) return;
  const uint at = ((plane * oh + oy) * ow + ox) * SIZE;
  const int pixels = ow - ox, whole = (ow & 3) == 0;
  const float4 z =
      (float4)((float)sum.x, (float)sum.y, (float)sum.z, (float)sum.w) + (float4)(bias);
  float4 v = (float4)(CONV2D_ACT(z.x), CONV2D_ACT(z.y), CONV2D_ACT(z.z), CONV2D_ACT(z.w));
  finish_pixels(v, r, y, at, pixels, whole);
}

// ---- the kernel ----

// One work-item a tile. Row i of x belongs to row i of the filter in the tile's first row of
// outputs, and so on. It is read once, and added to each.
//@kernel conv2d_depthwise
//@arg    0  x         in   T[planes*h*w]
//@arg    1  weights   in   T[channels*9]
//@arg    2  b         in   T[channels]
//@arg    3  r         in   T[planes*oh*ow]
//@arg    4  y         out  T[planes*oh*ow]  may be r
//@arg    5  channels  int                   channels of x and y
//@arg    6  planes    int                   maps: channels of all images
//@arg    7  h         int                   rows of x
//@arg    8  w         int                   columns of x
//@arg    9  oh        int                   rows of y
//@arg    10 ow        int                   columns of y
//@arg    11 pad_t     int                   rows of padding above x; left of it lies one column
//@null   b if CONV2D_BIAS==0
//@null   r if CONV2D_RESIDUAL==0
//@global ceil(ceil(ow/4)/CONV2D_LX)*CONV2D_LX ceil(ceil(oh/CONV2D_ROWS)/CONV2D_LY)*CONV2D_LY ceil(planes/CONV2D_LZ)*CONV2D_LZ
//@local  CONV2D_LX CONV2D_LY CONV2D_LZ
//@needs  channels >= 1, planes % channels == 0, w % 4 == 0, ow*CONV2D_STRIDE <= w, pad_t >= 0
//@needs  CONV2D_H is 0 or h, and CONV2D_W is 0 or both w and ow*CONV2D_STRIDE
__kernel GROUP void conv2d_depthwise(__global const T* x, __global const T* weights,
                                     __global const T* b, __global const T* r, __global T* y,
                                     int channels, int planes, int h, int w, int oh, int ow,
                                     int pad_t) {
  const int rows = CONV2D_H ? CONV2D_H : h, columns = CONV2D_W ? CONV2D_W : w;
  const int across = CONV2D_W ? CONV2D_W / CONV2D_STRIDE : ow;
  const int ox = (int)get_global_id(0) * 4, oy = (int)get_global_id(1) * CONV2D_ROWS;
  const int plane = get_global_id(2);
  if (ox >= across || oy >= oh || plane >= planes) return;
  const int channel = plane % channels;
  const int ix = ox * CONV2D_STRIDE, iy = oy * CONV2D_STRIDE - pad_t;
  const uint low = ix > 0 ? SIZE : 0, high = ix + 4 < columns ? 4 * SIZE : 0;
  const uint row = columns * SIZE, at = ((plane * rows + iy) * columns + ix) * SIZE;
  __global const char* xs = (__global const char*)x;
  Filter f0, f1, f2;
  load_filter(&f0, weights + channel * 9, low, high);
  load_filter(&f1, weights + channel * 9 + 3, low, high);
  load_filter(&f2, weights + channel * 9 + 6, low, high);
  S4 sum0 = (S4)((S)0);
#if CONV2D_ROWS > 1
  S4 sum1 = (S4)((S)0);
#endif
#if CONV2D_ROWS > 2
  S4 sum2 = (S4)((S)0), sum3 = (S4)((S)0);
#endif
// In the text, not in a loop: each row of x goes to other sums.
#define WITH_ROW(i, add)                         \
  if ((uint)(iy + (i)) < (uint)rows) {              \
    Row v;                                       \
    load_row(&v, xs, at + (i) * row, low, high); \
    add                                          \
  }
#define ADD(i, f) sum##i = add_taps(sum##i, v, f);
#if CONV2D_STRIDE == 1
#if CONV2D_ROWS == 1
  WITH_ROW(0, ADD(0, f0))
  WITH_ROW(1, ADD(0, f1))
  WITH_ROW(2, ADD(0, f2))
#elif CONV2D_ROWS == 2
  WITH_ROW(0, ADD(0, f0))
  WITH_ROW(1, ADD(0, f1) ADD(1, f0))
  WITH_ROW(2, ADD(0, f2) ADD(1, f1))
  WITH_ROW(3, ADD(1, f2))
#else
  WITH_ROW(0, ADD(0, f0))
  WITH_ROW(1, ADD(0, f1) ADD(1, f0))
  WITH_ROW(2, ADD(0, f2) ADD(1, f1) ADD(2, f0))
  WITH_ROW(3, ADD(1, f2) ADD(2, f1) ADD(3, f0))
  WITH_ROW(4, ADD(2, f2) ADD(3, f1))
  WITH_ROW(5, ADD(3, f2))
#endif
#else
  WITH_ROW(0, ADD(0, f0))
  WITH_ROW(1, ADD(0, f1))
#if CONV2D_ROWS == 1
  WITH_ROW(2, ADD(0, f2))
#else
  WITH_ROW(2, ADD(0, f2) ADD(1, f0))
  WITH_ROW(3, ADD(1, f1))
#if CONV2D_ROWS == 2
  WITH_ROW(4, ADD(1, f2))
#else
  WITH_ROW(4, ADD(1, f2) ADD(2, f0))
  WITH_ROW(5, ADD(2, f1))
  WITH_ROW(6, ADD(2, f2) ADD(3, f0))
  WITH_ROW(7, ADD(3, f1))
  WITH_ROW(8, ADD(3, f2))
#endif
#endif
#endif
#undef ADD
#undef WITH_ROW
  const float bias = CONV2D_BIAS ? (float)b[channel] : 0.0f;
  finish_row(sum0, oy, ox, oh, across, plane, bias, r, y);
#if CONV2D_ROWS > 1
  finish_row(sum1, oy + 1, ox, oh, across, plane, bias, r, y);
#endif
#if CONV2D_ROWS > 2
  finish_row(sum2, oy + 2, ox, oh, across, plane, bias, r, y);
  finish_row(sum3, oy + 3, ox, oh, across, plane, bias, r, y);
#endif
}
