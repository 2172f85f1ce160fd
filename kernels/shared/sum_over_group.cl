// SPDX-License-Identifier: MIT
// sum_over_group.cl - pairs of numbers, added up by a group. Needs WG, its items.

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
