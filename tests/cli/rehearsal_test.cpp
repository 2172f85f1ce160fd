// SPDX-License-Identifier: MIT
// The first ten minutes of the README on an Orange Pi 5 that is made up: its /dev, /sys and
// libraries are a folder, and its Mali-G610 is the scripted OpenCL, which computes on the driver of
// the tests.
#include <filesystem>

#include "c_compiler.hpp"
#include "made_up_machine.hpp"
#include "run_clam.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

class rehearsal_scripted : public testing::Test {
 protected:
  void SetUp() override {
    CLAM_NEEDS_DEVICE();
    const std::string gpu = "/sys/class/devfreq/fb000000.gpu/";
    board.file("/proc/device-tree/model", "Orange Pi 5");
    board.file("/proc/device-tree/compatible", "xunlong,orangepi-5 rockchip,rk3588s");
    board.link("/sys/devices/platform/fb000000.gpu/driver", "../../../bus/platform/drivers/mali");
    board.file("/sys/module/mali_kbase/version", "g13p0-01eac0 (UK version 1.17)");
    board.file("/dev/mali0");
    board.file("/lib/firmware/mali_csffw.bin");
    board.file(gpu + "cur_freq", "300000000");
    board.file(gpu + "max_freq", "1000000000");
    board.file(gpu + "governor", "simple_ondemand");
    board.file(gpu + "available_governors", "userspace performance simple_ondemand");
    board.file("/etc/OpenCL/vendors/mali.icd", "libmali.so.1");
    board.opencl_library(kLibs + "libOpenCL.so.1");
    board.opencl_library(kLibs + "libmali.so.1");
  }
  std::vector<std::string> environment() const {
    const json device = {{"name", "Mali-G610 r0p0"},
                         {"vendor", "ARM"},
                         {"platform", "ARM Platform"},
                         {"version", "OpenCL 3.0 v1.g13p0-01eac0.0123"},
                         {"type", "gpu"},
                         {"vendor_id", 0xa8670000u},
                         {"max_clock_mhz", 1000},
                         {"compute_units", 4},
                         {"max_alloc_bytes", 256 << 20}};
    std::vector<std::string> all = board.on(clock.in({{"device", device}}));
    all.push_back("CLAM_CACHE_DIR=" + folder.file("cache"));
    return all;
  }
  Finished clam(const std::vector<std::string>& words) const {
    return run_clam(words, environment());
  }

  MadeUpMachine board;
  TemporaryFolder folder;
  scripted::SharedClock clock;
};

/// What the README quotes of a page stands in it.
void expect_quoted(const std::string& words, const std::string& text) {
  const std::string readme = read_file(CLAM_SOURCE_DIR "/README.md");
  EXPECT_TRUE(contains(readme, words)) << "the README lacks: " << words;
  EXPECT_TRUE(contains(text, words)) << "not printed: " << words << "\n" << text;
}

TEST_F(rehearsal_scripted, of_the_first_ten_minutes) {
  const Finished doctor = clam({"doctor"});
  EXPECT_EQ(doctor.code, 0) << doctor.out << doctor.err;
  EXPECT_TRUE(contains(doctor.out, "Orange Pi 5 is an RK3588 with a Mali-G610")) << doctor.out;
  EXPECT_TRUE(contains(doctor.out, "0 faults, ")) << doctor.out;
  EXPECT_TRUE(contains(doctor.out, "type: tools/bench --pin --quick")) << doctor.out;

  const std::string rows = folder.file("bench.json"), page = folder.file("bench.html");
  const Finished bench = run_command(
      {CLAM_BENCH_BINARY, "--quick", "--pin", "--time", "0.001", "--json", rows}, environment());
  EXPECT_LE(bench.code, 1) << bench.out << bench.err;
  for (const char* column : {"problem", "us", "GFLOP/s", "% peak", "err/bound"}) {
    expect_quoted(column, bench.out);
  }
  expect_quoted("softmax shape=1x4x192x192 dtype=f32", bench.out);
  EXPECT_EQ(read_file(board.real_path("/sys/class/devfreq/fb000000.gpu/governor")),
            "simple_ondemand");
  const json own = json::parse(read_file(rows))["clam"];
  EXPECT_GE(own["rows"].size(), 20u);
  for (const json& row : own["rows"]) {
    const std::string reason = row.value("reason", "");
    EXPECT_FALSE(contains(reason, "condition 2") || contains(reason, "condition 3")) << row.dump();
  }

  const Finished verify = clam({"verify", "--workload", "dcmt"});
  EXPECT_EQ(verify.code, 0) << verify.out << verify.err;
  const Finished probe = clam({"probe", "info-lies", "event-garbage", "local-atomic"});
  EXPECT_LE(probe.code, 1) << probe.out << probe.err;
  EXPECT_TRUE(contains(probe.out, " OK")) << probe.out;
  EXPECT_EQ(clam({"report", rows, "-o", page}).code, 0);
  EXPECT_TRUE(contains(read_file(page), "Mali-G610 r0p0"));
  EXPECT_EQ(clam({"report", "--submit", rows}).code, 0);
  const json shared = json::parse(read_file(folder.file("bench-shared.json")))["clam"];
  EXPECT_EQ(shared["device"]["name"], "Mali-G610 r0p0");
  EXPECT_EQ(shared["rows"].size(), own["rows"].size());
}

}  // namespace
}  // namespace clam::test
