// SPDX-License-Identifier: MIT
// predict.hpp - the time that a plan may take on a Mali, from its compiler's listings. At 1 GHz,
// never run: a model, with its sources beside its constants in predict.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check/manifest.hpp"
#include "clam/gpu.hpp"
#include "clam/plan.hpp"
#include "listing.hpp"
#include "predicted_for.hpp"

namespace clam::mali {

/// What a model that never saw the board can say: between these.
struct Interval {
  double low = 0, high = 0;
  Interval& operator+=(const Interval& other);
};

/// A launch, in us at 1 GHz. Its time is the largest of the four bounds, plus the launch cost.
struct LaunchTime {
  std::string kernel;
  double items = 0;    ///< work-items launched
  Counts least, most;  ///< executed by one work-item: with the fewest and the most trips
  Interval issue, latency, load, dram;
  Interval time() const;  ///< without the launch cost
};

struct PlanTime {
  std::vector<LaunchTime> launches;  ///< dynamic packs included, packs of constants not
  Interval us;                       ///< all launches, each with its launch cost
  double mac = 0;                    ///< of the problem, nominal
  double issued = 0;                 ///< by all work-items of all launches, with the most trips
  double mac_per_issued() const { return issued > 0 ? mac / issued : 0; }
};

constexpr double kLaunchCostUs = 10;

/// The listing and the tags of a launch's kernel.
struct Compiled {
  const Shader* shader = nullptr;
  const FileTags* tags = nullptr;
};
using FindCompiled = std::function<Compiled(const Launch&)>;

/// Pure. Throws BadArgument naming the kernel whose loops are not the ones its tags speak of, or
/// whose listing is a summary alone (Midgard).
LaunchTime predict(const Launch& launch, const Plan& plan, const Compiled& compiled,
                   const Gpu& gpu);
PlanTime predict(const Plan& plan, double mac, const FindCompiled& find, const Gpu& gpu);

/// Lines that must stand wherever a prediction is printed: what it counts, what it leaves out, and
/// how well it met times that were published.
std::string leaves_out();

/// The least time that the problem can take: its flops at the FMA peak or its bytes from memory.
double floor_us(const Problem& problem, const Gpu& gpu);

}  // namespace clam::mali
