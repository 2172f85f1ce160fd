// SPDX-License-Identifier: MIT
#include "sides.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace clam {

void append(std::vector<Field>& fields, const std::vector<Field>& more) {
  fields.insert(fields.end(), more.begin(), more.end());
}

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

Sides::Sides(const Problem& problem)
    : stride_h(or_else(problem, "stride_h", 0, problem.integer("stride"))),
      stride_w(or_else(problem, "stride_w", 0, problem.integer("stride"))),
      pad_t(or_else(problem, "pad_t", -1, problem.integer("pad"))),
      pad_l(or_else(problem, "pad_l", -1, problem.integer("pad"))),
      pad_b(or_else(problem, "pad_b", -1, problem.integer("pad"))),
      pad_r(or_else(problem, "pad_r", -1, problem.integer("pad"))) {}

void Sides::unite(Schema::Values& values) const {
  clam::unite(values, "stride", {{"stride_h", stride_h}, {"stride_w", stride_w}}, "0", 1);
  clam::unite(values, "pad",
              {{"pad_t", pad_t}, {"pad_l", pad_l}, {"pad_b", pad_b}, {"pad_r", pad_r}}, "-1", 0);
}

std::vector<Field> stride_fields(const char* stride) {
  return {step_field("stride", stride, "1"),
          step_field("stride_h", "rows alone; 0: as stride", "0"),
          step_field("stride_w", "columns alone; 0: as stride", "0")};
}

std::vector<Field> pad_fields(const char* pad, const char* map) {
  const auto side = [&](const char* name, const char* about) {
    return step_field(name, fmt::format("{} {}; -1: as pad", about, map).c_str(), "-1");
  };
  return {step_field("pad", pad, "0"), side("pad_t", "rows above"),
          side("pad_l", "columns left of"), side("pad_b", "rows below"),
          side("pad_r", "columns right of")};
}

}  // namespace clam
