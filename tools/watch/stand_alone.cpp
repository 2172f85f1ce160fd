// SPDX-License-Identifier: MIT
#include "stand_alone.hpp"

#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

#include "bundle/bundle.hpp"
#include "runtime/atomic_file.hpp"
#include "tokens/tokens.hpp"

namespace clam::watch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytesOfText = std::size_t{8} << 20;  // of files that include others

/// Words, of which one may stand in quotes; these stay. "-I FOLDER" is one word, without the blank.
std::vector<std::string> words_of(const std::string& options) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  for (const char c : options) {
    const bool is_blank = quote == 0 && (c == ' ' || c == '\t' || c == '\n');
    if (!is_blank) {
      word += c;
    } else if (!word.empty() && word != "-I") {
      words.push_back(word);
      word.clear();
    }
    const bool opens = quote == 0 && (c == '"' || c == '\'');
    if (opens || c == quote) quote = opens ? c : 0;
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

std::string without_quotes(std::string word) {
  if (word.size() >= 2 && (word[0] == '"' || word[0] == '\'') && word.back() == word[0]) {
    word = word.substr(1, word.size() - 2);
  }
  return word;
}

/// The file that a line includes; empty: it is no such line.
std::string included(const std::string& line) {
  std::istringstream words(line.substr(0, line.find("//")));
  std::string text, rest;
  while (words >> rest) text += rest;
  for (const auto& [open, close] : {std::pair('"', '"'), std::pair('<', '>')}) {
    const std::string start = std::string("#include") + open;
    if (text.compare(0, start.size(), start) != 0 || text.back() != close) continue;
    return text.substr(start.size(), text.size() - start.size() - 1);
  }
  return "";
}

class Includer {
 public:
  explicit Includer(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  /// `folder`: of the file that the text is of; empty: none.
  std::string whole(const std::string& text, const std::string& folder = "") {
    std::string result;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const std::string name = included(line), path = name.empty() ? "" : find(name, folder);
      if (path.empty() || bytes_ > kMostBytesOfText) {
        result += line + "\n";
      } else if (once_.count(path) == 0 && open_.insert(path).second) {
        const std::string inner = read_file(path);
        bytes_ += inner.size();
        if (inner.find("#pragma once") != inner.npos) once_.insert(path);
        result += whole(inner, fs::path(path).parent_path().string());
        open_.erase(path);
      }
    }
    if (!text.empty() && text.back() != '\n' && !result.empty()) result.pop_back();
    return result;
  }

 private:
  std::string find(const std::string& name, const std::string& own_folder) const {
    std::vector<std::string> folders = folders_;
    if (!own_folder.empty()) folders.insert(folders.begin(), own_folder);
    for (const std::string& folder : folders) {
      const fs::path path = fs::path(folder) / name;
      std::error_code error;
      if (fs::is_regular_file(path, error)) return path.string();
    }
    return "";
  }

  std::vector<std::string> folders_;
  std::set<std::string> once_, open_;  ///< open_: those that are being included
  std::size_t bytes_ = 0;
};

/// Comments, texts in quotes and the paths of options without names; other words stay, where a name
/// may be a variable's.
std::string word_without_names(const std::string& word) {
  return word.find_first_of("/\"'") == word.npos ? word : anonymous(word);
}

/// Their words are prose or paths, with quotes as in prose.
bool is_prose(const Tokens& line) {
  static const std::set<std::string> words{"error", "warning", "pragma", "line", "include"};
  return words.count(directive_of(line)) > 0;
}

std::string without_names(const std::string& text) {
  std::string result;
  for (const Tokens& line : lines_in(tokens_of(text))) {
    if (is_prose(line)) {
      result += anonymous(text_of(line));
      continue;
    }
    for (const Token& token : line) {
      for (const std::string& part : {token.before, token.text, token.after}) {
        result += part == "/" ? part : word_without_names(part);
      }
    }
  }
  return result;
}

}  // namespace

Source stand_alone(const Source& source) {
  std::vector<std::string> folders;
  std::string options;
  for (const std::string& word : words_of(source.options)) {
    if (word.compare(0, 2, "-I") == 0) {
      folders.push_back(without_quotes(word.substr(2)));
    } else {
      options += (options.empty() ? "" : " ") + word_without_names(word);
    }
  }
  folders.push_back(".");
  return {without_names(Includer(folders).whole(source.text)), options};
}

}  // namespace clam::watch
