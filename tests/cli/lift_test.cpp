// SPDX-License-Identifier: MIT
// lift_test.cpp - kernels lifted out for one problem: the compiler gets the same tokens, they build
// alone and give the same bits, and the folder's C host runs and checks them.
#include "lift/lift.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "../ops/every_op.hpp"
#include "bundle/case.hpp"
#include "c_compiler.hpp"
#include "check/verify.hpp"
#include "clam/error.hpp"
#include "clam/gpu.hpp"
#include "contains.hpp"
#include "lift/text.hpp"
#include "run_clam.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::lift_test {
namespace {

using test::contains;
using test::TemporaryFolder;
using Words = std::vector<std::string>;

// ---- tokens, as the system's preprocessor gives them ----

/// Names and numbers, and each sign by itself.
Words words_of(const std::string& text) {
  Words words;
  bool in_word = false;
  for (const char c : text) {
    const bool is_word = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    if (is_word && in_word) {
      words.back() += c;
    } else if (!std::isspace(static_cast<unsigned char>(c))) {
      words.emplace_back(1, c);
    }
    in_word = is_word;
  }
  return words;
}

/// Functions, types and constants at the top of a text, each with its words.
std::vector<Words> definitions_of(const Words& words) {
  std::vector<Words> all(1);
  int depth = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    all.back().push_back(words[i]);
    depth += words[i] == "{" || words[i] == "(" ? 1 : words[i] == "}" || words[i] == ")" ? -1 : 0;
    const bool is_type = all.back()[0] == "typedef" || all.back()[0] == "__constant";
    const bool ends = words[i] == ";" || (words[i] == "}" && !is_type);
    if (depth == 0 && ends) all.emplace_back();
  }
  all.pop_back();
  return all;
}

std::string preprocessed(const std::string& text, const std::string& options) {
  const TemporaryFolder folder;
  write_file(folder.file("kernel.c"), text);
  std::string command = "cd " + folder.path() + " && cc -E -P -undef -nostdinc kernel.c";
  std::istringstream words(options);
  for (std::string word; words >> word;)
    command += word.rfind("-D", 0) == 0 ? " '" + word + "'" : "";
  const test::Finished finished = test::run_command({"/bin/sh", "-c", command});
  EXPECT_EQ(finished.code, 0) << finished.err;
  std::string out = "\n" + finished.out;
  for (std::size_t at = 0; (at = out.find("\n#pragma", at)) != out.npos;) {
    out.insert(out.find('\n', at + 1), ";");  // as a definition
    at += 2;
  }
  return out;
}

/// What the lifted text has that the whole one has not, or in another order; empty: nothing.
std::string difference(const std::string& whole, const std::string& options,
                       const std::string& lifted) {
  const auto all = definitions_of(words_of(preprocessed(whole, options)));
  auto next = all.begin();
  for (const Words& one : definitions_of(words_of(preprocessed(lifted, "")))) {
    next = std::find(next, all.end(), one);
    if (next == all.end()) return fmt::format("{}", fmt::join(one, " "));
    ++next;
  }
  return "";
}

Bundle planned(const Problem& problem, const DeviceInfo& device, const PlanOptions& options = {}) {
  Bundle bundle;
  take_plan(make_plan(problem, device, options), KernelFiles(), bundle);
  return bundle;
}

/// Each variant of an op on its small cases, for these devices; no build of a file twice. A variant
/// that takes none of them is on the first of the others.
std::vector<Bundle> bundles_of(const Op& op, const std::string& dtype,
                               const std::vector<DeviceInfo>& devices) {
  std::vector<Bundle> bundles;
  std::set<std::string> seen;
  for (const DeviceInfo& device : devices) {
    const OpProof& proof = proof_of(op);
    std::vector<Problem> problems = problems_of(proof.small_cases, dtype);
    const std::size_t small = problems.size();
    for (const Problem& problem : problems_of(proof.cases, dtype)) problems.push_back(problem);
    for (std::size_t i = 0; i < problems.size(); ++i) {
      for (const Variant& variant : op.variants) {
        if (variant.refuses(problems[i], device) || (i >= small && seen.count(variant.name)))
          continue;
        const Bundle bundle = planned(problems[i], device, {variant.name, 0});
        bool is_new = seen.insert(variant.name).second;
        for (const Launch* launch : launches_of(*bundle.plan)) {
          is_new |= seen.insert(launch->file + launch->kernel + launch->options).second;
        }
        if (is_new) bundles.push_back(bundle);
      }
    }
  }
  return bundles;
}

/// Each variant that is not in `variants` yet once, and of the others one of ten; in tests/weekly
/// all.
std::vector<Bundle> of_this_run(const std::vector<Bundle>& all, std::set<std::string>& variants) {
  std::vector<Bundle> chosen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_new = variants.insert(all[i].variant).second;
    if (is_new || test::is_weekly() || i % 10 == test::seed() % 10) chosen.push_back(all[i]);
  }
  return chosen;
}

/// As a device that has fp16.
DeviceInfo generic() {
  DeviceInfo device = generic_device();
  device.fp16 = true;
  return device;
}

void expect_same_tokens(const Bundle& whole) {
  SCOPED_TRACE(whole.problem + " " + whole.variant);
  Bundle lifted = whole;
  lift_kernels(lifted, true);
  const auto before = launches_of(*whole.plan);
  const auto after = launches_of(*lifted.plan);
  std::set<std::string> done;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::string& text = lifted.kernels.at(after[i]->file);
    EXPECT_TRUE(contains(text, "void " + after[i]->kernel + "(")) << text;
    EXPECT_EQ(after[i]->options.find("-D"), std::string::npos);
    if (!done.insert(after[i]->file).second) continue;
    EXPECT_EQ(difference(whole.kernels.at(before[i]->file), before[i]->options, text), "")
        << before[i]->options;
  }
}

TEST(lift, the_compiler_gets_the_tokens_of_the_whole_file) {
  if (!test::has_compiler()) GTEST_SKIP() << "there is no C compiler";
  for (const char* line : {"dense m=20 n=24 k=36 dtype=f32 bias act=gelu", "nms n=2000 dtype=f32",
                           "multibox_prior h=3 w=5 dtype=f32"}) {
    expect_same_tokens(planned(Problem::parse(line), generic()));
  }
}

TEST(lift, the_compiler_gets_these_tokens_for_every_variant) {
  if (!test::has_compiler()) GTEST_SKIP() << "there is no C compiler";
  const std::vector<DeviceInfo> devices{generic(), gpu_device(find_gpu("g610"))};
  for (const Op* op : all_ops()) {
    std::set<std::string> variants;
    for (const char* dtype : {"f32", "f16"}) {
      for (const Bundle& bundle : of_this_run(bundles_of(*op, dtype, devices), variants)) {
        expect_same_tokens(bundle);
      }
    }
    for (const Variant& variant : op->variants)
      EXPECT_EQ(variants.count(variant.name), 1u) << variant.name;
  }
}

TEST(lift, a_planted_difference_is_seen) {
  if (!test::has_compiler()) GTEST_SKIP() << "there is no C compiler";
  const std::string whole =
      "#define N 2\ntypedef float T;\nT one(T x) { return x + N; }\nint unused(int i) { return i; "
      "}\n"
      "__kernel void own(__global T* x) {\n#if N == 2\n  x[0] = one(x[1]);\n#endif\n}\n";
  std::string others;
  const std::string lifted = lifted_text(whole, {{"own"}, "-DM=1", "", true}, others);
  EXPECT_FALSE(contains(lifted, "unused")) << lifted;
  EXPECT_EQ(difference(whole, "", lifted), "");
  const std::pair<const char*, const char*> faults[] = {{"x + 2", "x - 2"},
                                                        {"x[1]", "x[2]"},
                                                        {"typedef float", "typedef half"},
                                                        {"one(x[1])", "one(x[1], 0)"},
                                                        {"x[0] = ", ""}};
  for (const auto& [from, to] : faults) {
    std::string faulty = lifted;
    ASSERT_TRUE(contains(faulty, from)) << faulty;
    faulty.replace(faulty.find(from), std::string(from).size(), to);
    EXPECT_NE(difference(whole, "", faulty), "") << from;
  }
  EXPECT_NE(difference(whole, "", lifted + "int more;\n"), "");
}

// ---- what is left out ----

std::string lifted(const std::string& text, const std::string& options = "") {
  std::string others;
  return lifted_text(text, {{"own"}, options, "", false}, others);
}

TEST(lift, what_is_never_executed_goes) {
  const std::pair<const char*, const char*> cases[] = {
      {"if (N == 2) x[0] = 1; else x[0] = 2;", "x[0] = 1;"},
      {"if (N == 3) { x[0] = 1; } else if (i) { x[0] = 2; }", "if (i) { x[0] = 2; }"},
      {"if (i) { x[0] = 1; } else if (N > 2) { x[0] = 2; } x[1] = 2;",
       "if (i) { x[0] = 1; } x[1] = 2;"},
      {"if (i) x[0] = 1; else if (N) { x[0] = 2; x[1] = 3; } x[1] = 2;",
       "if (i) x[0] = 1; else { x[0] = 2; x[1] = 3; } x[1] = 2;"},
      {"for (; i;) if (N == 3) --i; x[1] = 2;", "for (; i;) if (2 == 3) --i; x[1] = 2;"},
      {"if (N) { x[0] = 1; return; } x[1] = 2;", "x[0] = 1; return;"},
      {"if (i) if (N) return; x[1] = 2;", "if (i) return; x[1] = 2;"},
      {"if (N == 3) { int m = i; x[0] = m; } else { int m = 1; x[0] = m; }",
       "{ int m = 1; x[0] = m; }"},
      {"const int m = 3; x[0] = m + p.m;", "x[0] = 3 + p.m;"},
      {"const uint m = 0; x[0] = m - 1 < 0 ? 1 : 2;",
       "const uint m = 0; x[0] = m - 1 < 0 ? 1 : 2;"},
      {"if (N == 3) DO(x) x[1] = 2;", "x[1] = 2;"},
      {"x[0] = N > 1 ? i : 3;", "x[0] = i;"},
      {"x[0] = i ? N == 1 ? 4 : 5 : 6;", "x[0] = i ? 5 : 6;"},
      {"x[0] = N == 2 ? 4 : i == 1 ? 5 : i == 2 ? 7 : 6; x[1] = 2;", "x[0] = 4; x[1] = 2;"},
      {"x[0] = (N == 1 ? 4 : N == 2 ? i : 6);", "x[0] = (i);"},
      {"if (no(i)) x[0] = 1; x[1] = 2;", "x[1] = 2;"},
      {"if (no(i++)) x[0] = 1;", "if (no(i++)) x[0] = 1;"},
      {"if (i && N == 3) x[0] = 1;", "if (i && 2 == 3) x[0] = 1;"},
      {"if (N == 3 && i) x[0] = 1; x[1] = 2;", "x[1] = 2;"},
      {"if (N == 2 && i) x[0] = 1;", "if (i) x[0] = 1;"},
      {"const int m = N + 1; x[0] = m;", "x[0] = 3;"},
      {"const int m = i; x[0] = 1;", "x[0] = 1;"},
      {"const int m = f(i); x[0] = 1;", "const int m = f(i); x[0] = 1;"},
      {"for (int m = 0; m < N; ++m) { const int j = 1; x[j] = m; }",
       "for (int m = 0; m < 2; ++m) { x[1] = m; }"},
      {"while (i) { if (N) return; x[0] = 1; } x[1] = 2;", "while (i) { return; } x[1] = 2;"},
      {"x[0] = uno(i) ? 1 : 2;", "x[0] = uno(i) ? 1 : 2;"}};
  for (const auto& [body, left] : cases) {
    const std::string text =
        std::string(
            "#define N 2\nint no(int i) { return N > 2 && i; }\nuint uno(int i) { return 0; }\n") +
        "int f(int i) { return i; }\n__kernel void own(__global int* x, int i) {\n  " + body +
        "\n}\n";
    const Words words = words_of(lifted(text));
    const Words expected =
        words_of(std::string("__kernel void own(__global int* x, int i) {") + left + "}");
    const auto at = std::find(words.begin(), words.end(), "__kernel");
    EXPECT_EQ(fmt::format("{}", fmt::join(at, words.end(), " ")),
              fmt::format("{}", fmt::join(expected, " ")))
        << body;
  }
}

TEST(lift, a_parameter_that_is_always_the_same_decides) {
  const std::string rest = "__kernel void own(__global int* x) { x[0] = f(1, 2) + f(x[1], 2); }\n";
  EXPECT_TRUE(
      contains(lifted("int f(int a, int b) { return b == 2 ? a : g(b); }\n" + rest), "return a;"));
  const std::string changed = "int f(int a, int b) { b += a; return b == 2 ? a : g(b); }\n";
  EXPECT_TRUE(contains(lifted(changed + rest), "b == 2 ? a"));
  const std::string as_word =
      "#define DO(f) f(3, 3)\nint f(int a, int b) { return b == 2 ? a : g(b); }\n";
  EXPECT_TRUE(
      contains(lifted(as_word + "__kernel void own(__global int* x) { x[0] = f(1, 2) + DO(f); }\n"),
               "b == 2 ? a"));
}

TEST(lift, what_the_preprocessor_is_told_is_decided) {
  const std::string kernel = "__kernel void own(__global T* x) { x[0] = SUM(N, 1); }\n";
  const std::string text =
      "#ifndef N\n#define N 4\n#endif\n#if defined(F16) && N > 2\ntypedef half T;\n#elif N == 3 || "
      "N & 1\n"
      "typedef int T;\n#else\ntypedef float T;\n#endif\n#define JOIN(a, b) a##b\n#define SUM(a, b) "
      "JOIN(S, UM2)(a, b)\n"
      "#define SUM2(a, b) ((a) + (b))\n#define OTHER 1\n" +
      kernel;
  EXPECT_TRUE(contains(lifted(text), "typedef float T;"));
  EXPECT_TRUE(contains(lifted(text, "-DF16"), "typedef half T;"));
  EXPECT_TRUE(contains(lifted(text, "-D N=3"), "typedef int T;"));
  EXPECT_TRUE(contains(lifted(text, "-DN=3"), "SUM(3, 1)"));
  EXPECT_TRUE(contains(lifted(text), "#define JOIN")) << lifted(text);
  EXPECT_FALSE(contains(lifted(text), "OTHER"));
  std::string others;
  lifted_text(text, {{"own"}, "-cl-mad-enable -DN=1 -w", "", false}, others);
  EXPECT_EQ(others, "-cl-mad-enable -w");
  for (const char* bad :
       {"#if (\n#endif\n", "#if 1\n", "#endif\n", "#else\n", "#if\n#endif\n", "#if 1 / 0\n#endif\n",
        "#include <a.h>\n", "#error no\n", "#if F(2)\n#endif\n"}) {
    EXPECT_THROW(lifted(bad + kernel), BadArgument) << bad;
  }
}

TEST(lift, a_line_of_an_empty_macro_alone_goes) {
  const std::string text =
      lifted("#define WAITS\n__kernel void own(__global int* x) {\n  WAITS\n  x[0] = 1;\n}\n");
  EXPECT_FALSE(contains(text, "WAITS")) << text;
  EXPECT_TRUE(contains(text, "x[0] = 1;")) << text;
}

void lift_damaged(const std::string& text, std::string& others) {
  try {
    lifted_text(text, {{"dense_packed"}, "-DDENSE_M0=4", "", false}, others);
  } catch (const BadArgument&) {  // what a sentence says is fine
  }
}

TEST(lift, damaged_text_ends) {
  const std::string text = KernelFiles().get("dense.cl").text;
  for (std::size_t i = 1; i < 60; ++i) {
    const std::string cut = text.substr(0, text.size() * i / 60);
    std::string others, damaged = text;
    for (std::size_t at = i; at < damaged.size(); at += 997)
      damaged[at] = "(){}[]#\"'?:;&,\\\n"[(at + i) % 16];
    lift_damaged(cut, others);
    lift_damaged(damaged, others);
  }
  std::string others;
  for (const char* tag :
       {"//@needs", "//@define ", "//@kernel", "//@arg", "//@null", "//@layout"}) {
    const std::size_t at = text.find(tag);
    ASSERT_NE(at, text.npos) << tag;
    lift_damaged(text.substr(0, at + std::strlen(tag)), others);
  }
}

std::ptrdiff_t code_lines(const std::string& text) {
  std::istringstream lines(text);
  std::ptrdiff_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find_first_not_of(' ');
    count += at != line.npos && line.compare(at, 2, "//") != 0;
  }
  return count;
}

TEST(lift, the_text_of_a_dense_layer_is_short) {
  for (const char* line :
       {"dense m=192 n=512 k=512 dtype=f32 bias act=gelu", "dense m=192 n=512 k=512 dtype=f32"}) {
    Bundle bundle = planned(Problem::parse(line), generic_device());
    ASSERT_EQ(bundle.variant, "dense_packed");
    lift_kernels(bundle);
    EXPECT_LE(code_lines(bundle.kernels.at("dense.cl")), 200) << line;
  }
}

TEST(lift, comments_stay_that_are_about_what_is_there) {
  Bundle bundle =
      planned(Problem::parse("dense m=192 n=512 k=512 dtype=f32 bias"), generic_device());
  lift_kernels(bundle);
  const std::string& text = bundle.kernels.at("dense.cl");
  EXPECT_EQ(text.rfind("// SPDX-License-Identifier: MIT\n// dense.cl - y[m,n] = ", 0), 0u) << text;
  for (const char* there :
       {"dense m=192 n=512 k=512 dtype=f32 bias\n", "//@kernel dense_packed\n",
        "//@arg    0  x      in   T[m*ldx]\n", "//@local  16 4\n", "//@null   r\n",
        "Buffers start on multiples of 16 bytes", "// ---- tiles ----\n"}) {
    EXPECT_TRUE(contains(text, there)) << there;
  }
  for (const char* gone : {"DENSE_", "CLAM_F16", "//@define", "//@loop", "//@shared", "dense_plain",
                           "//@null   b", "\n\n\n"}) {
    EXPECT_FALSE(contains(text, gone)) << gone;
  }
  Bundle other = planned(Problem::parse("softmax shape=4x192 dtype=f32"), generic_device());
  lift_kernels(other);
  EXPECT_FALSE(contains(other.kernels.at("softmax.cl"), "CLAM_F16"))
      << "an option that is not given";
}

// ---- on a device ----

Tensors outputs_of(Runtime& runtime, const Plan& plan, const Tensors& inputs) {
  Trial trial(runtime, plan);
  trial.upload(inputs);
  trial.run(1);
  return trial.download();
}

void expect_same_bits(const Bundle& whole) {
  SCOPED_TRACE(whole.problem + " " + whole.variant);
  Bundle lifted = whole;
  lift_kernels(lifted);
  const TemporaryFolder folder;
  for (const auto& [file, text] : lifted.kernels) write_file(folder.file(file), text);
  RuntimeOptions options = RuntimeOptions::from_environment();
  options.files = KernelFiles("", folder.path());
  const auto own = test::fresh_runtime(options);
  const Problem problem = Problem::parse(whole.problem);
  for (const DataSet& set : proof_of(problem).data_sets) {
    const Tensors inputs = make_inputs(problem, set, test::seed());
    EXPECT_TRUE(outputs_of(*own, *lifted.plan, inputs) ==
                outputs_of(test::runtime(), *whole.plan, inputs))
        << set.name;
  }
}

TEST(lift_device, a_dense_layer_gives_the_bits_of_the_whole_file) {
  CLAM_NEEDS_DEVICE();
  expect_same_bits(planned(Problem::parse("dense m=20 n=24 k=36 dtype=f32 bias act=gelu"),
                           gpu_device(find_gpu("g610"))));
}

TEST(lift_device, every_variant_gives_these_bits) {
  CLAM_NEEDS_DEVICE();
  const DeviceInfo mali = gpu_device(find_gpu("g610")), here = test::runtime().device();
  std::vector<DeviceInfo> devices{mali};
  if (test::is_weekly()) devices.push_back(here);
  for (const Op* op : all_ops()) {
    for (const char* dtype : {"f32", "f16"}) {
      if (dtype == std::string("f16") && !here.fp16) continue;
      std::set<std::string> variants;
      const std::vector<Bundle> bundles = of_this_run(bundles_of(*op, dtype, devices), variants);
      for (const Bundle& bundle : test::of_this_run(bundles)) expect_same_bits(bundle);
    }
  }
}

// ---- the command ----

test::Finished run_host(const std::string& folder) {
  return test::run_command({"/bin/sh", "-c",
                            "cd " + folder +
                                " && cc -std=c99 -O2 -Wall -Wextra -pedantic -Werror host.c "
                                "-lOpenCL -lm -o host && ./host"});
}

void replace_in(const std::string& file, const std::string& from, const std::string& to) {
  std::string text = read_file(file);
  ASSERT_TRUE(contains(text, from)) << text;
  text.replace(text.find(from), from.size(), to);
  write_file(file, text);
}

TEST(lift_device, the_c_host_fits_every_problem) {
  CLAM_NEEDS_DEVICE();
  if (!test::has_compiler()) GTEST_SKIP() << "there is no C compiler with OpenCL";
  const TemporaryFolder folder;
  std::vector<std::string> lines{
      "dense m=20 n=24 k=36 dtype=f32 bias act=gelu",
      "dense m=5 n=8 k=12 ldx=20 offx=4 ldy=16 offy=8 dtype=f32 residual",
      "conv2d c=8 h=9 w=9 k=8 r=3 pad=1 dtype=f32 bias act=relu",
      "nms n=50 dtype=f32",
      "gather shape=3x5 axis=1 count=4 dtype=f32",
      "softmax shape=4x33 dtype=f32",
      "torchvision_nms n=40 dtype=f32",
      "multibox_prior h=3 w=5 dtype=f32"};
  if (test::runtime().device().fp16)
    lines.push_back("dense m=20 n=24 k=36 dtype=f16 bias act=gelu");
  std::string host;
  lines = test::of_this_run(lines);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    SCOPED_TRACE(lines[i]);
    const std::string target = folder.file(std::to_string(i));
    const test::Finished lifted = test::run_clam({"lift", lines[i], "-o", target});
    ASSERT_EQ(lifted.code, 0) << lifted.err;
    const test::Finished run = run_host(target);
    EXPECT_EQ(run.code, 0) << run.out << run.err;
    EXPECT_TRUE(contains(run.out, "PASS")) << run.out;
    if (i == 0) host = read_file(target + "/host.c");
    EXPECT_EQ(read_file(target + "/host.c"), host);
  }
  EXPECT_LE(std::count(host.begin(), host.end(), '\n'), 80);
}

TEST(lift_device, the_c_host_sees_a_fault) {
  CLAM_NEEDS_DEVICE();
  if (!test::has_compiler()) GTEST_SKIP() << "there is no C compiler with OpenCL";
  const TemporaryFolder folder;
  const std::string target = folder.file("lifted");
  const auto lift_again = [&](const char* line) {
    const test::Finished lifted = test::run_clam({"lift", line, "--force", "-o", target});
    ASSERT_EQ(lifted.code, 0) << lifted.err;
  };
  const char* dense = "dense m=20 n=24 k=36 dtype=f32 bias";
  lift_again(dense);
  replace_in(target + "/launches.h", "{FLOAT, 0, 0, 1.0f, 0}", "{FLOAT, 0, 0, 1.001f, 0}");
  EXPECT_EQ(run_host(target).code, 1);
  lift_again(dense);
  replace_in(target + "/launches.h", "{BUFFER, 2, 0, 0, 0}", "{BUFFER, 0, 0, 0, 0}");
  EXPECT_TRUE(contains(run_host(target).out, "FAIL"));
  lift_again(dense);
  replace_in(target + "/dense.cl", "__kernel", "__kernel no");
  EXPECT_EQ(run_host(target).code, 2);
  lift_again(dense);
  std::filesystem::remove(target + "/x.npy");
  EXPECT_TRUE(contains(run_host(target).out, "CANNOT RUN: there is no file x.npy"));
  lift_again("transpose shape=3x5 perm=1-0 dtype=f32");
  std::string source = read_file(target + "/src.npy");
  source.back() ^= 1;
  write_file(target + "/src.npy", source);
  EXPECT_EQ(run_host(target).code, 1) << "bit for bit";
}

TEST(lift, the_command_needs_no_device) {
  const TemporaryFolder folder;
  const std::string target = folder.file("lifted");
  const Words none{"CLAM_OPENCL=/dev/null"};
  const test::Finished lifted = test::run_clam({"lift", "dense", "m=8", "n=8", "k=8", "dtype=f16",
                                                "--gpu", "g610", "-o", target, "--json", "-"},
                                               none);
  ASSERT_EQ(lifted.code, 0) << lifted.err;
  const nlohmann::json json = test::parse_out(lifted);
  EXPECT_EQ(json["clam_lift"], 1);
  EXPECT_EQ(json["checks"], true);
  EXPECT_EQ(json["plan"]["launches"][0]["options"], "");
  for (const char* file :
       {"dense.cl", "launches.h", "host.c", "x.npy", "w.npy", "y.expected.npy", "y.bound.npy"}) {
    EXPECT_TRUE(std::filesystem::exists(target + "/" + file)) << file;
  }
  EXPECT_TRUE(contains(read_file(target + "/launches.h"), "enum { PACKS = 1 };"));
  EXPECT_TRUE(contains(read_file(target + "/launches.h"), "{2, {8, 8}, {8, 1}, 0},  // x\n"));
  test::expect_refusal(
      test::run_clam({"lift", "dense m=8 n=8 k=8 dtype=f32", "--generic", "-o", target}), 2,
      "is there already");
  EXPECT_EQ(test::run_clam(
                {"lift", "dense m=8 n=8 k=8 dtype=f32", "--generic", "--force", "-o", target}, none)
                .code,
            0);
  test::expect_refusal(test::run_clam({"lift", "dense m=8 n=8 k=8 dtype=f32", "--generic"}), 2,
                       "Give -o FOLDER");
  test::expect_refusal(test::run_clam({"lift", "dense m=8 n=8 k=8 dtype=f32", "--generic",
                                       "--variant", "no", "-o", folder.file("a")}),
                       2, "dense_packed");
  test::expect_refusal(test::run_clam({"lift", "dense m=8 n=8 k=8 dtype=f32", "--gpu", "g61", "-o",
                                       folder.file("a")}),
                       2, "g610");
  EXPECT_FALSE(std::filesystem::exists(folder.file("a")));
}

TEST(lift, large_tensors_are_left_out) {
  const TemporaryFolder folder;
  const test::Finished lifted = test::run_clam(
      {"lift", "softmax shape=4096x4096 dtype=f32", "--generic", "-o", folder.file("a")});
  EXPECT_EQ(lifted.code, 0);
  EXPECT_TRUE(contains(lifted.err, "host.c checks nothing")) << lifted.err;
  EXPECT_TRUE(contains(read_file(folder.file("a/launches.h")), "OUTPUT, F32, 67108864, 0, 0, 0}"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("a/src.npy")));
}

TEST(lift, a_kernel_file_of_your_own_is_lifted) {
  const TemporaryFolder folder;
  std::string text = KernelFiles().get("softmax.cl").text;
  text.insert(text.find("\n__kernel") + 1, "float own(float x) { return x; }\n");
  write_file(folder.file("softmax.cl"), text);
  const std::vector<std::string> words{
      "lift", "softmax shape=4x8 dtype=f32", "--generic", "--force", "-o", folder.file("a")};
  const Words kernels{"CLAM_KERNEL_DIR=" + folder.path()};
  EXPECT_EQ(test::run_clam(words, kernels).code, 0);
  write_file(folder.file("softmax.cl"), "#if A B\n#endif\n" + text);
  const test::Finished refused = test::run_clam(words, kernels);
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.err, "softmax.cl: '# if A B': it is no condition")) << refused.err;
}

}  // namespace
}  // namespace clam::lift_test
