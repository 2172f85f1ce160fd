// SPDX-License-Identifier: MIT
// peaks_report.cpp - what the measured peaks say: for rows, for the file, for people.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

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

PeakRow row_from_json(const json& value) {
  PeakRow row;
  value.at("name").get_to(row.name);
  value.at("us").get_to(row.us);
  row.dtype = value.value("dtype", "");
  row.width = value.value("width", 0);
  row.bytes = value.value("bytes", std::int64_t{0});
  row.giga = value.at(row.moves() ? "gb_per_s" : "gflop_per_s").get<double>();
  return row;
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
  put("round_trip_us", peaks.round_trip_us);
  put("build_ms", peaks.build_ms);
  put("map_gb_per_s", peaks.map_gb_per_s);
  put("upload_gb_per_s", peaks.upload_gb_per_s);
  put("download_gb_per_s", peaks.download_gb_per_s);
  for (const PeakRow& row : peaks.rows) value["rows"].push_back(to_json(row));
  if (!peaks.refused.empty()) value["refused"] = peaks.refused;
  return value;
}

Peaks peaks_from_json(const json& value) {
  Peaks peaks;
  const auto take = [&](const char* key, auto& number) {
    using Number = typename std::decay_t<decltype(number)>::value_type;
    if (value.contains(key)) number = value.at(key).get<Number>();
  };
  take("gflops_f32", peaks.gflops_f32);
  take("gflops_f16", peaks.gflops_f16);
  take("gb_per_s_copy", peaks.gb_per_s_copy);
  take("gb_per_s_read", peaks.gb_per_s_read);
  take("gb_per_s_write", peaks.gb_per_s_write);
  take("last_cache_bytes", peaks.last_cache_bytes);
  take("launch_us", peaks.launch_us);
  take("round_trip_us", peaks.round_trip_us);
  take("build_ms", peaks.build_ms);
  take("map_gb_per_s", peaks.map_gb_per_s);
  take("upload_gb_per_s", peaks.upload_gb_per_s);
  take("download_gb_per_s", peaks.download_gb_per_s);
  for (const json& row : value.at("rows")) peaks.rows.push_back(row_from_json(row));
  if (value.contains("refused")) value.at("refused").get_to(peaks.refused);
  return peaks;
}

Peaks larger_of(const Peaks& a, const Peaks& b) {
  Peaks peaks = a;
  const auto larger = [](auto& mine, const auto& other) { mine = std::max(mine, other); };
  const auto smaller = [](auto& mine, const auto& other) {
    if (!mine || (other && *other < *mine)) mine = other;
  };
  larger(peaks.gflops_f32, b.gflops_f32);
  larger(peaks.gflops_f16, b.gflops_f16);
  larger(peaks.gb_per_s_copy, b.gb_per_s_copy);
  larger(peaks.gb_per_s_read, b.gb_per_s_read);
  larger(peaks.gb_per_s_write, b.gb_per_s_write);
  larger(peaks.last_cache_bytes, b.last_cache_bytes);
  larger(peaks.map_gb_per_s, b.map_gb_per_s);
  larger(peaks.upload_gb_per_s, b.upload_gb_per_s);
  larger(peaks.download_gb_per_s, b.download_gb_per_s);
  smaller(peaks.launch_us, b.launch_us);
  smaller(peaks.round_trip_us, b.round_trip_us);
  smaller(peaks.build_ms, b.build_ms);
  for (const PeakRow& row : b.rows) {
    const auto same = [&](const PeakRow& mine) {
      return mine.name == row.name && mine.dtype == row.dtype && mine.bytes == row.bytes;
    };
    const auto found = std::find_if(peaks.rows.begin(), peaks.rows.end(), same);
    if (found == peaks.rows.end()) {
      peaks.rows.push_back(row);
    } else if (row.giga > found->giga) {
      *found = row;
    }
  }
  return peaks;
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
