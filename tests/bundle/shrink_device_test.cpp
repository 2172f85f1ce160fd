// SPDX-License-Identifier: MIT
// shrink_device_test.cpp - `clam shrink`: faults planted in kernels, and the smallest case of each.
// By the clock of the scripted OpenCL: a search has the time that it needs, or that the test gives
// it.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "break_pack.hpp"
#include "bundle/proof.hpp"
#include "bundle_runs.hpp"
#include "check/npy.hpp"
#include "runtime/embedded.hpp"
#include "scripted.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kDense = "dense m=20 n=64 k=48 dtype=f32 bias act=relu";

using Environment = std::vector<std::string>;

/// A clock on which a launch takes so many seconds; else no time goes by.
Environment slow(double seconds_a_launch) {
  static const scripted::SharedClock clock;
  return clock.on({{"costs", {{{"us", seconds_a_launch * 1e6}}}}});
}

/// The time is never over.
const Environment& ample() {
  static const Environment environment = slow(1e-6);
  return environment;
}

/// `clam record`, which is to succeed.
void recorded(const TemporaryFolder& folder, const std::vector<std::string>& words,
              const TemporaryFolder* kernels = nullptr, const Environment& environment = ample()) {
  const Finished finished = record(folder, words, kernels, environment);
  ASSERT_EQ(finished.code, 0) << finished.out << finished.err;
}

/// On this device alone.
Finished shrink(const TemporaryFolder& folder, std::vector<std::string> words = {},
                const Environment& environment = ample()) {
  words.insert(words.begin(), {"shrink", folder.file("case"), "--no-proof"});
  return run_clam(words, environment);
}

/// The report, where it went well.
json shrunk(const TemporaryFolder& folder, std::vector<std::string> words = {},
            const Environment& environment = ample()) {
  words.insert(words.end(), {"--json", "-"});
  const Finished finished = shrink(folder, words, environment);
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  return parse_out(finished);
}

/// Every file of a folder, byte for byte.
std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    files[entry.path().filename().string()] = read_file(entry.path().string());
  }
  return files;
}

void expect_replay(const TemporaryFolder& folder, const std::string& name,
                   const std::string& verdict, int code) {
  const Finished finished = run_clam({"replay", folder.file(name)}, ample());
  EXPECT_EQ(finished.code, code) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "\n" + verdict)) << finished.out;
}

/// dense_plain with more in its sum where a condition on m, n, row, col and x holds.
void break_dense(const TemporaryFolder& kernels, const std::string& condition) {
  const std::string from = "const float z = fma(alpha, sum,";
  break_kernel(kernels, "dense.cl", from,
               "const float z = fma(alpha, sum + (" + condition + " ? 8.0f : 0.0f),");
}

void record_dense(const TemporaryFolder& folder, const std::string& condition) {
  const TemporaryFolder kernels;
  break_dense(kernels, condition);
  recorded(folder, {kDense, "--variant", "dense_plain"}, &kernels);
}

TEST(shrink_device, the_smallest_extents_at_which_it_is_wrong) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  record_dense(folder, "m >= 5 && n >= 37 && col == 36");
  const auto before = files_of(folder.file("case"));
  const json report = shrunk(folder);
  EXPECT_EQ(report.at("problem").at("to"), "dense m=5 n=37 k=1 dtype=f32");
  EXPECT_EQ(report.at("problem").at("from"), kDense);
  EXPECT_TRUE(report.at("complete"));
  EXPECT_EQ(report.at("seen").at("first_wrong").at("tensor"), "y");
  EXPECT_TRUE(files_of(folder.file("case")) == before);
  const auto after = files_of(folder.file("case-small"));
  EXPECT_EQ(after.at("dense.cl"), before.at("dense.cl"));
  EXPECT_TRUE(contains(after.at("README.md"), fmt::format("Shrunk from `{}`", kDense)));
  EXPECT_TRUE(contains(after.at("README.md"), "- n 64 -> 37\n")) << after.at("README.md");
  EXPECT_EQ(json::parse(after.at("case.json")).at("shrunk").at("from"), kDense);
  expect_replay(folder, "case-small", "still fails", 1);
  write_file(folder.file("case-small/dense.cl"), KernelFiles().get("dense.cl").text);
  expect_replay(folder, "case-small", "fixed", 0);
}

TEST(shrink_scripted, the_value_that_it_takes) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const Problem problem = Problem::parse(kDense);
  const DataSet& set = proof_of(problem).data_sets.front();
  const double guilty = make_inputs(problem, set, 1).at("x").get(13 * 48 + 11);
  ASSERT_NE(guilty, 0);
  const TemporaryFolder kernels;
  // Any element of the row, so that no place in it is known beforehand.
  const std::string from = "const float z = fma(alpha, sum,";
  break_kernel(kernels, "dense.cl", from,
               fmt::format("float more = 0;\n"
                           "  for (int i = 0; i < k; ++i)\n"
                           "    if (x[offx + row * ldx + i] == {:a}f) more = 8;\n"
                           "  const float z = fma(alpha, sum + more,",
                           guilty));
  recorded(folder, {kDense, "--variant", "dense_plain", "--fill", set.name}, &kernels);
  const json report = shrunk(folder);
  EXPECT_EQ(report.at("problem").at("to"), "dense m=1 n=1 k=1 dtype=f32") << report;
  EXPECT_EQ(read_npy(folder.file("case-small/x.npy")).get(0), guilty);
  EXPECT_EQ(read_npy(folder.file("case-small/w.npy")).get(0), 0);
}

TEST(shrink_scripted, inputs_that_were_given_to_constants_and_then_the_extents) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  write_file(kernels.file("softmax.options"), "-cl-mad-enable -DNOT_THERE=1");
  HostTensor src(Dtype::f32, {3, 5});
  for (int i = 0; i < 15; ++i) src.set(i, 0.25 * i);
  write_npy(folder.file("src.npy"), src);
  recorded(folder, {kSoftmax, "--in", "src=" + folder.file("src.npy")}, &kernels);
  const json report = shrunk(folder, {"-o", folder.file("small"), "--single-file"});
  EXPECT_EQ(report.at("problem").at("to"), "softmax shape=1 dtype=f32") << report;
  EXPECT_EQ(read_npy(folder.file("small/src.npy")).get(0), 0);
  const std::string options = read_file(folder.file("small/options.txt"));
  EXPECT_FALSE(contains(options, "NOT_THERE") || contains(options, "-cl-mad-enable")) << options;
  EXPECT_TRUE(contains(options, "-DSOFTMAX")) << options;
  EXPECT_TRUE(contains(read_file(folder.file("small/README.md")), "needs no other file"));
}

/// Two launches of a kernel of others; that which multiplies by 3 gives too much.
void record_two_launches(const TemporaryFolder& folder, float first, float second) {
  Plan plan = scale_plan(4, first);
  plan.tensors.push_back(plan.tensors[1]);
  plan.tensors[2].name = "other";
  plan.launches.push_back(plan.launches[0]);
  plan.launches[1].args[1] = BufferArg{"other"};
  plan.launches[1].args[2] = second;
  write_file(folder.file("plan.json"), to_json(plan).dump());
  std::string text = kScaleSource;
  const std::string product = "dst[i] = src[i] * factor";
  text.insert(text.find(product) + product.size(), " + (factor == 3.0f)");
  write_file(folder.file("scale.cl"), text);
  HostTensor src(Dtype::f32, {4}), dst(Dtype::f32, {4}), other(Dtype::f32, {4});
  for (int i = 0; i < 4; ++i) {
    src.set(i, i);
    dst.set(i, i * static_cast<double>(first));
    other.set(i, i * static_cast<double>(second));
  }
  write_npy(folder.file("src.npy"), src);
  write_npy(folder.file("dst.npy"), dst);
  write_npy(folder.file("other.npy"), other);
  recorded(folder,
           {"--plan", folder.file("plan.json"), "--in", "src=" + folder.file("src.npy"), "--expect",
            "dst=" + folder.file("dst.npy"), "--expect", "other=" + folder.file("other.npy")});
}

TEST(shrink_device, of_two_launches_the_one_that_is_wrong) {
  CLAM_NEEDS_DEVICE();
  for (const bool second : {false, true}) {
    const TemporaryFolder folder;
    record_two_launches(folder, second ? 2 : 3, second ? 3 : 2);
    const json report = shrunk(folder);
    const Bundle small = read_bundle(folder.file("case-small"));
    ASSERT_EQ(small.plan->launches.size(), 1u) << report;
    EXPECT_EQ(std::get<float>(small.plan->launches[0].args[2]), 3);
    EXPECT_EQ(small.expected.count(second ? "other" : "dst"), 1u);
    EXPECT_EQ(small.expected.size(), 1u);
    EXPECT_TRUE(contains(report.at("notes").dump(), "the inputs stay")) << report;
    EXPECT_TRUE(contains(report.at("notes").dump(), "the extents stay")) << report;
    expect_replay(folder, "case-small", "still fails", 1);
  }
}

TEST(shrink_device, a_build_that_fails_to_the_line_that_it_fails_for) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 12; ++i) {
    text += fmt::format(
        "__kernel void f{}(__global int* x) {{\n  const int i = get_global_id(0);\n"
        "  x[i] = {};\n}}\n\n",
        i, i == 7 ? "VALUE" : "OTHER");
  }
  write_file(folder.file("bad.cl"), text);
  recorded(folder, {"--build-only", folder.file("bad.cl"), "--options=-DOTHER=1 -w -DMORE=2"});
  const json report = shrunk(folder);
  const std::string small = read_file(folder.file("case-small/bad.cl"));
  EXPECT_LE(std::count(small.begin(), small.end(), '\n'), 3) << small;
  EXPECT_TRUE(contains(small, "VALUE")) << small;
  EXPECT_TRUE(contains(read_file(folder.file("case-small/build.log")), "VALUE"));
  EXPECT_EQ(report.at("seen").at("outcome"), "build failed");
  const json now = json::parse(read_file(folder.file("case-small/case.json")));
  EXPECT_EQ(now.at("kind"), "build");
  EXPECT_EQ(now.at("options"), "");
  EXPECT_EQ(read_file(folder.file("case/bad.cl")), text);
  expect_replay(folder, "case-small", "still fails", 1);
}

TEST(shrink_scripted, a_plan_that_does_not_build_becomes_a_build) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_kernel(kernels, "softmax.cl", "1.0f / ", "not_there(1.0f) / ");
  recorded(folder, {kSoftmax}, &kernels);
  const scripted::SharedClock clock;  // for about fifty builds
  const json report = shrunk(folder, {"--time", "30"}, clock.on({{"build_ms", 600}}));
  EXPECT_EQ(report.at("problem").at("to"), "build of softmax.cl");
  const std::string small = read_file(folder.file("case-small/softmax.cl"));
  EXPECT_TRUE(contains(small, "not_there")) << small;
  EXPECT_LT(small.size(), KernelFiles().get("softmax.cl").text.size() / 2) << small;
  EXPECT_FALSE(fs::exists(folder.file("case-small/plan.json")));
}

TEST(shrink_scripted, when_the_time_is_over_the_smallest_so_far_is_whole) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  record_dense(folder, "m >= 5 && n >= 37 && col == 36");
  const scripted::SharedClock clock;
  const Finished finished =
      shrink(folder, {"--time", "1", "--times", "1"}, clock.on({{"costs", {{{"us", 0.3e6}}}}}));
  EXPECT_EQ(finished.code, 0) << finished.err;
  // The case itself and the smallest are run, and the step of the last moment.
  EXPECT_GE(clock.passed(), std::chrono::seconds(1));
  EXPECT_LT(clock.passed(), std::chrono::milliseconds(2500));
  EXPECT_TRUE(contains(finished.out, "smallest so far")) << finished.out;
  EXPECT_FALSE(json::parse(read_file(folder.file("case-small/case.json")))
                   .at("shrunk")
                   .at("complete")
                   .get<bool>());
  EXPECT_TRUE(contains(read_file(folder.file("case-small/README.md")), "smaller in more time"));
  expect_replay(folder, "case-small", "still fails", 1);
  // From there it goes on.
  EXPECT_EQ(
      run_clam({"shrink", folder.file("case-small"), "-o", folder.file("least"), "--no-proof"},
               ample())
          .code,
      0);
  const Bundle least = read_bundle(folder.file("least"));
  EXPECT_EQ(least.problem, "dense m=5 n=37 k=1 dtype=f32");
  EXPECT_EQ(least.shrunk->from, kDense);
}

/// The parity of a page that the system picks anew for each process.
TEST(shrink_scripted, one_that_fails_at_times_is_tried_several_times) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  record_dense(folder, "m >= 5 && ((size_t)y >> 14) % 3 == 0 && col == 0");
  const Finished finished =
      shrink(folder, {"--times", "16", "--time", "60", "--json", "-"}, slow(0.7));
  if (finished.code == 0 && contains(finished.out, "\"bundle\": null")) {
    GTEST_SKIP() << "buffers lie at the same place in every process here";
  }
  const json report = parse_out(finished);
  const int runs = report.at("reproduced").at("runs"), wrong = report.at("reproduced").at("wrong");
  if (runs == wrong) GTEST_SKIP() << "buffers lie at the same place in every process here";
  EXPECT_GT(wrong, 0);
  EXPECT_GE(report.at("tries_a_step"), 2);
  EXPECT_EQ(read_bundle(folder.file("case-small")).one_in, (runs + wrong - 1) / wrong);
  EXPECT_LT(Problem::parse(report.at("problem").at("to").get<std::string>()).integer("m"), 20);
}

TEST(shrink_device, what_does_not_fail_here_is_not_shrunk) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  recorded(folder, {kSoftmax}, &kernels);
  const std::string broken = read_file(folder.file("case/softmax.cl"));
  write_file(folder.file("case/softmax.cl"), KernelFiles().get("softmax.cl").text);
  Finished finished = shrink(folder);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(contains(finished.out, "\nfixed  ") && contains(finished.out, "in 3 runs"))
      << finished.out;
  const json recorded_case = case_of(folder);
  json rare = recorded_case;
  rare["one_in"] = 1000;
  write_file(folder.file("case/case.json"), rare.dump());
  finished = shrink(folder, {"--time", "1"}, slow(0.3));
  EXPECT_EQ(finished.code, 1) << finished.err;
  EXPECT_TRUE(contains(finished.out, "\nnot known  ") &&
              contains(finished.out, "that takes 3000 runs, and --time was over"))
      << finished.out;
  write_file(folder.file("case/case.json"), recorded_case.dump());
  write_file(folder.file("case/softmax.cl"), "this is no kernel\n");
  finished = shrink(folder);
  EXPECT_EQ(finished.code, 1) << finished.err;
  EXPECT_TRUE(contains(finished.out, "\nfails differently  ")) << finished.out;
  EXPECT_FALSE(fs::exists(folder.file("case-small")));
  write_file(folder.file("case/softmax.cl"), broken);
  EXPECT_EQ(shrink(folder, {"--time", "1"}, slow(0.3)).code, 0);
  EXPECT_TRUE(fs::exists(folder.file("case-small")));
}

TEST(shrink_scripted, what_was_right_and_fails_now_is_shrunk) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  recorded(folder, {kSoftmax});
  break_softmax(kernels, "1.01");
  write_file(folder.file("case/softmax.cl"), read_file(kernels.file("softmax.cl")));
  const json report = shrunk(folder);
  EXPECT_EQ(report.at("verdict"), "fails now");
  EXPECT_EQ(report.at("problem").at("to"), "softmax shape=1 dtype=f32") << report;
}

TEST(shrink_device, what_cannot_be_shrunk_is_refused) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  expect_refusal(shrink(folder), 2, "is no bundle");
  recorded(folder, {kSoftmax});
  expect_refusal(shrink(folder, {"--force", "-o", folder.file("case/")}), 2, "never changed");
  expect_refusal(shrink(folder, {"-o", folder.file("case/small")}), 2, "never changed");
  expect_refusal(shrink(folder, {"--force", "-o", folder.path()}), 2, "never changed");
  fs::create_directories(folder.file("case-small"));
  expect_refusal(shrink(folder), 2, "is there already");
  const Finished right = shrink(folder, {"-o", folder.file("other")});
  EXPECT_EQ(right.code, 0);
  EXPECT_TRUE(contains(right.out, "\nstill right  ")) << right.out;
  EXPECT_FALSE(fs::exists(folder.file("other")));
  const Finished none = run_clam({"shrink", folder.file("case"), "-o", folder.file("other")},
                                 {"OCL_ICD_VENDORS=/nonexistent", "OCL_ICD_FILENAMES="});
  EXPECT_EQ(none.code, 77) << none.out << none.err;
  EXPECT_FALSE(fs::exists(folder.file("other")));
}

TEST(shrink_device, from_within_the_bundle_it_goes_beside_it) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  recorded(folder, {kSoftmax}, &kernels);
  const auto before = files_of(folder.file("case"));
  for (const char* here : {".", "./", "../case/."}) {
    const Finished finished = run_shell(
        fmt::format("cd '{}' && \"$CLAM\" shrink {} --no-proof --time 1 --times 1 --force",
                    folder.file("case"), here),
        slow(0.3));
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_TRUE(fs::exists(folder.file("case-small/case.json"))) << here;
    EXPECT_TRUE(files_of(folder.file("case")) == before) << here;
    fs::remove_all(folder.file("case-small"));
  }
}

TEST(shrink_device, the_forms_and_notes_of_the_bundle_are_kept_where_they_can_be) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  recorded(folder, {kSoftmax, "--single-file", "--limit", "33"}, &kernels);
  json written = case_of(folder);
  EXPECT_EQ(written.at("limit_s"), 33);
  written["shrunk"] = {
      {"from", "a larger one"}, {"steps", {"n 9 -> 5"}}, {"notes", {"look"}}, {"complete", true}};
  write_file(folder.file("case/case.json"), written.dump());
  ASSERT_EQ(shrink(folder, {"--time", "5"}, slow(0.3)).code, 0);
  const Bundle small = read_bundle(folder.file("case-small"));
  EXPECT_EQ(small.limit_s, 33);
  EXPECT_EQ(small.shrunk->from, "a larger one");
  EXPECT_EQ(small.shrunk->notes.front(), "look");
  EXPECT_TRUE(is_single_file(folder.file("case-small")));
}

TEST(shrink_device, the_smallest_is_run_elsewhere_too) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  recorded(folder, {kSoftmax}, &kernels);
  // A simulator that ends at once: it gets no row, and is asked.
  write_file(folder.file("simulator"),
             fmt::format("#!/bin/sh\necho asked >> {}\nexit 1\n", folder.file("asked")));
  fs::permissions(folder.file("simulator"), fs::perms::owner_all);
  Environment environment = slow(0.3);
  environment.push_back("CLAM_OCLGRIND=" + folder.file("simulator"));
  for (const char* proof : {"--no-proof", "--proof"}) {
    EXPECT_FALSE(fs::exists(folder.file("asked")));
    const Finished finished =
        run_clam({"shrink", folder.file("case"), "--time", "1", "--times", "1", "--force", proof},
                 environment);
    EXPECT_EQ(finished.code, 0) << finished.err;
  }
  if (!contains(run_clam({"info"}).out, "Oclgrind")) {
    EXPECT_TRUE(fs::exists(folder.file("asked")));
  }
}

/// With a signal to the program, while it searches.
TEST(shrink_device, when_it_is_interrupted_the_smallest_so_far_is_whole) {
  CLAM_NEEDS_DEVICE();
  for (const char* signal : {"TERM", "INT"}) {
    const TemporaryFolder folder;
    record_dense(folder, "m >= 5 && n >= 37 && col == 36");
    // Behind the first step, or at the latest when the search would be over.
    const Finished finished = run_shell(
        fmt::format("cd '{}' && {{ env --default-signal=INT \"$CLAM\" shrink case --no-proof "
                    "--times 1 > out & "
                    "for i in $(seq 36000); do sleep 0.1; kill -0 $! || break; grep -q still out "
                    "&& break; done; "
                    "kill -{} $!; wait $!; }}",
                    folder.path(), signal),
        ample());
    EXPECT_EQ(finished.code, 0) << finished.err;
    const std::string out = read_file(folder.file("out"));
    EXPECT_TRUE(contains(out, "interrupted, so this is the smallest so far")) << out;
    EXPECT_FALSE(read_bundle(folder.file("case-small")).shrunk->complete);
    expect_replay(folder, "case-small", "still fails", 1);
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      EXPECT_FALSE(contains(entry.path().filename().string(), ".tmp.")) << entry.path();
    }
  }
}

// ---- kernels that end a process, or never end ----

TEST(shrink_scripted, a_crash_to_the_launch_that_crashes) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_pack(kernels, "if (k >= 6) *(volatile __global int*)8 = 1;");
  recorded(folder, {"dense m=9 n=16 k=12 dtype=f32"}, &kernels);
  const json report = shrunk(folder);
  EXPECT_EQ(report.at("problem").at("to"), "dense m=1 n=1 k=6 dtype=f32") << report;
  const bool dies = runtime().device().type == "cpu";  // a GPU refuses the write
  EXPECT_EQ(report.at("seen").at("outcome"), dies ? "crashed" : "device error");
  const Bundle small = read_bundle(folder.file("case-small"));
  ASSERT_EQ(small.plan->launches.size() + small.plan->pack.size(), 1u) << report;
  EXPECT_EQ(small.plan->launches[0].kernel, "dense_pack_w");
  expect_replay(folder, "case-small", "still fails", 1);
}

TEST(shrink_scripted, a_hang_stays_one) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_pack(kernels, "if (n >= 3) for (volatile int again = 0; again < 2; again = 0)");
  // It takes 1.05 s for each n, argument 2: that of 3 and more is over the limit, and never ends.
  const scripted::SharedClock clock;
  const Environment slow_pack =
      clock.on({{"costs", {{{"kernel", "dense_pack_w"}, {"us", 1.05e6}, {"times_argument", 2}}}}});
  recorded(folder, {"dense m=2 n=4 k=4 dtype=f32", "--limit", "3"}, &kernels, slow_pack);
  const json soon = shrunk(folder, {"--time", "1", "-o", folder.file("soon")}, slow_pack);
  EXPECT_TRUE(contains(soon.at("seen").at("reason").get<std::string>(), "no result for 3 s"));
  // A step that ends within the time of the recording is no hang, whatever --limit says.
  const json report = shrunk(folder, {"--limit", "1", "--time", "41"}, slow_pack);
  EXPECT_TRUE(contains(report.at("seen").at("reason").get<std::string>(), "no result for 3 s"));
  EXPECT_EQ(report.at("reproduced").at("runs"), 1);
  EXPECT_EQ(report.at("seen").at("outcome"), "hung");
  const Problem small = Problem::parse(report.at("problem").at("to").get<std::string>());
  EXPECT_EQ(small.integer("m"), 1) << report;
  EXPECT_EQ(small.integer("n"), 3) << report;
}

TEST(shrink_reference_device, a_process_of_its_own_knows_the_variant) {
  CLAM_NEEDS_DEVICE();
  const std::string problem = "conv2d c=8 h=8 w=8 k=8 r=3 pad=1 dtype=f32";
  const TemporaryFolder folder;
  ASSERT_EQ(record(folder, {problem, "--variant", "conv2d_winograd"}).code, 0);
  std::map<std::string, double> bounds;
  for (const char* variant : {"", "conv2d_winograd"}) {
    const json options{
        {"check", Check::hard}, {"denormals", true}, {"native_exp2_ulp", 0}, {"variant", variant}};
    write_file(folder.file("case/question.json"),
               json{{"problem", problem}, {"options", options}}.dump());
    const Finished finished = run_clam({"shrink", folder.file("case"), "--reference-only"});
    ASSERT_EQ(finished.code, 0) << finished.err;
    bounds[variant] = read_npy(folder.file("case/y.bound.npy")).get(0);
  }
  EXPECT_GT(bounds["conv2d_winograd"], bounds[""]);
}

}  // namespace
}  // namespace clam::test
