// SPDX-License-Identifier: MIT
// sum_one.cl - an output's sum by scalar loads, with the bits of the fast ones. Needs SECOND, and
// the text factor.

// Where an operand lies: rows of x or columns of w every `line` bytes from `at` on, and their k
// every `step`. Its elements are S if it is packed, else T.
typedef struct {
  __global const char* at;
  uint line, step;
  int packed;
} Lines;

S element(__global const char* p, int packed) {
  return packed ? *(__global const S*)p : (S)*(__global const T*)p;
}

// The sum of one row and one column: k products with x, then k2 with x2, which lies as x does.
// `pairs`: even and odd k apart.
float sum_one(Lines x, int k, __global const char* x2, int k2, Lines w, int pairs) {
  float total = 0.0f;
  int left = SECOND ? k + k2 : k;
  if (SECOND && k == 0) x.at = x2;
  while (left > 0) {
    const int of_source = SECOND && k > 0 ? k : left;
    const int of_chunk = of_source < CHUNK ? min(of_source, 4) : CHUNK;
    const int products = ACC != 1 ? left : of_chunk;
    S even = (S)0, odd = (S)0;
    for (int i = 0; i < products; ++i) {
      const S v = element(x.at, x.packed), weight = element(w.at, w.packed);
      if (pairs && (i & 1)) {
        odd = fma(v, weight, odd);
      } else {
        even = fma(v, weight, even);
      }
      x.at += x.step;
      w.at += w.step;
      if (SECOND && --k == 0) x.at = x2;
    }
    total += (float)(pairs ? even + odd : even);
    left -= products;
  }
  return total;
}
