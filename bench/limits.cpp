// SPDX-License-Identifier: MIT
#include "limits.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace clam::bench {
namespace {

using nlohmann::json;

/// Calls `visit` with the name of each limit and where it is.
template <typename Visit>
void each_limit(const Visit& visit) {
  visit("gflops_f32", &Limits::gflops_f32);
  visit("gflops_f16", &Limits::gflops_f16);
  visit("gb_per_s", &Limits::gb_per_s);
  visit("last_cache_bytes", &Limits::last_cache_bytes);
  visit("launch_us", &Limits::launch_us);
  visit("round_trip_us", &Limits::round_trip_us);
  visit("best_gb_per_s", &Limits::best_gb_per_s);
}

}  // namespace

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
  Limits larger;
  each_limit([&](const char*, auto limit) { larger.*limit = std::max(a.*limit, b.*limit); });
  return larger;
}

json to_json(const Limits& limits) {
  json value;
  each_limit([&](const char* name, auto limit) { value[name] = limits.*limit; });
  return value;
}

Limits limits_from_json(const json& value) {
  Limits limits;
  each_limit([&](const char* name, auto limit) { value.at(name).get_to(limits.*limit); });
  return limits;
}

}  // namespace clam::bench
