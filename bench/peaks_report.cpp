// SPDX-License-Identifier: MIT
// peaks_report.cpp - what the measured peaks say: for rows, for the file, for people.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "peaks.hpp"

namespace clam::bench {
namespace {

using nlohmann::json;

json to_json(const PeakRow& row) {
  json value = {{"name", row.name}, {"us", row.us}};
  if (row.moves()) {
    value["bytes"] = row.bytes;
    value["gb_per_s"] = row.giga;
  } else {
    value["dtype"] = row.dtype;
    value["width"] = row.width;
    value["gflop_per_s"] = row.giga;
  }
  return value;
}

/// "16 MiB"
std::string size_text(std::int64_t bytes) {
  return bytes < (1 << 20) ? fmt::format("{} KiB", bytes >> 10)
                           : fmt::format("{} MiB", bytes >> 20);
}

}  // namespace

std::optional<std::int64_t> find_last_cache(const std::vector<MeasuredPeak::Rate>& rates) {
  constexpr double kShows = 1.5;  // noise alone does not make such a step
  if (rates.empty()) return std::nullopt;
  double best = 0;
  for (const MeasuredPeak::Rate& rate : rates) best = std::max(best, rate.gb_per_s);
  const double memory = rates.back().gb_per_s;
  if (best < kShows * memory) return std::nullopt;
  std::optional<std::int64_t> last;
  for (const MeasuredPeak::Rate& rate : rates) {
    if (rate.gb_per_s >= std::sqrt(best * memory)) last = static_cast<std::int64_t>(rate.bytes);
  }
  return last;
}

MeasuredPeak Peaks::measured() const {
  MeasuredPeak peak{gflops_f32.value_or(0), gflops_f16.value_or(0), {}};
  for (const PeakRow& row : rows) {
    if (row.moves()) peak.rates.push_back({double(row.bytes), row.giga});
  }
  return peak;
}

json to_json(const Peaks& peaks) {
  json value = {{"rows", json::array()}};
  const auto put = [&](const char* key, const auto& number) {
    if (number) value[key] = *number;
  };
  put("gflops_f32", peaks.gflops_f32);
  put("gflops_f16", peaks.gflops_f16);
  put("gb_per_s_copy", peaks.gb_per_s_copy);
  put("gb_per_s_read", peaks.gb_per_s_read);
  put("gb_per_s_write", peaks.gb_per_s_write);
  put("last_cache_bytes", peaks.last_cache_bytes);
  put("launch_us", peaks.launch_us);
  put("build_ms", peaks.build_ms);
  put("map_gb_per_s", peaks.map_gb_per_s);
  put("upload_gb_per_s", peaks.upload_gb_per_s);
  put("download_gb_per_s", peaks.download_gb_per_s);
  for (const PeakRow& row : peaks.rows) value["rows"].push_back(to_json(row));
  if (!peaks.refused.empty()) value["refused"] = peaks.refused;
  return value;
}

std::string to_text(const Peaks& peaks) {
  const auto shown = [](const std::optional<double>& number) {
    return number ? fmt::format(*number < 100 ? "{:.1f}" : "{:.0f}", *number) : std::string("-");
  };
  std::string text =
      fmt::format("peaks measured here: {} GFLOP/s f32, {} f16; copy {}, read {}, write {} GB/s",
                  shown(peaks.gflops_f32), shown(peaks.gflops_f16), shown(peaks.gb_per_s_copy),
                  shown(peaks.gb_per_s_read), shown(peaks.gb_per_s_write));
  if (peaks.last_cache_bytes) {
    const auto bytes = static_cast<double>(*peaks.last_cache_bytes);
    text += fmt::format("; up to {} in caches, there {:.0f} GB/s",
                        size_text(*peaks.last_cache_bytes), peaks.measured().gb_per_s(bytes));
  }
  text += fmt::format("\nlaunch {} us, build {} ms; upload {}, download {}, map {} GB/s\n",
                      shown(peaks.launch_us), shown(peaks.build_ms), shown(peaks.upload_gb_per_s),
                      shown(peaks.download_gb_per_s), shown(peaks.map_gb_per_s));
  for (const std::string& sentence : peaks.refused) {
    text += fmt::format("no peak of {}\n", sentence);
  }
  return text;
}

}  // namespace clam::bench
