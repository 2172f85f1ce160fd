// SPDX-License-Identifier: MIT
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "check/compare.hpp"
#include "check/manifest.hpp"
#include "clam/error.hpp"
#include "clam/op.hpp"
#include "mali/compile.hpp"
#include "mali/expectations.hpp"
#include "mali/gate.hpp"
#include "test_errors.hpp"

namespace clam::mali {
namespace {

using Verdict = Judgement::Verdict;

/// A kernel `k` of 100 instructions with one loop of 40 instructions and 24 multiply-adds.
KernelCode code_of(double issued = 100, double loop = 40, double mac = 24, int threads = 2) {
  KernelCode code{{"a.cl", "-DX=1", "k"}, KernelCode::Status::compiled, "", "", {}};
  Shader& shader = code.shader;
  shader.kernel = "k";
  shader.threads = threads;
  shader.whole.issued = issued;
  shader.blocks.resize(3);
  shader.blocks[0].counts.issued = issued - loop;
  shader.blocks[0].next = {1};
  shader.blocks[1].counts.issued = loop;
  shader.blocks[1].counts.mac = mac;
  shader.blocks[1].next = {1, 2};
  shader.loops = {{1, 1, -1}};
  return code;
}

Expectations expectations_of(const std::string& lines) {
  return parse_expectations(lines + "\ngpu g610  Mesa 1\n100 24/40 full - a.cl:k -DX=1\n", "there");
}

Judgement judged(const KernelCode& code, const std::string& lines = "") {
  return judge("g610", "Mesa 1", code, expectations_of(lines));
}

Verdict verdict(const KernelCode& code, const std::string& lines = "") {
  return judged(code, lines).verdict;
}

TEST(mali, figures_are_of_the_hot_loop) {
  const Figures figures = figures_of(code_of().shader);
  EXPECT_EQ(figures.issued, 100);
  EXPECT_EQ(figures.loop_issued, 40);
  EXPECT_EQ(figures.loop_mac, 24);
  EXPECT_TRUE(figures.full_occupancy);
  EXPECT_EQ(figures.loop_cost(), 40.0 / 24);
}

TEST(mali, gate_tells_worse_from_better) {
  EXPECT_EQ(verdict(code_of()), Verdict::as_expected);
  EXPECT_EQ(verdict(code_of(101)), Verdict::worse);
  EXPECT_EQ(verdict(code_of(99)), Verdict::better);
  EXPECT_EQ(verdict(code_of(100, 41)), Verdict::worse);
  EXPECT_EQ(verdict(code_of(100, 40, 23)), Verdict::worse);
  EXPECT_EQ(verdict(code_of(120, 39)), Verdict::better) << "the loop counts before the whole";
  EXPECT_EQ(verdict(code_of(90, 41)), Verdict::worse);
  EXPECT_EQ(verdict(code_of(100, 40, 24, 1), "half k  it pays"), Verdict::worse);
  EXPECT_EQ(judged(code_of(101)).sentence,
            "worse: 101 inst, 24/40 in the loop, full occupancy; it was 100 inst, 24/40 in the "
            "loop, full occupancy");
}

TEST(mali, gate_is_not_fooled_by_a_better_loop_in_a_far_larger_kernel) {
  EXPECT_EQ(verdict(code_of(126, 39)), Verdict::worse);
  EXPECT_EQ(verdict(code_of(6000, 3, 2)), Verdict::worse);
}

/// Unrolled, or rolled: it has to be read and accepted.
TEST(mali, gate_wants_other_code_to_be_looked_at) {
  EXPECT_EQ(verdict(code_of(100, 80, 48)), Verdict::changed);
  EXPECT_EQ(verdict(code_of(100, 40, 0)), Verdict::changed);
  KernelCode unrolled = code_of(60);
  unrolled.shader.loops.clear();
  EXPECT_EQ(verdict(unrolled), Verdict::changed);
  EXPECT_TRUE(judged(unrolled).fails());
}

TEST(mali, gate_forbids_what_no_acceptance_can_allow) {
  KernelCode code = code_of();
  code.shader.spills = 1;
  EXPECT_EQ(verdict(code), Verdict::forbidden);
  code = code_of();
  code.shader.scratch_bytes = 16;
  EXPECT_EQ(verdict(code), Verdict::forbidden);
  EXPECT_EQ(verdict(code_of(100, 40, 24, 1)), Verdict::forbidden);
  EXPECT_EQ(verdict(code_of(100, 40, 24, 1), "half other  it pays"), Verdict::forbidden);
  EXPECT_EQ(verdict(code_of(100, 40, 24, 1), "half t860:k  it pays"), Verdict::forbidden);
  EXPECT_EQ(verdict(code_of(100, 40, 24, 1), "half g610:k  it pays"), Verdict::worse);
  code = code_of();
  code.status = KernelCode::Status::crashed;
  code.reason = "signal 6";
  EXPECT_EQ(verdict(code), Verdict::forbidden);
  EXPECT_EQ(judged(code).sentence, "crashed: signal 6");
}

TEST(mali, gate_knows_what_cannot_be_compiled_and_when_it_can_again) {
  KernelCode code = code_of();
  const std::string line = "cannot g610 k 2026-11-21 aborts";
  EXPECT_EQ(verdict(code, line), Verdict::mended);
  code.status = KernelCode::Status::crashed;
  EXPECT_EQ(verdict(code, line), Verdict::known_failure);
  EXPECT_TRUE(judged(code, line).is_skip());
  EXPECT_EQ(verdict(code, "cannot t860 k 2026-11-21 aborts"), Verdict::forbidden);
  EXPECT_EQ(verdict(code, "cannot g610 k:f16 2026-11-21 aborts"), Verdict::forbidden);
  code.options = "-DCLAM_F16 -DX=1";
  EXPECT_EQ(verdict(code, "cannot g610 k:f16 2026-11-21 aborts"), Verdict::known_failure);
  KernelCode spills = code_of();
  spills.shader.spills = 3;
  EXPECT_EQ(verdict(spills, line), Verdict::known_failure);
}

TEST(mali, gate_wants_a_line_for_every_kernel) {
  KernelCode code = code_of();
  code.options = "-DX=2";
  EXPECT_EQ(verdict(code), Verdict::missing);
  EXPECT_TRUE(judged(code).fails());
  EXPECT_EQ(judge("g52", "Mesa 1", code_of(), expectations_of("")).verdict, Verdict::missing);
}

TEST(mali, figures_of_another_compiler_are_not_judged_but_its_spills_are) {
  const Expectations expectations = expectations_of("");
  const Judgement other = judge("g610", "Mesa 2", code_of(500), expectations);
  EXPECT_EQ(other.verdict, Verdict::unjudged);
  EXPECT_TRUE(other.is_skip());
  KernelCode code = code_of();
  code.shader.fills = 3;
  EXPECT_TRUE(judge("g610", "Mesa 2", code, expectations).fails());
}

TEST(mali, expectations_round_trip) {
  const Expectations first = expectations_of(
      "# a comment\n\nhalf dense_*  sums in registers\ncannot t860 k 2026-11-21 why: it aborts");
  const Expectations again = parse_expectations(to_text(first), "again");
  EXPECT_EQ(to_text(again), to_text(first));
  ASSERT_EQ(again.figures.size(), 1u);
  EXPECT_EQ(again.figures.begin()->first.options, "-DX=1");
  EXPECT_EQ(again.half_reason("g610", "dense_nt")->reason, "sums in registers");
  EXPECT_EQ(again.half_reason("g610", "softmax_row"), nullptr);
  EXPECT_EQ(again.known_failure("t860", code_of())->reason, "why: it aborts");
  EXPECT_EQ(again.compilers.at("g610"), "Mesa 1");
}

TEST(mali, wrong_expectations_say_where) {
  const auto read = [](const std::string& text) { return parse_expectations(text, "there"); };
  EXPECT_THROWS_SAYING(read("100 24/40 full - a.cl:k"), BadArgument,
                       "there:1: figures need a line");
  EXPECT_THROWS_SAYING(read("gpu g M\nx 1/1 full - a.cl:k"), BadArgument, "there:2: ISSUED needs");
  EXPECT_THROWS_SAYING(read("gpu g M\n1 11 full - a.cl:k"), BadArgument, "a / between");
  EXPECT_THROWS_SAYING(read("gpu g M\n1 1/1 most - a.cl:k"), BadArgument, "full or half");
  EXPECT_THROWS_SAYING(read("gpu g M\n1 1/1 full - k"), BadArgument, "colon");
  EXPECT_THROWS_SAYING(read("gpu g M\n1 1/1 full - a:k\n1 1/1 full - a:k"), BadArgument, "twice");
  EXPECT_THROWS_SAYING(read("half k"), BadArgument, "reason is missing");
  EXPECT_THROWS_SAYING(read("cannot g610"), BadArgument, "KERNEL is missing");
  EXPECT_THROWS_SAYING(read("gpu g610"), BadArgument, "compiler's version is missing");
  EXPECT_THROWS_SAYING(read("gpu"), BadArgument, "NAME is missing");
  EXPECT_THROWS_SAYING(read("gpu g M\n99999999999999999999 1/1 full - a:k"), BadArgument,
                       "whole number");
}

/// Forty kernels, of which `expected` gives the line's occupancy and fingerprint.
int count_compiled(const std::function<std::string(int)>& expected, const std::string& lines = "") {
  std::string text = lines + "\ngpu g610  Mesa 1\n";
  std::vector<KernelId> kernels;
  for (int i = 0; i < 40; ++i) {
    kernels.push_back({"a.cl", fmt::format("-DX={}", i), "k"});
    text += fmt::format("100 24/40 {} a.cl:k -DX={}\n", expected(i), i);
  }
  const std::vector<KernelId> left_out =
      leave_out_unchanged(kernels, parse_expectations(text, "there"), "g610",
                          [](const KernelId& kernel) { return "of" + kernel.options; });
  std::set<std::string> all;
  for (const std::vector<KernelId>& part : {left_out, kernels}) {
    for (const KernelId& kernel : part) EXPECT_TRUE(all.insert(kernel.options).second);
  }
  EXPECT_EQ(all.size(), 40u);
  return static_cast<int>(kernels.size());
}

TEST(mali, gate_of_changed_kernels_leaves_out_most_of_those_with_their_fingerprint) {
  const auto same = [](int i) { return fmt::format("full of-DX={}", i); };
  EXPECT_GE(count_compiled(same), 1) << "a sample is compiled";
  EXPECT_LE(count_compiled(same), 12);
  int more = 0;  // one that changed is compiled, whether the sample has it or not
  for (int changed = 0; changed < 40; ++changed) {
    const auto one = [&](int i) { return i == changed ? "full of-DX=" : same(i); };
    more += count_compiled(one) - count_compiled(same);
  }
  EXPECT_EQ(more, 40 - count_compiled(same));
  EXPECT_EQ(count_compiled([](int) { return "full -"; }), 40);
  const auto half = [](int i) { return fmt::format("half of-DX={}", i); };
  EXPECT_EQ(count_compiled(half), 40) << "no line says why";
  EXPECT_LE(count_compiled(half, "half k  it pays"), 12);
}

TEST(mali, gate_sees_every_kernel_of_every_op) {
  std::set<std::string> all;
  for (const std::string& file : embedded_files()) {
    for (const KernelTags& kernel : read_tags(KernelFiles().get(file)).kernels) {
      all.insert(kernel.name);
    }
  }
  for (const char* gpu : {"g610", "g52"}) {
    std::set<std::string> seen;
    for (const KernelId& each : kernels_of(gate_plans(find_gpu(gpu)))) seen.insert(each.kernel);
    EXPECT_EQ(seen, all) << gpu;
  }
}

/// Each kernel with its dtype and, where its options name one, its accumulator.
std::multiset<std::string> typed_kernels(const std::vector<Plan>& plans) {
  std::multiset<std::string> kernels;
  for (const KernelId& each : kernels_of(plans)) {
    const std::string& options = each.options;
    std::string type = options.find("-DCLAM_F16") == options.npos ? " f32" : " f16";
    const std::size_t acc = options.find("_ACC=");
    if (acc != options.npos) type += options.substr(acc, 6);
    kernels.insert(each.kernel + type);
  }
  return kernels;
}

TEST(mali, gate_sees_every_kernel_with_once_and_compiles_less_than_half) {
  const Gpu& gpu = find_gpu("g610");
  const auto all = typed_kernels(gate_plans(gpu)), once = typed_kernels(once_plans(gpu));
  EXPECT_EQ(std::set<std::string>(once.begin(), once.end()),
            std::set<std::string>(all.begin(), all.end()));
  EXPECT_LT(2 * once.size(), all.size());
}

/// A kernel at a size and with an accumulator that a board would run.
TEST(mali, gate_sees_the_large_tiles_of_each_accumulator) {
  const std::vector<KernelId> kernels = kernels_of(gate_plans(find_gpu("g610")));
  const auto is_seen = [&](const std::string& kernel, const std::string& option,
                           const std::string& small_tile) {
    return std::any_of(kernels.begin(), kernels.end(), [&](const KernelId& each) {
      return each.kernel == kernel && each.options.find(option) != each.options.npos &&
             (small_tile.empty() || each.options.find(small_tile) == each.options.npos);
    });
  };
  for (const char* acc : {"-DDENSE_ACC=1", "-DDENSE_ACC=2"}) {
    EXPECT_TRUE(is_seen("dense_packed", acc, "-DDENSE_M0=1 ")) << acc;
  }
  for (const char* kernel : {"batch_matmul_nt", "batch_matmul_nn", "batch_matmul_tn"}) {
    for (const char* acc : {"-DBMM_ACC=1", "-DBMM_ACC=2"}) {
      EXPECT_TRUE(is_seen(kernel, acc, "-DBMM_M0=1 ")) << kernel << " " << acc;
    }
  }
  EXPECT_TRUE(is_seen("conv2d_product", "-DCONV2D_ACC=2", ""));
  for (const char* kernel : {"conv2d_3x3", "conv2d_depthwise", "conv2d_nhwc"}) {
    EXPECT_TRUE(is_seen(kernel, "-DCONV2D_CHUNK=", "")) << kernel;
  }
}

/// Rows of no whole vectors have code of their own, at the same tiles.
TEST(mali, gate_sees_large_tiles_of_rows_that_are_not_whole) {
  const std::vector<KernelId> kernels = kernels_of(gate_plans(find_gpu("g610")));
  const auto is_seen = [&](const std::string& kernel, bool half) {
    return std::any_of(kernels.begin(), kernels.end(), [&](const KernelId& each) {
      const auto has = [&](const char* option) {
        return each.options.find(option) != each.options.npos;
      };
      return each.kernel == kernel && has("CLAM_F16") == half && !has("_WHOLE=1") &&
             !has("_M0=1 ") && !has("_M0=2 ");
    });
  };
  for (const char* kernel : {"dense_packed", "dense_both_packed", "batch_matmul_nt",
                             "batch_matmul_nn", "batch_matmul_tn"}) {
    for (const bool half : {false, true}) EXPECT_TRUE(is_seen(kernel, half)) << kernel << half;
  }
}

TEST(mali, gate_sees_few_kernels_of_most_gpus) {
  for (const Gpu* gpu : gate_gpus()) {
    const std::string key = gpu->key;
    int kernels = 0;
    std::set<std::string> names;
    for (const KernelId& each : kernels_of(gate_plans(*gpu))) {
      ++kernels;
      names.insert(each.kernel);
    }
    if (key == "g610" || key == "g52") continue;
    EXPECT_LE(kernels, kFewKernels) << key;
    EXPECT_GE(kernels, 10) << key;
    if (gpu->family == Gpu::Family::midgard) {
      EXPECT_EQ(names.count("conv2d_3x3"), 0u);
      EXPECT_EQ(names.count("conv2d_product"), 1u);
    }
    const bool is_midgard = gpu->family == Gpu::Family::midgard;
    EXPECT_EQ(names.count(is_midgard ? "nms_walk" : "dense_packed"), 1u) << key;
  }
}

}  // namespace
}  // namespace clam::mali
