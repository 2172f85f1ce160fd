// SPDX-License-Identifier: MIT
// unit.cl - what an item moves at a time: UNIT elements of T, which has SIZE bytes.

// ---- units: what an item moves at a time ----

#ifdef CLAM_F16
typedef ushort T;
#if UNIT == 1
typedef ushort Unit;
#elif UNIT == 2
typedef uint Unit;
#elif UNIT == 4
typedef uint2 Unit;
#else
typedef uint4 Unit;
#endif
#else
typedef uint T;
#if UNIT == 1
typedef uint Unit;
#elif UNIT == 2
typedef uint2 Unit;
#elif UNIT == 4
typedef uint4 Unit;
#else
#error "UNIT must be 1, 2 or 4"
#endif
#endif

#define SIZE ((uint)sizeof(T))

// A 64-bit base and an unsigned byte offset cost Mali compilers the least.
#define AT(type, p, at) (*(__global type*)((__global char*)(p) + (at)))
#define FROM(type, p, at) (*(__global const type*)((__global const char*)(p) + (at)))
