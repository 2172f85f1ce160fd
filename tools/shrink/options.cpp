// SPDX-License-Identifier: MIT
// options.cpp - build options that a failure does not need, and whether a kernel file is the same
// for the compiler without one.
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
/// may go only where the text is surely the same for the compiler without it: where its name stands
/// nowhere.
bool changes_nothing(const std::string& word, const std::string& options, const std::string& text) {
  if (word.compare(0, 2, "-D") != 0) return only_loosens(word, text);
  const Tokens definition = all_of(word.substr(2));
  if (definition.empty() || !definition[0].is_name()) return false;
  if (definition.size() > 1 && !definition[1].is("=")) return false;
  const std::string& name = definition[0].text;
  // A compiler's own headers may ask for these.
  if (name.compare(0, 2, "__") == 0 || name.compare(0, 3, "cl_") == 0) return false;
  int told = 0;  // "-DNAME", "-D NAME", "-UNAME"
  for (const char* before : {"", "D", "U"}) told += count_of(all_of(options), before + name);
  if (told != 1 || may_hide_names(text) || may_hide_names(options)) return false;
  const Tokens tokens = tokens_of(text);
  const std::vector<Tokens> lines = lines_in(tokens);
  const auto includes = [](const Tokens& line) { return directive_of(line) == "include"; };
  return count_of(tokens, name) == 0 && std::none_of(lines.begin(), lines.end(), includes);
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
    if (!shrinking.take(less, "options of " + build.file + ":", shown(now), shown(options)))
      return false;
    now = options;
    return true;
  });
  return now != build.options;
}

}  // namespace

bool shrink_options(Shrinking& shrinking, bool all) {
  all = all || shrinking.smallest().build_only();
  return any_smaller(builds_of(shrinking.smallest()),
                     [&](const Build& build) { return shrink_options_of(shrinking, build, all); });
}

}  // namespace clam
