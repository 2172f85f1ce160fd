// SPDX-License-Identifier: MIT
// batch_matmul_sums.cl - sums of a tile, from the first product to the last. Needs S, S4, load_t and EACH_ROW.

#if ACC == 1
#define DECLARE(i, v, unused) float4 c##i##_##v = (float4)(0.0f); S4 t##i##_##v;
#define ADD_UP(i, v, unused) c##i##_##v += widen(t##i##_##v);
#define HAND_OVER(i, v, unused) sum[i * VECTORS + v] = c##i##_##v;
#else
#define DECLARE(i, v, unused) S4 t##i##_##v = (S4)((S)0);
#define ADD_UP(i, v, unused)
#define HAND_OVER(i, v, unused) sum[i * VECTORS + v] = widen(t##i##_##v);
#endif

// The first product of a chunk is not added to a zero: Mesa 25 would then not multiply halves in
// pairs.
#if ACC == 1
#define FIRST_BY(i, v, factor) t##i##_##v = (S4)(factor) * w##v;
#else
#define FIRST_BY NEXT_BY
#endif
#define NEXT_BY(i, v, factor) t##i##_##v = fma((S4)(factor), w##v, t##i##_##v);
#define LOAD_W(v, k_at) \
  const S4 w##v = load_t((__global const T4*)PLACE(w, (k_at) * w_stride + v * w_apart));

// The sums, `FOUR` k after the other: x moves on by x_step bytes a k, w by w_step.
#if ACC == 1
#define SUM(FOUR, x_step, w_step)                                             \
  const uint end = LOW(x) + k * (x_step);                                     \
  const uint rest = LOW(x) + k / CHUNK * CHUNK * (x_step);                    \
  EACH_SUM(DECLARE)                                                           \
  if (LOW(x) != rest) {                                                       \
    do {                                                                      \
      FOUR(FIRST, 0) FOUR(NEXT, 4) FOUR(NEXT, 8) FOUR(NEXT, 12)               \
      FOUR(NEXT, 16) FOUR(NEXT, 20) FOUR(NEXT, 24) FOUR(NEXT, 28)             \
      EACH_SUM(ADD_UP)                                                        \
      MOVE(x, CHUNK * (x_step));                                              \
      MOVE(w, CHUNK * (w_step));                                              \
    } while (LOW(x) != rest);                                                 \
  }                                                                           \
  if (LOW(x) != end) {                                                        \
    do {                                                                      \
      FOUR(FIRST, 0)                                                          \
      EACH_SUM(ADD_UP)                                                        \
      MOVE(x, 4 * (x_step));                                                  \
      MOVE(w, 4 * (w_step));                                                  \
    } while (LOW(x) != end);                                                  \
  }                                                                           \
  EACH_SUM(HAND_OVER)
#else
#define SUM(FOUR, x_step, w_step)                                             \
  const uint end = LOW(x) + k * (x_step);                                     \
  EACH_SUM(DECLARE)                                                           \
  do {                                                                        \
    FOUR(NEXT, 0)                                                             \
    MOVE(x, 4 * (x_step));                                                    \
    MOVE(w, 4 * (w_step));                                                    \
  } while (LOW(x) != end);                                                    \
  EACH_SUM(HAND_OVER)
#endif

// One output's sum by scalar loads, a k every x_step and w_step bytes. `pairs`: as sum_rows adds.
float sum_one(__global const char* x, uint x_step, __global const char* w, uint w_step, int pairs,
              int k) {
  float total = 0.0f;
  while (k > 0) {
    const int products = ACC != 1 ? k : (k < CHUNK ? min(k, 4) : CHUNK);
    S even = (S)0, odd = (S)0;
    for (int i = 0; i < products; ++i) {
      const S v = (S)*(__global const T*)x, weight = (S)*(__global const T*)w;
      if (pairs && (i & 1)) {
        odd = fma(v, weight, odd);
      } else {
        even = fma(v, weight, even);
      }
      x += x_step;
      w += w_step;
    }
    total += (float)(pairs ? even + odd : even);
    k -= products;
  }
  return total;
}
