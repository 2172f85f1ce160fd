// SPDX-License-Identifier: MIT
// suppression_reference.hpp - which boxes are kept, for the references of ops that suppress.
#pragma once

#include <cstdint>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/shared/suppression.hpp"

namespace clam {

/// The candidates of a set, in order, which of them are kept, and the rows of those alone.
struct Selected {
  std::vector<std::int64_t> rows;
  std::vector<char> keep;
  std::vector<std::int64_t> kept;
};
/// As the definition reads: sort, walk, and ask of each candidate whether a kept one kills it.
/// Overlaps are computed in float, operation by operation, so that the result is exact.
std::vector<Selected> select(const Suppression&, const Tensors& inputs, const ReferenceOptions&);

/// Writes the candidates of a set: rows that are not kept as -1 or, `compact`, not at all.
void write_rows(const Suppression& s, bool compact, const HostTensor& data, std::int64_t set,
                const Selected& selected, HostTensor& out);

/// What a device makes of a float: one without denormals takes them for 0, as operand and result.
struct DeviceFloat {
  bool denormals;
  float operator()(float x) const;
};

}  // namespace clam
