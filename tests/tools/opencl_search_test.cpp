// SPDX-License-Identifier: MIT
// Which OpenCL library the programs find on boards as they are: made-up machines with fake
// libraries.
#include "c_compiler.hpp"
#include "made_up_machine.hpp"
#include "run_clam.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

/// Tests need the system's C compiler for the fake libraries, and a device beneath the scripted
/// one.
class opencl_search_scripted : public testing::Test {
 protected:
  void SetUp() override {
    CLAM_NEEDS_DEVICE();
    if (!has_compiler()) GTEST_SKIP() << "no C compiler with OpenCL here";
  }

  json info(std::vector<std::string> environment = {}) const {
    std::vector<std::string> all = machine.on({{"device", {{"name", "Mali-G610 r0p0"}}}});
    all.insert(all.end(), environment.begin(), environment.end());
    return parse_out(run_clam({"info", "--json", "-"}, all));
  }
  /// The device is found, through the library that was asked for by that name.
  void expect_taken(const std::string& library, const json& info) const {
    ASSERT_EQ(info["devices"].size(), 1u) << info["opencl"].dump(1);
    EXPECT_EQ(info["devices"][0]["name"], "Mali-G610 r0p0");
    EXPECT_EQ(info["opencl"]["tried"].back()["library"], library) << info["opencl"].dump(1);
    EXPECT_EQ(info["opencl"]["tried"].back()["outcome"], "taken");
  }
  static std::string outcome(const json& info, const std::string& library) {
    for (const json& attempt : info["opencl"]["tried"]) {
      if (attempt["library"] == library) return attempt["outcome"];
    }
    return "not tried";
  }

  MadeUpMachine machine;
};

TEST_F(opencl_search_scripted, the_icd_loader_comes_first) {
  machine.opencl_library(kLibs + "libOpenCL.so.1");
  machine.opencl_library(kLibs + "libmali.so");
  const json found = info();
  expect_taken("libOpenCL.so.1", found);
  EXPECT_EQ(found["opencl"]["tried"].size(), 1u);
}

TEST_F(opencl_search_scripted, a_libmali_without_an_icd_file_works) {
  machine.fake_library(kLibs + "libOpenCL.so.1", "NO_PLATFORM");
  machine.opencl_library(kLibs + "libmali.so.1");
  const json found = info();
  expect_taken("libmali.so.1", found);
  EXPECT_EQ(outcome(found, "libOpenCL.so.1"), "shows no platform (CL_PLATFORM_NOT_FOUND_KHR)");
}

TEST_F(opencl_search_scripted, rusticl_without_its_variable_does_not_hide_a_libmali) {
  machine.fake_library(kLibs + "libOpenCL.so.1", "NO_DEVICE");
  machine.opencl_library(kLibs + "libMali.so");
  const json found = info();
  expect_taken("libMali.so", found);
  EXPECT_EQ(outcome(found, "libOpenCL.so.1"), "shows 1 platform without a device");
}

TEST_F(opencl_search_scripted, a_library_for_graphics_alone_is_passed_over) {
  machine.fake_library(kLibs + "libmali.so", "GLES_ONLY");
  machine.opencl_library("/vendor/lib64/egl/mt6789/libGLES_mali.so");
  const json found = info();
  expect_taken("/vendor/lib64/egl/mt6789/libGLES_mali.so", found);
  EXPECT_EQ(outcome(found, "libmali.so"), "has no functions of OpenCL");
}

TEST_F(opencl_search_scripted, folders_of_vendors_are_looked_through) {
  for (const char* file :
       {"/usr/lib/aarch64-linux-gnu/mali/libMaliOpenCL.so.1",
        "/usr/lib/aarch64-linux-gnu/libmali-x11/libmali-valhall-g610-g13p0-x11-wayland-gbm.so",
        "/usr/lib/aarch64-linux-gnu/mt8195/lib/libmali.so.0.48.0",
        "/usr/lib/libmali-valhall-g610-g6p0-x11-wayland-gbm.so",
        "/opt/cixgpu-pro/lib/aarch64-linux-gnu/libmali.so.0.53.0", "/vendor/lib64/libOpenCL.so",
        "/system/vendor/lib64/egl/libGLES_mali.so",
        "/data/data/com.termux/files/usr/opt/vendor/lib/libOpenCL.so"}) {
    SCOPED_TRACE(file);
    machine.opencl_library(file);
    expect_taken(file, info());
    machine.remove(file);
  }
}

TEST_F(opencl_search_scripted, the_linkers_configuration_is_followed) {
  machine.file("/etc/ld.so.conf.d/00-cixgpu-pro.conf", "/opt/cixgpu-pro/lib/aarch64-linux-gnu\n");
  machine.fake_library(kLibs + "libOpenCL.so.1", "NO_PLATFORM");
  machine.opencl_library("/opt/cixgpu-pro/lib/aarch64-linux-gnu/libOpenCL.so.1");
  const json found = info();
  expect_taken("libOpenCL.so.1", found);
  EXPECT_EQ(found["opencl"]["tried"].size(), 1u) << "the configured folder comes first";
}

TEST_F(opencl_search_scripted, a_pixels_library_gives_its_functions_in_its_own_way) {
  machine.fake_library("/vendor/lib64/libOpenCL-pixel.so",
                       "NEXT=\"" CLAM_SCRIPTED_OPENCL_DIR "/libOpenCL.so.1\"");
  expect_taken("/vendor/lib64/libOpenCL-pixel.so", info());
}

TEST_F(opencl_search_scripted, the_variable_is_the_only_one_tried) {
  machine.opencl_library(kLibs + "libOpenCL.so.1");
  const std::string own = CLAM_SCRIPTED_OPENCL_DIR "/libOpenCL.so.1";
  expect_taken(own, info({"CLAM_OPENCL=" + own}));
  const Finished wrong = run_clam({"info"}, [&] {
    std::vector<std::string> all = machine.on();
    all.push_back("CLAM_OPENCL=/nowhere/libmali.so");
    return all;
  }());
  EXPECT_EQ(wrong.code, 77);
  EXPECT_TRUE(contains(wrong.out, "tried /nowhere/libmali.so: ")) << wrong.out;
}

TEST_F(opencl_search_scripted, without_any_the_programs_start_and_say_so) {
  const Finished finished = run_clam({"info"}, machine.on());
  EXPECT_EQ(finished.code, 77);
  EXPECT_TRUE(contains(finished.out, "OpenCL library: none\n")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "tried libmali.so: is in no folder of libraries\n"));
  EXPECT_TRUE(contains(finished.err, "no OpenCL device")) << finished.err;
  EXPECT_EQ(run_clam({"list"}, machine.on()).code, 0);
}

TEST_F(opencl_search_scripted, no_program_is_linked_with_opencl) {
  for (const char* program : {CLAM_BINARY, CLAM_BENCH_BINARY}) {
    const Finished linked = run_command({"/usr/bin/env", "readelf", "-d", program});
    ASSERT_EQ(linked.code, 0);
    EXPECT_FALSE(contains(linked.out, "OpenCL")) << linked.out;
    EXPECT_TRUE(contains(linked.out, "libc.so")) << linked.out;
  }
}

}  // namespace
}  // namespace clam::test
