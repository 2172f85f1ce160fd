// SPDX-License-Identifier: MIT
// dense_sums.cl - sums of a tile, from the first product to the last. Needs S, S4, load_t and EACH_ROW.

// What becomes of a sum before the loop, as a trip of it begins and ends, and behind it.
#if ACC == 1
#define DECLARE(i, v, unused) float4 c##i##_##v = (float4)(0.0f);
#define BEGIN(i, v, unused) S4 t##i##_##v;
#define END(i, v, unused) c##i##_##v += widen(t##i##_##v);
#define HAND_OVER(i, v, unused) sum[i * VECTORS + v] = c##i##_##v;
#else
#define DECLARE(i, v, unused) S4 t##i##_##v = (S4)((S)0);
#define BEGIN(i, v, unused)
#define END(i, v, unused)
#define HAND_OVER(i, v, unused) sum[i * VECTORS + v] = widen(t##i##_##v);
#endif

// Four k: x by rows of k, then for each k its vectors of w, each for all rows. The first product of
// a chunk is not added to a zero: Mesa 25 would then not multiply halves in pairs.
#if ACC == 1
#define FIRST(i, v, k_of) t##i##_##v = (S4)(x##i.k_of) * w##v;
#else
#define FIRST(i, v, k_of) t##i##_##v = fma((S4)(x##i.k_of), w##v, t##i##_##v);
#endif
#define NEXT(i, v, k_of) t##i##_##v = fma((S4)(x##i.k_of), w##v, t##i##_##v);
#define LOAD_X(i, k_at, unused) \
  const S4 x##i = load_t((__global const T4*)PLACE(x, i * x_stride + (k_at) * SIZE));
#define WITH_W(v, ADD, k_of, k_at) LOAD_W(v, (k_at) * w_stride) EACH_ROW(ADD, v, k_of)
#define FOUR_K(ADD, k_at)                 \
  {                                       \
    EACH_ROW(LOAD_X, k_at, )              \
    { EACH_VECTOR(WITH_W, ADD, x, k_at) } \
    { EACH_VECTOR(WITH_W, NEXT, y, k_at + 1) } \
    { EACH_VECTOR(WITH_W, NEXT, z, k_at + 2) } \
    { EACH_VECTOR(WITH_W, NEXT, w, k_at + 3) } \
  }

#if DENSE_K0 == 4
#define TRIP(FOUR) FOUR(NEXT, 0)
#else
#define TRIP(FOUR) FOUR(NEXT, 0) FOUR(NEXT, 4)
#endif

#define TRIPS(DO, step, x_step, end) \
  do {                               \
    EACH_SUM(BEGIN)                  \
    DO                               \
    EACH_SUM(END)                    \
    MOVE(x, (step) * x_step);        \
    MOVE(w, (step) * w_stride);      \
  } while (LOW(x) != end);

// The second source of k: of x2's rows an item has those from `row` on, and of each sums `products`
// elements from `begin` on.
typedef struct {
  __global const T* x;
  int row, ld, off, begin, products;
} Source;

int first_of_row(Source source, int row) { return source.off + row * source.ld + source.begin; }

// A part may lie in one source alone.
#if DENSE_K2 && DENSE_PARTS > 1
#define UNLESS_EMPTY(end) if (LOW(x) != end)
#else
#define UNLESS_EMPTY(end)
#endif

// All k of a source. FOUR sums four of them, TRIP_ those of a trip, but for chunks; the next k lies
// x_step bytes on in x.
#define BEGIN_SOURCE
#if ACC == 1
#define SUM_SOURCE(FOUR, TRIP_, x_step, k)                                                    \
  BEGIN_SOURCE                                                                                \
  const uint rest = LOW(x) + k / CHUNK * CHUNK * x_step;                                      \
  if (LOW(x) != rest) {                                                                       \
    TRIPS(FOUR(FIRST, 0) FOUR(NEXT, 4) FOUR(NEXT, 8) FOUR(NEXT, 12) FOUR(NEXT, 16)            \
          FOUR(NEXT, 20) FOUR(NEXT, 24) FOUR(NEXT, 28), CHUNK, x_step, rest)                  \
  }                                                                                           \
  const uint end = rest + k % CHUNK * x_step;                                                 \
  if (rest != end) {                                                                          \
    TRIPS(FOUR(FIRST, 0), 4, x_step, end)                                                     \
  }
#else
#define SUM_SOURCE(FOUR, TRIP_, x_step, k)  \
  BEGIN_SOURCE                              \
  const uint end = LOW(x) + k * x_step;     \
  UNLESS_EMPTY(end) {                       \
    TRIPS(TRIP_, DENSE_K0, x_step, end)     \
  }
#endif

#define SUM(FOUR, TRIP_, x_step)          \
  EACH_SUM(DECLARE)                       \
  { SUM_SOURCE(FOUR, TRIP_, x_step, k) }  \
  EACH_SUM(HAND_OVER)

// Both sources. The place of the second is computed behind the first's loop, which has no register
// for it. The maximum, which is the row, keeps compilers from using an earlier product.
#define NEXT_SOURCE                                                       \
  x = ADDRESS(second.x, first_of_row(second, max(second.row, 0)) * SIZE); \
  x_stride = second.ld * SIZE;
#if DENSE_K2
#define SUM_BOTH(FOUR, TRIP_, x_step)                    \
  EACH_SUM(DECLARE)                                      \
  { SUM_SOURCE(FOUR, TRIP_, x_step, k) }                 \
  NEXT_SOURCE                                            \
  { SUM_SOURCE(FOUR, TRIP_, x_step, second.products) }   \
  EACH_SUM(HAND_OVER)
#else
#define SUM_BOTH(FOUR, TRIP_, x_step) SUM(FOUR, TRIP_, x_step)
#endif

// One output's sum by scalar loads: rows of x and w, or rows of x and columns of w. It has k
// products with x, and then those with a second x, if there is one. `pairs`: even and odd k apart.
float sum_one(__global const char* x, __global const char* w, uint w_step, int packed, int pairs,
              int k, __global const char* x2, int k2) {
  float total = 0.0f;
  int left = DENSE_K2 ? k + k2 : k;
  if (DENSE_K2 && k == 0) x = x2;
  while (left > 0) {
    const int of_source = DENSE_K2 && k > 0 ? k : left;
    const int of_chunk = of_source < CHUNK ? min(of_source, 4) : CHUNK;
    const int products = ACC != 1 ? left : of_chunk;
    S even = (S)0, odd = (S)0;
    for (int i = 0; i < products; ++i) {
      const S v = (S)*(__global const T*)x;
      const S weight = packed ? *(__global const S*)w : (S)*(__global const T*)w;
      if (pairs && (i & 1)) {
        odd = fma(v, weight, odd);
      } else {
        even = fma(v, weight, even);
      }
      x += SIZE;
      w += w_step;
      if (DENSE_K2 && --k == 0) x = x2;
    }
    total += (float)(pairs ? even + odd : even);
    left -= products;
  }
  return total;
}
