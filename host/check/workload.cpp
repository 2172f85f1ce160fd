// SPDX-License-Identifier: MIT
#include "workload.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "clam/error.hpp"
#include "clam/op.hpp"
#include "object_reader.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/embedded.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

namespace clam {
namespace {

using nlohmann::json;

/// An object whose keys are column keys; `check` is called with the full key and the value.
template <typename Check>
void by_column(const ObjectReader& reader, const Workload& workload, const char* key,
               const Check& check) {
  for (const auto& [column, value] : reader.object(key, "an object by column key")) {
    const auto same = [&name = column](const Workload::Column& c) { return c.key == name; };
    const bool known = std::any_of(workload.columns.begin(), workload.columns.end(), same);
    if (!known) reader.fail(key, "names '{}', which is no column's key", column);
    check(column, fmt::format("{}.{}", key, column), value);
  }
}

void read_published_on(const json& value, const std::string& origin, Workload& workload) {
  const ObjectReader reader(value, origin + ": published_on");
  reader.only({"device", "gflops_f32", "gflops_f16", "gb_per_s"});
  workload.published_device = reader.text("device");
  for (const char* key : {"gflops_f32", "gflops_f16", "gb_per_s"}) {
    if (reader.has(key)) reader.positive(key, reader.at(key));
  }
}

void read_columns(const ObjectReader& file, const std::string& origin, Workload& workload) {
  if (!file.has("columns")) return;
  for (const json& value : file.list("columns")) {
    const ObjectReader reader(value, fmt::format("{}: column {}", origin, workload.columns.size()));
    reader.only({"key", "title"});
    const std::string key = reader.text("key");
    for (const Workload::Column& other : workload.columns) {
      if (other.key == key) reader.fail("key", "'{}' is there twice", key);
    }
    workload.columns.push_back({key, reader.text("title")});
  }
  if (!workload.columns.empty() && workload.published_device.empty()) {
    file.fail("columns", "need published_on, the device their figures are from");
  }
}

Problem parse_line(const ObjectReader& reader, const std::string& line) {
  try {
    return Problem::parse(line);
  } catch (const BadArgument& error) {
    reader.fail("problem:", "{}", error.what());
  }
}

[[noreturn]] void fail_for_parameter(const ObjectReader& reader, const Parameters& parameters,
                                     const std::string& word) {
  std::string known;
  for (const auto& [name, value] : parameters) known += " " + name;
  reader.fail("", "{} is no parameter; there is{}", in_quotes(word),
              known.empty() ? " none" : known);
}

/// One factor of a product in braces: a number, or a parameter's name.
std::int64_t factor(const ObjectReader& reader, const Parameters& parameters,
                    const std::string& word) {
  const auto found = parameters.find(word);
  if (found != parameters.end()) return found->second;
  const bool digits =
      !word.empty() && word.size() < 10 && word.find_first_not_of("0123456789") == word.npos;
  if (digits) return std::stoll(word);
  fail_for_parameter(reader, parameters, word);
}

/// "n={2*n}" with the parameters' values in place of the braces.
std::string substituted(const ObjectReader& reader, const Parameters& parameters,
                        std::string text) {
  for (std::size_t begin; (begin = text.find('{')) != text.npos;) {
    const std::size_t end = text.find('}', begin);
    if (end == text.npos) reader.fail("", "a {{ has no }}: write {{n}}, or a product like {{2*n}}");
    std::int64_t product = 1;
    for (std::size_t at = begin + 1; at <= end;) {
      const std::size_t next = std::min(text.find('*', at), end);
      const std::int64_t value = factor(reader, parameters, text.substr(at, next - at));
      if (value > 2147483647 / std::max<std::int64_t>(product, 1)) {
        reader.fail("", "{} is over 2147483647", in_quotes(text.substr(begin, end - begin + 1)));
      }
      product *= value;
      at = next + 1;
    }
    text.replace(begin, end - begin + 1, std::to_string(product));
  }
  return text;
}

Parameters read_parameters(const ObjectReader& file, const Parameters& given) {
  Parameters parameters;
  for (const auto& [name, value] :
       file.object("parameters", "an object of whole numbers by name")) {
    file.check_name("parameters", name);
    if (std::isdigit(static_cast<unsigned char>(name[0]))) {
      file.fail("parameters", "has {}; a name begins with a letter", in_quotes(name));
    }
    const ObjectReader reader(file.at("parameters"), file.where() + ": parameters");
    parameters[name] = reader.whole(name.c_str());
  }
  for (const auto& [name, value] : given) {
    const auto known = parameters.find(name);
    if (known == parameters.end()) fail_for_parameter(file, parameters, name);
    if (value < 1) file.fail(name, "= {}, needs at least 1", value);
    parameters[name] = value;
  }
  return parameters;
}

Shape read_shape(const ObjectReader& reader, const Parameters& parameters) {
  Shape shape;
  for (const json& extent : reader.list("shape", "a list of extents", 1)) {
    const std::string text = extent.is_string()
                                 ? substituted(reader, parameters, extent.get<std::string>())
                                 : extent.dump();
    const bool digits = text.size() < 11 && text.find_first_not_of("0123456789") == text.npos;
    if (!digits || text.empty() || std::stoll(text) < 1) {
      reader.fail("shape",
                  "has {}; an extent is a whole number of at least 1, or a text like {{n}}",
                  in_quotes(extent.dump()));
    }
    shape.push_back(std::stoll(text));
  }
  try {
    count(shape);
  } catch (const BadArgument& error) {
    reader.fail("shape:", "{}", error.what());
  }
  return shape;
}

Dtype read_dtype(const ObjectReader& reader) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::i32}) {
    if (reader.text("dtype") == name(dtype)) return dtype;
  }
  reader.fail("dtype", "is {}; it may be f32 f16 i32", in_quotes(reader.text("dtype")));
}

/// The bytes of a tensor come from one place.
void check_origin(const ObjectReader& reader, const Workload::Tensor& tensor) {
  const bool view = !tensor.view_of.empty(), whole = !tensor.parts.empty();
  if (view && reader.has("fill")) {
    reader.fail("view_of", "goes without fill: a view has the bytes of another tensor");
  }
  if (view + whole + reader.has("fill") + tensor.values.exists() > 1) {
    reader.fail("", "has two of fill, values, view_of and parts; its bytes come from one of them");
  }
  if (!view && reader.has("first")) reader.fail("first", "is of a view; there is no view_of");
}

/// A tensor of a graph; `folder` as in parse_workload.
Workload::Tensor read_tensor(const json& value, const std::string& where,
                             const Parameters& parameters, const std::string& folder) {
  const ObjectReader reader(value, where);
  reader.only(
      {"shape", "dtype", "fill", "scale", "view_of", "first", "parts", "values", "recorded"});
  Workload::Tensor tensor;
  tensor.shape = read_shape(reader, parameters);
  if (reader.has("dtype")) tensor.dtype = read_dtype(reader);
  if (reader.has("fill")) tensor.fill = reader.text("fill");
  if (reader.has("scale")) tensor.scale = reader.positive("scale", reader.at("scale"));
  if (reader.has("view_of")) tensor.view_of = reader.text("view_of");
  if (reader.has("first")) tensor.first = reader.whole("first", 0);
  if (reader.has("parts")) tensor.parts = reader.names("parts");
  if (reader.has("values")) {
    tensor.values = read_stored_tensor(reader.at("values"), where + ": values", folder);
  }
  if (reader.has("recorded")) {
    tensor.recorded = read_stored_tensor(reader.at("recorded"), where + ": recorded", folder);
  }
  check_origin(reader, tensor);
  return tensor;
}

void read_tensors(const ObjectReader& part, const std::string& folder, Workload& workload) {
  for (const auto& [name, value] : part.object("tensors", "an object by name")) {
    part.check_name("tensors", name);
    const std::string where = fmt::format("{}: tensor '{}'", part.where(), name);
    Workload::Tensor tensor = read_tensor(value, where, workload.parameters, folder);
    const bool is_new = workload.tensors.emplace(name, std::move(tensor)).second;
    if (!is_new) part.fail("tensors", "has '{}', which is there already", name);
  }
}

/// What the op's tensors are called in the graph.
std::map<std::string, std::string> read_names(const ObjectReader& reader, const char* key) {
  std::map<std::string, std::string> names;
  for (const auto& [own, name] :
       reader.object(key, "an object: the op's tensor, the graph's name")) {
    if (!name.is_string()) reader.fail(key, "{} needs a name", in_quotes(own));
    reader.check_name(key, name.get<std::string>());
    names[own] = name.get<std::string>();
  }
  return names;
}

Workload::Node read_node(const json& value, const std::string& origin, const Workload& workload) {
  const ObjectReader unnamed(value, fmt::format("{}: node {}", origin, workload.nodes.size()));
  Workload::Node node;
  node.name = unnamed.text("name");
  const ObjectReader reader(value, fmt::format("{}: node '{}'", origin, node.name.substr(0, 60)));
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
  if (node.in_graph()) reader.check_name("name", node.name);
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
    refuse("{}: node '{}': folded_into '{}' {}", origin, node.name, node.folded_into.substr(0, 60),
           host ? "is folded itself; name the node that does the work" : "is no node of this file");
  }
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

/// A group with "{name}" replaced by the row's value under that name; other braces stay. Calls
/// become the value itself, a number.
json with_row(const ObjectReader& group, const json& names, const json& row, const json& value) {
  if (!row.is_array() || row.size() != names.size()) {
    group.fail("each", "has {}; a row needs {} values", in_quotes(row.dump()), names.size());
  }
  std::string text = value.dump();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!row[i].is_string() && !row[i].is_number()) {
      group.fail("each", "has {}; a value is a text or a number", in_quotes(row[i].dump()));
    }
    const std::string braces = "{" + names[i].get<std::string>() + "}", word = row[i].dump();
    replace_all(text, "\"calls\":\"" + braces + "\"", "\"calls\":" + word);
    replace_all(text, braces, row[i].is_string() ? word.substr(1, word.size() - 2) : word);
  }
  return json::parse(text);
}

void read_nodes(const ObjectReader& part, const std::string& origin, Workload& workload);

/// The tensors and nodes of a group, once for each row.
void read_group(const json& value, const std::string& origin, Workload& workload) {
  const ObjectReader group(value,
                           fmt::format("{}: group at node {}", origin, workload.nodes.size()));
  group.only({"each", "tensors", "nodes"});
  const json& each = group.at("each");
  if (!each.is_array() || each.size() < 2 || !each[0].is_array()) {
    group.fail("each", "needs a row of names, then rows of values");
  }
  for (const json& name : each[0]) {
    if (!name.is_string()) group.fail("each", "needs names in its first row");
    group.check_name("each", name.get<std::string>());
  }
  for (std::size_t row = 1; row < each.size(); ++row) {
    json made = value;
    made.erase("each");
    made = with_row(group, each[0], each[row], made);
    const ObjectReader reader(made, group.where());
    read_tensors(reader, "", workload);
    read_nodes(reader, origin, workload);
  }
}

void read_nodes(const ObjectReader& part, const std::string& origin, Workload& workload) {
  for (const json& value : part.list("nodes", "a list of at least one node", 1)) {
    if (value.is_object() && value.contains("each")) {
      read_group(value, origin, workload);
    } else {
      workload.nodes.push_back(read_node(value, origin, workload));
    }
  }
}

std::string stem(std::string_view file) { return std::string(file.substr(0, file.rfind(".json"))); }

/// A file that says how it differs from one of clam's own is that one with the changes.
json patched(const json& own, const std::string& origin) {
  const ObjectReader reader(own, origin);
  if (!reader.has("based_on")) return own;
  reader.only({"clam_workload", "name", "title", "about", "based_on", "patch"});
  const EmbeddedFile* base = find_by_name(embedded_workloads(), reader.text("based_on") + ".json");
  if (!base) reader.fail("based_on", "is {}, no workload here", in_quotes(reader.text("based_on")));
  try {
    json whole = patched(json::parse(base->text), stem(base->name)).patch(reader.at("patch"));
    for (const char* key : {"clam_workload", "name", "title", "about"}) whole[key] = reader.at(key);
    return whole;
  } catch (const json::exception& error) {
    reader.fail("patch", "is no JSON Patch of it: {}", error.what());
  }
}

}  // namespace

const Workload::Node* Workload::node(std::string_view wanted) const {
  return find_by_name(nodes, wanted);
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
      sum.us += us->second * part.calls / node.calls;
    } else {
      sum.at_least = true;
    }
  }
  if (!any) return std::nullopt;
  return sum;
}

Workload parse_workload(std::string_view text, const std::string& origin,
                        const Parameters& parameters, const std::string& folder) {
  json value;
  try {
    value = json::parse(text);
  } catch (const json::exception& error) {
    refuse("{}: is no JSON: {}", origin, error.what());
  }
  value = patched(value, origin);
  const ObjectReader reader(value, origin);
  if (reader.at("clam_workload") != 1) {
    reader.fail("clam_workload", "is not 1, the version that this program reads");
  }
  reader.only({"clam_workload", "name", "title", "about", "published_on", "columns", "parameters",
               "tensors", "nodes", "model"});
  Workload workload;
  workload.name = reader.text("name");
  workload.title = reader.text("title");
  workload.about = reader.text("about");
  if (reader.has("published_on")) read_published_on(reader.at("published_on"), origin, workload);
  read_columns(reader, origin, workload);
  workload.parameters = read_parameters(reader, parameters);
  read_tensors(reader, folder, workload);
  read_nodes(reader, origin, workload);
  if (reader.has("model")) workload.model = read_model(reader.at("model"), origin + ": model");
  check_folding(workload, origin);
  return workload;
}

Workload read_workload(const std::string& name_or_path, const Parameters& parameters) {
  for (const EmbeddedFile& file : embedded_workloads()) {
    if (stem(file.name) != name_or_path) continue;
    return parse_workload(file.text, std::string(file.name), parameters);
  }
  const bool is_name = name_or_path.find('/') == name_or_path.npos &&
                       stem(name_or_path) == name_or_path &&
                       !std::filesystem::is_directory(name_or_path);
  throw_if(is_name, "unknown workload '{}'; there is {}, or give the path of a file or folder",
           name_or_path.substr(0, 60), fmt::join(workload_names(), " "));
  if (!std::filesystem::is_directory(name_or_path)) {
    return parse_workload(read_file(name_or_path), name_or_path, parameters);
  }
  const std::string file = name_or_path + "/workload.json";
  return parse_workload(read_file(file), file, parameters, name_or_path);
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_workloads()) names.push_back(stem(file.name));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace clam
