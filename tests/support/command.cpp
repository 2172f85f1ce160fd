// SPDX-License-Identifier: MIT
#include "command.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

void send_to(int stream, const char* path) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ::dup2(file, stream) < 0) ::_exit(126);
  ::close(file);
}

}  // namespace

Finished run_command(const std::vector<std::string>& words,
                     const std::vector<std::string>& environment) {
  const TemporaryFolder folder;
  const std::string out = folder.file("out"), err = folder.file("err");
  std::vector<std::string> copies = words, settings = environment;
  std::vector<char*> argv;
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    send_to(STDOUT_FILENO, out.c_str());
    send_to(STDERR_FILENO, err.c_str());
    for (std::string& setting : settings) ::putenv(setting.data());
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out),
          read_file(err)};
}

}  // namespace clam::test
