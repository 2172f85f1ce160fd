// SPDX-License-Identifier: MIT
// kernel.cl - get_valid_counts as another runtime has it: flags, an exclusive scan of them as a
// balanced tree in global memory with a launch a level, and a scatter. TVM has had this form since
// 2020; rewritten from its description. Nothing of clam's is in it.
//
// `tree` has a power of two of leaves. A launch of gvc_up and gvc_down handles the nodes of one
// level, which lie `stride` apart, a work-item each; order between levels is that between launches.

__kernel void gvc_flags(__global const float* data, __global int* tree, int n, int e,
                        float score_threshold) {
  const int row = get_global_id(0);
  tree[row] = row < n && data[row * e + 1] > score_threshold && data[row * e] >= 0;
}

__kernel void gvc_up(__global int* tree, int stride) {
  const int last = (get_global_id(0) + 1) * 2 * stride - 1;
  tree[last] += tree[last - stride];
}

__kernel void gvc_root(__global int* tree, __global int* count, int leaves) {
  count[0] = tree[leaves - 1];
  tree[leaves - 1] = 0;
}

// Both children of a node get what lies before it, and the right one the left one's sum too.
__kernel void gvc_down(__global int* tree, int stride) {
  const int last = (get_global_id(0) + 1) * 2 * stride - 1;
  const int left = tree[last - stride];
  tree[last - stride] = tree[last];
  tree[last] += left;
}

__kernel void gvc_fill(__global float* out, __global int* indices, int n, int e) {
  const int row = get_global_id(0);
  if (row >= n) return;
  for (int i = 0; i < e; ++i) out[row * e + i] = -1;
  indices[row] = -1;
}

__kernel void gvc_scatter(__global const float* data, __global const int* tree,
                          __global float* out, __global int* indices, int n, int e,
                          float score_threshold) {
  const int row = get_global_id(0);
  if (row >= n || !(data[row * e + 1] > score_threshold && data[row * e] >= 0)) return;
  const int place = tree[row];
  for (int i = 0; i < e; ++i) out[place * e + i] = data[row * e + i];
  indices[place] = row;
}
