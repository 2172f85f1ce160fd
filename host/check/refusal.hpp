// SPDX-License-Identifier: MIT
// refusal.hpp - what is wrong with the caller's input, in one sentence.
#pragma once

#include <fmt/core.h>

#include <utility>

#include "clam/error.hpp"

namespace clam {

/// Throws BadArgument; `sentence` has places for the arguments.
template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> sentence, Args&&... args) {
  throw BadArgument(fmt::format(sentence, std::forward<Args>(args)...));
}

}  // namespace clam
