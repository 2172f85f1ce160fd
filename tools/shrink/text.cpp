// SPDX-License-Identifier: MIT
// text.cpp - the files of a case, to the lines that it fails by.
#include <fmt/core.h>

#include <algorithm>

#include "lines.hpp"
#include "search.hpp"
#include "steps.hpp"

namespace clam {
namespace {

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

 private:
  Shrinking* shrinking_;
  std::string file_;
};

bool shrink_lines(Text& text) {
  const Lines lines = text.now();
  const auto holds = [&](const Parts& kept) {
    Lines rest;
    for (const std::size_t i : kept) rest.push_back(lines[i]);
    return text.take(rest);
  };
  return needed(lines.size(), holds).size() < lines.size();
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

/// Depth by depth, whole statements.
bool shrink_levels(Text& text) {
  bool smaller = false;
  for (int depth = 0; !text.over(); ++depth) {
    const Lines lines = text.now();
    const Level level = level_of(lines, depth);
    if (level.count == 0) break;
    const auto holds = [&](const Parts& kept) {
      Lines rest;
      for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::size_t statement = level.statement[i];
        const bool stays =
            statement == Level::kStays || std::binary_search(kept.begin(), kept.end(), statement);
        if (stays) rest.push_back(lines[i]);
      }
      return text.take(rest);
    };
    smaller = needed(level.count, holds).size() < level.count || smaller;
  }
  return smaller;
}

/// The kernels that a case launches of a file.
std::vector<std::string> kernels_of(const Bundle& bundle, const std::string& file) {
  std::vector<std::string> names;
  for (const Launch* launch : launches_of(*bundle.plan)) {
    if (launch->file == file) names.push_back(launch->kernel);
  }
  return names;
}

std::string options_of(const Bundle& bundle, const std::string& file) {
  for (const Build& build : builds_of(bundle)) {
    if (build.file == file) return build.options;
  }
  return "";
}

/// What no compiler looks at, all together, or one after the other where that fails.
bool shrink_at_once(Text& text, const Bundle& bundle, const std::string& file) {
  const auto kernels = kernels_of(bundle, file);
  const auto taken = [&](const Lines& lines) {
    return taken_branches(lines, options_of(bundle, file));
  };
  if (text.take(without_comments(used_by(taken(without_comments(text.now())), kernels))))
    return true;
  bool smaller = text.take(without_comments(text.now()));
  smaller = text.take(used_by(text.now(), kernels)) || smaller;
  return text.take(without_comments(taken(text.now()))) || smaller;
}

}  // namespace

bool shrink_text(Shrinking& shrinking) {
  bool smaller = false;
  const bool is_run = !shrinking.smallest().build_only();
  for (const auto& [file, content] : Bundle(shrinking.smallest()).kernels) {
    Text text(shrinking, file);
    smaller = (is_run ? shrink_at_once(text, shrinking.smallest(), file)
                      : text.take(without_comments(text.now()))) ||
              smaller;
    for (bool again = true; again && !text.over(); smaller = smaller || again) {
      again = shrink_levels(text);
      if (!is_run) again = shrink_lines(text) || again;
      again = shrink_nested(text) || again;
    }
  }
  if (smaller && shrinking.outcome() == Seen::Outcome::build_failed) {
    shrinking.note("look whether what is left is OpenCL C, so that a compiler should take it");
  }
  return smaller;
}

}  // namespace clam
