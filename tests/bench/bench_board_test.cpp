// SPDX-License-Identifier: MIT
// What boards say of their clocks, in sysfs trees that are made for the test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/document.hpp"
#include "bench/table.hpp"
#include "runtime/atomic_file.hpp"
#include "scripted.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

/// A sysfs of some files.
class Sysfs {
 public:
  void put(const std::string& path, const std::string& line) {
    const std::filesystem::path file = folder_.file("sys/" + path);
    std::filesystem::create_directories(file.parent_path());
    write_file(file.string(), line + "\n");
  }
  void put_gpu(const std::string& folder, const std::string& now) {
    put(folder + "/cur_freq", now);
    put(folder + "/min_freq", "300000000");
    put(folder + "/max_freq", "1000000000");
    put(folder + "/governor", "simple_ondemand");
  }
  Board board() const { return Board(Machine(folder_.path())); }
  json state() const { return board().state(); }

 private:
  TemporaryFolder folder_;
};

const json kClocks = {
    {"gpu_mhz", 850.0},
    {"gpu_min_mhz", 300.0},
    {"gpu_max_mhz", 1000.0},
    {"gpu_governor", "simple_ondemand"},
    {"unpinned", {"the governor of the GPU is simple_ondemand, at 850 of 1000 MHz"}}};

TEST(bench_board, rk3588_with_panthor) {
  Sysfs sysfs;
  sysfs.put_gpu("class/devfreq/fb000000.gpu", "850000000");
  sysfs.put("class/devfreq/dmc/cur_freq", "2112000000");
  sysfs.put("class/devfreq/fdab0000.npu/cur_freq", "1000000000");
  sysfs.put("class/thermal/thermal_zone0/type", "soc-thermal");
  sysfs.put("class/thermal/thermal_zone0/temp", "70000");
  sysfs.put("class/thermal/thermal_zone5/type", "gpu-thermal");
  sysfs.put("class/thermal/thermal_zone5/temp", "46230");
  for (const char* policy : {"policy0", "policy4", "policy6"}) {
    sysfs.put(std::string("devices/system/cpu/cpufreq/") + policy + "/scaling_governor",
              policy == std::string("policy0") ? "schedutil" : "performance");
  }
  json expected = kClocks;
  expected.update({{"memory_mhz", 2112.0}, {"gpu_celsius", 46.23}});
  expected["cpu_governor"] = "performance, schedutil";
  EXPECT_EQ(sysfs.state().dump(), expected.dump());
}

TEST(bench_board, rk3588_with_arms_driver_knows_the_clock_of_its_device) {
  Sysfs sysfs;
  sysfs.put("module/mali_kbase/version", "g13p0-01eac0");
  sysfs.put_gpu("class/misc/mali0/device/devfreq/fb000000.3d", "850000000");
  EXPECT_EQ(sysfs.state(), kClocks);
  EXPECT_EQ(sysfs.board().gpu_mhz(), 850);
}

TEST(bench_board, rk3399_with_panfrost_has_two_zones_that_are_the_gpus) {
  Sysfs sysfs;
  sysfs.put("class/devfreq/ff9a0000.gpu/cur_freq", "800000000");
  sysfs.put("class/thermal/thermal_zone0/type", "gpu-thermal");
  sysfs.put("class/thermal/thermal_zone0/temp", "51000");
  sysfs.put("class/thermal/thermal_zone1/type", "gpu");
  sysfs.put("class/thermal/thermal_zone1/temp", "52500");
  const json expected = {{"gpu_mhz", 800.0}, {"gpu_celsius", 52.5}};
  EXPECT_EQ(sysfs.state(), expected);
}

TEST(bench_board, a_pc_shows_nothing_and_files_that_hold_nonsense_show_nothing) {
  Sysfs sysfs;
  EXPECT_EQ(sysfs.state(), json::object());
  EXPECT_FALSE(Board(Machine("/nowhere")).gpu_mhz());
  sysfs.put("class/devfreq/fb000000.gpu/cur_freq", "<unsupported>");
  sysfs.put("class/devfreq/fb000000.gpu/governor", "");
  sysfs.put("class/thermal/thermal_zone0/type", "gpu-thermal");
  EXPECT_EQ(sysfs.state(), json::object());
}

TEST(bench_board, a_clock_that_moves_is_marked) {
  Sysfs sysfs;
  const std::string folder = "class/devfreq/fb000000.gpu";
  sysfs.put_gpu(folder, "1000000000");
  const Board board = sysfs.board();
  ClockWatch watch(board);
  const auto row = [&](const std::string& before, const std::string& after) {
    sysfs.put(folder + "/cur_freq", before);
    watch.before();
    sysfs.put(folder + "/cur_freq", after);
    return clock_mark(watch.moved()).value_or("held");
  };
  EXPECT_EQ(row("1000000000", "1000000000"), "held");
  EXPECT_EQ(row("1000000000", "970000000"), "held") << "3 % is still held";
  EXPECT_EQ(row("1000000000", "948000000"), "clock moved 5.2 %");
  EXPECT_EQ(row("850000000", "850000000"), "clock moved 15.0 %") << "since the first row";
  EXPECT_EQ(row("500000000", "1000000000"), "clock moved 100.0 %") << "within a row";
  EXPECT_EQ(row("1000000000", "1000000000"), "held");
}

TEST(bench_board, without_a_clock_nothing_is_marked) {
  const Sysfs sysfs;
  const Board board = sysfs.board();
  ClockWatch watch(board);
  watch.before();
  EXPECT_EQ(watch.moved(), 0);
}

/// What Table prints.
template <typename Print>
std::string printed(const Print& print) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  print(out);
  std::fclose(out);
  const std::string all(text, size);
  std::free(text);
  return all;
}

/// Changes the board's clock in the middle of its measuring.
class Throttled : public bench::Subject {
 public:
  Throttled(Runtime& runtime, const bench::Row& row, Sysfs& sysfs)
      : Subject(runtime, row), sysfs_(sysfs) {}
  void enqueue() override {
    sysfs_.put("class/devfreq/fb000000.gpu/cur_freq", "700000000");
    Subject::enqueue();
  }

 private:
  Sysfs& sysfs_;
};

TEST(bench_board_scripted, a_row_whose_clock_moved_is_marked) {
  CLAM_ON_SCRIPTED_DEVICE();
  Sysfs sysfs;
  sysfs.put_gpu("class/devfreq/fb000000.gpu", "850000000");
  const Board board = sysfs.board();
  ClockWatch clock(board);
  clock.before();
  clock.moved();  // of a first row
  bench::Selection selection;
  selection.rows.push_back({"softmax", Problem::parse("softmax shape=8x64 dtype=f32"), ""});
  std::vector<bench::Result> results(1);
  bench::MeterOptions options;
  options.seconds = options.warm_up_seconds = 0.001;
  options.clock = &clock;
  options.make = [&](const bench::Row& row) {
    return std::make_unique<Throttled>(runtime(), row, sysfs);
  };
  bench::Meter(runtime(), selection, results, options).measure(0);
  EXPECT_TRUE(results[0].valid()) << results[0].reason;
  ASSERT_FALSE(results[0].marks.empty());
  EXPECT_EQ(results[0].marks[0], "clock moved 17.6 %");
}

/// Each process knows the clock of its own row alone.
TEST(bench_board_device, rows_of_processes_of_their_own_are_held_against_the_first_one) {
  CLAM_NEEDS_DEVICE();
  const Sysfs sysfs;
  const Board board = sysfs.board();
  ClockWatch clock(board);
  bench::Selection selection;
  const Problem problem = Problem::parse("softmax shape=8x64 dtype=f32");
  for (const char* name : {"a", "b", "c"}) selection.rows.push_back({name, problem, ""});
  std::vector<bench::Result> results(3);
  bench::MeterOptions options;
  options.clock = &clock;
  std::vector<std::optional<double>> clocks = {850, 700, std::nullopt};
  options.elsewhere = [&](const bench::Row&) {
    bench::Result result;
    result.outcome = bench::Outcome::fine;
    result.gpu_mhz = clocks.front();
    clocks.erase(clocks.begin());
    return result;
  };
  bench::Meter(runtime(), selection, results, options).measure(0);
  std::string marks;
  for (const bench::Result& result : results) {
    for (const std::string& mark : result.marks) marks += mark + ";";
  }
  EXPECT_EQ(marks, "clock moved 17.6 %;");
}

TEST(bench_board_device, table_and_file_tell_of_the_clock_and_of_the_peaks) {
  CLAM_NEEDS_DEVICE();
  bench::Options options;
  options.problems = {"dense m=512 n=512 k=512 dtype=f32", "softmax shape=8x64 dtype=f32"};
  const bench::Selection selection = select_rows(options, runtime().device());
  std::vector<bench::Result> results(2);
  for (bench::Result& result : results) {
    result.outcome = bench::Outcome::fine;
    result.variant = "v";
    result.us.median = 1e4;
  }
  results[0].marks = {"clock moved 5.2 %"};
  results[0].gpu_mhz = 806;
  bench::Surroundings around;
  around.peaks.gflops_f32 = 100;
  around.peaks.rows = {{"fma float4", "f32", 4, 0, 1, 100}};
  around.before["gpu_mhz"] = 850.0;
  const json own =
      json::parse(make_document("", options, selection, results, around, runtime())).at("clam");
  EXPECT_EQ(own.at("board").at("before"), (json{{"gpu_mhz", 850.0}}));
  EXPECT_EQ(own.at("peaks").at("rows").at(0).at("gflop_per_s"), 100);
  const json& first = own.at("rows").at(0);
  EXPECT_EQ(first.at("marks"), json({"clock moved 5.2 %"}));
  EXPECT_DOUBLE_EQ(first.at("floor_us").get<double>(), 2684.35456);
  EXPECT_DOUBLE_EQ(first.at("of_peak").get<double>(), 0.268435456);
  EXPECT_EQ(own.at("rows").at(1).at("marks"), json::array());
  EXPECT_EQ(first.at("gpu_mhz"), 806);
  EXPECT_EQ(bench::result_from_json(first).gpu_mhz, 806);

  const std::string text = printed([&](std::FILE* out) {
    bench::Table table(selection, results, runtime().device(), out);
    table.peaks(around.peaks);
    table.foot();
    table.peaks_again(around.peaks);
  });
  EXPECT_NE(text.find(" 26.8 "), std::string::npos) << text;
  EXPECT_NE(text.find("dtype=f32, v [clock moved 5.2 %]\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("higher at the end"), std::string::npos) << text;
  const std::string again = printed([&](std::FILE* out) {
    bench::Table table(selection, results, runtime().device(), out);
    table.peaks(around.peaks);
    around.peaks.gflops_f32 = 200;
    table.peaks_again(around.peaks);
  });
  EXPECT_NE(again.find("higher at the end"), std::string::npos) << again;
}

}  // namespace
}  // namespace clam::test
