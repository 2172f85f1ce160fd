// SPDX-License-Identifier: MIT
// values.hpp - the values that probe.json gives for a buffer; launch.cpp says how they are written.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "clam/tensor.hpp"

namespace clam {

/// By "values" or "iota"; poison where there is neither.
void fill(HostTensor& tensor, const nlohmann::json& spec);

/// Distance of neighbours in the dtype, near `value`.
double spacing(Dtype dtype, double value);

}  // namespace clam
