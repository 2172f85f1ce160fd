// SPDX-License-Identifier: MIT
#include "document.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "process/shell_quoted.hpp"

namespace clam::bench {
namespace {

using nlohmann::json;

/// What repeats the row: kernel folder, problem, variant, device.
std::string command(const Row& row, const Options& options) {
  const char* kernels = std::getenv("CLAM_KERNEL_DIR");
  std::string words;
  if (kernels && *kernels) words = fmt::format("CLAM_KERNEL_DIR={} ", shell_quoted(kernels));
  words += "clam-bench --problem " + shell_quoted(row.problem.text());
  if (!row.variant.empty()) words += " --variant " + row.variant;
  const char* asked = std::getenv("CLAM_DEVICE");
  const std::string device = options.device.empty() && asked ? asked : options.device;
  if (!device.empty()) words += " --device " + shell_quoted(device);
  return words;
}

json to_json(const Packing& packing) {
  return {{"launches", packing.launches},
          {"bytes", packing.bytes},
          {"us", {{"median", packing.us}, {"min", packing.us_min}}}};
}

/// Of an INVALID row.
json claimed_json(const Result& result) {
  json value = {{"launches", result.claimed.launches},
                {"wall_us", result.claimed.wall_us},
                {"bytes", result.bytes},
                {"timestamps_ns", json::array()}};
  if (result.us > 0) {
    value["us"] = result.us;
    value["iterations"] = result.iterations;
  }
  if (result.flops > 0) value["flops"] = result.flops;
  for (const LaunchTime& time : result.claimed.times) {
    value["timestamps_ns"].push_back({time.queued, time.submitted, time.started, time.ended});
  }
  return value;
}

/// The mean over all passes.
double host_us(const Result& result) {
  double us = 0, iterations = 0;
  for (const Pass& pass : result.passes) {
    us += pass.host_us * double(pass.iterations);
    iterations += double(pass.iterations);
  }
  return iterations > 0 ? us / iterations : 0;
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
  value["kernel_hash"] = result.kernel_hash;
  value["data_set"] = result.data_set;
  value["launches"] = result.launches;
  for (const auto& [output, verdict] : result.verification.outputs) {
    value["outputs"][output] = clam::to_json(verdict);
  }
  if (!result.claimed.times.empty()) value["claimed"] = claimed_json(result);
  if (result.outcome != Outcome::fine) return value;
  value["iterations"] = result.iterations;
  value["us"] = {{"median", result.us},        {"mean", result.us_mean},
                 {"min", result.us_min},       {"cv", result.cv},
                 {"low", result.interval.low}, {"high", result.interval.high}};
  value["samples_us"] = result.samples_us;
  value["rounds_us"] = result.rounds_us;
  value["marks"] = result.marks;
  if (const auto floor = floor_us(row.problem, peak)) {
    value["floor_us"] = *floor;
    value["of_peak"] = *floor / result.us;
  }
  value["host_us"] = host_us(result);
  if (result.gpu_mhz) value["gpu_mhz"] = *result.gpu_mhz;
  if (result.isolated) value["isolated"] = true;
  if (result.other_load) value["other_load"] = *result.other_load;
  if (result.flops > 0) value["flops"] = result.flops;
  value["bytes"] = result.bytes;
  if (result.packing.launches > 0) value["pack"] = to_json(result.packing);
  value["gb_per_s"] = result.gb_per_s();
  if (result.flops > 0) value["gflop_per_s"] = result.gflops();
  return value;
}

json to_json(const Block& block, const Selection& selection) {
  const Workload& workload = block.workload;
  json value = {{"name", workload.name}, {"nodes", json::array()}, {"not_yet", json::array()}};
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
  for (const Workload::Node& node : workload.nodes) {
    if (node.not_yet()) value["not_yet"].push_back({{"name", node.name}, {"problem", node.line}});
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

}  // namespace

std::string make_document(const std::string& google, const Options& options,
                          const Selection& selection, const std::vector<Result>& results,
                          const Surroundings& around, Runtime& runtime) {
  json document =
      google.empty() ? json{{"benchmarks", json::array()}} : json::parse(printable(google));
  json& own = document["clam"];
  own = {{"schema", kSchema},
         {"version", CLAM_VERSION},
         {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
         {"device", clam::to_json(runtime.device())},
         {"counters", counters_json(runtime)},
         {"replaced_kernels", runtime.files().overrides()},
         {"board", {{"before", to_json(around.before)}, {"after", to_json(around.after)}}},
         {"rows", json::array()},
         {"workloads", json::array()}};
  const bool no_peaks = around.peaks.rows.empty() && around.peaks.refused.empty();
  if (!no_peaks) own["peaks"] = to_json(around.peaks);  // with why there are none, if so
  const MeasuredPeak peak = around.peaks.measured();
  for (std::size_t i = 0; i < selection.rows.size(); ++i) {
    own["rows"].push_back(to_json(selection.rows[i], results[i], options, peak));
  }
  for (const Block& block : selection.blocks) {
    own["workloads"].push_back(to_json(block, selection));
  }
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace clam::bench
