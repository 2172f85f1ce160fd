// SPDX-License-Identifier: MIT
// attention.hpp - what the plans of attention share with its reference.
#pragma once

#include "clam/op.hpp"
#include "shared/accumulator.hpp"

namespace clam {

/// The extents of a problem, defaults filled in.
struct AttentionExtents {
  std::int64_t batch, heads, kv_heads, nq, nk, d, dv;
  bool causal, swap;
  float scale;
  explicit AttentionExtents(const Problem& problem);

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
