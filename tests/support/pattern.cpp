// SPDX-License-Identifier: MIT
#include "pattern.hpp"

#include <map>
#include <regex>

namespace clam::test {
namespace {

const std::regex& compiled(const std::string& pattern) {
  static std::map<std::string, std::regex> known;
  const auto found = known.find(pattern);
  return found != known.end() ? found->second
                              : known.emplace(pattern, std::regex(pattern)).first->second;
}

Groups groups_of(const std::smatch& match) { return {match.begin(), match.end()}; }

}  // namespace

bool has_pattern(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, compiled(pattern));
}

Groups match(const std::string& text, const std::string& pattern) {
  std::smatch match;
  return std::regex_match(text, match, compiled(pattern)) ? groups_of(match) : Groups();
}

std::vector<Groups> matches(const std::string& text, const std::string& pattern) {
  std::vector<Groups> all;
  for (std::sregex_iterator it(text.begin(), text.end(), compiled(pattern)), end; it != end; ++it) {
    all.push_back(groups_of(*it));
  }
  return all;
}

std::string replaced(const std::string& text, const std::string& pattern, const std::string& by) {
  return std::regex_replace(text, compiled(pattern), by);
}

}  // namespace clam::test
