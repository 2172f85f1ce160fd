// SPDX-License-Identifier: MIT
// What a work-item executes: the longest way through the blocks, inner loops first, each then one
// step of the code around it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "clam/error.hpp"
#include "listing_parts.hpp"

namespace clam::mali {
namespace {

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
  if (shader.blocks.empty())
    throw BadArgument(fmt::format("kernel '{}' has no listing to walk through", shader.kernel));
  if (trips.size() != shader.loops.size())
    throw BadArgument(fmt::format("kernel '{}' has {} loops, not {}", shader.kernel,
                                  shader.loops.size(), trips.size()));
  for (const double count : trips)
    if (!std::isfinite(count) || count < 0)
      throw BadArgument(
          fmt::format("kernel '{}': a loop cannot make {} trips", shader.kernel, count));
}

}  // namespace

Counts own_trip(const Shader& shader, std::size_t loop) {
  if (loop >= shader.loops.size())
    throw BadArgument(fmt::format("kernel '{}' has no loop {}: it has {}", shader.kernel, loop,
                                  shader.loops.size()));
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
  if (way == exits.end())
    throw BadArgument(fmt::format("kernel '{}': its listing has no way to its end", shader.kernel));
  return way->second;
}

}  // namespace clam::mali
