// SPDX-License-Identifier: MIT
// kernel.cl - each work-item counts up one of 16 places and looks at another, twice: what it sees
// the second time must not be less.

__kernel void look_twice(volatile __global int* places, __global int* backwards) {
  const int id = get_global_id(0);
  int wrong = 0;
  for (int round = 0; round < 256; ++round) {
    atomic_inc(&places[(id + round) % 16]);
    const int at = (id * 7 + round * 3) % 16;
    const int first = places[at];
    const int second = places[at];
    wrong += second < first;
  }
  backwards[id] = wrong;
}
