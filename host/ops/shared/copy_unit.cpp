// SPDX-License-Identifier: MIT
#include "copy_unit.hpp"

namespace clam {

int copy_unit(std::initializer_list<std::int64_t> lengths, Dtype dtype) {
  constexpr int kBytes = 16;
  int unit = kBytes / size_of(dtype);
  for (const std::int64_t length : lengths) {
    while (length % unit != 0) unit /= 2;
  }
  return unit;
}

}  // namespace clam
