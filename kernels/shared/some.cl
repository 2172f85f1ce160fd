// SPDX-License-Identifier: MIT
// some.cl - up to four elements. Needs T, T4, and WHOLE, where there are always four.

// `count` elements from byte `at` on; four are a vector.
float4 load_some(__global const T* src, uint at, int count) {
  __global const T* p = (__global const T*)((__global const char*)src + at);
  if (WHOLE || count >= 4) {
    const T4 v = *(__global const T4*)p;
    return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
  }
  float4 v = (float4)(1.0f);
  v.x = (float)p[0];
  if (count > 1) v.y = (float)p[1];
  if (count > 2) v.z = (float)p[2];
  return v;
}

void store_some(float4 v, __global T* dst, uint at, int count) {
  __global T* p = (__global T*)((__global char*)dst + at);
  if (WHOLE || count >= 4) {
    *(__global T4*)p = (T4)((T)v.x, (T)v.y, (T)v.z, (T)v.w);
    return;
  }
  p[0] = (T)v.x;
  if (count > 1) p[1] = (T)v.y;
  if (count > 2) p[2] = (T)v.z;
}
