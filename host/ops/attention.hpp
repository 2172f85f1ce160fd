// SPDX-License-Identifier: MIT
// attention.hpp - what the plans of attention share with its reference.
#pragma once

#include <cmath>

#include "shared/accumulator.hpp"
#include "shared/places.hpp"

namespace clam {

/// The extents of a problem, defaults filled in.
struct AttentionExtents {
  const Problem& problem;
  std::int64_t batch = problem.integer("batch"), heads = problem.integer("heads");
  std::int64_t kv_heads = given_or(problem, "kv_heads", heads);
  std::int64_t nq = problem.integer("nq"), nk = problem.integer("nk"), d = problem.integer("d");
  std::int64_t dv = given_or(problem, "dv", d);
  bool causal = problem.integer("causal") == 1, swap = problem.flag("swap");
  /// 1 / sqrt(d) where none is given.
  float scale =
      problem.number("scale") == 0 ? 1 / std::sqrt(static_cast<float>(d)) : problem.number("scale");

  explicit AttentionExtents(const Problem& problem) : problem(problem) {}

  /// The batch item of k and v for one of q.
  std::int64_t kv_item(std::int64_t item) const { return swap ? batch - 1 - item : item; }
  /// The head of k and v, counted over all batch items, for a head of q, counted so.
  std::int64_t kv_head(std::int64_t head) const {
    return kv_item(head / heads) * kv_heads + head % heads / (heads / kv_heads);
  }
};

/// Why no kernel computes the problem, on any device; empty when one does.
Reason attention_not_offered(const Problem& problem);

}  // namespace clam
