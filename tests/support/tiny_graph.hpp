// SPDX-License-Identifier: MIT
// tiny_graph.hpp - a workload of three nodes that feed each other, and faults in two of them.
#pragma once

#include <nlohmann/json.hpp>

#include "test_device.hpp"

namespace clam::test {

/// A projection, a softmax over views of it in heads, and an exponential, not in this order.
inline nlohmann::json tiny_graph() {
  return nlohmann::json::parse(R"({
    "clam_workload": 1, "name": "tiny", "title": "Tiny", "about": "three nodes", "columns": [],
    "parameters": {"rows": 6},
    "tensors": {
      "x": {"shape": ["{4*rows}", 512], "fill": "normal"},
      "w1": {"shape": [40, 512], "fill": "normal", "scale": 0.05},
      "w2": {"shape": [8, 40], "fill": "normal"},
      "scores": {"shape": [4, "{rows}", 40], "view_of": "projected"},
      "flat": {"shape": ["{4*rows}", 40], "view_of": "weights"}
    },
    "nodes": [
      {"name": "distance", "what": "exp of a product", "calls": 1,
       "problem": "dense m={4*rows} n=8 k=40 dtype=f32 act=exp",
       "inputs": {"x": "flat", "w": "w2"}, "outputs": {"y": "distances"}},
      {"name": "softmax", "what": "of the heads' scores", "calls": 1,
       "problem": "softmax shape=4x{rows}x40 dtype=f32",
       "inputs": {"src": "scores"}, "outputs": {"dst": "weights"}},
      {"name": "project", "what": "a matrix product", "calls": 1,
       "problem": "dense m={4*rows} n=40 k=512 dtype=f32",
       "inputs": {"x": "x", "w": "w1"}, "outputs": {"y": "projected"}}
    ]})");
}

/// Attention of two images whose q, k and v are columns of one projection, q and k rotated: nodes
/// that see their tensors at strides.
inline nlohmann::json strided_graph() {
  return nlohmann::json::parse(R"({
    "clam_workload": 1, "name": "strided", "title": "Strided", "about": "four nodes", "columns": [],
    "parameters": {"n": 6},
    "tensors": {
      "x": {"shape": ["{2*n}", 8], "fill": "normal"},
      "w": {"shape": [48, 8], "fill": "normal"},
      "cos": {"shape": ["{2*n}", 8], "fill": "normal"},
      "sin": {"shape": ["{2*n}", 8], "fill": "normal"},
      "qk": {"shape": ["{2*n}", 32]},
      "w_out": {"shape": [5, 8], "fill": "normal"}
    },
    "nodes": [
      {"name": "project", "what": "q, k and v", "calls": 1,
       "problem": "dense m={2*n} n=48 k=8 dtype=f32",
       "inputs": {"x": "x", "w": "w"}, "outputs": {"y": "qkv"}},
      {"name": "rotate", "what": "q and k", "calls": 1,
       "problem": "rotary batch=1 heads=4 n={2*n} d=8 dtype=f32 ldsrc=48 headsrc=8 lddst=32 headdst=8",
       "inputs": {"src": "qkv", "cos": "cos", "sin": "sin"}, "outputs": {"dst": "qk"}},
      {"name": "attend", "what": "two heads", "calls": 1,
       "problem": "attention batch=2 heads=2 nq={n} nk={n} d=8 dtype=f32 ldq=32 headq=8 ldk=32 headk=8 offk=16 ldv=48 headv=8 offv=32 ldo=16 heado=8",
       "inputs": {"q": "qk", "k": "qk", "v": "qkv"}, "outputs": {"o": "message"}},
      {"name": "out", "what": "of the second head", "calls": 1,
       "problem": "dense m={2*n} n=5 k=8 dtype=f32 ldx=16 offx=8",
       "inputs": {"x": "message", "w": "w_out"}, "outputs": {"y": "out"}}
    ]})");
}

/// An exponential that is the same for every argument.
inline void break_exp(const TemporaryFolder& folder) {
  const char* none = "float none(float z) { return z; }";
  break_kernel(folder, "dense.cl", none, std::string(none) + "\n#define exp(z) 1.5f");
}

/// Sums that keep no more than a half's 11 bits from one trip of the loop to the next.
inline void break_sums(const TemporaryFolder& folder) {
  break_kernel(folder, "dense.cl", "#define TRIP(FOUR) ",
               "#define ROUND(i, v, unused) \\\n"
               "  t##i##_##v = as_float4((as_uint4(t##i##_##v) + 0x1000u) & 0xFFFFE000u);\n"
               "#define TRIP(FOUR) EACH_SUM(ROUND) ");
}

/// Probabilities that are all a hundredth too large.
inline void break_softmax(const TemporaryFolder& folder) {
  break_kernel(folder, "softmax.cl", "1.0f / ", "1.01f / ");
}

}  // namespace clam::test
