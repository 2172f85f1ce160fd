// SPDX-License-Identifier: MIT
#include "workload.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>

#include "clam/error.hpp"
#include "clam/op.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/embedded.hpp"

namespace clam {
namespace {

using nlohmann::json;

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

  const std::string& where() const { return where_; }
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

Problem parse_line(const Reader& reader, const std::string& line) {
  try {
    return Problem::parse(line);
  } catch (const BadArgument& error) {
    reader.fail("problem:", error.what());
  }
}

/// Names of tensors, of which those of nodes are a part, are names of files too.
void check_name(const Reader& reader, const std::string& key, const std::string& name) {
  constexpr const char* kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  if (!name.empty() && name[0] != '.' && name.find_first_not_of(kLetters) == name.npos) return;
  reader.fail(key,
              fmt::format("has {}; a name is of letters, digits and _ - . alone", in_quotes(name)));
}

[[noreturn]] void fail_for_parameter(const Reader& reader, const Parameters& parameters,
                                     const std::string& word) {
  std::string known;
  for (const auto& [name, value] : parameters) known += " " + name;
  reader.fail("", fmt::format("{} is no parameter; there is{}", in_quotes(word),
                              known.empty() ? " none" : known));
}

/// One factor of a product in braces: a number, or a parameter's name.
std::int64_t factor(const Reader& reader, const Parameters& parameters, const std::string& word) {
  const auto found = parameters.find(word);
  if (found != parameters.end()) return found->second;
  const bool digits =
      !word.empty() && word.size() < 10 && word.find_first_not_of("0123456789") == word.npos;
  if (digits) return std::stoll(word);
  fail_for_parameter(reader, parameters, word);
}

/// "n={2*n}" with the parameters' values in place of the braces.
std::string substituted(const Reader& reader, const Parameters& parameters, std::string text) {
  for (std::size_t begin; (begin = text.find('{')) != text.npos;) {
    const std::size_t end = text.find('}', begin);
    if (end == text.npos) reader.fail("", "a { has no }: write {n}, or a product like {2*n}");
    std::int64_t product = 1;
    for (std::size_t at = begin + 1; at <= end;) {
      const std::size_t next = std::min(text.find('*', at), end);
      const std::int64_t value = factor(reader, parameters, text.substr(at, next - at));
      if (value > 2147483647 / std::max<std::int64_t>(product, 1)) {
        reader.fail("", fmt::format("{} is over 2147483647",
                                    in_quotes(text.substr(begin, end - begin + 1))));
      }
      product *= value;
      at = next + 1;
    }
    text.replace(begin, end - begin + 1, std::to_string(product));
  }
  return text;
}

Parameters read_parameters(const Reader& file, const Parameters& given) {
  Parameters parameters;
  if (file.has("parameters")) {
    const json& object = file.at("parameters");
    if (!object.is_object()) file.fail("parameters", "needs an object of whole numbers by name");
    const Reader reader(object, file.where() + ": parameters");
    for (const auto& [name, value] : object.items()) {
      check_name(file, "parameters", name);
      if (std::isdigit(static_cast<unsigned char>(name[0]))) {
        file.fail("parameters",
                  fmt::format("has {}; a name begins with a letter", in_quotes(name)));
      }
      parameters[name] = reader.whole(name.c_str());
    }
  }
  for (const auto& [name, value] : given) {
    const auto known = parameters.find(name);
    if (known == parameters.end()) fail_for_parameter(file, parameters, name);
    if (value < 1) file.fail(name, fmt::format("= {}, needs at least 1", value));
    parameters[name] = value;
  }
  return parameters;
}

Shape read_shape(const Reader& reader, const Parameters& parameters) {
  const json& list = reader.at("shape");
  if (!list.is_array() || list.empty()) reader.fail("shape", "needs a list of extents");
  Shape shape;
  for (const json& extent : list) {
    const std::string text = extent.is_string()
                                 ? substituted(reader, parameters, extent.get<std::string>())
                                 : extent.dump();
    const bool digits = text.size() < 11 && text.find_first_not_of("0123456789") == text.npos;
    if (!digits || text.empty() || std::stoll(text) < 1) {
      reader.fail("shape", fmt::format("has {}; an extent is a whole number of at least 1, or a "
                                       "text like {{n}}",
                                       in_quotes(extent.dump())));
    }
    shape.push_back(std::stoll(text));
  }
  try {
    count(shape);
  } catch (const BadArgument& error) {
    reader.fail("shape:", error.what());
  }
  return shape;
}

Dtype read_dtype(const Reader& reader) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::i32}) {
    if (reader.text("dtype") == name(dtype)) return dtype;
  }
  reader.fail("dtype",
              fmt::format("is {}; it may be f32 f16 i32", in_quotes(reader.text("dtype"))));
}

Workload::Tensor read_tensor(const json& value, const std::string& where,
                             const Parameters& parameters) {
  const Reader reader(value, where);
  reader.only({"shape", "dtype", "fill", "scale", "view_of"});
  Workload::Tensor tensor;
  tensor.shape = read_shape(reader, parameters);
  if (reader.has("dtype")) tensor.dtype = read_dtype(reader);
  if (reader.has("fill")) tensor.fill = reader.text("fill");
  if (reader.has("scale")) tensor.scale = reader.positive("scale", reader.at("scale"));
  if (reader.has("view_of")) tensor.view_of = reader.text("view_of");
  if (!tensor.view_of.empty() && reader.has("fill")) {
    reader.fail("view_of", "goes without fill: a view has the bytes of another tensor");
  }
  return tensor;
}

void read_tensors(const Reader& part, Workload& workload) {
  if (!part.has("tensors")) return;
  const json& object = part.at("tensors");
  if (!object.is_object()) part.fail("tensors", "needs an object by name");
  for (const auto& [name, value] : object.items()) {
    check_name(part, "tensors", name);
    const std::string where = fmt::format("{}: tensor '{}'", part.where(), name);
    const bool is_new =
        workload.tensors.emplace(name, read_tensor(value, where, workload.parameters)).second;
    if (!is_new) part.fail("tensors", fmt::format("has '{}', which is there already", name));
  }
}

/// What the op's tensors are called in the graph.
std::map<std::string, std::string> read_names(const Reader& reader, const char* key) {
  std::map<std::string, std::string> names;
  if (!reader.has(key)) return names;
  const json& object = reader.at(key);
  if (!object.is_object()) reader.fail(key, "needs an object: the op's tensor, the graph's name");
  for (const auto& [own, name] : object.items()) {
    if (!name.is_string()) reader.fail(key, fmt::format("{} needs a name", in_quotes(own)));
    check_name(reader, key, name.get<std::string>());
    names[own] = name.get<std::string>();
  }
  return names;
}

Workload::Node read_node(const json& value, const std::string& origin, const Workload& workload) {
  const Reader unnamed(value, fmt::format("{}: node {}", origin, workload.nodes.size()));
  Workload::Node node;
  node.name = unnamed.text("name");
  const Reader reader(value, fmt::format("{}: node '{}'", origin, node.name.substr(0, 60)));
  reader.only({"name", "what", "problem", "calls", "calls_between", "published_us",
               "published_us_between", "claimed_gflops", "folded_into", "inputs", "outputs"});
  if (workload.node(node.name)) reader.fail("name", "is there twice");
  node.what = reader.text("what");
  if (reader.has("folded_into")) node.folded_into = reader.text("folded_into");
  if (reader.has("calls")) node.calls = reader.whole("calls");
  if (reader.has("calls_between")) reader.range("calls_between", reader.at("calls_between"));
  if (reader.has("problem")) {
    node.line = substituted(reader, workload.parameters, reader.text("problem"));
    node.problem = parse_line(reader, node.line);
  } else if (node.folded_into.empty()) {
    reader.fail("problem", "is missing; a node needs a problem, folded_into, or both");
  }
  node.inputs = read_names(reader, "inputs");
  node.outputs = read_names(reader, "outputs");
  if (node.in_graph()) check_name(reader, "name", node.name);
  if (node.in_graph() && !node.problem) reader.fail("problem:", "a node of the graph needs one");
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

/// A group with "{name}" replaced by the row's value under that name; other braces stay.
json with_row(const Reader& group, const json& names, const json& row, const json& value) {
  if (!row.is_array() || row.size() != names.size()) {
    group.fail("each",
               fmt::format("has {}; a row needs {} values", in_quotes(row.dump()), names.size()));
  }
  std::string text = value.dump();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!row[i].is_string() && !row[i].is_number()) {
      group.fail("each",
                 fmt::format("has {}; a value is a text or a number", in_quotes(row[i].dump())));
    }
    const std::string from = "{" + names[i].get<std::string>() + "}";
    const std::string word = row[i].dump();
    const std::string to = row[i].is_string() ? word.substr(1, word.size() - 2) : word;
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }
  return json::parse(text);
}

void read_nodes(const Reader& part, const std::string& origin, Workload& workload);

/// The tensors and nodes of a group, once for each row.
void read_group(const json& value, const std::string& origin, Workload& workload) {
  const Reader group(value, fmt::format("{}: group at node {}", origin, workload.nodes.size()));
  group.only({"each", "tensors", "nodes"});
  const json& each = group.at("each");
  if (!each.is_array() || each.size() < 2 || !each[0].is_array()) {
    group.fail("each", "needs a row of names, then rows of values");
  }
  for (const json& name : each[0]) {
    if (!name.is_string()) group.fail("each", "needs names in its first row");
    check_name(group, "each", name.get<std::string>());
  }
  for (std::size_t row = 1; row < each.size(); ++row) {
    json made = value;
    made.erase("each");
    made = with_row(group, each[0], each[row], made);
    const Reader reader(made, group.where());
    read_tensors(reader, workload);
    read_nodes(reader, origin, workload);
  }
}

void read_nodes(const Reader& part, const std::string& origin, Workload& workload) {
  if (!part.at("nodes").is_array() || part.at("nodes").empty()) {
    part.fail("nodes", "needs a list of at least one node");
  }
  for (const json& value : part.at("nodes")) {
    if (value.is_object() && value.contains("each")) {
      read_group(value, origin, workload);
    } else {
      workload.nodes.push_back(read_node(value, origin, workload));
    }
  }
}

std::string stem(std::string_view file) { return std::string(file.substr(0, file.rfind(".json"))); }

}  // namespace

const Workload::Node* Workload::node(std::string_view wanted) const {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.name == wanted; });
  return found == nodes.end() ? nullptr : &*found;
}

bool Workload::has_graph() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.in_graph(); });
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

Workload parse_workload(std::string_view text, const std::string& origin,
                        const Parameters& parameters) {
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
  reader.only({"clam_workload", "name", "title", "about", "published_on", "columns", "parameters",
               "tensors", "nodes"});
  Workload workload;
  workload.name = reader.text("name");
  workload.title = reader.text("title");
  workload.about = reader.text("about");
  if (reader.has("published_on")) read_published_on(reader.at("published_on"), origin, workload);
  read_columns(reader, origin, workload);
  workload.parameters = read_parameters(reader, parameters);
  read_tensors(reader, workload);
  read_nodes(reader, origin, workload);
  check_folding(workload, origin);
  return workload;
}

Workload read_workload(const std::string& name_or_path, const Parameters& parameters) {
  for (const EmbeddedFile& file : embedded_workloads()) {
    if (stem(file.name) != name_or_path) continue;
    return parse_workload(file.text, std::string(file.name), parameters);
  }
  if (name_or_path.find('/') == std::string::npos && stem(name_or_path) == name_or_path) {
    throw BadArgument(fmt::format("unknown workload '{}'; there is {}, or give a file's path",
                                  name_or_path.substr(0, 60), fmt::join(workload_names(), " ")));
  }
  return parse_workload(read_file(name_or_path), name_or_path, parameters);
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_workloads()) names.push_back(stem(file.name));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace clam
