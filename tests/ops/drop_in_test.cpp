// SPDX-License-Identifier: MIT
// drop_in_test.cpp - a host without any of clam's code runs every kernel, from the manifest, plans
// as JSON and the .cl files alone.
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "check/op_proof.hpp"
#include "clam/planner.hpp"
#include "run_clam.hpp"

namespace clam::drop_in_test {
namespace {

constexpr const char* kPython =
    "/usr/bin/python3";  // Debian's, for which python3-pyopencl is built
const std::string kSource = CLAM_SOURCE_DIR;

/// Small problems of an op, in every variant, as files OP-0.json and so on. With `seen` only those
/// that launch a kernel which it lacks; `most` at most.
void write_plans(const Op& op, const std::string& folder, std::set<std::string>* seen = nullptr,
                 int most = 1000) {
  int plans = 0;
  for (const Problem& problem : problems_of(proof_of(op).small_cases, "f32")) {
    for (const Variant& variant : op.variants) {
      if (variant.refuses(problem, generic_device())) continue;
      const Plan plan = make_plan(problem, generic_device(), {variant.name, 0});
      if (plans == most || (seen && !test::launches_new_kernel(plan, *seen))) continue;
      write_file(fmt::format("{}/{}-{}.json", folder, op.name, plans++), to_json(plan).dump(1));
    }
  }
}

test::Finished run_drop_in(const std::string& plans, const std::string& kernels) {
  const test::TemporaryFolder folder;
  write_file(folder.file("manifest.json"), test::run_clam({"manifest"}).out);
  // pyopencl keeps the Python that it makes for a kernel's arguments in any case.
  return test::run_command({kPython, kSource + "/tests/ops/drop_in/drop_in.py",
                            folder.file("manifest.json"), plans, kernels},
                           {"PYOPENCL_NO_CACHE=1", "XDG_CACHE_HOME=" + folder.path()});
}

class drop_in : public testing::Test {
 protected:
  void SetUp() override {
    CLAM_NEEDS_DEVICE();
    if (test::run_command({kPython, "-c", "import pyopencl"}).code != 0) {
      GTEST_SKIP() << "pyopencl is not here (tools/setup python)";
    }
  }
};

TEST_F(drop_in, a_foreign_host_runs_every_kernel) {
  const test::TemporaryFolder plans;
  std::set<std::string> seen;
  for (const Op* op : all_ops()) {
    write_plans(*op, plans.path(), test::is_weekly() ? nullptr : &seen);
  }
  const test::Finished finished = run_drop_in(plans.path(), kSource + "/kernels");
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
}

TEST_F(drop_in, a_wrong_result_of_any_op_is_seen) {
  struct Fault {
    const char *op, *file, *from, *to, *output;
  };
  const std::vector<Fault> faults = {
      {"dense", "dense.cl", "fma((float4)(out.factor), sum, z)", "2.0f * sum", "y of dense"},
      {"batch_matmul", "batch_matmul.cl", "fma(scale, sum, addend)", "sum + addend",
       "c of batch_matmul"},
      {"conv2d", "conv2d.cl", "CONV2D_BIAS ? (float)b[k] : 0.0f", "0.0f", "y of conv2d"},
      {"conv_transpose", "conv_transpose.cl", "CONVT_BIAS ? (float)b[k]", "0 ? (float)b[k]",
       "y of conv_transpose"},
      {"attention", "attention.cl", "o[i * ITEMS] * down.s##i", "o[i * ITEMS] * 0.5f * down.s##i",
       "o of attention"},
      {"softmax", "softmax.cl", "log(sum) : 1.0f / sum", "log(sum) : 2.0f / sum", "dst of softmax"},
      {"layer_norm", "layer_norm.cl", "(float)n + eps", "(float)n + 2.0f * eps",
       "dst of layer_norm"},
      {"lrn", "lrn.cl", "divide(held[before]", "divide(held[0]", "y of lrn"},
      {"unary", "unary.cl", "z, (float4)(shift)", "z, (float4)(0.0f)", "dst of unary"},
      {"binary", "binary.cl", "return y * step1;", "return 0;", "c of binary"},
      {"scale_shift", "scale_shift.cl", "(float)shift[c]", "0.0f", "dst of scale_shift"},
      {"pool2d", "pool2d.cl", "((all) * scale)", "(all)", "y of pool2d"},
      {"resize", "resize.cl", "e[i + 1], 0.75f)", "e[i + 1], 0.25f)", "y of resize"},
      {"reduce", "reduce.cl", "#define START 1.0f", "#define START 2.0f", "dst of reduce"},
      {"rotary", "rotary.cl", "fma(-b, s0, a * c0)", "fma(b, s0, a * c0)", "dst of rotary"},
      {"transpose", "transpose.cl", "= tile[x][row]", "= tile[row][x]", "dst of transpose"},
      {"concat", "concat.cl", "row * nb + i - na", "row * nb", "dst of concat"},
      {"gather", "gather.cl", "clamp(index[j], 0, extent - 1)", "0", "dst of gather"},
      {"slice", "slice.cl", "row * dst_row + i", "row * dst_row", "dst of slice"},
      {"pad", "pad.cl", "i - before", "i", "dst of pad"},
      {"match_assignment", "match_assignment.cl", "best[row] == column", "row == column",
       "of match_assignment"},
      {"ssd_decode", "ssd_decode.cl", "* size * 0.5f", "* size", "data of ssd_decode"},
      {"yolo_decode", "yolo_decode.cl", "x - half_w", "x", "data of yolo_decode"},
      {"multibox_transform_loc", "multibox_transform_loc.cl", "(float)(found - 1)", "(float)found",
       "out of multibox_transform_loc"},
      {"multibox_prior", "multibox_prior.cl", "sqrt(ratio)", "ratio", "anchors of multibox_prior"},
      {"get_valid_counts", "get_valid_counts.cl", "order(score_threshold) + 1",
       "order(score_threshold) + 0x3F800000", "of get_valid_counts"},
      {"nms", "nms.cl", "const float inter = w * h;", "const float inter = w;", "of nms"},
      {"onnx_nms", "onnx_nms.cl", "own >= sum.y", "own > sum.y", "selected of onnx_nms"},
      {"box_nms", "nms_output.cl", "0.5f * (a + c)", "a + c", "out of box_nms"},
      {"torchvision_nms", "nms.cl", "(a) > (b)", "((a) + 0.1f > (b))", "of torchvision_nms"},
  };
  for (const Fault& fault : faults) test::expect_in_a_kernel(fault.from);
  for (const Fault& fault : test::of_this_run(faults)) {
    const test::TemporaryFolder kernels, plans;
    write_plans(find_op(fault.op), plans.path());
    for (const std::string& file : embedded_files()) {
      write_file(kernels.file(file), KernelFiles().get(file).text);
    }
    test::break_kernel(kernels, fault.file, fault.from, fault.to);
    const test::Finished finished = run_drop_in(plans.path(), kernels.path());
    EXPECT_NE(finished.code, 0) << fault.file;
    EXPECT_TRUE(test::contains(finished.err, fault.output)) << fault.file << ": " << finished.err;
  }
}

TEST_F(drop_in, a_kernel_that_no_plan_launches_is_named) {
  const test::TemporaryFolder plans;
  write_plans(find_op("concat"), plans.path());
  const test::Finished finished = run_drop_in(plans.path(), kSource + "/kernels");
  EXPECT_NE(finished.code, 0);
  EXPECT_TRUE(test::contains(finished.err, "no plan launches")) << finished.err;
}

/// The package of the wheel, in the folder that the build makes.
test::Finished run_through_clam(const std::vector<std::string>& arguments) {
  const test::TemporaryFolder folder;
  std::vector<std::string> command = {kPython, kSource + "/tests/ops/drop_in/through_clam.py"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return test::run_command(command,
                           {"PYTHONPATH=" CLAM_BUILD_DIR "/python", "PYTHONDONTWRITEBYTECODE=1",
                            "PYOPENCL_NO_CACHE=1", "XDG_CACHE_HOME=" + folder.path()});
}

class python_package : public testing::Test {
 protected:
  void SetUp() override {
    CLAM_NEEDS_DEVICE();
    if (!std::filesystem::exists(CLAM_BUILD_DIR "/python/clam_mali/libclam.so")) {
      GTEST_SKIP() << "libclam.so is not built here";
    }
    if (test::run_command({kPython, "-c", "import pyopencl, cffi"}).code != 0) {
      GTEST_SKIP() << "pyopencl or cffi is not here (tools/setup python)";
    }
  }
};

TEST_F(python_package, its_examples_calls_and_refusals_are_as_written) {
  const test::Finished finished = run_through_clam({});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_EQ(finished.out,
            "pass threads\npass examples\npass arrays\npass buffers\npass lifetimes\n"
            "pass refusals\n");
}

TEST_F(python_package, every_op_is_held_against_numpy) {
  const test::TemporaryFolder plans;
  std::set<std::string> ops;
  for (const Op* op : all_ops()) {
    std::set<std::string> seen;
    write_plans(*op, plans.path(), &seen, test::is_weekly() ? 1000 : 1);
    ops.insert(op->name);
  }
  const test::Finished finished = run_through_clam({plans.path()});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  for (const std::string& op : ops) {
    EXPECT_TRUE(test::contains(finished.out, " - " + op + " ")) << op;
  }
}

TEST_F(python_package, a_wrong_result_is_seen) {
  const test::TemporaryFolder plans, kernels;
  write_plans(find_op("softmax"), plans.path());
  test::break_kernel(kernels, "softmax.cl", "log(sum) : 1.0f / sum", "log(sum) : 2.0f / sum");
  const test::Finished finished = run_through_clam({plans.path(), kernels.path()});
  EXPECT_NE(finished.code, 0);
  EXPECT_TRUE(test::contains(finished.err, "dst of softmax")) << finished.err;
}

}  // namespace
}  // namespace clam::drop_in_test
