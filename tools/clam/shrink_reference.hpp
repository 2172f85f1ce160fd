// SPDX-License-Identifier: MIT
// shrink_reference.hpp - what is right of a smaller case, computed in a process of its own: a
// reference may take minutes, and ends with the search.
#pragma once

#include "cli.hpp"
#include "shrink/making.hpp"

namespace clam::cli {

/// As expect_here in another process of this program, which is ended once `over` holds.
Expecting expect_apart(std::function<bool()> over);

/// What that process does with the question in `folder`.
int serve_reference(Cli& cli, const std::string& folder);

}  // namespace clam::cli
