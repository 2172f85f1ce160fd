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

/// The first valid(item) rows of each item are make(random, item, row), the others `rest`.
template <typename Valid, typename Make>
void fill(const Rows& rows, std::uint64_t seed, const Valid& valid, const Make& make,
          const Row& rest = kDecoy) {
  Random random(seed);
  for (int item = 0; item < rows.items; ++item) {
    const int count = std::clamp<int>(valid(item), 0, rows.n);
    if (rows.count) rows.count(item, count);
    for (int row = 0; row < rows.n; ++row) {
      rows.put(item, row, row < count ? make(random, item, row) : rows.count ? rest : kMinusOne);
    }
  }
}

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

  Row operator()(Random& random, int, int) const {
    const auto& [x, y, w, h, id] =
        objects_[static_cast<std::size_t>(random.bits() % objects_.size())];
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

/// As get_valid_counts leaves them: a share of the rows, up to some 2000, then -1.
inline void boxes(const Rows& rows, std::uint64_t seed) {
  fill(
      rows, seed,
      [&](int item) {
        return std::min(static_cast<int>(0.3 * (1 + item % 3) * rows.n) + 1, 2000 + 37 * item);
      },
      Detector(seed), kMinusOne);
}

/// At most `count` valid rows.
inline void at_most(const Rows& rows, std::uint64_t seed, int count) {
  fill(
      rows, seed, [count](int) { return count; }, Detector(seed));
}

inline void every(const Rows& rows, std::uint64_t seed) { at_most(rows, seed, rows.n); }

/// A detector's boxes with scores of score(random).
template <typename Valid, typename Score>
void scored(const Rows& rows, std::uint64_t seed, const Valid& valid, const Score& score) {
  const Detector detector(seed);
  const auto make = [&](Random& random, int item, int row) {
    Row made = detector(random, item, row);
    made.score = score(random);
    return made;
  };
  fill(rows, seed, valid, make);
}

/// Five scores for all, of which two are 0.
inline void ties(const Rows& rows, std::uint64_t seed) {
  constexpr double kScores[] = {-0.0, 0.0, 0.25, 0.5, -0.5};
  scored(
      rows, seed, [&](int item) { return rows.n - rows.n / 10 * (1 + item % 3); },
      [&](Random& random) { return kScores[random.integer(0, 4)]; });
}

inline void equal(const Rows& rows, std::uint64_t seed) {
  scored(
      rows, seed, [&](int) { return rows.n; }, [](Random&) { return 0.75; });
}

/// Groups of four boxes with corners on a grid of halves, so that overlaps are ratios of small
/// integers (1/2, 1/4, 1/7 among them) without any rounding. The first two of a group are a pair
/// with one of these.
inline void boundary(const Rows& rows, std::uint64_t seed) {
  fill(
      rows, seed, [&](int) { return rows.n; },
      [](Random& random, int, int row) {
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
        return Row{static_cast<double>(group % 4),
                   random.uniform(),
                   {x + box[0], y + box[1], x + box[2], y + box[3]}};
      });
}

/// Boxes of a side of 300 to 500: their areas overflow half.
inline void large(const Rows& rows, std::uint64_t seed) {
  fill(
      rows, seed, [&](int item) { return rows.n - item % 3 * (rows.n / 3); },
      [](Random& random, int, int) {
        const double x = 200 * random.uniform(), y = 200 * random.uniform();
        return Row{static_cast<double>(random.integer(0, 19)),
                   0.01 + 0.99 * random.uniform(),
                   {x, y, x + 300 + 200 * random.uniform(), y + 300 + 200 * random.uniform()}};
      });
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
    data.set_bits(i, bits[static_cast<std::size_t>(random.bits() % bits.size())]);
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
  const auto set = [=](const char* name, const char* about, const auto& make) -> DataSet {
    return {name, Check::exact, about,
            [=](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
              make(rows_of(problem, inputs), seed);
            }};
  };
  const auto at_most = [](int count) {
    return [count](const Rows& rows, std::uint64_t seed) { box_sets::at_most(rows, seed, count); };
  };
  const auto special = [=](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
    every(rows_of(problem, inputs), seed);
    Random random(seed);
    make_special(problem, random, inputs);
  };
  return {
      set("boxes", "a detector's boxes, as get_valid_counts leaves them", boxes),
      set("none", "no row is valid; those past the count must not be read", at_most(0)),
      set("one", "one row is valid", at_most(1)),
      set("few", "400 rows are valid", at_most(400)),
      set("every", "every row is valid", every),
      set("ties", "five scores for all rows, 0 and -0 among them", ties),
      set("equal", "one score for all rows: the order is that of rows", equal),
      set("boundary", "overlaps of exactly 1/2, 1/4 and 1/7", boundary),
      set("large", "boxes whose areas overflow half", large),
      {"special", Check::exact,
       "NaN, infinities, -0, denormals, boxes turned over and flat, counts out of range", special},
  };
}

}  // namespace clam
