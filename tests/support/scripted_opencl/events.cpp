// SPDX-License-Identifier: MIT
// events.cpp - waits, and what an event tells.
#include <algorithm>
#include <utility>

#include "clock.hpp"
#include "commands.hpp"
#include "next.hpp"

namespace scripted {
namespace {

std::optional<Command> command_of(cl_event event) {
  const std::lock_guard lock(mutex());
  const auto found = state().events.find(event);
  return found == state().events.end() ? std::nullopt : std::optional(found->second);
}

void forget(cl_event event) {
  const std::lock_guard lock(mutex());
  state().events.erase(event);
}

/// The part of the batch's time that the launch is said to have taken, one behind the other.
void deal_out(Command& command) {
  if (!command.batch) return;
  const std::lock_guard lock(mutex());
  Batch& batch = *command.batch;
  if (batch.dealt == 0) batch.dealt = batch.count;
  const std::int64_t part = std::max<std::int64_t>(1, (batch.ended - batch.started) / batch.dealt);
  command.started = batch.started + command.place * part;
  command.ended = command.started + part;
}

/// Of a time on the host's clock, as the device's clock shows it: since 1970, in its own steps.
cl_ulong on_the_device(std::int64_t ns) {
  constexpr std::int64_t kEpoch = 1'790'000'000'000'000'000;
  const auto step = static_cast<std::int64_t>(number_of("timer_resolution_ns").value_or(1));
  const auto time = static_cast<std::int64_t>(double(ns) * script()->event_clock);
  return static_cast<cl_ulong>(kEpoch + time / step * step);
}

struct Times {
  cl_ulong queued, submitted, started, ended;
};

void lie(const Orders& orders, Times& times) {
  const cl_ulong took = times.ended - times.started;
  if (orders.find("zero")) times.started = times.ended = 0;
  if (orders.find("swap")) std::swap(times.started, times.ended);
  if (orders.find("halve end")) times.ended /= 2;
  if (const Lie* constant = orders.find("constant")) {
    times = {1, 2, 3, 3 + static_cast<cl_ulong>(constant->ns)};
  }
  if (const Lie* length = orders.find("length")) {
    times.ended = times.started + static_cast<cl_ulong>(length->ns);
  }
  if (const Lie* scale = orders.find("scale")) {
    times.ended = times.started + static_cast<cl_ulong>(double(took) * scale->factor);
  }
}

cl_ulong time_of(const Times& times, cl_profiling_info what) {
  switch (what) {
    case CL_PROFILING_COMMAND_QUEUED:
      return times.queued;
    case CL_PROFILING_COMMAND_SUBMIT:
      return times.submitted;
    case CL_PROFILING_COMMAND_START:
      return times.started;
    default:
      return times.ended;
  }
}

}  // namespace

void remember(cl_event event, const Command& command) {
  const std::lock_guard lock(mutex());
  state().events[event] = command;
}

}  // namespace scripted

using scripted::Command;
using scripted::command_of;
using scripted::enter;
using scripted::Orders;

extern "C" {

cl_int clWaitForEvents(cl_uint count, const cl_event* events) {
  const Orders orders = enter("clWaitForEvents");
  if (const auto status = orders.refusal()) return *status;
  std::optional<Command> last;
  bool failed = false;
  for (cl_uint i = 0; i < count; ++i) {
    const auto command = command_of(events[i]);
    if (!command) continue;
    failed = failed || command->status < 0;
    if (!last || command->ended > last->ended || command->never) last = command;
  }
  if (last) scripted::await(*last);
  const cl_int status = NEXT(clWaitForEvents)(count, events);
  return failed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : status;
}

cl_int clFinish(cl_command_queue queue) {
  const Orders orders = enter("clFinish");
  if (const auto status = orders.refusal()) return *status;
  scripted::await_all();
  const cl_int status = NEXT(clFinish)(queue);
  const std::lock_guard lock(scripted::mutex());
  const cl_int failed = std::exchange(scripted::state().failed, CL_COMPLETE);
  return failed != CL_COMPLETE ? failed : status;
}

cl_int clFlush(cl_command_queue queue) {
  const Orders orders = enter("clFlush");
  if (const auto status = orders.refusal()) return *status;
  scripted::flush();
  return NEXT(clFlush)(queue);
}

cl_int clReleaseCommandQueue(cl_command_queue queue) {
  const Orders orders = enter("clReleaseCommandQueue");
  if (const auto status = orders.refusal()) return *status;
  // Times of a launch are told before it is done. PoCL 3.1 crashes where a process ends while it
  // compiles what was launched.
  NEXT(clFinish)(queue);
  return NEXT(clReleaseCommandQueue)(queue);
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void* value,
                      size_t* needed) {
  const Orders orders = enter("clGetEventInfo");
  if (const auto status = orders.refusal()) return *status;
  const cl_int status = NEXT(clGetEventInfo)(event, what, size, value, needed);
  const auto command = command_of(event);
  if (status != CL_SUCCESS || !value || !command || what != CL_EVENT_COMMAND_EXECUTION_STATUS) {
    return status;
  }
  auto& shown = *static_cast<cl_int*>(value);
  if (command->never || scripted::now() < command->ended) {
    shown = std::max<cl_int>(shown, CL_RUNNING);
  } else if (command->status != CL_COMPLETE) {
    shown = command->status;
  }
  return status;
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void* value,
                               size_t* needed) {
  auto command = command_of(event);
  const Orders orders =
      enter("clGetEventProfilingInfo", command ? command->about : scripted::About{});
  if (const auto status = orders.refusal()) return *status;
  if (!command) return NEXT(clGetEventProfilingInfo)(event, what, size, value, needed);
  if (needed) *needed = sizeof(cl_ulong);
  if (!value) return CL_SUCCESS;
  if (size < sizeof(cl_ulong)) return CL_INVALID_VALUE;
  scripted::deal_out(*command);
  scripted::Times times{
      scripted::on_the_device(command->queued), scripted::on_the_device(command->submitted),
      scripted::on_the_device(command->started), scripted::on_the_device(command->ended)};
  scripted::lie(orders, times);
  *static_cast<cl_ulong*>(value) = scripted::time_of(times, what);
  return CL_SUCCESS;
}

cl_int clReleaseEvent(cl_event event) {
  const Orders orders = enter("clReleaseEvent");
  if (const auto status = orders.refusal()) return *status;
  cl_uint holds = 0;
  NEXT(clGetEventInfo)(event, CL_EVENT_REFERENCE_COUNT, sizeof holds, &holds, nullptr);
  if (holds <= 1) scripted::forget(event);
  return NEXT(clReleaseEvent)(event);
}

cl_int clSetEventCallback(cl_event event, cl_int when,
                          void(CL_CALLBACK* notify)(cl_event, cl_int, void*), void* data) {
  const Orders orders = enter("clSetEventCallback");
  if (const auto status = orders.refusal()) return *status;
  return NEXT(clSetEventCallback)(event, when, notify, data);
}

}  // extern "C"
