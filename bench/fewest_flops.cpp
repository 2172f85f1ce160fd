// SPDX-License-Identifier: MIT
#include "fewest_flops.hpp"

#include <algorithm>

#include "op.hpp"

namespace clam::bench {
namespace {

/// Of the filter's taps along one axis, over all places, the share that lies inside of x.
double share_inside(int extent, int taps, int stride, int dilation, int before, int after) {
  const int reach = (taps - 1) * dilation + 1;
  std::int64_t inside = 0, all = 0;
  for (int at = -before; at + reach <= extent + after; at += stride) {
    for (int tap = 0; tap < taps; ++tap, ++all) {
      const int place = at + tap * dilation;
      inside += place >= 0 && place < extent;
    }
  }
  return all > 0 ? double(inside) / double(all) : 1;
}

/// A field that stands for another one where it has the value `unset`.
int either(const Problem& problem, const char* field, int unset, const char* other) {
  const int value = problem.integer(field);
  return value == unset ? problem.integer(other) : value;
}

double share_of_conv2d(const Problem& p) {
  const double rows =
      share_inside(p.integer("h"), p.integer("r"), either(p, "stride_h", 0, "stride"),
                   either(p, "dilation_h", 0, "dilation"), either(p, "pad_t", -1, "pad"),
                   either(p, "pad_b", -1, "pad"));
  const double columns =
      share_inside(p.integer("w"), either(p, "s", 0, "r"), either(p, "stride_w", 0, "stride"),
                   either(p, "dilation_w", 0, "dilation"), either(p, "pad_l", -1, "pad"),
                   either(p, "pad_r", -1, "pad"));
  return rows * columns;
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
  if (problem.op().name == "conv2d") return nominal * share_of_conv2d(problem);
  if (problem.op().name == "attention" && problem.integer("causal") == 1) {
    return nominal * share_of_causal(problem.integer("nq"), problem.integer("nk"));
  }
  return nominal;
}

}  // namespace clam::bench
