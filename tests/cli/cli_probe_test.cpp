// SPDX-License-Identifier: MIT
// `clam probe`: every probe is fine here, and each can say that it is not, on the scripted OpenCL.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "c_compiler.hpp"
#include "clam/gpu.hpp"
#include "run_clam.hpp"
#include "scripted.hpp"
#include "timing.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

const std::string kProbes = CLAM_SOURCE_DIR "/tests/tools/probes";

const json& listed() {
  static const json report = parse_out(run_clam({"probe", "--json", "-"}));
  return report.at("probes");
}

std::set<std::string> names() {
  std::set<std::string> names;
  for (const json& probe : listed()) names.insert(probe.at("name").get<std::string>());
  return names;
}

/// The report on one probe, or on --all.
json report_on(const std::string& probe, const std::vector<std::string>& environment = {},
               std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"probe", probe, "--json", "-"});
  const Finished finished = run_clam(more, environment);
  const json report = parse_out(finished);
  if (report.is_null()) return report;
  const json& counts = report.at("counts");
  const bool bad = counts.at("BUG") != 0 || counts.at("HANG") != 0 || counts.at("CRASH") != 0;
  EXPECT_EQ(finished.code, bad ? 1 : counts.at("OK") != 0 ? 0 : 77) << finished.out;
  return report;
}

/// What no script has to say: a launch of the kernel of long-kernel takes a tenth of a second for
/// each of its rounds.
json honest() { return {{"costs", {{{"kernel", "spin"}, {"us", 1e5}, {"times_argument", 1}}}}}; }

json saying(const char* key, const json& value) { return {{"device", {{key, value}}}}; }

/// The fault that each probe looks for, as a script.
const std::map<std::string, json>& faults() {
  using scripted::lying;
  const char *launch = "clEnqueueNDRangeKernel", *times = "clGetEventProfilingInfo";
  static const std::map<std::string, json> faults{
      {"info-lies", saying("max_clock_mhz", 5)},
      {"half-denormals", saying("half_denormals", true)},
      {"group-size-lie", saying("work_group_factor", 64)},
      {"alloc-over-limit", saying("most_buffer_bytes", 1 << 28)},
      {"subbuffer-image", saying("sub_buffers_from", 0)},
      {"native-exp2", lying("clEnqueueReadBuffer", "flip", {{"byte", 3}})},  // a sign
      {"kernel-pool-leak", lying("clSetKernelArg", "leak", {{"bytes", 1024}})},
      {"enqueue-leak", lying(launch, "leak", {{"bytes", 1024}})},
      {"queue-flood", lying(launch, "refuse", {{"status", -6}, {"from", 1001}})},
      {"oob-read", lying(launch, "refuse", {{"status", -5}, {"from", 2}})},
      {"local-size-lie", lying(launch, "refuse", {{"status", -5}})},
      {"printf-silent", lying(launch, "skip")},
      {"profiling-finish-hang", lying("clFinish", "hang")},
      {"cross-queue-event", lying("clFinish", "hang")},
      {"long-kernel", {{"limit_s", 3}}},
      {"event-garbage", lying(times, "halve end")},
      {"event-zero-time", lying(times, "zero")},
      {"callback-without-flush", lying("clSetEventCallback", "skip")},
      {"link-program", lying("clLinkProgram", "refuse", {{"status", -59}})},
      {"binary-reload", lying("clCreateProgramWithBinary", "crash")},
      // It builds two programs from source, then the binary of each: the first's is the one that
      // was read before the kernel was made.
      {"binary-before-kernel", lying("clBuildProgram", "take", {{"s", 4}, {"every", 2}})},
      {"late-release", lying("clReleaseProgram", "crash", {{"last_hold", true}})},
      {"never-exits", {{"hangs_at_exit", true}}}};
  return faults;
}

/// An OpenCL with the fault that the probe looks for.
std::vector<std::string> lying(const std::string& probe) {
  json script = honest();
  script.update(faults().at(probe));
  return scripted::on(script);
}

/// A fault was put in, so the probe must say so: BUG, or what a fault that ends or stops a process
/// comes to. Or it cannot run here at all, for the lack of something that no test can put in. Or
/// the driver does not survive the probe without a fault either.
void expect_seen(const std::string& probe, const json& report,
                 const std::function<json()>& without_fault) {
  static const std::map<std::string, std::string> ends = {{"profiling-finish-hang", "HANG"},
                                                          {"cross-queue-event", "HANG"},
                                                          {"never-exits", "HANG"},
                                                          {"binary-reload", "CRASH"},
                                                          {"late-release", "CRASH"}};
  if (report.is_null()) return;
  const json& row = report.at("probes").at(0);
  const std::string verdict = row.at("verdict"), detail = row.at("detail");
  if (verdict == "SKIP") {
    EXPECT_TRUE(contains(detail, "device has no ") || contains(detail, "it cannot link"))
        << probe << ": " << detail;
    return;
  }
  const auto end = ends.find(probe);
  if (verdict == "CRASH" && end == ends.end()) {
    const json honest = without_fault();
    if (honest.at("probes").at(0).at("verdict") == "CRASH") return;
  }
  EXPECT_EQ(verdict, end == ends.end() ? "BUG" : end->second) << probe << ": " << detail;
  EXPECT_NE(detail, "") << probe;
}

// ---- without a device ---------------------------------------------------------------------------

TEST(probe, the_list_says_what_each_looks_for_and_who_reported_it) {
  EXPECT_GE(listed().size(), 30u);
  for (const json& probe : listed()) {
    for (const char* key : {"symptom", "reported_on", "source", "advice"}) {
      EXPECT_NE(probe.at(key), "") << probe;
    }
  }
  for (const auto& folder : std::filesystem::directory_iterator(kProbes)) {
    if (!folder.is_directory()) continue;
    EXPECT_EQ(names().count(folder.path().filename().string()), 1u) << folder.path();
  }
}

TEST(probe, every_fault_that_a_gpu_is_known_for_has_one) {
  for (const Gpu& gpu : all_gpus()) {
    for (const Quirk& quirk : gpu.quirks) EXPECT_EQ(names().count(quirk.name), 1u) << quirk.name;
  }
}

TEST(probe, words_that_make_no_sense) {
  expect_refusal(run_clam({"probe", "vlaod3"}), 2, "did you mean 'vload3'?");
  expect_refusal(run_clam({"probe", "vload3", "--all"}), 2, "not both");
}

/// A fault that a stand-in really has; its probe.json says what was seen.
bool is_known(const json& device, const json& row) {
  struct Known {
    const char *platform, *driver, *probe, *verdict;
  };
  constexpr Known kKnown[] = {
      {"Portable Computing Language", "3.1", "barrier-uniform-exit", "CRASH"},
      {"Portable Computing Language", "6.0", "barrier-uniform-exit", "CRASH"},
      {"rusticl", "25.0", "image3d-half", "CRASH"},
      {"rusticl", "25.0", "link-program", "BUG"},
      {"rusticl", "25.0", "subbuffer-image", "BUG"},
      {"NVIDIA CUDA", "580.159", "alloc-over-limit", "BUG"},
      {"NVIDIA CUDA", "580.159", "load-coherence", "BUG"},
  };
  const std::string driver = device.at("driver_version");
  return std::any_of(std::begin(kKnown), std::end(kKnown), [&](const Known& known) {
    return device.at("platform") == known.platform && driver.rfind(known.driver, 0) == 0 &&
           row.at("name") == known.probe && row.at("verdict") == known.verdict;
  });
}

// ---- on a device --------------------------------------------------------------------------------

void expect_no_unknown_fault(const json& report) {
  ASSERT_FALSE(report.is_null());
  for (const json& row : report["probes"]) {
    const std::string verdict = row.at("verdict");
    EXPECT_TRUE(verdict == "OK" || verdict == "SKIP" || is_known(report["device"], row)) << row;
    EXPECT_TRUE(verdict == "OK" || row.at("detail") != "") << row;
  }
}

/// Probes that judge a driver by how long it takes.
const std::set<std::string>& timed() {
  static const std::set<std::string> names{"binary-before-kernel", "long-kernel"};
  return names;
}

/// The others with a limit that no machine is too slow for.
TEST(probe_device, no_fault_is_here_but_those_that_are_known) {
  CLAM_NEEDS_DEVICE();
  std::vector<std::string> others;
  for (const std::string& name : names()) {
    if (!timed().count(name)) others.push_back(name);
  }
  std::vector<std::string> words(others.begin() + 1, others.end());
  words.insert(words.end(), {"--limit", "3600"});
  const json report = report_on(others.front(), {}, words);
  EXPECT_EQ(report.at("probes").size(), listed().size() - timed().size());
  expect_no_unknown_fault(report);
}

TEST(timing_probe_device, no_fault_is_seen_in_how_long_things_take) {
  CLAM_NEEDS_QUIET();
  CLAM_NEEDS_DEVICE();
  for (const std::string& name : timed()) expect_no_unknown_fault(report_on(name));
}

TEST(probe_device, one_line_a_probe) {
  CLAM_NEEDS_DEVICE();
  const Finished finished = run_clam({"probe", "vload3", "oob-read", "--limit", "3600"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(contains(finished.out, "OK    vload3 ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "SKIP  oob-read ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "--destructive runs it")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "reported on ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "1 OK, 0 BUG, 0 HANG, 0 CRASH, 1 SKIP\n")) << finished.out;
  EXPECT_EQ(run_clam({"probe", "oob-read"}).code, 77);
}

TEST(probe_device, info_knows_what_the_probes_last_gave) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  std::vector<std::string> environment = scripted::on(honest());
  environment.push_back("CLAM_CACHE_DIR=" + folder.path());
  const auto info = [&] { return run_clam({"info"}, environment).out; };
  EXPECT_FALSE(contains(info(), "probed here"));
  EXPECT_EQ(run_clam({"probe", "vload3", "nine-buffers"}, environment).code, 0);
  EXPECT_TRUE(contains(info(), "probed here: 2 of 2 known faults are not here\n")) << info();
  std::vector<std::string> broken = lying("link-program");
  broken.push_back(environment.back());
  if (run_clam({"probe", "link-program"}, broken).code != 1) GTEST_SKIP() << "cannot link";
  EXPECT_TRUE(contains(info(), "probed here: 2 of 3 known faults")) << info();
  EXPECT_TRUE(contains(info(), "probed here: link-program: BUG on ")) << info();
}

// ---- each probe can say BUG ---------------------------------------------------------------------

struct Edit {
  const char *file, *from, *to;
};

/// What a driver with the fault would make of the probe's kernel.
const std::map<std::string, Edit>& edits() {
  constexpr const char* kNoBuild = "#error the compiler does not take this\n__kernel ";
  static const std::map<std::string, Edit> edits{
      {"gvc-inplace-scan", {"probe.cl", "sums[i] += before;", "if (i != 128) sums[i] += before;"}},
      {"local-atomic", {"kernel.cl", "atomic_add(&count, 1)", "count = 1"}},
      {"load-coherence", {"kernel.cl", "second = places[at]", "second = first - 1"}},
      {"half-pointer", {"kernel.cl", "__kernel ", kNoBuild}},
      {"half-math", {"kernel.cl", "sizeof(sqrt(x))", "sizeof(sqrt((float)x))"}},
      {"image3d-half", {"kernel.cl", "__kernel ", kNoBuild}},
      {"nine-buffers", {"kernel.cl", " + l[i]", ""}},
      {"winograd-fp16-inf", {"kernel.cl", "m0 + m1", "m0 * (half)100000.0f + m1"}},
      {"vload3", {"kernel.cl", "vload3(i, src), i, dst", "vload3(0, src + i), i, dst"}},
      {"half-convert-denormals",
       {"kernel.cl", "= vload_half(i, src)", "= max(vload_half(i, src), 0x1p-19f)"}},
      {"half-denormals", {"kernel.cl", "x + x", "max(x + x, (half)0x1p-18f)"}},
      // As an integer with a bit that is 0 only when it runs, or a compiler makes it one fma again.
      {"fma-float",
       {"kernel.cl", "fma(a[i], b[i], c[i])",
        "as_float(as_int(a[i] * b[i]) | (int)(get_global_id(0) >> 31)) + c[i]"}},
      {"barrier-uniform-exit", {"kernel.cl", "now == 0", "now <= 1"}},
  };
  return edits;
}

TEST(probe_device, a_kernel_that_goes_wrong_is_seen) {
  CLAM_NEEDS_DEVICE();
  for (const auto& [probe, edit] : edits()) {
    const TemporaryFolder folder;
    std::string text = read_file(kProbes + "/" + probe + "/" + edit.file);
    const std::size_t at = text.find(edit.from);
    ASSERT_NE(at, text.npos) << probe;
    text.replace(at, std::string(edit.from).size(), edit.to);
    std::filesystem::create_directory(folder.file(probe));
    write_file(folder.file(probe) + "/" + edit.file, text);
    // No stand-in has half denormals; this one says so, as a driver with the fault does.
    std::vector<std::string> environment;
    if (probe == "half-denormals") environment = lying(probe);
    environment.push_back("CLAM_PROBE_DIR=" + folder.path());
    expect_seen(probe, report_on(probe, environment), [&] { return report_on(probe, {}); });
  }
}

/// By a clock that only the script moves on, so that the limit ends nothing but what hangs.
json on_scripted(const std::string& probe, json script, std::vector<std::string> more = {}) {
  const scripted::SharedClock clock;
  more.insert(more.end(), {"--limit", "1000"});
  return report_on(probe, clock.on(std::move(script)), more);
}

json lied_to(const std::string& probe) {
  json script = honest();
  script.update(faults().at(probe));
  return on_scripted(probe, std::move(script), {"--destructive"});
}

TEST(probe_scripted, a_driver_that_lies_is_seen) {
  CLAM_NEEDS_DEVICE();
  std::vector<std::string> by_script;
  for (const std::string& probe : names()) {
    if (edits().count(probe)) continue;
    ASSERT_EQ(faults().count(probe), 1u) << probe;
    by_script.push_back(probe);
  }
  for (const std::string& probe : test::of_this_run(by_script)) {
    expect_seen(probe, lied_to(probe),
                [&] { return on_scripted(probe, honest(), {"--destructive"}); });
  }
}

/// So it is the lies that are seen.
TEST(probe_scripted, where_nobody_lies_nothing_is_seen) {
  CLAM_NEEDS_DEVICE();
  for (const auto& [probe, lie] : faults()) {
    const json report = on_scripted(probe, honest());
    const json& row = report.at("probes").at(0);
    const std::string verdict = row.at("verdict");
    EXPECT_TRUE(verdict == "OK" || verdict == "SKIP" || is_known(report["device"], row)) << row;
  }
}

TEST(probe_scripted, hangs_and_crashes_are_told_apart) {
  CLAM_NEEDS_DEVICE();
  const std::map<std::string, const char*> expected{
      {"never-exits", "HANG"}, {"late-release", "CRASH"}, {"event-garbage", "BUG"}};
  for (const auto& [probe, verdict] : expected) {
    const json report = lied_to(probe);
    if (report.is_null()) continue;
    const json& row = report.at("probes").at(0);
    EXPECT_EQ(row.at("verdict"), verdict) << row;
    if (std::string(verdict) != "BUG") {
      EXPECT_TRUE(contains(row.at("detail"), "it came to OK; but then")) << row;
    }
  }
}

TEST(probe_scripted, a_bug_comes_with_what_to_do_and_how_to_repeat_it) {
  CLAM_NEEDS_DEVICE();
  const Finished finished = run_clam({"probe", "info-lies"}, lying("info-lies"));
  EXPECT_EQ(finished.code, 1);
  for (const char* words : {"BUG   info-lies", "seen: the clock is 5 MHz at most",
                            "what to do: ", "repeat with: clam probe info-lies --device "}) {
    EXPECT_TRUE(contains(finished.out, words)) << words << "\n" << finished.out;
  }
}

// ---- what is bad as a folder --------------------------------------------------------------------

TEST(probe_device, a_kernel_that_goes_wrong_becomes_a_bundle) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const Edit edit = edits().at("vload3");
  std::string text = read_file(kProbes + "/vload3/kernel.cl");
  text.replace(text.find(edit.from), std::string(edit.from).size(), edit.to);
  std::filesystem::create_directory(folder.file("vload3"));
  write_file(folder.file("vload3/kernel.cl"), text);
  const std::string failures = folder.file("failures");
  const Finished probed = run_clam(
      {"probe", "vload3", "nine-buffers", "--limit", "3600", "--record-failures", failures},
      {"CLAM_PROBE_DIR=" + folder.path()});
  EXPECT_EQ(probed.code, 1) << probed.err;
  EXPECT_TRUE(contains(probed.out, "recorded in " + failures + "/vload3\n")) << probed.out;
  EXPECT_FALSE(std::filesystem::exists(failures + "/nine-buffers"));
  EXPECT_EQ(read_file(failures + "/vload3/kernel.cl"), text);
  const json seen = json::parse(read_file(failures + "/vload3/case.json")).at("seen");
  EXPECT_EQ(seen.at("outcome"), "wrong") << seen;
  EXPECT_EQ(seen.at("first_wrong").at("tensor"), "dst") << seen;
  const Finished again = run_clam({"replay", failures + "/vload3"});
  EXPECT_EQ(again.code, 1) << again.err;
  EXPECT_TRUE(contains(again.out, "still fails")) << again.out;
  // The very case is right with the right kernel.
  write_file(failures + "/vload3/kernel.cl", read_file(kProbes + "/vload3/kernel.cl"));
  EXPECT_TRUE(contains(run_clam({"replay", failures + "/vload3"}).out, "fixed"));
}

TEST(probe_scripted, a_fault_of_the_api_becomes_a_program) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::vector<std::string> environment = lying("alloc-over-limit");
  const auto probe = [&](const std::string& name) {
    return run_clam({"probe", name, "--record-failures", folder.path()}, environment);
  };
  const Finished probed = probe("alloc-over-limit");
  EXPECT_EQ(probed.code, 1) << probed.out;
  EXPECT_TRUE(contains(probed.out, "recorded in ")) << probed.out;
  const std::string written = folder.file("alloc-over-limit");
  EXPECT_EQ(read_file(written + "/repro.c"), read_file(kProbes + "/alloc-over-limit/repro.c"));
  EXPECT_TRUE(contains(read_file(written + "/README.md"), "cc repro.c -lOpenCL"));
  EXPECT_TRUE(contains(read_file(written + "/device.txt"), "identity:"));
  if (!has_compiler()) return;
  // It sees the fault, and none where there is none.
  const std::string cc = "cd " + written + " && cc -std=c99 -O2 -Wall -Wextra -pedantic -Werror ";
  ASSERT_EQ(run_command({"/bin/sh", "-c", cc + "repro.c -o repro -lOpenCL"}).code, 0);
  const Finished right = run_command({written + "/repro"}, {});
  if (runtime().device().platform != "NVIDIA CUDA") {  // which has the fault
    EXPECT_EQ(right.code, 0) << right.out;
  }
  const Finished wrong = run_command({written + "/repro"}, environment);
  EXPECT_EQ(wrong.code, 1) << wrong.out;
  EXPECT_TRUE(contains(wrong.out, "FAIL: clCreateBuffer gave a buffer")) << wrong.out;
}

TEST(probe, its_programs_build_without_a_warning) {
  if (!has_compiler()) GTEST_SKIP() << "no C compiler with OpenCL";
  int programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kProbes)) {
    const std::string program = entry.path().string() + "/repro.c";
    if (!std::filesystem::exists(program)) continue;
    ++programs;
    const std::string cc = "cc -std=c99 -O2 -Wall -Wextra -pedantic -Werror -c -o /dev/null ";
    const Finished built = run_command({"/bin/sh", "-c", cc + "'" + program + "'"});
    EXPECT_EQ(built.code, 0) << program << "\n" << built.err;
  }
  EXPECT_EQ(programs, 3);
}

}  // namespace
}  // namespace clam::test
