// SPDX-License-Identifier: MIT
#include "convolution.hpp"

#include <fmt/core.h>

namespace clam {

Convolution::Convolution(const Problem& problem)
    : n(problem.integer("n")),
      c(problem.integer("c")),
      h(problem.integer("h")),
      w(problem.integer("w")),
      k(problem.integer("k")),
      r(problem.integer("r")),
      s(or_else(problem, "s", 0, r)),
      stride_h(or_else(problem, "stride_h", 0, problem.integer("stride"))),
      stride_w(or_else(problem, "stride_w", 0, problem.integer("stride"))),
      pad_t(or_else(problem, "pad_t", -1, problem.integer("pad"))),
      pad_l(or_else(problem, "pad_l", -1, problem.integer("pad"))),
      pad_b(or_else(problem, "pad_b", -1, problem.integer("pad"))),
      pad_r(or_else(problem, "pad_r", -1, problem.integer("pad"))),
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
  unite(values, "stride", {{"stride_h", conv.stride_h}, {"stride_w", conv.stride_w}}, "0", 1);
  unite(
      values, "pad",
      {{"pad_t", conv.pad_t}, {"pad_l", conv.pad_l}, {"pad_b", conv.pad_b}, {"pad_r", conv.pad_r}},
      "-1", 0);
  unite(values, "dilation", {{"dilation_h", conv.dilation_h}, {"dilation_w", conv.dilation_w}}, "0",
        1);
  if (conv.s == conv.r) values["s"] = "0";
}

}  // namespace clam
