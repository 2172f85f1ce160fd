// SPDX-License-Identifier: MIT
// allocations.hpp - how often this thread has asked operator new for memory.
#pragma once

#include <cstdint>
#include <optional>

namespace clam::test {

/// Nothing where a sanitizer has its own operator new.
std::optional<std::int64_t> allocations();

}  // namespace clam::test
