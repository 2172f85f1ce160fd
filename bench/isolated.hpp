// SPDX-License-Identifier: MIT
// isolated.hpp - a row measured in a process of its own: a crash, or no end, costs this row alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "measure.hpp"
#include "options.hpp"
#include "peaks.hpp"

namespace clam::bench {

/// Another process of this program measures the row on the device ("0:0") under these limits.
Result measure_isolated(const Row& row, const Options& options, double seconds,
                        const std::string& device, const Limits& limits);

/// Another process of this program measures the device's peaks. Where it crashes or never ends,
/// that is said in `refused`.
Peaks measure_peaks_isolated(const Options& options, double seconds, const std::string& device);

/// What a row of a results file says. Throws nlohmann's exceptions and BadArgument for another
/// text.
Result result_from_json(const nlohmann::json& row);

}  // namespace clam::bench
