// SPDX-License-Identifier: MIT
#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "error.hpp"

namespace clam {
namespace {

using Clock = std::chrono::steady_clock;

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

}  // namespace

Process::Process(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                 Errors errors, const std::string& folder, const std::string& errors_file) {
  std::vector<std::string> own_words = words, own_environment = environment;
  std::vector<char*> argv = pointers(own_words), settings = pointers(own_environment);
  argv.push_back(nullptr);
  int ends[2], file = -1;
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw IoError(std::string("no pipe to another program: ") + std::strerror(errno));
  }
  if (!errors_file.empty()) {
    file = ::open(errors_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  }
  const int errors_to = file >= 0 ? file : errors == Errors::with_output ? ends[1] : -1;
  child_ = ::fork();
  if (child_ == 0) become(ends[1], errors_to, argv, settings, folder.c_str());
  ::close(ends[1]);
  if (file >= 0) ::close(file);
  stream_ = ends[0];
  if (child_ < 0) {
    ::close(stream_);
    throw IoError("cannot start " + words[0] + ": " + std::strerror(errno));
  }
}

Process::~Process() {
  kill();
  wait();
  ::close(stream_);
}

bool Process::take_line(std::string& line) {
  const std::size_t end = pending_.find('\n', taken_);
  if (end == std::string::npos) return false;
  line.assign(pending_, taken_, end - taken_);
  taken_ = end + 1;
  return true;
}

Process::Read Process::read_line(std::string& line, std::chrono::milliseconds patience) {
  const Clock::time_point until = Clock::now() + patience;
  while (!take_line(line)) {
    pending_.erase(0, taken_);
    taken_ = 0;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd waited{stream_, POLLIN, 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(std::max(left.count(), {})));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Read::nothing;
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
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
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
