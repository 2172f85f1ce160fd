// SPDX-License-Identifier: MIT
// graph_pass_test.cpp - which tensors of a graph share a buffer, and that the graph as a whole
// makes what it makes with each tensor in its own.
#include <gtest/gtest.h>

#include <algorithm>

#include "check/device_graph.hpp"
#include "check/graph_run.hpp"
#include "run_references.hpp"
#include "runtime/atomic_file.hpp"
#include "tests/ops/op_device.hpp"
#include "tiny_graph.hpp"

namespace clam {
namespace {

constexpr std::int64_t kAlignment = 128;

std::int64_t bytes_of(const Graph::Tensor& tensor) {
  return count(tensor.shape) * size_of(tensor.dtype);
}

/// Runs nothing: writes each node's name into the buffers of its outputs, and looks whether every
/// node still finds what it reads. Returns the first node that does not.
std::string first_overwritten(const Graph& graph, const SharedBuffers& shared) {
  std::vector<std::string> holds(shared.bytes.size());
  const auto found = [&](const std::string& name) {
    return graph.tensors.at(name).is_input() || holds.at(shared.of.at(name)) == name;
  };
  for (const Graph::Node& node : graph.nodes) {
    for (const auto& [own, name] : node.outputs) holds.at(shared.of.at(name)) = name;
    for (const auto& [own, name] : node.inputs) {
      if (!found(graph.holder(name))) return node.name + " reads " + name;
    }
  }
  for (const auto& [name, tensor] : graph.tensors) {
    if (!tensor.maker.empty() && graph.reader(name).empty() && !found(name)) return name;
  }
  return "";
}

std::int64_t apart(const Graph& graph, const SharedBuffers& shared) {
  std::int64_t bytes = 0;
  for (const auto& [name, buffer] : shared.of) bytes += bytes_of(graph.tensors.at(name));
  return bytes;
}

TEST(graph_pass, no_tensor_is_overwritten_before_its_last_reader) {
  const Graph graphs[] = {make_graph(parse_workload(test::tiny_graph().dump(), "tiny")),
                          make_graph(parse_workload(test::strided_graph().dump(), "strided")),
                          make_graph(read_workload("ssd512-mobilenet1.0-voc-image")),
                          make_graph(read_workload("lightglue-192-fused"))};
  for (const Graph& graph : graphs) {
    SCOPED_TRACE(graph.name);
    const SharedBuffers shared = share_buffers(graph, places(graph, kAlignment));
    EXPECT_EQ(first_overwritten(graph, shared), "");
    for (const auto& [name, buffer] : shared.of) {
      EXPECT_GE(shared.bytes.at(buffer), bytes_of(graph.tensors.at(name))) << name;
    }
  }
}

TEST(graph_pass, the_look_at_overwritten_tensors_finds_one) {
  const Graph graph = make_graph(parse_workload(test::tiny_graph().dump(), "tiny"));
  SharedBuffers shared = share_buffers(graph, places(graph, kAlignment));
  shared.of.at("weights") = shared.of.at("projected");
  EXPECT_EQ(first_overwritten(graph, shared), "softmax reads scores");
}

TEST(graph_pass, models_need_a_fraction_of_their_tensors_memory) {
  const std::pair<const char*, double> models[] = {{"ssd512-mobilenet1.0-voc-image", 0.25},
                                                   {"lightglue-192-fused", 0.1}};
  for (const auto& [name, share] : models) {
    const Graph graph = make_graph(read_workload(name));
    const SharedBuffers shared = share_buffers(graph, places(graph, kAlignment));
    EXPECT_LT(double(shared.total()), share * double(apart(graph, shared)))
        << name << ": " << shared.total() << " of " << apart(graph, shared);
  }
}

class graph_pass_device : public test::OpDevice {};

TEST_F(graph_pass_device, shared_buffers_change_no_bit) {
  for (const std::string& dtype : dtypes()) {
    for (const nlohmann::json& workload : {test::tiny_graph(), test::strided_graph()}) {
      const Graph graph = make_graph(parse_workload(workload.dump(), "graph"), dtype);
      SCOPED_TRACE(graph.name + " " + dtype);
      const GraphRun run = verify_chained(test::runtime(), graph, graph_inputs(graph, 1));
      ASSERT_TRUE(run.whole);
      EXPECT_TRUE(run.whole->pass()) << *run.whole->differs;
      EXPECT_GT(run.whole->best.ms, 0);
      EXPECT_LE(run.whole->best.ms, run.whole->best.wall_ms);
      EXPECT_GE(run.whole->launches, static_cast<std::int64_t>(graph.nodes.size()));
      EXPECT_LT(run.whole->buffers, run.whole->tensors);
    }
  }
}

TEST_F(graph_pass_device, another_output_is_told) {
  const Graph graph = make_graph(parse_workload(test::tiny_graph().dump(), "tiny"));
  const Tensors inputs = graph_inputs(graph, 1);
  Tensors expected = verify_chained(test::runtime(), graph, inputs).device;
  HostTensor& last = expected.at("distances");
  last.set_bits(last.size() - 1, last.bits(last.size() - 1) ^ 1);
  const PassReport report = run_pass(test::runtime(), graph, inputs, expected);
  ASSERT_TRUE(report.differs);
  EXPECT_NE(report.differs->find("makes 'distances' in other bits"), std::string::npos);
}

TEST_F(graph_pass_device, a_wrong_kernel_is_told) {
  const Graph graph = make_graph(parse_workload(test::tiny_graph().dump(), "tiny"));
  const Tensors inputs = graph_inputs(graph, 1);
  const Tensors expected = verify_chained(test::runtime(), graph, inputs).device;
  const test::TemporaryFolder folder;
  test::break_softmax(folder);
  const auto broken = test::runtime_with_kernels(folder);
  EXPECT_TRUE(run_pass(*broken, graph, inputs, expected).differs);
}

/// A convolution packs its weights where they are the graph's own; here a node makes them.
TEST_F(graph_pass_device, what_changes_is_packed_again) {
  const Graph graph = make_graph(parse_workload(R"({
    "clam_workload": 1, "name": "made", "title": "t", "about": "a", "columns": [],
    "tensors": {"v": {"shape": [8, 8, 3, 3], "dtype": "f32", "fill": "normal"},
                "w": {"shape": [8, 8, 3, 3], "dtype": "f32"},
                "x": {"shape": [1, 8, 16, 16], "dtype": "f32", "fill": "normal"},
                "y": {"shape": [1, 8, 16, 16], "dtype": "f32"},
                "z": {"shape": [1, 8, 16, 16], "dtype": "f32"}},
    "nodes": [{"name": "first", "what": "it", "calls": 1, "inputs": {"x": "x", "w": "v"},
               "problem": "conv2d c=8 h=16 w=16 k=8 r=3 dtype=f32 pad=1", "outputs": {"y": "y"}},
              {"name": "made", "what": "it", "calls": 1, "inputs": {"src": "v"},
               "problem": "unary op=relu shape=8x8x3x3 dtype=f32", "outputs": {"dst": "w"}},
              {"name": "second", "what": "it", "calls": 1, "inputs": {"x": "y", "w": "w"},
               "problem": "conv2d c=8 h=16 w=16 k=8 r=3 dtype=f32 pad=1", "outputs": {"y": "z"}}]})",
                                                "made"));
  const Tensors first = graph_inputs(graph, 1), others = graph_inputs(graph, 2);
  const GraphRun run = verify_chained(test::runtime(), graph, first);
  ASSERT_TRUE(run.whole);
  EXPECT_TRUE(run.whole->pass()) << *run.whole->differs;
  DeviceGraph pass(test::runtime(), graph, {}, DeviceGraph::Memory::shared);
  pass.upload(first);
  for (const auto& [name, values] : others) pass.write(name, values.data());
  pass.poison();
  pass.run();
  const HostTensor wanted = test::run_references(graph, others, test::runtime().device()).at("z");
  EXPECT_TRUE(compare_recorded(pass.download().at("z"), wanted, 1e-4).pass);
}

/// softmax.cl no longer builds once the nodes have had their turns.
TEST_F(graph_pass_device, a_pass_that_throws_is_told_of_the_whole_alone) {
  const Graph graph = make_graph(parse_workload(test::tiny_graph().dump(), "tiny"));
  const test::TemporaryFolder folder;
  const auto runtime = test::runtime_with_kernels(folder);
  GraphOptions options;
  options.progress = [&](const std::string& what) {
    if (what == "the graph as a whole") write_file(folder.file("softmax.cl"), "no kernel");
  };
  const GraphRun run = verify_chained(*runtime, graph, graph_inputs(graph, 1), options);
  ASSERT_EQ(run.nodes.size(), 3u);
  for (const NodeResult& node : run.nodes) EXPECT_TRUE(node.own.pass()) << node.node;
  ASSERT_TRUE(run.whole);
  EXPECT_FALSE(run.whole->pass());
  EXPECT_EQ(run.whole->differs->rfind("the graph as a whole: ", 0), 0u) << *run.whole->differs;
  EXPECT_NE(run.whole->differs->find("softmax.cl"), std::string::npos) << *run.whole->differs;
}

}  // namespace
}  // namespace clam
