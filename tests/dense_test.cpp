// SPDX-License-Identifier: MIT
// dense_test.cpp - problems, plans, references and kernels of dense.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "dense_faults.hpp"
#include "faults.hpp"
#include "gpu.hpp"
#include "op_device.hpp"
#include "ops/shared/random.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Problem parse(const std::string& line, const std::string& dtype = "f32") {
  return Problem::parse(line + " dtype=" + dtype);
}

const DataSet& data_set(const std::string& name) { return find_data_set(find_op("dense"), name); }

Expected reference(const Problem& problem, const Tensors& inputs, Check check) {
  return problem.op().reference(problem, inputs, {check}).at("y");
}

double multiply_adds(const Problem& problem) { return dense_flops(problem) / 2; }

/// Calls body(problem) for every case in both dtypes.
template <typename Body>
void for_each_case(const Body& body) {
  for (const char* dtype : {"f32", "f16"}) {
    for (const Problem& problem : problems_of(find_op("dense").cases, dtype)) {
      SCOPED_TRACE(problem.text());
      body(problem);
    }
  }
}

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
  const std::vector<TensorSpec> specs = problem.op().tensors(problem);
  ASSERT_EQ(specs.size(), 5u);
  EXPECT_EQ(specs[1], (TensorSpec{"w", TensorSpec::Role::input, Dtype::f32, {4, 5}, {7, 1}, 2}));
  EXPECT_EQ(specs[4], (TensorSpec{"y", TensorSpec::Role::output, Dtype::f32, {3, 5}, {}, 3, "r"}));
  EXPECT_EQ(dense_flops(problem), 2.0 * 3 * 5 * 4);
  EXPECT_EQ(tensor_bytes(problem), 4.0 * (3 * 4 + 4 * 5 + 5 + 3 * 5 + 3 * 5));
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
    for (const Variant& variant : problem.op().variants) {
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
  return find_variant(problem.op(), variant).supports(problem, device).value_or("");
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
    for_each_case([&](const Problem& problem) {
      for (const Variant& variant : problem.op().variants) {
        if (variant.supports(problem, generic_device())) continue;
        const Plan plan = make_plan(problem, generic_device(), {variant.name, limit});
        for (const Launch& launch : plan.launches) {
          EXPECT_LE(launch.local[0] * launch.local[1], std::min(limit, 256)) << variant.name;
          const bool raw = launch.kernel == "dense_nt" || launch.kernel == "dense_nn";
          EXPECT_EQ(launch.file, raw ? "dense_raw.cl" : "dense.cl");
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
  EXPECT_NE(options(large, "dense_nt").find("-DDENSE_LDX=320 -DDENSE_LDW=256"), std::string::npos);
}

TEST(dense, two_sources_are_one_launch_with_the_tile_of_one) {
  const DeviceInfo g610 = gpu_device(find_gpu("g610"));
  for (const char* words : {"dtype=f32 bias", "dtype=f16 acc=chunk bias"}) {
    const auto plan = [&](const std::string& k) {
      return make_plan(Problem::parse("dense m=384 n=512 " + k + " " + words), g610);
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
    const std::size_t at = options.find("-D" + name + "=");
    if (at == std::string::npos) return fallback;
    const std::size_t from = at + name.size() + 3;
    return options.substr(from, options.find(' ', from) - from);
  };
  const std::string parts = value("DENSE_PARTS", "");
  return value("DENSE_M0", "4") + "x" + value("DENSE_N0", "4") + (parts.empty() ? "" : "/" + parts);
}

TEST(dense, tiles_are_those_that_the_model_finds_best) {
  const struct {
    const char *gpu, *line, *packed, *raw;
  } table[] = {
      {"g610", "dense m=192 n=512 k=512 dtype=f32", "4x8", "6x4"},
      {"g610", "dense m=192 n=256 k=256 dtype=f32", "4x8/2", "6x4/2"},
      {"g610", "dense m=192 n=256 k=256 dtype=f32 act=gelu", "4x4", "4x4"},
      {"g610", "dense m=64 n=256 k=256 dtype=f32", "4x4/4", "4x4/4"},
      {"g610", "dense m=192 n=768 k=256 dtype=f32", "4x8", "6x4"},
      {"g610", "dense m=384 n=512 k=512 dtype=f32", "4x8", "6x4"},
      {"g610", "dense m=1 n=1000 k=1024 dtype=f32", "1x4/4", "1x4/4"},
      {"g610", "dense m=4 n=16384 k=256 dtype=f32", "4x8/2", "4x4"},
      {"g610", "dense m=192 n=512 k=512 dtype=f16", "4x8", "8x4"},
      {"g610", "dense m=192 n=512 k=512 dtype=f16 acc=chunk", "6x4", "4x4"},
      {"g610", "dense m=192 n=256 k=256 dtype=f16 acc=chunk", "6x4/2", "4x4"},
      {"g610", "dense m=192 n=256 k=256 dtype=f16 acc=f16", "4x4", "4x4"},
      {"g610", "dense m=192 n=512 k=512 dtype=f16 acc=f16", "4x8", "4x4"},
      {"g52", "dense m=192 n=256 k=256 dtype=f32", "4x8", "6x4"},
      {"g52", "dense m=192 n=256 k=256 dtype=f16 acc=chunk", "6x4", "4x4"},
      {"t860", "dense m=192 n=512 k=512 dtype=f32", "4x4", "4x4"},
      {"t860", "dense m=192 n=256 k=256 dtype=f32", "4x4", "4x4"},
      {"t860", "dense m=384 n=512 k=512 dtype=f32", "4x4", "4x4"},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(std::string(row.gpu) + " " + row.line);
    const DeviceInfo device = gpu_device(find_gpu(row.gpu));
    EXPECT_EQ(tile_on(device, row.line, "dense_packed"), row.packed);
    EXPECT_EQ(tile_on(device, row.line, "dense_nt"), row.raw);
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
      {"g610", "dense m=192 n=768 k=512 dtype=f16", true},
      {"g610", "dense m=1024 n=1024 k=1024 dtype=f16", true},
      {"g610", "dense m=1024 n=256 k=1024 dtype=f16", false},
      {"g610", "dense m=1 n=1000 k=1024 dtype=f16", false},
      {"g610", "dense m=192 n=512 k=512 dtype=f16 acc=chunk", false},
      {"g610", "dense m=1024 n=1024 k=1024 dtype=f16 acc=chunk", false},
      // Floats gain a hundredth.
      {"g610", "dense m=192 n=512 k=512 dtype=f32", false},
      {"g610", "dense m=1024 n=2048 k=2048 dtype=f32", false},
      {"g610", "dense m=1024 n=16384 k=1024 dtype=f32", true},
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
    EXPECT_EQ(dense_flops(two), dense_flops(one));
    EXPECT_EQ(tensor_bytes(two), tensor_bytes(one));
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
  const Expected flushed = f32.op().reference(f32, zeros, {Check::hard, false}).at("y");
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

TEST(dense, activations_pass_errors_on_within_their_bound) {
  Random random(test::seed());
  for (const std::string& name : activation_names()) {
    const Activation act = parse_activation(name);
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

HostTensor y_rounded(const Problem& problem, const Expected& expected) {
  return test::rounded(expected, problem.dtype(), {problem.integer("m"), problem.integer("n")});
}

void expect_caught(const HostTensor& faulty, const Expected& expected, const char* fault) {
  EXPECT_FALSE(compare(faulty, expected).pass) << fault;
}

TEST(dense, honest_outputs_pass_every_set) {
  for_each_case([](const Problem& problem) {
    for (const DataSet& set : problem.op().data_sets) {
      const Tensors inputs = make_inputs(problem, set, kSeed);
      const Expected expected = reference(problem, inputs, set.check);
      const Verdict verdict = compare(y_rounded(problem, expected), expected);
      EXPECT_TRUE(verdict.pass) << set.name << ": " << verdict.reason;
      if (multiply_adds(problem) > 2e5) continue;
      const Verdict summed = compare(dense_faults::computed(problem, inputs, Dtype::f32), expected);
      EXPECT_TRUE(summed.pass) << set.name << ", summed in float: " << summed.reason;
    }
  });
}

TEST(dense, exact_catches_what_is_in_the_wrong_place_or_left_out) {
  for_each_case([](const Problem& problem) {
    const DataSet& set = data_set("exact");
    const Tensors inputs = make_inputs(problem, set, kSeed);
    const Expected expected = reference(problem, inputs, set.check);
    const HostTensor y = y_rounded(problem, expected);
    const auto honest = [&](const Tensors& other) {
      return y_rounded(problem, reference(problem, other, Check::hard));
    };
    expect_caught(honest(dense_faults::without_last_k(inputs, "x")), expected, "dropped last k");
    if (problem.integer("k2") > 0) {
      expect_caught(honest(dense_faults::without_last_k(inputs, "x2")), expected,
                    "dropped last k of x2");
    }
    if (problem.integer("n") > 1)
      expect_caught(test::swapped_columns(y, problem.integer("n")), expected, "swapped columns");
    if (problem.integer("m") > 1 || problem.integer("n") > 4) {
      expect_caught(test::wrong_tile(y, problem.integer("n")), expected, "wrong tile");
    }
    if (problem.integer("k") < 4) return;  // so few products may be the same by chance
    const HostTensor before = honest(make_inputs(problem, set, kSeed + 1));
    expect_caught(test::stale_last_row(y, before, problem.integer("n")), expected, "stale scratch");
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

TEST(dense, zero_mean_catches_all_zero_and_constant_outputs) {
  for_each_case([](const Problem& problem) {
    const DataSet& set = data_set("zero_mean");
    const Expected expected = reference(problem, make_inputs(problem, set, kSeed), set.check);
    const HostTensor y = y_rounded(problem, expected);
    expect_caught(test::all_zero(y), expected, "all zero");
    if (y.size() > 1) expect_caught(test::constant(y), expected, "constant");
  });
}

TEST(dense, hard_sets_catch_a_half_accumulator) {
  for_each_case([](const Problem& problem) {
    if (accumulator(problem) != Acc::f32) return;
    const bool saturates = problem.choice("act") == "sigmoid" || problem.choice("act") == "tanh" ||
                           problem.choice("act") == "relu6";
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

// ---- kernels ----

class dense_device : public test::OpDevice {
 protected:
  static HostTensor run_y(Trial& trial, const Tensors& inputs) {
    return run(trial, inputs).at("y");
  }
};

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class dense_broken : public test::OpDevice {};

TEST_F(dense_device, every_case_passes_every_set_in_f32) {
  for (const Problem& problem : problems_of(find_op("dense").cases, "f32")) {
    expect_all_sets_pass(problem);
  }
}

TEST_F(dense_device, every_case_passes_every_set_in_f16) {
  CLAM_NEEDS_F16();
  for (const Problem& problem : problems_of(find_op("dense").cases, "f16")) {
    expect_all_sets_pass(problem);
  }
}

TEST_F(dense_device, every_group_size_gives_the_same_bits) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = parse("dense m=13 n=70 k=20", dtype);
    const Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
    const Expected y = expected(problem, inputs, Check::zero_mean).at("y");
    HostTensor first;
    for (const int limit : {1, 16, 64, 256}) {
      for_each_variant(problem, limit, [&](Trial& trial) {
        const HostTensor output = run_y(trial, inputs);
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
  const std::size_t at = tiles.options.find("DENSE_M0=") + 9;
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
    for (const int rows : {1, 2, 4, 6}) {
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

TEST_F(dense_device, random_problems_pass) {
  Random random(test::seed());
  const auto slice = [&](const char* name, int row) {
    if (random.integer(0, 1) == 0) return std::string();
    const int step = random.integer(0, 1) == 0 ? 4 : 1;  // aligned half of the time
    const int ld = (row + step - 1) / step * step + step * random.integer(0, 3);
    return fmt::format(" ld{}={} off{}={}", name, ld, name, step * random.integer(0, 5));
  };
  for (int i = 0; i < 10; ++i) {
    const int m = random.integer(1, 80), n = random.integer(1, 80), k = random.integer(1, 80);
    const bool trans_w = random.integer(0, 1) == 1;
    std::string line = fmt::format("dense m={} n={} k={} trans_w={}", m, n, k, trans_w ? 1 : 0);
    if (random.integer(0, 1) == 1) line += " bias residual" + slice("r", n);
    const int k2 = random.integer(0, 1) * random.integer(1, 40);
    if (k2 > 0) line += fmt::format(" k2={}", k2) + slice("x2", k2);
    line += slice("x", k) + slice("w", trans_w ? k + k2 : n) + slice("y", n);
    for (const std::string& dtype : dtypes()) expect_all_sets_pass(parse(line, dtype));
  }
}

TEST_F(dense_device, other_inputs_give_other_outputs_and_the_same_inputs_the_same) {
  const Problem problem = parse("dense m=9 n=15 k=11");
  const Tensors one = make_inputs(problem, data_set("zero_mean"), 1);
  const Tensors two = make_inputs(problem, data_set("zero_mean"), 2);
  for_each_variant(problem, 0, [&](Trial& trial) {
    const HostTensor first = run_y(trial, one), second = run_y(trial, two);
    for (std::int64_t i = 0; i < first.size(); ++i) EXPECT_NE(first.bits(i), second.bits(i)) << i;
    EXPECT_TRUE(run_y(trial, one) == first);
  });
}

TEST_F(dense_device, weights_may_be_packed_once_for_many_inputs) {
  const Problem problem = parse("dense m=9 n=15 k=12");
  Trial trial(test::runtime(), problem, {"dense_packed"});
  const Tensors one = make_inputs(problem, data_set("zero_mean"), 1);
  const HostTensor first = run_y(trial, one);
  trial.run(2);
  EXPECT_TRUE(trial.download().at("y") == first);
}

TEST_F(dense_device, y_may_be_r) {
  const Problem problem = parse("dense m=97 n=101 k=8 residual");
  const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
  const Expected y = expected(problem, inputs, Check::exact).at("y");
  for_each_variant(problem, 0, [&](Trial& trial) {
    trial.upload(inputs);
    Executable executable = test::runtime().prepare(trial.plan());
    Bindings bindings = trial.bindings();
    bindings["y"] = bindings["r"];
    test::runtime().pack(executable, bindings);
    test::runtime().enqueue(executable, bindings);
    test::runtime().finish();
    HostTensor output(Dtype::f32, {97, 101});
    test::runtime().queue().enqueueReadBuffer(bindings["r"], CL_TRUE, 0, output.bytes(),
                                              output.data());
    EXPECT_TRUE(compare(output, y).pass) << compare(output, y).reason;
  });
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
        const HostTensor y = run_y(trial, inputs);
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
      EXPECT_LE(compare(run_y(trial, inputs), y, 1).worst_ratio, 1);
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
    const HostTensor y = run_y(trial, inputs);
    EXPECT_EQ(y.get(0), 0);
    EXPECT_EQ(y.get(15), kInfinity);
    EXPECT_EQ(y.get(30), -65504);
  });
}

// ---- broken kernels ----

/// Plans as a Mali gets them: two vectors of columns, split addresses, work-items that share k.
void for_each_mali_plan(const std::string& dtype, const std::function<void(const Plan&)>& body) {
  const DeviceInfo mali = gpu_device(find_gpu("g610"));
  std::vector<std::string> lines = find_op("dense").cases;
  lines.insert(
      lines.end(),
      {"dense m=3 n=9 k=1021 bias", "dense m=5 n=64 k=516 trans_w=0",
       "dense m=12 n=384 k=264 act=relu residual bias",
       "dense m=12 n=384 k=260 trans_w=0 ldx=268 offx=4",
       "dense m=193 n=256 k=132 bias residual ldr=260", "dense m=193 n=260 k=132 trans_w=0",
       "dense m=191 n=256 k=260", "dense m=193 n=252 k=260 acc=chunk bias",
       "dense m=100 n=512 k=128 acc=f16 ldx=136 offx=8 bias",
       "dense m=100 n=512 k=128 acc=f16 ldx=132", "dense m=3 n=9 k=500 k2=521 bias",
       "dense m=5 n=64 k=260 k2=20", "dense m=12 n=384 k=100 k2=160 acc=chunk trans_w=0",
       "dense m=100 n=512 k=64 k2=64 acc=f16 ldx2=72 offx2=8"});
  for (const Problem& problem : problems_of(lines, dtype)) {
    for (const Variant& variant : problem.op().variants) {
      if (!variant.supports(problem, mali)) body(make_plan(problem, mali, {variant.name}));
    }
  }
}

TEST_F(dense_device, plans_for_a_mali_are_right_here_too) {
  for (const std::string& dtype : dtypes_left()) {
    for_each_mali_plan(dtype, [](const Plan& plan) {
      const Problem problem = Problem::parse(plan.problem);
      SCOPED_TRACE(plan.problem + " " + plan.variant);
      for (const char* set : {"exact", "zero_mean"}) {
        const Tensors inputs = make_inputs(problem, data_set(set), test::seed());
        Trial trial(test::runtime(), plan);
        expect_pass(trial, inputs, expected(problem, inputs, data_set(set).check));
      }
    });
  }
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

TEST_F(dense_device, tiles_that_lie_across_4_gib_have_the_same_bits) {
  const test::TemporaryFolder folder;
  for (const char* file : {"dense.cl", "dense_raw.cl"}) {
    test::break_kernel(folder, file, "(bytes - 1) < (uint)", "(bytes - 1) >= 0 * (uint)");
  }
  const auto across = test::runtime_with_kernels(folder);
  for (const std::string& dtype : dtypes_left()) {
    for_each_mali_plan(dtype, [&](const Plan& plan) {
      const Problem problem = Problem::parse(plan.problem);
      SCOPED_TRACE(plan.problem + " " + plan.variant);
      const Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
      Trial near(test::runtime(), plan), far(*across, plan);
      EXPECT_TRUE(run(near, inputs).at("y") == run(far, inputs).at("y"));
    });
  }
}

TEST_F(dense_broken, broken_kernels_are_caught) {
  const test::KernelFault faults[] = {
      {"wrong tile", "offx + tile.row * x_stride", "offx + tile.row / 2 * x_stride",
       "dense m=9 n=15 k=12", "dense_packed", "exact"},
      {"wrong column", "out.ldy + col) * SIZE, first", "out.ldy + (col ^ 4)) * SIZE, first",
       "dense m=9 n=16 k=12", "dense_nt", "exact"},
      {"a row of weights twice", "w_at##n + (k_at)", "w_at0 + (k_at)", "dense m=9 n=16 k=12",
       "dense_nt", "exact"},
      {"dropped last k", "LOW(x) + k * x_step;", "LOW(x) + (k - 4) * x_step;",
       "dense m=9 n=15 k=12", "dense_packed", "exact"},
      {"dropped last k", "i < products; ++i", "i < products - 1; ++i", "dense m=9 n=15 k=12",
       "dense_plain", "exact"},
      {"early return", "tile.above >= ROWS || tile.col >= n",
       "tile.above + 1 >= ROWS || tile.col >= n", "dense m=9 n=15 k=12", "dense_packed",
       "zero_mean"},
      {"early return", "tile.above >= ROWS || own_col >= n",
       "tile.above >= ROWS || own_col + 4 >= n", "dense m=9 n=15 k=12", "dense_nt", "zero_mean"},
      {"padding that is not zero", "p[3 * step] : (T)0", "p[3 * step] : (T)NAN",
       "dense m=9 n=15 k=11", "dense_packed", "exact"},
      {"padding that is not written", "if (i >= k4 || row >= m)", "if (4 * i + 4 > k || row >= m)",
       "dense m=9 n=15 k=11", "dense_packed", "exact"},
      {"stale panels", "if (col < n && from < end)", "if (col < n - 4 && from < end)",
       "dense m=9 n=15 k=12", "dense_packed", "exact"},
      {"tail columns stored over the next row", "i >= first && i < end", "1", "dense m=9 n=15 k=12",
       "dense_packed", "exact"},
      {"no activation", "DENSE_ACT(z.x)", "z.x", "dense m=9 n=15 k=24 bias act=relu",
       "dense_packed", "exact"},
      {"no bias", "if (DENSE_BIAS) z", "if (0) z", "dense m=9 n=15 k=24 bias", "dense_packed",
       "exact"},
      {"x2 with the stride of x", "DENSE_LDX2 ? DENSE_LDX2 : ldx2", "ldx",
       "dense m=9 n=15 k=8 k2=12", "dense_packed", "exact"},
      {"x2 with half its stride", "row * source.ld", "row * source.ld / 2",
       "dense m=9 n=16 k=8 k2=12", "dense_nt", "exact"},
      {"x2 with the stride of x", "row * ldx2", "row * ldx", "dense m=9 n=15 k=8 k2=12",
       "dense_plain", "exact"},
      {"dropped last k of x2", "x_step, second.products)", "x_step, (second.products - 4))",
       "dense m=9 n=15 k=8 k2=12", "dense_packed", "exact"},
      {"weights of x2 behind no padding", "is_x2 ? i - k4 + k : i", "i", "dense m=9 n=15 k=7 k2=12",
       "dense_packed", "exact"},
      {"wrong panel of x", "x_at = row * k;", "x_at = row / 2 * k;", "dense m=9 n=15 k=12",
       "dense_both_packed", "exact"},
      {"dropped last k", "LOW(x) + k * x_step;", "LOW(x) + (k - 4) * x_step;",
       "dense m=9 n=15 k=12", "dense_both_packed", "exact"},
      {"rows stored behind the last", "if (i / VECTORS < left)", "if (i / VECTORS <= left)",
       "dense m=9 n=15 k=12", "dense_both_packed", "exact"},
      {"rows of a panel in the wrong order", "v0.y, v1.y", "v1.y, v0.y", "dense m=9 n=15 k=12",
       "dense_both_packed", "exact"},
      {"k of a panel in the wrong place", "p + 2 * ROWS, v0.z", "p + 2 * ROWS, v0.w",
       "dense m=9 n=15 k=12", "dense_both_packed", "exact"},
  };
  for (const test::KernelFault& fault : faults) {
    expect_caught(std::string(fault.variant) == "dense_nt" ? "dense_raw.cl" : "dense.cl", fault);
  }
}

}  // namespace
}  // namespace clam
