// SPDX-License-Identifier: MIT
// break_pack.hpp - a fault in a kernel that only problems with weights to pack meet.
#pragma once

#include "test_device.hpp"

namespace clam::test {

/// A kernel folder where dense's packing does something first.
inline void break_pack(const TemporaryFolder& folder, const std::string& first) {
  const std::string store = "*(__global W4*)(wp + at) = ";
  break_kernel(folder, "dense.cl", store, first + " " + store);
}

}  // namespace clam::test
