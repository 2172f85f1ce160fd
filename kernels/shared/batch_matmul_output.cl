// SPDX-License-Identifier: MIT
// batch_matmul_output.cl - a batch item of c and of mask.

// A batch item of c and of mask: its extents, its first elements, and whether every tile has
// vectors of its own, aligned.
typedef struct {
  int m, n, ldc, c_at, mask_at, whole;
  float scale;
} Output;

Output output_of(int item, int m, int n, int ldc, int stridem, int stridec, int offc, float scale) {
  const int whole = BMM_WHOLE || ((n | ldc | offc | stridec) & 3) == 0;
  const Output out = {m, n, ldc, offc + item * stridec, item * stridem, whole, scale};
  return out;
}
