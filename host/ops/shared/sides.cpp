// SPDX-License-Identifier: MIT
#include "sides.hpp"

#include <algorithm>

namespace clam {

Field step_field(const char* name, const char* about, const char* fallback) {
  return integer(name, about, fallback, std::min(1, std::stoi(fallback)), kLargestStep);
}

int or_else(const Problem& problem, const char* field, int absent, int other) {
  const int value = problem.integer(field);
  return value == absent ? other : value;
}

void unite(Schema::Values& values, const std::string& whole,
           const std::vector<std::pair<std::string, int>>& parts, const std::string& absent,
           int fallback) {
  const int first = parts.front().second;
  const bool alike =
      std::all_of(parts.begin(), parts.end(), [&](const auto& p) { return p.second == first; });
  values[whole] = std::to_string(alike ? first : fallback);
  for (const auto& [part, value] : parts) {
    values[part] = alike || value == fallback ? absent : std::to_string(value);
  }
}

}  // namespace clam
