// SPDX-License-Identifier: MIT
// dense_device_test.cpp - kernels of dense on a device, and broken ones.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "contains.hpp"
#include "op_device.hpp"
#include "ops/shared/activation.hpp"
#include "test_device.hpp"

namespace clam::dense_device_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const DataSet& data_set(const char* name) { return find_data_set(find_op("dense"), name); }

HostTensor tensor(Dtype dtype, Shape shape, const std::vector<double>& values) {
  HostTensor tensor(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, values[static_cast<std::size_t>(i)]);
  return tensor;
}

using dense_device = test::OpDevice;

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class dense_broken : public test::OpDevice {};

TEST_F(dense_device, every_group_size_gives_the_same_bits) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = parse("dense m=13 n=70 k=20", dtype);
    const Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
    const Expected y = expected(problem, inputs, Check::zero_mean).at("y");
    HostTensor first;
    for (const int limit : {1, 16, 64, 256}) {
      for_each_variant(problem, limit, [&](Trial& trial) {
        const HostTensor output = run(trial, inputs).at("y");
        if (first.size() == 0) first = output;
        EXPECT_TRUE(output == first);
      });
    }
    EXPECT_TRUE(compare(first, y, 1).pass);
  }
}

/// The plan with tiles of another height; small problems would never choose the high ones.
Plan with_rows(Plan plan, int m, int rows) {
  Launch& tiles = plan.launches.back();
  const std::size_t at = tiles.options.find("_M0=") + 4;
  tiles.options.replace(at, 1, std::to_string(rows));
  const std::int64_t tile_rows = (m + rows - 1) / rows, group = tiles.local[1];
  tiles.global[1] = (tile_rows + group - 1) / group * group;
  return plan;
}

TEST_F(dense_device, every_tile_height_is_right_at_its_edges) {
  const std::pair<const char*, const char*> kinds[] = {{"dense_packed", "n=15 k=12"},
                                                       {"dense_nt", "n=15 k=12"},
                                                       {"dense_nn", "n=16 k=12 trans_w=0"}};
  for (const auto& [variant, rest] : kinds) {
    for (const int rows : {1, 2, 4, 5, 6}) {
      for (const int m : {rows, rows + 1, 2 * rows - 1, 2 * rows, 3 * rows + 1}) {
        const Problem problem = parse(fmt::format("dense m={} {}", m, rest));
        SCOPED_TRACE(fmt::format("{} {} rows {}", problem.text(), variant, rows));
        const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
        const Plan plan = make_plan(problem, test::runtime().device(), {variant});
        Trial trial(test::runtime(), with_rows(plan, m, rows));
        expect_pass(trial, inputs, expected(problem, inputs, Check::exact));
      }
    }
  }
}

/// The plan of dense_both_packed with panels of another height.
Plan with_panels(Plan plan, int m, int rows) {
  const int panels = (m + rows - 1) / rows;
  for (Launch* launch : {&plan.pack[0], &plan.launches[0], &plan.launches[1]}) {
    const std::size_t at = launch->options.find("DENSE_M0=") + 9;
    launch->options.replace(at, 1, std::to_string(rows));
  }
  const auto set_rows = [](Launch& launch, std::int64_t items) {
    const std::int64_t group = launch.local[1];
    launch.global[1] = (items + group - 1) / group * group;
  };
  set_rows(plan.launches[0], panels * rows / 4);
  set_rows(plan.launches[1], panels);
  for (BufferSpec& buffer : plan.buffers) {
    if (buffer.name == "x_packed") buffer.bytes = std::int64_t{panels} * rows * 12 * 4;
  }
  return plan;
}

TEST_F(dense_device, every_height_of_a_panel_is_right_at_its_edges) {
  for (const int rows : {4, 8}) {
    for (const int m : {1, rows - 1, rows, rows + 1, 2 * rows + 3, 3 * rows}) {
      for (const char* rest : {"n=15 k=12", "n=64 k=11 ldx=13 offx=1", "n=17 k=9 trans_w=0"}) {
        const Problem problem = parse(fmt::format("dense m={} {}", m, rest));
        SCOPED_TRACE(fmt::format("{} rows {}", problem.text(), rows));
        const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
        const Plan plan = make_plan(problem, test::runtime().device(), {"dense_both_packed"});
        Trial trial(test::runtime(), with_panels(plan, m, rows));
        expect_pass(trial, inputs, expected(problem, inputs, Check::exact));
      }
    }
  }
}

TEST_F(dense_device, nan_stays_in_its_row_or_column) {
  for (const std::string& dtype : dtypes()) {
    for (const char* line :
         {"dense m=9 n=15 k=12", "dense m=9 n=15 k=11", "dense m=9 n=15 k=24 bias act=relu",
          "dense m=9 n=15 k=24 bias act=gelu"}) {
      const Problem problem = parse(line, dtype);
      Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
      const std::int64_t k = problem.integer("k");
      inputs.at("x").set(4 * k + k - 1, kNan);  // row 4
      inputs.at("w").set(7 * k + 2, kNan);      // column 7
      expect_like_reference(problem, inputs);
      for_each_variant(problem, 0, [&](Trial& trial) {
        const HostTensor y = run(trial, inputs).at("y");
        for (std::int64_t i = 0; i < y.size(); ++i) {
          EXPECT_EQ(std::isnan(y.get(i)), i / 15 == 4 || i % 15 == 7) << i;
        }
      });
    }
  }
}

TEST_F(dense_device, infinities_and_negative_zeros_are_numbers) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = parse("dense m=9 n=15 k=12", dtype);
    Tensors inputs = make_inputs(problem, data_set("positive"), test::seed());
    inputs.at("x").set(4 * 12 + 3, kInfinity);
    inputs.at("w").set(7 * 12 + 5, -kInfinity);
    for (std::int64_t i = 0; i < 12; ++i) inputs.at("x").set(2 * 12 + i, -0.0);
    expect_like_reference(problem, inputs);
  }
}

TEST_F(dense_device, every_activation_takes_infinities_as_its_reference_does) {
  for (const std::string& act : activation_names()) {
    const Problem problem = parse("dense m=8 n=4 k=4 act=" + act);
    Tensors inputs = make_inputs(problem, data_set("positive"), test::seed());
    inputs.at("x").set(0, kInfinity);
    inputs.at("x").set(4, -kInfinity);
    for (std::int64_t i = 0; i < 16; ++i) inputs.at("w").set(i, 0.5);
    expect_like_reference(problem, inputs);
  }
}

TEST_F(dense_device, denormals_are_kept_where_the_device_has_them) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = parse("dense m=9 n=15 k=12", dtype);
    Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
    const double step = dtype == "f16" ? 0x1p-20 : 0x1p-138;
    HostTensor& x = inputs.at("x");
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, step * static_cast<double>(i % 7 - 3));
    const Expected y = expected(problem, inputs, Check::hard).at("y");
    for_each_variant(problem, 0, [&](Trial& trial) {
      // A device without denormals may give zeros: then the bound says so, and the verdict is
      // blind.
      EXPECT_LE(compare(run(trial, inputs).at("y"), y, 1).worst_ratio, 1);
    });
  }
}

TEST_F(dense_device, the_largest_halves_add_up_and_overflow_like_ieee) {
  CLAM_NEEDS_F16();
  const Problem problem = parse("dense m=3 n=15 k=2", "f16");
  Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
  inputs.at("x") = tensor(Dtype::f16, {3, 2}, {65504, -65504, 65504, 65504, -65504, 0});
  for (std::int64_t i = 0; i < inputs.at("w").size(); ++i) inputs.at("w").set(i, 1);
  for_each_variant(problem, 0, [&](Trial& trial) {
    const HostTensor y = run(trial, inputs).at("y");
    EXPECT_EQ(y.get(0), 0);
    EXPECT_EQ(y.get(15), kInfinity);
    EXPECT_EQ(y.get(30), -65504);
  });
}

// ---- broken kernels ----

/// Two vectors of columns, split addresses, work-items that share k.
const std::vector<std::string> kOfAMali = {"dense m=3 n=9 k=1021 bias",
                                           "dense m=5 n=64 k=516 trans_w=0",
                                           "dense m=12 n=384 k=264 act=relu residual bias",
                                           "dense m=12 n=384 k=260 trans_w=0 ldx=268 offx=4",
                                           "dense m=193 n=256 k=132 bias residual ldr=260",
                                           "dense m=193 n=260 k=132 trans_w=0",
                                           "dense m=191 n=256 k=260",
                                           "dense m=193 n=252 k=260 acc=chunk bias",
                                           "dense m=100 n=512 k=128 acc=f16 ldx=136 offx=8 bias",
                                           "dense m=100 n=512 k=128 acc=f16 ldx=132",
                                           "dense m=3 n=9 k=500 k2=521 bias",
                                           "dense m=5 n=64 k=260 k2=20",
                                           "dense m=12 n=384 k=100 k2=160 acc=chunk trans_w=0",
                                           "dense m=100 n=512 k=64 k2=64 acc=f16 ldx2=72 offx2=8"};

/// Plans as a Mali gets them, by every variant.
void for_each_mali_plan(const std::vector<std::string>& lines, const std::string& dtype,
                        const std::function<void(const Plan&)>& body) {
  const DeviceInfo mali = gpu_device(find_gpu("g610"));
  for (const Problem& problem : problems_of(lines, dtype)) {
    for (const Variant& variant : op_of(problem).variants) {
      if (!variant.refuses(problem, mali)) body(make_plan(problem, mali, {variant.name}));
    }
  }
}

void expect_right_here(const std::vector<std::string>& lines) {
  for (const std::string& dtype : dense_device::dtypes()) {
    for_each_mali_plan(lines, dtype, [](const Plan& plan) {
      const Problem problem = Problem::parse(plan.problem);
      SCOPED_TRACE(plan.problem + " " + plan.variant);
      for (const char* set : {"exact", "zero_mean"}) {
        const Tensors inputs = make_inputs(problem, data_set(set), test::seed());
        Trial trial(test::runtime(), plan);
        dense_device::expect_pass(trial, inputs,
                                  dense_device::expected(problem, inputs, data_set(set).check));
      }
    });
  }
}

TEST_F(dense_device, plans_for_a_mali_are_right_here_too) {
  expect_right_here(test::of_this_run(kOfAMali));
}

/// Trips of 16 k, of which the last part has one more; rows in front of a tile that is moved up.
TEST_F(dense_device, tiles_of_five_rows_in_parts_are_right_here_too) {
  const DeviceInfo mali = gpu_device(find_gpu("g610"));
  for (const std::string& dtype : dtypes()) {
    for (const char* words : {"m=97 n=132 k=336 bias", "m=96 n=128 k=352 residual act=relu"}) {
      const Problem problem = parse(std::string("dense ") + words, dtype);
      for (const int parts : {1, 2, 4}) {
        const Plan plan =
            make_plan(problem, mali, {"dense_packed", 0, fmt::format("M0=5,N0=8,PARTS={}", parts)});
        SCOPED_TRACE(fmt::format("{} in {} parts", problem.text(), parts));
        EXPECT_TRUE(test::contains(plan.launches.back().options, "DENSE_K0=16"));
        for (const char* set : {"exact", "zero_mean"}) {
          const Tensors inputs = make_inputs(problem, data_set(set), test::seed());
          Trial trial(test::runtime(), plan);
          expect_pass(trial, inputs, expected(problem, inputs, data_set(set).check));
        }
      }
    }
  }
}

TEST_F(dense_device, a_malis_plans_of_all_cases_are_right_here_too) {
  expect_right_here(proof_of(find_op("dense")).cases);
}

/// In order the large terms cancel at once; in parts the first is the end of one part, and all of
/// the next part's partial sums are as large as the second.
TEST_F(dense_device, sums_that_cancel_between_parts_stay_within_their_bound) {
  const Problem problem = parse("dense m=4 n=4 k=256");
  const Plan plan = make_plan(problem, gpu_device(find_gpu("g610")), {"dense_packed"});
  ASSERT_NE(plan.launches.back().options.find("PARTS=4"), std::string::npos);
  Tensors inputs = make_inputs(problem, data_set("positive"), test::seed());
  for (std::int64_t i = 0; i < 4 * 256; ++i) {
    const std::int64_t k = i % 256;
    inputs.at("w").set(i, 1);
    inputs.at("x").set(i, k == 63 ? 16777216 : k == 64 ? -16777216 : 0.75);
  }
  Trial trial(test::runtime(), plan);
  expect_pass(trial, inputs, expected(problem, inputs, Check::hard));
}

/// Kernels that take every tile for one that lies across 4 GiB.
void expect_same_bits_across_4_gib(const std::vector<std::string>& lines) {
  const test::TemporaryFolder folder;
  for (const char* file : {"dense.cl", "batch_matmul.cl"}) {
    test::break_kernel(folder, file, "< (uint)(ulong)base", ">= 0 * (uint)(ulong)base");
  }
  const auto across = test::runtime_with_kernels(folder);
  for (const std::string& dtype : dense_device::dtypes()) {
    for_each_mali_plan(lines, dtype, [&](const Plan& plan) {
      const Problem problem = Problem::parse(plan.problem);
      SCOPED_TRACE(plan.problem + " " + plan.variant);
      const Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
      Trial near(test::runtime(), plan), far(*across, plan);
      EXPECT_TRUE(dense_device::run(near, inputs).at("y") ==
                  dense_device::run(far, inputs).at("y"));
    });
  }
}

TEST_F(dense_device, tiles_that_lie_across_4_gib_have_the_same_bits) {
  expect_same_bits_across_4_gib(test::of_this_run(kOfAMali));
}

TEST_F(dense_device, tiles_of_all_cases_across_4_gib_have_the_same_bits) {
  expect_same_bits_across_4_gib(proof_of(find_op("dense")).cases);
}

/// Plans of a Mali with one core, for which a small product is a large one, in bands of `band` rows
/// of groups.
std::vector<Plan> plans_in_bands(const std::string& dtype, int band) {
  DeviceInfo device = gpu_device(find_gpu("g610"));
  device.compute_units = 1;
  std::vector<Plan> plans;
  for (const char* line : {"dense m=75 n=2041 k=260 bias", "dense m=64 n=2048 k=256"}) {
    for (const char* variant : {"dense_packed", "dense_both_packed"}) {
      Plan plan = make_plan(dense_device::parse(line, dtype), device, {variant});
      Launch& launch = plan.launches.back();
      const std::size_t at = launch.options.find("DENSE_BAND="), end = launch.options.find(' ', at);
      if (at == std::string::npos) throw std::logic_error(plan.problem + " is planned in no bands");
      const int planned = std::stoi(launch.options.substr(at + 11));
      const std::int64_t rows = launch.global[1] * planned / launch.local[1];
      launch.options.replace(at + 11, end - at - 11, std::to_string(band));
      launch.global[0] = launch.global[0] / planned * band;
      launch.global[1] = (rows + band - 1) / band * launch.local[1];
      plans.push_back(std::move(plan));
    }
  }
  return plans;
}

/// The last band may have rows of groups that are not there.
TEST_F(dense_device, groups_in_bands_are_right) {
  for (const std::string& dtype : dtypes()) {
    for (const int band : std::getenv("CLAM_TEST_FULL") ? std::vector{2, 3, 5} : std::vector{2}) {
      for (const Plan& plan : plans_in_bands(dtype, band)) {
        SCOPED_TRACE(plan.problem + plan.launches.back().options);
        const Problem problem = Problem::parse(plan.problem);
        const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
        Trial trial(test::runtime(), plan);
        expect_pass(trial, inputs, expected(problem, inputs, Check::exact));
      }
    }
  }
}

TEST_F(dense_broken, groups_that_leave_their_band_are_caught) {
  for (const auto& [from, to] :
       {std::pair("get_group_id(0) % DENSE_BAND", "get_group_id(0) / DENSE_BAND % DENSE_BAND"),
        std::pair("get_group_id(0) / DENSE_BAND", "get_group_id(0) / DENSE_BAND / 2")}) {
    const test::TemporaryFolder folder;
    test::break_kernel(folder, "dense.cl", from, to);
    const auto broken = test::runtime_with_kernels(folder);
    const Plan plan = plans_in_bands("f32", 2).front();
    const Problem problem = Problem::parse(plan.problem);
    const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
    Trial trial(*broken, plan);
    const Reference reference = expected(problem, inputs, Check::exact);
    EXPECT_FALSE(compare_all(reference, run(trial, inputs), {}, 1).pass()) << to;
  }
}

TEST_F(dense_broken, tiles_of_five_rows_gone_wrong_are_caught) {
  for (const auto& [from, to] : {std::pair("TWO_K(NEXT, four.zw, (k_at) + 2)",  // k that come again
                                           "TWO_K(NEXT, four.xy, (k_at) + 2)"),
                                 std::pair("LOAD_TWO(3, k_at) LOAD_TWO(4, k_at)",  // another k
                                           "LOAD_TWO(3, k_at) LOAD_TWO(4, (k_at) & 8)"),
                                 std::pair("FOUR(NEXT, 8) FOUR(NEXT, 12)\n#endif",  // of a trip
                                           "FOUR(NEXT, 8) FOUR(NEXT, 8)\n#endif")}) {
    const test::TemporaryFolder folder;
    test::break_kernel(folder, "dense.cl", from, to);
    const auto broken = test::runtime_with_kernels(folder);
    const Problem problem = parse("dense m=96 n=128 k=352");
    const Plan plan =
        make_plan(problem, gpu_device(find_gpu("g610")), {"dense_packed", 0, "M0=5,N0=8,PARTS=1"});
    const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
    Trial trial(*broken, plan);
    const Reference reference = expected(problem, inputs, Check::exact);
    EXPECT_FALSE(compare_all(reference, run(trial, inputs), {}, 1).pass()) << to;
  }
}

TEST_F(dense_broken, broken_kernels_are_caught) {
  const test::KernelFault faults[] = {
      {"wrong tile", "offx + tile.row * x_stride", "offx + tile.row / 2 * x_stride",
       "dense m=9 n=15 k=12", "dense_packed", "exact"},
      {"wrong column", "row * out.ld_y + col, first", "row * out.ld_y + (col ^ 4), first",
       "dense m=9 n=16 k=12", "dense_nt", "exact"},
      {"a row of weights twice", "w_at##n + (k_at)", "w_at0 + (k_at)", "dense m=9 n=16 k=12",
       "dense_nt", "exact"},
      {"dropped last k", "LIMIT(x, (k) * (x_step))", "LIMIT(x, ((k) - 4) * (x_step))",
       "dense m=9 n=15 k=12", "dense_packed", "exact"},
      {"dropped last k", "i < products; ++i", "i < products - 1; ++i", "dense m=9 n=15 k=12",
       "dense_plain", "exact"},
      {"early return", "tile.above >= ROWS || tile.col >= n",
       "tile.above + 1 >= ROWS || tile.col >= n", "dense m=9 n=15 k=12", "dense_packed",
       "zero_mean"},
      {"early return", "own_row >= m || own_col >= n", "own_row >= m || own_col + 4 >= n",
       "dense m=9 n=15 k=12", "dense_nt", "zero_mean"},
      {"padding that is not zero", "p[3 * step] : (T)0", "p[3 * step] : (T)NAN",
       "dense m=9 n=15 k=11", "dense_packed", "exact"},
      {"padding that is not written", "if (i >= k4 || row >= m)", "if (4 * i + 4 > k || row >= m)",
       "dense m=9 n=15 k=11", "dense_packed", "exact"},
      {"stale panels", "if (col < n && from < end)", "if (col < n - 4 && from < end)",
       "dense m=9 n=15 k=12", "dense_packed", "exact"},
      {"tail columns stored over the next row", "i >= first && i < end", "1", "dense m=9 n=15 k=12",
       "dense_packed", "exact"},
      {"no activation", "ACT(z.x)", "z.x", "dense m=9 n=15 k=24 bias act=relu", "dense_packed",
       "exact"},
      {"the least of clip for its most", "(z > CLAM_ACT_BETA ? CLAM_ACT_BETA",
       "(z > CLAM_ACT_BETA ? CLAM_ACT_ALPHA",
       "dense m=9 n=15 k=24 act=clip act_alpha=-2.5 act_beta=3", "dense_packed", "exact"},
      {"the most of clip for its least", "z < CLAM_ACT_ALPHA ? CLAM_ACT_ALPHA : (",
       "!(z >= CLAM_ACT_ALPHA) ? CLAM_ACT_BETA : (",
       "dense m=9 n=15 k=24 act=clip act_alpha=-2.5 act_beta=3", "dense_packed", "exact"},
      {"another slope", "CLAM_ACT_ALPHA * z : z", "0.01f * z : z",
       "dense m=9 n=15 k=24 act=leaky_relu act_alpha=0.3", "dense_packed", "zero_mean"},
      {"slope and shift swapped", "fma(CLAM_ACT_ALPHA, z, CLAM_ACT_BETA)",
       "fma(CLAM_ACT_BETA, z, CLAM_ACT_ALPHA)",
       "dense m=9 n=15 k=24 act=hard_sigmoid act_alpha=0.1", "dense_packed", "zero_mean"},
      {"hard_swish that ends early", "fma(z, 0.166666672f, 0.5f)", "fma(z, 0.2f, 0.5f)",
       "dense m=9 n=15 k=24 act=hard_swish", "dense_packed", "zero_mean"},
      {"no scale", "fma(CLAM_ACT_SCALE, CLAM_ACT_OF(z)", "fma(1.0f, CLAM_ACT_OF(z)",
       "dense m=9 n=15 k=24 act=hard_swish act_scale=1.3", "dense_packed", "zero_mean"},
      {"no shift", "CLAM_ACT_OF(z), CLAM_ACT_SHIFT)", "CLAM_ACT_OF(z), 0.0f)",
       "dense m=9 n=15 k=24 act=relu act_shift=0.3", "dense_packed", "zero_mean"},
      {"scale before the activation", "CLAM_ACT_SCALE, CLAM_ACT_OF(z)",
       "1.0f, CLAM_ACT_OF(CLAM_ACT_SCALE * z)", "dense m=9 n=15 k=24 act=hard_swish act_scale=1.3",
       "dense_packed", "zero_mean"},
      {"no bias", "if (ADDEND)", "if (0)", "dense m=9 n=15 k=24 bias", "dense_packed", "exact"},
      {"no bias", "if (ADDEND)", "if (0)", "dense m=9 n=15 k=24 bias", "dense_nt", "exact"},
      {"another column's bias", "row * out.ld_addend + col", "row * out.ld_addend",
       "dense m=9 n=16 k=24 bias", "dense_nt", "exact"},
      {"no residual", "if (RESIDUAL)", "if (0)", "dense m=9 n=16 k=24 residual", "dense_nt",
       "exact"},
      {"x2 with the stride of x", "DENSE_LDX2 ? DENSE_LDX2 : ldx2", "ldx",
       "dense m=9 n=15 k=8 k2=12", "dense_packed", "exact"},
      {"every other row of x2 twice", "row * source.ld", "row / 2 * source.ld",
       "dense m=9 n=16 k=8 k2=12", "dense_nt", "exact"},
      {"x2 with the stride of x", "row * ldx2", "row * ldx", "dense m=9 n=15 k=8 k2=12",
       "dense_plain", "exact"},
      {"dropped last k of x2", "w_step, second.products)", "w_step, second.products - 4)",
       "dense m=9 n=15 k=8 k2=12", "dense_packed", "exact"},
      {"weights of x2 behind no padding", "is_x2 ? i - k4 + k : i", "i", "dense m=9 n=15 k=7 k2=12",
       "dense_packed", "exact"},
      {"wrong panel of x", "x_at = row * k,", "x_at = row / 2 * k,", "dense m=9 n=15 k=12",
       "dense_both_packed", "exact"},
      {"dropped last k", "LIMIT(x, (k) * (x_step))", "LIMIT(x, ((k) - 4) * (x_step))",
       "dense m=9 n=15 k=12", "dense_both_packed", "exact"},
      {"rows stored behind the last", "i / VECTORS >= tile.below", "i / VECTORS > tile.below",
       "dense m=9 n=15 k=12", "dense_both_packed", "exact"},
      {"rows of a panel in the wrong order", "v0.y, v1.y", "v1.y, v0.y", "dense m=9 n=15 k=12",
       "dense_both_packed", "exact"},
      {"k of a panel in the wrong place", "p + 2 * ROWS, v0.z", "p + 2 * ROWS, v0.w",
       "dense m=9 n=15 k=12", "dense_both_packed", "exact"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults)) {
    expect_caught(std::string(fault.variant) == "dense_nt" ? "batch_matmul.cl" : "dense.cl", fault);
  }
}

}  // namespace
}  // namespace clam::dense_device_test
