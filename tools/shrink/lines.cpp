// SPDX-License-Identifier: MIT
#include "lines.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"

namespace clam {

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

namespace {

/// Nothing behind it may stand without it: the head of a function, an expression that goes on.
bool goes_on(const std::string& line) {
  return line.find_first_of(";{}#") == line.npos && line.find_first_not_of(" \t\r\n") != line.npos;
}

}  // namespace

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

namespace {

using Names = std::set<std::string>;

Names names_in(const std::string& text) {
  Names names;
  std::string name;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      name += c;
    } else if (!name.empty()) {
      if (!std::isdigit(static_cast<unsigned char>(name[0]))) names.insert(name);
      name.clear();
    }
  }
  return names;
}

/// The first name that stands behind this place.
std::string name_behind(const std::string& text, std::size_t at) {
  at = std::min(text.find_first_not_of(" \t(", at), text.size());
  std::size_t end = at;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) {
    ++end;
  }
  return text.substr(at, end - at);
}

/// What a line defines for the preprocessor; empty: nothing.
std::string macro_of(const std::string& line) {
  const std::size_t at = line.find("#define");
  return at == line.npos ? "" : name_behind(line, at + 7);
}

/// Without "__attribute__((...))", whose brackets hold no parameters.
std::string without_attributes(std::string head) {
  for (std::size_t at; (at = head.find("__attribute__")) != head.npos;) {
    std::size_t end = head.find('(', at);
    for (int depth = 0; end < head.size(); ++end) {
      depth += head[end] == '(' ? 1 : head[end] == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    head.erase(at, std::min(end, head.size()) - at + 1);
  }
  return head;
}

/// What stands at depth 0: of a function its name alone, else all names, as of types and constants.
Names defined_by(const std::string& head) {
  const std::string text = without_attributes(head);
  const std::size_t bracket = text.find('(');
  if (bracket == text.npos || text.find("typedef") != text.npos) return names_in(text);
  std::size_t end = bracket;
  while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1]))) --end;
  std::size_t start = end;
  while (start > 0 &&
         (std::isalnum(static_cast<unsigned char>(text[start - 1])) || text[start - 1] == '_')) {
    --start;
  }
  return {text.substr(start, end - start)};
}

/// Of a block: its macros, and what is defined before its first brace, or behind the last one of a
/// "typedef struct { ... } name;".
Names defined_in(const Lines& block) {
  Names names;
  std::string code;
  for (const std::string& line : block) {
    if (const std::string macro = macro_of(line); !macro.empty()) names.insert(macro);
    if (line.find('#') == line.npos) code += line;
  }
  if (code.find_first_not_of(" \t\r\n") == code.npos) return names;
  const Names own = defined_by(code.substr(0, code.find('{')));
  names.insert(own.begin(), own.end());
  if (code.compare(0, 7, "typedef") == 0 && code.rfind('}') != code.npos) {
    const Names last = names_in(code.substr(code.rfind('}')));
    names.insert(last.begin(), last.end());
  }
  return names;
}

/// Words of the language, which every block has.
bool is_common(const std::string& name) {
  static const Names common{"__kernel", "kernel",    "__global",      "global",
                            "__local",  "local",     "__constant",    "constant",
                            "const",    "restrict",  "inline",        "static",
                            "void",     "int",       "uint",          "float",
                            "half",     "char",      "uchar",         "short",
                            "ushort",   "long",      "ulong",         "size_t",
                            "bool",     "unsigned",  "__attribute__", "typedef",
                            "struct",   "__private", "private",       "reqd_work_group_size"};
  return common.count(name) > 0;
}

bool meet(const Names& a, const Names& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& name) {
    return !is_common(name) && b.count(name) > 0;
  });
}

}  // namespace

Lines taken_branches(const Lines& lines, const std::string& options) {
  constexpr std::chrono::seconds kLimit(20);
  const std::string compiler = find_program("gcc");
  if (compiler.empty()) return lines;
  const ScratchFolder folder;
  const std::string file = folder.file("kernel.c");
  write_file(file, joined(lines));
  std::vector<std::string> words{"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>/dev/null"};
  words.insert(words.end(), {compiler, "-E", "-P", "-undef", "-nostdinc", "-fdirectives-only"});
  for (const std::string& word : words_of_command(options)) {
    if (word.compare(0, 2, "-D") == 0 && word.size() > 2) words.push_back(word);
  }
  words.push_back(file);
  const Fate fate = run_isolated(words, kLimit);
  if (fate.code != 0) return lines;
  Lines taken;
  Names own;
  for (const std::string& line : lines) own.insert(macro_of(line));
  for (const std::string& line : lines_of(fate.out)) {
    // GCC's own definitions, and those of the options, are in no text.
    const std::string macro = macro_of(line);
    if (macro.empty() || own.count(macro) > 0) taken.push_back(line);
  }
  return taken;
}

Lines used_by(const Lines& lines, const std::vector<std::string>& wanted) {
  const std::vector<Lines> blocks = blocks_of(lines);
  std::vector<Names> defined;
  for (const Lines& block : blocks) defined.push_back(defined_in(block));
  std::vector<bool> kept(blocks.size(), false);
  Names needed(wanted.begin(), wanted.end());
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      // What only uses names, as "#pragma", may matter to all.
      if (kept[i] || (!defined[i].empty() && !meet(defined[i], needed))) continue;
      kept[i] = again = true;
      for (const std::string& name : names_in(joined(blocks[i]))) needed.insert(name);
    }
  }
  Lines rest;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (kept[i]) rest.insert(rest.end(), blocks[i].begin(), blocks[i].end());
  }
  return rest;
}

}  // namespace clam
