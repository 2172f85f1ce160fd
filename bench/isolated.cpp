// SPDX-License-Identifier: MIT
#include "isolated.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::bench {
namespace {

using nlohmann::json;

std::vector<std::string> words_of(const Row& row, const Options& options, double seconds,
                                  const std::string& device, const Limits& limits) {
  std::vector<std::string> words = own_command();
  words.insert(words.end(), {"--problem", row.problem.text(), "--device", device, "--time",
                             fmt::format("{}", seconds), "--seed", std::to_string(options.seed),
                             "--no-isolate", "--limits", to_json(limits).dump()});
  if (!row.variant.empty()) words.insert(words.end(), {"--variant", row.variant});
  if (options.quick) words.push_back("--quick");
  if (options.launch_limit_s) {
    words.insert(words.end(), {"--launch-limit", fmt::format("{}", *options.launch_limit_s)});
  }
  return words;
}

Result failed(const std::string& reason) {
  Result result;
  result.outcome = Outcome::device_error;
  result.reason = reason;
  return result;
}

Claimed claimed_from_json(const json& claimed) {
  Claimed result;
  claimed.at("launches").get_to(result.launches);
  claimed.at("wall_us").get_to(result.wall_us);
  for (const json& time : claimed.at("timestamps_ns")) {
    result.times.push_back({time.at(0), time.at(1), time.at(2), time.at(3)});
  }
  return result;
}

Packing packing_from_json(const json& pack) {
  return {pack.at("launches").get<std::int64_t>(), pack.at("bytes").get<std::int64_t>(),
          pack.at("us").at("median").get<double>(), pack.at("us").at("min").get<double>()};
}

void take_times(const json& row, Result& result) {
  const json& us = row.at("us");
  result.iterations = row.at("iterations").get<std::int64_t>();
  result.us = us.at("median").get<double>();
  result.us_min = us.at("min").get<double>();
  result.cv = us.at("cv").get<double>();
  result.interval = {us.at("low").get<double>(), us.at("high").get<double>()};
  row.at("samples_us").get_to(result.samples_us);
  row.at("rounds_us").get_to(result.rounds_us);
  row.at("marks").get_to(result.marks);
  result.us_mean = us.at("mean").get<double>();
  result.passes = {{result.iterations, result.us_mean, row.at("host_us").get<double>()}};
  result.flops = row.value("flops", 0.0);
  row.at("bytes").get_to(result.bytes);
  if (row.contains("pack")) result.packing = packing_from_json(row.at("pack"));
  if (row.contains("gpu_mhz")) result.gpu_mhz = row.at("gpu_mhz").get<double>();
  if (row.contains("other_load")) result.other_load = row.at("other_load").get<double>();
}

}  // namespace

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
  if (row.contains("claimed")) {
    const json& claimed = row.at("claimed");
    result.claimed = claimed_from_json(claimed);
    result.us = claimed.value("us", 0.0);
    result.iterations = claimed.value("iterations", std::int64_t{0});
    result.flops = claimed.value("flops", 0.0);
    result.bytes = claimed.value("bytes", 0.0);
  }
  if (result.outcome == Outcome::fine) take_times(row, result);
  return result;
}

Peaks measure_peaks_isolated(const Options& options, double seconds, const std::string& device) {
  const ScratchFolder folder;
  const std::string file = folder.file("peaks.json");
  std::vector<std::string> words = own_command();
  words.insert(words.end(),
               {"--only-peaks", file, "--device", device, "--time", fmt::format("{}", seconds)});
  if (options.quick) words.push_back("--quick");
  const Fate fate = run_isolated(words, std::chrono::seconds(options.limit_s));
  Peaks none;
  none.refused = {"any kind: " + fate.misfortune().value_or(fmt::format(
                                     "its process ended with {} and gave no result", fate.code))};
  try {
    return fate.misfortune() ? none : peaks_from_json(json::parse(read_file(file)));
  } catch (const std::exception&) {  // what went wrong there has been said on stderr
    return none;
  }
}

Result measure_isolated(const Row& row, const Options& options, double seconds,
                        const std::string& device, const Limits& limits) {
  const ScratchFolder folder;
  const std::string file = folder.file("row.json");
  std::vector<std::string> words = words_of(row, options, seconds, device, limits);
  words.insert(words.end(), {"--json", file});
  const Fate fate = run_isolated(words, std::chrono::seconds(options.limit_s));
  if (const Reason misfortune = fate.misfortune()) return failed(*misfortune);
  try {
    Result result = result_from_json(json::parse(read_file(file)).at("clam").at("rows").at(0));
    result.isolated = true;
    return result;
  } catch (const std::exception& error) {  // what went wrong there has been said on stderr
    return failed(
        fmt::format("its process ended with {} and gave no result ({})", fate.code, error.what()));
  }
}

}  // namespace clam::bench
