// SPDX-License-Identifier: MIT
// The peaks of the device: that they are those that the scripted device has, and that nothing which
// was not done counts. timing_peaks_test.cpp asks clpeak, which others use.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/peaks.hpp"
#include "runtime/embedded.hpp"
#include "scripted.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using bench::measure_peaks;
using bench::PeakOptions;
using bench::PeakRow;
using bench::Peaks;
using nlohmann::json;

/// A fifth of a second, up to 1 MiB.
PeakOptions brief() {
  PeakOptions options;
  options.seconds = 0.2;
  options.largest_bytes = 1 << 20;
  return options;
}

/// bench/peaks.cl with `from` replaced by `to`.
PeakOptions planted(const std::string& only, const std::string& from, const std::string& to) {
  PeakOptions options = brief();
  options.only = only;
  options.source = embedded_peaks().front().text;
  const std::size_t at = options.source.find(from);
  if (at == std::string::npos) throw std::logic_error("peaks.cl has no '" + from + "'");
  options.source.replace(at, from.size(), to);
  return options;
}

std::string refusals(const Peaks& peaks) {
  std::string all;
  for (const std::string& sentence : peaks.refused) all += sentence + "\n";
  return all;
}

std::vector<PeakRow> rows_of(const Peaks& peaks, const std::string& name) {
  std::vector<PeakRow> found;
  for (const PeakRow& row : peaks.rows) {
    if (row.name.find(name) != std::string::npos) found.push_back(row);
  }
  return found;
}

TEST(bench_peaks, of_two_measurements_the_larger_is_kept) {
  Peaks a, b;
  a.gflops_f32 = 100;
  b.gflops_f32 = 90;
  b.gflops_f16 = 150;
  a.launch_us = 5;
  b.launch_us = 4;
  a.rows = {{"copy", "", 0, 1024, 2, 10}};
  b.rows = {{"copy", "", 0, 1024, 1, 20}, {"read", "", 0, 1024, 1, 5}};
  a.refused = {"no write"};
  b.refused = {"no write", "no build"};
  const Peaks both = bench::larger_of(a, b);
  EXPECT_EQ(both.gflops_f32, 100);
  EXPECT_EQ(both.gflops_f16, 150);
  EXPECT_EQ(both.launch_us, 4);
  ASSERT_EQ(both.rows.size(), 2u);
  EXPECT_EQ(both.rows[0].giga, 20);
  EXPECT_EQ(both.refused, (std::vector<std::string>{"no write", "no build"}));
  EXPECT_EQ(to_json(bench::larger_of(b, a)), to_json(bench::larger_of(a, b)));
}

/// A cache of 64 KiB; a launch of 20 us, so that the host does not count.
json known() {
  return {{"memory", {{{"up_to_bytes", 64 << 10}, {"gb_per_s", 40}}, {{"gb_per_s", 5}}}},
          {"costs", {{{"kernel", "peak_nothing"}, {"us", 20}}}},
          {"build_ms", 30},
          {"upload_gb_per_s", 2},
          {"download_gb_per_s", 3},
          {"device", {{"type", "cpu"}}}};
}

/// The figures of known().
void expect_as_scripted(const Peaks& peaks) {
  // Items that do 1920 multiply-adds on 8 chains of 16 lanes take 10 us each.
  EXPECT_NEAR(*peaks.gflops_f32, 2 * 1920 * 8 * 16 / 1e4, 1e-3);
  for (const auto& rate : {peaks.gb_per_s_copy, peaks.gb_per_s_read, peaks.gb_per_s_write}) {
    EXPECT_NEAR(*rate, 5, 1e-3);
  }
  EXPECT_EQ(peaks.last_cache_bytes, 64 << 10);
  EXPECT_NEAR(*peaks.launch_us, 20 + 8.0 / 16, 0.1) << "a wait for 16 of them";
  EXPECT_NEAR(*peaks.round_trip_us, 1 + 2 + 20 + 5, 0.1);
  EXPECT_NEAR(*peaks.build_ms, 30, 0.1);
  EXPECT_NEAR(*peaks.upload_gb_per_s, 2, 0.1);
  EXPECT_NEAR(*peaks.download_gb_per_s, 3, 0.1);
}

TEST(bench_peaks_device, everything_is_measured) {
  CLAM_ON_SCRIPTED_DEVICE();
  scripted::play(known());
  Peaks peaks = measure_peaks(runtime(), brief());
  ASSERT_EQ(refusals(peaks), "");
  const bool fp16 = runtime().device().fp16;
  EXPECT_GE(rows_of(peaks, " float").size(), 6u) << "five widths, one by both functions";
  EXPECT_EQ(rows_of(peaks, " half").empty(), !fp16);
  EXPECT_EQ(peaks.gflops_f16.has_value(), fp16);
  for (const char* kind : {"write", "read", "copy"}) {
    const std::vector<PeakRow> rows = rows_of(peaks, kind);
    ASSERT_EQ(rows.size(), 4u) << kind;
    EXPECT_EQ(rows.front().bytes, 16 << 10);
    EXPECT_EQ(rows.back().bytes, 1 << 20);
  }
  for (const PeakRow& row : peaks.rows) {
    EXPECT_GT(row.us, 0) << row.name;
    EXPECT_GT(row.giga, 0) << row.name;
  }
  const json value = to_json(peaks);
  for (const char* key :
       {"gflops_f32", "gb_per_s_copy", "gb_per_s_read", "gb_per_s_write", "launch_us", "build_ms",
        "map_gb_per_s", "upload_gb_per_s", "download_gb_per_s"}) {
    ASSERT_TRUE(value.contains(key)) << key;
    EXPECT_GT(value.at(key).get<double>(), 0) << key;
  }
  expect_as_scripted(peaks);
  EXPECT_FALSE(value.contains("refused"));
  EXPECT_EQ(to_json(bench::peaks_from_json(value)), value);
  EXPECT_NE(to_text(peaks).find(" GFLOP/s f32, "), std::string::npos) << to_text(peaks);

  const Peaks before = peaks;
  peaks = bench::larger_of(peaks, bench::measure_again(runtime(), brief(), peaks));
  ASSERT_EQ(peaks.rows.size(), before.rows.size());
  for (std::size_t i = 0; i < peaks.rows.size(); ++i) {
    EXPECT_EQ(peaks.rows[i].name, before.rows[i].name);
    EXPECT_GE(peaks.rows[i].giga, before.rows[i].giga) << "the larger of both";
  }
  EXPECT_GE(*peaks.gflops_f32, *before.gflops_f32);
}

/// Other groups, fewer sums an item, and reads that lie side by side in a group.
TEST(bench_peaks_device, the_forms_for_a_gpu_are_right_on_any_device) {
  CLAM_ON_SCRIPTED_DEVICE();
  for (const char* type : {"gpu", "cpu"}) {
    PeakOptions options = brief();
    options.device_type = type;
    options.largest_bytes = 64 << 10;
    const Peaks peaks = measure_peaks(runtime(), options);
    EXPECT_EQ(refusals(peaks), "") << type;
    EXPECT_GE(rows_of(peaks, " float").size(), 6u) << type;
    EXPECT_EQ(rows_of(peaks, "read").size(), 2u) << type;
  }
}

TEST(bench_peaks_scripted, multiply_adds_that_nobody_did_are_no_peak) {
  CLAM_ON_SCRIPTED_DEVICE();
  const struct {
    const char *from, *to;
  } faults[] = {
      {"v##c = mad(v##c, one, step);", ";"},
      {"i < rounds", "i < rounds - 1"},
      {"  CHAINS(BEGIN)\n", "  if (get_group_id(1) > 0) return;\n  CHAINS(BEGIN)\n"},
      {"  CHAINS(BEGIN)\n",
       "  if (get_global_id(0) * 2 >= get_global_size(0)) return;\n"
       "  CHAINS(BEGIN)\n"},
      {"  CHAINS(END)\n", ""},
  };
  for (const auto& fault : faults) {
    SCOPED_TRACE(fault.to);
    const Peaks peaks = measure_peaks(runtime(), planted("f32 mad of 4", fault.from, fault.to));
    EXPECT_EQ(peaks.refused.size(), 1u);
    EXPECT_EQ(refusals(peaks).rfind("f32 mad of 4: ", 0), 0u) << refusals(peaks);
    EXPECT_FALSE(peaks.gflops_f32);
  }
}

TEST(bench_peaks_scripted, bytes_that_nobody_moved_are_no_peak) {
  CLAM_ON_SCRIPTED_DEVICE();
  const struct {
    const char *only, *from, *to;
  } faults[] = {
      {"copy", "dst[i] = src[i];", ""},
      {"copy", "dst[i] = src[i];", "dst[i] = src[0];"},
      {"copy", "dst[i] = src[i];", "if (get_group_id(1) > 0) return; dst[i] = src[i];"},
      {"copy", "dst[i] = src[i];", "if (i * 2 >= get_global_size(0)) return; dst[i] = src[i];"},
      {"write", "dst[i] = pattern(i);", "if (get_local_id(0) == 1) return; dst[i] = pattern(i);"},
      {"read", "k < 16", "k < 15"},
      {"read", "dst[get_global_id(0)] = sum;", ""},
  };
  for (const auto& fault : faults) {
    SCOPED_TRACE(fault.to);
    PeakOptions options = planted(fault.only, fault.from, fault.to);
    options.largest_bytes = 64 << 10;
    const Peaks peaks = measure_peaks(runtime(), options);
    EXPECT_EQ(peaks.refused.size(), 2u) << refusals(peaks);  // both sizes
    EXPECT_TRUE(peaks.rows.empty());
    EXPECT_EQ(peaks.measured().gb_per_s(1e3), 0);
  }
}

/// Reads and copies come after the writes, from what these wrote.
TEST(bench_peaks_scripted, a_refused_write_spoils_no_other_peak) {
  CLAM_ON_SCRIPTED_DEVICE();
  PeakOptions options = planted("", "dst[i] = pattern(i);",
                                "if (token > 0 && get_local_id(0) == 1) return; "
                                "dst[i] = pattern(i);");
  options.largest_bytes = 64 << 10;
  const Peaks peaks = measure_peaks(runtime(), options);
  ASSERT_EQ(peaks.refused.size(), 2u) << refusals(peaks);
  EXPECT_EQ(peaks.refused[0].rfind("write of 16 KiB: ", 0), 0u) << refusals(peaks);
  EXPECT_EQ(peaks.refused[1].rfind("write of 64 KiB: ", 0), 0u) << refusals(peaks);
  EXPECT_EQ(rows_of(peaks, "read").size(), 2u);
  EXPECT_EQ(rows_of(peaks, "copy").size(), 2u);
}

TEST(bench_peaks_scripted, clocks_that_lie_give_no_peak) {
  CLAM_ON_SCRIPTED_DEVICE();
  const auto lie = [](const char* does, json more = {}) {
    return scripted::lying("clGetEventProfilingInfo", does, std::move(more));
  };
  const json lies[] = {lie("zero"), lie("swap"), lie("constant", {{"ns", 100000000000}}),
                       lie("scale", {{"factor", 20}}), lie("scale", {{"factor", 0.05}})};
  for (const json& script : lies) {
    SCOPED_TRACE(script);
    scripted::play(script);
    PeakOptions options = brief();
    options.only = "f32 mad of 4";
    const Peaks peaks = measure_peaks(runtime(), options);
    EXPECT_NE(refusals(peaks).find("event times are wrong"), std::string::npos) << refusals(peaks);
    EXPECT_FALSE(peaks.gflops_f32);
  }
}

TEST(bench_peaks, the_last_cache_is_where_the_rates_fall) {
  const auto last = [](std::vector<double> rates) -> std::int64_t {
    std::vector<MeasuredPeak::Rate> sizes;
    for (const double rate : rates) sizes.push_back({std::pow(4, double(sizes.size())), rate});
    return bench::find_last_cache(sizes).value_or(-1);
  };
  EXPECT_EQ(last({100, 100, 90, 95, 30, 20, 20}), 64);
  EXPECT_EQ(last({100, 60, 60, 20}), 16) << "two levels: the last of them";
  EXPECT_EQ(last({5, 20, 60, 60, 20}), 64) << "small sizes are slow for other reasons";
  EXPECT_EQ(last({20, 21, 19, 25, 20}), -1) << "noise";
  EXPECT_EQ(last({20}), -1);
  EXPECT_EQ(last({}), -1);
}

}  // namespace
}  // namespace clam::test
