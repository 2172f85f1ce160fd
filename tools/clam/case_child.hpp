// SPDX-License-Identifier: MIT
// case_child.hpp - cases of bundles in a process of their own: what may crash or hang costs that
// one alone.
#pragma once

#include <string>
#include <vector>

#include "bundle/case.hpp"
#include "cli.hpp"

namespace clam::cli {

/// Runs the case of `folder` in another process of this program, on the device "P:D". A crash, or
/// no end within the limit, is an outcome. `keep`: gets build.log, binaries and driver.log;
/// empty: nothing does. `through`: a program with its words that runs that process. Throws
/// BadArgument for a case that is none.
CaseRun try_case(const std::string& device, const std::string& folder, int limit_s,
                 const std::string& keep = "", const std::vector<std::string>& through = {});

/// What that process does.
int serve_case(Cli& cli, const std::string& folder, const std::string& keep);

/// The plan of a problem as this device takes it, measured and built in another process. Throws
/// Unsupported. Where building it fails, the plan as it is made without.
Plan plan_in_child(const std::string& device, const DeviceInfo& facts, const Problem& problem,
                   const std::string& variant, int limit_s);
/// What that process does.
int serve_plan(Cli& cli, const Problem& problem, const std::string& variant);

/// "0:0", as --device takes it.
std::string device_id(const DeviceEntry& entry);
/// "0:0 Mali-G610 (ARM Platform, driver 2.0)"
std::string device_title(const DeviceEntry& entry, const DeviceInfo& facts);

}  // namespace clam::cli
