// SPDX-License-Identifier: MIT
// peaks_report.cpp - what the measured peaks say: for rows, for the file, for people.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "clam/op.hpp"
#include "peaks.hpp"

namespace clam::bench {

using nlohmann::json;

static void to_json(json& value, const PeakRow& row) {
  value = {{"name", row.name}, {"us", row.us}};
  if (row.moves()) {
    value["bytes"] = row.bytes;
    value["gb_per_s"] = row.giga;
  } else {
    value["dtype"] = row.dtype;
    value["width"] = row.width;
    value["gflop_per_s"] = row.giga;
  }
}

static void from_json(const json& value, PeakRow& row) {
  value.at("name").get_to(row.name);
  value.at("us").get_to(row.us);
  row.dtype = value.value("dtype", "");
  row.width = value.value("width", 0);
  row.bytes = value.value("bytes", std::int64_t{0});
  row.giga = value.at(row.moves() ? "gb_per_s" : "gflop_per_s").get<double>();
}

namespace {

/// Calls `visit` with each figure's key, where it is, and whether it is a cost, of which less is
/// better.
template <typename Visit>
void each_figure(const Visit& visit) {
  visit("gflops_f32", &Peaks::gflops_f32, false);
  visit("gflops_f16", &Peaks::gflops_f16, false);
  visit("gb_per_s_copy", &Peaks::gb_per_s_copy, false);
  visit("gb_per_s_read", &Peaks::gb_per_s_read, false);
  visit("gb_per_s_write", &Peaks::gb_per_s_write, false);
  visit("last_cache_bytes", &Peaks::last_cache_bytes, false);
  visit("launch_us", &Peaks::launch_us, true);
  visit("round_trip_us", &Peaks::round_trip_us, true);
  visit("build_ms", &Peaks::build_ms, true);
  visit("map_gb_per_s", &Peaks::map_gb_per_s, false);
  visit("upload_gb_per_s", &Peaks::upload_gb_per_s, false);
  visit("download_gb_per_s", &Peaks::download_gb_per_s, false);
}

/// The quicker of two measurements of one thing.
void keep(PeakRow row, std::vector<PeakRow>& rows) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const PeakRow& mine) {
    return mine.name == row.name && mine.dtype == row.dtype && mine.bytes == row.bytes;
  });
  if (found == rows.end()) {
    rows.push_back(std::move(row));
  } else if (row.giga > found->giga) {
    *found = std::move(row);
  }
}

/// "16 MiB"
std::string size_text(std::int64_t bytes) {
  return bytes < (1 << 20) ? fmt::format("{} KiB", bytes >> 10)
                           : fmt::format("{} MiB", bytes >> 20);
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Limits, gflops_f32, gflops_f16, gb_per_s, last_cache_bytes,
                                   launch_us, round_trip_us, best_gb_per_s)

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

std::optional<std::int64_t> last_cache_of(const std::vector<PeakRow>& rows) {
  std::map<std::int64_t, double> sums;
  for (const PeakRow& row : rows) {
    if (row.name == "copy" || row.name == "read") sums[row.bytes] += row.giga;
  }
  std::vector<MeasuredPeak::Rate> rates;
  for (const auto& [bytes, giga] : sums) rates.push_back({double(bytes), giga});
  return find_last_cache(rates);
}

MeasuredPeak Peaks::measured() const {
  MeasuredPeak peak{gflops_f32.value_or(0), gflops_f16.value_or(0), {}};
  for (const PeakRow& row : rows) {
    if (row.moves()) peak.rates.push_back({double(row.bytes), row.giga});
  }
  return peak;
}

std::optional<double> floor_us(const Problem& problem, const MeasuredPeak& peak) {
  const double bytes = least_bytes_of(problem);
  const double us = 1e3 * floor_ms(problem, peak.of(bytes), least_flops_of(problem), bytes);
  return us > 0 ? std::optional(us) : std::nullopt;
}

json to_json(const Peaks& peaks) {
  json value = {{"rows", peaks.rows}};
  each_figure([&](const char* key, auto figure, bool) {
    if (peaks.*figure) value[key] = *(peaks.*figure);
  });
  if (!peaks.refused.empty()) value["refused"] = peaks.refused;
  return value;
}

Peaks peaks_from_json(const json& value) {
  Peaks peaks;
  each_figure([&](const char* key, auto figure, bool) {
    using Number = typename std::decay_t<decltype(peaks.*figure)>::value_type;
    if (value.contains(key)) peaks.*figure = value.at(key).get<Number>();
  });
  for (const json& row : value.at("rows")) peaks.rows.push_back(row.get<PeakRow>());
  if (value.contains("refused")) value.at("refused").get_to(peaks.refused);
  return peaks;
}

Peaks larger_of(const Peaks& a, const Peaks& b) {
  Peaks peaks = a;
  each_figure([&](const char*, auto figure, bool is_cost) {
    auto& mine = peaks.*figure;
    const auto& other = b.*figure;
    if (other && (!mine || (is_cost ? *other < *mine : *other > *mine))) mine = other;
  });
  for (const PeakRow& row : b.rows) keep(row, peaks.rows);
  if (!peaks.rows.empty()) peaks.last_cache_bytes = last_cache_of(peaks.rows);
  for (const std::string& sentence : b.refused) {
    const auto end = peaks.refused.end();
    if (std::find(peaks.refused.begin(), end, sentence) == end) peaks.refused.push_back(sentence);
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

Limits limits_of(const Peaks& peaks) {
  Limits limits;
  limits.gflops_f32 = peaks.gflops_f32.value_or(0);
  limits.gflops_f16 = peaks.gflops_f16.value_or(0);
  limits.gb_per_s = std::max({peaks.gb_per_s_copy.value_or(0), peaks.gb_per_s_read.value_or(0),
                              peaks.gb_per_s_write.value_or(0)});
  limits.best_gb_per_s = peaks.measured().gb_per_s(0);
  limits.last_cache_bytes = peaks.last_cache_bytes.value_or(0);
  limits.launch_us = peaks.launch_us.value_or(0);
  limits.round_trip_us = peaks.round_trip_us.value_or(0);
  return limits;
}

Limits larger_of(const Limits& a, const Limits& b) {
  json larger = a;
  const json other = b;
  for (auto& [name, limit] : larger.items()) limit = std::max<json>(limit, other.at(name));
  return larger;
}

json to_json(const Limits& limits) { return limits; }

Limits limits_from_json(const json& value) { return value; }

}  // namespace clam::bench
