// SPDX-License-Identifier: MIT
// scan_form.cl - get_valid_counts by a tree over all rows in global memory, a launch for each of
// its levels: the form that TVM has had since 2020, rewritten from its description. A yardstick:
// clam's own is kernels/get_valid_counts.cl.
//
// A node of the tree covers `width` rows, clipped to n, and lies at the last of them. With 6 rows,
// whose flags are a to f:
//
//   up    2   a   ab  c   cd  e   ef      down  8   a  ab  c  abcd  e   .        (. is 0)
//         4   a   ab  c  abcd e   ef            4   a  ab  c    .   e  abcd
//         8   a   ab  c  abcd e abcdef          2   .  a   ab  abc abcd abcde
//
// The second dimension is the batch item. For float rows.

__kernel void scan_flags(__global const float* data, __global int* flags, int n, int e,
                         int id_index, int score_index, float score_threshold) {
  const int row = get_global_id(0);
  if (row >= n) return;
  const int at = get_global_id(1) * n + row;
  __global const float* values = data + at * e;
  flags[at] = values[score_index] > score_threshold && (id_index < 0 || values[id_index] >= 0);
}

__kernel void scan_copy(__global const int* flags, __global int* sums, int n) {
  const int row = get_global_id(0);
  const int at = get_global_id(1) * n + row;
  if (row < n) sums[at] = flags[at];
}

// A node becomes the sum of its two halves.
__kernel void scan_up(__global int* sums, int n, int width) {
  if ((int)get_global_id(0) > (n - 1) / width) return;
  const int start = get_global_id(0) * width;
  const int middle = start + width / 2;
  if (middle >= n) return;
  sums += get_global_id(1) * n;
  sums[min(start + width, n) - 1] += sums[middle - 1];
}

__kernel void scan_root(__global int* sums, __global int* count, int n) {
  const int item = get_global_id(1);
  if (get_global_id(0) > 0) return;
  count[item] = sums[item * n + n - 1];
  sums[item * n + n - 1] = 0;
}

// A node holds what lies before it; its halves get that, and that and the left half.
__kernel void scan_down(__global int* sums, int n, int width) {
  if ((int)get_global_id(0) > (n - 1) / width) return;
  const int start = get_global_id(0) * width;
  const int middle = start + width / 2;
  if (middle >= n) return;
  sums += get_global_id(1) * n;
  const int last = min(start + width, n) - 1;
  const int left = sums[middle - 1];
  sums[middle - 1] = sums[last];
  sums[last] += left;
}

__kernel void scan_fill(__global float* out, __global int* indices, int n, int e) {
  const int row = get_global_id(0);
  if (row >= n) return;
  const int at = get_global_id(1) * n + row;
  for (int i = 0; i < e; ++i) out[at * e + i] = -1;
  indices[at] = -1;
}

__kernel void scan_scatter(__global const float* data, __global const int* flags,
                           __global const int* sums, __global float* out, __global int* indices,
                           int n, int e) {
  const int row = get_global_id(0);
  if (row >= n) return;
  const int at = get_global_id(1) * n + row;
  if (!flags[at]) return;
  const int place = get_global_id(1) * n + sums[at];
  for (int i = 0; i < e; ++i) out[place * e + i] = data[at * e + i];
  indices[place] = row;
}
