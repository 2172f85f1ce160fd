// SPDX-License-Identifier: MIT
// launch_guard.hpp - no launch runs so long that the kernel driver ends it (clam/job_limit.hpp).
#pragma once

#include "clam/runtime.hpp"

namespace clam {

/// Throws Unsupported where a launch of the plan would take longer than is safe on the device. A
/// plan that is predicted to be far below runs as it is. Of another one each launch is tried with a
/// few of its groups first, on the op's own data, and then with more, until the time of the whole
/// is known. Launches that are long then run with fewer in flight. Plans of others are not
/// predicted.
void require_short_launches(Runtime& runtime, const Plan& plan);

/// Why a launch's result is not judged: it took so long that the device's driver has ended it.
Reason ended_by_driver(const DeviceInfo& device, const LaunchTime& time);
/// Throws Unsupported with that reason, where one of the launches has one. `what` was run.
void require_not_ended(const DeviceInfo& device, const std::string& what,
                       const std::vector<LaunchTime>& times);

/// "not written: ended by the driver? ...", where a limit of the device may have left `unwritten`
/// of so many elements as they were; else that they were never written.
std::string unwritten_text(const DeviceInfo& device, std::int64_t unwritten, std::int64_t elements);

}  // namespace clam
