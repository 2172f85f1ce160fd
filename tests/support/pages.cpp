// SPDX-License-Identifier: MIT
#include "pages.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "pattern.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;

const fs::path kTree = CLAM_SOURCE_DIR;

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  std::istringstream stream(text);
  Lines lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

/// The text from its first character that is no blank.
std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin == line.npos ? "" : line.substr(begin);
}

// ---- links ----

/// GitHub's name for a heading: lower case, blanks to dashes, other signs dropped.
std::string anchor(const std::string& heading) {
  std::string name;
  for (const char c : heading) {
    if (c == ' ' || c == '-') name += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      name += static_cast<char>(std::tolower(c));
  }
  return name;
}

bool has_heading(const std::string& text, const std::string& wanted) {
  const Lines lines = lines_of(text);
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return starts_with(line, "#") && anchor(line.substr(line.find_first_not_of("# "))) == wanted;
  });
}

bool leads_somewhere(const std::string& page, const std::string& text, const std::string& target) {
  const std::size_t hash = target.find('#');
  const std::string file = target.substr(0, hash);
  const fs::path place = file.empty() ? kTree / page : (kTree / page).parent_path() / file;
  if (!fs::exists(place)) return false;
  if (hash == target.npos) return true;
  return has_heading(file.empty() ? text : read_file(place.string()), target.substr(hash + 1));
}

// ---- sentences ----

/// Collects lines to paragraphs.
class Paragraphs {
 public:
  void add(const std::string& line) { now_ += (now_.empty() ? "" : " ") + line; }
  void end() {
    if (!now_.empty()) all_.push_back(now_);
    now_.clear();
  }
  bool is_open() const { return !now_.empty(); }
  Lines take() {
    end();
    return std::move(all_);
  }

 private:
  std::string now_;
  Lines all_;
};

std::size_t count_words(const std::string& sentence) {
  std::istringstream stream(sentence);
  std::size_t count = 0;
  for (std::string word; stream >> word;) {
    count +=
        std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  }
  return count;
}

/// A sentence ends with a point and a blank, whatever follows.
Lines long_sentences(const Lines& paragraphs) {
  Lines found;
  for (const std::string& paragraph : paragraphs) {
    const std::string text =
        replaced(replaced(paragraph, "`[^`]*`", "CODE"), "\\[([^\\]]*)\\]\\([^)]*\\)", "$1");
    std::size_t begin = 0;
    while (begin < text.size()) {
      std::size_t end = text.find_first_of(".!?", begin);
      while (end != text.npos && end + 1 < text.size() &&
             text[text.find_first_not_of(".!?\"')*", end)] != ' ') {
        end = text.find_first_of(".!?", end + 1);
      }
      const std::string sentence = text.substr(begin, end == text.npos ? end : end + 1 - begin);
      const std::size_t words = count_words(sentence);
      if (words > kWordsOfASentence) found.push_back(fmt::format("{} words: {}", words, sentence));
      if (end == text.npos) break;
      begin = end + 1;
    }
  }
  return found;
}

/// Whether the line begins an item of a list; `line` becomes the item.
bool takes_item(std::string& line) {
  const Groups item = match(line, " *([-*]|[0-9]+\\.) +(.*)");
  if (item.empty()) return false;
  line = item[2];
  return true;
}

bool is_prose(const std::string& line) {
  for (const char* start : {"|", "#", "<!--", "!["}) {
    if (starts_with(line, start)) return false;
  }
  return !line.empty();
}

}  // namespace

std::vector<std::string> pages() {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(kTree)) {
    if (entry.path().extension() == ".md") found.push_back(entry.path().filename().string());
  }
  for (const char* folder : {"kernels", "host", "bench", "tools", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kTree / folder)) {
      const std::string page = fs::relative(entry.path(), kTree).string();
      if (entry.path().extension() == ".md" && !starts_with(page, "tests/cli/golden/"))
        found.push_back(page);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string page_text(const std::string& page) { return read_file((kTree / page).string()); }

std::vector<std::string> commands_of(const std::string& text) {
  Lines commands;
  bool inside = false;
  for (const std::string& line : lines_of(text)) {
    if (starts_with(line, "```")) {
      inside = line == "```sh";
    } else if (inside && !line.empty()) {
      commands.push_back(replaced(line, "\\s+# .*$", ""));
    }
  }
  return commands;
}

std::vector<std::string> quoted_code(const std::string& text) {
  Lines found;
  bool block = false;
  for (const std::string& line : lines_of(text)) {
    if (starts_with(line, "```")) block = !block;
    if (block) continue;
    for (const Groups& code : matches(line, "`([^`]+)`")) found.push_back(code[1]);
  }
  return found;
}

std::vector<std::string> dead_links(const std::string& page, const std::string& text) {
  Lines dead;
  for (const Groups& link : matches(text, "\\]\\(([^)]+)\\)")) {
    const std::string& target = link[1];
    if (!starts_with(target, "https://") && !leads_somewhere(page, text, target))
      dead.push_back(fmt::format("{}: {}", page, target));
  }
  return dead;
}

std::vector<std::string> over_limits(const std::string& text, const Limits& limits) {
  Lines over;
  const Lines lines = lines_of(text);
  if (lines.size() > limits.lines) over.push_back(fmt::format("{} lines", lines.size()));
  if (text.size() > limits.characters) over.push_back(fmt::format("{} characters", text.size()));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].size() > limits.columns)
      over.push_back(fmt::format("line {}: {} columns", i + 1, lines[i].size()));
  }
  return over;
}

std::vector<std::string> long_sentences_of_page(const std::string& text) {
  Paragraphs paragraphs;
  bool block = false;
  for (std::string line : lines_of(text)) {
    if (starts_with(trimmed(line), "```")) block = !block;
    const bool is_code = block || (starts_with(line, "    ") && !paragraphs.is_open());
    if (is_code || !is_prose(trimmed(line)) || starts_with(trimmed(line), "```")) {
      paragraphs.end();
      continue;
    }
    if (takes_item(line)) paragraphs.end();
    paragraphs.add(trimmed(line));
  }
  return long_sentences(paragraphs.take());
}

std::vector<std::string> long_sentences_of_help(const std::string& text) {
  Paragraphs paragraphs;
  bool indented = false;
  for (const std::string& line : lines_of(text)) {
    const Groups entry = match(line, " +\\S.*?  +(\\S.*)");
    if (line.empty()) {
      paragraphs.end();
    } else if (!entry.empty()) {
      paragraphs.end();
      paragraphs.add(entry[1]);
    } else if (!match(line, " {1,8}-.*").empty()) {
      paragraphs.end();  // its words follow in the next line
    } else {
      if (indented && line[0] != ' ') paragraphs.end();
      paragraphs.add(trimmed(line));
    }
    indented = starts_with(line, " ");
  }
  return long_sentences(paragraphs.take());
}

std::vector<std::string> long_sentences_of_comments(const std::string& text) {
  Paragraphs paragraphs;
  long column = -1;  // of the comment that is being read
  for (const std::string& line : lines_of(text)) {
    const Groups comment = match(line, "(.*?)//[/!]?<? ?(.*)");
    const std::string words = comment.empty() ? "" : comment[2];
    const long begin = static_cast<long>(line.size() - words.size());
    // What is set in further is a picture, a list or an example.
    const bool is_words = !words.empty() && words[0] != ' ' && words[0] != '@';
    const bool begins = is_words && (begin != column || !trimmed(comment[1]).empty());
    if (!is_words || begins) paragraphs.end();
    column = is_words ? begin : -1;
    if (is_words) paragraphs.add(words);
  }
  return long_sentences(paragraphs.take());
}

}  // namespace clam::test
