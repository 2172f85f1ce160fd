// SPDX-License-Identifier: MIT
// conv2d_test.cpp - problems, plans and references of conv2d, and faults that its sets must catch.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "check/compare.hpp"
#include "check/workload.hpp"
#include "clam/error.hpp"
#include "clam/gpu.hpp"
#include "clam/kernels.hpp"
#include "clam/planner.hpp"
#include "contains.hpp"
#include "conv2d_faults.hpp"
#include "every_op.hpp"
#include "faults.hpp"
#include "ops/shared/accumulator.hpp"
#include "test_errors.hpp"

namespace clam::conv2d_test {
namespace {

Problem parse(const std::string& line, const std::string& dtype = "f32") {
  return Problem::parse(line + " dtype=" + dtype);
}

const DataSet& data_set(const char* name) { return find_data_set(find_op("conv2d"), name); }

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

TEST(conv2d, canonical_text_has_extents_then_dtype_then_attributes) {
  EXPECT_EQ(Problem::parse("conv2d act=relu bias pad=1 stride=2 dtype=f32 r=3 k=32 w=512 h=512 c=3")
                .text(),
            "conv2d c=3 h=512 w=512 k=32 r=3 dtype=f32 stride=2 pad=1 bias act=relu");
  EXPECT_EQ(
      Problem::parse("conv2d residual groups=2 dilation=3 n=2 s=5 dtype=f16 r=3 k=4 w=20 h=20 "
                     "c=6 layout=nhwc")
          .text(),
      "conv2d n=2 c=6 h=20 w=20 k=4 r=3 s=5 dtype=f16 dilation=3 groups=2 layout=nhwc "
      "residual");
}

TEST(conv2d, what_can_be_said_in_two_ways_has_one_text) {
  const auto expect = [](const std::string& words, const std::string& canonical) {
    const Problem problem = parse("conv2d c=3 h=9 w=9 k=2 r=3 " + words);
    EXPECT_EQ(problem.text(), "conv2d c=3 h=9 w=9 k=2 r=3 dtype=f32" + canonical);
    EXPECT_EQ(Problem::parse(problem.text()), problem);
    EXPECT_EQ(Problem::parse(problem.text()), problem);
    EXPECT_EQ(problem.with("act", "relu").with("act", "none"), problem);
  };
  expect("", "");
  expect("s=3 stride=1 pad=0 dilation=1 groups=1 n=1", "");
  expect("stride_h=2 stride_w=2", " stride=2");
  expect("stride=2 stride_h=2", " stride=2");
  expect("stride_h=1 stride_w=2", " stride_w=2");
  expect("stride_h=3 stride_w=2", " stride_h=3 stride_w=2");
  expect("pad_t=1 pad_l=1 pad_b=1 pad_r=1", " pad=1");
  expect("pad=2 pad_r=2", " pad=2");
  expect("pad_t=0 pad_r=1", " pad_r=1");
  expect("dilation_h=2 dilation_w=2", " dilation=2");
  expect("dilation_h=2", " dilation_h=2");
}

TEST(conv2d, tensors_have_the_extents_of_the_formula) {
  const Problem problem = parse(
      "conv2d n=2 c=6 h=9 w=11 k=4 r=3 s=2 stride_h=2 stride_w=3 pad_t=1 pad_r=4 dilation_w=2 "
      "groups=2 bias residual");
  const std::vector<TensorSpec> specs = problem.tensors();
  using Role = TensorSpec::Role;
  ASSERT_EQ(specs.size(), 5u);
  EXPECT_EQ(specs[0], (TensorSpec{"x", Role::input, Dtype::f32, {2, 6, 9, 11}, {}, 0}));
  EXPECT_EQ(specs[1], (TensorSpec{"w", Role::input, Dtype::f32, {4, 3, 3, 2}, {}, 0}));
  EXPECT_EQ(specs[2], (TensorSpec{"b", Role::input, Dtype::f32, {4}, {}, 0}));
  EXPECT_EQ(specs[3], (TensorSpec{"r", Role::input, Dtype::f32, {2, 4, 4, 5}, {}, 0}));
  EXPECT_EQ(specs[4], (TensorSpec{"y", Role::output, Dtype::f32, {2, 4, 4, 5}, {}, 0, "r"}));
  EXPECT_EQ(flops_of(problem), 2.0 * 2 * 4 * 4 * 5 * 3 * 3 * 2);
  EXPECT_EQ(bytes_of(problem), 4.0 * (1188 + 72 + 4 + 160 + 160));
  const Problem nhwc = problem.with("layout", "nhwc");
  EXPECT_EQ(nhwc.tensors()[0].shape, (Shape{2, 9, 11, 6}));
  EXPECT_EQ(nhwc.tensors()[1].shape, (Shape{4, 3, 2, 3}));
  EXPECT_EQ(nhwc.tensors()[4].shape, (Shape{2, 4, 5, 4}));
}

TEST(conv2d, bad_arguments_say_what_is_wrong) {
  const auto expect = [](const std::string& words, const std::string& sentence) {
    EXPECT_THROWS_SAYING(parse("conv2d " + words), BadArgument, "conv2d: " + sentence);
  };
  expect("c=0 h=4 w=4 k=2 r=1", "c='0', needs 1 to 2147483647");
  expect("c=3 h=4 w=4 k=-2 r=1", "k='-2', needs 1 to 2147483647");
  expect("c=3 h=4 w=4 k=2", "r is missing");
  expect("c=3 h=4 w=4 k=2 r=1 bais", "unknown word 'bais'");
  expect("c=3 h=4 w=4 k=2 r=1 s=-1", "s='-1', needs 0 to 2147483647");
  expect("c=3 h=4 w=4 k=2 r=1 stride=0", "stride='0', needs 1 to 1048576");
  expect("c=3 h=4 w=4 k=2 r=1 pad=-1", "pad='-1', needs 0 to 1048576");
  expect("c=3 h=4 w=4 k=2 r=1 pad_l=2000000", "pad_l='2000000', needs -1 to 1048576");
  expect("c=3 h=4 w=4 k=2 r=1 dilation=0", "dilation='0', needs 1 to 1048576");
  expect("c=3 h=4 w=4 k=2 r=1 layout=chwn", "layout='chwn', knows nchw nhwc");
  expect("c=6 h=4 w=4 k=4 r=1 groups=4", "groups=4, does not divide c=6");
  expect("c=6 h=4 w=4 k=4 r=1 groups=3", "groups=3, does not divide k=4");
  expect("c=3 h=2 w=9 k=2 r=3",
         "r=3, makes a filter of 3 taps reach over 3 rows, but the padded input has 2");
  expect("c=3 h=9 w=2 k=2 r=3",
         "r=3, makes a filter of 3 taps reach over 3 columns, but the padded input has 2");
  expect("c=3 h=9 w=4 k=2 r=1 s=3 pad_r=1 dilation=3",
         "s=3, makes a filter of 3 taps reach over 7 columns, but the padded input has 5");
  expect("c=3 h=9 w=9 k=2 r=2147483647 dilation=1048576", "r=2147483647, makes a filter");
  EXPECT_THROWS_SAYING(parse("conv2d c=3 h=65536 w=65536 k=2 r=1"), BadArgument,
                       "over 2147483647 elements");
  EXPECT_THROWS_SAYING(parse("conv2d c=1 h=1 w=1 k=1 r=1 pad=1048576"), BadArgument,
                       "over 2147483647 elements");
  EXPECT_THROWS_SAYING(parse("conv2d c=1 h=30000 w=30000 k=1 r=1"), BadArgument,
                       "over the limit of 2147483647");
}

TEST(conv2d, half_accumulators_are_of_f16_and_sum_few_products) {
  for (const char* acc : {"acc=chunk", "acc=f16"}) {
    EXPECT_THROWS_SAYING(parse(std::string("conv2d c=4 h=4 w=4 k=4 r=1 ") + acc), BadArgument,
                         "needs dtype=f16");
  }
  const Problem long_sum = parse("conv2d c=128 h=4 w=4 k=4 r=3 acc=f16", "f16");
  for (const Variant& variant : op_of(long_sum).variants) {
    EXPECT_THROWS_SAYING(make_plan(long_sum, generic_device(), {variant.name}), Unsupported,
                         "acc=f16 sums at most 1024 products, not 1152");
  }
}

TEST(conv2d, the_layers_of_ssd512_are_as_published) {
  double flops = 0;
  std::set<std::string> distinct;
  for (const Workload::Node& node : read_workload("ssd512-mobilenet1.0-voc").nodes) {
    if (!node.problem || node.problem->schema().name != "conv2d") continue;
    EXPECT_EQ(node.problem->text(), node.line);
    flops += static_cast<double>(node.calls) * flops_of(*node.problem);
    distinct.insert(node.line);
  }
  EXPECT_EQ(distinct.size(), 39u);
  EXPECT_NEAR(flops, 8.387e9, 0.001e9);
}

// ---- plans ----

std::string refusal(const std::string& words, const std::string& variant,
                    const DeviceInfo& device = generic_device()) {
  const Problem problem = parse("conv2d " + words);
  return find_variant(op_of(problem), variant).refuses(problem, device).value_or("");
}

TEST(conv2d, variants_refuse_with_a_reason) {
  EXPECT_EQ(refusal("c=8 h=3 w=3 k=8 r=5 s=2 stride=3 pad_b=4 groups=2", "conv2d_product"), "");
  EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=3 groups=8", "conv2d_product"),
            "it is a filter for each channel");
  EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=3 pad=1", "conv2d_3x3"), "");
  EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=3 s=1 pad=1", "conv2d_3x3"), "the filter is 3x1, not 3x3");
  EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=3 stride=3 pad=1", "conv2d_3x3"),
            "the stride is neither 1 nor 2");
  EXPECT_EQ(refusal("c=8 h=8 w=8 k=8 r=3 dilation=2 pad=1", "conv2d_3x3"),
            "the dilation is over 1");
  EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=3", "conv2d_3x3"), "pad_l=0, not 1");
  EXPECT_EQ(refusal("c=8 h=4 w=6 k=8 r=3 pad=1", "conv2d_3x3"), "w=6 is no multiple of 4");
  EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=3 pad_l=1 pad_r=2", "conv2d_3x3"),
            "pad_r=2 makes rows of y longer than those of x");
  EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=3 pad=1 groups=8", "conv2d_depthwise"), "");
  EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=3 pad=1 groups=4", "conv2d_depthwise"),
            "groups=4 is not c=8");
  EXPECT_EQ(refusal("c=8 h=4 w=4 k=16 r=3 pad=1 groups=8", "conv2d_depthwise"), "");
  EXPECT_EQ(refusal("c=8 h=9 w=9 k=8 r=8 groups=8", "conv2d_depthwise"),
            "the filter is 8x8, over 7x7");
  EXPECT_EQ(refusal("c=8 h=9 w=9 k=8 r=3 stride=5 groups=8", "conv2d_depthwise"),
            "the stride is over 4");
  for (const char* variant : {"conv2d_product", "conv2d_product_rows", "conv2d_depthwise",
                              "conv2d_3x3", "conv2d_plain"}) {
    EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=1 layout=nhwc", variant),
              "this variant reads layout=nchw");
  }
  for (const char* variant :
       {"conv2d_nhwc", "conv2d_nhwc_1x1", "conv2d_nhwc_depthwise", "conv2d_nhwc_plain"}) {
    EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=1", variant), "this variant reads layout=nhwc");
  }
  EXPECT_EQ(refusal("c=7 h=3 w=3 k=5 r=1 layout=nhwc", "conv2d_nhwc_1x1"), "");
  EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=1 s=3 layout=nhwc", "conv2d_nhwc_1x1"),
            "the filter is 1x3, not 1x1");
  EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=1 stride=2 layout=nhwc", "conv2d_nhwc_1x1"),
            "the stride is over 1");
  EXPECT_EQ(refusal("c=12 h=4 w=4 k=8 r=3 groups=2 layout=nhwc", "conv2d_nhwc"),
            "a group of 6 input channels is no multiple of 4");
  EXPECT_EQ(refusal("c=6 h=4 w=4 k=6 r=3 groups=6 layout=nhwc", "conv2d_nhwc_depthwise"),
            "c=6 is no multiple of 4");
  DeviceInfo small = generic_device();
  small.max_alloc_bytes = 1024;
  EXPECT_EQ(refusal("c=8 h=4 w=4 k=8 r=1", "conv2d_product", small),
            "packed w would take 2048 bytes, over the limit of 1024");
  EXPECT_EQ(refusal("c=8 h=8 w=8 k=8 r=3", "conv2d_product", small),
            "planes would take 10368 bytes, over the limit of 1024");
  EXPECT_EQ(refusal("c=8 h=8 w=8 k=8 r=1", "conv2d_product_rows"), "the filter is 1x1");
  EXPECT_EQ(make_plan(parse("conv2d c=8 h=4 w=4 k=8 r=1"), small).variant, "conv2d_plain");
}

TEST(conv2d, the_first_variant_that_can_is_chosen) {
  const auto variant = [](const std::string& words) {
    return make_plan(parse("conv2d " + words), generic_device()).variant;
  };
  EXPECT_EQ(variant("c=8 h=4 w=4 k=8 r=1"), "conv2d_product");
  EXPECT_EQ(variant("c=8 h=3 w=3 k=8 r=1"), "conv2d_product");
  EXPECT_EQ(variant("c=8 h=4 w=4 k=8 r=3 pad=1 groups=8"), "conv2d_depthwise");
  EXPECT_EQ(variant("c=64 h=28 w=28 k=64 r=3 pad=1"), "conv2d_winograd");
  EXPECT_EQ(variant("c=64 h=80 w=80 k=64 r=3 pad=1 algo=direct"), "conv2d_3x3");
  EXPECT_EQ(variant("c=8 h=1 w=1 k=8 r=3 pad=1 algo=direct"), "conv2d_product");
  EXPECT_EQ(variant("c=8 h=5 w=5 k=6 r=5 layout=nhwc"), "conv2d_nhwc");
  EXPECT_EQ(variant("c=8 h=5 w=5 k=8 r=3 groups=8 layout=nhwc"), "conv2d_nhwc_depthwise");
  EXPECT_EQ(variant("c=6 h=5 w=5 k=8 r=3 layout=nhwc"), "conv2d_nhwc_plain");
  EXPECT_EQ(variant("c=6 h=5 w=5 k=7 r=1 layout=nhwc"), "conv2d_nhwc_1x1");
}

TEST(conv2d, a_1x1_filter_on_nhwc_is_planned_as_dense) {
  const auto on_board = [](const char* line, const char* variant) {
    return make_plan(parse(line, "f16"), gpu_device(find_gpu("g610")), {variant});
  };
  const Plan conv =
      on_board("conv2d n=2 c=64 h=9 w=11 k=48 r=1 acc=chunk layout=nhwc bias residual act=silu",
               "conv2d_nhwc_1x1");
  const Plan dense =
      on_board("dense m=198 n=48 k=64 acc=chunk bias residual act=silu", "dense_packed");
  ASSERT_EQ(conv.launches.size(), dense.launches.size());
  EXPECT_EQ(conv.launches.back().kernel, "dense_packed");
  EXPECT_EQ(to_json(conv)["launches"], to_json(dense)["launches"]);
  EXPECT_EQ(to_json(conv)["pack"], to_json(dense)["pack"]);
}

std::string options_on(int cores, const std::string& words, const std::string& variant = "") {
  DeviceInfo device = generic_device();
  device.compute_units = cores;
  return make_plan(parse("conv2d " + words), device, {variant}).launches.back().options;
}

TEST(conv2d, few_tiles_are_summed_in_parts) {
  const char* of_3x3 = "conv2d_3x3";
  EXPECT_TRUE(test::contains(options_on(4, "c=512 h=32 w=32 k=16 r=3 pad=1", of_3x3), "PARTS=16"));
  EXPECT_TRUE(test::contains(options_on(4, "c=512 h=64 w=64 k=84 r=3 pad=1", of_3x3), "PARTS=1 "));
  EXPECT_TRUE(test::contains(options_on(4, "c=512 h=4 w=4 k=256 r=1"), "PARTS=16"));
  EXPECT_TRUE(test::contains(options_on(4, "c=512 h=64 w=64 k=512 r=1"), "PARTS=1 "));
  EXPECT_TRUE(test::contains(options_on(4, "c=8 h=4 w=4 k=84 r=1"), "PARTS=1 "));
}

TEST(conv2d, tiles_of_conv2d_product_are_what_registers_hold) {
  const auto options = [](const std::string& dtype, const std::string& words) {
    const std::string line = "conv2d h=64 w=64 k=512 r=1 " + words;
    return make_plan(parse(line, dtype), generic_device(), {"conv2d_product"})
        .launches.back()
        .options;
  };
  EXPECT_TRUE(test::contains(options("f32", "c=512"), "CHANNELS=8 -DCONV2D_WHOLE=1"));
  EXPECT_FALSE(test::contains(options("f32", "c=511"), "WHOLE"));
  EXPECT_FALSE(test::contains(options("f32", "c=512 act=gelu"), "CHANNELS=8"));
  EXPECT_TRUE(test::contains(options("f16", "c=512"), "CHANNELS=8"));
  EXPECT_FALSE(test::contains(options("f16", "c=512 act=gelu"), "CHANNELS=8"));
  EXPECT_TRUE(test::contains(options("f16", "c=512 acc=chunk"), "CHANNELS=8 -DCONV2D_ACC=1"));
  EXPECT_TRUE(test::contains(options("f16", "c=500 acc=chunk"),
                             "CHANNELS=8 -DCONV2D_ACC=1 -DCONV2D_WHOLE=1 -DCONV2D_REST=20"));
  EXPECT_TRUE(test::contains(options("f16", "c=20 acc=chunk"), "WHOLE=2 -DCONV2D_REST=20"));
  EXPECT_FALSE(test::contains(options("f16", "c=512 acc=chunk act=gelu"), "CHANNELS=8"));
  EXPECT_TRUE(test::contains(options("f16", "c=512 acc=f16"),
                             "CHANNELS=8 -DCONV2D_ACC=2 -DCONV2D_WHOLE=1"));
}

TEST(conv2d, planes_are_x_or_what_takes_the_least_time_to_move) {
  const auto kernels = [](const std::string& words) {
    std::string names;
    const Plan plan = make_plan(parse("conv2d algo=direct " + words), gpu_device(find_gpu("g610")));
    for (const Launch& launch : plan.launches) names += launch.kernel + " ";
    return names;
  };
  EXPECT_EQ(kernels("c=64 h=56 w=56 k=64 r=1"), "conv2d_product ");
  EXPECT_EQ(kernels("c=64 h=7 w=7 k=64 r=1"), "conv2d_product ");
  EXPECT_EQ(kernels("c=64 h=56 w=56 k=64 r=3 pad=1"), "conv2d_3x3 ");
  EXPECT_EQ(kernels("c=64 h=57 w=57 k=64 r=3 pad=1"), "conv2d_move_rows conv2d_product ");
  EXPECT_EQ(kernels("c=64 h=56 w=56 k=64 r=1 stride=2"), "conv2d_move_maps conv2d_product ");
}

/// Planes a multiple of 4096 bytes apart lie in few sets of a processor's caches. Of 256 it finds
/// lines again, of more it does not, so x is moved into planes with a line between them.
TEST(conv2d, processors_move_x_where_its_planes_share_sets_of_a_cache) {
  DeviceInfo processor = generic_device();
  processor.type = "cpu";
  const auto plan = [&](const std::string& words) {
    return make_plan(parse("conv2d algo=direct " + words), processor, {"conv2d_product"});
  };
  const Plan moved = plan("c=512 h=32 w=32 k=512 r=1");
  ASSERT_EQ(moved.launches.size(), 2u);
  EXPECT_EQ(std::get<std::int32_t>(moved.launches[0].args.back()), 32 * 32 + 16);
  EXPECT_EQ(std::get<std::int32_t>(moved.launches[1].args.at(8)), 4 * (32 * 32 + 16));
  for (const auto& [words, launches] : std::vector<std::pair<const char*, std::size_t>>{
           {"c=132 h=32 w=32 k=512 r=1", 2},  // 8 ways of 16 planes
           {"c=128 h=32 w=32 k=512 r=1", 1},
           {"c=36 h=64 w=64 k=256 r=1", 2},  // of 4 planes
           {"c=32 h=64 w=64 k=256 r=1", 1},
           {"c=64 h=128 w=128 k=128 r=1", 2},  // of 1
           {"c=512 h=32 w=28 k=512 r=1", 1},
           {"c=1024 h=16 w=16 k=1024 r=1", 1}}) {
    EXPECT_EQ(plan(words).launches.size(), launches) << words;
  }
  processor.type = "gpu";
  EXPECT_EQ(plan("c=512 h=32 w=32 k=512 r=1").launches.size(), 1u);
}

/// 8 x 8 work-items read 384 bytes of a plane and its weights, 64 x 1 read 1,056.
TEST(conv2d, a_processors_groups_read_few_bytes) {
  DeviceInfo device = generic_device();
  const auto group = [&] {
    return make_plan(parse("conv2d c=256 h=32 w=32 k=512 r=1"), device, {"conv2d_product"})
        .launches.back()
        .local;
  };
  EXPECT_EQ(group(), (std::array<std::int64_t, 3>{64, 1, 1}));
  device.type = "cpu";
  EXPECT_EQ(group(), (std::array<std::int64_t, 3>{8, 8, 1}));
}

TEST(conv2d, large_3x3_problems_take_two_vectors_and_their_extents_as_constants) {
  const char* large = "c=512 h=32 w=32 k=128 r=3 pad=1";
  EXPECT_TRUE(test::contains(options_on(4, large, "conv2d_3x3"), "VECTORS=2"))
      << options_on(4, large, "conv2d_3x3");
  EXPECT_TRUE(test::contains(options_on(4, large, "conv2d_3x3"), "-DCONV2D_H=32 -DCONV2D_W=32"));
  EXPECT_FALSE(
      test::contains(options_on(4, "c=4 h=8 w=8 k=8 r=3 pad=1", "conv2d_3x3"), "CONV2D_W"));
  // Rows of y that end elsewhere than those of x are no constants.
  EXPECT_FALSE(
      test::contains(options_on(4, "c=512 h=32 w=32 k=128 r=3 pad_l=1", "conv2d_3x3"), "CONV2D_W"));
}

TEST(conv2d, addresses_are_split_for_the_compilers_of_mesa_alone) {
  const Problem problem = parse("conv2d c=8 h=8 w=8 k=8 r=3 pad=1");
  const auto options = [&](const DeviceInfo& device) {
    return make_plan(problem, device, {"conv2d_3x3"}).launches.back().options;
  };
  DeviceInfo board = gpu_device(find_gpu("g610"));
  EXPECT_TRUE(test::contains(options(board), "-DCONV2D_SPLIT=1"));
  board.platform = "ARM Platform";
  EXPECT_FALSE(test::contains(options(board), "CONV2D_SPLIT"));
  DeviceInfo other = generic_device();
  other.platform = "rusticl";
  EXPECT_FALSE(test::contains(options(other), "CONV2D_SPLIT"));
}

TEST(conv2d, depthwise_tiles_are_as_high_as_the_model_finds_best) {
  EXPECT_TRUE(test::contains(options_on(4, "c=64 h=64 w=28 k=64 r=3 pad=1 groups=64"), "ROWS=4"));
  EXPECT_TRUE(test::contains(options_on(4, "c=8 h=8 w=8 k=8 r=3 pad=1 groups=8"), "ROWS=1"));
}

TEST(conv2d, the_layers_of_ssd512_share_their_programs) {
  for (const int cores : {1, 2, 4, 16}) {
    DeviceInfo device = generic_device();
    device.compute_units = cores;
    std::set<std::string> programs;
    for (const Workload::Node& node : read_workload("ssd512-mobilenet1.0-voc").nodes) {
      if (!node.problem || node.problem->schema().name != "conv2d") continue;
      const Launch launch = make_plan(*node.problem, device).launches.back();
      programs.insert(launch.file + launch.kernel + launch.options);
    }
    EXPECT_LE(programs.size(), 30u) << cores;
  }
}

// ---- the reference ----

TEST(conv2d, the_reference_is_the_formula) {
  const Problem problem =
      parse("conv2d c=2 h=2 w=3 k=2 r=2 pad_t=1 stride_w=2 bias residual act=relu");
  const Tensors inputs{
      {"x", tensor(Dtype::f32, {1, 2, 2, 3}, {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60})},
      {"w", tensor(Dtype::f32, {2, 2, 2, 2}, {1, 0, 0, 1, 0, 1, 1, 0, -1, 0, 0, 0, 0, 0, 0, 0})},
      {"b", tensor(Dtype::f32, {2}, {100, 3})},
      {"r", tensor(Dtype::f32, {1, 2, 2, 1}, {.5, .25, 7, 8})}};
  // Channel 0: x0[iy][ix] + x0[iy+1][ix+1] + x1[iy][ix+1] + x1[iy+1][ix], from row -1 on.
  const std::vector<double> y{2 + 10 + 100 + .5, 1 + 5 + 20 + 40 + 100 + .25, 3 + 7, 2 + 8};
  EXPECT_EQ(reference(problem, inputs, Check::hard).value, y);
}

TEST(conv2d, the_reference_knows_groups_dilations_and_images) {
  const Problem problem =
      parse("conv2d n=2 c=2 h=1 w=5 k=2 r=1 s=2 stride_w=2 dilation_w=3 groups=2 pad_r=1");
  std::vector<double> x(20);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const Tensors inputs{{"x", tensor(Dtype::f32, {2, 2, 1, 5}, x)},
                       {"w", tensor(Dtype::f32, {2, 1, 1, 2}, {1, 100, 2, 1000})}};
  // Row p: x[p] and x[p+3], then x[p+2] and, outside, x[p+5].
  const std::vector<double> y{300, 2, 5 * 2 + 8000, 7 * 2, 10 + 1300, 12, 15 * 2 + 18000, 17 * 2};
  EXPECT_EQ(reference(problem, inputs, Check::hard).value, y);
}

TEST(conv2d, a_word_for_one_side_goes_before_the_word_for_all) {
  const std::string extents = "conv2d c=3 h=9 w=9 k=2 r=1 ";
  EXPECT_EQ(parse(extents + "stride=2 stride_w=1"), parse(extents + "stride_h=2"));
  EXPECT_EQ(parse(extents + "pad=2 pad_b=0"), parse(extents + "pad_t=2 pad_l=2 pad_r=2"));
  EXPECT_EQ(parse(extents + "dilation=2 dilation_h=3"),
            parse(extents + "dilation_h=3 dilation_w=2"));
  EXPECT_EQ(parse(extents + "stride=1 stride_h=2 stride_w=2"), parse(extents + "stride=2"));
}

TEST(conv2d, bounds_are_those_of_the_contract) {
  const Problem f32 = parse("conv2d c=3 h=1 w=1 k=1 r=1 bias"), f16 = f32.with("dtype", "f16");
  const Tensors inputs{{"x", tensor(Dtype::f32, {1, 3, 1, 1}, {4, 2, 1})},
                       {"w", tensor(Dtype::f32, {1, 3, 1, 1}, {1, -1, 8})},
                       {"b", tensor(Dtype::f32, {1}, {3})}};
  // Partial sums 4, 2, 10, then 13 with the bias; over all orders of 4, -2 and 8 the mean of the
  // sum of their squares is (3 + 1) / 6 * (84 + 2 * 10^2).
  const double u = 0x1p-24, worst = 4 + 2 + 10 + 13, root = std::sqrt(4 / 6. * 284 + 169);
  EXPECT_DOUBLE_EQ(reference(f32, inputs, Check::hard).bound[0], u * worst + u * 13 + 0x1p-149);
  EXPECT_DOUBLE_EQ(reference(f32, inputs, Check::zero_mean).bound[0],
                   6 * u * root + u * 13 + 0x1p-149);
  EXPECT_DOUBLE_EQ(reference(f16, inputs, Check::hard).bound[0],
                   u * worst + 0x1p-11 * 13 + 0x1p-25);
  Tensors zeros = inputs;
  for (const char* name : {"x", "b"})
    zeros.at(name) = HostTensor(Dtype::f32, inputs.at(name).shape());
  EXPECT_EQ(reference(f32, zeros, Check::hard).bound[0], 0x1p-149);
  const Expected flushed = reference_of(f32, zeros, {Check::hard, false}).at("y");
  EXPECT_EQ(flushed.bound[0], 0x1p-126 * (1 + 1 + 1 + 8));
}

TEST(conv2d, an_exact_check_is_bit_exact_where_nothing_rounds) {
  const auto bit_exact = [](const std::string& words) {
    const Problem problem = parse("conv2d c=3 h=4 w=4 k=3 r=3 pad=1 " + words);
    return reference(problem, make_inputs(problem, data_set("exact"), 1), Check::exact).bit_exact();
  };
  EXPECT_TRUE(bit_exact("bias residual"));
  EXPECT_TRUE(bit_exact("bias act=relu6"));
  EXPECT_FALSE(bit_exact("act=gelu"));
  const Problem problem = parse("conv2d c=3 h=4 w=4 k=3 r=3");
  const Tensors inputs = make_inputs(problem, data_set("zero_mean"), 1);
  EXPECT_THROWS_SAYING(reference(problem, inputs, Check::exact), BadArgument,
                       "inputs of -1, 0 and 1");
}

// ---- tests of the tests ----

// Fixed, so that small cases cannot pass or fail by chance.
constexpr std::uint64_t kSeed = 1;

const test::Simulation simulation("conv2d", 4e5, [](const Problem& problem, const Tensors& inputs) {
  return conv2d_faults::computed(problem, inputs, Dtype::f32);
});

HostTensor y_rounded(const Problem& problem, const Expected& expected) {
  const Conv2d conv(problem);
  return test::rounded(expected, problem.dtype(), conv.y_shape());
}

void expect_caught(const HostTensor& faulty, const Expected& expected, const char* fault) {
  EXPECT_FALSE(compare(faulty, expected).pass) << fault;
}

TEST(conv2d, exact_catches_swapped_channels_and_products_left_out) {
  test::for_each_case(
      test::of_this_run(proof_of(find_op("conv2d")).cases), [](const Problem& problem) {
        const Conv2d conv(problem);
        const Tensors inputs = make_inputs(problem, data_set("exact"), kSeed);
        const Expected expected = reference(problem, inputs, Check::exact);
        const HostTensor y = y_rounded(problem, expected);
        const auto without_from = [&](std::int64_t product) {
          const Tensors fewer = conv2d_faults::without_products_from(problem, inputs, product);
          return y_rounded(problem, reference(problem, fewer, Check::hard));
        };
        const std::int64_t taps = std::int64_t{conv.r} * conv.s, all = conv.products();
        expect_caught(without_from(all - taps), expected, "dropped last channel");
        const bool row = conv2d_faults::is_ever_inside(conv.r - 1, conv.stride_h, conv.pad_t,
                                                       conv.dilation_h, conv.h, conv.oh());
        const bool column = conv2d_faults::is_ever_inside(conv.s - 1, conv.stride_w, conv.pad_l,
                                                          conv.dilation_w, conv.w, conv.ow());
        if (row) expect_caught(without_from(all - conv.s), expected, "dropped last row of taps");
        if (row && column) expect_caught(without_from(all - 1), expected, "dropped last tap");
        if (conv.kg() > 1)
          expect_caught(conv2d_faults::swapped_channels(problem, y), expected, "swapped");
      });
}

TEST(conv2d, hard_sets_catch_a_half_accumulator) {
  test::for_each_case("conv2d", [](const Problem& problem) {
    if (accumulator(problem) != Acc::f32) return;
    const std::string& act = problem.choice("act");
    const bool saturates = act == "sigmoid" || act == "tanh" || act == "relu6" || act == "clip" ||
                           act == "hard_sigmoid";
    // In half outputs the final rounding hides a few roundings before it, and so do flat slopes.
    const Conv2d conv(problem);
    const int inside = conv.cg() * std::min(conv.r, conv.h) * std::min(conv.s, conv.w);
    const bool visible = problem.dtype() == Dtype::f32 || inside >= 18;
    if (!visible || saturates || multiply_adds(problem) > 2e5) return;
    for (const char* name : {"positive", "outliers"}) {
      const DataSet& set = data_set(name);
      const Tensors inputs = make_inputs(problem, set, kSeed);
      expect_caught(conv2d_faults::computed(problem, inputs, Dtype::f16),
                    reference(problem, inputs, set.check), name);
    }
  });
}

// ---- for the tests of every op ----

const test::GroupSizes groups("conv2d", 1, test::Bits::same,
                              {"c=37 h=4 w=20 k=13 r=1", "c=5 h=6 w=8 k=9 r=3 pad=1",
                               "c=3 h=9 w=8 k=3 r=3 pad=1 groups=3", "c=11 h=4 w=8 k=5 r=1",
                               "n=2 c=9 h=5 w=7 k=9 r=3 pad=1 algo=winograd bias",
                               "c=24 h=4 w=4 k=6 r=1 bias residual",
                               "n=2 c=5 h=4 w=4 k=7 r=3 pad=1 bias residual",
                               "c=5 h=6 w=8 k=5 r=3 pad=1 groups=5 bias residual"});

std::string random_case(Random& random) {
  const int groups = random.integer(1, 3), r = random.integer(1, 4), s = random.integer(1, 4);
  const int pads[] = {random.integer(0, 3), random.integer(0, 3), random.integer(0, 3),
                      random.integer(0, 3)};
  std::string line = fmt::format(
      "conv2d n={} c={} h={} w={} k={} r={} s={} stride_h={} stride_w={} pad_t={} pad_l={} "
      "pad_b={} pad_r={} dilation_h={} dilation_w={} groups={}",
      random.integer(1, 2), groups * random.integer(1, 9), random.integer(10, 20),
      random.integer(10, 20), groups * random.integer(1, 9), r, s, random.integer(1, 3),
      random.integer(1, 3), pads[0], pads[1], pads[2], pads[3], random.integer(1, 3),
      random.integer(1, 3), groups);
  if (random.integer(0, 1) == 1) line += " bias residual";
  return line;
}

const test::RandomProblems random_problems("conv2d", 12, random_case);

}  // namespace
}  // namespace clam::conv2d_test
