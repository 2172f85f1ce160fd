// SPDX-License-Identifier: MIT
#include "document.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "process/shell_quoted.hpp"
#include "results_file.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::bench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Packing::Times, median, min)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Packing, launches, bytes, us)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Result::Times, median, mean, min, cv, low, high)
// What a row has only if it is fine, and then always.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Result, iterations, us, samples_us, rounds_us, marks, bytes)

namespace {

using nlohmann::json;

/// What repeats the row: folders, problem, variant, device.
std::string command(const Row& row, const Options& options) {
  std::string words =
      folder_settings() + "clam-bench --problem " + shell_quoted(row.problem.text());
  if (!row.variant.empty()) words += " --variant " + row.way();
  const std::string device = options.device.empty() ? environment("CLAM_DEVICE") : options.device;
  if (!device.empty()) words += " --device " + shell_quoted(device);
  return words;
}

/// Of an INVALID row.
json claimed_json(const Result& result) {
  json value = {{"launches", result.claimed.launches},
                {"wall_us", result.claimed.wall_us},
                {"bytes", result.bytes},
                {"timestamps_ns", json::array()}};
  if (result.us.median > 0) {
    value["us"] = result.us.median;
    value["iterations"] = result.iterations;
  }
  if (result.flops > 0) value["flops"] = result.flops;
  for (const LaunchTime& time : result.claimed.times) {
    value["timestamps_ns"].push_back({time.queued, time.submitted, time.started, time.ended});
  }
  return value;
}

/// The mean over all passes.
double host_us(std::vector<Pass> passes) {
  fold(passes, 0);
  return passes.empty() ? 0 : passes.back().host_us;
}

json to_json(const Row& row, const Result& result, const Options& options,
             const MeasuredPeak& peak) {
  json value = {{"name", row.name},
                {"problem", row.problem.text()},
                {"op", row.problem.schema().name},
                {"dtype", name(row.problem.dtype())},
                {"outcome", name(result.outcome)},
                {"command", command(row, options)}};
  if (result.was_run()) value["validity"] = result.valid() ? "OK" : "INVALID";
  if (!result.reason.empty()) value["reason"] = result.reason;
  if (result.variant.empty()) return value;
  value["variant"] = result.variant;
  if (!row.tile.empty()) value["tile"] = row.tile;
  value["kernel_hash"] = result.kernel_hash;
  value["data_set"] = result.data_set;
  value["launches"] = result.launches;
  for (const auto& [output, verdict] : result.verification.outputs) {
    value["outputs"][output] = clam::to_json(verdict);
  }
  if (!result.claimed.times.empty()) value["claimed"] = claimed_json(result);
  if (result.outcome != Outcome::fine) return value;
  value.update(json(result));
  if (const auto floor = floor_us(row.problem, peak)) {
    value["floor_us"] = *floor;
    value["of_peak"] = *floor / result.us.median;
  }
  value["host_us"] = host_us(result.passes);
  if (result.gpu_mhz) value["gpu_mhz"] = *result.gpu_mhz;
  if (result.isolated) value["isolated"] = true;
  if (result.other_load) value["other_load"] = *result.other_load;
  if (result.flops > 0) value["flops"] = result.flops;
  if (result.packing.launches > 0) value["pack"] = result.packing;
  value["gb_per_s"] = result.gb_per_s();
  if (result.flops > 0) value["gflop_per_s"] = result.gflops();
  return value;
}

json to_json(const Block& block, const Selection& selection) {
  const Workload& workload = block.workload;
  json value = {{"name", workload.name}, {"nodes", json::array()}};
  for (const Line& line : block.lines) {
    json node = {{"row", selection.rows[line.row].name}};
    if (const Workload::Node* shown = block.node(line)) {
      node["name"] = shown->name;
      if (shown->calls > 0) node["calls"] = shown->calls;
      if (!shown->folded_into.empty()) node["folded_into"] = shown->folded_into;
      for (const Workload::Column& column : workload.columns) {
        const auto time = published_time(workload, *shown, column.key);
        if (!time) continue;
        node["published_us"][column.key] = {{"us", time->us}, {"at_least", time->at_least}};
      }
    }
    value["nodes"].push_back(node);
  }
  if (!workload.published_device.empty()) value["published_on"] = workload.published_device;
  return value;
}

/// Drivers' strings and logs may hold any byte, which Google Benchmark passes on; JSON may not.
std::string printable(std::string text) {
  for (char& c : text) {
    const bool plain = (c >= ' ' && c <= '~') || c == '\n' || c == '\t' || c == '\r';
    if (!plain) c = '?';
  }
  return text;
}

/// What another process of this program, which measures on the device, writes: FLAG FILE. Throws
/// Error with why there is nothing.
json from_process(std::vector<std::string> words, const char* flag, const Options& options,
                  double seconds, const std::string& device) {
  const ScratchFolder folder;
  const std::string file = folder.file("result.json");
  const std::vector<std::string> own = own_command();
  words.insert(words.begin(), own.begin(), own.end());
  words.insert(words.end(), {flag, file, "--device", device, "--time", fmt::format("{}", seconds)});
  if (options.quick) words.push_back("--quick");
  const Fate fate = run_isolated(words, std::chrono::seconds(options.limit_s));
  if (const Reason misfortune = fate.misfortune()) throw Error(*misfortune);
  try {
    return json::parse(read_file(file));
  } catch (const std::exception& error) {  // what went wrong there has been said on stderr
    throw Error(
        fmt::format("its process ended with {} and gave no result ({})", fate.code, error.what()));
  }
}

void take_claim(const json& claimed, Result& result) {
  claimed.at("launches").get_to(result.claimed.launches);
  claimed.at("wall_us").get_to(result.claimed.wall_us);
  for (const json& time : claimed.at("timestamps_ns")) {
    result.claimed.times.push_back({time.at(0), time.at(1), time.at(2), time.at(3)});
  }
  result.us.median = claimed.value("us", 0.0);
  result.iterations = claimed.value("iterations", std::int64_t{0});
  result.flops = claimed.value("flops", 0.0);
  result.bytes = claimed.value("bytes", 0.0);
}

void take_times(const json& row, Result& result) {
  row.get_to(result);
  result.passes = {{result.iterations, result.us.mean, row.at("host_us").get<double>()}};
  result.flops = row.value("flops", 0.0);
  if (row.contains("pack")) row.at("pack").get_to(result.packing);
  if (row.contains("gpu_mhz")) result.gpu_mhz = row.at("gpu_mhz").get<double>();
  if (row.contains("other_load")) result.other_load = row.at("other_load").get<double>();
}

}  // namespace

std::string make_document(const std::string& google, const Options& options,
                          const Selection& selection, const std::vector<Result>& results,
                          const Surroundings& around, Runtime& runtime) {
  json document =
      google.empty() ? json{{"benchmarks", json::array()}} : json::parse(printable(google));
  json& own = document["clam"];
  own = {{"schema", kResultsSchema},
         {"version", CLAM_VERSION},
         {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
         {"device", clam::to_json(runtime.device())},
         {"counters", counters_json(runtime)},
         {"replaced_kernels", runtime.files().overrides()},
         {"board", {{"before", around.before}, {"after", around.after}}},
         {"rows", json::array()},
         {"workloads", json::array()}};
  const bool no_peaks = around.peaks.rows.empty() && around.peaks.refused.empty();
  if (!no_peaks) {
    own["peaks"] = to_json(around.peaks);  // with why there are none, if so
    own["limits"] = to_json(limits_of(around.peaks));
  }
  const MeasuredPeak peak = around.peaks.measured();
  for (std::size_t i = 0; i < selection.rows.size(); ++i) {
    own["rows"].push_back(to_json(selection.rows[i], results[i], options, peak));
  }
  for (const Block& block : selection.blocks) {
    own["workloads"].push_back(to_json(block, selection));
  }
  return json_text(document);
}

Result result_from_json(const json& row) {
  Result result;
  result.outcome = parse_outcome(row.at("outcome").get<std::string>());
  result.isolated = row.value("isolated", false);
  result.reason = row.value("reason", "");
  if (!row.contains("variant")) return result;
  row.at("variant").get_to(result.variant);
  row.at("kernel_hash").get_to(result.kernel_hash);
  row.at("data_set").get_to(result.data_set);
  row.at("launches").get_to(result.launches);
  const json outputs = row.value("outputs", json::object());
  for (const auto& [name, verdict] : outputs.items()) {
    result.verification.outputs[name] = verdict_from_json(verdict);
  }
  result.error_over_bound = result.verification.worst_ratio();
  if (row.contains("claimed")) take_claim(row.at("claimed"), result);
  if (result.outcome == Outcome::fine) take_times(row, result);
  return result;
}

Peaks measure_peaks_isolated(const Options& options, double seconds, const std::string& device) {
  try {
    return peaks_from_json(from_process({}, "--only-peaks", options, seconds, device));
  } catch (const std::exception& error) {
    Peaks none;
    none.refused = {fmt::format("any kind: {}", error.what())};
    return none;
  }
}

Result measure_isolated(const Row& row, const Options& options, double seconds,
                        const std::string& device, const Limits& limits) {
  std::vector<std::string> words = {
      "--problem", row.problem.text(),    "--seed", std::to_string(options.seed), "--no-isolate",
      "--limits",  to_json(limits).dump()};
  if (!row.variant.empty()) words.insert(words.end(), {"--variant", row.way()});
  if (options.launch_limit_s) {
    words.insert(words.end(), {"--launch-limit", fmt::format("{}", *options.launch_limit_s)});
  }
  Result result;
  try {
    const json document = from_process(words, "--json", options, seconds, device);
    result = result_from_json(document.at("clam").at("rows").at(0));
    result.isolated = true;
  } catch (const std::exception& error) {
    result = {};
    result.outcome = Outcome::device_error;
    result.reason = error.what();
  }
  return result;
}

}  // namespace clam::bench
