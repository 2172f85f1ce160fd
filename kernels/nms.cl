// SPDX-License-Identifier: MIT
// nms.cl - non-maximum suppression: the one core of nms, onnx_nms, box_nms and torchvision_nms.
//
// It works on independent sets of n rows. Row r of set s has its score at
// scores[(s*n + r)*score_step + score_index]. Its box and class are in row r of data[items,n,e], of
// item s / (sets / items). Several sets may share boxes, as the classes of onnx_nms do. The first
// count[s] rows of a set, or all, are taken if score > score_min (-inf: all but NaN). They are
// sorted by falling score, ties by lower row. The best `top` are the candidates, taken in that
// order. One that is not suppressed yet is kept. It suppresses every later one of its class that it
// overlaps enough:
//
//   inter = w * h,  uni = (A + B) - inter,  overlap: inter >= iou_threshold * uni   (> with NMS_GT)
//
// in float, each operation rounded once, also for half; uni <= 0 counts as an overlap of 0.
//
// The launches, with what they leave in scratch. `size` candidates make a chunk; there are several
// chunks only where a mask of all candidates would be too large.
//
//   sort    each 1024 rows by themselves: keys = sortable score << 32 | ~row, unique, falling
//   place   rank of a row = its place in its block + those before it in the other blocks; its box,
//           class and row go to the arrays of candidates
//   per chunk:
//   meet    dead[j]: candidate j of the chunk is suppressed by one of an earlier chunk
//   mask    bit j of mask[w][i]: candidate i, if kept, suppresses candidate 32 * w + j of the chunk
//
//                columns w = 0   1   2   3        only words on and above the diagonal are written
//        rows  0..31         o   x   x   x        or read; the 32 words of a block of rows and one
//             32..63             o   x   x        w are neighbours, so that the walk loads them as
//             64..95                 o   x        eight uint4
//
//   walk    one group a set takes 32 candidates at a time: who is kept follows from the words on
//           the diagonal (o), in a register; their words to the right (x) then suppress columns
//
// nms_output.cl or onnx_nms.cl then writes the outputs. one does all of the above for few
// candidates. Each address has one writer in a launch, and no work-group reads what another one
// wrote in the same launch. So there are no atomics. The result is the same bits for every timing
// and every work-group size. Counts stay on the device: launches are sized for the worst case, and
// a group that has nothing to do leaves before its first barrier.
//
// Buffers start on multiples of 16 bytes, as OpenCL's do; vectors lie on multiples of their size.
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage). Half is read by vload_half only,
// so no extension is needed.
//
//@define CLAM_F16    off                      store tensors as half
//@define NMS_SORT_WG 256 {16,32,64,128,256}   work-items of a group of sort and one
//@define NMS_WG      64 {16,32,64,128,256}    work-items of a group of the other kernels
//@define NMS_GT      0 {0,1}                  1: the overlap must be over the threshold, not at it
//@define NMS_CENTER  0 {0,1}                  1: boxes are (middle x, y, width, height)
//@define NMS_TURNED  0 {0,1}                  1: a box of negative width or height overlaps none

//@shared options
#ifndef NMS_SORT_WG
#define NMS_SORT_WG 256
#endif
#if NMS_SORT_WG < 16 || NMS_SORT_WG > 256 || NMS_SORT_WG & (NMS_SORT_WG - 1)
#error "nms.cl: NMS_SORT_WG must be a power of two from 16 to 256"
#endif
#ifndef NMS_WG
#define NMS_WG 64
#endif
#if NMS_WG < 16 || NMS_WG > 256 || NMS_WG & (NMS_WG - 1)
#error "nms.cl: NMS_WG must be a power of two from 16 to 256"
#endif
#ifndef NMS_GT
#define NMS_GT 0
#endif
#if NMS_GT != 0 && NMS_GT != 1
#error "nms.cl: NMS_GT must be 0 or 1"
#endif
#ifndef NMS_CENTER
#define NMS_CENTER 0
#endif
#if NMS_CENTER != 0 && NMS_CENTER != 1
#error "nms.cl: NMS_CENTER must be 0 or 1"
#endif
#ifndef NMS_TURNED
#define NMS_TURNED 0
#endif
#if NMS_TURNED != 0 && NMS_TURNED != 1
#error "nms.cl: NMS_TURNED must be 0 or 1"
#endif
//@end

// The overlap is defined operation by operation: no fused multiply-add.
#pragma OPENCL FP_CONTRACT OFF

#define BLOCK 1024        // rows that are sorted together
#define ONE_MAX 256       // candidates of the kernel one
#define CHUNK_WORDS 128   // words of 32 candidates in the largest chunk
#define PARTS (NMS_WG < 64 ? 1 : 4)  // of the 32 rows that walk takes at a time, by work-items
#define STRIKERS (32 / PARTS)        // rows of a part
#define GROUP __attribute__((reqd_work_group_size(NMS_WG, 1, 1)))
#define SORT_GROUP __attribute__((reqd_work_group_size(NMS_SORT_WG, 1, 1)))

//@shared storage
#ifdef CLAM_F16
typedef half T;
#define LOAD(p, i) vload_half(i, p)
#else
typedef float T;
#define LOAD(p, i) (p)[i]
#endif
//@end

#define REACHES(a, b) (NMS_GT ? (a) > (b) : (a) >= (b))

// ---- numbers ----

//@shared order
// The bits of x as an int that compares like the number: -0 and 0 are 0, NaNs lie beyond the
// infinities. Floats would not do: a device may take a denormal for 0 when it compares them.
#define INFINITE 0x7F800000
int order(float x) {
  const int bits = as_int(x);
  return bits < 0 ? INT_MIN - bits : bits;
}
//@end

float lower(float a, float b) { return order(a) < order(b) ? a : b; }
float upper(float a, float b) { return order(a) < order(b) ? b : a; }

// The corners of the box whose four coordinates begin at element `at`, lower ones first unless
// NMS_TURNED. A NaN stays in, and makes every overlap with the box NaN, which reaches no threshold.
float4 corners(__global const T* data, uint at) {
  float x0 = LOAD(data, at), y0 = LOAD(data, at + 1);
  float x1 = LOAD(data, at + 2), y1 = LOAD(data, at + 3);
#if NMS_CENTER
  const float x = x0, y = y0, half_width = 0.5f * x1, half_height = 0.5f * y1;
  x0 = x - half_width;
  y0 = y - half_height;
  x1 = x + half_width;
  y1 = y + half_height;
#endif
  if (NMS_TURNED) return (float4)(x0, y0, x1, y1);
  return (float4)(lower(x0, x1), lower(y0, y1), upper(x0, x1), upper(y0, y1));
}

float area(float4 box) { return (box.z - box.x) * (box.w - box.y); }

// The class of the row that begins at element `row`, as an int that is equal where the numbers are.
// NaN equals nothing and gives NO_CLASS.
#define NO_CLASS INT_MIN
int class_of(__global const T* data, uint row, int id_index) {
  if (id_index < 0) return 0;
  const int id = order(LOAD(data, row + id_index));
  return id > INFINITE || id < -INFINITE ? NO_CLASS : id;
}

// Rows of a set that are valid.
uint valid_rows(__global const int* count, uint set, int n) {
  return count ? clamp(count[set], 0, n) : n;
}

// Candidates of the chunk that starts at candidate `first`.
uint in_chunk(int candidates, uint first, uint size) {
  return candidates > (int)first ? min(candidates - first, size) : 0;
}

// The lowest min(k, 32) bits.
uint low_bits(uint k) { return k < 32 ? (1u << k) - 1 : 0xFFFFFFFFu; }

// The lowest k bits that are set in `bits`, and no others.
uint first_set(uint bits, uint k) {
  while (popcount(bits) > k) bits &= ~(0x80000000u >> clz(bits));
  return bits;
}

// ---- sorting ----

// The lower the row, the higher this.
uint turned(uint row) { return ~row; }

// Sorts before others: a higher score, then a lower row. 0: the row is no candidate.
ulong key_of(float score, int least, uint row) {
  const int place = order(score);
  if (place < least || place > INFINITE) return 0;
  return (ulong)((uint)place ^ 0x80000000u) << 32 | turned(row);
}

uint row_of(ulong key) { return turned((uint)key); }

void exchange(ulong* a, ulong* b, bool falling) {
  const ulong x = *a, y = *b;
  const bool stay = (x > y) == falling;
  *a = stay ? x : y;
  *b = stay ? y : x;
}

// One step of a bitonic merge over a distance of 2 * h. If `both` is set, the next one over h
// follows. Item q of the network has four keys. Runs of `run` keys fall and rise in turn.
void merge_step(__local ulong* keys, uint q, uint h, uint run, bool both) {
  const uint i = (q & (h - 1)) | (q & ~(h - 1)) << 2;
  const bool falling = (i & run) == 0;
  ulong a = keys[i], b = keys[i + h], c = keys[i + 2 * h], d = keys[i + 3 * h];
  exchange(&a, &c, falling);
  exchange(&b, &d, falling);
  if (both) {
    exchange(&a, &b, falling);
    exchange(&c, &d, falling);
  }
  keys[i] = a;
  keys[i + h] = b;
  keys[i + 2 * h] = c;
  keys[i + 3 * h] = d;
}

// Sorts four neighbours: falling where q is even.
void sort_four(__local ulong* keys, uint q) {
  const bool falling = (q & 1) == 0;
  ulong a = keys[4 * q], b = keys[4 * q + 1], c = keys[4 * q + 2], d = keys[4 * q + 3];
  exchange(&a, &b, true);
  exchange(&c, &d, false);
  exchange(&a, &c, falling);
  exchange(&b, &d, falling);
  exchange(&a, &b, falling);
  exchange(&c, &d, falling);
  keys[4 * q] = a;
  keys[4 * q + 1] = b;
  keys[4 * q + 2] = c;
  keys[4 * q + 3] = d;
}

// How many keys sort_rows sorts for `rows` rows.
uint sorted_size(uint rows) {
  uint size = 4;
  while (size < rows) size *= 2;
  return size;
}

// The key of row `row` of a set whose scores begin at element `at`.
ulong key_at(__global const T* scores, uint at, uint row, int score_step, int score_index,
             int background_index, float background, int least) {
  at += row * score_step;
  const bool filtered = background_index >= 0;
  if (filtered && class_of(scores, at, background_index) == order(background)) return 0;
  return key_of(LOAD(scores, at + score_index), least, row);
}

// Keys of the rows [first, first + rows) of a set, sorted falling; rows <= BLOCK. Returns how many
// are candidates: the others are 0, behind them. All items must call it.
uint sort_rows(__global const T* scores, __local ulong* keys, uint set, uint first, uint rows,
               int n, int score_step, int score_index, int background_index, float background,
               float score_min) {
  const uint lane = get_local_id(0);
  const uint size = sorted_size(rows);
  const int least = order(score_min) + (order(score_min) > -INFINITE);  // score > score_min, or all
  for (uint i = lane; i < size; i += NMS_SORT_WG) {
    keys[i] = i < rows ? key_at(scores, set * n * score_step, first + i, score_step, score_index,
                                background_index, background, least)
                       : 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);  // keys are complete
  // All items make the same number of trips: where they did not, Mesa 25.0's llvmpipe crashed.
  for (uint q = 0; q < size / 4; q += NMS_SORT_WG) {
    if (q + lane < size / 4) sort_four(keys, q + lane);
  }
  barrier(CLK_LOCAL_MEM_FENCE);  // all fours are sorted
  for (uint run = 8, steps = 3; run <= size; run *= 2, ++steps) {
    uint h = run / 4;
    if (steps & 1) {
      for (uint q = 0; q < size / 4; q += NMS_SORT_WG) {
        if (q + lane < size / 4) merge_step(keys, q + lane, h, run, false);
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // this step is complete before the next one reads
      h /= 2;
    }
    for (; h > 0; h /= 4) {
      for (uint q = 0; q < size / 4; q += NMS_SORT_WG) {
        if (q + lane < size / 4) merge_step(keys, q + lane, h, run, true);
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // both steps are complete before the next one reads
    }
  }
  uint candidates = 0;
  for (uint step = size; step > 0; step /= 2) {
    const uint at = candidates + step;
    if (at <= size && keys[at - 1] != 0) candidates = at;
  }
  return candidates;
}

// A work-group sorts BLOCK rows.
//@kernel nms_sort
//@arg    0 scores      in      T[sets*n*score_step]
//@arg    1 count       in      int[sets]                    valid rows, clamped to 0..n; without it all
//@arg    2 keys        scratch ulong[sets*ceil(n/1024)*1024]
//@arg    3 found       scratch int[sets*ceil(n/1024)]       candidates of each block
//@arg    4 n           int                                  rows of a set
//@arg    5 score_step  int                                  elements from a score to the next
//@arg    6 score_index int                                  element of the first score
//@arg    7 background_index int                             element of the class; -1: all are wanted
//@arg    8 background  float                                rows of this class are no candidates
//@arg    9 score_min   float                                a candidate has a higher score
//@null   count
//@global ceil(n/1024)*NMS_SORT_WG, sets
//@local  NMS_SORT_WG
//@needs  n >= 1, score_step >= 1, score_index >= 0, score_index < score_step
//@needs  background_index >= -1, background_index < score_step; sets*n*score_step*sizeof(T) < 2^31
__kernel SORT_GROUP void nms_sort(__global const T* scores, __global const int* count,
                                  __global ulong* keys, __global int* found, int n, int score_step,
                                  int score_index, int background_index, float background,
                                  float score_min) {
  __local ulong sorted[BLOCK];
  const uint lane = get_local_id(0);
  const uint set = get_group_id(1);
  const uint block = set * get_num_groups(0) + get_group_id(0);
  const uint first = get_group_id(0) * BLOCK;
  const uint valid = valid_rows(count, set, n);
  if (first >= valid) return;  // the same for the whole group
  const uint rows = min(valid - first, (uint)BLOCK);
  const uint candidates = sort_rows(scores, sorted, set, first, rows, n, score_step, score_index,
                                    background_index, background, score_min);
  for (uint i = lane; i < candidates; i += NMS_SORT_WG) keys[block * BLOCK + i] = sorted[i];
  if (lane == 0) found[block] = candidates;
}

// How many of the `length` falling keys are higher than `key`.
uint higher_keys(__global const ulong* keys, uint length, ulong key) {
  uint low = 0;
  while (low < length) {
    const uint middle = (low + length) / 2;
    if (keys[middle] > key) {
      low = middle + 1;
    } else {
      length = middle;
    }
  }
  return low;
}

// A work-item finds the rank of a key among all. If that is under `top`, its row is the candidate
// of that number; so of each block only the first `top` keys matter. The first item of a set writes
// how many candidates there are.
//@kernel nms_place
//@arg    0 data        in      T[items*n*e]
//@arg    1 count       in      int[sets]                      valid rows; without it all
//@arg    2 keys        in      ulong[sets*ceil(n/1024)*1024]  written by sort
//@arg    3 found       in      int[sets*ceil(n/1024)]         written by sort
//@arg    4 boxes       scratch float4[sets*top]               corners, lower ones first
//@arg    5 classes     scratch int[sets*top]
//@arg    6 rows        scratch int[sets*top]
//@arg    7 candidates  scratch int[sets]                      how many there are, at most top
//@arg    8 n           int
//@arg    9 e           int                                    elements of a row of data
//@arg   10 top         int                                    most candidates of a set
//@arg   11 coord_start int                                    element of the first coordinate
//@arg   12 id_index    int                                    -1: classes are not compared
//@arg   13 sets_of_item int                                   that share the boxes of an item
//@null   count
//@global ceil(min(top,1024)/NMS_WG)*NMS_WG, ceil(n/1024), sets
//@local  NMS_WG
//@needs  n >= 1, top >= 1, top <= n, id_index >= -1, id_index < e; items*n*e*sizeof(T) < 2^31
//@needs  coord_start >= 0, coord_start + 4 <= e, sets_of_item >= 1
__kernel GROUP void nms_place(__global const T* data, __global const int* count,
                              __global const ulong* keys, __global const int* found,
                              __global float4* boxes, __global int* classes, __global int* rows,
                              __global int* candidates, int n, int e, int top, int coord_start,
                              int id_index, int sets_of_item) {
  const uint index = get_global_id(0);
  const uint block = get_group_id(1);
  const uint set = get_group_id(2);
  const uint blocks = get_num_groups(1);
  const uint used = (valid_rows(count, set, n) + BLOCK - 1) / BLOCK;
  found += set * blocks;
  keys += set * blocks * BLOCK;
  if (index == 0 && block == 0) {
    uint sum = 0;
    for (uint i = 0; i < used; ++i) sum += found[i];
    candidates[set] = min(sum, (uint)top);
  }
  if (block >= used || index >= (uint)found[block]) return;
  const ulong key = keys[block * BLOCK + index];
  uint rank = index;
  for (uint i = 0; i < used && rank < top; ++i) {
    // More than top - rank higher keys are as good as many more.
    if (i != block) rank += higher_keys(keys + i * BLOCK, min((uint)found[i], top - rank), key);
  }
  if (rank >= top) return;
  const uint row = row_of(key);
  const uint at = (set / (uint)sets_of_item * n + row) * e;
  const uint place = set * top + rank;
  boxes[place] = corners(data, at + coord_start);
  classes[place] = class_of(data, at, id_index);
  rows[place] = row;
}

// ---- overlap ----

// Whether two boxes overlap enough for one to suppress the other. Their order does not matter,
// because every operation is symmetric. An overlap of 0 / 0 counts as 0: `zero` is then what it has
// to reach.
bool meet(float4 a, float area_a, float4 b, float area_b, float iou_threshold, float zero) {
  const float w = fmax(fmin(a.z, b.z) - fmax(a.x, b.x), 0.0f);
  const float h = fmax(fmin(a.w, b.w) - fmax(a.y, b.y), 0.0f);
  const float inter = w * h;
  const float uni = (area_a + area_b) - inter;
  return REACHES(inter, uni <= 0.0f ? zero : iou_threshold * uni);
}

// What is to be known of a box besides its corners: (bits of the area, class).
int2 rest_of(float4 box, int box_class) { return (int2)(as_int(area(box)), box_class); }

// Bit j: the box meets box j of the 32, which is of its class. Written out, because a loop over j
// would cost two instructions of addressing for each one of arithmetic.
#define BIT(j)                                                                                  \
  (meet(box, own, boxes[j], as_float(rest[j].x), iou_threshold, zero) && own_class == rest[j].y \
       ? 1u << (j)                                                                              \
       : 0)
#define BITS(j) (BIT(j) | BIT((j) + 1) | BIT((j) + 2) | BIT((j) + 3))
uint meets(float4 box, int own_class, __local const float4* boxes, __local const int2* rest,
           float iou_threshold) {
  const float own = area(box);
  const float zero = REACHES(0.0f, iou_threshold) ? -INFINITY : INFINITY;
  uint bits = BITS(0);
  bits |= BITS(4);
  bits |= BITS(8);
  bits |= BITS(12);
  bits |= BITS(16);
  bits |= BITS(20);
  bits |= BITS(24);
  bits |= BITS(28);
  return own_class == NO_CLASS ? 0 : bits;
}

// A work-item has one candidate of the chunk, and looks for one that was kept before and suppresses
// it.
//@kernel nms_meet
//@arg    0 boxes      in      float4[sets*top]     written by place
//@arg    1 classes    in      int[sets*top]        written by place
//@arg    2 candidates in      int[sets]            written by place
//@arg    3 kept       in      int[sets*top]        written by walk: kept candidates, in order
//@arg    4 totals     in      int[sets*chunks]     written by walk: kept up to the end of a chunk
//@arg    5 dead       scratch uint[sets*size]      1: suppressed
//@arg    6 top        int
//@arg    7 size       int                           candidates of a chunk
//@arg    8 chunks     int
//@arg    9 chunk      int
//@arg   10 iou_threshold float
//@global ceil(size/NMS_WG)*NMS_WG, sets
//@local  NMS_WG
//@needs  top >= 1, size >= 32, size % 32 == 0, chunk >= 1, chunk < chunks, chunks == ceil(top/size)
__kernel GROUP void nms_meet(__global const float4* boxes, __global const int* classes,
                             __global const int* candidates, __global const int* kept,
                             __global const int* totals, __global uint* dead, int top, int size,
                             int chunks, int chunk, float iou_threshold) {
  __local float4 kept_boxes[32];
  __local int2 kept_rest[32];
  const uint lane = get_local_id(0);
  const uint set = get_group_id(1);
  const uint column = get_global_id(0);
  const uint first = chunk * size;
  const uint left = in_chunk(candidates[set], first, size);
  const uint columns = (left + 31) / 32 * 32;       // that the walk reads
  if (get_group_id(0) * NMS_WG >= columns) return;  // the same for the whole group
  const uint item = set * top;
  const bool own = column < left;
  const float4 box = own ? boxes[item + first + column] : (float4)(0.0f);
  const int own_class = own ? classes[item + first + column] : NO_CLASS;
  const uint total = totals[set * chunks + chunk - 1];
  uint hits = 0;
  for (uint begin = 0; begin < total; begin += 32) {
    for (uint i = lane; i < 32; i += NMS_WG) {
      const bool there = begin + i < total;
      const uint at = there ? item + kept[item + begin + i] : 0;
      const float4 other = there ? boxes[at] : (float4)(0.0f);
      kept_boxes[i] = other;
      kept_rest[i] = rest_of(other, there ? classes[at] : NO_CLASS);
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // the 32 kept boxes are complete
    if (hits == 0) hits = meets(box, own_class, kept_boxes, kept_rest, iou_threshold);
    barrier(CLK_LOCAL_MEM_FENCE);  // all have read them; they may be written again
  }
  if (column < columns) dead[set * size + column] = hits != 0;
}

// A work-item looks after one candidate, a row, and makes its word for the 32 candidates, columns,
// that the group shares.
//@kernel nms_mask
//@arg    0 boxes      in      float4[sets*top]         written by place
//@arg    1 classes    in      int[sets*top]            written by place
//@arg    2 candidates in      int[sets]                written by place
//@arg    3 mask       scratch uint[sets*size/32*size]
//@arg    4 top        int
//@arg    5 size       int                               candidates of a chunk
//@arg    6 chunk      int
//@arg    7 iou_threshold float
//@layout mask[(s*size/32 + w)*size + i], bit j = candidate i of the chunk suppresses candidate 32*w + j
//@global ceil(size/NMS_WG)*NMS_WG, size/32, sets
//@local  NMS_WG
//@needs  top >= 1, size >= 32, size % 32 == 0, size <= 4096, chunk >= 0
__kernel GROUP void nms_mask(__global const float4* boxes, __global const int* classes,
                             __global const int* candidates, __global uint* mask, int top, int size,
                             int chunk, float iou_threshold) {
  __local float4 column_boxes[32];
  __local int2 column_rest[32];
  const uint lane = get_local_id(0);
  const uint word = get_group_id(1);
  const uint set = get_group_id(2);
  const uint row = get_global_id(0);
  const uint first = chunk * size;
  const uint left = in_chunk(candidates[set], first, size);
  const uint end = 32 * word + 32;  // rows from here on lie below the diagonal
  if (32 * word >= left || get_group_id(0) * NMS_WG >= end) return;  // the same for all
  const uint item = set * top + first;
  for (uint j = lane; j < 32; j += NMS_WG) {
    const uint column = 32 * word + j;
    const bool there = column < left;
    const float4 box = there ? boxes[item + column] : (float4)(0.0f);
    column_boxes[j] = box;
    column_rest[j] = rest_of(box, there ? classes[item + column] : NO_CLASS);
  }
  barrier(CLK_LOCAL_MEM_FENCE);  // the 32 columns are complete
  if (row >= end) return;
  uint bits = 0;
  if (row < left) {
    bits = meets(boxes[item + row], classes[item + row], column_boxes, column_rest, iou_threshold);
    if (row >= 32 * word) bits &= 0xFFFFFFFEu << (row & 31);  // only later ones
  }
  mask[(set * (size / 32) + word) * size + row] = bits;
}

// ---- walking ----

// One more row of 32: if it is kept, it suppresses those of `struck`.
#define LIVE(alive, bit, struck) ((alive) & (bit) ? (alive) & ~(struck) : (alive))
#define STRUCK(alive, bit, struck) ((alive) & (bit) ? (struck) : 0)

// Of the rows `alive`, those that no earlier kept one suppresses, by the 32 diagonal words.
uint survivors(uint alive, __global const uint4* diagonal) {
  for (uint i = 0; i < 8; ++i) {
    const uint4 words = diagonal[i];
    alive = LIVE(alive, 1u << 4 * i, words.x);
    alive = LIVE(alive, 2u << 4 * i, words.y);
    alive = LIVE(alive, 4u << 4 * i, words.z);
    alive = LIVE(alive, 8u << 4 * i, words.w);
  }
  return alive;
}

// What the first of the rows `alive` strike, by their STRIKERS words.
uint struck_by(uint alive, __global const uint4* words) {
  uint struck = 0;
  for (uint i = 0; i < STRIKERS / 4; ++i) {
    const uint4 w = words[i];
    struck |= STRUCK(alive, 1u << 4 * i, w.x) | STRUCK(alive, 2u << 4 * i, w.y) |
              STRUCK(alive, 4u << 4 * i, w.z) | STRUCK(alive, 8u << 4 * i, w.w);
  }
  return struck;
}

// 32 flags as bits.
uint gather_bits(__global const uint4* flags) {
  uint bits = 0;
  for (uint i = 0; i < 8; ++i) {
    const uint4 f = flags[i];
    bits |= (f.x | f.y << 1 | f.z << 2 | f.w << 3) << 4 * i;
  }
  return bits;
}

// Writes the candidates first + r with bit r in `alive` to the places from `kept` on.
void append(uint alive, uint first, __global int* kept) {
  for (uint r = get_local_id(0); r < 32; r += get_local_size(0)) {
    if (alive & 1u << r) kept[popcount(alive & low_bits(r))] = first + r;
  }
}

// One work-group per set decides who of a chunk is kept.
//@kernel nms_walk
//@arg    0 candidates in      int[sets]                written by place
//@arg    1 mask       in      uint[sets*size/32*size]  written by mask
//@arg    2 dead       in      uint[sets*size]          written by meet
//@arg    3 keep       scratch uint[sets*ceil(top/32)]  bit j of word w: 32*w + j is kept
//@arg    4 kept       scratch int[sets*top]            kept candidates, in order
//@arg    5 totals     inout   int[sets*chunks]         kept up to the end of a chunk
//@arg    6 top        int
//@arg    7 size       int                               candidates of a chunk
//@arg    8 chunks     int
//@arg    9 chunk      int
//@arg   10 limit      int                               most boxes that are kept
//@null   dead if chunks == 1
//@global NMS_WG, sets
//@local  NMS_WG
//@needs  top >= 1, size >= 32, size % 32 == 0, size <= 4096, chunk >= 0, chunk < chunks, limit >= 0
__kernel GROUP void nms_walk(__global const int* candidates, __global const uint* mask,
                             __global const uint* dead, __global uint* keep, __global int* kept,
                             __global int* totals, int top, int size, int chunks, int chunk,
                             int limit) {
  __local uint removed[PARTS * CHUNK_WORDS];  // by each part of the rows before
  const uint lane = get_local_id(0);
  const uint part = lane / (NMS_WG / PARTS);
  const uint own = lane % (NMS_WG / PARTS);
  const uint set = get_group_id(1);
  const uint first = chunk * size;
  const uint left = in_chunk(candidates[set], first, size);
  const uint words = (left + 31) / 32;
  for (uint w = own; w < words; w += NMS_WG / PARTS) {
    uint bits = 0;
    if (chunk > 0 && part == 0) {
      bits = gather_bits((__global const uint4*)(dead + set * size) + 8 * w);
    }
    removed[part * CHUNK_WORDS + w] = bits;
  }
  uint total = chunk == 0 ? 0 : totals[set * chunks + chunk - 1];
  for (uint block = 0; block < words; ++block) {
    barrier(CLK_LOCAL_MEM_FENCE);  // what earlier blocks strike is complete
    // The words of these 32 rows; those of word w are `size` further on for each w.
    __global const uint* rows = mask + set * (size / 32) * size + 32 * block;
    uint struck = removed[block];
    for (uint i = 1; i < PARTS; ++i) struck |= removed[i * CHUNK_WORDS + block];
    uint alive = low_bits(left - 32 * block) & ~struck;
    alive = survivors(alive, (__global const uint4*)(rows + block * size));
    alive = first_set(alive, limit - total);
    if (alive) {
      __global const uint* own_rows = rows + part * STRIKERS;
      for (uint w = block + 1 + own; w < words; w += NMS_WG / PARTS) {
        removed[part * CHUNK_WORDS + w] |=
            struck_by(alive >> (part * STRIKERS), (__global const uint4*)(own_rows + w * size));
      }
    }
    append(alive, first + 32 * block, kept + set * top + total);
    if (lane == 0) keep[set * ((top + 31) / 32) + first / 32 + block] = alive;
    total += popcount(alive);
  }
  if (lane == 0) totals[set * chunks + chunk] = total;
}

// One work-group per set does all of this for few candidates, without a mask.
//@kernel nms_one
//@arg    0 scores      in      T[sets*n*score_step]
//@arg    1 data        in      T[items*n*e]
//@arg    2 count       in      int[sets]                valid rows, clamped to 0..n; without it all
//@arg    3 rows        scratch int[sets*top]            rows of the candidates
//@arg    4 candidates  scratch int[sets]                how many there are, at most top
//@arg    5 keep        scratch uint[sets*ceil(top/32)]  bit j of word w: 32*w + j is kept
//@arg    6 kept        scratch int[sets*top]            kept candidates, in order
//@arg    7 totals      scratch int[sets]                kept boxes
//@arg    8 n           int                              rows of a set
//@arg    9 score_step  int                              elements from a score to the next
//@arg   10 score_index int                              element of the first score
//@arg   11 background_index int                         element of the class; -1: all are wanted
//@arg   12 background  float                            rows of this class are no candidates
//@arg   13 score_min   float                            a candidate has a higher score
//@arg   14 e           int                              elements of a row of data
//@arg   15 top         int                              most candidates of a set
//@arg   16 coord_start int                              element of the first coordinate
//@arg   17 id_index    int                              -1: classes are not compared
//@arg   18 limit       int                              most boxes that are kept
//@arg   19 iou_threshold float
//@null   count
//@global NMS_SORT_WG, sets/items, items
//@local  NMS_SORT_WG
//@needs  n >= 1, n <= 1024, top >= 1, top <= n, top <= 256, limit >= 0
//@needs  coord_start >= 0, coord_start + 4 <= e, id_index >= -1, id_index < e
//@needs  score_step >= 1, score_index >= 0, score_index < score_step; items*n*e*sizeof(T) < 2^31
//@needs  background_index >= -1, background_index < score_step; sets*n*score_step*sizeof(T) < 2^31
__kernel SORT_GROUP void nms_one(__global const T* scores, __global const T* data,
                                 __global const int* count, __global int* rows,
                                 __global int* candidates, __global uint* keep, __global int* kept,
                                 __global int* totals, int n, int score_step, int score_index,
                                 int background_index, float background, float score_min, int e,
                                 int top, int coord_start, int id_index, int limit,
                                 float iou_threshold) {
  __local ulong keys[BLOCK];
  __local float4 boxes[ONE_MAX];
  __local int2 rest[ONE_MAX];
  __local uint2 block_rows[32];  // (those it suppresses in the block, its own bit if alive)
  const uint lane = get_local_id(0);
  const uint item = get_group_id(2);
  const uint set = item * get_num_groups(1) + get_group_id(1);
  uint found = sort_rows(scores, keys, set, 0, valid_rows(count, set, n), n, score_step,
                         score_index, background_index, background, score_min);
  found = min(found, (uint)top);
  const uint words = (found + 31) / 32;
  for (uint i = lane; i < 32 * words; i += NMS_SORT_WG) {
    const bool there = i < found;
    const uint row = there ? row_of(keys[i]) : 0;
    const uint at = (item * n + row) * e;
    const float4 box = there ? corners(data, at + coord_start) : (float4)(0.0f);
    boxes[i] = box;
    rest[i] = rest_of(box, there ? class_of(data, at, id_index) : NO_CLASS);
    if (there) rows[set * top + i] = row;
  }
  uint total = 0;
  for (uint block = 0; block < words; ++block) {
    const uint first = 32 * block;
    barrier(CLK_LOCAL_MEM_FENCE);  // candidates, and the keys of those struck, are complete
    for (uint r = lane; r < 32; r += NMS_SORT_WG) {
      const uint i = first + r;
      const uint bits = meets(boxes[i], rest[i].y, boxes + first, rest + first, iou_threshold);
      const bool lives = i < found && keys[i] != 0;
      block_rows[r] = (uint2)(bits & 0xFFFFFFFEu << r, lives ? 1u << r : 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // the 32 rows are complete
    uint alive = 0, struck = 0;
    for (uint r = 0; r < 32; ++r) {
      const uint2 row = block_rows[r];
      const uint own = row.y & ~struck;
      alive |= own;
      struck |= own ? row.x : 0;
    }
    alive = first_set(alive, limit - total);
    if (alive) {
      for (uint i = first + 32 + lane; i < found; i += NMS_SORT_WG) {
        const uint bits = meets(boxes[i], rest[i].y, boxes + first, rest + first, iou_threshold);
        if (bits & alive) keys[i] = 0;  // struck
      }
    }
    append(alive, first, kept + set * top + total);
    if (lane == 0) keep[set * ((top + 31) / 32) + block] = alive;
    total += popcount(alive);
  }
  if (lane == 0) {
    candidates[set] = found;
    totals[set] = total;
  }
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops nms_sort
//@loop   0..ceil(exp2(max(2,ceil(log2(min(n,1024)))))/NMS_SORT_WG)  over the keys that it makes
//@loop   0..ceil(exp2(max(2,ceil(log2(min(n,1024)))))/4/NMS_SORT_WG)  over the fours that it sorts
//@loop   0..max(2,ceil(log2(min(n,1024))))-2  over the lengths of runs
//@loop   0..ceil(exp2(max(2,ceil(log2(min(n,1024)))))/4/NMS_SORT_WG)/2  over its fours, for a single step: every other length has one
//@loop   0..(max(2,ceil(log2(min(n,1024))))+2)/4  over the pairs of steps, on average over the lengths
//@loop   0..ceil(exp2(max(2,ceil(log2(min(n,1024)))))/4/NMS_SORT_WG)  over its fours, for a pair of steps
//@loop   0..max(2,ceil(log2(min(n,1024))))+1  over the halves where the candidates may end
//@loop   0..ceil(min(n,1024)/NMS_SORT_WG)  over the keys that it stores

//@loops nms_place
//@loop   0..ceil(n/1024)  over the blocks, for their sum
//@loop   0..ceil(n/1024)  over the other blocks
//@loop   0..floor(log2(min(min(n,1024),top)))+1  over the halves where its key may lie

//@loops nms_meet
//@loop   0..ceil(chunk*size/32)  over the kept candidates, 32 a trip
//@loop   0..ceil(32/NMS_WG)  over those that it loads

//@loops nms_mask
//@loop   0..ceil(32/NMS_WG)  over the columns that it loads

//@loops nms_walk
//@loop   0..ceil(ceil(min(size,top-chunk*size)/32)/ceil(NMS_WG/(1+3*min(1,floor(NMS_WG/64)))))  over the words that it clears, or makes of flags
//@loop   0..ceil(min(size,top-chunk*size)/32)  over the candidates, 32 a trip
//@loop   0..32*(limit<top)  over those past the limit
//@loop   0..ceil(ceil(min(size,top-chunk*size)/32)/ceil(NMS_WG/(1+3*min(1,floor(NMS_WG/64)))))  over the words that are struck
//@loop   0..ceil(32/NMS_WG)  over the kept that it stores

//@loops nms_one
//@loop   0..max(2,ceil(log2(min(n,1024))))-2  over the lengths up to that of the keys
//@loop   0..ceil(exp2(max(2,ceil(log2(min(n,1024)))))/NMS_SORT_WG)  over the keys that it makes
//@loop   0..ceil(exp2(max(2,ceil(log2(min(n,1024)))))/4/NMS_SORT_WG)  over the fours that it sorts
//@loop   0..max(2,ceil(log2(min(n,1024))))-2  over the lengths of runs
//@loop   0..ceil(exp2(max(2,ceil(log2(min(n,1024)))))/4/NMS_SORT_WG)/2  over its fours, for a single step: every other length has one
//@loop   0..(max(2,ceil(log2(min(n,1024))))+2)/4  over the pairs of steps, on average over the lengths
//@loop   0..ceil(exp2(max(2,ceil(log2(min(n,1024)))))/4/NMS_SORT_WG)  over its fours, for a pair of steps
//@loop   0..max(2,ceil(log2(min(n,1024))))+1  over the halves where the candidates may end
//@loop   0..ceil(ceil(top/32)*32/NMS_SORT_WG)  over the candidates that it loads
//@loop   0..ceil(top/32)  over the candidates, 32 a trip
//@loop   0..ceil(32/NMS_SORT_WG)  over the 32, each against all
//@loop   0..32*(limit<top)  over those past the limit
//@loop   0..ceil(max(top-32,0)/NMS_SORT_WG)  over the later candidates
//@loop   0..ceil(32/NMS_SORT_WG)  over the kept that it stores
