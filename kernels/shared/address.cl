// SPDX-License-Identifier: MIT
// address.cl - addresses that a loop moves along. Needs SPLIT.

// With SPLIT, a load adds to the lower half of an address alone. Mesa's compilers for Mali spend
// two instructions on that. A sum of 64 bits takes three, and more registers. Right only where base
// and what is read have the same upper half: see ends_above. A loop moves on BEFORE a LIMIT.
#if SPLIT
typedef uint2 Address;
typedef uint Limit;
#define ADDRESS(base, at) (as_uint2((ulong)(base)) + (uint2)(at, 0))
#define PLACE(address, at) as_ulong((uint2)((address).x + (at), (address).y))
#define MOVE(address, bytes) (address).x += (bytes)
#define LOW(address) (address).x
#define LIMIT(address, bytes) ((address).x + (bytes))
#define BEFORE(address, limit) ((address).x < (limit))
#else
typedef __global const char *Address, *Limit;
#define ADDRESS(base, at) ((__global const char*)(base) + (at))
#define PLACE(address, at) ((address) + (at))
#define MOVE(address, bytes) (address) += (bytes)
#define LOW(address) ((uint)(ulong)(address))
#define LIMIT(address, bytes) ((address) + (bytes))
#define BEFORE(address, limit) ((address) < (limit))
#endif

// Whether what lies behind `bytes` from the base on has another upper half than the base.
int ends_above(__global const void* base, uint bytes) {
  return SPLIT && (uint)(ulong)base + bytes < (uint)(ulong)base;
}
