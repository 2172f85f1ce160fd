// SPDX-License-Identifier: MIT
// model_test.cpp - folders of imported models: read, refused when damaged, run, and held against
// what is recorded in them.
#include "check/model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "check/bisect.hpp"
#include "check/graph_run.hpp"
#include "contains.hpp"
#include "model_folder.hpp"
#include "run_references.hpp"
#include "test_errors.hpp"
#include "tests/ops/op_device.hpp"

namespace clam {
namespace {

using test::ModelFolder;
using test::TemporaryFolder;

constexpr std::int64_t kAligned = 8, kOdd = 7;  ///< sides of maps: offsets of parts are, or not

/// What reading the folder and its tensors says; empty when nothing is wrong.
std::string refusal(const std::string& folder) {
  try {
    const Graph graph = make_graph(read_workload(folder));
    graph_inputs(graph, 1);
    for (const auto& [name, tensor] : graph.tensors) {
      if (tensor.recorded.exists()) load(tensor.recorded, tensor.dtype, tensor.shape);
    }
    return "";
  } catch (const BadArgument& error) {
    return error.what();
  }
}

TEST(model, references_make_what_is_recorded_of_parts_and_views) {
  for (const std::int64_t side : {kAligned, kOdd}) {
    const TemporaryFolder folder;
    const ModelFolder model(folder, side);
    const Graph graph = make_graph(read_workload(model.path()));
    const Tensors made = test::run_references(graph, graph_inputs(graph, 1), generic_device());
    for (const char* name : {"a", "b", "all", "middle", "positive", "y"}) {
      const HostTensor recorded = read_npy(model.file(name));
      EXPECT_TRUE(compare_recorded(made.at(name), recorded, 1e-6).pass) << name;
    }
    EXPECT_EQ(graph.outputs, (std::vector<std::string>{"positive", "flat"}));
  }
}

TEST(model, a_file_that_is_not_what_it_was_is_refused) {
  struct Damage {
    const char* what;
    void (*harm)(const std::string& file);
  };
  const Damage damages[] = {
      {"bytes, workload.json says",
       [](const std::string& f) { std::filesystem::resize_file(f, 100); }},
      {"is missing", [](const std::string& f) { std::filesystem::remove(f); }},
      {"does not have the hash", [](const std::string& f) {
         std::string bytes = read_file(f);
         bytes.back() ^= 1;
         write_file(f, bytes);
       }}};
  for (const Damage& damage : damages) {
    for (const char* key : {"values", "recorded"}) {
      const TemporaryFolder folder;
      const ModelFolder model(folder, kAligned);
      EXPECT_EQ(refusal(model.path()), "");
      damage.harm(model.file(key[0] == 'v' ? "wa" : "y", key));
      EXPECT_TRUE(test::contains(refusal(model.path()), damage.what)) << refusal(model.path());
      EXPECT_TRUE(test::contains(refusal(model.path()), "import the model again"));
    }
  }
}

TEST(model, a_workload_that_cannot_be_is_refused) {
  using nlohmann::json;
  struct Wrong {
    const char* at;
    json value;
    const char* says;
  };
  const Wrong wrongs[] = {
      {"/tensors/all/parts", {"a", "a"}, "has the part 'a', which is one of 'all' already"},
      {"/tensors/all/parts", {"a"}, "has 576 elements (1x9x8x8), its parts have 320"},
      {"/tensors/all/parts", {"a", "x"}, "has the part 'x', which no node makes"},
      {"/tensors/all/parts", {"all", "b"}, "is a part of itself"},
      {"/tensors/middle/first", 400, "has 256 elements (1x4x8x8) from 400 on, 'all' has 576"},
      {"/tensors/middle/first", -1, "first needs a whole number of at least 0"},
      {"/tensors/x/first", 1, "first is of a view; there is no view_of"},
      {"/tensors/x/fill", "normal", "its bytes come from one of them"},
      {"/tensors/x/values/file", "../x.npy", "it is a .npy file in the folder"},
      {"/tensors/x/values/file", "/x.npy", "it is a .npy file in the folder"},
      {"/tensors/x/shape", {1, 3, 8, 9}, "its input 'x' is f32[1x3x8x8], the tensor 'x' is"},
      {"/tensors/y/recorded/bytes", "4", "bytes needs a whole number"},
      {"/model/outputs", {"nothing"}, "is an output of the model, and made by no node"},
      {"/model/nodes/0/became", "gold", "became is 'gold'; it may be mapped"},
  };
  for (const Wrong& wrong : wrongs) {
    const TemporaryFolder folder;
    ModelFolder model(folder, kAligned);
    model.json[json::json_pointer(wrong.at)] = wrong.value;
    model.write();
    EXPECT_TRUE(test::contains(refusal(model.path()), wrong.says))
        << wrong.at << ": " << refusal(model.path());
  }
  EXPECT_TRUE(test::contains(refusal("/nowhere/folder"), "/nowhere/folder"));
}

/// Whatever stands in the files: it is read, or refused with a sentence.
TEST(model, ten_thousand_damaged_folders_do_not_crash) {
  const TemporaryFolder folder;
  const ModelFolder model(folder, kAligned);
  const std::string text = read_file(model.path() + "/workload.json");
  Random random(test::seed());
  int refused = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string damaged = text;
    for (int changes = random.integer(1, 3); changes > 0; --changes) {
      const auto at =
          static_cast<std::size_t>(random.integer(0, static_cast<int>(damaged.size()) - 1));
      switch (random.integer(0, 3)) {
        case 0:
          damaged[at] = static_cast<char>(random.integer(1, 255));
          break;
        case 1:
          damaged.erase(at, static_cast<std::size_t>(random.integer(1, 40)));
          break;
        case 2:
          damaged.insert(at, damaged.substr(damaged.size() / 2, 9));
          break;
        default:
          damaged[at] = "0123456789\"{}[],:-"[random.integer(0, 17)];
      }
    }
    try {
      const Workload workload =
          parse_workload(damaged, "damaged", {}, i % 2 ? model.path() : std::string());
      graph_inputs(make_graph(workload), 1);
    } catch (const BadArgument& error) {
      ++refused;
      EXPECT_FALSE(std::string(error.what()).empty());
    }
  }
  EXPECT_GT(refused, 5000);
  EXPECT_LT(refused, 10000) << "some changes harm nothing";
}

TEST(model, what_is_not_supported_is_said) {
  const TemporaryFolder folder;
  const ModelFolder model(folder, kAligned);
  const ImportedModel imported = read_workload(model.path()).model;
  EXPECT_EQ(imported.unsupported(), 1);
  EXPECT_EQ(imported.unsupported_text(),
            "1 of 3 nodes of five.onnx not supported (Mystery; 25 % of the multiply-adds), their "
            "recorded outputs stand in");
}

// ---- held against what is recorded ----

TEST(compare_recorded, rounding_passes_and_one_element_of_many_does_not) {
  constexpr std::int64_t kMany = 1000000;
  HostTensor recorded(Dtype::f32, {kMany}), output(Dtype::f32, {kMany});
  Random random(1);
  for (std::int64_t i = 0; i < kMany; ++i) {
    const double value = random.normal();
    recorded.set(i, value);
    output.set(i, value * (1 + 1e-6 * random.normal()));
  }
  EXPECT_TRUE(compare_recorded(output, recorded, 1e-4).pass);
  output.set(7, output.get(7) + 1);
  const Verdict verdict = compare_recorded(output, recorded, 1e-4);
  EXPECT_FALSE(verdict.pass);
  EXPECT_EQ(verdict.worst_index, 7);
  EXPECT_TRUE(test::contains(verdict.reason, "0.001 of the recorded tensor's rms"))
      << verdict.reason;
}

TEST(compare_recorded, nan_and_unwritten_elements_fail_however_few) {
  HostTensor recorded(Dtype::f32, {100});
  for (std::int64_t i = 0; i < 100; ++i) recorded.set(i, double(i));
  HostTensor output = recorded;
  EXPECT_TRUE(compare_recorded(output, recorded, 1e-4).pass);
  output.set(3, std::nan(""));
  EXPECT_FALSE(compare_recorded(output, recorded, 1e-4).pass);
  output = recorded;
  output.set_bits(3, poison_bits(Dtype::f32, 1));
  EXPECT_FALSE(compare_recorded(output, recorded, 1e-4, 1).pass);
  recorded.set(3, std::nan(""));
  EXPECT_FALSE(compare_recorded(HostTensor(Dtype::f32, {100}), recorded, 1e-4).pass);
}

TEST(compare_recorded, whole_numbers_are_the_same_or_fail) {
  HostTensor recorded(Dtype::i32, {100}), output(Dtype::i32, {100});
  EXPECT_TRUE(compare_recorded(output, recorded, 1e-4).pass);
  output.set(99, 1);
  EXPECT_FALSE(compare_recorded(output, recorded, 1e-4).pass);
}

class model_device : public test::OpDevice {
 protected:
  /// The names of the nodes that fail.
  static std::string failed(Runtime& runtime, const ModelFolder& model, bool chained,
                            const Oracles& oracles, const std::string& dtype = "f32") {
    const Graph graph = make_graph(read_workload(model.path()), dtype);
    const Tensors inputs = graph_inputs(graph, 1);
    GraphOptions options;
    options.oracles = oracles;
    const GraphRun run = chained ? verify_chained(runtime, graph, inputs, options)
                                 : verify_isolated(runtime, graph, inputs, {}, options);
    std::string names = run.whole && !run.whole->pass() ? *run.whole->differs : "";
    for (const NodeResult& node : run.nodes) {
      EXPECT_EQ(node.own.outputs.empty(), !oracles.references);
      EXPECT_EQ(node.recorded.empty(), !oracles.recorded);
      if (!node.pass()) names += " " + node.node;
    }
    return names;
  }
};

constexpr Oracles kReferences{true, false, 0}, kRecorded{false, true, 0}, kBoth{true, true, 0};

TEST_F(model_device, honest_kernels_pass_by_each_oracle) {
  for (const std::int64_t side : {kAligned, kOdd}) {
    const TemporaryFolder folder;
    const ModelFolder model(folder, side);
    for (const std::string& dtype : dtypes()) {
      for (const Oracles& oracles : {kReferences, kRecorded, kBoth}) {
        EXPECT_EQ(failed(test::runtime(), model, false, oracles, dtype), "") << side << dtype;
        EXPECT_EQ(failed(test::runtime(), model, true, oracles, dtype), "") << side << dtype;
      }
    }
  }
}

/// Where a part does not begin at a place that a buffer may have, it is copied.
TEST_F(model_device, parts_lie_in_their_whole_where_they_can) {
  for (const std::int64_t side : {std::int64_t{16}, kOdd}) {
    const TemporaryFolder folder;
    const ModelFolder model(folder, side);
    const Graph graph = make_graph(read_workload(model.path()));
    DeviceGraph pass(test::runtime(), graph, {}, DeviceGraph::Memory::shared);
    pass.upload(graph_inputs(graph, 1));
    pass.poison();
    pass.run();
    const Tensors outputs = pass.download();
    ASSERT_EQ(outputs.size(), 2u);
    for (const auto& [name, tensor] : outputs) {
      EXPECT_TRUE(compare_recorded(tensor, read_npy(model.file(name)), 1e-6).pass) << name;
    }
    if (side == kOdd) {
      EXPECT_EQ(pass.copies(), 2) << "the second part, and the view of the middle";
    } else {
      EXPECT_EQ(pass.copies(), 0);
    }
  }
}

/// relu no longer cuts, so that one node alone is wrong.
void break_relu(const TemporaryFolder& folder) {
  test::break_kernel(folder, "unary.cl", "float relu(float z) { return z < 0.0f ? 0.0f : z; }",
                     "float relu(float z) { return z < -0.5f ? 0.0f : z; }");
}

TEST_F(model_device, a_wrong_kernel_is_found_by_each_oracle_alone_and_named) {
  const TemporaryFolder folder, kernels;
  const ModelFolder model(folder, kAligned);
  break_relu(kernels);
  const auto broken = test::runtime_with_kernels(kernels);
  for (const bool chained : {false, true}) {
    EXPECT_EQ(failed(*broken, model, chained, kReferences), " relu");
    EXPECT_EQ(failed(*broken, model, chained, kRecorded), " relu");
  }
  const Graph graph = make_graph(read_workload(model.path()));
  GraphOptions options;
  options.oracles = kBoth;
  const GraphRun run = verify_isolated(*broken, graph, graph_inputs(graph, 1), {}, options);
  const std::optional<Culprit> culprit = find_culprit(*broken, graph, run, 3);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->node, "relu");
  EXPECT_EQ(culprit->wrong, 3);
}

/// Another program and the references differ: one of the two is wrong, and the node is named.
TEST_F(model_device, another_recorded_value_is_found_and_its_node_named) {
  const TemporaryFolder folder;
  ModelFolder model(folder, kAligned);
  model.record_anew("positive", 9);
  EXPECT_EQ(failed(test::runtime(), model, false, kReferences), "");
  EXPECT_EQ(failed(test::runtime(), model, false, kBoth), " relu");
  const Graph graph = make_graph(read_workload(model.path()));
  GraphOptions options;
  options.oracles = kBoth;
  const GraphRun run = verify_isolated(test::runtime(), graph, graph_inputs(graph, 1), {}, options);
  const std::optional<Culprit> culprit = find_culprit(test::runtime(), graph, run, 2);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->node, "relu");
  EXPECT_EQ(culprit->wrong, 0);
  EXPECT_TRUE(test::contains(culprit->reason, "unlike what is recorded")) << culprit->reason;
}

}  // namespace
}  // namespace clam
