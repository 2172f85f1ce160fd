// SPDX-License-Identifier: MIT
// The command line: what works without a device, and how bad words are refused.
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "check/npy.hpp"
#include "check/op_proof.hpp"
#include "clam/planner.hpp"
#include "run_clam.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

const std::vector<std::string> kNoOpenCl{"OCL_ICD_VENDORS=/nonexistent", "OCL_ICD_FILENAMES="};

TEST(cli, version_and_help) {
  EXPECT_EQ(run_clam({"--version"}).out, "clam " CLAM_VERSION "\n");
  const Finished help = run_clam({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* word :
       {"info", "list", "plan", "manifest", "verify", "run", "diagnose", "--device", "77"}) {
    EXPECT_TRUE(contains(help.out, word)) << word;
  }
  const Finished plan = run_clam({"plan", "--help"});
  EXPECT_EQ(plan.code, 0);
  EXPECT_TRUE(contains(plan.out, "--why"));
}

TEST(cli, without_a_command_it_shows_the_help) {
  const Finished finished = run_clam({});
  EXPECT_EQ(finished.code, 2);
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(contains(finished.err, "verify")) << finished.err;
}

TEST(cli, unknown_words_of_the_command_line) {
  expect_refusal(run_clam({"verfy"}), 2, "unknown command 'verfy'; did you mean 'verify'?");
  expect_refusal(run_clam({"translate"}), 2, "unknown command 'translate'; see `clam --help`");
  expect_refusal(run_clam({"list", "--jsn", "x"}), 2,
                 "unknown option '--jsn'; did you mean '--json'");
  expect_refusal(run_clam({"list", "--device"}), 2, "--device");
  expect_refusal(run_clam({"verify", "--all", "--seed", "many"}), 2, "--seed");
  expect_refusal(run_clam({"verify", "--all", "--seed", "-1"}), 2, "--seed");
  expect_refusal(run_clam({"verify"}), 2, "verify what?");
  expect_refusal(run_clam({"verify", "--all", "--workload", "dcmt"}), 2, "verify what?");
  expect_refusal(run_clam({"plan"}), 2, "which problem?");
  expect_refusal(run_clam({"run"}), 2, "which problem?");
  expect_refusal(run_clam({"plan", kCounts, kCounts}), 2, "one problem at a time");
}

// ---- list, plan, manifest ----

TEST(cli, list_names_every_op) {
  const Finished finished = run_clam({"list"});
  EXPECT_EQ(finished.code, 0);
  const json ops = parse_out(run_clam({"list", "--json", "-"})).at("ops");
  ASSERT_EQ(ops.size(), all_ops().size());
  for (const Op* op : all_ops()) EXPECT_TRUE(contains(finished.out, op->name + " ")) << op->name;
}

TEST(cli, list_shows_an_op_in_full) {
  const Op& op = find_op("get_valid_counts");
  const Finished finished = run_clam({"list", op.name});
  for (const Field& field : op.fields) EXPECT_TRUE(contains(finished.out, field.name));
  for (const Variant& variant : op.variants) EXPECT_TRUE(contains(finished.out, variant.name));
  for (const DataSet& set : proof_of(op).data_sets) EXPECT_TRUE(contains(finished.out, set.name));
  EXPECT_TRUE(contains(finished.out, "indices"));
  expect_refusal(run_clam({"list", "sofmax"}), 2, "unknown op 'sofmax'; clam knows");
}

TEST(cli, plan_needs_no_device) {
  const Finished text = run_clam({"plan", kCounts}, kNoOpenCl);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "get_valid_counts.cl")) << text.out;
  EXPECT_TRUE(contains(text.err, "generic")) << text.err;
  const Finished quiet = run_clam({"plan", "--quiet", kCounts}, kNoOpenCl);
  EXPECT_EQ(quiet.err, "");
  EXPECT_EQ(run_clam({"plan", "--generic", kCounts}).err, "");
}

TEST(cli, plan_tells_packing_from_a_call) {
  const Finished packs = run_clam({"plan", "--generic", "dense m=8 n=8 k=8 dtype=f32"});
  EXPECT_TRUE(contains(packs.out, "\npack ")) << packs.out;
  EXPECT_TRUE(contains(packs.out, "once: 1 pack launch, ")) << packs.out;
  EXPECT_TRUE(contains(packs.out, " bytes packed; a call: 1 launch\n")) << packs.out;
  EXPECT_FALSE(contains(run_clam({"plan", "--generic", kCounts}).out, "packed")) << kCounts;
}

TEST(cli, plan_for_a_gpu_that_is_not_here) {
  const Finished text = run_clam({"plan", "--gpu", "g610", kCounts}, kNoOpenCl);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, " for Mali-G610 (Panfrost)")) << text.out;
  EXPECT_TRUE(contains(text.err, "as on RK3588, 4 cores")) << text.err;
  const Finished why = run_clam({"plan", kCounts, "--why", "--gpu", "t860", "--quiet"}, kNoOpenCl);
  EXPECT_TRUE(contains(why.out, "chosen") && contains(why.out, "Mali-T860")) << why.out;
  EXPECT_EQ(why.err, "");
  const json written = parse_out(run_clam({"plan", "--gpu", "g52", kCounts, "--json", "-"}));
  EXPECT_EQ(written, to_json(make_plan(Problem::parse(kCounts), gpu_device(find_gpu("g52")))));
  expect_refusal(run_clam({"plan", "--gpu", "g611", kCounts}), 2,
                 "unknown GPU 'g611'; clam knows g720");
  expect_refusal(run_clam({"plan", "--gpu", "g611", kCounts}), 2, "; did you mean 'g61");
  expect_refusal(run_clam({"plan", "--gpu", "", kCounts}), 2, "unknown GPU ''");
  const std::string one = "--gpu, --generic and --device exclude each other";
  expect_refusal(run_clam({"plan", "--gpu", "g610", "--generic", kCounts}), 2, one);
  expect_refusal(run_clam({"plan", "--gpu", "g610", "--device", "0:0", kCounts}), 2, one);
}

TEST(cli, plan_as_json_reads_back) {
  const json written = parse_out(run_clam({"plan", "--generic", kCounts, "--json", "-"}));
  EXPECT_EQ(to_json(plan_from_json(written)), written);
  EXPECT_EQ(written, to_json(make_plan(Problem::parse(kCounts), generic_device())));
}

TEST(cli, plan_says_why) {
  const Finished finished = run_clam({"plan", "--generic", "--why", kCounts});
  EXPECT_EQ(finished.code, 0);
  EXPECT_TRUE(contains(finished.out, "chosen")) << finished.out;
  for (const Variant& variant : find_op("get_valid_counts").variants) {
    EXPECT_TRUE(contains(finished.out, variant.name)) << variant.name;
  }
  expect_refusal(run_clam({"plan", "--generic", kCounts, "--variant", "fastest"}), 2,
                 "unknown variant 'fastest'; get_valid_counts knows");
}

TEST(cli, a_problem_may_come_without_quotes) {
  const Finished words = run_clam(
      {"plan", "--generic", "get_valid_counts", "n=5", "dtype=f32", "score_threshold=0.5"});
  EXPECT_EQ(words.out, run_clam({"plan", "--generic", kCounts}).out);
  EXPECT_EQ(words.code, 0);
}

TEST(cli, manifest_tells_the_contracts) {
  const json all = parse_out(run_clam({"manifest"}));
  EXPECT_EQ(all.at("clam_manifest"), 1);
  EXPECT_EQ(all.at("files").size(), embedded_files().size());
  const json one = parse_out(run_clam({"manifest", "get_valid_counts.cl"}));
  ASSERT_EQ(one.at("files").size(), 1u);
  EXPECT_EQ(one["files"][0]["xxh3"], KernelFiles().get("get_valid_counts.cl").hash());
  const TemporaryFolder folder;
  write_file(folder.file("bare.cl"), "__kernel void bare() {}\n");
  expect_refusal(run_clam({"manifest", folder.file("bare.cl")}), 2, "no kernel has tags");
  expect_refusal(run_clam({"manifest", "nosuch.cl"}), 2, "nosuch.cl");
  EXPECT_EQ(run_clam({"manifest", "--json", folder.file("m.json")}).out, "");
  EXPECT_EQ(json::parse(read_file(folder.file("m.json"))), all);
}

// ---- bad problems ----

TEST(cli, bad_problems_are_refused_before_any_launch) {
  const struct {
    const char *problem, *sentence;
  } faults[] = {
      {"", "empty problem"},
      {"sofmax shape=3", "unknown op 'sofmax'"},
      {"get_valid_counts n=5 dtype=f32 treshold=1", "unknown word 'treshold'; it knows"},
      {"get_valid_counts n=5 dtype=f64", "dtype='f64', knows f32 f16"},
      {"get_valid_counts n=5", "dtype is missing"},
      {"get_valid_counts dtype=f32", "n is missing"},
      {"get_valid_counts n=0 dtype=f32", "n='0', needs 1 to 2147483647"},
      {"get_valid_counts n=-5 dtype=f32", "n='-5', needs 1 to"},
      {"get_valid_counts n=99999999999999999999 dtype=f32", "needs 1 to 2147483647"},
      {"get_valid_counts n=400000000 dtype=f32", "2147483647"},
      {"get_valid_counts n=5 n=6 dtype=f32", "n is given twice"},
      {"get_valid_counts n dtype=f32", "n needs a value"},
      {"get_valid_counts n=five dtype=f32", "needs a whole number"},
      {"get_valid_counts n=5 e=4 dtype=f32", "e=4"},
      {"get_valid_counts n=5 score_index=6 dtype=f32", "score_index=6"},
      {"get_valid_counts n=5 score_threshold=nan dtype=f32", "score_threshold='nan'"},
  };
  for (const auto& fault : faults) {
    expect_refusal(run_clam({"plan", "--generic", fault.problem}), 2, fault.sentence);
  }
  expect_refusal(run_clam({"verify", "get_valid_counts n=0 dtype=f32"}), 2, "n='0'");
  expect_refusal(run_clam({"verify", kCounts, "--dtype", "f64"}), 2, "unknown dtype 'f64'");
  expect_refusal(run_clam({"verify", kCounts, "--set", "best"}), 2, "unknown data set 'best'");
  expect_refusal(run_clam({"verify", kCounts, "--variant", "best"}), 2, "unknown variant 'best'");
  expect_refusal(run_clam({"verify", "--workload", "resnet"}), 2, "unknown workload 'resnet'");
}

// ---- no OpenCL, no room for the result ----

TEST(cli, without_opencl_nothing_runs_and_it_says_what_to_install) {
  const TemporaryFolder folder;
  write_npy(folder.file("d.npy"), counts_data());
  expect_refusal(run_clam({"verify", kCounts}, kNoOpenCl), 77, "install");
  expect_refusal(run_clam({"run", kCounts, "--in", "data=" + folder.file("d.npy")}, kNoOpenCl), 77,
                 "install");
  const Finished info = run_clam({"info", "--json", folder.file("i.json")}, kNoOpenCl);
  EXPECT_EQ(info.code, 77);
  EXPECT_TRUE(contains(info.err, "install")) << info.err;
  EXPECT_TRUE(contains(info.out, "program cache")) << info.out;
  EXPECT_EQ(json::parse(read_file(folder.file("i.json"))).at("devices").size(), 0u);
}

TEST(cli, a_kernel_folder_must_be_a_folder) {
  for (const char* command : {"manifest", "info"}) {
    expect_refusal(run_clam({command}, {"CLAM_KERNEL_DIR=/nonexistent"}), 2,
                   "CLAM_KERNEL_DIR=/nonexistent is no folder");
  }
}

TEST(cli, a_result_that_cannot_be_written_is_one_sentence) {
  const TemporaryFolder folder;
  expect_refusal(run_clam({"manifest", "--json", "/dev/full"}), 2,
                 "cannot write /dev/full: No space");
  expect_refusal(run_clam({"manifest", "--json", "/dev/null/x.json"}), 2,
                 "cannot write /dev/null/x");
  expect_refusal(run_clam({"manifest", "--json", folder.path()}), 2, "Is a directory");
  expect_refusal(run_shell("\"$CLAM\" manifest > /dev/full"), 2, "cannot write standard output");
  expect_refusal(run_shell("\"$CLAM\" manifest >&-"), 2, "cannot write standard output");
}

TEST(cli, a_full_disk_leaves_the_old_result) {
  const TemporaryFolder folder;
  write_file(folder.file("m.json"), "old");
  // A file may grow to 512 bytes here; the manifest is longer.
  const Finished finished = run_shell(
      "trap '' XFSZ; ulimit -f 1; exec \"$CLAM\" manifest --json '" + folder.file("m.json") + "'");
  expect_refusal(finished, 2, "cannot write " + folder.file("m.json"));
  EXPECT_EQ(read_file(folder.file("m.json")), "old");
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(files, {}), 1) << "a temporary file was left behind";
}

// ---- colours ----

/// What the program prints on a terminal.
std::string on_terminal(const std::vector<std::string>& words, const char* no_color) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::setenv("NO_COLOR", no_color, 1);
    std::vector<char*> argv{const_cast<char*>(CLAM_BINARY)};
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(terminal, buffer, sizeof buffer)) > 0;) text.append(buffer, n);
  ::close(terminal);
  ::waitpid(child, nullptr, 0);
  return text;
}

TEST(cli, colours_only_on_a_terminal_and_never_with_no_color) {
  CLAM_NEEDS_DEVICE();
  const std::vector<std::string> words{"verify", kCounts};
  const std::string green = "\033[32mpass";
  EXPECT_TRUE(contains(on_terminal(words, ""), green));
  EXPECT_FALSE(contains(on_terminal(words, "1"), green));
  EXPECT_FALSE(contains(run_clam(words).out, "\033"));
}

}  // namespace
}  // namespace clam::test
