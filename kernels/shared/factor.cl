// SPDX-License-Identifier: MIT
// factor.cl - what is multiplied, S, and how it is loaded. Needs T, T4 and ACC.

#if ACC != 0 && !defined(CLAM_F16)
#error "sums in half, the option that ends in _ACC, need CLAM_F16"
#endif

// What is multiplied and summed, until a chunk ends. Packed operands are stored so, unless
// their kernel says otherwise.
#if ACC == 0
typedef float S;
typedef float4 S4;
#else
typedef half S;
typedef half4 S4;
#endif

#define CHUNK 32  // products of a chunk

// Through components: some compilers lack the conversions of half vectors.
float4 widen(S4 v) { return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w); }

S4 load_t(__global const T4* p) {
  const T4 v = *p;
  return (S4)((S)v.x, (S)v.y, (S)v.z, (S)v.w);
}
