// SPDX-License-Identifier: MIT
#include "places.hpp"

#include <algorithm>

#include "runtime/refuse.hpp"

namespace clam {

Field place(const char* name, const char* about) { return integer(name, about, "0", 0); }

std::int64_t given_or(const Problem& problem, const std::string& field, std::int64_t otherwise) {
  const int given = problem.integer(field);
  return given == 0 ? otherwise : given;
}

void check_row_stride(const Problem& problem, Schema::Values& values, const std::string& name,
                      std::int64_t row) {
  const std::int64_t stride = given_or(problem, "ld" + name, row);
  bad_field_if(stride < row, problem, "ld" + name, "is under the {} elements of a row", row);
  if (stride == row) values["ld" + name] = "0";
}

TensorSpec placed(const Problem& problem, TensorSpec spec, std::initializer_list<const char*> words,
                  std::vector<std::int64_t> strides) {
  const bool is_strided = std::any_of(words.begin(), words.end(), [&](const char* word) {
    return problem.integer(word + spec.name) != 0;
  });
  if (is_strided) spec.strides = std::move(strides);
  spec.offset = problem.integer("off" + spec.name);
  return spec;
}

void require_distinct(const Problem& problem, const std::string& output, std::int64_t columns,
                      std::vector<StridedAxis> axes) {
  std::sort(axes.begin(), axes.end(),
            [](const StridedAxis& a, const StridedAxis& b) { return a.stride < b.stride; });
  std::int64_t reach = columns;
  for (const StridedAxis& axis : axes) {
    if (axis.extent == 1) continue;
    bad_field_if(axis.stride < reach, problem, axis.field,
                 "lets elements of {} share places: it needs {} or more", output, reach);
    reach += (axis.extent - 1) * axis.stride;
  }
}

}  // namespace clam
