// SPDX-License-Identifier: MIT
// facts.cpp - what the card of a board says: its device, its clocks, its measured peaks.
#include <fmt/core.h>

#include "part.hpp"

namespace clam {
namespace {

using nlohmann::json;

std::string figure_text(double value) {
  return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 1000 ? 1 : 0);
}

/// Adds "KEY: VALUE UNIT" where the value is there.
void add(ReportBoard::Facts& facts, const Part& part, const std::string& key,
         const std::string& title, const std::string& unit) {
  if (const auto value = part.figure(key)) {
    facts.lines.emplace_back(title, figure_text(*value) + " " + unit);
  }
}

/// "850" where it stayed, else "850 to 600"; empty where the board does not show it.
std::string from_to(const Part& before, const Part& after, const std::string& key) {
  const auto text = [&](const Part& state) {
    const auto found = state.value().find(key);
    if (found == state.value().end()) return std::string();
    return found->is_string() ? found->get<std::string>()
                              : fmt::format("{:.0f}", state.figure(key).value_or(0));
  };
  const std::string first = text(before), last = text(after);
  if (first.empty() || last.empty() || first == last) return first.empty() ? last : first;
  return first + " to " + last;
}

}  // namespace

ReportBoard::Facts device_facts(const Part& device, const ReportBoard& board,
                                const std::vector<std::string>& replaced) {
  ReportBoard::Facts facts{"Device", {}, ""};
  const auto add_text = [&](const std::string& title, const std::string& text) {
    if (!text.empty()) facts.lines.emplace_back(title, text);
  };
  add_text("platform", device.text("platform"));
  add_text("driver", device.text("driver_version"));
  add_text("OpenCL", device.text("device_version"));
  add_text("kind", device.text("type"));
  if (const auto units = device.figure("compute_units")) {
    add_text("compute units", fmt::format("{:.0f}", *units));
  }
  if (const auto clock = device.figure("max_clock_mhz")) {
    add_text("stated clock", fmt::format("{:.0f} MHz", *clock));
  }
  const json& value = device.value();
  if (value.contains("fp16") && value.at("fp16").is_boolean()) {
    add_text("fp16", value.at("fp16").get<bool>() ? "yes" : "no");
  }
  add_text("measured", board.date + (board.version.empty() ? "" : ", clam " + board.version));
  for (const std::string& file : replaced) add_text("replaced kernel", file);
  return facts;
}

ReportBoard::Facts clock_facts(const Part& board) {
  ReportBoard::Facts facts{"Clocks, before to after", {}, ""};
  const Part before = board.object("before"), after = board.object("after");
  const struct {
    const char *key, *title, *unit;
  } lines[] = {{"gpu_mhz", "GPU", " MHz"},
               {"gpu_min_mhz", "least GPU clock", " MHz"},
               {"gpu_max_mhz", "most GPU clock", " MHz"},
               {"gpu_governor", "GPU governor", ""},
               {"memory_mhz", "memory", " MHz"},
               {"gpu_celsius", "GPU temperature", " C"},
               {"cpu_governor", "CPU governor", ""}};
  for (const auto& line : lines) {
    const std::string text = from_to(before, after, line.key);
    if (!text.empty()) facts.lines.emplace_back(line.title, text + line.unit);
  }
  if (facts.lines.empty()) facts.instead = "This machine shows no clock of the device.";
  return facts;
}

ReportBoard::Facts peak_facts(const Part& peaks) {
  ReportBoard::Facts facts{"Measured peaks", {}, ""};
  add(facts, peaks, "gflops_f32", "f32", "GFLOP/s");
  add(facts, peaks, "gflops_f16", "f16", "GFLOP/s");
  add(facts, peaks, "gb_per_s_copy", "copy", "GB/s");
  add(facts, peaks, "gb_per_s_read", "read", "GB/s");
  add(facts, peaks, "gb_per_s_write", "write", "GB/s");
  if (const auto bytes = peaks.figure("last_cache_bytes")) {
    facts.lines.emplace_back("last cache", fmt::format("{:.0f} KiB", *bytes / 1024));
  }
  add(facts, peaks, "launch_us", "a launch", "us");
  add(facts, peaks, "build_ms", "a build", "ms");
  add(facts, peaks, "map_gb_per_s", "map", "GB/s");
  add(facts, peaks, "upload_gb_per_s", "upload", "GB/s");
  add(facts, peaks, "download_gb_per_s", "download", "GB/s");
  if (facts.lines.empty()) {
    facts.instead = peaks.texts("refused").empty() ? "Peaks were not measured in this run."
                                                   : "No peak could be measured.";
  }
  return facts;
}

}  // namespace clam
