// SPDX-License-Identifier: MIT
#include "workload.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>

#include "atomic_file.hpp"
#include "embedded.hpp"
#include "error.hpp"
#include "op.hpp"

namespace clam {
namespace {

using nlohmann::json;

/// Ops that a workload may name before they are built; any other word is a typing error.
constexpr std::string_view kPlannedOps[] = {
    "dense",      "batch_matmul",    "conv2d",  "attention",      "softmax",
    "layer_norm", "unary",           "binary",  "pool2d",         "rotary",
    "transpose",  "slice",           "concat",  "gather",         "get_valid_counts",
    "nms",        "onnx_nms",        "box_nms", "multibox_prior", "multibox_transform_loc",
    "ssd_decode", "match_assignment"};

/// One JSON object with the words that lead to it, for messages: "FILE: node 'x': ".
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("", "is no JSON object");
  }

  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw BadArgument(fmt::format("{}: {}{}{}", where_, key, key.empty() ? "" : " ", what));
  }

  void only(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      fail("", fmt::format("unknown key '{}'; it may have {}", key.substr(0, 60),
                           fmt::join(known, " ")));
    }
  }

  bool has(const char* key) const { return object_.contains(key); }
  const json& at(const char* key) const {
    if (!has(key)) fail(key, "is missing");
    return object_.at(key);
  }

  std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
      fail(key, "needs a text that is not empty");
    }
    return value.get<std::string>();
  }

  std::int64_t whole(const char* key) const {
    const json& value = at(key);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 1) {
      fail(key, "needs a whole number of at least 1");
    }
    return value.get<std::int64_t>();
  }

  double positive(const std::string& key, const json& value) const {
    if (!value.is_number() || !(value.get<double>() > 0)) fail(key, "needs a number above 0");
    return value.get<double>();
  }

  void range(const std::string& key, const json& value) const {
    const bool pair = value.is_array() && value.size() == 2;
    if (!pair || positive(key, value[0]) > positive(key, value[1])) {
      fail(key, "needs [least, most]");
    }
  }

 private:
  const json& object_;
  std::string where_;
};

/// An object whose keys are column keys; `check` is called with the full key and the value.
template <typename Check>
void by_column(const Reader& reader, const Workload& workload, const char* key,
               const Check& check) {
  if (!reader.has(key)) return;
  const json& object = reader.at(key);
  if (!object.is_object()) reader.fail(key, "needs an object by column key");
  for (const auto& [column, value] : object.items()) {
    const auto same = [&name = column](const Workload::Column& c) { return c.key == name; };
    const bool known = std::any_of(workload.columns.begin(), workload.columns.end(), same);
    if (!known) reader.fail(key, fmt::format("names '{}', which is no column's key", column));
    check(column, fmt::format("{}.{}", key, column), value);
  }
}

void read_published_on(const json& value, const std::string& origin, Workload& workload) {
  const Reader reader(value, origin + ": published_on");
  reader.only({"device", "gflops_f32", "gflops_f16", "gb_per_s"});
  workload.published_device = reader.text("device");
  for (const char* key : {"gflops_f32", "gflops_f16", "gb_per_s"}) {
    if (reader.has(key)) reader.positive(key, reader.at(key));
  }
}

void read_columns(const Reader& file, const std::string& origin, Workload& workload) {
  if (!file.at("columns").is_array()) file.fail("columns", "needs a list");
  for (const json& value : file.at("columns")) {
    const Reader reader(value, fmt::format("{}: column {}", origin, workload.columns.size()));
    reader.only({"key", "title"});
    const std::string key = reader.text("key");
    for (const Workload::Column& other : workload.columns) {
      if (other.key == key) reader.fail("key", fmt::format("'{}' is there twice", key));
    }
    workload.columns.push_back({key, reader.text("title")});
  }
  if (!workload.columns.empty() && workload.published_device.empty()) {
    file.fail("columns", "need published_on, the device their figures are from");
  }
}

/// The Problem of a built op; nothing for a planned one; throws for a word that is neither.
std::optional<Problem> parse_line(const Reader& reader, const std::string& line,
                                  const std::string& op) {
  const auto& ops = all_ops();
  if (std::any_of(ops.begin(), ops.end(), [&](const Op* built) { return built->name == op; })) {
    try {
      return Problem::parse(line);
    } catch (const BadArgument& error) {
      reader.fail("problem:", error.what());
    }
  }
  if (std::find(std::begin(kPlannedOps), std::end(kPlannedOps), op) != std::end(kPlannedOps)) {
    return std::nullopt;
  }
  reader.fail("problem:",
              fmt::format("unknown op '{}'; it may be {}", op.substr(0, 60),
                          fmt::join(std::begin(kPlannedOps), std::end(kPlannedOps), " ")));
}

Workload::Node read_node(const json& value, const std::string& origin, const Workload& workload) {
  const Reader unnamed(value, fmt::format("{}: node {}", origin, workload.nodes.size()));
  Workload::Node node;
  node.name = unnamed.text("name");
  const Reader reader(value, fmt::format("{}: node '{}'", origin, node.name.substr(0, 60)));
  reader.only({"name", "what", "problem", "calls", "calls_between", "published_us",
               "published_us_between", "claimed_gflops", "folded_into"});
  if (workload.node(node.name)) reader.fail("name", "is there twice");
  node.what = reader.text("what");
  if (reader.has("folded_into")) node.folded_into = reader.text("folded_into");
  if (reader.has("calls")) node.calls = reader.whole("calls");
  if (reader.has("calls_between")) reader.range("calls_between", reader.at("calls_between"));
  if (reader.has("problem")) {
    node.line = reader.text("problem");
    node.op = node.line.substr(0, node.line.find(' '));
    node.problem = parse_line(reader, node.line, node.op);
  } else if (node.folded_into.empty()) {
    reader.fail("problem", "is missing; a node needs a problem, folded_into, or both");
  }
  by_column(reader, workload, "published_us",
            [&](const std::string& column, const std::string& key, const json& us) {
              node.published_us[column] = reader.positive(key, us);
            });
  if (reader.has("claimed_gflops")) {
    node.claimed_gflops = reader.positive("claimed_gflops", reader.at("claimed_gflops"));
  }
  by_column(
      reader, workload, "published_us_between",
      [&](const std::string&, const std::string& key, const json& us) { reader.range(key, us); });
  return node;
}

void check_folding(const Workload& workload, const std::string& origin) {
  for (const Workload::Node& node : workload.nodes) {
    if (node.folded_into.empty()) continue;
    const Workload::Node* host = workload.node(node.folded_into);
    if (host && host->folded_into.empty()) continue;
    throw BadArgument(fmt::format(
        "{}: node '{}': folded_into '{}' {}", origin, node.name, node.folded_into.substr(0, 60),
        host ? "is folded itself; name the node that does the work" : "is no node of this file"));
  }
}

std::string stem(std::string_view file) { return std::string(file.substr(0, file.rfind(".json"))); }

}  // namespace

const Workload::Node* Workload::node(std::string_view wanted) const {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.name == wanted; });
  return found == nodes.end() ? nullptr : &*found;
}

std::vector<Problem> Workload::problems() const {
  std::vector<Problem> unique;
  std::set<std::string> seen;
  for (const Node& node : nodes) {
    if (node.problem && seen.insert(node.problem->text()).second) unique.push_back(*node.problem);
  }
  return unique;
}

std::optional<PublishedTime> published_time(const Workload& workload, const Workload::Node& node,
                                            const std::string& column) {
  PublishedTime sum;
  bool any = false;
  for (const Workload::Node& part : workload.nodes) {
    if (&part != &node && part.folded_into != node.name) continue;
    const auto us = part.published_us.find(column);
    const bool known = us != part.published_us.end();
    any = any || known;
    if (&part == &node && known) sum.us += us->second;
    if (&part == &node) continue;
    if (known && part.calls > 0 && node.calls > 0) {
      sum.us += us->second * static_cast<double>(part.calls) / static_cast<double>(node.calls);
    } else {
      sum.at_least = true;
    }
  }
  if (!any) return std::nullopt;
  return sum;
}

Workload parse_workload(std::string_view text, const std::string& origin) {
  json value;
  try {
    value = json::parse(text);
  } catch (const json::exception& error) {
    throw BadArgument(fmt::format("{}: is no JSON: {}", origin, error.what()));
  }
  const Reader reader(value, origin);
  if (reader.at("clam_workload") != 1) {
    reader.fail("clam_workload", "is not 1, the version that this program reads");
  }
  reader.only({"clam_workload", "name", "title", "about", "published_on", "columns", "nodes"});
  Workload workload;
  workload.name = reader.text("name");
  workload.title = reader.text("title");
  workload.about = reader.text("about");
  if (reader.has("published_on")) read_published_on(reader.at("published_on"), origin, workload);
  read_columns(reader, origin, workload);
  if (!reader.at("nodes").is_array() || reader.at("nodes").empty()) {
    reader.fail("nodes", "needs a list of at least one node");
  }
  for (const json& node : reader.at("nodes")) {
    workload.nodes.push_back(read_node(node, origin, workload));
  }
  check_folding(workload, origin);
  return workload;
}

Workload read_workload(const std::string& name_or_path) {
  for (const EmbeddedFile& file : embedded_workloads()) {
    if (stem(file.name) == name_or_path) return parse_workload(file.text, std::string(file.name));
  }
  if (name_or_path.find('/') == std::string::npos && stem(name_or_path) == name_or_path) {
    throw BadArgument(fmt::format("unknown workload '{}'; there is {}, or give a file's path",
                                  name_or_path.substr(0, 60), fmt::join(workload_names(), " ")));
  }
  return parse_workload(read_file(name_or_path), name_or_path);
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_workloads()) names.push_back(stem(file.name));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace clam
