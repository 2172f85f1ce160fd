// SPDX-License-Identifier: MIT
// run_references.hpp - what the references make of a graph's inputs, step by step.
#pragma once

#include "check/graph.hpp"

namespace clam::test {

/// By the graph's names, without views.
inline Tensors run_references(const Graph& graph, const Tensors& inputs, const DeviceInfo& device) {
  Tensors tensors = inputs;
  for (const Graph::Node& node : graph.nodes) reference_step(graph, node, device, tensors);
  return tensors;
}

}  // namespace clam::test
