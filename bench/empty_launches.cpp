// SPDX-License-Identifier: MIT
#include "empty_launches.hpp"

#include <deque>

#include "clam/program_cache.hpp"
#include "runtime/embedded.hpp"

namespace clam::bench {
namespace {

/// By a cache of its own: the kernel is not in the counts of the rows' programs.
cl::Kernel empty_kernel(Runtime& runtime) {
  const KernelSource source{"peaks.cl", std::string(embedded_peaks().front().text), "embedded", ""};
  ProgramCache programs(runtime.context(), runtime.queue().getInfo<CL_QUEUE_DEVICE>(),
                        runtime.device(), ProgramCache::default_dir(),
                        ProgramCache::limit_from_environment());
  return programs.kernel(source, "", "peak_nothing");
}

}  // namespace

EmptyLaunches::EmptyLaunches(Runtime& runtime)
    : runtime_(runtime),
      watch_(runtime),
      kernel_(empty_kernel(runtime)),
      marks_(runtime.context(), CL_MEM_READ_WRITE, sizeof(cl_int)) {
  kernel_.setArg(0, marks_);
  kernel_.setArg(1, cl_int{1});
  run(1);  // a driver may finish building now
}

double EmptyLaunches::run(std::int64_t launches) {
  const auto most = static_cast<std::size_t>(runtime_.max_in_flight());
  std::deque<cl::Event> in_flight;
  const auto retire = [&] {
    watch_.wait(in_flight.front());
    in_flight.pop_front();
  };
  const Clock::time_point start = Clock::now();
  for (std::int64_t i = 0; i < launches; ++i) {
    if (in_flight.size() >= most) retire();
    runtime_.queue().enqueueNDRangeKernel(kernel_, cl::NullRange, {1}, {1}, nullptr,
                                          &in_flight.emplace_back());
  }
  while (!in_flight.empty()) retire();
  return nanoseconds_since(start) * 1e-3;
}

}  // namespace clam::bench
