// SPDX-License-Identifier: MIT
// shrink_judged_test.cpp - launches of others made smaller, where drivers say what is right.
#include <chrono>
#include <cstdio>

#include "bundle_runs.hpp"
#include "planted.hpp"
#include "shrink/lines.hpp"
#include "shrink/search.hpp"
#include "watched_runs.hpp"

namespace clam::test {
namespace {

// ---- the text ----

constexpr const char* kText = R"(#define BY 2
#define UNUSED 3
#if BY == 2
typedef float real;
#else
typedef half real;
#endif
typedef struct { real by; } parts;
inline real twice(
    real x) {
  return BY * x;
}
inline real thrice(real x) { return UNUSED * x; }
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void other(__global real* x) {
  x[0] = thrice(1);
}
__kernel void own(__global real* x, const parts p) {
  const int i = get_global_id(0);
  if (i < 4) {
    x[i] = twice(x[i]);
  } else {
    x[i] = p.by;
  }
}
)";

TEST(shrink_text, what_a_kernel_does_not_use_goes_at_once) {
  const std::string text = joined(used_by(lines_of(kText), {"own"}));
  for (const char* gone : {"UNUSED", "thrice", "other"}) {
    EXPECT_FALSE(contains(text, gone)) << gone << " in\n" << text;
  }
  for (const char* kept :
       {"#define BY 2\n", "typedef float real;", "} parts;", "twice(\n    real x) {"}) {
    EXPECT_TRUE(contains(text, kept)) << kept << " not in\n" << text;
  }
  EXPECT_EQ(joined(used_by(lines_of(kText), {"other", "own"})), kText);
}

TEST(shrink_text, branches_that_are_not_taken_go_at_once) {
  const Lines lines = taken_branches(lines_of(kText), "-DUSED=1");
  EXPECT_FALSE(contains(joined(lines), "typedef half")) << joined(lines);
  EXPECT_TRUE(contains(joined(lines), "typedef float real;")) << joined(lines);
  EXPECT_TRUE(contains(joined(lines), "return BY * x;")) << "macros stay: " << joined(lines);
  const Lines other =
      taken_branches(lines_of("#ifdef USED\nint a;\n#else\nint b;\n#endif\n"), "-DUSED=1");
  EXPECT_EQ(joined(other), "int a;\n");
  const Lines damaged = lines_of("#if (\nint a;\n");
  EXPECT_EQ(taken_branches(damaged, ""), damaged);
}

/// The text without these statements of a depth.
std::string without(int depth, const Parts& statements) {
  const Lines lines = lines_of(kText);
  const Level level = level_of(lines, depth);
  Lines rest;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::count(statements.begin(), statements.end(), level.statement[i]) == 0)
      rest.push_back(lines[i]);
  }
  return joined(rest);
}

TEST(shrink_text, statements_go_whole) {
  EXPECT_EQ(level_of(lines_of(kText), 0).count, 8u);
  EXPECT_FALSE(contains(without(0, {4}), "twice(\n")) << "with the lines of its head";
  EXPECT_TRUE(contains(without(0, {4}), "thrice"));
  for (int depth = 0; depth < 4; ++depth) {
    const Level level = level_of(lines_of(kText), depth);
    for (std::size_t i = 0; i < level.count; ++i) {
      int open = 0;
      for (const std::string& line : lines_of(without(depth, {i}))) open += depth_of(line);
      EXPECT_EQ(open, 0) << "statement " << i << " at depth " << depth << ":\n"
                         << without(depth, {i});
    }
  }
  EXPECT_EQ(level_of(lines_of(kText), 4).count, 0u);
}

// ---- the search ----

/// dst = src * factor as a program launched it.
Bundle watched() {
  Bundle bundle = scale_bundle();
  bundle.plan->launches[0].global = {256, 1, 1};
  bundle.plan->launches[0].options = "-DA=1 -DB";
  bundle.plan->launches[0].offset = {2, 0, 0};
  bundle.plan->launches[0].args[3] = std::int32_t{100};
  return bundle;
}

TEST(shrink_judged, groups_numbers_inputs_lines_options_and_buffers_get_smaller) {
  Planted planted(watched(), Seen::Outcome::wrong, [](const Bundle& bundle) {
    const Launch& launch = bundle.plan->launches[0];
    return launch.global[0] >= 48 && std::get<std::int32_t>(launch.args[3]) >= 7 &&
           contains(bundle.kernels.at("scale.cl"), "* factor") && contains(launch.options, "-DB") &&
           bundle.plan->tensors[0].shape[0] >= 3;
  });
  const Bundle& small = planted.shrink(Oracle::checked_drivers);
  const Launch& launch = small.plan->launches[0];
  EXPECT_EQ(launch.global[0], 48);
  EXPECT_EQ(launch.offset, Launch().offset);
  EXPECT_EQ(launch.options, "-DB");
  EXPECT_EQ(std::get<float>(launch.args[2]), 0);
  EXPECT_EQ(std::get<std::int32_t>(launch.args[3]), 7);
  EXPECT_EQ(small.plan->tensors[0].shape, Shape{3});
  EXPECT_EQ(small.plan->tensors[1].shape, Shape{1});
  EXPECT_EQ(small.inputs.at("src").get(2), 0);
  EXPECT_LE(lines_of(small.kernels.at("scale.cl")).size(), 3u) << small.kernels.at("scale.cl");
  EXPECT_LT(planted.runs, 120);
}

TEST(shrink_judged, buffers_stay_where_nobody_sees_what_is_read_behind_them) {
  Planted planted(watched(), Seen::Outcome::wrong, [](const Bundle&) { return true; });
  const Bundle& small = planted.shrink(Oracle::drivers);
  EXPECT_EQ(small.plan->tensors[0].shape, Shape{4});
  EXPECT_EQ(small.plan->launches[0].global[0], 16) << "one group";
}

// ---- the command ----

/// A board whose compiler reads one text as another; the driver of the tests, under another name,
/// says what is right.
struct Lying {
  Finished shrink(std::vector<std::string> words, const char* oclgrind = "off") const {
    words.insert(words.begin(), {"shrink", seen, "-o", folder.file("small"), "--no-proof", "--with",
                                 other_platform(folder, "Other")});
    return run_clam(words, with(oclgrind));
  }
  std::vector<std::string> with(const char* oclgrind) const {
    std::vector<std::string> environment = scripted::on(script);
    environment.push_back(std::string("CLAM_OCLGRIND=") + oclgrind);
    return environment;
  }
  void record(const std::vector<std::string>& program, const std::string& name) {
    const Finished watched =
        watch(folder.file("seen"), {"--kernel", "^" + name + "$"}, program, with("off"));
    ASSERT_EQ(watched.code, 0) << watched.out << watched.err;
    seen = folder.file("seen/001-" + name);
  }
  Finished judge() const {
    return run_clam({"judge", seen, "--limit", "1000", "--with", other_platform(folder, "Other")},
                    {"CLAM_OCLGRIND=off"});
  }

  TemporaryFolder folder;
  nlohmann::json script;
  std::string seen;
};

TEST(shrink_judged_scripted, a_fault_in_a_kernel_of_others) {
  CLAM_NEEDS_DEVICE();
  if (!has_pyopencl()) GTEST_SKIP() << kNoPyopencl;
  Lying lying;
  lying.script =
      platform_script("Board", nlohmann::json::array({misreads("i < k;", "i < k - 1;")}));
  lying.record(python_program("judged.py"), "product");
  const Finished unjudged = lying.shrink({});
  EXPECT_EQ(unjudged.code, 2) << unjudged.out;
  EXPECT_TRUE(contains(unjudged.err, "is recorded, not judged: clam judge it first"))
      << unjudged.err;
  EXPECT_EQ(lying.judge().code, 1);
  const Finished shrunk = lying.shrink({});
  ASSERT_EQ(shrunk.code, 0) << shrunk.out << shrunk.err;
  const Bundle small = read_bundle(lying.folder.file("small"));
  EXPECT_EQ(small.seen.outcome, Seen::Outcome::wrong);
  const Launch& launch = small.plan->launches[0];
  EXPECT_EQ(launch.global, (std::array<std::int64_t, 3>{8, 8, 1})) << "one group";
  EXPECT_EQ(std::get<std::int32_t>(launch.args[2]), 1) << "one trip, which the board leaves out";
  EXPECT_LE(lines_of(small.kernels.at("product.cl")).size(), 8u) << small.kernels.at("product.cl");
  EXPECT_TRUE(contains(small.kernels.at("product.cl"), "i < k;"));
  EXPECT_EQ(small.inputs.at("a").get(0), 1);
  EXPECT_EQ(run_clam({"replay", lying.folder.file("small")}).code, 0) << "right without the board";
  EXPECT_TRUE(contains(shrunk.out, "run it in Oclgrind")) << shrunk.out;
}

// ---- kernels of other projects ----

/// Watched, judged and shrunk with Oclgrind, if it is here: a tenth of the lines is left.
void expect_a_tenth(Lying& lying, const std::vector<std::string>& program, const std::string& name,
                    const std::string& misread) {
  ASSERT_NO_FATAL_FAILURE(lying.record(program, name));
  const Finished judged = lying.judge();
  ASSERT_EQ(judged.code, 1) << judged.out << judged.err;
  const auto lines = [&](const std::string& folder) {
    return lines_of(read_bundle(folder).kernels.at(name + ".cl")).size();
  };
  const char* oclgrind = std::getenv("CLAM_OCLGRIND");
  if (!oclgrind)
    oclgrind = run_command({"which", "oclgrind"}).code == 0 ? "/usr/bin/oclgrind" : "off";
  const auto start = std::chrono::steady_clock::now();
  const Finished shrunk = lying.shrink({}, oclgrind);
  ASSERT_EQ(shrunk.code, 0) << shrunk.out << shrunk.err;
  const std::string small = lying.folder.file("small");
  std::printf("%zu lines of %zu, in %.0f s\n", lines(small), lines(lying.seen),
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  EXPECT_LE(10 * lines(small), lines(lying.seen)) << shrunk.out;
  EXPECT_TRUE(contains(read_bundle(small).kernels.at(name + ".cl"), misread));
  if (std::string(oclgrind) == "off") return;  // what is left may read what nobody wrote
  EXPECT_EQ(run_clam({"replay", small}).code, 0) << "right without the board";
}

TEST(shrink_judged_weekly, a_fault_in_clblasts_kernel) {
  CLAM_NEEDS_DEVICE();
  Lying lying;
  const std::string program = compiled_blas(lying.folder);
  if (program.empty()) GTEST_SKIP() << "there is no C compiler with OpenCL and CLBlast";
  const std::string loop = "int k=n_floor; k<n; ++k";
  lying.script = platform_script(
      "Board", nlohmann::json::array({misreads(loop, "int k=n_floor; k<n-2; ++k")}));
  expect_a_tenth(lying, {program}, "Xgemv", loop);
}

/// A kernel as TVM's OpenCL code generator writes one: tiles in local memory, one statement an
/// element, everything unrolled.
std::string tvm_text() {
  std::string text =
      "#ifdef cl_khr_fp16\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#endif\n"
      "// Function: default_function_kernel\n"
      "__kernel void default_function_kernel(__global float* restrict T_dense, __global float* "
      "restrict data, __global float* restrict weight) {\n"
      "  float T_dense_local[64];\n  __local float data_shared[128];\n"
      "  __local float weight_shared[128];\n  float data_local[8];\n  float weight_local[8];\n";
  for (int i = 0; i < 64; ++i) text += fmt::format("  T_dense_local[({})] = 0.000000e+00f;\n", i);
  text +=
      "  for (int k_outer = 0; k_outer < 4; ++k_outer) {\n    barrier(CLK_LOCAL_MEM_FENCE);\n"
      "    for (int ax = 0; ax < 8; ++ax) {\n"
      "      data_shared[(((ax * 16) + ((int)get_local_id(0))))] = data[((((((int)get_local_id(0)) "
      "* "
      "32) + (k_outer * 8)) + ax))];\n"
      "      weight_shared[(((ax * 16) + ((int)get_local_id(0))))] = "
      "weight[((((((int)get_local_id(0)) "
      "* 32) + (k_outer * 8)) + ax))];\n    }\n    barrier(CLK_LOCAL_MEM_FENCE);\n"
      "    for (int k_inner = 0; k_inner < 8; ++k_inner) {\n";
  for (int i = 0; i < 8; ++i) {
    text += fmt::format(
        "      data_local[({0})] = data_shared[((((k_inner * 16) + ((((int)get_local_id(0)) "
        ">> 3) * 8)) + {0}))];\n"
        "      weight_local[({0})] = weight_shared[((((k_inner * 16) + "
        "((((int)get_local_id(0)) & 1) * 8)) + {0}))];\n",
        i);
  }
  for (int i = 0; i < 64; ++i) {
    text += fmt::format(
        "      T_dense_local[({0})] = (T_dense_local[({0})] + (data_local[({1})] * "
        "weight_local[({2})]));\n",
        i, i / 8, i % 8);
  }
  text += "    }\n  }\n";
  for (int i = 0; i < 64; ++i) {
    text += fmt::format(
        "  T_dense[((((((int)get_local_id(0)) * 64) + {0})))] = T_dense_local[({0})];\n", i);
  }
  return text + "}\n";
}

TEST(shrink_judged_weekly, a_fault_in_a_kernel_like_tvms) {
  CLAM_NEEDS_DEVICE();
  if (!has_pyopencl()) GTEST_SKIP() << kNoPyopencl;
  Lying lying;
  const std::string statement = "(data_local[(5)] * weight_local[(3)])";
  lying.script = platform_script(
      "Board",
      nlohmann::json::array({misreads(statement, "(data_local[(5)] * weight_local[(2)])")}));
  write_file(lying.folder.file("tvm.cl"), tvm_text());
  write_file(lying.folder.file("tvm.py"), R"(
import sys
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, open(sys.argv[1]).read()).build()
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
values = np.random.default_rng(1).standard_normal((3, 1024)).astype(np.float32)
out, data, weight = (cl.Buffer(context, flags, hostbuf=each) for each in values)
program.default_function_kernel(queue, (16,), (16,), out, data, weight)
queue.finish()
)");
  expect_a_tenth(
      lying, {kPython, "-W", "ignore", lying.folder.file("tvm.py"), lying.folder.file("tvm.cl")},
      "default_function_kernel", statement);
}

}  // namespace
}  // namespace clam::test
