// SPDX-License-Identifier: MIT
// ssd_tail_test.cpp - the tail of SSD 512 as one chain on the device: predictions are decoded, rows
// under the threshold go, overlapping boxes go. Its kernels were each right on Mali GPUs while the
// boxes that came out were not.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "check/graph_run.hpp"
#include "op_device.hpp"
#include "run_references.hpp"

namespace clam::ssd_tail_test {
namespace {

Graph tail(const std::string& dtype) {
  return make_graph(read_workload("ssd512-mobilenet1.0-voc"), dtype);
}

/// The model's answer: the first 100 rows, bit for bit.
HostTensor answer(const HostTensor& boxes) {
  HostTensor rows(boxes.dtype(), {100, 6});
  for (std::int64_t i = 0; i < rows.size(); ++i) rows.set_bits(i, boxes.bits(i));
  return rows;
}

std::int64_t rows_in(const HostTensor& boxes) {
  std::int64_t rows = 0;
  while (6 * rows < boxes.size() && boxes.get(6 * rows) >= 0) ++rows;
  return rows;
}

class ssd_tail_device : public test::OpDevice {};

TEST(ssd_tail, anchors_are_those_of_the_six_maps) {
  const HostTensor anchors = graph_inputs(tail("f32"), 1).at("anchors");
  const struct {
    std::int64_t row;
    double x, y, w, h;
  } known[] = {{0, 8, 8, 51.2, 51.2},
               {2, 8, 8, 51.2 * std::sqrt(2), 51.2 / std::sqrt(2)},
               {4095, 504, 504, 51.2 / std::sqrt(2), 51.2 * std::sqrt(2)},
               {4096, 16, 16, 102.4, 102.4},
               {4101, 16, 16, 102.4 / std::sqrt(3), 102.4 * std::sqrt(3)},
               {6128, 256, 256, 450.6, 450.6}};
  for (const auto& each : known) {
    const double values[] = {each.x, each.y, each.w, each.h};
    for (int i = 0; i < 4; ++i) {
      EXPECT_FLOAT_EQ(static_cast<float>(anchors.get(4 * each.row + i)),
                      static_cast<float>(values[i]))
          << each.row;
    }
  }
}

/// What is made up resembles a detector's work: mostly background, and much to suppress.
TEST(ssd_tail, predictions_find_objects_many_times_over) {
  const Graph graph = tail("f32");
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Tensors chain = test::run_references(graph, graph_inputs(graph, seed), generic_device());
    const double valid = chain.at("valid_count").get(0);
    const HostTensor& boxes = chain.at("boxes");
    EXPECT_GT(valid, 300) << seed;
    EXPECT_LT(valid, 2000) << seed;
    EXPECT_GT(rows_in(boxes), 50) << seed;
    EXPECT_LT(rows_in(boxes), 390) << "of 400 candidates some are suppressed";
    std::set<double> classes;
    int strong = 0;
    for (std::int64_t row = 0; row < rows_in(boxes); ++row) {
      classes.insert(boxes.get(6 * row));
      strong += boxes.get(6 * row + 1) > 0.5;
    }
    EXPECT_GE(classes.size(), 10u) << seed;
    EXPECT_GE(strong, 20) << seed;
    EXPECT_LE(strong, 90) << seed;
  }
}

/// Decoded rows lie within their bound; from there on the references give the same bits.
TEST_F(ssd_tail_device, is_exact_from_the_decoded_rows_on) {
  for (const std::string& dtype : dtypes()) {
    SCOPED_TRACE(dtype);
    const Graph graph = tail(dtype);
    const GraphRun run = verify_chained(test::runtime(), graph, graph_inputs(graph, test::seed()));
    ASSERT_EQ(run.nodes.size(), 3u);
    for (const NodeResult& node : run.nodes) EXPECT_TRUE(node.pass()) << node.own.reason();
    Tensors tensors = run.device;
    for (const char* name : {"get_valid_counts", "nms"}) {
      const Graph::Node& node = graph.node(name);
      const Reference reference =
          expected(node.problem, inputs_of(graph, node, tensors), Check::exact);
      for (const auto& [own, tensor] : node.outputs) tensors[tensor] = reference.at(own).exact;
    }
    EXPECT_TRUE(answer(run.device.at("boxes")) == answer(tensors.at("boxes")));
    EXPECT_GT(rows_in(run.device.at("boxes")), 50);
  }
}

TEST_F(ssd_tail_device, each_node_passes_on_the_references_inputs) {
  for (const std::string& dtype : dtypes()) {
    SCOPED_TRACE(dtype);
    const Graph graph = tail(dtype);
    const GraphRun run = verify_isolated(test::runtime(), graph, graph_inputs(graph, test::seed()),
                                         graph_inputs(graph, test::seed() + 1));
    for (const NodeResult& node : run.nodes) {
      EXPECT_TRUE(node.pass()) << node.node << ": " << node.own.reason();
    }
  }
}

/// Whichever kernel is broken, its node fails, and neither of the others does.
TEST_F(ssd_tail_device, a_broken_kernel_is_found) {
  const struct {
    const char *node, *file, *from, *to;
  } faults[] = {
      {"ssd_decode", "ssd_decode.cl", "s.x + s.y + (s.z + s.w)", "4.0f * s.x"},
      {"get_valid_counts", "get_valid_counts.cl", "indices[place] = row",
       "indices[place] = row + 1"},
      {"nms", "nms.cl", "fmin(a.z, b.z) - fmax(a.x, b.x)",
       "40.0f + fmin(a.z, b.z) - fmax(a.x, b.x)"},
  };
  const Graph graph = tail("f32");
  const Tensors inputs = graph_inputs(graph, test::seed());
  for (const auto& fault : faults) {
    SCOPED_TRACE(fault.to);
    const test::TemporaryFolder folder;
    test::break_kernel(folder, fault.file, fault.from, fault.to);
    const auto broken = test::runtime_with_kernels(folder);
    for (const NodeResult& node : verify_chained(*broken, graph, inputs).nodes) {
      EXPECT_EQ(node.pass(), node.node != fault.node) << node.node << ": " << node.own.reason();
    }
  }
}

/// 100 runs in groups of 64, the default; as many in the others where time does not matter.
TEST_F(ssd_tail_device, has_the_same_bits_in_every_run_and_group) {
  for (const std::string& dtype : dtypes()) {
    const Graph graph = tail(dtype);
    const Tensors inputs = graph_inputs(graph, test::seed());
    HostTensor first;
    for (const int group : {16, 64, 256}) {
      const int runs = group == 64 || std::getenv("CLAM_TEST_FULL") ? 100 : 20;
      GraphOptions options;
      options.max_work_group = group;
      DeviceGraph device(test::runtime(), graph, options);
      device.upload(inputs);
      for (int run = 0; run < runs; ++run) {
        device.poison(run);
        device.run();
        const HostTensor boxes = device.download("boxes");
        if (first.size() == 0) first = boxes;
        ASSERT_TRUE(boxes == first) << dtype << ", groups of " << group << ", run " << run;
      }
    }
  }
}

}  // namespace
}  // namespace clam::ssd_tail_test
