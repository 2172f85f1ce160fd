// SPDX-License-Identifier: MIT
// mali_report.hpp - what `clam mali` found out about a GPU, for people and for programs.
#pragma once

#include <exception>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "check/model_time.hpp"
#include "check/workload.hpp"
#include "mali/compile.hpp"
#include "mali/expectations.hpp"
#include "mali/malioc.hpp"
#include "mali/predict.hpp"
#include "output.hpp"
#include "report/report.hpp"

namespace clam::cli {

/// A problem, or a node of a workload, that was asked about.
struct MaliProblem {
  Problem problem;
  std::string node;  ///< of a workload; else empty
  double calls = 1;  ///< in one run of the model
};

/// A problem on one GPU.
struct MaliRow {
  const MaliProblem* asked;
  std::string variant, reason;  ///< reason: why there is no prediction
  std::optional<mali::PlanTime> time;
  double floor_us = 0;
  std::string published;  ///< "TVM untuned on a board: 8576 us", of the same GPU, else empty
};

/// A kernel, and what else is said of it.
struct MaliKernel : mali::KernelCode {
  std::optional<mali::Judgement> judgement{};  ///< of a gate
  std::optional<mali::MaliocReport> malioc{};  ///< where malioc is installed and gave one
};

struct MaliReport {
  const Gpu* gpu;
  std::string compiler;  ///< "Mesa 25.0.7-2+deb13u1"
  std::vector<MaliKernel> kernels;
  /// Of a gate: those that are what was accepted, and were not compiled.
  std::vector<mali::KernelId> unchanged;
  bool has_malioc = false;   ///< it is installed
  std::string malioc_error;  ///< the last one
  std::vector<MaliRow> rows;

  /// What kept this GPU's compiler from working; then all of the above is empty.
  std::exception_ptr failure;
  std::string failure_text;
  bool cannot_run = false;  ///< it cannot run here, rather than it went wrong
};

/// The sums of a model's nodes, each as often as one run has it.
struct ModelSums {
  mali::Interval us;                    ///< predicted
  std::size_t nodes = 0, left_out = 0;  ///< left out: nodes without a prediction
  ModelTime time;                       ///< by the middles of what is predicted

  explicit ModelSums(const std::vector<MaliRow>& rows);
  double floor_us() const { return time.floor_us.value_or(0); }
};

/// One line a kernel: figures, hot loop, what is wrong with it.
void print_kernels(Output& out, const MaliReport& report);
/// One line a problem with its prediction; of a workload the sum, the floor and the worst nodes.
void print_predictions(Output& out, const MaliReport& report, const Workload* workload);
/// One line a GPU: the sum of the workload's nodes.
void print_gpus(Output& out, const std::vector<MaliReport>& reports, const Workload& workload);
nlohmann::json to_json(const MaliReport& report, const Workload* workload);

/// A model in one line.
struct ModelLine {
  std::string name;
  ModelSums predicted;
  std::optional<double> measured_us;
};

/// Microseconds of one run of the model by the rows of a ReportBoard: each node's median, as often
/// as one run has it. Nothing where a node has no row that is OK.
std::optional<double> measured_us(const std::string& workload,
                                  const std::vector<MaliProblem>& nodes, const json& rows);

/// A Markdown table, in milliseconds: predicted, floor and, where any line has it, measured.
std::string models_table(const std::vector<ModelLine>& lines);

}  // namespace clam::cli
