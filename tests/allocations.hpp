// SPDX-License-Identifier: MIT
// allocations.hpp - how often this thread has asked operator new for memory.
#pragma once

#include <cstdint>

namespace clam::test {

std::int64_t allocations();

}  // namespace clam::test
