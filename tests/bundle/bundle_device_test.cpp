// SPDX-License-Identifier: MIT
// bundle_device_test.cpp - `clam record` and `clam replay`: faults planted on purpose become
// bundles that say so, in clam and by the C program alone, and say that they are fixed when they
// are.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "bundle_runs.hpp"
#include "c_compiler.hpp"
#include "check/npy.hpp"
#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "runtime/embedded.hpp"
#include "tiny_graph.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kScanInPlace = CLAM_SOURCE_DIR "/tests/tools/probes/gvc-inplace-scan";

void expect_c(const TemporaryFolder& folder, int code, const std::string& words) {
  if (!has_compiler()) return;
  const Finished finished = run_c(folder.file("case"));
  EXPECT_EQ(finished.code, code) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, words)) << finished.out << finished.err;
}

TEST(bundle_device, the_c_program_runs_as_it_is) {
  CLAM_NEEDS_DEVICE();
  if (!has_compiler()) GTEST_SKIP() << "no C compiler with OpenCL here";
  const TemporaryFolder folder;
  write_file(folder.file("replay.c"), embedded_bundle().front().text);
  const Finished finished = run_c(folder.path());
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "PASS")) << finished.out;
}

TEST(bundle_device, a_planted_fault_still_fails_until_it_is_fixed) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels, others;
  break_softmax(kernels, "1.01");
  const Finished recorded = record(folder, {kSoftmax}, &kernels);
  EXPECT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_TRUE(contains(recorded.out, "wrong: dst[0] is")) << recorded.out;
  const json seen = case_of(folder).at("seen");
  EXPECT_EQ(seen.at("outcome"), "wrong");
  EXPECT_EQ(seen.at("first_wrong").at("tensor"), "dst");
  EXPECT_GT(seen.at("worst_ratio").get<double>(), 1);
  for (const char* file :
       {"README.md", "replay.c", "softmax.cl", "plan.json", "options.txt", "build.log", "src.npy",
        "dst.expected.npy", "dst.bound.npy", "device.txt"}) {
    EXPECT_TRUE(fs::exists(folder.file(std::string("case/") + file))) << file;
  }
  expect_replay(folder, "still fails", 1);
  expect_c(folder, 1, "FAIL: dst[0] is");
  break_softmax(others, "1.5");
  write_file(folder.file("case/softmax.cl"), read_file(others.file("softmax.cl")));
  expect_replay(folder, "fails differently", 1);
  expect_c(folder, 1, "FAIL: dst[0] is");
  heal(folder, "softmax.cl");
  expect_replay(folder, "fixed", 0);
  expect_c(folder, 0, "PASS");
}

TEST(bundle_device, a_right_result_is_recorded_too) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  const Finished recorded = record(folder, {kSoftmax});
  EXPECT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_TRUE(contains(recorded.out, "nothing is wrong here")) << recorded.out;
  expect_replay(folder, "still right", 0);
  expect_c(folder, 0, "PASS");
  break_softmax(kernels, "1.01");
  write_file(folder.file("case/softmax.cl"), read_file(kernels.file("softmax.cl")));
  expect_replay(folder, "fails now", 1);
}

/// Several launches, packing, scratch, rows at strides, and what is right bit for bit.
TEST(bundle_device, other_problems_are_right_in_the_c_program_too) {
  CLAM_NEEDS_DEVICE();
  for (const char* problem : {"dense m=9 n=16 k=12 dtype=f32 bias act=gelu ldx=20 ldy=24",
                              "transpose shape=3x4x5 perm=2-0-1 dtype=f32",
                              "get_valid_counts n=700 dtype=f32 score_threshold=0.01",
                              "onnx_nms classes=2 n=300 dtype=f32"}) {
    const TemporaryFolder folder;
    const Finished recorded = record(folder, {problem});
    EXPECT_EQ(recorded.code, 0) << problem << ": " << recorded.err;
    EXPECT_TRUE(contains(recorded.out, "nothing is wrong here")) << problem << recorded.out;
    const std::string source = read_file(folder.file("case/replay.c"));
    EXPECT_LT(std::count(source.begin(), source.end(), '\n'), 400) << problem;
    expect_replay(folder, "still right", 0);
    expect_c(folder, 0, "PASS");
  }
}

TEST(bundle_device, half_is_recorded_and_needs_a_device_that_has_it) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  const std::string problem = "softmax shape=3x5 dtype=f16";
  if (!runtime().device().fp16) {
    Bundle bundle = scale_bundle();
    bundle.plan->tensors[0].dtype = bundle.plan->tensors[1].dtype = Dtype::f16;
    bundle.inputs["src"] = bundle.expected["dst"] = HostTensor(Dtype::f16, {4});
    write(folder, bundle);
    expect_replay(folder, "cannot run here", 77);
    return expect_c(folder, 2, "CANNOT RUN: there is no cl_khr_fp16");
  }
  break_softmax(kernels, "1.5");
  EXPECT_EQ(record(folder, {problem}, &kernels).code, 0);
  EXPECT_EQ(case_of(folder).at("seen").at("outcome"), "wrong");
  expect_replay(folder, "still fails", 1);
  expect_c(folder, 1, "FAIL: dst[0] is");
  heal(folder, "softmax.cl");
  expect_replay(folder, "fixed", 0);
  expect_c(folder, 0, "PASS");
}

TEST(bundle_device, a_single_file_needs_no_other) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels, elsewhere;
  break_softmax(kernels, "1.01");
  EXPECT_EQ(record(folder, {kSoftmax, "--single-file"}, &kernels).code, 0);
  write_file(elsewhere.file("replay.c"), read_file(folder.file("case/replay.c")));
  const Finished large = run_clam(
      {"record", "softmax shape=99x999 dtype=f32", "--single-file", "-o", folder.file("large")});
  EXPECT_EQ(large.code, 2);
  EXPECT_TRUE(contains(large.err, "one file may have 64")) << large.err;
  EXPECT_FALSE(fs::exists(folder.file("large")));
  if (!has_compiler()) return;
  const Finished finished = run_c(elsewhere.path(), "-n 3");
  EXPECT_EQ(finished.code, 1) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "FAIL: dst[0] is")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "3 of 3 runs failed")) << finished.out;
}

/// The scan in place races: it is wrong wherever a group is no single warp.
TEST(bundle_device, a_foreign_plan_with_what_is_right) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const Problem problem = Problem::parse("get_valid_counts n=1000 dtype=f32 score_threshold=0.01");
  const Tensors inputs = make_inputs(problem, find_data_set(problem, "mixed"), 1);
  const Reference reference = reference_of(problem, inputs, {Check::exact});
  std::vector<std::string> words{"--plan", kScanInPlace + "/plan.json"};
  write_npy(folder.file("data.npy"), inputs.at("data"));
  words.insert(words.end(), {"--in", "data=" + folder.file("data.npy")});
  for (const auto& [name, expected] : reference) {
    write_npy(folder.file(name + ".npy"), expected.exact);
    words.insert(words.end(), {"--expect", name + "=" + folder.file(name + ".npy")});
  }
  const Finished recorded = record(folder, words);
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_EQ(read_file(folder.file("case/kernel.cl")), read_file(kScanInPlace + "/kernel.cl"));
  EXPECT_EQ(read_npy(folder.file("case/out.expected.npy")), reference.at("out").exact);
  const bool wrong = case_of(folder).at("seen").at("outcome") == "wrong";
  const Finished again = replay(folder, {"--times", "2"});
  EXPECT_EQ(again.code, wrong ? 1 : 0) << again.out << again.err;
  EXPECT_TRUE(contains(again.out, "of 2 runs wrong")) << again.out;
  expect_c(folder, wrong ? 1 : 0, wrong ? "FAIL: " : "PASS");
}

/// A kernel that doubles four numbers, rightly, and does one thing more; recorded with what is
/// right.
Finished record_doubling(const TemporaryFolder& folder, const std::string& more) {
  Plan plan = scale_plan(4, 2);
  plan.launches[0].kernel = "twice";
  write_file(folder.file("plan.json"), to_json(plan).dump());
  write_file(
      folder.file("scale.cl"),
      "__kernel void twice(__global float* src, __global float* dst, float factor, int n) {\n"
      "  const int i = get_global_id(0);\n"
      "  if (i < n) dst[i] = src[i] * factor;\n"
      "  if (i == 0) " +
          more + ";\n}\n");
  HostTensor src(Dtype::f32, {4}), dst(Dtype::f32, {4});
  for (int i = 0; i < 4; ++i) src.set(i, i + 1), dst.set(i, 2 * i + 2);
  write_npy(folder.file("src.npy"), src);
  write_npy(folder.file("dst.npy"), dst);
  return record(folder,
                {"--plan", folder.file("plan.json"), "--in", "src=" + folder.file("src.npy"),
                 "--expect", "dst=" + folder.file("dst.npy")});
}

TEST(bundle_device, what_lies_around_a_tensor_is_watched) {
  CLAM_NEEDS_DEVICE();
  const struct {
    const char *more, *seen, *in_c;
  } faults[] = {{"dst[n + 5] = 1", "memory around tensor dst", "FAIL: memory around dst"},
                {"dst[-1] = 1", "memory around tensor dst", "FAIL: memory around dst"},
                {"src[n - 1] = 1", "input tensor src", "FAIL: input src was overwritten"}};
  for (const auto& fault : faults) {
    const TemporaryFolder folder;
    EXPECT_EQ(record_doubling(folder, fault.more).code, 0);
    const json seen = case_of(folder).at("seen");
    EXPECT_EQ(seen.at("outcome"), "wrong");
    EXPECT_TRUE(contains(seen.at("reason"), fault.seen)) << seen;
    expect_replay(folder, "still fails", 1);
    expect_c(folder, 1, fault.in_c);
  }
}

TEST(bundle_device, a_plan_that_does_not_suit_its_kernel_is_refused) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const Finished finished = record_doubling(folder, "not_there(i)");  // no kernel comes of it
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(case_of(folder).at("seen").at("outcome"), "build failed");
  const TemporaryFolder other;
  write_scale_kernel(other);
  Plan plan = scale_plan(4, 2);
  plan.launches[0].kernel = "thrice";
  write_file(other.file("plan.json"), to_json(plan).dump());
  write_npy(other.file("src.npy"), HostTensor(Dtype::f32, {4}));
  const Finished refused =
      record(other, {"--plan", other.file("plan.json"), "--in", "src=" + other.file("src.npy")});
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_TRUE(contains(refused.err, "thrice")) << refused.err;
  EXPECT_FALSE(fs::exists(other.file("case")));
}

TEST(bundle_device, a_line_without_a_dtype_takes_that_of_the_tensors) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_npy(folder.file("src.npy"), HostTensor(Dtype::f32, {3, 5}));
  const Finished finished =
      record(folder, {"softmax shape=3x5", "--in", "src=" + folder.file("src.npy")});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(contains(finished.err, "assumed: dtype=f32")) << finished.err;
  EXPECT_EQ(case_of(folder).at("problem"), "softmax shape=3x5 dtype=f32");
}

TEST(bundle_device, recorded_twice_it_is_the_same) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  write_file(folder.file("bad.cl"), "__kernel void f(__global int* x) { x[0] = y; }\n");
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{kSoftmax}, Words{kSoftmax, "--single-file"},
                             Words{"--build-only", folder.file("bad.cl")}}) {
    for (const char* name : {"a", "b"}) {
      Words command = words;
      command.insert(command.begin(), "record");
      command.insert(command.end(), {"--force", "-o", folder.file(name)});
      EXPECT_EQ(
          run_clam(command, {"CLAM_KERNEL_DIR=" + kernels.path(), "SOURCE_DATE_EPOCH=1600000000"})
              .code,
          0);
    }
    const auto first = files_of(folder.file("a")), second = files_of(folder.file("b"));
    ASSERT_EQ(first.size(), second.size());
    for (const auto& [name, text] : first) {
      // A driver may put a date into its binary.
      if (name.rfind("program-", 0) == 0) continue;
      EXPECT_TRUE(second.at(name) == text) << words.back() << ": " << name;
    }
    EXPECT_TRUE(contains(first.at("case.json"), "2020-09-13T12:26:40Z"));
  }
}

TEST(bundle_device, names_neither_person_nor_machine) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string home = folder.file("the mariner");
  fs::create_directories(home);
  write_file(home + "/bad.cl", "__kernel void f(__global int* x) { x[0] = y; }\n");
  // Programs that this process built have its own folders in them. PoCL's stand in the home, where
  // nobody says otherwise.
  const std::vector<std::string> environment{"HOME=" + home, "USER=mariner", "LOGNAME=mariner",
                                             "CLAM_CACHE_DIR=off",
                                             "POCL_CACHE_DIR=" + home + "/.cache/pocl"};
  EXPECT_EQ(run_clam({"record", kSoftmax, "-o", folder.file("a")}, environment).code, 0);
  EXPECT_EQ(
      run_clam({"record", "--build-only", home + "/bad.cl", "-o", folder.file("b")}, environment)
          .code,
      0);
  if (runtime().device().platform == "Portable Computing Language") {  // whose binary has its path
    EXPECT_FALSE(fs::exists(folder.file("a/program-1.bin")));
    EXPECT_TRUE(contains(read_file(folder.file("a/build.log")), "is left out"));
  }
  for (const char* name : {"a", "b"}) {
    for (const auto& [file, text] : files_of(folder.file(name))) {
      EXPECT_FALSE(contains(text, "mariner")) << file;
      EXPECT_FALSE(contains(text, folder.path())) << file;
      EXPECT_TRUE(anonymous(text) == text) << file;  // nor what this process goes by
    }
  }
}

TEST(bundle_device, a_build_that_fails) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_file(folder.file("bad.cl"), "__kernel void f(__global int* x) { x[0] = VALUE; }\n");
  EXPECT_EQ(record(folder, {"--build-only", folder.file("bad.cl"), "--options=-DOTHER=1"}).code, 0);
  const json recorded = case_of(folder);
  EXPECT_EQ(recorded.at("kind"), "build");
  EXPECT_EQ(recorded.at("options"), "-DOTHER=1");
  EXPECT_EQ(recorded.at("seen").at("outcome"), "build failed");
  EXPECT_TRUE(contains(read_file(folder.file("case/build.log")), "VALUE"));
  expect_replay(folder, "still fails", 1);
  expect_c(folder, 1, "FAIL: clBuildProgram: bad.cl");
  write_file(folder.file("case/bad.cl"), "__kernel void f(__global int* x) { x[0] = OTHER; }\n");
  expect_replay(folder, "fixed", 0);
  expect_c(folder, 0, "PASS");
  expect_refusal(run_clam({"record", "--build-only", folder.file("bad.cl"), "--options=-I /usr",
                           "-o", folder.file("other")}),
                 2, "leave out -I");
}

TEST(bundle_device, a_folder_of_bundles_is_replayed) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  EXPECT_EQ(run_clam({"record", kSoftmax, "-o", folder.file("a")}).code, 0);
  EXPECT_EQ(record(folder, {kSoftmax}, &kernels).code, 0);
  const Finished finished = run_clam({"replay", "--all", folder.path(), "--json", "-"});
  EXPECT_EQ(finished.code, 1) << finished.err;
  const json results = parse_out(finished).at("results");
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].at("verdict"), "still right");
  EXPECT_EQ(results[1].at("verdict"), "still fails");
  EXPECT_EQ(results[1].at("seen"), results[1].at("recorded"));
}

TEST(bundle_device, its_program_runs_in_the_simulator) {
  CLAM_NEEDS_DEVICE();
  if (run_command({"/bin/sh", "-c", "command -v oclgrind"}).code != 0) {
    GTEST_SKIP() << "there is no oclgrind";
  }
  const TemporaryFolder folder;
  ASSERT_EQ(record(folder, {kSoftmax, "--no-proof"}).code, 0);
  const Finished finished = run_command(
      {"/bin/sh", "-c",
       "cd " + folder.file("case") + " && cc replay.c -lOpenCL -lm && oclgrind ./a.out"});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "PASS")) << finished.out << finished.err;
}

TEST(bundle_device, verify_records_what_fails) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  const Finished finished = run_clam({"verify", kSoftmax, "dense m=9 n=16 k=12 dtype=f32",
                                      "--record-failures", folder.file("failures")},
                                     {"CLAM_KERNEL_DIR=" + kernels.path(), "CLAM_CACHE_DIR=off"});
  EXPECT_EQ(finished.code, 1) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "recorded in ")) << finished.out;
  const Finished again = run_clam({"replay", "--all", folder.file("failures")});
  EXPECT_EQ(again.code, 1) << again.out << again.err;
  EXPECT_TRUE(contains(again.out, "still fails") && contains(again.out, "failures/softmax-"))
      << again.out;
}

TEST(bundle_device, verify_records_the_plan_of_another_gpu) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  const std::string target = folder.file("failures");
  const Finished finished =
      run_clam({"verify", kSoftmax, "--gpu", "g610", "--record-failures", target},
               {"CLAM_KERNEL_DIR=" + kernels.path(), "CLAM_CACHE_DIR=off"});
  EXPECT_EQ(finished.code, 1) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "recorded in " + target + "/softmax-")) << finished.out;
  const std::string bundle = fs::directory_iterator(target)->path().string();
  const Bundle read = read_bundle(bundle);
  EXPECT_TRUE(contains(read.variant, "planned for Mali-G610")) << read.variant;
  const Plan planned = make_plan(Problem::parse(kSoftmax), gpu_device(find_gpu("g610")));
  EXPECT_EQ(read.plan->launches[0].local, planned.launches[0].local);
  // What native_exp2 is worth is known of the device here, if it was measured.
  const auto without_native = [](const std::string& options) {
    return options.substr(0, options.find(" -DSOFTMAX_NATIVE"));
  };
  EXPECT_EQ(without_native(read.plan->launches[0].options),
            without_native(planned.launches[0].options));
  EXPECT_EQ(run_clam({"replay", bundle}).code, 1);
}

/// A node alone is right where another feeds it wrongly; the guilty one is recorded, on its inputs.
TEST(bundle_device, verify_records_the_nodes_of_a_graph_that_fail) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  write_file(folder.file("tiny.json"), tiny_graph().dump());
  break_softmax(kernels, "1.01");
  const std::string target = folder.file("failures");
  for (const char* mode : {"isolated", "chained"}) {
    const Finished finished = run_clam({"verify", "--workload", folder.file("tiny.json"), "--mode",
                                        mode, "--record-failures", target},
                                       {"CLAM_KERNEL_DIR=" + kernels.path(), "CLAM_CACHE_DIR=off"});
    EXPECT_EQ(finished.code, 1) << finished.out << finished.err;
    EXPECT_TRUE(contains(finished.out, "recorded in " + target + "/softmax-")) << finished.out;
    EXPECT_FALSE(contains(finished.out, target + "/dense-")) << finished.out;
    const Finished again = run_clam({"replay", "--all", target});
    EXPECT_EQ(again.code, 1) << again.out << again.err;
    EXPECT_TRUE(contains(again.out, "still fails")) << again.out;
    fs::remove_all(target);
  }
}

TEST(bundle_device, folders_may_be_named_from_here) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  fs::create_directory(folder.file("kernels"));
  std::string text = KernelFiles().get("softmax.cl").text;
  text.replace(text.find("1.0f / "), 7, "1.5f / ");
  write_file(folder.file("kernels/softmax.cl"), text);
  const Finished recorded =
      run_shell("cd " + folder.path() + " && CLAM_KERNEL_DIR=kernels $CLAM record --no-proof '" +
                kSoftmax + "' -o case");
  EXPECT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_EQ(case_of(folder).at("seen").at("outcome"), "wrong") << recorded.out;
}

TEST(bundle_device, a_failing_test_becomes_a_bundle) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.5");
  const auto test = [&](const std::string& kernel_folder) {
    return run_command(
        {fs::read_symlink("/proc/self/exe").string(),
         "--gtest_filter=softmax_device.random_problems_pass"},
        {"CLAM_KERNEL_DIR=" + kernel_folder, "CLAM_CACHE_DIR=off", "GTEST_TOTAL_SHARDS=1",
         "GTEST_SHARD_INDEX=0", "CLAM_TEST_RECORD_FAILURES=" + folder.file("failures")});
  };
  EXPECT_EQ(test("").code, 0);
  EXPECT_FALSE(fs::exists(folder.file("failures")));
  const Finished failed = test(kernels.path());
  EXPECT_EQ(failed.code, 1) << failed.out;
  EXPECT_TRUE(contains(failed.out, "recorded in " + folder.file("failures/softmax-")));
  const Finished again = run_clam({"replay", "--all", folder.file("failures")});
  EXPECT_EQ(again.code, 1) << again.err;
  EXPECT_TRUE(contains(again.out, "still fails")) << again.out;
  EXPECT_FALSE(contains(again.out, "still right")) << again.out;
}

}  // namespace
}  // namespace clam::test
