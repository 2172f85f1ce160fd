// SPDX-License-Identifier: MIT
// First each batch item is looked through, and rows are noted under what they show; then each list
// that is not empty becomes a finding.
#include "diagnose.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

namespace clam {
namespace {

using Sure = Finding::Sure;
using Rows = std::vector<std::int64_t>;

constexpr double kMostScore = 1.01;      ///< of a probability, rounded to half anywhere
constexpr double kMostOfOther = 2.5;     ///< what other tensors of a detector stay below
constexpr double kMostNormalised = 1.3;  ///< of coordinates 0..1 of a box past the image's edge
constexpr double kPixels = 16;           ///< coordinates that reach farther are in pixels
constexpr double kHalfEnd = 65504;       ///< the largest half
constexpr double kFarLarger = 8;         ///< a side, compared with all other boxes' sides
constexpr std::size_t kFewestToCompare = 8, kLargeShare = 20;  ///< at most one box in 20 is large
constexpr std::int64_t kFewestPairs = 32, kPairsAnAscent = 16;
constexpr std::int64_t kFewestAlike = 8;  ///< equal rows of a batch item: fewer are copies
constexpr int kFewestOfPart = 2;          ///< elements that say which row they are of
/// The last place between elements where a row is sought to be torn: boxes end before it. Each
/// place is another walk through all rows.
constexpr std::int64_t kMostOfHead = 32;

/// Rows as bits, widened to float, or rounded to half; a row's parts are keys.
class RowBits {
 public:
  RowBits(const BoxRows& rows, bool in_half) : e_(rows.e()) {
    bits_.reserve(rows.rows() * e_);
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      for (std::int64_t i = 0; i < e_; ++i) {
        const double value = rows.element(row, i);
        const auto stored = static_cast<float>(in_half ? round_to_half(value) : value);
        std::uint32_t bits;
        std::memcpy(&bits, &stored, sizeof bits);
        bits_.push_back(std::isnan(stored) ? 0x7FC00000 : bits);
      }
    }
  }

  std::string_view part(std::int64_t row, std::int64_t begin, std::int64_t end) const {
    const std::size_t at = row * e_ + begin;
    return {reinterpret_cast<const char*>(&bits_[at]), sizeof bits_[0] * (end - begin)};
  }
  std::string_view row(std::int64_t row) const { return part(row, 0, e_); }

 private:
  std::int64_t e_;
  std::vector<std::uint32_t> bits_;
};

/// A number by key: how often it is there, or where.
using Counts = std::unordered_map<std::string_view, std::int64_t>;

/// The rows of a batch item.
Rows rows_of(const BoxRows& boxes, std::int64_t item) {
  Rows rows(boxes.n());
  std::iota(rows.begin(), rows.end(), item * boxes.n());
  return rows;
}

struct Item {
  Rows valid;
  Rows behind;             ///< valid rows behind a filled one
  Rows ascending;          ///< valid rows with a higher score than the valid row before
  std::int64_t pairs = 0;  ///< neighbours whose scores were compared

  bool by_score() const { return ascending.empty(); }
  /// Too few are out of place for rows in an order that has nothing to do with scores.
  bool nearly_by_score() const {
    const std::int64_t ascents = ascending.size();
    return pairs >= kFewestPairs && ascents * kPairsAnAscent <= pairs;
  }
};

/// `skip`: rows that are not to be looked at, by number; may be empty.
Item look_through(const BoxRows& boxes, std::int64_t item, const std::vector<char>& skip) {
  Item found;
  bool filled = false, any = false;
  double last = 0;
  for (const std::int64_t row : rows_of(boxes, item)) {
    if (!boxes.is_valid(row)) {
      filled = filled || boxes.is_filled(row);
      continue;
    }
    found.valid.push_back(row);
    if (filled) found.behind.push_back(row);
    const double score = boxes.box(row).score;
    if (std::isnan(score) || (!skip.empty() && skip[row])) continue;
    if (any && score > last) found.ascending.push_back(row);
    found.pairs += any;
    any = true;
    last = score;
  }
  return found;
}

/// Whether coordinates are pixels, by the valid row in the middle.
bool in_pixels(const BoxRows& boxes) {
  std::vector<double> reaches;
  for (std::int64_t row = 0; row < boxes.rows(); ++row) {
    const Box box = boxes.box(row);
    if (boxes.is_valid(row) && box.is_finite()) reaches.push_back(box.reach());
  }
  if (reaches.empty()) return false;
  const auto middle = reaches.begin() + reaches.size() / 2;
  std::nth_element(reaches.begin(), middle, reaches.end());
  return *middle > kPixels;
}

/// The rows that show each fault, in order.
struct Signs {
  Rows half_end, not_finite, foreign, torn, turned, large, copies, behind, extra, ascending, moved,
      unlike;
  bool foreign_twice = false;              ///< a row shows in two ways that it is no box
  std::int64_t upright = 0;                ///< boxes that are not turned over
  std::int64_t lost = 0, first_lost = -1;  ///< rows of the good ones
};

class Examination {
 public:
  Examination(const BoxRows& boxes, const BoxRows* good, BoxOrigin origin)
      : boxes_(boxes),
        good_(good),
        origin_(origin),
        half_(boxes.dtype() == Dtype::f16 || (good && good->dtype() == Dtype::f16)),
        bits_(boxes, half_),
        in_pixels_(in_pixels(good ? *good : boxes)),
        explained_(boxes.rows()) {
    if (good) good_bits_.emplace(*good, half_);
  }

  /// Every valid row alike, where they cannot be.
  bool is_constant(const Rows& valid) const {
    if (valid.empty()) return false;
    const std::int64_t first = valid[0], e = boxes_.e();
    const bool alike = std::all_of(valid.begin(), valid.end(), [&](std::int64_t row) {
      return bits_.row(row) == bits_.row(first);
    });
    if (!alike) return false;
    for (std::int64_t item = 0; item < boxes_.batch(); ++item) {
      if (good_rows(item).count(bits_.row(first)) > 0) return false;
    }
    const bool one_value = bits_.part(first, 1, e) == bits_.part(first, 0, e - 1);
    return one_value || static_cast<std::int64_t>(valid.size()) >= boxes_.batch() * kFewestAlike;
  }

  const Signs& signs() {
    for (std::int64_t item = 0; item < boxes_.batch(); ++item) examine(item);
    find_large();
    return signs_;
  }

 private:
  void examine(std::int64_t item) {
    const Counts good = good_rows(item);
    Rows valid, strange;
    for (const std::int64_t row : rows_of(boxes_, item)) {
      if (boxes_.is_filled(row)) continue;
      if (boxes_.is_valid(row)) valid.push_back(row);
      if (good.count(bits_.row(row)) == 0) strange.push_back(row);
    }
    find_torn(item, strange);
    for (const std::int64_t row : strange) {
      if (!is_explained(row)) judge_row(row);
    }
    find_copies(valid, good);
    const Item wanted = good_ ? look_through(*good_, item, {}) : Item();
    judge_order(item, wanted, good);
    if (!good_) return;
    for (std::size_t i = wanted.valid.size(); i < valid.size(); ++i) {
      signs_.extra.push_back(valid[i]);
    }
    for (const std::int64_t row : strange) {
      if (!is_explained(row) && boxes_.is_valid(row)) note(signs_.unlike, row);
    }
    find_lost(item);
  }

  /// Those of this batch item, filled ones too.
  Counts good_rows(std::int64_t item) const {
    Counts counts;
    if (!good_) return counts;
    for (const std::int64_t row : rows_of(*good_, item)) ++counts[good_bits_->row(row)];
    return counts;
  }

  /// Rows whose first elements are those of one good row, and whose others are those of another.
  void find_torn(std::int64_t item, const Rows& candidates) {
    if (!good_ || candidates.empty()) return;
    const std::int64_t last = std::min(boxes_.e() - kFewestOfPart, kMostOfHead);
    for (std::int64_t cut = kFewestOfPart; cut <= last; ++cut) {
      Counts heads, tails;
      for (const std::int64_t row : rows_of(*good_, item)) {
        if (good_->is_filled(row)) continue;  // -1 begins and ends what some kernels leave of a row
        ++heads[good_bits_->part(row, 0, cut)];
        ++tails[good_bits_->part(row, cut, good_->e())];
      }
      for (const std::int64_t row : candidates) {
        if (!is_explained(row) && heads.count(bits_.part(row, 0, cut)) > 0 &&
            tails.count(bits_.part(row, cut, boxes_.e())) > 0) {
          note(signs_.torn, row);
        }
      }
    }
    std::sort(signs_.torn.begin(), signs_.torn.end());
  }

  /// What a row shows by itself.
  void judge_row(std::int64_t row) {
    bool finite = true, at_half_end = false;
    for (std::int64_t i = 0; i < boxes_.e(); ++i) {
      const double value = boxes_.element(row, i);
      at_half_end = at_half_end || std::fabs(value) == kHalfEnd ||
                    (boxes_.dtype() == Dtype::f16 && std::isinf(value));
      finite = finite && std::isfinite(value);
    }
    if (at_half_end) return note(signs_.half_end, row);
    if (!finite) return note(signs_.not_finite, row);
    if (!boxes_.is_valid(row)) return;
    const Box box = boxes_.box(row);
    const bool other_range =
        box.reach() <= kMostOfOther && (in_pixels_ || box.reach() > kMostNormalised);
    const int ways = (box.score > kMostScore) + (box.id != std::floor(box.id)) +
                     (other_range && (box.is_turned_over() || box.score > kMostScore));
    signs_.foreign_twice = signs_.foreign_twice || ways > 1;
    if (ways > 0) return note(signs_.foreign, row);
    if (good_) return;  // the shape of a box says less than that it is none of the good ones
    if (box.is_turned_over()) return note(signs_.turned, row);
    ++signs_.upright;
  }

  void find_copies(const Rows& valid, const Counts& good) {
    Counts seen;
    for (const std::int64_t row : valid) {
      if (is_explained(row)) continue;
      const auto allowed = good.find(bits_.row(row));
      if (++seen[bits_.row(row)] > (allowed == good.end() ? 1 : allowed->second)) {
        note(signs_.copies, row);
      }
    }
  }

  /// `wanted` and `good` are of the good rows.
  void judge_order(std::int64_t item, const Item& wanted, const Counts& good) {
    const Item found = look_through(boxes_, item, explained_);
    bool nms = origin_ == BoxOrigin::nms, counts = origin_ == BoxOrigin::get_valid_counts;
    if (origin_ == BoxOrigin::rows && good_) {
      nms = wanted.by_score() && wanted.pairs > 0;
      counts = wanted.behind.empty();
    } else if (origin_ == BoxOrigin::rows) {
      nms = found.nearly_by_score();
      counts = !nms && !found.by_score();
    }
    const auto append = [](Rows& list, const Rows& rows) {
      list.insert(list.end(), rows.begin(), rows.end());
    };
    if (nms) append(signs_.ascending, found.ascending);
    if (counts) append(signs_.behind, found.behind);
    if (good_ && !(nms && !found.by_score())) find_moved(item, found.valid, good);
  }

  /// Rows that stand behind one which they stand before among the good ones.
  void find_moved(std::int64_t item, const Rows& valid, const Counts& good) {
    Counts places;
    for (const std::int64_t row : rows_of(*good_, item)) places.emplace(good_bits_->row(row), row);
    std::int64_t last = -1;
    for (const std::int64_t row : valid) {
      const auto place = places.find(bits_.row(row));
      // Of rows that are there more than once, nobody can tell which one this is.
      if (is_explained(row) || place == places.end() || good.at(place->first) > 1) continue;
      if (place->second < last) signs_.moved.push_back(row);
      last = place->second;
    }
  }

  void find_lost(std::int64_t item) {
    Counts here;
    for (const std::int64_t row : rows_of(boxes_, item)) ++here[bits_.row(row)];
    for (const std::int64_t row : rows_of(*good_, item)) {
      if (!good_->is_valid(row) || here[good_bits_->row(row)]-- > 0) continue;
      if (signs_.lost++ == 0) signs_.first_lost = row;
    }
  }

  /// Boxes far larger than all others, when they are few: corners of two boxes span such a one.
  void find_large() {
    std::vector<std::pair<double, std::int64_t>> sides;
    for (std::int64_t row = 0; row < boxes_.rows(); ++row) {
      if (boxes_.is_valid(row) && !is_explained(row))
        sides.emplace_back(boxes_.box(row).side(), row);
    }
    if (good_ || sides.size() < kFewestToCompare) return;
    std::sort(sides.rbegin(), sides.rend());
    const std::size_t most = std::max<std::size_t>(1, sides.size() / kLargeShare);
    std::size_t large = 0;
    for (std::size_t i = 1; i <= most; ++i) {
      if (sides[i - 1].first > kFarLarger * sides[i].first) large = i;
    }
    for (std::size_t i = 0; i < large; ++i) signs_.large.push_back(sides[i].second);
    std::sort(signs_.large.begin(), signs_.large.end());
  }

  void note(Rows& list, std::int64_t row) {
    list.push_back(row);
    explained_[row] = 1;
  }
  bool is_explained(std::int64_t row) const { return explained_[row]; }

  const BoxRows& boxes_;
  const BoxRows* good_;
  BoxOrigin origin_;
  bool half_;
  RowBits bits_;
  std::optional<RowBits> good_bits_;
  bool in_pixels_;
  std::vector<char> explained_;  ///< by row: a list names it already
  Signs signs_;
};

// ---- from signs to findings ----

/// Writes findings. What it advises has the problems of the two ops on rows like these: of nms
/// where the rows are said to be its own, else of get_valid_counts.
class Report {
 public:
  Report(const BoxRows& boxes, BoxOrigin origin, Diagnosis& diagnosis)
      : of_nms_(origin == BoxOrigin::nms),
        of_counts_(origin == BoxOrigin::get_valid_counts),
        findings_(diagnosis.findings) {
    const BoxFormat& f = boxes.format();
    const auto word = [](const char* key, std::int64_t value, std::int64_t usual) {
      return value == usual ? std::string() : fmt::format(" {}={}", key, value);
    };
    const std::string extents = word("batch", boxes.batch(), 1) + word("n", boxes.n(), 0) +
                                word("e", boxes.e(), 6) + " dtype=" + name(boxes.dtype());
    const std::string row = word("score_index", f.score_index, 1) + word("id_index", f.id_index, 0);
    counts_ = "\"get_valid_counts" + extents + row + "\"";
    nms_ = "\"nms" + extents + " top_k=400" + word("coord_start", f.coord_start, 2) + row + "\"";
  }

  void constant(const Rows& valid) {
    findings_.push_back(
        {"constant", Sure::likely,
         valid.size() == 1 ? "the only valid row is one value again and again"
                           : fmt::format("all {} valid rows are the same", valid.size()),
         valid,
         "the kernel did not run, or wrote elsewhere: check the status of the launch, then " +
             probe()});
  }
  void values(const Signs& signs) {
    add("half_overflow", Sure::likely, signs.half_end, "hold", "holds",
        " 65504 or an infinity: half ends there, and something was computed in half that does not "
        "fit",
        "compute areas and exponents in float, as nms does here: " + probe(nms_) +
            ", and diagnose the rows before that step");
    add("not_finite", Sure::certain, signs.not_finite, "hold", "holds", " NaN or an infinity",
        "get_valid_counts and nms copy rows and make no such value: diagnose the rows that went "
        "in, and if those are fine, " +
            probe());
    const std::string logits = "; where scores are no probabilities, this says nothing";
    add("stale_rows", signs.foreign_twice ? Sure::likely : Sure::hint, signs.foreign,
        "look like rows", "looks like one",
        " of another tensor: a score over 1, a class that is no whole number, or corners in the "
        "wrong order within 0..2. Places that were not written still hold earlier data" +
            (signs.foreign_twice ? "" : logits),
        std::string("rows past the count are read") +
            (of_nms_ ? "" : ", or rows are lost by the scan") + ": " + rerun_and_probe());
  }
  void corners(const Signs& signs) {
    add("torn_rows", Sure::certain, signs.torn, "begin", "begins",
        std::string(" as one of the good rows and end") + (signs.torn.size() == 1 ? "s" : "") +
            " as another: two work-items wrote one place",
        two_writers());
    const std::int64_t turned = signs.turned.size();
    if (turned > signs.upright) {
      add("not_corners", Sure::hint, signs.turned, "are", "is",
          " turned over (x1 < x0 or y1 < y0), most of all: these may be centres and sizes, or "
          "another --coord-start",
          "turn them into corners x0, y0, x1, y1 before get_valid_counts and nms");
    } else {
      add("torn_rows", Sure::hint, signs.turned, "are", "is",
          " turned over (x1 < x0 or y1 < y0), as when corners are those of two boxes: two "
          "work-items wrote one place",
          two_writers());
    }
    add("large_boxes", Sure::hint, signs.large, "are", "is",
        fmt::format(" more than {} times as large as all others, as when corners are those of two "
                    "boxes",
                    kFarLarger),
        two_writers());
  }
  void places(const Signs& signs, bool with_good) {
    add("copies", with_good ? Sure::certain : Sure::likely, signs.copies, "are copies of rows",
        "is a copy of a row",
        " further up: two places were given to one row, or old rows were left standing",
        two_writers());
    add("too_many_rows", Sure::certain, signs.extra, "are", "is",
        " valid beyond the number of good ones",
        (of_nms_ ? "" : "compare `count` with the valid rows of the input: ") + rerun_and_probe());
    add("rows_behind_the_end", of_counts_ || with_good ? Sure::certain : Sure::hint, signs.behind,
        "are", "is", " valid behind rows of -1, which get_valid_counts puts behind all valid ones",
        "the scan of its counts is wrong: " + probe() +
            "; if these are rows of nms, say --format nms");
    add("not_by_score", of_nms_ || with_good ? Sure::certain : Sure::likely, signs.ascending,
        "have", "has", " a higher score than the row before: the sort is wrong",
        probe(nms_) + "; if these are rows of get_valid_counts, say --format get_valid_counts");
  }
  void differences(const Signs& signs) {
    add("out_of_order", Sure::certain, signs.moved, "stand", "stands",
        " behind a row that it comes before among the good ones: get_valid_counts keeps the order "
        "of its input, and nms that of equal scores",
        probe() + (of_nms_ ? "" : ", and `clam verify " + nms_ + " --variant all`"));
    add("unlike_good", Sure::hint, signs.unlike, "are", "is",
        " none of the good ones, bit for bit, for no known reason",
        "if both came from the same input, " + probe() +
            "; else make the good ones from this one's input, by `clam run` on a stand-in driver");
    if (signs.lost == 0) return;
    findings_.push_back(
        {"lost_rows",
         Sure::certain,
         fmt::format("{} of the good rows {} not here, the first is row {} of its file", signs.lost,
                     signs.lost == 1 ? "is" : "are", signs.first_lost),
         {},
         "another row took their places: " + rerun_and_probe()});
  }

 private:
  /// The sentence begins with how many rows there are, and the verb: "3 rows hold", "1 row holds".
  void add(const char* signature, Sure sure, const Rows& rows, const char* plural,
           const char* singular, const std::string& what, const std::string& next) {
    if (rows.empty()) return;
    const std::string begin = rows.size() == 1 ? fmt::format("1 row {}", singular)
                                               : fmt::format("{} rows {}", rows.size(), plural);
    findings_.push_back({signature, sure, begin + what, rows, next});
  }
  static std::string probe(const std::string& problem) {
    return "probe the driver with `clam verify " + problem + " --variant all`";
  }
  std::string probe() const { return probe(of_nms_ ? nms_ : counts_); }
  std::string rerun_and_probe() const {
    const std::string through =
        of_nms_ ? "nms through `clam run " + nms_ + " --in data=INPUT.npy --in count=COUNT.npy"
                : "get_valid_counts through `clam run " + counts_ + " --in data=INPUT.npy";
    return "run the rows that went into " + through + " --check`, and " + probe();
  }
  std::string two_writers() const {
    return std::string(of_nms_ ? "a sort" : "a scan") +
           " whose barrier does not order the memory it shares assigns one place to two rows: " +
           rerun_and_probe();
  }

  bool of_nms_, of_counts_;  ///< surely
  std::string counts_, nms_;
  std::vector<Finding>& findings_;
};

}  // namespace

BoxOrigin parse_box_origin(const std::string& word) {
  constexpr Words<3> kWords{"rows", "get_valid_counts", "nms"};
  if (const auto origin = find_word<BoxOrigin>(kWords, word)) return *origin;
  refuse("unknown format {}; clam knows rows, get_valid_counts and nms", in_quotes(word));
}

const char* name(Finding::Sure sure) {
  return word_of(Words<3>{"hint", "likely", "certain"}, sure);
}

Diagnosis diagnose(const BoxRows& boxes, const BoxRows* good, BoxOrigin origin) {
  if (good && (good->batch() != boxes.batch() || good->e() != boxes.e())) {
    refuse(
        "the good rows are {}x{}x{} and these {}x{}x{}; only the number of rows (the "
        "second) may differ",
        good->batch(), good->n(), good->e(), boxes.batch(), boxes.n(), boxes.e());
  }
  Diagnosis diagnosis;
  Rows valid;
  for (std::int64_t row = 0; row < boxes.rows(); ++row) {
    if (boxes.is_valid(row)) valid.push_back(row);
    diagnosis.filled += boxes.is_filled(row);
  }
  diagnosis.valid = valid.size();
  Report report(boxes, origin, diagnosis);
  Examination examination(boxes, good, origin);
  if (examination.is_constant(valid)) {
    report.constant(valid);
    return diagnosis;
  }
  const Signs& signs = examination.signs();
  report.values(signs);
  report.corners(signs);
  report.places(signs, good != nullptr);
  report.differences(signs);
  return diagnosis;
}

}  // namespace clam
