// SPDX-License-Identifier: MIT
#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "check/clock.hpp"
#include "clam/error.hpp"

namespace clam {
namespace {

/// What the new process does until it is the program; async-signal-safe but for putenv, which the
/// parent has prepared the strings for.
[[noreturn]] void become(int output, int errors, std::vector<char*>& argv,
                         std::vector<char*>& settings, const char* folder) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;  // a CleanEnd waits for some, which are the new process's own
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0) {
    ::_exit(126);
  }
  if (errors >= 0 && ::dup2(errors, STDERR_FILENO) < 0) ::_exit(126);
  if (*folder && ::chdir(folder) != 0) ::_exit(126);
  for (char* setting : settings) ::putenv(setting);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  return result;
}

struct Pipe {
  int from = -1, to = -1;

  explicit Pipe(bool wanted) {
    int ends[2];
    if (!wanted) return;
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      throw IoError(std::string("no pipe to another program: ") + std::strerror(errno));
    }
    from = ends[0];
    to = ends[1];
  }
  ~Pipe() {
    if (from >= 0) ::close(from);
    if (to >= 0) ::close(to);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int take_from() { return std::exchange(from, -1); }
};

/// How long to wait for output at once. A clock that stands still while this process waits may be
/// moved on by another one.
std::chrono::milliseconds at_once(std::chrono::milliseconds left) {
  constexpr std::chrono::milliseconds kLook(10);
  return Clock::is_scripted() ? std::min(left, kLook) : left;
}

std::chrono::milliseconds left_until(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
  return std::max(left, std::chrono::milliseconds(0));
}

}  // namespace

Process::Process(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                 Errors errors, const std::string& folder) {
  std::vector<std::string> own_words = words, own_environment = environment;
  std::vector<char*> argv = pointers(own_words), settings = pointers(own_environment);
  argv.push_back(nullptr);
  Pipe output(true), apart(errors == Errors::kept);
  if (apart.from >= 0) ::fcntl(apart.from, F_SETFL, O_NONBLOCK);
  const int errors_to = errors == Errors::with_output ? output.to : apart.to;
  child_ = ::fork();
  if (child_ == 0) become(output.to, errors_to, argv, settings, folder.c_str());
  if (child_ < 0) throw IoError("cannot start " + words[0] + ": " + std::strerror(errno));
  stream_ = output.take_from();
  errors_stream_ = apart.take_from();
}

Process::~Process() {
  kill();
  wait();
  ::close(stream_);
  if (errors_stream_ >= 0) ::close(errors_stream_);
}

bool Process::take_line(std::string& line) {
  std::size_t end = pending_.find('\n', seen_);
  seen_ = pending_.size();
  const bool whole = end != std::string::npos;
  if (!whole && pending_.size() - taken_ < kMostLine) return false;
  if (!whole) end = pending_.size();
  line.assign(pending_, taken_, end - taken_);
  taken_ = seen_ = whole ? end + 1 : end;
  return true;
}

/// What there is of errors now; of much that was said only the end is looked at.
void Process::take_errors() {
  constexpr int kMostAtOnce = 64;  // of those who never stop, so that the time is looked at
  char buffer[1 << 16];
  for (int i = 0; errors_stream_ >= 0 && i < kMostAtOnce; ++i) {
    const ssize_t size = ::read(errors_stream_, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;  // nothing for now
    if (size == 0) {
      ::close(errors_stream_);
      errors_stream_ = -1;
      return;
    }
    errors_.append(buffer, static_cast<std::size_t>(size));
    if (errors_.size() > 2 * kMostErrors) errors_.erase(0, errors_.size() - kMostErrors);
  }
}

std::string Process::errors() {
  take_errors();
  return errors_.size() > kMostErrors ? errors_.substr(errors_.size() - kMostErrors) : errors_;
}

/// Whether there is output, or its end, to be read.
bool Process::await_output(std::chrono::milliseconds patience) {
  const Clock::time_point until = Clock::now() + patience;
  for (;;) {
    pollfd waited[]{{stream_, POLLIN, 0}, {errors_stream_, POLLIN, 0}};  // -1 is passed over
    const int ready = ::poll(waited, 2, static_cast<int>(at_once(left_until(until)).count()));
    if (ready > 0 && waited[1].revents != 0) take_errors();
    if (ready > 0 && waited[0].revents != 0) return true;
    if (ready >= 0 && Clock::now() >= until) return false;
  }
}

Process::Read Process::read_line(std::string& line, std::chrono::milliseconds patience) {
  // Of a line that does not end there is always more to read.
  constexpr std::chrono::seconds kGrace(1);
  const Clock::time_point until = Clock::now() + patience;
  while (!take_line(line)) {
    pending_.erase(0, taken_);
    seen_ -= taken_;
    taken_ = 0;
    if (Clock::now() > until + kGrace || !await_output(left_until(until))) return Read::nothing;
    char buffer[1 << 16];
    const ssize_t size = ::read(stream_, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size > 0) {
      pending_.append(buffer, static_cast<std::size_t>(size));
      continue;
    }
    if (pending_.empty()) return Read::end;
    pending_ += '\n';  // the last line had no end
  }
  return Read::line;
}

int Process::wait() {
  if (child_ < 0) return 0;
  const Clock::time_point until = Clock::now() + std::chrono::seconds(5);
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child_, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
    if (Clock::now() > until) kill();
    // Inside of a driver a process may not even be killed: it is left to the system.
    if (Clock::now() > until + std::chrono::seconds(5)) break;
    take_errors();  // or it could wait for ever for somebody to read them
    Clock::sleep_for(std::chrono::milliseconds(2));
  }
  const bool known = ended == child_;
  child_ = -1;
  if (!known) return 128 + SIGKILL;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Process::kill() {
  if (child_ > 0) ::kill(child_, SIGKILL);
}

}  // namespace clam
