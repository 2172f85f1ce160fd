// SPDX-License-Identifier: MIT
// bundle_broken_test.cpp - bundles of kernels and compilers that end their process, never end, or
// are wrong now and then.
#include <filesystem>
#include <map>

#include "break_pack.hpp"
#include "bundle_runs.hpp"
#include "c_compiler.hpp"
#include "scripted.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kDense = "dense m=9 n=16 k=12 dtype=f32";

TEST(bundle_broken, a_crash_is_an_outcome) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_pack(kernels, "*(volatile __global int*)8 = 1;");
  const Finished recorded = record(folder, {kDense}, &kernels);
  EXPECT_EQ(recorded.code, 0) << recorded.out << recorded.err;
  const bool dies = runtime().device().type == "cpu";  // a GPU refuses the write
  EXPECT_EQ(case_of(folder).at("seen").at("outcome"), dies ? "crashed" : "device error");
  EXPECT_TRUE(fs::exists(folder.file("case/build.log")));
  EXPECT_EQ(contains(read_file(folder.file("case/README.md")), "recorded its process crashed"),
            dies);
  expect_replay(folder, "still fails", 1);
  if (has_compiler()) {
    const int code = run_c(folder.file("case")).code;
    EXPECT_TRUE(dies ? code > 2 : code == 1) << code;
  }
  heal(folder, "dense.cl");
  expect_replay(folder, "fixed", 0);
}

TEST(bundle_scripted, what_a_compiler_says_before_it_aborts_is_kept) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string long_place = "0x" + std::string(500000, '0') + "\n";  // whoever reads it
  write_file(
      folder.file("script.json"),
      scripted::lying(
          "clBuildProgram", "crash",
          {{"text", long_place + "a frame at %p\ncompiler.cc:42: Assertion `a == b' failed.\n"}})
          .dump());
  write_file(folder.file("fine.cl"), "__kernel void fine(__global int* dst) { dst[0] = 1; }\n");
  const auto record_as = [&](const std::string& name) {
    std::vector<std::string> environment = scripted::on();
    environment.insert(environment.end(), {"CLAM_SCRIPTED_OPENCL=" + folder.file("script.json"),
                                           "SOURCE_DATE_EPOCH=1"});
    const Finished finished = run_clam(
        {"record", "--build-only", folder.file("fine.cl"), "-o", folder.file(name)}, environment);
    EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
    EXPECT_FALSE(contains(finished.err, "a frame at")) << finished.err;
  };
  record_as("case");
  record_as("again");
  const json seen = case_of(folder).at("seen");
  EXPECT_EQ(seen.at("outcome"), "crashed");
  EXPECT_TRUE(contains(seen.at("reason"), "(Aborted); compiler.cc:42: Assertion `a == b' failed."))
      << seen;
  const std::string errors = read_file(folder.file("case/driver.log"));
  EXPECT_LT(errors.size(), 10000u);
  EXPECT_TRUE(contains(errors, "0x...\na frame at 0x...\n")) << errors;
  EXPECT_EQ(errors, read_file(folder.file("again/driver.log")));
  EXPECT_EQ(case_of(folder), json::parse(read_file(folder.file("again/case.json"))));
  EXPECT_TRUE(contains(read_file(folder.file("case/README.md")), "| driver.log | "));
}

/// A driver of which every third process is wrong.
std::vector<std::string> wrong_now_and_then(const TemporaryFolder& folder, const std::string& run) {
  return scripted::on(
      scripted::lying("clEnqueueReadBuffer", "flip",
                      {{"byte", 3}, {"processes", 3}, {"counted", folder.file("count-" + run)}}));
}

TEST(bundle_scripted, a_fault_that_comes_now_and_then_is_waited_for) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const auto record_as = [&](const std::string& name, const std::string& times) {
    const Finished finished = run_clam({"record", kDense, "--fill", "positive", "--no-proof",
                                        "--times", times, "-o", folder.file(name)},
                                       wrong_now_and_then(folder, name));
    EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
    return finished.out;
  };
  const std::string case_file = folder.file("case/case.json");
  EXPECT_TRUE(contains(record_as("twice", "2"), "nothing is wrong here (2 runs of each data set)"));
  EXPECT_TRUE(contains(record_as("case", "20"), " (in about one of 3 runs)\n"));
  const json written = case_of(folder);
  EXPECT_EQ(written.at("seen").at("outcome"), "wrong");
  EXPECT_EQ(written.at("one_in"), 3);
  for (const auto& [there, taken] : std::map<int, int>{{3, 3}, {0, 1}, {2000000000, 1000}}) {
    json changed = written;
    changed["one_in"] = there;
    write_file(case_file, changed.dump());
    EXPECT_EQ(read_bundle(folder.file("case")).one_in, taken);
  }
  write_file(case_file, written.dump());
  EXPECT_TRUE(contains(read_file(folder.file("case/README.md")),
                       "about one of 3 runs: `for i in $(seq 9); do ./a.out"));
}

TEST(bundle_scripted, a_fault_that_comes_now_and_then_is_replayed_as_often_as_that_takes) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string path = folder.file("case");
  run_clam({"record", kDense, "--fill", "positive", "--no-proof", "--times", "20", "-o", path},
           wrong_now_and_then(folder, "record"));
  const std::vector<std::string> honest = scripted::on();
  EXPECT_TRUE(contains(replay(folder, {}, honest).out, "0 of 9 runs wrong"));
  EXPECT_TRUE(contains(replay(folder, {"--times", "2"}, honest).out, "0 of 2 runs wrong"));
  const auto proof_says = [&](const std::string& words) {
    return contains(read_file(folder.file("case/README.md")), words);
  };
  replay(folder, {"--times", "2", "--add-proof"}, honest);
  EXPECT_TRUE(proof_says("| right (9 runs) |"));
  const Finished wrong =
      run_clam({"replay", path, "--add-proof"}, wrong_now_and_then(folder, "replay"));
  EXPECT_TRUE(contains(wrong.out, "still fails") && contains(wrong.out, "3 of 9 runs wrong"))
      << wrong.out;
  EXPECT_TRUE(proof_says(" (in run 3) |"));
  replay(folder, {"--add-proof"}, honest);
  EXPECT_TRUE(proof_says(" (in run 3) |"));
}

/// The kernel really never ends; that the limit is over the script says.
TEST(bundle_scripted, a_hang_is_an_outcome) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  const scripted::SharedClock clock;
  const auto forever = clock.on({{"costs", {{{"kernel", "dense_pack_w"}, {"us", 1e12}}}}});
  break_pack(kernels, "for (volatile int again = 0; again < 2; again = 0)");
  const Finished recorded = record(folder, {kDense, "--limit", "5"}, &kernels, forever);
  EXPECT_EQ(recorded.code, 0) << recorded.out << recorded.err;
  EXPECT_EQ(case_of(folder).at("seen").at("outcome"), "hung");
  EXPECT_TRUE(contains(read_file(folder.file("case/README.md")),
                       "Where it was recorded it was ended after 5 s."));
  const Finished again = replay(folder, {"--limit", "5"}, forever);
  EXPECT_EQ(again.code, 1) << again.out << again.err;
  EXPECT_TRUE(contains(again.out, "still fails")) << again.out;
}

}  // namespace
}  // namespace clam::test
