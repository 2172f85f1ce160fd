// SPDX-License-Identifier: MIT
// model.hpp - what a workload's folder holds of an imported model: its tensors in files, and what
// became of its nodes. tools/import-onnx writes such folders.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "clam/tensor.hpp"

namespace clam {

class ObjectReader;

/// A tensor in a .npy file of the folder. Files with another size or hash are refused.
struct StoredTensor {
  std::string file;        ///< its path; empty: there is none
  std::int64_t bytes = 0;  ///< of the whole file
  std::string xxh3;        ///< 32 hex digits of the whole file

  bool exists() const { return !file.empty(); }
};
/// `folder` is put before the file's name. Throws BadArgument, also where the file's size differs.
StoredTensor read_stored_tensor(const nlohmann::json& value, const std::string& where,
                                const std::string& folder);
/// The same numbers, rounded to `dtype`.
HostTensor converted(const HostTensor& tensor, Dtype dtype);
/// The file's numbers, rounded to `dtype`. Throws BadArgument for another hash, or shape.
HostTensor load(const StoredTensor& stored, Dtype dtype, const Shape& shape);

/// The model that a folder was made from; without a name: the workload was not imported.
struct ImportedModel {
  struct Node {
    std::string name, op;
    std::string became;         ///< mapped, fused, view, constant, dropped or unsupported
    std::string into, why;      ///< a node or tensor of the graph; a sentence if unsupported
    std::int64_t products = 0;  ///< multiply-adds

    bool is_supported() const { return became != "unsupported"; }
  };
  std::string file;
  std::vector<std::string> inputs, outputs;  ///< tensors of the graph
  std::vector<Node> nodes;

  std::int64_t unsupported() const;  ///< nodes whose recorded outputs stand in
  /// "2 of 40 nodes of x.onnx are not supported (NonZero TopK; 3 % of the multiply-adds): ..."; or
  /// empty.
  std::string unsupported_text() const;
};
ImportedModel read_model(const nlohmann::json& value, const std::string& where);

}  // namespace clam
