// SPDX-License-Identifier: MIT
// box_sets.hpp - boxes with scores and classes that provoke non-maximum suppression, for the data
// sets of every op in front of its core.
#pragma once

#include <array>
#include <functional>

#include "proof.hpp"

namespace clam {

namespace box_sets {

using Box = std::array<double, 4>;

/// Corners as (middle x, y, width, height).
inline Box centered(const Box& box) {
  return {(box[0] + box[2]) / 2, (box[1] + box[3]) / 2, box[2] - box[0], box[3] - box[1]};
}

/// Sets a box's coordinates, element `at` and those behind it.
inline void put_box(HostTensor& data, std::int64_t at, const Box& box) {
  for (const double coordinate : box) data.set(at++, coordinate);
}

struct Row {
  double id, score;
  Box box;
};

/// Where an op's inputs take rows: `items` sets of n.
struct Rows {
  int items, n;
  std::function<void(int item, int row, const Row&)> put;
  /// Says that only the first `count` rows are valid. Null: all are, so those past them get a score
  /// of -1 and a box of no size.
  std::function<void(int item, int count)> count;
};

/// A row past the count: the best of all, if a kernel took it.
constexpr Row kDecoy{0, 60000, {-1000, -1000, 1000, 1000}};
/// A row past the count as get_valid_counts leaves it.
constexpr Row kMinusOne{-1, -1, {-1, -1, -1, -1}};

/// What a detector finds: many boxes around few objects of 20 classes, some taken for another
/// class.
class Detector {
 public:
  explicit Detector(std::uint64_t seed) {
    Random random(seed ^ 0x5EED);
    for (Object& object : objects_) {
      object = {512 * random.uniform(), 512 * random.uniform(), 20 + 180 * random.uniform(),
                20 + 180 * random.uniform(), static_cast<double>(random.integer(0, 19))};
    }
  }

  Row operator()(Random& random) const {
    const auto& [x, y, w, h, id] = objects_[random.bits() % objects_.size()];
    const auto noise = [&] { return 0.12 * random.normal(); };
    const double left = x + w * noise(), top = y + h * noise();
    const double width = w * (1 + noise()), height = h * (1 + noise());
    const double other = random.integer(0, 19);
    return {random.uniform() < 0.1 ? other : id,
            0.01 + 0.99 * std::pow(random.uniform(), 3),
            {left - width / 2, top - height / 2, left + width / 2, top + height / 2}};
  }

 private:
  struct Object {
    double x, y, w, h, id;
  };
  std::array<Object, 40> objects_;
};

/// How rows are made: the first valid(item, n) of the n rows of each item by make(), the others are
/// `rest`.
struct Rule {
  int (*valid)(int item, int n);
  Row (*make)(const Detector&, Random&, int row);
  Row rest = kDecoy;
};

inline void fill(const Rows& rows, std::uint64_t seed, const Rule& rule) {
  const Detector detector(seed);
  Random random(seed);
  for (int item = 0; item < rows.items; ++item) {
    const int count = std::clamp(rule.valid(item, rows.n), 0, rows.n);
    if (rows.count) rows.count(item, count);
    for (int row = 0; row < rows.n; ++row) {
      const Row& rest = rows.count ? rule.rest : kMinusOne;
      rows.put(item, row, row < count ? rule.make(detector, random, row) : rest);
    }
  }
}

inline int all(int, int n) { return n; }
template <int kMost>
int at_most(int, int) {
  return kMost;
}
inline Row detected(const Detector& detector, Random& random, int) { return detector(random); }

constexpr Rule kEvery{all, detected};

/// Groups of four boxes with corners on a grid of halves, so that overlaps are ratios of small
/// integers (1/2, 1/4, 1/7 among them) without any rounding. The first two of a group are a pair
/// with one of these.
inline Row on_boundary(const Detector&, Random& random, int row) {
  const int group = row / 4;
  const double x = 8 * (group % 64), y = 8 * (group / 64 % 64);
  constexpr Box kPairs[3][2] = {{{0, 0, 2, 1}, {0, 0, 1, 1}},
                                {{0, 0, 2, 2}, {0, 0, 1, 1}},
                                {{0, 0, 1, 1}, {0.5, 0.5, 1.5, 1.5}}};
  Box box;
  if (row % 4 < 2) {
    box = kPairs[group % 3][row % 4];
  } else {
    for (double& corner : box) corner = 0.5 * random.integer(0, 6);
  }
  return {static_cast<double>(group % 4),
          random.uniform(),
          {x + box[0], y + box[1], x + box[2], y + box[3]}};
}

/// A side of 300 to 500: areas overflow half.
inline Row large(const Detector&, Random& random, int) {
  const double x = 200 * random.uniform(), y = 200 * random.uniform();
  return {static_cast<double>(random.integer(0, 19)),
          0.01 + 0.99 * random.uniform(),
          {x, y, x + 300 + 200 * random.uniform(), y + 300 + 200 * random.uniform()}};
}

/// One of five scores, of which two are 0.
inline Row tied(const Detector& detector, Random& random, int) {
  constexpr double kScores[] = {-0.0, 0.0, 0.25, 0.5, -0.5};
  const Row row = detector(random);
  return {row.id, kScores[random.integer(0, 4)], row.box};
}

inline Row equal(const Detector& detector, Random& random, int) {
  const Row row = detector(random);
  return {row.id, 0.75, row.box};
}

/// Bits that a careless comparison or copy gets wrong: NaNs with payloads (quiet, signalling,
/// negative), infinities, zeros, denormals, the largest numbers.
inline std::vector<std::uint32_t> special_bits(Dtype dtype) {
  if (dtype == Dtype::f16) {
    return {0x7E23, 0x7C01, 0xFE07, 0x7C00, 0xFC00, 0x0000, 0x8000,
            0x0001, 0x8001, 0x03FF, 0x7BFF, 0xFBFF, 0x3C00};
  }
  return {0x7FC00123, 0x7F800001, 0xFFC00007, 0x7F800000, 0xFF800000, 0x00000000, 0x80000000,
          0x00000001, 0x80000001, 0x007FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000};
}

/// Replaces one element in twelve by a special one.
inline void make_special(HostTensor& data, Random& random) {
  const std::vector<std::uint32_t> bits = special_bits(data.dtype());
  for (std::int64_t i = 0; i < data.size(); ++i) {
    if (random.integer(0, 11) != 0) continue;
    data.set_bits(i, bits[random.bits() % bits.size()]);
  }
}

/// Of rows of e elements, turns every fifth box over and makes every seventh flat.
inline void turn_boxes(HostTensor& data, int e, int coord_start) {
  for (std::int64_t row = 0; row < data.size() / e; ++row) {
    const std::int64_t box = row * e + coord_start;
    const std::uint32_t x0 = data.bits(box), y0 = data.bits(box + 1);
    if (row % 5 == 0) {
      data.set_bits(box, data.bits(box + 2));
      data.set_bits(box + 2, x0);
    }
    if (row % 7 == 0) data.set_bits(box + 3, y0);
  }
}

/// Of rows of e elements whose boxes are (middle x, y, width, height), makes every fifth width
/// negative and every seventh height 0.
inline void negate_sizes(HostTensor& data, int e, int coord_start) {
  for (std::int64_t row = 0; row < data.size() / e; ++row) {
    const std::int64_t box = row * e + coord_start;
    if (row % 5 == 0) data.set(box + 2, -data.get(box + 2));
    if (row % 7 == 0) data.set(box + 3, 0);
  }
}

/// Of rows of e elements, turns boxes over or, where they are (middle x, y, width, height), negates
/// sizes, and then makes elements special. No coordinate is an f32 denormal: where two boxes meet
/// in so little, a device that is not held to denormals may find an overlap or none.
inline void make_special_boxes(HostTensor& data, Random& random, int e, int coord_start,
                               bool centered) {
  (centered ? negate_sizes : turn_boxes)(data, e, coord_start);
  make_special(data, random);
  if (data.dtype() == Dtype::f16) return;
  for (std::int64_t i = 0; i < data.size(); ++i) {
    const std::int64_t element = i % e - coord_start;
    const bool is_coordinate = element >= 0 && element < 4;
    if (is_coordinate && std::fabs(data.get(i)) < kSmallest) data.set(i, 0);
  }
}

}  // namespace box_sets

/// The data sets of an op: rows_of() says where rows go, and make_special() puts bits among a
/// detector's boxes that a careless comparison or copy gets wrong.
inline std::vector<DataSet> suppression_data_sets(box_sets::Rows (*rows_of)(const Problem&,
                                                                            Tensors&),
                                                  void (*make_special)(const Problem&, Random&,
                                                                       Tensors&)) {
  using namespace box_sets;
  struct Named {
    const char *name, *about;
    Rule rule;
  };
  const auto a_share = [](int item, int n) {
    return std::min(static_cast<int>(0.3 * (1 + item % 3) * n) + 1, 2000 + 37 * item);
  };
  const auto most = [](int item, int n) { return n - n / 10 * (1 + item % 3); };
  const auto thirds = [](int item, int n) { return n - item % 3 * (n / 3); };
  const Named named[] = {
      {"boxes",
       "a detector's boxes, as get_valid_counts leaves them",
       {a_share, detected, kMinusOne}},
      {"none", "no row is valid; those past the count must not be read", {at_most<0>, detected}},
      {"one", "one row is valid", {at_most<1>, detected}},
      {"few", "400 rows are valid", {at_most<400>, detected}},
      {"every", "every row is valid", kEvery},
      {"ties", "five scores for all rows, 0 and -0 among them", {most, tied}},
      {"equal", "one score for all rows: the order is that of rows", {all, equal}},
      {"boundary", "overlaps of exactly 1/2, 1/4 and 1/7", {all, on_boundary}},
      {"large", "boxes whose areas overflow half", {thirds, large}},
  };
  std::vector<DataSet> sets;
  for (const Named& each : named) {
    sets.push_back({each.name, Check::exact, each.about,
                    [=, rule = each.rule](const Problem& p, std::uint64_t seed, Tensors& inputs) {
                      fill(rows_of(p, inputs), seed, rule);
                    }});
  }
  sets.push_back({"special", Check::exact,
                  "NaN, infinities, -0, denormals, boxes turned over and flat, counts out of range",
                  [=](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
                    fill(rows_of(problem, inputs), seed, kEvery);
                    Random random(seed);
                    make_special(problem, random, inputs);
                  }});
  return sets;
}

}  // namespace clam
