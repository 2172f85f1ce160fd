// SPDX-License-Identifier: MIT
// command.cpp - the commands of results files, which a person copies from the page.
#include <algorithm>
#include <cctype>
#include <sstream>

#include "part.hpp"

namespace clam {
namespace {

/// The line with what stands in quotes as one letter; empty where a quote is not closed.
std::string without_quotes(std::string_view line) {
  std::string bare;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\'') {
      i = line.find('\'', i + 1);
      if (i == line.npos) return "";
      bare += 'q';
    } else if (line.substr(i, 2) == "\\'") {
      bare += 'q';
      ++i;
    } else {
      bare += line[i];
    }
  }
  return bare;
}

/// Whether it is the same to a shell in quotes or not.
bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view(" _-./:,=+@%").find(c) != std::string_view::npos;
  });
}

}  // namespace

bool runs_clam_bench(std::string_view line) {
  const std::string bare = without_quotes(line);
  if (!is_plain(bare)) return false;
  std::istringstream words(bare);
  std::string word, value;
  words >> word;
  if (word.rfind("CLAM_KERNEL_DIR=", 0) == 0) words >> word;
  if (word != "clam-bench") return false;
  while (words >> word) {
    const bool known = word == "--problem" || word == "--variant" || word == "--device";
    if (!known || !(words >> value)) return false;
  }
  return true;
}

}  // namespace clam
