// SPDX-License-Identifier: MIT
// box.cl - the box of an anchor, and how it is stored.

// ---- boxes ----

float4 load4(__global const T* p, uint row) {
  const T4 v = ((__global const T4*)p)[row];
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

// The corners of an anchor that is moved and stretched by offsets p.
float4 decode_box(float4 p, float2 anchor, float2 size, float4 variances) {
  const float2 centre = p.lo * variances.lo * size + anchor;
  const float2 half_size = exp(p.hi * variances.hi) * size * 0.5f;
  const float2 low = centre - half_size, high = centre + half_size;
  return (float4)(low.x, low.y, high.x, high.y);  // of pairs it would end the simulator Oclgrind
}

// Rows are no multiple of 16 bytes, so they are stored in pairs.
void store_row(float2 label, float4 box, __global T* p, uint row) {
  __global T2* pairs = (__global T2*)p + 3 * row;
  pairs[0] = (T2)((T)label.x, (T)label.y);
  pairs[1] = (T2)((T)box.x, (T)box.y);
  pairs[2] = (T2)((T)box.z, (T)box.w);
}
