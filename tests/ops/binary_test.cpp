// SPDX-License-Identifier: MIT
// binary_test.cpp - problems, plans, references and kernels of binary.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "binary_faults.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "faults.hpp"
#include "op_device.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::binary_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Problem parse(const std::string& line, const std::string& dtype = "f32") {
  return Problem::parse(line + " dtype=" + dtype);
}

const DataSet& data_set(const char* name) { return find_data_set(find_op("binary"), name); }

Expected reference(const Problem& problem, const Tensors& inputs, bool denormals = true) {
  return reference_of(problem, inputs, {Check::hard, denormals}).at("c");
}

HostTensor tensor(Shape shape, const std::vector<double>& values, Dtype dtype = Dtype::f32) {
  HostTensor result(dtype, std::move(shape));
  for (std::int64_t i = 0; i < result.size(); ++i) {
    result.set(i, values[static_cast<std::size_t>(i)]);
  }
  return result;
}

// ---- problems ----

TEST(binary, canonical_text_leaves_out_a_shape_that_is_the_same) {
  EXPECT_EQ(Problem::parse("binary shape_b=1x5 dtype=f16 shape=4x5 op=mul").text(),
            "binary op=mul shape=4x5 dtype=f16 shape_b=1x5");
  EXPECT_EQ(parse("binary op=add shape=4x5 shape_b=4x5").text(),
            "binary op=add shape=4x5 dtype=f32");
}

TEST(binary, shapes_broadcast_as_in_numpy) {
  const auto shape = [](const std::string& words) {
    return to_string(BinaryAxes(parse("binary op=add " + words)).shape);
  };
  EXPECT_EQ(shape("shape=4x5"), "4x5");
  EXPECT_EQ(shape("shape=4x5 shape_b=5"), "4x5");
  EXPECT_EQ(shape("shape=5 shape_b=4x1"), "4x5");
  EXPECT_EQ(shape("shape=3x1x5x1 shape_b=1x4x1x7"), "3x4x5x7");
  EXPECT_EQ(shape("shape=1 shape_b=1x1"), "1x1");
}

TEST(binary, axes_along_which_the_same_operands_repeat_become_one) {
  const auto axes = [](const std::string& words) {
    const BinaryAxes axes(parse("binary op=add " + words));
    std::string text = std::to_string(axes.rank);
    for (int i = 0; i < axes.rank; ++i) {
      const BinaryAxis& axis = axes.merged[static_cast<std::size_t>(i)];
      text += fmt::format(" {}:{},{}", axis.extent, axis.step_a, axis.step_b);
    }
    return text;
  };
  EXPECT_EQ(axes("shape=2x3x4x5"), "1 120:1,1");
  EXPECT_EQ(axes("shape=2x3x4x5 shape_b=1"), "1 120:1,0");
  EXPECT_EQ(axes("shape=2x3x4x5 shape_b=5"), "2 5:1,1 24:5,0");
  EXPECT_EQ(axes("shape=2x3x4x5 shape_b=3x1x1"), "3 20:1,0 3:20,1 2:60,0");
  EXPECT_EQ(axes("shape=2x3x4x8 shape_b=2x1x4x1"), "4 8:1,0 4:8,1 3:32,0 2:96,4");
  EXPECT_EQ(axes("shape=3x1 shape_b=1x7"), "2 7:0,1 3:1,0");
  EXPECT_EQ(axes("shape=1x1"), "1 1:0,0");
}

TEST(binary, c_may_be_an_operand_of_its_shape) {
  const auto may_be = [](const std::string& words) {
    const Problem problem = parse("binary op=add " + words);
    return problem.tensors().back().may_be;
  };
  EXPECT_EQ(may_be("shape=4x5"), "a");
  EXPECT_EQ(may_be("shape=4x5 shape_b=5"), "a");
  EXPECT_EQ(may_be("shape=5 shape_b=4x5"), "b");
  EXPECT_EQ(may_be("shape=5 shape_b=4x1"), "");
  const Problem problem = parse("binary op=add shape=4x5 shape_b=5", "f16");
  EXPECT_EQ(bytes_of(problem), 2.0 * (20 + 5 + 20));
  EXPECT_EQ(flops_of(problem), 20);
}

TEST(binary, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse("binary " + words), BadArgument, sentence);
  };
  expect("shape=3", "binary: op is missing");
  expect("op=pow shape=3", "binary: op='pow'");
  expect("op=add", "binary: shape is missing");
  expect("op=add shape=1x2x3x4x5", "binary: shape=1x2x3x4x5, needs up to 4 extents");
  expect("op=add shape=4 shape_b=1x2x3x4x5", "needs up to 4 extents");
  expect("op=add shape=4x5 shape_b=4",
         "binary: shape_b=4, needs extents that are 1 or those of shape=4x5");
  expect("op=add shape=4x5 shape_b=2x5", "needs extents that are 1 or those of shape=4x5");
  expect("op=add shape=65536x65536", "over 2147483647");
  expect("op=add shape=65536x1 shape_b=65536", "over 2147483647");
  expect("op=add shape=65536x1 shape_b=16384", "over the limit of 2147483647");
}

// ---- plans ----

Launch planned(const std::string& line, const PlanOptions& options = {}) {
  return make_plan(parse(line), generic_device(), options).launches.at(0);
}

TEST(binary, vectors_are_taken_where_every_row_starts_on_one) {
  const auto kernel = [](const std::string& words) {
    return planned("binary op=add " + words).kernel;
  };
  EXPECT_EQ(kernel("shape=7x37"), "binary_vector");
  EXPECT_EQ(kernel("shape=7x37 shape_b=1"), "binary_vector");
  EXPECT_EQ(kernel("shape=7x36 shape_b=36"), "binary_vector");
  EXPECT_EQ(kernel("shape=7x37 shape_b=37"), "binary_plain");
  const Problem problem = parse("binary op=add shape=7x37 shape_b=37");
  EXPECT_EQ(find_variant(op_of(problem), "binary_vector").refuses(problem, generic_device()),
            "rows of 37 elements do not all start on a vector of 4");
  DeviceInfo tiny = generic_device();
  tiny.max_work_group = 8;
  for (const Variant& variant : op_of(problem).variants) {
    EXPECT_EQ(variant.refuses(problem, tiny), "the device has no work-groups of 16 work-items");
  }
}

TEST(binary, options_say_which_operands_repeat) {
  const auto options = [](const std::string& words) {
    return planned("binary op=" + words).options;
  };
  EXPECT_EQ(options("add shape=4x100"),
            "-DBINARY_OP=sum -DBINARY_X=64 -DBINARY_Y=1 -DBINARY_RANK=1 -DBINARY_WHOLE=1");
  EXPECT_EQ(options("div shape=10007 shape_b=1"),
            "-DBINARY_OP=quotient -DBINARY_X=64 -DBINARY_Y=1 -DBINARY_RANK=1 -DBINARY_B=0");
  EXPECT_EQ(options("max shape=40 shape_b=100x1"),
            "-DBINARY_OP=larger -DBINARY_X=16 -DBINARY_Y=4 -DBINARY_RANK=2 -DBINARY_B=0 "
            "-DBINARY_WHOLE=1");
}

TEST(binary, groups_cover_c) {
  for (const int limit : {0, 16, 100, 1024}) {
    test::for_each_case("binary", [&](const Problem& problem) {
      for (const Variant& variant : op_of(problem).variants) {
        if (variant.refuses(problem, generic_device())) continue;
        const Launch launch =
            make_plan(problem, generic_device(), {variant.name, limit}).launches.at(0);
        EXPECT_LE(launch.local[0] * launch.local[1], limit == 0 ? 64 : 256);
        const std::int64_t items = launch.global[0] * launch.global[1] * launch.global[2];
        EXPECT_GE(items * (variant.name == "binary_vector" ? 4 : 1),
                  count(BinaryAxes(problem).shape));
      }
    });
  }
}

// ---- the reference ----

TEST(binary, the_reference_is_the_formula) {
  const Tensors inputs{{"a", tensor({2, 2}, {1, 2, 3, 4})}, {"b", tensor({2}, {8, 3})}};
  const struct {
    const char* op;
    double c[4];
  } known[] = {{"add", {9, 5, 11, 7}},  {"sub", {-7, -1, -5, 1}},
               {"mul", {8, 6, 24, 12}}, {"div", {1. / 8, 2. / 3, 3. / 8, 4. / 3}},
               {"max", {8, 3, 8, 4}},   {"min", {1, 2, 3, 3}}};
  for (const auto& row : known) {
    const Problem problem = parse(fmt::format("binary op={} shape=2x2 shape_b=2", row.op));
    const std::vector<double> c = reference(problem, inputs).value;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(c[i], row.c[i]) << row.op << i;
  }
}

TEST(binary, operands_repeat_along_axes_of_one) {
  const Tensors inputs{{"a", tensor({2, 1, 2}, {1, 2, 3, 4})}, {"b", tensor({3, 1}, {10, 20, 30})}};
  const std::vector<double> c =
      reference(parse("binary op=add shape=2x1x2 shape_b=3x1"), inputs).value;
  EXPECT_EQ(c, (std::vector<double>{11, 12, 21, 22, 31, 32, 13, 14, 23, 24, 33, 34}));
}

/// What op gives for two numbers.
Expected expected_of(const std::string& op, double a, double b, Dtype dtype = Dtype::f32,
                     bool denormals = true) {
  const Problem problem = parse("binary op=" + op + " shape=1", name(dtype));
  return reference(problem, {{"a", tensor({1}, {a}, dtype)}, {"b", tensor({1}, {b}, dtype)}},
                   denormals);
}

TEST(binary, a_nan_is_larger_and_smaller_than_any_number) {
  for (const char* op : {"add", "sub", "mul", "div", "max", "min"}) {
    EXPECT_TRUE(std::isnan(expected_of(op, kNan, 1).value[0])) << op;
    EXPECT_TRUE(std::isnan(expected_of(op, 1, kNan).value[0])) << op;
  }
  EXPECT_EQ(expected_of("div", 1, -0.0).value[0], -kInfinity);
  EXPECT_TRUE(std::isnan(expected_of("div", 0, 0).value[0]));
  EXPECT_TRUE(std::isnan(expected_of("sub", kInfinity, kInfinity).value[0]));
}

TEST(binary, all_but_quotients_are_exact) {
  EXPECT_EQ(expected_of("add", 1, 0x1p-24).value[0], 1) << "a tie goes to even";
  EXPECT_EQ(expected_of("add", 1, 0x1.8p-24).value[0], 1 + 0x1p-23);
  EXPECT_EQ(expected_of("add", 2048, 1, Dtype::f16).value[0], 2048);
  EXPECT_EQ(expected_of("mul", 256, 256, Dtype::f16).value[0], kInfinity);
  for (const char* op : {"add", "sub", "mul", "max", "min"}) {
    EXPECT_EQ(expected_of(op, 0.1, 0.3).bound[0], 0) << op;
    EXPECT_EQ(expected_of(op, 0.1, 0.3, Dtype::f16).bound[0], 0) << op;
  }
  EXPECT_NEAR(expected_of("div", 1, 4).bound[0], 5 * 0x1p-24 / 4, 1e-15);
  EXPECT_NEAR(expected_of("div", 1, 4, Dtype::f16).bound[0], (5 * 0x1p-24 + 0x1p-11) / 4 + 0x1p-25,
              1e-15);
}

TEST(binary, a_device_without_denormals_may_take_them_for_zero) {
  const Expected product = expected_of("mul", 1e-40, 1e38, Dtype::f32, false);
  EXPECT_NEAR(product.value[0], 0.01, 1e-6);
  EXPECT_EQ(product.other[0], 0);
  EXPECT_TRUE(std::isnan(expected_of("mul", 2, 3, Dtype::f32, false).other[0]));
  EXPECT_EQ(expected_of("div", 1, 1e-40, Dtype::f32, false).other[0], kInfinity);
  EXPECT_EQ(expected_of("div", 1e-40, 1e-40, Dtype::f32, false).bound[0], kInfinity) << "0 / 0";
  EXPECT_EQ(expected_of("mul", kInfinity, 1e-40, Dtype::f32, false).bound[0], kInfinity);
  EXPECT_LT(expected_of("div", 1e-40, 1e-40).bound[0], 1e-6);
}

// ---- tests of the tests ----

// Fixed, so that small cases cannot pass or fail by chance.
constexpr std::uint64_t kSeed = 1;

const test::Simulation simulation("binary", 1e30,
                                  [](const Problem& problem, const Tensors& inputs) {
                                    return binary_faults::computed(problem, inputs,
                                                                   binary_faults::Fault::none);
                                  });

using binary_faults::Fault;

/// A problem with its inputs of one data set, and what is expected of them.
struct Sample {
  Problem problem;
  Tensors inputs;
  Expected expected;
  HostTensor honest;

  Sample(const Problem& problem, const char* set)
      : problem(problem),
        inputs(make_inputs(problem, data_set(set), kSeed)),
        expected(reference(problem, inputs)),
        honest(test::rounded(expected, problem.dtype(), BinaryAxes(problem).shape)) {}

  void expect_caught(const HostTensor& faulty, const char* fault) const {
    EXPECT_FALSE(compare(faulty, expected).pass) << fault;
  }
  void expect_caught(Fault fault, const char* what) const {
    expect_caught(binary_faults::computed(problem, inputs, fault), what);
  }
};

TEST(binary, a_set_catches_operands_that_repeat_wrongly_or_change_places) {
  test::for_each_case("binary", [](const Problem& problem) {
    const Sample sample(problem, "zero_mean");
    const BinaryAxes axes(problem);
    const std::string& op = problem.choice("op");
    if (op == "sub" || op == "div") sample.expect_caught(Fault::swapped_operands, "swapped");
    // A row, or one number, repeats as its elements do when they are simply read again.
    const bool read_again = axes.rank == 1 || (axes.rank == 2 && axes.merged[0].step_a == 1 &&
                                               axes.merged[0].step_b == 1);
    if (!read_again) sample.expect_caught(Fault::repeats_nothing, "read again");
    if (problem.dtype() == Dtype::f32) sample.expect_caught(Fault::half_result, "half");
  });
}

TEST(binary, a_set_catches_a_maximum_that_takes_the_number) {
  for (const char* op : {"max", "min"}) {
    for (const char* dtype : {"f32", "f16"}) {
      const Sample sample(parse(fmt::format("binary op={} shape=4099", op), dtype), "special");
      sample.expect_caught(Fault::number_for_nan, op);
    }
  }
}

TEST(binary, a_set_tells_operations_apart) {
  const char* ops[] = {"add", "sub", "mul", "div", "max", "min"};
  for (const char* op : ops) {
    const Sample sample(parse(fmt::format("binary op={} shape=1000", op), "f16"), "zero_mean");
    for (const char* other : ops) {
      if (other == op) continue;
      const Problem problem = sample.problem.with("op", other);
      sample.expect_caught(binary_faults::computed(problem, sample.inputs, Fault::none), other);
    }
  }
}

// ---- kernels ----

using binary_device = test::OpDevice;

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class binary_broken : public test::OpDevice {};

TEST_F(binary_broken, broken_kernels_are_caught) {
  const char *vector = "binary_vector", *plain = "binary_plain";
  const test::KernelFault faults[] = {
      {"b for a", "return a - b", "return b - a", "binary op=sub shape=257", vector, "zero_mean"},
      {"a coarse quotient", "return a / b", "return a * (1.0f / b) * 1.000001f",
       "binary op=div shape=4099", vector, "zero_mean"},
      {"a maximum that takes the number", "a > b || a != a ? a : b", "fmax(a, b)",
       "binary op=max shape=4099", vector, "special"},
      {"the third of what is left", "if (count > 2) v.z", "if (count > 3) v.z",
       "binary op=add shape=255", vector, "zero_mean"},
      {"not all that is left is written", "if (count > 1) p[1]", "if (count > 2) p[1]",
       "binary op=add shape=10", vector, "zero_mean"},
      {"one number, read on", "if (repeats)", "if (repeats && BINARY_A)",
       "binary op=sub shape=1 shape_b=5x8", vector, "zero_mean"},
      {"the next row of b", "y, z, n2, b1, b2, b3) + BINARY_B * x;\n  const float4",
       "y / 2, z, n2, b1, b2, b3) + BINARY_B * x;\n  const float4",
       "binary op=mul shape=33x20 shape_b=33x1", vector, "zero_mean"},
      {"axes in the wrong order", "z % n2 * step2 + z / n2 * step3",
       "z % n2 * step3 + z / n2 * step2", "binary op=sub shape=2x3x4x8 shape_b=2x1x4x1", vector,
       "zero_mean"},
      {"the third axis left out", "return y * step1 + z * step2;", "return y * step1;",
       "binary op=add shape=2x8x5x5 shape_b=8x1x1", plain, "zero_mean"},
      {"early return", "x >= (uint)n0", "x + 1 >= (uint)n0", "binary op=add shape=33x21 shape_b=21",
       plain, "zero_mean"},
      {"steps taken where an operand repeats", "BINARY_B * x;\n  c[", "x;\n  c[",
       "binary op=add shape=70x65 shape_b=70x1", plain, "zero_mean"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("binary.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("binary", 16, test::Bits::same,
                              {"op=sub shape=257", "op=sub shape=33x20 shape_b=20",
                               "op=sub shape=21 shape_b=33x21", "op=div shape=70x68 shape_b=70x1",
                               "op=mul shape=2x3x40x5 shape_b=2x1x40x1"});

std::string random_case(Random& random) {
  const char* ops[] = {"add", "sub", "mul", "div", "max", "min"};
  Shape a, b;
  for (int extents = random.integer(1, 4); extents > 0; --extents) {
    const int extent = random.integer(1, 12), repeats = random.integer(0, 3);
    a.push_back(repeats == 0 ? 1 : extent);
    b.push_back(repeats == 1 ? 1 : extent);
  }
  return fmt::format("binary op={} shape={} shape_b={}", ops[random.integer(0, 5)], to_string(a),
                     to_string(b));
}

const test::RandomProblems random_problems("binary", 6, random_case);

}  // namespace
}  // namespace clam::binary_test
