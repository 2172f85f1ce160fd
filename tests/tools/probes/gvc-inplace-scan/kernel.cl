// SPDX-License-Identifier: MIT
// kernel.cl - get_valid_counts as it was published for GPUs in 2019, rewritten from its
// description: a specimen, WRONG ON PURPOSE. README.md says what is wrong;
// kernels/get_valid_counts.cl is right.
//
//   flags    flags[j] = 1 where row j is valid; sums[j + 1] = flags[j], sums[0] = 0
//   scan     sums, in place: each becomes the sum up to it, so sums[j] is the place of row j
//   scatter  valid rows go to their places, the rest becomes -1
//
// The scan doubles its step until it spans all sums. Lane l of its only group looks after the sums
// l, l + 256, l + 512, ...; in a step of 2:
//
//   sums   0   1   2   3   4   5  ...        sums[5] += sums[3] reads what another lane
//          |   |   |   |                     replaces by sums[3] += sums[1] in the same step
//          +---|---^   |
//              +-------^
//
// For float rows of e elements: id, score, four coordinates; one set of rows.

__kernel void gvc_2019_flags(__global const float* data, __global uint* flags, __global uint* sums,
                             uint n, uint e, float score_threshold) {
  const uint row = get_global_id(0);
  if (row >= n) return;
  const uint valid = data[row * e] >= 0 && data[row * e + 1] > score_threshold;
  flags[row] = valid;
  sums[row + 1] = valid;
  if (row == 0) sums[0] = 0;
}

// One work-group for all `count` sums.
__kernel void gvc_2019_scan(__global uint* sums, uint count) {
  const uint lane = get_local_id(0);
  const uint lanes = get_local_size(0);
  for (uint step = 1; step < count; step *= 2) {
    for (uint i = lane; i < count; i += lanes) {
      if (i >= step) sums[i] += sums[i - step];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// The published kernel trusted the places; here a wrong one that lies outside is left out, so that
// the specimen gives wrong rows and writes nowhere else.
__kernel void gvc_2019_scatter(__global const float* data, __global const uint* flags,
                               __global const uint* sums, __global int* count, __global float* out,
                               __global int* indices, uint n, uint e) {
  const uint row = get_global_id(0);
  if (row >= n) return;
  if (row == 0) count[0] = sums[n];
  const uint place = sums[row];
  if (flags[row] && place < n) {
    for (uint i = 0; i < e; ++i) out[place * e + i] = data[row * e + i];
    indices[place] = row;
  }
  if (row >= sums[n]) {
    for (uint i = 0; i < e; ++i) out[row * e + i] = -1;
    indices[row] = -1;
  }
}
