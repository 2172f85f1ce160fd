// SPDX-License-Identifier: MIT
// shrink.hpp - a case made smaller while it still fails.
#pragma once

#include "shrinking.hpp"

namespace clam {

/// All that can be made smaller of a case, over again until nothing gets smaller.
void shrink(Shrinking& shrinking);

}  // namespace clam
