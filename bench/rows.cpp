// SPDX-License-Identifier: MIT
#include "rows.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "clam/op.hpp"
#include "clam/planner.hpp"
#include "runtime/embedded.hpp"
#include "runtime/refuse.hpp"
#include "runtime/text.hpp"
#include "runtime/words.hpp"

namespace clam::bench {
namespace {

std::string default_variant(const Problem& problem, const DeviceInfo& device,
                            const std::shared_ptr<const Tuned>& tuned) {
  try {
    return make_plan(problem, device, {"", 0, "", tuned}).variant;
  } catch (const Unsupported&) {
    return "";  // the row itself says why
  }
}

/// A workload and a node of it on each line of quick.txt.
std::vector<std::pair<std::string, std::string>> quick_nodes() {
  std::vector<std::pair<std::string, std::string>> nodes;
  for (const std::string_view line : split(embedded_quick().front().text, '\n')) {
    const std::size_t space = line.find(' ');
    if (line.empty() || line.front() == '#') continue;
    nodes.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return nodes;
}

Problem problem_of(const std::string& workload, const std::string& name) {
  const Workload read = read_workload(workload);
  const Workload::Node* node = read.node(name);
  if (node && node->problem) return *node->problem;
  throw BadArgument(fmt::format("{} has no node '{}' to measure", workload, name));
}

/// The nodes of a block that are this row, with their calls: "dense_2 x74".
std::string nodes_of(const Block& block, std::size_t row) {
  std::string nodes;
  for (const Line& line : block.lines) {
    const Workload::Node* node = block.node(line);
    if (line.row != row || !node) continue;
    nodes += (nodes.empty() ? "" : " ") + title(*node);
    if (node->calls > 1) nodes += fmt::format(" x{}", node->calls);
  }
  return nodes;
}

/// "dense_packed" of "dense_packed:M0=4,N0=8".
std::string name_of(const std::string& way) { return way.substr(0, way.find(':')); }

class Selector {
 public:
  Selector(const Options& options, const DeviceInfo& device, std::shared_ptr<const Tuned> tuned)
      : options_(options), device_(device), tuned_(std::move(tuned)) {
    for (const std::string& variant : options.variants) require_known(variant);
    for (const std::string& dtype : options.dtypes) parse_dtype(dtype);
  }

  void add(Workload workload) {
    Block block{std::move(workload), {}};
    for (std::size_t i = 0; i < block.workload.nodes.size(); ++i) {
      const Workload::Node& node = block.workload.nodes[i];
      if (node.problem) add_lines(*node.problem, i, block);
    }
    selection_.blocks.push_back(std::move(block));
  }

  /// The nodes of quick.txt, in its order, and all others that are the same problems.
  void add_quick() {
    Block listed;
    for (const auto& [workload, node] : quick_nodes()) {
      add_lines(problem_of(workload, node), {}, listed);
    }
    takes_more_ = false;
    for (const std::string& workload : workload_names()) {
      add(read_workload(workload));
      if (selection_.blocks.back().lines.empty()) selection_.blocks.pop_back();
    }
  }

  void add_problems(const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    Block block;
    for (const std::string& line : lines) add_lines(Problem::parse(line), {}, block);
    selection_.blocks.push_back(std::move(block));
  }

  Selection take() { return std::move(selection_); }

 private:
  static void require_known(const std::string& way) {
    const std::string variant = name_of(way);
    std::string known;
    for (const Op* op : all_ops()) {
      for (const Variant& each : op->variants) {
        if (each.name == variant) return;
        known += " " + each.name;
      }
    }
    if (way == "all") return;
    refuse("unknown variant '{}'; there is all{}", variant.substr(0, 60), known);
  }

  /// Of the variants that are asked for, those of the op, each with its tile.
  std::vector<std::string> ways_of(const Op& op) const {
    if (options_.variants.empty()) return {""};
    std::vector<std::string> ways;
    for (const Variant& variant : op.variants) {
      for (const std::string& asked : options_.variants) {
        const std::string way = asked == "all" ? variant.name : asked;
        const bool is_new = std::find(ways.begin(), ways.end(), way) == ways.end();
        if (name_of(way) == variant.name && is_new) ways.push_back(way);
      }
    }
    return ways;
  }

  void add_lines(const Problem& problem, std::optional<std::size_t> node, Block& block) {
    std::vector<Problem> typed;
    for (const std::string& dtype : options_.dtypes) typed.push_back(problem.in_float(dtype));
    if (typed.empty()) typed.push_back(problem);
    for (const Problem& each : typed) {
      for (const std::string& way : ways_of(op_of(each))) {
        if (const auto row = row_of(each, way)) block.lines.push_back({*row, node});
      }
    }
  }

  std::optional<std::size_t> row_of(const Problem& problem, const std::string& way) {
    const bool plain = way.empty() || way == default_variant(problem, device_, tuned_);
    const std::string name = plain ? problem.text() : problem.text() + "/" + way;
    auto& rows = selection_.rows;
    if (const Row* known = find_by_name(rows, name)) {
      return static_cast<std::size_t>(known - rows.data());
    }
    if (!takes_more_) return std::nullopt;
    const std::string variant = plain ? "" : name_of(way);
    rows.push_back(
        {name, problem, variant, way.substr(std::min(name_of(way).size() + 1, way.size()))});
    return rows.size() - 1;
  }

  const Options& options_;
  const DeviceInfo& device_;
  std::shared_ptr<const Tuned> tuned_;
  Selection selection_;
  bool takes_more_ = true;  ///< rows, beside those that it has
};

}  // namespace

std::string title(const Workload::Node& node) {
  return node.folded_into.empty() ? node.name
                                  : fmt::format("{} (in {})", node.name, node.folded_into);
}

Selection select_rows(const Options& options, const DeviceInfo& device,
                      std::shared_ptr<const Tuned> tuned) {
  Selector selector(options, device, std::move(tuned));
  std::vector<std::string> workloads = options.workloads;
  if (workloads.empty() && options.problems.empty()) {
    if (options.quick) {
      selector.add_quick();
    } else {
      workloads = workload_names();
    }
  }
  for (const std::string& workload : workloads) selector.add(read_workload(workload));
  selector.add_problems(options.problems);
  Selection selection = selector.take();
  selection.once = options.quick;
  return selection;
}

std::string nodes_of(const Selection& selection, std::size_t row) {
  // Nodes, and the workloads that have them.
  std::vector<std::pair<std::string, std::string>> found;
  for (const Block& block : selection.blocks) {
    const std::string nodes = nodes_of(block, row);
    if (nodes.empty()) continue;
    const auto same = [&](const auto& each) { return each.first == nodes; };
    const auto known = std::find_if(found.begin(), found.end(), same);
    if (known == found.end()) {
      found.emplace_back(nodes, block.workload.name);
    } else {
      known->second += ", " + block.workload.name;
    }
  }
  std::string text;
  for (const auto& [nodes, workloads] : found) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", nodes, workloads);
  }
  return text;
}

std::string to_text(const Selection& selection) {
  std::string text;
  for (std::size_t row = 0; selection.once && row < selection.rows.size(); ++row) {
    const std::string nodes = nodes_of(selection, row);
    text += selection.rows[row].name + (nodes.empty() ? "" : ": " + nodes) + "\n";
  }
  if (selection.once) return text;
  for (const Block& block : selection.blocks) {
    const Workload& workload = block.workload;
    if (!workload.name.empty()) text += fmt::format("{}: {}\n", workload.name, workload.title);
    for (const Line& line : block.lines) {
      const Workload::Node* node = block.node(line);
      text += fmt::format("  {:<24}{}\n", node ? node->name : "", selection.rows[line.row].name);
    }
  }
  return text;
}

}  // namespace clam::bench
