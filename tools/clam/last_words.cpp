// SPDX-License-Identifier: MIT
#include "last_words.hpp"

#include <regex>
#include <sstream>

#include "bundle/bundle.hpp"

namespace clam::cli {

std::string steady(const std::string& errors) {
  constexpr std::size_t kMost = 1 << 20;
  // Longer than the constants of a listing; and as sanitizers and Rust print the process.
  static const std::regex address("0x[0-9a-fA-F]{9,}"),
      process("==[0-9]+==|\\([0-9]+\\)(?= panicked)");
  const std::string last = errors.size() > kMost ? errors.substr(errors.size() - kMost) : errors;
  return anonymous(std::regex_replace(std::regex_replace(last, address, "0x..."), process, "..."));
}

std::string cause_of(const std::string& errors) {
  constexpr std::size_t kMost = 300;
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) {
    for (const char* sign : {"Assertion", "assertion", "panicked at", "LLVM ERROR",
                             "terminate called", "what():", "UNREACHABLE", "Unhandled"}) {
      if (line.find(sign) != line.npos) return line.substr(0, kMost);
    }
  }
  return "";
}

}  // namespace clam::cli
