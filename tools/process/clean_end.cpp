// SPDX-License-Identifier: MIT
#include "clean_end.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <new>
#include <set>

#include "clam/error.hpp"
#include "clam/opencl.hpp"

namespace clam {
namespace {

struct Passing {
  std::mutex mutex;
  std::multiset<std::string> folders;
};

/// Never destroyed: a signal may come while the process exits.
Passing& passing() {
  static Passing* const all = new Passing;
  return *all;
}

/// A process that still runs may put a file there meanwhile.
void remove_patiently(const std::string& folder) {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    if (!error) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// As the signal does where nobody waits for it.
[[noreturn]] void end_by(int signal) {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::signal(signal, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

/// Ignored is what a shell has it for a job in the background.
auto handler_of(int signal) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

volatile sig_atomic_t interrupted = 0;

void interrupt(int) { interrupted = 1; }

constexpr std::array kSignals{SIGINT, SIGTERM};

}  // namespace

CleanEnd::CleanEnd() {
  ::sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // sigwait would see it all the same.
    if (handler_of(signal) != SIG_IGN) ::sigaddset(&signals_, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::thread([this] { wait_for_signal(); });
}

CleanEnd::~CleanEnd() {
  over_ = true;
  // Empty where all are ignored: then the thread has ended.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!::sigismember(&signals_, signal)) continue;
    ::pthread_kill(thread_.native_handle(), signal);
    break;
  }
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void CleanEnd::wait_for_signal() {
  int signal = 0;
  if (::sigisemptyset(&signals_) || ::sigwait(&signals_, &signal) != 0 || over_) return;
  const auto held = hold_end();
  for (const std::string& folder : passing().folders) remove_patiently(folder);
  end_by(signal);
}

PassingFolder::PassingFolder(const std::string& path, const std::unique_lock<std::mutex>& /*held*/)
    : path_(path) {
  passing().folders.insert(path_);
}

PassingFolder::~PassingFolder() {
  const auto held = hold_end();
  const auto found = passing().folders.find(path_);
  if (found != passing().folders.end()) passing().folders.erase(found);
}

std::unique_lock<std::mutex> hold_end() { return std::unique_lock(passing().mutex); }

Interruption::Interruption() {
  interrupted = 0;
  for (const int signal : kSignals) {
    if (handler_of(signal) == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = interrupt;
    ::sigaction(signal, &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (const int signal : kSignals) {
    if (handler_of(signal) == interrupt) ::signal(signal, SIG_DFL);
  }
}

bool Interruption::came() { return interrupted != 0; }

int exit_code_of_exception(const std::function<void(const std::string& sentence)>& say) {
  constexpr int kBadUsage = 2, kDeviceFailed = 3, kNothingRan = 77;
  const auto told = [&](const std::string& sentence, int code) {
    say(sentence);
    return code;
  };
  try {
    throw;
  } catch (const Unsupported& error) {
    return told(error.what(), kNothingRan);
  } catch (const NoDevice& error) {
    return told(error.what(), kNothingRan);
  } catch (const DeviceError& error) {
    return told(error.what(), kDeviceFailed);
  } catch (const cl::Error& error) {
    return told(describe(error), kDeviceFailed);
  } catch (const std::bad_alloc&) {
    return told("not enough memory on the host for this", kBadUsage);
  } catch (const std::exception& error) {  // BadArgument and IoError among them
    return told(error.what(), kBadUsage);
  }
}

}  // namespace clam
