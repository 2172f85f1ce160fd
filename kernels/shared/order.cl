// SPDX-License-Identifier: MIT
// order.cl - numbers as ints that compare alike.

// The bits of x as an int that compares like the number: -0 and 0 are 0, NaNs lie beyond the
// infinities. Floats would not do: a device may take a denormal for 0 when it compares them.
#define INFINITE 0x7F800000
int order(float x) {
  const int bits = as_int(x);
  return bits < 0 ? INT_MIN - bits : bits;
}
