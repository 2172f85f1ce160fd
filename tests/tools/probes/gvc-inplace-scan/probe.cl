// SPDX-License-Identifier: MIT
// probe.cl - the scan that kernel.cl does wrongly, done rightly: all read, a barrier, all write, a
// barrier, both of global memory. One group of 256.

__kernel void scan_in_place(__global int* sums, int n) {
  const int i = get_local_id(0);
  for (int step = 1; step < n; step *= 2) {
    const int before = i >= step ? sums[i - step] : 0;
    barrier(CLK_GLOBAL_MEM_FENCE);  // all have read
    sums[i] += before;
    barrier(CLK_GLOBAL_MEM_FENCE);  // all have written
  }
}
