// SPDX-License-Identifier: MIT
// multibox_transform_loc.cl - out = rows (class, score, x0, y0, x1, y1) of the anchors with a class
//
//   class = the best of classes 1.., the first of equals, less 1; class 0 is the background
//   an anchor has a class where its best score is > -1 and >= threshold; NaN is never the best
//   box   = centre -+ half, of the anchor's corners (x0, y0, x1, y1) and its offsets p = loc:
//           centre = (p0 * v0 * w + x, p1 * v1 * h + y), of the anchor's size and centre
//           half   = (exp(p2 * v2) * w / 2, exp(p3 * v3) * h / 2); v are the variances
//           clip: each corner between 0 and 1, NaN 0
//   count[b] = anchors of batch item b that have a class. Their rows stand first, in their order,
//              and the rows past count[b] are -1.
//
// A row's place is the number of rows before it that have a class. They are those of earlier
// groups, and the earlier ones of its own group (MTL_WG = 64):
//
//   n anchors  |....... 64 .......|....... 64 .......|....... 64 .......|   groups
//              |     counts[0]    |     counts[1]    |   x   ^
//   place of x = counts[0] + counts[1] + anchors with a class before it in its own group
//
// count finds the classes, scatter computes boxes and writes rows. Each address has one writer, and
// no work-group reads what another one wrote in the same launch. So there are no atomics. The
// result is the same bits for every timing and every work-group size.
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). Everything in
// between is float. Every byte offset fits an int.
//
//@define CLAM_F16  off                    store tensors as half
//@define MTL_WG    64 {16,32,64,128,256}  work-items of a group, an anchor each

//@shared options
#ifndef MTL_WG
#define MTL_WG 64
#endif
#if MTL_WG < 16 || MTL_WG > 256 || MTL_WG & (MTL_WG - 1)
#error "multibox_transform_loc.cl: MTL_WG must be a power of two from 16 to 256"
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

#define WG MTL_WG
#define GROUP __attribute__((reqd_work_group_size(WG, 1, 1)))

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

// ---- classes ----

//@shared order
// The bits of x as an int that compares like the number: -0 and 0 are 0, NaNs lie beyond the
// infinities. Floats would not do: a device may take a denormal for 0 when it compares them.
#define INFINITE 0x7F800000
int order(float x) {
  const int bits = as_int(x);
  return bits < 0 ? INT_MIN - bits : bits;
}
//@end

// The class of an anchor, or 0 where it has none. Its score of class 1 lies `at` bytes from the
// start, and of the next classes `step` bytes on.
int find_class(__global const T* cls_prob, uint at, uint step, int classes, float threshold) {
  int best = 0, most = order(-1.0f);
  for (int c = 1; c < classes; ++c, at += step) {
    const int score = order((float)*(__global const T*)((__global const char*)cls_prob + at));
    const bool better = score > most && score <= INFINITE;
    best = better ? c : best;
    most = better ? score : most;
  }
  return most >= order(threshold) ? best : 0;
}

// ---- places ----

// How many items of the group before the caller have their flag set. All items must call it.
uint count_before(bool flag, __local uint* flags) {
  const uint lane = get_local_id(0);
  ((__local uchar*)flags)[lane] = flag;
  barrier(CLK_LOCAL_MEM_FENCE);  // all flags are there
  uint before = popcount(flags[lane / 4] & ((1u << 8 * (lane % 4)) - 1));
  for (uint i = 0; i < MTL_WG / 4; ++i) before += i < lane / 4 ? popcount(flags[i]) : 0;
  return before;
}

//@shared sum_over_group
// The sum of `value` over the group, given to every item.
uint2 sum_over_group(uint2 value, __local uint2* sums) {
  const uint lane = get_local_id(0);
  sums[lane] = value;
  for (uint left = WG / 2; left > 0; left /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);  // the sums of the step before are complete
    if (lane < left) sums[lane] += sums[lane + left];
  }
  barrier(CLK_LOCAL_MEM_FENCE);  // sums[0] is the whole
  return sums[0];
}
//@end

// (anchors with a class in the groups before, in all groups) of a batch item.
uint2 sum_counts(__global const int* counts, __local uint2* sums) {
  const uint groups = get_num_groups(0), group = get_group_id(0);
  uint2 sum = 0;
  for (uint first = 0; first < groups; first += MTL_WG) {  // the same trips for all items
    const uint g = first + get_local_id(0);
    const uint count = counts[get_group_id(1) * groups + min(g, groups - 1)];
    sum += (uint2)(g < group ? count : 0, g < groups ? count : 0);
  }
  return sum_over_group(sum, sums);
}

// An item finds the class of an anchor. Group (x,y) looks at batch item y.
//@kernel multibox_transform_loc_count
//@arg    0 cls_prob  in      T[batch*classes*n]
//@arg    1 best      scratch int[batch*n]         class of each anchor, 0: none
//@arg    2 counts    scratch int[batch*groups]    anchors with a class, of each group
//@arg    3 n         int                          anchors
//@arg    4 classes   int                          with the background
//@arg    5 threshold float                        the lowest score of a class
//@global ceil(n/MTL_WG)*MTL_WG, batch  a group per MTL_WG anchors, whose number is `groups`
//@local  MTL_WG
//@needs  n >= 1, classes >= 2
__kernel GROUP void multibox_transform_loc_count(__global const T* cls_prob, __global int* best,
                                                 __global int* counts, int n, int classes,
                                                 float threshold) {
  __local uint flags[MTL_WG / 4];
  const uint i = get_global_id(0), batch = get_group_id(1);
  const uint at = ((batch * classes + 1) * n + min(i, (uint)n - 1)) * SIZE;
  const int found = find_class(cls_prob, at, n * SIZE, classes, threshold);
  const bool valid = found > 0 && i < (uint)n;
  if (i < (uint)n) best[batch * n + i] = found;
  const uint before = count_before(valid, flags);
  if (get_local_id(0) == MTL_WG - 1) {
    counts[batch * get_num_groups(0) + get_group_id(0)] = before + valid;
  }
}

// An item writes the row of its anchor, if that has a class. It also writes the row of out with its
// own number, if that lies past the total. Group 0 of a batch item writes its count.
//@kernel multibox_transform_loc_scatter
//@arg    0 cls_prob   in  T[batch*classes*n]
//@arg    1 loc        in  T[batch*4*n]        offsets; 16-byte aligned
//@arg    2 anchors    in  T[n*4]              corners; 16-byte aligned
//@arg    3 out        out T[batch*n*6]        16-byte aligned
//@arg    4 count      out int[batch]
//@arg    5 best       in  int[batch*n]        written by count
//@arg    6 counts     in  int[batch*groups]   written by count
//@arg    7 n          int
//@arg    8 classes    int
//@arg    9 clip       int                     1: corners between 0 and 1
//@arg   10 variance_x float                   v0
//@arg   11 variance_y float
//@arg   12 variance_w float
//@arg   13 variance_h float
//@global ceil(n/MTL_WG)*MTL_WG, batch  as for count
//@local  MTL_WG
//@needs  n >= 1, classes >= 2, MTL_WG as for count
__kernel GROUP void multibox_transform_loc_scatter(
    __global const T* cls_prob, __global const T* loc, __global const T* anchors, __global T* out,
    __global int* count, __global const int* best, __global const int* counts, int n, int classes,
    int clip, float variance_x, float variance_y, float variance_w, float variance_h) {
  __local uint2 sums[MTL_WG];
  __local uint flags[MTL_WG / 4];
  const uint i = get_global_id(0), batch = get_group_id(1);
  const uint anchor = min(i, (uint)n - 1);
  const uint2 sum = sum_counts(counts, sums);
  const int found = i < (uint)n ? best[batch * n + anchor] : 0;
  const uint place = sum.x + count_before(found > 0, flags);
  if (found > 0) {
    const float score = (float)cls_prob[(batch * classes + found) * n + anchor];
    const float4 corners = load4(anchors, anchor);
    float4 box = decode_box(load4(loc, batch * n + anchor), (corners.lo + corners.hi) * 0.5f,
                            corners.hi - corners.lo,
                            (float4)(variance_x, variance_y, variance_w, variance_h));
    if (clip) box = fmin(fmax(box, (float4)(0.0f)), (float4)(1.0f));
    store_row((float2)((float)(found - 1), score), box, out, batch * n + place);
  }
  if (i >= sum.y && i < (uint)n) store_row((float2)(-1.0f), (float4)(-1.0f), out, batch * n + i);
  if (i == 0) count[batch] = sum.y;
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops multibox_transform_loc_count
//@loop   classes-1  over the classes
//@loop   MTL_WG/4  over the flags of the group, four a trip

//@loops multibox_transform_loc_scatter
//@loop   ceil(ceil(n/MTL_WG)/MTL_WG)  over the counts of all groups
//@loop   log2(MTL_WG)  over the steps of their sum
//@loop   MTL_WG/4  over the flags of the group, four a trip
