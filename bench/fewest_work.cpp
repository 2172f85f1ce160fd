// SPDX-License-Identifier: MIT
#include "fewest_work.hpp"

#include <algorithm>
#include <vector>

#include "op.hpp"

namespace clam::bench {
namespace {

/// A window along one axis of x.
struct Axis {
  int extent, taps, stride, dilation, before, after;

  /// Calls `visit` with each place that a tap meets, inside of x or not.
  template <typename Visit>
  void each_tap(const Visit& visit) const {
    const int reach = (taps - 1) * dilation + 1;
    for (int at = -before; at + reach <= extent + after; at += stride) {
      for (int tap = 0; tap < taps; ++tap) visit(at + tap * dilation);
    }
  }
  bool inside(int place) const { return place >= 0 && place < extent; }

  /// Of all taps, over all places of the window, the share that meets x.
  double share_of_taps() const {
    std::int64_t met = 0, all = 0;
    each_tap([&](int place) { met += inside(place), ++all; });
    return all > 0 ? double(met) / double(all) : 1;
  }
  /// Of x, the share that a tap meets.
  double share_of_x() const {
    std::vector<char> met(static_cast<std::size_t>(extent), false);
    each_tap([&](int place) {
      if (inside(place)) met[static_cast<std::size_t>(place)] = true;
    });
    return double(std::count(met.begin(), met.end(), true)) / double(extent);
  }
};

/// A field that stands for another one where it has the value `unset`.
int either(const Problem& problem, const char* field, int unset, const char* other) {
  const int value = problem.integer(field);
  return value == unset ? problem.integer(other) : value;
}

/// Of conv2d, and of pool2d with a window, which has no dilation.
Axis rows_of(const Problem& p) {
  const int dilation = p.op().name == "conv2d" ? either(p, "dilation_h", 0, "dilation") : 1;
  return {p.integer("h"),
          p.integer("r"),
          either(p, "stride_h", 0, "stride"),
          dilation,
          either(p, "pad_t", -1, "pad"),
          either(p, "pad_b", -1, "pad")};
}

Axis columns_of(const Problem& p) {
  const int dilation = p.op().name == "conv2d" ? either(p, "dilation_w", 0, "dilation") : 1;
  return {p.integer("w"), either(p, "s", 0, "r"),        either(p, "stride_w", 0, "stride"),
          dilation,       either(p, "pad_l", -1, "pad"), either(p, "pad_r", -1, "pad")};
}

bool has_window(const Problem& p) {
  return p.op().name == "conv2d" || (p.op().name == "pool2d" && !p.flag("global"));
}

/// Query i sees keys 0 to i alone.
double share_of_causal(std::int64_t queries, std::int64_t keys) {
  std::int64_t seen = 0;
  for (std::int64_t i = 0; i < queries; ++i) seen += std::min(keys, i + 1);
  return double(seen) / double(queries * keys);
}

}  // namespace

double fewest_flops(const Problem& problem) {
  const double nominal = problem.op().flops(problem);
  if (nominal <= 0) return 0;
  if (problem.op().name == "conv2d") {
    return nominal * rows_of(problem).share_of_taps() * columns_of(problem).share_of_taps();
  }
  if (problem.op().name == "attention" && problem.integer("causal") == 1) {
    return nominal * share_of_causal(problem.integer("nq"), problem.integer("nk"));
  }
  return nominal;
}

double fewest_bytes(const Problem& problem) {
  const double nominal = problem.op().bytes(problem);
  if (!has_window(problem)) return nominal;
  double of_x = 0;
  for (const TensorSpec& spec : problem.op().tensors(problem)) {
    if (spec.name == "x") of_x = double(count(spec.shape)) * double(size_of(spec.dtype));
  }
  const double met = rows_of(problem).share_of_x() * columns_of(problem).share_of_x();
  return nominal - (1 - met) * of_x;
}

}  // namespace clam::bench
