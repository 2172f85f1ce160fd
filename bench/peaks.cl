// SPDX-License-Identifier: MIT
// peaks.cl - what a device does at most in a second: multiply-adds, bytes moved, launches.
//
// Every launch is PASSES times the same work: global size {items, PASSES}. The first item of each
// group leaves a mark that only a group of this launch and this pass can leave, so a launch that
// did less than it was asked for is seen whatever its time says.

#ifdef CLAM_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define T half
#else
#define T float
#endif
#ifndef PEAK_WIDTH
#define PEAK_WIDTH 4  // lanes of a vector: 1, 2, 4, 8, 16
#endif
#ifndef PEAK_CHAINS
#define PEAK_CHAINS 4  // sums that do not wait for each other: 1, 2, 4, 8
#endif
#ifndef PEAK_MAD
#define PEAK_MAD 0  // 1: mad(), which may round twice: quick where fma() is a function in software
#endif
#ifndef PEAK_STRAIGHT
#define PEAK_STRAIGHT 0  // 1: 16 rounds without a loop, for halves: through a loop Mesa's Mali
#endif                   // compiler carries them one by one, and then computes them so
#ifndef PEAK_TOGETHER
#define PEAK_TOGETHER 0  // 1: an item reads 16 places side by side, as CPUs like; else a group does
#endif
#ifndef PEAK_UNIQUE
#define PEAK_UNIQUE 0  // in the program's code, so that another number makes another program
#endif

#define PASTE(a, b) a##b
#define JOIN(a, b) PASTE(a, b)
#if PEAK_WIDTH == 1
typedef T V;
#define FIRST(v) (v)
#else
typedef JOIN(T, PEAK_WIDTH) V;
#define FIRST(v) (v).s0
#endif
// Not by vload, which may take halves one by one: Mesa's Mali compiler then computes them so too.
#define LOAD(place, src) ((__global const V*)(src))[place]
#define STORE(v, place, dst) ((__global V*)(dst))[place] = (v)

#define MARK(token, value)                                         \
  if (get_local_id(0) == 0) {                                      \
    marks[get_group_id(1) * get_num_groups(0) + get_group_id(0)] = \
        (token) + (int)get_group_id(1) + (value);                  \
  }

#if PEAK_CHAINS >= 8
#define CHAINS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#elif PEAK_CHAINS >= 4
#define CHAINS(DO) DO(0) DO(1) DO(2) DO(3)
#elif PEAK_CHAINS >= 2
#define CHAINS(DO) DO(0) DO(1)
#else
#define CHAINS(DO) DO(0)
#endif

#define BEGIN(c) V v##c = LOAD(c, start);
#if PEAK_MAD
#define NEXT(c) v##c = mad(v##c, one, step);
#else
#define NEXT(c) v##c = fma(v##c, one, step);
#endif
#define END(c) STORE(v##c, (int)get_global_id(0) * PEAK_CHAINS + c, dst);

#define ROUND                                         \
  CHAINS(NEXT) CHAINS(NEXT) CHAINS(NEXT) CHAINS(NEXT) \
  CHAINS(NEXT) CHAINS(NEXT) CHAINS(NEXT) CHAINS(NEXT)

// An item counts: each lane of each chain goes from its own start up by one at every multiply-add,
// 8 in a round. All are whole numbers that the type holds, so fused or not the end is exact; and
// neither factor nor summand is known to the compiler.
__kernel void peak_fma(__global const T* start, __global T* dst, __global int* marks, int token,
                       int rounds, float factor, float summand) {
  const V one = (V)((T)factor);
  const V step = (V)((T)summand);
  CHAINS(BEGIN)
#if PEAK_STRAIGHT
  ROUND ROUND ROUND ROUND ROUND ROUND ROUND ROUND
  ROUND ROUND ROUND ROUND ROUND ROUND ROUND ROUND
#else
  for (int i = 0; i < rounds; ++i) {
    ROUND
  }
#endif
  CHAINS(END)
  MARK(token + PEAK_UNIQUE, (int)FIRST(v0))
}

// What place i holds, four times: quick to compute, and sums of 16 are exact.
float4 pattern(int i) { return (float4)((float)(i & 0xfffff)); }

__kernel void peak_write(__global float4* dst, __global int* marks, int token) {
  const int i = get_global_id(0);
  dst[i] = pattern(i);
  MARK(token, 0)
}

__kernel void peak_copy(__global const float4* src, __global float4* dst, __global int* marks,
                        int token) {
  const int i = get_global_id(0);
  dst[i] = src[i];
  MARK(token, 0)
}

// An item adds up 16 places.
__kernel void peak_read(__global const float4* src, __global float4* dst, __global int* marks,
                        int token) {
#if PEAK_TOGETHER
  const int first = get_global_id(0) * 16;
  const int next = 1;
#else
  const int first = get_group_id(0) * get_local_size(0) * 16 + get_local_id(0);
  const int next = get_local_size(0);
#endif
  float4 sum = 0.0f;
  for (int k = 0; k < 16; ++k) sum += src[first + k * next];
  dst[get_global_id(0)] = sum;
  MARK(token, 0)
}

// As little as still shows that it ran.
__kernel void peak_nothing(__global int* marks, int token) { marks[0] = token; }
