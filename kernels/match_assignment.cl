// SPDX-License-Identifier: MIT
// match_assignment.cl - the log-assignment of two sets of points, and their mutual best matches
//
//   scores[i][j] = log_softmax over j of sim[i][j] + log_softmax over i of sim[i][j]
//                  + log(sigmoid(z0[i])) + log(sigmoid(z1[j]))
//
// Row i and column j are mutual where scores[i][j] is the largest of both, the lowest index where
// several are. Then s0[i] = s1[j] = exp(scores[i][j]), and where that is above the threshold,
// m0[i] = j and m1[j] = i. Else s is 0 and m is -1.
//
// Three launches, one after another, each of which reads sim once, in whole lines of memory
// (statistics: once by rows and once by columns):
//
//   statistics   of each row and column: (maximum x, log sum exp(sim - x) - log(sigmoid(z)))
//   scores       by rows, with each row's best column; m0 and s0 for a row that has no match
//   matches      by columns: each column's best row, and whether the two are mutual
//
// A group is MATCH_LX work-items along rows of sim and MATCH_LY across. The first launch has two
// kinds of groups. Some have MATCH_LY rows, of MATCH_LX lanes each. The others have MATCH_LX
// columns, of MATCH_LY lanes each. What lanes found they share through local memory.
//
//              columns ->           of rows:    lane 0 1 2 3 0 1 2 3 0 1 ...   MATCH_LX = 4
//   LY items   0 1 2 3  row 0       of columns: lane 0 1 2 3 down, again and again
//   down       0 1 2 3  row 1
//
// Builds alone, as is (float) or with -DCLAM_F16 (half storage; needs cl_khr_fp16). All that is
// computed is float, and bests are those of float scores, before they are stored. A maximum is
// subtracted before anything is added to it, so large sim cost no digits. NaN and +inf make the
// scores of their row and column NaN, which are no one's best; -inf is a pair that is ruled out.
//
// Every byte offset fits an int. No output overlaps an input.
//
//@define CLAM_F16  off          store tensors as half
//@define MATCH_LX  16 {4,8,16}  work-items of a group along a row
//@define MATCH_LY  16 {4,8,16}  and across

//@shared options
#ifndef MATCH_LX
#define MATCH_LX 16
#endif
#if MATCH_LX != 4 && MATCH_LX != 8 && MATCH_LX != 16
#error "match_assignment.cl: MATCH_LX must be 4, 8 or 16"
#endif
#ifndef MATCH_LY
#define MATCH_LY 16
#endif
#if MATCH_LY != 4 && MATCH_LY != 8 && MATCH_LY != 16
#error "match_assignment.cl: MATCH_LY must be 4, 8 or 16"
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

// The same score in both launches that compute it, bit for bit: no fma in one of them.
#pragma OPENCL FP_CONTRACT OFF

#define LX MATCH_LX
#define LY MATCH_LY
#define GROUP __attribute__((reqd_work_group_size(LX, LY, 1)))
#define LOG2_E 1.44269504f
#define LOWEST (-3.402823466e+38f)  // below every number but -inf; -inf - -inf would be NaN
#define NO_INDEX 2147483647

//@shared total
float largest4(float4 v) { return fmax(fmax(v.x, v.y), fmax(v.z, v.w)); }

// Not v.x + v.y + ...: of that LLVM makes shuffles that end the simulator Oclgrind 21.10.
float total4(float4 v) { return dot(v, (float4)(1.0f)); }
//@end

int least4(int4 v) { return min(min(v.x, v.y), min(v.z, v.w)); }

// A 64-bit base and an unsigned byte offset cost Mali compilers the least.
float load(__global const T* p, uint i) {
  return (float)*(__global const T*)((__global const char*)p + i * (uint)sizeof(T));
}

float2 load2(__global const float2* p, uint i) {
  return *(__global const float2*)((__global const char*)p + i * (uint)sizeof(float2));
}

// ---- statistics of a row or column ----

// exp of differences from a maximum.
float exp_one(float d) { return exp2(d * LOG2_E); }
float4 exp_four(float4 d) { return exp2(d * LOG2_E); }

// log(sigmoid(z)); the exponential is at most 1, so the sum keeps its digits.
float log_sigmoid(float z) { return fmin(z, 0.0f) - log(1.0f + exp(-fabs(z))); }

// Of every lanes-th element, from number `lane` on: their maximum, and the sum of exp(x - maximum),
// which is rescaled whenever the maximum rises. Four at a time, as many trips for all lanes.
float2 scan(__global const T* sim, uint first, uint step, int lane, int lanes, int length) {
  float m = LOWEST, sum = 0.0f;
  for (int begin = 0; begin < length; begin += 4 * lanes) {
    const int4 i = (int4)(begin + lane) + (int4)(0, lanes, 2 * lanes, 3 * lanes);
    // Behind the end the last element is read again, and not used.
    const uint4 at = convert_uint4(min(i, (int4)(length - 1))) * (uint4)(step) + (uint4)(first);
    const float4 read =
        (float4)(load(sim, at.x), load(sim, at.y), load(sim, at.z), load(sim, at.w));
    const float4 x = select((float4)(-INFINITY), read, i < (int4)(length));
    const float higher = fmax(m, largest4(x));
    sum = fma(sum, exp_one(m - higher), total4(exp_four(x - (float4)(higher))));
    m = higher;
  }
  return (float2)(m, sum);
}

// One lane's part of (maximum, log of the sum) becomes that of its line, which `lanes` of them
// share. `line` is the line's number in the group. All items of the group must call it.
float2 agree(float2 own, __local float* maxima, __local float* sums, int line, int lane,
             int lanes) {
  maxima[line * lanes + lane] = own.x;
  barrier(CLK_LOCAL_MEM_FENCE);  // every lane's maximum is there
  float4 most = *(__local const float4*)(maxima + line * lanes);
  for (int i = 4; i < lanes; i += 4) {
    most = fmax(most, *(__local const float4*)(maxima + line * lanes + i));
  }
  const float m = largest4(most);
  sums[line * lanes + lane] = own.y * exp_one(own.x - m);
  barrier(CLK_LOCAL_MEM_FENCE);  // every lane's sum is there
  float4 sum = *(__local const float4*)(sums + line * lanes);
  for (int i = 4; i < lanes; i += 4) sum += *(__local const float4*)(sums + line * lanes + i);
  return (float2)(m, log(total4(sum)));
}

// The first groups have rows, the others columns. Lines past the last one are the last one again,
// and are not stored.
//@kernel match_assignment_statistics
//@arg    0 sim     in      T[m*n]
//@arg    1 z0      in      T[m]
//@arg    2 z1      in      T[n]
//@arg    3 rows    scratch float2[m]  of each row: maximum, log of the sum less log(sigmoid(z0))
//@arg    4 columns scratch float2[n]  of each column, with z1
//@arg    5 m       int                rows
//@arg    6 n       int                columns
//@global (ceil(m/MATCH_LY)+ceil(n/MATCH_LX))*MATCH_LX, MATCH_LY
//@local  MATCH_LX, MATCH_LY
//@needs  m >= 1, n >= 1; m*n*sizeof(T) < 2^31
__kernel GROUP void match_assignment_statistics(__global const T* sim, __global const T* z0,
                                                __global const T* z1, __global float2* rows,
                                                __global float2* columns, int m, int n) {
  __local float4 maxima[LX * LY / 4], sums[LX * LY / 4];
  const int x = get_local_id(0), y = get_local_id(1);
  const int group = get_group_id(0), row_groups = (m + LY - 1) / LY;
  const int of_rows = group < row_groups;
  const int line = of_rows ? y : x, lane = of_rows ? x : y, lanes = of_rows ? LX : LY;
  const int at = of_rows ? group * LY + y : (group - row_groups) * LX + x;
  const int end = of_rows ? m : n, length = of_rows ? n : m;
  const uint own = min(at, end - 1);
  const float2 found = scan(sim, of_rows ? own * n : own, of_rows ? 1 : n, lane, lanes, length);
  const float2 agreed =
      agree(found, (__local float*)maxima, (__local float*)sums, line, lane, lanes);
  if (lane != 0 || at >= end) return;
  const float certain = log_sigmoid(load(of_rows ? z0 : z1, own));
  (of_rows ? rows : columns)[own] = (float2)(agreed.x, agreed.y - certain);
}

// ---- scores, and the best of a row or column ----

float score(float sim, float2 row, float2 column) {
  return ((sim - row.x) - row.y) + ((sim - column.x) - column.y);
}

// The largest score of a line and the lowest index that has it, from those of its `lanes`. All
// items of the group must call it.
void best_of_line(float* best, int* index, __local float* bests, __local int* indices, int line,
                  int lane, int lanes) {
  bests[line * lanes + lane] = *best;
  indices[line * lanes + lane] = *index;
  barrier(CLK_LOCAL_MEM_FENCE);  // every lane's best is there
  __local const float4* scores = (__local const float4*)(bests + line * lanes);
  __local const int4* places = (__local const int4*)(indices + line * lanes);
  float4 most = scores[0];
  for (int i = 1; i < lanes / 4; ++i) most = fmax(most, scores[i]);
  *best = largest4(most);
  int4 lowest = (int4)(NO_INDEX);
  for (int i = 0; i < lanes / 4; ++i) {
    lowest = min(lowest, select((int4)(NO_INDEX), places[i], scores[i] == (float4)(*best)));
  }
  *index = least4(lowest);
}

// MATCH_LX lanes along a row. What is written of m0 and s0 stays where a row has no match.
//@kernel match_assignment_scores
//@arg    0 sim     in      T[m*n]
//@arg    1 rows    in      float2[m]  of match_assignment_statistics
//@arg    2 columns in      float2[n]
//@arg    3 scores  out     T[m*n]
//@arg    4 m0      out     int[m]     -1
//@arg    5 s0      out     T[m]       0
//@arg    6 best    scratch int[m]     each row's best column
//@arg    7 m       int                rows
//@arg    8 n       int                columns
//@global MATCH_LX, ceil(m/MATCH_LY)*MATCH_LY
//@local  MATCH_LX, MATCH_LY
//@needs  m >= 1, n >= 1; m*n*sizeof(T) < 2^31
__kernel GROUP void match_assignment_scores(__global const T* sim, __global const float2* rows,
                                            __global const float2* columns, __global T* scores,
                                            __global int* m0, __global T* s0, __global int* best,
                                            int m, int n) {
  __local float4 bests[LX * LY / 4];
  __local int4 indices[LX * LY / 4];
  const int lane = get_local_id(0), y = get_local_id(1), row = get_global_id(1);
  const float2 of_row = load2(rows, min(row, m - 1));
  const int end = row < m ? n : 0;
  float most = -INFINITY;
  int index = 0;
  for (int begin = 0; begin < n; begin += LX) {
    const int j = begin + lane;
    if (j >= end) continue;
    const uint at = (uint)row * n + j;
    const float s = score(load(sim, at), of_row, load2(columns, j));
    *(__global T*)((__global char*)scores + at * (uint)sizeof(T)) = (T)s;
    index = s > most ? j : index;
    most = s > most ? s : most;
  }
  best_of_line(&most, &index, (__local float*)bests, (__local int*)indices, y, lane, LX);
  if (lane != 0 || row >= m) return;
  best[row] = index;
  m0[row] = -1;
  s0[row] = (T)0.0f;
}

// MATCH_LX columns side by side, MATCH_LY lanes down. A row is written by the only column that is
// its best, where the two are mutual.
//@kernel match_assignment_matches
//@arg    0  sim       in      T[m*n]
//@arg    1  rows      in      float2[m]  of match_assignment_statistics
//@arg    2  columns   in      float2[n]
//@arg    3  best      in      int[m]     of match_assignment_scores
//@arg    4  m0        inout   int[m]     each row's match, or -1
//@arg    5  m1        out     int[n]     each column's
//@arg    6  s0        inout   T[m]       exp of its score where row and column are mutual, or 0
//@arg    7  s1        out     T[n]
//@arg    8  m         int                rows
//@arg    9  n         int                columns
//@arg    10 threshold float              a match has a higher exp of its score
//@global ceil(n/MATCH_LX)*MATCH_LX, MATCH_LY
//@local  MATCH_LX, MATCH_LY
//@needs  m >= 1, n >= 1; m*n*sizeof(T) < 2^31
__kernel GROUP void match_assignment_matches(__global const T* sim, __global const float2* rows,
                                             __global const float2* columns,
                                             __global const int* best, __global int* m0,
                                             __global int* m1, __global T* s0, __global T* s1,
                                             int m, int n, float threshold) {
  __local float4 bests[LX * LY / 4];
  __local int4 indices[LX * LY / 4];
  const int x = get_local_id(0), lane = get_local_id(1), column = get_global_id(0);
  const float2 of_column = load2(columns, min(column, n - 1));
  const int end = column < n ? m : 0;
  float most = -INFINITY;
  int row = 0;
  for (int begin = 0; begin < m; begin += LY) {
    const int i = begin + lane;
    if (i >= end) continue;
    const float s = score(load(sim, (uint)i * n + column), load2(rows, i), of_column);
    row = s > most ? i : row;
    most = s > most ? s : most;
  }
  best_of_line(&most, &row, (__local float*)bests, (__local int*)indices, x, lane, LY);
  if (lane != 0 || column >= n) return;
  const int mutual = best[row] == column;
  const float s = mutual ? exp(most) : 0.0f;
  const int kept = s > threshold;
  m1[column] = kept ? row : -1;
  s1[column] = (T)s;
  if (!mutual) return;
  m0[row] = kept ? column : -1;
  s0[row] = (T)s;
}

// ---- the trips of the loops of the compiled code, for predicted times ----

//@loops match_assignment_statistics
//@loop   min(ceil(n/(4*MATCH_LX)),ceil(m/(4*MATCH_LY)))..max(ceil(n/(4*MATCH_LX)),ceil(m/(4*MATCH_LY)))  over its line, four elements a trip
//@loop   max(MATCH_LX,MATCH_LY)/4-1  over the maxima of the other lanes
//@loop   max(MATCH_LX,MATCH_LY)/4-1  over their sums

//@loops match_assignment_scores
//@loop   ceil(n/MATCH_LX)  over its row
//@loop   MATCH_LX/4-1  over the bests of the other lanes
//@loop   MATCH_LX/4  over their indices

//@loops match_assignment_matches
//@loop   ceil(m/MATCH_LY)  over its column
//@loop   MATCH_LY/4-1  over the bests of the other lanes
//@loop   MATCH_LY/4  over their indices
