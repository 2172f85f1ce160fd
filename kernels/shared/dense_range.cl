// SPDX-License-Identifier: MIT
// dense_range.cl - which k an item sums.

// The k that an item sums, from `begin` on: all, or a part, which begins a trip of the loop. `of_x`
// of them are with x, from its `begin_x` on, and `of_x2` with x2.
typedef struct {
  int begin, of_x, begin_x, of_x2, begin_x2;
} Range;

void own_range(Range* range, int k, int k2) {
  const int all = DENSE_K2 ? k + k2 : k;
  const int trip = ACC == 1 ? CHUNK : DENSE_K0, part = all / (trip * DENSE_PARTS) * trip;
  const int at = DENSE_PARTS > 1 ? (int)get_local_id(2) : 0;
  const int products = at < DENSE_PARTS - 1 ? part : all - at * part;
  const int in_parts = DENSE_K2 ? DENSE_PARTS > 1 : 0;
  range->begin = at * part;
  range->begin_x2 = in_parts ? max(range->begin - k, 0) : 0;
  range->begin_x = range->begin - range->begin_x2;
  range->of_x = in_parts ? min(k - range->begin_x, products) : DENSE_K2 ? k : products;
  range->of_x2 = products - range->of_x;
}
