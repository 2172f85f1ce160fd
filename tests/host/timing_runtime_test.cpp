// SPDX-License-Identifier: MIT
// timing_runtime_test.cpp - what a call costs the host, on the driver that the tests run on.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "clam/runtime.hpp"
#include "foreign_plan.hpp"
#include "timing.hpp"

namespace clam::test {
namespace {

/// Median host time of a call, in microseconds.
template <typename Call, typename Wait>
double median_us(const Call& call, const Wait& wait) {
  using Steady = std::chrono::steady_clock;
  constexpr int kCalls = 20000, kFlight = 500;
  std::vector<double> all;
  for (int i = 0; i < kCalls; ++i) {
    const Steady::time_point start = Steady::now();
    call();
    all.push_back(std::chrono::duration<double, std::micro>(Steady::now() - start).count());
    if (i % kFlight == kFlight - 1) wait();
  }
  std::nth_element(all.begin(), all.begin() + kCalls / 2, all.end());
  return all[kCalls / 2];
}

TEST(timing_runtime_device, a_bound_call_costs_the_host_little_more_than_a_bare_one) {
  CLAM_NEEDS_QUIET();
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_scale_kernel(folder);
  RuntimeOptions options;
  options.max_in_flight = 1000;
  options.files = KernelFiles(folder.path());
  const auto runtime = fresh_runtime(options);
  Executable executable = runtime->prepare(scale_plan(16, 2));
  const Bindings bindings{{"src", cl::Buffer(runtime->context(), CL_MEM_READ_WRITE, 64)},
                          {"dst", cl::Buffer(runtime->context(), CL_MEM_READ_WRITE, 64)}};
  const Bound bound = runtime->bind(executable, bindings);
  cl::Kernel bare = runtime->programs().kernel(runtime->files().get("scale.cl"), "", "scale");
  bare.setArg(0, bindings.at("src"));
  bare.setArg(1, bindings.at("dst"));
  bare.setArg(2, 2.0f);
  bare.setArg(3, cl_int{16});
  double least = 1e9;
  std::string figures;
  for (int turn = 0; turn < 5 && least > 1.3; ++turn) {
    const double of_bare = median_us(
        [&] {
          cl::Event event;
          runtime->queue().enqueueNDRangeKernel(bare, cl::NullRange, {16}, {16}, nullptr, &event);
        },
        [&] { runtime->queue().finish(); });
    const double of_bound = median_us([&] { runtime->enqueue(bound); }, [&] { runtime->finish(); });
    least = std::min(least, of_bound / of_bare);
    figures += std::to_string(of_bound) + " us and " + std::to_string(of_bare) + " us\n";
  }
  RecordProperty("figures", figures);
  EXPECT_LE(least, 1.3) << "a bound and a bare call take\n" << figures;
}

}  // namespace
}  // namespace clam::test
