// SPDX-License-Identifier: MIT
#include "last_words.hpp"

#include <sstream>

#include "bundle.hpp"
#include "tokens/letters.hpp"

namespace clam {
namespace {

/// What stands between `before` and `after`, if it is all `is` and `least` long: where that ends,
/// `after` with it. 0: it is not.
template <class Is>
std::size_t enclosed(const std::string& text, std::size_t at, const std::string& before,
                     const Is& is, std::size_t least, const std::string& after) {
  if (text.compare(at, before.size(), before) != 0) return 0;
  const std::size_t start = at + before.size();
  std::size_t end = start;
  while (end < text.size() && is(text[end])) ++end;
  if (end - start < least || text.compare(end, after.size(), after) != 0) return 0;
  return end + after.size();
}

/// Where the address or process number ends that starts here; 0: none does.
std::size_t end_of_passing(const std::string& text, std::size_t at) {
  constexpr std::size_t kAddress = 9;  // digits: longer than the constants of a listing
  if (const std::size_t end = enclosed(text, at, "0x", is_hex, kAddress, "")) return end;
  // As sanitizers and Rust print the process.
  if (const std::size_t end = enclosed(text, at, "==", is_digit, 1, "==")) return end;
  const std::string panicked = " panicked";
  const std::size_t end = enclosed(text, at, "(", is_digit, 1, ")" + panicked);
  return end > 0 ? end - panicked.size() : 0;
}

}  // namespace

// By hand, in one go: std::regex runs out of stack on a long line.
std::string steady(const std::string& errors) {
  constexpr std::size_t kMost = 1 << 20;
  const std::string last = errors.size() > kMost ? errors.substr(errors.size() - kMost) : errors;
  std::string rest;
  for (std::size_t i = 0; i < last.size();) {
    const bool may_start = last[i] == '0' || last[i] == '=' || last[i] == '(';
    const std::size_t end = may_start ? end_of_passing(last, i) : 0;
    rest += end == 0 ? std::string(1, last[i]) : last[i] == '0' ? "0x..." : "...";
    i = end == 0 ? i + 1 : end;
  }
  return anonymous(rest);
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
