// SPDX-License-Identifier: MIT
// search.cpp - the smallest number, and the fewest parts, that do.
#include "search.hpp"

#include <algorithm>
#include <numeric>

namespace clam {
Parts first_parts(std::size_t count) {
  Parts parts(count);
  std::iota(parts.begin(), parts.end(), std::size_t{0});
  return parts;
}

std::int64_t smallest(std::int64_t least, std::int64_t value,
                      const std::function<bool(std::int64_t)>& holds) {
  if (value <= least) return value;
  if (holds(least)) return least;
  std::int64_t not_held = least, held = value;
  while (held - not_held > 1) {
    const std::int64_t middle = not_held + (held - not_held) / 2;
    (holds(middle) ? held : not_held) = middle;
  }
  return held;
}

Parts needed(std::size_t count, const std::function<bool(const Parts&)>& holds) {
  Parts parts = first_parts(count);
  for (std::size_t size = std::max<std::size_t>(1, count); !parts.empty();) {
    const std::size_t before = parts.size();
    // From the end: what is used stands before what uses it.
    for (std::size_t end = parts.size(); end > 0;) {
      const std::size_t start = end > size ? end - size : 0;
      Parts rest = parts;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(start),
                 rest.begin() + static_cast<std::ptrdiff_t>(end));
      if (holds(rest)) parts = rest;
      end = start;
    }
    if (size == 1 && parts.size() == before) break;
    size = std::max<std::size_t>(1, size / 2);
  }
  return parts;
}

}  // namespace clam
