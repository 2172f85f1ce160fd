// SPDX-License-Identifier: MIT
// misled_graph.hpp - a graph like that of the report in bench/workloads/dcmt.json, where a pooling
// layer looked guilty: box distances are exponentials, channels are made of them, and those are
// averaged over the map.
#pragma once

#include <nlohmann/json.hpp>

#include "check/workload.hpp"
#include "test_device.hpp"

namespace clam::test {

/// The exponential and the pool are the workload's own lines. Biases apart make the four distances
/// differ, as a box's do, so that a constant in their place turns the pool's output by a good
/// angle.
inline nlohmann::json misled_graph() {
  const Workload dcmt = read_workload("dcmt");
  nlohmann::json graph = nlohmann::json::parse(R"({
    "clam_workload": 1, "name": "misled", "title": "Misled", "about": "a pool behind an exp",
    "columns": [],
    "tensors": {
      "features": {"shape": [1, 32, 31, 31], "fill": "normal"},
      "regress.w": {"shape": [4, 32, 1, 1], "fill": "normal"},
      "regress.b": {"shape": [4], "fill": "normal", "scale": 10},
      "widen.w": {"shape": [384, 4, 1, 1], "fill": "he"}
    },
    "nodes": [
      {"name": "regress", "what": "box regression", "calls": 1,
       "problem": "conv2d c=32 h=31 w=31 k=4 r=1 dtype=f32 bias",
       "inputs": {"x": "features", "w": "regress.w", "b": "regress.b"},
       "outputs": {"y": "offsets"}},
      {"name": "exp", "what": "box distances", "calls": 1,
       "inputs": {"src": "offsets"}, "outputs": {"dst": "distances"}},
      {"name": "widen", "what": "384 channels of four", "calls": 1,
       "problem": "conv2d c=4 h=31 w=31 k=384 r=1 dtype=f32",
       "inputs": {"x": "distances", "w": "widen.w"}, "outputs": {"y": "channels"}},
      {"name": "pool", "what": "mean of a channel", "calls": 1,
       "inputs": {"x": "channels"}, "outputs": {"y": "means"}}
    ]})");
  graph["nodes"][1]["problem"] = dcmt.node("exp")->line;
  graph["nodes"][3]["problem"] = dcmt.node("global_average_pool_31")->line;
  return graph;
}

/// An exponential that is the same for every argument.
inline void break_unary_exp(const TemporaryFolder& folder) {
  const char* none = "float none(float z) { return z; }";
  break_kernel(folder, "unary.cl", none, std::string(none) + "\n#define exp(z) 1.5f");
}

}  // namespace clam::test
