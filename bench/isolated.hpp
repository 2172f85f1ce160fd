// SPDX-License-Identifier: MIT
// isolated.hpp - a row measured in a process of its own: a crash, or no end, costs this row alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "measure.hpp"
#include "options.hpp"

namespace clam::bench {

/// Whether to isolate rows where the command line does not say: on a Mali, where a fault can cost a
/// process its context.
bool isolates_by_default(const DeviceInfo& device);

/// Another process of this program measures the row on the device ("0:0") under these limits.
Result measure_isolated(const Row& row, const Options& options, double seconds,
                        const std::string& device, const Limits& limits);

/// What a row of a results file says. Throws nlohmann's exceptions and BadArgument for another
/// text.
Result result_from_json(const nlohmann::json& row);

}  // namespace clam::bench
