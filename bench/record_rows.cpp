// SPDX-License-Identifier: MIT
#include "record_rows.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "clam/kernels.hpp"
#include "process/isolate.hpp"
#include "runtime/refuse.hpp"

namespace clam::bench {
namespace {

using nlohmann::json;

/// The program `clam` beside this one.
std::string recorder() {
  const std::string clam = std::filesystem::path(own_program()).replace_filename("clam").string();
  if (::access(clam.c_str(), X_OK) == 0) return clam;
  throw BadArgument(fmt::format(
      "--record-failures needs the program clam beside clam-bench, and there is no {}: build both",
      clam));
}

/// "f32 461 GFLOP/s, ..." of what was measured.
std::string peaks_text(const Limits& limits) {
  std::string text;
  const auto add = [&](const char* what, double value, const char* unit) {
    if (value > 0) {
      text += fmt::format("{}{} {:.4g} {}", text.empty() ? "" : ", ", what, value, unit);
    }
  };
  add("f32", limits.gflops_f32, "GFLOP/s");
  add("f16", limits.gflops_f16, "GFLOP/s");
  add("memory", limits.gb_per_s, "GB/s");
  add("a launch", limits.launch_us, "us");
  return text.empty() ? "" : "Measured at most in the same run: " + text + ".\n";
}

std::string claim_text(const Result& result) {
  if (result.us.median <= 0) return "";
  const std::string gflops =
      result.flops > 0 ? fmt::format("{:.4g} GFLOP/s and ", result.gflops()) : "";
  return fmt::format(
      "By its events an iteration takes {:.4g} us (median of {}), which is {}{:.4g} GB/s.\n",
      result.us.median, result.iterations, gflops, result.gb_per_s());
}

std::string timestamps_text(const Claimed& claimed) {
  if (claimed.times.empty()) return "";
  std::string text = fmt::format(
      "\nThe first {} of {} launches that were enqueued together. They took the host {:.1f} us. "
      "Times "
      "are in nanoseconds, by their events:\n\n"
      "| launch | queued | submitted | started | ended | ended - started "
      "|\n|---|---|---|---|---|---|\n",
      claimed.times.size(), claimed.launches, claimed.wall_us);
  int number = 0;
  for (const LaunchTime& time : claimed.times) {
    text += fmt::format("| {} | {} | {} | {} | {} | {:.0f} |\n", number++, time.queued,
                        time.submitted, time.started, time.ended, time.ns());
  }
  return text;
}

std::string target_of(const Options& options, const Row& row, const std::string& variant) {
  const std::string what = fmt::format("{}\n{}", row.problem.text(), variant);
  return (std::filesystem::path(options.record_failures) /
          fmt::format("{}-{}", row.problem.schema().name, hash_text(what).substr(0, 12)))
      .string();
}

/// What came of the row in the recorder, or why it is not recorded.
std::string record(const Options& options, const Row& row, const Result& result,
                   const Limits& limits, const std::string& device) {
  const std::string variant = result.variant.empty() ? row.variant : result.variant;
  const std::string target = target_of(options, row, variant + row.tile);
  std::vector<std::string> words = own_command();
  words.back() = recorder();
  words.insert(words.end(), {"--device", device, "--quiet", "--json", "-", "record",
                             row.problem.text(), "--fill", usual_data_set(row.problem).name,
                             "--limit", std::to_string(options.limit_s), "--note",
                             note_of(result, limits), "--force", "-o", target});
  if (!variant.empty()) words.insert(words.end(), {"--variant", variant});
  if (!row.tile.empty()) words.insert(words.end(), {"--tile", row.tile});
  // The recorder gives its own processes their limit: those that plan, run, and try elsewhere.
  const Fate fate = run_isolated(words, std::chrono::seconds(4 * options.limit_s + 120));
  const json answer = fate.answer();
  if (fate.code == 0 && answer.contains("seen")) {
    const json& seen = answer.at("seen");
    return fmt::format("recorded in {}: {}", target, seen.value("outcome", ""));
  }
  return fmt::format("{} is not recorded: {}", row.name,
                     fate.misfortune().value_or("clam record said why"));
}

}  // namespace

void prepare_recording(const Options& options) {
  recorder();
  std::error_code error;
  std::filesystem::create_directories(options.record_failures, error);
  throw_if(bool(error), "--record-failures: there can be no folder {}: {}", options.record_failures,
           error.message());
}

bool is_to_record(const Result& result) {
  const bool failed =
      result.outcome == Outcome::check_failed || result.outcome == Outcome::device_error;
  return failed && result.reason.rfind(kNotSound, 0) != 0;
}

std::string note_of(const Result& result, const Limits& limits) {
  return fmt::format("clam-bench {} called it {}:\n\n    {}\n\n{}{}{}", CLAM_VERSION,
                     result.outcome == Outcome::check_failed ? "INVALID" : "an error",
                     result.reason, claim_text(result), peaks_text(limits),
                     timestamps_text(result.claimed));
}

void record_failures(const Options& options, const Selection& selection,
                     const std::vector<Result>& results, const Limits& limits,
                     const std::string& device,
                     const std::function<void(const std::string&)>& say) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!is_to_record(results[i])) continue;
    say(record(options, selection.rows[i], results[i], limits, device));
  }
}

}  // namespace clam::bench
