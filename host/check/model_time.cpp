// SPDX-License-Identifier: MIT
#include "check/model_time.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace clam {
namespace {

constexpr std::size_t kFarthest = 10;

std::string ms(double us) { return fmt::format("{:.3f}", us / 1000); }

}  // namespace

ModelTime model_time(std::vector<NodeTime> nodes) {
  ModelTime time;
  time.floor_us = 0;
  for (const NodeTime& node : nodes) {
    const auto same = [&](const ModelTime::Op& op) { return op.name == node.op; };
    auto op = std::find_if(time.ops.begin(), time.ops.end(), same);
    if (op == time.ops.end()) op = time.ops.insert(time.ops.end(), {node.op});
    const double floor_us = node.calls * node.floor_us.value_or(0);
    op->us += node.calls * node.us, op->floor_us += floor_us;
    ++op->nodes;
    time.us += node.calls * node.us;
    if (!node.floor_us) time.floor_us.reset();
    if (time.floor_us) *time.floor_us += floor_us;
  }
  std::stable_sort(time.ops.begin(), time.ops.end(),
                   [](const auto& a, const auto& b) { return a.us > b.us; });
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const auto& a, const auto& b) { return a.excess() > b.excess(); });
  if (nodes.size() > kFarthest) nodes.resize(kFarthest);
  time.farthest = std::move(nodes);
  return time;
}

std::string to_text(const ModelTime& time) {
  const auto floor = [&](double us) { return time.floor_us ? ms(us) : "-"; };
  std::string text =
      fmt::format("{:>10} {:>10} {:>6} {:>6}  by op\n", "ms", "floor ms", "share", "nodes");
  for (const ModelTime::Op& op : time.ops) {
    text += fmt::format("{:>10} {:>10} {:>4.0f} % {:>6}  {}\n", ms(op.us), floor(op.floor_us),
                        100 * op.us / time.us, op.nodes, op.name);
  }
  text += fmt::format("{:>10} {:>10} {:>6}  {}\n", "ms", "floor ms", "calls",
                      time.floor_us ? "farthest above the floor" : "what takes most");
  for (const NodeTime& node : time.farthest) {
    text +=
        fmt::format("{:>10} {:>10} {:>6g}  {} ({})\n", ms(node.calls * node.us),
                    floor(node.calls * node.floor_us.value_or(0)), node.calls, node.node, node.op);
  }
  return text;
}

}  // namespace clam
