// SPDX-License-Identifier: MIT
#include "clam/runtime.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "clam/planner.hpp"
#include "clam/tuned.hpp"
#include "native_exp2.hpp"
#include "overlap.hpp"
#include "refuse.hpp"

namespace clam {
static_assert(RuntimeOptions::kWhenWaiting == TunedFlush::kWhenWaiting);
namespace {

cl::NDRange range(const std::array<std::int64_t, 3>& size, int dimensions) {
  const auto at = [&](std::size_t axis) { return static_cast<cl::size_type>(size[axis]); };
  if (dimensions == 1) return {at(0)};
  return dimensions == 2 ? cl::NDRange(at(0), at(1)) : cl::NDRange(at(0), at(1), at(2));
}

int largest_group(const Plan& plan) {
  std::int64_t largest = 1;
  for (const Launch* launch : launches_of(plan)) {
    largest = std::max(largest, launch->group_size());
  }
  return static_cast<int>(largest);
}

/// What to try after the plan's group; 0: nothing smaller helps.
int half_group(const Plan& plan) {
  constexpr int kSmallest = 16;
  const int half = largest_group(plan) / 2;
  return half >= kSmallest ? half : 0;
}

/// A driver refused a launch for its group, and did nothing. The next plan has half of it.
struct GroupRefused {};

/// Whether a kernel does not build for the group that it requires: by the driver's status, or its
/// words.
bool is_about_groups(const BuildFailure& failure) {
  if (failure.code == CL_INVALID_WORK_GROUP_SIZE || failure.code == CL_OUT_OF_RESOURCES)
    return true;
  for (const char* words : {"work group", "work-group", "workgroup", "work_group"}) {
    if (failure.log.find(words) != std::string::npos) return true;
  }
  return false;
}

/// Where a buffer lies: the memory that it is a part of, and its first byte there.
struct Place {
  cl_mem memory;
  std::int64_t begin;
};

Place place_of(const cl::Buffer& buffer) {
  if (const cl_mem whole = buffer.getInfo<CL_MEM_ASSOCIATED_MEMOBJECT>()()) {
    return {whole, static_cast<std::int64_t>(buffer.getInfo<CL_MEM_OFFSET>())};
  }
  return {buffer(), 0};
}

/// The part of a buffer from `offset` on. A sub-buffer cannot be cut again, but its parent can.
cl::Buffer region(const cl::Buffer& buffer, std::int64_t offset) {
  if (offset == 0) return buffer;
  const Place place = place_of(buffer);
  const cl_buffer_region region{static_cast<std::size_t>(place.begin + offset),
                                buffer.getInfo<CL_MEM_SIZE>() - static_cast<std::size_t>(offset)};
  // flags as its own
  return cl::Buffer(place.memory, true).createSubBuffer(0, CL_BUFFER_CREATE_TYPE_REGION, &region);
}

/// The buffer of a name: the executable's own, or the caller's, which must be large enough.
const cl::Buffer& resolve(const std::string& name, const Plan& plan, const Bindings& own,
                          const Bindings& bindings) {
  if (const auto found = own.find(name); found != own.end()) return found->second;
  const auto found = bindings.find(name);
  throw_if(found == bindings.end() || !found->second(), "{}: no buffer is bound to '{}'",
           plan.problem, name);
  const auto have = static_cast<std::int64_t>(found->second.getInfo<CL_MEM_SIZE>());
  const std::int64_t need = plan.tensor(name)->bytes();
  throw_if(have < need, "{}: '{}' needs {} bytes, its buffer has {}", plan.problem, name, need,
           have);
  return found->second;
}

void refuse_overlaps(const Plan& plan, const Bindings& bindings) {
  std::vector<std::pair<const TensorSpec*, Place>> bound;
  for (const TensorSpec& spec : plan.tensors) {
    const auto found = bindings.find(spec.name);
    if (found != bindings.end() && found->second())
      bound.emplace_back(&spec, place_of(found->second));
  }
  for (const auto& [output, place] : bound) {
    for (const auto& [other, its] : bound) {
      if (output->role != TensorSpec::Role::output || other == output) continue;
      if (place.memory != its.memory) continue;
      if (Reason reason = overlap({output, place.begin}, {other, its.begin})) {
        throw BadArgument(fmt::format("{}: {}", plan.problem, *reason));
      }
    }
  }
}

}  // namespace

LaunchTime LaunchTime::of(const cl::Event& event) {
  return {event.getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>(),
          event.getProfilingInfo<CL_PROFILING_COMMAND_SUBMIT>(),
          event.getProfilingInfo<CL_PROFILING_COMMAND_START>(),
          event.getProfilingInfo<CL_PROFILING_COMMAND_END>()};
}

std::int64_t Executable::device_bytes() const {
  std::int64_t bytes = 0;
  for (const BufferSpec& buffer : plan_.buffers) bytes += buffer.bytes;
  return bytes;
}

RuntimeOptions RuntimeOptions::from_environment() {
  RuntimeOptions options;
  options.cache_dir = ProgramCache::default_dir();
  options.cache_limit = ProgramCache::limit_from_environment();
  options.files = KernelFiles::from_environment();
  options.tuned = Tuned::from_environment(options.files);
  return options;
}

Runtime::Runtime(cl::Context context, cl::CommandQueue queue, Options options)
    : context_(std::move(context)),
      queue_(std::move(queue)),
      options_(std::move(options)),
      info_(query_device(queue_.getInfo<CL_QUEUE_DEVICE>())),
      programs_(context_, queue_.getInfo<CL_QUEUE_DEVICE>(), info_, options_.cache_dir,
                options_.cache_limit) {
  const cl_command_queue_properties properties = queue_.getInfo<CL_QUEUE_PROPERTIES>();
  throw_if(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
           "the queue is out of order; a plan's launches need an in-order queue");
  if (!options_.tuned) options_.tuned = Tuned::built_in(options_.files);
  if (options_.launches_a_flush == 0) {
    const TunedFlush* measured = options_.tuned->flush_of(info_);
    options_.launches_a_flush = measured ? measured->launches_a_flush : Options::kLaunchesAFlush;
  }
  throw_if(options_.launches_a_flush < Options::kWhenWaiting,
           "launches_a_flush must be a count, 0, or -1");
  bound_flight(options_.max_in_flight);
  profiling_ = properties & CL_QUEUE_PROFILING_ENABLE;
}

Runtime::~Runtime() { drain(); }

void Runtime::drain() noexcept {
  for (; flying_ > 0; --flying_) {
    try {
      flush();
      in_flight_[oldest_ % in_flight_.size()].event.wait();
    } catch (const cl::Error&) {
    }
    oldest_ = (oldest_ + 1) % in_flight_.size();
  }
}

void Runtime::bound_flight(int launches) {
  if (launches < 1) throw BadArgument("max_in_flight must be at least 1");
  if (flying_ > 0) flush();
  for (; flying_ > static_cast<std::size_t>(launches); ++counters_.waits) retire_oldest();
  const auto oldest = in_flight_.begin() + static_cast<std::ptrdiff_t>(oldest_);
  std::rotate(in_flight_.begin(), oldest, in_flight_.end());
  in_flight_.resize(static_cast<std::size_t>(launches));
  oldest_ = 0;
  options_.max_in_flight = launches;
}

void Runtime::set_plan_dir(const std::string& dir) {
  options_.files = options_.files.with_plan_dir(dir);
}

Executable Runtime::build(const Plan& plan) {
  Executable executable;
  executable.plan_ = plan;
  for (const Launch* launch : launches_of(plan)) {
    cl::Kernel kernel =
        programs_.kernel(options_.files.get(launch->file), launch->options, launch->kernel);
    const cl_uint takes = kernel.getInfo<CL_KERNEL_NUM_ARGS>();
    throw_if(takes != launch->args.size(), "{}: kernel {} takes {} arguments, the launch gives {}",
             plan.problem, launch->kernel, takes, launch->args.size());
    executable.kernels_.push_back(std::move(kernel));
  }
  return executable;
}

Reason Runtime::group_refused(const Executable& executable) const {
  const cl::Device device = queue_.getInfo<CL_QUEUE_DEVICE>();
  auto kernel = executable.kernels_.begin();
  for (const Launch* launch : launches_of(executable.plan_)) {
    // The device's own limit promises more than a register-heavy kernel gets (T860: 64 of 256).
    const auto allowed =
        static_cast<std::int64_t>(kernel++->getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(device));
    const std::int64_t wanted = launch->group_size();
    if (wanted > allowed) {
      return fmt::format(
          "kernel {} needs {} work-items a group, but {} allows {}: plan with a "
          "smaller PlanOptions::max_work_group",
          launch->kernel, wanted, info_.name, allowed);
    }
  }
  return {};
}

void Runtime::allocate(Executable& executable) {
  for (const BufferSpec& spec : executable.plan_.buffers) {
    try {
      executable.own_[spec.name] =
          cl::Buffer(context_, CL_MEM_READ_WRITE, static_cast<cl::size_type>(spec.bytes));
    } catch (const cl::Error& error) {
      throw DeviceError(
          fmt::format("{}: cannot allocate {} bytes for {}: {}", executable.plan_.problem,
                      spec.bytes, spec.name, describe(error)),
          error.err());
    }
  }
}

void Runtime::measure_for(const Problem& problem) {
  const auto takes_native_exp2 = op_of(problem).takes_native_exp2;
  if (info_.native_exp2_ulp != 0 || !takes_native_exp2 || !takes_native_exp2(problem)) return;
  info_.native_exp2_ulp = native_exp2_ulp(queue_, info_, options_.cache_dir);
}

Plan Runtime::plan(const Problem& problem, const DeviceInfo& device, PlanOptions options) const {
  if (!options.tuned) options.tuned = options_.tuned;
  return make_plan(problem, device, options);
}

Executable Runtime::prepare(const Problem& problem, PlanOptions options) {
  require_sound();
  measure_for(problem);
  const PlanOptions given = options;
  for (;;) {
    Plan plan = this->plan(problem, info_, options);
    const auto learned = group_limit_.find(plan.variant);
    if (learned != group_limit_.end() && largest_group(plan) > learned->second) {
      options.max_work_group = learned->second;
      plan = this->plan(problem, info_, options);
    }
    try {
      Executable executable = build(plan);
      const Reason refused = group_refused(executable);
      if (!refused) {
        allocate(executable);
        executable.problem_ = problem;
        executable.options_ = given;
        return executable;
      }
      if (half_group(plan) == 0) throw Unsupported(fmt::format("{}: {}", plan.problem, *refused));
    } catch (const BuildFailure& failure) {
      if (!is_about_groups(failure) || half_group(plan) == 0) throw;
    }
    options.max_work_group = half_group(plan);
    learn_limit(plan.variant, options.max_work_group);
  }
}

void Runtime::learn_limit(const std::string& variant, int group) {
  group_limit_[variant] = group;
  ++counters_.groups_halved;
}

Executable Runtime::prepare(const Plan& foreign) {
  require_sound();
  Plan plan = foreign;
  plan.device = info_;  // offsets must suit this device, whichever the plan was made for
  check(plan);
  Executable executable = build(plan);
  if (const Reason refused = group_refused(executable)) {
    throw Unsupported(fmt::format("{}: {}", plan.problem, *refused));
  }
  allocate(executable);
  return executable;
}

std::vector<LaunchTime> Runtime::pack(Executable& executable, const Bindings& bindings) {
  require_sound();
  const auto call = [&] {
    return bound(executable, executable.plan_.pack, executable.kernels_.data(), bindings);
  };
  Bound packing = call();
  const std::vector<LaunchTime> before = finish();
  for (;;) {
    try {
      run(packing, {}, profiling_);
      break;
    } catch (const GroupRefused&) {
      finish();
      executable = prepare(*executable.problem_, executable.options_);
      packing = call();
    }
  }
  const std::vector<LaunchTime> times = finish();
  executable.is_packed_ = true;
  times_ = before;
  return times;
}

void Runtime::enqueue(Executable& executable, const Bindings& bindings) {
  require_sound();
  for (;;) {
    try {
      cl::Kernel* kernels = executable.kernels_.data() + executable.plan_.pack.size();
      run(bound_call(executable, kernels, bindings), {}, profiling_);
      return;
    } catch (const GroupRefused&) {
      Executable smaller = prepare(*executable.problem_, executable.options_);
      if (!smaller.plan_.pack.empty()) pack(smaller, bindings);
      executable = std::move(smaller);
    }
  }
}

void Runtime::set_arguments(const Launch& launch, cl::Kernel& kernel, const Executable& executable,
                            const Bindings& bindings, std::vector<cl::Buffer>& alive) const {
  struct Setter {
    cl::Kernel& kernel;
    const Executable& executable;
    const Bindings& bindings;
    std::vector<cl::Buffer>& alive;
    cl_uint index = 0;
    void operator()(const BufferArg& a) {
      alive.push_back(
          region(resolve(a.name, executable.plan(), executable.own_, bindings), a.offset));
      kernel.setArg(index, alive.back());
    }
    void operator()(std::int32_t value) { kernel.setArg(index, static_cast<cl_int>(value)); }
    void operator()(float value) { kernel.setArg(index, value); }
    void operator()(const LocalArg& a) {
      kernel.setArg(index, cl::Local(static_cast<cl::size_type>(a.bytes)));
    }
    void operator()(const NullArg&) {
      const cl_mem none = nullptr;
      kernel.setArg(index, sizeof none, &none);
    }
    void operator()(const BytesArg& a) { kernel.setArg(index, a.bytes.size(), a.bytes.data()); }
  };
  Setter setter{kernel, executable, bindings, alive};
  try {
    for (const Arg& arg : launch.args) {
      std::visit(setter, arg);
      ++setter.index;
    }
  } catch (const cl::Error& error) {
    throw BadArgument(fmt::format("{}: argument {} does not suit kernel {}: {}",
                                  executable.plan().problem, setter.index, launch.kernel,
                                  describe(error)));
  }
}

Bound::Step::Step(cl::Kernel own, const Launch& launch)
    : kernel(std::move(own)),
      global(range(launch.global, launch.dimensions)),
      name(launch.file + ":" + launch.kernel) {
  if (launch.offset != Launch().offset) offset = range(launch.offset, launch.dimensions);
  if (launch.group_size() > 0) local = range(launch.local, launch.dimensions);
}

/// Sets the arguments of the launches on these kernels. That does not retain their buffers,
/// enqueueing does.
Bound Runtime::bound(const Executable& executable, const std::vector<Launch>& launches,
                     cl::Kernel* kernels, const Bindings& bindings) const {
  Bound bound;
  bound.problem_ = executable.plan_.problem;
  bound.variant_ = executable.plan_.variant;
  if (executable.problem_) bound.half_group_ = half_group(executable.plan_);
  for (const Launch& launch : launches) {
    set_arguments(launch, *kernels, executable, bindings, bound.buffers_);
    bound.steps_.emplace_back(*kernels++, launch);
  }
  return bound;
}

/// The launches of a call. Throws BadArgument where they must not run so.
Bound Runtime::bound_call(const Executable& executable, cl::Kernel* kernels,
                          const Bindings& bindings) const {
  const Plan& plan = executable.plan_;
  Bound call = bound(executable, plan.launches, kernels, bindings);
  throw_if(!executable.is_packed_ && !plan.pack.empty(),
           "{}: its constant inputs are not packed: call Runtime::pack first", plan.problem);
  refuse_overlaps(plan, bindings);
  return call;
}

Bound Runtime::bind(const Executable& executable, const Bindings& bindings) {
  require_sound();
  const Plan& plan = executable.plan_;
  std::vector<cl::Kernel> kernels;
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const cl::Kernel& built = executable.kernels_[plan.pack.size() + i];
    kernels.emplace_back(built.getInfo<CL_KERNEL_PROGRAM>(), plan.launches[i].kernel.c_str());
  }
  return bound_call(executable, kernels.data(), bindings);
}

cl::Event Runtime::enqueue(const Bound& bound, const std::vector<cl::Event>& wait_for) {
  require_sound();
  try {
    return run(bound, wait_for, false);
  } catch (const GroupRefused&) {
    throw Unsupported(bound.problem_ +
                      ": the driver refuses its groups; prepare and bind it again");
  }
}

cl::Event Runtime::run(const Bound& bound, const std::vector<cl::Event>& wait_for,
                       bool keeps_times) {
  const std::vector<cl::Event>* before = wait_for.empty() ? nullptr : &wait_for;
  cl::Event last;
  for (const Bound::Step& step : bound.steps_) {
    try {
      last = submit(step, before, keeps_times);
    } catch (const cl::Error& error) {
      // The call's own refusal: nothing was enqueued, and the queue is as it was.
      if (error.err() == CL_INVALID_WORK_GROUP_SIZE && bound.half_group_ > 0) {
        learn_limit(bound.variant_, bound.half_group_);
        throw GroupRefused{};
      }
      taint(fmt::format("{}: launch of {} failed: {}", bound.problem_, step.name, describe(error)),
            error.err());
    }
    before = nullptr;
  }
  return last;
}

cl::Event Runtime::submit(const Bound::Step& step, const std::vector<cl::Event>* wait_for,
                          bool keeps_times) {
  while (flying_ == in_flight_.size()) {
    ++counters_.waits;
    retire_oldest();
  }
  cl::Event event;
  queue_.enqueueNDRangeKernel(step.kernel, step.offset, step.global, step.local, wait_for, &event);
  in_flight_[(oldest_ + flying_) % in_flight_.size()] = {event, keeps_times};
  ++counters_.launches;
  ++flying_;
  const std::size_t wanted = flying_ == 1 ? 1 : static_cast<std::size_t>(options_.launches_a_flush);
  if (++unflushed_ >= wanted && options_.launches_a_flush != Options::kWhenWaiting) flush();
  return event;
}

void Runtime::flush() {
  if (std::exchange(unflushed_, 0) > 0) queue_.flush();
}

void Runtime::retire_oldest() {
  const InFlight oldest = std::exchange(in_flight_[oldest_], {});
  oldest_ = (oldest_ + 1) % in_flight_.size();
  // A wait on an event of a queue that was never flushed can block for ever (seen on G52).
  if (unflushed_ == flying_) flush();
  --flying_;
  int status = CL_COMPLETE;
  try {
    oldest.event.wait();
  } catch (const cl::Error& error) {
    status = error.err();
  }
  const cl_int own_status = oldest.event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>();
  if (own_status != CL_COMPLETE) status = own_status;
  if (status != CL_COMPLETE) {
    taint(fmt::format("a kernel ended with {} ({})", cl_status_name(status), status), status);
  }
  if (oldest.keeps_times) times_.push_back(LaunchTime::of(oldest.event));
}

std::vector<LaunchTime> Runtime::finish() {
  require_sound();
  try {
    flush();
    while (flying_ > 0) retire_oldest();
  } catch (const cl::Error& error) {
    taint("waiting failed: " + describe(error), error.err());
  }
  return std::exchange(times_, {});
}

void Runtime::require_sound() const {
  if (tainted()) {
    throw DeviceError("this runtime is unusable since an earlier device error: " + taint_ +
                      "; make a new context");
  }
}

void Runtime::taint(const std::string& what, int code) {
  taint_ = what;
  throw DeviceError(what, code);
}

nlohmann::json counters_json(Runtime& runtime) {
  const Runtime::Counters& counters = runtime.counters();
  return {{"programs", to_json(runtime.programs().counters())},
          {"launches", counters.launches},
          {"waits", counters.waits},
          {"groups_halved", counters.groups_halved}};
}

}  // namespace clam
