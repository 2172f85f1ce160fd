// SPDX-License-Identifier: MIT
// The command line of `clam mali`, with a stand-in for the compiler; and where --full asks for it,
// with the real one.
#include <filesystem>

#include "run_clam.hpp"
#include "signalled.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

const std::string kTests = std::string(CLAM_SOURCE_DIR) + "/tests/mali";
const std::string kQk = "batch_matmul batch=4 m=192 n=192 k=64 dtype=f32 tb=1 scale=0.125";

std::vector<std::string> fake(std::vector<std::string> more = {}) {
  more.push_back("CLAM_MALI_COMPILER=" + kTests + "/fake_mali_compiler.sh");
  more.push_back("CLAM_FAKE_LISTINGS=" + kTests + "/listings");
  more.push_back("PATH=/usr/bin:/bin");
  return more;
}

Finished run_mali(std::vector<std::string> words, std::vector<std::string> environment = {}) {
  words.insert(words.begin(), "mali");
  return run_clam(words, fake(std::move(environment)));
}

TEST(cli, mali_shows_a_kernel_and_predicts_its_problem) {
  const Finished finished = run_mali({kQk});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(
      contains(finished.out,
               "Mali-G610 (Valhall), 4 cores as on RK3588; Mesa 0.0-fake; 27.2 GB/s measured"));
  EXPECT_TRUE(contains(finished.out, "0.75")) << finished.out;
  EXPECT_TRUE(contains(finished.out,
                       "Predicted at 1 GHz for Mesa's compiler, not Arm's; never run:\n"
                       "         us (Mesa) "))
      << finished.out;
  EXPECT_TRUE(contains(finished.out, "Left out:"));
  EXPECT_TRUE(contains(finished.out, "Five are off by factors of .25 to 3"));
  EXPECT_TRUE(contains(finished.out, "No kernel of clam was"));
  EXPECT_FALSE(contains(finished.out, "malioc"));
  const json out = parse_out(run_mali({kQk, "--json", "-"}));
  const json& kernel = out["gpus"][0]["kernels"][0];
  EXPECT_EQ(kernel["kernel"], "batch_matmul_nt");
  EXPECT_EQ(kernel["loops"][0]["mac"], 384);
  EXPECT_EQ(kernel["full_occupancy"], false);
  const json& problem = out["gpus"][0]["problems"][0];
  EXPECT_EQ(problem["problem"], kQk);
  EXPECT_EQ(problem["predicted_for"], "Mesa's compiler, not Arm's");
  EXPECT_GT(problem["predicted_us"][0], problem["floor_us"]);
  EXPECT_GE(problem["predicted_us"][1], problem["predicted_us"][0]);
  // 4 trips of 384 multiply-adds, in 4 * 510 instructions and 206 around them.
  EXPECT_NEAR(problem["mac_per_issued"].get<double>(), 1536.0 / 2246, 1e-6);
}

TEST(cli, mali_sums_a_workload_and_says_what_is_missing) {
  const json out = parse_out(run_mali({"--workload", "lightglue-192", "--json", "-"}));
  const json& sums = out["gpus"][0]["workload"];
  EXPECT_EQ(sums["name"], "lightglue-192");
  EXPECT_GT(sums["nodes_left_out"], 0);
  double low = 0, floor = 0;
  for (const json& problem : out["gpus"][0]["problems"]) {
    if (!problem.contains("predicted_us")) {
      EXPECT_NE(problem["reason"], "") << problem;
      continue;
    }
    low += problem["calls"].get<double>() * problem["predicted_us"][0].get<double>();
    floor += problem["calls"].get<double>() * problem["floor_us"].get<double>();
  }
  EXPECT_DOUBLE_EQ(sums["predicted_us"][0].get<double>(), low);
  EXPECT_DOUBLE_EQ(sums["floor_us"].get<double>(), floor);
  EXPECT_EQ(sums["predicted_for"], "Mesa's compiler, not Arm's");
  EXPECT_LE(sums["farthest_above_floor"].size(), 5u);
  const std::string text = run_mali({"--workload", "lightglue-192"}).out;
  EXPECT_TRUE(contains(text, "ms predicted for Mesa's compiler, not Arm's; floor ")) << text;
  EXPECT_TRUE(contains(text, "farthest above the floor"));
}

TEST(cli, mali_has_a_column_of_malioc_where_it_is_installed) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink(kTests + "/fake_malioc.sh", folder.file("malioc"));
  const std::string path = "PATH=" + folder.path() + ":/usr/bin:/bin";
  std::vector<std::string> environment = fake();
  environment.push_back(path);
  const Finished finished = run_clam({"mali", kQk, "--json", "-"}, environment);
  const json kernel = parse_out(finished)["gpus"][0]["kernels"][0];
  EXPECT_GT(kernel["malioc"]["total_cycles"], 0) << finished.err;
  EXPECT_TRUE(contains(run_clam({"mali", kQk}, environment).out, "bound by"));
  const Finished other = run_clam({"mali", "softmax shape=4x8 dtype=f32"}, environment);
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_TRUE(contains(other.err, "malioc gives no report of softmax_row")) << other.err;
}

TEST(cli, mali_names_a_kernel_that_crashes_the_compiler_and_goes_on) {
  const TemporaryFolder folder;
  const std::string text = read_file(std::string(CLAM_SOURCE_DIR) + "/kernels/softmax.cl");
  const std::size_t body = text.find('{', text.find("void softmax_row("));
  write_file(folder.file("softmax.cl"),
             text.substr(0, body + 1) + " CRASH" + text.substr(body + 1));
  const Finished finished =
      run_mali({"softmax shape=4x8 dtype=f32", kQk}, {"CLAM_KERNEL_DIR=" + folder.path()});
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(contains(finished.out, "crashed  softmax_row")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "thread panicked at half log"));
  EXPECT_TRUE(contains(finished.out, "  batch_matmul_nt  -D"));
}

/// What is written is what `clam report --predicted` reads.
TEST(cli, mali_predicts_rows_of_a_report) {
  const TemporaryFolder folder;
  const std::string mali = folder.file("mali.json"), results = folder.file("results.json");
  EXPECT_EQ(run_mali({kQk, "--json", mali}).code, 0);
  json board = json::parse(read_file(CLAM_SOURCE_DIR "/tests/cli/results/made-up-g1.json"));
  board["clam"]["device"]["name"] = "Mali-G610";
  json& row = board["clam"]["rows"][0];
  row["problem"] = kQk;
  row["variant"] = "batch_matmul_nt";
  row.erase("predicted_us");
  write_file(results, board.dump());
  const Finished finished = run_clam({"report", "--markdown", results, "--predicted", mali});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(contains(finished.out, "predicted us, Mesa's compiler, not Arm's |")) << finished.out;
  EXPECT_TRUE(contains(finished.out, " 63.9 to 73.7 |")) << finished.out;
}

TEST(cli, mali_writes_listings) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_mali({kQk, "--asm", folder.path()}).code, 0);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("g610"))) {
    const std::string text = read_file(entry.path().string());
    EXPECT_EQ(text.substr(0, 35), "// batch_matmul.cl batch_matmul_nt ");
    EXPECT_TRUE(contains(text, "FMA.f32"));
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST(cli, mali_tells_a_gpu_that_cannot_be_had_beside_one_that_can) {
  const Finished finished = run_mali({kQk, "--gpu", "g78,g610"});
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(contains(finished.out, "g78: Mesa's compiler knows no id for the Mali-G78"));
  EXPECT_TRUE(contains(finished.out, "  batch_matmul_nt  -D"));
}

TEST(cli, mali_sets_published_times_beside_those_of_their_gpu_alone) {
  const std::string published = "(TVM untuned on a board: 148 us)";
  EXPECT_TRUE(contains(run_mali({"--workload", "lightglue-192"}).out, published));
  EXPECT_FALSE(contains(run_mali({"--workload", "lightglue-192", "--dtype", "f16"}).out, "board:"));
  EXPECT_FALSE(contains(run_mali({"--workload", "lightglue-192", "--gpu", "g57"}).out, "board:"));
}

/// Each release's listings are kept apart.
TEST(cli, mali_asks_the_compilers_of_testing) {
  const std::vector<std::string> words{"mali", "dense_pack_x", "--gpu", "g610"};
  const TemporaryFolder cache;
  const std::vector<std::string> environment{
      "CLAM_MALI_COMPILER=" + kTests + "/fake_mali_compiler.sh", "PATH=/usr/bin:/bin",
      "CLAM_FAKE_LOG=" + cache.file("starts"), "CLAM_CACHE_DIR=" + cache.path()};
  const auto run_with = [&](const std::string& mesa) {
    std::vector<std::string> all = words;
    if (!mesa.empty()) all.insert(all.end(), {"--mesa", mesa});
    return run_clam(all, environment);
  };
  const Finished newer = run_with("testing");
  EXPECT_EQ(newer.code, 0) << newer.err;
  EXPECT_TRUE(contains(newer.out, "Mesa 26-fake")) << newer.out;
  EXPECT_TRUE(contains(run_with("debian13").out, "Mesa 0.0-fake"));
  EXPECT_TRUE(contains(run_with("").out, "Mesa 0.0-fake"));
  run_with("testing");
  EXPECT_EQ(read_file(cache.file("starts")), "0xa867\n0xa867\n") << "one start a release";
  expect_refusal(run_with("sid"), 2, "there is no Mesa 'sid': there are debian13 and testing");
  const Finished accepted =
      run_mali({"dense_pack_x", "--accept", "--gpu", "g610", "--mesa", "testing"});
  expect_refusal(accepted, 2, "is of Debian 13's compilers: give --expectations another file");
}

TEST(cli, mali_refuses_what_it_cannot_mean) {
  expect_refusal(run_mali({"nothing*"}), 2, "no kernel of any plan matches 'nothing*'");
  expect_refusal(run_mali({"dense*", "conv*"}), 2, "one pattern at a time");
  expect_refusal(run_mali({kQk, "--gpu", "g99"}), 2, "g99");
  expect_refusal(run_mali({kQk, "--gpu", "g611"}), 2, "did you mean 'g6");
  expect_refusal(run_mali({kQk, "--gpu", ""}), 2, "unknown GPU ''");
  expect_refusal(run_mali({"--gate", "--dtype", "f16"}), 2, "a gate has its own plans");
  expect_refusal(run_mali({kQk, "--gpu", "g610,,"}), 2, "unknown GPU ''");
  expect_refusal(run_mali({kQk, "--gate"}), 2, "a pattern of kernels, not problems");
  expect_refusal(run_mali({"--once"}), 2, "go with --gate or --accept");
  expect_refusal(run_mali({"--changed"}), 2, "go with --gate or --accept");
  expect_refusal(run_mali({kQk, "--workload", "dcmt"}), 2, "one of the two");
  expect_refusal(run_mali({kQk, "--dtype", "f8"}), 2, "f8");
  expect_refusal(run_mali({kQk, "--gpu", "g78"}), 77, "Mesa's compiler knows no id");
  expect_refusal(run_mali({kQk}, {"CLAM_FAKE_START=none", "CLAM_CACHE_DIR=off"}), 77,
                 "no compiler here");
  expect_refusal(run_mali({"dense_pack_x", "--gate", "--expectations", "/nowhere/file"}), 2,
                 "/nowhere/file");
}

/// What an acceptance wrote is what the gate then expects.
TEST(cli, mali_gate_accepts_then_judges) {
  const TemporaryFolder folder;
  const std::string file = folder.file("expectations.txt");
  const std::vector<std::string> gate{"dense_pack_x", "--gate",         "--gpu",
                                      "g610",         "--expectations", file};
  const auto accept = [&] {
    return run_mali({"dense_pack_x", "--accept", "--gpu", "g610", "--expectations", file});
  };
  EXPECT_EQ(accept().code, 0);
  EXPECT_EQ(run_mali(gate).code, 0);
  const std::string expected = read_file(file);
  std::string worse = expected;  // one instruction less was expected
  const std::size_t at = worse.find("     1       0/0");
  ASSERT_NE(at, worse.npos) << expected;
  worse[at + 5] = '0';
  write_file(file, worse);
  const Finished failed = run_mali(gate);
  EXPECT_EQ(failed.code, 1);
  EXPECT_TRUE(contains(failed.out, "worse: 1 inst")) << failed.out;
  EXPECT_TRUE(contains(failed.out, "it was 0 inst"));
  EXPECT_TRUE(contains(failed.out, " failed, 0 skipped\n"));
  accept();
  EXPECT_EQ(read_file(file), expected);
}

TEST(cli, mali_gate_of_changed_kernels_compiles_what_is_not_as_accepted) {
  const TemporaryFolder folder;
  const std::string file = folder.file("expectations.txt"), tag = "//@define DENSE_LX ";
  const auto run = [&](std::vector<std::string> how, const std::string& kernels = "") {
    how.insert(how.end(), {"dense_pack_w", "--gpu", "g610", "--expectations", file, "--json", "-"});
    const Finished finished = run_mali(how, {"CLAM_KERNEL_DIR=" + kernels});
    EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
    return json::parse(finished.out)["gpus"][0];
  };
  const std::vector<std::string> changed{"--gate", "--changed"};
  const std::size_t all = run({"--accept"})["kernels"].size();
  ASSERT_GT(all, 40u);
  const json same = run(changed);
  EXPECT_LT(same["kernels"].size(), all / 2);
  EXPECT_EQ(same["kernels"].size() + same.value("unchanged", 0u), all);
  // A tag that changed is looked at like code that did. A remark is neither.
  break_kernel(folder, "dense.cl", tag, "// A remark.\n" + tag);
  EXPECT_EQ(run(changed, folder.path())["unchanged"], same["unchanged"]);
  break_kernel(folder, "dense.cl", tag, tag + " ");
  EXPECT_EQ(run(changed, folder.path())["kernels"].size(), all);
  // An acceptance of what changed writes that, and keeps the lines of what it did not compile.
  const std::string before = read_file(file);
  run({"--accept", "--once"}, folder.path());
  const std::string after = read_file(file);
  EXPECT_NE(before, after);
  EXPECT_EQ(std::count(before.begin(), before.end(), '\n'),
            std::count(after.begin(), after.end(), '\n'));
  // One of a kernel that no plan launches any more goes.
  write_file(file, after + "100 0/0 full - dense.cl:dense_pack_w -DDENSE_GONE=1\n");
  run({"--accept", "--changed"}, folder.path());
  EXPECT_FALSE(contains(read_file(file), "DENSE_GONE"));
  EXPECT_LT(run(changed, folder.path())["kernels"].size(), all / 2);
}

TEST(cli, mali_keeps_what_was_accepted_where_nothing_could_be_compiled) {
  const TemporaryFolder folder;
  const std::string file = folder.file("expectations.txt"),
                    line = "((__global T4*)xp)[row * k4 + i]";
  const auto accept = [&](std::vector<std::string> environment, const char* gpus = "g610") {
    return run_mali({"dense_pack_x", "--accept", "--gpu", gpus, "--expectations", file},
                    std::move(environment))
        .code;
  };
  EXPECT_EQ(accept({}), 0);
  const std::string before = read_file(file);
  EXPECT_NE(accept({"CLAM_FAKE_START=none", "CLAM_CACHE_DIR=off"}), 0);
  EXPECT_EQ(read_file(file), before);
  // A GPU that Mesa's compiler does not know, beside one that it does.
  const std::string other = "gpu g78  Mesa 0.0-fake\n100 0/0 full - dense.cl:dense_pack_x -DX=1\n";
  write_file(file, before + other);
  accept({}, "g610,g78");
  EXPECT_TRUE(contains(read_file(file), "dense_pack_x  -DX=1")) << read_file(file);
  write_file(file, before);
  break_kernel(folder, "dense.cl", line, "CRASH " + line);
  EXPECT_EQ(accept({"CLAM_KERNEL_DIR=" + folder.path()}), 1);
  EXPECT_EQ(read_file(file), before);
}

/// The stand-in's listings have no loops.
TEST(cli, mali_gate_sees_tags_that_speak_of_other_loops) {
  const TemporaryFolder folder;
  const Finished finished = run_mali(
      {"nms_rows", "--accept", "--gpu", "g610", "--expectations", folder.file("expectations.txt")});
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(contains(finished.out, "compiled code has 0 loops")) << finished.out;
}

TEST(cli, mali_leaves_no_temporary_folder_where_a_signal_ends_it) {
  const TemporaryFolder folder, kernels;
  break_kernel(kernels, "softmax.cl", "__kernel", "__constant int HANG = 1;\n__kernel");
  EXPECT_EQ(code_when_signalled(folder, CLAM_BINARY " mali --gpu g610 softmax", "TERM",
                                fake({"CLAM_KERNEL_DIR=" + kernels.path(),
                                      "CLAM_CACHE_DIR=" + folder.file("cache")})),
            128 + 15);
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("tmp")));
}

// ---- the real compiler ----

bool has_real_compiler() {
  const std::string with_driver = std::string(CLAM_SOURCE_DIR) + "/tools/with-driver";
  return run_command({with_driver, "--check", "mali"}).code == 0;
}

Finished run_real(std::vector<std::string> words, const std::string& kernel_dir) {
  words.insert(words.begin(), "mali");
  return run_clam(words,
                  {"CLAM_MALI_COMPILER=" + std::string(CLAM_SOURCE_DIR) + "/tools/mali/compile",
                   "CLAM_KERNEL_DIR=" + kernel_dir});
}

#define NEEDS_REAL_COMPILER()                                                    \
  if (!std::getenv("CLAM_TEST_FULL")) GTEST_SKIP() << "slow: tools/test --full"; \
  if (!has_real_compiler()) GTEST_SKIP() << "no Mali compilers: tools/with-driver --check mali"

/// Mesa 25.0 aborts at log() of a half.
TEST(cli, real_mali_compiler_loses_one_kernel_to_half_log) {
  NEEDS_REAL_COMPILER();
  const TemporaryFolder folder;
  const std::string text = read_file(std::string(CLAM_SOURCE_DIR) + "/kernels/softmax.cl");
  const std::size_t body = text.find('{', text.find("void softmax_row("));
  write_file(folder.file("softmax.cl"), text.substr(0, body + 1) +
                                            "\n  dst[0] = (T)log((half)get_global_id(0));" +
                                            text.substr(body + 1));
  const Finished finished =
      run_real({"softmax shape=4x8 dtype=f16", "get_valid_counts n=9 dtype=f16"}, folder.path());
  EXPECT_EQ(finished.code, 1) << finished.err;
  EXPECT_TRUE(contains(finished.out, "crashed  softmax_row")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "full   0:0+0  get_valid_counts")) << finished.out;
}

/// A kernel made worse on purpose, by a store that it hardly ever comes to.
TEST(cli, real_mali_gate_sees_a_worse_kernel) {
  NEEDS_REAL_COMPILER();
  const TemporaryFolder folder;
  std::string text = read_file(std::string(CLAM_SOURCE_DIR) + "/kernels/multibox_prior.cl");
  const std::size_t body = text.find('{', text.find("void multibox_prior_boxes("));
  text.insert(body + 1, "\n  if (get_global_id(0) == 12345u) anchors[0] = anchors[1];");
  write_file(folder.file("multibox_prior.cl"), text);
  const std::vector<std::string> gate{
      "multibox_prior_boxes",           "--gate", "--gpu", "g610", "--expectations",
      kTests + "/mali_expectations.txt"};
  const Finished same = run_real(gate, "");
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  const Finished worse = run_real(gate, folder.path());
  EXPECT_EQ(worse.code, 1) << worse.out << worse.err;
  EXPECT_TRUE(contains(worse.out, "worse: ")) << worse.out;
  EXPECT_TRUE(contains(worse.out, "; it was ")) << worse.out;
}

TEST(cli, mali_figures_writes_a_file) {
  const TemporaryFolder folder;
  const std::string file = folder.file("README.md"), figures = folder.file("expectations");
  write_file(file, "<!-- figures of dense -->\n<!-- end of figures -->\n");
  write_file(figures,
             "gpu g610  Mesa 1\n"
             "1650 256/341 half - dense.cl:dense_packed -DDENSE_M0=4 -DDENSE_N0=8\n");
  const std::vector<std::string> words = {"mali", "--figures", file, "--expectations", figures};
  const Finished first = run_clam(words);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.err.find("now has the figures of"), std::string::npos) << first.err;
  EXPECT_NE(read_file(file).find("| .75 1650h |"), std::string::npos);
  EXPECT_NE(run_clam(words).err.find("already has"), std::string::npos);
  const Finished more = run_clam({"mali", "--figures", file, "--gate"});
  EXPECT_EQ(more.code, 2);
  EXPECT_NE(more.err.find("--figures takes --expectations"), std::string::npos) << more.err;
}

/// A results file in which the only node of conv1x1-348-2084 took 320 us.
json with_conv1x1() {
  json results =
      json::parse(read_file(std::string(CLAM_SOURCE_DIR) + "/tests/cli/results/made-up-g1.json"));
  results["clam"]["workloads"] = {
      {{"name", "conv1x1-348-2084"},
       {"nodes", {{{"row", results["clam"]["rows"][0]["name"]}, {"name", "conv1x1"}}}}}};
  return results;
}

TEST(cli, mali_models_writes_a_line_for_a_workload) {
  const TemporaryFolder folder;
  const std::string page = folder.file("page.md"), results = folder.file("bench.json");
  const auto line_of = [&](const std::vector<std::string>& more) {
    write_file(page, "# a\n<!-- figures of models -->\nold\n<!-- end of figures -->\nb\n");
    std::vector<std::string> words = {"--models", page, "--workload", "conv1x1-348-2084"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = run_mali(words);
    EXPECT_EQ(finished.code, 0) << finished.err;
    const std::string text = read_file(page);
    EXPECT_EQ(text.rfind("# a\n<!-- figures of models -->\n| model |", 0), 0u) << text;
    EXPECT_FALSE(contains(text, "old")) << text;
    const std::size_t at = text.find("| conv1x1-348-2084 | 1 | ");
    return at == text.npos ? "none" : text.substr(at, text.find('\n', at) - at);
  };
  const std::string alone = line_of({});
  EXPECT_EQ(std::count(alone.begin(), alone.end(), '|'), 5) << alone;

  write_file(results, with_conv1x1().dump());
  EXPECT_EQ(line_of({"--measured", results}), alone + " 0.32 |");
  json invalid = with_conv1x1();
  invalid["clam"]["rows"][0]["validity"] = "INVALID: condition 4";
  write_file(results, invalid.dump());
  EXPECT_EQ(line_of({"--measured", results}), alone) << "an INVALID row has no time";
}

TEST(cli, mali_models_counts_a_node_as_often_as_the_model_has_it) {
  const TemporaryFolder folder;
  const std::string page = folder.file("page.md"), results = folder.file("bench.json");
  const std::string workload = folder.file("workload.json");
  json model = json::parse(
      read_file(std::string(CLAM_SOURCE_DIR) + "/bench/workloads/conv1x1-348-2084.json"));
  for (json& node : model["nodes"]) node["calls"] = 3;
  write_file(workload, model.dump());
  write_file(page, "<!-- figures of models -->\n<!-- end of figures -->\n");
  write_file(results, with_conv1x1().dump());
  const Finished finished =
      run_mali({"--models", page, "--measured", results, "--workload", workload});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(contains(read_file(page), " | 0.96 |\n")) << read_file(page);
}

TEST(cli, mali_models_refuses_what_it_cannot_use) {
  const TemporaryFolder folder;
  const std::string page = folder.file("page.md");
  write_file(page, "<!-- figures of dense -->\n<!-- end of figures -->\n");
  expect_refusal(run_mali({"--models", page}), 2, "is no section of models");
  expect_refusal(run_mali({"--models", page, "--gate"}), 2, "--models takes --measured");
  expect_refusal(run_mali({kQk, "--measured", page}), 2, "--measured goes with --models");
}

}  // namespace
}  // namespace clam::test
