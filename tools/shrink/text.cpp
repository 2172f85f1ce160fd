// SPDX-License-Identifier: MIT
// text.cpp - the files of a case, to the lines that it fails by.
#include <fmt/core.h>

#include <algorithm>

#include "search.hpp"
#include "steps.hpp"

namespace clam {
namespace {

/// A line with those that continue it.
using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  bool goes_on = false;
  for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at) + "\n";
    if (goes_on) {
      lines.back() += line;
    } else {
      lines.push_back(line);
    }
    goes_on = line.size() > 1 && line[line.size() - 2] == '\\';
  }
  return lines;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

/// Braces and conditions of the preprocessor that a line opens, less those that it closes.
int depth_of(const std::string& line) {
  const std::size_t at = std::min(line.find_first_not_of(" \t"), line.size());
  if (line.compare(at, 3, "#if") == 0) return 1;
  if (line.compare(at, 6, "#endif") == 0) return -1;
  const auto count = [&](char c) {
    return static_cast<int>(std::count(line.begin(), line.end(), c));
  };
  return count('{') - count('}');
}

/// Lines together that lie within the same braces: of kernels, with what stands between them.
std::vector<Lines> blocks_of(const Lines& lines) {
  std::vector<Lines> blocks;
  int depth = 0;
  bool open = false;
  for (const std::string& line : lines) {
    if (!open) blocks.emplace_back();
    blocks.back().push_back(line);
    depth = std::max(0, depth + depth_of(line));
    // What stands alone between blocks is a part of its own, but for the head of a function.
    const bool whole = line.find_first_of(";}#") != line.npos || line == "\n";
    open = depth > 0 || !whole;
  }
  return blocks;
}

/// The text without lines that say nothing to a compiler.
Lines without_comments(const Lines& lines) {
  Lines rest;
  for (const std::string& line : lines) {
    const std::size_t at = line.find_first_not_of(" \t\r\n");
    if (at != line.npos && line.compare(at, 2, "//") != 0) rest.push_back(line);
  }
  return rest;
}

/// The line that closes what line `i` opens.
std::size_t closing(const Lines& lines, std::size_t i) {
  int depth = 0;
  for (std::size_t j = i; j < lines.size(); ++j) {
    depth += depth_of(lines[j]);
    if (depth <= 0) return j;
  }
  return lines.size();
}

/// The file's text, as it gets smaller.
class Text {
 public:
  Text(Shrinking& shrinking, std::string file) : shrinking_(&shrinking), file_(std::move(file)) {}

  Lines now() const { return lines_of(shrinking_->smallest().kernels.at(file_)); }
  bool over() const { return shrinking_->over(); }
  bool take(const Lines& lines) {
    if (over()) return false;
    const auto shown = [](const Lines& all) { return fmt::format("{} lines", all.size()); };
    const Lines before = now();
    Bundle less = shrinking_->smallest();
    less.kernels[file_] = joined(lines);
    return lines.size() < before.size() &&
           shrinking_->take(less, file_, shown(before), shown(lines));
  }
  /// The fewest of these parts of it.
  bool take_needed(const std::vector<Lines>& parts) {
    const auto holds = [&](const Parts& kept) {
      if (over()) return false;
      Lines lines;
      for (const std::size_t i : kept) lines.insert(lines.end(), parts[i].begin(), parts[i].end());
      return take(lines);
    };
    return needed(parts.size(), holds).size() < parts.size();
  }

 private:
  Shrinking* shrinking_;
  std::string file_;
};

bool shrink_lines(Text& text) {
  std::vector<Lines> parts;
  for (const std::string& line : text.now()) parts.push_back({line});
  return text.take_needed(parts);
}

/// What is in braces or under a condition, with the two lines around it that only go together; or
/// those two lines alone.
bool shrink_nested(Text& text) {
  bool smaller = false;
  for (std::size_t i = 0; !text.over() && i < text.now().size(); ++i) {
    const Lines lines = text.now();
    if (depth_of(lines[i]) <= 0) continue;
    const std::size_t end = closing(lines, i);
    if (end >= lines.size()) continue;
    const auto at = [&](std::size_t j) { return lines.begin() + static_cast<std::ptrdiff_t>(j); };
    Lines outside(lines.begin(), at(i)), inside(lines.begin(), at(i));
    outside.insert(outside.end(), at(end + 1), lines.end());
    inside.insert(inside.end(), at(i + 1), at(end));
    inside.insert(inside.end(), at(end + 1), lines.end());
    if (!text.take(outside) && !text.take(inside)) continue;
    smaller = true;
    --i;  // another line stands there now
  }
  return smaller;
}

bool shrink_file(Shrinking& shrinking, const std::string& file) {
  Text text(shrinking, file);
  bool smaller = text.take(without_comments(text.now()));
  for (bool again = true; again; smaller = smaller || again) {
    again = text.take_needed(blocks_of(text.now()));
    again = shrink_lines(text) || again;
    again = shrink_nested(text) || again;
  }
  return smaller;
}

}  // namespace

bool shrink_text(Shrinking& shrinking) {
  bool smaller = false;
  for (const auto& [file, text] : Bundle(shrinking.smallest()).kernels) {
    smaller = shrink_file(shrinking, file) || smaller;
  }
  if (smaller && shrinking.outcome() == Seen::Outcome::build_failed) {
    shrinking.note("look whether what is left is OpenCL C, so that a compiler should take it");
  }
  return smaller;
}

}  // namespace clam
