// SPDX-License-Identifier: MIT
// bundle_proof_test.cpp - who is at fault, the kernel or the driver, as a bundle tells it: verdicts
// over made-up drivers, and rows that real ones and the simulator add.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bundle/proof.hpp"
#include "bundle_runs.hpp"
#include "check/npy.hpp"
#include "clam/error.hpp"
#include "scripted.hpp"
#include "second_driver.hpp"
#include "test_errors.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kFiles = "0123456789abcdef";
const std::string kScanInPlace = CLAM_SOURCE_DIR "/tests/tools/probes/gvc-inplace-scan/plan.json";

/// What the driver `name` made of the files.
ProofRow row(const std::string& name, const Seen& seen) {
  ProofRow made;
  made.device.name = name;
  made.device.platform = "of " + name;
  made.device.driver_version = "of " + name;
  made.files = kFiles;
  made.seen = seen;
  return made;
}

/// The same of another version, or device, of the board's driver.
ProofRow relative(const std::string& name, const Seen& seen, const std::string& version) {
  ProofRow made = row(name, seen);
  made.device.platform = "of the board";
  made.device.driver_version = version;
  return made;
}

Seen failure(Seen::Outcome outcome, const std::string& reason) {
  Seen seen;
  seen.outcome = outcome;
  seen.reason = reason;
  return seen;
}

ProofRow simulated(std::vector<std::string> report) {
  ProofRow made = row("Oclgrind Simulator", {});
  made.is_simulator = true;
  made.report = std::move(report);
  return made;
}

enum class Guilt { nobody, unknown, driver, kernel };

/// Whom the sentence of a verdict accuses.
Guilt guilt_of(const std::string& sentence) {
  if (contains(sentence, "probably wrong")) return Guilt::kernel;
  if (sentence.rfind("The kernel is probably right", 0) == 0) return Guilt::driver;
  for (const char* words :
       {"The result is right where it", "The result was recorded, not judged"}) {
    if (sentence.rfind(words, 0) == 0) return Guilt::nobody;
  }
  return Guilt::unknown;
}

void expect_verdict(const Seen& recorded, const std::vector<ProofRow>& rows, Guilt guilt,
                    const std::string& words, int one_in = 1) {
  Bundle bundle;
  bundle.seen = recorded;
  bundle.one_in = one_in;
  bundle.device = row("the board", {}).device;
  Proof proof;
  for (const ProofRow& each : rows) proof.add(each);
  const std::string blame = find_blame(bundle, proof, kFiles);
  EXPECT_EQ(static_cast<int>(guilt_of(blame)), static_cast<int>(guilt)) << blame;
  EXPECT_TRUE(contains(blame, words)) << blame;
}

TEST(bundle_proof, right_elsewhere_is_an_innocent_kernel) {
  const Seen wrong = wrong_at(0, 2);
  expect_verdict(wrong, {row("a", {}), row("b", {})}, Guilt::driver,
                 "The kernel is probably right: right on 2 other drivers");
  expect_verdict(wrong, {row("a", {}), simulated({})}, Guilt::driver, "Oclgrind reports nothing");
  expect_verdict({}, {row("a", {})}, Guilt::nobody,
                 "is right where it was recorded, and on 1 other driver");
}

TEST(bundle_proof, wrong_everywhere_is_a_suspect_kernel) {
  const Seen wrong = wrong_at(0, 2);
  expect_verdict(wrong, {row("a", wrong_at(1, 3)), row("b", wrong)}, Guilt::kernel,
                 "Wrong on all, here and on 2 other drivers: the kernel itself is probably wrong");
  expect_verdict(wrong, {row("a", {}), simulated({"Invalid read"})}, Guilt::kernel,
                 "Oclgrind reports faults");
  expect_verdict({}, {simulated({"Read-write data race"})}, Guilt::kernel, "Oclgrind reports");
}

TEST(bundle_proof, a_rare_fault_is_looked_for_as_often_as_it_takes) {
  const Seen wrong = wrong_at(0, 2);
  ProofRow right = row("a", {});
  right.runs = 8;
  const std::string few = "right on 1 other driver, in too few runs for so rare a fault";
  expect_verdict(wrong, {right}, Guilt::unknown, "Not known yet: " + few, 3);
  expect_verdict(wrong, {right, row("b", wrong)}, Guilt::unknown, few, 3);
  expect_verdict({}, {right}, Guilt::nobody, "and on 1 other driver", 3);
  right.runs = 9;
  expect_verdict(wrong, {right}, Guilt::driver, "probably right: right on 1 other driver", 3);
  expect_verdict(wrong, {row("a", wrong)}, Guilt::kernel, "Wrong on all", 3);
  expect_verdict(wrong, {simulated({})}, Guilt::driver, "Oclgrind reports nothing", 3);
}

TEST(bundle_proof, where_drivers_disagree_it_is_not_settled) {
  const Seen wrong = wrong_at(0, 2);
  expect_verdict(wrong, {row("a", {}), row("b", wrong)}, Guilt::unknown,
                 "right on 1 of 2 other drivers, wrong on b too; the kernel may be wrong");
  expect_verdict({}, {row("a", {}), row("b", wrong)}, Guilt::unknown, "the outcome on b is wrong");
}

TEST(bundle_proof, other_files_this_driver_and_what_did_not_run_prove_nothing) {
  const Seen wrong = wrong_at(0, 2);
  ProofRow other = row("a", {}), refused = row("b", {});
  other.files = "another hash";
  const ProofRow the_board = row("the board", {});
  refused.cannot = "no cl_khr_fp16";
  for (const ProofRow& each : {other, refused, the_board}) {
    expect_verdict(wrong, {each}, Guilt::unknown, "no other driver has run these files");
  }
}

TEST(bundle_proof, the_same_driver_in_another_version_or_device_settles_nothing) {
  const Seen wrong = wrong_at(0, 2);
  const ProofRow older = relative("the board", wrong, "1.0"), newer = relative("a", {}, "3.0");
  expect_verdict(wrong, {older}, Guilt::unknown,
                 "wrong on 1 other version or device of the same driver too, no other driver");
  expect_verdict(wrong, {newer}, Guilt::unknown,
                 "right on 1 other version or device of the same driver, no other driver");
  expect_verdict(wrong, {older, row("b", wrong)}, Guilt::kernel, "here and on 1 other driver:");
  expect_verdict(wrong, {older, newer, row("b", {})}, Guilt::driver,
                 "right on 1 other driver; right on 1 other version or device of the same driver, "
                 "wrong on 1 other");
  expect_verdict(wrong, {newer, row("b", wrong)}, Guilt::kernel,
                 "the kernel itself is probably wrong; "
                 "right on 1 other version");
  expect_verdict({}, {newer}, Guilt::nobody,
                 "recorded; no other driver has run these files; right");
  expect_verdict({}, {older}, Guilt::unknown,
                 "the outcome on the board is wrong: record the case there");
}

TEST(bundle_proof, who_fails_otherwise_accuses_nobody) {
  const Seen wrong = wrong_at(0, 2);
  const Seen hung = failure(Seen::Outcome::hung, "no result for 60 s");
  const Seen refused = failure(Seen::Outcome::build_failed, "error: half\nand its second line");
  const Seen full = failure(Seen::Outcome::device_error, "CL_OUT_OF_RESOURCES");
  const Seen crashed = failure(Seen::Outcome::crashed, "signal 11");
  expect_verdict(wrong, {row("a", hung)}, Guilt::unknown,
                 "Not known yet: fails differently on a: hung: no result for 60 s, right nowhere");
  expect_verdict(wrong, {row("a", refused)}, Guilt::unknown, "on a: build failed: error: half");
  expect_verdict(wrong, {row("a", full)}, Guilt::unknown, "device error: CL_OUT_OF_RESOURCES");
  expect_verdict(wrong, {row("a", {}), row("b", full), row("c", hung)}, Guilt::unknown,
                 "right on 1 of 3 other drivers, fails differently on c: hung: no result for 60 s, "
                 "refused on b: device error: CL_OUT_OF_RESOURCES");
  expect_verdict(hung, {row("a", wrong)}, Guilt::unknown, "fails differently on a: wrong");
  expect_verdict(crashed, {row("a", crashed)}, Guilt::kernel,
                 "Crashed on all, here and on 1 other driver");
  expect_verdict(crashed, {row("a", failure(Seen::Outcome::crashed, "signal 6"))}, Guilt::kernel,
                 "Crashed on all");
  expect_verdict({}, {row("a", hung)}, Guilt::unknown,
                 "the outcome on a is hung: record the case there");
}

TEST(bundle_proof, one_that_fails_otherwise_silences_no_majority) {
  const Seen wrong = wrong_at(0, 2);
  const Seen hung = failure(Seen::Outcome::hung, "no result for 60 s");
  const Seen refused = failure(Seen::Outcome::build_failed, "error: half");
  const std::vector<ProofRow> right{row("a", {}), row("b", {}), row("c", {})};
  const auto with = [&](const ProofRow& last) {
    std::vector<ProofRow> rows = right;
    rows.push_back(last);
    return rows;
  };
  expect_verdict(
      wrong, with(row("d", hung)), Guilt::driver,
      "The kernel is probably right: right on 3 of 4 other drivers, fails differently on d: "
      "hung: no result for 60 s");
  expect_verdict(wrong, with(row("d", wrong)), Guilt::unknown, "the kernel may be wrong");
  expect_verdict(wrong, {row("a", {}), row("d", hung)}, Guilt::unknown,
                 "Not known yet: right on 1 of 2 other drivers, fails differently on d: hung");
  // A driver that lacks something judges nothing.
  expect_verdict(wrong, {row("a", {}), row("d", refused)}, Guilt::driver,
                 "probably right: right on 1 of 2 other drivers, refused on d: build failed");
  // Where none gets it right, one that fails in the same way is enough.
  expect_verdict(wrong, {row("a", wrong), row("d", hung)}, Guilt::kernel,
                 "Right nowhere, wrong on a too, fails differently on d: hung: no result for 60 s: "
                 "the kernel itself is probably wrong");
}

TEST(bundle_proof, errors_are_alike_where_their_names_are) {
  const auto error = [](const std::string& text) {
    return failure(Seen::Outcome::device_error, text);
  };
  const Seen here = error("clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES (-5)");
  expect_verdict(here, {row("a", error("launch of f: CL_OUT_OF_RESOURCES (-5)"))}, Guilt::kernel,
                 "Device error on all, here and on 1 other driver");
  expect_verdict(here, {row("a", error("f: CL_INVALID_WORK_GROUP_SIZE (-54)"))}, Guilt::unknown,
                 "Not known yet: refused on a: device error: f: CL_INVALID_WORK_GROUP_SIZE");
  expect_verdict(here, {row("a", {}), row("b", error("CL_INVALID_WORK_GROUP_SIZE"))}, Guilt::driver,
                 "right on 1 of 2 other drivers, refused on b");
}

TEST(bundle_proof, a_simulator_reports_nothing_only_where_it_ran_to_its_end) {
  const Seen wrong = wrong_at(0, 2);
  ProofRow refused = simulated({}), slow = simulated({}),
           slow_report = simulated({"Invalid write"});
  refused.seen = failure(Seen::Outcome::build_failed, "error");
  slow.cannot = slow_report.cannot = "the simulator is slow";
  for (const ProofRow& each : {refused, slow}) {
    Bundle bundle;
    bundle.seen = wrong;
    Proof proof;
    proof.add(each);
    proof.add(row("a", {}));
    const std::string blame = find_blame(bundle, proof, kFiles);
    EXPECT_FALSE(contains(blame, "reports nothing")) << blame;
  }
  expect_verdict(wrong, {row("a", {}), slow}, Guilt::driver, "right on 1 other driver");
  // What it saw before its time was over.
  expect_verdict(wrong, {slow_report}, Guilt::kernel, "Oclgrind reports faults in it");
  expect_verdict(wrong, {row("a", {}), slow_report}, Guilt::kernel,
                 "right on 1 of 1 other driver)");
  expect_verdict({}, {slow_report}, Guilt::kernel, "Oclgrind reports faults");
}

TEST(bundle_proof, where_nothing_is_compared_it_says_what_right_means) {
  Bundle bundle = scale_bundle();
  bundle.device = row("the board", {}).device;
  Proof proof;
  proof.add(row("a", {}));
  const std::string words = "no expected values, so a run without an error counts as right";
  for (const Seen& recorded : {Seen(), failure(Seen::Outcome::crashed, "signal 11")}) {
    bundle.seen = recorded;
    bundle.expected = scale_bundle().expected;
    EXPECT_FALSE(contains(find_blame(bundle, proof, kFiles), words));
    bundle.expected.clear();
    EXPECT_TRUE(contains(find_blame(bundle, proof, kFiles), words));
  }
}

TEST(bundle_proof, a_driver_has_one_row) {
  Proof proof;
  proof.add(row("a", {}));
  proof.add(row("b", {}));
  proof.add(row("a", wrong_at(0, 2)));
  ASSERT_EQ(proof.rows.size(), 2u);
  EXPECT_FALSE(proof.rows[0].seen.right());
}

TEST(bundle_proof, many_right_runs_do_not_undo_a_wrong_one) {
  ProofRow right = row("a", {});
  right.runs = 9;
  Proof proof;
  proof.add(row("a", wrong_at(0, 2)));
  proof.add(right);
  EXPECT_FALSE(proof.rows.at(0).seen.right());
  right.files = "another hash";
  proof.add(right);
  EXPECT_TRUE(proof.rows.at(0).seen.right());
  proof.add(row("a", wrong_at(0, 2)));
  EXPECT_FALSE(proof.rows.at(0).seen.right());
  proof.add(row("a", {}));
  EXPECT_TRUE(proof.rows.at(0).seen.right());
}

TEST(bundle_proof, is_read_back_as_it_was_and_refused_when_damaged) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_proof(folder.path()).rows.empty());
  Proof proof;
  ProofRow refused = row("b", {});
  refused.cannot = "no half";
  for (const ProofRow& each : {row("a", wrong_at(1, 2)), refused, simulated({"a race", "there"})}) {
    proof.add(each);
  }
  proof.rows.back().runs = 9;
  write_proof(folder.path(), proof);
  const Proof back = read_proof(folder.path());
  ASSERT_EQ(back.rows.size(), 3u);
  EXPECT_EQ(back.rows[0].seen.text(), proof.rows[0].seen.text());
  EXPECT_EQ(back.rows[1].cannot, "no half");
  EXPECT_EQ(back.rows[2].report, proof.rows[2].report);
  EXPECT_EQ(back.rows[2].runs, 9);
  write_file(folder.file("proof.json"), "{\"clam_proof\": 1, \"rows\": [{}]}");
  EXPECT_THROWS_SAYING(read_proof(folder.path()), BadArgument, "is damaged, so remove it");
}

TEST(bundle_proof, another_byte_in_what_is_run_is_another_hash) {
  const TemporaryFolder folder;
  const Bundle bundle = scale_bundle();
  write(folder, bundle);
  const std::string path = folder.file("case"), before = hash_of_files(bundle, path);
  write_file(path + "/device.txt", "another device");
  EXPECT_EQ(hash_of_files(bundle, path), before);
  for (const char* file : {"scale.cl", "plan.json", "options.txt", "src.npy", "dst.expected.npy"}) {
    const std::string own = read_file(path + "/" + file);
    write_file(path + "/" + file, own + " ");
    EXPECT_NE(hash_of_files(bundle, path), before) << file;
    write_file(path + "/" + file, own);
  }
}

TEST(bundle_proof, the_readme_has_a_row_for_each_driver) {
  const TemporaryFolder folder;
  Bundle bundle = scale_bundle();
  bundle.seen = wrong_at(0, 2);
  write(folder, bundle);
  const std::string path = folder.file("case");
  Proof proof;
  ProofRow odd = row("a | b", {}), race = simulated({"Read-write data race", "  at dst"});
  odd.files = race.files = hash_of_files(bundle, path);
  proof.add(odd);
  proof.add(race);
  write_proof(path, proof);
  write_readme(path, bundle);
  const std::string text = read_file(path + "/README.md");
  for (const char* words :
       {"## Is it the kernel?", "The kernel itself is probably wrong", "| a \\| b |", "(recorded)",
        "**it reports faults**", "    Read-write data race\n", " | xxh128sum`"}) {
    EXPECT_TRUE(contains(text, words)) << words << "\n" << text;
  }
}

TEST(bundle_proof, the_readmes_command_prints_the_hash) {
  if (run_command({"/bin/sh", "-c", "command -v xxh128sum"}).code != 0) {
    GTEST_SKIP() << "there is no xxh128sum (package xxhash)";
  }
  const TemporaryFolder folder;
  Bundle bundle = scale_bundle();
  bundle.kernels["it's 2.cl"] = bundle.kernels.at("scale.cl");
  bundle.plan->launches[0].file = "it's 2.cl";
  write(folder, bundle);
  const std::string page = read_file(folder.file("case/README.md"));
  const std::size_t start = page.find("`xxh128sum ") + 1, end = page.find('`', start);
  ASSERT_NE(start, 0u) << page;
  const std::string command = page.substr(start, end - start);
  const Finished finished =
      run_command({"/bin/sh", "-c", "cd '" + folder.file("case") + "' && " + command});
  const std::string hash = hash_of_files(bundle, folder.file("case"));
  EXPECT_EQ(finished.out.substr(0, hash.size()), hash) << command << finished.err;
}

/// Words of proof.json, and of what a driver is called, may be a person's name as well.
TEST(bundle_proof, a_name_that_is_a_word_of_it_damages_nothing) {
  const TemporaryFolder folder;
  Proof proof;
  ProofRow seen = row("a", wrong_at(1, 2)), refused = row("b", {});
  seen.device.driver_version = "3.1+right";
  seen.seen.reason = "of right: seen";
  refused.cannot = "right has no half";
  for (const ProofRow& each : {seen, refused, simulated({"right saw a race"})}) proof.add(each);
  ::setenv("LOGNAME", "right", 1);
  write_proof(folder.path(), proof);
  ::unsetenv("LOGNAME");
  const Proof back = read_proof(folder.path());
  ASSERT_EQ(back.rows.size(), 3u);
  EXPECT_EQ(back.rows[0].device.driver_version, "3.1+right");
  EXPECT_EQ(back.rows[0].seen.reason, "of USER: seen");
  EXPECT_EQ(back.rows[1].cannot, "USER has no half");
  EXPECT_EQ(back.rows[2].report.at(0), "USER saw a race");
}

TEST(bundle_proof, the_readme_shows_the_drivers_words_up_to_the_cause) {
  const TemporaryFolder folder;
  Bundle bundle = scale_bundle();
  bundle.seen = failure(Seen::Outcome::crashed, "signal 6");
  write(folder, bundle);
  const auto page_of = [&](const std::string& log) {
    write_file(folder.file("case/driver.log"), log);
    write_readme(folder.file("case"), bundle);
    return read_file(folder.file("case/README.md"));
  };
  std::string chatter;
  for (int i = 0; i < 20; ++i) chatter += fmt::format("chatter {};\n", i);
  const std::string failed = page_of(chatter + "k.cc:1: Assertion `0' failed.\nStack dump\n");
  EXPECT_TRUE(contains(failed, "    chatter 19;\n    k.cc:1: Assertion `0' failed.\n\n")) << failed;
  EXPECT_FALSE(contains(failed, "chatter 2;")) << failed;
  const std::string panic = page_of("thread panicked at a.rs:1:2:\nno such type\nnote: more\n");
  EXPECT_TRUE(contains(panic, "panicked at a.rs:1:2:\n    no such type\n\n")) << panic;
  const std::string nameless = page_of(chatter);
  EXPECT_TRUE(contains(nameless, "all of it):\n\n    chatter 16;\n")) << nameless;
  EXPECT_TRUE(contains(nameless, "    chatter 19;\n")) << nameless;
}

// ---- with a device ----

/// A case that was wrong on a board, made by hand; the kernel is right.
TEST(bundle_proof_device, what_a_driver_makes_of_it_becomes_a_row) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  Bundle bundle = scale_bundle();
  bundle.seen = wrong_at(0, 2);
  write(folder, bundle);
  const Finished finished = replay(folder, {"--add-proof"});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "The kernel is probably right: right on 1 other driver"))
      << finished.out;
  const std::string text = read_file(folder.file("case/README.md"));
  EXPECT_TRUE(contains(text, "right on 1 other driver")) << text;
  ASSERT_EQ(read_proof(folder.file("case")).rows.size(), 1u);
  // Another kernel under the same name: the row was of other bytes, and is replaced.
  write_file(folder.file("case/scale.cl"), std::string(kScaleSource) + "// changed\n");
  const Bundle changed = read_bundle(folder.file("case"));
  const std::string blame = find_blame(changed, read_proof(folder.file("case")),
                                       hash_of_files(changed, folder.file("case")));
  EXPECT_TRUE(contains(blame, "no other driver")) << blame;
}

TEST(bundle_proof_device, a_planted_fault_is_wrong_on_all) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  ASSERT_EQ(record(folder, {kSoftmax}, &kernels).code, 0);
  json written = case_of(folder);
  written["device"]["platform"] = "another";  // as if it had been recorded there
  write_file(folder.file("case/case.json"), written.dump());
  const Finished finished = replay(folder, {"--add-proof", "--json", "-"});
  EXPECT_EQ(finished.code, 1) << finished.err;
  EXPECT_EQ(parse_out(finished).at("results").at(0).at("proof").get<std::string>().substr(0, 12),
            "Wrong on all");
}

TEST(bundle_proof_device, what_cannot_run_here_is_said_so) {
  CLAM_NEEDS_DEVICE();
  if (runtime().device().fp16) GTEST_SKIP() << "this device has half";
  const TemporaryFolder folder;
  Bundle bundle = scale_bundle();
  bundle.plan->tensors[0].dtype = bundle.plan->tensors[1].dtype = Dtype::f16;
  bundle.inputs["src"] = bundle.expected["dst"] = HostTensor(Dtype::f16, {4});
  bundle.seen = wrong_at(0, 2);
  write(folder, bundle);
  EXPECT_EQ(replay(folder, {"--add-proof"}).code, 77);
  EXPECT_TRUE(contains(read_file(folder.file("case/README.md")),
                       "cannot run: the device has no cl_khr_fp16"));
}

/// Whether Oclgrind is here and starts: inside of a stand-in's folder it does not.
bool has_oclgrind() {
  return contains(run_command({"/bin/sh", "-c", "oclgrind " CLAM_BINARY " info -l"}).out,
                  "Oclgrind Simulator");
}

/// The row of the simulator; a failure where there is none.
ProofRow simulator_row(const std::string& folder) {
  for (const ProofRow& each : read_proof(folder).rows) {
    if (each.is_simulator) return each;
  }
  ADD_FAILURE() << "no row of the simulator";
  return {};
}

TEST(bundle_proof_device, a_recorded_case_goes_through_the_simulator) {
  CLAM_NEEDS_DEVICE();
  if (!has_oclgrind()) GTEST_SKIP() << "there is no Oclgrind here";
  const TemporaryFolder folder;
  const Finished right =
      run_clam({"record", kSoftmax, "--fill", "zero_mean", "-o", folder.file("right")});
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_TRUE(contains(right.out, "Oclgrind reports nothing")) << right.out;
  EXPECT_TRUE(simulator_row(folder.file("right")).report.empty());
  const Finished racing =
      run_clam({"record", "--plan", kScanInPlace, "--fill", "mixed", "-o", folder.file("racing")});
  EXPECT_EQ(racing.code, 0) << racing.err;
  EXPECT_TRUE(contains(racing.out, "kernel itself is probably wrong")) << racing.out;
  std::string report;
  for (const std::string& line : simulator_row(folder.file("racing")).report) report += line + "\n";
  EXPECT_TRUE(contains(report, "data race at global memory")) << report;
  EXPECT_TRUE(contains(report, "Kernel: gvc_2019_scan")) << report;
  EXPECT_TRUE(contains(read_file(folder.file("racing/README.md")), "gvc_2019_scan")) << report;
}

/// A stand-in for Oclgrind that takes its words; `ending` is what it does instead of running the
/// case, with its log in $log.
void fake_oclgrind(const std::string& program, const std::string& ending) {
  write_file(program, R"(#!/bin/sh
while [ "$1" != --log ]; do shift; done
log=$2; shift 2
case "$*" in
  *" info") "$@" | sed 's/"driver_version": *"[^"]*"/"driver_version": "Oclgrind 0"/' ;;
  *) )" + ending + "\nesac\n");
  fs::permissions(program, fs::perms::owner_all);
}

/// Records a wrong softmax, with this stand-in for Oclgrind.
Finished record_in_fake(const TemporaryFolder& folder, const std::string& ending,
                        std::vector<std::string> environment = {}) {
  const TemporaryFolder kernels;
  break_softmax(kernels, "1.01");
  fake_oclgrind(folder.file("fake"), ending);
  environment.insert(environment.end(),
                     {"CLAM_OCLGRIND=" + folder.file("fake"), "CLAM_CACHE_DIR=off",
                      "CLAM_KERNEL_DIR=" + kernels.path()});
  return run_clam({"record", kSoftmax, "-o", folder.file("case")}, environment);
}

TEST(bundle_proof_device, a_simulator_that_crashes_says_nothing_of_the_kernel) {
  CLAM_NEEDS_DEVICE();
  if (contains(runtime().device().driver_version, "Oclgrind")) GTEST_SKIP() << "this is Oclgrind";
  const TemporaryFolder folder;
  const Finished recorded = record_in_fake(folder, "kill -SEGV $$");
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  const ProofRow row = simulator_row(folder.file("case"));
  ASSERT_TRUE(row.cannot.has_value()) << row.seen.text();
  EXPECT_TRUE(contains(*row.cannot, "the simulator crashes: its process was ended by signal 11"))
      << *row.cannot;
  EXPECT_FALSE(contains(recorded.out, "is probably wrong")) << recorded.out;
  EXPECT_FALSE(contains(recorded.out, "Oclgrind reports")) << recorded.out;
}

TEST(bundle_proof_device, what_cannot_run_in_a_simulator_is_not_right_there) {
  CLAM_NEEDS_DEVICE();
  if (contains(runtime().device().driver_version, "Oclgrind")) GTEST_SKIP() << "this is Oclgrind";
  const TemporaryFolder folder;
  const std::string reason = "the device has no cl_khr_fp16";
  const Finished recorded = record_in_fake(folder, "echo '{\"cannot\": \"" + reason + "\"}'");
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_EQ(simulator_row(folder.file("case")).cannot.value_or("it ran"), reason);
  EXPECT_FALSE(contains(recorded.out, "Oclgrind reports nothing")) << recorded.out;
}

TEST(bundle_proof_device, a_row_that_cannot_be_had_leaves_what_was_recorded) {
  CLAM_NEEDS_DEVICE();
  if (contains(runtime().device().driver_version, "Oclgrind")) GTEST_SKIP() << "this is Oclgrind";
  const TemporaryFolder folder;
  const Finished recorded = record_in_fake(folder, R"(echo '{"error": "out of luck"}')");
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_TRUE(contains(recorded.err, "the same in Oclgrind gives no row: out of luck"))
      << recorded.err;
  EXPECT_EQ(case_of(folder).at("seen").at("outcome"), "wrong");
}

TEST(bundle_proof_scripted, what_a_simulator_reports_before_its_time_is_over_counts) {
  CLAM_NEEDS_DEVICE();
  if (contains(runtime().device().driver_version, "Oclgrind")) GTEST_SKIP() << "this is Oclgrind";
  const TemporaryFolder folder;
  const scripted::SharedClock clock;
  const Finished recorded = record_in_fake(
      folder, "echo 'Invalid write of size 4' > \"$log\"; " + clock.jump() + "; exec sleep 1000",
      clock.on());
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  const ProofRow row = simulator_row(folder.file("case"));
  ASSERT_TRUE(row.cannot.has_value()) << row.seen.text();
  EXPECT_TRUE(contains(*row.cannot, "the simulator is slow")) << *row.cannot;
  EXPECT_TRUE(contains(recorded.out, "Oclgrind reports faults in it")) << recorded.out;
  const std::string text = read_file(folder.file("case/README.md"));
  for (const char* words : {"**it reports faults**", "    Invalid write of size 4\n"}) {
    EXPECT_TRUE(contains(text, words)) << words << "\n" << text;
  }
}

TEST(bundle_proof_device, oclgrind_is_left_out_when_asked_and_missed_when_named_wrongly) {
  CLAM_NEEDS_DEVICE();
  if (contains(runtime().device().driver_version, "Oclgrind")) GTEST_SKIP() << "this is Oclgrind";
  const TemporaryFolder folder;
  EXPECT_EQ(run_clam({"record", kSoftmax, "-o", folder.file("off")}, {"CLAM_OCLGRIND=off"}).code,
            0);
  for (const ProofRow& each : read_proof(folder.file("off")).rows) {
    EXPECT_FALSE(each.is_simulator);
  }
  expect_refusal(run_clam({"record", kSoftmax, "-o", folder.file("none")},
                          {"CLAM_OCLGRIND=/nonexistent/oclgrind"}),
                 2, "there is no such program");
  EXPECT_FALSE(fs::exists(folder.file("none")));
}

/// The same folder by a second compiler.
class bundle_second_driver : public SecondDriverTest {};

TEST_F(bundle_second_driver, adds_its_row) {
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  ASSERT_EQ(record(folder, {kSoftmax}, &kernels).code, 0);
  const std::vector<std::string> again{"replay", folder.file("case"), "--add-proof"};
  const Finished wrong = on_rusticl(again);
  EXPECT_EQ(wrong.code, 1) << wrong.out << wrong.err;
  EXPECT_TRUE(contains(wrong.out, "Wrong on all, here and on 1 other driver")) << wrong.out;
  ASSERT_EQ(record(folder, {kSoftmax, "--force"}).code, 0);
  const Finished right = on_rusticl(again);
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_TRUE(contains(right.out, "right where it was recorded, and on 1 other driver"))
      << right.out;
  EXPECT_TRUE(contains(read_file(folder.file("case/README.md")), "rusticl"));
}

TEST_F(bundle_second_driver, is_asked_by_a_command) {
  const TemporaryFolder folder;
  const Finished recorded = record(folder, {kSoftmax, "--prove-with", kWithDriver + " llvmpipe"});
  ASSERT_EQ(recorded.code, 0) << recorded.out << recorded.err;
  EXPECT_TRUE(contains(recorded.out, "and on 1 other driver")) << recorded.out;
  EXPECT_TRUE(contains(read_file(folder.file("case/README.md")), "rusticl"));
}

TEST(bundle_proof_device, a_command_that_is_none_is_refused_before_anything_is_run) {
  const TemporaryFolder folder;
  for (const char* command : {"/nonexistent/driver", "no-such-driver llvmpipe", " "}) {
    expect_refusal(record(folder, {kSoftmax, "--prove-with", command}), 2,
                   "there is no such program");
    EXPECT_FALSE(fs::exists(folder.file("case")));
  }
}

TEST(bundle_proof_device, a_command_that_adds_no_row_is_a_note_on_what_was_recorded) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const Finished recorded = record(
      folder, {kSoftmax, "--prove-with", "false", "--prove-with", "/bin/echo {\"results\":[]}"});
  EXPECT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_TRUE(contains(recorded.err, "'false' added no row: it ended with exit code 1"))
      << recorded.err;
  EXPECT_TRUE(contains(recorded.err, "exit code 0")) << recorded.err;
  EXPECT_EQ(case_of(folder).at("seen").at("outcome"), "right");
}

/// A kernel that only the second driver gets wrong: what it names, as a driver's fault would be.
TEST_F(bundle_second_driver, its_own_fault_is_not_the_kernels) {
  const DeviceInfo& device = runtime().device();
  if (device.fp16 || contains(device.driver_version, "Oclgrind")) {
    GTEST_SKIP() << "both drivers define cl_khr_fp16, which tells them apart";
  }
  const TemporaryFolder folder;
  std::string kernel = kScaleSource;
  const std::string product = "dst[i] = src[i] * factor;";
  kernel.replace(kernel.find(product), product.size(),
                 product + "\n#ifdef cl_khr_fp16\n  if (i == 2) dst[i] = 7;\n#endif\n");
  write_file(folder.file("scale.cl"), kernel);
  write_file(folder.file("plan.json"), to_json(scale_plan(4, 2)).dump());
  HostTensor src(Dtype::f32, {4}), dst(Dtype::f32, {4});
  for (int i = 0; i < 4; ++i) src.set(i, i), dst.set(i, 2 * i);
  write_npy(folder.file("src.npy"), src);
  write_npy(folder.file("dst.npy"), dst);
  const Finished recorded = on_rusticl(
      {"record", "--plan", folder.file("plan.json"), "--in", "src=" + folder.file("src.npy"),
       "--expect", "dst=" + folder.file("dst.npy"), "-o", folder.file("case")});
  ASSERT_EQ(recorded.code, 0) << recorded.out << recorded.err;
  EXPECT_TRUE(contains(recorded.out, "wrong: dst[2] is 7, expected 4")) << recorded.out;
  EXPECT_TRUE(contains(recorded.out, "Not known yet")) << recorded.out;
  const Finished here = replay(folder, {"--add-proof"});
  EXPECT_EQ(here.code, 0) << here.out << here.err;
  EXPECT_TRUE(contains(here.out, "The kernel is probably right: right on 1 other driver"))
      << here.out;
}

}  // namespace
}  // namespace clam::test
