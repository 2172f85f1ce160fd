// SPDX-License-Identifier: MIT
// sums.cl - a tile's sums over k. Needs ROWS, VECTORS, K0, ACC, MAY_BE_EMPTY, and the texts
// address, factor and rows_and_vectors.

#if ROWS == 5 && ACC != 0
#error "a tile of 5 rows has sums in float: the option that ends in _ACC must be 0"
#endif
#if K0 == 16 && ACC == 2
#error "the option that ends in _K0 must be 4 or 8 where sums are half"
#endif

// A sum before the loop, as a trip ends, and behind the loop.
#if ACC == 1
#define DECLARE(i, v, unused) float4 c##i##_##v = (float4)(0.0f); S4 t##i##_##v;
#define ADD_UP(i, v, unused) c##i##_##v += widen(t##i##_##v);
#define HAND_OVER(i, v, unused) sum[i * VECTORS + v] = c##i##_##v;
#else
#define DECLARE(i, v, unused) S4 t##i##_##v = (S4)((S)0);
#define ADD_UP(i, v, unused)
#define HAND_OVER(i, v, unused) sum[i * VECTORS + v] = widen(t##i##_##v);
#endif

// One product each, with vector v of w. The first one of a chunk is not added to a zero: Mesa 25
// would then not multiply halves in pairs.
#define NEXT_BY(i, v, factor) t##i##_##v = fma((S4)(factor), w##v, t##i##_##v);
#if ACC == 1
#define FIRST_BY(i, v, factor) t##i##_##v = (S4)(factor) * w##v;
#else
#define FIRST_BY NEXT_BY
#endif

// Adds k products: x moves on by x_step bytes a k, w by w_step. FOUR(FIRST or NEXT, at) adds those
// of four k, `at` k behind the place of x and w. END_TRIP is what becomes of a sum as a chunk ends.
// The loops are do loops: Mesa does not turn others into these, and would move sums at each trip.
// Whole chunks end at `rest`. `end` is computed where it is used, for Mesa's register allocator.
#if ACC == 1
#define SUM_K(FOUR, END_TRIP, x_step, w_step, k)                  \
  {                                                               \
    const Limit rest = LIMIT(x, (k) / CHUNK * CHUNK * (x_step));      \
    if (BEFORE(x, rest)) {                                        \
      do {                                                        \
        FOUR(FIRST, 0) FOUR(NEXT, 4) FOUR(NEXT, 8) FOUR(NEXT, 12) \
        FOUR(NEXT, 16) FOUR(NEXT, 20) FOUR(NEXT, 24) FOUR(NEXT, 28) \
        EACH_SUM(END_TRIP)                                        \
        MOVE(x, CHUNK * (x_step));                                \
        MOVE(w, CHUNK * (w_step));                                \
      } while (BEFORE(x, rest));                                  \
    }                                                             \
    const Limit end = rest + (k) % CHUNK * (x_step);              \
    if (BEFORE(x, end)) {                                         \
      do {                                                        \
        FOUR(FIRST, 0)                                            \
        EACH_SUM(END_TRIP)                                        \
        MOVE(x, 4 * (x_step));                                    \
        MOVE(w, 4 * (w_step));                                    \
      } while (BEFORE(x, end));                                   \
    }                                                             \
  }
#else
#if K0 == 4
#define TRIP(FOUR) FOUR(NEXT, 0)
#elif K0 == 8
#define TRIP(FOUR) FOUR(NEXT, 0) FOUR(NEXT, 4)
#else
#define TRIP(FOUR) FOUR(NEXT, 0) FOUR(NEXT, 4) FOUR(NEXT, 8) FOUR(NEXT, 12)
#endif
#define SUM_K(FOUR, END_TRIP, x_step, w_step, k)                  \
  {                                                               \
    const Limit end = LIMIT(x, (k) * (x_step));                       \
    if (!MAY_BE_EMPTY || BEFORE(x, end)) {                        \
      do {                                                        \
        TRIP(FOUR)                                                \
        MOVE(x, K0 * (x_step));                                   \
        MOVE(w, K0 * (w_step));                                   \
      } while (BEFORE(x, end));                                   \
    }                                                             \
  }
#endif
