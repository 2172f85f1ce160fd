// SPDX-License-Identifier: MIT
// rows_and_vectors.cl - what is done for each row of a tile and each vector of its columns. Needs ROWS and VECTORS.

// Sums are variables of their own: arrays cost Mesa's compilers a fifth of the loop. t0_1 is that
// of row 0 and vector 1 of columns, and c0_1 the total of its chunks.
#if ROWS == 1
#define EACH_ROW(DO, v, a) DO(0, v, a)
#elif ROWS == 2
#define EACH_ROW(DO, v, a) DO(0, v, a) DO(1, v, a)
#elif ROWS == 4
#define EACH_ROW(DO, v, a) DO(0, v, a) DO(1, v, a) DO(2, v, a) DO(3, v, a)
#elif ROWS == 5
#define EACH_ROW(DO, v, a) DO(0, v, a) DO(1, v, a) DO(2, v, a) DO(3, v, a) DO(4, v, a)
#elif ROWS == 6
#define EACH_ROW(DO, v, a) \
  DO(0, v, a) DO(1, v, a) DO(2, v, a) DO(3, v, a) DO(4, v, a) DO(5, v, a)
#else
#define EACH_ROW(DO, v, a)                                                \
  DO(0, v, a) DO(1, v, a) DO(2, v, a) DO(3, v, a) DO(4, v, a) DO(5, v, a) \
  DO(6, v, a) DO(7, v, a)
#endif
#if VECTORS == 1
#define EACH_VECTOR(DO, a, b, c) DO(0, a, b, c)
#define EACH_SUM(DO) EACH_ROW(DO, 0, )
#else
#define EACH_VECTOR(DO, a, b, c) DO(0, a, b, c) DO(1, a, b, c)
#define EACH_SUM(DO) EACH_ROW(DO, 0, ) EACH_ROW(DO, 1, )
#endif
