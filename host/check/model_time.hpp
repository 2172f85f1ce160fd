// SPDX-License-Identifier: MIT
// model_time.hpp - where the time of a model goes: by op, and the nodes farthest above their floor.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace clam {

/// A node with its time, measured or predicted.
struct NodeTime {
  std::string node, op;
  double calls = 1;                ///< in one run of the model
  double us = 0;                   ///< of one call
  std::optional<double> floor_us;  ///< the least that the device's peaks allow for it, if known

  /// Microseconds above the floor, in all calls.
  double excess() const { return calls * (us - floor_us.value_or(0)); }
};

struct ModelTime {
  struct Op {
    std::string name;
    double us = 0, floor_us = 0;
    std::size_t nodes = 0;
  };
  double us = 0;
  std::optional<double> floor_us;  ///< where each node has one
  std::vector<Op> ops;             ///< the one that takes most first
  /// At most ten nodes: those farthest above their floor, or without floors those that take most.
  std::vector<NodeTime> farthest;
};

ModelTime model_time(std::vector<NodeTime> nodes);

/// Two tables in milliseconds, for people.
std::string to_text(const ModelTime& time);

}  // namespace clam
