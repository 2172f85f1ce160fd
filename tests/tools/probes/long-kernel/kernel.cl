// SPDX-License-Identifier: MIT
// kernel.cl - 65536 steps of a generator of numbers a round.

__kernel void spin(__global int* dst, int rounds) {
  uint value = get_global_id(0);
  for (int round = 0; round < rounds; ++round) {
    for (int step = 0; step < 65536; ++step) value = value * 1664525u + 1013904223u;
  }
  dst[get_global_id(0)] = (int)(value >> 1);
}
