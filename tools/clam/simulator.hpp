// SPDX-License-Identifier: MIT
// simulator.hpp - Oclgrind: it runs a case like any driver, and reports what the kernel does wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bundle/bundle.hpp"
#include "clam/op.hpp"

namespace clam::cli {

bool is_simulator(const DeviceInfo& device);

/// The path of Oclgrind (CLAM_OCLGRIND, else `oclgrind` on PATH), or nothing; it cannot be in a
/// program that runs in an emulator. Throws BadArgument where CLAM_OCLGRIND names none.
std::string find_oclgrind();

/// Its first words, before those of the program. It writes its report to `log`.
std::vector<std::string> simulator_words(const std::string& oclgrind, const std::string& log);
/// The lines of that report, without the name of `folder`.
std::vector<std::string> simulator_report(const std::string& log, const std::string& folder);

/// Why one that ended so says nothing of the kernel; its report may.
Reason excuse_of_simulator(const Seen& seen, int limit_s);

/// What Oclgrind says that its device is; nothing where it does not start here.
std::optional<DeviceInfo> simulated_device(const std::string& oclgrind, int limit_s);

}  // namespace clam::cli
