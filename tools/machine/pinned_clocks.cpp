// SPDX-License-Identifier: MIT
#include "pinned_clocks.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "clam/error.hpp"

namespace clam {
namespace {

/// In one write, as sysfs wants it.
bool write_value(const std::string& file, const std::string& value) {
  const int out = ::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC);
  if (out < 0) return false;
  const bool written =
      ::write(out, value.data(), value.size()) == static_cast<ssize_t>(value.size());
  return (::close(out) == 0) && written;
}

/// What the files of the settings hold, in the order to put them back. A clock that userspace sets
/// has its frequency in a file that is there only under that governor.
std::vector<Setting> values_of(const Machine& machine, const std::vector<Setting>& settings) {
  std::vector<Setting> values;
  for (const Setting& setting : settings) {
    const std::string value = machine.text(setting.file).value_or("");
    values.push_back({setting.file, value});
    if (value != "userspace") continue;
    const std::string folder = setting.file.substr(0, setting.file.rfind('/'));
    for (const char* file : {"/userspace/set_freq", "/scaling_setspeed"}) {
      if (const auto speed = machine.text(folder + file)) values.push_back({folder + file, *speed});
    }
  }
  return values;
}

}  // namespace

PinnedClocks::PinnedClocks(const Machine& machine, const std::vector<ClockDomain>& domains) {
  std::vector<Setting> settings;
  for (const ClockDomain& domain : domains) {
    if (domain.pinned) continue;
    settings.insert(settings.end(), domain.pins.begin(), domain.pins.end());
  }
  if (settings.empty()) return;
  start_guard(machine, values_of(machine, settings));
  for (const Setting& setting : settings) {
    if (write_value(machine.real_path(setting.file), setting.value)) continue;
    end();
    throw IoError(fmt::format(
        "cannot write {} (root may): pin the clocks by hand, without --pin: echo {} | sudo tee {}",
        setting.file, setting.value, setting.file));
  }
}

PinnedClocks::~PinnedClocks() { end(); }

void PinnedClocks::end() {
  if (open_ >= 0) ::close(std::exchange(open_, -1));
  const pid_t guard = std::exchange(guard_, -1);
  while (guard > 0 && ::waitpid(guard, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void PinnedClocks::start_guard(const Machine& machine, const std::vector<Setting>& before) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw IoError("cannot make a pipe to the guard of the clocks");
  std::vector<Setting> values;
  for (const Setting& each : before) values.push_back({machine.real_path(each.file), each.value});
  sigset_t all, old;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all,
                &old);  // from its first moment on nothing but SIGKILL ends the guard
  guard_ = ::fork();
  if (guard_ == 0) {
    ::setsid();
    ::close(ends[1]);
    char nothing;
    while (::read(ends[0], &nothing, 1) < 0 && errno == EINTR) {
    }
    for (const Setting& each : values) write_value(each.file, each.value);
    ::_exit(0);
  }
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
  ::close(ends[0]);
  open_ = ends[1];
  if (guard_ > 0) return;
  end();
  throw IoError("cannot start the guard that puts the clocks back");
}

}  // namespace clam
