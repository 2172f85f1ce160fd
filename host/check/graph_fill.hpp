// SPDX-License-Identifier: MIT
// graph_fill.hpp - the named ways to make up an input of a graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clam/op.hpp"
#include "clam/tensor.hpp"

namespace clam {

/// One way; the table of them is in graph_fill.cpp and in bench/workloads/README.md.
struct Fill {
  std::string name;
  std::string needs;  ///< which shapes it is for; empty: any
  bool (*fits)(const Shape&);
  /// Values before they are scaled. `own` is a seed of the tensor's own, `shared` that of the run,
  /// for ways that go together.
  void (*fill)(std::uint64_t own, std::uint64_t shared, HostTensor&);
};
const std::vector<Fill>& all_fills();

/// Throws BadArgument for a way that is unknown, or does not suit the shape. `graph` and `name`, of
/// the tensor, are for the message.
void check_fill(const std::string& graph, const std::string& name, const std::string& fill,
                const Shape& shape);

/// Makes up the values of the tensor `name`, times `scale`: the same for the same seed, on every
/// machine.
void make_up(HostTensor& values, const std::string& name, const std::string& fill, double scale,
             std::uint64_t seed);

}  // namespace clam
