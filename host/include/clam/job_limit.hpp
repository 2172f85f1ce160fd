// SPDX-License-Identifier: MIT
// job_limit.hpp - the time after which a kernel driver ends a job. The job may report no error
// then, and leaves its output unwritten.
#pragma once

#include <string>

#include "device.hpp"
#include "op.hpp"
#include "plan.hpp"

namespace clam {

struct JobLimit {
  double seconds = 0;  ///< 0: none is known
  std::string driver;  ///< "panfrost"

  /// The longest that clam lets a launch take: half the limit, for clocks may fall. 0: any time.
  double safe_seconds() const { return seconds / 2; }
};

/// By the GPU and its driver, from the table in job_limit.cpp. Only for Mali GPUs is a limit known.
JobLimit job_limit(const DeviceInfo& device);

/// Seconds that the plan's longest launch takes at most, as predicted. With tiles, they are of
/// Mesa's listings. Without, the work is divided by the share of the GPU's peak that a plain kernel
/// reached: right to a factor of 3. 0 where the GPU is not known.
double predicted_seconds(const Problem& problem, const Plan& plan, const DeviceInfo& device);

/// Why the plan should not run: predicted to take longer than is safe on the device.
Reason predicted_too_long(const Problem& problem, const Plan& plan, const DeviceInfo& device);

}  // namespace clam
