// SPDX-License-Identifier: MIT
// tiling_test.cpp - the choice of a tile: kernels/costs.json, predicted clocks, and a tile that is
// asked for.
#include "ops/shared/tiling.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "runtime/embedded.hpp"
#include "test_errors.hpp"

namespace clam::tiling_test {
namespace {

using nlohmann::json;

DeviceInfo board(const std::string& platform, const std::string& driver) {
  DeviceInfo device = gpu_device(find_gpu("g610"));
  device.platform = platform;
  device.driver_version = driver;
  return device;
}

/// The rows of kernels/costs.json, as objects without what is null.
std::vector<json> rows_of_costs() {
  const json table = json::parse(embedded_costs().front().text);
  std::vector<json> rows;
  for (const json& values : table.at("costs")) {
    rows.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i].is_null())
        rows.back()[table.at("columns").at(i).get<std::string>()] = values[i];
    }
  }
  return rows;
}

/// A problem and a variant of it that has several tiles.
struct Choice {
  Problem problem;
  const Variant* variant;
  std::vector<Tiling> tilings;
};

/// Those of every case in both dtypes.
std::vector<Choice> choices(const DeviceInfo& device) {
  std::vector<Choice> all;
  for (const OpProof& proof : all_proofs()) {
    for (const char* dtype : {"f32", "f16"}) {
      for (const Problem& problem : problems_of(proof.cases, dtype)) {
        for (const Variant& variant : op_of(problem).variants) {
          if (!variant.tilings || variant.refuses(problem, device)) continue;
          all.push_back({problem, &variant, variant.tilings(problem, device, {})});
        }
      }
    }
  }
  return all;
}

TEST(tiling, each_row_of_costs_is_of_a_kernel_and_stands_once) {
  std::string kernels;
  for (const EmbeddedFile& file : embedded_kernels()) kernels += file.text;
  std::set<std::string> seen;
  for (const json& row : rows_of_costs()) {
    const std::string kernel = row.at("kernel");
    EXPECT_NE(kernels.find(" " + kernel + "("), std::string::npos) << row;
    const std::string key = kernel + row.at("dtype").get<std::string>() +
                            row.at("acc").get<std::string>() + row.at("tile").get<std::string>();
    EXPECT_TRUE(seen.insert(key).second) << row;
    std::set<std::size_t> counts;
    for (const char* compiler : {"Mesa 25", "Mesa 26", "other"}) {
      if (!row.contains(compiler)) continue;
      counts.insert(row[compiler].size());
      for (const double number : row[compiler]) EXPECT_GT(number, 0) << row;
    }
    EXPECT_EQ(counts.size(), 1u) << row;
  }
  EXPECT_GT(seen.size(), 90u);
}

/// A tile of each compiler that fits any problem: of one row, of one vector.
TEST(tiling, each_compiler_has_the_smallest_tile) {
  const std::vector<DeviceInfo> devices{board("rusticl", "25.0.7"), board("rusticl", "26.1.0"),
                                        board("ARM Platform", "3.0"), generic_device()};
  for (const json& row : rows_of_costs()) {
    const std::string kernel = row.at("kernel"), acc = row.at("acc");
    const Dtype dtype = parse_dtype(row.at("dtype").get<std::string>());
    const Acc of = acc == "f32" ? Acc::f32 : acc == "chunk" ? Acc::chunk : Acc::f16;
    for (const DeviceInfo& device : devices) {
      std::set<std::string> tiles;
      for (const Cost& cost : costs_of(kernel, dtype, of, device)) tiles.insert(cost.tile);
      const bool high = kernel == "dense_both_packed" || kernel == "batch_matmul_tn" ||
                        kernel == "batch_matmul_tt";
      if (kernel == "conv2d_3x3" && acc == "chunk") {
        for (const char* chunk : {"1", "2", "3", "4", "8"}) {
          EXPECT_EQ(tiles.count(std::string("VECTORS=1,CHUNK=") + chunk), 1u) << row << device.name;
        }
        continue;
      }
      const char* least = kernel.rfind("conv2d_depth", 0) == 0 ? "any"
                          : kernel == "conv2d_product"         ? "CHANNELS=4"
                          : kernel.rfind("conv2d", 0) == 0     ? "VECTORS=1"
                          : kernel == "attention_online"       ? "ROWS=1"
                          : high                               ? "M0=4,N0=4"
                                                               : "M0=1,N0=4";
      EXPECT_EQ(tiles.count(least), 1u) << row << device.platform << device.driver_version;
    }
  }
}

TEST(tiling, clocks_are_those_of_the_largest_bound) {
  const DeviceInfo g610 = board("rusticl", "25.0.7");  // 4 cores, each 4 warps of 16 a clock
  const Clocks many = clocks_of({16000, 100}, g610);
  EXPECT_DOUBLE_EQ(many.issue, 100 * 1000 / 16.0);
  EXPECT_DOUBLE_EQ(many.latency, 2500);
  EXPECT_NEAR(many.predicted, many.issue, many.issue / 500);
  const Clocks few = clocks_of({16, 100}, g610);
  EXPECT_NEAR(few.predicted, 2500, 5);
  Work work{16000, 100};
  work.bytes = 256;  // four lines of 64 bytes a lane, 64 a warp
  EXPECT_DOUBLE_EQ(clocks_of(work, g610).loads, 1000 * 64 / 4.0);
  work.dram = 2.72e6;
  EXPECT_DOUBLE_EQ(clocks_of(work, g610).dram, 1e5);
  EXPECT_NEAR(clocks_of(work, g610).predicted, 1e5, 10);
  work.group = 8;  // half the lanes of each warp stay empty
  EXPECT_DOUBLE_EQ(clocks_of(work, g610).issue, 2 * many.issue);
  EXPECT_DOUBLE_EQ(clocks_of({16, 100}, generic_device()).latency, 1250);
}

TEST(tiling, a_driver_takes_the_rows_of_its_compiler) {
  const auto costs = [](const DeviceInfo& device) {
    const Cost row = costs_of("dense_packed", Dtype::f32, Acc::f32, device).front();
    return tiling_of(row, device).costs;
  };
  EXPECT_EQ(costs(board("rusticl", "25.0.7")), "Mesa 25");
  EXPECT_EQ(costs(board("rusticl", "26.1.0")), "Mesa 26");
  EXPECT_EQ(costs(board("ARM Platform", "3.0")), "Mesa 26, borrowed");
  EXPECT_EQ(costs(generic_device()), "other");
  EXPECT_EQ(costs(gpu_device(find_gpu("t860"))), "other");
  const Cost lent = costs_of("attention_online", Dtype::f32, Acc::f32, generic_device()).front();
  EXPECT_EQ(tiling_of(lent, generic_device()).costs, "Mesa 25, borrowed");
  EXPECT_EQ(lent["ROWS"], 6);
  EXPECT_THROW(lent["COLUMNS"], std::logic_error);
  EXPECT_THROW(costs_of("no_kernel", Dtype::f32, Acc::f32, generic_device()), std::logic_error);
}

void expect_the_fastest(const DeviceInfo& device) {
  int refused = 0;
  for (const Choice& choice : choices(device)) {
    SCOPED_TRACE(choice.problem.text() + " " + choice.variant->name);
    const Tiling* best = nullptr;
    for (const Tiling& one : choice.tilings) {
      refused += one.refused.has_value();
      if (one.refused) continue;
      if (!best || one.clocks.predicted < best->clocks.predicted) best = &one;
    }
    ASSERT_TRUE(best);
    const PlanOptions itself{choice.variant->name, 0, best->words};
    EXPECT_EQ(to_text(make_plan(choice.problem, device, {choice.variant->name, 0})),
              to_text(make_plan(choice.problem, device, itself)));
  }
  EXPECT_GT(refused, 100);
}

TEST(tiling, a_plan_takes_the_fastest_that_is_not_refused) {
  expect_the_fastest(board("rusticl", "25.0.7"));
  expect_the_fastest(board("rusticl", "26.1.0"));
  expect_the_fastest(board("ARM Platform", "3.0"));
}

/// Whether planes are x does not depend on the tile.
TEST(tiling, a_tile_that_is_asked_for_changes_nothing_else) {
  const auto kernels_of = [](const Plan& plan) {
    std::string names;
    for (const Launch& launch : plan.launches) names += launch.kernel + " ";
    return names;
  };
  const DeviceInfo device = board("rusticl", "25.0.7");
  for (const char* line : {"conv2d n=4 c=512 h=31 w=31 k=2048 r=1 dtype=f32",
                           "conv2d n=16 c=512 h=5 w=5 k=512 r=1 dtype=f32",
                           "conv2d c=3 h=64 w=64 k=32 r=3 pad=1 dtype=f32",
                           "conv2d h=8 w=8 c=64 k=64 r=1 layout=nhwc dtype=f32",
                           "dense m=1024 n=1024 k=1024 dtype=f16"}) {
    const Problem problem = Problem::parse(line);
    const Plan plan = make_plan(problem, device);
    const auto tilings = find_variant(op_of(problem), plan.variant).tilings(problem, device, {});
    const Tiling* best = &tilings.front();
    for (const Tiling& one : tilings) {
      if (!one.refused && (best->refused || one.clocks.predicted < best->clocks.predicted)) {
        best = &one;
      }
    }
    EXPECT_EQ(to_text(make_plan(problem, device, {"", 0, best->words})), to_text(plan)) << line;
    for (const Tiling& one : tilings) {
      if (one.refused) continue;
      const Plan asked = make_plan(problem, device, {plan.variant, 0, one.words});
      EXPECT_EQ(kernels_of(asked), kernels_of(plan)) << line << " " << one.words;
    }
  }
}

TEST(tiling, a_matrix_that_batch_items_share_is_read_once) {
  const DeviceInfo device = board("rusticl", "25.0.7");
  const Problem problem =
      Problem::parse("batch_matmul batch=64 batch_b=1 m=2 n=512 k=512 dtype=f32");
  const auto all = find_variant(op_of(problem), "batch_matmul_nn").tilings(problem, device, {});
  const double bytes = 4.0 * (64 * 2 * 512 + 512 * 512 + 64 * 2 * 512);
  EXPECT_NEAR(all.front().clocks.dram, bytes / 27.2, 1);
}

TEST(tiling, every_tile_that_is_not_refused_can_be_asked_for) {
  const DeviceInfo device = board("rusticl", "25.0.7");
  const Problem problem = Problem::parse("dense m=192 n=512 k=512 dtype=f32");
  std::set<std::string> plans;
  for (const Tiling& one :
       find_variant(op_of(problem), "dense_packed").tilings(problem, device, {})) {
    const Plan plan = make_plan(problem, device, {"dense_packed", 0, one.words});
    plans.insert(plan.launches.back().options);
  }
  EXPECT_EQ(plans.size(), 21u);  // seven tiles, whole, in two parts and in four
  const Plan some = make_plan(problem, device, {"", 0, "M0=6"});
  EXPECT_NE(some.launches.back().options.find("-DDENSE_M0=6"), std::string::npos);
}

TEST(tiling, a_tile_that_cannot_be_had_says_why) {
  const DeviceInfo device = board("rusticl", "25.0.7");
  const Problem two_rows = Problem::parse("dense m=2 n=512 k=512 dtype=f32");
  EXPECT_THROWS_SAYING(make_plan(two_rows, device, {"", 0, "M0=5,N0=4"}), BadArgument,
                       "there is no tile 'M0=5,N0=4'; there are\n  M0=4,N0=8,PARTS=1\n");
  EXPECT_THROWS_SAYING(make_plan(two_rows, device, {"", 0, "M0=6,PARTS=1"}), Unsupported,
                       "M0=6,N0=4,PARTS=1: it is higher than the 2 rows");
  EXPECT_THROWS_SAYING(make_plan(two_rows, device, {"dense_plain", 0, "M0=2"}), BadArgument,
                       "dense_plain has no tiles to choose from");
}

}  // namespace
}  // namespace clam::tiling_test
