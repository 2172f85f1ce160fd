// SPDX-License-Identifier: MIT
// document.hpp - the file of --json: Google Benchmark's form, with everything else under "clam".
#pragma once

#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"
#include "rows.hpp"
#include "surroundings.hpp"

namespace clam::bench {

constexpr int kSchema = 1;  ///< of bench/results.schema.json

/// `google`: Google Benchmark's JSON, or empty when nothing was run.
std::string make_document(const std::string& google, const Options& options,
                          const Selection& selection, const std::vector<Result>& results,
                          const Surroundings& around, Runtime& runtime);

}  // namespace clam::bench
