// SPDX-License-Identifier: MIT
// batch_matmul_test.cpp - problems, plans and references, and faults that the sets must catch.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "batch_matmul_faults.hpp"
#include "check/compare.hpp"
#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "faults.hpp"
#include "random_place.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::batch_matmul_test {
namespace {

Problem parse(const std::string& words, const std::string& dtype = "f32") {
  return Problem::parse("batch_matmul " + words + " dtype=" + dtype);
}

const DataSet& data_set(const char* name) { return find_data_set(find_op("batch_matmul"), name); }

Expected reference(const Problem& problem, const Tensors& inputs, Check check) {
  return reference_of(problem, inputs, {check}).at("c");
}

double multiply_adds(const Problem& problem) { return flops_of(problem) / 2; }

HostTensor tensor(Dtype dtype, Shape shape, const std::vector<double>& values) {
  HostTensor tensor(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, values[static_cast<std::size_t>(i)]);
  return tensor;
}

TensorSpec spec(const Problem& problem, const std::string& name) {
  for (const TensorSpec& spec : problem.tensors()) {
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
  EXPECT_EQ(problem.tensors(), expected);
  EXPECT_EQ(flops_of(problem), 2.0 * 3 * 4 * 5 * 6);
  EXPECT_EQ(bytes_of(problem), 4.0 * (3 * 4 * 6 + 3 * 5 * 6 + 4 * 5 + 3 * 4 * 5));
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
  for (const Variant& variant : op_of(problem).variants) {
    EXPECT_THROWS_SAYING(make_plan(problem, generic_device(), {variant.name}), Unsupported, words);
  }
  const Tensors inputs = make_inputs(problem, data_set("zero_mean"), 1);
  EXPECT_THROWS_SAYING(reference(problem, inputs, Check::hard), Unsupported, words);
}

// ---- plans ----

std::string refusal(const std::string& words, const std::string& how,
                    const DeviceInfo& device = generic_device(), const std::string& dtype = "f32") {
  const Problem problem = parse(words, dtype);
  return find_variant(op_of(problem), "batch_matmul_" + how).refuses(problem, device).value_or("");
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
  EXPECT_EQ(refusal("m=4 n=8 k=7", "nn"),
            "224 products take less time than the launch that aligns a or b");
  EXPECT_EQ(refusal("batch=3 m=41 n=43 k=47", "nn"), "");
  for (const char* acc : {"chunk", "f16"}) {
    const std::string words = fmt::format("m=4 n=8 k=8 ta=1 tb=1 acc={}", acc);
    EXPECT_EQ(refusal(words, "tt", generic_device(), "f16"),
              "this variant sums in float only: use acc=f32");
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

TEST(batch_matmul, launches_of_a_plan_share_their_options) {
  for (const int limit : {1, 2, 16, 32, 64, 100, 128, 256, 1024}) {
    test::for_each_case("batch_matmul", [&](const Problem& problem) {
      for (const Variant& variant : op_of(problem).variants) {
        if (variant.refuses(problem, generic_device())) continue;
        const Plan plan = make_plan(problem, generic_device(), {variant.name, limit});
        for (const Launch& launch : plan.launches) {
          EXPECT_EQ(launch.options, plan.launches[0].options) << variant.name;
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
  for (const char* words :
       {"n=16", "n=191", "n=192 ldc=193", "n=192 offc=2", "n=192 ldc=192 stridec=36866"}) {
    EXPECT_FALSE(whole(words)) << words;
  }
}

TEST(batch_matmul, a_group_is_lower_where_that_leaves_fewer_items_idle) {
  const DeviceInfo g610 = gpu_device(find_gpu("g610"));
  const auto local = [&](const std::string& words) {
    return make_plan(parse(words, "f16"), g610, {"", 0, "M0=4,PARTS=1"}).launches.back().local;
  };
  using Local = std::array<std::int64_t, 3>;
  EXPECT_EQ(local("batch=4 m=96 n=192 k=64 tb=1"), (Local{4, 8, 1}));    // 24 tiles along m
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
  EXPECT_EQ(cut_of(values, "f32", g610), "4x4/2");
  EXPECT_EQ(cut_of(values, "f16", g610), "4x4/2");
  EXPECT_EQ(cut_of(std::string(values) + " acc=chunk", "f16", g610), "4x4/2");
  EXPECT_EQ(cut_of(scores, "f32", g610), "6x4");
  EXPECT_EQ(cut_of("m=192 n=192 k=256 tb=1", "f32", g610), "6x4/4");
  EXPECT_EQ(cut_of("batch=64 m=192 n=64 k=192", "f32", g610), "5x8");
  EXPECT_EQ(cut_of("m=192 n=192 k=256 ta=1", "f32", g610), "4x4");
  DeviceInfo other = g610;
  other.type = "cpu";
  EXPECT_EQ(cut_of(values, "f32", other).find('/'), std::string::npos);
  other = g610;
  other.local_mem_bytes = 1024;
  EXPECT_EQ(cut_of(values, "f32", other), "2x4");
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
  const Expected flushed = reference_of(f32, zeros, {Check::hard, false}).at("c");
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
  for (const DataSet& set : proof_of(problem).data_sets) {
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

const test::Simulation simulation("batch_matmul", 4e5,
                                  [](const Problem& problem, const Tensors& inputs) {
                                    return batch_matmul_faults::computed(problem, inputs,
                                                                         Dtype::f32);
                                  });

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
  return act == "sigmoid" || act == "tanh" || act == "relu6" || act == "relu" || act == "exp" ||
         act == "leaky_relu" || act == "hard_swish";
}

TEST(batch_matmul, exact_catches_a_last_k_that_is_left_out) {
  test::for_each_case("batch_matmul", [](const Problem& problem) {
    if (batch_matmul_data::overlaps(problem)) return;
    const DataSet& set = data_set("exact");
    const Tensors inputs = make_inputs(problem, set, kSeed);
    const Expected expected = reference(problem, inputs, set.check);
    const auto honest = [&](const Tensors& other) {
      return c_rounded(problem, reference(problem, other, Check::hard));
    };
    expect_caught(honest(batch_matmul_faults::without_last_k(problem, inputs)), expected,
                  "dropped last k");
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
  test::for_each_case("batch_matmul", [](const Problem& problem) {
    if (batch_matmul_data::overlaps(problem) || multiply_adds(problem) > 4e6) return;
    for (const DataSet& set : proof_of(problem).data_sets) {
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

TEST(batch_matmul, hard_sets_catch_a_half_accumulator) {
  test::for_each_case("batch_matmul", [](const Problem& problem) {
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

// ---- for the tests of every op ----

const test::GroupSizes groups("batch_matmul", 1, test::Bits::same,
                              {"batch=3 m=13 n=70 k=20 tb=1", "batch=2 m=9 n=15 k=12 tb=1",
                               "batch=2 m=41 n=39 k=43", "batch=3 m=12 n=68 k=20 ta=1"});

std::string random_case(Random& random) {
  const int m = random.integer(1, 70), n = random.integer(1, 70), k = random.integer(1, 70);
  const bool ta = random.integer(0, 1) == 1, tb = random.integer(0, 1) == 1;
  std::string line = fmt::format("batch_matmul batch={} m={} n={} k={} ta={} tb={}",
                                 random.integer(1, 4), m, n, k, ta ? 1 : 0, tb ? 1 : 0);
  using test::random_place;
  line += random_place(random, "a", ta ? m : k, ta ? k : m);
  line += random_place(random, "b", tb ? k : n, tb ? n : k) + random_place(random, "c", n, m);
  const char* const masks[] = {"none", "mn", "bmn"};
  line += fmt::format(" scale=0.3 mask={}", masks[random.integer(0, 2)]);
  if (random.integer(0, 3) == 0) line += " batch_a=1";
  if (random.integer(0, 3) == 0) line += " batch_b=1";
  return line;
}

const test::RandomProblems random_problems("batch_matmul", 12, random_case);

}  // namespace
}  // namespace clam::batch_matmul_test
