// SPDX-License-Identifier: MIT
// binary.cl - c = a op b, element by element, each repeated along the axes that it does not have
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). op is float and
// rounded once to T. Sum, difference, product, maximum and minimum are those of IEEE 754. A
// quotient is as exact as the device's (2.5 ulp). The maximum and minimum of a NaN and a number are
// NaN; of 0 and -0 they may be either. Where the device takes denormal numbers for 0, so does this.
//
// Neighbouring axes along which the same operands repeat are one axis here. c is [n3,n2,n1,n0], n0
// being its last axis, and 1 to 4 of these remain. A step is the distance of neighbours along an
// axis in elements, 0 where an operand repeats; along n0 it is BINARY_A or BINARY_B.
//
//   a[3,4] + b[4]       n1 = 3, n0 = 4    a1 = 4, BINARY_A = 1    b1 = 0, BINARY_B = 1
//   a[3,4] + b[3,1]     n1 = 3, n0 = 4    a1 = 4, BINARY_A = 1    b1 = 1, BINARY_B = 0
//   a[3,4] + b[3,4]     n0 = 12           BINARY_A = 1            BINARY_B = 1
//
// Every byte offset fits an int. Buffers start on multiples of 16 bytes, as OpenCL's do. c may be
// an operand that does not repeat; else it overlaps none.
//
//@define CLAM_F16      off                       store tensors as half
//@define BINARY_OP     sum {sum,difference,product,quotient,larger,smaller}  the operation
//@define BINARY_X      64 {1,2,4,8,16,32,64,128,256}  work-items of a group along n0
//@define BINARY_Y      1 {1,2,4,8,16,32,64,128,256}   and along n1
//@define BINARY_RANK   4 {1,2,3,4}               axes that remain; extents of others are 1
//@define BINARY_A      1 {0,1}                   step of a along n0
//@define BINARY_B      1 {0,1}                   step of b along n0
//@define BINARY_WHOLE  0 {0,1}                   1: n0 is a multiple of 4, nothing is left

//@shared options
#ifndef BINARY_OP
#define BINARY_OP sum
#endif
#ifndef BINARY_X
#define BINARY_X 64
#endif
#if BINARY_X < 1 || BINARY_X > 256 || BINARY_X & (BINARY_X - 1)
#error "binary.cl: BINARY_X must be a power of two from 1 to 256"
#endif
#ifndef BINARY_Y
#define BINARY_Y 1
#endif
#if BINARY_Y < 1 || BINARY_Y > 256 || BINARY_Y & (BINARY_Y - 1)
#error "binary.cl: BINARY_Y must be a power of two from 1 to 256"
#endif
#ifndef BINARY_RANK
#define BINARY_RANK 4
#endif
#if BINARY_RANK < 1 || BINARY_RANK > 4
#error "binary.cl: BINARY_RANK must be 1 to 4"
#endif
#ifndef BINARY_A
#define BINARY_A 1
#endif
#if BINARY_A != 0 && BINARY_A != 1
#error "binary.cl: BINARY_A must be 0 or 1"
#endif
#ifndef BINARY_B
#define BINARY_B 1
#endif
#if BINARY_B != 0 && BINARY_B != 1
#error "binary.cl: BINARY_B must be 0 or 1"
#endif
#ifndef BINARY_WHOLE
#define BINARY_WHOLE 0
#endif
#if BINARY_WHOLE != 0 && BINARY_WHOLE != 1
#error "binary.cl: BINARY_WHOLE must be 0 or 1"
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

#define WHOLE BINARY_WHOLE
#define GROUP __attribute__((reqd_work_group_size(BINARY_X, BINARY_Y, 1)))

// ---- operations: BINARY_OP is the name of one of these ----

float sum(float a, float b) { return a + b; }
float difference(float a, float b) { return a - b; }
float product(float a, float b) { return a * b; }
float quotient(float a, float b) { return a / b; }

// Written so that NaN stays NaN; fmax and fmin would swallow it.
float larger(float a, float b) { return a > b || a != a ? a : b; }
float smaller(float a, float b) { return a < b || a != a ? a : b; }

// ---- memory ----

//@shared some
// `count` elements from byte `at` on; four are a vector.
float4 load_some(__global const T* src, uint at, int count) {
  __global const T* p = (__global const T*)((__global const char*)src + at);
  if (WHOLE || count >= 4) {
    const T4 v = *(__global const T4*)p;
    return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
  }
  float4 v = (float4)(1.0f);
  v.x = (float)p[0];
  if (count > 1) v.y = (float)p[1];
  if (count > 2) v.z = (float)p[2];
  return v;
}

void store_some(float4 v, __global T* dst, uint at, int count) {
  __global T* p = (__global T*)((__global char*)dst + at);
  if (WHOLE || count >= 4) {
    *(__global T4*)p = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
    return;
  }
  p[0] = (T)v.x;
  if (count > 1) p[1] = (T)v.y;
  if (count > 2) p[2] = (T)v.z;
}
//@end

// As load_some; where an operand `repeats`, its one element four times.
float4 load_side(__global const T* src, uint at, int count, int repeats) {
  if (repeats) return (float4)((float)*(__global const T*)((__global const char*)src + at));
  return load_some(src, at, count);
}

// Where an operand's row begins, in elements, for row y of block z of c.
uint row_of(uint y, uint z, int n2, int step1, int step2, int step3) {
  if (BINARY_RANK == 1) return 0;
  if (BINARY_RANK == 2) return y * step1;
  if (BINARY_RANK == 3) return y * step1 + z * step2;
  return y * step1 + z % n2 * step2 + z / n2 * step3;
}

// ---- kernels ----

// An item has four neighbours along n0, as one vector; the last one what is left, one by one.
//@kernel binary_vector
//@arg    0 a  in  T[...]          its extents of [n3,n2,n1,n0]
//@arg    1 b  in  T[...]          the same
//@arg    2 c  out T[n3*n2*n1*n0]  may be a or b, if that does not repeat
//@arg    3 n0 int                 extents of c
//@arg    4 n1 int
//@arg    5 n2 int
//@arg    6 a1 int                 steps of a along n1, n2, n3
//@arg    7 a2 int
//@arg    8 a3 int
//@arg    9 b1 int                 steps of b
//@arg   10 b2 int
//@arg   11 b3 int
//@global ceil(n0/(4*BINARY_X))*BINARY_X, ceil(n1/BINARY_Y)*BINARY_Y, n2*n3
//@local  BINARY_X, BINARY_Y
//@needs  n0 >= 1, n1 >= 1, n2 >= 1, n0 % 4 == 0 || BINARY_WHOLE == 0
//@needs  n0 % 4 == 0 || BINARY_RANK == 1
__kernel GROUP void binary_vector(__global const T* a, __global const T* b, __global T* c, int n0,
                                  int n1, int n2, int a1, int a2, int a3, int b1, int b2, int b3) {
  const uint x = 4 * get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  const int count = n0 - (int)x;
  if (count <= 0 || y >= (uint)n1) return;
  const uint of_a = row_of(y, z, n2, a1, a2, a3) + BINARY_A * x;
  const uint of_b = row_of(y, z, n2, b1, b2, b3) + BINARY_B * x;
  const float4 u = load_side(a, of_a * SIZE, count, !BINARY_A);
  const float4 v = load_side(b, of_b * SIZE, count, !BINARY_B);
  const float4 w =
      (float4)(BINARY_OP(u.x, v.x), BINARY_OP(u.y, v.y), BINARY_OP(u.z, v.z), BINARY_OP(u.w, v.w));
  store_some(w, c, ((z * n1 + y) * n0 + x) * SIZE, count);
}

// An item an element: for rows that do not start on four elements.
//@kernel binary_plain
//@arg    0 a  in  T[...]          its extents of [n3,n2,n1,n0]
//@arg    1 b  in  T[...]          the same
//@arg    2 c  out T[n3*n2*n1*n0]  may be a or b, if that does not repeat
//@arg    3 n0 int                 extents of c
//@arg    4 n1 int
//@arg    5 n2 int
//@arg    6 a1 int                 steps of a along n1, n2, n3
//@arg    7 a2 int
//@arg    8 a3 int
//@arg    9 b1 int                 steps of b
//@arg   10 b2 int
//@arg   11 b3 int
//@global ceil(n0/BINARY_X)*BINARY_X, ceil(n1/BINARY_Y)*BINARY_Y, n2*n3
//@local  BINARY_X, BINARY_Y
//@needs  n0 >= 1, n1 >= 1, n2 >= 1
__kernel GROUP void binary_plain(__global const T* a, __global const T* b, __global T* c, int n0,
                                 int n1, int n2, int a1, int a2, int a3, int b1, int b2, int b3) {
  const uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  if (x >= (uint)n0 || y >= (uint)n1) return;
  const uint of_a = row_of(y, z, n2, a1, a2, a3) + BINARY_A * x;
  const uint of_b = row_of(y, z, n2, b1, b2, b3) + BINARY_B * x;
  c[(z * n1 + y) * n0 + x] = (T)BINARY_OP((float)a[of_a], (float)b[of_b]);
}
