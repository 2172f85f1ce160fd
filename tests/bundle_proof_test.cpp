// SPDX-License-Identifier: MIT
// bundle_proof_test.cpp - who is at fault, the kernel or the driver, as a bundle tells it: verdicts
// over made-up drivers, and rows that real ones and the simulator add.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bundle/proof.hpp"
#include "bundle_runs.hpp"
#include "error.hpp"
#include "test_errors.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Guilt = Blame::Guilt;

constexpr const char* kFiles = "0123456789abcdef";
const std::string kWithDriver = CLAM_SOURCE_DIR "/tools/with-driver";
const std::string kScanInPlace = CLAM_SOURCE_DIR "/tests/probes/gvc-inplace-scan/plan.json";

/// What the driver `name` made of the files.
ProofRow row(const std::string& name, const Seen& seen) {
  ProofRow made;
  made.device.name = name;
  made.device.driver_version = "of " + name;
  made.files = kFiles;
  made.seen = seen;
  return made;
}

ProofRow simulated(std::vector<std::string> report) {
  ProofRow made = row("Oclgrind Simulator", {});
  made.is_simulator = true;
  made.report = std::move(report);
  return made;
}

void expect_verdict(const Seen& recorded, const std::vector<ProofRow>& rows, Guilt guilt,
                    const std::string& words) {
  Bundle bundle;
  bundle.seen = recorded;
  bundle.device.name = "the board";
  Proof proof;
  for (const ProofRow& each : rows) proof.add(each);
  const Blame blame = find_blame(bundle, proof, kFiles);
  EXPECT_EQ(static_cast<int>(blame.guilt), static_cast<int>(guilt)) << blame.sentence;
  EXPECT_TRUE(contains(blame.sentence, words)) << blame.sentence;
}

TEST(bundle_proof, right_elsewhere_is_an_innocent_kernel) {
  const Seen wrong = wrong_at(0, 2);
  expect_verdict(wrong, {row("a", {}), row("b", {})}, Guilt::driver,
                 "The kernel looks innocent: right on 2 other drivers");
  expect_verdict(wrong, {row("a", {}), simulated({})}, Guilt::driver, "Oclgrind reports nothing");
  expect_verdict({}, {row("a", {})}, Guilt::nobody,
                 "is right where it was recorded, and on 1 other driver");
}

TEST(bundle_proof, wrong_everywhere_is_a_suspect_kernel) {
  const Seen wrong = wrong_at(0, 2);
  expect_verdict(wrong, {row("a", wrong_at(1, 3)), row("b", wrong)}, Guilt::kernel,
                 "Wrong on all, here and on 2 other drivers: the kernel itself is suspect");
  expect_verdict(wrong, {row("a", {}), simulated({"Invalid read"})}, Guilt::kernel,
                 "Oclgrind reports faults");
  expect_verdict({}, {simulated({"Read-write data race"})}, Guilt::kernel, "Oclgrind reports");
}

TEST(bundle_proof, where_drivers_disagree_it_is_not_settled) {
  const Seen wrong = wrong_at(0, 2);
  expect_verdict(wrong, {row("a", {}), row("b", wrong)}, Guilt::unknown,
                 "Right on 1 of 2 other drivers, wrong on b too");
  expect_verdict({}, {row("a", {}), row("b", wrong)}, Guilt::unknown, "wrong on b");
}

TEST(bundle_proof, other_files_this_driver_and_what_did_not_run_prove_nothing) {
  const Seen wrong = wrong_at(0, 2);
  ProofRow other = row("a", {}), refused = row("b", {});
  other.files = "another hash";
  ProofRow the_board = row("the board", {});
  the_board.device.driver_version = "";
  refused.cannot = "no cl_khr_fp16";
  for (const ProofRow& each : {other, refused, the_board}) {
    expect_verdict(wrong, {each}, Guilt::unknown, "no other driver has run these files");
  }
}

TEST(bundle_proof, another_device_of_the_same_driver_does_not_accuse_the_kernel) {
  const Seen wrong = wrong_at(0, 2);
  ProofRow other = row("a", wrong);
  other.device.driver_version = "";  // that of the board
  expect_verdict(wrong, {other}, Guilt::unknown, "wrong on a too, and that is the same driver");
  expect_verdict(wrong, {other, row("b", wrong)}, Guilt::kernel, "on 1 other driver");
  other.seen = {};
  expect_verdict(wrong, {other}, Guilt::driver, "right on 1 other driver");
}

TEST(bundle_proof, a_driver_has_one_row) {
  Proof proof;
  proof.add(row("a", {}));
  proof.add(row("b", {}));
  proof.add(row("a", wrong_at(0, 2)));
  ASSERT_EQ(proof.rows.size(), 2u);
  EXPECT_FALSE(proof.rows[0].seen.right());
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
  write_proof(folder.path(), proof);
  const Proof back = read_proof(folder.path());
  ASSERT_EQ(back.rows.size(), 3u);
  EXPECT_EQ(back.rows[0].seen.text(), proof.rows[0].seen.text());
  EXPECT_EQ(back.rows[1].cannot, "no half");
  EXPECT_EQ(back.rows[2].report, proof.rows[2].report);
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
       {"## Is it the kernel?", "The kernel itself is suspect", "| a \\| b |", "(recorded)",
        "**it reports faults**", "    Read-write data race\n", " | xxh128sum`"}) {
    EXPECT_TRUE(contains(text, words)) << words << "\n" << text;
  }
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
  EXPECT_TRUE(contains(finished.out, "The kernel looks innocent: right on 1 other driver"))
      << finished.out;
  const std::string text = read_file(folder.file("case/README.md"));
  EXPECT_TRUE(contains(text, "right on 1 other driver")) << text;
  ASSERT_EQ(read_proof(folder.file("case")).rows.size(), 1u);
  // Another kernel under the same name: the row was of other bytes, and is replaced.
  write_file(folder.file("case/scale.cl"), std::string(kScaleSource) + "// changed\n");
  const Bundle changed = read_bundle(folder.file("case"));
  const Blame blame = find_blame(changed, read_proof(folder.file("case")),
                                 hash_of_files(changed, folder.file("case")));
  EXPECT_TRUE(contains(blame.sentence, "no other driver")) << blame.sentence;
}

TEST(bundle_proof_device, a_planted_fault_is_wrong_on_all) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  ASSERT_EQ(record(folder, {kSoftmax}, &kernels).code, 0);
  json written = case_of(folder);
  written["device"]["driver_version"] = "another";  // as if it had been recorded there
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
  EXPECT_TRUE(contains(racing.out, "kernel") && contains(racing.out, " suspect")) << racing.out;
  std::string report;
  for (const std::string& line : simulator_row(folder.file("racing")).report) report += line + "\n";
  EXPECT_TRUE(contains(report, "data race at global memory")) << report;
  EXPECT_TRUE(contains(report, "Kernel: gvc_2019_scan")) << report;
  EXPECT_TRUE(contains(read_file(folder.file("racing/README.md")), "gvc_2019_scan")) << report;
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

/// The same folder by a second compiler: Mesa's on a CPU, where its folder is made already.
class bundle_second_driver : public testing::Test {
 protected:
  void SetUp() override {
    CLAM_NEEDS_DEVICE();
    const Finished made = run_command({kWithDriver, "--made", "llvmpipe"});
    if (made.code != 0 || contains(runtime().device().platform, "rusticl")) {
      GTEST_SKIP() << "no second driver: " << made.err;
    }
  }
  static Finished on_llvmpipe(std::vector<std::string> words) {
    words.insert(words.begin(), {kWithDriver, "llvmpipe", CLAM_BINARY});
    return run_command(words);
  }
};

TEST_F(bundle_second_driver, adds_its_row) {
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  ASSERT_EQ(record(folder, {kSoftmax}, &kernels).code, 0);
  const std::vector<std::string> again{"replay", folder.file("case"), "--add-proof"};
  const Finished wrong = on_llvmpipe(again);
  EXPECT_EQ(wrong.code, 1) << wrong.out << wrong.err;
  EXPECT_TRUE(contains(wrong.out, "Wrong on all, here and on 1 other driver")) << wrong.out;
  ASSERT_EQ(record(folder, {kSoftmax, "--force"}).code, 0);
  const Finished right = on_llvmpipe(again);
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

TEST(bundle_proof_device, a_command_that_runs_nothing_is_refused) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  for (const char* command : {"/bin/true", "/nonexistent/driver"}) {
    expect_refusal(record(folder, {kSoftmax, "--prove-with", command}), 2, "it added no row");
    EXPECT_FALSE(fs::exists(folder.file("case")));
  }
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
  const Finished recorded = on_llvmpipe(
      {"record", "--plan", folder.file("plan.json"), "--in", "src=" + folder.file("src.npy"),
       "--expect", "dst=" + folder.file("dst.npy"), "-o", folder.file("case")});
  ASSERT_EQ(recorded.code, 0) << recorded.out << recorded.err;
  EXPECT_TRUE(contains(recorded.out, "wrong: dst[2] is 7, expected 4")) << recorded.out;
  EXPECT_TRUE(contains(recorded.out, "Not known yet")) << recorded.out;
  const Finished here = replay(folder, {"--add-proof"});
  EXPECT_EQ(here.code, 0) << here.out << here.err;
  EXPECT_TRUE(contains(here.out, "The kernel looks innocent: right on 1 other driver")) << here.out;
}

}  // namespace
}  // namespace clam::test
