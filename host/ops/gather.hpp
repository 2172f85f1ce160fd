// SPDX-License-Identifier: MIT
// gather.hpp - what the plans of gather share with its reference.
#pragma once

#include "shared/axes.hpp"

namespace clam {

/// Element (o, j, i) of dst is element (o, index[j], i) of src.
struct Gather : AroundAxis {
  std::int64_t count;
  explicit Gather(const Problem& problem)
      : AroundAxis(problem, problem.shape("shape")), count(problem.integer("count")) {}
};

}  // namespace clam
