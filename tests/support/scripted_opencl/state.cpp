// SPDX-License-Identifier: MIT
#include "state.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "clock.hpp"

namespace scripted {
namespace {

constexpr double kMuch = 10;  // seconds that pass at once for those who wait for a hang

/// Text in the variable itself, or the file that it names.
std::string text_of_environment() {
  const char* variable = std::getenv("CLAM_SCRIPTED_OPENCL");
  const std::string value = variable ? variable : "{}";
  if (value.rfind('{', 0) == 0) return value;
  std::ifstream file(value);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::shared_ptr<Script> parse(const std::string& text) {
  auto script = std::make_shared<Script>(parse_script(text));
  const std::string unknown = unknown_fact(*script);
  if (!unknown.empty()) throw std::runtime_error("'device' has no key '" + unknown + "'");
  if (!script->clock.empty()) share_clock(script->clock);
  return script;
}

State* first_state() {
  auto* made = new State;  // never destroyed: programs call until their very end
  try {
    made->script = parse(text_of_environment());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the scripted OpenCL cannot read its script: %s\n", error.what());
    std::abort();
  }
  return made;
}

/// The device takes it after all before it.
void start(Command& command, std::int64_t ns, State& all, const Script& plays) {
  command.submitted = now() + nanoseconds(plays.submit_us, 1e3);
  command.started = std::max(command.submitted, all.idle_at);
  command.ended = all.idle_at = command.started + ns;
}

struct AtExit {
  ~AtExit() {
    if (state().used && script()->hangs_at_exit) hang();
  }
} at_exit;

}  // namespace

std::mutex& mutex() {
  static auto* const one = new std::mutex;
  return *one;
}

State& state() {
  static State* const one = first_state();
  return *one;
}

std::shared_ptr<const Script> script() {
  State& all = state();
  const std::lock_guard lock(mutex());
  return all.script;
}

void play(const std::string& text) {
  State& all = state();
  auto next = parse(text);
  const std::lock_guard lock(mutex());
  all.script = std::move(next);
  all.done.clear();
  all.launches = all.waits = 0;
  all.failed = CL_COMPLETE;
}

void host_works(double us) {
  const std::int64_t ns = nanoseconds(us, 1e3);
  pass(ns);
  const std::lock_guard lock(mutex());
  state().own_ns += ns;
}

Command enqueue(std::int64_t ns, const About& about) {
  const auto plays = script();
  Command command;
  command.about = about;
  command.queued = now();
  host_works(plays->enqueue_us);
  const std::lock_guard lock(mutex());
  State& all = state();
  if (plays->starts_when_flushed) {
    command.held = ++all.commands;
    command.ended = std::numeric_limits<std::int64_t>::max();
    all.held[command.held] = ns;
  } else {
    start(command, ns, all, *plays);
  }
  return command;
}

void flush() {
  const auto plays = script();
  host_works(plays->flush_us);
  const std::lock_guard lock(mutex());
  State& all = state();
  std::map<std::int64_t, Command> started;
  for (const auto& [number, ns] : std::exchange(all.held, {})) {
    start(started[number], ns, all, *plays);
  }
  for (auto& [event, command] : all.events) {
    const auto found = started.find(command.held);
    if (found == started.end()) continue;
    command.held = 0;
    command.submitted = found->second.submitted;
    command.started = found->second.started;
    command.ended = found->second.ended;
  }
}

void await(const Command& command) {
  if (command.never || command.held > 0) hang();
  pass_until(command.ended);
  pass(noisy_wait(nanoseconds(script()->wait_us, 1e3)));
  const std::lock_guard lock(mutex());
  // Behind the last of them the next launch begins another batch.
  if (command.ended >= state().idle_at) state().batch = std::make_shared<Batch>();
}

void await_all() {
  if (script()->starts_when_flushed) flush();
  Command last;
  {
    const std::lock_guard lock(mutex());
    last.ended = state().idle_at;
    last.never = state().never;
  }
  await(last);
}

bool is_for_this_process(const Lie& lie) {
  static auto& counted = *new std::map<std::string, long>;  // once in a process, to its very end
  if (lie.processes == 1) return true;
  const std::lock_guard lock(mutex());
  const auto found = counted.find(lie.counted);
  if (found != counted.end()) return found->second % lie.processes == 0;
  std::FILE* file = std::fopen(lie.counted.c_str(), "ab");
  if (!file) std::abort();
  std::fputc('.', file);
  const long processes = counted[lie.counted] = std::ftell(file);
  std::fclose(file);
  return processes % lie.processes == 0;
}

void hang() {
  for (;;) {
    pass(nanoseconds(kMuch, 1e9));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void write_log(const std::string& line) {
  const std::string file = script()->log;
  if (file.empty()) return;
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string text = line + "\n";
  if (fd < 0 || ::write(fd, text.data(), text.size()) < 0) std::abort();
  ::close(fd);
}

}  // namespace scripted
