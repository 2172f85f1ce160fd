// SPDX-License-Identifier: MIT
// boxes.hpp - what problems say of a detector's boxes.
#pragma once

#include <algorithm>

#include "op.hpp"

namespace clam {

/// Factors of a box's four offsets. check_variances throws BadArgument.
inline Field variances_field() {
  return numbers("variances", "factors of the offsets of x, y, w, h", "0.1x0.1x0.2x0.2");
}
inline void check_variances(const Problem& problem) {
  const std::vector<float> variances = problem.numbers("variances");
  const bool finite = std::all_of(variances.begin(), variances.end(),
                                  [](float variance) { return std::isfinite(variance); });
  bad_field_if(variances.size() != 4 || !finite, problem, "variances",
               "needs four finite numbers, like 0.1x0.1x0.2x0.2");
}

/// The most classes whose numbers the dtype holds: in half, those over 2048 have none of their own.
inline int most_classes(const Problem& problem) {
  return problem.dtype() == Dtype::f16 ? 2049 : 1 << 24;
}
/// Of SSD, whose first class is the background. Throws BadArgument.
inline void check_classes(const Problem& problem) {
  const int classes = problem.integer("classes"), most = most_classes(problem);
  bad_field_if(classes < 2 || classes > most, problem, "classes",
               "needs 2 to {}, of which the first is the background", most);
}

/// Rules of the fields e, score_index and id_index of an op whose rows hold all. Throws
/// BadArgument.
inline void check_indices(const Problem& p) {
  const int e = p.integer("e"), score = p.integer("score_index"), id = p.integer("id_index");
  const std::string range = fmt::format("needs an index under e={}", e);
  if (e < 5) bad_field(p, "e", "needs at least 5: a score and four coordinates");
  if (id >= e) bad_field(p, "id_index", range + ", or -1 for no class");
  if (score >= e) bad_field(p, "score_index", range);
  if (id == score) bad_field(p, "id_index", "needs another index than score_index");
}

}  // namespace clam
