// SPDX-License-Identifier: MIT
// yolo_decode.cl - data = rows (id, score, x0, y0, x1, y1) of every box of a YOLO head
//
//   id    = the class of the largest score, the lowest of equal ones
//   score = that score, of rows times objectness
//   box   = (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
//
//   yolo_decode_columns  src is [batch, 4 + classes, n]: x, y, w, h, scores; as YOLOv8 ends
//   yolo_decode_rows     src is [batch, n, 5 + classes]: x, y, w, h, objectness, scores; as YOLOv5
//
// A box has no class if one of its scores, or its objectness, is NaN or infinite: id -1, score 0.
// The box is written whatever the score.
//
//   columns: an item walks down the classes of one box, or of four neighbours as a vector
//     item       0 0 0 0 1 1 1 1 ...      neighbours in memory at each class
//
//   rows: four items share a box. Each takes every fourth class; they meet in local memory.
//     item       0 1 2 3 0 1 2 3 0 1      along the scores of a box
//     writes     0     1     2            (id, score), (x0, y0), (x1, y1)
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Everything in
// between is float. Every byte offset fits an int.
//
//@define CLAM_F16          off                     store tensors as half
//@define YOLO_DECODE_UNIT  1 {1,4}                 boxes of an item of columns
//@define YOLO_DECODE_WG    64 {1,2,4,8,16,32,64}   items of a group of columns
//@define YOLO_DECODE_ROWS  16 {1,2,4,8,16,32,64}   boxes of a group of rows

//@shared options
#ifndef YOLO_DECODE_UNIT
#define YOLO_DECODE_UNIT 1
#endif
#if YOLO_DECODE_UNIT != 1 && YOLO_DECODE_UNIT != 4
#error "yolo_decode.cl: YOLO_DECODE_UNIT must be 1 or 4"
#endif
#ifndef YOLO_DECODE_WG
#define YOLO_DECODE_WG 64
#endif
#if YOLO_DECODE_WG < 1 || YOLO_DECODE_WG > 64 || YOLO_DECODE_WG & (YOLO_DECODE_WG - 1)
#error "yolo_decode.cl: YOLO_DECODE_WG must be a power of two from 1 to 64"
#endif
#ifndef YOLO_DECODE_ROWS
#define YOLO_DECODE_ROWS 16
#endif
#if YOLO_DECODE_ROWS < 1 || YOLO_DECODE_ROWS > 64 || YOLO_DECODE_ROWS & (YOLO_DECODE_ROWS - 1)
#error "yolo_decode.cl: YOLO_DECODE_ROWS must be a power of two from 1 to 64"
#endif
//@end

//@shared element2
#ifdef CLAM_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half T;
typedef half2 T2;
typedef half4 T4;
#else
typedef float T;
typedef float2 T2;
typedef float4 T4;
#endif

#define SIZE ((uint)sizeof(T))
//@end

#define LANES 4  // work-items that share a row: their partial results are one float4
#define NO_CLASS 0x7FFFFFFF

// A product with 0 would tell it too, but compilers take that for 0.
int is_finite(float z) { return fabs(z) < INFINITY; }

// ---- units ----

#if YOLO_DECODE_UNIT == 4
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

typedef int4 Place;

// Mali compilers spend six instructions on an element of a vector's ?:, and one on a number's.
int4 id_of_larger(float4 score, float4 best, int c, int4 id) {
  return (int4)(score.x > best.x ? c : id.x, score.y > best.y ? c : id.y,
                score.z > best.z ? c : id.z, score.w > best.w ? c : id.w);
}

int4 still_finite(float4 score, int4 finite) {
  return (int4)(is_finite(score.x) ? finite.x : 0, is_finite(score.y) ? finite.y : 0,
                is_finite(score.z) ? finite.z : 0, is_finite(score.w) ? finite.w : 0);
}

float4 where(int4 finite, float4 value, float otherwise) {
  return (float4)(finite.x ? value.x : otherwise, finite.y ? value.y : otherwise,
                  finite.z ? value.z : otherwise, finite.w ? value.w : otherwise);
}

float4 number_of(int4 id) { return convert_float4(id); }

float2 load_two(__global const T* p, uint at) {
  const T2 v = *(__global const T2*)((__global const char*)p + at);
  return (float2)((float)v.x, (float)v.y);
}

// Two rows are three whole vectors.
void store_two(float2 id, float2 score, __global const T* src, uint first, uint step,
               __global T* data, uint at) {
  const float2 x = load_two(src, first), y = load_two(src, first + step);
  const float2 half_w = load_two(src, first + 2 * step) * 0.5f;
  const float2 half_h = load_two(src, first + 3 * step) * 0.5f;
  const float2 x0 = x - half_w, y0 = y - half_h, x1 = x + half_w, y1 = y + half_h;
  store((float4)(id.x, score.x, x0.x, y0.x), data, at);
  store((float4)(x1.x, y1.x, id.y, score.y), data, at + 4 * SIZE);
  store((float4)(x0.y, y0.y, x1.y, y1.y), data, at + 8 * SIZE);
}

// Two boxes at a time, as all four would take so many registers that fewer warps run.
void store_rows(float4 id, float4 score, __global const T* src, uint first, uint step,
                __global T* data, uint at) {
  store_two(id.lo, score.lo, src, first, step, data, at);
  store_two(id.hi, score.hi, src, first + 2 * SIZE, step, data, at + 12 * SIZE);
}
#else
//@shared unit_of_one
typedef float Unit;

float load(__global const T* p, uint at) {
  return (float)*(__global const T*)((__global const char*)p + at);
}

void store(float v, __global T* p, uint at) { *(__global T*)((__global char*)p + at) = (T)v; }
//@end

typedef int Place;

int id_of_larger(float score, float best, int c, int id) { return score > best ? c : id; }

int still_finite(float score, int finite) { return is_finite(score) ? finite : 0; }

float where(int finite, float value, float otherwise) { return finite ? value : otherwise; }

float number_of(int id) { return (float)id; }

// Rows are no multiple of 16 bytes, so one is stored in pairs.
void store_rows(float id, float score, __global const T* src, uint first, uint step,
                __global T* data, uint at) {
  const float x = load(src, first), y = load(src, first + step);
  const float half_w = load(src, first + 2 * step) * 0.5f;
  const float half_h = load(src, first + 3 * step) * 0.5f;
  __global T2* pairs = (__global T2*)((__global char*)data + at);
  pairs[0] = (T2)((T)id, (T)score);
  pairs[1] = (T2)((T)(x - half_w), (T)(y - half_h));
  pairs[2] = (T2)((T)(x + half_w), (T)(y + half_h));
}
#endif

float load_one(__global const T* p, uint at) {
  return (float)*(__global const T*)((__global const char*)p + at);
}

// ---- kernels ----

// The centre and size of a box are loaded last, so that they take no registers before.
//@kernel yolo_decode_columns
//@arg    0 src     in  T[batch*(4+classes)*n]
//@arg    1 data    out T[batch*n*6]
//@arg    2 n       int  boxes of an image
//@arg    3 classes int
//@global ceil(n/YOLO_DECODE_UNIT/YOLO_DECODE_WG)*YOLO_DECODE_WG, batch
//@local  YOLO_DECODE_WG, 1
//@needs  n >= 1, classes >= 1, n % YOLO_DECODE_UNIT == 0
__kernel __attribute__((reqd_work_group_size(YOLO_DECODE_WG, 1, 1))) void yolo_decode_columns(
    __global const T* src, __global T* data, int n, int classes) {
  const uint i = get_global_id(0) * YOLO_DECODE_UNIT, batch = get_global_id(1);
  if (i >= (uint)n) return;
  const uint step = n * SIZE, first = (batch * (4 + classes) * n + i) * SIZE;
  Unit best = (Unit)(-INFINITY);
  Place id = (Place)(0), finite = (Place)(1);
  uint at = first + 4 * step;
  for (int c = 0; c < classes; ++c) {
    const Unit score = load(src, at);
    id = id_of_larger(score, best, c, id);
    best = fmax(best, score);
    finite = still_finite(score, finite);
    at += step;
  }
  store_rows(where(finite, number_of(id), -1.0f), where(finite, best, 0.0f), src, first, step, data,
             (batch * n + i) * 6 * SIZE);
}

int lowest_of(float best, float4 scores, int4 ids) {
  const int x = scores.x == best ? ids.x : NO_CLASS, y = scores.y == best ? ids.y : NO_CLASS;
  const int z = scores.z == best ? ids.z : NO_CLASS, w = scores.w == best ? ids.w : NO_CLASS;
  return min(min(x, y), min(z, w));
}

// Rows of a group past the last one are the last one again, and are not stored.
//@kernel yolo_decode_rows
//@arg    0 src     in  T[rows*(5+classes)]
//@arg    1 data    out T[rows*6]
//@arg    2 rows    int  boxes of all images
//@arg    3 classes int
//@global 4, ceil(rows/YOLO_DECODE_ROWS)*YOLO_DECODE_ROWS
//@local  4, YOLO_DECODE_ROWS
//@needs  rows >= 1, classes >= 1
__kernel __attribute__((reqd_work_group_size(LANES, YOLO_DECODE_ROWS, 1))) void yolo_decode_rows(
    __global const T* src, __global T* data, int rows, int classes) {
  __local float4 partial_scores[YOLO_DECODE_ROWS];
  __local int4 partial_ids[YOLO_DECODE_ROWS];
  const uint lane = get_local_id(0), place = get_local_id(1);
  const uint row = min((uint)get_global_id(1), (uint)rows - 1);
  const uint first = row * (5 + classes) * SIZE;
  const float object = load_one(src, first + 4 * SIZE);
  float own = -INFINITY;
  int finite = is_finite(object), own_id = 0;
  uint at = first + (5 + lane) * SIZE;
  for (int c = lane; c < classes; c += LANES) {
    const float score = load_one(src, at);
    own_id = score > own ? c : own_id;
    own = fmax(own, score);
    finite = is_finite(score) ? finite : 0;
    at += LANES * SIZE;
  }
  ((__local float*)partial_scores)[place * LANES + lane] = own;
  ((__local int*)partial_ids)[place * LANES + lane] = finite ? own_id : -1;
  barrier(CLK_LOCAL_MEM_FENCE);  // the results of all four are there
  if (get_global_id(1) >= (uint)rows || lane == 3) return;
  const float4 s = partial_scores[place];
  const int4 ids = partial_ids[place];
  const float best = fmax(fmax(s.x, s.y), fmax(s.z, s.w));
  const int id = lowest_of(best, s, ids), has_class = min(min(ids.x, ids.y), min(ids.z, ids.w)) >= 0;
  const float side = lane == 1 ? -0.5f : 0.5f;
  const float x = fma(side, load_one(src, first + 2 * SIZE), load_one(src, first));
  const float y = fma(side, load_one(src, first + 3 * SIZE), load_one(src, first + SIZE));
  const float label = has_class ? (float)id : -1.0f, score = has_class ? object * best : 0.0f;
  ((__global T2*)data)[3 * row + lane] =
      lane == 0 ? (T2)((T)label, (T)score) : (T2)((T)x, (T)y);
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops yolo_decode_columns
//@loop   classes  over the scores of a box
//@loops yolo_decode_rows
//@loop   ceil(classes/4)  over the scores of an item
