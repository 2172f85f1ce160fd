// SPDX-License-Identifier: MIT
// search.hpp - the smallest number, and the fewest parts, that do. What is asked may answer no to
// everything once its time is over: a search then ends soon, with the smallest that it found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace clam {

/// The smallest of `least` to `value` for which it holds, by bisection; it holds for `value`. Where
/// it holds for some between only, one that is next to a value for which it does not.
std::int64_t smallest(std::int64_t least, std::int64_t value,
                      const std::function<bool(std::int64_t)>& holds);

/// Some of a number of parts, in order.
using Parts = std::vector<std::size_t>;
Parts first_parts(std::size_t count);
/// Those of `count` parts that are needed for it to hold: no single one of them can go. It holds
/// for all. Chunk after chunk is left out, of ever fewer parts: some 2 x count questions, where
/// delta debugging asks far more.
Parts needed(std::size_t count, const std::function<bool(const Parts&)>& holds);

/// Takes the step with each of the items, and says whether any made the case smaller.
template <typename Items, typename Step>
bool any_smaller(const Items& items, const Step& step) {
  bool smaller = false;
  for (const auto& item : items) smaller = step(item) || smaller;
  return smaller;
}

}  // namespace clam
