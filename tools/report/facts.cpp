// SPDX-License-Identifier: MIT
// facts.cpp - what the card of a board says: its device, its clocks, its measured peaks.
#include <fmt/core.h>

#include <algorithm>

#include "part.hpp"

namespace clam {
namespace {

using nlohmann::json;

/// A text of a results file, or a figure and how the card shows it.
struct Fact {
  const char *key, *title, *unit = "";
  std::string (*shown)(double) = nullptr;
};

std::string whole(double value) { return fmt::format("{:.0f}", value); }
std::string kib(double bytes) { return whole(bytes / 1024); }
std::string digits(double value) {
  return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 1000 ? 1 : 0);
}

const std::vector<Fact> kDevice = {{"platform", "platform"},
                                   {"driver_version", "driver"},
                                   {"device_version", "OpenCL"},
                                   {"type", "kind"},
                                   {"compute_units", "compute units", "", whole},
                                   {"max_clock_mhz", "stated clock", " MHz", whole},
                                   {"fp16", "fp16"}};

const std::vector<Fact> kClocks = {{"gpu_mhz", "GPU", " MHz", whole},
                                   {"gpu_min_mhz", "least GPU clock", " MHz", whole},
                                   {"gpu_max_mhz", "most GPU clock", " MHz", whole},
                                   {"gpu_governor", "GPU governor"},
                                   {"memory_mhz", "memory", " MHz", whole},
                                   {"gpu_celsius", "GPU temperature", " C", whole},
                                   {"cpu_governor", "CPU governor"}};

const std::vector<Fact> kPeaks = {{"gflops_f32", "f32", " GFLOP/s", digits},
                                  {"gflops_f16", "f16", " GFLOP/s", digits},
                                  {"gb_per_s_copy", "copy", " GB/s", digits},
                                  {"gb_per_s_read", "read", " GB/s", digits},
                                  {"gb_per_s_write", "write", " GB/s", digits},
                                  {"last_cache_bytes", "last cache", " KiB", kib},
                                  {"launch_us", "a launch", " us", digits},
                                  {"build_ms", "a build", " ms", digits},
                                  {"map_gb_per_s", "map", " GB/s", digits},
                                  {"upload_gb_per_s", "upload", " GB/s", digits},
                                  {"download_gb_per_s", "download", " GB/s", digits}};

/// Empty where the file does not have it.
std::string text_of(const Fact& fact, const Part& part) {
  const auto found = part.value().find(fact.key);
  if (found == part.value().end()) return "";
  if (found->is_boolean() && !fact.shown) return *found ? "yes" : "no";
  return fact.shown ? fact.shown(part.needed_figure(fact.key)) : part.text(fact.key);
}

/// A list of [title, value]: "850 MHz" where it stayed, else "850 to 600 MHz".
json lines_of(const std::vector<Fact>& facts, const Part& before, const Part& after) {
  json lines = json::array();
  for (const Fact& fact : facts) {
    const std::string first = text_of(fact, before), last = text_of(fact, after);
    const bool one = first.empty() || last.empty() || first == last;
    const std::string text = one ? std::max(first, last) : first + " to " + last;
    if (!text.empty()) lines.push_back({fact.title, text + fact.unit});
  }
  return lines;
}

json device_lines(const Part& own) {
  json lines = lines_of(kDevice, own.object("device"), own.object("device"));
  const std::string version = own.text("version");
  lines.push_back(
      {"measured", own.needed_text("date") + (version.empty() ? "" : ", clam " + version)});
  for (const std::string& file : own.texts("replaced_kernels")) {
    lines.push_back({"replaced kernel", file});
  }
  return lines;
}

}  // namespace

json facts_of(const Part& own) {
  const Part board = own.object("board"), peaks = own.object("peaks");
  const char* no_peaks = peaks.texts("refused").empty() ? "Peaks were not measured in this run."
                                                        : "No peak could be measured.";
  return {{{"title", "Device"}, {"lines", device_lines(own)}, {"instead", ""}},
          {{"title", "Clocks, before to after"},
           {"lines", lines_of(kClocks, board.object("before"), board.object("after"))},
           {"instead", "This machine shows no clock of the device."}},
          {{"title", "Measured peaks"},
           {"lines", lines_of(kPeaks, peaks, peaks)},
           {"instead", no_peaks}}};
}

}  // namespace clam
