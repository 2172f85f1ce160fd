// SPDX-License-Identifier: MIT
// clam-bench-peers as a person runs it: every routine of a peer on lines that would show a wrong
// stride, the means, and what it says when something is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

constexpr const char* kDense = "dense m=33 n=20 k=48 dtype=f32 bias alpha=0.5 act=relu";
constexpr const char* kBareDense = "dense m=33 n=20 k=48 dtype=f32 alpha=0.5";
constexpr const char* kDepthwise = "conv2d c=4 h=8 w=8 k=4 r=3 dtype=f32 groups=4";

#ifdef CLAM_PEERS_BINARY
#define CLAM_NEEDS_PEERS() static_assert(true, "")
const char* const kBinary = CLAM_PEERS_BINARY;
#else
#define CLAM_NEEDS_PEERS() GTEST_SKIP() << "CLBlast is not here (tools/setup peers)"
const char* const kBinary = "";
#endif

Finished run_peers(std::vector<std::string> words,
                   const std::vector<std::string>& environment = {}) {
  words.insert(words.begin(), kBinary);
  return run_command(words, environment);
}

/// A turn of each on the lines; the document that it wrote.
json measure(const std::vector<std::string>& lines, const TemporaryFolder& folder) {
  const std::string file = folder.file("peers.json");
  std::vector<std::string> words = {"--turns", "1", "--json", file};
  for (const std::string& line : lines) words.insert(words.end(), {"--problem", line});
  const Finished done = run_peers(words);
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  return done.code == 0 ? json::parse(read_file(file)) : json();
}

// Each turn is checked in full, so a stride, a transpose or a factor that went wrong would show.
TEST(bench_peers_device, every_routine_reaches_the_reference) {
  CLAM_NEEDS_PEERS();
  CLAM_NEEDS_DEVICE();
  const std::vector<std::pair<std::string, const char*>> lines = {
      {kBareDense, "Gemm"},
      {"dense m=17 n=12 k=32 dtype=f32 trans_w=0 ldx=40 offx=4 ldy=16 offy=2", "Gemm"},
      {"batch_matmul m=9 n=8 k=16 dtype=f32 ta=1 tb=1 scale=2", "Gemm"},
      {"batch_matmul batch=3 m=9 n=8 k=16 dtype=f32 tb=1 lda=20 stridea=200 offb=4 ldc=12",
       "GemmStridedBatched"},
      {"batch_matmul batch=3 batch_b=1 m=9 n=8 k=16 dtype=f32", "GemmStridedBatched"},
      {"conv2d c=8 h=6 w=5 k=7 r=1 dtype=f32", "Gemm"},
      {"conv2d n=2 c=8 h=6 w=5 k=7 r=1 dtype=f32", "GemmStridedBatched"},
      {"conv2d n=2 c=5 h=9 w=8 k=6 r=3 s=2 dtype=f32 stride_h=2 pad_t=1 pad_b=1 dilation_w=2",
       "Convgemm"}};
  std::vector<std::string> problems;
  for (const auto& [line, routine] : lines) problems.push_back(line);
  const TemporaryFolder folder;
  const json document = measure(problems, folder);
  ASSERT_EQ(document.at("rows").size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const json& row = document.at("rows").at(i);
    SCOPED_TRACE(row.dump());
    ASSERT_EQ(row.at("outcome"), "fine");
    EXPECT_EQ(row.at("clblast").at("routine"), lines[i].second);
    EXPECT_GT(row.at("clblast").at("over_clam").get<double>(), 0);
    const bool product = lines[i].second != std::string("Convgemm");
    EXPECT_EQ(row.contains("openblas"), product && document.contains("openblas"));
  }
}

// clam takes Winograd here, whose own bound is under that of 4608 products in a row.
TEST(bench_peers_device, others_are_held_against_the_bound_of_a_plain_sum) {
  CLAM_NEEDS_PEERS();
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const json document = measure({"conv2d c=512 h=7 w=7 k=512 r=3 dtype=f32 pad=1"}, folder);
  const json& row = document.at("rows").at(0);
  EXPECT_EQ(row.at("outcome"), "fine") << row;
  EXPECT_EQ(row.at("variant"), "conv2d_winograd") << row;
}

TEST(bench_peers_device, means_and_the_least_are_those_of_the_rows) {
  CLAM_NEEDS_PEERS();
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const json document = measure({kBareDense, "dense m=16 n=16 k=16 dtype=f32", kDepthwise}, folder);
  const json& rows = document.at("rows");
  const double first = rows.at(0).at("clblast").at("over_clam");
  const double second = rows.at(1).at("clblast").at("over_clam");
  for (const char* group : {"dense", "all"}) {
    const json& mean = document.at("over_clam").at("clblast").at(group);
    EXPECT_EQ(mean.at("count"), 2) << "what has no peer is not counted";
    EXPECT_NEAR(mean.at("geometric_mean"), std::sqrt(first * second), 1e-9 * (first + second));
    EXPECT_EQ(mean.at("least").get<double>(), std::min(first, second));
    EXPECT_EQ(mean.at("least_node"), rows.at(first < second ? 0 : 1).at("problem"));
    EXPECT_EQ(mean.at("below_one"), int{first < 1} + int{second < 1});
  }
}

TEST(bench_peers_device, both_sides_do_without_bias_and_activation) {
  CLAM_NEEDS_PEERS();
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const json document = measure({kDense, kBareDense}, folder);
  ASSERT_EQ(document.at("rows").size(), 1u) << "bare, the two are one problem";
  EXPECT_EQ(document.at("rows").at(0).at("problem"), kBareDense);
}

TEST(bench_peers_device, a_wrong_kernel_is_an_invalid_row_that_names_the_side) {
  CLAM_NEEDS_PEERS();
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  break_kernel(folder, "dense.cl", "fma((float4)(out.factor), sum, z)", "2.0f * sum");
  const std::string file = folder.file("peers.json");
  const Finished done = run_peers({"--turns", "1", "--problem", kBareDense, "--json", file},
                                  {"CLAM_KERNEL_DIR=" + folder.path()});
  EXPECT_EQ(done.code, 1) << done.out << done.err;
  EXPECT_NE(done.out.find("INVALID: dense"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find(": clam: "), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("0 compared, 0 without a peer, 0 skipped, 1 failed"), std::string::npos);
  const json document = json::parse(read_file(file));
  EXPECT_EQ(document.at("rows").at(0).at("outcome"), "check failed");
  EXPECT_TRUE(document.at("over_clam").at("clblast").empty());
}

// The trees have a root alone, a clipped node on each level, none clipped.
TEST(bench_peers_device, the_tail_is_held_against_its_yardsticks) {
  CLAM_NEEDS_PEERS();
  CLAM_NEEDS_DEVICE();
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"get_valid_counts n=1 dtype=f32", "a tree, 5 launches"},
      {"get_valid_counts batch=2 n=517 e=7 dtype=f32 id_index=6 score_index=2",
       "a tree, 25 launches"},
      {"get_valid_counts n=2048 dtype=f32 id_index=-1", "a tree, 27 launches"}};
  const TemporaryFolder folder;
  const json document = measure({lines[0].first, lines[1].first, lines[2].first,
                                 "nms n=300 dtype=f32 iou_threshold=0.45 top_k=40"},
                                folder);
  ASSERT_EQ(document.at("rows").size(), 10u) << "three data sets, and one";
  for (std::size_t i = 0; i < 10; ++i) {
    const json& row = document.at("rows").at(i);
    SCOPED_TRACE(row.dump());
    ASSERT_EQ(row.at("outcome"), "fine");
    const json& floor = row.at("floor");
    EXPECT_EQ(floor.at("bar"), i < 9 ? 2 : 3);
    EXPECT_NEAR(floor.at("clam_over").get<double>() * floor.at("over_clam").get<double>(), 1, 1e-6);
    EXPECT_EQ(row.contains("scan_form"), i < 9);
    if (i < 9) {
      EXPECT_EQ(row.at("scan_form").at("about"), lines[i / 3].second);
    }
  }
  EXPECT_TRUE(document.at("over_clam").at("clblast").empty()) << "they are in no mean";
}

TEST(bench_peers_device, a_wrong_form_is_an_invalid_row_that_names_it) {
  CLAM_NEEDS_PEERS();
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string from = "sums[last] += left;";
  std::string text = read_file(CLAM_SOURCE_DIR "/bench/peers/scan_form.cl");
  ASSERT_NE(text.find(from), text.npos);
  write_file(folder.file("scan_form.cl"), text.erase(text.find(from), from.size()));
  const Finished done = run_peers(
      {"--turns", "1", "--problem", "get_valid_counts n=9 dtype=f32", "--forms", folder.path()});
  EXPECT_EQ(done.code, 1) << done.out << done.err;
  EXPECT_NE(done.out.find("INVALID: get_valid_counts"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find(": scan_form: "), std::string::npos) << done.out;
}

TEST(bench_peers_device, nothing_to_compare_is_77_with_reasons) {
  CLAM_NEEDS_PEERS();
  CLAM_NEEDS_DEVICE();
  const Finished done =
      run_peers({"--problem", kDepthwise, "--problem", "softmax shape=4x8 dtype=f32"});
  EXPECT_EQ(done.code, 77) << done.err;
  EXPECT_NE(done.out.find("CLBlast has no depthwise or grouped convolution"), std::string::npos);
  EXPECT_NE(done.out.find("CLBlast has no softmax"), std::string::npos) << done.out;
}

TEST(bench_peers, list_needs_no_device_and_has_each_large_node_once) {
  CLAM_NEEDS_PEERS();
  const TemporaryFolder empty;
  const Finished done = run_peers({"--list"}, {"OCL_ICD_VENDORS=" + empty.path()});
  ASSERT_EQ(done.code, 0) << done.err;
  for (const char* line : {"lightglue-192/dense_3 ", "dense m=192 n=512 k=512 dtype=f32\n",
                           "ssd512-mobilenet1.0-voc/dw1 ", "no peer: CLBlast has no depthwise"}) {
    EXPECT_NE(done.out.find(line), std::string::npos) << line;
  }
  EXPECT_EQ(done.out.find("dense m=192 n=32 k=2 "), std::string::npos) << "that is 0.02 MFLOP";
  const std::string twice = "dense m=192 n=256 k=512 dtype=f32\n";
  EXPECT_EQ(done.out.find(twice), done.out.rfind(twice));
}

TEST(bench_peers, a_pattern_picks_nodes) {
  CLAM_NEEDS_PEERS();
  const Finished done = run_peers({"--list", "--node", "lightglue*/batch_matmul"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(std::count(done.out.begin(), done.out.end(), '\n'), 1) << done.out;
  EXPECT_NE(done.out.find("batch=4 m=192 n=192 k=64"), std::string::npos) << done.out;
}

TEST(bench_peers, wrong_input_is_2_with_a_sentence) {
  CLAM_NEEDS_PEERS();
  const struct {
    std::vector<std::string> words;
    const char* sentence;
  } cases[] = {
      {{"--workload", "lightglue"}, "unknown workload 'lightglue'"},
      {{"--problem", "dense m=1 n=1"}, "clam-bench-peers: dense: "},
      {{"--node", "nothing*"}, "no node of at least 1 MFLOP, nor of the tail, fits 'nothing*'"},
      {{"--problem", kDense, "--json", "/nowhere/out.json"}, "there is no folder /nowhere"},
      {{"--turns", "0"}, "--turns"},
      {{"--forms", "/nowhere"}, "--forms"},
      {{"--fast"}, "--fast"},
  };
  for (const auto& each : cases) {
    const Finished done = run_peers(each.words);
    EXPECT_EQ(done.code, 2) << each.sentence;
    EXPECT_NE(done.err.find(each.sentence), std::string::npos) << done.err;
    EXPECT_EQ(done.out, "");
  }
}

TEST(bench_peers, no_device_is_77) {
  CLAM_NEEDS_PEERS();
  const TemporaryFolder empty;
  const Finished done = run_peers({"--problem", kDense}, {"OCL_ICD_VENDORS=" + empty.path()});
  EXPECT_EQ(done.code, 77);
  EXPECT_NE(done.err.find("no OpenCL device"), std::string::npos) << done.err;
}

}  // namespace
}  // namespace clam::test
