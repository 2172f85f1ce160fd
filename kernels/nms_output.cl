// SPDX-License-Identifier: MIT
// nms_output.cl - writes the outputs of non-maximum suppression, from what nms.cl left in scratch.
//
//   out[b,i]         = the row of candidate i if it is kept, else -1 in every element; or, compact,
//                      the row of the i-th kept candidate, then -1
//   box_indices[b,i] = indices[b, row of the i-th kept candidate], then -1;   box_count[b] = kept
//
// Rows are copied as integers, so NaN payloads and denormals survive. With NMS_TO the coordinates
// of a kept row are converted, in float, each operation and the result rounded once:
//
//   to center  ((x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0)
//   to corner  (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage). Half is read and written by
// vload_half and vstore_half, so no extension is needed.
//
//@define CLAM_F16 off                     store tensors as half
//@define NMS_WG   64 {16,32,64,128,256}   work-items of a group
//@define NMS_UNIT 0 {0,2,4,8,16}          bytes copied at a time; they divide a row; 0: one T
//@define NMS_TO   0 {0,1,2}               boxes become 1: (middle, size), 2: corners; 0: are copied

//@shared options
#ifndef NMS_WG
#define NMS_WG 64
#endif
#if NMS_WG < 16 || NMS_WG > 256 || NMS_WG & (NMS_WG - 1)
#error "nms_output.cl: NMS_WG must be a power of two from 16 to 256"
#endif
#ifndef NMS_UNIT
#define NMS_UNIT 0
#endif
#if NMS_UNIT != 0 && NMS_UNIT != 2 && NMS_UNIT != 4 && \
    NMS_UNIT != 8 && NMS_UNIT != 16
#error "nms_output.cl: NMS_UNIT must be 0, 2, 4, 8 or 16"
#endif
#ifndef NMS_TO
#define NMS_TO 0
#endif
#if NMS_TO != 0 && NMS_TO != 1 && NMS_TO != 2
#error "nms_output.cl: NMS_TO must be 0, 1 or 2"
#endif
//@end

// A conversion is defined operation by operation: no fused multiply-add.
#pragma OPENCL FP_CONTRACT OFF

#define GROUP_ROWS (4 * NMS_WG)  // rows that a group of nms_rows writes
#define GROUP __attribute__((reqd_work_group_size(NMS_WG, 1, 1)))

#define WG NMS_WG
#define BYTES NMS_UNIT

//@shared storage
#ifdef CLAM_F16
typedef half T;
#define LOAD(p, i) vload_half(i, p)
#else
typedef float T;
#define LOAD(p, i) (p)[i]
#endif
//@end

//@shared rows
#ifdef CLAM_F16
typedef ushort Element;         // T, copied as an integer
#define MINUS_ONES 0xBC00BC00u  // a uint full of T's -1
#else
typedef uint Element;
#define MINUS_ONES 0xBF800000u
#endif

#if BYTES == 0
typedef Element Unit;
#elif BYTES == 2
typedef ushort Unit;
#elif BYTES == 4
typedef uint Unit;
#elif BYTES == 8
typedef uint2 Unit;
#else
typedef uint4 Unit;
#endif

// Copies row `from` to row `to`, both counted over the tensor.
void copy_row(__global const T* data, __global T* out, uint from, uint to, uint e) {
  const uint bytes = e * sizeof(Element);
  __global const char* src = (__global const char*)data;
  __global char* dst = (__global char*)out;
  uint at = from * bytes;
  uint place = to * bytes;
  for (const uint end = at + bytes; at < end; at += sizeof(Unit), place += sizeof(Unit)) {
    *(__global Unit*)(dst + place) = *(__global const Unit*)(src + at);
  }
}

// Writes -1 to the rows [begin, end) of the tensor: 16 bytes a store, except at the ends.
void fill_rows(__global T* out, uint begin, uint end, uint e) {
  const uint lane = get_local_id(0);
  const uint per = 16 / sizeof(Element);  // elements in 16 bytes; no more than WG
  const uint start = begin * e;
  const uint stop = end * e;
  const uint first = min((start + per - 1) / per * per, stop);  // the first whole 16 bytes
  const uint last = max(stop / per * per, first);               // end of the last
  if (start + lane < first) ((__global Element*)out)[start + lane] = (Element)MINUS_ONES;
  for (uint i = first / per + lane; i < last / per; i += WG) {
    ((__global uint4*)out)[i] = (uint4)(MINUS_ONES);
  }
  if (last + lane < stop) ((__global Element*)out)[last + lane] = (Element)MINUS_ONES;
}
//@end

#ifdef CLAM_F16
#define STORE(x, p, i) vstore_half_rte(x, i, p)
#else
#define STORE(x, p, i) ((__global Element*)(p))[i] = as_uint(x)
#endif

// Writes the box that begins at element `from` of data to element `to` of out, in the other form.
void convert_box(__global const T* data, __global T* out, uint from, uint to) {
  const float a = LOAD(data, from), b = LOAD(data, from + 1);
  const float c = LOAD(data, from + 2), d = LOAD(data, from + 3);
#if NMS_TO == 1
  STORE(0.5f * (a + c), out, to);
  STORE(0.5f * (b + d), out, to + 1);
  STORE(c - a, out, to + 2);
  STORE(d - b, out, to + 3);
#else
  STORE(a - 0.5f * c, out, to);
  STORE(b - 0.5f * d, out, to + 1);
  STORE(a + 0.5f * c, out, to + 2);
  STORE(b + 0.5f * d, out, to + 3);
#endif
}

// Writes a kept row; both rows are counted over the tensor.
void write_kept(__global const T* data, __global T* out, uint from, uint to, uint e,
                uint coord_start) {
  copy_row(data, out, from, to, e);
#if NMS_TO
  convert_box(data, out, from * e + coord_start, to * e + coord_start);
#endif
}

// A work-group writes GROUP_ROWS rows of the output: those of candidates, or of kept ones, then -1.
//@kernel nms_rows
//@arg    0 data       in  T[batch*n*e]              16-byte aligned
//@arg    1 out        out T[batch*n*e]              16-byte aligned; not data
//@arg    2 rows       in  int[batch*top]            written by place, or by one
//@arg    3 candidates in  int[batch]                written by place, or by one
//@arg    4 keep       in  uint[batch*ceil(top/32)]  written by walk, or by one
//@arg    5 kept       in  int[batch*top]            written by walk, or by one
//@arg    6 totals     in  int[batch*chunks]         written by walk, or by one
//@arg    7 n          int
//@arg    8 e          int
//@arg    9 top        int
//@arg   10 chunks     int
//@arg   11 compact    int                           1: kept rows stand together
//@arg   12 coord_start int                          element of the first coordinate
//@global ceil(n/(4*NMS_WG))*NMS_WG, batch
//@local  NMS_WG
//@needs  n >= 1, e >= 1, top >= 1, top <= n, chunks >= 1; batch*n*e*sizeof(T) < 2^31
//@needs  coord_start >= 0, coord_start + 4 <= e
__kernel GROUP void nms_rows(__global const T* data, __global T* out, __global const int* rows,
                             __global const int* candidates, __global const uint* keep,
                             __global const int* kept, __global const int* totals, int n, int e,
                             int top, int chunks, int compact, int coord_start) {
  const uint b = get_group_id(1);
  const uint first = get_group_id(0) * GROUP_ROWS;
  const uint last = min(first + GROUP_ROWS, (uint)n);
  const uint used = compact ? totals[b * chunks + chunks - 1] : candidates[b];
  for (uint row = first + get_local_id(0); row < min(last, used); row += NMS_WG) {
    if (compact) {
      const uint from = b * n + rows[b * top + kept[b * top + row]];
      write_kept(data, out, from, b * n + row, e, coord_start);
    } else if (keep[b * ((top + 31) / 32) + row / 32] & 1u << (row & 31)) {
      write_kept(data, out, b * n + rows[b * top + row], b * n + row, e, coord_start);
    } else {
      __global Element* dst = (__global Element*)out + (b * n + row) * e;
      for (uint i = 0; i < e; ++i) dst[i] = (Element)MINUS_ONES;
    }
  }
  if (used < last) fill_rows(out, b * n + max(first, used), b * n + last, e);
}

// A work-item writes one index.
//@kernel nms_indices
//@arg    0 indices     in  int[batch*n]       what is written for a kept row; without it its number
//@arg    1 box_indices out int[batch*n]       not indices
//@arg    2 box_count   out int[batch]
//@arg    3 rows        in  int[batch*top]     written by place, or by one
//@arg    4 kept        in  int[batch*top]     written by walk, or by one
//@arg    5 totals      in  int[batch*chunks]  written by walk, or by one
//@arg    6 n           int
//@arg    7 top         int
//@arg    8 chunks      int
//@null   indices
//@global ceil(n/NMS_WG)*NMS_WG, batch
//@local  NMS_WG
//@needs  n >= 1, top >= 1, top <= n, chunks >= 1
__kernel GROUP void nms_indices(__global const int* indices, __global int* box_indices,
                                __global int* box_count, __global const int* rows,
                                __global const int* kept, __global const int* totals, int n,
                                int top, int chunks) {
  const uint b = get_group_id(1);
  const uint i = get_global_id(0);
  const uint total = totals[b * chunks + chunks - 1];
  if (i == 0) box_count[b] = total;
  if (i >= n) return;
  int index = -1;
  if (i < total) {
    const uint row = rows[b * top + kept[b * top + i]];
    index = indices ? indices[b * n + row] : (int)row;
  }
  box_indices[b * n + i] = index;
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops nms_rows
//@loop   0..4  over its rows
//@loop   0..e  over the elements of a row that is not kept
//@loop   0..e*(4-2*CLAM_F16)/max(NMS_UNIT,(NMS_UNIT==0)*(4-2*CLAM_F16))  over the units of a kept row
//@loop   0..e*(4-2*CLAM_F16)/max(NMS_UNIT,(NMS_UNIT==0)*(4-2*CLAM_F16))  over them, where kept rows stand together
//@loop   0..ceil(e*(4-2*CLAM_F16)/4)  over the rows past the last, 16 bytes a trip
