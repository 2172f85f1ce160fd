// SPDX-License-Identifier: MIT
// The peaks of the device: that they are measured, that nothing which was not done counts, and that
// clpeak, which others use, agrees.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "../bench/peaks.hpp"
#include "atomic_file.hpp"
#include "command.hpp"
#include "embedded.hpp"
#include "process/isolate.hpp"
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

TEST(bench_peaks_device, everything_is_measured) {
  CLAM_NEEDS_DEVICE();
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
  CLAM_NEEDS_DEVICE();
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

TEST(bench_peaks_device, multiply_adds_that_nobody_did_are_no_peak) {
  CLAM_NEEDS_DEVICE();
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

TEST(bench_peaks_device, bytes_that_nobody_moved_are_no_peak) {
  CLAM_NEEDS_DEVICE();
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
TEST(bench_peaks_device, a_refused_write_spoils_no_other_peak) {
  CLAM_NEEDS_DEVICE();
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

TEST(bench_peaks_device, clocks_that_lie_give_no_peak) {
  CLAM_NEEDS_DEVICE();
  const auto real = [](const cl::Event& event) {
    return LaunchTime{0, 0, event.getProfilingInfo<CL_PROFILING_COMMAND_START>(),
                      event.getProfilingInfo<CL_PROFILING_COMMAND_END>()};
  };
  const std::pair<const char*, std::function<LaunchTime(const cl::Event&)>> clocks[] = {
      {"zero", [](const cl::Event&) { return LaunchTime{}; }},
      {"swapped",
       [&](const cl::Event& event) {
         const LaunchTime time = real(event);
         return LaunchTime{0, 0, time.ended, time.started};
       }},
      {"constant",
       [](const cl::Event&) {
         return LaunchTime{0, 0, 100, 100000000100};
       }},
      {"slow",
       [&](const cl::Event& event) {
         const LaunchTime time = real(event);
         return LaunchTime{0, 0, time.started, time.started + 20 * (time.ended - time.started)};
       }},
      {"fast",
       [&](const cl::Event& event) {
         const LaunchTime time = real(event);
         return LaunchTime{0, 0, time.started, time.started + (time.ended - time.started) / 20};
       }},
  };
  for (const auto& [name, clock] : clocks) {
    SCOPED_TRACE(name);
    PeakOptions options = brief();
    options.only = "f32 mad of 4";
    options.clock = clock;
    const Peaks peaks = measure_peaks(runtime(), options);
    EXPECT_NE(refusals(peaks).find("cannot be believed"), std::string::npos) << refusals(peaks);
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

/// Whether clpeak is there to be asked.
bool has_clpeak() { return std::system("command -v clpeak >/dev/null 2>&1") == 0; }

/// The largest figure of clpeak's under `section`, of the given width or of all.
double clpeak(const std::string& flag, const std::string& section, const std::string& width) {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.xml");
  run_command({"/usr/bin/env", "clpeak", "-p", "0", "-d", "0", "--use-event-timer", flag,
               "--enable-xml-dump", "--xml-file", file});
  const std::string xml = std::filesystem::exists(file) ? read_file(file) : "";
  const std::size_t begin = xml.find("<" + section), end = xml.find("</" + section);
  if (begin == std::string::npos || end == std::string::npos) return 0;
  const std::string part = xml.substr(begin, end - begin);
  const std::regex figure("<float" + width + ">([0-9.]+)<");
  double best = 0;
  for (std::sregex_iterator it(part.begin(), part.end(), figure), none; it != none; ++it) {
    best = std::max(best, std::atof((*it)[1].str().c_str()));
  }
  return best;
}

/// Measures both in turns until the best figures of both are within 10 %. What else the machine
/// does makes figures lower, and clpeak's more than ours, as they are means; memory that others
/// share may be quick for one of them alone. So the best of many turns counts, and only where these
/// stay apart is the machine asked whether it had anything else to do.
void expect_as_clpeak(const std::function<double()>& here, const std::function<double()>& there) {
  constexpr int kTurns = 8, kLeast = 2;
  double ours = 0, theirs = 0, busy = 0;
  std::string figures;
  for (int i = 0; i < kTurns; ++i) {
    const double mine = here(), other = there();
    ours = std::max(ours, mine);
    theirs = std::max(theirs, other);
    double load = 0;
    if (::getloadavg(&load, 1) == 1) busy = std::max(busy, load);
    figures += std::to_string(mine) + " and " + std::to_string(other) + "\n";
    if (i + 1 >= kLeast && ours > 0.9 * theirs && ours < 1.1 * theirs) break;
  }
  ASSERT_GT(theirs, 0);
  if (ours > 0.9 * theirs && ours < 1.1 * theirs) return;
  constexpr double kQuiet = 1.5;  // this test itself is one of them
  if (busy > kQuiet) GTEST_SKIP() << "the machine is busy: clam and clpeak give\n" << figures;
  FAIL() << "clam and clpeak give\n" << figures;
}

bool is_pocl() { return runtime().device().platform == "Portable Computing Language"; }

/// Runs the test in a process whose PoCL has one processor: others use the other ones meanwhile,
/// which is then no matter, where a kernel on all of them would wait for the one that others are on
/// too.
void run_on_one_processor() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::vector<std::string> words = own_command();
  words.push_back(fmt::format("--gtest_filter={}.{}", test->test_suite_name(), test->name()));
  const Finished finished = run_command(
      words, {"POCL_MAX_PTHREAD_COUNT=1", "GTEST_TOTAL_SHARDS=1", "GTEST_SHARD_INDEX=0"});
  if (finished.code == 77) GTEST_SKIP() << finished.out;
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
}

#define CLAM_NEEDS_CLPEAK()                                                                      \
  CLAM_NEEDS_DEVICE();                                                                           \
  if (!is_pocl()) GTEST_SKIP() << "clpeak is asked on PoCL alone";                               \
  if (!has_clpeak()) GTEST_SKIP() << "clpeak is not on PATH (tools/setup clpeak)";               \
  if (!std::getenv("CLAM_TEST_FULL")) GTEST_SKIP() << "takes minutes: tools/test --full has it"; \
  if (!std::getenv("POCL_MAX_PTHREAD_COUNT")) return run_on_one_processor()

TEST(bench_peaks_device, clpeak_reads_as_fast) {
  CLAM_NEEDS_CLPEAK();
  PeakOptions options;
  options.only = "read of 262144 KiB";
  options.largest_bytes = 256 << 20;
  options.seconds = 90;  // of which one row takes 2: about as long as clpeak takes
  expect_as_clpeak(
      [&] { return measure_peaks(runtime(), options).gb_per_s_read.value_or(0); },
      [] { return clpeak("--global-bandwidth", "global_memory_bandwidth", "[0-9]*"); });
}

/// clpeak's items have one sum each, which on a CPU shows the latency, not the peak: so here one
/// too.
TEST(bench_peaks_device, clpeak_counts_the_same_multiply_adds) {
  CLAM_NEEDS_CLPEAK();
  PeakOptions options;
  options.only = "f32 mad of 4";
  options.chains = 1;
  options.seconds = 90;  // of which one row takes 2
  expect_as_clpeak([&] { return measure_peaks(runtime(), options).gflops_f32.value_or(0); },
                   [] { return clpeak("--compute-sp", "single_precision_compute", "4"); });
}

}  // namespace
}  // namespace clam::test
