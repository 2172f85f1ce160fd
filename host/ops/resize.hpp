// SPDX-License-Identifier: MIT
// resize.hpp - what the plans of resize share with its reference.
#pragma once

#include <cstdint>
#include <string>

#include "clam/op.hpp"

namespace clam {

/// An axis of a checked problem.
struct ResizeAxis {
  int extent, outputs;
  float scale;  ///< as given; 0: outputs / extent

  /// The outputs that the scale asks for, which need not be a whole number: a float, as ONNX's
  /// scales are.
  double length() const {
    return scale == 0 ? outputs : static_cast<double>(scale * static_cast<float>(extent));
  }
};

struct Resize {
  const Problem& problem;
  int n = problem.integer("n"), c = problem.integer("c");
  ResizeAxis rows{problem.integer("h"), problem.integer("oh"), problem.number("scale_h")};
  ResizeAxis columns{problem.integer("w"), problem.integer("ow"), problem.number("scale_w")};
  bool linear = problem.choice("mode") == "linear", residual = problem.flag("residual");
  std::string coord = problem.choice("coord"), nearest = problem.choice("nearest");
  Dtype dtype = problem.dtype();

  explicit Resize(const Problem& problem) : problem(problem) {}

  std::int64_t maps() const { return std::int64_t{n} * c; }
  std::int64_t outputs() const { return maps() * rows.outputs * columns.outputs; }
};

/// Where the outputs of an axis lie on x: output i at (mul * i + add) / den, exactly. mul >= 0.
/// nearest rounds that down: the way of rounding is in `add`.
struct ResizePlaces {
  std::int64_t mul, add, den;
};
ResizePlaces resize_places(const Resize& resize, const ResizeAxis& axis);

}  // namespace clam
