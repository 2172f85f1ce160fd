// SPDX-License-Identifier: MIT
// resize.cl - y = x with other numbers of rows and columns, as ONNX's Resize: nearest or linear
//
// Output i of an axis lies at element (mul * i + add) / den of x, in integers. So no rounding can
// choose another element than the host has in mind. The host takes the whole numbers out. step is
// mul / den and part what that leaves; first is add / den, and add what that leaves.
//
//   place(i) = first + step * i + (part * i + add) / den       0 <= part < den, 0 <= add < den
//
// nearest takes the element of the place rounded down; the host has the other ways of rounding in
// `add`. linear takes that one and the next, with the fraction f: (1 - f) * a + f * b, of columns
// first. Elements outside x are those at its edge.
//
//   resize_repeat   nearest, each element 1, 2, 4 or 8 times along either axis
//   resize_nearest  nearest, any places
//   resize_double   linear, twice the rows and columns, place(i) = i / 2 - 1 / 4
//   resize_linear   linear, any places
//
//   resize_double: an item has four columns of two rows of y, between two rows of x
//     x   row j-1   l     a     b     r          y  row 2j-1  l/4 + 3a/4, 3a/4 + b/4, ...
//         row j     .     .     .     .             row 2j    more of row j of x
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). nearest without
// a residual moves integers: every bit stays. All else is float, rounded once to T.
//
// Every byte offset fits an int. Buffers start on multiples of 16 bytes, as OpenCL's do. y may be
// r; else it overlaps no input.
//
//@define CLAM_F16         off                            store tensors as half
//@define RESIZE_RESIDUAL  0 {0,1}                        r is added
//@define RESIZE_UNIT      4 {1,2,4}                      neighbouring outputs of an item
//@define RESIZE_MAPS      1 {1,2,4,8}                    maps of an item, which share its places
//@define RESIZE_H         2 {1,2,4,8}                    rows of y for one of x, of resize_repeat
//@define RESIZE_W         2 {1,2,4,8}                    columns likewise
//@define RESIZE_LX        16 {1,2,4,8,16,32,64,128,256}  work-items of a group along x
//@define RESIZE_LY        4 {1,2,4,8,16,32,64,128,256}   and along y

//@shared options
#ifndef RESIZE_RESIDUAL
#define RESIZE_RESIDUAL 0
#endif
#if RESIZE_RESIDUAL != 0 && RESIZE_RESIDUAL != 1
#error "resize.cl: RESIZE_RESIDUAL must be 0 or 1"
#endif
#ifndef RESIZE_UNIT
#define RESIZE_UNIT 4
#endif
#if RESIZE_UNIT != 1 && RESIZE_UNIT != 2 && RESIZE_UNIT != 4
#error "resize.cl: RESIZE_UNIT must be 1, 2 or 4"
#endif
#ifndef RESIZE_MAPS
#define RESIZE_MAPS 1
#endif
#if RESIZE_MAPS < 1 || RESIZE_MAPS > 8 || RESIZE_MAPS & (RESIZE_MAPS - 1)
#error "resize.cl: RESIZE_MAPS must be a power of two from 1 to 8"
#endif
#ifndef RESIZE_H
#define RESIZE_H 2
#endif
#if RESIZE_H < 1 || RESIZE_H > 8 || RESIZE_H & (RESIZE_H - 1)
#error "resize.cl: RESIZE_H must be a power of two from 1 to 8"
#endif
#ifndef RESIZE_W
#define RESIZE_W 2
#endif
#if RESIZE_W < 1 || RESIZE_W > 8 || RESIZE_W & (RESIZE_W - 1)
#error "resize.cl: RESIZE_W must be a power of two from 1 to 8"
#endif
#ifndef RESIZE_LX
#define RESIZE_LX 16
#endif
#if RESIZE_LX < 1 || RESIZE_LX > 256 || RESIZE_LX & (RESIZE_LX - 1)
#error "resize.cl: RESIZE_LX must be a power of two from 1 to 256"
#endif
#ifndef RESIZE_LY
#define RESIZE_LY 4
#endif
#if RESIZE_LY < 1 || RESIZE_LY > 256 || RESIZE_LY & (RESIZE_LY - 1)
#error "resize.cl: RESIZE_LY must be a power of two from 1 to 256"
#endif
//@end

#define UNIT RESIZE_UNIT

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

//@shared bits
#ifdef CLAM_F16
typedef ushort Bits;
typedef ushort2 Bits2;
typedef ushort4 Bits4;
#else
typedef uint Bits;
typedef uint2 Bits2;
typedef uint4 Bits4;
#endif
//@end

#ifdef CLAM_F16
#define AS_T as_half
#define AS_BITS as_ushort
#else
#define AS_T as_float
#define AS_BITS as_uint
#endif

#define GROUP __attribute__((reqd_work_group_size(RESIZE_LX, RESIZE_LY, 1)))
// PoCL 3.1 mixes the items' arrays of two elements up; of three it does not.
#define UNITS (UNIT == 2 ? 3 : UNIT)

// ---- memory ----

// A 64-bit base and an unsigned byte offset cost Mali compilers the least.
#define AT(type, p, at) (*(__global type*)((__global char*)(p) + (at)))
#define FROM(type, p, at) (*(__global const type*)((__global const char*)(p) + (at)))

float load1(__global const T* p, uint at) { return (float)FROM(T, p, at); }

// UNIT neighbours from byte `at` on, which is a multiple of their size.
void get_unit(__global const T* p, uint at, Bits* v) {
#if UNIT == 4
  const Bits4 u = FROM(Bits4, p, at);
  v[0] = u.x, v[1] = u.y, v[2] = u.z, v[3] = u.w;
#elif UNIT == 2
  const Bits2 u = FROM(Bits2, p, at);
  v[0] = u.x, v[1] = u.y;
#else
  v[0] = FROM(Bits, p, at);
#endif
}

void put_unit(const Bits* v, __global T* p, uint at) {
#if UNIT == 4
  AT(Bits4, p, at) = (Bits4)(v[0], v[1], v[2], v[3]);
#elif UNIT == 2
  AT(Bits2, p, at) = (Bits2)(v[0], v[1]);
#else
  AT(Bits, p, at) = v[0];
#endif
}

// Numbers are finished: their part of the residual is added, and they are stored.
void finish_numbers(const float* v, __global const T* r, __global T* y, uint at) {
  Bits sums[UNITS], addends[UNITS];
  if (RESIZE_RESIDUAL) get_unit(r, at, addends);
  for (int i = 0; i < UNIT; ++i) {
    sums[i] = AS_BITS((T)(RESIZE_RESIDUAL ? v[i] + (float)AS_T(addends[i]) : v[i]));
  }
  put_unit(sums, y, at);
}

// The same of elements that are only moved where there is no residual.
void finish_bits(const Bits* v, __global const T* r, __global T* y, uint at) {
#if RESIZE_RESIDUAL
  float numbers[UNITS];
  for (int i = 0; i < UNIT; ++i) numbers[i] = (float)AS_T(v[i]);
  finish_numbers(numbers, r, y, at);
#else
  put_unit(v, y, at);
#endif
}

// ---- places ----

typedef struct {
  int extent, step, part, first, add, den;
  float inverse;  // of den
} Axis;

// No struct: Mesa 25's compiler for Mali took one that `next` replaces for zeros.
// The place rounded down, and the rest that the division leaves. By floats the quotient is right but
// for one. Products may overflow: what is left of them fits.
int2 place(int i, Axis axis) {
  const int about =
      (int)fma((float)i, (float)axis.part * axis.inverse, (float)axis.add * axis.inverse);
  const int rest = (int)((uint)axis.part * i + axis.add - (uint)about * axis.den);
  const int off = (rest >= axis.den) - (rest < 0);
  return (int2)(axis.first + axis.step * i + about + off, rest - off * axis.den);
}

// That of the next output.
int2 next(int2 at, Axis axis) {
  const int rest = at.y + axis.part, over = rest >= axis.den;
  return (int2)(at.x + axis.step + over, over ? rest - axis.den : rest);
}

// The byte offset of an element of a row, or of a row of so many bytes.
uint inside(int i, int extent, uint size) { return clamp(i, 0, extent - 1) * size; }

// ---- nearest ----

// An item has UNIT columns of y, and all rows that are one row of x.
//@kernel resize_repeat
//@arg    0 x  in  T[maps*h*w]
//@arg    1 r  in  T[maps*h*RESIZE_H*w*RESIZE_W]
//@arg    2 y  out T[maps*h*RESIZE_H*w*RESIZE_W]  may be r
//@arg    3 h  int
//@arg    4 w  int
//@null   r if RESIZE_RESIDUAL==0
//@global ceil(w*RESIZE_W/RESIZE_UNIT/RESIZE_LX)*RESIZE_LX, ceil(h/RESIZE_LY)*RESIZE_LY, maps
//@local  RESIZE_LX, RESIZE_LY
//@needs  h >= 1, w >= 1, w * RESIZE_W % RESIZE_UNIT == 0
__kernel GROUP void resize_repeat(__global const T* x, __global const T* r, __global T* y, int h,
                                  int w) {
  const uint column = get_global_id(0) * UNIT, row = get_global_id(1), map = get_global_id(2);
  const uint ow = w * RESIZE_W;
  if (column >= ow || row >= (uint)h) return;
  const uint line = map * h + row, from = (line * w + column / RESIZE_W) * SIZE;
  Bits v[UNITS];
#if UNIT / RESIZE_W == 4
  get_unit(x, from, v);
#elif UNIT / RESIZE_W == 2
  const Bits2 pair = FROM(Bits2, x, from);
  for (int i = 0; i < UNIT; ++i) v[i] = i < UNIT / 2 ? pair.x : pair.y;
#else
  const Bits one = FROM(Bits, x, from);
  for (int i = 0; i < UNIT; ++i) v[i] = one;
#endif
  uint to = (line * RESIZE_H * ow + column) * SIZE;
  for (int i = 0; i < RESIZE_H; ++i, to += ow * SIZE) finish_bits(v, r, y, to);
}

// An item has UNIT columns of a row of y, in RESIZE_MAPS maps.
//@kernel resize_nearest
//@arg    0  x         in  T[maps*h*w]
//@arg    1  r         in  T[maps*oh*ow]
//@arg    2  y         out T[maps*oh*ow]  may be r
//@arg    3  oh        int
//@arg    4  ow        int
//@arg    5  h         int                rows of x, and their places
//@arg    6  step_h    int
//@arg    7  part_h    int
//@arg    8  first_h   int
//@arg    9  add_h     int
//@arg    10 den_h     int
//@arg    11 inverse_h float              1 / den_h
//@arg    12 w         int                columns likewise
//@arg    13 step_w    int
//@arg    14 part_w    int
//@arg    15 first_w   int
//@arg    16 add_w     int
//@arg    17 den_w     int
//@arg    18 inverse_w float
//@null   r if RESIZE_RESIDUAL==0
//@global ceil(ow/RESIZE_UNIT/RESIZE_LX)*RESIZE_LX, ceil(oh/RESIZE_LY)*RESIZE_LY, maps/RESIZE_MAPS
//@local  RESIZE_LX, RESIZE_LY
//@needs  h >= 1, w >= 1, oh >= 1, ow >= 1, ow % RESIZE_UNIT == 0, maps % RESIZE_MAPS == 0
//@needs  h, w, oh and ow up to 2^20, den_h and den_w below 2^30
__kernel GROUP void resize_nearest(__global const T* x, __global const T* r, __global T* y, int oh,
                                   int ow, int h, int step_h, int part_h, int first_h, int add_h,
                                   int den_h, float inverse_h, int w, int step_w, int part_w,
                                   int first_w, int add_w, int den_w, float inverse_w) {
  const Axis rows = {h, step_h, part_h, first_h, add_h, den_h, inverse_h};
  const Axis columns = {w, step_w, part_w, first_w, add_w, den_w, inverse_w};
  const int ox = get_global_id(0) * UNIT, oy = get_global_id(1);
  const uint map = get_global_id(2) * RESIZE_MAPS;
  if (ox >= ow || oy >= oh) return;
  const uint row = inside(place(oy, rows).x, h, w * SIZE);
  uint from[UNITS];
  int2 at = place(ox, columns);
  for (int i = 0; i < UNIT; ++i, at = next(at, columns)) from[i] = row + inside(at.x, w, SIZE);
  for (int j = 0; j < RESIZE_MAPS; ++j) {
    Bits v[UNITS];
    for (int i = 0; i < UNIT; ++i) v[i] = FROM(Bits, x, (map + j) * h * w * SIZE + from[i]);
    finish_bits(v, r, y, (((map + j) * oh + oy) * ow + ox) * SIZE);
  }
}

// ---- linear ----

float between(float a, float b, float f) { return fma(f, b, (1.0f - f) * a); }

#define COLUMNS (UNIT / 2)  // of x, of an item

// UNIT columns, of COLUMNS of x and the ones to their left and right.
void widen(__global const T* x, uint row, uint left, uint middle, uint right, float* v) {
  float e[4];
  e[0] = load1(x, row + left);
#if UNIT == 4
  const Bits2 pair = FROM(Bits2, x, row + middle);
  e[1] = (float)AS_T(pair.x), e[2] = (float)AS_T(pair.y);
#else
  e[1] = load1(x, row + middle);
#endif
  e[COLUMNS + 1] = load1(x, row + right);
  for (int i = 0; i < COLUMNS; ++i) {
    v[2 * i] = between(e[i], e[i + 1], 0.75f);
    v[2 * i + 1] = between(e[i + 1], e[i + 2], 0.25f);
  }
}

// Row j of items has rows 2j-1 and 2j of y; there is a row j = h.
//@kernel resize_double
//@arg    0 x  in  T[maps*h*w]
//@arg    1 r  in  T[maps*4*h*w]
//@arg    2 y  out T[maps*4*h*w]  may be r
//@arg    3 h  int
//@arg    4 w  int
//@null   r if RESIZE_RESIDUAL==0
//@global ceil(2*w/RESIZE_UNIT/RESIZE_LX)*RESIZE_LX, ceil((h+1)/RESIZE_LY)*RESIZE_LY, maps
//@local  RESIZE_LX, RESIZE_LY
//@needs  h >= 1, w >= 1, RESIZE_UNIT >= 2, 2 * w % RESIZE_UNIT == 0
__kernel GROUP void resize_double(__global const T* x, __global const T* r, __global T* y, int h,
                                  int w) {
  const int column = get_global_id(0) * COLUMNS, j = get_global_id(1);
  const uint map = get_global_id(2);
  if (column >= w || j > h) return;
  const uint first = map * h * w * SIZE;
  const uint left = inside(column - 1, w, SIZE), right = inside(column + COLUMNS, w, SIZE);
  float above[UNITS], below[UNITS], v[UNITS];
  widen(x, first + inside(j - 1, h, w * SIZE), left, column * SIZE, right, above);
  widen(x, first + inside(j, h, w * SIZE), left, column * SIZE, right, below);
  const uint to = (((map * h + j) * 2 - 1) * (2 * w) + 2 * column) * SIZE;
  if (j > 0) {
    for (int i = 0; i < UNIT; ++i) v[i] = between(above[i], below[i], 0.25f);
    finish_numbers(v, r, y, to);
  }
  if (j < h) {
    for (int i = 0; i < UNIT; ++i) v[i] = between(above[i], below[i], 0.75f);
    finish_numbers(v, r, y, to + 2 * w * SIZE);
  }
}

// As resize_nearest.
//@kernel resize_linear
//@arg    0  x         in  T[maps*h*w]
//@arg    1  r         in  T[maps*oh*ow]
//@arg    2  y         out T[maps*oh*ow]  may be r
//@arg    3  oh        int
//@arg    4  ow        int
//@arg    5  h         int                rows of x, and their places
//@arg    6  step_h    int
//@arg    7  part_h    int
//@arg    8  first_h   int
//@arg    9  add_h     int
//@arg    10 den_h     int
//@arg    11 inverse_h float              1 / den_h
//@arg    12 w         int                columns likewise
//@arg    13 step_w    int
//@arg    14 part_w    int
//@arg    15 first_w   int
//@arg    16 add_w     int
//@arg    17 den_w     int
//@arg    18 inverse_w float
//@null   r if RESIZE_RESIDUAL==0
//@global ceil(ow/RESIZE_UNIT/RESIZE_LX)*RESIZE_LX, ceil(oh/RESIZE_LY)*RESIZE_LY, maps/RESIZE_MAPS
//@local  RESIZE_LX, RESIZE_LY
//@needs  h >= 1, w >= 1, oh >= 1, ow >= 1, ow % RESIZE_UNIT == 0, maps % RESIZE_MAPS == 0
//@needs  h, w, oh and ow up to 2^20, den_h and den_w below 2^30
__kernel GROUP void resize_linear(__global const T* x, __global const T* r, __global T* y, int oh,
                                  int ow, int h, int step_h, int part_h, int first_h, int add_h,
                                  int den_h, float inverse_h, int w, int step_w, int part_w,
                                  int first_w, int add_w, int den_w, float inverse_w) {
  const Axis rows = {h, step_h, part_h, first_h, add_h, den_h, inverse_h};
  const Axis columns = {w, step_w, part_w, first_w, add_w, den_w, inverse_w};
  const int ox = get_global_id(0) * UNIT, oy = get_global_id(1);
  const uint map = get_global_id(2) * RESIZE_MAPS;
  if (ox >= ow || oy >= oh) return;
  const int2 down = place(oy, rows);
  const uint above = inside(down.x, h, w * SIZE), below = inside(down.x + 1, h, w * SIZE);
  const float fy = (float)down.y * inverse_h;
  uint left[UNITS], right[UNITS];
  float fx[UNITS];
  int2 at = place(ox, columns);
  for (int i = 0; i < UNIT; ++i, at = next(at, columns)) {
    left[i] = inside(at.x, w, SIZE);
    right[i] = inside(at.x + 1, w, SIZE);
    fx[i] = (float)at.y * inverse_w;
  }
  for (int j = 0; j < RESIZE_MAPS; ++j) {
    const uint first = (map + j) * h * w * SIZE, a = first + above, b = first + below;
    float v[UNITS];
    for (int i = 0; i < UNIT; ++i) {
      const float top = between(load1(x, a + left[i]), load1(x, a + right[i]), fx[i]);
      v[i] = between(top, between(load1(x, b + left[i]), load1(x, b + right[i]), fx[i]), fy);
    }
    finish_numbers(v, r, y, (((map + j) * oh + oy) * ow + ox) * SIZE);
  }
}
