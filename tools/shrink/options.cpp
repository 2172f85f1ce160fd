// SPDX-License-Identifier: MIT
// options.cpp - build options that a failure does not need.
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "search.hpp"
#include "steps.hpp"

namespace clam {
namespace {

using Lines = std::vector<std::string>;

/// Words of build options; -D, -U and -I with the word behind them where they stand alone.
Lines words_of(const std::string& options) {
  std::istringstream stream(options);
  Lines words;
  bool goes_on = false;
  for (std::string word; stream >> word;) {
    if (goes_on) {
      words.back() += " " + word;
      goes_on = false;
    } else {
      words.push_back(word);
      goes_on = word == "-D" || word == "-U" || word == "-I";
    }
  }
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

/// What the launches say, by what it is of; each once, in order.
using Said = std::map<std::string, std::string>;

template <class Key, class Text>
Said said(const Plan& plan, const Key& key, const Text& text) {
  std::map<std::string, Lines> all;
  for (const Launch* launch : launches_of(plan)) {
    Lines& lines = all[key(*launch)];
    const std::string line = text(*launch);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  Said joined;
  for (const auto& [of, lines] : all) joined[of] = fmt::format("{}", fmt::join(lines, " and "));
  return joined;
}

void tell(Shrinking& shrinking, const Said& before, const Said& now) {
  for (const auto& [of, text] : now) {
    const auto old = before.find(of);
    if (old != before.end() && old->second != text) shrinking.changed(of, old->second, text);
  }
}

Said options_said(const Plan& plan) {
  return said(
      plan, [](const Launch& launch) { return options_of(launch.file); },
      [](const Launch& launch) { return shown(launch.options); });
}

Said groups_said(const Plan& plan) {
  return said(
      plan, [](const Launch& launch) { return "group of " + launch.kernel + ":"; },
      [](const Launch& launch) { return fmt::format("{}", fmt::join(launch.local, "x")); });
}

}  // namespace

void tell_changes(Shrinking& shrinking, const Bundle& before) {
  const Plan &old = *before.plan, now = *shrinking.smallest().plan;
  tell(shrinking, options_said(old), options_said(now));
  tell(shrinking, groups_said(old), groups_said(now));
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
