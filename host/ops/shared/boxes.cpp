// SPDX-License-Identifier: MIT
#include "boxes.hpp"

#include <algorithm>
#include <cmath>

namespace clam {

Field variances_field() {
  return numbers("variances", "factors of the offsets of x, y, w, h", "0.1x0.1x0.2x0.2");
}

void check_variances(const Problem& problem) {
  const std::vector<float> variances = problem.numbers("variances");
  const bool finite = std::all_of(variances.begin(), variances.end(),
                                  [](float variance) { return std::isfinite(variance); });
  if (variances.size() != 4 || !finite) {
    bad_field(problem, "variances", "needs four finite numbers, like 0.1x0.1x0.2x0.2");
  }
}

void check_classes(const Problem& problem) {
  constexpr int kMost = 2049, kMostFloat = 1 << 24;
  const int most = problem.dtype() == Dtype::f16 ? kMost : kMostFloat;
  if (problem.integer("classes") < 2 || problem.integer("classes") > most) {
    bad_field(problem, "classes",
              "needs 2 to " + std::to_string(most) + ", of which the first is the background");
  }
}

}  // namespace clam
