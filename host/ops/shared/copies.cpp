// SPDX-License-Identifier: MIT
#include "copies.hpp"

namespace clam {

int copy_unit(std::initializer_list<std::int64_t> lengths, Dtype dtype) {
  constexpr int kBytes = 16;
  int unit = kBytes / size_of(dtype);
  for (const std::int64_t length : lengths) {
    while (length % unit != 0) unit /= 2;
  }
  return unit;
}

double copy_bytes(const Problem& problem) {
  double bytes = 0;
  for (const TensorSpec& spec : problem.op().tensors(problem)) {
    bytes += static_cast<double>(count(spec.shape)) * size_of(spec.dtype);
  }
  return bytes;
}

}  // namespace clam
