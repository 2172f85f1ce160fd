// SPDX-License-Identifier: MIT
// shrink.cpp - the order in which a case gets smaller.
#include "shrink.hpp"

#include <optional>

#include "steps.hpp"

namespace clam {
namespace {

/// Sizes and data each make more of the other possible. First without other options: a fault that
/// hangs on these would hide from a search that comes past them.
void shrink_made(Shrinking& shrinking, Making& making) {
  for (const bool keeps_options : {true, false}) {
    making.keeps_options = keeps_options;
    for (bool again = true; again && !shrinking.over();) {
      again = shrink_problem(shrinking, making);
      again = shrink_data(shrinking, making) || again;
    }
  }
}

bool shrink_built(Shrinking& shrinking) {
  const bool text = shrink_text(shrinking);
  return shrink_options(shrinking) || text;
}

/// A kernel of others, of which drivers say what is right: each part makes more of the others
/// possible. Smaller launches first: all that comes then is faster.
void shrink_judged(Shrinking& shrinking, bool is_checked) {
  for (bool again = true; again && !shrinking.over();) {
    again = shrink_sizes(shrinking);
    again = shrink_values(shrinking) || again;
    again = shrink_text(shrinking) || again;
    again = shrink_options(shrinking, true) || again;
    if (is_checked) again = shrink_buffers(shrinking) || again;
  }
  if (!is_checked) {
    shrinking.note(
        "nobody looked whether the kernel that is left reads what nobody wrote: run it in "
        "Oclgrind");
  }
}

}  // namespace

void shrink(Shrinking& shrinking, Oracle oracle, const Expecting& expecting) {
  if (shrinking.over()) return;
  shrink_to_build(shrinking);
  if (shrinking.smallest().build_only()) {
    while (shrink_built(shrinking)) continue;
    return;
  }
  if (shrinking.over()) return;
  if (oracle != Oracle::reference) {
    shrink_launches(shrinking);
    return shrink_judged(shrinking, oracle == Oracle::checked_drivers);
  }
  std::string why_not;
  std::optional<Making> making = making_of(shrinking.smallest(), why_not, expecting);
  if (making) {
    shrink_made(shrinking, *making);
  } else {
    shrinking.note("the extents stay: " + why_not);
    shrink_foreign_data(shrinking);
  }
  // Without a launch or an option it is no longer the plan that clam makes, so these come later.
  shrink_launches(shrinking);
  shrink_options(shrinking);
  if (making) shrink_elements(shrinking, *making);
}

}  // namespace clam
