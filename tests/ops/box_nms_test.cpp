// SPDX-License-Identifier: MIT
#include <cmath>

#include "check/op_proof.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "ops/shared/suppression.hpp"
#include "test_errors.hpp"

namespace clam::box_nms_test {
namespace {

Problem problem_of(const std::string& words) {
  return Problem::parse("box_nms " + words + " dtype=f32");
}

// ---- the problem ----

TEST(box_nms, defaults_are_those_of_mxnet) {
  const Problem problem = problem_of("n=5");
  EXPECT_EQ(problem.text(), "box_nms n=5 dtype=f32");
  EXPECT_EQ(problem.number("iou_threshold"), 0.5f);
  EXPECT_EQ(problem.number("valid_thresh"), 0);
  for (const char* field : {"topk", "id_index", "background_id"}) {
    EXPECT_EQ(problem.integer(field), -1) << field;
  }
  EXPECT_EQ(problem.integer("coord_start"), 2);
  EXPECT_EQ(problem.integer("score_index"), 1);
  EXPECT_EQ(problem.integer("force_suppress"), 0);
  for (const char* field : {"in_format", "out_format"}) {
    EXPECT_EQ(problem.choice(field), "corner") << field;
  }
}

TEST(box_nms, bad_arguments_are_refused_with_their_reason) {
  const struct {
    const char *words, *sentence;
  } faults[] = {
      {"n=5 e=4", "box_nms: e=4, needs at least 5"},
      {"n=5 coord_start=3", "coord_start=3, leaves no room for four coordinates in e=6"},
      {"n=5 score_index=3", "score_index=3, lies among the coordinates"},
      {"n=5 id_index=1", "id_index=1, needs another index than score_index"},
      {"n=5 topk=0", "topk=0, needs 1 or more, or -1 for all rows"},
      {"n=5 topk=-2", "topk='-2', needs -1 to"},
      {"n=5 background_id=0", "background_id=0, needs an id_index"},
      {"n=5 background_id=-2", "background_id=-2, needs an id_index"},
      {"n=5 in_format=centre", "in_format='centre', knows corner center"},
  };
  for (const auto& fault : faults) {
    EXPECT_THROWS_SAYING(problem_of(fault.words), BadArgument, fault.sentence);
  }
  EXPECT_NO_THROW(problem_of("n=5 background_id=0 id_index=0"));
}

// ---- the reference ----

using Rows = std::vector<std::array<double, 6>>;

Tensors inputs_of(const Rows& rows) {
  const auto n = static_cast<std::int64_t>(rows.size());
  Tensors inputs{{"data", HostTensor(Dtype::f32, {1, n, 6})}};
  for (std::int64_t i = 0; i < 6 * n; ++i) {
    inputs.at("data").set(i,
                          rows[static_cast<std::size_t>(i / 6)][static_cast<std::size_t>(i % 6)]);
  }
  return inputs;
}

double value_of(const Expected& expected, std::int64_t i) {
  if (expected.bit_exact()) return expected.exact.get(i);
  return expected.value[static_cast<std::size_t>(i)];
}

/// Expects these rows first, and -1 in all that follow.
void expect_rows(const std::string& words, const Rows& rows, const Rows& first) {
  SCOPED_TRACE(words);
  const Problem problem = problem_of("n=" + std::to_string(rows.size()) + " " + words);
  const Expected out = reference_of(problem, inputs_of(rows), {}).at("out");
  for (std::size_t i = 0; i < 6 * rows.size(); ++i) {
    const double wanted = i / 6 < first.size() ? first[i / 6][i % 6] : -1;
    const auto given = static_cast<float>(value_of(out, static_cast<std::int64_t>(i)));
    if (std::isnan(wanted) && std::isnan(given)) continue;
    EXPECT_FLOAT_EQ(given, static_cast<float>(wanted))
        << "element " << i % 6 << " of row " << i / 6;
  }
}

TEST(box_nms, the_reference_takes_the_example_of_mxnet) {
  const Rows rows{{0, 0.5, 0.1, 0.1, 0.2, 0.2},
                  {1, 0.4, 0.1, 0.1, 0.2, 0.2},
                  {0, 0.3, 0.1, 0.1, 0.14, 0.14},
                  {2, 0.6, 0.5, 0.5, 0.7, 0.8}};
  expect_rows("iou_threshold=0.1 id_index=0 force_suppress=1", rows, {rows[3], rows[0]});
  expect_rows("iou_threshold=0.1 id_index=0", rows, {rows[3], rows[0], rows[1]});
}

TEST(box_nms, the_reference_takes_hand_made_examples) {
  const Rows half{{0, 0.5, 0, 0, 1, 1}, {0, 0.9, 0, 0, 2, 1}, {1, 0.7, 0, 0, 2, 1}};
  expect_rows("id_index=0", half, {half[1], half[2], half[0]});
  expect_rows("id_index=0 iou_threshold=0.49", half, {half[1], half[2]});
  expect_rows("iou_threshold=0.49", half, {half[1]});
  expect_rows("id_index=0 background_id=0", half, {half[2]});
  expect_rows("id_index=0 background_id=1", half, {half[1], half[0]});
  expect_rows("topk=2", half, {half[1]});
  expect_rows("valid_thresh=0.7", half, {half[1]});
  expect_rows("id_index=0 background_id=1 force_suppress=1 iou_threshold=0.4", half, {half[1]});

  const Rows turned{{0, 0.5, 2, 0, 0, 1}, {0, 0.9, 0, 0, 2, 1}, {0, 0.3, 0, 0, 2, 1}};
  expect_rows("", turned, {turned[1], turned[0]});

  const Rows minus{{0, -INFINITY, 0, 0, 1, 1}, {0, NAN, 0, 0, 1, 1}, {0, -3, 2, 2, 3, 3}};
  expect_rows("valid_thresh=-inf", minus, {minus[2], minus[0]});
  expect_rows("valid_thresh=-4", minus, {minus[2]});

  const Rows center{{0, 0.9, 5, 7, 4, 2}, {0, 0.5, 5, 7, 4, 2}, {0, 0.4, 9, 7, 4, 2}};
  expect_rows("in_format=center out_format=center", center, {center[0], center[2]});
  expect_rows("in_format=center", center, {{0, 0.9, 3, 6, 7, 8}, {0, 0.4, 7, 6, 11, 8}});
  expect_rows("out_format=center", {{0, 0.9, 3, 6, 7, 8}}, {{0, 0.9, 5, 7, 4, 2}});
}

TEST(box_nms, rows_of_the_background_are_never_kept_also_where_its_class_is_the_default) {
  const Rows rows{{-1, 0.9, 0, 0, 2, 1}, {0, 0.5, 0, 0, 2, 1},   {-1, 0.4, 4, 0, 6, 1},
                  {1, 0.3, 0, 0, 2, 1},  {NAN, 0.2, 8, 0, 9, 1}, {-0.5, 0.1, 8, 4, 9, 5}};
  const auto expect_kept = [&](const std::string& words, std::initializer_list<int> kept) {
    Rows first;
    for (const int row : kept) first.push_back(rows[static_cast<std::size_t>(row)]);
    expect_rows(words, rows, first);
  };
  expect_kept("", {0, 2, 4, 5});  // without an id_index no row has a class
  expect_kept("id_index=0", {1, 3, 4, 5});
  expect_kept("id_index=0 force_suppress=1", {1, 4, 5});
  expect_kept("id_index=0 topk=2", {1, 3});
  expect_kept("id_index=0 background_id=1", {0, 1, 2, 4, 5});
  expect_kept("id_index=0 background_id=-2", {0, 1, 2, 3, 4, 5});  // the way to keep all classes
}

/// As MXNet does, which compares in the dtype of the data.
TEST(box_nms, a_background_that_half_does_not_hold_is_rounded) {
  const auto background = [](const char* dtype) {
    return box_nms_asks(Problem::parse(std::string("box_nms n=5 id_index=0 background_id=2049 ") +
                                       "dtype=" + dtype))
        .background;
  };
  EXPECT_EQ(background("f32"), 2049);
  EXPECT_EQ(background("f16"), 2048);
}

TEST(box_nms, without_its_own_words_it_is_nms) {
  const Problem ours = problem_of("n=700 id_index=0 topk=300");
  const Problem theirs =
      Problem::parse("nms n=700 dtype=f32 top_k=300 invalid_to_bottom compare=gt");
  Tensors inputs = make_inputs(theirs, find_data_set(find_op("nms"), "every"), test::seed());
  const Reference expected = reference_of(theirs, inputs, {});
  inputs.erase("count");
  EXPECT_TRUE(reference_of(ours, inputs, {}).at("out").exact == expected.at("out").exact);
}

// ---- on a device ----

class box_nms_broken : public test::OpDevice {};

TEST_F(box_nms_broken, broken_forms_of_boxes_are_caught) {
  const test::KernelFault core[] = {
      {"the background is kept", "const bool filtered = background_index >= 0;",
       "const bool filtered = false;", "box_nms n=200 id_index=0 background_id=0", "nms_one",
       "every"},
      {"a background of the default is kept", "const bool filtered = background_index >= 0;",
       "const bool filtered = background_index >= 0 && background >= 0;",
       "box_nms n=1025 topk=40 id_index=0", "nms_mask", "background"},
      {"a turned box is turned back", "if (NMS_TURNED) return", "if (0) return", "box_nms n=250",
       "nms_one", "special"},
      {"sizes are not halved", "half_width = 0.5f * x1", "half_width = x1",
       "box_nms n=200 in_format=center", "nms_one", "every"},
      {"boxes with a corner of center boxes", "#if NMS_CENTER", "#if 0",
       "box_nms n=300 in_format=center", "nms_mask", "every"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(core))
    expect_caught("nms.cl", fault);
  const test::KernelFault output[] = {
      {"not converted", "#if NMS_TO\n  convert", "#if 0\n  convert",
       "box_nms n=200 out_format=center", "nms_one", "every"},
      {"the middle is the corner", "STORE(0.5f * (a + c), out, to);", "STORE(a, out, to);",
       "box_nms n=200 out_format=center", "nms_one", "every"},
      {"the other corner", "STORE(b + 0.5f * d, out, to + 3);", "STORE(b - 0.5f * d, out, to + 3);",
       "box_nms n=200 in_format=center out_format=corner", "nms_one", "every"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(output))
    expect_caught("nms_output.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("box_nms", 16, test::Bits::same,
                              {"batch=3 n=250 id_index=0 background_id=2 out_format=center",
                               "batch=2 n=1100 in_format=center out_format=corner"});

std::string random_case(Random& random) {
  const char* forms[] = {"corner", "center"};
  const int e = random.integer(6, 9), coord = random.integer(0, e - 6);
  const int n = random.integer(1, 600), id = random.integer(0, 1) ? coord + 5 : -1;
  return fmt::format(
      "box_nms batch={} n={} e={} coord_start={} score_index={} id_index={} iou_threshold={:.2f} "
      "valid_thresh={:.2f} topk={} background_id={} force_suppress={} in_format={} out_format={}",
      random.integer(1, 3), n, e, coord, coord + 4, id, random.uniform(), random.uniform(),
      random.integer(0, 1) ? -1 : random.integer(1, 2 * n), id < 0 ? -1 : random.integer(-2, 2),
      random.integer(0, 1), forms[random.integer(0, 1)], forms[random.integer(0, 1)]);
}

const test::RandomProblems random_problems("box_nms", 6, random_case);

}  // namespace
}  // namespace clam::box_nms_test
