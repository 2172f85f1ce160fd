// SPDX-License-Identifier: MIT
// Blocks and loops of a listing. The compiler lays code out as it was structured: a loop is the
// stretch from the target of a backward branch to the last branch back there.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "clam/error.hpp"
#include "listing_parts.hpp"

namespace clam::mali {
namespace {

// Far deeper than anyone writes loops, and shallow enough for what walks up the nest.
constexpr int kDeepestNest = 64;

[[noreturn]] void fail(const Shader& shader, const char* what) {
  throw BadArgument(fmt::format("kernel '{}': its listing {}", shader.kernel, what));
}

/// For each step the block that it is in. One more for the end.
std::vector<int> blocks_by_step(const std::vector<Step>& steps) {
  std::vector<bool> starts(steps.size() + 1, false);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool branches = steps[i].target != Step::kNowhere;
    if (branches) nth(starts, steps[i].target) = true;
    if (branches || !steps[i].falls) starts[i + 1] = true;
  }
  std::vector<int> block(steps.size() + 1, 0);
  for (std::size_t i = 1; i < block.size(); ++i) block[i] = block[i - 1] + (starts[i] ? 1 : 0);
  return block;
}

void fill_blocks(const std::vector<Step>& steps, Shader& shader) {
  if (steps.empty()) fail(shader, "is empty");
  if (steps.back().falls) fail(shader, "runs past its end: the dump is cut");
  const std::vector<int> block = blocks_by_step(steps);
  shader.blocks.resize(static_cast<std::size_t>(block.back()) + 1);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Block& here = nth(shader.blocks, block[i]);
    here.counts += steps[i].counts;
    shader.whole += steps[i].counts;
    if (block[i + 1] == block[i]) continue;
    if (steps[i].falls) here.next.push_back(block[i + 1]);
    if (steps[i].target != Step::kNowhere) here.next.push_back(nth(block, steps[i].target));
  }
}

std::vector<bool> reachable(const Shader& shader) {
  std::vector<bool> seen(shader.blocks.size(), false);
  std::vector<int> open = {0};
  seen[0] = true;
  while (!open.empty()) {
    const Block& block = nth(shader.blocks, open.back());
    open.pop_back();
    for (const int next : block.next) {
      if (nth(seen, next)) continue;
      nth(seen, next) = true;
      open.push_back(next);
    }
  }
  return seen;
}

void fill_loops(const std::vector<bool>& seen, Shader& shader) {
  std::map<int, int> last_by_first;
  for (int from = 0; from < static_cast<int>(shader.blocks.size()); ++from) {
    if (!nth(seen, from)) continue;
    for (const int to : nth(shader.blocks, from).next)
      if (to <= from) last_by_first[to] = from;
  }
  std::vector<int> around;  // the loops that the next one may be in
  for (const auto& [first, last] : last_by_first) {
    while (!around.empty() && nth(shader.loops, around.back()).last < first) around.pop_back();
    const int parent = around.empty() ? -1 : around.back();
    if (parent >= 0 && nth(shader.loops, parent).last < last)
      fail(shader, "has loops that overlap");
    around.push_back(static_cast<int>(shader.loops.size()));
    if (static_cast<int>(around.size()) > kDeepestNest) fail(shader, "nests its loops too deeply");
    shader.loops.push_back({first, last, parent});
  }
}

/// The innermost loop of each block, or -1.
std::vector<int> innermost_loops(const Shader& shader) {
  std::vector<int> innermost(shader.blocks.size(), -1);
  for (std::size_t i = 0; i < shader.loops.size(); ++i)
    std::fill(innermost.begin() + shader.loops[i].first,
              innermost.begin() + shader.loops[i].last + 1, static_cast<int>(i));
  return innermost;
}

void expect_loops_entered_at_first(const std::vector<bool>& seen, const Shader& shader) {
  const std::vector<int> innermost = innermost_loops(shader);
  for (int from = 0; from < static_cast<int>(shader.blocks.size()); ++from) {
    if (!nth(seen, from)) continue;
    for (const int to : nth(shader.blocks, from).next) {
      for (int i = nth(innermost, to); i >= 0;) {
        const Loop& loop = nth(shader.loops, i);
        if ((from < loop.first || from > loop.last) && to != loop.first)
          fail(shader, "jumps into the middle of a loop");
        i = loop.parent;
      }
    }
  }
}

}  // namespace

void build_blocks(const std::vector<Step>& steps, Shader& shader) {
  fill_blocks(steps, shader);
  const std::vector<bool> seen = reachable(shader);
  fill_loops(seen, shader);
  expect_loops_entered_at_first(seen, shader);
  executed(shader, std::vector<double>(shader.loops.size(), 1));  // throws without a way to the end
}

}  // namespace clam::mali
