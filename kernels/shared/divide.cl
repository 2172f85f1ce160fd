// SPDX-License-Identifier: MIT
// divide.cl - division of integers by floats.

// a / b for a >= 0, b >= 1. Division of integers takes Mali compilers 80 instructions, and 1.0f / b
// takes them 14. half_recip takes one, and is within 2^-10 on any device. A step of Newton makes
// that 2^-20; 2^-18 is taken off, so that both quotients are too small, by less than 2 in the end.
int divide(int a, int b) {
  const float of = (float)b, near = half_recip(of);
  const float inverse = fma(near, fma(-of, near, 0x1.ffff8p-1f), near);
  const int about = (int)((float)a * inverse), left = a - about * b;
  const int closer = about + (int)((float)left * inverse);
  return closer + (a - closer * b >= b);
}
