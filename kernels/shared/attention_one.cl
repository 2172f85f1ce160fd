// SPDX-License-Identifier: MIT
// attention_one.cl - attention of one query, element by element.

// ---- slowly: one query by scalar loads, any strides ----

// What a sum of weights divides by: a query that sees no key has zeros.
float divisor(float total) { return total == 0.0f ? 0.0f : 1.0f / total; }

// First elements of a query's rows and of its head's.
typedef struct {
  __global const T *q, *k, *v, *mask;
  int ldk, ldv, d, keys;
  float scale;
} Query;

float score_one(Query query, int key) {
  __global const T* k = query.k + (uint)(key * query.ldk);
  float sum = 0.0f;
  for (int c = 0; c < query.d; ++c) sum = fma((float)query.q[c], (float)k[c], sum);
  return ATT_MASK ? fma(query.scale, sum, (float)query.mask[key]) : query.scale * sum;
}

// A column of the query's output: all scores for the maximum, and once more for the sums.
float attend_one(Query query, int column) {
  float most = LOWEST;
  for (int key = 0; key < query.keys; ++key) most = fmax(most, score_one(query, key));
  float total = 0.0f, sum = 0.0f;
  for (int key = 0; key < query.keys; ++key) {
    const float w = EXP2((score_one(query, key) - most) * LOG2_E);
    total += w;
    sum = fma(w, (float)query.v[(uint)(key * query.ldv + column)], sum);
  }
  return sum * divisor(total);
}
