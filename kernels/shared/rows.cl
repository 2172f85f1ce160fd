// SPDX-License-Identifier: MIT
// rows.cl - rows that are copied as they are, or filled with -1. Needs BYTES, copied at a time, or 0:
// one element; and WG, the items of a group.

#ifdef CLAM_F16
typedef ushort Element;         // T, copied as an integer
#define MINUS_ONES 0xBC00BC00u  // a uint full of T's -1
#else
typedef uint Element;
#define MINUS_ONES 0xBF800000u
#endif

#if BYTES == 0
typedef Element Unit;
#elif BYTES == 2
typedef ushort Unit;
#elif BYTES == 4
typedef uint Unit;
#elif BYTES == 8
typedef uint2 Unit;
#else
typedef uint4 Unit;
#endif

// Copies row `from` to row `to`, both counted over the tensor.
void copy_row(__global const T* data, __global T* out, uint from, uint to, uint e) {
  const uint bytes = e * sizeof(Element);
  __global const char* src = (__global const char*)data;
  __global char* dst = (__global char*)out;
  uint at = from * bytes;
  uint place = to * bytes;
  for (const uint end = at + bytes; at < end; at += sizeof(Unit), place += sizeof(Unit)) {
    *(__global Unit*)(dst + place) = *(__global const Unit*)(src + at);
  }
}

// Writes -1 to the rows [begin, end) of the tensor: 16 bytes a store, except at the ends.
void fill_rows(__global T* out, uint begin, uint end, uint e) {
  const uint lane = get_local_id(0);
  const uint per = 16 / sizeof(Element);  // elements in 16 bytes; no more than WG
  const uint start = begin * e;
  const uint stop = end * e;
  const uint first = min((start + per - 1) / per * per, stop);  // the first whole 16 bytes
  const uint last = max(stop / per * per, first);               // end of the last
  if (start + lane < first) ((__global Element*)out)[start + lane] = (Element)MINUS_ONES;
  for (uint i = first / per + lane; i < last / per; i += WG) {
    ((__global uint4*)out)[i] = (uint4)(MINUS_ONES);
  }
  if (last + lane < stop) ((__global Element*)out)[last + lane] = (Element)MINUS_ONES;
}
