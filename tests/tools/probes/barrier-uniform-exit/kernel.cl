// SPDX-License-Identifier: MIT
// kernel.cl - a group goes on until its number in local memory is 0; all leave in the same round.
// Row by row of `rounds`: what each lane counted, a column a group.

__kernel void count_down(__global const int* numbers, __global int* rounds) {
  __local int left;
  const int lane = get_local_id(0);
  if (lane == 0) left = numbers[get_group_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  int count = 0;
  while (true) {
    const int now = left;
    barrier(CLK_LOCAL_MEM_FENCE);  // all have seen it
    if (now == 0) break;
    ++count;
    if (lane == 0) left = now - 1;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  rounds[lane * get_num_groups(0) + get_group_id(0)] = count;
}
