// SPDX-License-Identifier: MIT
// outer_products.cl - sums over vectors of rows. Needs ROWS % 4 == 0, LOAD_W, LOAD_ROWS(i, k_at),
// which declares x0 (x4) with rows i to i + 3 at a k, and the text sums.

// x as a vector of four rows at one k, or two, and its products with all vectors of w.
#define X_OF_0 x0.x
#define X_OF_1 x0.y
#define X_OF_2 x0.z
#define X_OF_3 x0.w
#define X_OF_4 x4.x
#define X_OF_5 x4.y
#define X_OF_6 x4.z
#define X_OF_7 x4.w
#define FIRST_OUTER(i, v, unused) FIRST_BY(i, v, X_OF_##i)
#define NEXT_OUTER(i, v, unused) NEXT_BY(i, v, X_OF_##i)
#if ROWS == 4
#define LOAD_ALL_ROWS(k_at) LOAD_ROWS(0, k_at)
#else
#define LOAD_ALL_ROWS(k_at) LOAD_ROWS(0, k_at) LOAD_ROWS(4, k_at)
#endif
#define WITH_W_OUTER(v, ADD, k_at, unused) LOAD_W(v, k_at) EACH_ROW(ADD, v, )
#define ONE_K(ADD, k_at) { LOAD_ALL_ROWS(k_at) EACH_VECTOR(WITH_W_OUTER, ADD, k_at, ) }
#define FOUR_K_OUTER(ADD, k_at)                            \
  ONE_K(ADD##_OUTER, k_at) ONE_K(NEXT_OUTER, (k_at) + 1)   \
  ONE_K(NEXT_OUTER, (k_at) + 2) ONE_K(NEXT_OUTER, (k_at) + 3)
