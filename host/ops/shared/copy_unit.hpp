// SPDX-License-Identifier: MIT
// copy_unit.hpp - how many elements a load takes, in ops that only move them.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "clam/tensor.hpp"

namespace clam {

/// Elements of the widest load, 16 bytes at most, that divides all of `lengths`, in elements.
int copy_unit(std::initializer_list<std::int64_t> lengths, Dtype dtype);

}  // namespace clam
