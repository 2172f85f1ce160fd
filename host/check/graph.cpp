// SPDX-License-Identifier: MIT
#include "graph.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "graph_fill.hpp"
#include "guarded_buffer.hpp"
#include "npy.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

namespace clam {
namespace {

using Role = TensorSpec::Role;
using Names = std::map<std::string, std::string>;

/// Puts a graph together; every refusal begins with the workload's name and the node's.
class Builder {
 public:
  Builder(const Workload& workload, const std::string& dtype) : workload_(workload) {
    graph_.name = workload.name;
    for (const Workload::Node& node : workload.nodes) {
      if (node.in_graph()) nodes_.push_back(made(node, dtype));
    }
    for (const Graph::Node& node : nodes_) name_makers(node);
    declare_tensors(dtype);
    for (const Graph::Node& node : nodes_) require_sources(node);
    require_readers();
    put_in_order();
    check_types();
    name_outputs();
  }

  Graph take() { return std::move(graph_); }

 private:
  template <typename... Args>
  [[noreturn]] void fail(const std::string& node, fmt::format_string<Args...> what,
                         Args&&... args) const {
    refuse("{}: node '{}': {}", workload_.name, node,
           fmt::format(what, std::forward<Args>(args)...));
  }
  template <typename... Args>
  [[noreturn]] void fail_tensor(const std::string& tensor, fmt::format_string<Args...> what,
                                Args&&... args) const {
    refuse("{}: tensor '{}' {}", workload_.name, tensor,
           fmt::format(what, std::forward<Args>(args)...));
  }

  void require_known(const Workload::Node& node, const Names& names, Role role,
                     const std::vector<TensorSpec>& specs) const {
    for (const auto& [own, name] : names) {
      const auto same = [&own = own, role](const TensorSpec& spec) {
        return spec.name == own && spec.role == role;
      };
      if (std::any_of(specs.begin(), specs.end(), same)) continue;
      fail(node.name, "{} has no {} {}", node.problem->schema().name,
           role == Role::input ? "input" : "output", in_quotes(own));
    }
  }

  Graph::Node made(const Workload::Node& node, const std::string& dtype) const {
    Graph::Node made{node.name, node.problem->in_float(dtype), node.inputs, node.outputs, {}};
    const std::vector<TensorSpec> specs = made.problem.tensors();
    require_known(node, node.inputs, Role::input, specs);
    require_known(node, node.outputs, Role::output, specs);
    for (const TensorSpec& spec : specs) {
      if (spec.role == Role::output) {
        require_no_gaps(node, spec);
        made.outputs.emplace(spec.name, node.name + "." + spec.name);
      } else if (node.inputs.count(spec.name) == 0) {
        fail(node.name, "its input '{}', {}, has no tensor", spec.name,
             type_text(spec.dtype, spec.shape));
      }
    }
    return made;
  }

  /// Whoever reads the tensor reads what one node has written, wherever it looks.
  void require_no_gaps(const Workload::Node& node, const TensorSpec& spec) const {
    if (count(spec.shape) == spec.span()) return;
    fail(node.name,
         "its output '{}' has {} elements in {} places; a tensor of a graph "
         "has no gaps",
         spec.name, count(spec.shape), spec.span());
  }

  void name_makers(const Graph::Node& node) {
    std::map<std::string, TensorSpec> specs;
    for (const TensorSpec& spec : node.problem.tensors()) specs[spec.name] = spec;
    for (const auto& [own, name] : node.outputs) {
      Graph::Tensor tensor;
      tensor.maker = node.name;
      tensor.dtype = specs.at(own).dtype;
      tensor.shape = shape_of(name, specs.at(own));
      const auto [at, fresh] = graph_.tensors.emplace(name, tensor);
      if (fresh) continue;
      fail(node.name, "'{}' is made by node '{}' already", name, at->second.maker);
    }
  }

  /// What a node lays out by strides has the shape that the file says, if it is as large and the
  /// node's rows begin at the tensor's.
  Shape shape_of(const std::string& name, const TensorSpec& spec) const {
    if (spec.is_dense()) return spec.shape;
    const auto said = workload_.tensors.find(name);
    const bool fits = said != workload_.tensors.end() && count(said->second.shape) == spec.span() &&
                      is_whole_rows(spec, said->second.shape);
    return fits ? said->second.shape : Shape{spec.span()};
  }

  /// Elements from one row of a tensor that an op sees to the next.
  static std::int64_t row_step(const TensorSpec& spec) {
    return spec.strides.empty() ? spec.shape.back() : spec.strides[spec.shape.size() - 2];
  }

  static bool is_whole_rows(const TensorSpec& spec, const Shape& shape) {
    const std::size_t axes = spec.shape.size();
    if (axes < 2 || shape.size() < 2 || spec.shape[axes - 2] == 1) return true;
    return row_step(spec) % shape.back() == 0;
  }

  void declare_tensors(const std::string& dtype) {
    for (const auto& [name, said] : workload_.tensors) {
      const bool follows = !dtype.empty() && said.dtype != Dtype::i32;
      const Dtype type = follows ? parse_dtype(dtype) : said.dtype;
      const auto made = graph_.tensors.find(name);
      if (made == graph_.tensors.end()) {
        graph_.tensors[name] = {said, "", ""};
        graph_.tensors[name].dtype = type;
        if (!said.fill.empty()) check_fill(workload_.name, name, said.fill, said.shape);
        continue;
      }
      Graph::Tensor& tensor = made->second;
      const bool elsewhere = !said.fill.empty() || !said.view_of.empty() || !said.parts.empty() ||
                             said.values.exists();
      if (elsewhere) {
        fail(tensor.maker, "it makes '{}', which has fill, view_of, parts or values too", name);
      }
      tensor.recorded = said.recorded;
      if (tensor.dtype == type && tensor.shape == said.shape) continue;
      fail(tensor.maker, "it makes '{}' as {}, the file says {}", name,
           type_text(tensor.dtype, tensor.shape), type_text(type, said.shape));
    }
    for (auto& [name, tensor] : graph_.tensors) check_parts(name, tensor);
    for (auto& [name, tensor] : graph_.tensors) check_view(name, tensor);
  }

  /// Each part is made, and stands in one whole alone.
  void check_parts(const std::string& name, const Graph::Tensor& whole) {
    std::int64_t elements = 0;
    for (const std::string& part : whole.parts) {
      const auto found = graph_.tensors.find(part);
      if (found == graph_.tensors.end() || !found->second.is_made()) {
        fail_tensor(name, "has the part {}, which no node makes", in_quotes(part));
      }
      Graph::Tensor& tensor = found->second;
      if (!tensor.whole.empty()) {
        fail_tensor(name, "has the part '{}', which is one of '{}' already", part, tensor.whole);
      }
      if (tensor.dtype != whole.dtype) {
        fail_tensor(name, "is {}, its part '{}' {}", clam::name(whole.dtype), part,
                    clam::name(tensor.dtype));
      }
      tensor.whole = name;
      tensor.first = elements;
      elements += count(tensor.shape);
      for (auto up = &whole; !up->whole.empty(); up = &graph_.tensors.at(up->whole)) {
        if (up->whole == name) fail_tensor(name, "is a part of itself");
      }
    }
    if (whole.parts.empty() || elements == count(whole.shape)) return;
    fail_tensor(name, "has {} elements ({}), its parts have {}", count(whole.shape),
                to_string(whole.shape), elements);
  }

  void check_view(const std::string& name, Graph::Tensor& tensor) {
    if (tensor.view_of.empty()) return;
    const auto base = graph_.tensors.find(tensor.view_of);
    if (base == graph_.tensors.end()) {
      fail_tensor(name, "is a view of {}, which is none", in_quotes(tensor.view_of));
    }
    if (!base->second.view_of.empty()) {
      fail_tensor(name, "is a view of a view; take '{}'", base->second.view_of);
    }
    tensor.dtype = base->second.dtype;
    if (count(base->second.shape) - tensor.first >= count(tensor.shape)) return;
    fail_tensor(name, "has {} elements ({}){}, '{}' has {} ({})", count(tensor.shape),
                to_string(tensor.shape),
                tensor.first ? fmt::format(" from {} on", tensor.first) : "", tensor.view_of,
                count(base->second.shape), to_string(base->second.shape));
  }

  void require_sources(const Graph::Node& node) const {
    for (const auto& [own, name] : node.inputs) {
      if (graph_.tensors.count(name)) continue;
      fail(node.name, "its input '{}' reads '{}', which no node makes and \"tensors\" has not", own,
           name);
    }
  }

  /// What nodes read, and what that is a view of.
  std::set<std::string> all_read() const {
    std::set<std::string> read;
    for (const Graph::Node& node : nodes_) {
      for (const auto& [own, name] : node.inputs) read.insert({name, graph_.holder(name)});
    }
    return read;
  }

  /// A name that is nowhere else is a typing error.
  void require_readers() const {
    const std::set<std::string> read = all_read();
    for (const auto& [name, said] : workload_.tensors) {
      const bool known = graph_.tensors.at(name).is_made() || said.recorded.exists();
      if (!known && !read.count(name)) fail_tensor(name, "is read by no node, and made by none");
    }
  }

  /// A tensor that the node reads and whose bytes are not there yet; nullptr if all are.
  const std::string* awaited(const Graph::Node& node) const {
    for (const auto& [own, name] : node.inputs) {
      if (!complete_.count(graph_.holder(name))) return &graph_.holder(name);
    }
    return nullptr;
  }

  /// Each node as soon as all that it reads is there, else in the order of the file; and after it
  /// the moves that are due then.
  void put_in_order() {
    for (const auto& [name, tensor] : graph_.tensors) {
      if (tensor.is_input()) complete(name, graph_.moves);
    }
    std::vector<const Graph::Node*> waiting;
    for (const Graph::Node& node : nodes_) waiting.push_back(&node);
    while (!waiting.empty()) {
      const auto next = std::find_if(waiting.begin(), waiting.end(),
                                     [&](const Graph::Node* node) { return !awaited(*node); });
      if (next == waiting.end()) refuse_cycle(*waiting.front());
      Graph::Node& placed = graph_.nodes.emplace_back(**next);
      for (const auto& [own, name] : placed.outputs) complete(name, placed.moves);
      waiting.erase(next);
    }
  }

  /// Of nodes that wait for each other, as `first` does, one that itself is waited for.
  [[noreturn]] void refuse_cycle(const Graph::Node& first) const {
    std::set<std::string> passed;
    const Graph::Node* node = &first;
    while (passed.insert(node->name).second) node = &maker_of(*awaited(*node));
    const std::string& name = *awaited(*node);
    fail(node->name, "it reads '{}' of node '{}', which waits for it: a cycle", name,
         maker_of(name).name);
  }

  /// Of the tensor, or of the first of its parts that is not there.
  const Graph::Node& maker_of(const std::string& name) const {
    const Graph::Tensor& tensor = graph_.tensors.at(name);
    if (!tensor.maker.empty()) return *find_by_name(nodes_, tensor.maker);
    return maker_of(*std::find_if(tensor.parts.begin(), tensor.parts.end(),
                                  [&](const auto& part) { return complete_.count(part) == 0; }));
  }

  /// The tensor's bytes are there: what follows from that.
  void complete(const std::string& name, std::vector<Graph::Move>& moves) {
    complete_.insert(name);
    for (const auto& [view, tensor] : graph_.tensors) {
      if (tensor.view_of != name || tensor.first == 0) continue;
      moves.push_back({name, view, tensor.first, 0, count(tensor.shape)});
    }
    const std::string& whole = graph_.tensors.at(name).whole;
    if (whole.empty()) return;
    const std::vector<std::string>& parts = graph_.tensors.at(whole).parts;
    const bool all = std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
      return complete_.count(part) != 0;
    });
    if (!all) return;
    for (const std::string& part : parts) {
      const Graph::Tensor& tensor = graph_.tensors.at(part);
      moves.push_back({part, whole, 0, tensor.first, count(tensor.shape)});
    }
    complete(whole, moves);
  }

  /// Those of the model; else what nodes make, and none reads.
  void name_outputs() {
    for (const std::string& name : workload_.model.outputs) {
      const auto found = graph_.tensors.find(name);
      if (found == graph_.tensors.end()) {
        fail_tensor(name, "is an output of the model, and made by no node");
      }
      if (!graph_.is_of_input(name)) graph_.outputs.push_back(name);
    }
    if (!workload_.model.outputs.empty()) return;
    const std::set<std::string> read = all_read();
    for (const auto& [name, tensor] : graph_.tensors) {
      const bool is_last = tensor.is_made() && tensor.whole.empty() && !read.count(name);
      if (is_last) graph_.outputs.push_back(name);
    }
  }

  /// What is read at strides ends within the tensor, and its rows are whole rows of the tensor's.
  void check_type(const Graph::Node& node, const TensorSpec& spec) const {
    const std::string& name = node.inputs.at(spec.name);
    const Graph::Tensor& tensor = graph_.tensors.at(name);
    const auto reject = [&](const std::string& what) {
      fail(node.name, "its input '{}' {}, the tensor '{}' is {}", spec.name, what, name,
           type_text(tensor.dtype, tensor.shape));
    };
    if (tensor.dtype != spec.dtype || (spec.is_dense() && tensor.shape != spec.shape)) {
      reject("is " + type_text(spec.dtype, spec.shape));
    }
    if (spec.is_dense()) return;
    if (spec.span() > count(tensor.shape)) {
      reject(fmt::format("reaches to element {}", spec.span() - 1));
    }
    if (!is_whole_rows(spec, tensor.shape)) {
      reject(fmt::format("has rows {} elements apart", row_step(spec)));
    }
  }

  void check_types() const {
    for (const Graph::Node& node : nodes_) {
      for (const TensorSpec& spec : node.problem.tensors()) {
        if (spec.role == Role::input) check_type(node, spec);
      }
    }
  }

  const Workload& workload_;
  Graph graph_;
  std::vector<Graph::Node> nodes_;  ///< in the order of the file
  std::set<std::string> complete_;  ///< tensors whose bytes are there
};

HostTensor input(const Graph& graph, const std::string& name, std::uint64_t seed,
                 const std::string& folder) {
  const Graph::Tensor& tensor = graph.tensors.at(name);
  const std::string type = type_text(tensor.dtype, tensor.shape);
  const auto fail = [&](const std::string& what) {
    refuse("{}: node '{}': its tensor '{}'{}", graph.name, graph.reader(name), name, what);
  };
  const std::string file = folder + "/" + name + ".npy";
  if (!folder.empty() && std::filesystem::exists(file)) {
    const HostTensor values = read_npy(file);
    const std::string holds = type_text(values.dtype(), values.shape());
    if (holds != type) fail(fmt::format(" is {}, {} holds {}", type, file, holds));
    return values;
  }
  if (tensor.values.exists()) return load(tensor.values, tensor.dtype, tensor.shape);
  if (tensor.fill.empty()) {
    fail(folder.empty() ? fmt::format(", {}, has no fill; give a folder with {}.npy", type, name)
                        : fmt::format(", {}, is not there: {} is missing", type, file));
  }
  HostTensor values(tensor.dtype, tensor.shape);
  make_up(values, name, tensor.fill, tensor.scale, seed);
  return values;
}

/// Both ends are by the names of Graph::held.
void move_all(const Graph& graph, const std::vector<Graph::Move>& moves, Tensors& tensors) {
  for (const Graph::Move& move : moves) {
    const Graph::Tensor& to = graph.tensors.at(move.to);
    HostTensor& target = tensors.try_emplace(move.to, to.dtype, to.shape).first->second;
    const HostTensor& source = tensors.at(move.from);
    const std::int64_t size = size_of(to.dtype);
    std::memcpy(target.data() + move.to_first * size, source.data() + move.from_first * size,
                move.count * size);
  }
}

/// A node's reference as tensors of the op's dtypes, by the op's names.
Tensors rounded(const Graph::Node& node, const Reference& reference) {
  Tensors outputs;
  for (const TensorSpec& spec : node.problem.tensors()) {
    if (spec.role != Role::output) continue;
    const Expected& expected = reference.at(spec.name);
    HostTensor& tensor = outputs[spec.name] = HostTensor(spec.dtype, spec.shape);
    if (expected.bit_exact()) tensor = reshaped(expected.exact, spec.shape);
    for (std::size_t i = 0; i < expected.value.size(); ++i) tensor.set(i, expected.value[i]);
  }
  return outputs;
}

}  // namespace

const Graph::Node& Graph::node(const std::string& wanted) const {
  if (const Node* found = find_by_name(nodes, wanted)) return *found;
  std::string known;
  for (const Node& each : nodes) known += " " + each.name;
  refuse("{}: no node {} in the graph; it has{}", name, in_quotes(wanted),
         known.empty() ? " none" : known);
}

const std::string& Graph::holder(const std::string& tensor) const {
  const auto found = tensors.find(tensor);
  return found == tensors.end() || found->second.view_of.empty() ? tensor : found->second.view_of;
}

const std::string& Graph::held(const std::string& tensor) const {
  const auto found = tensors.find(tensor);
  return found != tensors.end() && found->second.first > 0 ? tensor : holder(tensor);
}

std::string Graph::reader(const std::string& tensor) const {
  for (const Node& each : nodes) {
    for (const auto& [own, read] : each.inputs) {
      if (holder(read) == tensor) return each.name;
    }
  }
  return "";
}

Graph make_graph(const Workload& workload, const std::string& dtype) {
  return Builder(workload, dtype).take();
}

std::string type_text(Dtype dtype, const Shape& shape) {
  return fmt::format("{}[{}]", name(dtype), to_string(shape));
}

Tensors graph_inputs(const Graph& graph, std::uint64_t seed, const std::string& folder,
                     const Tensors& given) {
  Tensors inputs = given;
  for (const auto& [name, tensor] : graph.tensors) {
    if (!tensor.is_input() || graph.reader(name).empty() || inputs.count(name)) continue;
    inputs.emplace(name, input(graph, name, seed, folder));
  }
  move_all(graph, graph.moves, inputs);
  return inputs;
}

HostTensor reshaped(const HostTensor& tensor, const Shape& shape) {
  HostTensor result(tensor.dtype(), shape);
  std::memcpy(result.data(), tensor.data(), result.bytes());
  return result;
}

Tensors inputs_of(const Graph& graph, const Graph::Node& node, const Tensors& tensors) {
  Tensors inputs;
  for (const TensorSpec& spec : node.problem.tensors()) {
    if (spec.role != Role::input) continue;
    const HostTensor& held = tensors.at(graph.held(node.inputs.at(spec.name)));
    inputs.emplace(spec.name, gathered(held.data(), spec));
  }
  return inputs;
}

Tensors outputs_of(const Graph::Node& node, const Tensors& tensors) {
  Tensors outputs;
  for (const TensorSpec& spec : node.problem.tensors()) {
    if (spec.role != Role::output) continue;
    outputs.emplace(spec.name, gathered(tensors.at(node.outputs.at(spec.name)).data(), spec));
  }
  return outputs;
}

void put_outputs(const Graph& graph, const Graph::Node& node, const Tensors& outputs,
                 Tensors& tensors) {
  for (const TensorSpec& spec : node.problem.tensors()) {
    if (spec.role != Role::output) continue;
    const std::string& name = node.outputs.at(spec.name);
    HostTensor& tensor = tensors[name] = HostTensor(spec.dtype, graph.tensors.at(name).shape);
    scatter(outputs.at(spec.name), spec, tensor.data());
  }
  move_all(graph, node.moves, tensors);
}

Reference reference_step(const Graph& graph, const Graph::Node& node, const DeviceInfo& device,
                         Tensors& tensors, const std::string& variant) {
  Reference reference = reference_of(node.problem, inputs_of(graph, node, tensors),
                                     reference_options(Check::hard, device, variant));
  put_outputs(graph, node, rounded(node, reference), tensors);
  return reference;
}

}  // namespace clam
