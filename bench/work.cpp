// SPDX-License-Identifier: MIT
#include "work.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "statistics.hpp"

namespace clam::bench {
namespace {

constexpr double kOver = 1.05;      // more than this over what is possible is not noise
constexpr std::size_t kEnough = 6;  // batches of a size, to call a row wrong by them
constexpr std::size_t kFew = 4;     // and to believe what stands out among times so close:
constexpr double kClose = 1.5;
constexpr std::int64_t kLarger = 6;     // times the smaller batch is then the larger one
constexpr std::int64_t kMost = 36;      // times: by such sizes a row is called wrong
constexpr double kBeyondNoise = 3;      // times what empty launches take
constexpr double kChance = 0.0001;      // that batches of one duration pass for longer and shorter
constexpr std::size_t kMostLooks = 24;  // at one pair of sizes

using Sizes = std::map<std::int64_t, std::vector<Span>>;  ///< batches by their iterations
using Measure = double Span::*;

Sizes by_size(const std::vector<Span>& spans) {
  Sizes sizes;
  for (const Span& span : spans) sizes[span.iterations].push_back(span);
  return sizes;
}

std::vector<double> values(const std::vector<Span>& spans, Measure what) {
  std::vector<double> all;
  for (const Span& span : spans) all.push_back(span.*what);
  return all;
}

double least(const std::vector<Span>& spans, Measure what) {
  const std::vector<double> all = values(spans, what);
  return *std::min_element(all.begin(), all.end());
}

double most(const std::vector<Span>& spans, Measure what) {
  const std::vector<double> all = values(spans, what);
  return *std::max_element(all.begin(), all.end());
}

/// Those beside which empty launches were run.
std::vector<Span> controlled(const std::vector<Span>& spans) {
  std::vector<Span> some;
  std::copy_if(spans.begin(), spans.end(), std::back_inserter(some),
               [](const Span& span) { return span.empty_us > 0; });
  return some;
}

/// The batch that `share` of all do not exceed, by what `excess` says: how often the true time goes
/// into the claim.
template <typename Excess>
Span at_share(std::vector<Span> spans, double share, const Excess& excess) {
  const auto place = static_cast<std::size_t>(share * double(spans.size() - 1));
  const auto at = spans.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(spans.begin(), at, spans.end(),
                   [&](const Span& a, const Span& b) { return excess(a) < excess(b); });
  return *at;
}

// ---- fit ----------------------------------------------------------------------------------------

/// Asked of half the batches: what makes a wait long excuses no event that is longer still.
WorkFinding events_fit_the_wait(const std::vector<Span>& spans) {
  const auto excess = [](const Span& span) { return span.events_us / span.wall_us; };
  const Span span = at_share(spans, 0.5, excess);
  if (excess(span) <= kOver) return {};
  return {Finding::wrong,
          fmt::format("condition 5, work: the events of {} launches add up to {:.1f} us, but the "
                      "host waited {:.1f} us only",
                      span.launches, span.events_us, span.wall_us)};
}

// ---- cover --------------------------------------------------------------------------------------

/// What launches and waits cost, by the limits, or as much as `empty_us` where that is more.
double overhead_us(const Span& span, const Limits& limits, double empty_us) {
  const double usual = 2 * limits.round_trip_us + double(span.launches) * limits.launch_us;
  return std::max(usual, empty_us);
}

/// Whether events and so much overhead leave a part of the wait uncovered.
bool uncovered(const std::vector<Span>& spans, const Limits& limits, double share,
               double empty_us) {
  const auto excess = [&](const Span& span) {
    return span.wall_us / (2 * span.events_us + span.host_us + overhead_us(span, limits, empty_us));
  };
  return excess(at_share(spans, share, excess)) > 1;
}

/// Whether more is left out of the wait than launches and waits explain.
bool leaves_time_out(const Span& span) {
  return span.wall_us - span.host_us - 2 * span.events_us > kBeyondNoise * span.empty_us;
}

WorkFinding left_out(const Span& span) {
  return {Finding::wrong,
          fmt::format("condition 5, work: the events of {} launches add up to {:.1f} us, but the "
                      "host waited {:.1f} us (empty launches: {:.1f} us): the events leave time "
                      "out",
                      span.launches, span.events_us, span.wall_us, span.empty_us)};
}

/// Wrong where most batches leave time out. Of honest ones no more than half would, even if nothing
/// but the noise were in them.
WorkFinding events_cover_the_wait(const std::vector<Span>& spans, const Sizes& sizes,
                                  const Limits& limits, double share) {
  const std::vector<Span> some = controlled(spans), largest = controlled(sizes.rbegin()->second);
  const auto wrong = std::find_if(some.rbegin(), some.rend(), leaves_time_out);
  const auto count = std::count_if(some.begin(), some.end(), leaves_time_out);
  if (sign_test(static_cast<std::size_t>(count), some.size()) < kChance) return left_out(*wrong);
  const bool covered = !uncovered(spans, limits, share, 0) ||
                       (largest.size() >= kEnough &&
                        !uncovered(largest, limits, share, least(largest, &Span::empty_us)));
  return {covered ? Finding::agrees : Finding::too_short};
}

// ---- follow -------------------------------------------------------------------------------------

/// Two sizes, of which one has `times` as many iterations.
struct Pair {
  const std::vector<Span>&few, &many;
  double times;
};

bool lie_close(const std::vector<Span>& spans, Measure what) {
  return spans.size() >= kFew && most(spans, what) <= kClose * least(spans, what);
}

/// Whether the larger batches take longer: by so much that chance explains it hardly ever.
bool take_longer(const Pair& pair, Measure what) {
  const double factor = std::sqrt(pair.times), larger = least(pair.many, what);
  if (larger < factor * least(pair.few, what)) return false;
  const bool close = lie_close(pair.few, what) && lie_close(pair.many, what);
  if (close && larger >= factor * most(pair.few, what)) return true;
  if (std::min(pair.few.size(), pair.many.size()) < kEnough) return false;
  return rank_test(values(pair.few, what), values(pair.many, what)).p < kChance;
}

/// Wrong where they do not, though a smaller one alone takes longer than launches explain.
WorkFinding take_no_longer(const Pair& pair, Measure what) {
  const std::vector<Span> some = controlled(pair.few);
  if (std::min(some.size(), pair.many.size()) < kEnough) return {};
  const double few = least(pair.few, what), many = least(pair.many, what);
  const double noise = kBeyondNoise * least(some, &Span::empty_us);
  if (many >= std::sqrt(pair.times) * (few - noise)) return {};
  const bool wall = what == &Span::wall_us;
  return {Finding::wrong,
          fmt::format("condition 5, work: {} iterations take {:.1f} us at best{} and {} take "
                      "{:.1f} us: more work does not take longer, so not all of it was done",
                      pair.few.front().iterations, few, wall ? "" : " by their events",
                      pair.many.front().iterations, many)};
}

WorkFinding time_follows_iterations(const Sizes& sizes) {
  bool follows = false;
  for (auto few = sizes.begin(); few != sizes.end(); ++few) {
    for (auto many = std::next(few); many != sizes.end(); ++many) {
      const Pair pair{few->second, many->second, double(many->first) / double(few->first)};
      for (const Measure what : {&Span::wall_us, &Span::events_us}) {
        if (many->first < kMost * few->first) break;
        if (WorkFinding found = take_no_longer(pair, what); found.finding == Finding::wrong) {
          return found;
        }
      }
      follows =
          follows || (take_longer(pair, &Span::wall_us) && take_longer(pair, &Span::events_us));
    }
  }
  return {follows ? Finding::agrees : Finding::too_short};
}

// ---- more batches -------------------------------------------------------------------------------

/// One after the other, until a finding is settled.
struct Level {
  std::int64_t few, many;  ///< iterations
};

std::vector<Level> levels_of(const std::vector<Span>& spans, const Batches& batches) {
  const std::int64_t smaller = batches.smaller;
  std::vector<Level> levels = {
      {smaller, 2 * smaller}, {smaller, kLarger * smaller}, {smaller, kMost * smaller}};
  const auto each_us = [](const Span& span) { return span.wall_us / double(span.iterations); };
  double once_us = each_us(spans.front());
  for (const Span& span : spans) once_us = std::min(once_us, each_us(span));
  for (std::int64_t few = kLarger * smaller; double(kMost * few) * once_us <= batches.seconds * 1e6;
       few *= kLarger) {
    levels.push_back({few, kMost * few});
  }
  return levels;
}

}  // namespace

WorkFinding judge_work(const std::vector<Span>& spans, const Limits& limits, double share) {
  if (spans.empty()) return {};
  const Sizes sizes = by_size(spans);
  WorkFinding fit = events_fit_the_wait(spans);
  for (const auto& [iterations, some] : sizes) {
    if (fit.finding == Finding::agrees && some.size() >= kEnough) fit = events_fit_the_wait(some);
  }
  if (fit.finding == Finding::wrong || limits.launch_us <= 0) return fit;
  WorkFinding cover = events_cover_the_wait(spans, sizes, limits, share);
  if (cover.finding == Finding::wrong) return cover;
  WorkFinding follow = time_follows_iterations(sizes);
  return follow.finding == Finding::agrees ? cover : follow;
}

WorkFinding settle_work(std::vector<Span>& spans, const Batches& batches, const Limits& limits,
                        double share) {
  WorkFinding found = judge_work(spans, limits, share);
  if (spans.empty() || limits.launch_us <= 0) return found;
  const std::int64_t launches = spans.front().launches / spans.front().iterations;
  double spent_us = 0;
  const auto take = [&](std::int64_t iterations) {
    const double empty_us = batches.run_empty(iterations * launches);
    spans.push_back(batches.run(iterations));
    spans.back().empty_us = empty_us;
    spent_us += empty_us + spans.back().wall_us;
  };
  for (const Level& level : levels_of(spans, batches)) {
    if (found.finding == Finding::wrong && level.few > batches.smaller) break;
    spent_us = 0;
    for (std::size_t look = 0; look < kMostLooks && found.finding != Finding::agrees; ++look) {
      if (look >= kEnough && spent_us > batches.seconds * 1e6) break;
      // In another order each time, for other load comes in turns too.
      for (std::size_t i = 0; i < 3; ++i) take(i == look % 3 ? level.many : level.few);
      found = judge_work(spans, limits, share);
    }
    if (found.finding == Finding::agrees) break;
  }
  return found;
}

}  // namespace clam::bench
