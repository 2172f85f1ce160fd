// SPDX-License-Identifier: MIT
// resize_faults.hpp - a resize in float on the host, right or with a fault.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/resize.hpp"

namespace clam::resize_faults {

enum class Fault { none, next_element, other_fraction, half_mean, no_residual };

/// The elements that an output is made of, as kernels find them: in integers.
struct Spot {
  std::int64_t a, b;
  float f;
};

inline std::vector<Spot> spots(const Resize& resize, const ResizeAxis& axis, Fault fault) {
  const ResizePlaces places = resize_places(resize, axis);
  const auto inside = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at, 0, axis.extent - 1);
  };
  std::vector<Spot> spots;
  for (std::int64_t i = 0; i < axis.outputs; ++i) {
    const std::int64_t at = places.mul * i + places.add;
    const std::int64_t rest = (at % places.den + places.den) % places.den;
    const std::int64_t whole = (at - rest) / places.den + (fault == Fault::next_element);
    const float f = static_cast<float>(rest) * (1.0f / static_cast<float>(places.den));
    spots.push_back({inside(whole), inside(whole + 1), fault == Fault::other_fraction ? 1 - f : f});
  }
  return spots;
}

inline float between(float a, float b, float f, Fault fault) {
  const float mean = std::fma(f, b, (1 - f) * a);
  return fault == Fault::half_mean ? static_cast<float>(round_to_half(static_cast<double>(mean)))
                                   : mean;
}

inline HostTensor computed(const Problem& problem, const Tensors& inputs, Fault fault) {
  const Resize resize(problem);
  const HostTensor& x = inputs.at("x");
  HostTensor y(resize.dtype, problem.tensors().back().shape);
  const std::vector<Spot> rows = spots(resize, resize.rows, fault);
  const std::vector<Spot> columns = spots(resize, resize.columns, fault);
  const std::int64_t oh = resize.rows.outputs, ow = resize.columns.outputs;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const Spot& down = rows[static_cast<std::size_t>(i / ow % oh)];
    const Spot& across = columns[static_cast<std::size_t>(i % ow)];
    const auto at = [&](std::int64_t row, std::int64_t column) {
      return (i / ow / oh * resize.rows.extent + row) * resize.columns.extent + column;
    };
    if (!resize.linear && !resize.residual) {
      y.set_bits(i, x.bits(at(down.a, across.a)));
      continue;
    }
    const auto along = [&](std::int64_t row) {
      const auto a = static_cast<float>(x.get(at(row, across.a)));
      if (!resize.linear) return a;
      return between(a, static_cast<float>(x.get(at(row, across.b))), across.f, fault);
    };
    float v = resize.linear ? between(along(down.a), along(down.b), down.f, fault) : along(down.a);
    if (resize.residual && fault != Fault::no_residual) {
      v += static_cast<float>(inputs.at("r").get(i));
    }
    y.set(i, static_cast<double>(v));
  }
  return y;
}

}  // namespace clam::resize_faults
