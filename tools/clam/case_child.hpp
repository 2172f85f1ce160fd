// SPDX-License-Identifier: MIT
// case_child.hpp - the devices of this machine, and cases of bundles on them in a process of their
// own: what may crash or hang costs that one alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bundle/case.hpp"
#include "cli.hpp"

namespace clam::cli {

/// A device of this machine.
struct LocalDevice {
  DeviceEntry entry;
  DeviceInfo facts;

  /// "0:0", as --device takes it.
  std::string id() const;
  /// "0:0 Mali-G610 (ARM Platform, driver 2.0)"
  std::string title() const;
};
/// The one that --device asks for. Throws NoDevice when there is none at all.
LocalDevice chosen_device(const Cli& cli);

/// What else a case in another process is to do. Folders; empty: none.
struct CaseWishes {
  std::string keep;     ///< gets build.log, binaries and driver.log
  std::string outputs;  ///< gets the device's facts and the outputs: "device.json", "0.y.npy"
  int nudges = 0;  ///< so many further runs with nudged inputs (tools/judge): "1.y.npy" and so on
  std::vector<std::string> through = {};  ///< a program with its words that runs that process
};

/// Runs the case of `folder` in another process of this program, on the device "P:D"; empty: the
/// one that is chosen there. A crash, or no end within the limit, is an outcome. Throws BadArgument
/// for a case that is none.
CaseRun try_case(const std::string& device, const std::string& folder, int limit_s,
                 const CaseWishes& wishes = {});

/// What a process of this program does that another one asks something: it prints the answer, or
/// {"cannot": why} for what is Unsupported, or {"error": what}.
int serve(Cli& cli, const std::function<json()>& answer);
/// What the process of try_case does.
int serve_case(Cli& cli, const std::string& folder, const CaseWishes& wishes);

/// The plan of a problem as this device takes it, measured and built in another process. Throws
/// Unsupported. Where building it fails, the plan as it is made without.
Plan plan_in_child(const LocalDevice& device, const Problem& problem, const PlanOptions& options,
                   int limit_s);
/// What that process does.
int serve_plan(Cli& cli, const Problem& problem, const PlanOptions& options);

/// What starts this program again with a command, its JSON on standard output or in a file, on the
/// device "P:D"; empty: the one that is chosen there.
std::vector<std::string> child_words(const std::string& device,
                                     const std::vector<std::string>& command,
                                     const std::string& json = "-");

}  // namespace clam::cli
