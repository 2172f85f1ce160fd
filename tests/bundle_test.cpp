// SPDX-License-Identifier: MIT
// bundle_test.cpp - `clam record` and `clam replay`: faults planted on purpose become bundles that
// say so, in clam and by the C program alone, and say that they are fixed when they are.
#include "bundle/bundle.hpp"

#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <sstream>

#include "break_pack.hpp"
#include "bundle/case.hpp"
#include "bundle_runs.hpp"
#include "c_compiler.hpp"
#include "compare.hpp"
#include "embedded.hpp"
#include "error.hpp"
#include "gpu.hpp"
#include "test_errors.hpp"
#include "tiny_graph.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Outcome = Seen::Outcome;
using Role = TensorSpec::Role;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::string kScanInPlace = CLAM_SOURCE_DIR "/tests/probes/gvc-inplace-scan";

void expect_verdict(const TemporaryFolder& folder, const std::string& verdict, int code) {
  const Finished finished = replay(folder);
  EXPECT_EQ(finished.code, code) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "\n" + verdict)) << finished.out << finished.err;
}

/// Compiles replay.c of the folder as the READMEs say, with every warning an error, and runs it.
Finished run_c(const std::string& folder, const std::string& arguments = "") {
  return run_command({"/bin/sh", "-c",
                      "cd " + folder +
                          " && cc -std=c99 -O2 -Wall -Wextra -pedantic -Werror replay.c -o replay "
                          "-lOpenCL -lm && ./replay " +
                          arguments});
}

void expect_c(const TemporaryFolder& folder, int code, const std::string& words) {
  if (!has_compiler()) return;
  const Finished finished = run_c(folder.file("case"));
  EXPECT_EQ(finished.code, code) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, words)) << finished.out << finished.err;
}

void heal(const TemporaryFolder& folder, const std::string& file) {
  write_file(folder.file("case/" + file), KernelFiles().get(file).text);
}

// ---- without a device ----

TEST(bundle, what_was_seen_is_the_same_after_json) {
  Seen crash;
  crash.outcome = Outcome::crashed;
  crash.reason = "signal 11";
  for (const Seen& seen : {Seen(), wrong_at(3, NAN), wrong_at(0, -kInfinity), crash}) {
    const Seen back = seen_from_json(json::parse(to_json(seen).dump()));
    EXPECT_EQ(back.text(), seen.text());
    EXPECT_EQ(back.worst_ratio, seen.worst_ratio);
    EXPECT_TRUE(same_failure(back, seen)) << seen.text();
  }
  EXPECT_THROWS_SAYING(seen_from_json({{"outcome", "odd"}}), BadArgument, "damaged");
}

TEST(bundle, another_element_value_or_outcome_is_another_failure) {
  EXPECT_TRUE(same_failure(wrong_at(3, NAN), wrong_at(3, NAN)));
  EXPECT_FALSE(same_failure(wrong_at(3, 2), wrong_at(4, 2)));
  EXPECT_FALSE(same_failure(wrong_at(3, 2), wrong_at(3, 2.5)));
  Seen hung = wrong_at(3, 2);
  hung.outcome = Outcome::hung;
  EXPECT_FALSE(same_failure(wrong_at(3, 2), hung));
}

TEST(bundle, a_tensor_at_strides_keeps_its_place) {
  const TensorSpec spec{"y", Role::output, Dtype::f32, {2, 2}, {3, 1}, 1};
  HostTensor dense(Dtype::f32, {2, 2});
  for (int i = 0; i < 4; ++i) dense.set(i, i + 1);
  const HostTensor span = in_buffer(spec, dense, 0x7F800000u);
  ASSERT_EQ(span.size(), 6);
  EXPECT_TRUE(std::isinf(span.get(0)) && std::isinf(span.get(3)));
  EXPECT_EQ(span.get(1), 1);
  EXPECT_EQ(span.get(5), 4);
  EXPECT_EQ(from_buffer(spec, span), dense);
}

/// Bounds of a tensor of `dtype` whose elements should be `expected`.
HostTensor bounds_of(Dtype dtype, const Expected& expected) {
  Bundle bundle;
  expect({"y", Role::output, dtype, {static_cast<std::int64_t>(expected.value.size())}, {}, 0},
         expected, bundle);
  return bundle.bounds.at("y");
}

TEST(bundle, bounds_are_rounded_up_and_hold_what_rounding_the_value_takes) {
  Expected expected;
  expected.value = {1.0 / 3, 2, 1e39, 1e39, NAN};
  expected.bound = {1e-9, 0.1, 1e30, 1e39, 0};
  const HostTensor bounds = bounds_of(Dtype::f32, expected);
  const double third = static_cast<float>(1.0 / 3);
  EXPECT_GE(bounds.get(0), 1e-9 + std::fabs(third - 1.0 / 3));
  EXPECT_LT(bounds.get(0), 1.01 * (1e-9 + std::fabs(third - 1.0 / 3)));
  EXPECT_GE(bounds.get(1), 0.1);
  EXPECT_LT(bounds.get(1), 0.1000001);
  EXPECT_EQ(bounds.get(2), 0);          // infinite alone is right
  EXPECT_EQ(bounds.get(3), kInfinity);  // or large
  EXPECT_EQ(bounds.get(4), 0);
}

TEST(bundle, several_right_values_are_all_within_the_bound) {
  Expected expected;
  expected.value = {3, 7, 5};
  expected.bound = {0, 0, 0};
  expected.other = {NAN, 9, NAN};
  expected.also = {{}, {}, {5, 1}};
  const HostTensor bounds = bounds_of(Dtype::i32, expected);
  EXPECT_EQ(bounds.get(0), 0);
  EXPECT_EQ(bounds.get(1), 2);
  EXPECT_EQ(bounds.get(2), 4);
}

TEST(bundle, a_folder_is_whole_or_not_there) {
  const TemporaryFolder folder;
  const std::string target = folder.file("case");
  const auto write = [&](const std::string& text, bool publish) {
    StagedFolder staged(target, true);
    write_file(staged.path() + "/case.json", text);
    if (publish) staged.publish();
  };
  write("1", false);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  write("2", true);
  EXPECT_THROWS_SAYING(StagedFolder(target, false), BadArgument, "there already");
  write("3", false);
  EXPECT_EQ(read_file(target + "/case.json"), "2");
  write("4", true);
  EXPECT_EQ(read_file(target + "/case.json"), "4");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  fs::remove(target + "/case.json");
  write_file(target + "/thesis.txt", "mine");
  EXPECT_THROWS_SAYING(StagedFolder(target, true), BadArgument, "is no bundle");
  EXPECT_THROWS_SAYING(StagedFolder(folder.file("no/where"), false), IoError, "cannot write");
}

TEST(bundle, texts_name_neither_person_nor_machine) {
  const char* home = ::getenv("HOME");
  const std::string before = home ? home : "";
  ::setenv("HOME", "/home/mariner", 1);
  ::setenv("LOGNAME", "mariner", 1);
  EXPECT_EQ(anonymous("/home/mariner/x.cl of mariner: submariner"), "~/x.cl of USER: submariner");
  EXPECT_EQ(anonymous("gnu/home/mariner/.cache /home/mariners"), "gnu~/.cache ~");
  // By sudo, and of a cache that another account filled.
  ::setenv("SUDO_USER", "able-seaman", 1);
  EXPECT_EQ(anonymous("able-seaman: /home/able.2/x, /Users/b/y, a/home/c; /home/, /homes/d"),
            "USER: ~/x, ~/y, a~; /home/, /homes/d");
  ::unsetenv("SUDO_USER");
  ::setenv("HOME", "/data/users/the mariner/", 1);
  EXPECT_EQ(anonymous("'/data/users/the mariner/x.cl'"), "'~/x.cl'");
  const TemporaryFolder folder;
  fs::create_directory(folder.file("disk"));
  fs::create_directory_symlink(folder.file("disk"), folder.file("home"));
  ::setenv("HOME", folder.file("home").c_str(), 1);
  EXPECT_EQ(anonymous(folder.file("disk/x") + ", " + folder.file("home/x")), "~/x, ~/x");
  // An account of every board, which is a word of other texts.
  ::setenv("LOGNAME", "pi", 1);
  EXPECT_EQ(anonymous("2 * pi"), "2 * pi");
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  EXPECT_TRUE(std::string(host).size() < 2 || names_nobody(host) ||
              !contains(anonymous(fmt::format("on {}.", host)), host));
  ::unsetenv("LOGNAME");
  ::setenv("HOME", before.c_str(), 1);
}

TEST(bundle, the_c_program_is_one_short_file) {
  const std::string text(embedded_bundle().front().text);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 400);
  EXPECT_TRUE(std::all_of(text.begin(), text.end(),
                          [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

TEST(bundle, the_c_program_is_one_short_file_of_many_launches_too) {
  for (const int launches : {1, 30, 1000}) {
    const TemporaryFolder folder;
    Bundle bundle = scale_bundle();
    bundle.plan->launches.assign(launches, bundle.plan->launches[0]);
    for (int i = 0; i < launches; ++i) {
      bundle.plan->buffers.push_back(
          {fmt::format("scratch_{}", i), BufferSpec::Role::scratch, 4096});
    }
    write(folder, bundle);
    const std::string text = read_file(folder.file("case/replay.c"));
    EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 400) << launches;
    EXPECT_EQ(contains(text, "\"scratch_0\", SCRATCH, F32, 4096, 0, 0, 0},\n"), launches == 1);
    EXPECT_FALSE(contains(text, "\n\n\n"));
    if (!has_compiler()) continue;
    const std::string cc = "cc -std=c99 -O0 -Wall -Wextra -pedantic -Werror -c -o /dev/null ";
    const Finished built = run_command({"/bin/sh", "-c", cc + folder.file("case/replay.c")});
    EXPECT_EQ(built.code, 0) << built.err;
  }
}

TEST(bundle, is_read_back_as_it_was) {
  const TemporaryFolder folder;
  const Bundle bundle = scale_bundle();
  write(folder, bundle);
  const Bundle back = read_bundle(folder.file("case"));
  EXPECT_EQ(to_text(*back.plan), to_text(*bundle.plan));
  EXPECT_EQ(back.kernels, bundle.kernels);
  EXPECT_EQ(back.inputs, bundle.inputs);
  EXPECT_EQ(back.expected, bundle.expected);
  EXPECT_TRUE(back.bounds.empty());
  EXPECT_TRUE(back.device == bundle.device);
}

TEST(bundle, damaged_ones_are_refused_with_a_sentence) {
  const TemporaryFolder folder;
  write(folder, scale_bundle());
  const std::string path = folder.file("case");
  const auto refused = [&](const std::string& words) {
    EXPECT_THROWS_SAYING(read_bundle(path), BadArgument, words);
    EXPECT_EQ(replay(folder).code, 2);
  };
  fs::remove(path + "/scale.cl");
  refused("scale.cl");
  write_file(path + "/scale.cl", kScaleSource);
  const std::string plan = read_file(path + "/plan.json");
  std::string elsewhere = plan;
  elsewhere.replace(elsewhere.find("\"scale.cl"), 1, "\"../");
  write_file(path + "/plan.json", elsewhere);
  refused("'../scale.cl': a bundle has its kernels in files such as kernel.cl");
  write_file(path + "/plan.json", plan);
  write_npy(path + "/src.npy", HostTensor(Dtype::f32, {3}));
  refused("4 elements of f32 are needed");
  write_file(path + "/case.json", "{\"clam_bundle\": 2}");
  refused("a newer clam wrote it (of no version): this one reads version 1, not 2");
  write_file(path + "/case.json", "{\"clam_bundle\": 0}");
  refused("no case of a bundle");
  write_file(path + "/case.json", "{\"clam_bundle\": 1}");
  refused("damaged");
  fs::remove(path + "/case.json");
  refused("it has no case.json");
}

TEST(bundle, a_new_one_takes_the_place_of_another_whole) {
  const TemporaryFolder folder;
  write(folder, scale_bundle());
  write_file(folder.file("case/left.txt"), "of the old one");
  {
    StagedFolder unfinished(folder.file("case"), true);
    write_case(unfinished.path(), scale_bundle());
  }
  EXPECT_TRUE(fs::exists(folder.file("case/left.txt")));
  StagedFolder finished(folder.file("case"), true);
  write_case(finished.path(), scale_bundle());
  finished.publish();
  EXPECT_FALSE(fs::exists(folder.file("case/left.txt")));
  EXPECT_EQ(read_bundle(folder.file("case")).problem, scale_bundle().problem);
  const fs::directory_iterator entries(folder.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);  // nothing is left beside it
}

TEST(bundle, the_simulators_file_has_one_launch_without_half) {
  Bundle bundle = scale_bundle();
  const std::string sim = sim_text(bundle);
  EXPECT_TRUE(contains(sim, "\nscale.cl\nscale\n16 1 1\n16 1 1\n")) << sim;
  EXPECT_TRUE(contains(sim, "<size=16 float>\n0 3 6 9\n")) << sim;
  EXPECT_TRUE(contains(sim, "dump>")) << sim;
  Bundle other = scale_bundle();
  other.plan->launches[0].args[1] = BufferArg{"src"};
  EXPECT_THROWS_SAYING(sim_text(other), BadArgument, "cannot be one buffer, as src is");
  other = scale_bundle();
  other.plan->launches[0].options = "-DNAME='a b'";
  EXPECT_TRUE(contains(sim_text(other), R"( --build-options '-DNAME='\''a b'\''' kernel.sim)"))
      << sim_text(other);
  bundle.plan->launches.push_back(bundle.plan->launches.front());
  EXPECT_THROWS_SAYING(sim_text(bundle), BadArgument, "one launch");
  bundle.plan->launches.pop_back();
  bundle.plan->tensors[0].dtype = Dtype::f16;
  EXPECT_THROWS_SAYING(sim_text(bundle), BadArgument, "no half");
}

TEST(bundle, a_kernel_that_turns_half_on_needs_it) {
  const std::string pragma = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";
  Bundle bundle = scale_bundle();
  bundle.device.fp16 = true;
  EXPECT_FALSE(bundle.needs_fp16());
  bundle.kernels["scale.cl"] = pragma + kScaleSource;
  EXPECT_TRUE(bundle.needs_fp16());
  bundle.kernels["scale.cl"] = "#ifdef cl_khr_fp16\n" + pragma + "#endif\n" + kScaleSource;
  EXPECT_FALSE(bundle.needs_fp16());
  bundle.kernels["scale.cl"] = KernelFiles().get("softmax.cl").text;
  EXPECT_FALSE(bundle.needs_fp16());
}

TEST(bundle, names_of_tensors_are_names_of_files) {
  Bundle bundle = scale_bundle();
  bundle.plan->tensors[0].name = "../src";
  const TemporaryFolder folder;
  EXPECT_THROWS_SAYING(write(folder, bundle), BadArgument, "files of this name");
}

TEST(bundle, what_cannot_be_recorded_is_refused) {
  const TemporaryFolder folder;
  expect_refusal(run_clam({"record", kSoftmax}), 2, "record where?");
  expect_refusal(record(folder, {}), 2, "record what?");
  expect_refusal(record(folder, {kSoftmax, "--build-only", "x.cl"}), 2, "one of the three");
  expect_refusal(record(folder, {kSoftmax, "--options=-DX"}), 2, "--options goes with");
  expect_refusal(record(folder, {"dense m=4096 n=4096 k=4096 dtype=f32"}), 2,
                 "a bundle may have 64: take a smaller problem");
  expect_refusal(run_clam({"replay"}), 2, "replay what?");
  expect_refusal(run_clam({"replay", "--all", folder.path()}), 2, "has no bundles in it");
  expect_refusal(run_clam({"replay", "--all", folder.file("none")}), 2, "is no folder");
  write(folder, scale_bundle());
  expect_refusal(run_clam({"replay", "--all", folder.file("case")}), 2,
                 "is a bundle itself: clam replay " + folder.file("case"));
  // What a process leaves that is killed while it records.
  fs::rename(folder.file("case"), folder.file("case.tmp.abcdef"));
  expect_refusal(run_clam({"replay", "--all", folder.path()}), 2, "has no bundles in it");
  expect_refusal(run_clam({"record", kSoftmax, "-o", folder.file("none/case")}), 2,
                 "make the folder " + folder.file("none") + " first");
  for (const char* name : {"case.json", "README.md", "piglit.cl"}) {
    write_file(folder.file(name), "__kernel void f() {}");
    expect_refusal(run_clam({"record", "--build-only", folder.file(name), "-o", folder.file("b")}),
                   2, "': a bundle has its kernels in files such as kernel.cl");
  }
  fs::create_directories(folder.file("case"));
  expect_refusal(record(folder, {kSoftmax}), 2, "is there already");
}

TEST(bundle, without_a_device_nothing_is_run) {
  const TemporaryFolder folder;
  write(folder, scale_bundle());
  const std::vector<std::string> no_opencl{"OCL_ICD_VENDORS=/nonexistent", "OCL_ICD_FILENAMES="};
  const Finished finished = run_clam({"replay", folder.file("case")}, no_opencl);
  EXPECT_EQ(finished.code, 77) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "cannot run here")) << finished.out;
  EXPECT_EQ(run_clam({"record", kSoftmax, "-o", folder.file("new")}, no_opencl).code, 77);
  EXPECT_FALSE(fs::exists(folder.file("new")));
}

// ---- with a device ----

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
  expect_verdict(folder, "still fails", 1);
  expect_c(folder, 1, "FAIL: dst[0] is");
  break_softmax(others, "1.5");
  write_file(folder.file("case/softmax.cl"), read_file(others.file("softmax.cl")));
  expect_verdict(folder, "fails differently", 1);
  expect_c(folder, 1, "FAIL: dst[0] is");
  heal(folder, "softmax.cl");
  expect_verdict(folder, "fixed", 0);
  expect_c(folder, 0, "PASS");
}

TEST(bundle_device, a_right_result_is_recorded_too) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  const Finished recorded = record(folder, {kSoftmax});
  EXPECT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_TRUE(contains(recorded.out, "nothing is wrong here")) << recorded.out;
  expect_verdict(folder, "still right", 0);
  expect_c(folder, 0, "PASS");
  break_softmax(kernels, "1.01");
  write_file(folder.file("case/softmax.cl"), read_file(kernels.file("softmax.cl")));
  expect_verdict(folder, "fails now", 1);
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
    expect_verdict(folder, "still right", 0);
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
    expect_verdict(folder, "cannot run here", 77);
    return expect_c(folder, 2, "CANNOT RUN: there is no cl_khr_fp16");
  }
  break_softmax(kernels, "1.5");
  EXPECT_EQ(record(folder, {problem}, &kernels).code, 0);
  EXPECT_EQ(case_of(folder).at("seen").at("outcome"), "wrong");
  expect_verdict(folder, "still fails", 1);
  expect_c(folder, 1, "FAIL: dst[0] is");
  heal(folder, "softmax.cl");
  expect_verdict(folder, "fixed", 0);
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
  const Tensors inputs = make_inputs(problem, find_data_set(problem.op(), "mixed"), 1);
  const Reference reference = problem.op().reference(problem, inputs, {Check::exact});
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
    expect_verdict(folder, "still fails", 1);
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
  // Programs that this process built have its own home in them, if that is not the account's.
  const std::vector<std::string> environment{"HOME=" + home, "USER=mariner", "LOGNAME=mariner",
                                             "CLAM_CACHE_DIR=off"};
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
  expect_verdict(folder, "still fails", 1);
  expect_c(folder, 1, "FAIL: clBuildProgram: bad.cl");
  write_file(folder.file("case/bad.cl"), "__kernel void f(__global int* x) { x[0] = OTHER; }\n");
  expect_verdict(folder, "fixed", 0);
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

TEST(bundle_device, the_simulator_runs_its_file) {
  CLAM_NEEDS_DEVICE();
  if (run_command({"/bin/sh", "-c", "command -v oclgrind-kernel"}).code != 0) {
    GTEST_SKIP() << "there is no oclgrind-kernel";
  }
  const TemporaryFolder folder;
  ASSERT_EQ(record(folder, {kSoftmax, "--format", "oclgrind"}).code, 0);
  const std::string sim = read_file(folder.file("case/kernel.sim"));
  const std::string command = sim.substr(2, sim.find('\n') - 2);
  const Finished finished =
      run_command({"/bin/sh", "-c", "cd " + folder.file("case") + " && " + command});
  EXPECT_EQ(finished.code, 0) << command << finished.out << finished.err;
  const HostTensor expected = read_npy(folder.file("case/dst.expected.npy"));
  EXPECT_TRUE(contains(finished.out, fmt::format("dst[0] = {:.4f}", expected.get(0)).substr(0, 12)))
      << finished.out << finished.err;
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

// ---- kernels that end a process, or never end ----

constexpr const char* kDense = "dense m=9 n=16 k=12 dtype=f32";

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
  expect_verdict(folder, "still fails", 1);
  if (has_compiler()) {
    const int code = run_c(folder.file("case")).code;
    EXPECT_TRUE(dies ? code > 2 : code == 1) << code;
  }
  heal(folder, "dense.cl");
  expect_verdict(folder, "fixed", 0);
}

TEST(bundle_broken, what_a_compiler_says_before_it_aborts_is_kept) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_file(folder.file("fine.cl"), "__kernel void fine(__global int* dst) { dst[0] = 1; }\n");
  const auto record_as = [&](const std::string& name) {
    const Finished finished =
        run_clam({"record", "--build-only", folder.file("fine.cl"), "-o", folder.file(name)},
                 {"LD_PRELOAD=" CLAM_LYING_OPENCL, "CLAM_TEST_LIE=compiler-aborts",
                  "ASAN_OPTIONS=verify_asan_link_order=0", "SOURCE_DATE_EPOCH=1"});
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
  return {"LD_PRELOAD=" CLAM_LYING_OPENCL, "CLAM_TEST_LIE=wrong-now-and-then",
          "CLAM_TEST_LIE_COUNT=" + folder.file("count-" + run),
          "ASAN_OPTIONS=verify_asan_link_order=0"};
}

TEST(bundle_broken, a_fault_that_comes_now_and_then_is_waited_for) {
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

TEST(bundle_broken, a_fault_that_comes_now_and_then_is_replayed_as_often_as_that_takes) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string path = folder.file("case");
  run_clam({"record", kDense, "--fill", "positive", "--no-proof", "--times", "20", "-o", path},
           wrong_now_and_then(folder, "record"));
  EXPECT_TRUE(contains(replay(folder, {}).out, "0 of 9 runs wrong"));
  EXPECT_TRUE(contains(replay(folder, {"--times", "2"}).out, "0 of 2 runs wrong"));
  const auto proof_says = [&](const std::string& words) {
    return contains(read_file(folder.file("case/README.md")), words);
  };
  replay(folder, {"--times", "2", "--add-proof"});
  EXPECT_TRUE(proof_says("| right (9 runs) |"));
  const Finished wrong =
      run_clam({"replay", path, "--add-proof"}, wrong_now_and_then(folder, "replay"));
  EXPECT_TRUE(contains(wrong.out, "still fails") && contains(wrong.out, "3 of 9 runs wrong"))
      << wrong.out;
  EXPECT_TRUE(proof_says(" (in run 3) |"));
  replay(folder, {"--add-proof"});
  EXPECT_TRUE(proof_says(" (in run 3) |"));
}

TEST(bundle_broken, a_hang_is_an_outcome) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_pack(kernels, "for (volatile int again = 0; again < 2; again = 0)");
  const Finished recorded = record(folder, {kDense, "--limit", "5"}, &kernels);
  EXPECT_EQ(recorded.code, 0) << recorded.out << recorded.err;
  EXPECT_EQ(case_of(folder).at("seen").at("outcome"), "hung");
  EXPECT_TRUE(contains(read_file(folder.file("case/README.md")),
                       "Where it was recorded it was ended after 5 s."));
  const Finished again = replay(folder, {"--limit", "5"});
  EXPECT_EQ(again.code, 1) << again.out << again.err;
  EXPECT_TRUE(contains(again.out, "still fails")) << again.out;
}

}  // namespace
}  // namespace clam::test
