// SPDX-License-Identifier: MIT
// kernel.cl - eight vectors of sixteen that all live through a loop: 128 registers.

__kernel void rotate_all(__global int* dst, int rounds) {
  const int i = get_global_id(0);
  const int16 first = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) + i;
  int16 a = first, b = first + 1, c = first + 2, d = first + 3;
  int16 e = first + 4, f = first + 5, g = first + 6, h = first + 7;
  for (int round = 0; round < rounds; ++round) {
    const int16 last = a.s123456789abcdef0;
    a = b;
    b = c;
    c = d;
    d = e;
    e = f;
    f = g;
    g = h;
    h = last;
  }
  const int16 sum = a + b + c + d + e + f + g + h;
  const int8 half_sum = sum.lo + sum.hi;
  const int4 quarter = half_sum.lo + half_sum.hi;
  dst[i] = quarter.x + quarter.y + quarter.z + quarter.w;
}
