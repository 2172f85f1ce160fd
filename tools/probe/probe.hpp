// SPDX-License-Identifier: MIT
// probe.hpp - small programs that each look for one known fault of OpenCL drivers.
//
// A probe is a folder of tests/tools/probes, built into the program: probe.json says what is looked
// for, who reported it and what it takes; its "run" is a launch as data, and a probe without one is
// code (api_*.cpp), because the fault lies in how the API behaves.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/bundle.hpp"
#include "clam/opencl.hpp"

namespace clam {

struct ProbeResult {
  enum class Verdict { ok, bug, skip, hang, crash };
  Verdict verdict = Verdict::ok;
  /// What was seen, one sentence; of a skip the reason. May be empty where all is well.
  std::string detail;

  bool bad() const { return verdict != Verdict::ok && verdict != Verdict::skip; }
};

/// "OK", "BUG", "SKIP", "HANG", "CRASH"
const char* word(ProbeResult::Verdict verdict);
/// Throws BadArgument for any other word.
ProbeResult::Verdict verdict_of(std::string_view word);

struct Probe {
  std::string name;         ///< "local-atomic", the name of its folder
  std::string symptom;      ///< what a program sees of the fault, one phrase
  std::string reported_on;  ///< GPUs and drivers
  std::string source;       ///< where it was reported
  std::string advice;       ///< what a program does about it
  /// "images", "half denormals", "compiler that links", or an extension's name.
  std::vector<std::string> needs;
  bool destructive = false;  ///< may cost other programs on the device their work
  int limit_s = 20;
  nlohmann::json run;  ///< null: the probe is code
};
/// Without what only its run needs.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Probe, name, symptom, source, reported_on, advice,
                                                needs, destructive)

/// By name. Throws BadArgument for a damaged probe.json.
std::vector<Probe> all_probes();

/// A file of the probe's folder: that of CLAM_PROBE_DIR (a folder like tests/tools/probes, for
/// tests of the probes), else the built-in one. Throws BadArgument.
std::string probe_file(const std::string& probe, const std::string& file);

/// The launch of a probe that is data, with what must come out; its build where nothing is
/// launched. Throws BadArgument for a damaged one.
Bundle bundle_of(const Probe& probe);

/// Runs it here and now, in this process, which a broken driver may hang or end. What OpenCL
/// refuses on the way is a BUG.
ProbeResult run_probe(const Probe& probe, const cl::Device& device);

}  // namespace clam
