// SPDX-License-Identifier: MIT
// unit_of_one.cl - one element at a time, as a float. Needs T.

typedef float Unit;

float load(__global const T* p, uint at) {
  return (float)*(__global const T*)((__global const char*)p + at);
}

void store(float v, __global T* p, uint at) { *(__global T*)((__global char*)p + at) = (T)v; }
