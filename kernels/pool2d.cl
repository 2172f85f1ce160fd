// SPDX-License-Identifier: MIT
// pool2d.cl - y = the mean, or the largest, of the elements of a window of x
//
//   y[n,c,oy,ox] = mean or max over r, s of x[n,c,iy,ix]      layout nchw; nhwc: x[n,iy,ix,c]
//   iy = oy * stride_h - pad_t + r,  ix = ox * stride_w - pad_l + s
//
// Elements outside x are left out. A mean is over those inside. Where the caller gives its scale,
// it is over all of the window, and padding counts as zeros. With POOL2D_COUNT 2 it is over what
// lies in x or its pads: windows may reach beyond both. Every window has an element inside: pads
// are smaller than the window, and it begins no later than x ends.
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Sums are float
// from the first element to the last and rounded to T once. A window that holds a NaN gives NaN; of
// -0 and +0 the largest may be either.
//
//   kernel               windows             what lies side by side for the lanes
//   pool2d_global        all of an nchw map  elements of the map, as aligned vectors
//   pool2d_run           up to 7 x 7, nchw   outputs of a row; an item has a column of them
//   pool2d_window        any, nchw           outputs of a row
//   pool2d_nhwc          any, nhwc           channels, as vectors
//   pool2d_nhwc_global   all of an nhwc map  channels, as vectors
//
// Every byte offset fits an int. Buffers start on multiples of 16 bytes, as OpenCL's do.
//
//@define CLAM_F16       off                        store tensors as half
//@define POOL2D_MAX     0 {0,1}                    the largest element; else the mean
//@define POOL2D_COUNT   0 {0,1,2}                  divide by elements in x (1), or in it and its pads (2)
//@define POOL2D_UNIT    1 {1,4}                    channels of an item, where they lie side by side
//@define POOL2D_LANES   16 {4,8,16,32,64,128,256}  work-items that share a map
//@define POOL2D_MAPS    4 {1,2,4,8,16,32,64}       maps of a group, in nhwc units of channels
//@define POOL2D_R       3 {1,2,3,4,5,6,7}          rows of a window, for pool2d_run
//@define POOL2D_S       3 {1,2,3,4,5,6,7}          columns
//@define POOL2D_STRIDE  1 {1,2,3,4}                rows of x from an output to the next
//@define POOL2D_RUN     4 {1,2,4}                  outputs of an item, one below the other
//@define POOL2D_PAD     1 {0,1}                    windows may reach over the sides of x
//@define POOL2D_LX      16 {1,2,4,8,16,32,64,128,256}  work-items of a group along x
//@define POOL2D_LY      4 {1,2,4,8,16,32,64,128,256}  and along y, for windows

//@shared options
#ifndef POOL2D_MAX
#define POOL2D_MAX 0
#endif
#if POOL2D_MAX != 0 && POOL2D_MAX != 1
#error "pool2d.cl: POOL2D_MAX must be 0 or 1"
#endif
#ifndef POOL2D_COUNT
#define POOL2D_COUNT 0
#endif
#if POOL2D_COUNT != 0 && POOL2D_COUNT != 1 && POOL2D_COUNT != 2
#error "pool2d.cl: POOL2D_COUNT must be 0, 1 or 2"
#endif
#ifndef POOL2D_UNIT
#define POOL2D_UNIT 1
#endif
#if POOL2D_UNIT != 1 && POOL2D_UNIT != 4
#error "pool2d.cl: POOL2D_UNIT must be 1 or 4"
#endif
#ifndef POOL2D_LANES
#define POOL2D_LANES 16
#endif
#if POOL2D_LANES < 4 || POOL2D_LANES > 256 || POOL2D_LANES & (POOL2D_LANES - 1)
#error "pool2d.cl: POOL2D_LANES must be a power of two from 4 to 256"
#endif
#ifndef POOL2D_MAPS
#define POOL2D_MAPS 4
#endif
#if POOL2D_MAPS < 1 || POOL2D_MAPS > 64 || POOL2D_MAPS & (POOL2D_MAPS - 1)
#error "pool2d.cl: POOL2D_MAPS must be a power of two from 1 to 64"
#endif
#ifndef POOL2D_R
#define POOL2D_R 3
#endif
#if POOL2D_R < 1 || POOL2D_R > 7
#error "pool2d.cl: POOL2D_R must be 1 to 7"
#endif
#ifndef POOL2D_S
#define POOL2D_S 3
#endif
#if POOL2D_S < 1 || POOL2D_S > 7
#error "pool2d.cl: POOL2D_S must be 1 to 7"
#endif
#ifndef POOL2D_STRIDE
#define POOL2D_STRIDE 1
#endif
#if POOL2D_STRIDE < 1 || POOL2D_STRIDE > 4
#error "pool2d.cl: POOL2D_STRIDE must be 1 to 4"
#endif
#ifndef POOL2D_RUN
#define POOL2D_RUN 4
#endif
#if POOL2D_RUN != 1 && POOL2D_RUN != 2 && POOL2D_RUN != 4
#error "pool2d.cl: POOL2D_RUN must be 1, 2 or 4"
#endif
#ifndef POOL2D_PAD
#define POOL2D_PAD 1
#endif
#if POOL2D_PAD != 0 && POOL2D_PAD != 1
#error "pool2d.cl: POOL2D_PAD must be 0 or 1"
#endif
#ifndef POOL2D_LX
#define POOL2D_LX 16
#endif
#if POOL2D_LX < 1 || POOL2D_LX > 256 || POOL2D_LX & (POOL2D_LX - 1)
#error "pool2d.cl: POOL2D_LX must be a power of two from 1 to 256"
#endif
#ifndef POOL2D_LY
#define POOL2D_LY 4
#endif
#if POOL2D_LY < 1 || POOL2D_LY > 256 || POOL2D_LY & (POOL2D_LY - 1)
#error "pool2d.cl: POOL2D_LY must be a power of two from 1 to 256"
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

#define UNIT POOL2D_UNIT

// Of numbers or of vectors. A comparison with NaN is false, so a NaN stays once it is there.
#if POOL2D_MAX
#define START (-INFINITY)
#define MERGE(a, b) select(a, b, ((b) > (a)) | ((b) != (b)))
#else
#define START 0.0f
#define MERGE(a, b) ((a) + (b))
#endif

#define MAP_GROUP __attribute__((reqd_work_group_size(POOL2D_LANES, POOL2D_MAPS, 1)))
#define CHANNEL_GROUP __attribute__((reqd_work_group_size(POOL2D_MAPS, POOL2D_LANES, 1)))
#define WINDOW_GROUP __attribute__((reqd_work_group_size(POOL2D_LX, POOL2D_LY, 1)))

// ---- memory ----

//@shared load_and_store
// A 64-bit base and an unsigned byte offset cost Mali compilers the least.
float load1(__global const T* p, uint at) {
  return (float)*(__global const T*)((__global const char*)p + at);
}

float4 load4(__global const T* p, uint at) {
  const T4 v = *(__global const T4*)((__global const char*)p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store1(float v, __global T* p, uint at) { *(__global T*)((__global char*)p + at) = (T)v; }

void store4(float4 v, __global T* p, uint at) {
  *(__global T4*)((__global char*)p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}

#if UNIT == 4
typedef float4 Unit;
#define LOAD load4
#define STORE store4
#else
typedef float Unit;
#define LOAD load1
#define STORE store1
#endif
//@end

// ---- from the elements to the output ----

// Not v.x + v.y + ...: of that LLVM makes shuffles that end the simulator Oclgrind 21.10.
float merge4(float4 v) {
#if POOL2D_MAX
  const float a = MERGE(v.x, v.y), b = MERGE(v.z, v.w);
  return MERGE(a, b);
#else
  return dot(v, (float4)(1.0f));
#endif
}

// Of a number or a vector. `inside`: elements of the window that a mean divides by.
#if POOL2D_MAX
#define FINISH(all, inside) (all)
#elif POOL2D_COUNT
#define FINISH(all, inside) ((all) / (float)(inside))
#else
#define FINISH(all, inside) ((all) * scale)
#endif

// ---- whole maps ----

#define LANES POOL2D_LANES
#define TERM(v) (v)

//@shared merge_lanes
// What lane `lane` has of n elements from number `first` on, which may start anywhere. Up to three
// before the first aligned vector, and up to three behind the last, are single ones.
float merge_piece(__global const T* x, uint first, uint n, uint lane) {
  const uint head = min(-first & 3, n), vectors = (n - head) / 4;
  const uint tail = n - head - vectors * 4, body = (first + head) * SIZE;
  float4 all = (float4)(START);
  for (uint i = lane; i < vectors; i += LANES) {
    const float4 v = load4(x, body + i * (4 * SIZE));
    all = MERGE(all, TERM(v));
  }
  float own = merge4(all);
  if (lane < head) {
    const float v = load1(x, (first + lane) * SIZE);
    own = MERGE(own, TERM(v));
  }
  if (lane < tail) {
    const float v = load1(x, body + (vectors * 4 + lane) * SIZE);
    own = MERGE(own, TERM(v));
  }
  return own;
}

// What the LANES items of a row have found, merged. `row` is the row's number in the group. All
// items of the group must call it.
float merge_lanes(float own, __local float4* partials, uint row, uint lane) {
  ((__local float*)partials)[row * LANES + lane] = own;
  barrier(CLK_LOCAL_MEM_FENCE);  // every lane's result is there
  __local const float4* of_row = partials + row * (LANES / 4);
  float4 merged = of_row[0];
  for (int i = 1; i < LANES / 4; ++i) {
    const float4 v = of_row[i];
    merged = MERGE(merged, v);
  }
  return merge4(merged);
}
//@end

// Lanes along a map, which may start anywhere.
//
//   map      . a a a A A A A B B B B C C C C D D D D E E E E z .      LANES = 4
//   lane       0 1 2 0....... 1...... 2...... 3...... 0...... 0
//@kernel pool2d_global
//@arg    0 x     in  T[maps*n]
//@arg    1 y     out T[maps]
//@arg    2 maps  int            images * channels
//@arg    3 n     int            elements of a map
//@arg    4 scale float          1/n; not used with POOL2D_MAX
//@global POOL2D_LANES, ceil(maps/POOL2D_MAPS)*POOL2D_MAPS
//@local  POOL2D_LANES, POOL2D_MAPS
//@needs  maps >= 1, n >= 1, POOL2D_COUNT == 0
__kernel MAP_GROUP void pool2d_global(__global const T* x, __global T* y, int maps, int n,
                                      float scale) {
  __local float4 partials[POOL2D_LANES * POOL2D_MAPS / 4];
  const uint lane = get_local_id(0), row = get_local_id(1), map = get_global_id(1);
  // Maps of a group past the last one are the last one again, and are not stored.
  const uint first = min(map, (uint)maps - 1) * n;
  const float own = merge_piece(x, first, n, lane);
  const float all = merge_lanes(own, partials, row, lane);
  if (lane == 0 && map < (uint)maps) store1(FINISH(all, n), y, map * SIZE);
}

// Items side by side along the channels, lanes down the map.
//@kernel pool2d_nhwc_global
//@arg    0 x        in  T[images*n*channels]
//@arg    1 y        out T[images*channels]
//@arg    2 n        int                       pixels of a map
//@arg    3 channels int
//@arg    4 scale    float                     1/n; not used with POOL2D_MAX
//@global ceil(channels/POOL2D_UNIT/POOL2D_MAPS)*POOL2D_MAPS, POOL2D_LANES, images
//@local  POOL2D_MAPS, POOL2D_LANES
//@needs  n >= 1, channels >= 1, channels % POOL2D_UNIT == 0, POOL2D_COUNT == 0
__kernel CHANNEL_GROUP void pool2d_nhwc_global(__global const T* x, __global T* y, int n,
                                               int channels, float scale) {
  __local Unit partials[POOL2D_LANES * POOL2D_MAPS];
  const uint column = get_global_id(0), own_column = get_local_id(0), lane = get_local_id(1);
  const uint units = channels / POOL2D_UNIT, image = get_global_id(2);
  // Columns past the last one are the last one again, and are not stored.
  const uint at = min(column, units - 1) * POOL2D_UNIT, step = POOL2D_LANES * channels * SIZE;
  uint from = ((image * n + lane) * channels + at) * SIZE;
  Unit all = (Unit)(START);
  for (uint i = lane; i < (uint)n; i += POOL2D_LANES, from += step) {
    const Unit v = LOAD(x, from);
    all = MERGE(all, v);
  }
  partials[lane * POOL2D_MAPS + own_column] = all;
  barrier(CLK_LOCAL_MEM_FENCE);  // every lane's result is there
  Unit merged = partials[own_column];
  for (int i = 1; i < POOL2D_LANES; ++i) {
    const Unit v = partials[i * POOL2D_MAPS + own_column];
    merged = MERGE(merged, v);
  }
  if (lane == 0 && column < units) {
    STORE(FINISH(merged, n), y, (image * channels + at) * SIZE);
  }
}

// ---- windows of up to 7 x 7 ----

#define ROWS ((POOL2D_RUN - 1) * POOL2D_STRIDE + POOL2D_R)  // of x that an item reads
// PoCL 3.1 mixes the items' arrays of two floats up; of three it does not.
#define AT_LEAST_3(n) ((n) == 2 ? 3 : (n))

// The elements of a row of x at the byte offsets across[0..S-1]; those outside are left out.
float merge_row(__global const T* x, uint row, const uint* across, const int* inside) {
  float all = START;
  for (int s = 0; s < POOL2D_S; ++s) {
    const float v = load1(x, row + across[s]);
#if POOL2D_MAX || !POOL2D_PAD
    all = MERGE(all, v);  // an element moved back into x is one of the window all the same
#else
    all += inside[s] ? v : 0.0f;
#endif
  }
  return all;
}

int count_inside(int first, int taps, int extent) {
  return min(first + taps, extent) - max(first, 0);
}

// Of those that a mean divides by; x ends with its pads at `end`.
int count_taps(int first, int taps, int extent, int end) {
  return POOL2D_COUNT == 2 ? min(first + taps, end) - first : count_inside(first, taps, extent);
}

// A column of POOL2D_RUN outputs an item, so that a row of x is read once for all windows that it
// is part of. What lies outside x is read at its edge.
//@kernel pool2d_run
//@arg    0  x        in  T[maps*h*w]
//@arg    1  y        out T[maps*oh*ow]
//@arg    2  h        int
//@arg    3  w        int
//@arg    4  oh       int
//@arg    5  ow       int
//@arg    6  stride_w int
//@arg    7  pad_t    int
//@arg    8  pad_l    int
//@arg    9  h_end    int                h and the pad below; for POOL2D_COUNT == 2
//@arg    10 w_end    int                w and the pad on the right
//@arg    11 scale    float              of a mean without POOL2D_COUNT
//@global ceil(ow/POOL2D_LX)*POOL2D_LX, ceil(ceil(oh/POOL2D_RUN)/POOL2D_LY)*POOL2D_LY, maps
//@local  POOL2D_LX, POOL2D_LY
//@needs  h >= 1, w >= 1, oh >= 1, ow >= 1, pad_t < POOL2D_R, pad_l < POOL2D_S
//@needs  POOL2D_PAD == 1 or every window inside x
__kernel WINDOW_GROUP void pool2d_run(__global const T* x, __global T* y, int h, int w, int oh,
                                      int ow, int stride_w, int pad_t, int pad_l, int h_end,
                                      int w_end, float scale) {
  const int ox = get_global_id(0), first_oy = get_global_id(1) * POOL2D_RUN;
  const uint map = get_global_id(2);
  if (ox >= ow || first_oy >= oh) return;
  const int left = ox * stride_w - pad_l, top = first_oy * POOL2D_STRIDE - pad_t;
  uint across[AT_LEAST_3(POOL2D_S)];
  int inside[AT_LEAST_3(POOL2D_S)];
  for (int s = 0; s < POOL2D_S; ++s) {
    const int ix = POOL2D_PAD ? clamp(left + s, 0, w - 1) : left + s;
    inside[s] = ix == left + s;
    across[s] = ix * SIZE;
  }
  float all[AT_LEAST_3(POOL2D_RUN)];
  for (int j = 0; j < POOL2D_RUN; ++j) all[j] = START;
  for (int i = 0; i < ROWS; ++i) {
    // Rows of outputs past the last one are moved back into x too.
    const int iy = POOL2D_PAD ? clamp(top + i, 0, h - 1) : min(top + i, h - 1);
    float row = merge_row(x, (map * h + iy) * w * SIZE, across, inside);
    if (!POOL2D_MAX && POOL2D_PAD) row = iy == top + i ? row : 0.0f;
    for (int j = 0; j < POOL2D_RUN; ++j) {
      if (i >= j * POOL2D_STRIDE && i < j * POOL2D_STRIDE + POOL2D_R) all[j] = MERGE(all[j], row);
    }
  }
  const int columns = count_taps(left, POOL2D_S, w, w_end);
  for (int j = 0; j < POOL2D_RUN; ++j) {
    const int rows = count_taps(top + j * POOL2D_STRIDE, POOL2D_R, h, h_end);
    const uint at = ((map * oh + first_oy + j) * ow + ox) * SIZE;
    if (first_oy + j < oh) store1(FINISH(all[j], rows * columns), y, at);
  }
}

// ---- any window ----

// rows x columns elements from `at` on, which lie in x.
Unit merge_window(__global const T* x, uint at, int rows, int columns, uint down, uint across) {
  Unit all = (Unit)(START);
  for (int r = 0; r < rows; ++r, at += down) {
    uint from = at;
    for (int s = 0; s < columns; ++s, from += across) {
      const Unit v = LOAD(x, from);
      all = MERGE(all, v);
    }
  }
  return all;
}

// One output an item.
//@kernel pool2d_window
//@arg    0  x        in  T[maps*h*w]
//@arg    1  y        out T[maps*oh*ow]
//@arg    2  h        int
//@arg    3  w        int
//@arg    4  r        int                rows of a window
//@arg    5  s        int                columns
//@arg    6  oh       int
//@arg    7  ow       int
//@arg    8  stride_h int
//@arg    9  stride_w int
//@arg    10 pad_t    int
//@arg    11 pad_l    int
//@arg    12 h_end    int                h and the pad below; for POOL2D_COUNT == 2
//@arg    13 w_end    int                w and the pad on the right
//@arg    14 scale    float              of a mean without POOL2D_COUNT
//@global ceil(ow/POOL2D_LX)*POOL2D_LX, ceil(oh/POOL2D_LY)*POOL2D_LY, maps
//@local  POOL2D_LX, POOL2D_LY
//@needs  h >= 1, w >= 1, r >= 1, s >= 1, oh >= 1, ow >= 1, pad_t < r, pad_l < s
//@needs  POOL2D_UNIT == 1
__kernel WINDOW_GROUP void pool2d_window(__global const T* x, __global T* y, int h, int w, int r,
                                         int s, int oh, int ow, int stride_h, int stride_w,
                                         int pad_t, int pad_l, int h_end, int w_end,
                                         float scale) {
  const int ox = get_global_id(0), oy = get_global_id(1);
  const uint map = get_global_id(2);
  if (ox >= ow || oy >= oh) return;
  const int left = ox * stride_w - pad_l, top = oy * stride_h - pad_t;
  const int rows = count_inside(top, r, h), columns = count_inside(left, s, w);
  const uint at = ((map * h + max(top, 0)) * w + max(left, 0)) * SIZE;
  const Unit all = merge_window(x, at, rows, columns, w * SIZE, SIZE);
  const int taps = count_taps(top, r, h, h_end) * count_taps(left, s, w, w_end);
  STORE(FINISH(all, taps), y, ((map * oh + oy) * ow + ox) * SIZE);
}

// POOL2D_UNIT channels of one output an item.
//@kernel pool2d_nhwc
//@arg    0  x        in  T[images*h*w*c]
//@arg    1  y        out T[images*oh*ow*c]
//@arg    2  c        int                    channels
//@arg    3  h        int
//@arg    4  w        int
//@arg    5  r        int                    rows of a window
//@arg    6  s        int                    columns
//@arg    7  oh       int
//@arg    8  ow       int
//@arg    9  stride_h int
//@arg    10 stride_w int
//@arg    11 pad_t    int
//@arg    12 pad_l    int
//@arg    13 h_end    int                    h and the pad below; for POOL2D_COUNT == 2
//@arg    14 w_end    int                    w and the pad on the right
//@arg    15 scale    float                  of a mean without POOL2D_COUNT
//@global ceil(c/POOL2D_UNIT/POOL2D_LX)*POOL2D_LX, ceil(ow/POOL2D_LY)*POOL2D_LY, images*oh
//@local  POOL2D_LX, POOL2D_LY
//@needs  c >= 1, h >= 1, w >= 1, r >= 1, s >= 1, oh >= 1, ow >= 1, pad_t < r, pad_l < s
//@needs  c % POOL2D_UNIT == 0
__kernel WINDOW_GROUP void pool2d_nhwc(__global const T* x, __global T* y, int c, int h, int w,
                                       int r, int s, int oh, int ow, int stride_h, int stride_w,
                                       int pad_t, int pad_l, int h_end, int w_end, float scale) {
  const int first = get_global_id(0) * POOL2D_UNIT, ox = get_global_id(1);
  const uint line = get_global_id(2), image = line / (uint)oh;
  if (first >= c || ox >= ow) return;
  const int left = ox * stride_w - pad_l, top = (int)(line - image * oh) * stride_h - pad_t;
  const int rows = count_inside(top, r, h), columns = count_inside(left, s, w);
  const uint at = (((image * h + max(top, 0)) * w + max(left, 0)) * c + first) * SIZE;
  const Unit all = merge_window(x, at, rows, columns, w * c * SIZE, c * SIZE);
  const int taps = count_taps(top, r, h, h_end) * count_taps(left, s, w, w_end);
  STORE(FINISH(all, taps), y, ((line * ow + ox) * c + first) * SIZE);
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops pool2d_global
//@loop   max(0,floor(floor((n-3)/4)/POOL2D_LANES))..ceil(floor(n/4)/POOL2D_LANES)  over the vectors of a lane
//@loop   POOL2D_LANES/4-1  over the results of the other lanes

//@loops pool2d_nhwc_global
//@loop   floor(n/POOL2D_LANES)..ceil(n/POOL2D_LANES)  over the pixels of a lane
//@loop   POOL2D_LANES-1  over the results of the other lanes

//@loops pool2d_window
//@loop   1..r  over the rows of the window
//@loop   1..s  over its columns

//@loops pool2d_nhwc
//@loop   1..r  over the rows of the window
//@loop   1..s  over its columns
