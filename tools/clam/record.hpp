// SPDX-License-Identifier: MIT
// record.hpp - a case written down as a bundle, from the command line or by a command that met it.
#pragma once

#include <string>
#include <vector>

#include "case_child.hpp"
#include "run_job.hpp"

namespace clam::cli {

/// Of a command that writes a bundle.
struct BundleRequest {
  std::string target;  ///< the folder to write
  bool single_file = false, force = false;
  bool proof = true;  ///< other devices here, and Oclgrind, get the same files
};
void add_bundle_options(CLI::App* sub, BundleRequest& request);

struct RecordRequest : BundleRequest {
  RunRequest run;                   ///< problem or plan, inputs, data set, variant
  std::vector<std::string> expect;  ///< "NAME=FILE.npy", what is right
  std::string build_only, options;  ///< a file that is built and not run
  std::string note;                 ///< for its README, Markdown
  std::vector<std::string> prove_with;  ///< commands that run a program on another driver
  bool plan_only = false;               ///< the process that plans: see plan_in_child
  int limit_s = 60;
  int times = 1;  ///< runs of each data set, until one goes wrong
};

/// Runs the case in a process of its own and writes the bundle, whatever comes of it. Where the
/// request names neither data set nor inputs, all data sets are tried until one goes wrong; each as
/// often as it says.
Bundle record(Cli& cli, const RecordRequest& request);

/// Runs a case that is put together already, and writes it, over a bundle that is there.
Bundle record_bundle(Cli& cli, Bundle bundle, const LocalDevice& device, const std::string& target,
                     int limit_s);

/// One problem that came out wrong.
struct Failure {
  std::string name;  ///< of the node, or empty: it stands alone
  RunRequest run;    ///< its problem in one word; without data set all are tried, or `inputs` given
  Tensors inputs;    ///< what a node had; empty: those of the data set
  int limit_s = 60;
  /// The plan of this device is recorded and run here; null: that of the one here.
  const DeviceInfo* planned_for = nullptr;
  std::string planned_as = {};  ///< "Mali-G610"
};

/// Writes it as a folder in `folder`, named after what it is. What cannot be is a note.
void record_failure(Cli& cli, const std::string& folder, const Failure& failure);

/// Now, or SOURCE_DATE_EPOCH, which makes what is built the same again.
std::string recording_date();

}  // namespace clam::cli
