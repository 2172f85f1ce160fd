// SPDX-License-Identifier: MIT
// shared_text.hpp - text that several kernel files have, each its own copy.
//
// A driver gets one file, which includes no other. So what files share has one source,
// kernels/shared/NAME.cl, and stands in each of them between two lines:
//     //@shared NAME
//     //@end
// `clam manifest --sync kernels` writes the copies; a test compares them. Text of the name
// `options` has no such source. It is made of the file's //@define tags: the default of each
// option, and what refuses a number that is not legal.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace clam {

/// The text of kernels/shared/NAME.cl.
using SharedSource = std::function<std::string(const std::string& name)>;

/// The text of a kernel file with each copy written anew. `file` is for messages. Throws
/// BadArgument for a copy without an end, within another or without a name, and for tags that are
/// wrong.
std::string with_shared_text(const std::string& file, const std::string& text,
                             const SharedSource& source);

/// Writes the copies in all files FOLDER/*.cl anew, from FOLDER/shared. Returns the names of those
/// that it changed. Throws BadArgument and IoError.
std::vector<std::string> sync_shared_text(const std::string& folder);

}  // namespace clam
