// SPDX-License-Identifier: MIT
// pattern.hpp - regular expressions (ECMAScript). One file includes <regex>, which takes long to
// compile.
#pragma once

#include <string>
#include <vector>

namespace clam::test {

using Groups = std::vector<std::string>;  ///< the text that a pattern found, then its groups

/// Whether it stands somewhere in the text.
bool has_pattern(const std::string& text, const std::string& pattern);

/// Of the whole text; none where the pattern is not that of the whole text.
Groups match(const std::string& text, const std::string& pattern);

/// Of each place where it stands.
std::vector<Groups> matches(const std::string& text, const std::string& pattern);

/// The text with `by` at each such place; in it, $1 is the first group.
std::string replaced(const std::string& text, const std::string& pattern, const std::string& by);

}  // namespace clam::test
