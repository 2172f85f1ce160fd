// SPDX-License-Identifier: MIT
// nms as its definition reads: sort, walk, and ask of each candidate whether a kept one kills it.
// Overlaps are computed in float, operation by operation, so that the result is exact.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../parallel.hpp"
#include "nms_cases.hpp"

namespace clam {
namespace {

struct Candidate {
  std::int64_t row;
  float score, id;
  float x0, y0, x1, y1, area;
};

/// What a device makes of a float: one without denormals takes them for 0, as operand and result.
struct Arithmetic {
  bool denormals;

  float operator()(float x) const {
    return denormals || std::fabs(x) >= std::numeric_limits<float>::min() || std::isnan(x) ? x : 0;
  }
};

struct Rules {
  Arithmetic a;
  bool any_class, gt;
  float threshold;

  bool reaches(float overlap, float least) const { return gt ? overlap > least : overlap >= least; }

  /// Comparisons with NaN are false.
  bool kills(const Candidate& kept, const Candidate& other) const {
    if (!any_class && !(kept.id == other.id)) return false;
    const float w = a(std::min(kept.x1, other.x1) - std::max(kept.x0, other.x0));
    const float h = a(std::min(kept.y1, other.y1) - std::max(kept.y0, other.y0));
    const float inter = a(std::max(w, 0.0f) * std::max(h, 0.0f));
    const float uni = a(a(kept.area + other.area) - inter);
    if (uni <= 0) return reaches(0, threshold);
    return reaches(inter, a(a(threshold) * uni));
  }
};

Candidate candidate(const Problem& p, const HostTensor& data, std::int64_t b, std::int64_t row,
                    const Arithmetic& a) {
  const std::int64_t first = (b * p.integer("n") + row) * p.integer("e");
  const auto element = [&](int i) { return static_cast<float>(data.get(first + i)); };
  const int id_index = p.integer("id_index"), coord = p.integer("coord_start");
  Candidate c{};
  c.row = row;
  c.score = element(p.integer("score_index"));
  c.id = id_index < 0 ? 0 : element(id_index);
  const float corners[4] = {a(element(coord)), a(element(coord + 1)), a(element(coord + 2)),
                            a(element(coord + 3))};
  c.x0 = std::min(corners[0], corners[2]);
  c.y0 = std::min(corners[1], corners[3]);
  c.x1 = std::max(corners[0], corners[2]);
  c.y1 = std::max(corners[1], corners[3]);
  c.area = a(a(c.x1 - c.x0) * a(c.y1 - c.y0));
  // A box with a NaN overlaps nothing, whatever min and max make of it.
  for (const float x : corners) c.area = std::isnan(x) ? x : c.area;
  return c;
}

/// The best top_k valid rows with a score over score_min, in order.
std::vector<Candidate> candidates(const Problem& p, const Tensors& inputs, std::int64_t b,
                                  const Arithmetic& a) {
  const int n = p.integer("n"), top_k = p.integer("top_k");
  const double least = static_cast<double>(p.number("score_min"));
  const int valid = std::clamp(static_cast<int>(inputs.at("count").get(b)), 0, n);
  std::vector<Candidate> all;
  for (int row = 0; row < valid; ++row) {
    const Candidate c = candidate(p, inputs.at("data"), b, row, a);
    if (static_cast<double>(c.score) > least) all.push_back(c);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& x, const Candidate& y) { return x.score > y.score; });
  if (top_k > 0 && all.size() > static_cast<std::size_t>(top_k)) all.resize(top_k);
  return all;
}

/// Which candidates are kept. Those of a block are first held against all kept before it, on all
/// cores, and then against each other.
std::vector<char> walk(const Problem& p, const std::vector<Candidate>& all, const Rules& rules) {
  constexpr std::int64_t kBlock = 1024;
  const auto size = static_cast<std::int64_t>(all.size());
  const int limit = p.integer("max_output_size");
  std::vector<char> keep(all.size(), 1);
  std::vector<const Candidate*> kept;
  for (std::int64_t begin = 0; begin < size; begin += kBlock) {
    const std::size_t before = kept.size();
    const auto killed = [&](const Candidate& c, std::size_t from) {
      return std::any_of(kept.begin() + static_cast<std::ptrdiff_t>(from), kept.end(),
                         [&](const Candidate* k) { return rules.kills(*k, c); });
    };
    const std::int64_t end = std::min(begin + kBlock, size);
    if (before > 0) {
      parallel_for(end - begin, [&](std::int64_t i) {
        keep[static_cast<std::size_t>(begin + i)] =
            !killed(all[static_cast<std::size_t>(begin + i)], 0);
      });
    }
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const bool full = limit > 0 && kept.size() >= static_cast<std::size_t>(limit);
      keep[i] = keep[i] && !full && !killed(all[i], before);
      if (keep[i]) kept.push_back(&all[i]);
    }
  }
  return keep;
}

/// Writes the rows of candidates, those that are not kept as -1 or, `compact`, not at all.
void write_rows(const Problem& p, const HostTensor& data, std::int64_t b,
                const std::vector<Candidate>& all, const std::vector<char>& keep, HostTensor& out) {
  const std::int64_t n = p.integer("n"), e = p.integer("e");
  const bool compact = p.flag("invalid_to_bottom");
  std::int64_t place = 0;
  for (std::int64_t i = b * n * e; i < (b + 1) * n * e; ++i) out.set(i, -1);
  for (std::size_t c = 0; c < all.size(); ++c) {
    const std::int64_t from = (b * n + all[c].row) * e, to = (b * n + place) * e;
    for (std::int64_t i = 0; keep[c] && i < e; ++i) out.set_bits(to + i, data.bits(from + i));
    place += keep[c] || !compact;
  }
}

void write_indices(const Problem& p, const HostTensor& indices, std::int64_t b,
                   const std::vector<Candidate>& all, const std::vector<char>& keep,
                   HostTensor& box_indices, HostTensor& box_count) {
  const std::int64_t n = p.integer("n");
  std::int64_t place = 0;
  for (std::int64_t i = 0; i < n; ++i) box_indices.set(b * n + i, -1);
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (keep[c]) box_indices.set_bits(b * n + place++, indices.bits(b * n + all[c].row));
  }
  box_count.set(b, static_cast<double>(place));
}

}  // namespace

Reference nms_reference(const Problem& p, const Tensors& inputs, const ReferenceOptions& options) {
  const std::int64_t batch = p.integer("batch"), n = p.integer("n"), e = p.integer("e");
  const bool with_indices = p.flag("return_indices");
  const Arithmetic a{options.denormals};
  const Rules rules{a, p.integer("id_index") < 0 || p.integer("force_suppress") == 1,
                    p.choice("compare") == "gt", p.number("iou_threshold")};
  HostTensor out(p.dtype(), with_indices ? Shape{1} : Shape{batch, n, e});
  HostTensor box_indices(Dtype::i32, {batch, n}), box_count(Dtype::i32, {batch, 1});
  parallel_for(batch, [&](std::int64_t b) {
    const std::vector<Candidate> all = candidates(p, inputs, b, a);
    const std::vector<char> keep = walk(p, all, rules);
    if (with_indices) {
      write_indices(p, inputs.at("indices"), b, all, keep, box_indices, box_count);
    } else {
      write_rows(p, inputs.at("data"), b, all, keep, out);
    }
  });
  Reference reference;
  if (with_indices) {
    reference["box_indices"].exact = std::move(box_indices);
    reference["box_count"].exact = std::move(box_count);
  } else {
    reference["out"].exact = std::move(out);
  }
  return reference;
}

}  // namespace clam
