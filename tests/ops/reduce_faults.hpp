// SPDX-License-Identifier: MIT
// reduce_faults.hpp - a reduction in float on the host, right or with a fault.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/op_proof.hpp"
#include "ops/reduce.hpp"

namespace clam::reduce_faults {

enum class Fault { none, drop_last, half, other_divisor };

/// A result computed like a kernel, in float, element after element.
struct Result {
  const std::string& op;
  Fault fault;
  float all;
  int elements = 0;

  Result(const std::string& op, Fault fault)
      : op(op),
        fault(fault),
        all(op == "prod"  ? 1
            : op == "max" ? -std::numeric_limits<float>::infinity()
            : op == "min" ? std::numeric_limits<float>::infinity()
                          : 0) {}

  void add(float x) {
    ++elements;
    if (op == "max" || op == "min") {
      if (std::isnan(x) || (op == "max" ? x > all : x < all)) all = x;
    } else if (op == "prod") {
      all *= x;
    } else {
      all += op == "l1" ? std::fabs(x) : op == "l2" || op == "sum_square" ? x * x : x;
    }
    if (fault == Fault::half) all = static_cast<float>(round_to_half(static_cast<double>(all)));
  }
  float finished() const {
    const int divisor = elements + (fault == Fault::other_divisor ? 1 : 0);
    if (op == "mean") return all * (1.0f / static_cast<float>(divisor));
    return op == "l2" ? std::sqrt(all) : all;
  }
};

inline HostTensor computed(const Problem& problem, const Tensors& inputs, Fault fault) {
  const Reduction r(problem);
  const HostTensor& src = inputs.at("src");
  HostTensor dst(problem.dtype(), problem.tensors().back().shape);
  for (std::int64_t i = 0; i < dst.size(); ++i) {
    const std::int64_t column = i % r.c, block = i / r.c % r.blocks, outer = i / r.c / r.blocks;
    Result result(problem.choice("op"), fault);
    for (std::int64_t j = 0; j < r.elements() - (fault == Fault::drop_last ? 1 : 0); ++j) {
      const std::int64_t row = (outer * r.r1 + j / r.r2) * r.blocks + block;
      result.add(static_cast<float>(src.get((row * r.r2 + j % r.r2) * r.c + column)));
    }
    dst.set(i, static_cast<double>(result.finished()));
  }
  return dst;
}

}  // namespace clam::reduce_faults
