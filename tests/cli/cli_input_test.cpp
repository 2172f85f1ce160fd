// SPDX-License-Identifier: MIT
// The command line: damaged tensors and plans are refused with a sentence before a device is
// opened.
#include <cstdlib>
#include <functional>

#include "check/npy.hpp"
#include "clam/planner.hpp"
#include "foreign_plan.hpp"
#include "run_clam.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

Finished run_on(const std::string& file) {
  return run_clam({"run", kCounts, "--in", "data=" + file});
}

/// The bytes of a .npy file of version 1.
std::string npy(const std::string& descr, const std::string& fortran, const std::string& shape,
                std::size_t data_bytes) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  header.resize(118 - 1, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string(data_bytes, '\0');
}

TEST(cli, damaged_npy_files_are_refused) {
  const TemporaryFolder folder;
  const std::string good = npy("<f4", "False", "(1, 5, 6)", 120);
  const struct {
    const char *what, *sentence;
    std::string bytes;
  } files[] = {
      {"empty", "it does not start as one", ""},
      {"other", "it does not start as one", "PK\x03\x04 this is a zip archive"},
      {"magic", "it does not start as one", "\x92" + good.substr(1)},
      {"version", "version 9 is unknown", good.substr(0, 6) + "\x09" + good.substr(7)},
      {"header", "header is cut short", good.substr(0, 40)},
      {"truncated", "needs 120 bytes of data, it has 119", good.substr(0, good.size() - 1)},
      {"longer", "needs 120 bytes of data, it has 124", good + "1234"},
      {"fortran", "it is in Fortran order", npy("<f4", "True", "(1, 5, 6)", 120)},
      {"big_endian", "'>f4' is none of", npy(">f4", "False", "(1, 5, 6)", 120)},
      {"complex", "'<c8' is none of", npy("<c8", "False", "(1, 5, 6)", 240)},
      {"no_shape", "its 'shape' is damaged", npy("<f4", "False", "5", 120)},
      {"zero", "an extent is 0", npy("<f4", "False", "(0, 5, 6)", 0)},
      {"huge", "has over 2147483647 elements", npy("<f4", "False", "(99999999, 99999999, 6)", 120)},
      {"large", "needs 8000000000 bytes of data, it has 120",
       npy("<f4", "False", "(2000000000,)", 120)},
      {"dtype", "holds f16[1x5x6], but f32[1x5x6] is needed; convert it",
       npy("<f2", "False", "(1, 5, 6)", 60)},
      {"integers", "holds i32[1x5x6], but f32", npy("<i4", "False", "(1, 5, 6)", 120)},
      {"shape", "holds f32[5x6x1], but f32[1x5x6]", npy("<f4", "False", "(5, 6, 1)", 120)},
      {"extent", "holds f32[1x4x6], but f32[1x5x6]", npy("<f4", "False", "(1, 4, 6)", 96)},
  };
  for (const auto& each : files) {
    SCOPED_TRACE(each.what);
    const std::string path = folder.file(std::string(each.what) + ".npy");
    write_file(path, each.bytes);
    expect_refusal(run_on(path), 2, each.sentence);
    EXPECT_TRUE(contains(run_on(path).err, path)) << "the file is not named";
  }
  expect_refusal(run_on(folder.path()), 2, "it is a folder");
  expect_refusal(run_on(folder.file("nosuch.npy")), 2, "No such file");
}

TEST(cli, run_names_the_tensors_it_misses_and_knows) {
  const TemporaryFolder folder;
  const std::string file = folder.file("d.npy");
  write_npy(file, counts_data());
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"run", kCounts});
    return run_clam(words);
  };
  expect_refusal(run({}), 2, "inputs without a file: data; add --in data=FILE.npy, or --fill SET");
  expect_refusal(run({"--in", file}), 2, "write NAME=FILE.npy");
  expect_refusal(run({"--in", "data="}), 2, "write NAME=FILE.npy");
  expect_refusal(run({"--in", "dat=" + file}), 2, "no tensor 'dat' here, only data; did you mean");
  expect_refusal(run({"--in", "out=" + file}), 2, "there is no tensor 'out' here, only data");
  expect_refusal(run({"--in", "data=" + file, "data=" + file}), 2, "data is given twice");
  expect_refusal(run({"--in", "data=" + file, "--out", "data=" + file}), 2, "only count");
  expect_refusal(run({"--fill", "nice"}), 2, "unknown data set 'nice'; get_valid_counts knows");
  expect_refusal(run({"--in", "data=" + file, "--variant", "fast"}), 2, "unknown variant 'fast'");
  expect_refusal(run({"--in", "data=" + file, "--plan", "p.json"}), 2, "a problem or --plan");
}

// ---- plans ----

TEST(cli, broken_plans_are_refused) {
  const TemporaryFolder folder;
  write_scale_kernel(folder);
  write_npy(folder.file("src.npy"), HostTensor(Dtype::f32, {20}));
  const struct {
    const char* sentence;
    std::function<void(json&)> change;
  } faults[] = {
      {"\"clam_plan\" is missing", [](json& p) { p.erase("clam_plan"); }},
      {"version 2 is unknown", [](json& p) { p["clam_plan"] = 2; }},
      {"no plan", [](json& p) { p = json::array(); }},
      {"'tensors' not found", [](json& p) { p.erase("tensors"); }},
      {"'launches' not found", [](json& p) { p.erase("launches"); }},
      {"'kernel' not found", [](json& p) { p["launches"][0].erase("kernel"); }},
      {"type must be", [](json& p) { p["launches"][0]["file"] = 7; }},
      {"type must be", [](json& p) { p["launches"][0]["global"] = "many"; }},
      {"type must be", [](json& p) { p["tensors"] = "all"; }},
      {"it has no launches", [](json& p) { p["launches"] = json::array(); }},
      {"must be named", [](json& p) { p["launches"][0]["file"] = ""; }},
      {"global 33x1x1 is no multiple of local 16x1x1",
       [](json& p) {
         p["launches"][0]["global"] = {33, 1, 1};
       }},
      {"at least 1",
       [](json& p) {
         p["launches"][0]["local"] = {0, 1, 1};
       }},
      {"at least 1",
       [](json& p) {
         p["launches"][0]["global"] = {-16, 1, 1};
       }},
      {"'nothing' is neither a tensor nor a buffer",
       [](json& p) {
         p["launches"][0]["args"][0] = {{"buffer", "nothing"}};
       }},
      {"unknown form of argument",
       [](json& p) {
         p["launches"][0]["args"][0] = {{"tensor", "x"}};
       }},
      {"does not fit an int",
       [](json& p) {
         p["launches"][0]["args"][3] = {{"int", 1L << 40}};
       }},
      {"is no float",
       [](json& p) {
         p["launches"][0]["args"][2] = {{"float", "much"}};
       }},
      {"local_bytes must be",
       [](json& p) {
         p["launches"][0]["args"][2] = {{"local_bytes", 0}};
       }},
      {"unknown dtype 'f64'", [](json& p) { p["tensors"][0]["dtype"] = "f64"; }},
      {"extent under 1", [](json& p) { p["tensors"][0]["shape"] = {0}; }},
      {"needs input or output", [](json& p) { p["tensors"][0]["role"] = "both"; }},
      {"has no bytes",
       [](json& p) {
         p["buffers"] = {{{"name", "t"}, {"role", "scratch"}, {"bytes", 0}}};
       }},
      {"nosuch.cl", [](json& p) { p["launches"][0]["file"] = "nosuch.cl"; }},
  };
  for (const auto& fault : faults) {
    SCOPED_TRACE(fault.sentence);
    json plan = to_json(scale_plan(20, 3));
    fault.change(plan);
    write_file(folder.file("plan.json"), plan.dump());
    expect_refusal(run_clam({"run", "--plan", folder.file("plan.json"), "--in",
                             "src=" + folder.file("src.npy")}),
                   2, fault.sentence);
  }
  write_file(folder.file("plan.json"), "{ this is no JSON");
  expect_refusal(run_clam({"run", "--plan", folder.file("plan.json")}), 2, "this is no JSON");
  expect_refusal(run_clam({"run", "--plan", folder.path()}), 2, "it is a folder");
  expect_refusal(run_clam({"run", "--plan", folder.file("no.json")}), 2, "No such file");
}

TEST(cli, a_plan_without_its_tensors_or_problem_is_refused) {
  const TemporaryFolder folder;
  write_scale_kernel(folder);
  const std::string plan = folder.file("plan.json"), src = folder.file("src.npy");
  write_file(plan, to_json(scale_plan(20, 3)).dump());
  write_npy(src, HostTensor(Dtype::f32, {20}));
  // A data set is one of a problem, which this plan does not have.
  expect_refusal(run_clam({"run", "--plan", plan}), 2,
                 "inputs without a file: src; add --in src=FILE.npy\n");
  expect_refusal(run_clam({"run", "--plan", plan, "--in", "src=" + src, "--check"}), 2,
                 "--check needs a problem that clam knows");
  expect_refusal(run_clam({"run", "--plan", plan, "--fill", "exact"}), 2,
                 "--fill needs a problem that clam knows");
  expect_refusal(run_clam({"run", "--plan", plan, "--in", "src=" + src, "--variant", "scale"}), 2,
                 "--variant and --tile go with a problem");
}

TEST(cli, a_plan_that_contradicts_its_kernels_tags_is_refused) {
  const TemporaryFolder folder;
  json plan = to_json(make_plan(Problem::parse(kCounts), generic_device()));
  plan["launches"][0]["args"].erase(0);
  write_file(folder.file("plan.json"), plan.dump());
  expect_refusal(run_clam({"run", "--plan", folder.file("plan.json"), "--fill", "mixed"}), 2,
                 "arguments, the tags have");
}

}  // namespace
}  // namespace clam::test
