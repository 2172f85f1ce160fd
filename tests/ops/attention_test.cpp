// SPDX-License-Identifier: MIT
// attention_test.cpp - problems, plans, references and kernels of attention.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attention_faults.hpp"
#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::attention_test {
namespace {

using attention_faults::Fault;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Problem parse(const std::string& line, const std::string& dtype = "f32") {
  return Problem::parse(line + " dtype=" + dtype);
}

const DataSet& data_set(const char* name) { return find_data_set(find_op("attention"), name); }

HostTensor tensor(Shape shape, const std::vector<double>& values) {
  HostTensor tensor(Dtype::f32, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, values[static_cast<std::size_t>(i)]);
  return tensor;
}

// ---- problems ----

TEST(attention, canonical_text_leaves_out_what_is_the_default) {
  EXPECT_EQ(
      parse("attention d=64 nk=192 nq=192 heads=4 dv=64 kv_heads=4 scale=0.125 mask=qk").text(),
      "attention heads=4 nq=192 nk=192 d=64 dtype=f32 mask=qk");
  EXPECT_EQ(
      parse("attention heads=4 nq=2 nk=3 d=8 ldq=8 headq=16 strideq=64 heado=8 ldo=32").text(),
      "attention heads=4 nq=2 nk=3 d=8 dtype=f32 ldo=32 heado=8");
  EXPECT_EQ(parse("attention heads=4 nq=2 nk=3 d=8 swap").text(),
            "attention heads=4 nq=2 nk=3 d=8 dtype=f32")
      << "one item";
  EXPECT_EQ(parse("attention swap batch=2 heads=4 nq=2 nk=3 d=8").text(),
            "attention batch=2 heads=4 nq=2 nk=3 d=8 dtype=f32 swap");
  const AttentionExtents at(parse("attention heads=4 nq=2 nk=3 d=16 dv=5 kv_heads=2 causal=1"));
  EXPECT_EQ(at.dv, 5);
  EXPECT_EQ(at.kv_heads, 2);
  EXPECT_EQ(at.scale, 0.25f);
  EXPECT_TRUE(at.causal);
}

TEST(attention, tensors_lie_as_their_strides_say) {
  const Problem problem =
      parse("attention batch=2 heads=4 nq=5 nk=7 d=8 dv=12 kv_heads=2 mask=bqk");
  const auto specs = problem.tensors();
  ASSERT_EQ(specs.size(), 5u);
  EXPECT_EQ(specs[0].shape, (Shape{2, 4, 5, 8}));
  EXPECT_EQ(specs[1].shape, (Shape{2, 2, 7, 8}));
  EXPECT_EQ(specs[2].shape, (Shape{2, 2, 7, 12}));
  EXPECT_EQ(specs[3].shape, (Shape{2, 5, 7}));
  EXPECT_EQ(specs[4].shape, (Shape{2, 4, 5, 12}));
  EXPECT_EQ(flops_of(problem), 2.0 * 2 * 4 * 5 * 7 * 20);
  EXPECT_EQ(bytes_of(problem), 4.0 * (320 + 224 + 336 + 70 + 480));
  const Problem placed =
      parse("attention batch=2 heads=4 nq=5 nk=7 d=8 ldq=96 headq=8 offq=4 ldo=32 heado=8");
  const TensorSpec q = placed.tensors()[0];
  EXPECT_EQ(q.strides, (std::vector<std::int64_t>{480, 8, 96, 1})) << "items behind all rows";
  EXPECT_EQ(q.offset, 4);
}

TEST(attention, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& line, const std::string& words,
                         const std::string& dtype = "f32") {
    EXPECT_THROWS_SAYING(parse("attention " + line, dtype), BadArgument, words);
  };
  expect("heads=4 nq=2 nk=3", "attention: d is missing");
  expect("heads=4 nq=0 nk=3 d=4", "attention: nq='0'");
  expect("heads=4 nq=2 nk=3 d=4 kv_heads=3", "kv_heads=3, needs a divisor of heads=4");
  expect("heads=4 nq=2 nk=3 d=4 kv_heads=8", "kv_heads=8, needs a divisor of heads=4");
  expect("heads=4 nq=2 nk=3 d=4 scale=inf", "scale=inf, needs a finite number");
  expect("heads=4 nq=2 nk=3 d=4 causal=2", "causal='2', needs 0 to 1");
  expect("heads=4 nq=2 nk=3 d=4 mask=bk", "mask='bk'");
  expect("heads=4 nq=2 nk=3 d=4 acc=chunk", "acc=chunk, needs dtype=f16");
  expect("heads=4 nq=2 nk=3 d=4 ldk=3", "ldk=3, is under the 4 elements of a row");
  expect("heads=4 nq=2 nk=3 d=4 heado=3", "heado=3, lets elements of o share places");
  expect("heads=4 nq=2 nk=3 d=4 ldo=8 heado=4", "ldo=8, lets elements of o share places");
  expect("heads=65536 nq=65536 nk=3 d=4", "over");
}

// ---- plans ----

Plan planned(const std::string& line, const PlanOptions& options = {},
             const DeviceInfo& device = generic_device()) {
  return make_plan(parse(line), device, options);
}

TEST(attention, a_group_has_lanes_for_the_columns_of_v) {
  const auto local = [](const std::string& line, int limit = 0) {
    const Launch launch = planned("attention " + line, {"", limit}).launches.back();
    return fmt::format("{}x{} of {}x{}x{}", launch.local[0], launch.local[1], launch.global[0],
                       launch.global[1], launch.global[2]);
  };
  EXPECT_EQ(local("heads=4 nq=192 nk=192 d=64"), "4x16 of 48x64x1");
  EXPECT_EQ(local("heads=4 nq=192 nk=192 d=64", 32), "2x16 of 48x64x1");
  EXPECT_EQ(local("heads=4 nq=192 nk=192 d=64", 8), "1x8 of 48x32x2") << "two pieces of columns";
  EXPECT_EQ(local("heads=1 nq=1 nk=192 d=20"), "8x8 of 8x8x1") << "eight parts of the keys";
  EXPECT_EQ(local("heads=1 nq=1 nk=192 d=20 causal=1"), "1x8 of 1x8x1");
}

TEST(attention, with_swap_batch_items_of_k_and_v_are_read_from_the_last_to_the_first) {
  const auto argument = [](const std::string& line, std::size_t i) {
    return std::get<std::int32_t>(planned("attention " + line).launches.back().args[i]);
  };
  constexpr std::size_t kStrides = 18, kOffsets = 23;  // of q, k, v and o
  const std::string line = "batch=3 heads=2 nq=5 nk=64 d=4 dv=8 offk=4 swap";
  EXPECT_EQ(argument(line, kStrides + 0), 40);
  EXPECT_EQ(argument(line, kStrides + 1), -512);
  EXPECT_EQ(argument(line, kStrides + 2), -1024);
  EXPECT_EQ(argument(line, kOffsets + 0), 0);
  EXPECT_EQ(argument(line, kOffsets + 1), 2 * 512 + 4);
  EXPECT_EQ(argument(line, kOffsets + 2), 2 * 1024);
  const std::string copied = "batch=3 heads=2 nq=5 nk=64 d=3 swap";
  EXPECT_EQ(argument(copied, kStrides + 1), -512) << "of the copy";
  EXPECT_EQ(argument(copied, kOffsets + 1), 2 * 512);
}

TEST(attention, rows_that_are_not_aligned_are_copied_first) {
  const auto copies = [](const std::string& line) {
    std::string names;
    for (const BufferSpec& buffer : planned("attention " + line).buffers)
      names += buffer.name + " ";
    return names;
  };
  EXPECT_EQ(copies("heads=2 nq=187 nk=187 d=64"), "");
  EXPECT_EQ(copies("heads=2 nq=9 nk=9 d=64"), "k_padded v_padded ") << "a lone block of keys";
  EXPECT_EQ(copies("heads=2 nq=9 nk=8 d=6 dv=8"), "q_padded k_padded ");
  EXPECT_EQ(copies("heads=2 nq=9 nk=8 d=8 dv=6"), "v_padded ");
  EXPECT_EQ(copies("heads=2 nq=9 nk=8 d=8 offq=2"), "q_padded ");
}

TEST(attention, variants_refuse_with_a_reason) {
  const Problem half = parse("attention heads=1 nq=4 nk=4 d=4 acc=f16", "f16");
  for (const Variant& variant : op_of(half).variants) {
    EXPECT_EQ(variant.refuses(half, generic_device()).value_or(""),
              "scores and outputs are summed in float or in chunks: use acc=f32 or acc=chunk");
  }
  DeviceInfo small = generic_device();
  small.local_mem_bytes = 256;
  const Problem problem = parse("attention heads=1 nq=4 nk=4 d=4");
  EXPECT_NE(find_variant(op_of(problem), "attention_online").refuses(problem, small).value_or(""),
            "");
  EXPECT_EQ(make_plan(problem, small).variant, "attention_plain");
}

TEST(attention, options_say_what_the_problem_needs) {
  const std::string options =
      planned("attention heads=4 nq=192 nk=192 d=64 kv_heads=2 mask=qk causal=1", {},
              gpu_device(find_gpu("g610")))
          .launches.back()
          .options;
  for (const char* word : {"-DATT_SPLIT=1", "-DATT_WHOLE=1", "-DATT_LDQ=64 -DATT_LDK=64",
                           "-DATT_SHARE=2", "-DATT_MASK=1", "-DATT_CAUSAL=1"}) {
    EXPECT_NE(options.find(word), options.npos) << word << " in " << options;
  }
}

TEST(attention, a_tile_has_no_more_rows_than_lanes) {
  const DeviceInfo g610 = gpu_device(find_gpu("g610"));
  const auto rows_of_six = [&](const char* line) {
    return make_plan(parse(line), g610, {"", 0, "ROWS=6"});
  };
  EXPECT_NO_THROW(rows_of_six("attention heads=1 nq=64 nk=64 d=32"));
  EXPECT_THROWS_SAYING(rows_of_six("attention heads=1 nq=64 nk=64 d=16"), Unsupported,
                       "its rows are more than its 4 lanes");
}

// ---- the reference ----

TEST(attention, the_reference_is_the_formula) {
  const Problem problem = parse("attention heads=1 nq=2 nk=2 d=1 dv=2 scale=2 mask=qk");
  const Tensors inputs{{"q", tensor({1, 1, 2, 1}, {1, 3})},
                       {"k", tensor({1, 1, 2, 1}, {0.5, -1})},
                       {"v", tensor({1, 1, 2, 2}, {1, 2, 3, 5})},
                       {"mask", tensor({2, 2}, {0, 1, -kInfinity, 0})}};
  const Expected o = reference_of(problem, inputs, {Check::hard}).at("o");
  const double p = 1 / (1 + std::exp(-1.0 - 1.0));  // x = 1, -2 + 1
  EXPECT_NEAR(o.value[0], p * 1 + (1 - p) * 3, 1e-12);
  EXPECT_NEAR(o.value[1], p * 2 + (1 - p) * 5, 1e-12);
  EXPECT_EQ(o.value[2], 3) << "its first key is hidden";
  EXPECT_EQ(o.value[3], 5);
  for (const double bound : o.bound) EXPECT_LT(bound, 1e-5);
}

TEST(attention, a_query_sees_no_later_key_and_one_that_sees_none_gives_zeros) {
  const Problem problem = parse("attention heads=2 nq=2 nk=2 d=1 causal=1 kv_heads=1 mask=bhqk");
  const Tensors inputs{{"q", tensor({1, 2, 2, 1}, {1, 1, 1, 1})},
                       {"k", tensor({1, 1, 2, 1}, {1, 1})},
                       {"v", tensor({1, 1, 2, 1}, {4, 8})},
                       {"mask", tensor({1, 2, 2, 2}, {0, 0, 0, 0, -kInfinity, 0, 0, -kInfinity})}};
  const Expected o = reference_of(problem, inputs, {Check::hard}).at("o");
  EXPECT_EQ(o.value, (std::vector<double>{4, 6, 0, 4}));
  EXPECT_EQ(o.bound[2], 0);
}

TEST(attention, with_swap_the_reference_has_the_other_items_keys_and_values) {
  const Problem problem = parse("attention batch=2 heads=1 nq=1 nk=2 d=1 mask=bqk swap");
  const Tensors inputs{{"q", tensor({2, 1, 1, 1}, {1, 1})},
                       {"k", tensor({2, 1, 2, 1}, {1, 1, 2, 2})},
                       {"v", tensor({2, 1, 2, 1}, {1, 3, 5, 9})},
                       {"mask", tensor({2, 1, 2}, {-kInfinity, 0, 0, 0})}};
  const Expected o = reference_of(problem, inputs, {Check::hard}).at("o");
  EXPECT_EQ(o.value, (std::vector<double>{9, 2})) << "a mask is its query's";
}

// ---- tests of the tests ----

// Fixed, so that small cases cannot pass or fail by chance.
constexpr std::uint64_t kSeed = 1;

const test::Simulation simulation("attention", 1e7,
                                  [](const Problem& problem, const Tensors& inputs) {
                                    return attention_faults::computed(problem, inputs, Fault::none);
                                  });

/// A problem with its inputs of one data set, and what is expected of them.
struct Sample {
  Problem problem;
  Tensors inputs;
  Expected expected;

  Sample(const Problem& problem, const DataSet& set)
      : problem(problem),
        inputs(make_inputs(problem, set, kSeed)),
        expected(reference_of(problem, inputs, {set.check}).at("o")) {}
  Sample(const std::string& line, const char* set, const std::string& dtype = "f32")
      : Sample(parse(line, dtype), data_set(set)) {}

  HostTensor honest() const { return attention_faults::computed(problem, inputs, Fault::none); }
  Verdict judge(Fault fault) const {
    return compare(attention_faults::computed(problem, inputs, fault), expected);
  }
};

TEST(attention, half_accumulators_are_caught_where_float_was_asked_for) {
  for (const char* dtype : {"f32", "f16"}) {
    for (const char* line :
         {"attention heads=2 nq=16 nk=192 d=64", "attention heads=1 nq=9 nk=512 d=128"}) {
      SCOPED_TRACE(fmt::format("{} {}", line, dtype));
      EXPECT_FALSE(Sample(line, "spread", dtype).judge(Fault::half_scores).pass);
      EXPECT_FALSE(Sample(line, "zero_mean", dtype).judge(Fault::half_scores).pass);
      EXPECT_FALSE(Sample(line, "positive", dtype).judge(Fault::half_outputs).pass);
      EXPECT_FALSE(Sample(line, "outliers", dtype).judge(Fault::half_outputs).pass);
    }
  }
  EXPECT_FALSE(
      Sample("attention heads=2 nq=16 nk=192 d=64", "positive").judge(Fault::half_weights).pass);
}

TEST(attention, a_sum_in_half_throughout_is_caught_where_chunks_were_asked_for) {
  const char* line = "attention heads=1 nq=6 nk=8192 d=16 acc=chunk";
  EXPECT_TRUE(Sample(line, "positive", "f16").judge(Fault::half_weights).pass);
  EXPECT_FALSE(Sample(line, "positive", "f16").judge(Fault::half_outputs).pass);
}

TEST(attention, sets_catch_what_is_left_out_or_not_done) {
  const char* line = "attention batch=2 heads=4 nq=18 nk=37 d=16 kv_heads=2";
  for (const Fault fault : {Fault::drop_last_key, Fault::drop_last_product, Fault::no_scale,
                            Fault::not_brought_down, Fault::wrong_kv_head}) {
    EXPECT_FALSE(Sample(line, "zero_mean").judge(fault).pass) << static_cast<int>(fault);
  }
  for (const Fault fault : {Fault::drop_last_key, Fault::wrong_kv_head, Fault::not_brought_down}) {
    EXPECT_FALSE(Sample(line, "exact").judge(fault).pass) << static_cast<int>(fault);
  }
  for (const char* set : {"zero_mean", "exact", "spread"}) {
    EXPECT_FALSE(Sample(std::string(line) + " swap", set).judge(Fault::not_swapped).pass) << set;
  }
}

// ---- kernels ----

using attention_device = test::OpDevice;

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class attention_broken : public test::OpDevice {};

/// What is planned for a Mali: addresses in two halves, and other tiles.
TEST_F(attention_device, plans_for_a_mali_pass) {
  const DeviceInfo mali = gpu_device(find_gpu("g610"));
  for (const std::string& dtype : dtypes()) {
    const std::string half_chunks = dtype == "f16" ? " acc=chunk" : "";
    for (const std::string& line :
         {std::string("attention heads=4 nq=192 nk=192 d=64 mask=qk"),
          "attention heads=4 nq=107 nk=187 d=64" + half_chunks,
          "attention heads=4 nq=149 nk=151 d=64 mask=qk causal=1" + half_chunks,
          std::string("attention heads=2 nq=40 nk=70 d=32 causal=1")}) {
      const Problem problem = parse(line, dtype);
      const Plan plan = make_plan(problem, mali);
      EXPECT_NE(plan.launches.back().options.find("ATT_SPLIT=1"), std::string::npos);
      Trial trial(test::runtime(), plan);
      for (const DataSet& set : proof_of(problem).data_sets) {
        const Tensors inputs = make_inputs(problem, set, test::seed());
        expect_pass(trial, inputs, expected(problem, inputs, set.check));
      }
    }
  }
}

/// With numbers of a row in vectors of eight, and the last tile moved up.
TEST_F(attention_device, tiles_of_six_queries_pass) {
  const DeviceInfo mali = gpu_device(find_gpu("g610"));
  for (const std::string& dtype : dtypes()) {
    for (const char* line : {"attention heads=2 nq=107 nk=187 d=64",
                             "attention batch=2 heads=2 nq=6 nk=70 d=40 mask=qk",
                             "attention heads=4 nq=49 nk=51 d=64 mask=bhqk kv_heads=2 causal=1"}) {
      const Problem problem = parse(line, dtype);
      Trial trial(test::runtime(), make_plan(problem, mali, {"", 0, "ROWS=6"}));
      for (const DataSet& set : proof_of(problem).data_sets) {
        const Tensors inputs = make_inputs(problem, set, test::seed());
        expect_pass(trial, inputs, expected(problem, inputs, set.check));
      }
    }
  }
}

/// Parts of whole blocks, one that ends inside of a block, some without any key, more tiles than
/// lanes, operands that are padded, and columns in pieces.
TEST_F(attention_device, keys_in_parts_pass) {
  const DeviceInfo mali = gpu_device(find_gpu("g610"));
  const std::vector<std::pair<const char*, int>> cases{
      {"nk=512 d=32", 16},        {"nk=1030 d=32", 32},      {"nk=20 d=8", 2},
      {"nk=97 d=8 mask=bhqk", 8}, {"nk=132 d=8 mask=qk", 4}, {"nk=150 d=40 dv=70", 2},
      {"nk=101 d=7", 8},          {"nk=1100 d=8 dv=300", 2}};
  for (const std::string& dtype : dtypes()) {
    for (const char* acc : {"", " acc=chunk"}) {
      if (*acc && dtype == "f32") continue;
      for (const auto& [words, parts] : cases) {
        const Problem problem =
            parse(fmt::format("attention batch=2 heads=4 kv_heads=2 nq=1 {}{}", words, acc), dtype);
        SCOPED_TRACE(problem.text());
        const Plan plan = make_plan(problem, mali, {"", 0, fmt::format("PARTS={}", parts)});
        EXPECT_NE(plan.launches.back().options.find("ATT_CUT=1"), std::string::npos);
        Trial trial(test::runtime(), plan);
        for (const DataSet& set : proof_of(problem).data_sets) {
          const Tensors inputs = make_inputs(problem, set, test::seed());
          expect_pass(trial, inputs, expected(problem, inputs, set.check));
        }
      }
    }
  }
}

TEST_F(attention_device, not_finite_stays_in_its_query_of_six) {
  const Problem problem = parse("attention heads=1 nq=21 nk=70 d=32");
  Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
  inputs.at("q").set(5 * 32, std::numeric_limits<double>::quiet_NaN());
  inputs.at("q").set(16 * 32, kInfinity);
  Trial trial(test::runtime(), make_plan(problem, gpu_device(find_gpu("g610")), {"", 0, "ROWS=6"}));
  const HostTensor o = run(trial, inputs).at("o");
  for (std::int64_t i = 0; i < o.size(); ++i) {
    EXPECT_EQ(std::isnan(o.get(i)), i / 32 == 5 || i / 32 == 16) << i;
  }
}

TEST_F(attention_device, what_is_not_finite_stays_in_its_query) {
  const Problem problem = parse("attention heads=1 nq=9 nk=70 d=8");
  Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
  inputs.at("q").set(3 * 8, std::numeric_limits<double>::quiet_NaN());
  inputs.at("q").set(7 * 8, kInfinity);
  for_each_variant(problem, 0, [&](Trial& trial) {
    const HostTensor o = run(trial, inputs).at("o");
    for (std::int64_t i = 0; i < o.size(); ++i) {
      EXPECT_EQ(std::isnan(o.get(i)), i / 8 == 3 || i / 8 == 7) << i;
    }
  });
}

TEST_F(attention_device, keys_of_the_own_item_fail_where_those_of_the_other_are_asked_for) {
  const std::string line = "attention batch=2 heads=2 nq=9 nk=17 d=16";
  const Problem swapped = parse(line + " swap");
  const Tensors inputs = make_inputs(swapped, data_set("zero_mean"), test::seed());
  const Reference reference = expected(swapped, inputs, Check::zero_mean);
  for_each_variant(parse(line), 0, [&](Trial& trial) {
    EXPECT_FALSE(compare_all(reference, run(trial, inputs), {}, 1).pass());
  });
}

// ---- broken kernels ----

TEST_F(attention_broken, broken_kernels_are_caught) {
  const char *online = "attention_online", *plain = "attention_plain";
  const char* square = "attention heads=2 nq=17 nk=65 d=64";
  const char* several = "attention heads=2 nq=33 nk=190 d=64";
  const test::KernelFault faults[] = {
      {"the last products of a score are left out", "LOW(k) + d * SIZE;",
       "LOW(k) + (d - 4) * SIZE;", square, online, "zero_mean"},
      {"the last unit of keys is left out", "LOW(v) + units * 4 * v_row;",
       "LOW(v) + (units - (units > 1)) * 4 * v_row;", several, online, "exact"},
      {"keys moved back count twice", "key >= at.first && key < at.end", "key < at.end", several,
       online, "zero_mean"},
      {"keys past the last one weigh", "key >= at.first && key < at.end", "key >= at.first",
       "attention heads=2 nq=5 nk=17 d=4 mask=qk", online, "zero_mean"},
      {"sums are not brought down", "float4 o##i = o[i * ITEMS] * down.s##i",
       "float4 o##i = o[i * ITEMS]", several, online, "zero_mean"},
      {"sums of weights are not brought down", "own->s##i * down->s##i", "own->s##i", several,
       online, "zero_mean"},
      {"the maximum is not subtracted", "(score_one(query, key) - most)", "(score_one(query, key))",
       square, plain, "spread"},
      {"lanes have maxima of their own rows", "(tile * ROWS + lane) * (LANES / 4)", "0", several,
       online, "spread"},
      {"a query that sees no key divides by zero", "total == 0.0f ? 0.0f : 1.0f / total",
       "1.0f / total", "attention heads=2 nq=31 nk=63 d=64 mask=qk", online, "masked"},
      {"wrong tile", "min(own_query, nq - ROWS)", "min(own_query / 2, nq - ROWS)", square, online,
       "zero_mean"},
      {"early return", "i >= out.above", "i >= out.above && i + 1 < ROWS",
       "attention heads=2 nq=192 nk=192 d=64", online, "zero_mean"},
      {"queries see a key too many", "key <= at.query + i", "key <= at.query + i + 1",
       "attention heads=2 nq=70 nk=70 d=16 causal=1", online, "zero_mean"},
      {"the mask of another head", "item * maskb + head * maskh;", "item * maskb;",
       "attention batch=2 heads=3 nq=22 nk=24 d=16 mask=bhqk", online, "zero_mean"},
      {"the keys of another head", "offk + item * stridek + head / ATT_SHARE * headk;",
       "offk + item * stridek;", square, online, "exact"},
      {"the values of another batch item", "offv + item * stridev + head / ATT_SHARE * headv;",
       "offv + head / ATT_SHARE * headv;", "attention batch=2 heads=2 nq=9 nk=17 d=16 swap", online,
       "exact"},
      {"no scale", "query.scale * sum;", "sum;", square, plain, "zero_mean"},
  };
  for (const test::KernelFault& fault : test::faults_of_this_run(faults)) {
    expect_caught(fault.variant == plain ? "attention_plain.cl" : "attention.cl", fault);
  }
  expect_caught("attention_pad.cl",
                {"a padded row starts late", "row * ld + 4 * i)", "row * ld + 4 * i + (row > 0))",
                 "attention heads=2 nq=9 nk=8 d=6 dv=8", online, "zero_mean"});
}

TEST_F(attention_broken, parts_of_the_keys_that_are_not_brought_together_are_caught) {
  const Problem problem = parse("attention heads=2 nq=1 nk=250 d=20");
  const Plan plan = make_plan(problem, gpu_device(find_gpu("g610")), {"", 0, "PARTS=8"});
  const Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
  const Reference reference = expected(problem, inputs, Check::zero_mean);
  for (const auto& [right, wrong] : std::vector<std::pair<const char*, const char*>>{
           {"part = 0; part < TILES;", "part = 0; part < TILES - 1;"},
           {"sums[part] * down", "sums[part]"},
           {"totals[part].s0 * down", "totals[part].s0"},
           {"tile * part + block", "part + block"}}) {
    const test::TemporaryFolder folder;
    test::break_kernel(folder, "attention.cl", right, wrong);
    const auto broken = test::runtime_with_kernels(folder);
    Trial trial(*broken, plan);
    EXPECT_FALSE(compare_all(reference, run(trial, inputs), {}, 1).pass()) << wrong;
  }
}

// ---- for the tests of every op ----

const test::GroupSizes groups("attention", 4, test::Bits::follow_group,
                              {"heads=1 nq=17 nk=65 d=64 mask=qk", "heads=2 nq=17 nk=65 d=64",
                               "heads=2 nq=5 nk=75 d=80"});

std::string random_case(Random& random) {
  const char* masks[] = {"none", "qk", "bqk", "bhqk"};
  const int kv_heads = random.integer(1, 3);
  return fmt::format(
      "attention batch={} heads={} kv_heads={} nq={} nk={} d={} dv={} causal={} mask={}",
      random.integer(1, 2), kv_heads * random.integer(1, 2), kv_heads, random.integer(1, 40),
      random.integer(1, 90), random.integer(1, 70), random.integer(1, 70), random.integer(0, 1),
      masks[random.integer(0, 3)]);
}

const test::RandomProblems random_problems("attention", 6, random_case);

}  // namespace
}  // namespace clam::attention_test
