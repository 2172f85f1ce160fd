// SPDX-License-Identifier: MIT
// conv2d_address.cl - addresses with constant offsets, which may be negative. Needs CONV2D_SPLIT.

// Where a loop reads: a base to which constant offsets are added.
#if CONV2D_SPLIT
typedef struct {
  uint lo, hi;
} Address;
#else
typedef __global const char* Address;
#endif

Address address_of(__global const char* p) {
#if CONV2D_SPLIT
  const uint2 halves = as_uint2((ulong)p);
  const Address address = {halves.x, halves.y};
  return address;
#else
  return p;
#endif
}

uint low_half(Address a) {
#if CONV2D_SPLIT
  return a.lo;
#else
  return (uint)(ulong)a;
#endif
}

// a + offset; with `carry` the sum may pass a multiple of 4 GiB. Offsets are ints, and some are
// negative.
__global const char* place(Address a, uint offset, int carry) {
#if CONV2D_SPLIT
  const ulong far = as_ulong((uint2)(a.lo, a.hi)) + (long)(int)offset;
  return (__global const char*)(carry ? far : as_ulong((uint2)(a.lo + offset, a.hi)));
#else
  return a + (int)offset;
#endif
}

Address advanced(Address a, uint offset, int carry) { return address_of(place(a, offset, carry)); }

// base + offset with the upper half of the base, which takes no register.
Address beside(__global const void* base, int offset) {
#if CONV2D_SPLIT
  const uint2 halves = as_uint2((ulong)base);
  const Address address = {halves.x + (uint)offset, halves.y};
  return address;
#else
  return (__global const char*)base + offset;
#endif
}

// Whether the last of `bytes` from the base on has another upper half than the base.
int ends_above(__global const void* base, uint bytes) {
  return CONV2D_SPLIT && (uint)(ulong)base + (bytes - 1) < (uint)(ulong)base;
}

T4 get4(Address a, uint at, int carry) { return *(__global const T4*)place(a, at, carry); }

T get1(Address a, uint at, int carry) { return *(__global const T*)place(a, at, carry); }

float4 load4(Address a, uint at, int carry) {
  const T4 v = get4(a, at, carry);
  return (float4)((float)v.x, (float)v.y, (float)v.z, (float)v.w);
}

float load1(Address a, uint at, int carry) { return (float)get1(a, at, carry); }
