// SPDX-License-Identifier: MIT
// pool2d_test.cpp - problems, plans, references and kernels of pool2d.
#include "ops/pool2d.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "check/op_proof.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "pool2d_faults.hpp"
#include "test_errors.hpp"

namespace clam::pool2d_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kU = 0x1p-24;

Problem parse(const std::string& line, const std::string& dtype = "f32") {
  return Problem::parse("pool2d " + line + " dtype=" + dtype);
}

Expected reference(const Problem& problem, const Tensors& inputs, Check check = Check::hard) {
  return reference_of(problem, inputs, {check}).at("y");
}

Tensors x_of(const Problem& problem, const std::vector<double>& values) {
  const TensorSpec spec = problem.tensors().front();
  HostTensor x(spec.dtype, spec.shape);
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, values.at(static_cast<std::size_t>(i)));
  return {{"x", x}};
}

// ---- problems ----

TEST(pool2d, canonical_text_unites_what_is_alike) {
  const auto text = [](const std::string& words) { return parse(words).text().substr(7); };
  EXPECT_EQ(text("global w=31 h=31 c=384 n=1"), "n=1 c=384 h=31 w=31 dtype=f32 global");
  EXPECT_EQ(text("n=1 c=2 h=9 w=9 r=3 s=3 stride_h=2 stride_w=2 pad_t=1 pad_l=1 pad_b=1 pad_r=1"),
            "n=1 c=2 h=9 w=9 r=3 dtype=f32 stride=2 pad=1");
  EXPECT_EQ(text("n=1 c=2 h=9 w=9 r=3 s=2 mode=max pad_t=1 layout=nhwc"),
            "n=1 c=2 h=9 w=9 r=3 s=2 dtype=f32 mode=max pad_t=1 layout=nhwc");
  EXPECT_EQ(text("n=1 c=2 h=9 w=8 r=9 s=8 stride=5"), "n=1 c=2 h=9 w=8 dtype=f32 global");
  EXPECT_EQ(text("n=1 c=2 h=9 w=9 r=3 count_include_pad=1"), "n=1 c=2 h=9 w=9 r=3 dtype=f32")
      << "there are no pads to count";
  EXPECT_EQ(text("n=1 c=2 h=9 w=8 r=3 stride=2 ceil_mode=1"),
            "n=1 c=2 h=9 w=8 r=3 dtype=f32 stride=2 ceil_mode=1");
  EXPECT_EQ(text("n=1 c=2 h=9 w=9 r=3 stride=2 ceil_mode=1"),
            "n=1 c=2 h=9 w=9 r=3 dtype=f32 stride=2")
      << "no window reaches beyond x";
  EXPECT_EQ(text("n=1 c=2 h=9 w=9 r=3 pad=1 mode=max count_include_pad=1"),
            "n=1 c=2 h=9 w=9 r=3 dtype=f32 mode=max pad=1");
}

TEST(pool2d, outputs_are_as_many_as_whole_windows) {
  const auto shape = [](const std::string& words) {
    const Problem problem = parse(words);
    return to_string(problem.tensors().at(1).shape);
  };
  EXPECT_EQ(shape("n=2 c=3 h=31 w=29 global"), "2x3x1x1");
  EXPECT_EQ(shape("n=2 c=3 h=31 w=29 global layout=nhwc"), "2x1x1x3");
  EXPECT_EQ(shape("n=1 c=3 h=112 w=112 r=3 stride=2 pad=1"), "1x3x56x56");
  EXPECT_EQ(shape("n=1 c=3 h=6 w=7 r=2 stride=2 layout=nhwc"), "1x3x3x3");
  EXPECT_EQ(shape("n=1 c=3 h=6 w=7 r=2 stride=2 ceil_mode=1"), "1x3x3x4");
  EXPECT_EQ(shape("n=1 c=1 h=5 w=5 r=2 s=4 stride=3 pad=1 ceil_mode=1"), "1x1x2x2")
      << "a third row of windows would begin behind x, and no column of them is left out";
  EXPECT_EQ(flops_of(parse("n=1 c=3 h=6 w=7 r=2 stride=2")), 3.0 * 9 * 4);
  EXPECT_EQ(bytes_of(parse("n=1 c=3 h=6 w=7 r=2 stride=2")), 4.0 * 3 * (42 + 9));
}

TEST(pool2d, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, sentence);
  };
  expect("c=1 h=1 w=1 r=1", "n is missing");
  expect("n=1 c=1 h=4 w=4", "pool2d: r=0, needs 1 or more, or global");
  expect("n=1 c=1 h=4 w=4 global r=3", "pool2d: r=3, but global takes the whole map");
  expect("n=1 c=1 h=4 w=4 global stride=2", "pool2d: stride=2, but global takes the whole map");
  expect("n=1 c=1 h=4 w=4 global pad_l=0", "pool2d: pad_l=0, but global takes the whole map");
  expect("n=1 c=1 h=4 w=4 r=5", "pool2d: r=5, but x has 4 rows with its pads");
  expect("n=1 c=1 h=5 w=4 r=5", "pool2d: r=5, but x has 4 columns with its pads");
  expect("n=1 c=1 h=4 w=4 r=1 s=5", "pool2d: s=5, but x has 4 columns with its pads");
  expect("n=1 c=1 h=4 w=4 r=3 pad=3", "pool2d: pad=3, needs fewer than the window's 3 rows");
  expect("n=1 c=1 h=4 w=4 r=3 s=1 pad_r=1", "pad_r=1, needs fewer than the window's 1 columns");
  expect("n=1 c=1 h=4 w=4 r=1 stride=0", "stride='0', needs 1 to");
  expect("n=1 c=1 h=4 w=4 r=1 mode=min", "mode='min'");
  expect("n=65536 c=65536 h=1 w=1 r=1", "2147483647");
}

// ---- plans ----

Launch planned(const std::string& words, const PlanOptions& options = {}) {
  return make_plan(parse(words), generic_device(), options).launches.at(0);
}

TEST(pool2d, variants_refuse_with_a_reason) {
  const auto refusal = [](const std::string& words, const std::string& variant,
                          const DeviceInfo& device = generic_device()) {
    const Problem problem = parse(words);
    return find_variant(op_of(problem), variant).refuses(problem, device).value_or("");
  };
  EXPECT_EQ(refusal("n=1 c=4 h=9 w=9 r=3", "pool2d_global"), "the window is not the whole map");
  EXPECT_EQ(refusal("n=1 c=4 h=9 w=9 r=3", "pool2d_nhwc"), "it reads nhwc, the layout is nchw");
  EXPECT_EQ(refusal("n=1 c=4 h=9 w=9 r=3 layout=nhwc", "pool2d_run"),
            "it reads nchw, the layout is nhwc");
  EXPECT_EQ(refusal("n=1 c=4 h=9 w=9 r=8", "pool2d_run"), "a window of 8 x 8 is over 7 x 7");
  EXPECT_EQ(refusal("n=1 c=4 h=9 w=9 r=3 stride=5", "pool2d_run"), "stride_h=5 is over 4");
  EXPECT_EQ(refusal("n=1 c=4 h=9 w=9 r=8", "pool2d_window"), "");
  DeviceInfo tiny = generic_device();
  tiny.max_work_group = 2;
  EXPECT_EQ(refusal("n=1 c=4 h=9 w=9 global", "pool2d_global", tiny),
            "4 lanes share a result, a group has at most 2 items");
}

TEST(pool2d, lanes_share_maps_by_their_size_and_number) {
  const auto options = [](const std::string& words) { return planned(words).options; };
  EXPECT_EQ(options("n=1 c=384 h=31 w=31 global"), "-DPOOL2D_LANES=16 -DPOOL2D_MAPS=4");
  EXPECT_EQ(options("n=1 c=384 h=7 w=7 global"), "-DPOOL2D_LANES=4 -DPOOL2D_MAPS=16");
  EXPECT_EQ(options("n=1 c=4 h=31 w=31 global"), "-DPOOL2D_LANES=64 -DPOOL2D_MAPS=1");
  EXPECT_EQ(options("n=1 c=4 h=200 w=200 global mode=max"),
            "-DPOOL2D_MAX=1 -DPOOL2D_LANES=256 -DPOOL2D_MAPS=1");
  EXPECT_EQ(options("n=1 c=64 h=7 w=7 global layout=nhwc"),
            "-DPOOL2D_UNIT=4 -DPOOL2D_LANES=16 -DPOOL2D_MAPS=16");
}

TEST(pool2d, large_maps_have_longer_columns_of_outputs) {
  const auto run = [](const std::string& words) {
    const std::string options = planned(words).options;
    return options.substr(options.find("POOL2D_RUN="), 12);
  };
  EXPECT_EQ(run("n=1 c=64 h=112 w=112 r=3 pad=1"), "POOL2D_RUN=4");
  EXPECT_EQ(run("n=1 c=1 h=8 w=8 r=3 pad=1"), "POOL2D_RUN=1");
}

// ---- the reference ----

TEST(pool2d, the_reference_is_the_formula) {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto values = [&](const std::string& words) {
    const Problem problem = parse("n=1 c=1 h=3 w=3 " + words);
    return reference(problem, x_of(problem, x)).value;
  };
  EXPECT_EQ(values("global"), std::vector<double>{5});
  EXPECT_EQ(values("global mode=max"), std::vector<double>{9});
  EXPECT_EQ(values("r=2"), (std::vector<double>{3, 4, 6, 7}));
  EXPECT_EQ(values("r=2 mode=max"), (std::vector<double>{5, 6, 8, 9}));
  EXPECT_EQ(values("r=3 stride=2 pad=1"), (std::vector<double>{3, 4, 6, 7}));
  EXPECT_EQ(values("r=3 stride=2 pad=1 count_include_pad=1"),
            (std::vector<double>{12. / 9, 16. / 9, 24. / 9, 28. / 9}));
  EXPECT_EQ(values("r=2 stride=2 ceil_mode=1"), (std::vector<double>{3, 4.5, 7.5, 9}));
  EXPECT_EQ(values("r=2 stride=2 mode=max ceil_mode=1"), (std::vector<double>{5, 6, 8, 9}));
  EXPECT_EQ(values("r=3 stride=3 pad_t=1 pad_l=1 count_include_pad=1 ceil_mode=1"),
            (std::vector<double>{12. / 9, 9. / 3, 15. / 3, 9}))
      << "what lies beyond the pads does not count";
  EXPECT_EQ(values("r=1 s=2 pad_l=1"),
            (std::vector<double>{1, 1.5, 2.5, 4, 4.5, 5.5, 7, 7.5, 8.5}));
}

TEST(pool2d, channels_last_are_the_same_maps_turned) {
  const Problem nchw = parse("n=2 c=3 h=4 w=5 r=2 stride=2"),
                nhwc = parse("n=2 c=3 h=4 w=5 r=2 stride=2 layout=nhwc");
  const Tensors turned = make_inputs(nhwc, find_data_set(nhwc, "zero_mean"), 1);
  Tensors inputs = turned;
  inputs["x"] = HostTensor(Dtype::f32, {2, 3, 4, 5});
  for (std::int64_t i = 0; i < 120; ++i) {
    const std::int64_t n = i / 60, c = i / 20 % 3, pixel = i % 20;
    inputs["x"].set(i, turned.at("x").get((n * 20 + pixel) * 3 + c));
  }
  const Expected y = reference(nchw, inputs), t = reference(nhwc, turned);
  for (std::size_t i = 0; i < 24; ++i) {
    const std::size_t n = i / 12, c = i / 4 % 3, pixel = i % 4;
    EXPECT_EQ(y.value[i], t.value[(n * 4 + pixel) * 3 + c]) << i;
  }
}

TEST(pool2d, bounds_are_those_of_the_contract) {
  const auto bound = [](const std::string& words, const char* dtype, Check check) {
    const Problem problem = parse("n=1 c=1 h=2 w=3 " + words, dtype);
    return reference(problem, x_of(problem, {1, -2, 3, -4, 5, -6}), check).bound.at(0);
  };
  const double mean = -0.5, sizes = 21. / 6;
  EXPECT_NEAR(bound("global", "f32", Check::hard), 5 * kU * sizes + 2 * kU * -mean, 1e-15);
  EXPECT_NEAR(bound("global", "f16", Check::hard),
              5 * kU * sizes + (2 * kU + 0x1p-11) * -mean + 0x1p-25, 1e-12);
  EXPECT_EQ(bound("global", "f32", Check::exact), 0);
  EXPECT_EQ(bound("global mode=max", "f32", Check::hard), 0);
  EXPECT_NEAR(bound("r=1", "f32", Check::hard), kU, 1e-15) << "1 is a power of two";
  EXPECT_NEAR(bound("r=2 pad=1", "f32", Check::exact), 5 * kU, 1e-15) << "a quotient";
}

TEST(pool2d, what_is_not_finite_stays_in_its_window) {
  for (const char* mode : {"", " mode=max"}) {
    const Problem problem = parse(std::string("n=1 c=1 h=1 w=8 r=1 s=2 stride=2") + mode);
    const Tensors inputs = x_of(problem, {kNan, 1, kInfinity, 1, -kInfinity, 1, 1, 2});
    const std::vector<double> y = reference(problem, inputs).value;
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ(y[1], kInfinity);
    EXPECT_EQ(y[2], mode[0] ? 1 : -kInfinity);
    EXPECT_EQ(y[3], mode[0] ? 2 : 1.5);
  }
}

// ---- tests of the tests ----

constexpr std::uint64_t kSeed = 1;

const test::Simulation simulation("pool2d", 1e30,
                                  [](const Problem& problem, const Tensors& inputs) {
                                    return pool2d_faults::computed(problem, inputs,
                                                                   pool2d_faults::Fault::none);
                                  });

bool is_copy(const Pool2d& pool) { return pool.r == 1 && pool.s == 1; }

TEST(pool2d, sets_catch_a_half_accumulator_a_dropped_element_and_counted_pads) {
  using pool2d_faults::Fault;
  test::for_each_case("pool2d", [](const Problem& problem) {
    const Pool2d pool(problem);
    const auto caught = [&](Fault fault, const char* set) {
      const std::string name = set;
      const DataSet& data = find_data_set(problem, name);
      const Tensors inputs = make_inputs(problem, data, kSeed);
      return !compare(pool2d_faults::computed(problem, inputs, fault),
                      reference(problem, inputs, data.check))
                  .pass;
    };
    // The last element is the largest of some windows; of many it is less than a half can tell.
    const double windows = static_cast<double>(pool.maps()) * pool.oh() * pool.ow();
    const int taps = pool.r * pool.s;
    const bool matters =
        pool.max ? windows > 16 * taps : problem.dtype() == Dtype::f32 || taps < 500;
    if (!is_copy(pool) && matters) {
      EXPECT_TRUE(caught(Fault::drop_last, "positive"));
    }
    if (pool.max) return;
    // Sums of a few halves that are alike may be exact, and in f16 outputs few roundings are
    // hidden.
    const bool visible = problem.dtype() == Dtype::f32 ? taps > 4 : taps > 60;
    if (visible) {
      EXPECT_TRUE(caught(Fault::half_sum, "positive"));
    }
    if (pool.counts()) {
      EXPECT_TRUE(caught(Fault::other_count, "positive"));
    }
  });
}

// ---- kernels ----

using pool2d_device = test::OpDevice;
class pool2d_broken : public test::OpDevice {};

TEST_F(pool2d_device, large_numbers_and_denormals_pass) {
  for (const std::string& dtype : dtypes()) {
    for (const char* words : {"n=1 c=3 h=9 w=11 global", "n=1 c=3 h=9 w=11 r=3 pad=1",
                              "n=1 c=3 h=9 w=11 r=3 pad=1 mode=max", "n=1 c=3 h=9 w=11 r=8",
                              "n=1 c=3 h=9 w=11 global layout=nhwc"}) {
      const Problem problem = OpDevice::parse(std::string("pool2d ") + words, dtype);
      Tensors inputs = make_inputs(problem, find_data_set(problem, "zero_mean"), test::seed());
      HostTensor& x = inputs.at("x");
      const double most = dtype == "f16" ? 65504 : 1e36,
                   least = dtype == "f16" ? 0x1p-24 : 0x1p-149;
      for (std::int64_t i = 0; i < x.size(); ++i) {
        if (i < 99) x.set(i, i % 3 == 0 ? most : -most);
        if (i >= 99 && i < 198) x.set(i, least * static_cast<double>(i % 5));
        if (i >= 198) x.set(i, i % 2 == 0 ? 0.0 : -0.0);
      }
      const Expected y = expected(problem, inputs, Check::hard).at("y");
      for_each_variant(problem, 0, [&](Trial& trial) {
        // Of denormals and zeros zero is right, so the verdict may be blind.
        const Verdict verdict = compare(run(trial, inputs).at("y"), y, 1);
        EXPECT_LE(verdict.worst_ratio, 1) << verdict.reason;
      });
    }
  }
}

TEST_F(pool2d_broken, broken_kernels_are_caught) {
  const char *global = "pool2d_global", *run = "pool2d_run", *window = "pool2d_window",
             *nhwc = "pool2d_nhwc", *nhwc_global = "pool2d_nhwc_global";
  const test::KernelFault faults[] = {
      {"the elements before the first vector are left out", "lane < head", "lane + 1 < head",
       "pool2d n=1 c=5 h=31 w=31 global", global, "exact"},
      {"the elements behind the last vector are left out", "lane < tail", "lane + 1 < tail",
       "pool2d n=1 c=5 h=31 w=31 global", global, "exact"},
      {"the last vectors are left out", "i < vectors; i", "i + LANES < vectors; i",
       "pool2d n=1 c=5 h=31 w=31 global", global, "exact"},
      {"the maps of a group share their results", "partials + row * (LANES / 4)", "partials",
       "pool2d n=1 c=384 h=31 w=31 global", global, "exact"},
      {"the last map is left as it was", "map < (uint)maps)", "map + 1 < (uint)maps)",
       "pool2d n=1 c=5 h=31 w=31 global", global, "exact"},
      {"a NaN is no larger than a number", "| ((b) != (b))", "| (0 != 0)",
       "pool2d n=3 c=5 h=7 w=9 global mode=max", global, "special"},
      {"the largest starts at 0", "(-INFINITY)", "0.0f", "pool2d n=1 c=7 h=1 w=2 global mode=max",
       global, "zero_mean"},
      {"the sum is not divided", "((all) * scale)", "(all)", "pool2d n=1 c=5 h=31 w=31 global",
       global, "exact"},
      {"pads are counted", "max(first, 0)", "first", "pool2d n=1 c=3 h=9 w=18 r=3 pad=1", run,
       "exact"},
      {"an edge is read for what lies outside", "inside[s] ? v : 0.0f", "v",
       "pool2d n=1 c=3 h=9 w=18 r=3 pad=1", run, "exact"},
      {"a row outside is not left out", "iy == top + i ? row : 0.0f", "row",
       "pool2d n=1 c=3 h=9 w=18 r=3 pad=1", run, "exact"},
      {"the last output of a column is left as it was", "first_oy + j < oh)",
       "first_oy + j + 1 < oh)", "pool2d n=1 c=3 h=5 w=16 r=2 stride=2", run, "exact"},
      {"a row too few", "i < j * POOL2D_STRIDE + POOL2D_R", "i < j * POOL2D_STRIDE + POOL2D_R - 1",
       "pool2d n=2 c=2 h=13 w=33 r=3 stride=2", run, "exact"},
      {"the last column of a window is left out", "s < columns", "s + 1 < columns",
       "pool2d n=1 c=3 h=12 w=40 r=1 s=20 stride_h=5 stride_w=10", window, "exact"},
      {"the window begins in the padding", "max(left, 0)) * SIZE", "max(left + 1, 0)) * SIZE",
       "pool2d n=1 c=2 h=17 w=17 r=8 stride=8 count_include_pad=1 pad=2", window, "exact"},
      {"what lies beyond the pads counts", "min(first + taps, end) - first", "taps",
       "pool2d n=1 c=3 h=10 w=12 r=3 stride=2 pad=1 count_include_pad=1 ceil_mode=1", run, "exact"},
      {"the rows of another image", "(line - image * oh)", "line",
       "pool2d n=2 c=64 h=7 w=8 r=2 stride=2 layout=nhwc", nhwc, "exact"},
      {"the channels of another pixel", "w * c * SIZE, c * SIZE", "w * c * SIZE, 4 * SIZE",
       "pool2d n=2 c=64 h=7 w=8 r=2 stride=2 layout=nhwc", nhwc, "exact"},
      {"the last pixels are left out", "i < (uint)n; i", "i + POOL2D_LANES < (uint)n; i",
       "pool2d n=2 c=3 h=33 w=31 global layout=nhwc", nhwc_global, "exact"},
      {"a lane's result is left out", "i < POOL2D_LANES; ++i", "i < POOL2D_LANES - 1; ++i",
       "pool2d n=2 c=3 h=33 w=31 global layout=nhwc", nhwc_global, "exact"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults))
    expect_caught("pool2d.cl", fault);
}

// ---- for the tests of every op ----

const test::GroupSizes groups("pool2d", 4, test::Bits::follow_group,
                              {"n=1 c=7 h=31 w=31 global", "n=1 c=384 h=31 w=31 global",
                               "n=1 c=20 h=9 w=9 global layout=nhwc mode=max",
                               "n=1 c=3 h=19 w=21 r=3 stride=2 pad=1",
                               "n=1 c=20 h=9 w=9 r=3 layout=nhwc"});

std::string random_case(Random& random) {
  const int r = random.integer(1, 9), s = random.integer(1, 9);
  return fmt::format(
      "pool2d n={} c={} h={} w={} r={} s={} stride_h={} stride_w={} pad_t={} pad_l={} pad_b={} "
      "pad_r={} mode={} count_include_pad={} ceil_mode={} layout={}",
      random.integer(1, 3), random.integer(1, 12), r + random.integer(0, 20),
      s + random.integer(0, 30), r, s, random.integer(1, 5), random.integer(1, 5),
      random.integer(0, r - 1), random.integer(0, s - 1), random.integer(0, r - 1),
      random.integer(0, s - 1), random.integer(0, 1) ? "max" : "avg", random.integer(0, 1),
      random.integer(0, 1), random.integer(0, 1) ? "nhwc" : "nchw");
}

const test::RandomProblems random_problems("pool2d", 6, random_case);

}  // namespace
}  // namespace clam::pool2d_test
