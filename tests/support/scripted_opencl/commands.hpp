// SPDX-License-Identifier: MIT
// commands.hpp - what is enqueued, and its event.
#pragma once

#include "lies.hpp"

namespace scripted {

/// The event's times and status are the command's from here on.
void remember(cl_event event, const Command& command);
/// An event of a command that was never enqueued beneath: it has ended.
cl_event ended_event(cl_command_queue queue);

/// Any command but a launch: `ns` on the device, then what `enqueue` does beneath. The clock goes
/// on first, since a kernel that never ends would keep a blocking call for ever.
template <typename Enqueue>
cl_int command(const Orders& orders, double ns, bool blocking, cl_event* event,
               const Enqueue& do_enqueue) {
  if (const auto status = orders.refusal()) return *status;
  Command command = enqueue(static_cast<std::int64_t>(ns));
  if (blocking && command.held > 0) {
    await_all();
  } else if (blocking) {
    await(command);
  }
  const cl_int status = do_enqueue();
  if (status == CL_SUCCESS && event) remember(*event, command);
  return status;
}

/// The host changes memory, so that launches are done again.
void memory_changes();

}  // namespace scripted
