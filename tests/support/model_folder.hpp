// SPDX-License-Identifier: MIT
// model_folder.hpp - a folder as tools/import-onnx writes it: a model of five nodes, one of them
// not supported, with what loops in double precision make of it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "check/npy.hpp"
#include "check/ops/shared/random.hpp"
#include "clam/kernels.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::test {

/// Two 1x1 convolutions of x, concatenated in place; a relu of channels 2 to 5 of that; a third
/// convolution of all, seen as a matrix. Maps of `side` x `side`.
class ModelFolder {
 public:
  ModelFolder(const TemporaryFolder& folder, std::int64_t side)
      : path_(folder.path()), side_(side) {
    std::filesystem::create_directories(path_ + "/tensors");
    const HostTensor x = input("x", {1, 3, side, side});
    const HostTensor a = product(x, input("wa", {5, 3, 1, 1}));
    const HostTensor b = product(x, input("wb", {4, 3, 1, 1}));
    HostTensor all(Dtype::f32, {1, 9, side, side});
    std::copy_n(a.data(), a.bytes(), all.data());
    std::copy_n(b.data(), b.bytes(), all.data() + a.bytes());
    HostTensor middle(Dtype::f32, {1, 4, side, side});
    std::copy_n(all.data() + 2 * plane_bytes(), middle.bytes(), middle.data());
    HostTensor positive = middle;
    for (std::int64_t i = 0; i < positive.size(); ++i) {
      positive.set(i, std::max(0.0, middle.get(i)));
    }
    const HostTensor y = product(all, input("wy", {6, 9, 1, 1}));
    HostTensor flat(Dtype::f32, {6, side * side});
    std::copy_n(y.data(), y.bytes(), flat.data());
    record("a", a), record("b", b), record("all", all), record("middle", middle);
    record("positive", positive), record("y", y), record("flat", flat);
    json["tensors"]["all"]["parts"] = {"a", "b"};
    json["tensors"]["middle"]["view_of"] = "all";
    json["tensors"]["middle"]["first"] = 2 * side * side;
    json["tensors"]["flat"]["view_of"] = "y";
    describe();
    write();
  }

  void write() const { write_file(path_ + "/workload.json", json.dump(1)); }
  const std::string& path() const { return path_; }
  std::string file(const std::string& tensor, const char* key = "recorded") const {
    return path_ + "/" + json["tensors"][tensor][key]["file"].get<std::string>();
  }
  /// Another value in the place of the first one that is recorded, with the hash that goes with it.
  void record_anew(const std::string& tensor, double value) {
    HostTensor values = read_npy(file(tensor));
    values.set(0, value);
    record(tensor, values);
    write();
  }

  nlohmann::json json = {{"clam_workload", 1},
                         {"name", "five"},
                         {"title", "Five nodes"},
                         {"about", "a test"},
                         {"columns", nlohmann::json::array()}};

 private:
  std::size_t plane_bytes() const {
    return static_cast<std::size_t>(side_ * side_) * sizeof(float);
  }

  nlohmann::json stored(const std::string& name, const HostTensor& values) {
    const std::string file = "tensors/" + name + ".npy";
    write_npy(path_ + "/" + file, values);
    const std::string bytes = read_file(path_ + "/" + file);
    return {{"file", file}, {"bytes", bytes.size()}, {"xxh3", hash_text(bytes)}};
  }

  void record(const std::string& name, const HostTensor& values) {
    json["tensors"][name]["shape"] = values.shape();
    json["tensors"][name]["recorded"] = stored(name, values);
  }

  HostTensor input(const std::string& name, const Shape& shape) {
    HostTensor values(Dtype::f32, shape);
    Random random(static_cast<std::uint64_t>(name[name.size() - 1]));
    for (std::int64_t i = 0; i < values.size(); ++i) values.set(i, random.normal());
    json["tensors"][name] = {{"shape", shape}, {"values", stored(name, values)}};
    return values;
  }

  /// w[k, c] by x[c, pixel]
  HostTensor product(const HostTensor& x, const HostTensor& w) const {
    const std::int64_t k = w.shape()[0], c = w.shape()[1], pixels = side_ * side_;
    HostTensor y(Dtype::f32, {1, k, side_, side_});
    for (std::int64_t i = 0; i < y.size(); ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < c; ++j) {
        sum += w.get(i / pixels * c + j) * x.get(j * pixels + i % pixels);
      }
      y.set(i, sum);
    }
    return y;
  }

  void add_node(const std::string& name, const std::string& problem, const nlohmann::json& inputs,
                const nlohmann::json& outputs) {
    json["nodes"].push_back({{"name", name},
                             {"what", name},
                             {"problem", problem + " dtype=f32"},
                             {"calls", 1},
                             {"inputs", inputs},
                             {"outputs", outputs}});
  }

  void describe() {
    const std::string map = "h=" + std::to_string(side_) + " w=" + std::to_string(side_);
    const std::string shape = "1x4x" + std::to_string(side_) + "x" + std::to_string(side_);
    add_node("first", "conv2d c=3 " + map + " k=5 r=1", {{"x", "x"}, {"w", "wa"}}, {{"y", "a"}});
    add_node("second", "conv2d c=3 " + map + " k=4 r=1", {{"x", "x"}, {"w", "wb"}}, {{"y", "b"}});
    add_node("relu", "unary op=relu shape=" + shape, {{"src", "middle"}}, {{"dst", "positive"}});
    add_node("third", "conv2d c=9 " + map + " k=6 r=1", {{"x", "all"}, {"w", "wy"}}, {{"y", "y"}});
    json["model"] = nlohmann::json::parse(R"({
      "file": "five.onnx", "opset": 13, "producer": "", "onnxruntime": "1.0",
      "inputs": ["x"], "outputs": ["positive", "flat"],
      "nodes": [
        {"name": "first", "op": "Conv", "became": "mapped", "into": "first", "products": 60},
        {"name": "join", "op": "Concat", "became": "view", "into": "all", "products": 0},
        {"name": "odd", "op": "Mystery", "became": "unsupported", "why": "unknown", "products": 20}
      ]})");
  }

  std::string path_;
  std::int64_t side_;
};

}  // namespace clam::test
