// SPDX-License-Identifier: MIT
// facts.cpp - what the card of a board says: its device, its clocks, its measured peaks.
#include <fmt/core.h>

#include "part.hpp"

namespace clam {
namespace {

using nlohmann::json;
using Lines = std::vector<std::pair<std::string, std::string>>;

std::string figure_text(double value) {
  return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 1000 ? 1 : 0);
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

Lines device_lines(const Part& own) {
  const Part device = own.object("device");
  Lines lines;
  const auto add = [&](const char* title, const std::string& text) {
    if (!text.empty()) lines.emplace_back(title, text);
  };
  const auto whole = [&](const char* key, const char* unit) {
    const auto value = device.figure(key);
    return value ? fmt::format("{:.0f}{}", *value, unit) : "";
  };
  add("platform", device.text("platform"));
  add("driver", device.text("driver_version"));
  add("OpenCL", device.text("device_version"));
  add("kind", device.text("type"));
  add("compute units", whole("compute_units", ""));
  add("stated clock", whole("max_clock_mhz", " MHz"));
  const auto fp16 = device.value().find("fp16");
  if (fp16 != device.value().end() && fp16->is_boolean()) add("fp16", *fp16 ? "yes" : "no");
  const std::string version = own.text("version");
  add("measured", own.needed_text("date") + (version.empty() ? "" : ", clam " + version));
  for (const std::string& file : own.texts("replaced_kernels")) add("replaced kernel", file);
  return lines;
}

Lines clock_lines(const Part& board) {
  const struct {
    const char *key, *title, *unit;
  } clocks[] = {{"gpu_mhz", "GPU", " MHz"},
                {"gpu_min_mhz", "least GPU clock", " MHz"},
                {"gpu_max_mhz", "most GPU clock", " MHz"},
                {"gpu_governor", "GPU governor", ""},
                {"memory_mhz", "memory", " MHz"},
                {"gpu_celsius", "GPU temperature", " C"},
                {"cpu_governor", "CPU governor", ""}};
  Lines lines;
  for (const auto& [key, title, unit] : clocks) {
    const std::string text = from_to(board.object("before"), board.object("after"), key);
    if (!text.empty()) lines.emplace_back(title, text + unit);
  }
  return lines;
}

Lines peak_lines(const Part& peaks) {
  Lines lines;
  const auto add = [&](const char* key, const char* title, const char* unit) {
    if (const auto value = peaks.figure(key)) lines.emplace_back(title, figure_text(*value) + unit);
  };
  add("gflops_f32", "f32", " GFLOP/s");
  add("gflops_f16", "f16", " GFLOP/s");
  add("gb_per_s_copy", "copy", " GB/s");
  add("gb_per_s_read", "read", " GB/s");
  add("gb_per_s_write", "write", " GB/s");
  if (const auto bytes = peaks.figure("last_cache_bytes")) {
    lines.emplace_back("last cache", fmt::format("{:.0f} KiB", *bytes / 1024));
  }
  add("launch_us", "a launch", " us");
  add("build_ms", "a build", " ms");
  add("map_gb_per_s", "map", " GB/s");
  add("upload_gb_per_s", "upload", " GB/s");
  add("download_gb_per_s", "download", " GB/s");
  return lines;
}

}  // namespace

json facts_of(const Part& own) {
  const Part peaks = own.object("peaks");
  const char* no_peaks = peaks.texts("refused").empty() ? "Peaks were not measured in this run."
                                                        : "No peak could be measured.";
  return {{{"title", "Device"}, {"lines", device_lines(own)}, {"instead", ""}},
          {{"title", "Clocks, before to after"},
           {"lines", clock_lines(own.object("board"))},
           {"instead", "This machine shows no clock of the device."}},
          {{"title", "Measured peaks"}, {"lines", peak_lines(peaks)}, {"instead", no_peaks}}};
}

}  // namespace clam
