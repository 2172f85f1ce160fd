// SPDX-License-Identifier: MIT
// sources.cl - sums over the k of one left matrix or of two. Needs PARTS, SECOND, LOAD_W, and
// the texts sums and sum_one.

// The k that a work-item sums, from `begin` on: all, or a part, which begins a trip of the loop.
// `of_x` of them are with x, from its `begin_x` on, and `of_x2` with x2.
typedef struct {
  int begin, of_x, begin_x, of_x2, begin_x2;
} Range;

void own_range(Range* range, int k, int k2) {
  const int all = SECOND ? k + k2 : k;
  const int trip = ACC == 1 ? CHUNK : K0, part = all / (trip * PARTS) * trip;
  const int at = PARTS > 1 ? (int)get_local_id(2) : 0;
  const int products = at < PARTS - 1 ? part : all - at * part;
  range->begin = at * part;
  range->begin_x2 = MAY_BE_EMPTY ? max(range->begin - k, 0) : 0;
  range->begin_x = range->begin - range->begin_x2;
  range->of_x = MAY_BE_EMPTY ? min(k - range->begin_x, products) : SECOND ? k : products;
  range->of_x2 = products - range->of_x;
}

// The second source: a work-item has its rows from `row` on, and of each sums `products` elements
// from `begin` on.
typedef struct {
  __global const T* x;
  int row, ld, off, begin, products;
} Source;

int first_of_row(Source source, int row) { return source.off + row * source.ld + source.begin; }

Lines lines_of(Source source) {
  __global const T* first = source.x + first_of_row(source, source.row);
  const Lines lines = {(__global const char*)first, source.ld * SIZE, SIZE, 0};
  return lines;
}

// Of a part that lies in x alone, nothing of x2 is read.
int second_ends_above(Source second) {
  if (!SECOND) return 0;
  const int at = first_of_row(second, second.row + ROWS - 1);
  return (second.products > 0) & ends_above(second.x, (at + second.products) * SIZE);
}

// Where rows of x begin is computed once: Mesa does not move products out of a loop.
#define ROW_OF_X(i, unused1, unused2) const uint x_at##i = i * x_stride;
#define LOAD_X(i, k_at, unused) \
  const S4 x##i = load_t((__global const T4*)PLACE(x, x_at##i + (k_at) * SIZE));

// Four k: rows of x, then for each k its vectors of w, each for all rows. `k_of` is one component
// of a row's four k. With two rows and one vector of columns:
//
//   x0 = row 0's k .. k+3;  x1 = row 1's
//   w0 = w at k;            t0_0 += x0.x * w0;  t1_0 += x1.x * w0
//   w0 = w at k + 1;        t0_0 += x0.y * w0;  t1_0 += x1.y * w0;  and so on with z and w
#define FIRST(i, v, k_of) FIRST_BY(i, v, x##i.k_of)
#define NEXT(i, v, k_of) NEXT_BY(i, v, x##i.k_of)
#define WITH_W(v, ADD, k_of, k_at) LOAD_W(v, k_at) EACH_ROW(ADD, v, k_of)
#if ROWS != 5
#define FOUR_K(ADD, k_at)                          \
  {                                                \
    EACH_ROW(LOAD_X, k_at, )                       \
    { EACH_VECTOR(WITH_W, ADD, x, k_at) }          \
    { EACH_VECTOR(WITH_W, NEXT, y, (k_at) + 1) }   \
    { EACH_VECTOR(WITH_W, NEXT, z, (k_at) + 2) }   \
    { EACH_VECTOR(WITH_W, NEXT, w, (k_at) + 3) }   \
  }
#else
// Beside ten vectors of sums there are registers for four k of one row, and for two of the others.
#define LOAD_TWO(i, k_at) \
  const float2 x##i = load_two((__global const T2*)PLACE(x, x_at##i + (k_at) * SIZE));
#define TWO_K(ADD, half_of_x0, k_at)                                            \
  {                                                                             \
    const float2 x0 = half_of_x0;                                               \
    LOAD_TWO(1, k_at) LOAD_TWO(2, k_at) LOAD_TWO(3, k_at) LOAD_TWO(4, k_at)     \
    { EACH_VECTOR(WITH_W, ADD, x, k_at) }                                       \
    { EACH_VECTOR(WITH_W, NEXT, y, (k_at) + 1) }                                \
  }
#define FOUR_K(ADD, k_at)                                                       \
  {                                                                             \
    const float4 four = load_t((__global const T4*)PLACE(x, x_at0 + (k_at) * SIZE)); \
    TWO_K(ADD, four.xy, k_at) TWO_K(NEXT, four.zw, (k_at) + 2)                  \
  }

float2 load_two(__global const T2* p) {
  const T2 v = *p;
  return (float2)((float)v.x, (float)v.y);
}
#endif

// The k of x, then those of x2. For Mesa's register allocator: the place of x2 is computed behind
// the first loop, which has no register for it. The maximum, which is the row, keeps compilers from
// using an earlier product.
#if SECOND
#define SUM_SOURCES(FOUR, END_TRIP, w_step)                               \
  {                                                                       \
    EACH_ROW(ROW_OF_X, 0, )                                               \
    SUM_K(FOUR, END_TRIP, SIZE, w_step, k)                                \
  }                                                                       \
  x = ADDRESS(second.x, first_of_row(second, max(second.row, 0)) * SIZE); \
  x_stride = second.ld * SIZE;                                            \
  {                                                                       \
    EACH_ROW(ROW_OF_X, 0, )                                               \
    SUM_K(FOUR, END_TRIP, SIZE, w_step, second.products)                  \
  }
#else
#define SUM_SOURCES(FOUR, END_TRIP, w_step) \
  EACH_ROW(ROW_OF_X, 0, )                   \
  SUM_K(FOUR, END_TRIP, SIZE, w_step, k)
#endif
