// SPDX-License-Identifier: MIT
// cli_graph_test.cpp - `clam verify` of a workload that is a graph: its lines, its options, its
// files, and what it refuses.
#include <filesystem>

#include "check/npy.hpp"
#include "run_clam.hpp"
#include "tiny_graph.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

/// The tiny graph in a folder, and runs of clam on it.
class cli_graph : public testing::Test {
 protected:
  void SetUp() override { write_file(folder_.file("tiny.json"), tiny_graph().dump()); }

  Finished verify(std::vector<std::string> words, const TemporaryFolder* kernels = nullptr) const {
    words.insert(words.begin(), {"verify", "--workload", folder_.file("tiny.json")});
    std::vector<std::string> environment;
    if (kernels) environment = {"CLAM_KERNEL_DIR=" + kernels->path(), "CLAM_CACHE_DIR=off"};
    return run_clam(words, environment);
  }

  json nodes(std::vector<std::string> words, const TemporaryFolder* kernels = nullptr) const {
    words.insert(words.end(), {"--json", "-"});
    const json report = parse_out(verify(words, kernels));
    json by_name;
    for (const json& node : report.at("graph").at("nodes")) {
      by_name[node.at("node").get<std::string>()] = node;
    }
    return by_name;
  }

  TemporaryFolder folder_;
};

TEST_F(cli_graph, a_line_a_node_in_both_modes) {
  CLAM_NEEDS_DEVICE();
  for (const char* mode : {"isolated", "chained"}) {
    const Finished finished = verify({"--mode", mode});
    EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
    EXPECT_TRUE(contains(finished.out, std::string("graph, ") + mode)) << finished.out;
    EXPECT_TRUE(contains(finished.out, "3 passed, 0 failed, 0 skipped\n")) << finished.out;
    EXPECT_TRUE(contains(finished.out, "softmax shape=4x6x40 dtype=f32\n")) << finished.out;
  }
  const json isolated = nodes({});
  EXPECT_EQ(isolated["project"]["status"], "pass");
  EXPECT_LT(isolated["project"]["own"]["y"]["worst_ratio"], 1);
  EXPECT_GT(isolated["project"]["ms"], 0);
  EXPECT_FALSE(isolated["project"].contains("chain_rms"));
  EXPECT_LT(nodes({"--mode", "chained"})["distance"]["chain_rms"], 1e-5);
  const Finished chained = verify({"--mode", "chained"});
  EXPECT_TRUE(contains(chained.out, "as a whole: ")) << chained.out;
  EXPECT_TRUE(contains(chained.out, " launches; 3 tensors share 2 buffers")) << chained.out;
  EXPECT_TRUE(contains(chained.out, "; outputs the same, bit for bit\n")) << chained.out;
  const json whole =
      parse_out(verify({"--mode", "chained", "--json", "-"})).at("graph").at("as_a_whole");
  EXPECT_TRUE(whole.at("same_bits").get<bool>());
  EXPECT_LT(whole.at("shared_bytes"), whole.at("apart_bytes"));
}

TEST_F(cli_graph, nodes_that_stand_alone_are_checked_as_ever) {
  CLAM_NEEDS_DEVICE();
  json workload = tiny_graph();
  workload["nodes"].push_back({{"name", "boxes"}, {"what", "alone"}, {"problem", kCounts}});
  write_file(folder_.file("tiny.json"), workload.dump());
  const Finished both = verify({});
  EXPECT_EQ(both.code, 0) << both.out << both.err;
  EXPECT_TRUE(contains(both.out, "4 passed, 0 failed, 0 skipped\n")) << both.out;
  EXPECT_TRUE(contains(verify({"--mode", "isolated"}).out, "3 passed, 0 failed, 0 skipped\n"));
  const Finished alone = verify({"--variant", "all"});
  EXPECT_FALSE(contains(alone.out, "graph")) << "a variant is of problems: " << alone.out;
  EXPECT_TRUE(contains(alone.out, "(project)")) << alone.out;
}

TEST_F(cli_graph, a_parameter_is_set) {
  CLAM_NEEDS_DEVICE();
  EXPECT_EQ(nodes({"--set", "rows=5"})["softmax"]["problem"], "softmax shape=4x5x40 dtype=f32");
  expect_refusal(verify({"--set", "cols=5"}), 2, "'cols' is no parameter; there is rows");
  expect_refusal(verify({"--set", "rows=many"}), 2, "--set rows=many: write NAME=WHOLE_NUMBER");
  expect_refusal(verify({"--set", "rows=0"}), 2, "rows = 0, needs at least 1");
  expect_refusal(run_clam({"verify", kCounts, "--set", "n=5"}), 2, "goes with --workload");
}

TEST_F(cli_graph, a_broken_kernel_is_shown_guilty_and_innocent) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_softmax(kernels);
  const Finished guilty = verify({"--mode", "chained"}, &kernels);
  EXPECT_EQ(guilty.code, 1) << guilty.out << guilty.err;
  EXPECT_TRUE(contains(guilty.out, "2 passed, 1 failed, 0 skipped\n")) << guilty.out;
  EXPECT_TRUE(contains(guilty.out, "! a cosine above .99")) << guilty.out;
  EXPECT_TRUE(contains(guilty.out, "--mode chained --seed 1 --device")) << guilty.out;
  const Finished without = verify({"--mode", "chained", "--on-cpu", "softmax"}, &kernels);
  EXPECT_EQ(without.code, 0) << without.out << without.err;
  EXPECT_TRUE(contains(without.out, "2 passed, 0 failed, 0 skipped, 1 on the CPU\n"));
  const json innocent = nodes({"--mode", "chained", "--on-cpu", "project,distance"}, &kernels);
  EXPECT_EQ(innocent["softmax"]["status"], "FAIL");
  EXPECT_EQ(innocent["project"]["status"], "on cpu");
}

TEST_F(cli_graph, a_constant_output_is_a_verdict_of_its_own) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_exp(kernels);
  const Finished finished = verify({}, &kernels);
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(contains(finished.out, "\nCONST ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "  y: two inputs, one output")) << finished.out;
  const json node = nodes({}, &kernels)["distance"];
  EXPECT_EQ(node["status"], "CONST");
  EXPECT_EQ(node["two_inputs_one_output"], true);
}

TEST_F(cli_graph, a_half_accumulator_is_reported_beside_its_fine_cosine) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_sums(kernels);
  const json verdict = nodes({}, &kernels)["project"]["own"]["y"];
  EXPECT_EQ(verdict["pass"], false);
  EXPECT_GT(verdict["cosine"], 0.9999);
}

TEST_F(cli_graph, what_the_device_lacks_is_a_skip_with_the_nodes_name) {
  CLAM_NEEDS_DEVICE();
  if (runtime().device().fp16) GTEST_SKIP() << "this device has f16";
  const Finished finished = verify({"--dtype", "f16"});
  EXPECT_EQ(finished.code, 77) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "tiny: node 'project': ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "0 passed, 0 failed, 3 skipped\n")) << finished.out;
}

// ---- files ----

TEST_F(cli_graph, tensors_are_dumped_and_read_again) {
  CLAM_NEEDS_DEVICE();
  const std::string dump = folder_.file("dump");
  EXPECT_EQ(verify({"--mode", "chained", "--seed", "7", "--dump", dump}).code, 0);
  EXPECT_EQ(read_npy(dump + "/scores.npy").shape(), (Shape{4, 6, 40})) << "a view";
  EXPECT_TRUE(std::filesystem::exists(dump + "/distances.reference.npy"));
  EXPECT_FALSE(std::filesystem::exists(dump + "/x.reference.npy")) << "an input is what it is";
  const std::string again = folder_.file("again");
  EXPECT_EQ(verify({"--mode", "chained", "--tensors", dump, "--dump", again}).code, 0);
  EXPECT_TRUE(read_npy(dump + "/distances.npy") == read_npy(again + "/distances.npy"));
  std::filesystem::remove(dump + "/w2.npy");
  write_npy(dump + "/x.npy", HostTensor(Dtype::f16, {24, 512}));
  expect_refusal(verify({"--tensors", dump}), 2,
                 "tiny: node 'project': its tensor 'x' is f32[24x512], ");
  expect_refusal(verify({"--dump", "/dev/null/d"}), 2, "cannot write /dev/null/d");
}

TEST_F(cli_graph, options_without_a_graph_are_refused) {
  expect_refusal(verify({"--mode", "linked"}), 2, "--mode is 'linked'; it may be isolated or");
  expect_refusal(verify({"--on-cpu", "exp"}), 2, "tiny: no node 'exp' in the graph; it has");
  expect_refusal(verify({"--mode", "chained", "--set", "exact"}), 2, "--mode needs the graph");
  expect_refusal(run_clam({"verify", kCounts, "--mode", "chained"}), 2, "--mode needs the graph");
  expect_refusal(run_clam({"verify", "--workload", "dcmt", "--dump", "d"}), 2, "--dump needs the");
  expect_refusal(run_clam({"verify", "--workload", "dcmt", "--mode", "chained"}), 2, "needs the");
}

TEST_F(cli_graph, a_graph_that_does_not_fit_together_is_one_sentence) {
  json workload = tiny_graph();
  workload["nodes"][2]["inputs"]["x"] = "distances";
  workload["tensors"].erase("x");
  write_file(folder_.file("tiny.json"), workload.dump());
  expect_refusal(verify({}), 2, "which waits for it: a cycle");
}

}  // namespace
}  // namespace clam::test
