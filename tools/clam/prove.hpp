// SPDX-License-Identifier: MIT
// prove.hpp - a bundle run on other devices and in the simulator, so that a driver's author sees
// whether the kernel is at fault.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bundle/proof.hpp"
#include "clam/opencl.hpp"
#include "cli.hpp"

namespace clam::cli {

/// Told before each run but the first, with its number and of how many; false: it does not begin.
using BeforeRun = std::function<bool(int run, int runs)>;
/// Whether no further run is to begin.
using Stop = std::function<bool()>;

/// What this device makes of the bundle, in processes of their own, as often as a proof takes.
/// Under Oclgrind that is what it reports, too.
ProofRow prove_on(const DeviceEntry& entry, const DeviceInfo& device, const std::string& folder,
                  const Bundle& bundle, int limit_s, const BeforeRun& before = {});
/// A row to be filled, of this device and these files.
ProofRow row_of(const DeviceInfo& device, const std::string& folder, const Bundle& bundle);

/// Every other device of this machine, and Oclgrind where it is installed (CLAM_OCLGRIND, else
/// `oclgrind` on PATH), into the bundle's proof.json.
Proof prove_elsewhere(Cli& cli, const DeviceEntry& recorded_on, const std::string& folder,
                      const Bundle& bundle, int limit_s, const Stop& stop = {});

/// Before anything is run: throws BadArgument where a command, or with `elsewhere` the Oclgrind
/// that CLAM_OCLGRIND names, is no program.
void check_provers(const std::vector<std::string>& commands, bool elsewhere);

/// The same through a command that runs a program on another driver, "tools/with-driver llvmpipe":
/// it adds its own row, and the README follows. Where it adds none, a note says so.
void prove_with(Cli& cli, const std::string& command, const std::string& folder,
                const Bundle& bundle, int limit_s);

}  // namespace clam::cli
