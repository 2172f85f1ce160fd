// SPDX-License-Identifier: MIT
// load_and_store.cl - one element or four at a time, as floats. Needs T, T4, and UNIT, how many LOAD
// and STORE move.

// A 64-bit base and an unsigned byte offset cost Mali compilers the least.
float load1(__global const T* p, uint at) {
  return (float)*(__global const T*)((__global const char*)p + at);
}

float4 load4(__global const T* p, uint at) {
  const T4 v = *(__global const T4*)((__global const char*)p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store1(float v, __global T* p, uint at) { *(__global T*)((__global char*)p + at) = (T)v; }

void store4(float4 v, __global T* p, uint at) {
  *(__global T4*)((__global char*)p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}

#if UNIT == 4
typedef float4 Unit;
#define LOAD load4
#define STORE store4
#else
typedef float Unit;
#define LOAD load1
#define STORE store1
#endif
