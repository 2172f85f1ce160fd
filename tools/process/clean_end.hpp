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

/// A folder that is of no use to anyone once the process has ended; forgotten with the object.
class PassingFolder {
 public:
  explicit PassingFolder(const std::string& path);
  ~PassingFolder();
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;

 private:
  std::string path_;
};

/// While it is held, no CleanEnd ends the process: for what must happen whole.
std::unique_lock<std::mutex> hold_end();

}  // namespace clam
