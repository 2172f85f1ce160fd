// SPDX-License-Identifier: MIT
// findings.hpp - what is right and what is not, each with the command that mends it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "facts.hpp"
#include "machine/board.hpp"

namespace clam::doctor {

struct Finding {
  /// `note`: clam runs, but not as well as it could. `fault`: it does not run.
  enum class Level { ok, note, fault };
  Level level = Level::ok;
  std::string topic;    ///< "device node"
  std::string id;       ///< of a note or fault: "node-closed"
  std::string text;     ///< one sentence
  std::string command;  ///< what to type; empty where all is well, or nothing mends it
};
/// That all is well with it.
inline Finding ok(std::string topic, std::string text) {
  return {Finding::Level::ok, std::move(topic), "", std::move(text), ""};
}
const char* name(Finding::Level level);
void to_json(nlohmann::json& json, const Finding& finding);

using Findings = std::vector<Finding>;
inline void append(Findings& all, const Findings& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// How a process that looks for the devices ended.
struct Looked {
  nlohmann::json info;  ///< what `clam info --json` said; null: it did not come to that
  std::string end;      ///< why not: the signal, or that it hung
  std::string errors;   ///< what the driver printed
};

/// How a process ended that ran one launch and checked it.
struct SelfTest {
  bool right = false;
  std::optional<double> us;
  std::string problem, reason;  ///< `reason`: why it is not right
};

Findings examine_gpu(const Facts& facts);
Findings examine_opencl(const Machine& machine, const Facts& facts, const Looked& looked);
/// fp16, known faults and time limit of the device that is used.
Findings examine_device(const Looked& looked);
Findings examine_clocks(const Board& board);
Finding examine_self_test(const SelfTest& test);

/// The Mali that OpenCL shows, else the device that clam would use; nullptr: there is none.
const nlohmann::json* device_of(const Looked& looked);

}  // namespace clam::doctor
