// SPDX-License-Identifier: MIT
// cli_bisect_test.cpp - `clam bisect`, and what `clam verify` says of the same graph.
#include "misled_graph.hpp"
#include "run_clam.hpp"
#include "tiny_graph.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

/// The misled graph in a folder, and runs of clam on it.
class cli_bisect : public testing::Test {
 protected:
  void SetUp() override { write_file(folder_.file("misled.json"), misled_graph().dump()); }

  Finished run(const std::string& command, std::vector<std::string> words = {},
               const TemporaryFolder* kernels = nullptr) const {
    words.insert(words.begin(), {command, "--workload", folder_.file("misled.json")});
    std::vector<std::string> environment;
    if (kernels) environment = {"CLAM_KERNEL_DIR=" + kernels->path(), "CLAM_CACHE_DIR=off"};
    return run_clam(words, environment);
  }

  TemporaryFolder folder_;
};

TEST_F(cli_bisect, names_the_wrong_node) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_unary_exp(kernels);
  const Finished finished = run("bisect", {}, &kernels);
  EXPECT_EQ(finished.code, 1) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "\nCONST ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "\nnode 'exp' is wrong: unary op=exp shape=1x4x31x31 "))
      << finished.out;
  EXPECT_TRUE(contains(finished.out,
                       "exp alone, on right inputs, 20 times: 20 wrong, 1 different result\n"))
      << finished.out;
  EXPECT_TRUE(contains(finished.out, "No other node is wrong.\n")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "--mode chained --seed 1 --on-cpu exp --device"))
      << finished.out;
}

/// The lesson of the report: what the guilty node feeds has the low cosine.
TEST_F(cli_bisect, verify_shows_the_pool_with_the_low_cosine_as_innocent) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_unary_exp(kernels);
  const json report = parse_out(run("verify", {"--mode", "chained", "--json", "-"}, &kernels));
  std::string failed;
  for (const json& node : report["graph"]["nodes"]) {
    if (node["status"] != "pass") failed += node["node"].get<std::string>();
    if (node["node"] != "pool") continue;
    EXPECT_LT(node["chain"]["y"]["cosine"], 0.95);
    EXPECT_GT(node["own"]["y"]["cosine"], 0.999999);
  }
  EXPECT_EQ(failed, "exp");
  const Finished text = run("verify", {"--mode", "chained"}, &kernels);
  EXPECT_TRUE(contains(text.out, " chain cos ")) << text.out;
  const Finished without = run("verify", {"--mode", "chained", "--on-cpu", "exp"}, &kernels);
  EXPECT_EQ(without.code, 0) << without.out;
}

TEST_F(cli_bisect, has_everything_as_json) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_unary_exp(kernels);
  const json report = parse_out(run("bisect", {"--runs", "3", "--json", "-"}, &kernels));
  EXPECT_EQ(report["clam_bisect"], 1);
  const json& culprit = report["culprit"];
  EXPECT_EQ(culprit["node"], "exp");
  EXPECT_EQ(culprit["variant"], "unary_vector");
  EXPECT_EQ(culprit["wrong"], 3);
  EXPECT_EQ(culprit["deterministic"], true);
  EXPECT_EQ(culprit["attempts"].size(), 2u);
  EXPECT_EQ(culprit["attempts"][0]["outcome"], "wrong");
  EXPECT_EQ(report["graph"]["nodes"].size(), 4u);
  EXPECT_TRUE(contains(report["next"], "--on-cpu exp")) << report["next"];
}

TEST_F(cli_bisect, records_the_guilty_node_on_its_own_inputs) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_unary_exp(kernels);
  const std::string bundles = folder_.file("bundles");
  const Finished finished = run("bisect", {"--runs", "2", "--record-failures", bundles}, &kernels);
  EXPECT_EQ(finished.code, 1) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "recorded in " + bundles + "/unary-")) << finished.out;
  EXPECT_TRUE(contains(finished.out, ": wrong: ")) << finished.out;
  EXPECT_EQ(run_clam({"replay", "--all", bundles}).code, 1);
}

TEST_F(cli_bisect, innocent_graphs_are_tried_as_a_chain_too) {
  CLAM_NEEDS_DEVICE();
  const Finished finished = run("bisect");
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "graph, isolated")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "graph, chained")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "no node is wrong")) << finished.out;
  const json report = parse_out(run("bisect", {"--json", "-"}));
  EXPECT_TRUE(report["culprit"].is_null());
}

TEST_F(cli_bisect, what_has_no_graph_is_refused) {
  expect_refusal(run_clam({"bisect"}), 2, "bisect what? Give --workload NAME");
  expect_refusal(run_clam({"bisect", "--workload", "dcmt"}), 2,
                 "bisect needs a graph, but no node of dcmt names its tensors");
  expect_refusal(run("bisect", {"--set", "n"}), 2, "--set n: write NAME=WHOLE_NUMBER");
  expect_refusal(run("bisect", {"--set", "n=4"}), 2, "'n' is no parameter; there is none");
  expect_refusal(run("bisect", {"--dtype", "f64"}), 2, "f64");
}

TEST_F(cli_bisect, what_the_device_lacks_is_a_skip) {
  CLAM_NEEDS_DEVICE();
  if (runtime().device().fp16) GTEST_SKIP() << "this device has f16";
  const Finished finished = run("bisect", {"--dtype", "f16"});
  EXPECT_EQ(finished.code, 77) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "misled: node 'regress': ")) << finished.out;
}

}  // namespace
}  // namespace clam::test
