// SPDX-License-Identifier: MIT
// bench_schema_test.cpp - files of clam-bench --json follow bench/results.schema.json, broken ones
// do not, and Google Benchmark's own tool reads them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/document.hpp"
#include "command.hpp"
#include "pattern.hpp"
#include "runtime/atomic_file.hpp"
#include "scripted.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

constexpr const char* kPython = "/usr/bin/python3";  // Debian's, for which the packages are built
const std::string kSource = CLAM_SOURCE_DIR;
const std::string kSchema = kSource + "/bench/results.schema.json";
const std::string kMadeUp = kSource + "/tests/cli/results/made-up-g1.json";

#define CLAM_NEEDS_JSONSCHEMA()                                            \
  if (run_command({kPython, "-c", "import jsonschema"}).code != 0) {       \
    GTEST_SKIP() << "python3-jsonschema is not here (tools/setup python)"; \
  }                                                                        \
  static_assert(true, "")

/// What is wrong with the files, a line each: "FILE PATH: what".
std::string faults(const std::vector<std::string>& files) {
  std::vector<std::string> words = {kPython,
                                    "-W",
                                    "ignore",
                                    "-m",
                                    "jsonschema",
                                    "--error-format",
                                    "{file_name} {error.json_path}: {error.message}\n"};
  for (const std::string& file : files) words.insert(words.end(), {"-i", file});
  words.push_back(kSchema);
  const Finished finished = run_command(words);
  EXPECT_EQ(finished.code != 0, !finished.err.empty()) << finished.out << finished.err;
  return finished.err;
}

TEST(bench, made_up_results_follow_the_schema) {
  CLAM_NEEDS_JSONSCHEMA();
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kSource + "/tests/cli/results")) {
    files.push_back(entry.path().string());
  }
  EXPECT_GE(files.size(), 2u);
  EXPECT_EQ(faults(files), "");
}

TEST(bench, a_board_whose_clocks_may_move_follows_the_schema) {
  CLAM_NEEDS_JSONSCHEMA();
  json results = json::parse(read_file(kMadeUp));
  results["clam"]["board"]["before"]["unpinned"] = {"the governor of the GPU is simple_ondemand"};
  const TemporaryFolder folder;
  write_file(folder.file("moving.json"), results.dump());
  EXPECT_EQ(faults({folder.file("moving.json")}), "");
}

TEST(bench, the_schema_refuses_broken_results) {
  CLAM_NEEDS_JSONSCHEMA();
  const struct {
    const char *patch, *where;
  } breaks[] = {
      {R"([{"op":"remove","path":"/clam"}])", "$: 'clam' is a required property"},
      {R"([{"op":"remove","path":"/benchmarks"}])", "$: 'benchmarks' is a required"},
      {R"([{"op":"replace","path":"/clam/schema","value":2}])", "$.clam.schema: 1 was expected"},
      {R"([{"op":"remove","path":"/clam/date"}])", "$.clam: 'date' is a required"},
      {R"([{"op":"replace","path":"/clam/date","value":"22 Nov 2026"}])", "$.clam.date: "},
      {R"([{"op":"remove","path":"/clam/device/driver_version"}])", "$.clam.device: "},
      {R"([{"op":"add","path":"/clam/peak","value":{}}])", "$.clam: Additional properties"},
      {R"([{"op":"replace","path":"/clam/peaks/gflops_f16","value":0}])",
       "$.clam.peaks.gflops_f16: 0 is less than or equal"},
      {R"([{"op":"replace","path":"/clam/board/after/gpu_mhz","value":"806"}])",
       "$.clam.board.after.gpu_mhz: '806' is not of type 'number'"},
      {R"([{"op":"remove","path":"/clam/rows/0/command"}])", "$.clam.rows[0]: 'command'"},
      {R"([{"op":"remove","path":"/clam/rows/0/us"}])", "$.clam.rows[0]: 'us' is a required"},
      {R"([{"op":"remove","path":"/clam/rows/4/reason"}])", "$.clam.rows[4]: 'reason'"},
      {R"([{"op":"replace","path":"/clam/rows/0/dtype","value":"f64"}])", "$.clam.rows[0].dtype: "},
      {R"([{"op":"replace","path":"/clam/rows/0/outcome","value":"skipped"}])", "$.clam.rows[0]: "},
      {R"([{"op":"replace","path":"/clam/rows/0/validity","value":"GOOD"}])",
       "$.clam.rows[0].validity: "},
      {R"([{"op":"replace","path":"/clam/rows/0/validity","value":"INVALID"}])",
       "$.clam.rows[0].validity: "},
      {R"([{"op":"add","path":"/clam/rows/4/us","value":{"median":70,"min":69}}])",
       "$.clam.rows[4]: "},
      {R"([{"op":"add","path":"/clam/rows/0/gflops","value":1}])",
       "$.clam.rows[0]: Additional properties"},
      {R"([{"op":"replace","path":"/clam/rows/0/us/median","value":-3}])",
       "$.clam.rows[0].us.median: -3 is less"},
      {R"([{"op":"remove","path":"/clam/rows/0/predicted_us/high"}])",
       "$.clam.rows[0].predicted_us: 'high'"}};
  const json good = json::parse(read_file(kMadeUp));
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const auto& fault : breaks) {
    files.push_back(folder.file(std::to_string(files.size()) + ".json"));
    write_file(files.back(), good.patch(json::parse(fault.patch)).dump());
  }
  const std::string said = faults(files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    EXPECT_NE(said.find(files[i] + " " + breaks[i].where), said.npos) << breaks[i].patch << "\n"
                                                                      << said;
  }
}

/// Keys without a description, in `schema` and below. A reference to one that has it is enough.
void undescribed(const json& schema, const json& node, const std::string& where,
                 std::string& keys) {
  if (!node.is_structured()) return;
  const bool properties = node.is_object() && node.contains("properties");
  const bool condition = where.find("allOf") != where.npos;
  if (properties && !condition) {
    for (const auto& [key, value] : node.at("properties").items()) {
      const json* target = &value;
      if (!value.contains("description") && value.contains("$ref")) {
        target = &schema.at(json::json_pointer(value.at("$ref").get<std::string>().substr(1)));
      }
      if (!target->contains("description")) keys += where + "/" + key + "\n";
    }
  }
  for (const auto& [key, value] : node.items()) undescribed(schema, value, where + "/" + key, keys);
}

TEST(bench, the_schema_describes_every_key) {
  json schema = json::parse(read_file(kSchema));
  std::string keys;
  undescribed(schema, schema, "", keys);
  EXPECT_EQ(keys, "");
  schema["$defs"]["state"]["properties"]["gpu_mhz"].erase("description");
  undescribed(schema, schema, "", keys);
  EXPECT_EQ(keys, "/$defs/state/gpu_mhz\n");
}

/// What a driver claims that is not believed goes through the file to the page, and is no time
/// there.
TEST(bench_device, the_page_shows_what_an_invalid_row_claims) {
  CLAM_NEEDS_DEVICE();
  bench::Options options;
  options.problems = {"dense m=512 n=512 k=512 dtype=f32"};
  const bench::Selection selection = select_rows(options, runtime().device());
  std::vector<bench::Result> results(1);
  bench::Result& wrong = results[0];
  wrong.outcome = bench::Outcome::check_failed;
  wrong.reason = "condition 4, peak: 7122.0 GFLOP/s, but the device does 461.0 at most";
  wrong.variant = "dense_packed";
  wrong.data_set = "zero_mean";
  wrong.kernel_hash = "00112233445566778899aabbccddeeff";
  wrong.launches = 1;
  wrong.us.median = 37.5;
  wrong.iterations = 80;
  wrong.flops = 268435456;
  wrong.bytes = 3145728;
  wrong.claimed = {{{10, 20, 30, 37530}}, 1, 5000};
  const TemporaryFolder folder;
  const std::string file = folder.file("results.json"), page = folder.file("page.html");
  write_file(file, make_document("", options, selection, results, {}, runtime()));
  ASSERT_EQ(run_command({CLAM_BINARY, "report", file, "-o", page}).code, 0);
  const std::string text = read_file(page), start = "id=\"data\">";
  const std::size_t begin = text.find(start) + start.size();
  const json row = json::parse(text.substr(begin, text.find("</script>", begin) - begin))
                       .at("boards")[0]
                       .at("rows")[0];
  EXPECT_EQ(row.at("status"), "INVALID");
  EXPECT_EQ(row.at("us"), 37.5);
  EXPECT_NEAR(row.at("gflop_per_s").get<double>(), 7158.28, 0.01);
  EXPECT_NEAR(row.at("gb_per_s").get<double>(), 83.886, 0.001);
  EXPECT_NEAR(row.at("flop_per_byte").get<double>(), 85.333, 0.001);
  CLAM_NEEDS_JSONSCHEMA();
  EXPECT_EQ(faults({file}), "");
}

/// A file with a row that is fine, one that is skipped where there is no fp16, and one whose kernel
/// is wrong.
void measure(const std::string& file) {
  const TemporaryFolder kernels;
  break_kernel(kernels, "get_valid_counts.cl", "indices[place] = row;",
               "indices[place] = row + 1;");
  std::vector<std::string> environment = scripted::on(
      {{"costs", {{{"kernel", "dense*"}, {"us", 1000}}}}, {"noise", {{"spread", 0.1}}}});
  environment.push_back("CLAM_KERNEL_DIR=" + kernels.path());
  const Finished done = run_command(
      {CLAM_BENCH_BINARY, "--problem", "dense m=33 n=20 k=48 dtype=f32 bias", "--problem",
       "softmax shape=4x100 dtype=f16", "--problem",
       "get_valid_counts n=1000 dtype=f32 score_threshold=0.01", "--problem",
       "softmax shape=7x9 dtype=f32", "--benchmark_filter=-7x9", "--time", "0.3", "--json", file},
      environment);
  ASSERT_EQ(done.code, 1) << done.out << done.err;
}

TEST(bench_device, real_results_follow_the_schema) {
  CLAM_NEEDS_DEVICE();
  CLAM_NEEDS_JSONSCHEMA();
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  ASSERT_NO_FATAL_FAILURE(measure(file));
  EXPECT_EQ(faults({file}), "");
  const json own = json::parse(read_file(file)).at("clam");
  EXPECT_EQ(own.at("schema"), 1);
  const std::string date = own.at("date");
  EXPECT_FALSE(match(date, "20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ").empty()) << date;
  EXPECT_EQ(own.at("rows").at(0).at("op"), "dense");
  EXPECT_EQ(own.at("rows").at(1).at("dtype"), "f16");
  EXPECT_EQ(own.at("rows").at(2).at("outcome"), "check failed");
  EXPECT_GE(own.at("rows").at(2).at("claimed").at("timestamps_ns").size(), 1u);
  EXPECT_FALSE(own.at("rows").at(0).contains("claimed"));
}

TEST(bench_scripted, google_benchmarks_compare_reads_results) {
  CLAM_NEEDS_DEVICE();
  constexpr const char* kCompare = "/usr/share/benchmark/compare.py";
  if (!std::filesystem::exists(kCompare) ||
      run_command({kPython, "-c", "import scipy"}).code != 0) {
    GTEST_SKIP() << "Google Benchmark's compare.py is not here (tools/setup compare)";
  }
  const TemporaryFolder folder;
  const std::string one = folder.file("one.json"), other = folder.file("other.json");
  ASSERT_NO_FATAL_FAILURE(measure(one));
  ASSERT_NO_FATAL_FAILURE(measure(other));
  const Finished finished =
      run_command({kPython, kCompare, "--no-color", "benchmarks", one, other});
  EXPECT_EQ(finished.code, 0) << finished.err;
  for (const char* row : {"dense m=33 n=20 k=48 dtype=f32 bias  ", "get_valid_counts n=1000 "}) {
    EXPECT_NE(finished.out.find(row), std::string::npos) << finished.out << finished.err;
  }
}

}  // namespace
}  // namespace clam::test
