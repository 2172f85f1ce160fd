// SPDX-License-Identifier: MIT
// run_job.hpp - what `clam run` was asked to run, checked before any device is opened.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "clam/op.hpp"
#include "clam/plan.hpp"
#include "cli.hpp"

namespace clam::cli {

struct RunRequest {
  std::vector<std::string> words;
  std::string plan_file, variant, tile, fill, svg, picture;
  std::string workload, dtype;       ///< a graph, in its place
  std::vector<std::string> in, out;  ///< "NAME=FILE.npy"
  std::uint64_t seed = 1;
  bool check = false;

  PlanOptions options() const { return {variant, 0, tile}; }
};

/// A problem or a plan, its variant, and the data of inputs that are not given.
void add_run_options(CLI::App* sub, RunRequest& request);

/// A problem of ours, or a plan from a file, which may be about a problem of ours.
struct RunJob {
  std::optional<Problem> problem;
  std::optional<Plan> plan;
  std::string plan_dir;  ///< where a foreign plan's kernel files lie
  std::vector<TensorSpec> tensors;
  std::map<std::string, std::string> out_files;  ///< by tensor
  Tensors inputs;
  /// What the request left open and the given tensors decided, a phrase each: for people to see.
  std::vector<std::string> assumed;
};

/// The problem of the request's words. A line without a dtype takes that of the given tensors, and
/// tells so in `assumed`. Throws BadArgument.
Problem requested_problem(const RunRequest& request, std::vector<std::string>& assumed);

/// Throws BadArgument for whatever does not fit together.
RunJob make_job(const RunRequest& request);

/// "NAME=FILE" texts by tensor; each name must be that of a tensor with this role, once.
std::map<std::string, std::string> files_by_tensor(const char* option,
                                                   const std::vector<std::string>& texts,
                                                   const std::vector<TensorSpec>& tensors,
                                                   TensorSpec::Role role);
/// The tensor of a file, which must have the dtype and the shape of `spec`; a shape that differs by
/// leading 1s alone is taken as that, and told in `assumed`. Throws BadArgument.
HostTensor read_tensor(const TensorSpec& spec, const std::string& file,
                       std::vector<std::string>& assumed);

}  // namespace clam::cli
