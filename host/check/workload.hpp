// SPDX-License-Identifier: MIT
// workload.hpp - the shapes of real models, as data: bench/workloads/*.json or a user's own file.
// Nodes that name their tensors make a graph (graph.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clam/problem.hpp"
#include "clam/tensor.hpp"
#include "model.hpp"

namespace clam {

/// Extents that a workload leaves open, by name.
using Parameters = std::map<std::string, std::int64_t>;

struct Workload {
  /// A column of published times.
  struct Column {
    std::string key, title;
  };
  /// One op of the model: a Problem, how often it runs, and what was published about it.
  struct Node {
    std::string name, what;
    std::string line;                ///< the Problem as written
    std::optional<Problem> problem;  ///< none: it exists only folded
    std::int64_t calls = 0;          ///< in one run of the model; 0 when not known
    std::string folded_into;         ///< the node whose kernel does this work too; or empty
    std::map<std::string, double> published_us;  ///< by column, a call
    double claimed_gflops = 0;                   ///< published, and cannot be true; 0: none
    /// In the graph: what the op's own tensors are called there. Both empty: the node stands alone.
    std::map<std::string, std::string> inputs, outputs;

    bool in_graph() const { return !inputs.empty() || !outputs.empty(); }
  };

  /// What the file says of a tensor of the graph.
  struct Tensor {
    Dtype dtype = Dtype::f32;  ///< where the nodes run in another float dtype, so is this
    Shape shape;
    std::string fill;     ///< how it is made up (graph_fill.hpp); empty: it is not
    double scale = 1;     ///< factor of what `fill` makes
    std::string view_of;  ///< the tensor whose bytes it has in another shape; or empty
    std::int64_t first = 0;          ///< of a view: its first element there
    std::vector<std::string> parts;  ///< its bytes are theirs, one behind the other; or empty
    StoredTensor values;             ///< an input's, in the workload's folder
    StoredTensor recorded;           ///< what another program computed for it
  };

  std::string name, title, about;
  std::string published_device;  ///< empty when nothing is published
  Parameters parameters;
  std::map<std::string, Tensor> tensors;
  std::vector<Column> columns;
  std::vector<Node> nodes;
  ImportedModel model;  ///< what it was made from, if it was imported

  const Node* node(std::string_view wanted) const;  ///< nullptr when absent
  bool has_graph() const;
  /// The Problems of the nodes, in order, each once.
  std::vector<Problem> problems() const;
};

/// A published time for one call of a node, with what is folded into it.
struct PublishedTime {
  double us = 0;
  bool at_least = false;  ///< a folded node has no exact time in this column
};
/// Nothing when the column has no time for the node.
std::optional<PublishedTime> published_time(const Workload& workload, const Workload::Node& node,
                                            const std::string& column);

/// `name_or_path`: the name of an embedded workload, or the path of a file, or of a folder with
/// workload.json. `parameters` take the place of the file's own. Throws BadArgument naming the
/// file, the node and the key.
Workload read_workload(const std::string& name_or_path, const Parameters& parameters = {});
/// `origin` stands for the file in messages; `folder` has the files of tensors, if there are any.
Workload parse_workload(std::string_view json, const std::string& origin,
                        const Parameters& parameters = {}, const std::string& folder = "");

/// Names of the embedded workloads, sorted.
std::vector<std::string> workload_names();

}  // namespace clam
