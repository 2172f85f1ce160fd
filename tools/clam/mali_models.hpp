// SPDX-License-Identifier: MIT
// mali_models.hpp - whole models as a table: what is predicted for a GPU, and what a device took.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mali_report.hpp"
#include "report/report.hpp"

namespace clam::cli {

/// A model in one line.
struct ModelLine {
  std::string name;
  ModelSums predicted;
  std::optional<double> measured_us;
};

/// Microseconds of one run of the model by the rows of a results file: each node's median, as often
/// as one run has it. Nothing where a node has no row that is OK.
std::optional<double> measured_us(const Workload& workload, const std::vector<ReportRow>& rows);

/// A Markdown table, in milliseconds: predicted, floor and, where any line has it, measured.
std::string models_table(const std::vector<ModelLine>& lines);

}  // namespace clam::cli
