// SPDX-License-Identifier: MIT
// batch_matmul_device_test.cpp - kernels of batch_matmul on a device, and broken ones.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "check/op_proof.hpp"
#include "check/ops/batch_matmul_data.hpp"
#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "op_device.hpp"
#include "ops/shared/activation.hpp"
#include "test_device.hpp"

namespace clam::batch_matmul_device_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Problem problem_of(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("batch_matmul " + words + " dtype=" + dtype);
}

const DataSet& data_set(const char* name) { return find_data_set(find_op("batch_matmul"), name); }

HostTensor tensor(Dtype dtype, Shape shape, const std::vector<double>& values) {
  HostTensor tensor(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, values[static_cast<std::size_t>(i)]);
  return tensor;
}

using batch_matmul_device = test::OpDevice;

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class batch_matmul_broken : public test::OpDevice {};

/// The plan with other tiles; small problems would never choose the high ones, nor the wide.
Plan with_tile(Plan plan, const Problem& problem, int rows, int columns) {
  for (Launch& launch : plan.launches) {
    std::string& options = launch.options;
    options.replace(options.find("BMM_M0=") + 7, 1, std::to_string(rows));
    const std::size_t width = options.find("BMM_N0=");
    if (width != options.npos) options.replace(width + 7, 1, std::to_string(columns));
    if (width == options.npos) options += fmt::format(" -DBMM_N0={}", columns);
  }
  Launch& tiles = plan.launches.back();
  const std::int64_t extents[] = {(problem.integer("n") + columns - 1) / columns,
                                  (problem.integer("m") + rows - 1) / rows};
  for (const int i : {0, 1}) {
    const std::int64_t group = tiles.local[i];
    tiles.global[i] = (extents[i] + group - 1) / group * group;
  }
  return plan;
}

/// acc=f32 in f32, and where the device has half, everything that sums halves.
std::vector<std::pair<std::string, std::string>> sums_of(const std::vector<std::string>& dtypes) {
  std::vector<std::pair<std::string, std::string>> sums;
  for (const std::string& dtype : dtypes) {
    sums.emplace_back(dtype, "");
    if (dtype != "f16") continue;
    sums.emplace_back(dtype, " acc=chunk");
    sums.emplace_back(dtype, " acc=f16");
  }
  return sums;
}

struct TileCase {
  const char *how, *rest;
  int columns;
  std::vector<int> rows;
};

// n=128 is one panel of tiles of 8 columns.
const TileCase kTiles[] = {{"nt", "n=15 k=36 tb=1", 4, {1, 2, 4, 5, 6, 8}},
                           {"nn", "n=16 k=36", 4, {1, 2, 4, 5, 6, 8}},
                           {"nn", "n=128 k=36", 8, {4, 5}},
                           {"tn", "n=16 k=36 ta=1", 4, {4, 8}},
                           {"tn", "n=128 k=36 ta=1", 8, {4}},
                           {"tn", "n=15 k=370 ta=1", 4, {4, 8}}};

TEST_F(batch_matmul_device, every_tile_is_right_at_its_edges) {
  const auto check = [&](const TileCase& tile, int rows, int m, const auto& sum) {
    const Problem problem =
        problem_of(fmt::format("batch=2 m={} {}{}", m, tile.rest, sum.second), sum.first);
    const std::string variant = std::string("batch_matmul_") + tile.how;
    if (find_variant(op_of(problem), variant).refuses(problem, test::runtime().device())) return;
    if (rows == 5 && !sum.second.empty()) return;  // its sums are float
    SCOPED_TRACE(fmt::format("{} {} tile {}x{}", problem.text(), variant, rows, tile.columns));
    const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
    const Plan plan = make_plan(problem, test::runtime().device(), {variant});
    Trial trial(test::runtime(), with_tile(plan, problem, rows, tile.columns));
    expect_pass(trial, inputs, expected(problem, inputs, Check::exact));
  };
  for (const auto& sum : sums_of(dtypes())) {
    for (const TileCase& tile : kTiles) {
      for (const int rows : tile.rows) {
        for (const int m : {rows, rows + 1, 3 * rows - 1}) check(tile, rows, m, sum);
      }
    }
  }
}

/// Plans as a Mali gets them: split addresses, two vectors of columns, items that share k.
TEST_F(batch_matmul_device, plans_for_a_mali_are_right_here_too) {
  const DeviceInfo mali = gpu_device(find_gpu("g610"));
  const std::vector<std::string> all = {"batch=4 m=193 n=192 k=64 tb=1 mask=mn scale=0.125",
                                        "m=193 n=196 k=260 tb=1",
                                        "m=193 n=196 k=260",
                                        "m=320 n=512 k=64",
                                        "batch=4 m=193 n=64 k=196",
                                        "batch=4 m=193 n=66 k=196",
                                        "batch=3 m=195 n=128 k=68 ta=1",
                                        "batch=3 m=195 n=128 k=68 ta=1 tb=1"};
  for (const auto& [dtype, acc] : sums_of(dtypes())) {
    for (const std::string& word : test::of_this_run(all)) {
      const Problem problem = problem_of(word + acc, dtype);
      const Plan plan = make_plan(problem, mali);
      SCOPED_TRACE(problem.text() + " " + plan.variant);
      const bool in_parts = plan.launches.back().options.find("PARTS=") != std::string::npos;
      EXPECT_TRUE(in_parts || problem.integer("k") != 260);
      for (const char* set : {"exact", "zero_mean"}) {
        const Tensors inputs = make_inputs(problem, data_set(set), test::seed());
        Trial trial(test::runtime(), plan);
        expect_pass(trial, inputs, expected(problem, inputs, data_set(set).check));
      }
    }
  }
}

/// The plan with items that share k: `parts` in place of as many groups along m.
Plan in_parts(Plan plan, int parts) {
  Launch& tiles = plan.launches.back();
  for (Launch& launch : plan.launches) {
    launch.options += fmt::format(" -DBMM_PARTS={}", parts);
    for (const auto& [name, items] : {std::pair<const char*, int>{"BMM_LX=", 4}, {"BMM_LY=", 2}}) {
      const std::size_t begin = launch.options.find(name) + std::strlen(name);
      launch.options.replace(begin, launch.options.find(' ', begin) - begin, std::to_string(items));
    }
    launch.global[0] = (launch.global[0] + 3) / 4 * 4;
    launch.global[1] = (launch.global[1] + 1) / 2 * 2;
    launch.local = {4, 2, 1};
  }
  tiles.global[2] *= parts;
  tiles.local[2] = parts;
  return plan;
}

TEST_F(batch_matmul_device, items_that_share_k_add_up_to_the_sum) {
  const char* const cases[][2] = {{"nt", "batch=2 m=9 n=15 k=148 tb=1 mask=bmn scale=0.5"},
                                  {"nt", "batch=3 m=13 n=20 k=160 tb=1"},
                                  {"nn", "batch=2 m=9 n=16 k=148 act=relu"},
                                  {"nn", "batch=3 m=13 n=39 k=160 ldc=41"}};
  for (const auto& [dtype, acc] : sums_of(dtypes())) {
    for (const auto& [how, words] : cases) {
      const Problem problem = problem_of(words + acc, dtype);
      const Plan plan = make_plan(problem, test::runtime().device(), {std::string("batch_matmul_") + how});
      for (const int parts : {2, 4}) {
        SCOPED_TRACE(fmt::format("{} in {} parts", problem.text(), parts));
        for (const char* set : {"exact", "zero_mean", "positive"}) {
          const Tensors inputs = make_inputs(problem, data_set(set), test::seed());
          Trial trial(test::runtime(), in_parts(plan, parts));
          expect_pass(trial, inputs, expected(problem, inputs, data_set(set).check));
        }
      }
    }
  }
}

TEST_F(batch_matmul_broken, faulty_parts_are_caught) {
  const Problem problem = problem_of("batch=2 m=9 n=16 k=148");
  const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
  const char* const faults[][2] = {{"begin = at * part", "begin = 0 * part"},
                                   {"int part = 1; part < PARTS", "int part = 2; part < PARTS"},
                                   {"all - at * part", "part"},
                                   {"item * strideb + range.begin * b_row", "item * strideb"},
                                   {"tile.row * a_row + range.begin_x", "tile.row * a_row"}};
  const Expected c = expected(problem, inputs, Check::exact).at("c");
  for (const auto& [from, to] : faults) {
    SCOPED_TRACE(from);
    const test::TemporaryFolder folder;
    test::break_kernel(folder, "batch_matmul.cl", from, to);
    const auto broken = test::runtime_with_kernels(folder);
    const Plan plan = make_plan(problem, broken->device(), {"batch_matmul_nn"});
    Trial trial(*broken, in_parts(plan, 2));
    EXPECT_FALSE(compare(run(trial, inputs).at("c"), c).pass);
  }
}

/// The plan for a compiler that gains by split addresses.
Plan with_split(Plan plan) {
  std::string& options = plan.launches.back().options;
  if (options.find("BMM_SPLIT") == options.npos) options += " -DBMM_SPLIT=1";
  return plan;
}

TEST_F(batch_matmul_device, split_addresses_give_the_same_bits_on_either_way) {
  const test::TemporaryFolder folder;
  for (const char* file : {"batch_matmul.cl", "batch_matmul_transposed.cl"}) {
    test::break_kernel(folder, file, "< (uint)(ulong)base", ">= 0 * (uint)(ulong)base");
  }
  const auto carrying = test::runtime_with_kernels(folder);
  const std::vector<std::array<std::string, 3>> cases = {
      {"nt", "batch=2 m=9 n=15 k=68 tb=1 mask=bmn", "4"},
      {"nn", "batch=2 m=9 n=16 k=68 lda=72 offb=4", "4"},
      {"nn", "m=9 n=128 k=36 act=relu", "8"},
      {"tn", "batch=2 m=12 n=16 k=68 ta=1", "4"},
      {"tn", "m=12 n=128 k=36 ta=1", "8"}};
  for (const auto& [dtype, acc] : sums_of(dtypes())) {
    for (const auto& [how, words, columns] : test::of_this_run(cases)) {
      const Problem problem = problem_of(words + acc, dtype);
      SCOPED_TRACE(problem.text());
      const Plan plan =
          with_tile(make_plan(problem, test::runtime().device(), {"batch_matmul_" + how}), problem,
                    4, std::stoi(columns));
      const Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
      Trial whole(test::runtime(), plan), split(test::runtime(), with_split(plan));
      Trial carried(*carrying, with_split(plan));
      const HostTensor c = run(whole, inputs).at("c");
      EXPECT_TRUE(run(split, inputs).at("c") == c);
      EXPECT_TRUE(run(carried, inputs).at("c") == c);
    }
  }
}

TEST_F(batch_matmul_device, a_batch_gives_the_bits_of_its_items_alone) {
  const Problem whole = problem_of("batch=3 m=9 n=15 k=12 tb=1"),
                one = problem_of("m=9 n=15 k=12 tb=1");
  const Tensors inputs = make_inputs(whole, data_set("zero_mean"), test::seed());
  const auto item = [](const HostTensor& stack, std::int64_t i) {
    HostTensor matrix(stack.dtype(), {1, stack.shape()[1], stack.shape()[2]});
    for (std::int64_t j = 0; j < matrix.size(); ++j) {
      matrix.set_bits(j, stack.bits(i * matrix.size() + j));
    }
    return matrix;
  };
  for_each_variant(whole, 0, [&](Trial& trial) {
    const HostTensor c = run(trial, inputs).at("c");
    Trial alone(test::runtime(), one, {trial.plan().variant});
    for (std::int64_t i = 0; i < 3; ++i) {
      const Tensors matrices{{"a", item(inputs.at("a"), i)}, {"b", item(inputs.at("b"), i)}};
      EXPECT_TRUE(run(alone, matrices).at("c") == item(c, i)) << i;
    }
  });
}

TEST_F(batch_matmul_device, nan_stays_in_its_row_or_column_of_its_item) {
  for (const std::string& dtype : dtypes()) {
    for (const char* rest :
         {"n=15 k=12 tb=1", "n=16 k=12 act=relu", "n=15 k=370", "n=15 k=24 tb=1 act=gelu"}) {
      const Problem problem = problem_of(fmt::format("batch=3 m=9 {}", rest), dtype);
      const batch_matmul_data::Places at(problem);
      Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
      inputs.at("a").set(at.a(1, 4, at.k - 1), kNan);
      inputs.at("b").set(at.b(2, 2, 7), kNan);
      expect_like_reference(problem, inputs);
      for_each_variant(problem, 0, [&](Trial& trial) {
        const HostTensor c = run(trial, inputs).at("c");
        for (std::int64_t i = 0; i < c.size(); ++i) {
          const std::int64_t item = i / (at.m * at.n), row = i / at.n % at.m, column = i % at.n;
          EXPECT_EQ(std::isnan(c.get(i)), (item == 1 && row == 4) || (item == 2 && column == 7))
              << i;
        }
      });
    }
  }
}

TEST_F(batch_matmul_device, infinities_and_negative_zeros_are_numbers) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = problem_of("batch=2 m=9 n=15 k=12 tb=1 scale=0.125 mask=mn", dtype);
    Tensors inputs = make_inputs(problem, data_set("positive"), test::seed());
    inputs.at("a").set(4 * 12 + 3, kInfinity);
    inputs.at("b").set(7 * 12 + 5, -kInfinity);
    for (std::int64_t i = 0; i < 12; ++i) inputs.at("a").set(2 * 12 + i, -0.0);
    for (std::int64_t i = 15; i < 40; ++i) inputs.at("mask").set(i, -kInfinity);
    expect_like_reference(problem, inputs);
  }
}

TEST_F(batch_matmul_device, every_activation_takes_infinities_as_its_reference_does) {
  for (const std::string& act : activation_names()) {
    const Problem problem = problem_of("m=8 n=4 k=4 act=" + act);
    Tensors inputs = make_inputs(problem, data_set("positive"), test::seed());
    inputs.at("a").set(0, kInfinity);
    inputs.at("a").set(4, -kInfinity);
    for (std::int64_t i = 0; i < 16; ++i) inputs.at("b").set(i, 0.5);
    expect_like_reference(problem, inputs);
  }
}

TEST_F(batch_matmul_device, denormals_are_kept_where_the_device_has_them) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = problem_of("batch=2 m=9 n=15 k=12 tb=1", dtype);
    Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
    const double step = dtype == "f16" ? 0x1p-20 : 0x1p-138;
    HostTensor& a = inputs.at("a");
    for (std::int64_t i = 0; i < a.size(); ++i) a.set(i, step * static_cast<double>(i % 7 - 3));
    const Expected c = expected(problem, inputs, Check::hard).at("c");
    for_each_variant(problem, 0, [&](Trial& trial) {
      // A device without denormals may give zeros: then the bound says so, and the verdict is
      // blind.
      EXPECT_LE(compare(run(trial, inputs).at("c"), c, 1).worst_ratio, 1);
    });
  }
}

TEST_F(batch_matmul_device, the_largest_halves_add_up_and_overflow_like_ieee) {
  CLAM_NEEDS_F16();
  const Problem problem = problem_of("batch=2 m=3 n=15 k=4 tb=1", "f16");
  Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
  inputs.at("a") =
      tensor(Dtype::f16, {2, 3, 4}, {65504, 0, -65504, 0, 65504, 0, 65504, 0, -65504, 0, 0, 0,
                                     65504, 1, -65504, 0, 65504, 0, 65504, 0, -65504, 0, 0, 0});
  for (std::int64_t i = 0; i < inputs.at("b").size(); ++i) inputs.at("b").set(i, 1);
  for_each_variant(problem, 0, [&](Trial& trial) {
    const HostTensor c = run(trial, inputs).at("c");
    for (const std::int64_t item : {0, 1}) {
      EXPECT_EQ(c.get(45 * item), item);
      EXPECT_EQ(c.get(45 * item + 15), kInfinity);
      EXPECT_EQ(c.get(45 * item + 30), -65504);
    }
  });
}

// ---- broken kernels ----

/// The file of a variant's kernel.
std::string file_of(const std::string& how) {
  return how == "tn" || how == "tt" ? "batch_matmul_transposed.cl" : "batch_matmul.cl";
}

/// A fault that the sets named must notice; "all" stands for each of the op's sets.
void expect_caught_by(const test::KernelFault& fault) {
  const Problem problem = Problem::parse(fault.line);
  const test::TemporaryFolder folder;
  test::break_kernel(folder, file_of(fault.variant), fault.from, fault.to);
  const auto broken = test::runtime_with_kernels(folder);
  for (const DataSet& set : proof_of(problem).data_sets) {
    if (fault.set != std::string("all") && fault.set != set.name) continue;
    SCOPED_TRACE(fmt::format("{}: {} {} {}", fault.what, fault.line, fault.variant, set.name));
    const Verification result =
        verify(*broken, problem, set, test::seed(), {std::string("batch_matmul_") + fault.variant});
    EXPECT_FALSE(result.pass());
    EXPECT_EQ(result.variant, std::string("batch_matmul_") + fault.variant);
  }
}

TEST_F(batch_matmul_broken, broken_kernels_are_caught) {
  const char* const nt = "batch_matmul batch=3 m=9 n=15 k=12 dtype=f32 tb=1 scale=0.5 mask=bmn";
  const char* const nn = "batch_matmul batch=3 m=9 n=16 k=12 dtype=f32 scale=0.5 mask=bmn";
  const char* const tn = "batch_matmul batch=3 m=16 n=16 k=12 dtype=f32 ta=1 scale=0.5 mask=bmn";
  const char* const tt = "batch_matmul batch=3 m=16 n=15 k=12 dtype=f32 ta=1 tb=1";
  const char* const padded = "batch_matmul batch=3 m=41 n=43 k=47 dtype=f32";
  const test::KernelFault faults[] = {
      {"batch 0's a for all", "item * stridea", "0 * stridea", nt, "nt", "all"},
      {"batch 0's b for all", "item * strideb", "0 * strideb", nn, "nn", "all"},
      {"batch 0's b for all", "item * strideb", "0 * strideb", tn, "tn", "all"},
      {"batch 0's a for all", "item * stridea", "0 * stridea", tt, "tt", "all"},
      {"batch 0's b for all", "item * strideb", "0 * strideb", nt, "plain", "all"},
      {"all items into batch 0's c", "item * stridec", "0 * stridec", nt, "nt", "all"},
      {"mask ignored", "if (ADDEND)", "if (0)", nt, "nt", "all"},
      {"mask of batch 0", "item * stridem", "0 * stridem", nn, "nn", "all"},
      {"mask of batch 0", "item * stridem", "0 * stridem", nn, "plain", "all"},
      {"scale after mask", "fma((float4)(out.factor), sum, z)", "out.factor * (sum + z)", tn, "tn",
       "all"},
      {"scale after mask", "fma(scale, sum, addend)", "scale * (sum + addend)", nn, "plain", "all"},
      {"wrong tile", "tile.row * a_row", "tile.row / 2 * a_row", nt, "nt", "all"},
      {"wrong tile", "b_row + col;", "b_row + (col ^ 4);", nn, "nn", "all"},
      {"wrong tile", "stridea + row,", "stridea + (row ^ 4),", tt, "tt", "all"},
      {"wrong row of a vector", "X_OF_1 x0.y", "X_OF_1 x0.z", tn, "tn", "all"},
      {"dropped last k", "LIMIT(x, (k) * (x_step))", "LIMIT(x, ((k) - 4) * (x_step))", nt, "nt",
       "all"},
      {"dropped last k", "k -= 4;", "k -= 8;", tt, "tt", "all"},
      {"dropped last k", "LIMIT(x, (k) * (x_step))", "LIMIT(x, ((k) - 4) * (x_step))", tn, "tn",
       "all"},
      {"dropped last k", "LIMIT(x, (k) * (x_step))", "LIMIT(x, ((k) - 4) * (x_step))", nn, "nn",
       "all"},
      {"dropped last k", "i < products; ++i", "i < products - 1; ++i", nn, "plain", "all"},
      {"early return", "own_row >= m || own_col >= n", "own_row >= m || own_col + 4 >= n", nt, "nt",
       "all"},
      {"early return", "own_row >= m || tile.col >= n", "own_row + 1 >= m || tile.col >= n", nn,
       "nn", "all"},
      {"early return", "row >= m || col >= n", "row >= m || col + 1 >= n", nn, "plain", "all"},
      {"tail columns stored over the next row", "i >= first && i < end", "1", padded, "nn",
       "exact"},
      {"rows past the last stored", "|| i / VECTORS >= tile.below ||", "||",
       "batch_matmul batch=1 m=41 n=43 k=47 dtype=f32 ta=1", "tn", "exact"},
      {"padding that is not zero", "T4 v = (T4)((T)0)", "T4 v = (T4)((T)NAN)", padded, "nn", "all"},
      {"padding that is not written", "i >= vectors", "i + 1 >= vectors", padded, "nn", "exact"},
      {"padding of batch 0", "off + item * stride +", "off + 0 * stride +", padded, "nn", "all"},
      {"no activation", "ACT(z.x)", "z.x", "batch_matmul batch=2 m=9 n=16 k=24 dtype=f32 act=relu",
       "nn", "exact"},
      {"no activation", "(T)BMM_ACT(z)", "(T)z",
       "batch_matmul batch=2 m=9 n=16 k=24 dtype=f32 act=relu", "plain", "exact"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults)) expect_caught_by(fault);
}

}  // namespace
}  // namespace clam::batch_matmul_device_test
