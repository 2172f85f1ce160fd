// SPDX-License-Identifier: MIT
// row_products.cl - sums of products of rows of k with rows of k. Needs factor, address, LOAD_X and EACH_ROW.

// Both hold rows of k, w four of them; x is loaded row by row.
#if ACC == 0
float add_row(float sum, S4 x, S4 w) {
  return fma(x.w, w.w, fma(x.z, w.z, fma(x.y, w.y, fma(x.x, w.x, sum))));
}
#define FIRST_ROW(i, unused, k_at)                        \
  {                                                      \
    LOAD_X(i, k_at, )                                    \
    t##i##_0.x = add_row(t##i##_0.x, x##i, w0);          \
    t##i##_0.y = add_row(t##i##_0.y, x##i, w1);          \
    t##i##_0.z = add_row(t##i##_0.z, x##i, w2);          \
    t##i##_0.w = add_row(t##i##_0.w, x##i, w3);          \
  }
#define NEXT_ROW FIRST_ROW
#else
// p0_1 is the sum of row 0 and column 1: of its even k and of its odd k.
typedef half2 S2;
S2 first_pair(S4 x, S4 w) { return fma(x.zw, w.zw, x.xy * w.xy); }
S2 add_pair(S2 sum, S4 x, S4 w) { return fma(x.zw, w.zw, fma(x.xy, w.xy, sum)); }
#define DECLARE_PAIRS(i, unused1, unused2) S2 p##i##_0, p##i##_1, p##i##_2, p##i##_3;
#define FIRST_ROW(i, unused, k_at)       \
  {                                     \
    LOAD_X(i, k_at, )                   \
    p##i##_0 = first_pair(x##i, w0);    \
    p##i##_1 = first_pair(x##i, w1);    \
    p##i##_2 = first_pair(x##i, w2);    \
    p##i##_3 = first_pair(x##i, w3);    \
  }
#define NEXT_ROW(i, unused, k_at)               \
  {                                            \
    LOAD_X(i, k_at, )                          \
    p##i##_0 = add_pair(p##i##_0, x##i, w0);   \
    p##i##_1 = add_pair(p##i##_1, x##i, w1);   \
    p##i##_2 = add_pair(p##i##_2, x##i, w2);   \
    p##i##_3 = add_pair(p##i##_3, x##i, w3);   \
  }
float4 join(S2 p0, S2 p1, S2 p2, S2 p3) {
  return (float4)((float)(p0.x + p0.y), (float)(p1.x + p1.y), (float)(p2.x + p2.y),
                  (float)(p3.x + p3.y));
}
#endif

#define LOAD_W_ROW(n, k_at) \
  const S4 w##n = load_t((__global const T4*)PLACE(w, w_at##n + (k_at) * SIZE));
#define FOUR_K_OF_ROWS(ROW, k_at)                                                   \
  {                                                                                 \
    LOAD_W_ROW(0, k_at) LOAD_W_ROW(1, k_at) LOAD_W_ROW(2, k_at) LOAD_W_ROW(3, k_at) \
    EACH_ROW(ROW, 0, k_at)                                                          \
  }
