// SPDX-License-Identifier: MIT
// calls.cpp - the OpenCL functions that the dynamic linker gives to the program in place of its
// library's. Each calls its namesake there; those that launch may write down what they do.
#include "calls.hpp"

#include <cstring>
#include <set>
#include <unordered_map>

#include "callers.hpp"
#include "real.hpp"
#include "recorder.hpp"

namespace watch {
namespace {

/// All that is known, behind one lock: programs call from several threads.
struct State {
  std::mutex mutex;
  std::unordered_map<cl_kernel, Kernel> kernels;
  std::set<cl_event> open_events;  ///< that the program made, and has yet to end
  /// None: nothing is asked for.
  std::unique_ptr<Recorder> recorder = Recorder::from_environment();
};

/// Never destroyed: a program may call while it ends.
State& state() {
  static State* const all = new State;
  return *all;
}

/// A handle of a new object may be that of an old one.
void forget(cl_kernel kernel) {
  const std::lock_guard lock(state().mutex);
  state().kernels.erase(kernel);
}

template <typename Run>
cl_int launch(cl_command_queue queue, cl_kernel kernel, const Launch& launch, cl_uint wait_count,
              const cl_event* wait_list, Run run) {
  State& all = state();
  if (!all.recorder) return run();
  std::int64_t number = 0;
  bool is_held = false;
  Kernel copy;  // recording waits for the driver, whose callbacks may set arguments meanwhile
  {
    const std::lock_guard lock(all.mutex);
    Kernel& known = all.kernels[kernel];
    if (!known.is_described) describe(kernel, known);
    number = all.recorder->number_if_wanted(known, launch);
    if (number > 0) copy = known;
    is_held = !all.open_events.empty();
  }
  if (number == 0) return run();
  return all.recorder->record(queue, copy, launch, number, callers(), is_held, wait_count,
                              wait_list, run);
}

}  // namespace
}  // namespace watch

#define FOLLOWED extern "C" __attribute__((visibility("default")))

FOLLOWED cl_kernel clCreateKernel(cl_program program, const char* name, cl_int* code) {
  const cl_kernel kernel = REAL(clCreateKernel)(program, name, code);
  watch::forget(kernel);
  return kernel;
}

FOLLOWED cl_int clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel* kernels,
                                         cl_uint* made) {
  const cl_int code = REAL(clCreateKernelsInProgram)(program, count, kernels, made);
  for (cl_uint i = 0; code == CL_SUCCESS && kernels && i < count; ++i) watch::forget(kernels[i]);
  return code;
}

FOLLOWED cl_kernel clCloneKernel(cl_kernel source, cl_int* code) {
  const cl_kernel kernel = REAL(clCloneKernel)(source, code);
  watch::State& all = watch::state();
  const std::lock_guard lock(all.mutex);
  all.kernels[kernel] = watch::Kernel(all.kernels[source]);
  return kernel;
}

FOLLOWED cl_int clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void* value) {
  const cl_int code = REAL(clSetKernelArgSVMPointer)(kernel, index, value);
  const std::lock_guard lock(watch::state().mutex);
  watch::state().kernels[kernel].arguments.erase(index);
  return code;
}

FOLLOWED cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  const cl_int code = REAL(clSetKernelArg)(kernel, index, size, value);
  watch::State& all = watch::state();
  if (code != CL_SUCCESS || !all.recorder) return code;
  const std::lock_guard lock(all.mutex);
  watch::Argument& argument = all.kernels[kernel].arguments[index];
  argument.size = size;
  argument.is_null = !value;
  const auto* bytes = static_cast<const std::uint8_t*>(value);
  argument.bytes.assign(bytes, bytes + (value ? size : 0));  // keeps its memory: it is set often
  return code;
}

FOLLOWED cl_event clCreateUserEvent(cl_context context, cl_int* code) {
  const cl_event event = REAL(clCreateUserEvent)(context, code);
  const std::lock_guard lock(watch::state().mutex);
  if (event) watch::state().open_events.insert(event);
  return event;
}

FOLLOWED cl_int clSetUserEventStatus(cl_event event, cl_int status) {
  {
    const std::lock_guard lock(watch::state().mutex);
    watch::state().open_events.erase(event);
  }
  return REAL(clSetUserEventStatus)(event, status);
}

FOLLOWED cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                       const size_t* offset, const size_t* global,
                                       const size_t* local, cl_uint wait_count,
                                       const cl_event* wait_list, cl_event* event) {
  return watch::launch(
      queue, kernel, {dimensions, offset, global, local}, wait_count, wait_list, [&] {
        return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local,
                                            wait_count, wait_list, event);
      });
}

FOLLOWED cl_int clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint wait_count,
                              const cl_event* wait_list, cl_event* event) {
  const size_t one = 1;
  return watch::launch(queue, kernel, {1, nullptr, &one, &one}, wait_count, wait_list, [&] {
    return REAL(clEnqueueTask)(queue, kernel, wait_count, wait_list, event);
  });
}

void* watch::own_function(const char* name) {
#define OWN(function) \
  if (std::strcmp(name, #function) == 0) return reinterpret_cast<void*>(&function);
  CLAM_FOLLOWED(OWN)
#undef OWN
  return nullptr;
}
