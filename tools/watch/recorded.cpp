// SPDX-License-Identifier: MIT
#include "recorded.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "clam/error.hpp"
#include "lift/lines.hpp"
#include "process/isolate.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"
#include "stand_alone.hpp"

namespace clam::watch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Role = TensorSpec::Role;

json read_launch(const std::string& folder) {
  const json launch = json::parse(read_file(path_in(folder, "launch.json")), nullptr, false);
  if (launch.is_object() && launch.value("clam_watch", 0) == 1) return launch;
  throw BadArgument(folder + ": this is no launch that clam watch wrote");
}

/// "float*", "half4*": what its elements are compared as. All else: words of four bytes.
Dtype dtype_of(const std::string& type, std::int64_t bytes) {
  const auto begins = [&](const char* word) { return type.rfind(word, 0) == 0; };
  if (begins("half") && bytes % 2 == 0) return Dtype::f16;
  return begins("float") && bytes % 4 == 0 ? Dtype::f32 : Dtype::i32;
}

/// Whether its words are parts of something else, as of doubles or structures.
bool is_opaque(const std::string& type) {
  static const std::array known{"float",  "half",      "char",      "uchar",   "short",
                                "ushort", "int",       "uint",      "long",    "ulong",
                                "void",   "unsigned ", "unsigned*", "signed ", "signed*"};
  return std::none_of(known.begin(), known.end(),
                      [&](const char* word) { return type.rfind(word, 0) == 0; });
}

/// Buffers of a type of the program's own are of what its text says that this is: "real*" becomes
/// "float*" with "typedef float real;".
void name_elements(const Source& source, json& launch) {
  std::map<std::string, std::string> own;
  std::string other_options;
  try {
    const TakenLines taken = taken_lines(defines_of(source.options, other_options) + source.text);
    for (const Tokens& line : taken.lines) {
      const Tokens tokens = replaced(line, taken.fixed);
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (!tokens[i].is("typedef")) continue;
        std::vector<std::string> words;
        for (++i; i < tokens.size() && tokens[i].is_name(); ++i) {
          if (!tokens[i].is_one_of({"const", "volatile"})) words.push_back(tokens[i].text);
        }
        const bool is_whole = words.size() > 1 && i < tokens.size() && tokens[i].is(";");
        if (is_whole) own[words.back()] = words.front();
      }
    }
  } catch (const BadArgument&) {  // a preprocessor's line that only a compiler understands
  }
  for (json& argument : launch.at("args")) {
    std::string type = argument.at("type").get<std::string>();
    if (type.empty() || type.back() != '*') continue;
    type.pop_back();
    for (std::size_t i = 0; i < own.size() && own.count(type) > 0; ++i) type = own[type];
    argument["type"] = type + "*";
  }
}

/// The first argument that lies in a range of memory; where none does, one without a name.
json argument_in(const json& launch, std::size_t range) {
  for (const json& argument : launch.at("args")) {
    if (argument.contains("buffer") && argument.at("buffer") == range) return argument;
  }
  return {{"name", ""}, {"type", "void*"}};
}

/// A name that a file may have, and no other tensor has.
std::string free_name(std::string name, const std::vector<TensorSpec>& tensors) {
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (name.empty()) name = "buffer";
  std::string own = name.substr(0, 60);
  for (int number = 2; find_by_name(tensors, own); ++number) {
    own = fmt::format("{}_{}", name.substr(0, 60), number);
  }
  return own;
}

/// A tensor for each range of memory, named after the first argument that lies in it.
std::vector<TensorSpec> tensors_of(const json& launch) {
  std::vector<TensorSpec> tensors;
  const json& buffers = launch.at("buffers");
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const json argument = argument_in(launch, i);
    const auto bytes = buffers[i].at("bytes").get<std::int64_t>();
    TensorSpec spec;
    spec.name = free_name(argument.at("name"), tensors);
    spec.role = buffers[i].at("only_read").get<bool>() ? Role::input : Role::output;
    spec.dtype = dtype_of(argument.at("type"), bytes);
    spec.shape = {(bytes + size_of(spec.dtype) - 1) / size_of(spec.dtype)};
    tensors.push_back(spec);
  }
  return tensors;
}

/// The last word may be filled up with zeros.
HostTensor read_tensor(const std::string& path, const TensorSpec& spec) {
  const std::string bytes = read_file(path);
  HostTensor tensor(spec.dtype, spec.shape);
  throw_if(bytes.size() > tensor.bytes() ||
               bytes.size() + static_cast<std::size_t>(size_of(spec.dtype)) <= tensor.bytes(),
           "{}: {} bytes are needed, it has {}", path, tensor.bytes(), bytes.size());
  std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

Plan plan_of(const json& from, const std::vector<TensorSpec>& tensors) {
  json launch = from;
  launch["file"] = from.at("kernel").get<std::string>() + ".cl";
  for (json& argument : launch.at("args")) {
    if (!argument.contains("buffer")) continue;
    argument["buffer"] = tensors.at(argument.at("buffer").get<std::size_t>()).name;
  }
  return plan_from_json(
      {{"clam_plan", 1}, {"tensors", tensors}, {"launches", json::array({launch})}});
}

/// The device of that name, driver and platform, if it is here; else what is known of it.
DeviceInfo device_of(const json& launch, const std::vector<DeviceInfo>& devices) {
  for (const DeviceInfo& info : devices) {
    if (info.name == launch.at("device") && info.driver_version == launch.at("driver") &&
        info.platform == launch.at("platform")) {
      return info;
    }
  }
  DeviceInfo unknown;
  unknown.platform = launch.at("platform").get<std::string>();
  unknown.name = launch.at("device").get<std::string>();
  unknown.driver_version = launch.at("driver").get<std::string>();
  return unknown;
}

void take_tensors(const Recorded& recorded, const json& launch, Bundle& bundle) {
  for (std::size_t i = 0; i < bundle.plan->tensors.size(); ++i) {
    const TensorSpec& spec = bundle.plan->tensors[i];
    const auto file = [&](const char* ending) {
      return path_in(recorded.folder, std::to_string(i) + ending);
    };
    bundle.inputs[spec.name] = read_tensor(file(".before"), spec);
    if (spec.role != Role::output) continue;
    if (fs::exists(file(".after"))) bundle.expected[spec.name] = read_tensor(file(".after"), spec);
    if (is_opaque(argument_in(launch, i).at("type"))) bundle.opaque.push_back(spec.name);
  }
}

// ---- callers, as a person reads them ----

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

std::vector<Recorded> find_recorded(const std::string& folder) {
  std::vector<Recorded> all;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    Recorded found{entry.path().string(), 0, 0, entry.path().extension() == ".in-flight"};
    const std::string name = entry.path().stem().string();
    const std::size_t dash = std::min(name.find('-'), name.size());
    std::from_chars(name.data(), name.data() + dash, found.process);
    std::from_chars(name.data() + dash + 1, name.data() + name.size(), found.number);
    // What was cut off before all was written of it cannot be run.
    if (fs::exists(entry.path() / "launch.json")) all.push_back(found);
  }
  std::sort(all.begin(), all.end(), [](const Recorded& a, const Recorded& b) {
    return std::pair(a.process, a.number) < std::pair(b.process, b.number);
  });
  return all;
}

Bundle read_recorded(const Recorded& recorded, const std::string& program,
                     const std::vector<DeviceInfo>& devices) {
  try {
    json from = read_launch(recorded.folder);
    const Source source = stand_alone(
        {read_file(path_in(recorded.folder, "kernel.cl")), from.at("options").get<std::string>()});
    name_elements(source, from);
    Plan plan = plan_of(from, tensors_of(from));
    Launch& launch = plan.launches[0];
    launch.options = source.options;
    plan.variant = launch.kernel;
    plan.problem = fmt::format("{}, launch {} of {}", plan.variant, recorded.number, program);
    Bundle bundle;
    bundle.device = device_of(from, devices);
    plan.device = bundle.device;
    refuse_large(plan.tensors);
    bundle.problem = plan.problem;
    bundle.variant = plan.variant;
    bundle.kernels[launch.file] = source.text;
    bundle.plan = std::move(plan);
    take_tensors(recorded, from, bundle);
    const std::string error = path_in(recorded.folder, "error.txt");
    if (recorded.in_flight) {
      bundle.seen = failed(Seen::Outcome::crashed, "the program ended while this launch ran");
    } else if (fs::exists(error)) {
      bundle.seen = failed(Seen::Outcome::device_error,
                           "the launch ended with OpenCL error " + read_file(error));
    }
    bundle.judged = false;
    bundle.noted = "The expected files are what this driver gave, bit for bit; they may be wrong.";
    return bundle;
  } catch (const json::exception& error) {
    throw BadArgument(recorded.folder + ": " + error.what());
  }
}

std::vector<std::string> callers_of(const Recorded& recorded) {
  const json launch = read_launch(recorded.folder);
  std::vector<std::string> lines;
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
