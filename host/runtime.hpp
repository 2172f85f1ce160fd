// SPDX-License-Identifier: MIT
// runtime.hpp - runs Plans on a borrowed context and queue.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "op.hpp"
#include "opencl.hpp"
#include "plan.hpp"
#include "program_cache.hpp"

namespace clam {

/// The caller's buffers by tensor name. A tensor's own offset and strides are in its TensorSpec.
using Bindings = std::map<std::string, cl::Buffer>;

/// Device time of one launch, from its event, in nanoseconds. Zero on a queue without profiling.
struct LaunchTime {
  std::uint64_t queued = 0, submitted = 0, started = 0, ended = 0;

  /// How long it ran; negative where the two are swapped. Subtracted as integers: since 1970 there
  /// are so many ns that neighbouring doubles are 256 apart.
  double ns() const { return static_cast<double>(static_cast<std::int64_t>(ended - started)); }
};

/// A Plan made ready: kernels built, scratch and packed buffers allocated.
class Executable {
 public:
  const Plan& plan() const { return plan_; }
  /// Bytes of scratch and packed buffers on the device.
  std::int64_t device_bytes() const;

 private:
  friend class Runtime;
  Plan plan_;
  std::vector<cl::Kernel> pack_, launches_;
  Bindings own_;
};

struct RuntimeOptions {
  int max_in_flight = 32;  ///< launches; an unbounded queue is CL_OUT_OF_HOST_MEMORY on G610
  std::string cache_dir = ProgramCache::default_dir();
  KernelFiles files = KernelFiles::from_environment();
};

/// Not thread-safe: one Runtime a thread. After a device error it is tainted, and every later
/// call throws DeviceError saying which error came first.
class Runtime {
 public:
  using Options = RuntimeOptions;
  struct Counters {
    std::int64_t launches = 0;
    std::int64_t waits = 0;          ///< times the bound on launches in flight made it wait
    std::int64_t groups_halved = 0;  ///< plans made again because a kernel allowed a smaller group
  };

  /// Borrows context and queue (in-order; with profiling for times).
  Runtime(cl::Context context, cl::CommandQueue queue, Options options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Plans, builds and allocates. When a built kernel allows fewer work-items than planned, plans
  /// again with half the group, down to 16. Throws Unsupported, BuildFailure, DeviceError.
  Executable prepare(const Problem& problem, PlanOptions options = {});
  /// Takes a plan as it is. Throws Unsupported when the device allows a smaller group only.
  Executable prepare(const Plan& plan);

  /// Runs the pack launches, waits, and returns their times. Only the tensors they name need be
  /// bound.
  std::vector<LaunchTime> pack(Executable& executable, const Bindings& bindings);
  /// Enqueues the launches; returns when all are enqueued and at most max_in_flight unfinished.
  /// Throws BadArgument when a tensor is not bound, its buffer is too small, an argument does not
  /// suit the kernel, or an output lies on another tensor and the plan does not say that it may.
  void enqueue(Executable& executable, const Bindings& bindings);
  /// Waits for all, checks each event's execution status, returns the times since the last finish
  /// in order of launch. On a profiling queue the times are kept until then: call it now and then.
  std::vector<LaunchTime> finish();

  /// From here on max_in_flight is this one.
  void bound_flight(int launches);
  int max_in_flight() const { return options_.max_in_flight; }

  const DeviceInfo& device() const { return info_; }
  const cl::Context& context() const { return context_; }
  const cl::CommandQueue& queue() const { return queue_; }
  ProgramCache& programs() { return programs_; }
  const KernelFiles& files() const { return options_.files; }
  void set_plan_dir(const std::string& dir);  ///< where a foreign plan's kernel files lie
  const Counters& counters() const { return counters_; }
  bool tainted() const { return !taint_.empty(); }

 private:
  Executable build(const Plan& plan);
  void allocate(Executable& executable);
  Reason group_refused(const Executable& executable) const;
  std::vector<cl::Buffer> set_arguments(const Launch& launch, cl::Kernel& kernel,
                                        const Executable& executable,
                                        const Bindings& bindings) const;
  void launch(const Launch& launch, cl::Kernel& kernel, const Executable& executable,
              const Bindings& bindings);
  void retire_oldest();
  void require_sound() const;
  void measure_for(const Op& op);
  [[noreturn]] void taint(const std::string& what, int code);

  cl::Context context_;
  cl::CommandQueue queue_;
  Options options_;
  DeviceInfo info_;
  ProgramCache programs_;
  bool profiling_ = false;
  std::deque<cl::Event> in_flight_;
  std::vector<LaunchTime> times_;
  std::map<std::string, int> group_limit_;  ///< by variant: learned from built kernels
  Counters counters_;
  std::string taint_;
};

/// Programs and launches so far, for --json.
nlohmann::json counters_json(Runtime& runtime);

}  // namespace clam
