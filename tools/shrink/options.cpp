// SPDX-License-Identifier: MIT
// options.cpp - build options that a failure does not need, and whether a kernel file is the same
// for the compiler without one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "check/manifest.hpp"
#include "lift/lines.hpp"
#include "search.hpp"
#include "steps.hpp"

namespace clam {
namespace {

using Lines = std::vector<std::string>;

// ---- what the text says of an option ----

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

int count_of(const Tokens& tokens, const std::string& name) {
  return static_cast<int>(std::count_if(tokens.begin(), tokens.end(),
                                        [&](const Token& token) { return token.text == name; }));
}

/// Whether names of this text may be put together, or written, in ways that are not looked for.
bool may_hide_names(const std::string& text) {
  for (const char* sign : {"##", "%:", "?\?", "\\u", "\\U"}) {
    if (text.find(sign) != text.npos) return true;
  }
  for (std::size_t at = 0; (at = text.find('\\', at)) != text.npos; ++at) {
    const std::size_t next = text.find_first_not_of(" \t\r\f\v", at + 1);
    const bool continues = next != text.npos && text[next] == '\n';
    if (continues && at > 0 && !is_space(text[at - 1])) return true;  // a name in two lines
  }
  return false;
}

/// The tokens of a text, without the empty one at its end.
Tokens all_of(const std::string& text) {
  Tokens tokens = tokens_of(text);
  tokens.pop_back();
  return tokens;
}

bool is_line(const Tokens& line, const char* directive, const std::string& name = "") {
  return directive_of(line) == directive &&
         (name.empty() || (line.size() > 2 && line[2].is(name.c_str())));
}

/// Whether the text gives the name this value itself where it has none, first of all and whatever
/// else holds, and never asks for it again.
bool has_default(const std::vector<Tokens>& lines, const std::string& name, const Tokens& value) {
  const auto names_it = [&](const Tokens& line) { return count_of(line, name) > 0; };
  const auto guard = std::find_if(lines.begin(), lines.end(), names_it);
  if (lines.end() - guard < 3 || !is_line(guard[0], "ifndef", name) || guard[0].size() != 3 ||
      !is_line(guard[1], "define", name) || !is_line(guard[2], "endif"))
    return false;
  const Definition given(guard[1]);
  const auto is_same = [](const Token& a, const Token& b) { return a.text == b.text; };
  if (given.has_parameters ||
      !std::equal(given.body.begin(), given.body.end(), value.begin(), value.end(), is_same))
    return false;
  int depth = 0;
  for (auto line = lines.begin(); line != guard; ++line) {
    const std::string directive = directive_of(*line);
    depth += directive.compare(0, 2, "if") == 0 ? 1 : directive == "endif" ? -1 : 0;
  }
  const auto asks = [&](const Tokens& line) {
    return names_it(line) && line[0].is("#") &&
           (!is_line(line, "define") || is_line(line, "define", name));
  };
  return depth == 0 && std::none_of(guard + 3, lines.end(), asks);
}

/// Without these a result is at least as close, or only the build differs.
bool only_loosens(const std::string& word, const std::string& text) {
  constexpr std::array kWords{"-cl-mad-enable",
                              "-cl-no-signed-zeros",
                              "-cl-unsafe-math-optimizations",
                              "-cl-finite-math-only",
                              "-cl-fast-relaxed-math",
                              "-cl-opt-disable",
                              "-cl-kernel-arg-info",
                              "-w",
                              "-Werror"};
  if (std::find(kWords.begin(), kWords.end(), word) == kWords.end()) return false;
  // Which a compiler defines with one of them.
  return text.find("__FAST_RELAXED_MATH__") == text.npos &&
         text.find("__FINITE_MATH_ONLY__") == text.npos;
}

/// Whether results may be held to the same bounds without this word of the options. A definition
/// may go only where the text is surely the same for the compiler without it: of a name that
/// stands nowhere, or of the value that the file gives the name itself where it has none.
bool changes_nothing(const std::string& word, const std::string& options, const std::string& text) {
  if (word.compare(0, 2, "-D") != 0) return only_loosens(word, text);
  const Tokens definition = all_of(word.substr(2));
  if (definition.empty() || !definition[0].is_name()) return false;
  if (definition.size() > 1 && !definition[1].is("=")) return false;
  const std::string& name = definition[0].text;
  const Tokens value =
      definition.size() > 1 ? part_of(definition, 2, definition.size()) : all_of("1");
  const auto is_plain = [](const Token& token) {
    return token.kind != Token::Kind::sign || token.is_one_of({".", "+", "-"});
  };
  if (value.empty() || !std::all_of(value.begin(), value.end(), is_plain)) return false;
  // A compiler's own headers may ask for these.
  if (name.compare(0, 2, "__") == 0 || name.compare(0, 3, "cl_") == 0) return false;
  int told = 0;  // "-DNAME", "-D NAME", "-UNAME"
  for (const char* before : {"", "D", "U"}) told += count_of(all_of(options), before + name);
  if (told != 1 || may_hide_names(text) || may_hide_names(options)) return false;
  const std::vector<Tokens> lines = lines_in(tokens_of(text));
  if (std::any_of(lines.begin(), lines.end(),
                  [](const Tokens& line) { return is_line(line, "include"); }))
    return false;
  return count_of(tokens_of(text), name) == 0 || has_default(lines, name, value);
}

// ---- what may go ----

Lines words_of(const std::string& options) {
  Lines words;
  for (const BuildOption& option : build_options(options)) words.push_back(option.word);
  return words;
}

void set_options(Bundle& bundle, const Build& build, const std::string& options) {
  if (bundle.build_only()) bundle.options = options;
  if (!bundle.plan) return;
  for (Launch* launch : launches_of(*bundle.plan)) {
    if (Build{launch->file, launch->options} == build) launch->options = options;
  }
}

/// The words but for those of `may_go` that are not kept.
std::string options_with(const Lines& words, const Parts& may_go, const Parts& kept) {
  std::string options;
  for (std::size_t i = 0, j = 0; i < words.size(); ++i) {
    const bool asked = j < may_go.size() && may_go[j] == i;
    const bool stays = !asked || std::binary_search(kept.begin(), kept.end(), j);
    if (asked) ++j;
    if (stays) options += (options.empty() ? "" : " ") + words[i];
  }
  return options;
}

std::string shown(const std::string& options) {
  return options.empty() ? "none" : "'" + options + "'";
}
std::string options_of(const std::string& file) { return "options of " + file + ":"; }

bool shrink_options_of(Shrinking& shrinking, const Build& build, bool all) {
  const Bundle whole = shrinking.smallest();
  const std::string& text = whole.kernels.at(build.file);
  const Lines words = words_of(build.options);
  Parts may_go;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (all || changes_nothing(words[i], build.options, text)) may_go.push_back(i);
  }
  std::string now = build.options;
  needed(may_go.size(), [&](const Parts& kept) {
    if (shrinking.over()) return false;
    const std::string options = options_with(words, may_go, kept);
    Bundle less = whole;
    set_options(less, build, options);
    if (!shrinking.take(less, options_of(build.file), shown(now), shown(options))) return false;
    now = options;
    return true;
  });
  return now != build.options;
}

// ---- what changes with the extents ----

/// What the launches say, each once and in order, by what it is of: of files' options first, then
/// of kernels' groups.
using Said = std::map<std::pair<bool, std::string>, Lines>;

Said said(const Plan& plan) {
  Said all;
  const auto add = [&](bool is_group, const std::string& of, const std::string& text) {
    Lines& lines = all[{is_group, of}];
    if (std::find(lines.begin(), lines.end(), text) == lines.end()) lines.push_back(text);
  };
  for (const Launch* launch : launches_of(plan)) {
    add(false, options_of(launch->file), shown(launch->options));
    add(true, "group of " + launch->kernel + ":", fmt::format("{}", fmt::join(launch->local, "x")));
  }
  return all;
}

}  // namespace

void tell_changes(Shrinking& shrinking, const Bundle& before) {
  const auto joined = [](const Lines& lines) {
    return fmt::format("{}", fmt::join(lines, " and "));
  };
  const Said old = said(*before.plan);
  for (const auto& [of, lines] : said(*shrinking.smallest().plan)) {
    const auto then = old.find(of);
    if (then == old.end() || then->second == lines) continue;
    shrinking.changed(of.second, joined(then->second), joined(lines));
  }
}

bool shrink_options(Shrinking& shrinking, bool all) {
  bool smaller = false;
  all = all || shrinking.smallest().build_only();
  for (const Build& build : builds_of(shrinking.smallest())) {
    smaller = shrink_options_of(shrinking, build, all) || smaller;
  }
  return smaller;
}

}  // namespace clam
