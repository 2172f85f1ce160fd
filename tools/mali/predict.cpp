// SPDX-License-Identifier: MIT
#include "predict.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "cache.hpp"
#include "clam/op.hpp"
#include "runtime/refuse.hpp"

namespace clam::mali {
namespace {

/// Clocks that a warp takes for one of its instructions when it has a core for itself. From TVM's
/// three batch_matmul kernels of the published profile bench/workloads/lightglue-192.json (36, 12
/// and 9 work-groups on the whole GPU), regenerated and compiled: 24.8, 24.8 and 25.6. They load
/// and store scratch memory at every step, so a kernel in registers may take less.
constexpr double kLatencyClocks = 25;
/// Special functions run at a quarter of the rate: Arm, "Valhall shader core", SFU.
constexpr double kSfuClocks = 4;
/// What a core moves between the load/store unit and its cache in a clock: a cache line.
constexpr double kLineBytes = 64;
/// Predictions are for a clock of 1 GHz: a clock is a ns.
constexpr double kClocksPerUs = 1000;

/// More trips may turn a kernel into its other branch: its figures need not all rise.
Interval in_order(double a, double b) { return {std::min(a, b), std::max(a, b)}; }

Interval larger(const Interval& a, const Interval& b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}

double product(const std::array<std::int64_t, 3>& sizes) {
  return static_cast<double>(sizes[0]) * static_cast<double>(sizes[1]) *
         static_cast<double>(sizes[2]);
}

/// A launch on a GPU: how many warps, and how many cores have any of them.
struct Spread {
  double warps = 0, cores = 0;
};

Spread spread_of(const Launch& launch, const Gpu& gpu) {
  const double group = product(launch.local), groups = product(launch.global) / group;
  return {groups * std::ceil(group / gpu.warp), std::min<double>(gpu.cores, groups)};
}

[[noreturn]] void reject(const Shader& shader, const std::string& why) {
  throw BadArgument(fmt::format("kernel {}: {}", shader.kernel, why));
}

/// Those of the kernel's tags whose loops are in the listing. A compiler unrolls loops whose trips
/// follow from the options, or leaves them out where there are none: the shortest first.
std::vector<Trips> surviving(const Shader& shader, const std::vector<Trips>& tagged) {
  const std::size_t loops = shader.loops.size();
  std::vector<double> lengths;  // of the loops that may have been unrolled
  for (const Trips& trips : tagged) {
    if (trips.fixed && trips.most > 0) lengths.push_back(trips.most);
  }
  const std::size_t certain =
      std::count_if(tagged.begin(), tagged.end(), [](const Trips& trips) { return !trips.fixed; });
  if (loops < certain || loops > certain + lengths.size()) {
    reject(shader,
           fmt::format("its compiled code has {} loops, and its //@loop tags allow {} to {}", loops,
                       certain, certain + lengths.size()));
  }
  std::sort(lengths.rbegin(), lengths.rend());
  const std::size_t kept = loops - certain;
  if (kept > 0 && kept < lengths.size() && lengths[kept - 1] == lengths[kept]) {
    reject(shader, fmt::format("of its loops of {} trips some are unrolled, and which cannot be "
                               "known; write out in its text those that are",
                               lengths[kept]));
  }
  const double shortest = kept == 0 ? HUGE_VAL : lengths[kept - 1];
  std::vector<Trips> there;
  for (const Trips& trips : tagged) {
    if (!trips.fixed || trips.most >= shortest) there.push_back(trips);
  }
  return there;
}

/// What a work-item executes: with the fewest, and with the most trips.
std::pair<Counts, Counts> executed_by_item(const Launch& launch, const Compiled& compiled) {
  const Shader& shader = *compiled.shader;
  if (shader.blocks.empty()) {
    reject(shader, "its listing is a summary alone; a prediction needs one of Valhall or Bifrost");
  }
  std::vector<double> least, most;
  for (const Trips& one : surviving(shader, trips(*compiled.tags, launch))) {
    least.push_back(one.least);
    most.push_back(one.most);
  }
  return {executed(shader, least), executed(shader, most)};
}

/// Every warp takes an issue slot for each instruction; a core issues as many warps in a clock as
/// its multiply-adds fill. With enough warps a kernel runs at this bound: TVM's untuned dense
/// kernels do, within 4 % (mali_predict_test.cpp). One special function holds its unit longer.
double issue_us(const Counts& item, const Spread& spread, const Gpu& gpu) {
  const double per_clock = gpu.fma_f32 / gpu.warp * spread.cores;
  return spread.warps * std::max(item.issued, kSfuClocks * item.sfu) / per_clock / kClocksPerUs;
}

/// A load or store of a warp moves at least one line; at most, where its lanes are neighbours, the
/// bytes of all. (Lanes that scatter take a line each: leaves_out says so.)
Interval load_us(const Counts& least, const Counts& most, const Spread& spread, const Gpu& gpu) {
  const double us_per_line = spread.warps / spread.cores / kClocksPerUs;
  const double accesses = most.loads + most.stores;
  const double lines = (most.load_bytes + most.store_bytes) * gpu.warp / kLineBytes;
  return in_order((least.loads + least.stores) * us_per_line,
                  std::max(accesses, lines) * us_per_line);
}

double bytes_of(const Plan& plan, const BufferArg& arg) {
  if (const TensorSpec* tensor = plan.tensor(arg.name)) return static_cast<double>(tensor->bytes());
  if (const BufferSpec* buffer = plan.buffer(arg.name)) return static_cast<double>(buffer->bytes);
  throw BadArgument(fmt::format("the plan has no buffer '{}'", arg.name));
}

/// What products of large matrices read again, as a cache does not hold it.
double bytes_read_again(const Launch& launch, const FileTags& tags, const Gpu& gpu) {
  const std::optional<GroupGrid> grid = grid_of(tags, launch);
  if (!grid) return 0;
  const SharedCache cache = shared_cache(gpu_device(gpu), product(launch.local));
  const double once = static_cast<double>(grid->rows) * grid->row_bytes +
                      static_cast<double>(grid->columns) * grid->column_bytes;
  return std::max(0.0, traced_bytes(*grid, cache) - once);
}

/// Each buffer that the launch is bound to, once, and what is read again.
double dram_us(const Launch& launch, const Plan& plan, const FileTags& tags, const Gpu& gpu) {
  std::set<std::string> seen;
  double bytes = 0;
  for (const Arg& arg : launch.args) {
    const auto* buffer = std::get_if<BufferArg>(&arg);
    if (buffer && seen.insert(buffer->name).second) bytes += bytes_of(plan, *buffer);
  }
  return (bytes + bytes_read_again(launch, tags, gpu)) / gpu.gb_per_s / kClocksPerUs;
}

}  // namespace

Interval& Interval::operator+=(const Interval& other) {
  low += other.low;
  high += other.high;
  return *this;
}

Interval LaunchTime::time() const { return larger(larger(issue, latency), larger(load, dram)); }

LaunchTime predict(const Launch& launch, const Plan& plan, const Compiled& compiled,
                   const Gpu& gpu) {
  throw_if(!compiled.shader || !compiled.tags, "kernel {} of {} is not compiled", launch.kernel,
           launch.file);
  LaunchTime time;
  time.kernel = launch.kernel;
  time.items = product(launch.global);
  std::tie(time.least, time.most) = executed_by_item(launch, compiled);
  const Spread spread = spread_of(launch, gpu);
  time.issue = in_order(issue_us(time.least, spread, gpu), issue_us(time.most, spread, gpu));
  // Once, however many warps follow one another on a core: kernels of many warps were seen at their
  // issue bound.
  time.latency = {0, time.most.issued * kLatencyClocks / kClocksPerUs};
  time.load = load_us(time.least, time.most, spread, gpu);
  const double dram = dram_us(launch, plan, *compiled.tags, gpu);
  time.dram = {dram, dram};
  return time;
}

PlanTime predict(const Plan& plan, double mac, const FindCompiled& find, const Gpu& gpu) {
  PlanTime time;
  time.mac = mac;
  for (const Launch& launch : plan.launches) {
    time.launches.push_back(predict(launch, plan, find(launch), gpu));
    const LaunchTime& one = time.launches.back();
    time.us += one.time();
    time.us += Interval{kLaunchCostUs, kLaunchCostUs};
    time.issued += one.items * one.most.issued;
  }
  return time;
}

std::string leaves_out() {
  return fmt::format(
      "A prediction is for {}, at 1 GHz, and was never run.\n"
      "Each launch costs {} us and reads each of its buffers from memory once. Products of dense\n"
      "read again what a cache of 1 MiB, which is assumed, does not hold.\n"
      "A branch counts as its longer side. Counts that depend on data make an interval wide.\n"
      "Left out: other cache misses, lanes with scattered addresses, waits at barriers,\n"
      "idle cores at the end of a launch, other clocks, and heat.\n"
      "Nine kernels of another project were compiled with Mesa and predicted by this model.\n"
      "Three are within about 5 % of their published times. Five are off by factors of .25 to 3.\n"
      "One interval holds its time but is too wide to use. There are three probable causes.\n"
      "The times are of Arm's driver on a Mali-G610, and tools/README.md has the table.\n"
      "No kernel of clam was timed on a Mali.\n",
      kPredictedFor, kLaunchCostUs);
}

double floor_us(const Problem& problem, const Gpu& gpu) {
  const double per_core = problem.dtype() == Dtype::f16 ? gpu.fma_f16 : gpu.fma_f32;
  // A multiply-add is two operations, each clock one of 1000 in a us.
  const double flops_per_us = 2 * per_core * gpu.cores * kClocksPerUs;
  const double bytes_per_us = gpu.gb_per_s * kClocksPerUs;
  return std::max(flops_of(problem) / flops_per_us, bytes_of(problem) / bytes_per_us);
}

}  // namespace clam::mali
