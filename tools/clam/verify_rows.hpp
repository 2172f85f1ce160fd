// SPDX-License-Identifier: MIT
// verify_rows.hpp - the lines of a `clam verify` report: which problems they are, and how each
// went.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "check/graph_run.hpp"
#include "check/verify.hpp"
#include "session.hpp"

namespace clam::cli {

struct VerifyRequest {
  std::vector<std::string> words;
  bool all = false;
  std::string workload;
  std::vector<std::string> sets;  ///< --set as given: data sets and parameters
  std::string set = "all", variant, tile, dtype;
  Parameters parameters;  ///< of the workload, in place of its own
  std::string gpu;        ///< plans are those for this Mali, where it is named
  std::uint64_t seed = 1;
  std::optional<bool> isolate;  ///< each problem in a process of its own; unset: as the device is
  int limit_s = 300;            ///< of such a process
  std::string record_failures;  ///< folder for a bundle of each row that fails; empty: none
  // Of the workload's graph:
  std::string mode;  ///< "isolated", "chained"; empty: isolated, beside the nodes that stand alone
  std::vector<std::string> on_cpu;
  std::string tensors, dump;  ///< folders of .npy files
  std::string oracle;         ///< "references", "recorded"; empty: both, as far as there are any
  double recorded_share = 0;  ///< Oracles::recorded_share

  bool chained() const { return mode == "chained"; }
};

/// A workload, its parameters and inputs, and where its failures go.
void add_graph_options(CLI::App* sub, VerifyRequest& request);

/// A workload's parameter as NAME=VALUE. Throws BadArgument for what is no whole number.
void take_parameter(const std::string& text, VerifyRequest& request);

/// How a problem or a node of a graph went.
enum class Status {
  waiting,
  pass,
  fail,
  blind,
  constant,  ///< two inputs, one output
  skip,
  error,
  on_cpu,
};
/// "pass", "FAIL", ...
const char* word(Status status);
/// Throws BadArgument for another word.
Status status_of(const std::string& word);
bool is_bad(Status status);
/// Its word, as wide as all are and in its colour.
std::string marked_word(const Output& out, Status status);

struct VerifyRow {
  Problem problem;
  std::string text = problem.text();
  std::string layers = {};  ///< of a workload: the names of those that are this problem
  std::string variant = {};
  Status status = Status::waiting;
  std::string reason = {};
  std::vector<Verification> sets = {};
};

/// The rows that the command line names, without those of `graph`, the workload's graph when it is
/// run as one. Needs no device, so bad lines are refused before one opens.
std::vector<VerifyRow> select_rows(const VerifyRequest& request, const Graph* graph);
/// The rows for this device: without f16 when nobody asked for it and the device lacks it; with
/// --variant all, one for each variant that can compute the problem.
std::vector<VerifyRow> rows_on(const DeviceInfo& device, const VerifyRequest& request,
                               const std::vector<VerifyRow>& rows);

/// A row passes when a data set passes and none fails.
void conclude(VerifyRow& row);

void print_row(Output& out, const Session& session, const VerifyRequest& request,
               const VerifyRow& row);
json row_json(const Session& session, const VerifyRequest& request, const VerifyRow& row);

}  // namespace clam::cli
