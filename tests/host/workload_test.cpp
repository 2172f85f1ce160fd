// SPDX-License-Identifier: MIT
// The embedded workloads keep to their form, and a file that does not is refused with a sentence
// that names the file, the node and the key.
#include "check/workload.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "clam/error.hpp"

namespace clam {
namespace {

using nlohmann::json;

/// A small workload that is right; tests change one thing in it.
json good() {
  return json::parse(R"({
    "clam_workload": 1, "name": "tiny", "title": "Tiny", "about": "two layers",
    "published_on": {"device": "Mali-G610 MP4", "gflops_f32": 470},
    "columns": [{"key": "tvm", "title": "TVM"}],
    "nodes": [
      {"name": "first", "what": "a matrix product", "problem": "dense m=4 n=4 k=4 dtype=f32",
       "calls": 2, "published_us": {"tvm": 10}},
      {"name": "bias", "what": "its bias", "calls": 4, "published_us": {"tvm": 1.5},
       "folded_into": "first"},
      {"name": "later", "what": "another op", "calls": 1,
       "problem": "attention heads=1 nq=4 nk=4 d=4 dtype=f32"}
    ]})");
}

std::string refusal(const json& workload) {
  try {
    parse_workload(workload.dump(), "tiny.json");
  } catch (const BadArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(workload, embedded_files_are_whole) {
  const std::set<std::string> names = [] {
    const auto all = workload_names();
    return std::set<std::string>(all.begin(), all.end());
  }();
  for (const char* name : {"conv1x1-348-2084", "dcmt", "lightglue-192", "ssd512-mobilenet1.0-voc",
                           "ssd512-mobilenet1.0-voc-image"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const Workload workload = read_workload(name);
    EXPECT_EQ(workload.name, name);
    EXPECT_LE(workload.title.size(), 80u);
    for (const Workload::Node& node : workload.nodes) {
      if (!node.problem) continue;
      EXPECT_EQ(node.problem->text(), node.line) << "the line is not canonical";
    }
  }
}

TEST(workload, embedded_lines_say_f32) {
  for (const std::string& name : workload_names()) {
    for (const Workload::Node& node : read_workload(name).nodes) {
      if (node.line.empty()) continue;
      EXPECT_NE(node.line.find(" dtype=f32"), std::string::npos) << name << ": " << node.line;
    }
  }
}

TEST(workload, lightglue_has_its_published_matrix_products) {
  const Workload workload = read_workload("lightglue-192");
  const Workload::Node* node = workload.node("dense_3");
  ASSERT_NE(node, nullptr);
  ASSERT_TRUE(node->problem);
  EXPECT_EQ(node->problem->text(), "dense m=192 n=512 k=512 dtype=f32 bias");
  EXPECT_EQ(node->calls, 36);
  EXPECT_EQ(node->published_us.at("tvm"), 8575.9);
  EXPECT_EQ(workload.published_device.substr(0, 9), "Mali-G610");
}

TEST(workload, problems_are_listed_once) {
  json workload = good();
  json again = workload["nodes"][0];
  again["name"] = "again";
  workload["nodes"].push_back(again);
  std::vector<std::string> texts;
  for (const Problem& problem : parse_workload(workload.dump(), "tiny.json").problems()) {
    texts.push_back(problem.text());
  }
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "dense m=4 n=4 k=4 dtype=f32"), 1);
}

TEST(workload, folded_times_are_summed_per_call) {
  const Workload workload = parse_workload(good().dump(), "tiny.json");
  const auto time = published_time(workload, *workload.node("first"), "tvm");
  ASSERT_TRUE(time);
  EXPECT_DOUBLE_EQ(time->us, 10 + 1.5 * 4 / 2);
  EXPECT_FALSE(time->at_least);
  EXPECT_FALSE(published_time(workload, *workload.node("later"), "tvm"));
}

TEST(workload, a_folded_time_known_as_a_range_is_never_summed) {
  json file = good();
  file["nodes"][1].erase("published_us");
  file["nodes"][1]["published_us_between"] = {{"tvm", {1, 3}}};
  const Workload workload = parse_workload(file.dump(), "tiny.json");
  const auto time = published_time(workload, *workload.node("first"), "tvm");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->us, 10);
  EXPECT_TRUE(time->at_least);
}

/// Two rows of a product each, as a group.
json grouped() {
  json workload = good();
  workload["nodes"].push_back(json::parse(R"({
    "each": [["i", "k", "act"], [0, 4, ""], [1, 8, " act=relu"]],
    "tensors": {"w{i}": {"shape": [4, "{k}"], "fill": "normal"}},
    "nodes": [{"name": "p{i}", "what": "product {i}", "problem": "dense m=4 n=4 k={k} dtype=f32{act}",
               "calls": "{k}", "inputs": {"x": "x{i}", "w": "w{i}"}, "outputs": {"y": "y{i}"}}]})"));
  return workload;
}

TEST(workload, a_group_stands_for_its_nodes_and_tensors) {
  const Workload workload = parse_workload(grouped().dump(), "tiny.json");
  ASSERT_EQ(workload.nodes.size(), 5u);
  EXPECT_EQ(workload.nodes[3].line, "dense m=4 n=4 k=4 dtype=f32");
  EXPECT_EQ(workload.nodes[4].line, "dense m=4 n=4 k=8 dtype=f32 act=relu");
  EXPECT_EQ(workload.nodes[4].what, "product 1");
  EXPECT_EQ(workload.nodes[4].calls, 8);
  EXPECT_EQ(workload.nodes[4].inputs.at("w"), "w1");
  EXPECT_EQ(workload.tensors.at("w0").shape, (Shape{4, 4}));
  EXPECT_EQ(workload.tensors.at("w1").shape, (Shape{4, 8}));
}

TEST(workload, bad_groups_are_refused_with_a_sentence) {
  const auto damaged = [](void (*change)(json & group)) {
    json workload = grouped();
    change(workload["nodes"][3]);
    return refusal(workload);
  };
  const std::string start = "tiny.json: group at node 3: ";
  EXPECT_EQ(damaged([](json& group) { group["each"] = json::array(); }),
            start + "each needs a row of names, then rows of values");
  EXPECT_EQ(damaged([](json& group) {
              group["each"][1] = {0, 4};
            }),
            start + "each has '[0,4]'; a row needs 3 values");
  EXPECT_EQ(damaged([](json& group) { group["each"][0][1] = 7; }),
            start + "each needs names in its first row");
  EXPECT_EQ(damaged([](json& group) { group["each"][1][1] = json::array(); }),
            start + "each has '[]'; a value is a text or a number");
  EXPECT_EQ(damaged([](json& group) { group["times"] = 2; }),
            start + "unknown key 'times'; it may have each tensors nodes");
  EXPECT_EQ(damaged([](json& group) { group["each"][2][0] = 0; }),
            start + "tensors has 'w0', which is there already");
}

TEST(workload, a_file_may_be_a_patch_of_one_of_clams) {
  json file = json::parse(R"({
    "clam_workload": 1, "name": "tiny", "title": "Tiny", "about": "dcmt with two pools less",
    "based_on": "dcmt",
    "patch": [{"op": "remove", "path": "/nodes/3"}, {"op": "remove", "path": "/nodes/2"}]})");
  const Workload workload = parse_workload(file.dump(), "tiny.json");
  EXPECT_EQ(workload.name, "tiny");
  ASSERT_EQ(workload.nodes.size(), 2u);
  EXPECT_EQ(workload.nodes[1].name, "global_average_pool_31");
  file["patch"][0]["path"] = "/nodes/9";
  EXPECT_NE(refusal(file).find("tiny.json: patch is no JSON Patch of it: "), std::string::npos);
  file["based_on"] = "tiny";
  EXPECT_EQ(refusal(file), "tiny.json: based_on is 'tiny', no workload here");
  file["based_on"] = "dcmt";
  file.erase("patch");
  EXPECT_EQ(refusal(file).rfind("tiny.json: ", 0), 0u) << refusal(file);
  // Of one that is a patch itself, and with a version of its own.
  file["based_on"] = "lightglue-192-folded";
  file["patch"] = json::array();
  EXPECT_EQ(parse_workload(file.dump(), "tiny.json").nodes.size(),
            read_workload("lightglue-192-folded").nodes.size());
  file["clam_workload"] = 7;
  EXPECT_NE(refusal(file).find("clam_workload"), std::string::npos) << refusal(file);
}

TEST(workload, reads_a_path) {
  const std::string path = ::testing::TempDir() + "clam_tiny_workload.json";
  std::ofstream(path) << good().dump();
  EXPECT_EQ(read_workload(path).title, "Tiny");
  std::remove(path.c_str());
  try {
    read_workload(path);
    FAIL() << "a missing file was accepted";
  } catch (const BadArgument& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
  }
}

TEST(workload, unknown_name_lists_the_names) {
  try {
    read_workload("lightglue");
    FAIL() << "an unknown name was accepted";
  } catch (const BadArgument& error) {
    EXPECT_STREQ(error.what(),
                 "unknown workload 'lightglue'; there is bert-base-128 conv1x1-348-2084 dcmt "
                 "lightglue-192 lightglue-192-folded lightglue-192-fused mobilenetv2 resnet50 "
                 "squeezenet1.1 ssd512-mobilenet1.0-voc ssd512-mobilenet1.0-voc-image yolov8n, or "
                 "give the path of a file or folder");
  }
}

/// One change to the good file, and a part of the sentence that refuses it.
struct Damage {
  const char* what;
  void (*change)(json&);
  const char* sentence;
};

const Damage kDamages[] = {
    {"version", [](json& w) { w["clam_workload"] = 2; }, "tiny.json: clam_workload is not 1"},
    {"no version", [](json& w) { w.erase("clam_workload"); },
     "tiny.json: clam_workload is missing"},
    {"no name", [](json& w) { w.erase("name"); }, "tiny.json: name is missing"},
    {"empty title", [](json& w) { w["title"] = ""; },
     "tiny.json: title needs a text that is not empty"},
    {"unknown key", [](json& w) { w["colour"] = 1; }, "tiny.json: unknown key 'colour'"},
    {"no nodes", [](json& w) { w["nodes"] = json::array(); },
     "tiny.json: nodes needs a list of at least one node"},
    {"node is a number", [](json& w) { w["nodes"][1] = 7; },
     "tiny.json: node 1: is no JSON object"},
    {"node without name", [](json& w) { w["nodes"][1].erase("name"); },
     "tiny.json: node 1: name is missing"},
    {"name twice", [](json& w) { w["nodes"][1]["name"] = "first"; },
     "tiny.json: node 'first': name is there twice"},
    {"unknown node key", [](json& w) { w["nodes"][0]["call"] = 1; },
     "tiny.json: node 'first': unknown key 'call'"},
    {"calls of 0", [](json& w) { w["nodes"][0]["calls"] = 0; },
     "tiny.json: node 'first': calls needs a whole number of at least 1"},
    {"calls of 1.5", [](json& w) { w["nodes"][0]["calls"] = 1.5; },
     "tiny.json: node 'first': calls needs a whole number of at least 1"},
    {"no problem", [](json& w) { w["nodes"][0].erase("problem"); },
     "tiny.json: node 'first': problem is missing"},
    {"op misspelt", [](json& w) { w["nodes"][2]["problem"] = "atention heads=1"; },
     "tiny.json: node 'later': problem: unknown op 'atention'"},
    {"extent of 0", [](json& w) { w["nodes"][0]["problem"] = "dense m=0 n=4 k=4 dtype=f32"; },
     "tiny.json: node 'first': problem: dense: m='0'"},
    {"time of 0", [](json& w) { w["nodes"][0]["published_us"]["tvm"] = 0; },
     "tiny.json: node 'first': published_us.tvm needs a number above 0"},
    {"time is a list", [](json& w) { w["nodes"][0]["published_us"] = {1}; },
     "tiny.json: node 'first': published_us needs an object by column key"},
    {"no such column",
     [](json& w) {
       w["nodes"][0]["published_us"] = {{"ncnn", 3}};
     },
     "tiny.json: node 'first': published_us names 'ncnn', which is no column's key"},
    {"range turned",
     [](json& w) {
       w["nodes"][1]["calls_between"] = {36, 18};
     },
     "tiny.json: node 'bias': calls_between needs [least, most]"},
    {"folded into nothing", [](json& w) { w["nodes"][1]["folded_into"] = "conv"; },
     "tiny.json: node 'bias': folded_into 'conv' is no node of this file"},
    {"folded into itself", [](json& w) { w["nodes"][1]["folded_into"] = "bias"; },
     "tiny.json: node 'bias': folded_into 'bias' is folded itself"},
    {"column twice",
     [](json& w) {
       w["columns"].push_back({{"key", "tvm"}, {"title", "again"}});
     },
     "tiny.json: column 1: key 'tvm' is there twice"},
    {"no device", [](json& w) { w.erase("published_on"); }, "tiny.json: columns need published_on"},
    {"claim in words", [](json& w) { w["nodes"][0]["claimed_gflops"] = "7122"; },
     "tiny.json: node 'first': claimed_gflops needs a number above 0"},
    {"rate of -1", [](json& w) { w["published_on"]["gflops_f32"] = -1; },
     "tiny.json: published_on: gflops_f32 needs a number above 0"},
};

TEST(workload, bad_files_are_refused_with_a_sentence) {
  EXPECT_EQ(refusal(good()), "accepted");
  for (const Damage& damage : kDamages) {
    json workload = good();
    damage.change(workload);
    const std::string sentence = refusal(workload);
    EXPECT_EQ(sentence.substr(0, std::string(damage.sentence).size()), damage.sentence)
        << damage.what;
  }
}

TEST(workload, text_that_is_no_json_is_refused) {
  for (const char* text : {"", "{", "[1,2", "hello", "3"}) {
    try {
      parse_workload(text, "tiny.json");
      ADD_FAILURE() << "accepted: " << text;
    } catch (const BadArgument& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, 10), "tiny.json:") << error.what();
    }
  }
}

}  // namespace
}  // namespace clam
