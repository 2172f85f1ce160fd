// SPDX-License-Identifier: MIT
// record_rows.hpp - rows that fail, each as a folder that others can run (`clam record`).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"
#include "rows.hpp"

namespace clam::bench {

/// Makes the folder of --record-failures. Throws BadArgument where that cannot be, and where the
/// program `clam`, which records, is not beside this one.
void prepare_recording(const Options& options);

/// Whether the row itself went wrong: one that was not trusted since another's error did not.
bool is_to_record(const Result& result);

/// What the bundle's page says of the row, in Markdown: the reason, what its time claims beside
/// what the device does at most, and the timestamps.
std::string note_of(const Result& result, const Limits& limits);

/// Writes them into the folder of --record-failures, and says of each where it is. `device`: "0:0".
void record_failures(const Options& options, const Selection& selection,
                     const std::vector<Result>& results, const Limits& limits,
                     const std::string& device, const std::function<void(const std::string&)>& say);

}  // namespace clam::bench
