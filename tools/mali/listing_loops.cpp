// SPDX-License-Identifier: MIT
// Blocks and loops of a listing, and the ways through them. The compiler lays code out as it was
// structured: a loop is the stretch from the target of a backward branch to the last branch back
// there. What a work-item executes is the longest way through the blocks, inner loops first, each
// then one step of the code around it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "listing_parts.hpp"
#include "runtime/refuse.hpp"

namespace clam::mali {
namespace {

// Far deeper than anyone writes loops.
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

/// From a block to one that may follow it.
using Edge = std::pair<int, int>;

/// Of the blocks that can be reached.
std::vector<Edge> edges_of(const Shader& shader) {
  std::vector<Edge> edges;
  std::vector<bool> seen(shader.blocks.size(), false);
  std::vector<int> open = {0};
  seen[0] = true;
  while (!open.empty()) {
    const int from = open.back();
    open.pop_back();
    for (const int to : nth(shader.blocks, from).next) {
      edges.emplace_back(from, to);
      if (!nth(seen, to)) open.push_back(to);
      nth(seen, to) = true;
    }
  }
  return edges;
}

void fill_loops(const std::vector<Edge>& edges, Shader& shader) {
  std::map<int, int> last_by_first;
  for (const auto& [from, to] : edges) {
    if (to <= from) last_by_first[to] = std::max(last_by_first[to], from);
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

void expect_loops_entered_at_first(const std::vector<Edge>& edges, const Shader& shader) {
  for (const auto& [from, to] : edges) {
    for (const Loop& loop : shader.loops) {
      const bool from_outside = from < loop.first || from > loop.last;
      if (from_outside && to > loop.first && to <= loop.last)
        fail(shader, "jumps into the middle of a loop");
    }
  }
}

// ---- ways ----

using Way = std::optional<Counts>;

/// Where a stretch is left to, and the longest way from its start to there. The end of the kernel
/// is the block after the last.
using Exits = std::map<int, Counts>;

struct Ways {
  Way back;           ///< to the start of the stretch, when it is a loop
  Exits early, late;  ///< out of the first half of its listing, and out of the second
};

void keep_longer(Way& way, const Counts& other) {
  if (!way || other.issued > way->issued) way = other;
}

void keep_longer(Exits& exits, int to, const Counts& other) {
  const auto [exit, is_new] = exits.emplace(to, other);
  if (!is_new && other.issued > exit->second.issued) exit->second = other;
}

Counts sum(Counts a, const Counts& b) { return a += b; }
Counts times(Counts a, double factor) { return a *= factor; }

class Walker {
 public:
  explicit Walker(const Shader& shader)
      : shader_(shader), exits_(shader.loops.size()), loop_at_(shader.blocks.size(), -1) {
    for (std::size_t i = 0; i < shader.loops.size(); ++i)
      nth(loop_at_, shader.loops[i].first) = static_cast<int>(i);
    for (const Block& block : shader.blocks)
      listed_.push_back(listed_.back() + block.counts.issued);
  }

  /// The loops inside must have been closed.
  Ways ways(const Loop& stretch) const {
    Ways found;
    std::vector<Way> at(static_cast<std::size_t>(stretch.last - stretch.first + 1));
    at[0] = Counts{};
    for (int block = stretch.first, after = 0; block <= stretch.last; block = after) {
      const Exits steps = steps_from(block, stretch, after);
      const Way& here = nth(at, block - stretch.first);
      if (!here) continue;
      Exits& exits = in_first_half(after, stretch) ? found.early : found.late;
      for (const auto& [to, cost] : steps) {
        const Counts there = sum(*here, cost);
        if (to == stretch.first) {
          keep_longer(found.back, there);
        } else if (to > stretch.first && to <= stretch.last) {
          keep_longer(nth(at, to - stretch.first), there);
        } else {
          keep_longer(exits, to, there);
        }
      }
    }
    return found;
  }

  /// From now on the loop is one step of the code around it.
  void close(std::size_t loop, Exits exits) { exits_[loop] = std::move(exits); }

  int end() const { return static_cast<int>(shader_.blocks.size()); }

 private:
  /// The ways on from a block, or from the loop that begins there; `after`: what to look at next.
  Exits steps_from(int block, const Loop& stretch, int& after) const {
    after = block + 1;
    const int loop = nth(loop_at_, block);
    if (loop >= 0 && &stretch != &nth(shader_.loops, loop)) {
      after = nth(shader_.loops, loop).last + 1;
      return nth(exits_, loop);
    }
    const Block& here = nth(shader_.blocks, block);
    Exits steps;
    for (const int to : here.next) steps.emplace(to, here.counts);
    if (here.next.empty()) steps.emplace(end(), here.counts);
    return steps;
  }

  /// Of the stretch, not more than half is listed before block `after`.
  bool in_first_half(int after, const Loop& stretch) const {
    const double before = nth(listed_, stretch.first);
    return 2 * (nth(listed_, after) - before) <= nth(listed_, stretch.last + 1) - before;
  }

  const Shader& shader_;
  std::vector<Exits> exits_;
  std::vector<int> loop_at_;
  std::vector<double> listed_ = {0};  ///< what is listed before each block
};

/// A loop's exits when it makes that many trips: see executed().
Exits after_trips(const Ways& ways, double trips) {
  const Counts trip = ways.back.value_or(Counts{});
  Exits exits;
  for (const auto& [to, partial] : ways.early)
    keep_longer(exits, to, sum(times(trip, trips), partial));
  for (const auto& [to, partial] : ways.late)
    keep_longer(exits, to,
                sum(times(trip, std::max(trips - 1, 0.0)), times(partial, std::min(trips, 1.0))));
  return exits;
}

Exits left_out(const Ways& ways) {
  Exits exits;
  for (const Exits* some : {&ways.early, &ways.late})
    for (const auto& exit : *some) exits.emplace(exit.first, Counts{});
  return exits;
}

std::vector<Counts> own_trips(const Shader& shader) {
  Walker walker(shader);
  std::vector<Counts> trips(shader.loops.size());
  for (std::size_t i = trips.size(); i-- > 0;) {
    const Ways ways = walker.ways(shader.loops[i]);
    trips[i] = ways.back.value_or(Counts{});
    walker.close(i, left_out(ways));
  }
  return trips;
}

void expect_trips(const Shader& shader, const std::vector<double>& trips) {
  throw_if(shader.blocks.empty(), "kernel '{}' has no listing to walk through", shader.kernel);
  throw_if(trips.size() != shader.loops.size(), "kernel '{}' has {} loops, not {}", shader.kernel,
           shader.loops.size(), trips.size());
  for (const double count : trips)
    throw_if(!std::isfinite(count) || count < 0, "kernel '{}': a loop cannot make {} trips",
             shader.kernel, count);
}

}  // namespace

void build_blocks(const std::vector<Step>& steps, Shader& shader) {
  fill_blocks(steps, shader);
  const std::vector<Edge> edges = edges_of(shader);
  fill_loops(edges, shader);
  expect_loops_entered_at_first(edges, shader);
  executed(shader, std::vector<double>(shader.loops.size(), 1));  // throws without a way to the end
}

Counts own_trip(const Shader& shader, std::size_t loop) {
  throw_if(loop >= shader.loops.size(), "kernel '{}' has no loop {}: it has {}", shader.kernel,
           loop, shader.loops.size());
  return own_trips(shader)[loop];
}

int hot_loop(const Shader& shader) {
  const std::vector<Counts> trips = own_trips(shader);
  const auto cooler = [](const Counts& a, const Counts& b) {
    return a.mac != b.mac ? a.mac < b.mac : a.issued < b.issued;
  };
  const auto hot = std::max_element(trips.begin(), trips.end(), cooler);
  return hot == trips.end() ? -1 : static_cast<int>(hot - trips.begin());
}

Counts executed(const Shader& shader, const std::vector<double>& trips) {
  expect_trips(shader, trips);
  Walker walker(shader);
  for (std::size_t i = shader.loops.size(); i-- > 0;)
    walker.close(i, after_trips(walker.ways(shader.loops[i]), trips[i]));
  // A stretch that is no loop is left as a loop of one trip is.
  const Exits exits =
      after_trips(walker.ways({0, static_cast<int>(shader.blocks.size()) - 1, -1}), 1);
  const auto way = exits.find(walker.end());
  if (way == exits.end()) fail(shader, "has no way to its end");
  return way->second;
}

}  // namespace clam::mali
