// SPDX-License-Identifier: MIT
// onnx_nms.cl - writes the output of ONNX's NonMaxSuppression, from what nms.cl left in scratch.
//
//   selected[i] = (batch item, class, box) of the i-th kept box, counted over batch items, in each
//                 over classes, in each by falling score; then (-1, -1, -1)
//
// A set of rows is one class of one batch item. Where its boxes go depends on how many the sets
// before it keep: every work-group adds those up for itself, which spares a launch.
//
// Builds alone. No element of a half or float tensor is touched.
//
//@define ONNX_NMS_WG 64 {16,32,64,128,256}   work-items of a group

//@shared options
#ifndef ONNX_NMS_WG
#define ONNX_NMS_WG 64
#endif
#if ONNX_NMS_WG < 16 || ONNX_NMS_WG > 256 || ONNX_NMS_WG & (ONNX_NMS_WG - 1)
#error "onnx_nms.cl: ONNX_NMS_WG must be a power of two from 16 to 256"
#endif
//@end

// (kept by the sets before `set`, kept by all). All items must call it, once.
int2 kept_before(__global const int* totals, __local int2* sums, uint set, uint sets, uint chunks) {
  const uint lane = get_local_id(0);
  int2 sum = (int2)(0, 0);
  for (uint i = lane; i < sets; i += ONNX_NMS_WG) {
    const int total = totals[i * chunks + chunks - 1];
    sum.x += i < set ? total : 0;
    sum.y += total;
  }
  sums[lane] = sum;
  for (uint half_of = ONNX_NMS_WG / 2; half_of > 0; half_of /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);  // the sums of this step are complete
    if (lane < half_of) sums[lane] += sums[lane + half_of];
  }
  barrier(CLK_LOCAL_MEM_FENCE);  // the sum of all is complete
  return sums[0];
}

// Each row of the output belongs to one set, and so has one writer. Rows up to the last kept box
// belong to the set that keeps the box. Later rows belong to set number row / most.
//@kernel onnx_nms_selected
//@arg    0 selected       out int[sets*most*3]
//@arg    1 selected_count out int[1]
//@arg    2 rows           in  int[sets*top]     written by place, or by one
//@arg    3 kept           in  int[sets*top]     written by walk, or by one
//@arg    4 totals         in  int[sets*chunks]  written by walk, or by one
//@arg    5 sets           int
//@arg    6 classes        int                   sets of a batch item
//@arg    7 top            int
//@arg    8 most           int                   most boxes that a set keeps
//@arg    9 chunks         int
//@global ceil(most/ONNX_NMS_WG)*ONNX_NMS_WG, sets
//@local  ONNX_NMS_WG
//@needs  classes >= 1, top >= 1, most >= 1, most <= top, chunks >= 1; sets*most*12 < 2^31
__kernel __attribute__((reqd_work_group_size(ONNX_NMS_WG, 1, 1))) void onnx_nms_selected(
    __global int* selected, __global int* selected_count, __global const int* rows,
    __global const int* kept, __global const int* totals, int sets, int classes, int top, int most,
    int chunks) {
  __local int2 sums[ONNX_NMS_WG];
  const uint set = get_group_id(1);
  const uint i = get_global_id(0);
  const int2 sum = kept_before(totals, sums, set, sets, chunks);
  if (set == 0 && i == 0) *selected_count = sum.y;
  if (i >= most) return;
  const uint total = totals[set * chunks + chunks - 1];
  if (i < total) {
    const int3 triple = (int3)(set / classes, set % classes, rows[set * top + kept[set * top + i]]);
    vstore3(triple, sum.x + i, selected);
  }
  const uint own = set * most + i;
  if (own >= sum.y) vstore3((int3)(-1, -1, -1), own, selected);
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops onnx_nms_selected
//@loop   floor(sets/ONNX_NMS_WG)..ceil(sets/ONNX_NMS_WG)  over the sets, for their sums
//@loop   log2(ONNX_NMS_WG)  over the halves of the sums
