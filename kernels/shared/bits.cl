// SPDX-License-Identifier: MIT
// bits.cl - elements as integers, which are moved as they are.

#ifdef CLAM_F16
typedef ushort Bits;
typedef ushort2 Bits2;
typedef ushort4 Bits4;
#else
typedef uint Bits;
typedef uint2 Bits2;
typedef uint4 Bits4;
#endif
