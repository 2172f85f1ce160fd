// SPDX-License-Identifier: MIT
// dense_test.cpp - problems, plans and references of dense, and faults that its sets must catch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "check/compare.hpp"
#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "contains.hpp"
#include "dense_faults.hpp"
#include "every_op.hpp"
#include "faults.hpp"
#include "ops/shared/accumulator.hpp"
#include "random_place.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::dense_test {
namespace {

Problem parse(const std::string& line, const std::string& dtype = "f32") {
  return Problem::parse(line + " dtype=" + dtype);
}

const DataSet& data_set(const char* name) { return find_data_set(find_op("dense"), name); }

Expected reference(const Problem& problem, const Tensors& inputs, Check check) {
  return reference_of(problem, inputs, {check}).at("y");
}

double multiply_adds(const Problem& problem) { return flops_of(problem) / 2; }

HostTensor tensor(Dtype dtype, Shape shape, const std::vector<double>& values) {
  HostTensor tensor(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, values[static_cast<std::size_t>(i)]);
  return tensor;
}

// ---- problems ----

TEST(dense, canonical_text_has_extents_then_dtype_then_attributes_then_strides) {
  EXPECT_EQ(Problem::parse("dense ldy=24 act=gelu k=12 bias alpha=0.5 n=20 m=9 offx=4 ldx=12 "
                           "trans_w=1 residual dtype=f16 ldr=20")
                .text(),
            "dense m=9 n=20 k=12 dtype=f16 alpha=0.5 bias residual act=gelu ldy=24 offx=4");
}

TEST(dense, a_stride_equal_to_its_default_is_left_out) {
  EXPECT_EQ(parse("dense m=2 n=8 k=12 ldx=12 ldw=12 ldy=8"), parse("dense m=2 n=8 k=12"));
  EXPECT_EQ(parse("dense m=2 n=8 k=12 trans_w=0 ldw=8"), parse("dense m=2 n=8 k=12 trans_w=0"));
  EXPECT_EQ(parse("dense m=2 n=8 k=12 k2=4 ldw=16 ldx2=4"), parse("dense m=2 n=8 k=12 k2=4"));
  EXPECT_NE(parse("dense m=2 n=8 k=12 trans_w=0 ldw=12"), parse("dense m=2 n=8 k=12 trans_w=0"));
}

TEST(dense, tensors_carry_strides_and_offsets) {
  const Problem problem = parse("dense m=3 n=5 k=4 bias residual trans_w=0 ldw=7 offw=2 offy=3");
  const std::vector<TensorSpec> specs = problem.tensors();
  ASSERT_EQ(specs.size(), 5u);
  EXPECT_EQ(specs[1], (TensorSpec{"w", TensorSpec::Role::input, Dtype::f32, {4, 5}, {7, 1}, 2}));
  EXPECT_EQ(specs[4], (TensorSpec{"y", TensorSpec::Role::output, Dtype::f32, {3, 5}, {}, 3, "r"}));
  EXPECT_EQ(flops_of(problem), 2.0 * 3 * 5 * 4);
  EXPECT_EQ(bytes_of(problem), 4.0 * (3 * 4 + 4 * 5 + 5 + 3 * 5 + 3 * 5));
}

TEST(dense, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& line, const std::string& words) {
    EXPECT_THROWS_SAYING(parse(line), BadArgument, words);
  };
  expect("dense m=0 n=2 k=3", "dense: m='0', needs 1 to 2147483647");
  expect("dense m=-4 n=2 k=3", "dense: m='-4', needs 1 to 2147483647");
  expect("dense m=4 n=2", "dense: k is missing");
  expect("dense m=4 n=2 k=3 beta=1", "dense: unknown word 'beta'");
  expect("dense m=4 n=2 k=3 act=swish", "dense: act='swish', knows none relu");
  expect("dense m=4 n=2 k=3 act=relu act_alpha=1",
         "dense: act_alpha=1, but act=relu takes no such number");
  expect("dense m=4 n=2 k=3 act=leaky_relu act_beta=0.5",
         "dense: act_beta=0.5, but act=leaky_relu takes no such number");
  expect("dense m=4 n=2 k=3 act=leaky_relu act_alpha=inf",
         "dense: act_alpha=inf, needs a finite number");
  expect("dense m=4 n=2 k=3 act=clip act_alpha=5 act_beta=3",
         "dense: act_alpha=5, is over act_beta=3");
  expect("dense m=4 n=2 k=3 act=clip act_alpha=inf", "needs a number below inf");
  expect("dense m=4 n=2 k=3 act_scale=inf", "dense: act_scale=inf, needs a finite number");
  expect("dense m=4 n=2 k=3 alpha=inf", "dense: alpha=inf, needs a finite number");
  expect("dense m=4 n=2 k=3 alpha=nan", "dense: alpha='nan', needs a number");
  expect("dense m=4 n=2 k=3 trans_w=2", "dense: trans_w='2', needs 0 to 1");
  expect("dense m=4 n=2 k=3 ldx=2", "dense: ldx=2, is under the 3 elements of a row");
  expect("dense m=4 n=2 k=3 ldw=2", "dense: ldw=2, is under the 3 elements of a row");
  expect("dense m=4 n=2 k=3 k2=2 ldw=4", "dense: ldw=4, is under the 5 elements of a row");
  expect("dense m=4 n=5 k=3 trans_w=0 ldw=4", "dense: ldw=4, is under the 5 elements of a row");
  expect("dense m=4 n=2 k=3 ldy=1", "dense: ldy=1, is under the 2 elements of a row");
  expect("dense m=4 n=2 k=3 ldr=4", "dense: ldr=4, needs residual");
  expect("dense m=4 n=2 k=3 offr=4", "dense: offr=4, needs residual");
  expect("dense m=4 n=2 k=3 offx2=4", "dense: offx2=4, needs k2");
  expect("dense m=65536 n=65536 k=3", "over 2147483647 elements");
  expect("dense m=4 n=2 k=2147483647", "over 2147483647 elements");
  expect("dense m=20000 n=2 k=20000 ldx=30000", "over the limit of 2147483647");
  expect("dense m=4 n=2 k=3 offy=2147483647", "over the limit of 2147483647");
}

TEST(dense, what_no_kernel_does_is_refused_by_every_variant) {
  const auto expect = [](const std::string& line, const std::string& words) {
    const Problem problem = Problem::parse(line);
    for (const Variant& variant : op_of(problem).variants) {
      EXPECT_THROWS_SAYING(make_plan(problem, generic_device(), {variant.name}), Unsupported,
                           words);
    }
    EXPECT_THROWS_SAYING(make_plan(problem, generic_device()), Unsupported, words);
    const Tensors inputs = make_inputs(problem, data_set("zero_mean"), 1);
    EXPECT_THROWS_SAYING(reference(problem, inputs, Check::hard), Unsupported, words);
  };
  expect("dense m=4 n=4 k=1028 dtype=f16 acc=f16", "acc=chunk");
  expect("dense m=4 n=4 k=1000 k2=28 dtype=f16 acc=f16", "acc=chunk");
}

// ---- plans ----

std::string refusal(const std::string& line, const std::string& variant,
                    const DeviceInfo& device = generic_device()) {
  const Problem problem = parse(line);
  return find_variant(op_of(problem), variant).refuses(problem, device).value_or("");
}

TEST(dense, variants_refuse_with_a_reason) {
  EXPECT_EQ(refusal("dense m=4 n=8 k=8", "dense_nt"), "");
  EXPECT_EQ(refusal("dense m=4 n=8 k=8", "dense_nn"), "w lies as w[n,k]");
  EXPECT_EQ(refusal("dense m=4 n=8 k=8 trans_w=0", "dense_nt"), "w lies as w[k,n]");
  EXPECT_EQ(refusal("dense m=4 n=8 k=8 trans_w=0", "dense_nn"), "");
  EXPECT_EQ(refusal("dense m=4 n=3 k=8", "dense_nt"), "n=3 is under the 4 columns of a tile");
  EXPECT_EQ(refusal("dense m=4 n=8 k=7", "dense_nt"),
            "k=7 is no multiple of 4, and raw w is not padded");
  EXPECT_EQ(refusal("dense m=4 n=8 k=8 ldw=9", "dense_nt"),
            "w with row stride 9 and offset 0 has unaligned rows");
  EXPECT_EQ(refusal("dense m=4 n=8 k=8 offw=2", "dense_nt"),
            "w with row stride 8 and offset 2 has unaligned rows");
  EXPECT_EQ(refusal("dense m=4 n=9 k=8 trans_w=0", "dense_nn"), "n=9 is no multiple of 4");
  EXPECT_EQ(refusal("dense m=4 n=8 k=8 k2=8", "dense_nt"), "");
  EXPECT_EQ(refusal("dense m=4 n=8 k=8 k2=7", "dense_nt"),
            "k2=7 is no multiple of 4, and raw w is not padded");
  EXPECT_EQ(refusal("dense m=4 n=8 k=8 k2=8", "dense_both_packed"),
            "x is packed from one source alone, without k2");
  DeviceInfo small = generic_device();
  small.max_alloc_bytes = 4096;
  EXPECT_EQ(refusal("dense m=4 n=8 k=64", "dense_packed", small),
            "packed w would take 32768 bytes, over the limit of 4096");
  EXPECT_EQ(refusal("dense m=200 n=8 k=7", "dense_packed", small),
            "padded x would take 6400 bytes, over the limit of 4096");
  EXPECT_EQ(refusal("dense m=300 n=8 k=4 k2=3", "dense_packed", small),
            "padded x2 would take 4800 bytes, over the limit of 4096");
  EXPECT_EQ(make_plan(parse("dense m=4 n=8 k=64"), small).variant, "dense_nt");
  EXPECT_EQ(make_plan(parse("dense m=4 n=8 k=63"), small).variant, "dense_plain");
}

TEST(dense, rows_that_are_not_aligned_are_padded_first) {
  const auto launches = [](const std::string& line) {
    std::string names;
    for (const Launch& launch : make_plan(parse(line), generic_device()).launches) {
      names += launch.kernel + " ";
    }
    return names;
  };
  EXPECT_EQ(launches("dense m=4 n=8 k=8"), "dense_packed ");
  EXPECT_EQ(launches("dense m=4 n=8 k=8 ldx=12 offx=4"), "dense_packed ");
  EXPECT_EQ(launches("dense m=4 n=8 k=8 ldx=9"), "dense_pack_x dense_packed ");
  EXPECT_EQ(launches("dense m=4 n=8 k=8 offx=1"), "dense_pack_x dense_packed ");
  EXPECT_EQ(launches("dense m=4 n=8 k=7 ldx=8"), "dense_pack_x dense_packed ");
  EXPECT_EQ(launches("dense m=4 n=8 k=8 k2=4 ldx2=8 offx2=4"), "dense_packed ");
  EXPECT_EQ(launches("dense m=4 n=8 k=8 k2=4 ldx2=5"), "dense_pack_x dense_packed ");
  EXPECT_EQ(launches("dense m=4 n=8 k=7 k2=5"), "dense_pack_x dense_pack_x dense_packed ");
}

TEST(dense, tiles_fit_the_problem_and_groups_the_limit) {
  const DeviceInfo g610 = gpu_device(find_gpu("g610"));
  for (const int limit : {1, 2, 16, 32, 64, 100, 128, 256, 1024}) {
    for (const char* line :
         {"dense m=192 n=256 k=256 dtype=f16 acc=chunk",
          "dense m=1 n=1000 k=1024 dtype=f16 acc=chunk", "dense m=192 n=256 k=256 dtype=f32"}) {
      for (const char* variant : {"dense_packed", "dense_nt"}) {
        const auto local =
            make_plan(Problem::parse(line), g610, {variant, limit}).launches[0].local;
        const std::int64_t items = local[0] * local[1] * local[2];
        EXPECT_LE(items, limit) << line;
        EXPECT_TRUE(local[2] == 1 || items <= 64) << line;
      }
    }
    test::for_each_case("dense", [&](const Problem& problem) {
      for (const Variant& variant : op_of(problem).variants) {
        if (variant.refuses(problem, generic_device())) continue;
        const Plan plan = make_plan(problem, generic_device(), {variant.name, limit});
        for (const Launch& launch : plan.launches) {
          const bool raw = variant.name == "dense_nt" || variant.name == "dense_nn";
          EXPECT_EQ(launch.file, raw ? "batch_matmul.cl" : "dense.cl");
        }
      }
    });
  }
}

TEST(dense, large_problems_fix_their_strides) {
  const auto options = [](const std::string& line, const std::string& variant) {
    return make_plan(parse(line), generic_device(), {variant}).launches.back().options;
  };
  const std::string small = "dense m=16 n=64 k=64", large = "dense m=192 n=256 k=256 ldx=320";
  EXPECT_EQ(options(small, "").find("LDX"), std::string::npos);
  EXPECT_NE(options(large, "").find("-DDENSE_LDX=320"), std::string::npos);
  EXPECT_NE(options(large, "dense_nt").find("-DBMM_LDA=320 -DBMM_LDB=256"), std::string::npos);
}

/// But for five rows, which leave no register for a second loop.
TEST(dense, two_sources_are_one_launch_with_the_tile_of_one) {
  const DeviceInfo g610 = gpu_device(find_gpu("g610"));
  for (const char* words : {"dtype=f32 bias", "dtype=f16 acc=chunk bias"}) {
    const auto plan = [&](const std::string& k) {
      PlanOptions wanted;
      if (std::string(words) == "dtype=f32 bias") wanted.tile = "M0=4";
      return make_plan(Problem::parse("dense m=384 n=512 " + k + " " + words), g610, wanted);
    };
    const Plan one = plan("k=512"), two = plan("k=256 k2=256");
    EXPECT_EQ(two.launches.size(), 1u);
    EXPECT_EQ(two.variant, one.variant);
    EXPECT_EQ(two.launches[0].global, one.launches[0].global);
    EXPECT_EQ(two.clocks, one.clocks);
    EXPECT_NE(two.launches[0].options.find(" -DDENSE_K2=1 -DDENSE_LDX=256 -DDENSE_LDX2=256"),
              std::string::npos);
  }
}

TEST(dense, large_problems_without_odd_rows_leave_out_the_code_for_them) {
  const auto whole = [](const std::string& words) {
    const Plan plan = make_plan(parse("dense m=192 k=256 " + words), generic_device(), {});
    return plan.launches.back().options.find("-DDENSE_WHOLE=1") != std::string::npos;
  };
  EXPECT_TRUE(whole("n=256"));
  EXPECT_TRUE(whole("n=256 residual ldr=260 offr=8 ldy=264 offy=4"));
  for (const char* words : {"n=16", "n=255", "n=256 ldy=257", "n=256 offy=2",
                            "n=256 residual ldr=258", "n=256 residual offr=1"}) {
    EXPECT_FALSE(whole(words)) << words;
  }
}

/// "MxN" or, in parts, "MxN/parts": the tile of the plan's last launch.
std::string tile_on(const DeviceInfo& device, const std::string& line, const std::string& variant) {
  const std::string options =
      make_plan(Problem::parse(line), device, {variant}).launches.back().options + " ";
  const auto value = [&](const std::string& name, const std::string& fallback) {
    const std::size_t at = options.find("_" + name + "=");
    if (at == std::string::npos) return fallback;
    const std::size_t from = at + name.size() + 2;
    return options.substr(from, options.find(' ', from) - from);
  };
  const std::string parts = value("PARTS", "");
  return value("M0", "4") + "x" + value("N0", "4") + (parts.empty() ? "" : "/" + parts);
}

TEST(dense, tiles_are_those_that_the_model_finds_best) {
  const struct {
    const char *gpu, *line, *packed, *raw;
  } table[] = {
      {"g610", "dense m=192 n=512 k=512 dtype=f32", "5x8/4", "6x4/2"},
      {"g610", "dense m=192 n=256 k=256 dtype=f32", "4x8/4", "6x4/4"},
      {"g610", "dense m=192 n=256 k=256 dtype=f32 act=gelu", "4x8/4", "6x4/4"},
      {"g610", "dense m=64 n=256 k=256 dtype=f32", "4x4/4", "4x4/4"},
      {"g610", "dense m=192 n=768 k=256 dtype=f32", "5x8/2", "6x4"},
      {"g610", "dense m=384 n=512 k=512 dtype=f32", "5x8/2", "6x4"},
      {"g610", "dense m=1 n=1000 k=1024 dtype=f32", "1x4/2", "1x4/2"},
      {"g610", "dense m=4 n=16384 k=256 dtype=f32", "4x8", "4x4"},
      {"g610", "dense m=192 n=512 k=512 dtype=f16", "4x8/4", "8x4/4"},
      {"g610", "dense m=192 n=512 k=512 dtype=f16 acc=chunk", "6x4/2", "4x4"},
      {"g610", "dense m=192 n=256 k=256 dtype=f16 acc=chunk", "4x4/2", "4x4/2"},
      {"g610", "dense m=192 n=256 k=256 dtype=f16 acc=f16", "4x4/2", "4x4/2"},
      {"g610", "dense m=192 n=512 k=512 dtype=f16 acc=f16", "4x4", "4x4"},
      {"g52", "dense m=192 n=256 k=256 dtype=f32", "4x8", "6x4"},
      {"g52", "dense m=192 n=256 k=256 dtype=f16 acc=chunk", "6x4", "4x4"},
      {"t860", "dense m=192 n=512 k=512 dtype=f32", "4x4", "4x4"},
      {"t860", "dense m=192 n=256 k=256 dtype=f32", "4x4/2", "4x4/2"},
      {"t860", "dense m=384 n=512 k=512 dtype=f32", "4x4", "4x4"},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(std::string(row.gpu) + " " + row.line);
    const DeviceInfo device = gpu_device(find_gpu(row.gpu));
    EXPECT_EQ(tile_on(device, row.line, "dense_packed"), row.packed);
    EXPECT_EQ(tile_on(device, row.line, "dense_nt"), row.raw);
  }
}

TEST(dense, few_rows_read_halves_as_they_are_stored) {
  const DeviceInfo g610 = gpu_device(find_gpu("g610"));
  const auto packed_bytes = [&](const std::string& words) {
    const Plan plan =
        make_plan(Problem::parse("dense n=256 k=128 " + words), g610, {"dense_packed"});
    const bool stored = test::contains(plan.launches.back().options, "-DDENSE_STORED=1");
    EXPECT_EQ(test::contains(plan.pack[0].options, "-DDENSE_STORED=1"), stored);
    const std::int64_t bytes = plan.buffer("w_packed")->bytes;
    EXPECT_EQ(bytes == 256 * 128 * 2, stored || test::contains(words, "acc=")) << words;
    return bytes;
  };
  for (const char* m : {"m=1", "m=4", "m=16"}) {
    EXPECT_EQ(packed_bytes(std::string(m) + " dtype=f16"), 256 * 128 * 2) << m;
    EXPECT_EQ(packed_bytes(std::string(m) + " dtype=f32"), 256 * 128 * 4) << m;
  }
  EXPECT_EQ(packed_bytes("m=17 dtype=f16"), 256 * 128 * 4);
  EXPECT_EQ(packed_bytes("m=4 dtype=f16 acc=chunk"), 256 * 128 * 2);
  // Packing x as well would read twice the bytes.
  EXPECT_EQ(make_plan(Problem::parse("dense m=16 n=4096 k=4096 dtype=f16"), g610).variant,
            "dense_packed");
}

/// The lanes of a warp read neighbouring vectors of four columns of a row of a panel.
TEST(dense, few_rows_load_whole_lines_of_weights) {
  constexpr int kLine = 64, kWarp = 16;
  for (const char* gpu : {"g610", "g310"}) {
    for (const char* dtype : {"f32", "f16"}) {
      for (const char* m : {"m=1", "m=4", "m=16"}) {
        const std::string line = std::string("dense ") + m + " n=4096 k=4096 dtype=" + dtype;
        const Plan plan = make_plan(Problem::parse(line), gpu_device(find_gpu(gpu)));
        const std::int64_t element = plan.buffer("w_packed")->bytes / (4096 * 4096);
        const std::int64_t lanes = std::min<std::int64_t>(plan.launches.back().local[0], kWarp);
        EXPECT_EQ(lanes * 4 * element % kLine, 0) << line;
        EXPECT_EQ(element, dtype == std::string("f16") ? 2 : 4) << line;
      }
    }
  }
}

TEST(dense, x_is_packed_too_where_the_sum_wins) {
  const struct {
    const char *gpu, *line;
    bool wins;
  } table[] = {
      // A loop that widens halves loses more than a launch that widens them once, where each is
      // read by enough columns.
      {"g610", "dense m=192 n=512 k=512 dtype=f16", false},
      {"g610", "dense m=192 n=768 k=512 dtype=f16", false},
      {"g57", "dense m=192 n=512 k=512 dtype=f16", false},
      {"g57", "dense m=384 n=768 k=512 dtype=f16", true},
      {"g57", "dense m=1024 n=1024 k=1024 dtype=f16", true},
      // A G610 multiplies twice as fast and loads no faster.
      {"g610", "dense m=384 n=768 k=512 dtype=f16", false},
      {"g610", "dense m=1024 n=1024 k=1024 dtype=f16", false},
      {"g610", "dense m=1024 n=256 k=1024 dtype=f16", false},
      {"g610", "dense m=1 n=1000 k=1024 dtype=f16", false},
      {"g610", "dense m=192 n=512 k=512 dtype=f16 acc=chunk", false},
      {"g610", "dense m=1024 n=1024 k=1024 dtype=f16 acc=chunk", false},
      // Floats gain a hundredth.
      {"g610", "dense m=192 n=512 k=512 dtype=f32", false},
      {"g610", "dense m=1024 n=2048 k=2048 dtype=f32", false},
      {"g610", "dense m=1024 n=16384 k=1024 dtype=f32", false},
      {"g57", "dense m=1024 n=16384 k=1024 dtype=f32", true},
      {"t860", "dense m=1024 n=16384 k=1024 dtype=f32", false},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(std::string(row.gpu) + " " + row.line);
    const Problem problem = Problem::parse(row.line);
    const DeviceInfo device = gpu_device(find_gpu(row.gpu));
    const auto clocks = [&](const char* variant) {
      return make_plan(problem, device, {variant}).clocks;
    };
    EXPECT_EQ(make_plan(problem, device).variant, row.wins ? "dense_both_packed" : "dense_packed");
    if (device.name.find("T860") == std::string::npos && problem.choice("acc") == "f32") {
      EXPECT_EQ(clocks("dense_both_packed") < clocks("dense_packed"), row.wins);
    }
    const std::string why = explain_plan(problem, device);
    const char* first = row.wins ? "possible dense_packed: weights packed once; "
                                   "dense_both_packed is predicted to take 0.9"
                                 : "chosen   dense_packed: ";
    EXPECT_EQ(why.rfind(first, 0), 0u) << why;
  }
}

TEST(dense, a_cpu_gets_one_vector_of_columns_and_no_parts) {
  DeviceInfo cpu = generic_device();
  cpu.type = "cpu";
  EXPECT_EQ(tile_on(cpu, "dense m=192 n=512 k=512 dtype=f32", "dense_packed"), "6x4");
  EXPECT_EQ(tile_on(cpu, "dense m=1 n=64 k=4096 dtype=f32", "dense_packed"), "1x4");
}

// ---- the reference ----

TEST(dense, the_reference_is_the_formula) {
  const Problem problem = parse("dense m=2 n=3 k=2 alpha=2 bias residual act=relu");
  const Tensors inputs{{"x", tensor(Dtype::f32, {2, 2}, {1, 2, 3, 4})},
                       {"w", tensor(Dtype::f32, {3, 2}, {1, 0, 0, 1, -1, -1})},
                       {"b", tensor(Dtype::f32, {3}, {10, 20, 30})},
                       {"r", tensor(Dtype::f32, {2, 3}, {.5, .5, .5, -100, -100, -100})}};
  const std::vector<double> y{12.5, 24.5, 24.5, -84, -72, -84};
  EXPECT_EQ(reference(problem, inputs, Check::hard).value, y);
  Tensors transposed = inputs;
  transposed.at("w") = tensor(Dtype::f32, {2, 3}, {1, 0, -1, 0, 1, -1});
  EXPECT_EQ(reference(problem.with("trans_w", "0"), transposed, Check::hard).value, y);
}

TEST(dense, a_second_source_is_a_concat_along_k) {
  for (const char* words : {"dtype=f32", "dtype=f32 trans_w=0", "dtype=f16 acc=chunk"}) {
    const Problem two = Problem::parse(std::string("dense m=3 n=5 k=8 k2=140 bias ") + words);
    const Problem one = two.with("k2", "0").with("k", "148");
    const Tensors inputs = make_inputs(two, data_set("zero_mean"), 1);
    Tensors joined = inputs;
    joined.at("x") = HostTensor(two.dtype(), {3, 148});
    for (std::int64_t i = 0; i < 3 * 148; ++i) {
      const std::int64_t row = i / 148, j = i % 148;
      joined.at("x").set(
          i, j < 8 ? inputs.at("x").get(row * 8 + j) : inputs.at("x2").get(row * 140 + j - 8));
    }
    joined.erase("x2");
    for (const Check check : {Check::hard, Check::zero_mean}) {
      EXPECT_EQ(reference(two, inputs, check).value, reference(one, joined, check).value) << words;
      EXPECT_EQ(reference(two, inputs, check).bound, reference(one, joined, check).bound) << words;
    }
    EXPECT_EQ(flops_of(two), flops_of(one));
    EXPECT_EQ(bytes_of(two), bytes_of(one));
  }
}

TEST(dense, bounds_are_those_of_the_contract) {
  const Problem f32 = parse("dense m=1 n=1 k=3 alpha=0.5 bias"), f16 = f32.with("dtype", "f16");
  const Tensors inputs{{"x", tensor(Dtype::f32, {1, 3}, {4, 2, 1})},
                       {"w", tensor(Dtype::f32, {1, 3}, {1, -1, 8})},
                       {"b", tensor(Dtype::f32, {1}, {3})}};
  // Partial sums 4, 2, 10; times 0.5 they are 2, 1, 5; then 5 again for alpha, and 8 with the bias.
  const double u = 0x1p-24, worst = 2 + 1 + 5 + 5 + 8, root = std::sqrt(4. + 1 + 25 + 25 + 64);
  EXPECT_DOUBLE_EQ(reference(f32, inputs, Check::hard).bound[0], u * worst + u * 8 + 0x1p-149);
  EXPECT_DOUBLE_EQ(reference(f32, inputs, Check::zero_mean).bound[0],
                   6 * u * root + u * 8 + 0x1p-149);
  EXPECT_DOUBLE_EQ(reference(f16, inputs, Check::hard).bound[0], u * worst + 0x1p-11 * 8 + 0x1p-25);
  Tensors zeros = inputs;
  for (const char* name : {"x", "b"})
    zeros.at(name) = HostTensor(Dtype::f32, inputs.at(name).shape());
  EXPECT_EQ(reference(f32, zeros, Check::hard).bound[0], 0x1p-149);
  // A device without denormals may lose up to 2^-126 of each x, times its weight.
  const Expected flushed = reference_of(f32, zeros, {Check::hard, false}).at("y");
  EXPECT_EQ(flushed.bound[0], 0x1p-126 * (1 + 1 + 1 + 8));
}

TEST(dense, an_exact_check_is_bit_exact_where_nothing_rounds) {
  const auto bit_exact = [](const std::string& line) {
    const Problem problem = parse(line);
    return reference(problem, make_inputs(problem, data_set("exact"), 1), Check::exact).bit_exact();
  };
  EXPECT_TRUE(bit_exact("dense m=3 n=3 k=9 bias residual"));
  EXPECT_TRUE(bit_exact("dense m=3 n=3 k=9 bias alpha=-0.25 act=relu6"));
  EXPECT_FALSE(bit_exact("dense m=3 n=3 k=9 alpha=0.3"));
  EXPECT_FALSE(bit_exact("dense m=3 n=3 k=9 act=gelu"));
  const Problem problem = parse("dense m=3 n=3 k=9");
  const Tensors inputs = make_inputs(problem, data_set("zero_mean"), 1);
  EXPECT_THROWS_SAYING(reference(problem, inputs, Check::exact), BadArgument,
                       "inputs of -1, 0 and 1");
}

TEST(dense, an_activation_has_its_own_numbers_unless_others_are_given) {
  const auto options = [](const std::string& words) {
    const std::string all =
        make_plan(parse("dense m=4 n=4 k=4 " + words), generic_device()).launches.at(0).options;
    return all.substr(std::min(all.find(" -DDENSE_ACT"), all.size()));
  };
  EXPECT_EQ(parse("dense m=4 n=4 k=4 act=leaky_relu act_alpha=0.01").text(),
            "dense m=4 n=4 k=4 dtype=f32 act=leaky_relu");
  EXPECT_EQ(parse("dense m=4 n=4 k=4 ldy=8 act=clip act_beta=6 act_alpha=0").text(),
            "dense m=4 n=4 k=4 dtype=f32 act=clip act_alpha=0 act_beta=6 ldy=8");
  EXPECT_EQ(options("act_scale=1 act_shift=0"), "");
  EXPECT_EQ(options("act=hard_swish"), " -DDENSE_ACT=hard_swish");
  EXPECT_EQ(options("act=hard_sigmoid act_beta=0.6"),
            " -DDENSE_ACT=hard_sigmoid -DCLAM_ACT_ALPHA=0.2f -DCLAM_ACT_BETA=0.6f");
  EXPECT_EQ(options("act=clip act_beta=6"),
            " -DDENSE_ACT=clip -DCLAM_ACT_ALPHA=-INFINITY -DCLAM_ACT_BETA=6.0f");
  EXPECT_EQ(options("act=hard_swish act_scale=-1.5"),
            " -DDENSE_ACT=scaled -DCLAM_ACT_OF=hard_swish -DCLAM_ACT_SCALE=-1.5f "
            "-DCLAM_ACT_SHIFT=0.0f");
}

TEST(dense, activations_pass_errors_on_within_their_bound) {
  Random random(test::seed());
  std::vector<std::string> acts = activation_names();
  acts.insert(acts.end(), {"clip act_alpha=-2 act_beta=3", "clip act_beta=1.5",
                           "leaky_relu act_alpha=-1.5", "hard_sigmoid act_alpha=-0.3 act_beta=0.1",
                           "hard_swish act_scale=-1.3 act_shift=0.7"});
  for (const std::string& name : acts) {
    const Act act(parse("dense m=1 n=1 k=1 act=" + name));
    for (int i = 0; i < 20000; ++i) {
      const double z = 6 * random.normal(), error = std::exp(3 * random.normal() - 6);
      const double there = z + error * (2 * random.uniform() - 1);
      EXPECT_LE(std::fabs(activate(act, there) - activate(act, z)),
                activation_error(act, z, error) * (1 + 1e-9))
          << name << " " << z << " " << error;
    }
  }
  EXPECT_THROWS_SAYING(parse_activation("swish"), BadArgument, "unknown activation 'swish'");
}

// ---- tests of the tests ----

// Fixed, so that small cases cannot pass or fail by chance.
constexpr std::uint64_t kSeed = 1;

const test::Simulation simulation("dense", 4e5, [](const Problem& problem, const Tensors& inputs) {
  return dense_faults::computed(problem, inputs, Dtype::f32);
});

HostTensor y_rounded(const Problem& problem, const Expected& expected) {
  return test::rounded(expected, problem.dtype(), {problem.integer("m"), problem.integer("n")});
}

void expect_caught(const HostTensor& faulty, const Expected& expected, const char* fault) {
  EXPECT_FALSE(compare(faulty, expected).pass) << fault;
}

TEST(dense, exact_catches_a_last_k_that_is_left_out) {
  test::for_each_case("dense", [](const Problem& problem) {
    const DataSet& set = data_set("exact");
    const Tensors inputs = make_inputs(problem, set, kSeed);
    const Expected expected = reference(problem, inputs, set.check);
    const auto honest = [&](const Tensors& other) {
      return y_rounded(problem, reference(problem, other, Check::hard));
    };
    expect_caught(honest(dense_faults::without_last_k(inputs, "x")), expected, "dropped last k");
    if (problem.integer("k2") > 0) {
      expect_caught(honest(dense_faults::without_last_k(inputs, "x2")), expected,
                    "dropped last k of x2");
    }
  });
}

TEST(dense, exact_catches_a_second_source_that_is_read_wrongly) {
  for (const char* line : {"dense m=9 n=15 k=12 k2=8", "dense m=9 n=15 k=5 k2=7 trans_w=0"}) {
    const Problem problem = parse(line);
    const Tensors inputs = make_inputs(problem, data_set("exact"), kSeed);
    const Expected expected = reference(problem, inputs, Check::exact);
    const auto honest = [&](const Tensors& other) {
      return y_rounded(problem, reference(problem, other, Check::hard));
    };
    expect_caught(honest(dense_faults::x2_with_stride_of_x(problem, inputs)), expected, "ldx");
    expect_caught(honest(dense_faults::w_from_the_start(problem, inputs)), expected, "w");
  }
}

TEST(dense, hard_sets_catch_a_half_accumulator) {
  test::for_each_case("dense", [](const Problem& problem) {
    if (accumulator(problem) != Acc::f32) return;
    const std::string& act = problem.choice("act");
    const bool saturates = act == "sigmoid" || act == "tanh" || act == "relu6" || act == "clip" ||
                           act == "hard_sigmoid";
    // In half outputs the final rounding hides a few roundings before it, and so do flat slopes.
    const bool visible = problem.dtype() == Dtype::f32 || problem.integer("k") >= 8;
    if (!visible || saturates || multiply_adds(problem) > 2e5) return;
    for (const char* name : {"positive", "outliers"}) {
      const DataSet& set = data_set(name);
      const Tensors inputs = make_inputs(problem, set, kSeed);
      expect_caught(dense_faults::computed(problem, inputs, Dtype::f16),
                    reference(problem, inputs, set.check), name);
    }
  });
}

// ---- for the tests of every op ----

const test::GroupSizes groups("dense", 1, test::Bits::same,
                              {"m=13 n=70 k=20", "m=9 n=15 k=11", "m=97 n=101 k=8 residual"});

std::string random_case(Random& random) {
  using test::random_place;
  const int m = random.integer(1, 80), n = random.integer(1, 80), k = random.integer(1, 80);
  const bool trans_w = random.integer(0, 1) == 1;
  std::string line = fmt::format("dense m={} n={} k={} trans_w={}", m, n, k, trans_w ? 1 : 0);
  if (random.integer(0, 1) == 1) line += " bias residual" + random_place(random, "r", n);
  const int k2 = random.integer(0, 1) * random.integer(1, 40);
  if (k2 > 0) line += fmt::format(" k2={}", k2) + random_place(random, "x2", k2);
  return line + random_place(random, "x", k) + random_place(random, "w", trans_w ? k + k2 : n) +
         random_place(random, "y", n);
}

const test::RandomProblems random_problems("dense", 10, random_case);

}  // namespace
}  // namespace clam::dense_test
