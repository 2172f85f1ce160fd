// SPDX-License-Identifier: MIT
#include "last_words.hpp"

#include <regex>
#include <sstream>

#include "bundle.hpp"

namespace clam {

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
    const std::size_t panic = line.find("panicked at ");  // behind the thread's name
    if (panic != line.npos) return line.substr(panic, kMost);
    for (const char* sign :
         {"Assertion", "assertion", "LLVM ERROR", "terminate called", "UNREACHABLE"}) {
      if (line.find(sign) != line.npos) return line.substr(0, kMost);
    }
  }
  return "";
}

std::vector<std::string> last_lines(const std::string& errors) {
  constexpr std::size_t kMost = 8, kMostWithoutCause = 4;
  const std::string cause = cause_of(errors);
  std::istringstream stream(errors);
  std::vector<std::string> lines;
  bool caused = false;
  for (std::string line; !caused && std::getline(stream, line);) {
    if (line.empty()) continue;
    lines.push_back(line);
    caused = !cause.empty() && line.find(cause) != line.npos;
    // Rust says where in this line, and what in the next.
    if (caused && line.back() == ':' && std::getline(stream, line)) lines.push_back(line);
  }
  const std::size_t most = caused ? kMost : kMostWithoutCause;
  if (lines.size() > most) lines.erase(lines.begin(), lines.end() - most);
  return lines;
}

}  // namespace clam
