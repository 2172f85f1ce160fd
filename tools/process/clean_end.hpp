// SPDX-License-Identifier: MIT
// clean_end.hpp - how a process ends: temporary folders go even where a signal ends it, and an
// exception becomes its exit code.
#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
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

/// While it lives, SIGINT and SIGTERM are only noted, so that what there is so far is written and
/// no temporary folder is left.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  /// Whether there was one. What a process of a case came to then is no result: the terminal ends
  /// it, too.
  static bool came();
};

/// The exit code that stands for the exception in flight, after `say` got one sentence about it.
int exit_code_of_exception(const std::function<void(const std::string& sentence)>& say);

}  // namespace clam
