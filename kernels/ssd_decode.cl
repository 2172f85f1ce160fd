// SPDX-License-Identifier: MIT
// ssd_decode.cl - data = rows (id, score, x0, y0, x1, y1) of every foreground class and anchor
//
//   score = softmax of the anchor's class scores, at the row's class
//   id    = class - 1, as class 0 is the background;   id -1, score 0 where score <= threshold
//   box   = centre -+ half, for an anchor (x, y, w, h) and its offsets p; v are the variances:
//           centre = (p0 * v0 * w + x, p1 * v1 * h + y)
//           half   = (exp(p2 * v2) * w / 2, exp(p3 * v3) * h / 2)
//
// Scores and offsets may be parts of longer rows: of one product that computes both.
//
// The row of class c and anchor a is row (c - 1) * n + a of its batch item. The box is written
// whatever the score. An anchor whose scores hold NaN or +inf has no class: all its rows have id -1
// and score 0. A score of -inf counts 0; so do all scores of an anchor that has nothing but -inf.
//
// Four work-items share an anchor: each takes every fourth class. They agree on the maximum, and
// then on the sum, through local memory.
//
//   item     0   1   2   3   0   1   2   3   0   1         four anchors and their classes fill the
//   reads    0   1   2   3   4   5   6   7   8   9  ...    16 lanes of a warp
//   writes   1   2   3   4   5   6   7   8   9  10  ...    class 0 has no rows
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Everything in
// between is float. Every byte offset fits an int.
//
//@define CLAM_F16            off                     store tensors as half
//@define SSD_DECODE_ANCHORS  16 {1,2,4,8,16,32,64}   anchors of a group
//@define SSD_DECODE_UNIT     4 {1,4}                 elements of box in a load

//@shared options
#ifndef SSD_DECODE_ANCHORS
#define SSD_DECODE_ANCHORS 16
#endif
#if SSD_DECODE_ANCHORS < 1 || SSD_DECODE_ANCHORS > 64 || SSD_DECODE_ANCHORS & (SSD_DECODE_ANCHORS - 1)
#error "ssd_decode.cl: SSD_DECODE_ANCHORS must be a power of two from 1 to 64"
#endif
#ifndef SSD_DECODE_UNIT
#define SSD_DECODE_UNIT 4
#endif
#if SSD_DECODE_UNIT != 1 && SSD_DECODE_UNIT != 4
#error "ssd_decode.cl: SSD_DECODE_UNIT must be 1 or 4"
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

#define LANES 4  // work-items that share an anchor: their partial results are one float4
#define LOG2_E 1.44269504f
#define LOWEST (-3.402823466e+38f)  // below every score but -inf; -inf - -inf would be NaN
#define GROUP __attribute__((reqd_work_group_size(LANES, SSD_DECODE_ANCHORS, 1)))

//@shared box
// ---- boxes ----

float4 load4(__global const T* p, uint row) {
  const T4 v = ((__global const T4*)p)[row];
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

// The corners of an anchor that is moved and stretched by offsets p.
float4 decode_box(float4 p, float2 anchor, float2 size, float4 variances) {
  const float2 centre = p.lo * variances.lo * size + anchor;
  const float2 half_size = exp(p.hi * variances.hi) * size * 0.5f;
  const float2 low = centre - half_size, high = centre + half_size;
  return (float4)(low.x, low.y, high.x, high.y);  // of pairs it would end the simulator Oclgrind
}

// Rows are no multiple of 16 bytes, so they are stored in pairs.
void store_row(float2 label, float4 box, __global T* p, uint row) {
  __global T2* pairs = (__global T2*)p + 3 * row;
  pairs[0] = (T2)((T)label.x, (T)label.y);
  pairs[1] = (T2)((T)box.x, (T)box.y);
  pairs[2] = (T2)((T)box.z, (T)box.w);
}
//@end

// ---- scores ----

// The four items of an anchor give one number each and get all four. All items of the group must
// call it, once for each array.
float4 share(float own, __local float4* partials) {
  const uint lane = get_local_id(0), anchor = get_local_id(1);
  ((__local float*)partials)[anchor * LANES + lane] = own;
  barrier(CLK_LOCAL_MEM_FENCE);  // the numbers of all four are there
  return partials[anchor];
}

float load_score(__global const T* cls, uint first, uint c) {
  return (float)*(__global const T*)((__global const char*)cls + (first + c) * SIZE);
}

// The maximum of the scores that begin at element `first`. Past the last class it looks at that one
// again, so that all items make the same trips.
float largest(__global const T* cls, uint first, uint classes, __local float4* maxima) {
  float own = LOWEST;
  for (uint k = 0; k < classes; k += LANES) {
    own = fmax(own, load_score(cls, first, min(k + (uint)get_local_id(0), classes - 1)));
  }
  const float4 m = share(own, maxima);
  return fmax(fmax(m.x, m.y), fmax(m.z, m.w));
}

float exponential(__global const T* cls, uint first, uint c, float m) {
  return exp2((load_score(cls, first, c) - m) * LOG2_E);
}

// 1 / the sum of exp(score - m); 0 where the sum is.
float reciprocal_of_sum(__global const T* cls, uint first, uint classes, float m,
                        __local float4* sums) {
  float own = 0.0f;
  for (uint k = 0; k < classes; k += LANES) {
    const uint c = k + get_local_id(0);
    const float e = exponential(cls, first, min(c, classes - 1), m);
    own += c < classes ? e : 0.0f;
  }
  const float4 s = share(own, sums);
  const float sum = s.x + s.y + (s.z + s.w);
  return sum == 0.0f ? 0.0f : 1.0f / sum;
}

// The four offsets that begin at element `first`.
float4 load_offsets(__global const T* box, uint first) {
  __global const T* p = (__global const T*)((__global const char*)box + first * SIZE);
  if (SSD_DECODE_UNIT != 1) return load4(p, 0);
  return (float4)((float)p[0], (float)p[1], (float)p[2], (float)p[3]);
}

// Anchors of a group past the last one are the last one again, and are not stored.
//@kernel ssd_decode_rows
//@arg    0 cls        in  T[cls_offset+(batch*n-1)*cls_ld+classes]  scores before the softmax
//@arg    1 box        in  T[box_offset+(batch*n-1)*box_ld+4]  offsets; aligned to its unit
//@arg    2 anchors    in  T[n*4]                      (x, y, w, h) of the centre; 16-byte aligned
//@arg    3 data       out T[batch*(classes-1)*n*6]    16-byte aligned
//@arg    4 n          int                             anchors
//@arg    5 classes    int                             with the background
//@arg    6 threshold  float                           a class has a higher score
//@arg    7 variance_x float                           v0
//@arg    8 variance_y float
//@arg    9 variance_w float
//@arg   10 variance_h float
//@arg   11 cls_ld     int                             from an anchor's scores to the next's
//@arg   12 cls_offset int                             first element
//@arg   13 box_ld     int
//@arg   14 box_offset int
//@global 4, ceil(n/SSD_DECODE_ANCHORS)*SSD_DECODE_ANCHORS, batch
//@local  4, SSD_DECODE_ANCHORS
//@needs  n >= 1, classes >= 2, cls_ld >= classes, box_ld >= 4
//@needs  box_ld % SSD_DECODE_UNIT == 0, box_offset % SSD_DECODE_UNIT == 0
__kernel GROUP void ssd_decode_rows(__global const T* cls, __global const T* box,
                                    __global const T* anchors, __global T* data, int n, int classes,
                                    float threshold, float variance_x, float variance_y,
                                    float variance_w, float variance_h, int cls_ld,
                                    int cls_offset, int box_ld, int box_offset) {
  __local float4 maxima[SSD_DECODE_ANCHORS], sums[SSD_DECODE_ANCHORS];
  const uint lane = get_local_id(0), batch = get_global_id(2);
  const uint anchor = min((uint)get_global_id(1), (uint)n - 1);
  const uint place = batch * n + anchor, first = place * cls_ld + cls_offset;
  const float m = largest(cls, first, classes, maxima);
  const float factor = reciprocal_of_sum(cls, first, classes, m, sums);
  const float4 own = load4(anchors, anchor);
  const float4 corners = decode_box(load_offsets(box, place * box_ld + box_offset), own.lo, own.hi,
                                    (float4)(variance_x, variance_y, variance_w, variance_h));
  const uint row = batch * (classes - 1) * n + anchor;
  for (uint k = 0; k < (uint)classes - 1; k += LANES) {  // the same trips for all items
    const uint id = k + lane;
    const float score = exponential(cls, first, min(id + 1, (uint)classes - 1), m) * factor;
    const float2 label = score > threshold ? (float2)((float)id, score) : (float2)(-1.0f, 0.0f);
    if (id < (uint)classes - 1 && get_global_id(1) < (uint)n) {
      store_row(label, corners, data, row + id * n);
    }
  }
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops ssd_decode_rows
//@loop   ceil(classes/4)  over the scores of an item, for the maximum
//@loop   ceil(classes/4)  over them again, for the sum
//@loop   ceil((classes-1)/4)  over the rows of an item
