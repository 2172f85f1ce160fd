// SPDX-License-Identifier: MIT
// scripted.hpp - tests on the scripted OpenCL, whose clock and lies a script says
// (scripted_opencl/README.md): programs that are started on it, and tests that run on it
// themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test_device.hpp"

namespace clam::test::scripted {

/// What a program's environment needs to be on the scripted device: "NAME=VALUE" texts. Its results
/// are those of the driver that the tests run on. It has little memory, so that the peaks of
/// clam-bench are soon measured, where the script says nothing else.
std::vector<std::string> on(nlohmann::json script = nlohmann::json::object());

/// A lie of a call; `more` are other keys of it.
nlohmann::json lie(const std::string& call, const std::string& does, nlohmann::json more = {});
/// A script of one such lie.
nlohmann::json lying(const std::string& call, const std::string& does, nlohmann::json more = {});

/// A clock that the processes of a test share, so that a limit ends those alone that the script
/// lets hang.
class SharedClock {
 public:
  /// The script with this clock in it.
  nlohmann::json in(nlohmann::json script = nlohmann::json::object()) const;
  /// Programs on the device with this script and this clock, as `on`.
  std::vector<std::string> on(nlohmann::json script = nlohmann::json::object()) const;
  /// What the script's work took so far; 0 where nothing has used it yet.
  std::chrono::nanoseconds passed() const;
  /// A shell's command that lets more time pass than any limit has.
  std::string jump() const;

 private:
  TemporaryFolder folder_;
  std::string file_ = folder_.file("clock");
};

/// Whether this process runs on it.
bool here();
/// Runs the current test in a process that does, and takes its verdict over.
void run_there();

/// From here on another script is played in this process.
void play(nlohmann::json script = nlohmann::json::object());
/// How often each function was called here, and what was built: "built from source".
std::map<std::string, std::int64_t> counts();

}  // namespace clam::test::scripted

/// The rest of the test runs by the scripted clock; it needs no device.
#define CLAM_ON_SCRIPTED_CLOCK()                                                   \
  if (!::clam::test::scripted::here()) return ::clam::test::scripted::run_there(); \
  ::clam::test::scripted::play()

/// The rest of the test runs on the scripted device.
#define CLAM_ON_SCRIPTED_DEVICE() \
  CLAM_NEEDS_DEVICE();            \
  CLAM_ON_SCRIPTED_CLOCK()
