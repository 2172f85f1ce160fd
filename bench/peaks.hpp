// SPDX-License-Identifier: MIT
// peaks.hpp - what the device does at most: measured in the same run as the rows, by the same
// events.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "check/peak.hpp"
#include "clam/runtime.hpp"

namespace clam::bench {

/// One measurement: multiply-adds of one width, or one way to move bytes over one size.
struct PeakRow {
  std::string name;        ///< "fma float4", "mad half2", "copy", "read", "write"
  std::string dtype;       ///< "f32", "f16"; empty where bytes are moved
  int width = 0;           ///< lanes of a vector; 0 where bytes are moved
  std::int64_t bytes = 0;  ///< touched in a pass: of a copy, source and destination together
  double us = 0;           ///< of one pass, in the quickest launch
  double giga = 0;         ///< GFLOP/s (a multiply-add is two) or GB/s

  bool moves() const { return width == 0; }
};

/// What is not measured has no value.
struct Peaks {
  std::optional<double> gflops_f32, gflops_f16;                        ///< best of the widths
  std::optional<double> gb_per_s_copy, gb_per_s_read, gb_per_s_write;  ///< of the largest size
  std::optional<std::int64_t> last_cache_bytes;  ///< the largest size before the rates fall
  std::optional<double> launch_us;               ///< host's time a launch, in a batch of them
  std::optional<double> round_trip_us;           ///< of one launch and the wait for it
  std::optional<double> build_ms;                ///< a program no cache has, and its first launch
  std::optional<double> map_gb_per_s, upload_gb_per_s, download_gb_per_s;  ///< by the host's clock
  std::vector<PeakRow> rows;
  std::vector<std::string> refused;  ///< a sentence each: what was measured and cannot be believed

  /// The form that a problem's least time is taken from (host/check/peak.hpp).
  MeasuredPeak measured() const;
};

struct PeakOptions {
  double seconds = 3;              ///< about, without builds
  std::int64_t largest_bytes = 0;  ///< 0: 64 MiB, or more where the driver tells of a large cache
  /// Called before each row, and at the end with "".
  std::function<void(const std::string&)> progress = {};

  // What a test replaces.
  std::string source = {};  ///< the kernels; empty: bench/peaks.cl
  std::string only = {};    ///< the rows whose name begins so
  std::string device_type =
      {};          ///< "gpu": the forms of the kernels that a GPU gets; empty: as it is
  int chains = 0;  ///< sums that an item has; 0: as many as hide the latency
};

/// A result that is wrong, a time that cannot be true, or a kernel that does not build or run is a
/// sentence in `refused`, and the number is missing.
Peaks measure_peaks(Runtime& runtime, const PeakOptions& options = {});

/// The best multiply-adds, the copies and the reads once more, for what else the machine did may
/// have slowed the first time down.
Peaks measure_again(Runtime& runtime, const PeakOptions& options, const Peaks& before);

/// The largest size whose rate is nearer to the best than to that of the largest size; nothing
/// where no cache shows. `rates` by growing size.
std::optional<std::int64_t> find_last_cache(const std::vector<MeasuredPeak::Rate>& rates);

/// The same of the copies and reads together.
std::optional<std::int64_t> last_cache_of(const std::vector<PeakRow>& rows);

/// Of two measurements what is larger; of what a launch, a wait and a build cost the smaller.
Peaks larger_of(const Peaks& a, const Peaks& b);

nlohmann::json to_json(const Peaks& peaks);
/// The inverse. Throws nlohmann's exceptions for another text.
Peaks peaks_from_json(const nlohmann::json& json);
/// The least time of a call by the measured peaks: by the arithmetic that no kernel can do without,
/// or by moving once what it must. Nothing where the peaks bound nothing.
std::optional<double> floor_us(const Problem& problem, const MeasuredPeak& peak);
/// Two lines or three for the head of the table.
std::string to_text(const Peaks& peaks);

/// What the device was measured to do in this run. 0: not measured; a condition that needs it is
/// not applied.
struct Limits {
  double gflops_f32 = 0, gflops_f16 = 0;
  double gb_per_s = 0;                ///< of memory, beyond the caches
  std::int64_t last_cache_bytes = 0;  ///< the largest size that was seen to fit; 0: none shows
  double launch_us = 0;               ///< host's time of a launch among many
  double round_trip_us = 0;           ///< of one launch and the wait for it
  double best_gb_per_s = 0;           ///< of memory, of any size
};

/// Of memory the best rate of all: a row that mostly reads may honestly beat a copy.
Limits limits_of(const Peaks& peaks);

/// The larger of each.
Limits larger_of(const Limits& a, const Limits& b);

nlohmann::json to_json(const Limits& limits);
/// The inverse. Throws nlohmann's exceptions for another value.
Limits limits_from_json(const nlohmann::json& json);

}  // namespace clam::bench
