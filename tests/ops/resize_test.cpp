// SPDX-License-Identifier: MIT
// resize_test.cpp - problems, plans, references and kernels of resize.
#include "ops/resize.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "check/op_proof.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "resize_faults.hpp"
#include "test_errors.hpp"

namespace clam::resize_test {
namespace {

constexpr double kU = 0x1p-24;

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("resize " + words + " dtype=" + dtype);
}

Expected reference(const Problem& problem, const Tensors& inputs) {
  return reference_of(problem, inputs, {Check::hard}).at("y");
}

/// The result of x = 1, 2, 3, ... and, where there is one, a residual of 100.
std::vector<double> values(const std::string& words) {
  const Problem problem = parse("c=1 " + words);
  Tensors inputs;
  for (const TensorSpec& spec : problem.tensors()) {
    HostTensor tensor(spec.dtype, spec.shape);
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      tensor.set(i, spec.name == "x" ? static_cast<double>(i + 1) : 100);
    }
    if (spec.role == TensorSpec::Role::input) inputs.emplace(spec.name, tensor);
  }
  const Expected y = reference(problem, inputs);
  if (!y.bit_exact()) return y.value;
  std::vector<double> all;
  for (std::int64_t i = 0; i < y.exact.size(); ++i) all.push_back(y.exact.get(i));
  return all;
}

// ---- problems ----

TEST(resize, canonical_text_leaves_out_what_says_nothing) {
  const auto text = [](const std::string& words) { return parse(words).text(); };
  EXPECT_EQ(text("ow=8 oh=6 w=4 h=3 c=2 n=1 scale_h=2 scale_w=2 mode=nearest"),
            "resize c=2 h=3 w=4 oh=6 ow=8 dtype=f32");
  EXPECT_EQ(text("c=2 h=3 w=4 oh=6 ow=8 mode=linear nearest=ceil coord=align_corners residual"),
            "resize c=2 h=3 w=4 oh=6 ow=8 dtype=f32 mode=linear coord=align_corners residual");
  EXPECT_EQ(text("c=1 h=5 w=4 oh=3 ow=4 scale_h=0.6"),
            "resize c=1 h=5 w=4 oh=3 ow=4 dtype=f32 scale_h=0.6")
      << "a float that is a little more than 3 / 5";
}

TEST(resize, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, sentence);
  };
  expect("c=1 h=2 w=2 oh=4", "ow is missing");
  expect("c=1 h=2 w=2 oh=4 ow=4 mode=cubic", "mode='cubic'");
  expect("c=1 h=2 w=2 oh=4 ow=4 coord=tf_crop_and_resize", "coord='tf_crop_and_resize'");
  expect("c=1 h=10 w=2 oh=16 ow=4 scale_h=1.5",
         "scale_h=1.5, but 10 times that is not 16 rounded down or to the nearest");
  for (const char* scale : {"-2", "inf", "1e-30"}) {
    expect(fmt::format("c=1 h=2 w=2 oh=4 ow=4 scale_w={}", scale), "but 2 times that is not 4");
  }
  expect("c=1 h=1 w=2000000 oh=1 ow=4", "resize: w=2000000, needs up to 1048576");
  expect("c=4096 h=1024 w=1024 oh=1024 ow=1024", "2147483647");
}

TEST(resize, counts_are_those_of_what_is_read) {
  const auto least = [](const std::string& words) { return least_bytes_of(parse(words)); };
  EXPECT_EQ(bytes_of(parse("c=2 h=8 w=8 oh=4 ow=2 residual")), 4.0 * 2 * (64 + 8 + 8));
  EXPECT_EQ(least("c=2 h=8 w=8 oh=4 ow=2 residual"), 4.0 * 2 * (8 + 8 + 8));
  EXPECT_EQ(least("c=2 h=8 w=8 oh=16 ow=16 mode=linear"), 4.0 * 2 * (64 + 256));
  EXPECT_EQ(flops_of(parse("c=2 h=8 w=8 oh=16 ow=16 mode=linear residual")), 8.0 * 2 * 256);
  EXPECT_EQ(flops_of(parse("c=2 h=8 w=8 oh=16 ow=16")), 0);
}

// ---- plans ----

TEST(resize, the_first_variant_that_can_is_planned) {
  const auto variant = [](const std::string& words) {
    return make_plan(parse(words), generic_device()).variant;
  };
  EXPECT_EQ(variant("c=1 h=5 w=5 oh=10 ow=10"), "resize_repeat");
  EXPECT_EQ(variant("c=1 h=5 w=5 oh=40 ow=20 nearest=round_prefer_ceil"), "resize_repeat");
  EXPECT_EQ(variant("c=1 h=5 w=5 oh=20 ow=20 coord=asymmetric nearest=floor"), "resize_repeat");
  EXPECT_EQ(variant("c=1 h=5 w=5 oh=20 ow=20 coord=asymmetric"), "resize_nearest")
      << "3 / 4 is nearer to 1";
  EXPECT_EQ(variant("c=1 h=5 w=5 oh=15 ow=15"), "resize_nearest");
  EXPECT_EQ(variant("c=1 h=2 w=2 oh=3 ow=3 coord=align_corners nearest=floor"), "resize_nearest");
  for (const char* coord : {"half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"}) {
    EXPECT_EQ(variant(fmt::format("c=1 h=5 w=5 oh=10 ow=10 mode=linear coord={}", coord)),
              "resize_double");
  }
  EXPECT_EQ(variant("c=1 h=5 w=5 oh=10 ow=10 mode=linear coord=asymmetric"), "resize_linear");
  EXPECT_EQ(variant("c=1 h=5 w=5 oh=10 ow=15 mode=linear"), "resize_linear");
}

TEST(resize, variants_refuse_with_a_reason) {
  const auto refusal = [](const std::string& words, const char* variant) {
    const Problem problem = parse(words);
    return find_variant(op_of(problem), variant).refuses(problem, generic_device()).value_or("");
  };
  const char *twice = "c=1 h=5 w=5 oh=10 ow=10", *thrice = "c=1 h=5 w=5 oh=15 ow=15";
  EXPECT_EQ(refusal(thrice, "resize_repeat"),
            "not every element is repeated 1, 2, 4 or 8 times in a row");
  EXPECT_EQ(refusal(twice, "resize_linear"), "mode is nearest");
  EXPECT_EQ(refusal(std::string(twice) + " mode=linear", "resize_nearest"), "mode is linear");
  EXPECT_EQ(refusal(std::string(thrice) + " mode=linear", "resize_double"),
            "outputs do not lie at i / 2 - 1 / 4 along both axes");
}

TEST(resize, items_share_places_where_there_are_enough) {
  const auto options = [](const std::string& words) {
    return make_plan(parse(words), generic_device()).launches.at(0).options;
  };
  EXPECT_EQ(options("c=64 h=30 w=30 oh=64 ow=64"),
            "-DRESIZE_UNIT=4 -DRESIZE_MAPS=4 -DRESIZE_LX=16 -DRESIZE_LY=4");
  EXPECT_EQ(options("c=2 h=30 w=30 oh=64 ow=66"),
            "-DRESIZE_UNIT=2 -DRESIZE_MAPS=1 -DRESIZE_LX=16 -DRESIZE_LY=4");
  EXPECT_EQ(options("c=2 h=3 w=30 oh=6 ow=60 residual"),
            "-DRESIZE_RESIDUAL=1 -DRESIZE_UNIT=4 -DRESIZE_H=2 -DRESIZE_W=2 -DRESIZE_LX=16 "
            "-DRESIZE_LY=4");
}

// ---- the reference ----

// The numbers are those of ONNX's own tests.
TEST(resize, the_reference_is_that_of_onnx) {
  using Values = std::vector<double>;
  const auto expect_near = [](const std::string& words, const Values& expected) {
    const Values found = values(words);
    ASSERT_EQ(found.size(), expected.size()) << words;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-6) << words << " " << i;
    }
  };
  EXPECT_EQ(values("h=2 w=2 oh=4 ow=6 scale_h=2 scale_w=3"),
            (Values{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4}));
  EXPECT_EQ(values("h=2 w=4 oh=1 ow=2 scale_h=0.6 scale_w=0.6"), (Values{1, 3}));
  EXPECT_EQ(values("h=2 w=4 oh=1 ow=3"), (Values{1, 2, 4}));
  EXPECT_EQ(
      values("h=4 w=4 oh=8 ow=8 coord=align_corners nearest=floor"),
      (Values{1,  1,  1,  2,  2, 3, 3, 4,  1,  1,  1,  2,  2,  3,  3,  4,  1,  1,  1,  2, 2, 3,
              3,  4,  5,  5,  5, 6, 6, 7,  7,  8,  5,  5,  5,  6,  6,  7,  7,  8,  9,  9, 9, 10,
              10, 11, 11, 12, 9, 9, 9, 10, 10, 11, 11, 12, 13, 13, 13, 14, 14, 15, 15, 16}));
  EXPECT_EQ(values("h=1 w=4 oh=1 ow=8 coord=half_pixel nearest=ceil"),
            (Values{1, 2, 2, 3, 3, 4, 4, 4}));
  EXPECT_EQ(values("h=1 w=4 oh=1 ow=8 coord=asymmetric nearest=round_prefer_ceil"),
            (Values{1, 2, 2, 3, 3, 4, 4, 4}));
  EXPECT_EQ(values("h=1 w=4 oh=1 ow=8 coord=asymmetric"), (Values{1, 1, 2, 2, 3, 3, 4, 4}));
  expect_near("h=2 w=2 oh=4 ow=4 mode=linear scale_h=2",
              {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4});
  expect_near("h=2 w=2 oh=4 ow=4 mode=linear coord=align_corners",
              {1, 4. / 3, 5. / 3, 2, 5. / 3, 2, 7. / 3, 8. / 3, 7. / 3, 8. / 3, 3, 10. / 3, 3,
               10. / 3, 11. / 3, 4});
  expect_near("h=2 w=4 oh=1 ow=2 mode=linear scale_h=0.6 scale_w=0.6", {2.6666665, 4.3333331});
  expect_near("h=2 w=4 oh=1 ow=2 mode=linear coord=align_corners scale_h=0.6 scale_w=0.6",
              {1, 3.142857});
  expect_near("h=2 w=4 oh=1 ow=2 mode=linear coord=half_pixel_symmetric scale_h=0.6 scale_w=0.6",
              {3.6666665, 5.3333331});
  expect_near("h=4 w=4 oh=3 ow=1 mode=linear coord=pytorch_half_pixel", {1.6666666, 7, 12.333333});
  EXPECT_EQ(values("h=1 w=2 oh=1 ow=4 residual"), (Values{101, 101, 102, 102}));
}

TEST(resize, a_scale_that_is_nearly_a_ratio_counts_as_given) {
  EXPECT_EQ(values("h=1 w=3 oh=1 ow=4 coord=asymmetric nearest=ceil").at(3), 3);
  EXPECT_EQ(values("h=1 w=6 oh=1 ow=8 coord=asymmetric nearest=floor").at(4), 4);
  EXPECT_EQ(values("h=1 w=6 oh=1 ow=8 coord=asymmetric nearest=floor scale_w=1.3333334").at(4), 3)
      << "4 / 1.3333334 is below 3";
}

TEST(resize, bounds_are_those_of_the_contract) {
  const auto bound = [](const std::string& words, const char* dtype = "f32") {
    const Problem problem = parse("c=1 h=1 w=2 oh=1 ow=4 " + words, dtype);
    HostTensor x(problem.dtype(), {1, 1, 1, 2}), r(problem.dtype(), {1, 1, 1, 4});
    x.set(0, 1), x.set(1, 5);
    for (int i = 0; i < 4; ++i) r.set(i, 10);
    return reference(problem, {{"x", x}, {"r", r}}).bound.at(1);
  };
  const double mean = (3 * 0.25 * 4 + 2 * 0.75 * 1 + 0.25 * 5 + 2) * kU;  // of 1 and 5 at 1 / 4
  EXPECT_NEAR(bound("mode=linear"), mean, 1e-15);
  EXPECT_NEAR(bound("mode=linear residual"), mean + 12 * kU, 1e-15);
  EXPECT_NEAR(bound("mode=linear", "f16"), mean + 2 * 0x1p-11 + 0x1p-25, 1e-12);
  EXPECT_NEAR(bound("residual"), 11 * kU, 1e-15);
}

// ---- tests of the tests ----

using resize_faults::Fault;

const test::Simulation simulation("resize", 1e30,
                                  [](const Problem& problem, const Tensors& inputs) {
                                    return resize_faults::computed(problem, inputs, Fault::none);
                                  });

TEST(resize, sets_catch_other_elements_fractions_means_and_no_residual) {
  test::for_each_case("resize", [](const Problem& problem) {
    const Resize resize(problem);
    const Tensors inputs = make_inputs(problem, find_data_set(problem, "zero_mean"), 1);
    const Expected y = reference(problem, inputs);
    const auto expect_caught = [&](Fault fault, const char* what) {
      EXPECT_FALSE(compare(resize_faults::computed(problem, inputs, fault), y).pass) << what;
    };
    // Of one element all places are the same, and where places are whole no fraction counts.
    const bool is_one = resize.rows.extent * resize.columns.extent == 1;
    if (!is_one && resize.outputs() > 1) expect_caught(Fault::next_element, "the next element");
    if (resize.residual) expect_caught(Fault::no_residual, "no residual");
    if (!resize.linear || is_one || resize.outputs() < 8) return;
    expect_caught(Fault::other_fraction, "the other fraction");
    if (resize.dtype == Dtype::f32) expect_caught(Fault::half_mean, "means in half");
  });
}

// ---- kernels ----

using resize_device = test::OpDevice;
class resize_broken : public test::OpDevice {};

// Odd numerators and denominators as large as may be: products overflow an int.
TEST_F(resize_device, long_axes_and_odd_scales_pass) {
  for (const char* mode : {"nearest", "linear"}) {
    for (const char* words :
         {"c=1 h=1 w=1048573 oh=1 ow=1048575", "c=1 h=70001 w=3 oh=131072 ow=1",
          "c=1 h=1 w=99991 oh=1 ow=133321 scale_w=1.3333334",
          "c=1 h=1 w=99991 oh=1 ow=133321 scale_w=1.3333334 coord=align_corners",
          "c=1 h=1 w=100003 oh=1 ow=7 scale_w=7.1e-5"}) {
      expect_all_sets_pass(resize_test::parse(fmt::format("{} mode={}", words, mode)));
    }
  }
}

TEST_F(resize_broken, broken_kernels_are_caught) {
  const char *repeat = "resize_repeat", *nearest = "resize_nearest", *twice = "resize_double",
             *linear = "resize_linear";
  const char *r = "resize c=3 h=5 w=6 oh=20 ow=24", *n = "resize c=8 h=9 w=30 oh=64 ow=132",
             *d = "resize c=3 h=6 w=10 oh=12 ow=20 mode=linear",
             *l = "resize c=8 h=9 w=30 oh=64 ow=132 mode=linear";
  const test::KernelFault faults[] = {
      {"another column", "column / RESIZE_W)", "column / RESIZE_W / 2 * 2)",
       "resize c=3 h=5 w=7 oh=10 ow=14", repeat, "zero_mean"},
      {"a row too few", "i < RESIZE_H; ++i", "i < RESIZE_H - 1; ++i", r, repeat, "zero_mean"},
      {"the pair is one", "pair.x : pair.y", "pair.x : pair.x", "resize c=3 h=5 w=6 oh=10 ow=12",
       repeat, "zero_mean"},
      {"numbers in place of bits", "AT(Bits4, p, at) = (Bits4)(v[0], v[1], v[2], v[3])",
       "AT(float4, p, at) = (float4)(AS_T(v[0]), AS_T(v[1]), AS_T(v[2]), AS_T(v[3])) + 0.0f",
       "resize c=64 h=5 w=6 oh=20 ow=24", repeat, "special"},
      {"no residual", "v[i] + (float)AS_T(addends[i])", "v[i]",
       "resize c=3 h=5 w=6 oh=20 ow=24 residual", repeat, "zero_mean"},
      {"the quotient is not put right", "(rest >= axis.den) - (rest < 0)", "0",
       "resize c=1 h=1 w=1048573 oh=1 ow=1048575", nearest, "zero_mean"},
      {"nothing is carried", "over = rest >= axis.den", "over = 0", n, nearest, "zero_mean"},
      {"the step is left out", "at.x + axis.step + over", "at.x + over",
       "resize c=3 h=9 w=99 oh=5 ow=32", nearest, "zero_mean"},
      {"the next row", "inside(place(oy, rows).x, h", "inside(place(oy, rows).x + 1, h", n,
       nearest, "zero_mean"},
      {"all maps are the first", "(map + j) * h * w * SIZE + from[i]",
       "map * h * w * SIZE + from[i]", "resize c=64 h=30 w=30 oh=64 ow=64", nearest, "zero_mean"},
      {"other quarters", "e[i + 1], 0.75f)", "e[i + 1], 0.25f)", d, twice, "zero_mean"},
      {"the rows change places", "between(above[i], below[i], 0.25f)",
       "between(below[i], above[i], 0.25f)", d, twice, "zero_mean"},
      {"the last row is left as it was", "if (j < h)", "if (j + 1 < h)", d, twice, "zero_mean"},
      {"the first row is left as it was", "if (j < h)", "if (j < h && j > 0)", d, twice,
       "zero_mean"},
      {"no edge", "inside(column + COLUMNS, w", "inside(column + COLUMNS - 1, w", d, twice,
       "zero_mean"},
      {"the fraction of a row is left out", "(float)down.y * inverse_h", "0.0f", l, linear,
       "zero_mean"},
      {"the fraction of a column is a little off", "(float)at.y * inverse_w",
       "(float)at.y * inverse_w * 1.00001f", l, linear, "outliers"},
      {"below is above", "inside(down.x + 1, h", "inside(down.x, h", l, linear,
       "zero_mean"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("resize.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("resize", 1, test::Bits::same,
                              {"c=2 h=5 w=33 oh=10 ow=132", "c=4 h=9 w=30 oh=32 ow=130",
                               "c=2 h=17 w=34 oh=34 ow=68 mode=linear",
                               "c=4 h=9 w=30 oh=32 ow=130 mode=linear residual"});

/// An extent, the outputs that a scale makes of it, and the scale.
std::string random_axis(Random& random, const char* extent, const char* outputs,
                        const char* scale) {
  const int n = random.integer(1, 24);
  if (random.integer(0, 2) > 0) {
    return fmt::format(" {}={} {}={}", extent, n, outputs, random.integer(1, 60));
  }
  const auto factor = static_cast<float>(0.3 + 3 * random.uniform());
  const double length = static_cast<double>(factor) * n;
  const double most = random.integer(0, 1) ? std::floor(length) : std::floor(length + 0.5);
  if (most < 1) return fmt::format(" {}={} {}=1", extent, n, outputs);
  return fmt::format(" {}={} {}={} {}={}", extent, n, outputs, most, scale, factor);
}

std::string random_case(Random& random) {
  const char* coords[] = {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                          "half_pixel_symmetric"};
  const char* nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  return fmt::format("resize n={} c={}{}{} mode={} coord={} nearest={}{}", random.integer(1, 2),
                     random.integer(1, 8), random_axis(random, "h", "oh", "scale_h"),
                     random_axis(random, "w", "ow", "scale_w"),
                     random.integer(0, 1) ? "linear" : "nearest", coords[random.integer(0, 4)],
                     nearest[random.integer(0, 3)], random.integer(0, 3) ? "" : " residual");
}

const test::RandomProblems random_problems("resize", 12, random_case);

}  // namespace
}  // namespace clam::resize_test
