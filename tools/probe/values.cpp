// SPDX-License-Identifier: MIT
#include "values.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "check/compare.hpp"

namespace clam {

using nlohmann::json;

void fill(HostTensor& tensor, const json& spec) {
  if (spec.contains("iota")) {
    const auto first = spec["iota"].at(0).get<double>(), step = spec["iota"].at(1).get<double>();
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      tensor.set(i, first + step * static_cast<double>(i));
    }
  } else if (spec.contains("values")) {
    const auto values = spec["values"].get<std::vector<double>>();
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      tensor.set(i, values.at(static_cast<std::size_t>(i) % values.size()));
    }
  } else {
    fill_poison(tensor);
  }
}

double spacing(Dtype dtype, double value) {
  if (dtype == Dtype::i32) return 1;
  const int least = dtype == Dtype::f16 ? -14 : -126, digits = dtype == Dtype::f16 ? 10 : 23;
  const int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  return std::ldexp(1.0, exponent - digits);
}

}  // namespace clam
