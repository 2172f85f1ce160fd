// SPDX-License-Identifier: MIT
// launch.cpp - a launch: what it takes, and how much of its work is done.
#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "clock.hpp"
#include "commands.hpp"
#include "lies.hpp"
#include "next.hpp"

namespace scripted {
namespace {

struct Launch {
  cl_command_queue queue;
  cl_kernel kernel;
  std::vector<std::size_t> offset, global, local;  ///< offset and local may be empty
  cl_uint waits = 0;
  const cl_event* wait_list = nullptr;
  KernelRecord record;
  About about;

  cl_int enqueue(cl_event* event) const {
    const auto start = [](const std::vector<std::size_t>& size) {
      return size.empty() ? nullptr : size.data();
    };
    return NEXT(clEnqueueNDRangeKernel)(queue, kernel, static_cast<cl_uint>(global.size()),
                                        start(offset), start(global), start(local), waits,
                                        wait_list, event);
  }
};

/// What is left to do of a launch that came to an end too early.
std::function<void()>& belated() {
  static auto* const one = new std::function<void()>;
  return *one;
}

void do_belated() {
  if (belated()) std::exchange(belated(), nullptr)();
}

/// The same kernel with the arguments that it has now.
cl_kernel copy_of(const Launch& launch) {
  cl_kernel copy = NEXT(clCreateKernel)(launch.record.made_of, launch.record.name.c_str(), nullptr);
  for (const auto& [place, value] : launch.record.values) {
    const std::size_t local = launch.record.locals.at(place);
    NEXT(clSetKernelArg)
    (copy, place, local > 0 ? local : value.size(), local > 0 ? nullptr : value.data());
  }
  return copy;
}

void do_later(Launch launch) {
  launch.kernel = copy_of(launch);
  launch.waits = 0;
  belated() = [launch] {
    launch.enqueue(nullptr);
    NEXT(clReleaseKernel)(launch.kernel);
  };
}

/// Half of the groups, along the dimension that has most of them.
Launch half_of(Launch launch) {
  const auto group = [&](std::size_t i) { return launch.local.empty() ? 1 : launch.local[i]; };
  std::size_t longest = 0;
  for (std::size_t i = 1; i < launch.global.size(); ++i) {
    if (launch.global[i] / group(i) > launch.global[longest] / group(longest)) longest = i;
  }
  const std::size_t groups = launch.global[longest] / group(longest);
  launch.global[longest] = std::max<std::size_t>(1, groups / 2) * group(longest);
  return launch;
}

/// An argument's memory with some bits of one byte turned over.
void spoil(const Launch& launch, const Lie& lie) {
  const auto found = launch.record.values.find(static_cast<cl_uint>(lie.argument));
  if (found == launch.record.values.end() || found->second.size() != sizeof(cl_mem)) return;
  cl_mem memory = nullptr;
  std::memcpy(&memory, found->second.data(), sizeof memory);
  unsigned char byte = 0;
  const auto at = static_cast<std::size_t>(lie.byte);
  NEXT(clEnqueueReadBuffer)(launch.queue, memory, CL_TRUE, at, 1, &byte, 0, nullptr, nullptr);
  byte = static_cast<unsigned char>(byte ^ lie.bits);
  NEXT(clEnqueueWriteBuffer)(launch.queue, memory, CL_TRUE, at, 1, &byte, 0, nullptr, nullptr);
}

/// Memory by the whole buffer that it is a part of; other values by their bytes.
std::string text_of(const std::vector<unsigned char>& value) {
  std::string text(value.begin(), value.end());
  cl_mem memory = nullptr;
  if (value.size() != sizeof memory) return text;
  std::memcpy(&memory, value.data(), sizeof memory);
  const auto found = state().parts.find(memory);
  if (found == state().parts.end()) return text;
  const auto [whole, from] = found->second;
  return "part of " + std::to_string(reinterpret_cast<std::uintptr_t>(whole)) + " from " +
         std::to_string(from);
}

/// Whether the same was done already, with nothing written by the host since then.
bool is_repeat(const Launch& launch) {
  const std::lock_guard lock(mutex());
  std::string key = launch.record.name + '\n' + launch.about.options;
  for (const auto& [place, value] : launch.record.values) key += '\n' + text_of(value);
  for (const auto* sizes : {&launch.offset, &launch.global, &launch.local}) {
    for (const std::size_t size : *sizes) key += '\n' + std::to_string(size);
  }
  return !state().done.emplace(launch.about.source, std::move(key)).second;
}

/// The time of the first launch of a batch is dealt out among all of them.
bool is_done_once(const Orders& orders, Command& command, std::int64_t ns) {
  if (!orders.find("once")) return false;
  const std::lock_guard lock(mutex());
  Batch& batch = *state().batch;
  command.place = batch.count++;
  command.batch = state().batch;
  if (command.place == 0) {
    batch.started = command.started;
    batch.ended = command.started + ns;
  }
  return command.place > 0;
}

bool is_first_of_batch() {
  const std::lock_guard lock(mutex());
  return state().batch->count == 0;
}

/// How it ends, other than by having done its work.
void end_badly(const Orders& orders, bool too_long, Command& command) {
  const auto plays = script();
  if (const Lie* fails = orders.find("fail")) command.status = fails->status;
  if (too_long && !plays->limit_is_silent) command.status = CL_OUT_OF_RESOURCES;
  command.never = orders.find("never") != nullptr;
  const std::lock_guard lock(mutex());
  if (command.never) state().never = true;
  if (command.status != CL_COMPLETE) state().failed = command.status;
}

/// As much of its work as the script lets it do. `event` may be null.
cl_int do_work(const Launch& launch, const Orders& orders, bool nothing, cl_event* event) {
  do_belated();
  const bool late = orders.find("late") != nullptr;
  nothing = nothing || late || orders.find("nothing") || orders.find("fail") ||
            orders.find("never") || (script()->skips_repeats && is_repeat(launch));
  if (late) do_later(launch);
  if (nothing) {
    if (event) *event = ended_event(launch.queue);
    return CL_SUCCESS;
  }
  const cl_int status = (orders.find("half") ? half_of(launch) : launch).enqueue(event);
  if (const Lie* wrong = orders.find("wrong")) spoil(launch, *wrong);
  return status;
}

cl_int run(const Launch& launch, const Orders& orders, cl_event* event) {
  const auto plays = script();
  const bool once = orders.find("once") && !is_first_of_batch();
  const std::int64_t limit = nanoseconds(plays->limit_s, 1e9);
  std::int64_t ns = once ? 0 : noisy_launch(cost_of(launch.about, launch.global, launch.record));
  const bool too_long = limit > 0 && ns > limit;
  if (too_long) ns = limit;
  Command command = enqueue(ns, launch.about);
  const bool again = is_done_once(orders, command, ns);
  end_badly(orders, too_long, command);
  const cl_int status = do_work(launch, orders, again || too_long, event);
  if (status == CL_SUCCESS && event) remember(*event, command);
  return status;
}

std::vector<std::size_t> sizes(const size_t* from, cl_uint dimensions) {
  return from ? std::vector<std::size_t>(from, from + dimensions) : std::vector<std::size_t>();
}

}  // namespace
}  // namespace scripted

using scripted::enter;
using scripted::Orders;

extern "C" {

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t* offset, const size_t* global, const size_t* local,
                              cl_uint count, const cl_event* events, cl_event* event) {
  scripted::Launch launch{queue,
                          kernel,
                          scripted::sizes(offset, dimensions),
                          scripted::sizes(global, dimensions),
                          scripted::sizes(local, dimensions),
                          count,
                          events,
                          {},
                          {}};
  {
    const std::lock_guard lock(scripted::mutex());
    launch.record = scripted::state().kernels[kernel];
  }
  launch.about.kernel = launch.record.name;
  if (launch.record.program) {
    launch.about.options = launch.record.program->options;
    launch.about.source = launch.record.program->source;
  }
  const Orders orders = enter("clEnqueueNDRangeKernel", launch.about);
  if (const auto status = orders.refusal()) return *status;
  return scripted::run(launch, orders, event);
}

cl_int clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count,
                     const cl_event* events, cl_event* event) {
  const size_t one = 1;
  return clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, &one, count, events, event);
}

}  // extern "C"
