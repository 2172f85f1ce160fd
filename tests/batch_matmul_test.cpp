// SPDX-License-Identifier: MIT
// batch_matmul_test.cpp - problems, plans, references and kernels of batch_matmul.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "batch_matmul_faults.hpp"
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

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("batch_matmul " + words + " dtype=" + dtype);
}

const DataSet& data_set(const std::string& name) {
  return find_data_set(find_op("batch_matmul"), name);
}

Expected reference(const Problem& problem, const Tensors& inputs, Check check) {
  return problem.op().reference(problem, inputs, {check}).at("c");
}

double multiply_adds(const Problem& problem) { return batch_matmul_flops(problem) / 2; }

/// Calls body(problem) for every case in both dtypes.
template <typename Body>
void for_each_case(const Body& body) {
  for (const char* dtype : {"f32", "f16"}) {
    for (const Problem& problem : problems_of(find_op("batch_matmul").cases, dtype)) {
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

TensorSpec spec(const Problem& problem, const std::string& name) {
  for (const TensorSpec& spec : problem.op().tensors(problem)) {
    if (spec.name == name) return spec;
  }
  throw std::logic_error("no tensor " + name);
}

// ---- problems ----

TEST(batch_matmul, canonical_text_has_extents_then_dtype_then_attributes_then_strides) {
  EXPECT_EQ(Problem::parse("batch_matmul ldc=24 act=gelu k=12 mask=bmn scale=0.5 n=20 m=9 offa=4 "
                           "lda=12 tb=1 ta=0 dtype=f16 batch=3 batch_b=1 stridec=240")
                .text(),
            "batch_matmul batch=3 m=9 n=20 k=12 dtype=f16 tb=1 scale=0.5 mask=bmn act=gelu "
            "batch_b=1 ldc=24 stridec=240 offa=4");
}

TEST(batch_matmul, words_equal_to_their_default_are_left_out) {
  const auto same = [](const std::string& words, const std::string& shorter) {
    EXPECT_EQ(parse(words).text(), parse(shorter).text());
  };
  const std::string plain = "batch=3 m=2 n=8 k=12";
  same(plain + " lda=12 ldb=8 ldc=8 stridea=24 strideb=96 stridec=16", plain);
  same(plain + " ta=1 tb=1 lda=2 ldb=12 strideb=96", plain + " ta=1 tb=1");
  same(plain + " batch_a=3 batch_b=3", plain);
  same(plain + " lda=16 stridea=32", plain + " lda=16");
  same("m=2 n=8 k=12 batch=1 batch_a=1 batch_b=1", "m=2 n=8 k=12");
  same("m=2 n=8 k=12 stridea=5 strideb=7 stridec=1", "m=2 n=8 k=12");
  same(plain + " batch_a=1 stridea=5", plain + " batch_a=1");
  EXPECT_NE(parse(plain + " lda=16 stridea=24"), parse(plain + " lda=16"));
  EXPECT_NE(parse(plain + " batch_a=1"), parse(plain));
}

TEST(batch_matmul, tensors_carry_strides_and_offsets) {
  using Role = TensorSpec::Role;
  const Problem problem = parse("batch=3 m=4 n=5 k=6 tb=1 lda=8 strideb=31 offb=2 offc=3 mask=mn");
  const std::vector<TensorSpec> expected{{"a", Role::input, Dtype::f32, {3, 4, 6}, {32, 8, 1}, 0},
                                         {"b", Role::input, Dtype::f32, {3, 5, 6}, {31, 6, 1}, 2},
                                         {"mask", Role::input, Dtype::f32, {4, 5}, {}, 0},
                                         {"c", Role::output, Dtype::f32, {3, 4, 5}, {}, 3}};
  EXPECT_EQ(problem.op().tensors(problem), expected);
  EXPECT_EQ(batch_matmul_flops(problem), 2.0 * 3 * 4 * 5 * 6);
  EXPECT_EQ(tensor_bytes(problem), 4.0 * (3 * 4 * 6 + 3 * 5 * 6 + 4 * 5 + 3 * 4 * 5));
  const Problem other = parse("batch=3 m=4 n=5 k=6 ta=1 batch_a=1 batch_b=1 mask=bmn");
  EXPECT_EQ(spec(other, "a").shape, (Shape{1, 6, 4}));
  EXPECT_EQ(spec(other, "b").shape, (Shape{1, 6, 5}));
  EXPECT_EQ(spec(other, "mask").shape, (Shape{3, 4, 5}));
}

TEST(batch_matmul, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, "batch_matmul: " + sentence);
  };
  expect("batch=0 m=1 n=2 k=3", "batch='0', needs 1 to 2147483647");
  expect("m=0 n=2 k=3", "m='0', needs 1 to 2147483647");
  expect("m=4 n=2", "k is missing");
  expect("m=4 n=2 k=3 alpha=1", "unknown word 'alpha'");
  expect("m=4 n=2 k=3 ta=2", "ta='2', needs 0 to 1");
  expect("m=4 n=2 k=3 scale=inf", "scale=inf, needs a finite number");
  expect("m=4 n=2 k=3 scale=nan", "scale='nan', needs a number");
  expect("m=4 n=2 k=3 mask=nm", "mask='nm', knows none mn bmn");
  expect("m=4 n=2 k=3 act=swish", "act='swish', knows none relu");
  expect("batch=4 m=4 n=2 k=3 batch_a=2", "batch_a=2, needs 1 or the batch, 4");
  expect("batch=4 m=4 n=2 k=3 batch_b=5", "batch_b=5, needs 1 or the batch, 4");
  expect("m=4 n=2 k=3 lda=2", "lda=2, is under the 3 elements of a row");
  expect("m=4 n=2 k=3 ta=1 lda=3", "lda=3, is under the 4 elements of a row");
  expect("m=4 n=5 k=3 ldb=4", "ldb=4, is under the 5 elements of a row");
  expect("m=4 n=5 k=3 tb=1 ldb=2", "ldb=2, is under the 3 elements of a row");
  expect("m=4 n=2 k=3 ldc=1", "ldc=1, is under the 2 elements of a row");
  expect("m=4 n=2 k=3 offa=-1", "offa='-1', needs 0 to 2147483647");
  const auto too_large = [](const std::string& words, const std::string& what) {
    EXPECT_THROWS_SAYING(parse(words), BadArgument, what);
  };
  too_large("batch=65536 m=65536 n=1 k=1", "over 2147483647 elements");
  too_large("batch=3 m=2 n=2 k=2 stridea=2147483647", "over the limit of 2147483647");
  too_large("batch=30000 m=2 n=2 k=2 lda=30000", "over the limit of 2147483647");
  too_large("m=4 n=2 k=3 offc=2147483647", "over the limit of 2147483647");
  too_large("batch=2147483647 m=1 n=1 k=1 strideb=2147483647", "over the limit of 2147483647");
}

TEST(batch_matmul, batch_items_of_c_must_not_overlap) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse("batch=3 m=4 n=5 k=6 " + words), BadArgument,
                         "batch_matmul: stridec=" + sentence);
  };
  expect("stridec=19",
         "19, lets batch items of c overlap: it needs 20 or more, or, side by side, "
         "5 or more and ldc of 43 or more");
  expect("stridec=1", "1, lets batch items of c overlap");
  expect("ldc=15 stridec=4", "4, lets batch items of c overlap");
  expect("ldc=14 stridec=5",
         "5, lets batch items of c overlap: it needs 47 or more, or, side by "
         "side, 5 or more and ldc of 15 or more");
  for (const char* words : {"stridec=20", "stridec=21", "ldc=15 stridec=5", "ldc=17 stridec=6",
                            "ldc=14 stridec=47", "ldc=100"}) {
    EXPECT_NO_THROW(parse(std::string("batch=3 m=4 n=5 k=6 ") + words)) << words;
  }
  EXPECT_NO_THROW(parse("batch=3 m=1 n=5 k=6 stridec=5"));
}

TEST(batch_matmul, accepted_strides_of_c_never_share_a_place) {
  Random random(test::seed());
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    const int n = random.integer(1, 5);
    const std::string words =
        fmt::format("batch={} m={} n={} k=1 ldc={} stridec={}", random.integer(1, 4),
                    random.integer(1, 4), n, n + random.integer(0, 16), random.integer(1, 40));
    try {
      const TensorSpec c = spec(parse(words), "c");
      std::set<std::int64_t> places;
      for (std::int64_t at = 0; at < count(c.shape); ++at) places.insert(c.position(at));
      EXPECT_EQ(static_cast<std::int64_t>(places.size()), count(c.shape)) << words;
      ++accepted;
    } catch (const BadArgument&) {
    }
  }
  EXPECT_GT(accepted, 500);
}

TEST(batch_matmul, half_sums_need_half_tensors) {
  for (const char* acc : {"chunk", "f16"}) {
    EXPECT_THROWS_SAYING(parse(fmt::format("m=4 n=4 k=4 acc={}", acc)), BadArgument,
                         "needs dtype=f16: f32 tensors are summed in float");
    EXPECT_NO_THROW(parse(fmt::format("m=4 n=4 k=4 acc={}", acc), "f16"));
  }
}

TEST(batch_matmul, what_no_kernel_does_is_refused_by_every_variant) {
  const Problem problem = parse("m=4 n=4 k=1025 acc=f16", "f16");
  const std::string words = "acc=f16 sums at most 1024 products, not 1025";
  for (const Variant& variant : problem.op().variants) {
    EXPECT_THROWS_SAYING(make_plan(problem, generic_device(), {variant.name}), Unsupported, words);
  }
  const Tensors inputs = make_inputs(problem, data_set("zero_mean"), 1);
  EXPECT_THROWS_SAYING(reference(problem, inputs, Check::hard), Unsupported, words);
}

// ---- plans ----

std::string refusal(const std::string& words, const std::string& how,
                    const DeviceInfo& device = generic_device(), const std::string& dtype = "f32") {
  const Problem problem = parse(words, dtype);
  return find_variant(problem.op(), "batch_matmul_" + how).supports(problem, device).value_or("");
}

TEST(batch_matmul, variants_refuse_with_a_reason) {
  EXPECT_EQ(refusal("m=4 n=8 k=8", "nn"), "");
  EXPECT_EQ(refusal("m=4 n=8 k=8", "nt"), "b lies as b[k,n]");
  EXPECT_EQ(refusal("m=4 n=8 k=8", "tn"), "a lies as a[m,k]");
  EXPECT_EQ(refusal("m=4 n=8 k=8 tb=1", "nt"), "");
  EXPECT_EQ(refusal("m=4 n=8 k=8 tb=1", "nn"), "b lies as b[n,k]");
  EXPECT_EQ(refusal("m=4 n=8 k=8 ta=1", "tn"), "");
  EXPECT_EQ(refusal("m=4 n=8 k=8 ta=1", "nn"), "a lies as a[k,m]");
  EXPECT_EQ(refusal("m=4 n=8 k=8 ta=1 tb=1", "tt"), "");
  EXPECT_EQ(refusal("m=4 n=8 k=7", "nn"), "224 products do not repay a launch that aligns a or b");
  EXPECT_EQ(refusal("batch=3 m=41 n=43 k=47", "nn"), "");
  for (const char* acc : {"chunk", "f16"}) {
    const std::string words = fmt::format("m=4 n=8 k=8 ta=1 tb=1 acc={}", acc);
    EXPECT_EQ(refusal(words, "tt", generic_device(), "f16"), "this variant sums in float");
    EXPECT_EQ(refusal(words, "plain", generic_device(), "f16"), "");
  }
  DeviceInfo small = generic_device();
  small.max_alloc_bytes = 4096;
  EXPECT_EQ(refusal("m=41 n=40 k=48 lda=49", "nn", small),
            "padded a would take 7872 bytes, over the limit of 4096");
  EXPECT_EQ(refusal("batch=2 m=40 n=41 k=48 tb=1 offb=1", "nt", small),
            "padded b would take 15744 bytes, over the limit of 4096");
  small.max_alloc_bytes = 8192;
  EXPECT_EQ(make_plan(parse("m=45 n=45 k=45"), small).variant, "batch_matmul_plain");
  DeviceInfo large = generic_device();
  large.max_alloc_bytes = std::int64_t{1} << 40;
  EXPECT_EQ(refusal("batch=2 m=200000000 n=1 k=1 ta=1", "tn", large),
            "padded a would take 6400000000 bytes, over the limit of 2147483647");
}

std::string launches(const std::string& words) {
  std::string names;
  for (const Launch& launch : make_plan(parse(words), generic_device()).launches) {
    names += launch.kernel.substr(std::string("batch_matmul_").size()) + " ";
  }
  return names;
}

TEST(batch_matmul, what_models_run_takes_one_launch_of_vectors) {
  EXPECT_EQ(launches("batch=4 m=192 n=192 k=64 tb=1 scale=0.125"), "nt ");
  EXPECT_EQ(launches("batch=4 m=192 n=64 k=192"), "nn ");
  EXPECT_EQ(launches("m=192 n=192 k=256 tb=1 scale=0.0625"), "nt ");
  EXPECT_EQ(launches("batch=4 m=192 n=192 k=64 tb=1 mask=mn"), "nt ");
  EXPECT_EQ(launches("batch=4 m=192 n=192 k=64 tb=1 mask=bmn"), "nt ");
  EXPECT_EQ(launches("batch=4 m=192 n=192 k=64 tb=1 lda=256 ldb=256 stridea=64 strideb=64"), "nt ");
  EXPECT_EQ(launches("batch=4 m=192 n=64 k=192 ldb=256 ldc=256 strideb=64 stridec=64"), "nn ");
}

TEST(batch_matmul, what_is_not_aligned_is_padded_first) {
  const std::string extents = "batch=2 m=64 n=64 k=64";
  EXPECT_EQ(launches(extents), "nn ");
  EXPECT_EQ(launches(extents + " lda=68 offa=4 stridea=4400"), "nn ");
  EXPECT_EQ(launches(extents + " lda=65"), "pad nn ");
  EXPECT_EQ(launches(extents + " offa=1"), "pad nn ");
  EXPECT_EQ(launches(extents + " stridea=4401"), "pad nn ");
  EXPECT_EQ(launches(extents + " batch_a=1 stridea=4401"), "nn ");
  EXPECT_EQ(launches(extents + " strideb=4401 lda=65"), "pad pad nn ");
  EXPECT_EQ(launches(extents + " ldc=65"), "nn ");
  EXPECT_EQ(launches("batch=2 m=64 n=64 k=63"), "pad pad nn ");
  EXPECT_EQ(launches("batch=2 m=64 n=63 k=64"), "pad nn ");
  EXPECT_EQ(launches("batch=2 m=63 n=64 k=64"), "nn ");
  EXPECT_EQ(launches("batch=2 m=63 n=63 k=64 tb=1"), "nt ");
  EXPECT_EQ(launches("batch=2 m=500 n=3 k=64 tb=1"), "pad nt ");
  EXPECT_EQ(launches("batch=2 m=63 n=64 k=64 ta=1"), "pad tn ");
  EXPECT_EQ(launches("batch=2 m=64 n=63 k=64 ta=1 tb=1"), "tt ");
  EXPECT_EQ(launches("m=3 n=3 k=3"), "plain ");
  EXPECT_EQ(launches("m=3 n=3 k=3 ta=1 tb=1"), "plain ");
}

TEST(batch_matmul, groups_keep_to_the_limit) {
  for (const int limit : {1, 2, 16, 32, 64, 100, 128, 256, 1024}) {
    for_each_case([&](const Problem& problem) {
      for (const Variant& variant : problem.op().variants) {
        if (variant.supports(problem, generic_device())) continue;
        const Plan plan = make_plan(problem, generic_device(), {variant.name, limit});
        for (const Launch& launch : plan.launches) {
          EXPECT_LE(launch.local[0] * launch.local[1], std::min(limit, 256)) << variant.name;
          EXPECT_EQ(launch.options, plan.launches[0].options);
        }
      }
    });
  }
}

TEST(batch_matmul, large_problems_fix_their_strides) {
  const auto options = [](const std::string& words) {
    return make_plan(parse(words), generic_device()).launches.back().options;
  };
  EXPECT_EQ(options("m=64 n=64 k=64").find("LDA"), std::string::npos);
  EXPECT_NE(options("batch=4 m=192 n=192 k=64 lda=256").find(" -DBMM_LDA=256 -DBMM_LDB=192"),
            std::string::npos);
  EXPECT_NE(options("batch=4 m=193 n=191 k=63").find(" -DBMM_LDA=64 -DBMM_LDB=192"),
            std::string::npos);
}

TEST(batch_matmul, large_problems_without_odd_rows_leave_out_the_code_for_them) {
  const auto whole = [](const std::string& words) {
    const Plan plan = make_plan(parse("batch=4 m=192 k=64 " + words), generic_device());
    return plan.launches.back().options.find("-DBMM_WHOLE=1") != std::string::npos;
  };
  EXPECT_TRUE(whole("n=192"));
  EXPECT_TRUE(whole("n=192 tb=1 mask=bmn ldc=196 offc=4"));
  for (const char* words : {"n=16", "n=191", "n=192 ldc=193", "n=192 offc=2",
                            "n=192 ldc=192 stridec=36866"}) {
    EXPECT_FALSE(whole(words)) << words;
  }
}

TEST(batch_matmul, a_group_is_lower_where_that_leaves_fewer_items_idle) {
  const DeviceInfo g610 = gpu_device(find_gpu("g610"));
  const auto local = [&](const std::string& words) {
    return make_plan(parse(words, "f16"), g610).launches.back().local;
  };
  using Local = std::array<std::int64_t, 3>;
  EXPECT_EQ(local("batch=4 m=192 n=192 k=64 tb=1"), (Local{4, 8, 1}));   // 24 tiles along m
  EXPECT_EQ(local("batch=4 m=256 n=256 k=64 tb=1"), (Local{4, 16, 1}));  // 32
  EXPECT_EQ(local("batch=4 m=8 n=4096 k=64 tb=1"), (Local{4, 8, 1}));    // one
}

TEST(batch_matmul, addresses_are_split_for_the_compilers_of_mesa_alone) {
  const auto options = [](const std::string& words, const DeviceInfo& device) {
    return make_plan(parse(words), device).launches.back().options;
  };
  DeviceInfo board = gpu_device(find_gpu("g610"));
  const char* const split = "-DBMM_SPLIT=1";
  for (const char* words : {"m=64 n=64 k=64", "m=64 n=64 k=64 tb=1", "m=64 n=64 k=64 ta=1"}) {
    EXPECT_NE(options(words, board).find(split), std::string::npos) << words;
  }
  EXPECT_EQ(options("m=64 n=64 k=64 ta=1 tb=1", board).find(split), std::string::npos);
  board.platform = "ARM Platform";
  EXPECT_EQ(options("m=64 n=64 k=64", board).find(split), std::string::npos);
  EXPECT_EQ(options("m=64 n=64 k=64", generic_device()).find(split), std::string::npos);
}

TEST(batch_matmul, tiles_are_as_high_as_the_model_finds_best) {
  DeviceInfo g610 = generic_device();
  g610.compute_units = 4;
  const auto rows = [&](const std::string& words, const std::string& name, const char* dtype) {
    const std::string options = make_plan(parse(words, dtype), g610).launches.back().options;
    return options.substr(options.find(name + "=") + name.size() + 1, 1);
  };
  EXPECT_EQ(rows("batch=4 m=192 n=192 k=64 tb=1", "BMM_M0", "f32"), "6");
  EXPECT_EQ(rows("batch=4 m=192 n=192 k=64 tb=1", "BMM_M0", "f16"), "8");
  EXPECT_EQ(rows("batch=4 m=192 n=192 k=64 tb=1 act=gelu", "BMM_M0", "f16"), "4");
  EXPECT_EQ(rows("batch=64 m=30 n=64 k=24", "BMM_M0", "f16"), "6");
  EXPECT_EQ(rows("m=16 n=64 k=64", "BMM_M0", "f32"), "1");
  EXPECT_EQ(rows("batch=4096 m=3 n=64 k=64", "BMM_M0", "f32"), "2");
  EXPECT_EQ(rows("batch=4 m=192 n=192 k=64 ta=1", "BMM_M0", "f32"), "8");
  EXPECT_EQ(rows("batch=4096 m=4 n=64 k=64 ta=1", "BMM_M0", "f32"), "4");
}

/// "MxN" or, where items share k, "MxN/parts": the tile of the plan.
std::string cut_of(const std::string& words, const char* dtype, const DeviceInfo& device) {
  const std::string options = make_plan(parse(words, dtype), device).launches.back().options + " ";
  const auto value = [&](const std::string& name, const std::string& otherwise) {
    const std::size_t at = options.find("-D" + name + "=");
    if (at == options.npos) return otherwise;
    const std::size_t begin = at + name.size() + 3;
    return options.substr(begin, options.find(' ', begin) - begin);
  };
  const std::string parts = value("BMM_PARTS", "");
  return value("BMM_M0", "4") + "x" + value("BMM_N0", "4") + (parts.empty() ? "" : "/" + parts);
}

TEST(batch_matmul, items_share_k_where_tiles_are_too_few) {
  const DeviceInfo g610 = gpu_device(find_gpu("g610"));
  const char* const values = "batch=4 m=192 n=64 k=192";
  const char* const scores = "batch=4 m=192 n=192 k=64 tb=1";
  EXPECT_EQ(cut_of(values, "f32", g610), "4x8/2");
  EXPECT_EQ(cut_of(values, "f16", g610), "4x8/2");
  EXPECT_EQ(cut_of(std::string(values) + " acc=chunk", "f16", g610), "4x4");
  EXPECT_EQ(cut_of(scores, "f32", g610), "6x4");
  EXPECT_EQ(cut_of("m=192 n=192 k=256 tb=1", "f32", g610), "6x4/2");
  EXPECT_EQ(cut_of("batch=64 m=192 n=64 k=192", "f32", g610), "4x8");
  EXPECT_EQ(cut_of("m=192 n=192 k=256 ta=1", "f32", g610), "4x4");
  DeviceInfo other = g610;
  other.type = "cpu";
  EXPECT_EQ(cut_of(values, "f32", other).find('/'), std::string::npos);
  other = g610;
  other.local_mem_bytes = 1024;
  EXPECT_EQ(cut_of(values, "f32", other), "4x4");
}

// ---- the reference ----

TEST(batch_matmul, the_reference_is_the_formula) {
  const Problem problem = parse("batch=2 m=1 n=2 k=2 scale=2 mask=bmn act=relu");
  Tensors inputs{{"a", tensor(Dtype::f32, {2, 1, 2}, {1, 2, 3, 4})},
                 {"b", tensor(Dtype::f32, {2, 2, 2}, {1, 0, 0, 1, -1, 5, -1, 6})},
                 {"mask", tensor(Dtype::f32, {2, 1, 2}, {10, 20, 13, 40})}};
  const auto values = [&](const char* field, const char* value) {
    return reference(problem.with(field, value), inputs, Check::hard).value;
  };
  EXPECT_EQ(values("ta", "0"), (std::vector<double>{12, 24, 0, 118}));
  inputs["b"] = tensor(Dtype::f32, {2, 2, 2}, {1, 0, 0, 1, -1, -1, 5, 6});
  EXPECT_EQ(values("tb", "1"), (std::vector<double>{12, 24, 0, 118}));
  inputs["mask"] = tensor(Dtype::f32, {1, 2}, {10, 20});
  EXPECT_EQ(reference(problem.with("mask", "mn").with("tb", "1"), inputs, Check::hard).value,
            (std::vector<double>{12, 24, 0, 98}));
}

TEST(batch_matmul, the_reference_knows_transposed_and_shared_matrices) {
  const Problem problem = parse("batch=2 m=2 n=1 k=3 ta=1 batch_a=1");
  const Tensors inputs{{"a", tensor(Dtype::f32, {1, 3, 2}, {1, 4, 2, 5, 3, 6})},
                       {"b", tensor(Dtype::f32, {2, 3, 1}, {1, 0, 0, 0, 1, 10})}};
  EXPECT_EQ(reference(problem, inputs, Check::hard).value, (std::vector<double>{1, 4, 32, 65}));
  const Problem other = parse("batch=2 m=1 n=2 k=3 tb=1 batch_b=1");
  const Tensors swapped{{"a", tensor(Dtype::f32, {2, 1, 3}, {1, 0, 0, 0, 1, 10})},
                        {"b", tensor(Dtype::f32, {1, 2, 3}, {1, 2, 3, 4, 5, 6})}};
  EXPECT_EQ(reference(other, swapped, Check::hard).value, (std::vector<double>{1, 4, 32, 65}));
}

TEST(batch_matmul, bounds_are_those_of_the_contract) {
  const Problem f32 = parse("m=1 n=1 k=3 scale=0.5 mask=mn"), f16 = f32.with("dtype", "f16");
  const Tensors inputs{{"a", tensor(Dtype::f32, {1, 1, 3}, {4, 2, 1})},
                       {"b", tensor(Dtype::f32, {1, 3, 1}, {1, -1, 8})},
                       {"mask", tensor(Dtype::f32, {1, 1}, {3})}};
  // Partial sums 4, 2, 10; times 0.5 they are 2, 1, 5; then 5 again for scale, and 8 with the mask.
  const double u = 0x1p-24, worst = 2 + 1 + 5 + 5 + 8, root = std::sqrt(4. + 1 + 25 + 25 + 64);
  EXPECT_DOUBLE_EQ(reference(f32, inputs, Check::hard).bound[0], u * worst + u * 8 + 0x1p-149);
  EXPECT_DOUBLE_EQ(reference(f32, inputs, Check::zero_mean).bound[0],
                   6 * u * root + u * 8 + 0x1p-149);
  EXPECT_DOUBLE_EQ(reference(f16, inputs, Check::hard).bound[0], u * worst + 0x1p-11 * 8 + 0x1p-25);
  Tensors zeros = inputs;
  for (const char* name : {"a", "mask"})
    zeros.at(name) = HostTensor(Dtype::f32, inputs.at(name).shape());
  EXPECT_EQ(reference(f32, zeros, Check::hard).bound[0], 0x1p-149);
  // A device without denormals may lose up to 2^-126 of each a, times its b.
  const Expected flushed = f32.op().reference(f32, zeros, {Check::hard, false}).at("c");
  EXPECT_EQ(flushed.bound[0], 0x1p-126 * (1 + 1 + 1 + 8));
}

TEST(batch_matmul, an_exact_check_is_bit_exact_where_nothing_rounds) {
  const auto bit_exact = [](const std::string& words) {
    const Problem problem = parse(words);
    return reference(problem, make_inputs(problem, data_set("exact"), 1), Check::exact).bit_exact();
  };
  EXPECT_TRUE(bit_exact("batch=2 m=3 n=3 k=9 mask=bmn"));
  EXPECT_TRUE(bit_exact("batch=2 m=3 n=3 k=9 mask=mn scale=-0.25 act=relu6"));
  EXPECT_FALSE(bit_exact("m=3 n=3 k=9 scale=0.3"));
  EXPECT_FALSE(bit_exact("m=3 n=3 k=9 act=gelu"));
  const Problem problem = parse("m=3 n=3 k=9");
  const Tensors inputs = make_inputs(problem, data_set("zero_mean"), 1);
  EXPECT_THROWS_SAYING(reference(problem, inputs, Check::exact), BadArgument,
                       "inputs of -1, 0 and 1");
}

TEST(batch_matmul, batch_items_that_overlap_hold_the_same_numbers) {
  const Problem problem = parse("batch=4 m=5 n=7 k=6 stridea=1 strideb=7");
  for (const DataSet& set : problem.op().data_sets) {
    const Tensors inputs = make_inputs(problem, set, 1);
    for (const char* name : {"a", "b"}) {
      std::map<std::int64_t, double> numbers;
      const TensorSpec place = spec(problem, name);
      for (std::int64_t i = 0; i < inputs.at(name).size(); ++i) {
        const auto [found, is_new] = numbers.emplace(place.position(i), inputs.at(name).get(i));
        EXPECT_EQ(found->second, inputs.at(name).get(i)) << set.name << " " << name << " " << i;
      }
      EXPECT_LT(numbers.size(), static_cast<std::size_t>(inputs.at(name).size()));
    }
  }
}

// ---- tests of the tests ----

// Fixed, so that small cases cannot pass or fail by chance.
constexpr std::uint64_t kSeed = 1;

HostTensor c_rounded(const Problem& problem, const Expected& expected) {
  const Shape shape{problem.integer("batch"), problem.integer("m"), problem.integer("n")};
  return test::rounded(expected, problem.dtype(), shape);
}

void expect_caught(const HostTensor& faulty, const Expected& expected, const std::string& fault) {
  EXPECT_FALSE(compare(faulty, expected).pass) << fault;
}

/// Functions so flat, or cut off so often, that few outputs tell of the sum.
bool hides_sums(const Problem& problem) {
  const std::string& act = problem.choice("act");
  return act == "sigmoid" || act == "tanh" || act == "relu6" || act == "relu" || act == "exp";
}

TEST(batch_matmul, honest_outputs_pass_every_set) {
  for_each_case([](const Problem& problem) {
    for (const DataSet& set : problem.op().data_sets) {
      const Tensors inputs = make_inputs(problem, set, kSeed);
      const Expected expected = reference(problem, inputs, set.check);
      const Verdict verdict = compare(c_rounded(problem, expected), expected);
      EXPECT_TRUE(verdict.pass) << set.name << ": " << verdict.reason;
      if (multiply_adds(problem) > 2e5) continue;
      const Verdict summed =
          compare(batch_matmul_faults::computed(problem, inputs, Dtype::f32), expected);
      EXPECT_TRUE(summed.pass) << set.name << ", summed in float: " << summed.reason;
    }
  });
}

TEST(batch_matmul, exact_catches_what_is_in_the_wrong_place_or_left_out) {
  for_each_case([](const Problem& problem) {
    if (batch_matmul_data::overlaps(problem)) return;
    const DataSet& set = data_set("exact");
    const Tensors inputs = make_inputs(problem, set, kSeed);
    const Expected expected = reference(problem, inputs, set.check);
    const HostTensor c = c_rounded(problem, expected);
    const std::int64_t n = problem.integer("n");
    const auto honest = [&](const Tensors& other) {
      return c_rounded(problem, reference(problem, other, Check::hard));
    };
    expect_caught(honest(batch_matmul_faults::without_last_k(problem, inputs)), expected,
                  "dropped last k");
    if (n > 1) expect_caught(test::swapped_columns(c, n), expected, "swapped columns");
    if (problem.integer("k") < 4) return;  // so few products may be the same by chance
    expect_caught(test::wrong_tile(c, n), expected, "wrong tile");
    const HostTensor before = honest(make_inputs(problem, set, kSeed + 1));
    expect_caught(test::stale_last_row(c, before, n), expected, "stale scratch");
  });
}

/// The inputs of a batch as kernels read them that mistake its items, or the mask.
std::vector<std::pair<std::string, Tensors>> misread(const Problem& problem, const Tensors& inputs,
                                                     Check check) {
  std::vector<std::pair<std::string, Tensors>> faults;
  const bool several = problem.integer("batch") > 1;
  const auto has_items = [&](const char* name) {
    const auto found = inputs.find(name);
    return several && found != inputs.end() && found->second.shape().size() == 3 &&
           found->second.shape()[0] > 1;
  };
  // One product has no room for marks of both a and b.
  const bool marked = check != Check::exact || problem.integer("k") > 1;
  if (has_items("a") && marked)
    faults.push_back({"first a", batch_matmul_faults::first_item_of("a", inputs)});
  if (has_items("b"))
    faults.push_back({"first b", batch_matmul_faults::first_item_of("b", inputs)});
  if (has_items("a") && has_items("b") && marked) {
    faults.push_back({"first a and b", batch_matmul_faults::first_item_of(
                                           "a", batch_matmul_faults::first_item_of("b", inputs))});
  }
  if (has_items("mask"))
    faults.push_back({"first mask", batch_matmul_faults::first_item_of("mask", inputs)});
  if (inputs.count("mask")) {
    const double scale = static_cast<double>(problem.number("scale"));
    faults.push_back({"no mask", batch_matmul_faults::scaled_mask(0, inputs)});
    if (scale != 1)
      faults.push_back({"scale after mask", batch_matmul_faults::scaled_mask(scale, inputs)});
  }
  return faults;
}

TEST(batch_matmul, every_set_catches_the_wrong_batch_item_and_the_wrong_mask) {
  for_each_case([](const Problem& problem) {
    if (batch_matmul_data::overlaps(problem) || multiply_adds(problem) > 4e6) return;
    for (const DataSet& set : problem.op().data_sets) {
      // Where all sums are positive, functions that end there say nothing.
      if (hides_sums(problem) && set.check != Check::zero_mean) continue;
      const Tensors inputs = make_inputs(problem, set, kSeed);
      const Expected expected = reference(problem, inputs, set.check);
      for (const auto& [fault, read] : misread(problem, inputs, set.check)) {
        expect_caught(c_rounded(problem, reference(problem, read, Check::hard)), expected,
                      set.name + ": " + fault);
      }
    }
  });
}

TEST(batch_matmul, zero_mean_catches_all_zero_and_constant_outputs) {
  for_each_case([](const Problem& problem) {
    const DataSet& set = data_set("zero_mean");
    const Expected expected = reference(problem, make_inputs(problem, set, kSeed), set.check);
    const HostTensor c = c_rounded(problem, expected);
    expect_caught(test::all_zero(c), expected, "all zero");
    if (c.size() > 1) expect_caught(test::constant(c), expected, "constant");
  });
}

TEST(batch_matmul, hard_sets_catch_a_half_accumulator) {
  for_each_case([](const Problem& problem) {
    if (accumulator(problem) != Acc::f32) return;
    const bool saturates = problem.choice("act") == "sigmoid" || problem.choice("act") == "tanh" ||
                           problem.choice("act") == "relu6";
    // In half outputs the final rounding hides a few roundings before it, and so do flat slopes.
    const bool visible = problem.dtype() == Dtype::f32 || problem.integer("k") >= 8;
    if (!visible || saturates || multiply_adds(problem) > 3e5) return;
    for (const char* name : {"positive", "outliers"}) {
      const DataSet& set = data_set(name);
      const Tensors inputs = make_inputs(problem, set, kSeed);
      expect_caught(batch_matmul_faults::computed(problem, inputs, Dtype::f16),
                    reference(problem, inputs, set.check), name);
    }
  });
}

// ---- kernels ----

class batch_matmul_device : public test::OpDevice {
 protected:
  static Problem parse(const std::string& words, const std::string& dtype = "f32") {
    return clam::parse(words, dtype);
  }
  static HostTensor run_c(Trial& trial, const Tensors& inputs) {
    return run(trial, inputs).at("c");
  }
};

/// Kernels made worse on purpose: one driver is enough to see that they are caught.
class batch_matmul_broken : public test::OpDevice {};

TEST_F(batch_matmul_device, every_case_passes_every_set_in_f32) {
  for (const Problem& problem : problems_of(find_op("batch_matmul").cases, "f32")) {
    expect_all_sets_pass(problem);
  }
}

TEST_F(batch_matmul_device, every_case_passes_every_set_in_f16) {
  CLAM_NEEDS_F16();
  for (const Problem& problem : problems_of(find_op("batch_matmul").cases, "f16")) {
    expect_all_sets_pass(problem);
  }
}

TEST_F(batch_matmul_device, every_group_size_gives_the_same_bits) {
  for (const std::string& dtype : dtypes()) {
    for (const char* words :
         {"batch=3 m=13 n=70 k=20 tb=1", "batch=2 m=41 n=39 k=43", "batch=3 m=12 n=68 k=20 ta=1"}) {
      expect_same_bits_in_every_group(parse(words, dtype), data_set("zero_mean"));
    }
  }
}

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
const TileCase kTiles[] = {{"nt", "n=15 k=36 tb=1", 4, {1, 2, 4, 6, 8}},
                           {"nn", "n=16 k=36", 4, {1, 2, 4, 6, 8}},
                           {"nn", "n=128 k=36", 8, {4}},
                           {"tn", "n=16 k=36 ta=1", 4, {4, 8}},
                           {"tn", "n=128 k=36 ta=1", 8, {4}},
                           {"tn", "n=15 k=370 ta=1", 4, {4, 8}}};

TEST_F(batch_matmul_device, every_tile_is_right_at_its_edges) {
  const auto check = [&](const TileCase& tile, int rows, int m, const auto& sum) {
    const Problem problem =
        parse(fmt::format("batch=2 m={} {}{}", m, tile.rest, sum.second), sum.first);
    const std::string variant = std::string("batch_matmul_") + tile.how;
    if (find_variant(problem.op(), variant).supports(problem, test::runtime().device())) return;
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
  const char* const words[] = {"batch=4 m=193 n=192 k=64 tb=1 mask=mn scale=0.125",
                               "m=193 n=196 k=260 tb=1", "m=193 n=196 k=260",
                               "batch=4 m=193 n=64 k=196",
                               "batch=4 m=193 n=66 k=196", "batch=3 m=195 n=128 k=68 ta=1",
                               "batch=3 m=195 n=128 k=68 ta=1 tb=1"};
  for (const auto& [dtype, acc] : sums_of(dtypes())) {
    for (const char* const word : words) {
      const Problem problem = parse(word + acc, dtype);
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
      const Problem problem = parse(words + acc, dtype);
      const Plan plan =
          make_plan(problem, test::runtime().device(), {std::string("batch_matmul_") + how});
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
  const Problem problem = clam::parse("batch=2 m=9 n=16 k=148");
  const Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
  const char* const faults[][2] = {
      {"at * part, at <", "0 * part, at <"},
      {"int part = 1; part < BMM_PARTS", "int part = 2; part < BMM_PARTS"},
      {"k - at * part", "part"},
      {"item * strideb + range.begin * b_row", "item * strideb"},
      {"tile.row * a_row + range.begin", "tile.row * a_row"}};
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
    test::break_kernel(folder, file, "(bytes - 1) < (uint)(ulong)base",
                       "(bytes - 1) >= 0u * (uint)(ulong)base");
  }
  const auto carrying = test::runtime_with_kernels(folder);
  const char* const cases[][3] = {{"nt", "batch=2 m=9 n=15 k=68 tb=1 mask=bmn", "4"},
                                  {"nn", "batch=2 m=9 n=16 k=68 lda=72 offb=4", "4"},
                                  {"nn", "m=9 n=128 k=36 act=relu", "8"},
                                  {"tn", "batch=2 m=12 n=16 k=68 ta=1", "4"},
                                  {"tn", "m=12 n=128 k=36 ta=1", "8"}};
  for (const auto& [dtype, acc] : sums_of(dtypes())) {
    for (const auto& [how, words, columns] : cases) {
      const Problem problem = parse(words + acc, dtype);
      SCOPED_TRACE(problem.text());
      const Plan plan = with_tile(
          make_plan(problem, test::runtime().device(), {std::string("batch_matmul_") + how}),
          problem, 4, std::stoi(columns));
      const Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
      Trial whole(test::runtime(), plan), split(test::runtime(), with_split(plan));
      Trial carried(*carrying, with_split(plan));
      const HostTensor c = run_c(whole, inputs);
      EXPECT_TRUE(run_c(split, inputs) == c);
      EXPECT_TRUE(run_c(carried, inputs) == c);
    }
  }
}

TEST_F(batch_matmul_device, random_problems_pass) {
  Random random(test::seed());
  const auto place = [&](const char* name, int rows, int row) {
    if (random.integer(0, 1) == 0) return std::string();
    const int step = random.integer(0, 1) == 0 ? 4 : 1;  // aligned half of the time
    const int ld = (row + step - 1) / step * step + step * random.integer(0, 3);
    return fmt::format(" ld{0}={1} off{0}={2} stride{0}={3}", name, ld, step * random.integer(0, 5),
                       (rows * ld + step - 1) / step * step + step * random.integer(0, 3));
  };
  for (int i = 0; i < 12; ++i) {
    const int m = random.integer(1, 70), n = random.integer(1, 70), k = random.integer(1, 70);
    const bool ta = random.integer(0, 1) == 1, tb = random.integer(0, 1) == 1;
    std::string words = fmt::format("batch={} m={} n={} k={} ta={} tb={}", random.integer(1, 4), m,
                                    n, k, ta ? 1 : 0, tb ? 1 : 0);
    words += place("a", ta ? k : m, ta ? m : k) + place("b", tb ? n : k, tb ? k : n);
    words += place("c", m, n);
    const char* const masks[] = {"none", "mn", "bmn"};
    words += fmt::format(" scale=0.3 mask={}", masks[random.integer(0, 2)]);
    if (random.integer(0, 3) == 0) words += " batch_a=1";
    if (random.integer(0, 3) == 0) words += " batch_b=1";
    for (const std::string& dtype : dtypes()) expect_all_sets_pass(parse(words, dtype));
  }
}

TEST_F(batch_matmul_device, other_inputs_give_other_outputs_and_the_same_inputs_the_same) {
  for (const char* words : {"batch=2 m=9 n=15 k=12 tb=1", "batch=2 m=41 n=39 k=43"}) {
    const Problem problem = parse(words);
    const Tensors one = make_inputs(problem, data_set("zero_mean"), 1);
    const Tensors two = make_inputs(problem, data_set("zero_mean"), 2);
    for_each_variant(problem, 0, [&](Trial& trial) {
      const HostTensor first = run_c(trial, one), second = run_c(trial, two);
      for (std::int64_t i = 0; i < first.size(); ++i) EXPECT_NE(first.bits(i), second.bits(i)) << i;
      EXPECT_TRUE(run_c(trial, one) == first);
    });
  }
}

TEST_F(batch_matmul_device, a_batch_gives_the_bits_of_its_items_alone) {
  const Problem whole = parse("batch=3 m=9 n=15 k=12 tb=1"), one = parse("m=9 n=15 k=12 tb=1");
  const Tensors inputs = make_inputs(whole, data_set("zero_mean"), test::seed());
  const auto item = [](const HostTensor& stack, std::int64_t i) {
    HostTensor matrix(stack.dtype(), {1, stack.shape()[1], stack.shape()[2]});
    for (std::int64_t j = 0; j < matrix.size(); ++j) {
      matrix.set_bits(j, stack.bits(i * matrix.size() + j));
    }
    return matrix;
  };
  for_each_variant(whole, 0, [&](Trial& trial) {
    const HostTensor c = run_c(trial, inputs);
    Trial alone(test::runtime(), one, {trial.plan().variant});
    for (std::int64_t i = 0; i < 3; ++i) {
      const Tensors matrices{{"a", item(inputs.at("a"), i)}, {"b", item(inputs.at("b"), i)}};
      EXPECT_TRUE(run_c(alone, matrices) == item(c, i)) << i;
    }
  });
}

TEST_F(batch_matmul_device, nan_stays_in_its_row_or_column_of_its_item) {
  for (const std::string& dtype : dtypes()) {
    for (const char* rest :
         {"n=15 k=12 tb=1", "n=16 k=12 act=relu", "n=15 k=370", "n=15 k=24 tb=1 act=gelu"}) {
      const Problem problem = parse(fmt::format("batch=3 m=9 {}", rest), dtype);
      const batch_matmul_data::Places at(problem);
      Tensors inputs = make_inputs(problem, data_set("zero_mean"), test::seed());
      inputs.at("a").set(at.a(1, 4, at.k - 1), kNan);
      inputs.at("b").set(at.b(2, 2, 7), kNan);
      expect_like_reference(problem, inputs);
      for_each_variant(problem, 0, [&](Trial& trial) {
        const HostTensor c = run_c(trial, inputs);
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
    const Problem problem = parse("batch=2 m=9 n=15 k=12 tb=1 scale=0.125 mask=mn", dtype);
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
    const Problem problem = parse("m=8 n=4 k=4 act=" + act);
    Tensors inputs = make_inputs(problem, data_set("positive"), test::seed());
    inputs.at("a").set(0, kInfinity);
    inputs.at("a").set(4, -kInfinity);
    for (std::int64_t i = 0; i < 16; ++i) inputs.at("b").set(i, 0.5);
    expect_like_reference(problem, inputs);
  }
}

TEST_F(batch_matmul_device, denormals_are_kept_where_the_device_has_them) {
  for (const std::string& dtype : dtypes()) {
    const Problem problem = parse("batch=2 m=9 n=15 k=12 tb=1", dtype);
    Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
    const double step = dtype == "f16" ? 0x1p-20 : 0x1p-138;
    HostTensor& a = inputs.at("a");
    for (std::int64_t i = 0; i < a.size(); ++i) a.set(i, step * static_cast<double>(i % 7 - 3));
    const Expected c = expected(problem, inputs, Check::hard).at("c");
    for_each_variant(problem, 0, [&](Trial& trial) {
      // A device without denormals may give zeros: then the bound says so, and the verdict is
      // blind.
      EXPECT_LE(compare(run_c(trial, inputs), c, 1).worst_ratio, 1);
    });
  }
}

TEST_F(batch_matmul_device, the_largest_halves_add_up_and_overflow_like_ieee) {
  CLAM_NEEDS_F16();
  const Problem problem = parse("batch=2 m=3 n=15 k=4 tb=1", "f16");
  Tensors inputs = make_inputs(problem, data_set("exact"), test::seed());
  inputs.at("a") =
      tensor(Dtype::f16, {2, 3, 4}, {65504, 0, -65504, 0, 65504, 0, 65504, 0, -65504, 0, 0, 0,
                                     65504, 1, -65504, 0, 65504, 0, 65504, 0, -65504, 0, 0, 0});
  for (std::int64_t i = 0; i < inputs.at("b").size(); ++i) inputs.at("b").set(i, 1);
  for_each_variant(problem, 0, [&](Trial& trial) {
    const HostTensor c = run_c(trial, inputs);
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
  for (const DataSet& set : problem.op().data_sets) {
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
      {"mask ignored", "if (BMM_MASK)", "if (0)", nt, "nt", "all"},
      {"mask of batch 0", "item * stridem", "0 * stridem", nn, "nn", "all"},
      {"mask of batch 0", "item * stridem", "0 * stridem", nn, "plain", "all"},
      {"scale after mask", "fma((float4)(out.scale), sum, addend)", "out.scale * (sum + addend)",
       tn, "tn", "all"},
      {"scale after mask", "fma(scale, sum, addend)", "scale * (sum + addend)", nn, "plain", "all"},
      {"wrong tile", "tile.row * a_row", "tile.row / 2 * a_row", nt, "nt", "all"},
      {"wrong tile", "b_row + col;", "b_row + (col ^ 4);", nn, "nn", "all"},
      {"wrong tile", "stridea + row,", "stridea + (row ^ 4),", tt, "tt", "all"},
      {"wrong row of a vector", "ADD(1, v, x0.y)", "ADD(1, v, x0.z)", tn, "tn", "all"},
      {"dropped last k", "const uint end = LOW(x) + k * SIZE",
       "const uint end = LOW(x) + (k - 4) * SIZE", nt, "nt", "all"},
      {"dropped last k", "(uint)(ulong)w + k * SIZE", "(uint)(ulong)w + (k - 4) * SIZE", tt, "tt",
       "all"},
      {"dropped last k", "LOW(x) + k * (x_step)", "LOW(x) + (k - 4) * (x_step)", tn, "tn", "all"},
      {"dropped last k", "LOW(x) + k * (x_step)", "LOW(x) + (k - 4) * (x_step)", nn, "nn", "all"},
      {"dropped last k", "i < products; ++i", "i < products - 1; ++i", nn, "plain", "all"},
      {"early return", "own_row >= m || own_col >= n", "own_row >= m || own_col + 4 >= n", nt, "nt",
       "all"},
      {"early return", "own_row >= m || beyond", "own_row + 1 >= m || tile.col >= n", nn,
       "nn", "all"},
      {"early return", "row >= m || col >= n", "row >= m || col + 1 >= n", nn, "plain", "all"},
      {"tail columns stored over the next row", "i >= first && i < end", "1", padded, "nn",
       "exact"},
      {"rows past the last stored", "|| row >= out.m ||", "||",
       "batch_matmul batch=1 m=41 n=43 k=47 dtype=f32 ta=1", "tn", "exact"},
      {"padding that is not zero", "T4 v = (T4)((T)0)", "T4 v = (T4)((T)NAN)", padded, "nn", "all"},
      {"padding that is not written", "i >= vectors", "i + 1 >= vectors", padded, "nn", "exact"},
      {"padding of batch 0", "off + item * stride +", "off + 0 * stride +", padded, "nn", "all"},
      {"no activation", "BMM_ACT(z.x)", "z.x",
       "batch_matmul batch=2 m=9 n=16 k=24 dtype=f32 act=relu", "nn", "exact"},
      {"no activation", "(T)BMM_ACT(z)", "(T)z",
       "batch_matmul batch=2 m=9 n=16 k=24 dtype=f32 act=relu", "plain", "exact"},
  };
  for (const test::KernelFault& fault : faults) expect_caught_by(fault);
}

}  // namespace
}  // namespace clam
