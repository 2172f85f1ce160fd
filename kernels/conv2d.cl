// SPDX-License-Identifier: MIT
// conv2d.cl - y[n,k,oy,ox] = act(sum_c,r,s w[k,c,r,s] * x[n,c,iy,ix] + b[k]) + r[n,k,oy,ox]
//             iy = oy * stride_h - pad_t + r * dilation_h, ix likewise; taps outside x are left out
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Sums in the
// order of c, r, s by fma, in one float per output. With CONV2D_PARTS there is one for each of so
// many ranges of c, and these are added in their order. What follows the sum is float too.
//
// All tensors are dense and start on multiples of 16 bytes; every byte offset into them fits an
// int. An absent b counts as zeros, and an absent r is not added; both may then be null. y may be
// r, element on element; else no output overlaps an input. Output channels of a group of channels
// read the input channels of that group alone.
//
// conv2d_direct gives a work-item a tile of 4 channels of one group x 4 pixels of a row. Tiles lie
// along x as the pixels of a map do, and along y by channel, group after group. A tile over the end
// of a row or of a group of channels computes what it does not store.
//
//   ow = 10, oh = 2:   tile  0 0 0 0  1 1 1 1  2 2 . .      kg = 6:  0 0 0 0  1 1 . .
//                            3 3 3 3  4 4 4 4  5 5 . .               2 2 2 2  3 3 . .
//
//@define CLAM_F16         off                           store tensors as half
//@define CONV2D_LX        16 {1,2,4,8,16}               work-items of a group along the map
//@define CONV2D_LY        4 {1,2,4,8,16,32,64,128,256}  work-items of a group along k
//@define CONV2D_PARTS     1 {1,16}                      work-items that share the sums of a tile
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
#error "conv2d.cl: CONV2D_LX must be a power of two up to 16"
#endif
#if CONV2D_LY < 1 || CONV2D_LY > 256 || CONV2D_LY & (CONV2D_LY - 1)
#error "conv2d.cl: CONV2D_LY must be a power of two up to 256"
#endif
#if CONV2D_PARTS != 1 && CONV2D_PARTS != 16
#error "conv2d.cl: CONV2D_PARTS must be 1 or 16"
#endif
#if CONV2D_PARTS > 1 && CONV2D_LX * CONV2D_LY > 16
#error "conv2d.cl: CONV2D_LX * CONV2D_LY must be up to 16 where sums are in parts"
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

#define SIZE ((uint)sizeof(T))
#define GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, CONV2D_PARTS)))
#define FLAT_GROUP __attribute__((reqd_work_group_size(CONV2D_LX, CONV2D_LY, 1)))

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

#define WEIGHT_STEP (4 * CONV2D_LY * SIZE)

// ---- tiles ----

// What a work-item computes: pixels ox to ox + 3 of row oy, channels 4 * tile to 4 * tile + 3 of
// group g, of image n. It sums `channels` input channels from `begin` on. `stored` is 0 for an item
// that has no tile of its own.
typedef struct {
  int n, g, tile, oy, ox, begin, channels, stored;
} Tile;

// Through a pointer: Oclgrind cannot take what a compiler makes of a struct that is returned.
void own_tile(Tile* tile, int groups, int cg, int kg, int oh, int ow) {
  const int columns = (ow + 3) / 4, tiles = (kg + 3) / 4;
  const int at = get_global_id(0), plane = get_global_id(1);
  // Ranges of whole trips of conv2d_1x1, so that all variants cut alike.
  const int range = CONV2D_PARTS == 1 ? cg : (cg + 4 * CONV2D_PARTS - 1) / (4 * CONV2D_PARTS) * 4;
  const int map = min(at, columns * oh - 1), row = map / columns;
  const int channel = min(plane, groups * tiles - 1), group = channel / tiles;
  tile->n = get_group_id(2);
  tile->g = group;
  tile->tile = channel - group * tiles;
  tile->oy = row;
  tile->ox = (map - row * columns) * 4;
  tile->begin = min((int)get_local_id(2) * range, cg);
  tile->channels = min(range, cg - tile->begin);
  tile->stored = map == at && channel == plane;
}

// ---- from the sum to the output ----

typedef struct {
  int groups, kg, oh, ow;
} Outputs;

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

// Four pixels of channel `channel` of the tile.
void finish_row(float v0, float v1, float v2, float v3, Tile tile, int channel, Outputs out,
                __global const T* b, __global const T* r, __global T* y) {
  const int in_group = 4 * tile.tile + channel, k = tile.g * out.kg + in_group;
  if (in_group >= out.kg) return;
  const int row = ((tile.n * out.groups * out.kg + k) * out.oh + tile.oy) * out.ow;
  const uint at = (row + tile.ox) * SIZE;
  const int pixels = out.ow - tile.ox, whole = (out.ow & 3) == 0;
  const float bias = CONV2D_BIAS ? (float)b[k] : 0.0f;
  float4 v = (float4)(bias);
  v += (float4)(v0, v1, v2, v3);
  v = (float4)(CONV2D_ACT(v.x), CONV2D_ACT(v.y), CONV2D_ACT(v.z), CONV2D_ACT(v.w));
  finish_pixels(v, r, y, at, pixels, whole);
}

#if CONV2D_PARTS == 1
#define PARTIAL_SIZE 1
#else
#define PARTIAL_SIZE (CONV2D_PARTS * 4 * CONV2D_LX * CONV2D_LY)
#endif

// sum[i] holds the four channels of pixel i. In parts, the first four items of a tile add up and
// store one channel each.
void finish(const float4* sum, Tile tile, Outputs out, __global const T* b, __global const T* r,
            __global T* y, __local float4* partial) {
#if CONV2D_PARTS == 1
  if (!tile.stored) return;
  finish_row(sum[0].x, sum[1].x, sum[2].x, sum[3].x, tile, 0, out, b, r, y);
  finish_row(sum[0].y, sum[1].y, sum[2].y, sum[3].y, tile, 1, out, b, r, y);
  finish_row(sum[0].z, sum[1].z, sum[2].z, sum[3].z, tile, 2, out, b, r, y);
  finish_row(sum[0].w, sum[1].w, sum[2].w, sum[3].w, tile, 3, out, b, r, y);
#else
  const int lane = (int)get_local_id(1) * CONV2D_LX + (int)get_local_id(0);
  const int step = CONV2D_LX * CONV2D_LY, part = get_local_id(2);
  for (int i = 0; i < 4; ++i) partial[(part * 4 + i) * step + lane] = sum[i];
  // Every part's sums are there before any is read.
  barrier(CLK_LOCAL_MEM_FENCE);
  if (part >= 4 || !tile.stored) return;
  __local const float* from = (__local const float*)(partial + lane) + part;
  float v0 = from[0], v1 = from[4 * step], v2 = from[8 * step], v3 = from[12 * step];
  for (int i = 1; i < CONV2D_PARTS; ++i) {
    from += 16 * step;
    v0 += from[0];
    v1 += from[4 * step];
    v2 += from[8 * step];
    v3 += from[12 * step];
  }
  finish_row(v0, v1, v2, v3, tile, part, out, b, r, y);
#endif
}

// ---- the kernels ----

// The first tap t >= 0 with first + t * dilation >= 0.
int first_tap(int first, int dilation) { return first < 0 ? (dilation - 1 - first) / dilation : 0; }

// Past the last tap of `taps` with first + t * dilation < extent.
int end_tap(int first, int dilation, int extent, int taps) {
  return first < extent ? min((extent - first + dilation - 1) / dilation, taps) : 0;
}

// One work-item a tile, or CONV2D_PARTS of them, each with its range of c; by scalar loads of x. w
// is packed by conv2d_pack, so that the vectors which a group reads for one tap lie side by side.
//@kernel conv2d_direct
//@arg    0  x           in   T[n*groups*cg*h*w]
//@arg    1  wp          in   T[ceil(groups*ceil(kg/4)/CONV2D_LY)*cg*rows*columns*4*CONV2D_LY]
//@layout as conv2d_pack writes it
//@arg    2  b           in   T[groups*kg]
//@arg    3  r           in   T[n*groups*kg*oh*ow]
//@arg    4  y           out  T[n*groups*kg*oh*ow]  may be r
//@arg    5  groups      int                        groups of channels
//@arg    6  cg          int                        input channels of a group
//@arg    7  h           int                        rows of x
//@arg    8  w           int                        columns of x
//@arg    9  kg          int                        output channels of a group
//@arg    10 rows        int                        rows of the filter
//@arg    11 columns     int                        columns of the filter
//@arg    12 oh          int                        rows of y
//@arg    13 ow          int                        columns of y
//@arg    14 stride_h    int
//@arg    15 stride_w    int
//@arg    16 pad_t       int                        rows of padding above x
//@arg    17 pad_l       int                        columns of padding left of x
//@arg    18 dilation_h  int
//@arg    19 dilation_w  int
//@null   b if CONV2D_BIAS==0
//@null   r if CONV2D_RESIDUAL==0
//@global ceil(ceil(ow/4)*oh/CONV2D_LX)*CONV2D_LX ceil(groups*ceil(kg/4)/CONV2D_LY)*CONV2D_LY n*CONV2D_PARTS
//@local  CONV2D_LX CONV2D_LY CONV2D_PARTS
//@needs  groups >= 1, cg >= 1, kg >= 1, rows >= 1, columns >= 1, pad_t >= 0, pad_l >= 0
//@needs  h >= 1, w >= 1, oh >= 1, ow >= 1
//@needs  stride_h >= 1, stride_w >= 1, dilation_h >= 1, dilation_w >= 1
__kernel GROUP void conv2d_direct(__global const T* x, __global const T* wp, __global const T* b,
                                  __global const T* r, __global T* y, int groups, int cg, int h,
                                  int w, int kg, int rows, int columns, int oh, int ow,
                                  int stride_h, int stride_w, int pad_t, int pad_l, int dilation_h,
                                  int dilation_w) {
  __local float4 partial[PARTIAL_SIZE];
  Tile tile;
  own_tile(&tile, groups, cg, kg, oh, ow);
  if (CONV2D_PARTS == 1 && !tile.stored) return;
  const int iy = tile.oy * stride_h - pad_t, ix = tile.ox * stride_w - pad_l;
  // Taps of which at least one pixel of the tile may lie inside.
  const int row0 = first_tap(iy, dilation_h), row1 = end_tap(iy, dilation_h, h, rows);
  const int column0 = first_tap(ix + 3 * stride_w, dilation_w);
  const int column1 = end_tap(ix, dilation_w, w, columns);
  const uint row = w * SIZE, plane = h * row, pixel = stride_w * SIZE;
  const int first = (tile.n * groups + tile.g) * cg + tile.begin;
  uint at = first * plane + (iy + row0 * dilation_h) * row + ix * SIZE;
  const uint end = at + tile.channels * plane;
  __global const char* xs = (__global const char*)x;
  __global const char* ws = (__global const char*)wp;
  const uint taps = rows * columns * WEIGHT_STEP, filter_row = columns * WEIGHT_STEP;
  uint w_at = ((int)get_group_id(1) * cg + tile.begin) * taps +
              (int)get_local_id(1) * 4 * SIZE + row0 * filter_row;
  float4 sum[4];
  for (int i = 0; i < 4; ++i) sum[i] = (float4)(0.0f);
  for (; at != end; at += plane, w_at += taps) {
    uint row_at = at, row_w = w_at;
    for (int i = row0; i < row1; ++i) {
      for (int j = column0; j < column1; ++j) {
        const float4 v = load4(ws, row_w + j * WEIGHT_STEP);
        const int column = ix + j * dilation_w;
        const uint from = row_at + j * dilation_w * SIZE;
        // Each pixel by itself: what lies outside is neither read nor multiplied.
        if ((uint)column < (uint)w) sum[0] = fma((float4)(load1(xs, from)), v, sum[0]);
        if ((uint)(column + stride_w) < (uint)w) {
          sum[1] = fma((float4)(load1(xs, from + pixel)), v, sum[1]);
        }
        if ((uint)(column + 2 * stride_w) < (uint)w) {
          sum[2] = fma((float4)(load1(xs, from + 2 * pixel)), v, sum[2]);
        }
        if ((uint)(column + 3 * stride_w) < (uint)w) {
          sum[3] = fma((float4)(load1(xs, from + 3 * pixel)), v, sum[3]);
        }
      }
      row_at += dilation_h * row;
      row_w += filter_row;
    }
  }
  const Outputs out = {groups, kg, oh, ow};
  finish(sum, tile, out, b, r, y, partial);
}

// w into the panels that conv2d_direct, conv2d_3x3 and conv2d_nhwc read; one work-item for four
// channels at one tap. With layout=nhwc the order of t is that of w: (r*columns + s)*cg + c.
//@kernel conv2d_pack
//@arg    0  w       in   T[groups*kg*taps]
//@arg    1  wp      out  T[ceil(groups*ceil(kg/4)/CONV2D_LY)*taps*4*CONV2D_LY]
//@layout wp[(tile/CONV2D_LY*taps + t)*4*CONV2D_LY + tile%CONV2D_LY*4 + i] = w[k][t], else 0
//@layout tile = g*ceil(kg/4) + j, k = g*kg + 4*j + i, t = (c*rows + r)*columns + s
//@arg    2  groups  int            groups of channels
//@arg    3  kg      int            output channels of a group
//@arg    4  taps    int            weights of an output channel
//@global ceil(taps/CONV2D_LX)*CONV2D_LX ceil(groups*ceil(kg/4)/CONV2D_LY)*CONV2D_LY
//@local  CONV2D_LX CONV2D_LY
//@needs  groups >= 1, kg >= 1, taps >= 1
__kernel FLAT_GROUP void conv2d_pack(__global const T* w, __global T* wp, int groups, int kg,
                                     int taps) {
  const int t = get_global_id(0), tiles = (kg + 3) / 4, tile = get_global_id(1);
  if (t >= taps) return;
  const int g = tile / tiles, in_group = 4 * (tile - g * tiles);
  const int channels = g < groups ? kg - in_group : 0;
  const int from = (g * kg + in_group) * taps + t;
  T4 v = (T4)((T)0);
  if (channels > 0) v.x = w[from];
  if (channels > 1) v.y = w[from + taps];
  if (channels > 2) v.z = w[from + 2 * taps];
  if (channels > 3) v.w = w[from + 3 * taps];
  const int at = ((int)get_group_id(1) * taps + t) * CONV2D_LY + (int)get_local_id(1);
  ((__global T4*)wp)[at] = v;
}

// One work-item an output, by scalar loads; w as it is, as w[k,cg,rows,columns].
//@kernel conv2d_plain
//@arg    0  x           in   T[n*groups*cg*h*w]
//@arg    1  weights     in   T[groups*kg*cg*rows*columns]
//@arg    2  b           in   T[groups*kg]
//@arg    3  r           in   T[n*groups*kg*oh*ow]
//@arg    4  y           out  T[n*groups*kg*oh*ow]  may be r
//@arg    5  groups      int                        groups of channels
//@arg    6  cg          int                        input channels of a group
//@arg    7  h           int                        rows of x
//@arg    8  w           int                        columns of x
//@arg    9  kg          int                        output channels of a group
//@arg    10 rows        int                        rows of the filter
//@arg    11 columns     int                        columns of the filter
//@arg    12 oh          int                        rows of y
//@arg    13 ow          int                        columns of y
//@arg    14 stride_h    int
//@arg    15 stride_w    int
//@arg    16 pad_t       int                        rows of padding above x
//@arg    17 pad_l       int                        columns of padding left of x
//@arg    18 dilation_h  int
//@arg    19 dilation_w  int
//@null   b if CONV2D_BIAS==0
//@null   r if CONV2D_RESIDUAL==0
//@global ceil(ow/CONV2D_LX)*CONV2D_LX ceil(oh/CONV2D_LY)*CONV2D_LY n*groups*kg
//@local  CONV2D_LX CONV2D_LY
//@needs  groups >= 1, cg >= 1, kg >= 1, rows >= 1, columns >= 1, pad_t >= 0, pad_l >= 0
//@needs  h >= 1, w >= 1, oh >= 1, ow >= 1
//@needs  stride_h >= 1, stride_w >= 1, dilation_h >= 1, dilation_w >= 1
__kernel FLAT_GROUP void conv2d_plain(__global const T* x, __global const T* weights,
                                      __global const T* b, __global const T* r, __global T* y,
                                      int groups, int cg, int h, int w, int kg, int rows,
                                      int columns, int oh, int ow, int stride_h, int stride_w,
                                      int pad_t, int pad_l, int dilation_h, int dilation_w) {
  const int ox = get_global_id(0), oy = get_global_id(1), plane = get_global_id(2);
  if (ox >= ow || oy >= oh) return;
  const int k = plane % (groups * kg);
  const int iy = oy * stride_h - pad_t, ix = ox * stride_w - pad_l;
  // plane / kg counts the groups of channels of all images.
  int from = (plane / kg * cg * h + iy) * w + ix, w_from = k * cg * rows * columns;
  float sum = 0.0f;
  for (int c = 0; c < cg; ++c, from += h * w) {
    for (int i = 0; i < rows; ++i) {
      const int inside = (uint)(iy + i * dilation_h) < (uint)h;
      for (int j = 0; j < columns; ++j, ++w_from) {
        if (!inside || (uint)(ix + j * dilation_w) >= (uint)w) continue;
        const int at = from + i * dilation_h * w + j * dilation_w;
        sum = fma((float)x[at], (float)weights[w_from], sum);
      }
    }
  }
  float v = CONV2D_ACT(sum + (CONV2D_BIAS ? (float)b[k] : 0.0f));
  const int to = (plane * oh + oy) * ow + ox;
  if (CONV2D_RESIDUAL) v += (float)r[to];
  y[to] = (T)v;
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops conv2d_direct
//@loop   max(cg-(CONV2D_PARTS-1)*ceil(cg/(4*CONV2D_PARTS))*4,0)..min(ceil(cg/(4*CONV2D_PARTS))*4,cg)  over the input channels of a part
//@loop   max(min(rows,ceil((h+pad_t-(oh-1)*stride_h)/dilation_h))-ceil(pad_t/dilation_h),0)..min(rows,ceil(h/dilation_h))  over the rows of the filter that lie inside x
//@loop   max(min(columns,ceil((w+pad_l-(ceil(ow/4)*4-4)*stride_w)/dilation_w))-ceil(max(pad_l-3*stride_w,0)/dilation_w),0)..min(columns,ceil((w+3*stride_w)/dilation_w))  over its columns
//@loop   CONV2D_PARTS-1  over the other parts

//@loops conv2d_plain
//@loop   cg  over the input channels
//@loop   rows  over the rows of the filter
//@loop   columns  over its columns
