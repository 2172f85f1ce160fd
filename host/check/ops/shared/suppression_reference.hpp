// SPDX-License-Identifier: MIT
// suppression_reference.hpp - which boxes are kept, for the references of ops that suppress.
#pragma once

#include <cstdint>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/shared/suppression.hpp"

namespace clam {

/// The candidates of a set, in order, and which of them are kept.
struct Selected {
  std::vector<std::int64_t> rows;
  std::vector<char> keep;
};
/// As the definition reads: sort, walk, and ask of each candidate whether a kept one kills it.
/// Overlaps are computed in float, operation by operation, so that the result is exact.
std::vector<Selected> select(const Suppression&, const Tensors& inputs, const ReferenceOptions&);

/// What a device makes of a float: one without denormals takes them for 0, as operand and result.
struct DeviceFloat {
  bool denormals;
  float operator()(float x) const;
};

}  // namespace clam
