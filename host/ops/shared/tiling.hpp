// SPDX-License-Identifier: MIT
// tiling.hpp - how a kernel cuts a problem among work-items: candidates, what each is predicted to
// take, and the choice. What a tile costs is data, kernels/costs.json.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "accumulator.hpp"
#include "clam/gpu.hpp"
#include "clam/op.hpp"
#include "geometry.hpp"

namespace clam {

/// What a launch costs beside its work.
constexpr double kLaunchClocks = 10000;

/// What the time model counts of a launch.
struct Work {
  double items = 0;         ///< work-items
  double instructions = 0;  ///< that one of them executes, by a compiler for a Mali-G610
  double bytes = 0;         ///< that one of them loads and stores
  double dram = 0;          ///< bytes that all of them move between memory and caches
  int group = 0;            ///< work-items of a group, which fill warps of their own; 0: one alone
};

/// The model of `clam mali` (tools/README.md, "Predictions"), at 1 GHz, with the rates of the Mali
/// that the device is. It takes the upper end of latency: a warp that runs alone takes 25 clocks an
/// instruction. Other devices have the rates of a G610. Their latency counts half, as small tiles
/// only slow a processor.
Clocks clocks_of(const Work& work, const DeviceInfo& device);

/// The same of work-items that only compute.
double predicted_clocks(double items, double instructions, const DeviceInfo& device);

/// The first of the candidates that takes the least clocks.
template <typename ClocksOf>
int quickest(const std::vector<int>& candidates, const ClocksOf& clocks) {
  return *std::min_element(candidates.begin(), candidates.end(),
                           [&](int one, int other) { return clocks(one) < clocks(other); });
}

/// The GPU that identify() names, or null. A plan asks for it with each tile that it weighs, so the
/// last answer of a thread is kept.
const Gpu* gpu_of(const DeviceInfo& device);

/// The device is a Mali, Bifrost or newer.
bool is_mali(const DeviceInfo& device);

/// It is one behind Mesa's driver. Those compilers spend less on a load where only the lower half
/// of its address is summed; others fold a constant distance into the load.
bool splits_addresses(const DeviceInfo& device);

/// A row of kernels/costs.json.
struct Cost {
  std::string tile;             ///< "M0=4,N0=8"
  std::vector<double> numbers;  ///< instructions; tools/README.md says of what
  std::string compiler;         ///< "Mesa 25"

  /// The number behind a name of the tile; throws std::logic_error where it has no such name.
  int operator[](const char* name) const;
};

/// The rows of a kernel, large tiles first: those of the device's compiler. Arm's driver takes
/// those of Mesa 26, processors and other GPUs theirs, and what a compiler has no rows of, those
/// of Mesa 25.
const std::vector<Cost>& costs_of(std::string_view kernel, Dtype dtype, Acc acc,
                                  const DeviceInfo& device);
/// A candidate with the words of a row; "Mesa 26, borrowed" where the device has another compiler.
Tiling tiling_of(const Cost& cost, const DeviceInfo& device);

/// The first candidate of the least clocks that is not refused and has the words of
/// `wanted`, a PlanOptions::tile. Throws BadArgument where none has them, and Unsupported where all
/// that have are refused.
std::size_t choose_tiling(const std::vector<const Tiling*>& candidates, const std::string& wanted);

template <typename Cut>
Cut choose(const std::vector<Cut>& cuts, const Request& request) {
  std::vector<const Tiling*> candidates;
  for (const Cut& cut : cuts) candidates.push_back(&cut);
  return cuts[choose_tiling(candidates, request.options.tile)];
}

/// Variant::tilings, of cuts that derive from Tiling.
template <typename Cut>
decltype(Variant::tilings) tilings(std::vector<Cut> (*cuts_of)(const Request&)) {
  return [cuts_of](const Problem& problem, const DeviceInfo& device, const PlanOptions& options) {
    const std::vector<Cut> cuts = cuts_of({problem, device, options});
    return std::vector<Tiling>(cuts.begin(), cuts.end());
  };
}

}  // namespace clam
