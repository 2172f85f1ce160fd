// SPDX-License-Identifier: MIT
#include "convolution.hpp"

#include <fmt/core.h>

namespace clam {

Convolution::Convolution(const Problem& problem)
    : Sides(problem),
      n(problem.integer("n")),
      c(problem.integer("c")),
      h(problem.integer("h")),
      w(problem.integer("w")),
      k(problem.integer("k")),
      r(problem.integer("r")),
      s(or_else(problem, "s", 0, r)),
      dilation_h(or_else(problem, "dilation_h", 0, problem.integer("dilation"))),
      dilation_w(or_else(problem, "dilation_w", 0, problem.integer("dilation"))),
      groups(problem.integer("groups")),
      bias(problem.flag("bias")),
      dtype(problem.dtype()) {}

std::vector<Field> convolution_extents() {
  return {extent("n", "images", "1"),
          extent("c", "input channels"),
          extent("h", "rows of x"),
          extent("w", "columns of x"),
          extent("k", "output channels"),
          extent("r", "rows of the filter"),
          integer("s", "columns of the filter; 0: as many as rows", "0", 0)};
}

std::vector<Field> dilation_fields(const char* dilation) {
  return {step_field("dilation", dilation, "1"),
          step_field("dilation_h", "rows alone; 0: as dilation", "0"),
          step_field("dilation_w", "columns alone; 0: as dilation", "0")};
}

void check_convolution(const Problem& problem, Schema::Values& values) {
  const Convolution conv(problem);
  for (const auto& [name, channels] : {std::pair{"c", conv.c}, std::pair{"k", conv.k}}) {
    if (channels % conv.groups == 0) continue;
    bad_field(problem, "groups", fmt::format("does not divide {}={}", name, channels));
  }
  conv.unite(values);
  unite(values, "dilation", {{"dilation_h", conv.dilation_h}, {"dilation_w", conv.dilation_w}}, "0",
        1);
  if (conv.s == conv.r) values["s"] = "0";
}

}  // namespace clam
