// SPDX-License-Identifier: MIT
// bundle_foreign_test.cpp - kernels that are none of clam's as bundles: those in
// tests/bundle/bundles/.
#include <cstring>

#include "bundle_runs.hpp"
#include "c_compiler.hpp"
#include "check/compare.hpp"
#include "check/npy.hpp"
#include "second_driver.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

const std::string kBundles = CLAM_SOURCE_DIR "/tests/bundle/bundles/";
const std::string kTree = kBundles + "tree-get-valid-counts/";

/// Records the other runtime's get_valid_counts in `plan_folder`, with what clam's own makes of the
/// same boxes as what is right.
Finished record_tree(const TemporaryFolder& folder, const std::string& plan_folder) {
  const Problem problem = Problem::parse("get_valid_counts n=1000 dtype=f32 score_threshold=0.01");
  const Tensors inputs = make_inputs(problem, find_data_set(problem, "mixed"), 1);
  std::vector<std::string> words{"--plan", plan_folder + "/plan.json"};
  write_npy(folder.file("data.npy"), inputs.at("data"));
  words.insert(words.end(), {"--in", "data=" + folder.file("data.npy")});
  for (const auto& [name, expected] : reference_of(problem, inputs, {Check::exact})) {
    write_npy(folder.file(name + ".npy"), expected.exact);
    words.insert(words.end(), {"--expect", name + "=" + folder.file(name + ".npy")});
  }
  words.insert(words.end(), {"--force"});
  return record(folder, words);
}

TEST(bundle_foreign_device, another_runtimes_kernel_from_its_plan_to_its_fix) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const Finished right = record_tree(folder, kTree);
  ASSERT_EQ(right.code, 0) << right.err;
  EXPECT_EQ(case_of(folder).at("seen").at("outcome"), "right") << case_of(folder);
  EXPECT_EQ(read_file(folder.file("case/kernel.cl")), read_file(kTree + "kernel.cl"));
  EXPECT_EQ(replay(folder, {"--times", "3"}).code, 0);

  // Every value of a row is its first: wrong, and the same every time.
  const TemporaryFolder theirs;
  std::string kernel = read_file(kTree + "kernel.cl");
  const std::string line = "out[place * e + i] = data[row * e + i];";
  ASSERT_NE(kernel.find(line), kernel.npos);
  kernel.replace(kernel.find(line), line.size(), "out[place * e + i] = data[row * e];");
  write_file(theirs.file("kernel.cl"), kernel);
  write_file(theirs.file("plan.json"), read_file(kTree + "plan.json"));
  ASSERT_EQ(record_tree(folder, theirs.path()).code, 0);
  const json seen = case_of(folder).at("seen");
  EXPECT_EQ(seen.at("outcome"), "wrong");
  EXPECT_EQ(seen.at("first_wrong").at("tensor"), "out") << seen;
  const Finished again = replay(folder);
  EXPECT_EQ(again.code, 1) << again.out;
  EXPECT_TRUE(contains(again.out, "still fails")) << again.out;
  write_file(folder.file("case/kernel.cl"), read_file(kTree + "kernel.cl"));
  const Finished fixed = replay(folder);
  EXPECT_EQ(fixed.code, 0) << fixed.out;
  EXPECT_TRUE(contains(fixed.out, "fixed")) << fixed.out;
}

struct Step {
  float by[2];
  std::int64_t row;
};

constexpr const char* kAddStep = R"(typedef struct { float by[2]; long row; } parts;
__kernel void add_step(__global float* y, const parts s, const char last, __global const float* x) {
  const size_t i = get_global_id(1) * s.row + get_global_id(0);
  y[i] += s.by[0] * x[get_global_id(0)] + s.by[1] + last + get_work_dim();
}
)";

/// A kernel that adds to what is there; its arguments are a structure and a char, its ids begin at
/// (2, 1), and the driver chooses its group.
Plan step_plan() {
  const Step step{{2, 0.5f}, 6};
  BytesArg bytes{std::vector<std::uint8_t>(sizeof step)};
  std::memcpy(bytes.bytes.data(), &step, sizeof step);
  Plan plan;
  plan.problem = "a step";
  plan.tensors = {{"y", TensorSpec::Role::output, Dtype::f32, {18}, {}, 0},
                  {"x", TensorSpec::Role::input, Dtype::f32, {6}, {}, 0}};
  plan.launches = {{"step.cl",
                    "add_step",
                    "",
                    {4, 2, 1},
                    {0, 0, 0},
                    {BufferArg{"y"}, bytes, BytesArg{{0xff}}, BufferArg{"x"}},
                    {2, 1, 0},
                    2}};
  return plan;
}

TEST(bundle_foreign_device, a_launch_of_any_form_adds_to_what_is_there) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_file(folder.file("plan.json"), to_json(step_plan()).dump());
  write_file(folder.file("step.cl"), kAddStep);
  HostTensor x(Dtype::f32, {6}), before(Dtype::f32, {18}), after(Dtype::f32, {18});
  for (int i = 0; i < 6; ++i) x.set(i, i);
  for (int i = 0; i < 18; ++i) {
    const bool is_run = i / 6 >= 1 && i % 6 >= 2;
    before.set(i, 100 * i);
    after.set(i, 100 * i + (is_run ? 2.0 * (i % 6) + 0.5 - 1 + 2 : 0));
  }
  write_npy(folder.file("x.npy"), x);
  write_npy(folder.file("before.npy"), before);
  write_npy(folder.file("after.npy"), after);
  const std::vector<std::string> words{
      "--plan", folder.file("plan.json"),         "--in",     "x=" + folder.file("x.npy"),
      "--in",   "y=" + folder.file("before.npy"), "--expect", "y=" + folder.file("after.npy"),
      "--force"};
  const Finished right = record(folder, words);
  ASSERT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_EQ(case_of(folder).at("seen").at("outcome"), "right") << case_of(folder);
  EXPECT_EQ(replay(folder, {"--times", "2"}).code, 0);
  if (has_compiler()) {
    const Finished alone = run_c(folder.file("case"));
    EXPECT_EQ(alone.code, 0) << alone.out << alone.err;
  }

  // What is there is lost: no bundle may show that as right.
  std::string broken = kAddStep;
  broken.erase(broken.find("+= "), 1);
  write_file(folder.file("step.cl"), broken);
  ASSERT_EQ(record(folder, words).code, 0);
  EXPECT_EQ(case_of(folder).at("seen").at("first_wrong").at("index"), 8) << case_of(folder);
  if (!has_compiler()) return;
  EXPECT_EQ(run_c(folder.file("case")).code, 1);
}

class bundle_abort : public RusticlTest {
 protected:
  /// Records the build of a file, and looks at what came of it again.
  void expect_abort(const std::string& file) const {
    const TemporaryFolder folder;
    const std::string target = folder.file("case");
    const Finished recorded = on_rusticl({"record", "--build-only", kBundles + file, "-o", target});
    ASSERT_EQ(recorded.code, 0) << recorded.out << recorded.err;
    const json written = case_of(folder);
    const std::string driver = written.at("device").at("driver_version");
    if (written.at("seen").at("outcome") == "right") {
      EXPECT_EQ(on_rusticl({"replay", target}).code, 0);
      GTEST_SKIP() << "driver " << driver << " builds it";
    }
    EXPECT_EQ(written.at("seen").at("outcome"), "crashed") << written;
    EXPECT_TRUE(contains(read_file(target + "/driver.log"), "panicked at"));
    const std::string reason = written.at("seen").at("reason");
    EXPECT_TRUE(contains(reason, "; panicked at ")) << reason;
    const std::string page = read_file(target + "/README.md");
    for (const char* words : {"The driver printed", "panicked at", "malioc --opencl half_",
                              "tools/with-driver mali clam replay"}) {
      EXPECT_TRUE(contains(page, words)) << words << "\n" << page;
    }
    const Finished again = on_rusticl({"replay", target});
    EXPECT_EQ(again.code, 1) << again.out;
    EXPECT_TRUE(contains(again.out, "still fails")) << again.out;
    if (!runtime().device().fp16) {
      EXPECT_EQ(run_clam({"replay", target}).code, 77);
    }
    // Elsewhere it would be another crash.
    json moved = written;
    moved["seen"]["reason"] = reason.substr(0, reason.find(';')) + "; panicked at another.rs:1:1";
    write_file(target + "/case.json", moved.dump());
    EXPECT_TRUE(contains(on_rusticl({"replay", target}).out, "fails differently"));
    // The way round: the same in float builds, and the bundle says that it is fixed.
    std::string kernel;
    for (const std::string& name : {std::string("half_exp2.cl"), std::string("half_log.cl")}) {
      if (contains(file, name)) kernel = name;
    }
    std::string text = read_file(target + "/" + kernel);
    const std::size_t argument = text.find("(src[i])");
    ASSERT_NE(argument, text.npos);
    text.replace(argument, 8, "((float)src[i])");
    write_file(target + "/" + kernel, text);
    const Finished fixed = on_rusticl({"replay", target});
    EXPECT_EQ(fixed.code, 0) << fixed.out;
    EXPECT_TRUE(contains(fixed.out, "fixed")) << fixed.out;
  }
};

TEST_F(bundle_abort, exp2_of_half) { expect_abort("half-exp2-abort/half_exp2.cl"); }
TEST_F(bundle_abort, log_of_half) { expect_abort("half-log-abort/half_log.cl"); }

/// Arm's offline compiler is asked where it is: here a stand-in that says what it was given.
TEST(bundle_foreign_device, what_malioc_says_of_a_build_is_kept) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, programs;
  write_file(folder.file("k.cl"), "__kernel void k(__global int* x) { x[0] = 1; }\n");
  write_file(programs.file("malioc"), "#!/bin/sh\necho \"listing of $*\"\n");
  std::filesystem::permissions(programs.file("malioc"), std::filesystem::perms::owner_all);
  const Finished recorded = run_clam(
      {"record", "--no-proof", "--build-only", folder.file("k.cl"), "-o", folder.file("case")},
      {"PATH=" + programs.path() + ":/usr/bin:/bin"});
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_EQ(read_file(folder.file("case/listing.txt")), "listing of --opencl k.cl\n");
  EXPECT_TRUE(contains(read_file(folder.file("case/README.md")), "listing.txt is what it said"));
}

}  // namespace
}  // namespace clam::test
