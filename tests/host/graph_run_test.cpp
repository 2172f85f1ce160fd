// SPDX-License-Identifier: MIT
// graph_run_test.cpp - graphs on a device, and broken kernels, which must be told from the nodes
// that they feed.
#include "check/graph_run.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "test_errors.hpp"
#include "tests/ops/op_device.hpp"
#include "tiny_graph.hpp"

namespace clam {
namespace {

Graph tiny(const std::string& dtype = "f32") {
  return make_graph(parse_workload(test::tiny_graph().dump(), "tiny.json"), dtype);
}

/// Runs the tiny graph with the kernels of a folder, and tells its results by node.
class graph_device : public test::OpDevice {
 protected:
  using Results = std::map<std::string, NodeResult>;

  static Results by_node(GraphRun run) {
    Results results;
    for (NodeResult& each : run.nodes) results[each.node] = std::move(each);
    return results;
  }

  static Results isolated(Runtime& runtime, const GraphOptions& options = {},
                          const std::string& dtype = "f32") {
    const Graph graph = tiny(dtype);
    return by_node(
        verify_isolated(runtime, graph, graph_inputs(graph, 1), graph_inputs(graph, 2), options));
  }

  static Results chained(Runtime& runtime, const GraphOptions& options = {},
                         const std::string& dtype = "f32") {
    const Graph graph = tiny(dtype);
    return by_node(verify_chained(runtime, graph, graph_inputs(graph, 1), options));
  }

  static GraphOptions on_cpu(const std::string& node) {
    GraphOptions options;
    options.on_cpu = {node};
    return options;
  }

  static std::string failed(const Results& results) {
    std::string names;
    for (const auto& [name, result] : results) {
      if (!result.pass()) names += (names.empty() ? "" : " ") + name;
    }
    return names;
  }
};

TEST_F(graph_device, honest_kernels_pass_in_both_modes) {
  for (const std::string& dtype : dtypes()) {
    SCOPED_TRACE(dtype);
    EXPECT_EQ(failed(isolated(test::runtime(), {}, dtype)), "");
    const Results results = chained(test::runtime(), {}, dtype);
    EXPECT_EQ(failed(results), "");
    for (const auto& [name, result] : results) {
      EXPECT_GT(result.ms, 0) << name;
      EXPECT_LT(result.grown(), dtype == "f32" ? 1e-6 : 1e-2) << name;
    }
  }
}

TEST_F(graph_device, nodes_run_on_tensors_at_strides) {
  for (const std::string& dtype : dtypes()) {
    SCOPED_TRACE(dtype);
    const Graph graph = make_graph(parse_workload(test::strided_graph().dump(), "strided"), dtype);
    const Tensors inputs = graph_inputs(graph, 1);
    EXPECT_EQ(
        failed(by_node(verify_isolated(test::runtime(), graph, inputs, graph_inputs(graph, 2)))),
        "");
    for (const GraphOptions& options : {GraphOptions{}, on_cpu("rotate"), on_cpu("attend")}) {
      const GraphRun run = verify_chained(test::runtime(), graph, inputs, options);
      EXPECT_EQ(failed(by_node(run)), "");
      EXPECT_EQ(run.device.at("qk").shape(), (Shape{12, 32}));
      EXPECT_LT(run.nodes.back().grown(), dtype == "f32" ? 1e-5 : 2e-2);
    }
  }
}

TEST_F(graph_device, a_second_run_of_a_chain_gives_the_same_bits) {
  const Graph graph = tiny();
  DeviceGraph device(test::runtime(), graph);
  device.upload(graph_inputs(graph, 1));
  device.poison(1);
  device.run();
  const Tensors first = device.download();
  device.poison(2);
  device.run();
  for (const auto& [name, tensor] : device.download())
    EXPECT_TRUE(tensor == first.at(name)) << name;
  EXPECT_EQ(first.count("scores"), 0u) << "a view has no memory of its own";
}

/// The chain says that all behind the culprit is wrong; the nodes' own inputs, and the reference in
/// its place, say who it is.
TEST_F(graph_device, a_broken_node_is_found_guilty_and_those_behind_it_innocent) {
  const test::TemporaryFolder folder;
  test::break_softmax(folder);
  const auto broken = test::runtime_with_kernels(folder);
  EXPECT_EQ(failed(isolated(*broken)), "softmax");
  const Results results = chained(*broken);
  EXPECT_EQ(failed(results), "softmax");
  EXPECT_GT(results.at("distance").grown(), 1e-3) << "wrong all the same";
  EXPECT_LT(results.at("project").grown(), 1e-6);
}

TEST_F(graph_device, the_reference_in_place_of_a_node_shows_guilt_and_innocence) {
  const test::TemporaryFolder folder;
  test::break_softmax(folder);
  const auto broken = test::runtime_with_kernels(folder);
  const Results without_culprit = chained(*broken, on_cpu("softmax"));
  EXPECT_EQ(failed(without_culprit), "");
  EXPECT_TRUE(without_culprit.at("softmax").on_cpu());
  EXPECT_LT(without_culprit.at("distance").grown(), 1e-6);
  const Results without_innocent = chained(*broken, on_cpu("project"));
  EXPECT_EQ(failed(without_innocent), "softmax");
  EXPECT_GT(without_innocent.at("distance").grown(), 1e-3);
  EXPECT_EQ(failed(isolated(*broken, on_cpu("softmax"))), "");
}

TEST_F(graph_device, an_exponential_that_is_constant_is_called_so) {
  const test::TemporaryFolder folder;
  test::break_exp(folder);
  const auto broken = test::runtime_with_kernels(folder);
  const Results results = isolated(*broken);
  EXPECT_EQ(failed(results), "distance");
  ASSERT_TRUE(results.at("distance").constant);
  EXPECT_EQ(*results.at("distance").constant,
            "y: two inputs, one output; the reference's two differ");
  EXPECT_FALSE(results.at("softmax").constant);
}

/// A plan with native_exp2 needs the bound that the device's own error gives.
TEST_F(graph_device, bounds_follow_what_plans_measure) {
  const auto fresh = test::fresh_runtime();
  ASSERT_EQ(fresh->device().native_exp2_ulp, 0);
  const Graph graph = tiny();
  const Tensors inputs = graph_inputs(graph, 1);
  const GraphRun run = verify_isolated(*fresh, graph, inputs, inputs);
  ASSERT_NE(fresh->device().native_exp2_ulp, 0);
  Tensors chain = inputs;
  reference_step(graph, graph.node("project"), fresh->device(), chain);
  const Reference after = reference_step(graph, graph.node("softmax"), fresh->device(), chain);
  const Verdict& verdict = run.nodes[1].own.outputs.at("dst");
  EXPECT_EQ(verdict.worst_bound,
            after.at("dst").bound[static_cast<std::size_t>(verdict.worst_index)]);
}

/// With the same inputs twice, equal outputs say nothing.
TEST_F(graph_device, equal_inputs_make_no_constant) {
  const Graph graph = tiny();
  const Tensors inputs = graph_inputs(graph, 1);
  for (const NodeResult& node : verify_isolated(test::runtime(), graph, inputs, inputs).nodes) {
    EXPECT_FALSE(node.constant) << node.node;
  }
}

TEST_F(graph_device, a_half_accumulator_fails_where_a_cosine_sees_nothing) {
  const test::TemporaryFolder folder;
  test::break_sums(folder);
  const auto broken = test::runtime_with_kernels(folder);
  for (const std::string& dtype : dtypes()) {
    SCOPED_TRACE(dtype);
    const NodeResult node = isolated(*broken, {}, dtype).at("project");
    EXPECT_FALSE(node.pass());
    EXPECT_GT(node.own.outputs.at("y").cosine, 0.9999);
    EXPECT_GT(node.own.worst_ratio(), 2);
  }
}

/// The faults that a broken kernel shows with one seed alone count too.
TEST_F(graph_device, the_second_inputs_are_held_against_their_reference) {
  const Graph graph = tiny();
  Tensors zeros = graph_inputs(graph, 1);
  for (auto& [name, tensor] : zeros) tensor = HostTensor(tensor.dtype(), tensor.shape());
  const GraphRun run = verify_isolated(test::runtime(), graph, graph_inputs(graph, 1), zeros);
  EXPECT_NE(run.nodes[0].own.reason().find("zero everywhere"), std::string::npos)
      << run.nodes[0].own.reason();
}

TEST_F(graph_device, a_write_around_a_tensor_of_the_chain_is_seen) {
  const test::TemporaryFolder folder;
  const char* put = "if (y < (uint)rows) put(";
  test::break_kernel(folder, "softmax.cl", put, "dst[rows * n] = (T)1.0f;\n  " + std::string(put));
  const auto broken = test::runtime_with_kernels(folder);
  const Results results = chained(*broken);
  EXPECT_EQ(failed(results), "softmax");
  EXPECT_EQ(
      results.at("softmax").own.reason(),
      "memory around tensor weights was overwritten at byte 3840 (its 3840 bytes start at 0)");
}

// ---- devices that are too small ----

TEST_F(graph_device, a_device_that_is_too_small_is_refused_before_any_launch) {
  const Graph graph = tiny();
  const Tensors inputs = graph_inputs(graph, 1);
  DeviceInfo small = test::runtime().device();
  GraphOptions options;
  options.planned_for = &small;
  const std::int64_t launches = test::runtime().counters().launches;
  small.global_mem_bytes = 100000;
  EXPECT_THROWS_SAYING(verify_isolated(test::runtime(), graph, inputs, inputs, options),
                       Unsupported, "tiny: node 'project': ");
  EXPECT_THROWS_SAYING(DeviceGraph(test::runtime(), graph, options), Unsupported,
                       "bytes are needed up to here, the device has 100000");
  small.max_alloc_bytes = 50000;
  EXPECT_THROWS_SAYING(DeviceGraph(test::runtime(), graph, options), Unsupported,
                       "tiny: node 'project': ");
  EXPECT_EQ(test::runtime().counters().launches, launches);
}

TEST_F(graph_device, a_node_that_is_not_there_is_refused) {
  const Graph graph = tiny();
  EXPECT_THROWS_SAYING(DeviceGraph(test::runtime(), graph, on_cpu("exp")), BadArgument,
                       "tiny: no node 'exp' in the graph; it has project softmax distance");
}

}  // namespace
}  // namespace clam
