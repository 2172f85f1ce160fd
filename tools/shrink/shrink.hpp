// SPDX-License-Identifier: MIT
// shrink.hpp - a case made smaller while it still fails.
#pragma once

#include "making.hpp"
#include "shrinking.hpp"

namespace clam {

/// Who says what is right in a smaller case.
enum class Oracle {
  reference,        ///< that of the problem, or nobody
  drivers,          ///< whoever runs the case: other drivers, which agree
  checked_drivers,  ///< with a simulator among them, that sees reads outside of a buffer
};

/// All that can be made smaller of a case, over again until nothing gets smaller. `expecting`: the
/// reference.
void shrink(Shrinking& shrinking, Oracle oracle = Oracle::reference,
            const Expecting& expecting = expect_here);

}  // namespace clam
