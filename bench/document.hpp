// SPDX-License-Identifier: MIT
// document.hpp - the file of --json: Google Benchmark's form, with everything else under "clam".
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compare.hpp"
#include "machine/board.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "peaks.hpp"
#include "rows.hpp"

namespace clam::bench {

/// What was measured around the rows.
struct Surroundings {
  Peaks peaks;
  nlohmann::json before = nlohmann::json::object(), after = before;  ///< Board::state
};

/// `google`: Google Benchmark's JSON, or empty when nothing was run.
std::string make_document(const std::string& google, const Options& options,
                          const Selection& selection, const std::vector<Result>& results,
                          const Surroundings& around, Runtime& runtime);

/// A crash, or no end, costs this row alone: another process of this program measures the row on
/// the device ("0:0") under these limits.
Result measure_isolated(const Row& row, const Options& options, double seconds,
                        const std::string& device, const Limits& limits);

/// Another process of this program measures the device's peaks. Where it crashes or never ends,
/// that is said in `refused`.
Peaks measure_peaks_isolated(const Options& options, double seconds, const std::string& device);

/// What a row of a results file says. Throws nlohmann's exceptions and BadArgument for another
/// text.
Result result_from_json(const nlohmann::json& row);

}  // namespace clam::bench
