// SPDX-License-Identifier: MIT
// dead.hpp - what of a kernel file is never executed, as constants decide it.
#pragma once

#include <vector>

#include "lines.hpp"

namespace clam {

/// The pieces without statements, branches of ?: and variables that nothing reaches. Constants, and
/// what all calls give a parameter, stand for their names. `fixed`: macros that are the same
/// everywhere.
std::vector<Piece> without_dead(const std::vector<Piece>& pieces, const Macros& fixed);

}  // namespace clam
