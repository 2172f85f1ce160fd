// SPDX-License-Identifier: MIT
#include "malioc.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "check/manifest.hpp"
#include "kernel_text.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"

namespace clam::mali {
namespace {

using nlohmann::json;

[[noreturn]] void reject(const std::string& why) { refuse("malioc's report: {}", why); }

/// A value and the keys that lead to it: "shaders[0].variants[0].performance".
struct Node {
  const json& value;
  std::string path;

  Node at(const char* key) const {
    const std::string below = path.empty() ? key : path + "." + key;
    if (!value.is_object() || !value.contains(key)) reject(fmt::format("{} is missing", below));
    return {value.at(key), below};
  }
  Node at(std::size_t i) const { return {value.at(i), fmt::format("{}[{}]", path, i)}; }

  std::size_t size() const {
    if (!value.is_array()) reject(fmt::format("{} is no list", path));
    return value.size();
  }
  std::string text() const {
    if (!value.is_string()) reject(fmt::format("{} is no text", path));
    return value.get<std::string>();
  }
  double number() const {
    if (!value.is_number()) reject(fmt::format("{} is no number", path));
    const double number = value.get<double>();
    if (!std::isfinite(number) || number < 0) reject(fmt::format("{} is no count", path));
    return number;
  }
  int whole() const {
    const double value = number();
    if (value > std::numeric_limits<int>::max()) reject(fmt::format("{} is too large", path));
    return static_cast<int>(value);
  }
  bool truth() const {
    if (!value.is_boolean()) reject(fmt::format("{} is neither true nor false", path));
    return value.get<bool>();
  }
};

struct Slowest {
  double cycles = 0;  ///< 0 where none has a number
  std::string pipeline;
};

/// The slowest pipeline of a row of cycles. arith_total is the slowest of the arithmetic ones: the
/// others say more. A pipeline's cycles are null where they are not known.
Slowest slowest(const Node& performance, const char* row) {
  const Node pipelines = performance.at("pipelines");
  const Node cycles = performance.at(row).at("cycle_count");
  if (cycles.size() != pipelines.size()) {
    reject(fmt::format("{} has {} entries, and {} has {}", cycles.path, cycles.size(),
                       pipelines.path, pipelines.size()));
  }
  Slowest slowest;
  for (std::size_t i = 0; i < cycles.size(); ++i) {
    if (cycles.at(i).value.is_null()) continue;
    const double count = cycles.at(i).number();
    const std::string pipeline = pipelines.at(i).text();
    const bool more =
        count > slowest.cycles || (count == slowest.cycles && slowest.pipeline == "arith_total");
    if (more) slowest = {count, pipeline};
  }
  return slowest;
}

/// The entry of properties[] with that name.
Node property(const Node& variant, const std::string& name) {
  const Node properties = variant.at("properties");
  for (std::size_t i = 0; i < properties.size(); ++i) {
    const Node one = properties.at(i);
    if (one.at("name").text() == name) return one.at("value");
  }
  reject(fmt::format("{} has no {}", properties.path, name));
}

/// The first of a list that is not empty.
Node first_of(const Node& list) {
  if (list.size() == 0) reject(fmt::format("{} is empty", list.path));
  return list.at(std::size_t{0});
}

void refuse_errors(const Node& shader) {
  if (!shader.value.is_object() || !shader.value.contains("errors")) return;
  const Node errors = shader.at("errors");
  if (errors.size() > 0) reject(fmt::format("it refused the kernel: {}", first_of(errors).text()));
}

}  // namespace

MaliocReport parse_malioc(std::string_view text) {
  const json parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded()) reject("it is not JSON");
  const Node shader = first_of(Node{parsed, ""}.at("shaders"));
  refuse_errors(shader);
  const Node variant = first_of(shader.at("variants")), performance = variant.at("performance");
  const Slowest total = slowest(performance, "total_cycles");
  MaliocReport report;
  report.total_cycles = total.cycles;
  report.bound_by = total.pipeline;
  report.longest_path_cycles = slowest(performance, "longest_path_cycles").cycles;
  report.work_registers = property(variant, "work_registers_used").whole();
  report.occupancy_percent = property(variant, "thread_occupancy").whole();
  report.spills = property(variant, "has_stack_spilling").truth();
  return report;
}

MaliocReport ask_malioc(const std::string& malioc, const Gpu& gpu, const KernelSource& source,
                        const std::string& options, const std::string& kernel) {
  const ScratchFolder folder;
  const std::string file = folder.file(kernel + ".cl");
  std::string text;
  for (const BuildOption& option : build_options(options + " " + source.options)) {
    if (option.is_define()) text += fmt::format("#define {} {}\n", option.name, option.value);
  }
  write_file(file, text + only_kernels(source.text, {kernel}));
  try {
    const Fate fate = run_isolated(
        {malioc, "--format", "json", "-c", fmt::format("Mali-{}", gpu.model), "--opencl", file},
        std::chrono::seconds(60));
    const std::size_t report = fate.out.find('{');  // behind what else it says
    return parse_malioc(fate.out.substr(std::min(report, fate.out.size())));
  } catch (const Error& error) {
    throw DeviceError(
        fmt::format("malioc gives no report of {} for {}: {}", kernel, gpu.key, error.what()));
  }
}

}  // namespace clam::mali
