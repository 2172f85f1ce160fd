// SPDX-License-Identifier: MIT
// shrink.hpp - a case made smaller while it still fails.
#pragma once

#include "making.hpp"
#include "shrinking.hpp"

namespace clam {

/// All that can be made smaller of a case, over again until nothing gets smaller. `expecting` says
/// what is right in each.
void shrink(Shrinking& shrinking, const Expecting& expecting = expect_here);

}  // namespace clam
