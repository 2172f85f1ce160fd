// SPDX-License-Identifier: MIT
// bisect_test.cpp - kernels broken on purpose in a graph: the guilty node is named, and how far its
// guilt goes; those that it feeds are not.
#include "check/bisect.hpp"

#include <gtest/gtest.h>

#include "misled_graph.hpp"
#include "test_errors.hpp"
#include "tests/ops/op_device.hpp"
#include "tiny_graph.hpp"

namespace clam {
namespace {

using Outcome = Attempt::Outcome;

Graph graph_of(const nlohmann::json& workload, const std::string& dtype = "f32") {
  return make_graph(parse_workload(workload.dump(), "graph.json"), dtype);
}

GraphRun isolated(Runtime& runtime, const Graph& graph) {
  return verify_isolated(runtime, graph, graph_inputs(graph, 1), graph_inputs(graph, 2));
}

std::optional<Culprit> culprit_of(Runtime& runtime, const Graph& graph, int runs = 20) {
  return find_culprit(runtime, graph, isolated(runtime, graph), runs);
}

/// Variants with this outcome, in the dtype.
std::string variants(const Culprit& culprit, Dtype dtype, Outcome outcome) {
  std::string names;
  for (const Attempt& each : culprit.attempts) {
    if (each.dtype != dtype || each.outcome != outcome) continue;
    names += (names.empty() ? "" : " ") + each.variant;
  }
  return names;
}

// ---- words ----

Culprit example() {
  Culprit culprit;
  culprit.node = "exp";
  culprit.problem = "unary op=exp shape=4 dtype=f32";
  culprit.variant = "unary_vector";
  culprit.runs = culprit.wrong = 20;
  culprit.distinct = 1;
  culprit.attempts = {{Dtype::f32, "unary_vector", Outcome::wrong, "", 9},
                      {Dtype::f16, "unary_vector", Outcome::refused, "no f16", 0}};
  return culprit;
}

TEST(bisect, a_verdict_names_the_node_and_what_it_does_alone) {
  Culprit culprit = example();
  EXPECT_EQ(culprit.sentence(),
            "node 'exp' is wrong: unary op=exp shape=4 dtype=f32 by unary_vector fails on right "
            "inputs. Run alone it is wrong 20 times of 20, with the same bits every time; in f32 "
            "the only variant is wrong; f16 cannot be tried here. No other node is wrong.");
  culprit.wrong = 7;
  culprit.distinct = 3;
  culprit.also = {"nms", "pool"};
  culprit.attempts = {{Dtype::f32, "a", Outcome::wrong, "", 9},
                      {Dtype::f32, "b", Outcome::wrong, "", 9},
                      {Dtype::f16, "a", Outcome::right, "", 0.5}};
  EXPECT_EQ(culprit.sentence(),
            "node 'exp' is wrong: unary op=exp shape=4 dtype=f32 by unary_vector fails on right "
            "inputs. Run alone it is wrong 7 times of 20, with 3 different results; in f32 all 2 "
            "variants are wrong; in f16 every variant is right. Also wrong: nms pool");
}

TEST(bisect, a_node_that_is_wrong_in_the_chain_alone_is_said_to_be) {
  Culprit culprit = example();
  culprit.chained = true;
  culprit.wrong = 0;
  const std::string sentence = culprit.sentence();
  EXPECT_NE(sentence.find("fails on right inputs in the chain. Run alone it is right 20 times of "
                          "20, with the same bits every time"),
            std::string::npos)
      << sentence;
}

// ---- kernels ----

class bisect_device : public test::OpDevice {};

TEST_F(bisect_device, honest_kernels_leave_nobody_guilty) {
  for (const std::string& dtype : dtypes()) {
    const Graph graph = graph_of(test::misled_graph(), dtype);
    EXPECT_FALSE(culprit_of(test::runtime(), graph)) << dtype;
    const GraphRun chain = verify_chained(test::runtime(), graph, graph_inputs(graph, 1));
    EXPECT_FALSE(find_culprit(test::runtime(), graph, chain)) << dtype;
  }
}

/// The pool's cosine against the model's own run is low because of the exponential that it is fed.
TEST_F(bisect_device, the_exponential_is_guilty_and_the_pool_with_the_low_cosine_is_not) {
  const test::TemporaryFolder folder;
  test::break_unary_exp(folder);
  const auto broken = test::runtime_with_kernels(folder);
  const Graph graph = graph_of(test::misled_graph());
  const GraphRun chain = verify_chained(*broken, graph, graph_inputs(graph, 1));
  const NodeResult& pool = chain.nodes.back();
  EXPECT_TRUE(pool.pass()) << pool.own.reason();
  EXPECT_GT(pool.chain.at("y").cosine, 0.75);
  EXPECT_LT(pool.chain.at("y").cosine, 0.95);
  const std::optional<Culprit> culprit = culprit_of(*broken, graph);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->node, "exp");
  EXPECT_EQ(culprit->reason, "dst: two inputs, one output; the reference's two differ");
  EXPECT_EQ(culprit->wrong, 20);
  EXPECT_TRUE(culprit->deterministic());
  EXPECT_TRUE(culprit->also.empty());
  EXPECT_EQ(variants(*culprit, Dtype::f32, Outcome::wrong), "unary_vector");
  const Outcome half = test::runtime().device().fp16 ? Outcome::wrong : Outcome::refused;
  EXPECT_EQ(variants(*culprit, Dtype::f16, half), "unary_vector");
  EXPECT_EQ(find_culprit(*broken, graph, chain)->node, "exp") << "the chain finds it too";
}

/// Half an accumulator in the kernels that pack their weights; those that do not lie in another
/// file.
TEST_F(bisect_device, variants_that_are_right_are_named) {
  const test::TemporaryFolder folder;
  test::break_sums(folder);
  const auto broken = test::runtime_with_kernels(folder);
  const std::optional<Culprit> culprit = culprit_of(*broken, graph_of(test::tiny_graph()), 2);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->node, "project");
  const std::string wrong = variants(*culprit, Dtype::f32, Outcome::wrong);
  EXPECT_NE(wrong.find("dense_packed"), std::string::npos) << wrong;
  const std::string right = variants(*culprit, Dtype::f32, Outcome::right);
  EXPECT_NE(right.find("dense_nt"), std::string::npos) << right;
  EXPECT_NE(culprit->sentence().find("in f32 right by "), std::string::npos);
}

TEST_F(bisect_device, the_first_is_named_and_the_others_beside_it) {
  const test::TemporaryFolder folder;
  test::break_softmax(folder);
  test::break_exp(folder);
  const auto broken = test::runtime_with_kernels(folder);
  const std::optional<Culprit> culprit = culprit_of(*broken, graph_of(test::tiny_graph()), 1);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->node, "softmax");
  EXPECT_EQ(culprit->also, std::vector<std::string>{"distance"});
}

/// A kernel that turns an input around and back again is right every other time.
TEST_F(bisect_device, a_result_that_changes_is_not_deterministic) {
  const test::TemporaryFolder folder;
  const char* load = "  float4 z = load_some(src, 4 * i * SIZE, count);\n";
  test::break_kernel(folder, "unary.cl", load,
                     "  if (i == 0) ((__global T*)src)[0] = -src[0];\n" + std::string(load));
  const auto broken = test::runtime_with_kernels(folder);
  const std::optional<Culprit> culprit = culprit_of(*broken, graph_of(test::misled_graph()), 6);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->node, "exp");
  EXPECT_EQ(culprit->distinct, 2);
  EXPECT_EQ(culprit->wrong, 3);
  EXPECT_NE(culprit->sentence().find("wrong 3 times of 6, with 2 different results"),
            std::string::npos);
}

/// In half everything is as before, but the node's own dtype comes first.
TEST_F(bisect_device, a_graph_in_half_is_bisected_too) {
  CLAM_NEEDS_F16();
  const test::TemporaryFolder folder;
  test::break_unary_exp(folder);
  const auto broken = test::runtime_with_kernels(folder);
  const std::optional<Culprit> culprit =
      culprit_of(*broken, graph_of(test::misled_graph(), "f16"), 3);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->node, "exp");
  EXPECT_EQ(culprit->attempts.front().dtype, Dtype::f16);
  EXPECT_EQ(variants(*culprit, Dtype::f32, Outcome::wrong), "unary_vector");
}

}  // namespace
}  // namespace clam
