// SPDX-License-Identifier: MIT
// The command line on a device: each command's way through, its exit codes, its caches.
#include <filesystem>
#include <fstream>

#include "check/npy.hpp"
#include "check/op_proof.hpp"
#include "foreign_plan.hpp"
#include "run_clam.hpp"
#include "scripted.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

/// A folder of kernels in which get_valid_counts builds but computes nonsense.
void break_counts(const TemporaryFolder& folder) {
  break_kernel(folder, "get_valid_counts.cl", "indices[place] = row", "indices[place] = row + 1");
}

void expect_programs(const json& report, int built) {
  EXPECT_EQ(report.at("counters").at("programs").at("built"), built) << report["counters"];
}

// ---- info ----

TEST(cli, info_shows_the_device) {
  CLAM_NEEDS_DEVICE();
  const DeviceInfo& device = runtime().device();
  const TemporaryFolder cache;
  const std::vector<std::string> environment{"CLAM_CACHE_DIR=" + cache.path()};
  const Finished text = run_clam({"info"}, environment);
  EXPECT_EQ(text.code, 0);
  for (const std::string& words : {device.name, device.driver_version, cache.path()}) {
    EXPECT_TRUE(contains(text.out, words)) << words;
  }
  const Finished names = run_clam({"info", "-l"});
  EXPECT_TRUE(contains(names.out, ":0 ")) << names.out;
  EXPECT_TRUE(contains(names.out, device.name)) << names.out;
  const json report = parse_out(run_clam({"info", "--json", "-"}, environment));
  ASSERT_GE(report.at("devices").size(), 1u);
  EXPECT_EQ(report["cache_dir"], cache.path());
  const json identity = report["devices"][0].at("identity");
  EXPECT_TRUE(identity.contains("gpu") && identity.contains("quirks")) << identity;
  EXPECT_TRUE(contains(text.out, "  identity: " + identity["text"].get<std::string>() + "\n"));
}

TEST(cli, info_shows_replaced_kernels) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  break_counts(folder);
  const std::vector<std::string> environment{"CLAM_KERNEL_DIR=" + folder.path()};
  const std::string path = folder.file("get_valid_counts.cl");
  EXPECT_TRUE(contains(run_clam({"info"}, environment).out, path));
  EXPECT_EQ(parse_out(run_clam({"info", "--json", "-"}, environment))["kernel_overrides"].size(),
            1u);
  const Finished run = run_clam({"run", kCounts, "--fill", "mixed"}, environment);
  EXPECT_TRUE(contains(run.err, "kernel file get_valid_counts.cl: " + path)) << run.err;
}

TEST(cli, a_device_that_is_not_there) {
  CLAM_NEEDS_DEVICE();
  for (const char* command : {"plan", "verify"}) {
    for (const char* name : {"nosuch", "9:9"}) {
      expect_refusal(run_clam({command, kCounts, "--device", name}), 3,
                     std::string("no OpenCL device matches '") + name + "'");
    }
  }
  expect_refusal(run_clam({"verify", kCounts}, {"CLAM_DEVICE=nosuch"}), 3, "'nosuch'");
}

TEST(cli, a_device_by_number_and_by_name) {
  CLAM_NEEDS_DEVICE();
  const json all = parse_out(run_clam({"info", "--json", "-"}))["devices"];
  const std::string id = all[0]["id"], name = all[0]["name"];
  EXPECT_EQ(parse_out(run_clam({"info", "--device", id, "--json", "-"}))["devices"][0]["name"],
            name);
  EXPECT_EQ(parse_out(run_clam({"--device", name, "info", "--json", "-"}))["devices"].size(), 1u);
}

// ---- verify ----

TEST(cli, verify_passes_and_counts) {
  CLAM_NEEDS_DEVICE();
  const Finished text = run_clam({"verify", kCounts, "dense m=5 n=7 k=9 dtype=f32 bias act=relu"});
  EXPECT_EQ(text.code, 0) << text.out << text.err;
  EXPECT_TRUE(contains(text.out, "2 passed, 0 failed, 0 skipped\n")) << text.out;
  const json report =
      parse_out(run_clam({"verify", kCounts, "--variant", "all", "--seed", "7", "--json", "-"}));
  EXPECT_EQ(report.at("failed"), 0);
  EXPECT_GE(report.at("passed"), 2) << "each variant is a row";
  EXPECT_EQ(report["results"][0]["seed"], 7);
  EXPECT_EQ(report["device"]["name"], runtime().device().name);
  EXPECT_TRUE(report.contains("kernel_overrides"));
  EXPECT_TRUE(report["counters"].contains("programs"));
}

TEST(cli, verify_runs_the_plan_of_a_mali_that_is_not_here) {
  CLAM_NEEDS_DEVICE();
  const std::string problem = "dense m=5 n=9 k=260 dtype=f32";
  const test::TemporaryFolder folder;
  // Only work-items that share k add up so, and no processor's plan has them.
  test::break_kernel(folder, "dense.cl", "part = 1; part < PARTS", "part = 2; part < PARTS");
  const std::vector<std::string> broken{"CLAM_KERNEL_DIR=" + folder.path(), "CLAM_CACHE_DIR=off"};
  EXPECT_EQ(run_clam({"verify", problem, "--gpu", "g610"}).code, 0);
  EXPECT_EQ(run_clam({"verify", problem}, broken).code, 0);
  const Finished failed = run_clam({"verify", problem, "--gpu", "g610"}, broken);
  EXPECT_EQ(failed.code, 1) << failed.out << failed.err;
  EXPECT_TRUE(contains(failed.out, "plans of Mali-G610")) << failed.out;
  EXPECT_TRUE(contains(failed.out, "--seed 1 --gpu g610"))
      << "the command that repeats it: " << failed.out;
  EXPECT_EQ(run_clam({"verify", problem, "--gpu", "g9"}).code, 2);
}

TEST(cli, verify_one_set_quietly) {
  CLAM_NEEDS_DEVICE();
  const std::string set = proof_of(find_op("get_valid_counts")).data_sets[0].name;
  const json report = parse_out(run_clam({"verify", kCounts, "--set", set, "--json", "-"}));
  ASSERT_EQ(report["results"][0]["sets"].size(), 1u);
  EXPECT_EQ(report["results"][0]["sets"][0]["data_set"], set);
  const Finished quiet = run_clam({"verify", "--quiet", kCounts});
  EXPECT_FALSE(contains(quiet.out, kCounts)) << quiet.out;
  EXPECT_TRUE(contains(quiet.out, "1 passed")) << quiet.out;
}

TEST(cli, verify_all_runs_every_op) {
  CLAM_NEEDS_DEVICE();
  const std::string set = proof_of(find_op("get_valid_counts")).data_sets[0].name;
  const json report =
      parse_out(run_clam({"verify", "--all", "--set", set, "--dtype", "f32", "--json", "-"}));
  EXPECT_EQ(report.at("failed"), 0);
  EXPECT_GE(report.at("passed"), proof_of(find_op("get_valid_counts")).cases.size());
}

TEST(cli, verify_a_workload) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_file(folder.file("tiny.json"), R"({"clam_workload": 1, "name": "tiny", "title": "Tiny",
    "about": "one layer", "columns": [], "nodes": [
    {"name": "boxes", "what": "valid boxes", "problem": "get_valid_counts n=50 dtype=f32"}]})");
  const Finished finished = run_clam({"verify", "--workload", folder.file("tiny.json")});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "1 passed, 0 failed, 0 skipped\n")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "get_valid_counts n=50 dtype=f32 (boxes)")) << finished.out;
}

TEST(cli, verify_reports_a_failure_and_how_to_repeat_it) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  break_counts(folder);
  const std::vector<std::string> environment{"CLAM_KERNEL_DIR=" + folder.path()};
  const Finished finished = run_clam({"verify", kCounts}, environment);
  EXPECT_EQ(finished.code, 1);
  for (const char* words : {"FAIL", "worst error / bound", "cosine", "repeat with: ", "1 failed"}) {
    EXPECT_TRUE(contains(finished.out, words)) << words << "\n" << finished.out;
  }
  const std::string start = "repeat with: ";
  const std::size_t at = finished.out.find(start) + start.size();
  std::string command = finished.out.substr(at, finished.out.find('\n', at) - at);
  command.replace(command.find(" clam "), 6, " \"$CLAM\" ");
  EXPECT_EQ(run_shell(command).code, 1) << command;
  const json report = parse_out(run_clam({"verify", kCounts, "--json", "-"}, environment));
  EXPECT_EQ(report["results"][0]["status"], "FAIL");
  EXPECT_EQ(report["kernel_overrides"].size(), 1u);
}

TEST(cli, what_the_device_cannot_do_is_skipped) {
  CLAM_NEEDS_DEVICE();
  if (runtime().device().fp16) GTEST_SKIP() << "this device can do f16";
  const std::string problem = "dense m=2 n=2 k=2 dtype=f16";
  const Finished verified = run_clam({"verify", problem});
  EXPECT_EQ(verified.code, 77);
  EXPECT_TRUE(contains(verified.out, "cl_khr_fp16")) << verified.out;
  EXPECT_TRUE(contains(verified.out, "0 passed, 0 failed, 1 skipped")) << verified.out;
  expect_refusal(run_clam({"run", problem, "--fill", "exact"}), 77, "cl_khr_fp16");
  expect_refusal(run_clam({"plan", problem}), 77, "cl_khr_fp16");
  EXPECT_EQ(run_clam({"verify", problem, kCounts}).code, 0) << "one of the two ran";
}

// ---- kernels that do not build ----

TEST(cli, a_kernel_that_does_not_build) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_file(folder.file("get_valid_counts.cl"),
             "#error broken on purpose\n" + KernelFiles().get("get_valid_counts.cl").text);
  const std::vector<std::string> environment{"CLAM_KERNEL_DIR=" + folder.path()};
  const Finished run = run_clam({"run", kCounts, "--fill", "mixed"}, environment);
  EXPECT_EQ(run.code, 3);
  for (const char* words :
       {"get_valid_counts.cl does not build on", "options '", "broken on purpose"}) {
    EXPECT_TRUE(contains(run.err, words)) << words << "\n" << run.err;
  }
  const Finished verified =
      run_clam({"verify", kCounts, "dense m=2 n=2 k=2 dtype=f32"}, environment);
  EXPECT_EQ(verified.code, 3);
  EXPECT_TRUE(contains(verified.out, "broken on purpose")) << verified.out;
  EXPECT_TRUE(contains(verified.out, "1 passed, 1 failed"))
      << "the other op is checked all the same\n"
      << verified.out;
}

// ---- run ----

TEST(cli, run_computes_on_files) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_npy(folder.file("d.npy"), counts_data());
  const Finished finished =
      run_clam({"run", kCounts, "--in", "data=" + folder.file("d.npy"), "--out",
                "count=" + folder.file("c.npy"), "indices=" + folder.file("i.npy"), "--check"});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "check of out: pass")) << finished.out;
  EXPECT_EQ(read_npy(folder.file("c.npy")).get(0), 3);
  const HostTensor indices = read_npy(folder.file("i.npy"));
  const double expected[] = {0, 2, 4, -1, -1};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(indices.get(i), expected[i]) << i;
}

TEST(cli, run_takes_double_precision_files) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 5, 6), }";
  header.resize(117, ' ');
  std::string file = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + '\n';
  const HostTensor data = counts_data();
  for (std::int64_t i = 0; i < data.size(); ++i) {
    const double value = data.get(i);
    file.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  write_file(folder.file("d.npy"), file);
  const json report = parse_out(
      run_clam({"run", kCounts, "--in", "data=" + folder.file("d.npy"), "--check", "--json", "-"}));
  EXPECT_EQ(report["outputs"][0]["name"], "count");
  EXPECT_EQ(report["outputs"][0]["max"], 3);
  EXPECT_EQ(report["check"]["count"]["pass"], true);
  EXPECT_EQ(report["launch_ns"].size(), report["plan"]["launches"].size());
}

TEST(cli, run_check_finds_a_wrong_kernel) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  break_counts(folder);
  write_npy(folder.file("d.npy"), counts_data());
  const Finished finished = run_clam({"run", kCounts, "--in", "data=" + folder.file("d.npy"),
                                      "--out", "count=" + folder.file("c.npy"), "--check"},
                                     {"CLAM_KERNEL_DIR=" + folder.path()});
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(contains(finished.err, "check: indices: ")) << finished.err;
  EXPECT_EQ(read_npy(folder.file("c.npy")).get(0), 3) << "the outputs are written all the same";
}

TEST(cli, run_dense_fills_what_is_missing) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  HostTensor x(Dtype::f32, {3, 8});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, 1);
  write_npy(folder.file("x.npy"), x);
  const Finished finished =
      run_clam({"run", "dense m=3 n=4 k=8 dtype=f32", "--in", "x=" + folder.file("x.npy"), "--fill",
                "exact", "--out", "y=" + folder.file("y.npy"), "--check"});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  const HostTensor y = read_npy(folder.file("y.npy"));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(y.get(i), y.get(i + 4)) << "equal rows of x, equal rows of y";
}

TEST(cli, outputs_that_cannot_be_written) {
  CLAM_NEEDS_DEVICE();
  const Finished finished =
      run_clam({"run", kCounts, "--fill", "mixed", "--out", "count=/dev/null/c.npy"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_TRUE(contains(finished.err, "cannot write /dev/null/c.npy")) << finished.err;
  EXPECT_EQ(run_clam({"run", kCounts, "--fill", "mixed", "--out", "count=/dev/full"}).code, 2);
}

// ---- plans ----

TEST(cli, a_foreign_plan_runs_with_its_own_kernel) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_scale_kernel(folder);
  write_file(folder.file("plan.json"), to_json(scale_plan(20, 3)).dump());
  HostTensor src(Dtype::f32, {20});
  for (std::int64_t i = 0; i < 20; ++i) src.set(i, double(i));
  write_npy(folder.file("src.npy"), src);
  const Finished finished =
      run_clam({"run", "--plan", folder.file("plan.json"), "--in", "src=" + folder.file("src.npy"),
                "--out", "dst=" + folder.file("dst.npy")});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  const HostTensor dst = read_npy(folder.file("dst.npy"));
  for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(dst.get(i), 3.0 * double(i));
}

TEST(cli, a_foreign_kernel_that_writes_outside_is_caught) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_file(
      folder.file("scale.cl"),
      "__kernel void scale(__global const float* src, __global float* dst, float f, int n) {\n"
      "  dst[get_global_id(0)] = f * n + src[0];\n}\n");
  write_file(folder.file("plan.json"), to_json(scale_plan(20, 3)).dump());
  write_npy(folder.file("src.npy"), HostTensor(Dtype::f32, {20}));
  const Finished finished = run_clam(
      {"run", "--plan", folder.file("plan.json"), "--in", "src=" + folder.file("src.npy")});
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(contains(finished.err, "around tensor dst was overwritten at byte 80"))
      << finished.err;
}

TEST(cli, a_plan_of_ours_is_checked_by_its_problem) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string plan = folder.file("plan.json");
  EXPECT_EQ(run_clam({"plan", kCounts, "--json", plan}).code, 0);
  const Finished finished = run_clam({"run", "--plan", plan, "--fill", "mixed", "--check"});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "check of indices: pass")) << finished.out;
}

// ---- the program cache ----

/// On the scripted device, which takes the binaries that it gave. `log`: of what it built.
json run_with_cache(const std::string& cache, const std::string& log = "") {
  std::vector<std::string> environment = scripted::on({{"log", log}});
  environment.push_back("CLAM_CACHE_DIR=" + cache);
  return parse_out(run_clam({"run", kCounts, "--fill", "mixed", "--json", "-"}, environment));
}

TEST(cli_scripted, a_second_start_builds_nothing) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder cache, folder;
  const json first = run_with_cache(cache.path(), folder.file("first")),
             second = run_with_cache(cache.path(), folder.file("second"));
  EXPECT_GE(first["counters"]["programs"]["built"], 1);
  expect_programs(second, 0);
  EXPECT_EQ(second["counters"]["programs"]["from_disk"], first["counters"]["programs"]["built"]);
  EXPECT_TRUE(contains(read_file(folder.file("first")), "built from source: "));
  EXPECT_FALSE(contains(read_file(folder.file("second")), "built from source: "))
      << "the driver's own count";
}

TEST(cli_scripted, damaged_cache_entries_are_built_again) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder cache;
  const int built = run_with_cache(cache.path())["counters"]["programs"]["built"];
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cache.path())) {
    if (entry.path().filename() == "program.bin") std::ofstream(entry.path()) << "garbage";
  }
  const json damaged = run_with_cache(cache.path());
  expect_programs(damaged, built);
  EXPECT_EQ(damaged["counters"]["programs"]["binaries_refused"], built);
  expect_programs(run_with_cache(cache.path()), 0);
}

TEST(cli_scripted, a_cache_that_cannot_be_written_only_costs_time) {
  CLAM_NEEDS_DEVICE();
  const json report = run_with_cache("/dev/null/cache");
  EXPECT_GE(report["counters"]["programs"]["writes_failed"], 1);
  EXPECT_NE(report["counters"]["programs"]["write_error"], "");
  EXPECT_EQ(run_with_cache("off")["counters"]["programs"]["writes_failed"], 0);
}

// ---- drivers that print, and build slowly ----

TEST(cli_scripted, standard_output_stays_clean_when_the_driver_prints) {
  CLAM_NEEDS_DEVICE();
  const json text = {{"text", "arm_release_ver: g13p0-01eac0"}};
  std::vector<std::string> chatty =
      scripted::on({{"lies",
                     {scripted::lie("clGetPlatformIDs", "print", text),
                      scripted::lie("clBuildProgram", "print", text)}}});
  chatty.push_back("CLAM_CACHE_DIR=off");
  const Finished finished = run_clam({"run", kCounts, "--fill", "mixed", "--json", "-"}, chatty);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(parse_out(finished)["clam_run"], 1);
  EXPECT_TRUE(contains(finished.err, "arm_release_ver: g13p0-01eac0, printed")) << finished.err;
  EXPECT_TRUE(contains(finished.err, "arm_release_ver: g13p0-01eac0, written")) << finished.err;
}

TEST(cli_scripted, a_slow_start_says_how_far_it_is) {
  CLAM_NEEDS_DEVICE();
  const std::vector<std::string> words{"verify", "dense m=5 n=7 k=8 dtype=f32", kCounts,
                                       "dense m=5 n=7 k=8 dtype=f32 bias"};
  const auto started = [&](int build_ms) {
    std::vector<std::string> environment = scripted::on({{"build_ms", build_ms}});
    environment.push_back("CLAM_CACHE_DIR=off");
    const Finished finished = run_clam(words, environment);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return finished.err;
  };
  EXPECT_TRUE(contains(started(1600), "building kernel 3 of ")) << started(1600);
  EXPECT_FALSE(contains(started(1600), "building kernel 2 of ")) << "3 s are not over yet";
  EXPECT_FALSE(contains(started(700), "building")) << "a quick start says nothing";
}

}  // namespace
}  // namespace clam::test
