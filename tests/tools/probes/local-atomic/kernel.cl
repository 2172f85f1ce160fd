// SPDX-License-Identifier: MIT
// kernel.cl - the work-items of a group count themselves in local memory.

__kernel void count_group(__global int* counts) {
  __local int count;
  if (get_local_id(0) == 0) count = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&count, 1);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) counts[get_group_id(0)] = count;
}
