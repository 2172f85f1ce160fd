// SPDX-License-Identifier: MIT
#include "model.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "clam/kernels.hpp"
#include "npy.hpp"
#include "object_reader.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"

namespace clam {
namespace {

using nlohmann::json;

constexpr const char* kAgain = "the folder is damaged: import the model again";

/// A name within the folder: nothing of it leads out.
void check_file_name(const ObjectReader& reader, const std::string& name) {
  const std::filesystem::path path(name);
  const bool leads_out =
      path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
  if (leads_out || path.extension() != ".npy") {
    reader.fail("file", "is {}; it is a .npy file in the folder", in_quotes(name));
  }
}

ImportedModel::Node read_node(const json& value, const std::string& where) {
  constexpr const char* kWords[] = {"mapped",   "fused",   "view",
                                    "constant", "dropped", "unsupported"};
  const ObjectReader reader(value, where);
  reader.only({"name", "op", "became", "into", "why", "products"});
  ImportedModel::Node node{
      reader.text("name"), reader.text("op"), reader.text("became"), "", "", 0};
  if (std::find(std::begin(kWords), std::end(kWords), node.became) == std::end(kWords)) {
    reader.fail("became", "is {}; it may be {}", in_quotes(node.became), fmt::join(kWords, " "));
  }
  if (reader.has("into")) node.into = reader.text("into");
  if (reader.has("why")) node.why = reader.text("why");
  if (reader.has("products")) node.products = reader.whole("products", 0);
  return node;
}

}  // namespace

StoredTensor read_stored_tensor(const json& value, const std::string& where,
                                const std::string& folder) {
  const ObjectReader reader(value, where);
  reader.only({"file", "bytes", "xxh3"});
  if (folder.empty()) reader.fail("file", "needs a folder: give the folder, not the file in it");
  StoredTensor stored{reader.text("file"), reader.whole("bytes"), reader.text("xxh3")};
  check_file_name(reader, stored.file);
  stored.file = folder + "/" + stored.file;
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(stored.file, error);
  if (error) refuse("{} is missing ({}); {}", stored.file, error.message(), kAgain);
  throw_if(bytes != static_cast<std::uintmax_t>(stored.bytes),
           "{} has {} bytes, workload.json says {}; {}", stored.file, bytes, stored.bytes, kAgain);
  return stored;
}

HostTensor converted(const HostTensor& tensor, Dtype dtype) {
  if (tensor.dtype() == dtype) return tensor;
  HostTensor result(dtype, tensor.shape());
  for (std::int64_t i = 0; i < result.size(); ++i) result.set(i, tensor.get(i));
  return result;
}

HostTensor load(const StoredTensor& stored, Dtype dtype, const Shape& shape) {
  const std::string file = read_file(stored.file);
  throw_if(hash_text(file) != stored.xxh3, "{} does not have the hash that workload.json says; {}",
           stored.file, kAgain);
  const HostTensor values = parse_npy(file, stored.file);
  const bool whole = dtype == Dtype::i32;
  throw_if(values.shape() != shape || whole != (values.dtype() == Dtype::i32),
           "{} holds {}[{}], workload.json says {}[{}]; {}", stored.file, name(values.dtype()),
           to_string(values.shape()), name(dtype), to_string(shape), kAgain);
  return converted(values, dtype);
}

std::int64_t ImportedModel::unsupported() const {
  return std::count_if(nodes.begin(), nodes.end(), [](const Node& n) { return !n.is_supported(); });
}

std::string ImportedModel::unsupported_text() const {
  if (unsupported() == 0) return "";
  std::set<std::string> ops;
  double products = 0, missing = 0;
  for (const Node& node : nodes) {
    products += double(node.products);
    if (node.is_supported()) continue;
    ops.insert(node.op);
    missing += double(node.products);
  }
  return fmt::format(
      "{} of {} nodes of {} not supported ({}; {:.3g} % of the multiply-adds), their recorded "
      "outputs stand in",
      unsupported(), nodes.size(), file, fmt::join(ops, " "),
      products > 0 ? 100 * missing / products : 0.0);
}

ImportedModel read_model(const json& value, const std::string& where) {
  const ObjectReader reader(value, where);
  reader.only({"file", "opset", "producer", "onnxruntime", "inputs", "outputs", "names", "nodes"});
  ImportedModel model;
  model.file = reader.text("file");
  reader.whole("opset");
  reader.text("onnxruntime");
  model.inputs = reader.names("inputs");
  model.outputs = reader.names("outputs");
  for (const json& node : reader.list("nodes")) {
    model.nodes.push_back(
        read_node(node, fmt::format("{}: node {} of the model", where, model.nodes.size())));
  }
  return model;
}

}  // namespace clam
