// SPDX-License-Identifier: MIT
// bundle_test.cpp - bundles as data: what is written is read back, whole, and names nobody.
#include "bundle/bundle.hpp"

#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "bundle/case.hpp"
#include "bundle_runs.hpp"
#include "c_compiler.hpp"
#include "check/npy.hpp"
#include "clam/error.hpp"
#include "runtime/embedded.hpp"
#include "test_errors.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Outcome = Seen::Outcome;
using Role = TensorSpec::Role;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
  Seen crashed, elsewhere, other;
  for (Seen* seen : {&crashed, &elsewhere, &other}) seen->outcome = Outcome::crashed;
  crashed.reason = "/home/ann/mesa/x.c: no", elsewhere.reason = "~/mesa/x.c: no";
  other.reason = "~/mesa/y.c: no";
  EXPECT_TRUE(same_failure(crashed, elsewhere));
  EXPECT_FALSE(same_failure(crashed, other));
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
  EXPECT_THROWS_SAYING(StagedFolder(target, true), BadArgument, "has no case.json");
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
  EXPECT_EQ(
      anonymous("/home/mariner-two/x, /home/jos\xc3\xa9/x, /home/ann@corp.org/x of /home/ann."),
      "~/x, ~/x, ~/x of ~.");
  EXPECT_EQ(anonymous("/home/runner/work, /home/, /home"), "/home/runner/work, /home/, /home");
  ::setenv("HOME", "/home", 1);
  EXPECT_EQ(anonymous("/home/ann/x, /home"), "~/x, /home");
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
  for (const char* name : {"case.json", "README.md"}) {
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

}  // namespace
}  // namespace clam::test
