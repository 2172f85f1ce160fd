// SPDX-License-Identifier: MIT
// clean_end.hpp - temporary folders go even where a signal ends the process.
#pragma once

#include <signal.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

namespace clam {

/// While it lives, SIGINT, SIGTERM and SIGHUP first remove every PassingFolder and then end the
/// process as they would without it, whatever its other threads are at. Made before a driver starts
/// threads of its own, which would take the signals.
class CleanEnd {
 public:
  CleanEnd();
  ~CleanEnd();
  CleanEnd(const CleanEnd&) = delete;
  CleanEnd& operator=(const CleanEnd&) = delete;

 private:
  void wait_for_signal();

  sigset_t signals_{}, before_{};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// While it is held, no CleanEnd ends the process: for what must happen whole.
std::unique_lock<std::mutex> hold_end();

/// A folder that is of no use to anyone once the process has ended; forgotten with the object.
class PassingFolder {
 public:
  explicit PassingFolder(const std::string& path) : PassingFolder(path, hold_end()) {}
  /// For a folder that is made meanwhile: `held` is hold_end() of before.
  PassingFolder(const std::string& path, const std::unique_lock<std::mutex>& held);
  ~PassingFolder();
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;

 private:
  std::string path_;
};

}  // namespace clam
