// SPDX-License-Identifier: MIT
// yolo_decode_proof.cpp - yolo_decode in double, and how far from it a device may be.
//
// Let u = 2^-24. Scores are compared as they are stored, so the class is exact, and so is its score
// in columns. In rows the score is one product: u of it. A corner is one multiply-add, as half a
// width is exact: u of it. Both are rounded once more where they are stored as halves.
//
// A device that takes denormals for 0 may do so to each operand and result. Scores that are that
// small are then equally large, and the class may be that of any.
#include "shared/decode_box.hpp"

namespace clam::yolo_decode {
namespace {

bool is_rows(const Problem& problem) { return problem.choice("form") == "v5"; }

/// Where the numbers of a box lie in src.
class Boxes {
 public:
  explicit Boxes(const Problem& p)
      : n_(p.integer("n")),
        numbers_(p.integer("classes") + (is_rows(p) ? 5 : 4)),
        rows_(is_rows(p)) {}

  /// Number k of a box, counted over all images.
  std::int64_t at(std::int64_t box, std::int64_t k) const {
    return rows_ ? box * numbers_ + k : (box / n_ * numbers_ + k) * n_ + box % n_;
  }
  std::int64_t numbers() const { return numbers_; }
  std::int64_t first_score() const { return rows_ ? 5 : 4; }
  /// Calls visit(box, k, place) for each number of src.
  template <typename Visit>
  void for_each(const HostTensor& src, const Visit& visit) const {
    for (std::int64_t box = 0; box < src.size() / numbers_; ++box) {
      for (std::int64_t k = 0; k < numbers_; ++k) visit(box, k, at(box, k));
    }
  }

 private:
  std::int64_t n_, numbers_;
  bool rows_;
};

/// `exact`: the number is one of those that are stored. `tiny`: what is lost among denormals.
Bounded rounded(double value, bool exact, double tiny, Dtype dtype) {
  const double error = exact ? 0 : kFloat * std::fabs(value);
  const Bounded in_floats{in_float(value), std::isfinite(in_float(value)) ? error + tiny : 0};
  return exact ? in_floats : stored(in_floats, dtype);
}

/// The class of the largest score, the lowest first; then those that count the same where
/// denormals count as 0. Empty: the box has none.
std::vector<double> classes_of(const std::vector<double>& scores, double object, bool denormals) {
  if (!std::isfinite(object)) return {};
  std::size_t best = 0;
  for (std::size_t c = 0; c < scores.size(); ++c) {
    if (!std::isfinite(scores[c])) return {};
    if (scores[c] > scores[best]) best = c;
  }
  std::vector<double> classes{static_cast<double>(best)};
  const auto vanishes = [&](double score) { return !denormals && std::fabs(score) < kSmallest; };
  for (std::size_t c = 0; c < scores.size(); ++c) {
    if (c != best && vanishes(scores[best]) && vanishes(scores[c])) classes.push_back(c);
  }
  return classes;
}

void set_box(Expected& data, std::int64_t at, const std::vector<double>& box, bool denormals,
             Dtype dtype) {
  const double tiny = denormals ? 0x1p-149 : 3 * kSmallest;
  for (std::size_t side = 0; side < 4; ++side) {
    const double corner = box[side % 2] + (side < 2 ? -0.5 : 0.5) * box[2 + side % 2];
    data.set(at++, rounded(corner, false, tiny, dtype));
  }
}

Reference reference(const Problem& p, const Tensors& inputs, const ReferenceOptions& options) {
  const Boxes boxes(p);
  const HostTensor& src = inputs.at("src");
  const std::int64_t count = std::int64_t{p.integer("batch")} * p.integer("n");
  const bool rows = is_rows(p), denormals = options.denormals || p.dtype() == Dtype::f16;
  Expected data = Expected::of_size(count * 6);
  data.also.resize(data.value.size());
  parallel_for(count, [&](std::int64_t box) {
    std::vector<double> numbers;
    for (std::int64_t k = 0; k < boxes.numbers(); ++k) numbers.push_back(src.get(boxes.at(box, k)));
    const std::vector<double> scores(numbers.begin() + boxes.first_score(), numbers.end());
    const double object = rows ? numbers[4] : 1;
    std::vector<double> classes = classes_of(scores, object, denormals);
    if (classes.empty()) {
      data.set(box * 6, {-1, 0});
      data.set(box * 6 + 1, {0, 0});
    } else {
      const double best = scores[classes.front()];
      const double lost = std::fabs(object) + (rows ? std::fabs(best) + 1 : 0);
      const double tiny = denormals ? (rows ? 0x1p-149 : 0) : kSmallest * lost;
      data.set(box * 6, {classes.front(), 0});
      data.set(box * 6 + 1, rounded(object * best, !rows, tiny, p.dtype()));
      classes.erase(classes.begin());
      data.also[box * 6] = std::move(classes);
    }
    set_box(data, box * 6 + 2, numbers, denormals, p.dtype());
  });
  return {{"data", std::move(data)}};
}

// ---- data sets and cases ----

/// Boxes of an image of 640 pixels; score(random, box, class, classes) is a score, and so is
/// objectness, whose class is -1.
template <typename Score>
DataSet::Fill fill(const Score& score) {
  return [score](const Problem& p, std::uint64_t seed, Tensors& inputs) {
    Random random(seed);
    const Boxes boxes(p);
    HostTensor& src = inputs.at("src");
    const std::int64_t classes = p.integer("classes");
    boxes.for_each(src, [&](std::int64_t box, std::int64_t k, std::int64_t at) {
      src.set(at, k < 2   ? 640 * random.uniform()
                  : k < 4 ? 4 + 300 * random.uniform()
                          : score(random, box, k - boxes.first_score(), classes));
    });
  };
}

/// Most boxes have small scores, one in ten a class.
double detector(Random& random, std::int64_t box, std::int64_t c, std::int64_t classes) {
  const bool found = box % 10 == 3;
  if (c < 0) return found ? 1 - random.uniform() / 8 : random.uniform() / 64;
  return found && c == box * 7919 % classes ? 1 - random.uniform() / 4 : random.uniform() / 32;
}

/// Scores are quarters, so that some of a box are equal.
double ties(Random& random, std::int64_t, std::int64_t, std::int64_t) {
  return 0.25 * random.integer(1, 4);
}

constexpr double kSpecial[] = {kNan, kInfinity, -kInfinity};

/// Of eight boxes one has a NaN among its scores, one +inf, one -inf, one a bad objectness; one has
/// a corner or a size that is no number, one the largest.
double special_score(Random& random, std::int64_t box, std::int64_t c, std::int64_t classes) {
  const double x = random.normal();
  const std::int64_t kind = box % 8;
  if (kind == 4 && c < 0) return kSpecial[box / 8 % 3];
  return kind < 1 || kind > 3 || c != box * 31 % classes ? x : kSpecial[kind - 1];
}

void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  fill(special_score)(p, seed, inputs);
  HostTensor& src = inputs.at("src");
  const double most = p.dtype() == Dtype::f16 ? 65504 : 3e38;
  Boxes(p).for_each(src, [&](std::int64_t box, std::int64_t k, std::int64_t at) {
    if (k >= 4) return;
    if (box % 8 == 5 && k == box / 8 % 4) src.set(at, kSpecial[box / 32 % 3]);
    if (box % 8 == 6) src.set(at, (box / 8 + k) % 2 == 0 ? most : -most);
  });
}

}  // namespace

OpProof proof() {
  return {"yolo_decode",
          {{"detector", Check::hard, "most boxes have small scores", fill(detector)},
           {"zero_mean", Check::hard, "scores of N(0,1), half of them negative", fill(normal)},
           {"ties", Check::hard, "several scores of a box are the largest", fill(ties)},
           {"special", Check::hard, "NaN and infinities in scores and boxes; corners overflow",
            special}},
          reference,
          // Around the vectors and groups of columns, and the 4 items and 1 to 64 boxes of rows.
          {"classes=80 n=8400", "classes=80 n=2500 form=v5", "batch=3 classes=80 n=131",
           "batch=3 classes=80 n=131 form=v5", "classes=1 n={1,2,3,4,5,63,64,65,255,256,257,260}",
           "classes={1,2,3,4,5,6,8,9} n=33 form=v5", "classes={2,3,5,80} n=1100",
           "batch=2 classes=5 n={1,2,15,16,17,63,64,65} form=v5", "batch=2 classes=7 n={36,4096}",
           "classes=2049 n={5,8}", "classes=2049 n=5 form=v5"},
          {"classes=1 n=1", "batch=2 classes=3 n=4", "batch=2 classes=3 n=5", "classes=6 n=8",
           "classes=1 n=1 form=v5", "batch=2 classes=6 n=17 form=v5"}};
}

}  // namespace clam::yolo_decode
