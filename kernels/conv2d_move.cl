// SPDX-License-Identifier: MIT
// conv2d_move.cl - the planes that conv2d_product multiplies
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Elements are
// copied. What lies outside x is zero.
//
//   conv2d_move_rows   a plane for each input channel and each column of the filter: rows of x,
//                      moved by the column. The rows of the filter are taps of conv2d_product.
//   conv2d_move_maps   a plane for each input channel and each tap of the filter: all maps of y
//
// A work-item moves the same 4 pixels of several channels.
//
//@define CLAM_F16   off  store tensors as half
//@define CONV2D_LX  16 {1,2,4,8,16,32,64,128,256}  work-items of a group along the pixels
//@define CONV2D_LY  4 {1,2,4,8,16,32,64,128,256}   work-items of a group along the channels

//@shared options
#ifndef CONV2D_LX
#define CONV2D_LX 16
#endif
#if CONV2D_LX < 1 || CONV2D_LX > 256 || CONV2D_LX & (CONV2D_LX - 1)
#error "conv2d_move.cl: CONV2D_LX must be a power of two from 1 to 256"
#endif
#ifndef CONV2D_LY
#define CONV2D_LY 4
#endif
#if CONV2D_LY < 1 || CONV2D_LY > 256 || CONV2D_LY & (CONV2D_LY - 1)
#error "conv2d_move.cl: CONV2D_LY must be a power of two from 1 to 256"
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

#define GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, 1)))

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

// Moves four pixels of `channels` maps of x, which are `map` bytes long, from bytes `at` on, to p,
// whose channels are `plane` bytes long. Pixels that are not `inside` become zero.
void move_pixels(__global const char* x, uint map, uint4 at, int4 inside, __global char* p,
                 uint plane, int channels) {
  at = inside ? at : (uint4)(0);
  for (int i = 0; i < channels; ++i) {
    const T a = *(__global const T*)(x + at.x), b = *(__global const T*)(x + at.y);
    const T c = *(__global const T*)(x + at.z), d = *(__global const T*)(x + at.w);
    *(__global T4*)p = (T4)(inside.x ? a : (T)0, inside.y ? b : (T)0, inside.z ? c : (T)0,
                            inside.w ? d : (T)0);
    x += map;
    p += plane;
  }
}

int4 is_inside(int4 i, int extent) { return i >= 0 && i < extent; }

// One work-item for a vector of a row, and `each` channels. Row i of a plane is row
// i%lines*stride_h + i/lines of x with its padding.
//@kernel conv2d_move_rows
//@arg    0  x           in   T[n*c*h*w]
//@arg    1  p           out  T[n*c*columns*phases*lines*pitch*4]
//@layout p[n][c][s][phase][line][ox] = x[n][c][line*phases + phase - pad_t][ox*stride_w + s*dilation_w - pad_l]
//@arg    2  c           int  input channels
//@arg    3  h           int  rows of x
//@arg    4  w           int  columns of x
//@arg    5  columns     int  columns of the filter
//@arg    6  phases      int  rows from a row of y to the next
//@arg    7  lines       int  rows of a phase
//@arg    8  pitch       int  vectors of 4 pixels in a row of a plane
//@arg    9  stride_w    int
//@arg    10 dilation_w  int
//@arg    11 pad_t       int  rows of padding above x
//@arg    12 pad_l       int  columns of padding left of x
//@arg    13 each        int  channels of a work-item
//@global ceil(phases*lines*pitch/CONV2D_LX)*CONV2D_LX ceil(ceil(c/each)*columns/CONV2D_LY)*CONV2D_LY n
//@local  CONV2D_LX CONV2D_LY 1
//@needs  c >= 1, h >= 1, w >= 1, columns >= 1, phases >= 1, lines >= 1, pitch >= 1, each >= 1
__kernel GROUP void conv2d_move_rows(__global const T* x, __global T* p, int c, int h, int w,
                                     int columns, int phases, int lines, int pitch, int stride_w,
                                     int dilation_w, int pad_t, int pad_l, int each) {
  const int own = get_global_id(0), rows = phases * lines, n = get_global_id(2);
  const int block = divide(get_global_id(1), columns), s = (int)get_global_id(1) - block * columns;
  const int row = divide(own, pitch), phase = divide(row, lines), first = block * each;
  if (row >= rows || first >= c) return;
  const int iy = (row - phase * lines) * phases + phase - pad_t;
  const int4 ox = 4 * (own - row * pitch) + (int4)(0, 1, 2, 3);
  const int4 ix = ox * stride_w + (s * dilation_w - pad_l);
  const int4 inside = is_inside(ix, w) && (int4)(-(iy >= 0 && iy < h));
  const uint map = h * w * SIZE, plane = rows * pitch * 4 * SIZE;
  move_pixels((__global const char*)(x + (n * c + first) * h * w), map,
              as_uint4(iy * w + ix) * SIZE, inside,
              (__global char*)(p + (((n * c + first) * columns + s) * rows * pitch + own) * 4),
              columns * plane, min(each, c - first));
}

// One work-item for a vector of a plane, and `each` channels. The maps of all images lie in a plane
// one after another, each as whole vectors.
//@kernel conv2d_move_maps
//@arg    0  x           in   T[n*c*h*w]
//@arg    1  p           out  T[c*rows*columns*plane]  behind the maps nothing is written
//@layout p[((c*rows + r)*columns + s)*plane + n*pitch*4 + oy*ow + ox] = x[n][c][oy*stride_h + r*dilation_h - pad_t][ox*stride_w + s*dilation_w - pad_l]
//@arg    2  c           int  input channels
//@arg    3  h           int  rows of x
//@arg    4  w           int  columns of x
//@arg    5  rows        int  rows of the filter
//@arg    6  columns     int  columns of the filter
//@arg    7  ow          int  columns of y
//@arg    8  pitch       int  vectors of 4 pixels in a map of a plane
//@arg    9  stride_h    int
//@arg    10 stride_w    int
//@arg    11 dilation_h  int
//@arg    12 dilation_w  int
//@arg    13 pad_t       int  rows of padding above x
//@arg    14 pad_l       int  columns of padding left of x
//@arg    15 each        int  channels of a work-item
//@arg    16 plane       int  elements from a plane to the next
//@global ceil(pitch/CONV2D_LX)*CONV2D_LX ceil(ceil(c/each)*rows*columns/CONV2D_LY)*CONV2D_LY n
//@local  CONV2D_LX CONV2D_LY 1
//@needs  c >= 1, h >= 1, w >= 1, rows >= 1, columns >= 1, ow >= 1, pitch >= 1, each >= 1
//@needs  plane >= n*pitch*4, plane % 4 == 0
__kernel GROUP void conv2d_move_maps(__global const T* x, __global T* p, int c, int h, int w,
                                     int rows, int columns, int ow, int pitch, int stride_h,
                                     int stride_w, int dilation_h, int dilation_w, int pad_t,
                                     int pad_l, int each, int plane) {
  const int own = get_global_id(0), n = get_global_id(2), taps = rows * columns;
  const int block = divide(get_global_id(1), taps), t = (int)get_global_id(1) - block * taps;
  const int first = block * each;
  if (own >= pitch || first >= c) return;
  const int i = divide(t, columns), j = t - i * columns;
  int4 oy, ox;
  oy.x = divide(4 * own, ow);
  ox.x = 4 * own - oy.x * ow;
#define STEP(from, to)                \
  ox.to = ox.from + 1;                \
  oy.to = oy.from + (ox.to == ow);    \
  ox.to = ox.to == ow ? 0 : ox.to;
  STEP(x, y) STEP(y, z) STEP(z, w)
  const int4 iy = oy * stride_h + (i * dilation_h - pad_t);
  const int4 ix = ox * stride_w + (j * dilation_w - pad_l);
  const int4 inside = is_inside(ix, w) && is_inside(iy, h);
  const uint map = h * w * SIZE, bytes = plane * SIZE;
  move_pixels((__global const char*)(x + (n * c + first) * h * w), map,
              as_uint4(iy * w + ix) * SIZE, inside,
              (__global char*)p + (first * taps + t) * bytes + (n * pitch + own) * 4 * SIZE,
              taps * bytes, min(each, c - first));
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops conv2d_move_rows
//@loop   min(each,c-(ceil(c/each)-1)*each)..min(each,c)  over the channels

//@loops conv2d_move_maps
//@loop   min(each,c-(ceil(c/each)-1)*each)..min(each,c)  over the channels
