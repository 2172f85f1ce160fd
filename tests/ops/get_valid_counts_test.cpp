// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "check/op_proof.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "test_errors.hpp"

namespace clam::get_valid_counts_test {
namespace {

constexpr const char* kOne = "get_valid_counts_one";
constexpr const char* kTwo = "get_valid_counts_two";
constexpr const char* kThree = "get_valid_counts_three";
constexpr const char* kBoxesOfSsd = "get_valid_counts n=122640 dtype=f32 score_threshold=0.01";

const Op& op() { return find_op("get_valid_counts"); }

Problem problem_of(const std::string& words) {
  const bool has_dtype = words.find("dtype=") != std::string::npos;
  return Problem::parse("get_valid_counts " + words + (has_dtype ? "" : " dtype=f32"));
}

std::int64_t valid_rows(const Problem& problem, const char* set, std::uint64_t seed, int item = 0) {
  const Tensors inputs = make_inputs(problem, find_data_set(op(), set), seed);
  const Reference reference = reference_of(problem, inputs, {});
  return static_cast<std::int64_t>(reference.at("count").exact.get(item));
}

// ---- the problem ----

TEST(get_valid_counts, defaults_are_those_of_ssd) {
  const Problem problem = problem_of("n=5");
  EXPECT_EQ(problem.text(), "get_valid_counts n=5 dtype=f32");
  EXPECT_EQ(problem.integer("batch"), 1);
  EXPECT_EQ(problem.integer("e"), 6);
  EXPECT_EQ(problem.number("score_threshold"), 0);
  EXPECT_EQ(problem.integer("id_index"), 0);
  EXPECT_EQ(problem.integer("score_index"), 1);
}

TEST(get_valid_counts, bad_arguments_are_refused_with_their_reason) {
  const struct {
    const char *words, *sentence;
  } faults[] = {
      {"n=5 e=4", "get_valid_counts: e=4, needs at least 5"},
      {"n=5 id_index=6", "id_index=6, needs an index under e=6, or -1 for no class"},
      {"n=5 id_index=-2", "id_index='-2', needs -1 to"},
      {"n=5 score_index=6", "score_index=6, needs an index under e=6"},
      {"n=5 score_index=-1", "score_index='-1', needs 0 to"},
      {"n=5 id_index=1", "id_index=1, needs another index than score_index"},
      {"n=5 score_threshold=nan", "score_threshold='nan', needs a number, inf or -inf"},
      {"n=0", "n='0', needs 1 to 2147483647"},
      {"n=89478486", "n=89478486, makes data of over 2147483647 bytes"},
      {"n=178956971 dtype=f16", "makes data of over 2147483647 bytes"},
      {"batch=100000 n=1000", "makes data of over 2147483647 bytes"},
      {"batch=2147483647 n=2147483647 e=2147483647", "makes data of over 2147483647 bytes"},
  };
  for (const auto& fault : faults) {
    EXPECT_THROWS_SAYING(problem_of(fault.words), BadArgument, fault.sentence);
  }
  EXPECT_NO_THROW(problem_of("n=89478485")) << "the largest";
  EXPECT_NO_THROW(problem_of("n=178956970 dtype=f16"));
}

// ---- the plan ----

TEST(get_valid_counts, the_preferred_variant_follows_n) {
  DeviceInfo device = generic_device();
  device.max_alloc_bytes = 1LL << 31;
  const struct {
    int n;
    const char* variant;
    std::size_t launches;
  } choices[] = {{1, kOne, 1},       {2048, kOne, 1},      {2049, kTwo, 2},
                 {1048576, kTwo, 2}, {1048577, kThree, 3}, {89478485, kThree, 3}};
  for (const auto& choice : choices) {
    const Plan plan = make_plan(problem_of("n=" + std::to_string(choice.n)), device);
    EXPECT_EQ(plan.variant, choice.variant) << choice.n;
    EXPECT_EQ(plan.launches.size(), choice.launches) << choice.n;
  }
}

TEST(get_valid_counts, on_a_cpu_a_third_launch_comes_early) {
  DeviceInfo device = generic_device();
  device.type = "cpu";
  EXPECT_EQ(make_plan(problem_of("n=16384"), device).variant, kTwo);
  EXPECT_EQ(make_plan(problem_of("n=16385"), device).variant, kThree);
  EXPECT_EQ(make_plan(problem_of("n=16385"), device, {kTwo, 0}).variant, kTwo);
}

TEST(get_valid_counts, what_cannot_run_says_why) {
  const DeviceInfo device = generic_device();
  DeviceInfo tiny = device;
  tiny.max_work_group = 8;
  const struct {
    std::string words;
    const char* variant;
    DeviceInfo device;
    const char* reason;
  } refusals[] = {
      {"n=2049", kOne, device, "n=2049 is over 2048: too long for one work-group"},
      {"n=1048577", kTwo, device, "n=1048577 is over 1048576: adding the counts up"},
      {"n=5", "", tiny, "the device has no work-groups of 16 work-items"},
      {"batch=10000000 n=5", kThree, device, "its scratch buffer may need 2560000000 bytes"},
  };
  for (const auto& refusal : refusals) {
    DeviceInfo roomy = refusal.device;
    roomy.max_alloc_bytes = 1LL << 40;
    EXPECT_THROWS_SAYING(make_plan(problem_of(refusal.words), roomy, {refusal.variant, 0}),
                         Unsupported, refusal.reason);
  }
  EXPECT_THROWS_SAYING(make_plan(problem_of("n=5"), device, {"", 15}), Unsupported,
                       "needs work-groups of 16 work-items, not of 15");
}

TEST(get_valid_counts, work_groups_are_legal_and_bounded) {
  const std::map<int, int> sizes{{0, 64},  {16, 16},   {17, 16},   {63, 32},
                                 {64, 64}, {128, 128}, {255, 128}, {1000, 256}};
  for (const auto& [bound, size] : sizes) {
    for (const char* variant : {kTwo, kThree}) {
      const Plan plan = make_plan(problem_of("n=5000"), generic_device(), {variant, bound});
      for (const Launch& launch : plan.launches) EXPECT_EQ(launch.local[0], size) << bound;
    }
  }
  EXPECT_EQ(make_plan(problem_of("n=5"), generic_device()).launches[0].local[0], 256);
  DeviceInfo small = generic_device();
  small.max_work_items[0] = 32;
  EXPECT_EQ(make_plan(problem_of("n=5"), small).launches[0].local[0], 32);
}

TEST(get_valid_counts, rows_are_copied_by_the_widest_step_and_pairs_loaded_where_aligned) {
  const std::map<std::string, std::string> options{
      {"n=5 dtype=f32", "-DGVC_UNIT=8 -DGVC_PAIR=1"},
      {"n=5 e=8 dtype=f32", "-DGVC_UNIT=16 -DGVC_PAIR=1"},
      {"n=5 e=5 dtype=f32", "-DGVC_UNIT=4"},
      {"n=5 id_index=-1 dtype=f32", "-DGVC_UNIT=8"},
      {"n=5 score_index=2 dtype=f32", "-DGVC_UNIT=8"},
      {"n=5 e=5 dtype=f16", "-DGVC_UNIT=2 -DCLAM_F16"},
      {"n=5 dtype=f16", "-DGVC_UNIT=4 -DCLAM_F16"},
      {"n=5 e=8 dtype=f16", "-DGVC_UNIT=16 -DCLAM_F16"}};
  for (const auto& [words, wanted] : options) {
    EXPECT_EQ(make_plan(problem_of(words), generic_device()).launches[0].options,
              "-DGVC_WG=256 " + wanted)
        << words;
  }
}

TEST(get_valid_counts, on_a_cpu_an_item_takes_a_word_of_rows) {
  DeviceInfo device = generic_device();
  device.type = "cpu";
  for (const char* variant : {kTwo, kThree}) {
    for (const Launch& launch : make_plan(problem_of("n=5000"), device, {variant, 0}).launches) {
      EXPECT_NE(launch.options.find(" -DGVC_RUN=32"), std::string::npos) << launch.kernel;
    }
  }
}

// ---- data and reference ----

TEST(get_valid_counts, data_sets_hold_what_they_promise) {
  const Problem problem = problem_of("batch=3 n=5000 score_threshold=0.01");
  EXPECT_EQ(valid_rows(problem, "none", 1), 0);
  EXPECT_EQ(valid_rows(problem, "every", 1), 5000);
  EXPECT_EQ(valid_rows(problem, "one", 1), 1);
  EXPECT_EQ(valid_rows(problem, "few", 1, 2), 400);
  for (int item = 0; item < 3; ++item) {
    EXPECT_NEAR(valid_rows(problem, "mixed", 1, item), 5000 * 0.3 * (1 + item), 200);
  }
  EXPECT_EQ(valid_rows(problem_of("n=300 score_threshold=inf"), "every", 1), 0);
}

TEST(get_valid_counts, the_reference_takes_a_hand_made_example) {
  const Problem problem = problem_of("n=8 e=5 score_threshold=0.5");
  const double rows[8][2] = {{0, 0.5}, {3, 0.6}, {-1, 0.9}, {-0.0, INFINITY},
                             {NAN, 1}, {2, NAN}, {1, 0.4},  {19, 0.51}};
  Tensors inputs{{"data", HostTensor(Dtype::f32, {1, 8, 5})}};
  HostTensor& data = inputs.at("data");
  for (int row = 0; row < 8; ++row) {
    for (int i = 0; i < 5; ++i) data.set(row * 5 + i, i < 2 ? rows[row][i] : 10 * row + i);
  }
  const Reference reference = reference_of(problem, inputs, {});
  EXPECT_EQ(reference.at("count").exact.get(0), 3);
  const int kept[8] = {1, 3, 7, -1, -1, -1, -1, -1};
  for (int place = 0; place < 8; ++place) {
    EXPECT_EQ(reference.at("indices").exact.get(place), kept[place]);
    const double corner = kept[place] < 0 ? -1 : 10 * kept[place] + 4;
    EXPECT_EQ(reference.at("out").exact.get(place * 5 + 4), corner);
  }
  EXPECT_EQ(reference.at("out").exact.bits(5), 0x80000000u) << "-0 is a class, and stays -0";
}

// ---- on a device ----

using get_valid_counts_device = test::OpDevice;

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class get_valid_counts_broken : public test::OpDevice {};

const std::vector<int>& group_sizes() {
  static const std::vector<int> sizes{16, 32, 64, 128, 256};
  return sizes;
}

/// The form of GPUs, an item a row at a time, and that of CPUs, an item a word: any device runs
/// both.
const char* const kForms[] = {"gpu", "cpu"};

Plan plan_of_form(const char* form, const Problem& problem, const PlanOptions& options = {}) {
  DeviceInfo device = test::runtime().device();
  device.type = form;
  return make_plan(problem, device, options);
}

TEST_F(get_valid_counts_device, over_a_million_rows_are_exact) {
  const Problem problem = problem_of("n=1100003");
  const Verification result =
      verify(test::runtime(), problem, find_data_set(op(), "mixed"), test::seed());
  EXPECT_TRUE(result.pass()) << result.reason();
  EXPECT_EQ(result.variant, kThree);
}

/// Whether one run over outputs full of stale bytes gives the reference's bits; it looks at raw
/// bytes, as the test below has little time.
bool same_bits(Trial& trial, const Reference& reference) {
  const cl::CommandQueue& queue = test::runtime().queue();
  for (const auto& [name, expected] : reference) {
    queue.enqueueFillBuffer(trial.bindings().at(name), cl_uchar{0xA5}, 0, expected.exact.bytes());
  }
  trial.enqueue();
  test::runtime().finish();
  for (const auto& [name, expected] : reference) {
    std::vector<std::uint8_t> bytes(expected.exact.bytes());
    queue.enqueueReadBuffer(trial.bindings().at(name), CL_TRUE, 0, bytes.size(), bytes.data());
    if (std::memcmp(bytes.data(), expected.exact.data(), bytes.size()) != 0) return false;
  }
  return true;
}

TEST_F(get_valid_counts_device, a_hundred_runs_in_groups_of_any_size_give_the_same_bits) {
  const std::pair<const char*, Problem> runs[] = {{kOne, problem_of("n=2048")},
                                                  {kTwo, Problem::parse(kBoxesOfSsd)},
                                                  {kThree, Problem::parse(kBoxesOfSsd)}};
  for (const auto& [variant, problem] : runs) {
    const Tensors inputs = make_inputs(problem, proof_of(op()).data_sets[0], test::seed());
    const Reference reference = reference_of(problem, inputs, {});
    for (const int group : group_sizes()) {
      for (const char* form : kForms) {
        Trial trial(test::runtime(), plan_of_form(form, problem, {variant, group}));
        trial.upload(inputs);
        int others = 0;
        for (int run = 0; run < 100; ++run) others += !same_bits(trial, reference);
        EXPECT_EQ(others, 0) << "of 100 runs of " << variant << " in groups of " << group << " "
                             << form;
      }
    }
  }
}

TEST_F(get_valid_counts_device, batch_items_have_counts_of_their_own) {
  for (const char* variant : {kOne, kTwo, kThree}) {
    const Problem problem = problem_of("batch=3 n=1000");
    Trial trial(test::runtime(), problem, {variant, 0});
    trial.upload(make_inputs(problem, proof_of(op()).data_sets[0], test::seed()));
    trial.run();
    const HostTensor count = trial.download().at("count");
    const std::set<double> counts{count.get(0), count.get(1), count.get(2)};
    EXPECT_EQ(counts.size(), 3u) << variant;
  }
}

// ---- the tests can fail ----

struct Breakage {
  const char *what, *from, *to;
  const char *variant, *words, *set;
};

void expect_seen(const Breakage& breakage, const char* form = "gpu") {
  const test::TemporaryFolder folder;
  test::break_kernel(folder, "get_valid_counts.cl", breakage.from, breakage.to);
  const auto broken = test::runtime_with_kernels(folder);
  const Plan plan = plan_of_form(form, problem_of(breakage.words), {breakage.variant, 16});
  const Verification result = verify(*broken, plan, find_data_set(op(), breakage.set), 1);
  EXPECT_FALSE(result.pass()) << breakage.what;
}

TEST_F(get_valid_counts_broken, a_broken_comparison_is_caught) {
  const Breakage breakages[] = {
      {">= for >", "order(score_threshold) + 1", "order(score_threshold)", kOne, "n=300",
       "special"},
      {"a NaN score is valid", " & (order(x) <= INFINITE)", "", kOne, "n=300", "special"},
      {"-0 is no class", "(uint)order(id)", "as_uint(id)", kOne, "n=300", "special"},
      {"the class is not looked at", "is_class(pair.x) & ", "", kOne, "n=300", "mixed"},
      {"the last row is left out", "r < rows", "r + 1 < rows", kOne, "n=300", "every"},
  };
  for (const Breakage& breakage : test::faults_of_this_run(breakages)) expect_seen(breakage);
}

TEST_F(get_valid_counts_broken, a_broken_move_is_caught) {
  const Breakage breakages[] = {
      {"early return", "if (!(word.x & bit)) return;", "if (!(word.x & bit) || row > 200) return;",
       kOne, "n=300", "every"},
      {"the row's own bit is counted", "(bit - 1)", "(bit - 1 | bit)", kOne, "n=300", "few"},
      {"the last step of a row is left out", "end = at + bytes", "end = at + bytes - 8", kOne,
       "n=300", "mixed"},
      {"the words of another group", "(batch * groups + group) * GVC_WORDS",
       "(batch * groups) * GVC_WORDS", kTwo, "n=300", "mixed"},
      {"the group counts itself", "g < group", "g <= group", kTwo, "n=300", "mixed"},
      {"all batch items are the first", "item = batch * n", "item = 0", kOne, "batch=2 n=300",
       "mixed"},
      {"the total comes from the wrong item", "lane == GVC_WG - 1) before", "lane == 0) before",
       kThree, "n=3000", "mixed"},
  };
  for (const Breakage& breakage : test::faults_of_this_run(breakages)) expect_seen(breakage);
}

TEST_F(get_valid_counts_broken, a_broken_word_is_caught) {
  const Breakage breakages[] = {
      {"the last row of a word is not looked at", "i < 32; ++i", "i < 31; ++i", kOne, "n=300",
       "every"},
      {"the last word is not looked at", "if (lane < GVC_WORDS) {\n    uint mask = 0;",
       "masks[lane % GVC_WORDS] = 0;\n  if (lane + 1 < GVC_WORDS) {\n    uint mask = 0;", kTwo,
       "n=300", "every"},
      {"all words are the first", "r = 32 * lane + i", "r = i", kOne, "n=300", "mixed"},
      {"the last row is left out", "r < rows", "r + 1 < rows", kOne, "n=300", "every"},
      {"the lowest row alone", "left &= left - 1", "left = 0", kTwo, "n=300", "mixed"},
      {"a place for the whole word", "place++", "place", kThree, "n=300", "mixed"},
      {"the row behind", "popcount(~left & (left - 1))", "popcount(left ^ (left - 1))", kOne,
       "n=300", "few"},
      {"the words before are not counted", "first = item + before + word.y",
       "first = item + before", kTwo, "n=300", "every"},
      {"a word an item, but in the steps of rows", "GVC_RUN * lane; r", "lane; r", kOne, "n=300",
       "mixed"},
  };
  for (const Breakage& breakage : test::faults_of_this_run(breakages)) expect_seen(breakage, "cpu");
}

TEST_F(get_valid_counts_broken, a_broken_fill_is_caught) {
  const Breakage breakages[] = {
      {"rows are not filled", "((__global uint4*)out)[i] = (uint4)(MINUS_ONES);", ";", kOne,
       "n=301", "mixed"},
      {"indices are not filled", "indices[row] = -1;", ";", kOne, "n=301", "mixed"},
      {"the end is not filled", "if (last + lane < stop)", "if (last + lane < last)", kOne, "n=301",
       "none"},
      {"the count is not written", "if (lane == 0) count[batch] = before;", ";", kOne, "n=301",
       "mixed"},
  };
  for (const Breakage& breakage : test::faults_of_this_run(breakages)) expect_seen(breakage);
}

// ---- for the tests of every op ----

// All cases of the proof, but short ones first, as the first to launch a kernel are run more often.
const test::GroupSizes groups(
    "get_valid_counts", 16, test::Bits::same,
    {"n={2049,2048,2047,1025,1024,1023,513,512,511,257,256,255,129,128,127,65,64,63,33,32,31,7,2,"
     "1}",
     "n=1 e=5", "n=517 id_index=1 score_index=0", "n=517 id_index=-1",
     "n=517 e=7 id_index=6 score_index=2", "n=517 e=5", "n=517 e=5 score_index=0 id_index=-1",
     "n=300 score_threshold={-inf,inf}", "batch=2 n=2311 e=8 score_threshold=0.5",
     "batch=5 n=3 score_threshold=-1", "batch=3 n=1000", "n=122640 score_threshold=0.01"});

std::string random_case(Random& random) {
  const int e = random.integer(5, 9), score_index = random.integer(0, e - 1);
  int id_index = random.integer(-1, e - 1);
  if (id_index == score_index) id_index = -1;
  return fmt::format(
      "get_valid_counts batch={} n={} e={} score_index={} id_index={} score_threshold={:.6f}",
      random.integer(1, 4), random.integer(1, 3000), e, score_index, id_index, random.normal());
}

const test::RandomProblems random_problems("get_valid_counts", 20, random_case);

}  // namespace
}  // namespace clam::get_valid_counts_test
