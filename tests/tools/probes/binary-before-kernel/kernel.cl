// SPDX-License-Identifier: MIT
// kernel.cl - enough for a compiler to spend time on. SALT is another number each time, so that no
// driver finds the program among those that it keeps.

#ifndef SALT
#define SALT 1
#endif

float bend(float x) { return sin(x) * cos(x + SALT) - exp(-x * x); }

__kernel void much(__global int* dst) {
  const int i = get_global_id(0);
  const float x = i * 0.01f;
  const float y = bend(x) + bend(x + 1) + bend(x * 2) + sqrt(x);
  dst[i] = isfinite(y);
}
