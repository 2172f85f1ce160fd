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

  /// The longest that clam lets a launch take: half the limit, because clocks may fall. 0: no
  /// limit.
  double safe_seconds() const { return seconds / 2; }
};

/// By the GPU and its driver, from the table in job_limit.cpp. Only for Mali GPUs is a limit known.
JobLimit job_limit(const DeviceInfo& device);

/// The most seconds that the plan's longest launch is predicted to take. For a kernel with tiles
/// they come from Mesa's listings. For others, the work is divided by the share of the GPU's peak
/// that a plain kernel reached: right within a factor of 3. 0 if the GPU is not known.
double predicted_seconds(const Problem& problem, const Plan& plan, const DeviceInfo& device);

/// The reason if the plan is predicted to take longer than is safe on the device, else nothing.
Reason predicted_too_long(const Problem& problem, const Plan& plan, const DeviceInfo& device);

}  // namespace clam
