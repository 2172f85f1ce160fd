// SPDX-License-Identifier: MIT
#include "launch_policy.hpp"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "check/clock.hpp"
#include "clam/error.hpp"
#include "compare.hpp"
#include "stopwatch.hpp"

namespace clam::bench {
namespace {

constexpr int kLaunches = 64;  // of a batch: twice what is in flight
constexpr const char* kProblem = "unary op=relu shape=64 dtype=f32";
constexpr std::size_t kElements = 64;

/// A Runtime with one policy, and its launch.
class Flushed {
 public:
  Flushed(const Runtime& like, int launches_a_flush)
      : runtime_(like.context(), like.queue(), options(launches_a_flush)),
        src_(like.context(), CL_MEM_READ_ONLY, sizeof(float) * kElements),
        dst_(like.context(), CL_MEM_READ_WRITE, sizeof(float) * kElements),
        bound_(runtime_.bind(runtime_.prepare(Problem::parse(kProblem)),
                             {{"src", src_}, {"dst", dst_}})) {}

  /// Microseconds a launch. `token` shows that this batch has run.
  double batch_us(float token) {
    runtime_.queue().enqueueFillBuffer(src_, token, 0, sizeof(float) * kElements);
    runtime_.queue().finish();
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kLaunches; ++i) runtime_.enqueue(bound_);
    runtime_.finish();
    const double ns = nanoseconds_since(start);
    float seen = 0;
    runtime_.queue().enqueueReadBuffer(dst_, CL_TRUE, 0, sizeof seen, &seen);
    if (seen != token) throw DeviceError("launches ended, but did not run", CL_INVALID_OPERATION);
    return ns * 1e-3 / kLaunches;
  }

 private:
  static RuntimeOptions options(int launches_a_flush) {
    RuntimeOptions options = RuntimeOptions::from_environment();
    options.launches_a_flush = launches_a_flush;
    return options;
  }

  Runtime runtime_;
  cl::Buffer src_, dst_;
  Bound bound_;
};

}  // namespace

double FlushCost::us() const { return median(samples_us); }

std::vector<FlushCost> measure_launches(const Runtime& like, double seconds) {
  constexpr std::size_t kLeast = 15;
  std::vector<FlushCost> costs;
  std::vector<std::unique_ptr<Flushed>> policies;
  float token = 0;
  for (const int launches : {1, 2, 4, 8, 16, RuntimeOptions::kWhenWaiting}) {
    costs.push_back({launches, {}});
    policies.push_back(std::make_unique<Flushed>(like, launches));
    policies.back()->batch_us(++token);  // a driver may finish building now
  }
  const Clock::time_point start = Clock::now();
  while (costs[0].samples_us.size() < kLeast || seconds_since(start) < seconds) {
    for (std::size_t i = 0; i < costs.size(); ++i) {
      costs[i].samples_us.push_back(policies[i]->batch_us(++token));
    }
  }
  return costs;
}

const FlushCost& best_of(const std::vector<FlushCost>& costs) {
  const auto usual = std::find_if(costs.begin(), costs.end(), [](const FlushCost& cost) {
    return cost.launches_a_flush == RuntimeOptions::kLaunchesAFlush;
  });
  const FlushCost* best = &*usual;
  for (const FlushCost& cost : costs) {
    const Judgement judgement =
        judge_change(Timing::of(usual->samples_us, {}), Timing::of(cost.samples_us, {}));
    if (judgement.change == Change::fast && cost.us() < best->us()) best = &cost;
  }
  return *best;
}

nlohmann::json to_json(const std::vector<FlushCost>& costs) {
  const FlushCost& best = best_of(costs);
  nlohmann::json json{{"launches_a_flush", best.launches_a_flush}, {"us", best.us()}};
  for (const FlushCost& cost : costs) {
    json["costs"].push_back({{"launches_a_flush", cost.launches_a_flush}, {"us", cost.us()}});
  }
  return json;
}

}  // namespace clam::bench
