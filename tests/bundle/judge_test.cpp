// SPDX-License-Identifier: MIT
// judge_test.cpp - what is right where nobody has a reference: drivers that agree, and `clam
// judge`.
#include "judge/judge.hpp"

#include <cmath>
#include <filesystem>

#include "bundle_runs.hpp"
#include "check/npy.hpp"
#include "scripted.hpp"
#include "second_driver.hpp"
#include "watched_runs.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// dst = src / 2 over four elements, with something in dst before.
Bundle halves() {
  Bundle bundle = scale_bundle();
  bundle.judged = false;
  HostTensor src(Dtype::f32, {4}), before(Dtype::f32, {4});
  const double values[] = {0.1, 0.7, 3, 1e4 + 0.5};
  for (int i = 0; i < 4; ++i) src.set(i, values[i]), before.set(i, 7);
  bundle.inputs = {{"src", src}, {"dst", before}};
  return bundle;
}

HostTensor tensor(std::vector<double> values, Dtype dtype = Dtype::f32) {
  HostTensor made(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) made.set(static_cast<std::int64_t>(i), values[i]);
  return made;
}

/// A driver of a platform of its own; `changes`: what nudges change of each element.
Answer answer(const std::string& platform, std::vector<double> values,
              std::vector<double> changes = {0, 0, 0, 0}) {
  Answer made;
  made.device = generic_device();
  made.device.platform = platform;
  made.device.name = "of " + platform;
  std::vector<double> moved = values;
  for (std::size_t i = 0; i < values.size(); ++i) moved[i] += changes[i];
  made.runs = {{{"dst", tensor(values)}}, {{"dst", tensor(moved)}}};
  return made;
}

const std::vector<double> kRight{0.05, 0.35, 1.5, 5000.25};

std::vector<double> off_by(double ratio) {
  std::vector<double> values = kRight;
  values[1] *= 1 + ratio;
  return values;
}

TEST(judge, nudges_move_what_has_a_fraction_one_step_from_zero) {
  Bundle bundle = halves();
  bundle.inputs["src"] = tensor({0.1, -0.7, 3, INFINITY});
  std::set<std::uint32_t> first;
  for (int turn = 1; turn <= 8; ++turn) {
    const Bundle other = nudged(bundle, turn);
    const HostTensor &before = bundle.inputs.at("src"), &after = other.inputs.at("src");
    first.insert(after.bits(0));
    for (const std::int64_t i : {0, 1}) {
      EXPECT_LE(after.bits(i) - before.bits(i), 1u);
      EXPECT_GE(std::fabs(after.get(i)), std::fabs(before.get(i)));
    }
    EXPECT_EQ(after.bits(2), before.bits(2)) << "a whole number may be an index";
    EXPECT_EQ(after.bits(3), before.bits(3));
    EXPECT_EQ(other.plan->launches[0].args.size(), bundle.plan->launches[0].args.size());
  }
  EXPECT_EQ(first.size(), 2u) << "moved in some turns, and not in others";
}

TEST(judge, a_tolerance_is_what_rounding_changes) {
  const Bundle bundle = halves();
  std::vector<double> touched_less = kRight;
  touched_less[2] = 7;
  std::vector<Answer> answers{answer("a", kRight, {0, 1e-3, 0, 0}),
                              answer("b", kRight, {0, 2e-3, 0, 0})};
  const HostTensor bound = tolerances(bundle, answers).at("dst");
  EXPECT_NEAR(bound.get(1), kRoundings * 1e-3, 1e-6) << "the lower median of the drivers";
  const double median = 0.35;  // of 0.05, 0.35, 1.5, 5000.25: the lower one
  EXPECT_NEAR(bound.get(0), kRoundings * 0x1p-24 * median, 1e-9) << "half a step of the median";
  EXPECT_NEAR(bound.get(3), kRoundings * 0x1p-24 * 5000.25, 1e-6) << "half a step of its own";

  answers = {answer("a", touched_less), answer("b", touched_less)};
  EXPECT_EQ(tolerances(bundle, answers).at("dst").get(2), 0) << "what nobody touches stays";
  answers.push_back(answer("c", kRight));
  EXPECT_GT(tolerances(bundle, answers).at("dst").get(2), 0) << "one driver touches it";

  Bundle native = bundle;
  native.kernels["scale.cl"] += "// native_exp\n";
  EXPECT_NEAR(tolerances(native, answers).at("dst").get(3) / bound.get(3),
              kRoundingsOfNative / kRoundings, 1e-3);
}

TEST(judge, a_whole_number_that_hangs_on_a_rounding_is_not_held) {
  Bundle bundle = halves();
  bundle.plan->tensors[1].dtype = Dtype::i32;
  bundle.inputs["dst"] = tensor({7, 7, 7, 7}, Dtype::i32);
  const auto chosen = [](const std::string& platform, std::vector<double> values,
                         std::vector<double> nudged_values) {
    Answer made = answer(platform, kRight);
    made.runs = {{{"dst", tensor(std::move(values), Dtype::i32)}},
                 {{"dst", tensor(std::move(nudged_values), Dtype::i32)}}};
    return made;
  };
  const std::vector<Answer> answers{chosen("a", {1, 2, 3, 4}, {1, 2, 9, 4}),
                                    chosen("b", {1, 2, 9, 4}, {1, 2, 9, 4}),
                                    chosen("c", {1, 5, 3, 4}, {1, 5, 9, 4})};
  const Judgement judgement = judge(bundle, answers);
  ASSERT_TRUE(judgement.decided) << judgement.basis;
  EXPECT_TRUE(judgement.seen[0].right());
  EXPECT_TRUE(judgement.seen[1].right()) << "the third hangs on a rounding";
  ASSERT_TRUE(judgement.seen[2].first_wrong);
  EXPECT_EQ(judgement.seen[2].first_wrong->index, 1);
  EXPECT_TRUE(contains(judgement.basis, "1 of 4 elements hang on a rounding")) << judgement.basis;
}

TEST(judge, most_platforms_decide) {
  const Bundle bundle = halves();
  const auto decided = [&](const std::vector<Answer>& answers) {
    return judge(bundle, answers).decided;
  };
  const std::vector<double> bad = off_by(1e-3);
  EXPECT_TRUE(decided({answer("a", kRight), answer("b", kRight)}));
  EXPECT_FALSE(decided({answer("a", kRight)})) << "one alone";
  EXPECT_FALSE(decided({answer("a", kRight), answer("a", kRight)})) << "of one platform";
  EXPECT_FALSE(decided({answer("a", kRight), answer("b", bad)}));
  EXPECT_FALSE(
      decided({answer("a", kRight), answer("b", kRight), answer("c", bad), answer("d", bad)}));
  const Judgement judgement =
      judge(bundle, {answer("lying", bad), answer("a", kRight), answer("b", off_by(1e-7))});
  ASSERT_TRUE(judgement.decided);
  EXPECT_EQ(judgement.seen[0].outcome, Seen::Outcome::wrong);
  EXPECT_EQ(judgement.seen[0].first_wrong->index, 1);
  EXPECT_TRUE(judgement.seen[1].right());
  EXPECT_TRUE(judgement.seen[2].right()) << "rounding";
  EXPECT_TRUE(contains(judgement.basis, "of a (a), of b (b) agree upon")) << judgement.basis;
  const double spread = std::fabs(judgement.expected.at("dst").get(1) * 1e-7);
  EXPECT_GT(judgement.bounds.at("dst").get(1), spread);
}

TEST(judge, a_crash_is_no_voice_and_a_reference_outweighs_all) {
  const Bundle bundle = halves();
  Answer crashed = answer("c", kRight), absent = answer("d", kRight);
  crashed.runs.clear();
  crashed.seen.outcome = Seen::Outcome::crashed;
  absent.runs.clear();
  absent.cannot = "it is not here";
  const Judgement alone = judge(bundle, {crashed, absent, answer("a", kRight)});
  EXPECT_FALSE(alone.decided);
  EXPECT_TRUE(contains(alone.basis, "One driver alone has a result")) << alone.basis;
  EXPECT_EQ(alone.seen[0].outcome, Seen::Outcome::crashed);
  EXPECT_TRUE(contains(judge(bundle, {crashed}).basis, "No driver has a result"));
  const Judgement nobody = judge(bundle, {crashed}, {{"dst", tensor(kRight)}});
  EXPECT_FALSE(nobody.decided);
  EXPECT_EQ(nobody.seen[0].outcome, Seen::Outcome::crashed);
  const Judgement given = judge(bundle, {answer("a", off_by(1e-3)), answer("b", off_by(1e-3))},
                                {{"dst", tensor(kRight)}});
  ASSERT_TRUE(given.decided);
  EXPECT_EQ(given.seen[0].outcome, Seen::Outcome::wrong);
  EXPECT_EQ(given.seen[1].outcome, Seen::Outcome::wrong);
}

TEST(judge, words_that_may_be_roundings_of_doubles_decide_nothing) {
  Bundle bundle = halves();
  bundle.opaque = {"dst"};
  EXPECT_TRUE(judge(bundle, {answer("a", kRight), answer("b", kRight)}).decided);
  const Judgement differ =
      judge(bundle, {answer("a", kRight), answer("b", kRight), answer("c", off_by(1e-7))});
  EXPECT_FALSE(differ.decided);
  EXPECT_TRUE(contains(differ.basis, "differ in dst, whose doubles or structures")) << differ.basis;
}

TEST(judge, a_platform_of_no_name_has_no_voice) {
  EXPECT_FALSE(judge(halves(), {answer("", kRight), answer("a", kRight)}).decided);
}

// ---- the command ----

/// The program's launches, seen on the board: the driver of the tests, with these lies.
void watch_there(const std::string& target, const json& lies) {
  const Finished watched =
      watch(target, {}, python_program("judged.py"), scripted::on(platform_script("Board", lies)));
  ASSERT_EQ(watched.code, 0) << watched.out << watched.err;
}

Finished judge_there(std::vector<std::string> words, std::vector<std::string> environment = {}) {
  words.insert(words.begin(), {"judge", "--json", "-", "--limit", "1000"});
  if (environment.empty()) environment = {"CLAM_OCLGRIND=off"};
  return run_clam(words, environment);
}

class judge_command_device : public testing::Test {
 protected:
  void SetUp() override {
    CLAM_NEEDS_DEVICE();
    if (!has_pyopencl()) GTEST_SKIP() << kNoPyopencl;
  }
  TemporaryFolder folder_;
  std::string target_ = folder_.file("seen");
};

TEST_F(judge_command_device, five_right_kernels_are_right_on_all_drivers) {
  watch_there(target_, json::array());
  // In the full tests a simulator that shares no code with the driver, and a second real driver.
  std::vector<std::string> words{"--all", target_, "--with", other_platform(folder_, "Other")};
  const bool is_full = std::getenv("CLAM_TEST_FULL");
  std::vector<std::string> environment{is_full ? "CLAM_QUIET=" : "CLAM_OCLGRIND=off"};
  if (is_full && run_command({kWithDriver, "--made", "llvmpipe"}).code == 0) {
    words.insert(words.end(), {"--with", kWithDriver + " llvmpipe"});
  }
  const Finished judged = judge_there(words, environment);
  EXPECT_EQ(judged.code, 0) << judged.out << judged.err;
  const json report = parse_out(judged);
  ASSERT_EQ(report.at("results").size(), 5u);
  for (const json& result : report.at("results")) {
    EXPECT_EQ(result.at("verdict"), "right") << result.dump(1);
    const Bundle bundle = read_bundle(result.at("bundle").get<std::string>());
    EXPECT_TRUE(bundle.judged);
    EXPECT_TRUE(contains(bundle.noted, "agree upon")) << bundle.noted;
    EXPECT_EQ(bundle.given.size(), 1u) << "what the board gave is kept";
  }
  const Finished again = run_clam({"replay", "--all", target_, "--limit", "1000"});
  EXPECT_EQ(again.code, 0) << again.out << again.err;
}

TEST_F(judge_command_device, a_fault_of_one_driver_names_it) {
  watch_there(target_, {misreads("i < k;", "i < k - 1;"),
                        misreads("half_size > 0;", "half_size > 1;"), misreads(".wzyx", ".wzxy"),
                        misreads("2.0f * by", "2.001f * by"), misreads("% TILE", "% 7")});
  const Finished judged =
      judge_there({"--all", target_, "--with", other_platform(folder_, "Other")});
  EXPECT_EQ(judged.code, 1) << judged.out << judged.err;
  const json report = parse_out(judged);
  ASSERT_EQ(report.at("results").size(), 5u);
  for (const json& result : report.at("results")) {
    EXPECT_EQ(result.at("verdict"), "wrong") << result.dump(1);
    for (const json& driver : result.at("drivers")) {
      const bool is_board = driver.at("platform") == "Board";
      EXPECT_EQ(driver.at("seen").at("outcome"), is_board ? "wrong" : "right") << driver.dump(1);
    }
    EXPECT_TRUE(contains(result.at("blame").get<std::string>(), "The kernel is probably right"))
        << result.dump(1);
    const std::string bundle = result.at("bundle").get<std::string>();
    EXPECT_EQ(read_bundle(bundle).seen.outcome, Seen::Outcome::wrong);
    EXPECT_TRUE(contains(read_file(bundle + "/README.md"), "# A wrong result: ")) << bundle;
  }
  // It is judged again from what was given, with the same verdict.
  const std::string first = report.at("results")[0].at("bundle").get<std::string>();
  EXPECT_EQ(judge_there({first, "--with", other_platform(folder_, "Other")}).code, 1);
  EXPECT_EQ(run_clam({"replay", first, "--limit", "1000"}).code, 0) << "the driver here is right";
}

TEST_F(judge_command_device, a_fault_elsewhere_is_named_and_two_alone_decide_nothing) {
  watch_there(target_, json::array());
  const std::string bundle = target_ + "/001-product", before = read_file(bundle + "/case.json");
  const std::string lying =
      other_platform(folder_, "Other", json::array({misreads("i < k;", "i < k - 1;")}));
  const Finished two = judge_there({bundle, "--no-here", "--with", lying});
  EXPECT_EQ(two.code, 1) << two.out << two.err;
  EXPECT_EQ(parse_out(two).at("results")[0].at("verdict"), "undecided");
  EXPECT_EQ(read_file(bundle + "/case.json"), before) << "the bundle stays as it was";
  const Finished three = judge_there({bundle, "--with", lying});
  EXPECT_EQ(three.code, 1) << three.out << three.err;
  EXPECT_EQ(parse_out(three).at("results")[0].at("verdict"), "differs");
  const HostTensor right = read_bundle(bundle).given.at("c");
  HostTensor wrong = right;
  wrong.set(3, right.get(3) + 1);
  write_npy(folder_.file("right.npy"), right);
  write_npy(folder_.file("wrong.npy"), wrong);
  EXPECT_EQ(judge_there({bundle, "--expect", "c=" + folder_.file("right.npy")}).code, 0);
  EXPECT_EQ(judge_there({bundle, "--no-here", "--with", "true", "--expect",
                         "c=" + folder_.file("wrong.npy")})
                .code,
            1)
      << "by numpy alone";
  const Finished given = judge_there({bundle, "--expect", "c=" + folder_.file("wrong.npy")});
  EXPECT_EQ(given.code, 1) << given.out << given.err;
  EXPECT_EQ(parse_out(given).at("results")[0].at("verdict"), "wrong");
}

TEST_F(judge_command_device, what_cannot_be_judged_is_said) {
  expect_refusal(run_clam({"judge"}), 2, "judge what? Give bundles, or --all FOLDER");
  expect_refusal(run_clam({"judge", folder_.path(), "--with", "no-such-program"}), 2,
                 "--with 'no-such-program': there is no such program");
  const Finished none = judge_there({folder_.path()});
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(contains(none.out, "is no bundle")) << none.out;
  watch_there(target_, json::array());
  const std::string bundle = target_ + "/001-product";
  for (const auto& [given, words] : std::map<std::string, std::string>{
           {"c", "write NAME=FILE.npy"}, {"d=x.npy", "there is no tensor 'd' here"}}) {
    const Finished refused = judge_there({bundle, "--expect", given});
    EXPECT_EQ(refused.code, 2);
    EXPECT_TRUE(contains(refused.out, words)) << refused.out;
  }
  const Finished nobody = judge_there({bundle, "--no-here", "--with", "false"});
  EXPECT_EQ(nobody.code, 77) << nobody.out << nobody.err;
  EXPECT_EQ(parse_out(nobody).at("results")[0].at("verdict"), "nobody to ask");
  // A command that starts nothing is no driver that crashes.
  const Finished two = judge_there({bundle, "--with", "false"});
  EXPECT_EQ(two.code, 0) << two.out << two.err;
  const json drivers = parse_out(two).at("results")[0].at("drivers");
  EXPECT_TRUE(
      contains(drivers.back().at("cannot").get<std::string>(), "its command did not start clam"))
      << drivers;
  // The folder that one is in.
  const Finished inside = run_command({"/bin/sh", "-c",
                                       fmt::format("cd {} && {} judge . --with '{}'", bundle,
                                                   CLAM_BINARY, other_platform(folder_, "Other"))},
                                      {"CLAM_OCLGRIND=off"});
  EXPECT_EQ(inside.code, 0) << inside.out << inside.err;
}

}  // namespace
}  // namespace clam::test
