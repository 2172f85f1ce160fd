// SPDX-License-Identifier: MIT
// bundle_long_test.cpp - kernel files and build logs are read at any length, and read right.
#include "bundle_runs.hpp"
#include "tokens/tokens.hpp"

namespace clam::test {
namespace {

const std::string kMuch(2000000, 'a'), kBlanks(2000000, ' ');

TEST(bundle, directives_are_lines_that_begin_with_the_sign) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(directives_of(""), Lines{});
  EXPECT_EQ(directives_of("#"), Lines{""});
  EXPECT_EQ(directives_of("int x; #if A\n// #if B\n \t# \tif  C \r\n#include<d>"),
            (Lines{"if C", "include < d >"}));
  EXPECT_EQ(directives_of("#pragma A :B:  C\n\n#endif"), (Lines{"pragma A : B : C", "endif"}));
  EXPECT_EQ(directives_of("#" + kBlanks + kMuch + "\nx"), Lines{kMuch});
}

TEST(bundle, a_kernel_needs_half_where_it_asks_for_it_and_not_where_it_may) {
  Bundle bundle = scale_bundle();
  bundle.device.fp16 = true;
  const auto needs = [&](const std::string& text) {
    bundle.kernels["scale.cl"] = text;
    return bundle.needs_fp16();
  };
  const std::string ask = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";
  EXPECT_TRUE(needs(ask));
  EXPECT_TRUE(needs("int x;\n\t # pragma OPENCL  EXTENSION cl_khr_fp16:enable // it does\n"));
  EXPECT_TRUE(needs("#if " + kMuch + "\n#endif\n" + ask));
  EXPECT_TRUE(needs("// #ifdef cl_khr_fp16\n" + ask));
  EXPECT_FALSE(needs("#ifdef cl_khr_fp16\n" + ask + "#endif\n"));
  EXPECT_FALSE(needs("#if A\n#elif " + kMuch + " || defined(CLAM_F16)\n" + ask + "#endif\n"));
  EXPECT_FALSE(needs("#pragma OPENCL EXTENSION cl_khr_fp16 : disable\n"));
  EXPECT_FALSE(needs("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"));
  EXPECT_FALSE(needs("#" + kBlanks + kMuch));
}

TEST(bundle_device, a_line_of_any_length_is_recorded_and_its_file_named_plainly) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  for (const std::string& behind : {std::string(" "), kMuch + "/nowhere/other.clx /a.cl"}) {
    write_file(folder.file("k.cl"), "#" + kBlanks + "include <missing>\n#error /" + behind + "\n");
    const Finished finished = record(folder, {"--build-only", folder.file("k.cl"), "--force"});
    EXPECT_EQ(finished.code, 0) << finished.code;
    EXPECT_TRUE(contains(finished.err, "k.cl includes another file")) << finished.err;
    EXPECT_EQ(case_of(folder).at("seen").at("outcome"), "build failed");
  }
}

}  // namespace
}  // namespace clam::test
