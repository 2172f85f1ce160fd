// SPDX-License-Identifier: MIT
#include "suppression_reference.hpp"

#include <array>
#include <limits>

#include "proof.hpp"

namespace clam {
namespace {

struct Candidate {
  std::int64_t row;
  float score, id, area;
  std::array<float, 4> box;  ///< as given; then its corners x0 y0 x1 y1
};

struct Rules {
  DeviceFloat a;
  bool any_class, gt;
  float threshold;

  bool reaches(float overlap, float least) const { return gt ? overlap > least : overlap >= least; }

  /// Comparisons with NaN are false.
  bool kills(const Candidate& kept, const Candidate& other) const {
    if (!any_class && !(kept.id == other.id)) return false;
    const auto shared = [&](std::size_t axis) {
      const float from = std::max(kept.box[axis], other.box[axis]);
      return std::max(a(std::min(kept.box[axis + 2], other.box[axis + 2]) - from), 0.0f);
    };
    const float inter = a(shared(0) * shared(1));
    const float uni = a(a(kept.area + other.area) - inter);
    if (uni <= 0) return reaches(0, threshold);
    return reaches(inter, a(a(threshold) * uni));
  }
};

/// Makes corners of the box that is given, and sets its area.
void set_box(const Suppression& s, const DeviceFloat& a, Candidate& c) {
  for (float& number : c.box) number = a(number);
  for (const std::size_t axis : {0, 1}) {
    float &low = c.box[axis], &high = c.box[axis + 2];
    if (s.center) {
      const float middle = low, half = a(0.5f * high);
      low = a(middle - half);
      high = a(middle + half);
    }
    if (!s.turned && high < low) std::swap(low, high);
  }
  c.area = a(a(c.box[2] - c.box[0]) * a(c.box[3] - c.box[1]));
  // A box with a NaN overlaps nothing, whatever min and max make of it.
  for (const float x : c.box) c.area = std::isnan(x) ? x : c.area;
}

bool is_candidate(const Suppression& s, float score) {
  return score > s.score_min || (std::isinf(s.score_min) && score == s.score_min && score < 0);
}

/// The best top_k valid rows of a set with a score over score_min, in order.
std::vector<Candidate> candidates(const Suppression& s, const Tensors& inputs, std::int64_t set,
                                  const DeviceFloat& a) {
  const HostTensor& scores = inputs.at(s.scores);
  const HostTensor& boxes = inputs.at(s.boxes);
  const std::int64_t counted = s.count.empty() ? s.n : inputs.at(s.count).get(set);
  std::vector<Candidate> all;
  for (std::int64_t row = 0; row < std::clamp<std::int64_t>(counted, 0, s.n); ++row) {
    const std::int64_t score_row = (set * s.n + row) * s.score_step;
    const std::int64_t box_row = (set / (s.sets / s.items) * s.n + row) * s.e;
    const auto of_box = [&](int i) { return static_cast<float>(boxes.get(box_row + i)); };
    Candidate c{};
    c.row = row;
    c.score = static_cast<float>(scores.get(score_row + s.score_index));
    if (!is_candidate(s, c.score)) continue;
    if (s.background_index >= 0 &&
        static_cast<float>(scores.get(score_row + s.background_index)) == s.background) {
      continue;
    }
    c.id = s.id_index < 0 ? 0 : of_box(s.id_index);
    for (int i = 0; i < 4; ++i) c.box[i] = of_box(s.coord_start + i);
    set_box(s, a, c);
    all.push_back(c);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& x, const Candidate& y) { return x.score > y.score; });
  if (all.size() > static_cast<std::size_t>(s.top())) all.resize(s.top());
  return all;
}

/// Which candidates are kept. Those of a block are first held against all kept before it, on all
/// cores, and then against each other.
std::vector<char> walk(const Suppression& s, const std::vector<Candidate>& all,
                       const Rules& rules) {
  constexpr std::int64_t kBlock = 1024;
  const std::int64_t size = all.size();
  std::vector<char> keep(all.size(), 1);
  std::vector<const Candidate*> kept;
  for (std::int64_t begin = 0; begin < size; begin += kBlock) {
    const std::size_t before = kept.size();
    const auto killed = [&](const Candidate& c, std::size_t from) {
      return std::any_of(kept.begin() + from, kept.end(),
                         [&](const Candidate* k) { return rules.kills(*k, c); });
    };
    const std::int64_t end = std::min(begin + kBlock, size);
    if (before > 0) {
      parallel_for(end - begin,
                   [&](std::int64_t i) { keep[begin + i] = !killed(all[begin + i], 0); });
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const bool full = kept.size() >= static_cast<std::size_t>(s.limit);
      keep[i] = keep[i] && !full && !killed(all[i], before);
      if (keep[i]) kept.push_back(&all[i]);
    }
  }
  return keep;
}

}  // namespace

float DeviceFloat::operator()(float x) const {
  return denormals || std::fabs(x) >= std::numeric_limits<float>::min() || std::isnan(x) ? x : 0;
}

std::vector<Selected> select(const Suppression& s, const Tensors& inputs,
                             const ReferenceOptions& options) {
  const DeviceFloat a{options.denormals};
  const Rules rules{a, s.id_index < 0, s.gt, s.iou_threshold};
  std::vector<Selected> sets(s.sets);
  parallel_for(s.sets, [&](std::int64_t set) {
    const std::vector<Candidate> all = candidates(s, inputs, set, a);
    Selected& selected = sets[set];
    selected.keep = walk(s, all, rules);
    for (std::size_t i = 0; i < all.size(); ++i) {
      selected.rows.push_back(all[i].row);
      if (selected.keep[i]) selected.kept.push_back(all[i].row);
    }
  });
  return sets;
}

void write_rows(const Suppression& s, bool compact, const HostTensor& data, std::int64_t set,
                const Selected& selected, HostTensor& out) {
  std::int64_t place = 0;
  for (std::int64_t i = set * s.n * s.e; i < (set + 1) * s.n * s.e; ++i) out.set(i, -1);
  for (std::size_t c = 0; c < selected.rows.size(); ++c) {
    const bool keep = selected.keep[c];
    const std::int64_t from = (set * s.n + selected.rows[c]) * s.e, to = (set * s.n + place) * s.e;
    for (std::int64_t i = 0; keep && i < s.e; ++i) out.set_bits(to + i, data.bits(from + i));
    place += keep || !compact;
  }
}

}  // namespace clam
