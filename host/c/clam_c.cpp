// SPDX-License-Identifier: MIT
// clam_c.cpp - clam.h on the C++ library: handles, and exceptions that become a status.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "clam/clam.h"
#include "clam/clam.hpp"
#include "runtime/contracts.hpp"
#include "runtime/embedded.hpp"
#include "runtime/overlap.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

/// Changes no more once it is made, so threads share it.
struct clam_plan {
  clam::Problem problem;
  clam::PlanOptions options;
  bool is_for_here;  ///< made for a device of this machine
  clam::Plan plan;
  std::string json;
  std::vector<std::vector<std::int64_t>> strides;  ///< of each tensor, every axis
};

/// What a runtime's handle and its executables share. Calls wait for one another: handles are
/// destroyed in any thread where a language collects garbage.
struct Shared {
  Shared(const cl::CommandQueue& queue, clam::RuntimeOptions options)
      : runtime(queue.getInfo<CL_QUEUE_CONTEXT>(), queue, std::move(options)) {}
  std::mutex mutex;
  clam::Runtime runtime;
};

struct clam_runtime {
  std::shared_ptr<Shared> shared;
};

struct clam_executable {
  std::shared_ptr<Shared> shared;
  clam::Executable executable;
  std::vector<std::unique_ptr<clam_plan>> plans;  ///< the last one is run
  clam::Bindings bindings = {};
  std::optional<clam::Bound> bound = {};  ///< none: a buffer was named since the last launch
  bool is_packed = false;

  const clam::Plan& plan() const { return plans.back()->plan; }
};

namespace {

using namespace clam;

/// The status, and as much of the error as the caller's struct holds; a character is not cut in
/// two.
clam_status failed(clam_error* error, clam_status status, std::string_view text,
                   int cl_status = 0) noexcept {
  if (!error || error->size < sizeof error->size) return status;
  clam_error whole{error->size, status, cl_status, {}};
  const std::size_t size = std::min(error->size, sizeof whole), head = offsetof(clam_error, text);
  if (size > head) {
    std::size_t length = std::min(text.size(), size - head - 1);
    while (length < text.size() && length > 0 && (text[length] & 0xc0) == 0x80) --length;
    std::memcpy(whole.text, text.data(), length);
  }
  std::memcpy(error, &whole, size);
  return status;
}

/// Calls `work`, and makes what it throws a status.
template <typename Work>
clam_status guarded(clam_error* error, Work work) noexcept {
  try {
    work();
    return CLAM_OK;
  } catch (const BadArgument& bad) {
    return failed(error, CLAM_BAD_ARGUMENT, bad.what());
  } catch (const Unsupported& reason) {
    return failed(error, CLAM_UNSUPPORTED, reason.what());
  } catch (const BuildFailure& failure) {
    return failed(error, CLAM_BUILD_FAILED, failure.what(), failure.code);
  } catch (const DeviceError& failure) {
    return failed(error, CLAM_DEVICE_FAILED, failure.what(), failure.code);
  } catch (const cl::Error& failure) {
    return failed(error, CLAM_DEVICE_FAILED, failure.what(), failure.err());
  } catch (const std::bad_alloc&) {
    return failed(error, CLAM_FAILED, "the host has no memory left");
  } catch (const std::exception& other) {
    return failed(error, CLAM_FAILED, other.what());
  } catch (...) {
    return failed(error, CLAM_FAILED, "something was thrown that is no error of clam");
  }
}

void require(const void* given, const char* what) {
  throw_if(!given, "{} is NULL, which this function cannot do without", what);
}

/// The caller's options: what its version does not have is zero. `least`: a smaller struct has no
/// size that is right.
template <typename Options>
Options known(const Options* given, std::size_t least) {
  Options options{};
  if (!given) return options;
  throw_if(given->size < least || given->size % alignof(Options) != 0,
           "the options have no size: set their field `size` to the sizeof of the struct");
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const std::size_t size = std::min(given->size, sizeof options);
  throw_if(std::any_of(bytes + size, bytes + given->size, [](auto byte) { return byte != 0; }),
           "this libclam.so is older than clam.h, and lacks an option that is set");
  std::memcpy(&options, given, size);
  return options;
}

std::string text_or_empty(const char* text) { return text ? text : ""; }

/// The folder that an option names, or empty. Throws BadArgument where it is none.
std::string folder_of(const char* option, const char* path) {
  const std::string folder = text_or_empty(path);
  std::error_code none;
  throw_if(!folder.empty() && !std::filesystem::is_directory(folder, none), "{} {} is no folder",
           option, in_quotes(folder));
  return folder;
}

/// Null without a folder. Tables there that cannot be used are left out: `clam plan --why` says
/// why.
std::shared_ptr<const Tuned> tuned_of(const char* path, const KernelFiles& files = {}) {
  const std::string folder = folder_of("tuned_dir", path);
  return folder.empty() ? nullptr : Tuned::with_folder(folder, files);
}

DeviceInfo device_of(const char* facts) {
  const std::string text = text_or_empty(facts);
  if (text.empty()) return generic_device();
  if (text.front() != '{') return gpu_device(find_gpu(text));
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    DeviceInfo device = device_from_json(json.contains("device") ? json.at("device") : json);
    if (device.name.empty()) throw BadArgument("the facts of the device lack its `name`");
    return device;
  } catch (const nlohmann::json::exception& error) {
    throw BadArgument(fmt::format("the facts of the device are no JSON: {}", error.what()));
  }
}

std::unique_ptr<clam_plan> handle_of(const Problem& problem, PlanOptions options, bool is_for_here,
                                     Plan plan) {
  auto made = std::make_unique<clam_plan>(
      clam_plan{problem, std::move(options), is_for_here, std::move(plan), {}, {}});
  made->json = to_json(made->plan).dump(1);
  for (const TensorSpec& spec : made->plan.tensors) made->strides.push_back(strides_of(spec));
  return made;
}

RuntimeOptions options_of(const clam_runtime_options* given) {
  constexpr int kMostInFlight = 1 << 16;
  const clam_runtime_options wanted = known(given, offsetof(clam_runtime_options, tuned_dir));
  throw_if(wanted.cache_limit < 0 || wanted.max_in_flight < 0 || wanted.launches_a_flush < -1 ||
               wanted.max_in_flight > kMostInFlight,
           "an option is negative, or over {} launches are to be in flight", kMostInFlight);
  RuntimeOptions options;
  options.files = KernelFiles(folder_of("kernel_dir", wanted.kernel_dir));
  options.tuned = tuned_of(wanted.tuned_dir, options.files);
  options.cache_dir = text_or_empty(wanted.cache_dir);
  if (wanted.cache_limit > 0) options.cache_limit = wanted.cache_limit;
  if (wanted.max_in_flight > 0) options.max_in_flight = wanted.max_in_flight;
  options.launches_a_flush = wanted.launches_a_flush;
  return options;
}

/// Whether the packed operands are made from this tensor.
bool packs(const Plan& plan, const std::string& tensor) {
  for (const Launch& launch : plan.pack) {
    for (const Arg& arg : launch.args) {
      const auto* buffer = std::get_if<BufferArg>(&arg);
      if (buffer && buffer->name == tensor) return true;
    }
  }
  return false;
}

/// Made at the first call; each `make` has a text of its own.
template <typename Make>
const char* text_of(Make make) noexcept {
  try {
    static const std::string text = make().dump(1);
    return text.c_str();
  } catch (...) {
    return nullptr;
  }
}

/// Throws BadArgument for an event that nothing can wait for here.
std::vector<cl::Event> events_of(Runtime& runtime, std::uint32_t count, const cl_event* wait) {
  std::vector<cl::Event> events;
  for (std::uint32_t i = 0; i < count; ++i) {
    require(wait[i], "an event of `wait`");
    const cl::Event& event = events.emplace_back(wait[i], true);
    throw_if(event.getInfo<CL_EVENT_CONTEXT>()() != runtime.context()(),
             "an event of `wait` is of another context than the runtime's queue");
    throw_if(event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() < 0,
             "an event of `wait` has failed: nothing was launched");
  }
  return events;
}

/// The caller's buffer. Throws BadArgument where it is none of the runtime's context.
cl::Buffer buffer_of(Runtime& runtime, const char* tensor, cl_mem memory) {
  if (!memory) return {};
  try {
    cl::Buffer buffer(memory, true);
    if (buffer.getInfo<CL_MEM_TYPE>() == CL_MEM_OBJECT_BUFFER &&
        buffer.getInfo<CL_MEM_CONTEXT>()() == runtime.context()()) {
      return buffer;
    }
  } catch (const cl::Error&) {  // a handle that is no memory object
  }
  throw BadArgument(
      fmt::format("what is bound to {} is no buffer of the queue's context", in_quotes(tensor)));
}

}  // namespace

const char* clam_version() { return CLAM_VERSION; }

const char* clam_ops() {
  return text_of([] {
    nlohmann::json all;
    for (const Op* op : all_ops()) all["ops"].push_back(to_json(*op));
    return all;
  });
}

const char* clam_manifest() {
  return text_of([] {
    std::vector<KernelSource> sources;
    for (const std::string& file : embedded_files()) sources.push_back(KernelFiles().get(file));
    return manifest_json(sources);
  });
}

const char* clam_source(const char* file) {
  const EmbeddedFile* found = file ? find_by_name(embedded_kernels(), file) : nullptr;
  return found ? found->text.data() : nullptr;  // a zero follows it
}

clam_status clam_plan_create(const char* problem, cl_device_id device, const char* facts,
                             const clam_plan_options* options, clam_plan** plan,
                             clam_error* error) {
  return guarded(error, [&] {
    require(plan, "plan");
    *plan = nullptr;
    require(problem, "problem");
    const clam_plan_options wanted = known(options, offsetof(clam_plan_options, tuned_dir));
    if (wanted.max_work_group < 0) throw BadArgument("max_work_group is negative");
    PlanOptions choices;
    choices.variant = text_or_empty(wanted.variant);
    choices.tile = text_or_empty(wanted.tile);
    choices.max_work_group = wanted.max_work_group;
    choices.tuned = tuned_of(wanted.tuned_dir);
    const Problem parsed = Problem::parse(problem);
    const DeviceInfo info = device ? query_device(cl::Device(device, true)) : device_of(facts);
    Plan made = make_plan(parsed, info, choices);
    *plan = handle_of(parsed, std::move(choices), device != nullptr, std::move(made)).release();
  });
}

const char* clam_plan_json(const clam_plan* plan) { return plan ? plan->json.c_str() : nullptr; }

clam_status clam_plan_tensor(const clam_plan* plan, int32_t index, clam_tensor* tensor,
                             clam_error* error) {
  return guarded(error, [&] {
    require(plan, "plan");
    require(tensor, "tensor");
    const auto at = static_cast<std::size_t>(index);
    const std::vector<TensorSpec>& all = plan->plan.tensors;
    throw_if(index < 0 || at >= all.size(), "{}: there is no tensor {}, it has {}",
             plan->plan.problem, index, all.size());
    const TensorSpec& spec = all[at];
    const std::size_t size = tensor->size;
    const clam_tensor whole{size,
                            spec.name.c_str(),
                            name(spec.dtype),
                            spec.role == TensorSpec::Role::output,
                            static_cast<int32_t>(spec.shape.size()),
                            spec.shape.data(),
                            plan->strides[at].data(),
                            spec.offset,
                            spec.bytes()};
    if (size < sizeof whole) throw BadArgument("the tensor has no size: set its field `size`");
    std::memcpy(tensor, &whole, sizeof whole);
  });
}

void clam_plan_destroy(clam_plan* plan) { delete plan; }

clam_status clam_runtime_create(cl_command_queue queue, const clam_runtime_options* options,
                                clam_runtime** runtime, clam_error* error) {
  return guarded(error, [&] {
    require(runtime, "runtime");
    *runtime = nullptr;
    require(queue, "queue");
    const cl::CommandQueue borrowed(queue, true);
    *runtime = new clam_runtime{std::make_shared<Shared>(borrowed, options_of(options))};
  });
}

void clam_runtime_destroy(clam_runtime* runtime) { delete runtime; }

clam_status clam_prepare(clam_runtime* runtime, const clam_plan* plan, clam_executable** executable,
                         clam_error* error) {
  return guarded(error, [&] {
    require(executable, "executable");
    *executable = nullptr;
    require(runtime, "runtime");
    require(plan, "plan");
    const std::lock_guard lock(runtime->shared->mutex);
    Runtime& to = runtime->shared->runtime;
    Executable built =
        plan->is_for_here ? to.prepare(plan->problem, plan->options) : to.prepare(plan->plan);
    auto run = handle_of(plan->problem, plan->options, plan->is_for_here, built.plan());
    auto made =
        std::make_unique<clam_executable>(clam_executable{runtime->shared, std::move(built), {}});
    made->plans.push_back(std::move(run));
    made->is_packed = made->plan().pack.empty();
    *executable = made.release();
  });
}

const clam_plan* clam_executable_plan(const clam_executable* executable) {
  if (!executable) return nullptr;
  const std::lock_guard lock(executable->shared->mutex);
  return executable->plans.back().get();
}

clam_status clam_bind(clam_executable* executable, const char* tensor, cl_mem buffer,
                      clam_error* error) {
  return guarded(error, [&] {
    require(executable, "executable");
    require(tensor, "tensor");
    const std::lock_guard lock(executable->shared->mutex);
    const Plan& plan = executable->plan();
    throw_if(!plan.tensor(tensor), "{}: it has no tensor {}", plan.problem, in_quotes(tensor));
    cl::Buffer named = buffer_of(executable->shared->runtime, tensor, buffer);
    executable->bound.reset();
    executable->bindings[tensor] = std::move(named);
    if (buffer && packs(plan, tensor)) executable->is_packed = false;
  });
}

clam_status clam_pack(clam_executable* executable, clam_error* error) {
  return guarded(error, [&] {
    require(executable, "executable");
    const std::lock_guard lock(executable->shared->mutex);
    if (executable->plan().pack.empty()) return;
    executable->bound.reset();
    executable->shared->runtime.pack(executable->executable, executable->bindings);
    const clam_plan& before = *executable->plans.back();
    auto run = handle_of(before.problem, before.options, before.is_for_here,
                         executable->executable.plan());
    if (run->json != before.json) executable->plans.push_back(std::move(run));
    executable->is_packed = true;
  });
}

clam_status clam_enqueue(clam_executable* executable, uint32_t wait_count, const cl_event* wait,
                         cl_event* event, clam_error* error) {
  return guarded(error, [&] {
    if (event) *event = nullptr;
    require(executable, "executable");
    if (wait_count > 0) require(wait, "wait");
    const std::lock_guard lock(executable->shared->mutex);
    Runtime& runtime = executable->shared->runtime;
    throw_if(!executable->is_packed, "{}: its constant inputs are not packed: call clam_pack first",
             executable->plan().problem);
    const std::vector<cl::Event> before = events_of(runtime, wait_count, wait);
    if (!executable->bound) {
      executable->bound = runtime.bind(executable->executable, executable->bindings);
    }
    cl::Event last = runtime.enqueue(*executable->bound, before);
    if (!event) return;
    *event = last();
    last() = nullptr;  // it is the caller's
  });
}

void clam_executable_destroy(clam_executable* executable) {
  if (!executable) return;
  const std::shared_ptr<Shared> shared = executable->shared;
  // Its buffers must not be released under running kernels. A launch that fails taints the runtime,
  // which says so at the next call.
  const std::lock_guard lock(shared->mutex);
  guarded(nullptr, [&] { shared->runtime.finish(); });
  shared->runtime.drain();
  delete executable;
}

clam_status clam_finish(clam_runtime* runtime, clam_error* error) {
  return guarded(error, [&] {
    require(runtime, "runtime");
    const std::lock_guard lock(runtime->shared->mutex);
    runtime->shared->runtime.finish();
  });
}
