// SPDX-License-Identifier: MIT
// runtime.hpp - runs Plans on a borrowed context and queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "op.hpp"
#include "opencl.hpp"
#include "plan.hpp"
#include "program_cache.hpp"

namespace clam {

/// The caller's buffers by tensor name. Offset and strides of a tensor are in its TensorSpec.
using Bindings = std::map<std::string, cl::Buffer>;

/// Device times of one launch, from its event, in nanoseconds. Zero on a queue without profiling.
struct LaunchTime {
  std::uint64_t queued = 0, submitted = 0, started = 0, ended = 0;

  static LaunchTime of(const cl::Event& event);
  /// How long it ran; negative if it ended before it started. The times are subtracted as integers,
  /// because neighbouring doubles of today's date in ns are 256 apart.
  double ns() const { return static_cast<double>(static_cast<std::int64_t>(ended - started)); }
};

/// A Plan that is ready to run: its kernels are built, its scratch and packed buffers allocated.
class Executable {
 public:
  const Plan& plan() const { return plan_; }
  /// Bytes of scratch and packed buffers on the device.
  std::int64_t device_bytes() const;

 private:
  friend class Runtime;
  Plan plan_;
  std::optional<Problem> problem_;  ///< what it was planned from; none for a foreign plan
  PlanOptions options_;
  std::vector<cl::Kernel> kernels_;  ///< in the order of launches_of()
  Bindings own_;
  bool is_packed_ = false;
};

/// The launches of an Executable with all arguments set, on kernels of its own. It keeps them and
/// their buffers alive.
class Bound {
 private:
  friend class Runtime;
  struct Step {
    cl::Kernel kernel;
    cl::NDRange offset, global, local;
    std::string name;
    Step(cl::Kernel own, const Launch& launch);
  };
  std::string problem_, variant_;
  int half_group_ = 0;  ///< what is learned if its group is refused; 0: nothing
  std::vector<Step> steps_;
  std::vector<cl::Buffer> buffers_;
};

struct RuntimeOptions {
  int max_in_flight = 32;  ///< launches; an unbounded queue gives CL_OUT_OF_HOST_MEMORY on a G610
  /// The queue is flushed after so many launches, and after the first one when none is in flight.
  /// kWhenWaiting: only before a wait. 0: what `clam tune` has measured for this device, else 8.
  /// Without a flush, a driver may not start launches before somebody waits.
  int launches_a_flush = 0;
  static constexpr int kWhenWaiting = -1, kLaunchesAFlush = 8;
  std::string cache_dir;  ///< where built programs are kept; empty: in memory alone
  std::int64_t cache_limit = ProgramCache::kDefaultLimit;  ///< most bytes in cache_dir
  KernelFiles files;                                       ///< the embedded kernels
  /// Measured choices for plans whose PlanOptions have none. Null: the built-in ones.
  std::shared_ptr<const Tuned> tuned{};

  /// What clam's own programs use: CLAM_CACHE_DIR, CLAM_CACHE_MB, CLAM_KERNEL_DIR, CLAM_TUNED_DIR.
  static RuntimeOptions from_environment();
};

/// Builds and runs plans. It is not thread-safe: use one Runtime for each thread. After a launch or
/// a wait that failed, it is tainted: each later call throws a DeviceError that names that error.
class Runtime {
 public:
  using Options = RuntimeOptions;
  struct Counters {
    std::int64_t launches = 0;
    std::int64_t waits = 0;          ///< waits because max_in_flight launches were in flight
    std::int64_t groups_halved = 0;  ///< plans made again because a kernel needs smaller groups
  };

  /// Borrows context and queue. The queue is in order; times need a queue with profiling.
  Runtime(cl::Context context, cl::CommandQueue queue, Options options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// make_plan with RuntimeOptions::tuned, for the device here or another one.
  Plan plan(const Problem& problem, const DeviceInfo& device, PlanOptions options = {}) const;
  /// Plans, builds and allocates. A built kernel may allow fewer work-items than planned, or may
  /// not build with so many. Then it plans again with half the group, down to 16. Throws
  /// Unsupported, BuildFailure or DeviceError.
  Executable prepare(const Problem& problem, PlanOptions options = {});
  /// Takes a plan as it is. Throws Unsupported if the device allows only smaller groups.
  Executable prepare(const Plan& plan);

  /// Runs the pack launches, waits, and returns their times. Only the tensors that they name must
  /// be bound. Call it before the first `enqueue` or `bind`, and again when those tensors change.
  std::vector<LaunchTime> pack(Executable& executable, const Bindings& bindings);
  /// Enqueues the launches. It returns when all are enqueued and at most max_in_flight are
  /// unfinished. Throws BadArgument when a tensor is not bound or its buffer is too small, when
  /// pack launches have not run, or when an argument does not suit the kernel. An output may
  /// overlap another tensor only if the plan allows it (TensorSpec::may_be); else that is a
  /// BadArgument too. A driver may refuse a group size that it promised. Then an Executable that
  /// was prepared from a Problem is planned again with half that size. Its weights are packed
  /// again, so they must be bound.
  void enqueue(Executable& executable, const Bindings& bindings);
  /// Checks the bindings and sets the arguments, as `enqueue` does, but once for many calls. Throws
  /// BadArgument as `enqueue` does.
  Bound bind(const Executable& executable, const Bindings& bindings);
  /// Enqueues the launches, the first after the events of `wait_for`, and returns the event of the
  /// last one. Flush the queue before you wait for that event: some drivers start nothing before a
  /// flush. The call looks up no name and allocates nothing. The times of its launches are not in
  /// the result of `finish`: read them from the event. Throws Unsupported if the driver refuses a
  /// group size that it promised: then call `prepare`, `pack` and `bind` again, which take half.
  cl::Event enqueue(const Bound& bound, const std::vector<cl::Event>& wait_for = {});
  /// Waits for all launches and checks the execution status of each event. Returns the times of all
  /// launches since the last `finish`, in order of launch. The times are kept until then, so call
  /// it from time to time.
  std::vector<LaunchTime> finish();

  /// Waits for all launches, also of a tainted Runtime, and checks no status and no time. After it,
  /// no launch uses a buffer that is then released.
  void drain() noexcept;

  /// Changes max_in_flight.
  void bound_flight(int launches);
  int max_in_flight() const { return options_.max_in_flight; }

  const DeviceInfo& device() const { return info_; }
  const cl::Context& context() const { return context_; }
  const cl::CommandQueue& queue() const { return queue_; }
  ProgramCache& programs() { return programs_; }
  const KernelFiles& files() const { return options_.files; }
  const std::shared_ptr<const Tuned>& tuned() const { return options_.tuned; }
  void set_plan_dir(const std::string& dir);  ///< where a foreign plan's kernel files lie
  const Counters& counters() const { return counters_; }
  bool tainted() const { return !taint_.empty(); }

 private:
  Executable build(const Plan& plan);
  void learn_limit(const std::string& variant, int group);
  void allocate(Executable& executable);
  Reason group_refused(const Executable& executable) const;
  void set_arguments(const Launch& launch, cl::Kernel& kernel, const Executable& executable,
                     const Bindings& bindings, std::vector<cl::Buffer>& alive) const;
  Bound bound(const Executable& executable, const std::vector<Launch>& launches,
              cl::Kernel* kernels, const Bindings& bindings) const;
  Bound bound_call(const Executable& executable, cl::Kernel* kernels,
                   const Bindings& bindings) const;
  cl::Event run(const Bound& bound, const std::vector<cl::Event>& wait_for, bool keeps_times);
  cl::Event submit(const Bound::Step& step, const std::vector<cl::Event>* wait_for,
                   bool keeps_times);
  void retire_oldest();
  void flush();
  void require_sound() const;
  void measure_for(const Problem& problem);
  [[noreturn]] void taint(const std::string& what, int code);

  cl::Context context_;
  cl::CommandQueue queue_;
  Options options_;
  DeviceInfo info_;
  ProgramCache programs_;
  bool profiling_ = false;
  struct InFlight {
    cl::Event event;
    bool keeps_times = false;
  };
  std::vector<InFlight> in_flight_;  ///< a ring of max_in_flight places
  std::size_t oldest_ = 0, flying_ = 0, unflushed_ = 0;
  std::vector<LaunchTime> times_;
  std::map<std::string, int> group_limit_;  ///< by variant: learned from built kernels
  Counters counters_;
  std::string taint_;
};

/// Programs and launches so far, for --json.
nlohmann::json counters_json(Runtime& runtime);

}  // namespace clam
