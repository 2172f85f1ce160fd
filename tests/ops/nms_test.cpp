// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstring>

#include "clam/planner.hpp"
#include "every_op.hpp"
#include "faults.hpp"
#include "op_device.hpp"
#include "test_errors.hpp"

namespace clam::nms_test {
namespace {

constexpr const char* kOne = "nms_one";
constexpr const char* kMask = "nms_mask";
constexpr const char* kChunks = "nms_chunks";
constexpr const char* kBoxesOfSsd = "nms n=122640 dtype=f32 iou_threshold=0.45 top_k=400";

const Op& op() { return find_op("nms"); }

Problem problem_of(const std::string& words) {
  const bool has_dtype = words.find("dtype=") != std::string::npos;
  return Problem::parse("nms " + words + (has_dtype ? "" : " dtype=f32"));
}

Tensors inputs_of(const Problem& problem, const char* set, std::uint64_t seed = 1) {
  return make_inputs(problem, find_data_set(op(), set), seed);
}

// ---- the problem ----

TEST(nms, defaults_are_those_of_tvm) {
  const Problem problem = problem_of("n=5");
  EXPECT_EQ(problem.text(), "nms n=5 dtype=f32");
  EXPECT_EQ(problem.number("iou_threshold"), 0.5f);
  for (const char* field : {"max_output_size", "top_k"}) EXPECT_EQ(problem.integer(field), -1);
  for (const char* field : {"force_suppress", "id_index"}) EXPECT_EQ(problem.integer(field), 0);
  EXPECT_EQ(problem.integer("coord_start"), 2);
  EXPECT_EQ(problem.integer("score_index"), 1);
  EXPECT_EQ(problem.choice("compare"), "ge");
  EXPECT_EQ(problem.number("score_min"), 0);
}

TEST(nms, what_means_the_same_is_written_the_same) {
  EXPECT_EQ(problem_of("n=5 top_k=0 max_output_size=-7").text(), "nms n=5 dtype=f32");
  EXPECT_EQ(problem_of("n=5 return_indices invalid_to_bottom").text(),
            "nms n=5 dtype=f32 return_indices");
}

TEST(nms, bad_arguments_are_refused_with_their_reason) {
  const struct {
    const char *words, *sentence;
  } faults[] = {
      {"n=5 e=4", "nms: e=4, needs at least 5"},
      {"n=0", "n='0', needs 1 to 2147483647"},
      {"n=5 coord_start=3", "coord_start=3, leaves no room for four coordinates in e=6"},
      {"n=5 coord_start=-1", "coord_start='-1', needs 0 to"},
      {"n=5 score_index=6", "score_index=6, needs an index under e=6"},
      {"n=5 score_index=3", "score_index=3, lies among the coordinates"},
      {"n=5 id_index=6", "id_index=6, needs an index under e=6, or -1 for no class"},
      {"n=5 id_index=5", "id_index=5, lies among the coordinates"},
      {"n=5 id_index=-2", "id_index='-2', needs -1 to"},
      {"n=5 id_index=1", "id_index=1, needs another index than score_index"},
      {"n=5 force_suppress=2", "force_suppress='2', needs 0 to 1"},
      {"n=5 compare=lt", "compare='lt', knows ge gt"},
      {"n=5 iou_threshold=nan", "iou_threshold='nan', needs a number"},
      {"n=5 score_min=nan", "score_min='nan', needs a number"},
      {"n=89478486", "tensor data of 2147483664 bytes is over the limit"},
      {"batch=2147483647 n=2147483647", "has over 2147483647 elements"},
  };
  for (const auto& fault : faults) {
    EXPECT_THROWS_SAYING(problem_of(fault.words), BadArgument, fault.sentence);
  }
  EXPECT_NO_THROW(problem_of("n=89478485")) << "the largest";
  EXPECT_NO_THROW(problem_of("n=5 id_index=-1 coord_start=0 score_index=4"));
}

TEST(nms, tensors_follow_return_indices) {
  const auto names = [](const Problem& problem) {
    std::string names;
    for (const TensorSpec& spec : op().tensors(problem)) {
      names += spec.name + "[" + to_string(spec.shape) + "] ";
    }
    return names;
  };
  EXPECT_EQ(names(problem_of("batch=2 n=5")), "data[2x5x6] count[2] out[2x5x6] ");
  EXPECT_EQ(names(problem_of("batch=2 n=5 return_indices")),
            "data[2x5x6] count[2] indices[2x5] box_indices[2x5] box_count[2x1] ");
}

// ---- the plan ----

TEST(nms, the_preferred_variant_follows_the_number_of_candidates) {
  const struct {
    const char *words, *variant;
    std::size_t launches;
  } choices[] = {{"n=1", kOne, 2},
                 {"n=256", kOne, 2},
                 {"n=257", kMask, 5},
                 {"n=1024 top_k=256", kOne, 2},
                 {"n=1025 top_k=256", kMask, 5},
                 {"n=122640 top_k=400", kMask, 5},
                 {"n=4096", kMask, 5},
                 {"n=4097", kChunks, 11},
                 {"n=122640", kChunks, 92}};
  for (const auto& choice : choices) {
    const Plan plan = make_plan(problem_of(choice.words), generic_device());
    EXPECT_EQ(plan.variant, choice.variant) << choice.words;
    EXPECT_EQ(plan.launches.size(), choice.launches) << choice.words;
  }
}

TEST(nms, what_cannot_run_says_why) {
  const DeviceInfo device = generic_device();
  DeviceInfo tiny = device, no_local = device, low = device, full = device;
  tiny.max_work_group = 8;
  no_local.local_mem_bytes = 8192;
  low.max_alloc_bytes = 1 << 20;
  full.global_mem_bytes = 3 << 20;
  const struct {
    const char *words, *variant;
    DeviceInfo device;
    const char* reason;
  } refusals[] = {
      {"n=1025", kOne, device, "n=1025 is over 1024: too long for one work-group"},
      {"n=257", kOne, device, "257 candidates are over 256: too many for one work-group"},
      {"n=122640", kMask, device,
       "mask of 122640 candidates would take 1880561792 bytes, over the limit of 2097152"},
      {"n=4096", kMask, low, "mask would take 2097152 bytes, over the limit of 1048576"},
      {"batch=200 n=9", kMask, low, "keys would take 1638400 bytes, over the limit of 1048576"},
      {"n=44000 top_k=9", "", low, "tensor data needs 1056000 bytes"},
      {"n=30000", "", full, "tensors and scratch would take"},
      {"n=4194305", "", device, "4194305 candidates make 1025 chunks, over the limit of 1024"},
      {"n=5", "", tiny, "the device has no work-groups of 16 work-items"},
      {"n=5", "", no_local, "the device has 8192 bytes of local memory, under the 16384 needed"},
  };
  for (const auto& refusal : refusals) {
    SCOPED_TRACE(refusal.words);
    EXPECT_THROWS_SAYING(make_plan(problem_of(refusal.words), refusal.device, {refusal.variant, 0}),
                         Unsupported, refusal.reason);
  }
  EXPECT_THROWS_SAYING(make_plan(problem_of("n=5"), device, {"", 15}), Unsupported,
                       "needs work-groups of 16 work-items, not of 15");
}

TEST(nms, work_groups_are_legal_and_bounded) {
  const struct {
    int bound, sort, rest;
  } sizes[] = {{0, 256, 64}, {16, 16, 16}, {63, 32, 32}, {128, 128, 128}, {1000, 256, 256}};
  for (const auto& size : sizes) {
    const Plan plan =
        make_plan(problem_of("n=5000 top_k=40"), generic_device(), {kMask, size.bound});
    EXPECT_EQ(plan.launches[0].local[0], size.sort) << size.bound;
    for (std::size_t i = 1; i < plan.launches.size(); ++i) {
      EXPECT_EQ(plan.launches[i].local[0], size.rest) << size.bound;
    }
  }
}

TEST(nms, launches_of_a_problem_share_their_options) {
  const Plan plan = make_plan(problem_of("n=5000 compare=gt dtype=f16"), generic_device());
  for (const Launch& launch : plan.launches) {
    EXPECT_EQ(launch.options, launch.file == "nms.cl"
                                  ? "-DNMS_SORT_WG=256 -DNMS_WG=64 -DNMS_GT=1 -DCLAM_F16"
                                  : "-DNMS_WG=64 -DNMS_UNIT=4 -DCLAM_F16");
  }
}

TEST(nms, chunks_are_several_and_no_larger_than_a_mask_may_be) {
  const auto size = [](const char* words, std::int64_t max_alloc) {
    DeviceInfo device = generic_device();
    device.max_alloc_bytes = max_alloc;
    return make_plan(problem_of(words), device, {kChunks, 0}).buffer("dead")->bytes / 4;
  };
  EXPECT_EQ(size("n=65", 1 << 28), 64);
  EXPECT_EQ(size("n=300", 1 << 28), 128);
  EXPECT_EQ(size("n=100000", 1 << 28), 4096);
  EXPECT_EQ(size("n=8192", (1 << 21) - 1), 2048) << "a mask of 4096 takes 2 MiB";
}

TEST(nms, scratch_of_ssd_is_a_megabyte) {
  const Plan plan = make_plan(Problem::parse(kBoxesOfSsd), generic_device());
  std::int64_t sum = 0;
  for (const BufferSpec& buffer : plan.buffers) sum += buffer.bytes;
  EXPECT_EQ(plan.buffer("keys")->bytes, 120 * 1024 * 8);
  EXPECT_EQ(plan.buffer("mask")->bytes, 13 * 416 * 4);
  EXPECT_LT(sum, 1100000);
}

// ---- data and reference ----

TEST(nms, data_sets_hold_what_they_promise) {
  const Problem problem = problem_of("batch=3 n=5000");
  const auto count = [&](const char* set, int item) {
    return inputs_of(problem, set).at("count").get(item);
  };
  EXPECT_EQ(count("none", 0), 0);
  EXPECT_EQ(count("one", 1), 1);
  EXPECT_EQ(count("few", 2), 400);
  EXPECT_EQ(count("every", 0), 5000);
  EXPECT_EQ(count("special", 0), 6000);
  EXPECT_EQ(count("special", 1), -5);
  EXPECT_EQ(count("boxes", 0), 1501);
  EXPECT_EQ(count("boxes", 1), 2037);
  const Tensors boxes = inputs_of(problem, "boxes");
  EXPECT_EQ(boxes.at("data").get(1501 * 6), -1) << "as get_valid_counts fills";
}

/// Rows kept of batch item 0.
std::int64_t kept(const Problem& problem, const Tensors& inputs) {
  const Reference reference = reference_of(problem.with("return_indices", "1"), inputs, {});
  return static_cast<std::int64_t>(reference.at("box_count").exact.get(0));
}

TEST(nms, suppression_happens_in_the_data) {
  const Problem problem = problem_of("n=2000 return_indices");
  const struct {
    const char* set;
    std::int64_t least, most;
  } sets[] = {{"every", 300, 1000}, {"boundary", 1000, 1900}, {"large", 10, 300}, {"few", 80, 350}};
  for (const auto& set : sets) {
    const std::int64_t rows = kept(problem, inputs_of(problem, set.set));
    EXPECT_GE(rows, set.least) << set.set;
    EXPECT_LE(rows, set.most) << set.set;
  }
}

TEST(nms, overlaps_at_the_threshold_are_in_the_data) {
  for (const char* threshold : {"0.5", "0.25", "0.14285715"}) {
    const Problem ge = problem_of(std::string("n=999 return_indices iou_threshold=") + threshold);
    const Tensors inputs = inputs_of(ge, "boundary");
    EXPECT_LT(kept(ge, inputs) + 20, kept(ge.with("compare", "gt"), inputs)) << threshold;
  }
}

TEST(nms, areas_overflow_half_in_the_data) {
  const Tensors inputs = inputs_of(problem_of("n=100 dtype=f16"), "large");
  const HostTensor& data = inputs.at("data");
  for (int row = 0; row < 100; ++row) {
    const auto side = [&](int i) { return data.get(row * 6 + i + 2) - data.get(row * 6 + i); };
    EXPECT_GT(side(2) * side(3), 65504);
  }
}

/// The example of TVM's own tests.
Tensors example_of_tvm(const Problem& problem) {
  constexpr double kRows[5][6] = {{0, 0.8, 1, 20, 25, 45},
                                  {1, 0.7, 30, 60, 50, 80},
                                  {0, 0.4, 4, 21, 19, 40},
                                  {2, 0.9, 35, 61, 52, 79},
                                  {1, 0.5, 100, 60, 70, 110}};
  constexpr int kIndices[5] = {0, 1, 3, 4, -1};
  Tensors inputs{{"data", HostTensor(problem.dtype(), {1, 5, 6})},
                 {"count", HostTensor(Dtype::i32, {1})},
                 {"indices", HostTensor(Dtype::i32, {1, 5})}};
  for (int i = 0; i < 30; ++i) inputs.at("data").set(i, kRows[i / 6][i % 6]);
  for (int i = 0; i < 5; ++i) inputs.at("indices").set(i, kIndices[i]);
  inputs.at("count").set(0, 4);
  return inputs;
}

const char* const kExample = "n=5 iou_threshold=0.7 force_suppress=1 top_k=2";

TEST(nms, the_reference_takes_the_example_of_tvm) {
  const Problem problem = problem_of(kExample);
  const Reference rows = reference_of(problem, example_of_tvm(problem), {});
  const double firsts[5] = {2, 0, -1, -1, -1};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(rows.at("out").exact.get(6 * i), firsts[i]) << i;
  EXPECT_EQ(rows.at("out").exact.get(6 + 5), 45);
  const Problem by_index = problem.with("return_indices", "1");
  const Reference indices = reference_of(by_index, example_of_tvm(problem), {});
  const double mapped[5] = {4, 0, -1, -1, -1};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(indices.at("box_indices").exact.get(i), mapped[i]) << i;
  EXPECT_EQ(indices.at("box_count").exact.get(0), 2);
}

/// Rows (id, score, box) of the hand-made examples below.
Tensors rows_of(std::initializer_list<std::array<double, 6>> rows) {
  const auto n = static_cast<std::int64_t>(rows.size());
  Tensors inputs{{"data", HostTensor(Dtype::f32, {1, n, 6})},
                 {"count", HostTensor(Dtype::i32, {1})},
                 {"indices", HostTensor(Dtype::i32, {1, n})}};
  std::int64_t i = 0;
  for (const auto& row : rows) {
    for (const double value : row) inputs.at("data").set(i++, value);
    inputs.at("indices").set(i / 6 - 1, static_cast<double>(i / 6 - 1));
  }
  inputs.at("count").set(0, static_cast<double>(n));
  return inputs;
}

/// The kept rows in order, as text.
std::string kept_rows(const std::string& words, const Tensors& inputs) {
  const Problem problem =
      problem_of("n=" + std::to_string(inputs.at("indices").size()) + " return_indices " + words);
  const Reference reference = reference_of(problem, inputs, {});
  std::string text;
  for (int i = 0; i < reference.at("box_count").exact.get(0); ++i) {
    text += std::to_string(static_cast<int>(reference.at("box_indices").exact.get(i))) + " ";
  }
  return text;
}

TEST(nms, the_reference_takes_hand_made_examples) {
  const Tensors half = rows_of({{0, 0.5, 0, 0, 1, 1}, {0, 0.9, 0, 0, 2, 1}, {1, 0.7, 0, 0, 2, 1}});
  EXPECT_EQ(kept_rows("", half), "1 2 ") << "an overlap of exactly 1/2";
  EXPECT_EQ(kept_rows("compare=gt", half), "1 2 0 ");
  EXPECT_EQ(kept_rows("force_suppress=1", half), "1 ");
  EXPECT_EQ(kept_rows("id_index=-1", half), "1 ");
  EXPECT_EQ(kept_rows("max_output_size=1", half), "1 ");
  EXPECT_EQ(kept_rows("top_k=2", half), "1 2 ");
  EXPECT_EQ(kept_rows("score_min=0.6", half), "1 2 ");

  const Tensors turned = rows_of({{0, 0.5, 2, 1, 0, 0}, {0, 0.9, 0, 1, 2, 0}});
  EXPECT_EQ(kept_rows("", turned), "1 ") << "corners in any order";

  const Tensors flat = rows_of({{0, 0.5, 0, 0, 0, 5}, {0, 0.9, 0, 0, 0, 5}});
  EXPECT_EQ(kept_rows("", flat), "1 0 ") << "no area, so no overlap";
  EXPECT_EQ(kept_rows("iou_threshold=0", flat), "1 ") << "0 >= 0";
  EXPECT_EQ(kept_rows("iou_threshold=0 compare=gt", flat), "1 0 ");

  const Tensors apart = rows_of({{0, 0.5, 0, 0, 1, 1}, {0, 0.9, 5, 5, 6, 6}});
  EXPECT_EQ(kept_rows("iou_threshold=0", apart), "1 ");

  const Tensors ties = rows_of(
      {{0, -0.0, 0, 0, 1, 1}, {1, 0, 0, 0, 1, 1}, {2, NAN, 0, 0, 1, 1}, {3, 0, 0, 0, 1, 1}});
  EXPECT_EQ(kept_rows("score_min=-1", ties), "0 1 3 ");
  EXPECT_EQ(kept_rows("", ties), "") << "0 is not over 0";

  const Tensors none = rows_of({{NAN, 0.9, 0, 0, 1, 1},
                                {NAN, 0.8, 0, 0, 1, 1},
                                {-0.0, 0.7, 0, 0, 1, 1},
                                {0, 0.6, 0, 0, 1, 1},
                                {0, 0.5, NAN, 0, 1, 1},
                                {0, 0.4, 0, 0, 1, NAN}});
  EXPECT_EQ(kept_rows("", none), "0 1 2 4 5 ") << "NaN is no class, and overlaps nothing";
}

TEST(nms, the_reference_flushes_denormals_like_the_device) {
  const Tensors tiny = rows_of({{0, 0.9, 0, 0, 1e-20, 1e-20}, {0, 0.8, 0, 0, 1e-20, 1e-20}});
  const Problem problem = problem_of("n=2 return_indices");
  EXPECT_EQ(reference_of(problem, tiny, {Check::exact, true}).at("box_count").exact.get(0), 1);
  EXPECT_EQ(reference_of(problem, tiny, {Check::exact, false}).at("box_count").exact.get(0), 2);
}

// ---- faults made on the host ----

TEST(nms, other_rows_and_other_batch_items_are_caught_in_every_set) {
  const Problem problem = problem_of("batch=2 n=300");
  for (const DataSet& set : proof_of(op()).data_sets) {
    SCOPED_TRACE(set.name);
    const Tensors inputs = make_inputs(problem, set, 1);
    const Expected expected = reference_of(problem, inputs, {}).at("out");
    const HostTensor& right = expected.exact;
    if (set.name == "none") continue;  // all rows are equal
    const auto next_row = [](std::int64_t i) { return (i + 6) % 3600; };
    EXPECT_FALSE(compare(test::moved(right, next_row), expected).pass) << "a row too far";
    const auto other_item = [](std::int64_t i) { return (i + 1800) % 3600; };
    EXPECT_FALSE(compare(test::moved(right, other_item), expected).pass) << "another batch item";
    EXPECT_FALSE(compare(inputs.at("data"), expected).pass) << "nothing was done";
  }
}

/// Whether a suppression by other rules gives another result on the data set.
bool tells_apart(const char* words, const char* others, const char* set) {
  const Problem problem = problem_of(words), other = problem_of(others);
  const Tensors inputs = inputs_of(problem, set);
  return reference_of(problem, inputs, {}).at("out").exact.bits(0) != 0x12345678 &&
         !(reference_of(problem, inputs, {}).at("out").exact ==
           reference_of(other, inputs, {}).at("out").exact);
}

TEST(nms, other_rules_give_other_outputs) {
  const char* const others[] = {"n=1000 force_suppress=1",  "n=1000 iou_threshold=0.51",
                                "n=1000 top_k=100",         "n=1000 max_output_size=50",
                                "n=1000 invalid_to_bottom", "n=1000 score_min=0.5"};
  for (const char* words : others) EXPECT_TRUE(tells_apart("n=1000", words, "every")) << words;
  EXPECT_TRUE(tells_apart("n=1000", "n=1000 compare=gt", "boundary"));
}

// ---- on a device ----

using nms_device = test::OpDevice;

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class nms_broken : public test::OpDevice {};

TEST_F(nms_device, the_example_of_tvm) {
  for (const std::string& dtype : dtypes()) {
    for (const char* words : {"", " return_indices", " invalid_to_bottom"}) {
      const Problem problem = problem_of(std::string(kExample) + words + " dtype=" + dtype);
      expect_like_reference(problem, example_of_tvm(problem), Check::exact);
    }
  }
}

TEST_F(nms_device, denormal_coordinates_count_where_the_device_has_them) {
  if (!test::runtime().device().denormals_f32) GTEST_SKIP() << "this device has no denormals";
  const double tiny = std::numeric_limits<float>::denorm_min();
  const Tensors inputs =
      rows_of({{0, 0.9, 0, 0, 64, tiny}, {0, 0.8, 0, 0, 64, tiny}, {0, 0.7, 0, 0, 1, 1}});
  EXPECT_EQ(kept_rows("iou_threshold=0 compare=gt", inputs), "0 ");
  expect_like_reference(problem_of("n=3 iou_threshold=0 compare=gt return_indices"), inputs,
                        Check::exact);
}

TEST_F(nms_device, all_rows_of_ssd_valid_and_no_top_k) {
  const Problem problem = problem_of("n=122640 iou_threshold=0.45");
  for (const char* set : {"few", "every"}) {
    const Verification result =
        verify(test::runtime(), problem, find_data_set(op(), set), test::seed());
    EXPECT_TRUE(result.pass()) << set << ": " << result.reason();
    EXPECT_EQ(result.variant, kChunks);
  }
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

TEST_F(nms_device, a_hundred_runs_in_groups_of_any_size_give_the_same_bits) {
  const std::pair<const char*, Problem> runs[] = {{kOne, problem_of("batch=2 n=256")},
                                                  {kMask, problem_of("batch=2 n=400")},
                                                  {kChunks, problem_of("batch=2 n=400")}};
  for (const auto& [variant, problem] : runs) {
    const Tensors inputs = make_inputs(problem, proof_of(op()).data_sets[0], test::seed());
    const Reference reference = reference_of(problem, inputs, {});
    for (const int group : {16, 64, 256}) {
      Trial trial(test::runtime(), problem, {variant, group});
      trial.upload(inputs);
      int others = 0;
      for (int run = 0; run < 100; ++run) others += !same_bits(trial, reference);
      EXPECT_EQ(others, 0) << "of 100 runs of " << variant << " in groups of " << group;
    }
  }
}

// ---- the tests can fail ----
//
// No fault makes a kernel read a row number that nobody wrote: it could end the process.

TEST_F(nms_broken, broken_numbers_are_caught) {
  const test::KernelFault faults[] = {
      {"ties go to the higher row", "return ~row;", "return row;", "nms n=200", kOne, "equal"},
      {"-0 is lower than 0", "INT_MIN - bits", "INT_MIN - bits - 1", "nms n=200 score_min=-1", kOne,
       "ties"},
      {"a NaN score is kept", " || place > INFINITE", "", "nms n=200", kOne, "special"},
      {"a score of score_min is kept", "order(score_min) + (order(score_min) > -INFINITE)",
       "order(score_min)", "nms n=200", kOne, "ties"},
      {"> for >=", "(a) >= (b)", "(a) > (b)", "nms n=200", kOne, "boundary"},
      {"classes are not looked at", "own_class == rest[j].y", "true", "nms n=200", kOne, "boxes"},
      {"0 / 0 is an overlap", "uni <= 0.0f ? zero : ", "", "nms n=250 id_index=-1", kOne,
       "special"},
      {"counts are not clamped", "clamp(count[set], 0, n)", "min(count[set], n) & 0xFF",
       "nms batch=2 n=256", kOne, "special"},
      {"+1 in widths", "fmin(a.z, b.z) - fmax(a.x, b.x)", "1.0f + fmin(a.z, b.z) - fmax(a.x, b.x)",
       "nms n=200", kOne, "boundary"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("nms.cl", fault);
}

TEST_F(nms_broken, a_broken_single_group_is_caught) {
  const test::KernelFault faults[] = {
      {"the last of 32 is left out", "BITS(28);", "BIT(28) | BIT(29) | BIT(30);", "nms n=200", kOne,
       "every"},
      {"later blocks are not struck", "keys[i] = 0;", ";", "nms n=200", kOne, "every"},
      {"a block does not strike itself", "struck |= own ? row.x : 0;", ";", "nms n=200", kOne,
       "every"},
      {"every batch item is the first", "const uint at = (item * n + row) * e;",
       "const uint at = row * e;", "nms batch=2 n=200", kOne, "every"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("nms.cl", fault);
}

TEST_F(nms_broken, a_broken_mask_is_caught) {
  const test::KernelFault faults[] = {
      {"neighbours change places", "const uint place = set * top + rank;",
       "const uint place = set * top + (rank ^ 1);", "nms n=1200", kMask, "every"},
      {"boxes of another batch item", "boxes[place] = corners", "boxes[rank] = corners",
       "nms batch=2 n=300", kMask, "every"},
      {"a candidate strikes itself", "bits &= 0xFFFFFFFEu << (row & 31);  // only later ones", ";",
       "nms n=300", kMask, "every"},
      {"early return", "  if (row >= end) return;", "  if (row % 32 == 31) return;", "nms n=300",
       kMask, "every"},
      {"words of another batch item", "mask[(set * (size / 32) + word)", "mask[(word)",
       "nms batch=2 n=300", kMask, "every"},
      {"only the last block strikes", "CHUNK_WORDS + w] |=", "CHUNK_WORDS + w] =", "nms n=300",
       kMask, "every"},
      {"the limit is of a block", "first_set(alive, limit - total)", "first_set(alive, limit)",
       "nms n=300 max_output_size=20", kMask, "every"},
      {"kept ones are turned", "popcount(alive & low_bits(r))",
       "popcount(alive & ~low_bits(r)) - 1", "nms n=300 invalid_to_bottom", kMask, "every"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("nms.cl", fault);
}

TEST_F(nms_broken, broken_chunks_are_caught) {
  const test::KernelFault faults[] = {
      {"chunks do not meet", "dead[set * size + column] = hits != 0;",
       "dead[set * size + column] = 0;", "nms n=300", kChunks, "every"},
      {"a chunk meets 32 kept ones only", "begin < total; begin += 32",
       "begin < min(total, 32u); begin += 32", "nms n=300", kChunks, "every"},
      {"kept ones are not added up", "uint total = chunk == 0 ? 0 :", "uint total = true ? 0 :",
       "nms n=300 invalid_to_bottom", kChunks, "every"},
      {"the last candidate is left out", "min(candidates - first, size)",
       "min(candidates - first - 1, size)", "nms n=300", kChunks, "every"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("nms.cl", fault);
}

TEST_F(nms_broken, a_broken_output_is_caught) {
  const test::KernelFault faults[] = {
      {"rows are not filled", "((__global uint4*)out)[i] = (uint4)(MINUS_ONES);", ";", "nms n=200",
       kOne, "boxes"},
      {"the end is not filled", "if (last + lane < stop)", "if (last + lane < last)", "nms n=201",
       kOne, "none"},
      {"suppressed rows are not filled", "dst[i] = (Element)MINUS_ONES;", ";", "nms n=200", kOne,
       "every"},
      {"suppressed rows are copied", " & 1u << (row & 31)", " | 1", "nms n=200", kOne, "every"},
      {"the last step of a row is left out", "end = at + bytes", "end = at + bytes - 8",
       "nms n=200", kOne, "every"},
      {"kept ones are not looked up", "rows[b * top + kept[b * top + i]]", "rows[b * top + i]",
       "nms n=200 return_indices", kOne, "every"},
      {"the count is not written", "box_count[b] = total;", ";", "nms n=200 return_indices", kOne,
       "every"},
      {"indices of another batch item", "indices[b * n + row]", "indices[row]",
       "nms batch=2 n=200 return_indices", kOne, "every"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("nms_output.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("nms", 16, test::Bits::same,
                              {"n=200", "batch=3 n=250 max_output_size=40 return_indices",
                               "batch=2 n=1100 invalid_to_bottom", "n=2049 top_k=300"});

std::string random_case(Random& random) {
  const int e = random.integer(5, 8), coord = random.integer(0, e - 4);
  const auto other = [&](int taken) {
    int index = taken;
    while (index == taken || (index >= coord && index < coord + 4)) {
      index = random.integer(-1, e - 1);
    }
    return index;
  };
  int score = -1;
  while (score < 0) score = other(-1);
  const int n = random.integer(1, 1500);
  return fmt::format(
      "nms batch={} n={} e={} coord_start={} score_index={} id_index={} iou_threshold={:.2f} "
      "top_k={} max_output_size={} score_min={} {}",
      random.integer(1, 4), n, e, coord, score, other(score), random.uniform(),
      random.integer(-1, 2 * n), random.integer(-1, n), random.integer(-1, 0),
      random.integer(0, 1)   ? "return_indices"
      : random.integer(0, 1) ? "invalid_to_bottom"
                             : "");
}

const test::RandomProblems random_problems("nms", 16, random_case);

}  // namespace
}  // namespace clam::nms_test
