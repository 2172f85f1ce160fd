// SPDX-License-Identifier: MIT
#include "scripted.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "check/clock.hpp"
#include "command.hpp"
#include "opencl/search.hpp"
#include "process/isolate.hpp"

namespace clam::test::scripted {
namespace {

using nlohmann::json;

template <typename Function>
Function* function(const char* name) {
  auto* found = reinterpret_cast<Function*>(opencl::function(name));
  if (!found) throw std::logic_error(std::string(name) + " is not here: no scripted OpenCL");
  return found;
}

json with_little_memory(json script) {
  json& device = script["device"];
  if (!device.contains("max_alloc_bytes")) device["max_alloc_bytes"] = 4 << 20;
  return script;
}

}  // namespace

std::vector<std::string> on(json script) {
  const char* path = std::getenv("LD_LIBRARY_PATH");
  return {std::string("LD_LIBRARY_PATH=" CLAM_SCRIPTED_OPENCL_DIR) +
              (path && *path ? ":" + std::string(path) : ""),
          "CLAM_SCRIPTED_OPENCL=" + with_little_memory(std::move(script)).dump()};
}

json lie(const std::string& call, const std::string& does, json more) {
  if (more.is_null()) more = json::object();
  more["call"] = call;
  more["does"] = does;
  return more;
}

json lying(const std::string& call, const std::string& does, json more) {
  return {{"lies", json::array({lie(call, does, std::move(more))})}};
}

json SharedClock::in(json script) const {
  script["clock"] = file_;
  return script;
}

std::vector<std::string> SharedClock::on(json script) const {
  return scripted::on(in(std::move(script)));
}

std::chrono::nanoseconds SharedClock::passed() const {
  constexpr std::int64_t kFirst = 1'000'000'000;  // where the clock begins
  std::int64_t now = kFirst;
  std::ifstream(file_, std::ios::binary).read(reinterpret_cast<char*>(&now), sizeof now);
  return std::chrono::nanoseconds(now - kFirst);
}

std::string SharedClock::jump() const {
  // Its byte 6 counts in 2^48 ns: three days.
  return fmt::format(
      "printf \"\\\\$(printf %o $(($(od -An -tu1 -j6 -N1 '{0}') + 1)))\" | "
      "dd of='{0}' bs=1 seek=6 conv=notrunc 2>/dev/null",
      file_);
}

bool here() { return Clock::is_scripted(); }

void run_there() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::vector<std::string> words = own_command(), environment = on();
  words.push_back(fmt::format("--gtest_filter={}.{}", test->test_suite_name(), test->name()));
  environment.insert(environment.end(), {"GTEST_TOTAL_SHARDS=1", "GTEST_SHARD_INDEX=0"});
  const Finished finished = run_command(words, environment);
  if (finished.code == 77) GTEST_SKIP() << finished.out;
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
}

void play(json script) {
  if (function<int(const char*)>("clam_scripted_play")(
          with_little_memory(std::move(script)).dump().c_str()) != 0) {
    throw std::logic_error("the script cannot be played");
  }
}

std::map<std::string, std::int64_t> counts() {
  std::istringstream lines(function<const char*()>("clam_scripted_counts")());
  std::map<std::string, std::int64_t> counts;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.rfind(": ");
    counts[line.substr(0, colon)] = std::stoll(line.substr(colon + 2));
  }
  return counts;
}

}  // namespace clam::test::scripted
