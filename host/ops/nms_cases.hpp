// SPDX-License-Identifier: MIT
// nms_cases.hpp - the problems, data and counts of nms, for tests and benches.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "../op.hpp"
#include "shared/random.hpp"

namespace clam {

Reference nms_reference(const Problem& problem, const Tensors& inputs,
                        const ReferenceOptions& options);

/// How many boxes are compared depends on the data: nothing can be said of a problem.
inline double nms_flops(const Problem&) { return 0; }

inline double nms_bytes(const Problem& problem) {
  double bytes = 0;
  for (const TensorSpec& spec : problem.op().tensors(problem)) {
    bytes += static_cast<double>(spec.bytes());
  }
  return bytes;
}

namespace nms_data {

using Box = std::array<double, 4>;

struct Row {
  double id, score;
  Box box;
};

/// Fills row `row` of batch item `item`; elements without a meaning get their number.
inline void put(const Problem& p, HostTensor& data, int item, int row, const Row& values) {
  const int e = p.integer("e"), coord = p.integer("coord_start");
  const std::int64_t first = (static_cast<std::int64_t>(item) * p.integer("n") + row) * e;
  for (int i = 0; i < e; ++i) data.set(first + i, i);
  for (int i = 0; i < 4; ++i) data.set(first + coord + i, values.box[static_cast<std::size_t>(i)]);
  data.set(first + p.integer("score_index"), values.score);
  if (p.integer("id_index") >= 0) data.set(first + p.integer("id_index"), values.id);
}

/// Rows past the count: the best of all, if a kernel took them.
inline Row decoy(Random&, int, int) { return {0, 60000, {-1000, -1000, 1000, 1000}}; }

/// The first valid(item) rows of each batch item are make(random, item, row), the others
/// rest(random, item, row). Indices are distinct and far from row numbers.
template <typename Valid, typename Make, typename Rest>
void fill(const Problem& p, std::uint64_t seed, Tensors& inputs, const Valid& valid,
          const Make& make, const Rest& rest) {
  Random random(seed);
  const int n = p.integer("n");
  for (int item = 0; item < p.integer("batch"); ++item) {
    const int count = std::clamp<int>(valid(item), 0, n);
    inputs.at("count").set(item, count);
    for (int row = 0; row < n; ++row) {
      const Row values = row < count ? make(random, item, row) : rest(random, item, row);
      put(p, inputs.at("data"), item, row, values);
      if (inputs.count("indices")) {
        inputs.at("indices").set(static_cast<std::int64_t>(item) * n + row,
                                 1000000 + 3 * row + item);
      }
    }
  }
}

/// What a detector finds: many boxes around few objects of 20 classes, some taken for another
/// class.
class Detector {
 public:
  explicit Detector(std::uint64_t seed, int objects = 40) : random_(seed ^ 0x5EED) {
    for (int i = 0; i < objects; ++i) {
      objects_.push_back({512 * random_.uniform(), 512 * random_.uniform(),
                          20 + 180 * random_.uniform(), 20 + 180 * random_.uniform(),
                          static_cast<double>(random_.integer(0, 19))});
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
  Random random_;
  std::vector<Object> objects_;
};

inline Row minus_one(Random&, int, int) { return {-1, -1, {-1, -1, -1, -1}}; }

/// As get_valid_counts leaves them: a share of the rows, up to some 2000, then -1.
inline void boxes(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  const int n = p.integer("n");
  fill(
      p, seed, inputs,
      [n](int item) {
        return std::min(static_cast<int>(0.3 * (1 + item % 3) * n) + 1, 2000 + 37 * item);
      },
      Detector(seed), minus_one);
}

/// At most `count` valid rows.
inline void at_most(const Problem& p, std::uint64_t seed, Tensors& inputs, int count) {
  fill(
      p, seed, inputs, [count](int) { return count; }, Detector(seed), decoy);
}

inline void none(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  at_most(p, seed, inputs, 0);
}
inline void one(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  at_most(p, seed, inputs, 1);
}
inline void few(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  at_most(p, seed, inputs, 400);
}
inline void every(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  at_most(p, seed, inputs, p.integer("n"));
}

/// Five scores for all, of which two are 0.
inline void ties(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  const int n = p.integer("n");
  const Detector detector(seed);
  fill(
      p, seed, inputs, [n](int item) { return n - n / 10 * (1 + item % 3); },
      [&](Random& random, int item, int row) {
        constexpr double kScores[] = {-0.0, 0.0, 0.25, 0.5, -0.5};
        Row made = detector(random, item, row);
        made.score = kScores[random.integer(0, 4)];
        return made;
      },
      decoy);
}

inline void equal(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  const int n = p.integer("n");
  const Detector detector(seed);
  fill(
      p, seed, inputs, [n](int) { return n; },
      [&](Random& random, int item, int row) {
        Row made = detector(random, item, row);
        made.score = 0.75;
        return made;
      },
      decoy);
}

/// Groups of four boxes with corners on a grid of halves, so that overlaps are ratios of small
/// integers (1/2, 1/4, 1/7 among them) without any rounding. The first two of a group are a pair
/// with one of these.
inline void boundary(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  const int n = p.integer("n");
  fill(
      p, seed, inputs, [n](int) { return n; },
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
      },
      decoy);
}

/// Boxes of a side of 300 to 500: their areas overflow half.
inline void large(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  const int n = p.integer("n");
  fill(
      p, seed, inputs, [n](int item) { return n - item % 3 * (n / 3); },
      [](Random& random, int, int) {
        const double x = 200 * random.uniform(), y = 200 * random.uniform();
        return Row{static_cast<double>(random.integer(0, 19)),
                   0.01 + 0.99 * random.uniform(),
                   {x, y, x + 300 + 200 * random.uniform(), y + 300 + 200 * random.uniform()}};
      },
      decoy);
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

/// Detections with one element in four replaced by a special one, every fifth box turned over and
/// every seventh flat; counts outside of 0 to n.
inline void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  every(p, seed, inputs);
  Random random(seed);
  HostTensor& data = inputs.at("data");
  const int n = p.integer("n"), e = p.integer("e"), coord = p.integer("coord_start");
  for (std::int64_t row = 0; row < data.size() / e; ++row) {
    const std::int64_t box = row * e + coord;
    const std::uint32_t x0 = data.bits(box), y0 = data.bits(box + 1);
    if (row % 5 == 0) {
      data.set_bits(box, data.bits(box + 2));
      data.set_bits(box + 2, x0);
    }
    if (row % 7 == 0) data.set_bits(box + 3, y0);
  }
  const std::vector<std::uint32_t> bits = special_bits(p.dtype());
  for (std::int64_t i = 0; i < data.size(); ++i) {
    if (random.integer(0, 11) != 0) continue;
    data.set_bits(i, bits[static_cast<std::size_t>(random.bits() % bits.size())]);
  }
  constexpr int kFar = 2147483647;
  const int counts[] = {n < kFar - 1000 ? n + 1000 : kFar, -5, n, kFar, -kFar};
  for (int item = 0; item < p.integer("batch"); ++item) {
    inputs.at("count").set(item, counts[item % 5]);
  }
}

}  // namespace nms_data

/// All are compared bit for bit.
inline std::vector<DataSet> nms_data_sets() {
  namespace data = nms_data;
  return {
      {"boxes", Check::exact, "a detector's boxes, as get_valid_counts leaves them", data::boxes},
      {"none", Check::exact, "no row is valid; those past the count must not be read", data::none},
      {"one", Check::exact, "one row is valid", data::one},
      {"few", Check::exact, "400 rows are valid", data::few},
      {"every", Check::exact, "every row is valid", data::every},
      {"ties", Check::exact, "five scores for all rows, 0 and -0 among them", data::ties},
      {"equal", Check::exact, "one score for all rows: the order is that of rows", data::equal},
      {"boundary", Check::exact, "overlaps of exactly 1/2, 1/4 and 1/7", data::boundary},
      {"large", Check::exact, "boxes whose areas overflow half", data::large},
      {"special", Check::exact,
       "NaN, infinities, -0, denormals, boxes turned over and flat, counts out of range",
       data::special},
  };
}

/// One below, at and above every boundary: a word of 32 candidates, the 256 candidates of the
/// single group, the 1024 rows that are sorted together, the 4096 candidates of one mask.
inline std::vector<std::string> nms_cases() {
  const auto with = [](const std::string& words) { return "nms " + words; };
  std::vector<std::string> cases = {with("n=122640 iou_threshold=0.45 top_k=400"),
                                    with("n=122640 top_k=1 return_indices"),
                                    with("batch=3 n=1500 top_k=40 score_min=-1"),
                                    with("batch=5 n=300 score_min=-1 return_indices"),
                                    with("batch=2 n=700 invalid_to_bottom score_min=-inf"),
                                    with("n=1000 iou_threshold=0.25"),
                                    with("n=1000 iou_threshold=0.25 compare=gt"),
                                    with("n=1000 iou_threshold=0.14285715"),
                                    with("n=700 compare=gt"),
                                    with("n=700 iou_threshold=0 score_min=-1"),
                                    with("n=700 iou_threshold=0 compare=gt"),
                                    with("n=700 iou_threshold=-1 compare=gt force_suppress=1"),
                                    with("n=700 iou_threshold=1"),
                                    with("n=700 force_suppress=1"),
                                    with("n=700 max_output_size=1"),
                                    with("n=700 max_output_size=33 return_indices"),
                                    with("n=700 max_output_size=33 invalid_to_bottom"),
                                    with("n=700 score_min=0.3"),
                                    with("n=700 score_min=inf"),
                                    with("n=517 e=5 score_index=0 id_index=-1 coord_start=1"),
                                    with("n=517 e=7 id_index=6 score_index=0 coord_start=1"),
                                    with("n=517 e=8 coord_start=4"),
                                    with("n=517 id_index=-1 return_indices"),
                                    with("n=4095"),
                                    with("n=4097"),
                                    with("n=1 e=5 id_index=-1 score_index=4 coord_start=0")};
  for (const int n : {1, 2, 3, 5, 31, 32, 33, 63, 65, 255, 256, 257, 1023, 1024, 1025, 2049}) {
    cases.push_back(with("n=" + std::to_string(n)));
  }
  for (const int top : {1, 32, 33, 256, 257}) {
    cases.push_back(with("n=1024 top_k=" + std::to_string(top)));
  }
  return cases;
}

inline std::vector<std::string> nms_small_cases() {
  return {"nms n=200 iou_threshold=1", "nms n=1",
          "nms batch=2 n=65 return_indices max_output_size=20",
          "nms n=129 e=5 id_index=-1 score_index=0 coord_start=1 invalid_to_bottom",
          "nms n=1025 top_k=40"};
}

}  // namespace clam
