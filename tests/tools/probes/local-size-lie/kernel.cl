// SPDX-License-Identifier: MIT
// kernel.cl - a group writes all of its local memory, and each lane reads what another one wrote.

__kernel void fill_local(__global int* wrong, __local int* scratch, int ints) {
  const int lane = get_local_id(0);
  const int lanes = get_local_size(0);
  for (int i = lane; i < ints; i += lanes) scratch[i] = i * 3 + 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  int count = 0;
  for (int i = lane; i < ints; i += lanes) count += scratch[ints - 1 - i] != (ints - 1 - i) * 3 + 1;
  wrong[lane] = count;
}
