// SPDX-License-Identifier: MIT
// divide.cl - division of integers by floats.

// a / b for a >= 0, b >= 1. Division of integers takes Mali compilers 80 instructions.
int divide(int a, int b) {
  const float inverse = 1.0f / (float)b;
  const int about = (int)((float)a * inverse), left = a - about * b;
  const int closer = about + (int)((float)left * inverse), rest = a - closer * b;
  return closer + (rest >= b) - (rest < 0);
}
