// SPDX-License-Identifier: MIT
#include "clam/plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "check/manifest.hpp"
#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "clam/gpu.hpp"
#include "clam/op.hpp"
#include "clam/planner.hpp"
#include "foreign_plan.hpp"
#include "golden.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

using nlohmann::json;

/// tests/ops/golden/OP.txt: plans for the generic device, each under its problem's line.
TEST(plan, golden_files) {
  for (const Op* op : all_ops()) {
    const std::string name = op->name + ".txt";
    const std::string folder = std::string(CLAM_SOURCE_DIR) + "/tests/ops/golden/";
    if (!std::filesystem::exists(folder + name)) continue;  // an op is new before it has plans
    test::expect_golden(name, [](const std::string& line) {
      return to_text(make_plan(Problem::parse(line), generic_device()));
    });
  }
}

TEST(plan, json_round_trips_for_every_case_and_variant) {
  const DeviceInfo device = generic_device();
  for (const Op* op : all_ops()) {
    for (const char* dtype : {"f32", "f16"}) {
      for (const Problem& problem : problems_of(proof_of(*op).cases, dtype)) {
        for (const Variant& variant : op->variants) {
          PlanOptions options;
          options.variant = variant.name;
          if (variant.refuses(problem, device)) continue;
          const Plan plan = make_plan(problem, device, options);
          const json written = to_json(plan);
          ASSERT_EQ(to_json(plan_from_json(json::parse(written.dump()))), written)
              << problem.text();
        }
      }
    }
  }
}

/// Whether a kernel file is of the op's own room; some ops launch kernels of another one's.
bool is_of(const Op& op, const std::string& file) {
  return file == op.name + ".cl" || file.rfind(op.name + "_", 0) == 0;
}

std::set<std::string> kernels_of(const Op& op) {
  std::set<std::string> names;
  for (const std::string& file : embedded_files()) {
    if (!is_of(op, file)) continue;
    for (const KernelTags& kernel : read_tags(KernelFiles().get(file)).kernels) {
      names.insert(kernel.name);
    }
  }
  return names;
}

TEST(plan, small_cases_launch_every_kernel) {
  const DeviceInfo device = generic_device();
  for (const Op* op : all_ops()) {
    std::set<std::string> launched;
    for (const char* dtype : {"f32", "f16"}) {
      for (const Problem& problem : problems_of(proof_of(*op).small_cases, dtype)) {
        for (const Variant& variant : op->variants) {
          if (variant.refuses(problem, device)) continue;
          const Plan plan = make_plan(problem, device, {variant.name, 0});
          for (const auto* launches : {&plan.pack, &plan.launches}) {
            for (const Launch& launch : *launches) {
              if (is_of(*op, launch.file)) launched.insert(launch.kernel);
            }
          }
        }
      }
    }
    EXPECT_EQ(launched, kernels_of(*op)) << op->name;
  }
}

TEST(plan, why_says_where_halves_are_slower_and_what_mends_it) {
  const DeviceInfo mali = gpu_device(find_gpu("g610"));
  const auto note = [&](const std::string& line) {
    const std::string text = explain_plan(Problem::parse(line), mali);
    const std::size_t at = text.find("note ");
    return at == std::string::npos ? "" : text.substr(at);
  };
  const std::string slower = note("dense m=192 n=512 k=512 dtype=f16");
  EXPECT_NE(slower.find("dtype=f16 with float sums is predicted to take 1."), std::string::npos);
  EXPECT_NE(slower.find("acc=chunk 0."), std::string::npos) << slower;
  EXPECT_NE(note("conv2d c=512 h=32 w=32 k=512 r=3 pad=1 algo=direct dtype=f16"), "");
  EXPECT_EQ(note("conv2d c=512 h=32 w=32 k=512 r=1 dtype=f16"), "");
  EXPECT_EQ(note("dense m=192 n=512 k=512 dtype=f32"), "");
  EXPECT_EQ(note("dense m=192 n=512 k=512 dtype=f16 acc=chunk"), "");
  EXPECT_EQ(note("softmax shape=4x8 dtype=f16"), "");
}

TEST(plan, every_form_of_argument_round_trips) {
  Plan plan = test::scale_plan(10, 1);
  plan.buffers = {{"tmp", BufferSpec::Role::scratch, 64}, {"w", BufferSpec::Role::packed, 256}};
  const float infinity = std::numeric_limits<float>::infinity();
  plan.launches[0].args = {BufferArg{"tmp"},
                           BufferArg{"w", 128},
                           0.1f,
                           -infinity,
                           infinity,
                           std::nanf(""),
                           1e-45f,
                           std::int32_t{-2147483647 - 1},
                           LocalArg{256},
                           NullArg{},
                           BytesArg{{0, 0x7f, 0xff}}};
  plan.pack = plan.launches;
  EXPECT_FALSE(to_json(plan)["launches"][0].contains("offset"))
      << "usual launches stay as they were";
  plan.launches[0].global = {12, 5, 1}, plan.launches[0].local = {};
  plan.launches[0].offset = {3, 4, 0}, plan.launches[0].dimensions = 2;
  const json written = to_json(plan);
  EXPECT_EQ(to_json(plan_from_json(json::parse(written.dump()))), written);
  EXPECT_EQ(written["launches"][0]["args"][3], json({{"float", "-inf"}}));
  EXPECT_EQ(written["launches"][0]["args"].back(), json({{"bytes", "007fff"}}));
  EXPECT_EQ(written["launches"][0]["dimensions"], 2);
  const std::string text = to_text(plan);
  EXPECT_NE(text.find("global 12x5x1 local any offset 3x4x0 dimensions 2\n"), text.npos) << text;
  EXPECT_NE(text.find("bytes 00 7f ff"), text.npos) << text;
}

TEST(plan, is_a_pure_function) {
  const Problem problem = Problem::parse("dense m=192 n=512 k=512 dtype=f16 bias");
  EXPECT_EQ(to_json(make_plan(problem, generic_device())),
            to_json(make_plan(problem, generic_device())));
}

TEST(plan, what_cannot_run_says_why) {
  DeviceInfo device = generic_device();
  device.fp16 = false;
  const Problem half = Problem::parse("dense m=1 n=1 k=1 dtype=f16");
  EXPECT_THROWS_SAYING(make_plan(half, device), Unsupported, "the device has no cl_khr_fp16");
  EXPECT_NE(explain_plan(half, device).find("no       dense"), std::string::npos);
  device.max_alloc_bytes = 1000;
  EXPECT_THROWS_SAYING(make_plan(Problem::parse("dense m=100 n=1 k=100 dtype=f32"), device),
                       Unsupported, "tensor x needs 40000 bytes, the device allows 1000");
  EXPECT_THROWS_SAYING(make_plan(half, generic_device(), {"dense_magic", 0}), BadArgument,
                       "unknown variant 'dense_magic'; dense knows dense_packed");
}

TEST(plan, explains_its_choice_once) {
  const std::string text =
      explain_plan(Problem::parse("dense m=8 n=8 k=8 dtype=f32"), generic_device());
  EXPECT_EQ(text.find("chosen"), text.rfind("chosen")) << text;
  EXPECT_NE(text.find("chosen"), std::string::npos) << text;
}

/// A good plan's JSON with one thing changed is refused with these words.
void refuse(const std::string& pointer, const json& value, const std::string& words) {
  json plan = to_json(test::scale_plan(10, 1));
  if (value.is_discarded()) {
    const json::json_pointer at(pointer);
    plan[at.parent_pointer()].erase(at.back());
  } else {
    plan[json::json_pointer(pointer)] = value;
  }
  EXPECT_THROWS_SAYING(plan_from_json(plan), Error, words);
}

TEST(plan, broken_json_is_refused_in_one_sentence) {
  const json gone(json::value_t::discarded);
  refuse("/clam_plan", gone, "\"clam_plan\" is missing");
  refuse("/clam_plan", 2, "version 2 is unknown; this clam reads 1");
  refuse("/launches", gone, "key 'launches' not found");
  refuse("/launches", json::array(), "has no launches");
  refuse("/tensors/0/role", "in", "role is 'in', needs input or output");
  refuse("/tensors/0/shape", {0}, "extent under 1");
  refuse("/tensors/0/strides", {1, 1}, "2 strides for 1 axes");
  refuse("/launches/0/kernel", 3, "type must be string");
  refuse("/launches/0/global", {17, 1, 1}, "global 17x1x1 is no multiple of local 16x1x1");
  refuse("/launches/0/local", {0, 1, 1}, "sizes must be at least 1");
  refuse("/launches/0/args/0", {{"buffer", "nosuch"}}, "'nosuch' is neither a tensor nor a buffer");
  refuse("/launches/0/args/0", {{"buffer", "src"}, {"offset", 3}}, "no multiple of 128");
  refuse("/launches/0/args/0", {{"buffer", "src"}, {"offset", 128}},
         "offset 128 is outside 'src' of 40 bytes");
  refuse("/launches/0/args/0", {{"buffer", "src"}, {"offset", -128}},
         "offset -128 is outside 'src'");
  refuse("/device/mem_base_addr_align", 0, "mem_base_addr_align=0, needs 1 or more");
  refuse("/tensors/1/name", "src", "'src' names two tensors");
  refuse("/launches/0/args/3", {{"int", 5000000000}}, "does not fit an int");
  refuse("/launches/0/args/2", {{"float", "1.0f"}}, "'1.0f' is no float");
  refuse("/launches/0/args/2", {{"image", json::object()}}, "image arguments are not supported");
  refuse("/launches/0/args/2", {{"double", 1}}, "unknown form of argument");
  refuse("/launches/0/args/2", {{"local_bytes", 0}}, "local_bytes must be at least 1");
  refuse("/launches/0/args/2", {{"bytes", "0x12"}}, "'0x12' are no bytes");
  refuse("/launches/0/args/2", {{"bytes", "123"}}, "'123' are no bytes");
  refuse("/launches/0/args/2", {{"bytes", ""}}, "'' are no bytes");
  refuse("/launches/0/offset", {0, -1, 0}, "offset must not be negative");
  refuse("/launches/0/dimensions", 4, "dimensions must be 1, 2 or 3");
  refuse("/launches/0/dimensions", 0, "dimensions must be 1, 2 or 3");
  refuse("/launches/0",
         {{"file", "a.cl"},
          {"kernel", "a"},
          {"global", {4, 4, 4}},
          {"local", {1, 1, 1}},
          {"dimensions", 2},
          {"args", json::array()}},
         "it has 2 dimensions, and a size in another");
  refuse("/buffers", {{{"name", "src"}, {"role", "scratch"}, {"bytes", 4}}},
         "names a tensor and a buffer");
  refuse("/buffers", {{{"name", "t"}, {"role", "temp"}, {"bytes", 4}}},
         "neither scratch nor packed");
  refuse("/buffers", {{{"name", "t"}, {"role", "scratch"}, {"bytes", 0}}}, "has no bytes");
  EXPECT_THROWS_SAYING(plan_from_json(json::array()), BadArgument, "this is no plan");
}

}  // namespace
}  // namespace clam
