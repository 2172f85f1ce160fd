// SPDX-License-Identifier: MIT
#include "lines.hpp"

#include <algorithm>

#include "clam/error.hpp"
#include "lift/lines.hpp"

namespace clam {
namespace {

/// Nothing behind it may stand without it: the head of a function, an expression that goes on.
bool goes_on(const std::string& line) {
  return line.find_first_of(";{}#") == line.npos && line.find_first_not_of(" \t\r\n") != line.npos;
}

}  // namespace

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

int depth_of(const std::string& line) {
  const std::size_t at = std::min(line.find_first_not_of(" \t"), line.size());
  if (line.compare(at, 3, "#if") == 0) return 1;
  if (line.compare(at, 6, "#endif") == 0) return -1;
  const auto count = [&](char c) {
    return static_cast<int>(std::count(line.begin(), line.end(), c));
  };
  return count('{') - count('}');
}

Lines without_comments(const Lines& lines) {
  Lines rest;
  for (const std::string& line : lines) {
    const std::size_t at = line.find_first_not_of(" \t\r\n");
    if (at != line.npos && line.compare(at, 2, "//") != 0) rest.push_back(line);
  }
  return rest;
}

std::size_t closing(const Lines& lines, std::size_t i) {
  int depth = 0;
  for (std::size_t j = i; j < lines.size(); ++j) {
    depth += depth_of(lines[j]);
    if (depth <= 0) return j;
  }
  return lines.size();
}

Level level_of(const Lines& lines, int depth) {
  Level level;
  int now = 0;
  bool open = false;  // within a statement of this depth
  for (const std::string& line : lines) {
    const int after = std::max(0, now + depth_of(line));
    const bool closes_around = !open && after < now && now <= depth;
    const bool opens_around = !open && now < depth;
    if (closes_around || opens_around) {
      level.statement.push_back(Level::kStays);
    } else {
      if (!open) ++level.count;
      level.statement.push_back(level.count - 1);
      open = after > depth || goes_on(line);
    }
    now = after;
  }
  return level;
}

Lines taken_branches(const Lines& lines, const std::string& options) {
  std::string others;
  const std::string defines = defines_of(options, others);
  try {
    std::string text;
    for (const Tokens& line : taken_lines(defines + joined(lines)).lines) text += text_of(line);
    const Lines taken = lines_of(text);
    return {taken.begin() + std::count(defines.begin(), defines.end(), '\n'), taken.end()};
  } catch (const BadArgument&) {
    return lines;
  }
}

Lines used_by(const Lines& lines, const std::vector<std::string>& wanted) {
  std::vector<Piece> pieces = pieces_of(lines_in(tokens_of(joined(lines))));
  keep_needed(pieces, {wanted.begin(), wanted.end()});
  std::string text;
  for (const Piece& piece : pieces) {
    if (piece.is_kept) text += text_of(piece.tokens);
  }
  return lines_of(text);
}

}  // namespace clam
