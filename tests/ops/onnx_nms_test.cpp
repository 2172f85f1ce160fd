// SPDX-License-Identifier: MIT
#include <cmath>

#include "check/op_proof.hpp"
#include "check/ops/shared/box_sets.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "ops/shared/suppression.hpp"
#include "test_errors.hpp"

namespace clam::onnx_nms_test {
namespace {

const Op& op() { return find_op("onnx_nms"); }

Problem problem_of(const std::string& words) {
  return Problem::parse("onnx_nms " + words + " dtype=f32");
}

// ---- the problem ----

TEST(onnx_nms, defaults_are_those_of_onnx) {
  const Problem problem = problem_of("classes=2 n=5");
  EXPECT_EQ(problem.text(), "onnx_nms classes=2 n=5 dtype=f32");
  EXPECT_EQ(problem.integer("max_output"), 0);
  EXPECT_EQ(problem.number("iou_threshold"), 0);
  EXPECT_EQ(problem.number("score_threshold"), -INFINITY);
  EXPECT_FALSE(problem.flag("center"));
}

TEST(onnx_nms, bad_arguments_are_refused_with_their_reason) {
  const struct {
    const char *words, *sentence;
  } faults[] = {
      {"n=5", "onnx_nms: classes is missing"},
      {"classes=0 n=5", "classes='0', needs 1 to 2147483647"},
      {"classes=1 n=5 max_output=-1", "max_output='-1', needs 0 to"},
      {"classes=1 n=5 iou_threshold=1.5", "iou_threshold=1.5, needs 0 to 1"},
      {"classes=1 n=5 iou_threshold=-0.5", "iou_threshold=-0.5, needs 0 to 1"},
      {"classes=1 n=5 iou_threshold=nan", "iou_threshold='nan', needs a number"},
      {"batch=60000 classes=60000 n=9", "has over 2147483647 elements"},
  };
  for (const auto& fault : faults) {
    EXPECT_THROWS_SAYING(problem_of(fault.words), BadArgument, fault.sentence);
  }
}

TEST(onnx_nms, the_output_holds_all_that_may_be_selected) {
  const struct {
    const char* words;
    std::int64_t rows;
  } outputs[] = {{"batch=2 classes=3 n=10 max_output=4", 24},
                 {"batch=2 classes=3 n=10 max_output=400", 60},
                 {"batch=2 classes=3 n=10", 1}};
  for (const auto& output : outputs) {
    EXPECT_EQ(op().tensors(problem_of(output.words))[2].shape, (Shape{output.rows, 3}))
        << output.words;
  }
}

TEST(onnx_nms, masks_of_many_classes_stay_small) {
  const Plan plan = make_plan(problem_of("classes=80 n=8400 max_output=100"), generic_device());
  EXPECT_EQ(plan.variant, "nms_chunks");
  EXPECT_EQ(plan.buffer("mask")->bytes, 80 * 2048 * 2048 / 8)
      << "2048 candidates of each class at a time";
  EXPECT_THROWS_SAYING(
      make_plan(problem_of("classes=80 n=4096 max_output=9"), generic_device(), {"nms_mask", 0}),
      Unsupported, "masks of 4096 candidates for each of 80 sets would take 167772160 bytes");
}

// ---- the reference ----

/// The six boxes, in two heaps and one apart, of the examples of ONNX's specification.
constexpr double kBoxes[6][4] = {{0, 0, 1, 1},   {0, 0.1, 1, 1.1},   {0, -0.1, 1, 0.9},
                                 {0, 10, 1, 11}, {0, 10.1, 1, 11.1}, {0, 100, 1, 101}};
constexpr double kScores[6] = {0.9, 0.75, 0.6, 0.95, 0.5, 0.3};

struct Example {
  int batch = 1, classes = 1;
  bool turned = false, center = false, all_alike = false;
  bool negative = false;  ///< widths, of center boxes
};

Tensors inputs_of(const Example& example) {
  Tensors inputs{{"boxes", HostTensor(Dtype::f32, {example.batch, 6, 4})},
                 {"scores", HostTensor(Dtype::f32, {example.batch, example.classes, 6})}};
  for (int b = 0; b < example.batch; ++b) {
    for (int i = 0; i < 6; ++i) {
      const auto& box = kBoxes[example.all_alike ? 0 : i];
      double values[4] = {box[0], box[1], box[2], box[3]};
      if (example.turned && i % 2) std::swap(values[0], values[2]);
      if (example.turned && i % 3) std::swap(values[1], values[3]);
      if (example.center) {
        const auto middle = box_sets::centered({box[0], box[1], box[2], box[3]});
        std::copy(middle.begin(), middle.end(), values);
        if (example.negative) values[2] = -values[2];
      }
      for (int k = 0; k < 4; ++k) inputs.at("boxes").set((b * 6 + i) * 4 + k, values[k]);
      for (int c = 0; c < example.classes; ++c) {
        inputs.at("scores").set((b * example.classes + c) * 6 + i,
                                example.all_alike ? 0.9 : kScores[i]);
      }
    }
  }
  return inputs;
}

/// The selected triples, as text.
std::string selected(const std::string& words, const Example& example) {
  const Problem problem =
      problem_of(fmt::format("batch={} classes={} n=6 {}", example.batch, example.classes, words));
  const Reference reference = reference_of(problem, inputs_of(example), {});
  const HostTensor& triples = reference.at("selected").exact;
  const auto count = static_cast<std::int64_t>(reference.at("selected_count").exact.get(0));
  for (std::int64_t i = 3 * count; i < triples.size(); ++i) EXPECT_EQ(triples.get(i), -1) << i;
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) {
    text +=
        fmt::format("{}{}{} ", triples.get(3 * i), triples.get(3 * i + 1), triples.get(3 * i + 2));
  }
  return text;
}

TEST(onnx_nms, the_reference_takes_the_examples_of_onnx) {
  const std::string usual = "max_output=3 iou_threshold=0.5 score_threshold=0";
  Example turned, center, two_images, two_classes, alike;
  turned.turned = center.center = alike.all_alike = true;
  two_images.batch = two_classes.classes = 2;
  EXPECT_EQ(selected(usual, {}), "003 000 005 ");
  EXPECT_EQ(selected(usual, turned), "003 000 005 ") << "any diagonal";
  EXPECT_EQ(selected(usual + " center", center), "003 000 005 ");
  EXPECT_EQ(selected(usual, alike), "000 ");
  EXPECT_EQ(selected("max_output=2 iou_threshold=0.5 score_threshold=0", {}), "003 000 ");
  EXPECT_EQ(selected("max_output=3 iou_threshold=0.5 score_threshold=0.4", {}), "003 000 ");
  EXPECT_EQ(selected("max_output=2 iou_threshold=0.5 score_threshold=0", two_images),
            "003 000 103 100 ");
  EXPECT_EQ(selected("max_output=2 iou_threshold=0.5 score_threshold=0", two_classes),
            "003 000 013 010 ");
  EXPECT_EQ(selected("iou_threshold=0.5", two_classes), "") << "max_output is 0 by default";
  EXPECT_EQ(selected("max_output=9 iou_threshold=1", alike), "000 001 002 003 004 005 ");
  alike.center = alike.negative = true;
  EXPECT_EQ(selected("max_output=9 center", alike), "000 001 002 003 004 005 ")
      << "a box of negative width overlaps nothing";
}

// ---- on a device ----

using onnx_nms_device = test::OpDevice;
class onnx_nms_broken : public test::OpDevice {};

TEST_F(onnx_nms_device, the_examples_of_onnx) {
  Example two;
  two.batch = two.classes = 2;
  const Problem problem = problem_of("batch=2 classes=2 n=6 max_output=3 iou_threshold=0.5");
  expect_like_reference(problem, inputs_of(two), Check::exact);
}

TEST_F(onnx_nms_broken, broken_sets_are_caught) {
  const test::KernelFault core[] = {
      {"boxes of the first image", "const uint at = (item * n + row) * e;",
       "const uint at = row * e;",
       "onnx_nms batch=2 classes=3 n=100 max_output=100 iou_threshold=0.5", "nms_one", "every"},
      {"scores of the first class", "set * n * score_step", "0",
       "onnx_nms classes=3 n=100 max_output=100 iou_threshold=0.5", "nms_one", "every"},
      {"-inf is no score", "(order(score_min) > -INFINITE)", "1",
       "onnx_nms classes=2 n=200 max_output=200 iou_threshold=1", "nms_one", "special"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(core))
    expect_caught("nms.cl", fault);
  const char* line = "onnx_nms batch=2 classes=70 n=20 max_output=5 iou_threshold=0.5";
  const test::KernelFault output[] = {
      {"sets before it are not added", "sum.x += i < set ? total : 0;", ";", line, "nms_one",
       "every"},
      {"its own total is added", "i < set ? total", "i <= set ? total", line, "nms_one", "every"},
      {"half of the sums are lost", "sums[lane] += sums[lane + half_of];", ";", line, "nms_one",
       "every"},
      {"image and class change places", "(int3)(set / classes, set % classes,",
       "(int3)(set % classes, set / classes,", line, "nms_one", "every"},
      {"the end is not filled", "if (own >= sum.y)", "if (own > sum.y)",
       "onnx_nms classes=3 n=50 max_output=50 iou_threshold=0.5", "nms_one", "every"},
      {"ranks for rows", "rows[set * top + kept[set * top + i]]", "kept[set * top + i]", line,
       "nms_one", "every"},
      {"the count is that of one set", "*selected_count = sum.y;", "*selected_count = totals[0];",
       line, "nms_one", "every"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(output))
    expect_caught("onnx_nms.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("onnx_nms", 16, test::Bits::same,
                              {"batch=2 classes=37 n=50 max_output=20 iou_threshold=0.5",
                               "classes=2 n=1100 max_output=300 iou_threshold=0.4"});

std::string random_case(Random& random) {
  const int n = random.integer(1, 300);
  return fmt::format(
      "onnx_nms batch={} classes={} n={} max_output={} iou_threshold={:.2f} "
      "score_threshold={:.2f}{}",
      random.integer(1, 3), random.integer(1, 5), n, random.integer(0, 2 * n), random.uniform(),
      random.uniform() - 0.5, random.integer(0, 1) ? " center" : "");
}

const test::RandomProblems random_problems("onnx_nms", 6, random_case);

}  // namespace
}  // namespace clam::onnx_nms_test
