// SPDX-License-Identifier: MIT
// callers.cpp - where a launch came from, as a person reads it.
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bundle/bundle.hpp"
#include "process/isolate.hpp"
#include "recorded.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::watch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A path may name a person.
std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

/// Of a package of Python's, or of text that it made; the program's own come behind.
bool is_of_a_package(const json& call) {
  const std::string file = call.value("file", "");
  return file.find("/dist-packages/") != file.npos || file.find("/site-packages/") != file.npos ||
         file.compare(0, 1, "<") == 0;
}

std::string python_line(const json& call) {
  return fmt::format("{}:{} in {}", file_name(call.at("file").get<std::string>()),
                     call.at("line").get<int>(), call.at("function").get<std::string>());
}

/// The line of a place in a program that was built with -g, by addr2line of the binutils:
/// "forward\n/home/me/model.cpp:41".
std::string source_line(const std::string& path, std::int64_t offset) {
  constexpr std::chrono::seconds kLimit(20);
  const std::string addr2line = find_program("addr2line");
  if (addr2line.empty()) return "";
  const Fate fate = run_isolated({addr2line, "-Cfe", path, fmt::format("{:#x}", offset)}, kLimit);
  std::istringstream lines(fate.out);
  std::string function, place;
  std::getline(lines, function), std::getline(lines, place);
  const std::string known = file_name(place.substr(0, place.find(" (")));
  if (fate.code != 0 || known.empty() || known.find('?') != known.npos) return "";
  return fmt::format("{} in {}", known, function);
}

std::string native_line(const json& call) {
  const std::string path = call.at("path").get<std::string>();
  const auto offset = call.at("offset").get<std::int64_t>();
  const std::string line = source_line(path, offset);
  if (!line.empty()) return line;
  const std::string function = call.at("function").get<std::string>();
  return fmt::format("{}+{:#x}{}", file_name(path), offset,
                     function.empty() ? "" : " in " + function);
}

}  // namespace

std::vector<std::string> callers_of(const Recorded& recorded) {
  const std::string file = (fs::path(recorded.folder) / "launch.json").string();
  const json launch = json::parse(read_file(file), nullptr, false);
  std::vector<std::string> lines;
  if (!launch.is_object()) return lines;
  try {
    for (const json& call : launch.value("callers", json::array())) {
      if (is_of_a_package(call)) continue;
      lines.push_back(anonymous(call.contains("line") ? python_line(call) : native_line(call)));
    }
  } catch (const json::exception&) {
    lines.clear();  // it is of another clam
  }
  return lines;
}

}  // namespace clam::watch
