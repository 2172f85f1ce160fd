// SPDX-License-Identifier: MIT
// ssd_image_test.cpp - SSD 512 from an image to its boxes as one chain on the device: 41
// convolutions, the heads laid out and strung together, and the tail.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "check/graph_run.hpp"
#include "op_device.hpp"

namespace clam::ssd_image_test {
namespace {

constexpr std::size_t kTail = 3;     ///< nodes in which a row that moves is an error
constexpr std::int64_t kRows = 100;  ///< that the model keeps
constexpr const char* kName = "ssd512-mobilenet1.0-voc-image";

Graph model(const std::string& dtype) { return make_graph(read_workload(kName), dtype); }

double mean_square(const HostTensor& tensor) {
  double sum = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i) sum += tensor.get(i) * tensor.get(i);
  return sum / static_cast<double>(tensor.size());
}

/// Each convolution of the list of layers, as often as the model calls it. There the two heads of a
/// map are two, one behind the other.
TEST(ssd_image, has_the_layers_of_the_list) {
  const auto count = [](const std::string& name) {
    std::map<std::string, std::int64_t> calls;
    const Problem* classes = nullptr;
    const Workload workload = read_workload(name);
    for (const Workload::Node& node : workload.nodes) {
      if (node.line.rfind("conv2d ", 0) != 0) continue;
      const int k = node.problem->integer("k");
      if (k % 21 == 0) {
        classes = &*node.problem;
      } else if (classes) {
        EXPECT_EQ(classes->with("k", std::to_string(k)).text(), node.problem->text());
        const int both = classes->integer("k") + k;
        EXPECT_EQ(both % 25, 0) << node.name;
        calls[node.problem->with("k", std::to_string(both)).text()] += node.calls;
        classes = nullptr;
      } else {
        calls[node.problem->text()] += node.calls;
      }
    }
    EXPECT_FALSE(classes) << "a class head without its box head";
    return calls;
  };
  const auto calls = count(kName);
  EXPECT_EQ(calls, count("ssd512-mobilenet1.0-voc"));
  std::int64_t all = 0;
  for (const auto& [line, times] : calls) all += times;
  EXPECT_EQ(all, 41);
  const Graph graph = model("f32");
  EXPECT_EQ(graph.nodes.size(), 55u);
  EXPECT_EQ(graph.tensors.at("heads").shape, (Shape{1, 6132, 25}));
}

/// llvmpipe takes minutes for a pass: there it is for the full test alone.
class ssd_image_device : public test::OpDevice {
 protected:
  void SetUp() override {
    CLAM_NEEDS_DEVICE();
    const bool slow = test::runtime().device().name.find("llvmpipe") != std::string::npos;
    if (slow && !std::getenv("CLAM_TEST_FULL")) GTEST_SKIP() << "llvmpipe takes minutes for it";
  }
};

/// Each node against the reference of what it read; the last two so bit for bit.
TEST_F(ssd_image_device, every_node_of_the_chain_is_right) {
  const bool both = std::getenv("CLAM_TEST_FULL") != nullptr;
  for (const std::string& dtype : both ? dtypes() : std::vector<std::string>{"f32"}) {
    SCOPED_TRACE(dtype);
    const Graph graph = model(dtype);
    const GraphRun run = verify_chained(test::runtime(), graph, graph_inputs(graph, test::seed()));
    for (const NodeResult& node : run.nodes) {
      EXPECT_TRUE(node.pass()) << node.node << ": " << node.own.reason();
    }
    for (std::size_t i = 0; i + kTail < run.nodes.size(); ++i) {
      EXPECT_LT(run.nodes[i].grown(), dtype == "f32" ? 1e-5 : 0.1) << run.nodes[i].node;
    }
  }
}

/// Activations keep their range from the first map to the last, and suppression has its work.
TEST_F(ssd_image_device, what_is_made_up_resembles_a_detectors_work) {
  for (const std::string& dtype : dtypes()) {
    const Graph graph = model(dtype);
    DeviceGraph device(test::runtime(), graph);
    for (const std::uint64_t seed : {std::uint64_t{1}, test::seed()}) {
      SCOPED_TRACE(fmt::format("{} {}", dtype, seed));
      device.upload(graph_inputs(graph, seed));
      device.poison();
      device.run();
      for (const char* name : {"conv0.out", "pw6.out", "pw13.out", "expand4.out"}) {
        const double square = mean_square(device.download(name));
        EXPECT_GT(square, 0.01) << name;
        EXPECT_LT(square, 10) << name;
      }
      const double valid = device.download("valid_count").get(0);
      EXPECT_GT(valid, 200);
      EXPECT_LT(valid, 0.3 * 122640);
      EXPECT_GE(device.download("boxes").get(6 * kRows - 6), 0) << "fewer than the model keeps";
    }
    const HostTensor boxes = device.download("boxes");
    device.poison(1);
    device.run();
    EXPECT_TRUE(device.download("boxes") == boxes) << dtype;
  }
}

}  // namespace
}  // namespace clam::ssd_image_test
