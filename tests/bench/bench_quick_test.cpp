// SPDX-License-Identifier: MIT
// clam-bench --quick: what it measures, that each problem is one line, and how its table ends. It
// runs on the scripted OpenCL, by whose clock minutes pass at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "check/workload.hpp"
#include "command.hpp"
#include "runtime/atomic_file.hpp"
#include "scripted.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

constexpr const char* kProduct = "dense m=33 n=20 k=48 dtype=f32 bias";
constexpr const char* kRows = "softmax shape=8x64 dtype=f32";
constexpr const char* kPointwise = "unary op=exp shape=64x64 dtype=f32";
constexpr const char* kTurned = "transpose shape=32x48 perm=1-0 dtype=f32";

Finished run_quick(std::vector<std::string> words, const json& script = json::object()) {
  words.insert(words.begin(), {CLAM_BENCH_BINARY, "--quick"});
  return run_command(words, scripted::on(script));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t count(const std::string& text, const std::string& part) {
  const std::vector<std::string> lines = lines_of(text);
  return static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(),
                    [&](const std::string& line) { return line.find(part) != std::string::npos; }));
}

json node(const std::string& name, const std::string& problem, int calls = 0) {
  json value = {{"name", name}, {"what", "a layer"}, {"problem", problem}};
  if (calls > 0) value["calls"] = calls;
  return value;
}

std::string workload_file(const TemporaryFolder& folder, const std::string& name,
                          const json& nodes) {
  const json workload = {
      {"clam_workload", 1},       {"name", name},  {"title", "T"}, {"about", "a"},
      {"columns", json::array()}, {"nodes", nodes}};
  const std::string file = folder.file(name + ".json");
  write_file(file, workload.dump());
  return file;
}

TEST(bench_quick, the_set_is_fixed_and_has_every_op_of_the_workloads) {
  const Finished listed = run_command({CLAM_BENCH_BINARY, "--quick", "--list"});
  ASSERT_EQ(listed.code, 0) << listed.err;
  const std::vector<std::string> lines = lines_of(listed.out);
  EXPECT_EQ(lines.size(), 22u);
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), lines.size());
  for (const std::string& name : workload_names()) {
    for (const Problem& each : read_workload(name).problems()) {
      const std::string& op = each.schema().name;
      const bool is_there = std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
        return line.rfind(op + " ", 0) == 0;
      });
      EXPECT_TRUE(is_there) << op;
    }
  }
}

TEST(bench_quick, a_listed_problem_has_all_its_nodes_with_their_calls) {
  const Finished listed = run_command({CLAM_BENCH_BINARY, "--quick", "--list"});
  EXPECT_NE(
      listed.out.find("dense m=192 n=256 k=256 dtype=f32 bias: dense_2 x74 (lightglue-192)\n"),
      std::string::npos)
      << listed.out;
  EXPECT_NE(listed.out.find(": pw7 x5 (ssd512-mobilenet1.0-voc); pw7 pw8 pw9 pw10 pw11 "
                            "(ssd512-mobilenet1.0-voc-image)\n"),
            std::string::npos)
      << listed.out;
  EXPECT_NE(listed.out.find(": dw3 (ssd512-mobilenet1.0-voc, ssd512-mobilenet1.0-voc-image)\n"),
            std::string::npos)
      << "workloads with the same nodes share them\n"
      << listed.out;
}

TEST(bench_quick, a_node_that_another_one_does_too_says_so) {
  const Finished listed = run_command({CLAM_BENCH_BINARY, "--quick", "--list"});
  EXPECT_NE(listed.out.find(": softmax (in attention) x36 (lightglue-192)\n"), std::string::npos)
      << listed.out;
}

TEST(bench_quick, a_dtype_and_a_variant_hold_for_the_set_too) {
  const Finished halves = run_command({CLAM_BENCH_BINARY, "--quick", "--list", "--dtype", "f16"});
  EXPECT_EQ(count(halves.out, "dtype=f16"), 22u) << halves.out;
  EXPECT_EQ(count(halves.out, "dtype=f32"), 0u) << halves.out;
  const Finished plain =
      run_command({CLAM_BENCH_BINARY, "--quick", "--list", "--variant", "dense_plain"});
  EXPECT_EQ(count(plain.out, "/dense_plain: "), 2u) << plain.out;
  EXPECT_EQ(lines_of(plain.out).size(), 2u) << plain.out;
}

TEST(bench_scripted, quick_shows_a_problem_of_many_nodes_once) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string a = workload_file(
      folder, "a", {node("first", kProduct, 3), node("other", kRows), node("again", kProduct)});
  const std::string b = workload_file(folder, "b", json::array({node("third", kProduct, 2)}));
  const Finished done = run_quick(
      {"--workload", a, "--workload", b, "--json", folder.file("out.json")},
      {{"costs", {{{"kernel", "dense*"}, {"us", 2000}}, {{"kernel", "softmax*"}, {"us", 2000}}}}});
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_EQ(count(done.out, "dense_packed: first x3 again (a); third x2 (b)"), 1u) << done.out;
  EXPECT_EQ(count(done.out, ": other (a)"), 1u) << done.out;
  EXPECT_NE(done.out.find("2 passed, 0 failed, 0 skipped"), std::string::npos) << done.out;
  const json own = json::parse(read_file(folder.file("out.json"))).at("clam");
  EXPECT_EQ(own.at("rows").size(), 2u);
  EXPECT_EQ(own.at("workloads").at(0).at("nodes").size(), 3u) << "the file still has each node";
}

TEST(bench_scripted, the_quick_sets_file_has_the_nodes_of_its_rows_alone) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  const Finished done = run_quick({"--benchmark_filter=^rotary", "--json", file},
                                  {{"costs", {{{"kernel", "rotary*"}, {"us", 2000}}}}});
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_EQ(done.out.find("farthest"), std::string::npos) << "one row is no choice\n" << done.out;
  const json own = json::parse(read_file(file)).at("clam");
  std::set<std::string> rows;
  for (const json& row : own.at("rows")) rows.insert(row.at("name").get<std::string>());
  EXPECT_EQ(rows.size(), 22u);
  for (const json& workload : own.at("workloads")) {
    for (const json& each : workload.at("nodes")) EXPECT_EQ(rows.count(each.at("row")), 1u) << each;
  }
}

TEST(bench_scripted, an_invalid_row_of_quick_has_its_reason) {
  CLAM_NEEDS_DEVICE();
  const Finished done = run_quick(
      {"--problem", kProduct, "--problem", kRows},
      {{"costs", {{{"kernel", "softmax*"}, {"us", 2000}}}},
       {"lies",
        {{{"call", "clEnqueueNDRangeKernel"}, {"kernel", "dense_packed"}, {"does", "nothing"}}}}});
  EXPECT_EQ(done.code, 1) << done.out << done.err;
  EXPECT_EQ(count(done.out, std::string("INVALID ") + kProduct + ": condition "), 1u) << done.out;
  EXPECT_NE(done.out.find("1 passed, 1 failed, 0 skipped"), std::string::npos) << done.out;
}

/// Every launch takes 20 seconds: the minute is over before the second row.
TEST(bench_scripted, quick_skips_nothing_because_time_is_up) {
  CLAM_NEEDS_DEVICE();
  const Finished done = run_quick(
      {"--problem", kProduct, "--problem", kRows, "--problem", kPointwise, "--no-isolate"},
      {{"costs",
        {{{"kernel", "dense*"}, {"us", 20e6}},
         {{"kernel", "softmax*"}, {"us", 20e6}},
         {{"kernel", "unary*"}, {"us", 20e6}}}}});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_NE(done.out.find("3 passed, 0 failed, 0 skipped"), std::string::npos) << done.out;
}

TEST(bench_scripted, the_table_ends_with_the_three_farthest_from_their_peak) {
  CLAM_NEEDS_DEVICE();
  const std::vector<std::string> problems = {"--problem", kProduct,   "--problem", kRows,
                                             "--problem", kPointwise, "--problem", kTurned};
  const json script = {{"costs",
                        {{{"kernel", "dense*"}, {"us", 20000}},
                         {{"kernel", "softmax*"}, {"us", 100}},
                         {{"kernel", "unary*"}, {"us", 9000}},
                         {{"kernel", "transpose*"}, {"us", 2000}}}}};
  const Finished done = run_quick(problems, script);
  ASSERT_EQ(done.code, 0) << done.out << done.err;
  const std::vector<std::string> lines = lines_of(done.out);
  const auto head = std::find(lines.begin(), lines.end(), "of 4 rows, farthest from their peak:");
  ASSERT_EQ(lines.end() - head, 5) << done.out;
  EXPECT_NE(head[1].find(" %  dense"), std::string::npos) << done.out;
  EXPECT_NE(head[2].find(" %  unary"), std::string::npos) << done.out;
  EXPECT_NE(head[3].find(" %  transpose"), std::string::npos) << done.out;
  EXPECT_EQ(head[4], "4 passed, 0 failed, 0 skipped");
}

}  // namespace
}  // namespace clam::test
