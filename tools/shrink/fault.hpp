// SPDX-License-Identifier: MIT
// fault.hpp - whether a smaller case fails for the same reason.
#pragma once

#include <string>

#include "bundle/bundle.hpp"

namespace clam {

/// What of a failure must stay in a smaller case: the outcome, and of wrong results the tensor, of
/// a crash the signal and what the driver said last, of an error its code, of a build the first
/// error without its place in the file. Which element is wrong, and how far, may change.
std::string fault_of(const Seen& seen);

}  // namespace clam
