// SPDX-License-Identifier: MIT
// graph.hpp - a workload's nodes that name their tensors, checked and in an order to run them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "clam/device.hpp"
#include "op_proof.hpp"
#include "workload.hpp"

namespace clam {

/// Which tensor feeds which node. No control flow, and no shape is inferred: the nodes' Problems
/// say what their tensors are, and the names must agree with that.
struct Graph {
  /// Where the file says nothing of it, its dtype and shape are those of its maker's output.
  struct Tensor : Workload::Tensor {
    std::string maker;  ///< the node that writes it; empty: it is an input of the graph, or a view
    std::string whole;  ///< the tensor that it is a part of, from element `first` on; or empty

    bool is_made() const { return !maker.empty() || !parts.empty(); }
    bool is_input() const { return !is_made() && view_of.empty(); }
    std::int64_t bytes() const { return count(shape) * size_of(dtype); }
  };
  /// Elements that have a second place: of a part in the whole, or of a tensor in a view of its
  /// middle. Who holds both places apart copies them.
  struct Move {
    std::string from, to;
    std::int64_t from_first, to_first, count;
  };
  /// The op's own tensors by name, and what the graph calls them. Outputs that the file does not
  /// name are called NODE.OUTPUT.
  struct Node {
    std::string name;
    Problem problem;
    std::map<std::string, std::string> inputs, outputs;
    std::vector<Move> moves;  ///< due when it has run, in this order
  };

  std::string name;         ///< of the workload, for messages
  std::vector<Node> nodes;  ///< each after those that it reads from
  std::map<std::string, Tensor> tensors;
  std::vector<Move> moves;           ///< due before the first node: of its inputs
  std::vector<std::string> outputs;  ///< the tensors that it is run for

  /// Throws BadArgument naming the nodes that there are.
  const Node& node(const std::string& wanted) const;
  /// The tensor that has the bytes: itself, or what it is a view of.
  const std::string& holder(const std::string& tensor) const;
  /// The tensor that has them at its beginning: a view of another one's middle is held apart.
  const std::string& held(const std::string& tensor) const;
  /// Its bytes are those of an input.
  bool is_of_input(const std::string& tensor) const {
    return tensors.at(holder(tensor)).is_input();
  }
  /// A node that reads the tensor or a view of it; empty when none does.
  std::string reader(const std::string& tensor) const;
};

/// The graph of a workload, every node in `dtype` (empty: as its line says). Throws BadArgument for
/// a cycle, for a tensor that no node or two nodes write, and for types or shapes that differ. Its
/// sentence has the node's name and both numbers.
Graph make_graph(const Workload& workload, const std::string& dtype = "");

/// "f32[1x6132x21]"
std::string type_text(Dtype dtype, const Shape& shape);

/// The graph's inputs: those of `given`; else read from `folder`/NAME.npy where that exists, or
/// from the workload's own folder; else made up from `seed`. Throws BadArgument for a file that is
/// missing or holds something else.
Tensors graph_inputs(const Graph& graph, std::uint64_t seed, const std::string& folder = "",
                     const Tensors& given = {});

/// The same bytes under another shape of as many elements, or the first of them.
HostTensor reshaped(const HostTensor& tensor, const Shape& shape);

/// What a node reads, by the op's names; `tensors` are by the names of Graph::held.
Tensors inputs_of(const Graph& graph, const Graph::Node& node, const Tensors& tensors);
/// What it has written, by the op's names; and the way back.
Tensors outputs_of(const Graph::Node& node, const Tensors& tensors);
void put_outputs(const Graph& graph, const Graph::Node& node, const Tensors& outputs,
                 Tensors& tensors);

/// The reference of a node on `tensors`, which its outputs, rounded to their dtype, join. One step
/// at a time, for values and bounds of a whole model are many times its tensors.
Reference reference_step(const Graph& graph, const Graph::Node& node, const DeviceInfo& device,
                         Tensors& tensors, const std::string& variant = {});

}  // namespace clam
