// SPDX-License-Identifier: MIT
// graph_test.cpp - a graph's order, parameters, views and inputs; and whatever does not fit
// together is refused with a sentence that has the node's name and both numbers.
#include "check/graph.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "check/graph_fill.hpp"
#include "check/npy.hpp"
#include "run_references.hpp"
#include "runtime/atomic_file.hpp"
#include "test_errors.hpp"
#include "tiny_graph.hpp"

namespace clam {
namespace {

using nlohmann::json;

Graph graph_of(const json& workload, const Parameters& parameters = {},
               const std::string& dtype = "") {
  return make_graph(parse_workload(workload.dump(), "tiny.json", parameters), dtype);
}

TEST(graph, nodes_come_after_those_that_they_read_from) {
  std::string order;
  for (const Graph::Node& node : graph_of(test::tiny_graph()).nodes) order += node.name + " ";
  EXPECT_EQ(order, "project softmax distance ");
}

TEST(graph, parameters_stand_in_lines_and_shapes) {
  const Graph own = graph_of(test::tiny_graph());
  EXPECT_EQ(own.node("project").problem.text(), "dense m=24 n=40 k=512 dtype=f32");
  EXPECT_EQ(own.tensors.at("scores").shape, (Shape{4, 6, 40}));
  const Graph given = graph_of(test::tiny_graph(), {{"rows", 11}});
  EXPECT_EQ(given.node("softmax").problem.text(), "softmax shape=4x11x40 dtype=f32");
  EXPECT_EQ(given.tensors.at("x").shape, (Shape{44, 512}));
}

TEST(graph, tensors_are_of_the_dtype_that_nodes_run_in) {
  const Graph graph = graph_of(test::tiny_graph(), {}, "f16");
  for (const auto& [name, tensor] : graph.tensors) EXPECT_EQ(tensor.dtype, Dtype::f16) << name;
  const Graph tail = make_graph(read_workload("ssd512-mobilenet1.0-voc"), "f16");
  EXPECT_EQ(tail.tensors.at("valid_count").dtype, Dtype::i32);
  EXPECT_EQ(tail.tensors.at("cls").dtype, Dtype::f16);
}

TEST(graph, outputs_without_a_name_get_that_of_their_node) {
  json workload = test::tiny_graph();
  workload["nodes"][0].erase("outputs");
  const Graph graph = graph_of(workload);
  EXPECT_EQ(graph.node("distance").outputs.at("y"), "distance.y");
  EXPECT_EQ(graph.tensors.at("distance.y").shape, (Shape{24, 8}));
}

TEST(graph, inputs_follow_the_seed_and_their_own_name) {
  const Graph graph = graph_of(test::tiny_graph());
  const Tensors one = graph_inputs(graph, 1), again = graph_inputs(graph, 1);
  const Tensors two = graph_inputs(graph, 2);
  EXPECT_EQ(one.size(), 3u) << "views and what nodes make are no inputs";
  for (const auto& [name, tensor] : one) {
    EXPECT_TRUE(tensor == again.at(name)) << name;
    EXPECT_FALSE(tensor == two.at(name)) << name;
  }
  double squares = 0;
  const HostTensor& w = one.at("w1");
  for (std::int64_t i = 0; i < w.size(); ++i) squares += w.get(i) * w.get(i);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(w.size())), 0.05, 0.002) << "its scale";
  EXPECT_NE(one.at("w1").get(0) / 0.05, one.at("w2").get(0));
}

TEST(graph, references_feed_each_other) {
  const Graph graph = graph_of(test::tiny_graph());
  const Tensors chain = test::run_references(graph, graph_inputs(graph, 1), generic_device());
  const HostTensor& weights = chain.at("weights");
  double sum = 0;
  for (std::int64_t i = 0; i < 40; ++i) sum += weights.get(i);
  EXPECT_NEAR(sum, 1, 1e-6);
  double z = 0;
  for (std::int64_t i = 0; i < 40; ++i) z += weights.get(i) * chain.at("w2").get(i);
  EXPECT_NEAR(chain.at("distances").get(0), std::exp(z), 1e-6);
}

TEST(graph, the_readme_knows_every_fill) {
  const std::string readme = read_file(CLAM_SOURCE_DIR "/bench/workloads/README.md");
  for (const Fill& fill : all_fills()) {
    EXPECT_NE(readme.find("`" + fill.name + "`"), std::string::npos) << fill.name;
  }
}

// ---- what is refused ----

/// One change to the tiny graph, and the sentence that refuses it, or its beginning.
struct Damage {
  const char* sentence;
  void (*change)(json&);
};

const Damage kDamages[] = {
    {"tiny: node 'distance': it reads 'weights' of node 'softmax', which waits for it: a cycle",
     [](json& w) {
       w["nodes"][2]["inputs"]["x"] = "distances";
       w["tensors"].erase("x");
     }},
    {"tiny: node 'project': it reads 'distances' of node 'distance', which waits for it: a cycle",
     [](json& w) {  // and a node behind the cycle, which is not blamed
       json last = w["nodes"][1];
       last["name"] = "last";
       last["outputs"]["dst"] = "end";
       w["nodes"].insert(w["nodes"].begin(), last);
       w["nodes"][3]["inputs"]["x"] = "distances";
       w["tensors"].erase("x");
     }},
    {"tiny: node 'project': its input 'x' reads 'y', which no node makes and \"tensors\" has not",
     [](json& w) { w["nodes"][2]["inputs"]["x"] = "y"; }},
    {"tiny: node 'project': its input 'w', f32[40x512], has no tensor",
     [](json& w) { w["nodes"][2]["inputs"].erase("w"); }},
    {"tiny: node 'project': dense has no input 'v'",
     [](json& w) { w["nodes"][2]["inputs"]["v"] = "w1"; }},
    {"tiny: node 'project': dense has no output 'z'",
     [](json& w) { w["nodes"][2]["outputs"]["z"] = "other"; }},
    {"tiny: node 'distance': 'weights' is made by node 'softmax' already",
     [](json& w) {
       std::swap(w["nodes"][0], w["nodes"][1]);
       w["nodes"][1]["outputs"]["y"] = "weights";
     }},
    {"tiny: node 'project': its input 'w' is f32[40x512], the tensor 'w2' is f32[8x40]",
     [](json& w) {
       w["nodes"][2]["inputs"]["w"] = "w2";
       w["tensors"].erase("w1");
     }},
    {"tiny: node 'project': its input 'w' is f32[40x512], the tensor 'w1' is f16[40x512]",
     [](json& w) { w["tensors"]["w1"]["dtype"] = "f16"; }},
    {"tiny: node 'softmax': its input 'src' is f32[4x6x40], the tensor 'projected' is f32[24x40]",
     [](json& w) {
       w["nodes"][1]["inputs"]["src"] = "projected";
       w["tensors"].erase("scores");
     }},
    {"tiny: tensor 'scores' has 1200 elements (5x6x40), 'projected' has 960 (24x40)",
     [](json& w) { w["tensors"]["scores"]["shape"][0] = 5; }},
    {"tiny: tensor 'scores' is a view of 'nothing', which is none",
     [](json& w) { w["tensors"]["scores"]["view_of"] = "nothing"; }},
    {"tiny: tensor 'scores' is a view of a view; take 'weights'",
     [](json& w) { w["tensors"]["scores"]["view_of"] = "flat"; }},
    {"tiny: tensor 'spare' is read by no node, and made by none",
     [](json& w) {
       w["tensors"]["spare"] = {{"shape", {2}}, {"fill", "ones"}};
     }},
    {"tiny: node 'project': it makes 'projected' as f32[24x40], the file says f32[25x40]",
     [](json& w) {
       w["tensors"]["projected"] = {{"shape", {25, 40}}};
     }},
    {"tiny: node 'project': it makes 'projected' as f32[24x40], the file says i32[24x40]",
     [](json& w) {
       w["tensors"]["projected"] = {{"shape", {24, 40}}, {"dtype", "i32"}};
     }},
    {"tiny.json: node '../project': name has '../project'; a name is of letters, digits",
     [](json& w) { w["nodes"][2]["name"] = "../project"; }},
    {"tiny: node 'project': it makes 'projected', which has fill, view_of, parts or values too",
     [](json& w) {
       w["tensors"]["projected"] = {{"shape", {24, 40}}, {"fill", "ones"}};
     }},
    {"tiny: node 'project': its output 'y' has 960 elements in 1006 places; a tensor of a graph "
     "has no gaps",
     [](json& w) { w["nodes"][2]["problem"] = "dense m={4*rows} n=40 k=512 dtype=f32 ldy=42"; }},
    {"tiny: node 'project': its output 'y' has 960 elements in 964 places",
     [](json& w) { w["nodes"][2]["problem"] = "dense m={4*rows} n=40 k=512 dtype=f32 offy=4"; }},
    {"tiny: node 'project': its input 'x' reaches to element 14311, the tensor 'x' is f32[24x512]",
     [](json& w) { w["nodes"][2]["problem"] = "dense m={4*rows} n=40 k=512 dtype=f32 ldx=600"; }},
    {"tiny: node 'project': its input 'x' reaches to element 12288, the tensor 'x' is f32[24x512]",
     [](json& w) { w["nodes"][2]["problem"] = "dense m={4*rows} n=40 k=512 dtype=f32 offx=1"; }},
    {"tiny: node 'project': its input 'x' has rows 500 elements apart, the tensor 'x' is "
     "f32[24x512]",
     [](json& w) {
       w["nodes"][2]["problem"] = "dense m={4*rows} n=40 k=400 dtype=f32 ldx=500";
       w["tensors"]["w1"]["shape"][1] = 400;
     }},
    {"tiny: tensor 'x': unknown fill 'nice'; there is normal",
     [](json& w) { w["tensors"]["x"]["fill"] = "nice"; }},
    {"tiny: tensor 'x': ssd_anchors needs batch x 6132 x 4, not 24x512",
     [](json& w) { w["tensors"]["x"]["fill"] = "ssd_anchors"; }},
    {"tiny.json: node 'project': 'cols' is no parameter; there is rows",
     [](json& w) { w["nodes"][2]["problem"] = "dense m={4*cols} n=40 k=512 dtype=f32"; }},
    {"tiny.json: node 'project': '' is no parameter",
     [](json& w) { w["nodes"][2]["problem"] = "dense m={} n=40 k=512 dtype=f32"; }},
    {"tiny.json: node 'project': a { has no }",
     [](json& w) { w["nodes"][2]["problem"] = "dense m={rows n=40 k=512 dtype=f32"; }},
    {"tiny.json: node 'project': '{999999*999999}' is over 2147483647",
     [](json& w) { w["nodes"][2]["problem"] = "dense m={999999*999999} n=4 k=4 dtype=f32"; }},
    {"tiny.json: parameters: rows needs a whole number of at least 1",
     [](json& w) { w["parameters"]["rows"] = 0; }},
    {"tiny.json: tensor 'x': shape has '-4'", [](json& w) { w["tensors"]["x"]["shape"][0] = -4; }},
    {"tiny.json: tensor 'x': shape: shape 65536x65536 has over 2147483647 elements",
     [](json& w) {
       w["tensors"]["x"]["shape"] = {65536, 65536};
     }},
    {"tiny.json: tensor 'x': dtype is 'f64'; it may be f32 f16 i32",
     [](json& w) { w["tensors"]["x"]["dtype"] = "f64"; }},
    {"tiny.json: tensor 'flat': view_of goes without fill",
     [](json& w) { w["tensors"]["flat"]["fill"] = "ones"; }},
    {"tiny.json: tensor 'x': unknown key 'color'", [](json& w) { w["tensors"]["x"]["color"] = 1; }},
    {"tiny.json: node 'project': inputs has '../x'",
     [](json& w) { w["nodes"][2]["inputs"]["x"] = "../x"; }},
    {"tiny.json: node 'project': inputs 'x' needs a name",
     [](json& w) { w["nodes"][2]["inputs"]["x"] = 7; }},
};

TEST(graph, nodes_see_tensors_at_their_strides) {
  const Graph graph = graph_of(test::strided_graph());
  EXPECT_EQ(graph.tensors.at("qk").shape, (Shape{12, 32})) << "as the file says";
  EXPECT_EQ(graph.tensors.at("message").shape, Shape{192}) << "the file says nothing";
  const Tensors tensors = test::run_references(graph, graph_inputs(graph, 1), generic_device());
  const HostTensor &qkv = tensors.at("qkv"), &qk = tensors.at("qk"), &o = tensors.at("message");
  const Tensors attend = inputs_of(graph, graph.node("attend"), tensors);
  // image 1, head 1, point 2, element 3
  EXPECT_EQ(attend.at("q").bits(96 + 48 + 2 * 8 + 3), qk.bits((6 + 2) * 32 + 8 + 3));
  EXPECT_EQ(attend.at("k").bits(96 + 48 + 2 * 8 + 3), qk.bits((6 + 2) * 32 + 16 + 8 + 3));
  EXPECT_EQ(attend.at("v").bits(96 + 48 + 2 * 8 + 3), qkv.bits((6 + 2) * 48 + 32 + 8 + 3));
  EXPECT_EQ(outputs_of(graph.node("attend"), tensors).at("o").bits(96 + 48 + 2 * 8 + 3),
            o.bits((6 + 2) * 16 + 8 + 3));
  EXPECT_EQ(inputs_of(graph, graph.node("out"), tensors).at("x").bits(7 * 8 + 5),
            o.bits(7 * 16 + 8 + 5));
}

TEST(graph, what_is_written_at_strides_lies_in_whole_rows_of_its_tensor) {
  json workload = test::strided_graph();
  workload["tensors"]["qk"]["shape"] = {24, 16};
  EXPECT_EQ(graph_of(workload).tensors.at("qk").shape, (Shape{24, 16}));
  workload["tensors"]["qk"]["shape"] = {6, 64};
  EXPECT_THROWS_SAYING(
      graph_of(workload), BadArgument,
      "strided: node 'rotate': it makes 'qk' as f32[384], the file says f32[6x64]");
}

TEST(graph, a_view_may_show_the_first_rows_alone) {
  json workload = test::tiny_graph();
  workload["tensors"]["flat"]["shape"][0] = 8;
  workload["nodes"][0]["problem"] = "dense m=8 n=8 k=40 dtype=f32 act=exp";
  const Graph graph = graph_of(workload);
  const Tensors tensors = test::run_references(graph, graph_inputs(graph, 1), generic_device());
  const HostTensor seen = inputs_of(graph, graph.node("distance"), tensors).at("x");
  ASSERT_EQ(seen.shape(), (Shape{8, 40}));
  for (std::int64_t i = 0; i < seen.size(); ++i) {
    ASSERT_EQ(seen.bits(i), tensors.at("weights").bits(i)) << i;
  }
}

TEST(graph, bad_graphs_are_refused_with_a_sentence) {
  for (const Damage& damage : kDamages) {
    SCOPED_TRACE(damage.sentence);
    json workload = test::tiny_graph();
    damage.change(workload);
    try {
      graph_of(workload);
      ADD_FAILURE() << "accepted";
    } catch (const BadArgument& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, std::string(damage.sentence).size()),
                damage.sentence);
    }
  }
}

TEST(graph, a_parameter_that_is_none_is_refused) {
  EXPECT_THROWS_SAYING(graph_of(test::tiny_graph(), {{"n", 4}}), BadArgument,
                       "tiny.json: 'n' is no parameter; there is rows");
  EXPECT_THROWS_SAYING(graph_of(test::tiny_graph(), {{"4", 7}}), BadArgument,
                       "tiny.json: '4' is no parameter");
  EXPECT_THROWS_SAYING(graph_of(test::tiny_graph(), {{"rows", 0}}), BadArgument,
                       "tiny.json: rows = 0, needs at least 1");
  EXPECT_THROWS_SAYING(read_workload("dcmt", {{"n", 4}}), BadArgument, "there is none");
}

// ---- inputs from files ----

TEST(graph, inputs_are_read_where_there_is_a_file) {
  const Graph graph = graph_of(test::tiny_graph());
  const test::TemporaryFolder folder;
  HostTensor w(Dtype::f32, {8, 40});
  w.set(5, 3);
  write_npy(folder.file("w2.npy"), w);
  const Tensors inputs = graph_inputs(graph, 1, folder.path());
  EXPECT_TRUE(inputs.at("w2") == w);
  EXPECT_TRUE(inputs.at("x") == graph_inputs(graph, 1).at("x")) << "the others are made up";
}

TEST(graph, a_file_that_is_missing_or_wrong_is_refused) {
  json workload = test::tiny_graph();
  workload["tensors"]["w1"].erase("fill");
  const Graph graph = graph_of(workload);
  const test::TemporaryFolder folder;
  EXPECT_THROWS_SAYING(graph_inputs(graph, 1), BadArgument,
                       "tiny: node 'project': its tensor 'w1', f32[40x512], has no fill; give a "
                       "folder with w1.npy");
  EXPECT_THROWS_SAYING(graph_inputs(graph, 1, folder.path()), BadArgument,
                       "tiny: node 'project': its tensor 'w1', f32[40x512], is not there: " +
                           folder.file("w1.npy") + " is missing");
  write_npy(folder.file("w1.npy"), HostTensor(Dtype::f32, {512, 40}));
  EXPECT_THROWS_SAYING(graph_inputs(graph, 1, folder.path()), BadArgument,
                       "tiny: node 'project': its tensor 'w1' is f32[40x512], " +
                           folder.file("w1.npy") + " holds f32[512x40]");
  write_npy(folder.file("w1.npy"), HostTensor(Dtype::f16, {40, 512}));
  EXPECT_THROWS_SAYING(graph_inputs(graph, 1, folder.path()), BadArgument, "holds f16[40x512]");
}

}  // namespace
}  // namespace clam
