// SPDX-License-Identifier: MIT
// lrn.cl - y = x divided by a power of what lies around it in other channels
//
//   y[n,c,p] = x[n,c,p] / s^beta,  s = bias + scale * sum over c' of x[n,c',p]^2
//   c' from c - floor((size-1)/2) to c + ceil((size-1)/2), as far as there are such channels
//
// scale is alpha / size, whatever the number of channels at an edge. p is a pixel of an nchw map.
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). s and y are
// float, and y is rounded to T once. Every sum is a new one: none has what left its window
// subtracted, as that would leave the rounding errors of large numbers behind.
//
// Every byte offset fits an int. Buffers start on multiples of 16 bytes, as OpenCL's do.
//
//@define CLAM_F16            off                    store tensors as half
//@define LRN_UNIT            1 {1,4}                pixels of an item
//@define LRN_SIZE            5 {1,2,3,4,5,6,7,8}    channels of a window, for lrn_run
//@define LRN_THREE_QUARTERS  0 {0,1}                beta is .75
//@define LRN_LX              64 {1,2,4,8,16,32,64,128,256}  work-items of a group along the pixels
//@define LRN_LY              1 {1,2,4,8,16,32,64,128,256}   and along the channels

//@shared options
#ifndef LRN_UNIT
#define LRN_UNIT 1
#endif
#if LRN_UNIT != 1 && LRN_UNIT != 4
#error "lrn.cl: LRN_UNIT must be 1 or 4"
#endif
#ifndef LRN_SIZE
#define LRN_SIZE 5
#endif
#if LRN_SIZE < 1 || LRN_SIZE > 8
#error "lrn.cl: LRN_SIZE must be 1 to 8"
#endif
#ifndef LRN_THREE_QUARTERS
#define LRN_THREE_QUARTERS 0
#endif
#if LRN_THREE_QUARTERS != 0 && LRN_THREE_QUARTERS != 1
#error "lrn.cl: LRN_THREE_QUARTERS must be 0 or 1"
#endif
#ifndef LRN_LX
#define LRN_LX 64
#endif
#if LRN_LX < 1 || LRN_LX > 256 || LRN_LX & (LRN_LX - 1)
#error "lrn.cl: LRN_LX must be a power of two from 1 to 256"
#endif
#ifndef LRN_LY
#define LRN_LY 1
#endif
#if LRN_LY < 1 || LRN_LY > 256 || LRN_LY & (LRN_LY - 1)
#error "lrn.cl: LRN_LY must be a power of two from 1 to 256"
#endif
//@end

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

#define GROUP __attribute__((reqd_work_group_size(LRN_LX, LRN_LY, 1)))

// A 64-bit base and an unsigned byte offset cost Mali compilers the least.
#if LRN_UNIT == 4
//@shared unit_of_four
typedef float4 Unit;

float4 load(__global const T* p, uint at) {
  const T4 v = *(__global const T4*)((__global const char*)p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store(float4 v, __global T* p, uint at) {
  *(__global T4*)((__global char*)p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}
//@end
#else
//@shared unit_of_one
typedef float Unit;

float load(__global const T* p, uint at) {
  return (float)*(__global const T*)((__global const char*)p + at);
}

void store(float v, __global T* p, uint at) { *(__global T*)((__global char*)p + at) = (T)v; }
//@end
#endif

// x / s^beta of the sum of a window's squares.
Unit divide(Unit x, Unit sum, float scale, float beta, float bias) {
  const Unit s = fma(sum, (Unit)(scale), (Unit)(bias));
#if LRN_THREE_QUARTERS
  const Unit root = rsqrt(s);
  return x * (root * sqrt(root));
#else
  return x * exp2(-beta * log2(s));
#endif
}

// Of a channel that is not there, zeros. What is read for it is the nearest that is there.
Unit load_channel(__global const T* x, int channel, int c, uint image, uint plane) {
  const int there = clamp(channel, 0, c - 1);
  const Unit v = load(x, image + there * plane);
  return there == channel ? v : (Unit)(0.0f);
}

// An item walks over `run` channels, and holds the window of the one that it is at.
//
//   channel  0   1   2   3   4   5         LRN_SIZE = 5, at channel 2; the next step moves all one
//   held    [0] [1] [2] [3] [4]            down and loads channel 5
//@kernel lrn_run
//@arg    0 x      in  T[images*c*pixels]
//@arg    1 y      out T[images*c*pixels]
//@arg    2 c      int                     channels
//@arg    3 pixels int                     of a map
//@arg    4 run    int                     channels of an item
//@arg    5 scale  float                   alpha / LRN_SIZE
//@arg    6 beta   float                   not used with LRN_THREE_QUARTERS
//@arg    7 bias   float
//@global ceil(pixels/LRN_UNIT/LRN_LX)*LRN_LX, ceil(ceil(c/run)/LRN_LY)*LRN_LY, images
//@local  LRN_LX, LRN_LY
//@needs  c >= 1, pixels >= 1, run >= 1, pixels % LRN_UNIT == 0
__kernel GROUP void lrn_run(__global const T* x, __global T* y, int c, int pixels, int run,
                            float scale, float beta, float bias) {
  const uint pixel = get_global_id(0) * LRN_UNIT;
  const int first = get_global_id(1) * run;
  if (pixel >= (uint)pixels || first >= c) return;
  const uint image = (get_global_id(2) * c * pixels + pixel) * SIZE, plane = pixels * SIZE;
  Unit held[LRN_SIZE == 2 ? 3 : LRN_SIZE];  // PoCL 3.1 mixes arrays of two floats up
  const int before = (LRN_SIZE - 1) / 2;
  for (int i = 1; i < LRN_SIZE; ++i) {
    held[i] = load_channel(x, first - before + i - 1, c, image, plane);
  }
  const int end = min(first + run, c);
  for (int channel = first; channel < end; ++channel) {
    for (int i = 1; i < LRN_SIZE; ++i) held[i - 1] = held[i];
    held[LRN_SIZE - 1] = load_channel(x, channel - before + LRN_SIZE - 1, c, image, plane);
    Unit sum = (Unit)(0.0f);
    for (int i = 0; i < LRN_SIZE; ++i) sum = fma(held[i], held[i], sum);
    store(divide(held[before], sum, scale, beta, bias), y, image + channel * plane);
  }
}

// A window of any size; one channel an item.
//@kernel lrn_window
//@arg    0 x      in  T[images*c*pixels]
//@arg    1 y      out T[images*c*pixels]
//@arg    2 c      int                     channels
//@arg    3 pixels int                     of a map
//@arg    4 size   int                     channels of a window
//@arg    5 scale  float                   alpha / size
//@arg    6 beta   float                   not used with LRN_THREE_QUARTERS
//@arg    7 bias   float
//@global ceil(pixels/LRN_UNIT/LRN_LX)*LRN_LX, ceil(c/LRN_LY)*LRN_LY, images
//@local  LRN_LX, LRN_LY
//@needs  c >= 1, pixels >= 1, size >= 1, pixels % LRN_UNIT == 0
__kernel GROUP void lrn_window(__global const T* x, __global T* y, int c, int pixels, int size,
                               float scale, float beta, float bias) {
  const uint pixel = get_global_id(0) * LRN_UNIT;
  const int channel = get_global_id(1);
  if (pixel >= (uint)pixels || channel >= c) return;
  const uint image = (get_global_id(2) * c * pixels + pixel) * SIZE, plane = pixels * SIZE;
  const int first = channel - (size - 1) / 2, end = min(first + size, c);
  Unit sum = (Unit)(0.0f);
  for (int i = max(first, 0); i < end; ++i) {
    const Unit v = load(x, image + i * plane);
    sum = fma(v, v, sum);
  }
  const uint at = image + channel * plane;
  store(divide(load(x, at), sum, scale, beta, bias), y, at);
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops lrn_run
//@loop   1..run  over the channels of an item

//@loops lrn_window
//@loop   1..size  over the channels of the window
