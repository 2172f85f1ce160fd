// SPDX-License-Identifier: MIT
// made_up_machine.hpp - a folder that stands in for "/": libraries, /sys, /dev and /proc of a
// board.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "command.hpp"
#include "scripted.hpp"
#include "test_device.hpp"

namespace clam::test {

/// Where its libraries lie.
inline const std::string kLibs = "/usr/lib/aarch64-linux-gnu/";

class MadeUpMachine {
 public:
  MadeUpMachine();
  /// A file and the folders above it. Paths are those of the machine.
  void file(const std::string& path, const std::string& text = "") const;
  void link(const std::string& path, const std::string& target) const;
  void remove(const std::string& path) const;
  /// A file that its group alone may open, and the person is not in it.
  void close_to_user(const std::string& path);
  /// A library of fake_libraries/fake.c, with that definition.
  void fake_library(const std::string& path, const std::string& define);
  /// A library that is a whole OpenCL: the scripted one.
  void opencl_library(const std::string& path);
  /// Environment of a program on the machine: its libraries are those of the machine alone.
  std::vector<std::string> on(nlohmann::json script = nlohmann::json::object()) const;
  std::string real_path(const std::string& path) const { return folder_.path() + path; }

 private:
  void set_user(const std::vector<unsigned>& groups) const;

  TemporaryFolder folder_;
  bool is_scripted_ = false;  ///< one of its libraries has the scripted clock
};

}  // namespace clam::test
