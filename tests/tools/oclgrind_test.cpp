// SPDX-License-Identifier: MIT
// oclgrind_test.cpp - every kernel under a simulator that sees races, reads of what nobody wrote,
// misaligned vectors and accesses outside a buffer: what processors forgive and a GPU does not.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "run_clam.hpp"
#include "runtime/atomic_file.hpp"

namespace clam {
namespace {

const std::string kWithDriver = CLAM_SOURCE_DIR "/tools/with-driver";

/// What is simulated: one variant and data set a process, as the simulator takes memory that is
/// used again for uninitialised.
struct Simulation {
  std::string problem, variant, set;
  std::string gpu = "";      ///< the Mali whose plan it is, or none
  std::string kernels = "";  ///< the folder of the kernels that replace the built-in ones

  test::Finished run() const {
    std::vector<std::string> command{kWithDriver, "oclgrind", CLAM_BINARY, "verify", problem,
                                     "--variant", variant,    "--set",     set};
    if (!gpu.empty()) command.insert(command.end(), {"--gpu", gpu});
    return test::run_command(command, {"CLAM_KERNEL_DIR=" + kernels});
  }
  std::string text() const { return fmt::format("{} {} {} {}", variant, problem, set, gpu); }
};

/// Large enough for work-items that share k, which only large problems of batch_matmul have.
constexpr const char* kShared = "batch_matmul m=48 n=64 k=1376 dtype=f32";

/// Calls body(Simulation, Plan) for the small cases of an op, as planned for any device and, where
/// that differs, for a Mali, until it returns true.
template <typename Body>
void for_small_cases(const Op& op, const Body& body) {
  const DeviceInfo generic = generic_device(), mali = gpu_device(find_gpu("g610"));
  for (const Problem& problem : problems_of(proof_of(op).small_cases, "f32")) {
    for (const Variant& variant : op.variants) {
      if (variant.refuses(problem, generic)) continue;
      const Plan plan = make_plan(problem, generic, {variant.name, 0});
      const Plan other = make_plan(problem, mali, {variant.name, 0});
      for (const DataSet& set : proof_of(op).data_sets) {
        // Where rows may be valid or not, all of them once more: that is the most work.
        if (set.name != proof_of(op).data_sets.front().name && set.name != "every") continue;
        if (body(Simulation{problem.text(), variant.name, set.name}, plan)) return;
        if (to_text(other) == to_text(plan)) continue;
        if (body(Simulation{problem.text(), variant.name, set.name, "g610"}, other)) return;
      }
    }
  }
  const Problem shared = Problem::parse(kShared);
  if (op.name != shared.schema().name || !std::getenv("CLAM_TEST_FULL")) return;
  const Plan plan = make_plan(shared, mali);
  body(Simulation{kShared, plan.variant, proof_of(op).data_sets.front().name, "g610"}, plan);
}

class oclgrind : public testing::Test {
 protected:
  void SetUp() override {
    const test::Finished check = test::run_command({kWithDriver, "--check", "oclgrind"});
    if (check.code == 77) GTEST_SKIP() << check.err;
  }

  static void expect_report(const char* file, const char* from, const char* to,
                            const std::string& problem, const std::string& variant,
                            const std::string& words) {
    const test::TemporaryFolder folder;
    test::break_kernel(folder, file, from, to);
    const std::string set = proof_of(Problem::parse(problem)).data_sets.front().name;
    const test::Finished finished = Simulation{problem, variant, set, "", folder.path()}.run();
    EXPECT_NE(finished.code, 0);
    EXPECT_TRUE(test::contains(finished.err, words)) << finished.out << finished.err;
  }
};

/// The smallest case of each kernel, as planned for any device and for a Mali, and of tests/weekly
/// all small cases. A simulation keeps one core busy: as many run at a time as there are.
TEST_F(oclgrind, says_nothing_about_any_kernel) {
  std::vector<Simulation> simulations;
  std::set<std::string> seen;
  for (const Op* op : all_ops()) {
    for_small_cases(*op, [&](const Simulation& simulation, const Plan& plan) {
      const bool is_new = test::launches_new_kernel(plan, seen, simulation.gpu + simulation.set);
      const bool is_due = is_new || simulation.problem == kShared || test::is_weekly();
      if (is_due) simulations.push_back(simulation);
      return false;
    });
  }
  std::vector<test::Finished> finished(simulations.size());
  parallel_for(static_cast<std::int64_t>(simulations.size()), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    finished[at] = simulations[at].run();
  });
  for (std::size_t i = 0; i < finished.size(); ++i) {
    EXPECT_EQ(finished[i].code, 0) << simulations[i].text() << "\n"
                                   << finished[i].out << finished[i].err;
  }
}

/// The tail of a detector: what one op leaves unwritten, or past a count, the next must not read.
TEST_F(oclgrind, says_nothing_about_a_chain) {
  const test::TemporaryFolder folder;
  write_file(folder.file("tail.json"), R"({"clam_workload": 1, "name": "tail", "title": "Tail",
    "about": "a small detector", "columns": [], "tensors": {
    "cls": {"shape": [1, 33, 4], "fill": "normal"}, "box": {"shape": [1, 33, 4], "fill": "normal"},
    "anchors": {"shape": [1, 33, 4], "fill": "uniform", "scale": 100}}, "nodes": [
    {"name": "decode", "what": "boxes", "problem": "ssd_decode classes=4 n=33 dtype=f32",
     "inputs": {"cls": "cls", "box": "box", "anchors": "anchors"}, "outputs": {"data": "rows"}},
    {"name": "valid", "what": "those over 0.3", "inputs": {"data": "rows"},
     "problem": "get_valid_counts n=99 dtype=f32 score_threshold=0.3",
     "outputs": {"count": "count", "out": "valid_rows"}},
    {"name": "nms", "what": "suppression", "problem": "nms n=99 dtype=f32 top_k=20",
     "inputs": {"data": "valid_rows", "count": "count"}}]})");
  const test::Finished finished =
      test::run_command({kWithDriver, "oclgrind", CLAM_BINARY, "verify", "--workload",
                         folder.file("tail.json"), "--mode", "chained"},
                        {});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_TRUE(test::contains(finished.out, "3 passed")) << finished.out;
}

/// The simulator is no CPU, whose form of the kernels it is given by an option.
TEST_F(oclgrind, says_nothing_about_the_valid_rows_of_a_cpu) {
  const test::TemporaryFolder folder;
  write_file(folder.file("get_valid_counts.cl"), KernelFiles().get("get_valid_counts.cl").text);
  write_file(folder.file("get_valid_counts.options"), "-DGVC_RUN=32");
  for_small_cases(find_op("get_valid_counts"), [&](Simulation simulation, const Plan&) {
    simulation.kernels = folder.path();
    const test::Finished finished = simulation.run();
    EXPECT_EQ(finished.code, 0) << simulation.text() << "\n" << finished.out << finished.err;
    EXPECT_TRUE(test::contains(finished.err, "options -DGVC_RUN=32")) << finished.err;
    return false;
  });
}

TEST_F(oclgrind, finds_a_race) {
  expect_report("get_valid_counts.cl", "if (lane == GVC_WORDS - 1) counts[group] = word.y",
                "counts[group] = word.y", "get_valid_counts n=513 dtype=f32",
                "get_valid_counts_two", "data race");
}

TEST_F(oclgrind, finds_the_race_of_the_scan_in_place) {
  const test::Finished finished = test::run_command(
      {kWithDriver, "oclgrind", CLAM_BINARY, "run", "--plan",
       CLAM_SOURCE_DIR "/tests/tools/probes/gvc-inplace-scan/plan.json", "--fill", "mixed"});
  EXPECT_NE(finished.code, 0);
  for (const char* words : {"data race at global memory", "Kernel: gvc_2019_scan"}) {
    EXPECT_TRUE(test::contains(finished.err, words)) << finished.out << finished.err;
  }
}

/// Where the file has its i-th barrier, counted from 0; npos when it has no so many.
std::size_t barrier_at(const std::string& text, int i) {
  std::size_t at = text.find("  barrier(");
  while (at != text.npos && i-- > 0) at = text.find("  barrier(", at + 1);
  return at;
}

std::string without_statement(const std::string& text, std::size_t at) {
  return text.substr(0, at) + text.substr(text.find(';', at) + 1);
}

/// The text shared with other files around `at`, from its begin to there, or "".
std::string shared_until(const std::string& text, std::size_t at) {
  const std::size_t begin = text.rfind("//@shared ", at), end = text.rfind("//@end", at);
  if (begin == text.npos || (end != text.npos && end > begin)) return "";
  return text.substr(begin, at - begin);
}

/// Whether the simulator reports anything in the small cases that take `file`.
bool is_reported(const Op& op, const std::string& file, const std::string& kernels) {
  bool reported = false;
  for_small_cases(op, [&](Simulation simulation, const Plan& plan) {
    const auto is_in_file = [&](const Launch& launch) { return launch.file == file; };
    if (std::none_of(plan.launches.begin(), plan.launches.end(), is_in_file)) return false;
    simulation.kernels = kernels;
    reported = test::contains(simulation.run().err, "Kernel: ");
    return reported;
  });
  return reported;
}

/// A race, or a read of what another work-item has not written yet. Processors run the items of a
/// group in turn, and a GPU those of a warp together: there most of these give the right result.
/// A file may switch off a text that it shares: another one of the same op then needs its barrier.
TEST_F(oclgrind, finds_every_barrier_that_is_missing) {
  std::map<std::string, bool> reported;
  for (const Op* op : all_ops()) {
    for (const std::string& file : embedded_files()) {
      if (file != op->name + ".cl" && file.rfind(op->name + "_", 0) != 0) continue;
      const std::string text = KernelFiles().get(file).text;
      std::size_t at = 0;
      for (int i = 0; (at = barrier_at(text, i)) != text.npos; ++i) {
        const std::string shared = shared_until(text, at);
        bool& seen = reported[shared.empty() ? fmt::format("{}: barrier {}", file, i)
                                             : op->name + " " + shared];
        if (seen) continue;
        const test::TemporaryFolder folder;
        write_file(folder.file(file), without_statement(text, at));
        seen = is_reported(*op, file, folder.path());
      }
    }
  }
  EXPECT_GT(reported.size(), 10U);
  for (const auto& [barrier, seen] : reported) EXPECT_TRUE(seen) << barrier;
}

TEST_F(oclgrind, finds_a_misaligned_vector) {
  expect_report("dense.cl", "ADDRESS(x, x_at * SIZE)", "ADDRESS(x, (x_at + 1) * SIZE)",
                "dense m=9 n=9 k=8 ldx=12 dtype=f32", "dense_packed", "not aligned");
}

TEST_F(oclgrind, finds_a_read_outside) {
  expect_report("dense.cl", "LIMIT(x, (k) * (x_step))", "LIMIT(x, ((k) + 4) * (x_step))",
                "dense m=9 n=9 k=8 dtype=f32", "dense_packed", "Invalid read");
}

TEST_F(oclgrind, finds_a_read_of_what_nobody_wrote) {
  expect_report("dense.cl", "if (i >= k4 || row >= m) return;",
                "if (i >= k4 - 1 || row >= m) return;", "dense m=9 n=9 k=11 dtype=f32",
                "dense_packed", "ninitialized");
}

}  // namespace
}  // namespace clam
