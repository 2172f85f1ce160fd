// SPDX-License-Identifier: MIT
// match_assignment_proof.cpp - match_assignment in double, and how far from it a device may be.
//
// Of a line (a row or a column of sim) let M be the maximum, d = M - x, D the mean of d weighted by
// exp(-d), L the logarithm of the sum of exp(-d), u = 2^-24; an ulp is up to 2 u. In float are off
//   d                   u * d
//   the sum             relative to it, 2.25 u * D from the arguments of its exponentials, also
//   where
//                       it is brought down to a higher maximum (u each from difference and product,
//                       0.23 u from the constant), 6 u of an exponential (3 ulp), 7 u for each time
//                       that it is brought down, and u for each addition of a vector or of lanes
//   L                   that, and 6 u * L (3 ulp)
//   log(sigmoid(z))     10 u (exp, the sum with 1 and log, each of at most 1) and u of itself
// and each difference and sum of a score by u of itself. The score's error is E, all of these.
//
// Which score is the largest of a line turns on that: an index is right where its score is within
// both errors of the largest. Only data whose ties are exact (Check::exact) have one right index.
#include "shared/decode_box.hpp"
#include "shared/softmax_sums.hpp"

namespace clam::match_assignment {
namespace {

/// What a row or column adds to the scores of its elements.
struct Line {
  double m;            ///< NaN where it is not finite, and so are all scores then
  Bounded rest{0, 0};  ///< L - log(sigmoid(z))

  Line(const std::vector<double>& x, double z) {
    const SoftmaxSums sums(x);
    m = std::isfinite(sums.m) ? sums.m : kNan;
    const double log_sum = std::log(sums.sum);
    const double log_sigmoid = std::fmin(z, 0) - std::log1p(std::exp(-std::fabs(z)));
    rest.value = std::isnan(z) ? kNan : log_sum - log_sigmoid;
    rest.error = kFloat * (sum_error(x.size(), sums.mean_difference) + 6 * log_sum + 10 +
                           std::fabs(log_sigmoid) + std::fabs(rest.value));
  }

 private:
  /// Relative, in units of u; of the fewest lanes, which add the most.
  static double sum_error(std::size_t length, double mean) {
    constexpr double kLanes = 4, kVector = 4, kAdded = 24;
    const double trips = std::ceil(length / (kLanes * kVector));
    return 2.25 * mean + 6 + 7 * (trips + 1) + kAdded;
  }
};

Bounded score(double sim, const Line& row, const Line& column) {
  if (std::isnan(row.m) || std::isnan(column.m)) return {kNan, 0};
  const double of_row = sim - row.m, of_column = sim - column.m;
  const double value = of_row - row.rest.value + (of_column - column.rest.value);
  if (!std::isfinite(value)) return {value, 0};
  const double rounded = std::fabs(of_row) + std::fabs(of_row - row.rest.value) +
                         std::fabs(of_column) + std::fabs(of_column - column.rest.value) +
                         std::fabs(value);
  return {value, row.rest.error + column.rest.error + kFloat * rounded};
}

/// exp of a score.
Bounded exponential(Bounded score, bool denormals) {
  const double value = std::exp(score.value);
  const double relative = std::expm1(score.error) + 7 * kFloat;
  return {value, value * relative + (denormals ? 0x1p-148 : 0x1p-126)};
}

/// The rows or the columns of sim: how many, how long, and from a line and an element to the next.
struct Lines {
  std::int64_t count, length, line_step, step;

  std::size_t at(std::int64_t line, std::int64_t i) const { return line * line_step + i * step; }
};
using Indices = std::vector<std::int64_t>;

/// The elements that may be the largest of each line, the reference's own first; with `exact` that
/// one alone.
std::vector<Indices> best(const Lines& lines, const std::vector<Bounded>& scores, bool exact) {
  std::vector<Indices> all(lines.count);
  for (std::int64_t line = 0; line < lines.count; ++line) {
    const auto of = [&](std::int64_t i) { return scores[lines.at(line, i)]; };
    std::int64_t own = -1;
    double sure = -HUGE_VAL;  // the largest score is no less
    for (std::int64_t i = 0; i < lines.length; ++i) {
      if (!std::isfinite(of(i).value)) continue;
      if (own < 0 || of(i).value > of(own).value) own = i;
      sure = std::fmax(sure, of(i).value - of(i).error);
    }
    if (own < 0) continue;
    Indices& found = all[line];
    found.push_back(own);
    for (std::int64_t i = 0; i < lines.length && !exact; ++i) {
      const bool may = std::isfinite(of(i).value) && of(i).value + of(i).error >= sure;
      if (may && i != own) found.push_back(i);
    }
  }
  return all;
}

/// What may be right for a row or column: matches and their scores.
struct Sides {
  Expected match, score;
  explicit Sides(std::int64_t lines) : match(Expected::of_size(lines)) {
    match.also.resize(match.value.size());
    score = match;
  }
};

/// A line whose largest may be any of `best`, each of which may be mutual with the lines of
/// `theirs`. `score_of(other)` is exp of the score shared with it.
template <typename ScoreOf>
void judge_line(std::int64_t line, const Indices& best, const std::vector<Indices>& theirs,
                double threshold, Dtype dtype, const ScoreOf& score_of, Sides& sides) {
  std::vector<double> matches, scores;
  for (const std::int64_t other : best) {
    const Indices& back = theirs[other];
    const bool may = std::find(back.begin(), back.end(), line) != back.end();
    const bool first = may && back.front() == line;
    const auto none = [&] { matches.push_back(-1), scores.push_back(0); };
    if (!first) none();
    if (may) {
      const Bounded exact = score_of(other), out = stored(exact, dtype);
      const bool over = exact.value > threshold;
      const bool either = std::fabs(exact.value - threshold) <= exact.error;
      matches.push_back(over ? static_cast<double>(other) : -1);
      if (either) matches.push_back(over ? -1 : static_cast<double>(other));
      scores.push_back(out.value);
      sides.score.bound[line] = std::fmax(sides.score.bound[line], out.error);
    }
    if (first && back.size() > 1) none();
  }
  if (best.empty()) matches.push_back(-1), scores.push_back(0);
  sides.match.value[line] = matches.front();
  sides.match.also[line].assign(matches.begin() + 1, matches.end());
  sides.score.value[line] = scores.front();
  sides.score.also[line].assign(scores.begin() + 1, scores.end());
}

std::vector<Line> sums_of(const Lines& lines, const HostTensor& sim, const HostTensor& z) {
  std::vector<Line> sums;
  for (std::int64_t line = 0; line < lines.count; ++line) {
    std::vector<double> x;
    for (std::int64_t i = 0; i < lines.length; ++i) x.push_back(sim.get(lines.at(line, i)));
    sums.emplace_back(x, z.get(line));
  }
  return sums;
}

Reference reference(const Problem& p, const Tensors& inputs, const ReferenceOptions& options) {
  const std::int64_t m = p.integer("m"), n = p.integer("n");
  const double threshold = p.number("threshold");
  const HostTensor& sim = inputs.at("sim");
  const Lines rows{m, n, n, 1}, columns{n, m, 1, n};
  const std::vector<Line> of_row = sums_of(rows, sim, inputs.at("z0")),
                          of_column = sums_of(columns, sim, inputs.at("z1"));
  std::vector<Bounded> scores;
  Expected stored_scores = Expected::of_size(m * n);
  for (std::int64_t at = 0; at < m * n; ++at) {
    scores.push_back(score(sim.get(at), of_row[at / n], of_column[at % n]));
    stored_scores.set(at, stored(scores.back(), p.dtype()));
  }
  const bool exact = options.check == Check::exact;
  const std::vector<Indices> best_columns = best(rows, scores, exact),
                             best_rows = best(columns, scores, exact);
  const auto judged = [&](const Lines& lines, const std::vector<Indices>& best,
                          const std::vector<Indices>& theirs) {
    Sides sides(lines.count);
    for (std::int64_t line = 0; line < lines.count; ++line) {
      const auto shared = [&](std::int64_t other) {
        return exponential(scores[lines.at(line, other)], options.denormals);
      };
      judge_line(line, best[line], theirs, threshold, p.dtype(), shared, sides);
    }
    return sides;
  };
  Sides of_rows = judged(rows, best_columns, best_rows),
        of_columns = judged(columns, best_rows, best_columns);
  return {{"scores", std::move(stored_scores)},
          {"m0", std::move(of_rows.match)},
          {"m1", std::move(of_columns.match)},
          {"s0", std::move(of_rows.score)},
          {"s1", std::move(of_columns.score)}};
}

// ---- data sets and cases ----

/// sim[i][j] is element(random, i, j), a certainty z(random, its number).
template <typename Element, typename Certainty>
void fill(std::uint64_t seed, Tensors& inputs, const Element& element, const Certainty& z) {
  Random random(seed);
  fill_rows(inputs.at("sim"), random, element);
  for (const char* name : {"z0", "z1"}) fill_tensor(inputs.at(name), random, z);
}

/// Three rows of four have a column that stands out, each its own; the last row and the last column
/// are among them. Certainties differ, so that matches end on both sides of the threshold.
void matched(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  constexpr double kPeak = 12, kCertain = 2;
  const std::int64_t m = problem.integer("m"), n = problem.integer("n");
  fill(
      seed, inputs,
      [=](Random& random, std::int64_t i, std::int64_t j) {
        const bool peak = m - 1 - i == n - 1 - j && (m - i) % 4 != 0;
        return random.normal() + (peak ? kPeak : 0);
      },
      [=](Random& random, const auto&...) { return kCertain * random.normal() + 1; });
}

/// As zero_mean, around 1000.
void spread(const Problem&, std::uint64_t seed, Tensors& inputs) {
  constexpr double kMiddle = 1000, kDeviation = 3;
  fill(
      seed, inputs,
      [=](Random& random, const auto&...) { return kMiddle + kDeviation * random.normal(); },
      normal);
}

/// Rows 2i and 2i + 1 are equal, and so are columns, bit for bit: the lower is the match. Of the
/// pairs that stand out in a row, those of lower indices do so by more, whatever rounding does.
void ties(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  constexpr double kPeak = 8, kLess = 0.5, kCertain = 2;
  const std::int64_t pairs = (std::min(problem.integer("m"), problem.integer("n")) + 1) / 2;
  fill(
      seed, inputs,
      [=](Random&, std::int64_t i, std::int64_t j) {
        const std::int64_t row = i / 2, column = j / 2;
        if (row % pairs != column % pairs) return 0.0;
        return kPeak - kLess * (row / pairs + column / pairs);
      },
      [=](const auto&...) { return kCertain; });
}

/// Rows and columns repeat after 16, the most lanes of a line: equal ones are a lane's own, one
/// after the other.
void echoes(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  constexpr double kPeak = 8, kCertain = 2;
  const std::int64_t period =
      std::min<std::int64_t>({problem.integer("m"), problem.integer("n"), 16});
  fill(
      seed, inputs,
      [=](Random&, std::int64_t i, std::int64_t j) {
        return i % period == j % period ? kPeak : 0.0;
      },
      [=](const auto&...) { return kCertain; });
}

}  // namespace

OpProof proof() {
  return {
      "match_assignment",
      {{"zero_mean", Check::hard, "sim of N(0,1): few stand out, nearly all are under 0.1",
        filled(normal)},
       {"matched", Check::hard, "most rows have a match, on both sides of the threshold", matched},
       {"spread", Check::hard, "sim around 1000: an error that grows with the maximum shows",
        spread},
       {"ties", Check::exact, "rows and columns in equal pairs: the lower index is right alone",
        ties},
       {"echoes", Check::exact, "rows and columns repeat after 16: the first is right alone",
        echoes}},
      reference,
      // Groups have 4 to 16 items along either extent, and lanes take four elements at a time.
      {
          // Around lanes and groups.
          "m=1 n={1,7}",
          "m=7 n=1",
          "m=3 n=4",
          "m=15 n=16",
          "m=17 n=15",
          "m=16 n=17",
          "m=33 n=63",
          "m=64 n=65",
          "m=257 n=31",
          "m=5 n=513",
          // What models run.
          "m={192,187} n=192",
          "m=512 n=512",
          // The threshold.
          "m=20 n=30 threshold={0,0.7}",
      },
      {"m=1 n=1", "m=9 n=20", "m=33 n=5"}};
}

}  // namespace clam::match_assignment
