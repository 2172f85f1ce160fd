// SPDX-License-Identifier: MIT
// drivers.hpp - the drivers that a case can be asked of: here, through commands, and in Oclgrind,
// which runs a case like any driver, and reports what the kernel does wrong. A bundle put before
// several of them, to find what is right or who is at fault; what comes of it goes into the bundle.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bundle/proof.hpp"
#include "case_child.hpp"
#include "judge/judge.hpp"

namespace clam::cli {

// ---- drivers ----

bool is_simulator(const DeviceInfo& device);

/// The path of Oclgrind (CLAM_OCLGRIND, else `oclgrind` on PATH), or nothing; it cannot be in a
/// program that runs in an emulator. Throws BadArgument where CLAM_OCLGRIND names none.
std::string find_oclgrind();

struct Driver {
  std::string name;                       ///< for people: the device, or the command
  std::string device;                     ///< "P:D"; empty: the one that is chosen there
  std::vector<std::string> through = {};  ///< the words of the command
  std::string simulator = {};             ///< the path of Oclgrind, where it is that
};

/// Throws BadArgument that names the flag where one of its commands is no program.
void check_commands(const char* flag, const std::vector<std::string>& commands);

/// All devices of this machine, or those alone whose platform is not `but`; one for each command
/// that runs a program on another driver ("tools/with-driver llvmpipe").
std::vector<Driver> drivers_here(const std::string& but = "");
std::vector<Driver> drivers_through(const std::vector<std::string>& commands);
/// Oclgrind, where it is installed.
std::vector<Driver> simulators();

/// What the driver makes of the bundle in `folder`, in a process of its own, with so many runs on
/// nudged inputs. A driver that cannot be had is one that cannot be asked.
Answer ask(const Driver& driver, const std::string& folder, const Bundle& bundle, int limit_s,
           int nudges);

// ---- a bundle put before several of them ----

/// How a command went with one bundle: for people, and as an exit code.
struct BundleVerdict {
  const char* word;
  ExitCode code;
  bool operator==(const BundleVerdict& other) const { return word == other.word; }
};

struct Judged {
  std::vector<Answer> answers;  ///< first what was given where it was recorded, if that is known
  Judgement judgement;
};

/// Told before each driver is asked; what it throws ends the asking.
using OnDriver = std::function<void(const Driver&)>;

/// Asks the drivers in turn. `folder`: where the bundle's files lie. `reference`: outputs that are
/// right whatever they say, dense. Throws BadArgument for a bundle that runs nothing.
Judged put_before(const std::vector<Driver>& drivers, const Bundle& bundle,
                  const std::string& folder, const Tensors& reference, int limit_s,
                  const OnDriver& on_driver = {});

/// Asks further drivers, and judges anew.
void ask_more(const std::vector<Driver>& drivers, const Bundle& bundle, const std::string& folder,
              const Tensors& reference, int limit_s, Judged& judged,
              const OnDriver& on_driver = {});

/// The bundle with what was decided as its expectation, and what was given where it was recorded.
Bundle with_verdict(const Bundle& bundle, const Judged& judged);

/// The proof that the answers are, of the files in `folder`.
Proof proof_of(const Bundle& bundle, const Judged& judged, const std::string& folder);

// ---- a bundle proved: is the kernel at fault, or the driver? ----

/// A row to be filled, of this device and these files.
ProofRow row_of(const DeviceInfo& device, const std::string& folder, const Bundle& bundle);

/// Told before each run but the first, with its number and of how many; false: it does not begin.
using BeforeRun = std::function<bool(int run, int runs)>;
/// What this device makes of the bundle, in processes of their own, as often as a proof takes.
/// Under Oclgrind that is what it reports, too.
ProofRow prove_on(const LocalDevice& device, const std::string& folder, const Bundle& bundle,
                  int limit_s, const BeforeRun& before = {});

/// Every other device of this machine, and Oclgrind where it is installed, into the bundle's
/// proof.json. After an Interruption no further run begins.
void prove_elsewhere(Cli& cli, const LocalDevice& recorded_on, const std::string& folder,
                     const Bundle& bundle, int limit_s);

/// The same through a command that runs a program on another driver, "tools/with-driver llvmpipe":
/// it adds its own row, and the README follows. Where it adds none, a note says so.
void prove_with(Cli& cli, const std::string& command, const std::string& folder,
                const Bundle& bundle, int limit_s);

}  // namespace clam::cli
