// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/atomic_file.hpp"
#include "runtime/words.hpp"

namespace clam::peers {
namespace {

using nlohmann::json;

constexpr Words<5> kOutcomeWords{"fine", "no peer", "check failed", "skipped", "device error"};

constexpr std::size_t kNodeWidth = 16;

/// Of one peer's times over clam's, by op and "all" of them: above 1, clam is faster.
json means_of(const std::string& peer, const std::vector<Row>& rows,
              const std::vector<Result>& results) {
  std::map<std::string, std::vector<std::pair<double, std::string>>> ratios;  // with their nodes
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Yardstick* library = find_by_name(results[i].yardsticks, peer);
    if (!library) continue;
    const std::string node = rows[i].node.empty() ? rows[i].problem.text() : rows[i].node;
    for (const std::string& group : {rows[i].problem.schema().name, std::string("all")}) {
      ratios[group].emplace_back(library->us / results[i].clam_us, node);
    }
  }
  json means = json::object();
  for (const auto& [group, all] : ratios) {
    const auto& [least, least_node] = *std::min_element(all.begin(), all.end());
    double logs = 0;
    for (const auto& [ratio, node] : all) logs += std::log(ratio);
    const auto is_below_one = [](const auto& each) { return each.first < 1; };
    means[group] = {{"count", all.size()},
                    {"geometric_mean", std::exp(logs / double(all.size()))},
                    {"least", least},
                    {"least_node", least_node},
                    {"below_one", std::count_if(all.begin(), all.end(), is_below_one)}};
  }
  return means;
}

double gflops(const Result& result, double us) { return result.flops / us * 1e-3; }

const char* name(Outcome outcome) { return word_of(kOutcomeWords, outcome); }

const char* word(Outcome outcome) {
  return outcome == Outcome::check_failed   ? "INVALID"
         : outcome == Outcome::device_error ? "ERROR"
                                            : name(outcome);
}

void print_means(const char* peer, const json& means) {
  if (means.empty()) return;
  fmt::print("\n{}'s time / clam's (above 1: clam is faster)\n", peer);
  for (const auto& [op, mean] : means.items()) {
    fmt::print("  {:<13} geometric mean of {:>2}: {:.2f}; least {:.2f}, {}; {} below 1\n", op,
               mean["count"].get<int>(), mean["geometric_mean"].get<double>(),
               mean["least"].get<double>(), mean["least_node"].get<std::string>(),
               mean["below_one"].get<int>());
  }
}

/// "clblast 42.0 1.31 (Gemm)": its time in us, and that over clam's.
std::string text_of(const Yardstick& yardstick, double clam_us) {
  const double over = clam_us / yardstick.us;
  std::string about = yardstick.about;
  if (yardstick.bar > 0) {
    about = fmt::format("clam takes {:.2f} times as long, {} {:.0f}; {}", over,
                        over <= yardstick.bar ? "within" : "OVER", yardstick.bar, about);
  }
  return fmt::format("{} {:>8.1f} {:>5.2f}{}", yardstick.name, yardstick.us, 1 / over,
                     about.empty() ? "" : " (" + about + ")");
}

json to_json(const Row& row, const Result& result) {
  json value = {{"problem", row.problem.text()}, {"outcome", name(result.outcome)}};
  if (!row.node.empty()) value["workload"] = row.workload, value["node"] = row.node;
  if (!result.reason.empty()) value["reason"] = result.reason;
  if (result.outcome != Outcome::fine) return value;
  value["variant"] = result.variant;
  const bool libraries = result.flops > 0;
  if (libraries) value["flops"] = result.flops;
  if (!libraries) value["data_set"] = row.set;
  const auto add = [&](const std::string& name, double us) -> json& {
    value[name] = {{"us", us}};
    if (libraries) value[name]["gflop_per_s"] = gflops(result, us);
    return value[name];
  };
  add("clam", result.clam_us);
  for (const Yardstick& yardstick : result.yardsticks) {
    json& one = add(yardstick.name, yardstick.us);
    one["over_clam"] = yardstick.us / result.clam_us;
    if (!yardstick.about.empty()) one[libraries ? "routine" : "about"] = yardstick.about;
    if (yardstick.bar == 0) continue;
    one["clam_over"] = result.clam_us / yardstick.us;
    one["bar"] = yardstick.bar;  // of clam_over
  }
  return value;
}

}  // namespace

void print_head(const Runtime& runtime, const Options& options, const std::string& openblas) {
  const DeviceInfo& device = runtime.device();
  fmt::print("device: {} ({}, driver {}; {}, {} compute units)\n", device.name, device.platform,
             device.driver_version, device.type, device.compute_units);
  if (device.type == "cpu") fmt::print("This is a CPU: its times say nothing about a GPU.\n");
  for (const std::string& line : runtime.files().overrides()) fmt::print("replaced: {}\n", line);
  if (!openblas.empty()) fmt::print("OpenBLAS, on the same cores: {}\n", openblas);
  fmt::print(
      "Bare products and convolutions; wall time a call, median of {} turns of each, A B A B, "
      "every "
      "turn checked.\nclam packs constant weights once, outside of the time; the others are as "
      "installed.\nA ratio is the peer's time / clam's: above 1, clam is faster.\n",
      options.turns);
}

void print_row(const Row& row, const Row* previous, const Result& result) {
  if (!previous || previous->workload != row.workload) {
    fmt::print("\n{:<{}} {:>10} {:>8}  each peer, its us and its ratio; problem, clam's variant\n",
               row.workload.empty() ? "problem" : row.workload, kNodeWidth, "clam us", "GFLOP/s");
  }
  const std::string node = row.node.empty() ? "-" : row.node;
  if (result.outcome != Outcome::fine) {
    fmt::print("{:<{}} {}: {}: {}\n", node, kNodeWidth, word(result.outcome), row.problem.text(),
               result.reason);
  } else {
    fmt::print("{:<{}} {:>10.1f} {:>8}", node, kNodeWidth, result.clam_us,
               result.flops > 0 ? fmt::format("{:.2f}", gflops(result, result.clam_us)) : "-");
    for (const Yardstick& yardstick : result.yardsticks) {
      fmt::print("  {}", text_of(yardstick, result.clam_us));
    }
    fmt::print("  {}, data set {}, {}\n", row.problem.text(), row.set, result.variant);
  }
  std::fflush(stdout);
}

void print_foot(const std::vector<Row>& rows, const std::vector<Result>& results) {
  print_means("CLBlast", means_of("clblast", rows, results));
  print_means("OpenBLAS", means_of("openblas", rows, results));
  std::map<Outcome, int> counts;
  for (const Result& result : results) ++counts[result.outcome];
  fmt::print("\n{} compared, {} without a peer, {} skipped, {} failed\n", counts[Outcome::fine],
             counts[Outcome::no_peer], counts[Outcome::unsupported],
             counts[Outcome::check_failed] + counts[Outcome::device_error]);
  std::fflush(stdout);
}

std::string make_document(Runtime& runtime, const Options& options, const std::string& openblas,
                          const std::vector<Row>& rows, const std::vector<Result>& results) {
  json document = {{"version", CLAM_VERSION},
                   {"device", clam::to_json(runtime.device())},
                   {"replaced_kernels", runtime.files().overrides()},
                   {"turns", options.turns},
                   {"rows", json::array()},
                   {"over_clam",
                    {{"clblast", means_of("clblast", rows, results)},
                     {"openblas", means_of("openblas", rows, results)}}}};
  if (!openblas.empty()) document["openblas"] = openblas;
  for (std::size_t i = 0; i < results.size(); ++i) {
    document["rows"].push_back(to_json(rows[i], results[i]));
  }
  return json_text(document);
}

}  // namespace clam::peers
