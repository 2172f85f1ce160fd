// SPDX-License-Identifier: MIT
#include "places.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "clam/error.hpp"

namespace clam {

void require_distinct(const Problem& problem, const std::string& output, std::int64_t columns,
                      std::vector<StridedAxis> axes) {
  std::sort(axes.begin(), axes.end(),
            [](const StridedAxis& a, const StridedAxis& b) { return a.stride < b.stride; });
  std::int64_t reach = columns;
  for (const StridedAxis& axis : axes) {
    if (axis.extent == 1) continue;
    if (axis.stride < reach) {
      bad_field(
          problem, axis.field,
          fmt::format("lets elements of {} share places: it needs {} or more", output, reach));
    }
    reach += (axis.extent - 1) * axis.stride;
  }
}

}  // namespace clam
