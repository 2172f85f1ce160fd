// SPDX-License-Identifier: MIT
// conv2d_memory.cl - elements as floats, by a base and an offset in bytes, beside the text conv2d_address.

float load_from(__global const char* p, uint at) { return (float)*(__global const T*)(p + at); }

float4 load4_from(__global const char* p, uint at) {
  const T4 v = *(__global const T4*)(p + at);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

void store1(float v, __global char* p, uint at) { *(__global T*)(p + at) = (T)v; }

void store4(float4 v, __global char* p, uint at) {
  *(__global T4*)(p + at) = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
}
