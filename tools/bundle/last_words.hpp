// SPDX-License-Identifier: MIT
// last_words.hpp - what a process printed before a driver ended it.
#pragma once

#include <string>
#include <vector>

namespace clam {

/// Of the person, the machine and this one run, addresses and process numbers, nothing is left, so
/// that two crashes of one cause read the same. At most a MiB, the last of it.
std::string steady(const std::string& errors);

/// Of that what a reader needs first: the lines up to and with the one of the cause, else the last.
std::vector<std::string> last_lines(const std::string& errors);

/// The line that names the cause: a failed assertion, a panic, an uncaught exception. Empty where
/// none does.
std::string cause_of(const std::string& errors);

}  // namespace clam
