// SPDX-License-Identifier: MIT
// stand_alone.hpp - a program's source that needs no file of the machine where it was recorded.
#pragma once

#include <string>

namespace clam::watch {

/// What a file of a bundle is built from.
struct Source {
  std::string text, options;
};

/// With the files that it includes in their places, as far as folders of the options (-I) or the
/// current one have them, and without these folders. What names the person, the machine or
/// somebody's home is replaced in comments and texts, as in all texts of a bundle.
Source stand_alone(const Source& source);

}  // namespace clam::watch
