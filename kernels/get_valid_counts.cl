// SPDX-License-Identifier: MIT
// get_valid_counts.cl - keeps the valid rows of data[batch,n,e], in their order.
//
//   valid(j)     = score_j > score_threshold  and  (id_index < 0 or id_j >= 0);   NaN is not valid
//   count[b]     = number of valid rows of batch item b
//   out[b,i]     = i-th valid row, bit for bit;      -1 in every element where i >= count[b]
//   indices[b,i] = the row of data it was;           -1 where i >= count[b]
//
// A valid row moves to the place that equals the number of valid rows before it. That number comes
// from a directory of three levels (GVC_WG = 64):
//
//   n rows   |............ 256 rows ............|............ 256 rows ............|...   groups
//            |. 32 .|. 32 .|  ...  |. 32 .|                                               words
//   place = valid rows of the groups before  +  word.y  +  popcount(word.x below the row's bit)
//            (counts, added up)                 (valid rows of the group before the word)
//
// count writes words and counts. scatter adds up the counts before its own and moves the rows.
// Where there are too many counts for each group, scan adds them up. one does all of it in a single
// work-group. Each address has one writer, and no work-group reads what another one wrote in the
// same launch. So there are no atomics. The result is the same bits for every timing and every
// work-group size.
//
// On a GPU neighbouring items take neighbouring rows. On a CPU an item takes all rows of a word
// (GVC_RUN), and the other items rest. It goes from one valid row to the next, so a branch is
// predicted wrongly once in a word, not once in a row.
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage). Half is read by vload_half only,
// so no extension is needed. Rows are copied as integers: NaN payloads and denormals survive.
//
//@define CLAM_F16    off                    store tensors as half
//@define GVC_WG      64 {16,32,64,128,256}  work-items of a group, which has 4 * GVC_WG rows
//@define GVC_RUN     1 {1,32}               neighbouring rows of an item; 32: for a CPU
//@define GVC_UNIT    0 {0,2,4,8,16}         bytes copied at a time; they divide a row; 0: one T
//@define GVC_PAIR    0 {0,1}                T is float, e even, id element 0, score element 1
//@define GVC_SCANNED 0 {0,1}                scatter: scan has added the counts up

//@shared options
#ifndef GVC_WG
#define GVC_WG 64
#endif
#if GVC_WG < 16 || GVC_WG > 256 || GVC_WG & (GVC_WG - 1)
#error "get_valid_counts.cl: GVC_WG must be a power of two from 16 to 256"
#endif
#ifndef GVC_RUN
#define GVC_RUN 1
#endif
#if GVC_RUN != 1 && GVC_RUN != 32
#error "get_valid_counts.cl: GVC_RUN must be 1 or 32"
#endif
#ifndef GVC_UNIT
#define GVC_UNIT 0
#endif
#if GVC_UNIT != 0 && GVC_UNIT != 2 && GVC_UNIT != 4 && \
    GVC_UNIT != 8 && GVC_UNIT != 16
#error "get_valid_counts.cl: GVC_UNIT must be 0, 2, 4, 8 or 16"
#endif
#ifndef GVC_PAIR
#define GVC_PAIR 0
#endif
#if GVC_PAIR != 0 && GVC_PAIR != 1
#error "get_valid_counts.cl: GVC_PAIR must be 0 or 1"
#endif
#ifndef GVC_SCANNED
#define GVC_SCANNED 0
#endif
#if GVC_SCANNED != 0 && GVC_SCANNED != 1
#error "get_valid_counts.cl: GVC_SCANNED must be 0 or 1"
#endif
//@end

#if GVC_PAIR && defined(CLAM_F16)
#error "get_valid_counts.cl: GVC_PAIR loads two floats at once; leave it out with CLAM_F16"
#endif

#define GVC_ROWS (4 * GVC_WG)      // of a group
#define GVC_WORDS (GVC_ROWS / 32)  // of a group
#define GROUP __attribute__((reqd_work_group_size(GVC_WG, 1, 1)))

#define WG GVC_WG
#define BYTES GVC_UNIT

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

//@shared order
// The bits of x as an int that compares like the number: -0 and 0 are 0, NaNs lie beyond the
// infinities. Floats would not do: a device may take a denormal for 0 when it compares them.
#define INFINITE 0x7F800000
int order(float x) {
  const int bits = as_int(x);
  return bits < 0 ? INT_MIN - bits : bits;
}
//@end

// & and |, not && and ||: what the data decides must be no branch, which a CPU would guess wrong.
bool is_class(float id) { return (uint)order(id) <= (uint)INFINITE; }  // id >= 0
bool is_score(float x, int least) { return (order(x) >= least) & (order(x) <= INFINITE); }

// Whether the row that begins at element `row` is valid; `least` is the lowest order() of a score.
bool is_valid(__global const T* data, uint row, int id_index, int score_index, int least) {
#if GVC_PAIR
  const float2 pair = *(__global const float2*)(data + row);
  return is_class(pair.x) & is_score(pair.y, least);
#else
  const float id = LOAD(data, row + max(id_index, 0));
  const float score = LOAD(data, row + score_index);
  return ((id_index < 0) | is_class(id)) & is_score(score, least);
#endif
}

// Whether row r of the group is valid; it has `rows` rows, from row `first` of the tensor on.
bool is_valid_of(__global const T* data, uint first, uint rows, uint r, uint e, int id_index,
                 int score_index, int least) {
  // Past the end the last row is read once more, so that the loads need no branch.
  const uint row = (first + min(r, rows - 1)) * e;
  return is_valid(data, row, id_index, score_index, least) & (r < rows);
}

// Where the flag of a row lies: within 32 bytes, row 8 * j + i is byte 4 * i + j. The mask of the
// 32 rows is then the sum of eight uints, the i-th shifted by i.
uint slot(uint row) { return (row & ~31u) | (row & 7) << 2 | (row >> 3 & 3); }

// Sets bit r % 32 of masks[r / 32] where row r of the group is valid, and clears the others. The
// group has `rows` rows, from row `first` of the tensor on. All items must call it.
void mark_rows(__global const T* data, uint first, uint rows, uint e, int id_index, int score_index,
               float score_threshold, __local uint4* flags, __local uint* masks) {
  const uint lane = get_local_id(0);
  const int least = order(score_threshold) + 1;  // score > score_threshold
#if GVC_RUN == 32
  if (lane < GVC_WORDS) {
    uint mask = 0;
    for (uint i = 0; i < 32; ++i) {
      const uint r = 32 * lane + i;
      mask |= (uint)is_valid_of(data, first, rows, r, e, id_index, score_index, least) << i;
    }
    masks[lane] = mask;
  }
#else
  for (uint k = 0; k < 4; ++k) {
    const uint r = k * GVC_WG + lane;
    // This is slot(r), as slot only moves bits; the first part is a constant.
    ((__local uchar*)flags)[slot(k * GVC_WG) + slot(lane)] =
        is_valid_of(data, first, rows, r, e, id_index, score_index, least);
  }
  barrier(CLK_LOCAL_MEM_FENCE);  // flags are complete
  if (lane < GVC_WORDS) {
    const uint4 a = flags[2 * lane];
    const uint4 b = flags[2 * lane + 1];
    masks[lane] = a.x | a.y << 1 | a.z << 2 | a.w << 3 | b.x << 4 | b.y << 5 | b.z << 6 | b.w << 7;
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE);  // masks are complete, and flags may be written again
}

// (mask, number of valid rows before it in the group) of word w.
uint2 word_of(__local const uint* masks, uint w) {
  uint before = 0;
  for (uint i = 0; i < w; ++i) before += popcount(masks[i]);
  return (uint2)(masks[w], before);
}

// Copies row `row` of the batch item, which begins at row `item` of the tensor, to row `place` of
// the tensor.
void move_row(__global const T* data, __global T* out, __global int* indices, uint item, uint row,
              uint e, uint place) {
  copy_row(data, out, item + row, place, e);
  indices[place] = row;
}

// Moves those of the GVC_RUN rows from row `row` of the batch item on, whose bits in `word` are
// set, to their places. The batch item begins at row `item` of the tensor, and `before` rows of the
// groups before are valid.
void place_rows(__global const T* data, __global T* out, __global int* indices, uint item, uint row,
                uint e, uint2 word, uint before) {
  const uint first = item + before + word.y;
#if GVC_RUN == 32
  uint place = first;
  for (uint left = word.x; left != 0; left &= left - 1) {  // clears the lowest bit
    move_row(data, out, indices, item, row + popcount(~left & (left - 1)), e, place++);
  }
#else
  const uint bit = 1u << (row & 31);
  if (!(word.x & bit)) return;
  move_row(data, out, indices, item, row, e, first + popcount(word.x & (bit - 1)));
#endif
}

// Writes -1 to the rows [begin, end) of the tensor, and to their indices.
void clear_rows(__global T* out, __global int* indices, uint begin, uint end, uint e) {
  fill_rows(out, begin, end, e);
  for (uint row = begin + get_local_id(0); row < end; row += WG) indices[row] = -1;
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

// A work-group finds the valid ones of its GVC_ROWS rows. Group (x,y) looks at batch item y.
//@kernel get_valid_counts_count
//@arg    0 data            in      T[batch*n*e]                     16-byte aligned
//@arg    1 words           scratch uint2[batch*groups*GVC_ROWS/32]
//@arg    2 counts          scratch int[batch*groups]                valid rows of each group
//@arg    3 n               int                                      rows of a batch item
//@arg    4 e               int                                      elements of a row
//@arg    5 id_index        int                                      -1: rows have no class
//@arg    6 score_index     int
//@arg    7 score_threshold float
//@global ceil(n/(4*GVC_WG))*GVC_WG, batch  a group per GVC_ROWS rows, whose number is `groups`
//@local  GVC_WG
//@needs  n >= 1, e >= 1, id_index >= -1, id_index < e, score_index >= 0, score_index < e
//@needs  batch*n*e*sizeof(T) < 2^31
__kernel GROUP void get_valid_counts_count(__global const T* data, __global uint2* words,
                                           __global int* counts, int n, int e, int id_index,
                                           int score_index, float score_threshold) {
  __local uint4 flags[GVC_ROWS / 16];
  __local uint masks[GVC_WORDS];
  const uint lane = get_local_id(0);
  const uint batch = get_group_id(1);
  const uint group = batch * get_num_groups(0) + get_group_id(0);
  const uint first = get_group_id(0) * GVC_ROWS;
  mark_rows(data, batch * n + first, min(n - first, (uint)GVC_ROWS), e, id_index, score_index,
            score_threshold, flags, masks);
  if (lane < GVC_WORDS) {
    const uint2 word = word_of(masks, lane);
    words[group * GVC_WORDS + lane] = word;
    if (lane == GVC_WORDS - 1) counts[group] = word.y + popcount(word.x);
  }
}

// One work-group per batch item adds its counts up: before[g] = sum of counts[0..g-1], and one more
// for the total. Each item looks after a run of neighbours.
//@kernel get_valid_counts_scan
//@arg    0 counts  in      int[batch*groups]
//@arg    1 before  scratch int[batch*(groups+1)]
//@arg    2 groups  int
//@global GVC_WG, batch
//@local  GVC_WG
//@needs  groups >= 1; before does not overlap counts
__kernel GROUP void get_valid_counts_scan(__global const int* counts, __global int* before,
                                          int groups) {
  __local int sums[GVC_WG];
  const int lane = get_local_id(0);
  counts += (int)get_group_id(1) * groups;
  before += (int)get_group_id(1) * (groups + 1);
  const int run = (groups + GVC_WG - 1) / GVC_WG;
  const int begin = min(lane * run, groups);
  const int end = min(begin + run, groups);
  int sum = 0;
  for (int i = begin; i < end; ++i) sum += counts[i];
  sums[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);  // every item reads the sums of those before it
  int running = 0;
  for (int i = 0; i < lane; ++i) running += sums[i];
  for (int i = begin; i < end; ++i) {
    before[i] = running;
    running += counts[i];
  }
  if (lane == GVC_WG - 1) before[groups] = running;
}

// A work-group moves its valid rows to their places. It fills those of its rows that lie at or past
// the total with -1. Group 0 of a batch item writes its count.
//@kernel get_valid_counts_scatter
//@arg    0 data    in      T[batch*n*e]                            16-byte aligned
//@arg    1 count   out     int[batch]
//@arg    2 out     out     T[batch*n*e]                            16-byte aligned; not data
//@arg    3 indices out     int[batch*n]
//@arg    4 words   in      uint2[batch*groups*GVC_ROWS/32]         written by count
//@arg    5 counts  in      int[batch*(groups+GVC_SCANNED)]         written by count, or by scan
//@arg    6 n       int
//@arg    7 e       int
//@global ceil(n/(4*GVC_WG))*GVC_WG, batch  as for count
//@local  GVC_WG
//@needs  n >= 1, e >= 1, both and GVC_WG as for count
__kernel GROUP void get_valid_counts_scatter(__global const T* data, __global int* count,
                                             __global T* out, __global int* indices,
                                             __global const uint2* words,
                                             __global const int* counts, int n, int e) {
  const uint lane = get_local_id(0);
  const uint batch = get_group_id(1);
  const uint group = get_group_id(0);
  const uint groups = get_num_groups(0);
#if GVC_SCANNED
  const uint before = counts[batch * (groups + 1) + group];
  const uint total = counts[batch * (groups + 1) + groups];
#else
  __local uint2 sums[GVC_WG];
  uint2 sum = 0;  // valid rows (of the groups before, of all groups)
  for (uint g = lane; g < groups; g += GVC_WG) {
    const uint c = counts[batch * groups + g];
    sum += (uint2)(g < group ? c : 0, c);
  }
  sum = sum_over_group(sum, sums);
  const uint before = sum.x;
  const uint total = sum.y;
#endif
  const uint item = batch * n;
  const uint first = group * GVC_ROWS;
  const uint word = (batch * groups + group) * GVC_WORDS;
  for (uint r = GVC_RUN * lane; r < GVC_ROWS; r += GVC_RUN * GVC_WG) {
    place_rows(data, out, indices, item, first + r, e, words[word + r / 32], before);
  }
  clear_rows(out, indices, item + max(first, total), item + min(first + GVC_ROWS, (uint)n), e);
  if (group == 0 && lane == 0) count[batch] = total;
}

// One work-group per batch item walks its rows, GVC_ROWS at a time. For small n: one launch.
//@kernel get_valid_counts_one
//@arg    0 data            in  T[batch*n*e]          16-byte aligned
//@arg    1 count           out int[batch]
//@arg    2 out             out T[batch*n*e]          16-byte aligned; not data
//@arg    3 indices         out int[batch*n]
//@arg    4 n               int                       rows of a batch item
//@arg    5 e               int                       elements of a row
//@arg    6 id_index        int                       -1: rows have no class
//@arg    7 score_index     int
//@arg    8 score_threshold float
//@global GVC_WG, batch
//@local  GVC_WG
//@needs  n >= 1, e >= 1, id_index >= -1, id_index < e, score_index >= 0, score_index < e
//@needs  batch*n*e*sizeof(T) < 2^31
__kernel GROUP void get_valid_counts_one(__global const T* data, __global int* count,
                                         __global T* out, __global int* indices, int n, int e,
                                         int id_index, int score_index, float score_threshold) {
  __local uint4 flags[GVC_ROWS / 16];
  __local uint masks[GVC_WORDS];
  __local uint2 words[GVC_WORDS];
  const uint lane = get_local_id(0);
  const uint batch = get_group_id(1);
  const uint item = batch * n;
  uint before = 0;
  for (uint first = 0; first < n; first += GVC_ROWS) {
    mark_rows(data, item + first, min(n - first, (uint)GVC_ROWS), e, id_index, score_index,
              score_threshold, flags, masks);
    if (lane < GVC_WORDS) words[lane] = word_of(masks, lane);
    barrier(CLK_LOCAL_MEM_FENCE);  // words are complete
    for (uint r = GVC_RUN * lane; r < GVC_ROWS; r += GVC_RUN * GVC_WG) {
      place_rows(data, out, indices, item, first + r, e, words[r / 32], before);
    }
    before += words[GVC_WORDS - 1].y + popcount(words[GVC_WORDS - 1].x);
  }
  clear_rows(out, indices, item + before, item + n, e);
  if (lane == 0) count[batch] = before;
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops get_valid_counts_count
//@loop   32..32 if GVC_RUN==32  over the rows of its word
//@loop   0..GVC_WG/8-1  over the words before its own

//@loops get_valid_counts_scan
//@loop   0..ceil(groups/GVC_WG)  over its run of counts
//@loop   0..GVC_WG-1  over the items before it
//@loop   0..ceil(groups/GVC_WG)  over its run again

//@loops get_valid_counts_scatter
//@loop   floor(ceil(n/(4*GVC_WG))/GVC_WG)..ceil(ceil(n/(4*GVC_WG))/GVC_WG) if GVC_SCANNED==0  over the counts of all groups
//@loop   4..4 if GVC_RUN==1  over its rows
//@loop   0..32 if GVC_RUN==32  over the valid rows of its word
//@loop   0..e*(4-2*CLAM_F16)/max(GVC_UNIT,(GVC_UNIT==0)*(4-2*CLAM_F16))  over the units of a row that it moves
//@loop   0..ceil(e*(4-2*CLAM_F16)/4)  over the rows past the total, 16 bytes a trip
//@loop   0..4  over their indices

//@loops get_valid_counts_one
//@loop   ceil(n/(4*GVC_WG))  over the rows, GVC_ROWS a trip
//@loop   32..32 if GVC_RUN==32  over the rows of its word
//@loop   0..GVC_WG/8-1  over the words before its own
//@loop   4..4 if GVC_RUN==1  over its rows
//@loop   0..32 if GVC_RUN==32  over the valid rows of its word
//@loop   0..e*(4-2*CLAM_F16)/max(GVC_UNIT,(GVC_UNIT==0)*(4-2*CLAM_F16))  over the units of a row that it moves
//@loop   0..ceil(n*e*(4-2*CLAM_F16)/(16*GVC_WG))  over the rows past the total, 16 bytes a trip
//@loop   0..ceil(n/GVC_WG)  over their indices
