// SPDX-License-Identifier: MIT
// session.hpp - an opened device with its Runtime, and what reports say about it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "case_child.hpp"
#include "check/compare.hpp"
#include "clam/runtime.hpp"

namespace clam {

/// For reports that have one by each output.
inline void to_json(nlohmann::json& json, const Verdict& verdict) { json = to_json(verdict); }

}  // namespace clam

namespace clam::cli {

class Session {
 public:
  /// Opens the device that --device asks for. Throws NoDevice when there is none at all.
  explicit Session(Cli& cli);

  Runtime& runtime() { return *runtime_; }
  /// "0:0 Mali-G610 (ARM Platform, driver 2.0)"
  std::string title() const { return device_.title(); }
  /// "0:0", as --device takes it.
  std::string device_id() const { return device_.id(); }
  /// Builds the programs of the plans that are not built yet; from three seconds on it says how
  /// far it is. Failures are left to whoever runs the plan.
  void build(const std::vector<Plan>& plans);
  /// Device, counters and kernel overrides, for --json.
  nlohmann::json json();
  /// A command line that does the same again: kernel folder, `arguments`, device.
  std::string repeat(const std::string& arguments) const;

 private:
  Output& out_;
  LocalDevice device_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace clam::cli
