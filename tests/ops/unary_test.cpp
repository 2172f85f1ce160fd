// SPDX-License-Identifier: MIT
// unary_test.cpp - problems, plans, references and kernels of unary.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "clam/planner.hpp"
#include "every_op.hpp"
#include "faults.hpp"
#include "op_device.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"
#include "unary_faults.hpp"

namespace clam::unary_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kU = 0x1p-24;

Problem parse(const std::string& line, const std::string& dtype = "f32") {
  return Problem::parse(line + " dtype=" + dtype);
}

const DataSet& data_set(const char* name) { return find_data_set(find_op("unary"), name); }

Expected reference(const Problem& problem, const Tensors& inputs, bool denormals = true) {
  return reference_of(problem, inputs, {Check::hard, denormals}).at("dst");
}

Tensors numbers(const std::vector<double>& values, Dtype dtype = Dtype::f32) {
  HostTensor src(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::int64_t i = 0; i < src.size(); ++i) src.set(i, values[static_cast<std::size_t>(i)]);
  return {{"src", src}};
}

/// What op gives for each of the values.
Expected expected_of(const std::string& words, const std::vector<double>& values,
                     bool denormals = true) {
  return reference(parse(fmt::format("unary op={} shape={}", words, values.size())),
                   numbers(values), denormals);
}

// ---- problems and plans ----

TEST(unary, canonical_text_has_op_and_shape_then_what_is_not_default) {
  EXPECT_EQ(Problem::parse("unary shift=1 scale=.1 dtype=f16 shape=1x4x31x31 op=exp").text(),
            "unary op=exp shape=1x4x31x31 dtype=f16 scale=0.1 shift=1");
  EXPECT_EQ(parse("unary op=gelu shape=7 scale=1 shift=0").text(),
            "unary op=gelu shape=7 dtype=f32");
}

TEST(unary, dst_may_be_src_and_counts_are_those_of_the_elements) {
  const Problem problem = parse("unary op=exp shape=4x5", "f16");
  const std::vector<TensorSpec> specs = problem.tensors();
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[1].may_be, "src");
  EXPECT_EQ(bytes_of(problem), 80);
  EXPECT_EQ(flops_of(problem), 20);
  EXPECT_EQ(flops_of(parse("unary op=exp shape=4x5 shift=1")), 60);
}

TEST(unary, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse("unary " + words), BadArgument, sentence);
  };
  expect("shape=3", "unary: op is missing");
  expect("op=cosh shape=3", "unary: op='cosh'");
  expect("op=exp", "unary: shape is missing");
  expect("op=exp shape=4x0", "needs 1 to 8 extents");
  expect("op=exp shape=65536x65536", "over 2147483647");
  expect("op=exp shape=65536x16384", "over the limit of 2147483647");
  expect("op=exp shape=3 scale=inf", "unary: scale=inf, needs a finite number");
  expect("op=exp shape=3 shift=-inf", "unary: shift=-inf, needs a finite number");
  expect("op=exp shape=3 alpha=2", "unary: alpha=2, but op=exp takes no such number");
  expect("op=pow shape=3 alpha=inf", "unary: alpha=inf, needs a finite number");
  expect("op=clip shape=3 alpha=1 beta=-1", "unary: alpha=1, is over beta=-1");
}

TEST(unary, options_leave_out_what_is_not_needed) {
  const auto options = [](const std::string& line, const std::string& dtype = "f32") {
    return make_plan(parse(line, dtype), generic_device()).launches.at(0).options;
  };
  EXPECT_EQ(options("unary op=exp shape=3x4"),
            "-DUNARY_WG=64 -DUNARY_OP=exp -DUNARY_AFFINE=0 -DUNARY_WHOLE=1");
  EXPECT_EQ(options("unary op=erf shape=3 scale=2", "f16"),
            "-DCLAM_F16 -DUNARY_WG=64 -DUNARY_OP=erf_rational");
  EXPECT_EQ(options("unary op=pow shape=3 scale=2 alpha=0.5"),
            "-DUNARY_WG=64 -DUNARY_OP=power -DCLAM_ACT_ALPHA=0.5f");
  DeviceInfo tiny = generic_device();
  tiny.max_work_group = 8;
  EXPECT_EQ(find_op("unary").variants[0].refuses(parse("unary op=exp shape=3"), tiny),
            "the device has no work-groups of 16 work-items");
}

TEST(unary, groups_cover_all_elements) {
  for (const int limit : {0, 16, 100, 1024}) {
    test::for_each_case("unary", [&](const Problem& problem) {
      const Launch launch = make_plan(problem, generic_device(), {"", limit}).launches.at(0);
      EXPECT_LE(launch.local[0], limit == 0 ? 64 : 256);
      const std::int64_t elements = count(problem.shape("shape")), covered = 4 * launch.global[0];
      EXPECT_GE(covered, elements);
      EXPECT_LT(covered - elements, 4 * launch.local[0]);
    });
  }
}

// ---- the reference ----

TEST(unary, the_reference_is_the_formula) {
  const struct {
    const char* op;
    double at, value;
  } known[] = {{"exp", 1, 2.718281828459045},
               {"log", 2, 0.6931471805599453},
               {"erf", 0.5, 0.5204998778130465},
               {"gelu", 1, 0.8413447460685429},
               {"gelu_tanh", 1, 0.8411919906082768},
               {"sigmoid", 1, 0.7310585786300049},
               {"silu", 2, 1.7615941559557649},
               {"tanh", 0.5, 0.46211715726000975},
               {"relu", -2, 0},
               {"relu6", 7, 6},
               {"sqrt", 2, 1.4142135623730951},
               {"rsqrt", 4, 0.5},
               {"sin", 1, 0.8414709848078965},
               {"cos", 1, 0.5403023058681398},
               {"hard_swish", 1, 2. / 3},
               {"clip alpha=-2", -3, -2},
               {"leaky_relu alpha=0.25", -2, -0.5},
               {"hard_sigmoid alpha=0.25", 1, 0.75},
               {"elu alpha=2", -1, -1.2642411176571153},
               {"softplus", 1, 1.3132616875182228},
               {"mish", 1, 0.8650983882673103},
               {"abs", -2, 2},
               {"neg", 2, -2},
               {"reciprocal", 4, 0.25},
               {"pow alpha=3", -2, -8},
               {"floor", -1.5, -2},
               {"ceil", -1.5, -1}};
  for (const auto& row : known) {
    EXPECT_NEAR(expected_of(row.op, {row.at}).value[0], row.value, 1e-15) << row.op;
  }
  EXPECT_EQ(std::size(known), unary_ranges().size());
  EXPECT_NEAR(expected_of("exp scale=0.5 shift=1", {2}).value[0], std::exp(2), 1e-15);
}

TEST(unary, what_is_not_finite_is_as_in_c) {
  const auto at = [](const char* op, double x) { return expected_of(op, {x}).value[0]; };
  for (const UnaryRange& range : unary_ranges()) EXPECT_TRUE(std::isnan(at(range.name, kNan)));
  EXPECT_EQ(at("exp", -kInfinity), 0);
  EXPECT_EQ(at("log", 0), -kInfinity);
  EXPECT_EQ(at("reciprocal", -kInfinity), 0);
  EXPECT_EQ(at("elu", -kInfinity), -1);
  EXPECT_EQ(at("softplus", -kInfinity), 0);
  EXPECT_EQ(at("hard_sigmoid", kInfinity), 1);
  EXPECT_EQ(at("pow alpha=0", kNan), 1) << "as in C";
  EXPECT_TRUE(std::isnan(at("pow alpha=0.5", -1)));
  EXPECT_EQ(at("rsqrt", 0), kInfinity);
  EXPECT_EQ(at("erf", -kInfinity), -1);
  EXPECT_EQ(at("gelu", -kInfinity), 0);
  EXPECT_EQ(at("relu6", kInfinity), 6);
  for (const char* op : {"log", "sqrt", "rsqrt"}) EXPECT_TRUE(std::isnan(at(op, -1))) << op;
  for (const char* op : {"sin", "cos"}) EXPECT_TRUE(std::isnan(at(op, kInfinity))) << op;
  for (const char* op : {"silu", "gelu_tanh", "hard_swish", "mish"})
    EXPECT_TRUE(std::isnan(at(op, -kInfinity))) << op;
  EXPECT_EQ(at("exp scale=1e30", 1e30), kInfinity) << "the argument is beyond the largest float";
}

TEST(unary, exp_of_halves_overflows_where_ieee_says) {
  const Problem problem = parse("unary op=exp shape=2", "f16");
  const Tensors inputs = numbers({11.0859375, 11.09375}, Dtype::f16);
  const Expected dst = reference(problem, inputs);
  HostTensor right(Dtype::f16, {2}), wrong(Dtype::f16, {2});
  right.set(0, 65248);
  right.set(1, kInfinity);
  wrong.set(0, kInfinity);
  wrong.set(1, 65504);
  EXPECT_LE(compare(right, dst).worst_ratio, 1);
  EXPECT_GT(compare(wrong, dst).fraction_over, 0.9);
}

TEST(unary, bounds_are_those_of_the_contract) {
  const auto relative = [](const std::string& words, double at) {
    const Expected dst = expected_of(words, {at});
    return dst.bound[0] / kU / std::fabs(dst.value[0]);
  };
  EXPECT_NEAR(relative("exp", 2), 6 + 1, 1e-6);
  EXPECT_NEAR(relative("erf", 0.5), 10 + 1, 1e-6);
  EXPECT_NEAR(relative("rsqrt", 3), 4 + 1, 1e-6);
  EXPECT_NEAR(relative("sigmoid", 0), 3 + 6 + 1, 1e-6);
  EXPECT_EQ(relative("relu", 3), 1);
  EXPECT_NEAR(relative("exp scale=3", 2), 6 + 1 + 6, 1e-5) << "3 * 2 is off by 6 u";
  EXPECT_NEAR(relative("sqrt scale=3", 3), 6 + 1 + 0.5, 1e-5);
  const Expected cos = expected_of("cos shift=100", {-99});
  EXPECT_NEAR(cos.bound[0] / kU, 1 + 9 * std::cos(1), 1e-6);
  const Expected gelu = expected_of("gelu", {1});
  EXPECT_NEAR(gelu.bound[0], 1e-6 + 4 * kU + kU * gelu.value[0], 1e-12);
}

TEST(unary, a_device_without_denormals_may_take_them_for_zero) {
  EXPECT_TRUE(expected_of("log", {1e-40}).other.empty());
  const Expected dst = expected_of("log", {1e-40, 2}, false);
  EXPECT_EQ(dst.other[0], -kInfinity);
  EXPECT_TRUE(std::isnan(dst.other[1]));
}

TEST(unary, the_sign_of_an_argument_that_is_zero_may_be_either) {
  EXPECT_TRUE(expected_of("rsqrt", {0}).other.empty());
  const Expected dst = expected_of("rsqrt scale=-2", {0, 1});
  EXPECT_EQ(std::fabs(dst.value[0]), kInfinity);
  EXPECT_EQ(dst.other[0], -dst.value[0]);
  EXPECT_TRUE(std::isnan(dst.other[1]));
}

// ---- tests of the tests ----

// Fixed, so that small cases cannot pass or fail by chance.
constexpr std::uint64_t kSeed = 1;

const test::Simulation simulation("unary", 1e30, [](const Problem& problem, const Tensors& inputs) {
  return unary_faults::computed(problem, inputs, unary_faults::Fault::none);
});

using unary_faults::Fault;

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
        honest(test::rounded(expected, problem.dtype(), problem.shape("shape"))) {}

  void expect_caught(const HostTensor& faulty, const char* fault) const {
    EXPECT_FALSE(compare(faulty, expected).pass) << fault;
  }
  void expect_caught(Fault fault, const char* what) const {
    expect_caught(unary_faults::computed(problem, inputs, fault), what);
  }
};

TEST(unary, a_set_catches_scale_shift_and_narrow_numbers) {
  for (const UnaryRange& range : unary_ranges()) {
    const std::string op = range.name;
    SCOPED_TRACE(op);
    for (const char* dtype : {"f32", "f16"}) {
      const Sample sample(parse("unary op=" + op + " shape=1000 scale=0.7 shift=0.3", dtype),
                          "middle");
      sample.expect_caught(Fault::no_scale, "no scale");
      sample.expect_caught(Fault::no_shift, "no shift");
    }
    const Sample sample(parse("unary op=" + op + " shape=1000 scale=0.7 shift=0.3"), "middle");
    sample.expect_caught(Fault::half_argument, "a half argument");
    sample.expect_caught(Fault::half_result, "a half result");
  }
}

TEST(unary, a_set_tells_functions_apart) {
  const std::vector<UnaryRange>& ranges = unary_ranges();
  for (const UnaryRange& range : ranges) {
    const Sample sample(parse(fmt::format("unary op={} shape=1000", range.name), "f16"), "middle");
    for (const UnaryRange& other : ranges) {
      if (other.name == range.name) continue;
      const Problem problem = sample.problem.with("op", other.name);
      sample.expect_caught(unary_faults::computed(problem, sample.inputs, Fault::none), other.name);
    }
  }
}

// ---- kernels ----

using unary_device = test::OpDevice;

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class unary_broken : public test::OpDevice {};

// Every finite half and both infinities: all there is.
TEST_F(unary_device, every_half_passes) {
  CLAM_NEEDS_F16();
  for (const UnaryRange& range : unary_ranges()) {
    const Problem problem = parse(fmt::format("unary op={} shape=65536", range.name), "f16");
    HostTensor src(Dtype::f16, {65536});
    for (std::uint32_t bits = 0; bits < 65536; ++bits) src.set_bits(bits, bits);
    const Tensors inputs{{"src", src}};
    const Expected dst = expected(problem, inputs, Check::hard).at("dst");
    for_each_variant(problem, 0, [&](Trial& trial) {
      // Half of all halves are below 1, and so are many results.
      EXPECT_LE(compare(run(trial, inputs).at("dst"), dst, 1).worst_ratio, 1);
    });
  }
}

// The reduction of an argument that large needs its every bit.
TEST_F(unary_device, sin_and_cos_of_large_arguments_pass) {
  for (const char* op : {"sin", "cos"}) {
    const Problem problem = parse(fmt::format("unary op={} shape=1000", op));
    Tensors inputs = make_inputs(problem, data_set("middle"), test::seed());
    Random random(test::seed());
    HostTensor& src = inputs.at("src");
    for (std::int64_t i = 0; i < src.size(); ++i)
      src.set(i, std::exp2(10 + 117 * random.uniform()));
    expect_like_reference(problem, inputs);
  }
}

TEST_F(unary_broken, broken_kernels_are_caught) {
  const char* affine = "unary op=exp shape=1030 scale=0.7 shift=0.3";
  const char* variant = "unary_vector";
  const test::KernelFault faults[] = {
      {"no shift", "z, (float4)(shift)", "z, (float4)(0.0f)", affine, variant, "middle"},
      {"the third of what is left", "if (count > 2) v.z", "if (count > 3) v.z",
       "unary op=exp shape=1031", variant, "middle"},
      {"not all that is left is written", "if (count > 1) p[1]", "if (count > 2) p[1]", affine,
       variant, "middle"},
      {"early return", "if (count <= 0)", "if (count <= 2)", affine, variant, "middle"},
      {"wrong vector", "load_some(src, 4 * i * SIZE", "load_some(src, 4 * (i / 2) * SIZE", affine,
       variant, "middle"},
      {"swapped elements", "UNARY_OP(z.x), UNARY_OP(z.y)", "UNARY_OP(z.y), UNARY_OP(z.x)", affine,
       variant, "middle"},
      {"erf by the formula of gelu, absolutely right", "a * (p / q)", "a * (p / q) + 4e-7f",
       "unary op=erf shape=1030", variant, "wide"},
      {"erf saturates early", "> 3.92f ? copysign(3.92f", "> 3.0f ? copysign(3.0f",
       "unary op=erf shape=1030", variant, "middle"},
      {"erf of NaN", "fabs(x) > 3.92f ? copysign(3.92f, x) : x",
       "copysign(fmin(fabs(x), 3.92f), x)", "unary op=erf shape=1030", variant, "special"},
      {"a coarse exponential", "relu(z) - 0.5f * a * p * t * exp_minus(0.5f * a * a)",
       "relu(z) - 0.5f * a * p * t * exp2(-0.7213f * a * a)", "unary op=gelu shape=1030", variant,
       "middle"},
      {"clip with its bounds swapped", "z < CLAM_ACT_ALPHA ? CLAM_ACT_ALPHA",
       "z < CLAM_ACT_ALPHA ? CLAM_ACT_BETA", "unary op=clip shape=1030 alpha=-1 beta=2", variant,
       "middle"},
      {"the exponent ignored", "pow(z, CLAM_ACT_ALPHA)", "z * z", "unary op=pow shape=1030 alpha=3",
       variant, "middle"},
      {"a negative base", "pow(z, CLAM_ACT_ALPHA)", "powr(z, CLAM_ACT_ALPHA)",
       "unary op=pow shape=1030", variant, "wide"},
      {"elu less accurate", "expm1(z)", "(exp(z) - 1.0f)", "unary op=elu shape=1030", variant,
       "wide"},
      {"softplus less accurate", "log1p(exp_minus(fabs(z)))", "log(1.0f + exp_minus(fabs(z)))",
       "unary op=softplus shape=1030", variant, "middle"},
      {"hard_sigmoid of NaN", "y < 0.0f ? 0.0f : (y > 1.0f ? 1.0f : y)", "clamp(y, 0.0f, 1.0f)",
       "unary op=hard_sigmoid shape=1030", variant, "special"},
      {"relu of NaN", "z < 0.0f ? 0.0f : z", "fmax(z, 0.0f)", "unary op=relu shape=1030", variant,
       "special"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("unary.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("unary", 16, test::Bits::same,
                              {"op=gelu shape=1030", "op=exp shape=1030"});

std::string random_case(Random& random) {
  const std::vector<UnaryRange>& ranges = unary_ranges();
  const UnaryRange& range = ranges[random.bits() % ranges.size()];
  return fmt::format("unary op={} shape={}x{} scale={} shift={}", range.name, random.integer(1, 40),
                     random.integer(1, 40), random.integer(0, 1) == 0 ? 1.0 : -1.7,
                     random.integer(0, 1) == 0 ? 0.0 : 0.4);
}

const test::RandomProblems random_problems("unary", 6, random_case);

}  // namespace
}  // namespace clam::unary_test
