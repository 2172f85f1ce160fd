// SPDX-License-Identifier: MIT
// Two runs side by side: verdicts on synthetic times, and what clam-bench --compare says of files.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/compare.hpp"
#include "check/compare.hpp"
#include "command.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::test {
namespace {

using namespace bench;
using nlohmann::json;

/// A row's times as a machine gives them: what a kernel takes, times what this round's and this
/// iteration's other load cost, which only ever slows down.
class Machine {
 public:
  Machine(std::uint64_t seed, double round_noise, double noise)
      : random_(seed), round_noise_(round_noise), noise_(noise) {}

  Timing run(double us, int rounds = 10, int iterations = 8) {
    Timing timing;
    for (int round = 0; round < rounds; ++round) {
      const double load = 1 + round_noise_ * exponential();
      std::vector<double> times;
      for (int i = 0; i < iterations; ++i) {
        times.push_back(us * load * (1 + noise_ * exponential()));
      }
      timing.rounds_us.push_back(median(times));
      timing.samples_us.insert(timing.samples_us.end(), times.begin(), times.end());
    }
    timing.median_us = median(timing.samples_us);
    timing.min_us = *std::min_element(timing.samples_us.begin(), timing.samples_us.end());
    return timing;
  }

 private:
  double exponential() { return -std::log((double(random_() >> 11) + 0.5) / 9007199254740992.0); }
  std::mt19937_64 random_;
  double round_noise_, noise_;
};

struct Counts {
  int same = 0, fast = 0, slow = 0, unsure = 0;
};

Counts verdicts(Machine machine, double factor, int pairs = 400) {
  Counts counts;
  for (int i = 0; i < pairs; ++i) {
    const Timing a = machine.run(100), b = machine.run(100 * factor);
    const Change change = judge_change(a, b).change;
    counts.same += change == Change::same;
    counts.fast += change == Change::fast;
    counts.slow += change == Change::slow;
    counts.unsure += change == Change::unsure;
  }
  return counts;
}

TEST(bench_compare, noise_is_no_regression) {
  const struct {
    double round_noise, noise;
  } machines[] = {{0, 0.01}, {0, 0.3}, {0.05, 0.05}, {0.3, 0.1}, {1, 0.3}};
  for (const auto& each : machines) {
    const Counts counts = verdicts(Machine(1, each.round_noise, each.noise), 1);
    EXPECT_LE(counts.slow + counts.fast, 3) << each.round_noise << " " << each.noise;
  }
}

TEST(bench_compare, a_quiet_machine_says_same_and_sees_small_changes) {
  EXPECT_GT(verdicts(Machine(2, 0.005, 0.01), 1).same, 380);
  EXPECT_GT(verdicts(Machine(3, 0.005, 0.01), 1.01).same, 360) << "1 % is no change";
  EXPECT_GT(verdicts(Machine(4, 0.005, 0.01), 1.06).slow, 380);
  EXPECT_GT(verdicts(Machine(5, 0.005, 0.01), 1 / 1.06).fast, 380);
}

TEST(bench_compare, a_noisy_machine_still_sees_large_changes) {
  EXPECT_GT(verdicts(Machine(6, 0.05, 0.05), 1.25).slow, 380);
  const Counts counts = verdicts(Machine(7, 0.3, 0.3), 1.1);
  EXPECT_LE(counts.fast, 1);
  EXPECT_GT(counts.unsure, 200) << "what cannot be told is not told";
}

TEST(bench_compare, a_run_beside_other_load_is_no_regression) {
  // All of b's rounds are slower, but for single iterations.
  Machine quiet(8, 0.01, 0.02), loaded(9, 0.5, 0.5);
  for (int i = 0; i < 200; ++i) {
    const Timing a = quiet.run(100);
    Timing b = loaded.run(115);
    b.samples_us[17] = b.min_us = 100.5;
    EXPECT_NE(judge_change(a, b).change, Change::slow);
  }
}

TEST(bench_compare, a_slow_run_on_a_busy_cpu_is_no_regression) {
  Machine machine(11, 0.01, 0.02);
  const Timing quiet = machine.run(100);
  Timing busy = machine.run(190);
  EXPECT_EQ(judge_change(quiet, busy).change, Change::slow);
  busy.other_load = 0.5;
  EXPECT_EQ(judge_change(quiet, busy).change, Change::unsure);
  EXPECT_EQ(judge_change(quiet, busy).why, "other programs took 50 % of the processors");
  EXPECT_EQ(judge_change(busy, quiet).change, Change::unsure);
  Timing slower = machine.run(500);
  slower.other_load = 0.5;
  EXPECT_EQ(judge_change(quiet, slower).change, Change::slow) << "half the processors explain less";
  EXPECT_EQ(judge_change(slower, quiet).change, Change::fast);
}

TEST(bench_compare, few_rounds_are_unsure) {
  Machine machine(10, 0.01, 0.01);
  EXPECT_EQ(judge_change(machine.run(100, 6), machine.run(150, 6)).change, Change::slow);
  for (const int rounds : {4, 5}) {
    const Judgement judgement = judge_change(machine.run(100, rounds), machine.run(150, rounds));
    EXPECT_EQ(judgement.change, Change::unsure);
    EXPECT_EQ(judgement.why,
              fmt::format("too few rounds to tell: {0} and {0}, and six each can", rounds));
  }
}

TEST(bench_compare, rounds_that_overlap_are_unsure) {
  Timing a, b;
  for (int round = 0; round < 10; ++round) {
    a.rounds_us.push_back(100 + round);
    b.rounds_us.push_back(round < 2 ? 95 : 125 + round);
    for (int i = 0; i < 20; ++i) {
      a.samples_us.push_back(100 + i);
      b.samples_us.push_back(125 + i);
    }
  }
  a.min_us = a.median_us = 100;
  b.min_us = b.median_us = 125;
  const Judgement judgement = judge_change(a, b);
  EXPECT_EQ(judgement.change, Change::unsure);
  EXPECT_EQ(judgement.why, "the rounds of one run differ as much");
}

TEST(bench_compare, few_samples_are_unsure) {
  const Judgement judgement = judge_change({{1, 1, 1}, {}, 1, 1}, {{9, 9, 9}, {}, 9, 9});
  EXPECT_EQ(judgement.change, Change::unsure);
  EXPECT_EQ(judgement.why, "fewer than 4 samples");
}

json row(const std::string& name, double us, std::uint64_t seed) {
  const Timing timing = Machine(seed, 0.005, 0.01).run(us);
  return {{"name", name},
          {"validity", "OK"},
          {"us", {{"median", timing.median_us}, {"min", timing.min_us}}},
          {"samples_us", timing.samples_us},
          {"rounds_us", timing.rounds_us}};
}

json invalid(const std::string& name) {
  return {{"name", name}, {"validity", "INVALID"}, {"reason", "condition 3, right: y"}};
}

json document(const std::vector<json>& rows, const std::string& device = "a GPU") {
  return {
      {"benchmarks", json::array()},
      {"clam",
       {{"schema", 1}, {"device", {{"name", device}, {"driver_version", "1"}}}, {"rows", rows}}}};
}

class bench_compare_files : public testing::Test {
 protected:
  Finished compare(const json& a, const json& b, std::vector<std::string> more = {}) {
    write_file(folder_.file("a.json"), a.dump());
    write_file(folder_.file("b.json"), b.dump());
    std::vector<std::string> words = {CLAM_BENCH_BINARY, "--compare", folder_.file("a.json"),
                                      folder_.file("b.json")};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words);
  }

  TemporaryFolder folder_;
};

TEST_F(bench_compare_files, every_verdict_has_a_line_and_slow_is_1) {
  const json a = document({row("kept", 100, 1), row("better", 100, 2), row("worse", 100, 3)});
  const json b = document({row("kept", 100, 4), row("better", 80, 5), row("worse", 125, 6)});
  const std::string file = folder_.file("out.json");
  const Finished done = compare(a, b, {"--json", file});
  EXPECT_EQ(done.code, 1) << done.err;
  for (const char* line : {"SAME     kept", "FAST     better", "SLOW     worse",
                           "1 SLOW, 0 INVALID, 1 FAST, 1 SAME, 0 UNSURE"}) {
    EXPECT_NE(done.out.find(line), std::string::npos) << done.out;
  }
  const json written = json::parse(read_file(file));
  EXPECT_TRUE(written.at("regressed").get<bool>());
  EXPECT_EQ(written.at("rows").at(2).at("verdict"), "SLOW");
  EXPECT_NEAR(written.at("rows").at(2).at("ratio").at("value").get<double>(), 1.25, 0.02);
  EXPECT_EQ(compare(b, b).code, 0) << "a run against itself";
  EXPECT_EQ(compare(document({row("better", 100, 2)}), document({row("better", 80, 5)})).code, 0);
}

TEST_F(bench_compare_files, invalid_against_ok_fails) {
  const Finished done = compare(document({row("x", 100, 1)}), document({invalid("x")}));
  EXPECT_EQ(done.code, 1);
  EXPECT_NE(done.out.find("INVALID  x (condition 3, right: y)"), std::string::npos) << done.out;
  const Finished mended = compare(document({invalid("x")}), document({row("x", 100, 1)}));
  EXPECT_EQ(mended.code, 0);
  EXPECT_NE(mended.out.find("UNSURE   x (was INVALID, is OK)"), std::string::npos) << mended.out;
}

class bench_compare_runs : public bench_compare_files {
 protected:
  /// Rows a, b and c of 100 us each, against two runs.
  Finished compare_both(const json& first, const json& last) {
    write_file(folder_.file("first.json"), first.dump());
    write_file(folder_.file("last.json"), last.dump());
    const json before = document({row("a", 100, 1), row("b", 100, 2), row("c", 100, 3)});
    write_file(folder_.file("before.json"), before.dump());
    return run_command({CLAM_BENCH_BINARY, "--compare", folder_.file("before.json"),
                        folder_.file("first.json"), folder_.file("last.json"), "--json",
                        folder_.file("out.json")});
  }
  json verdict_of(const std::string& name) const {
    const json written = json::parse(read_file(folder_.file("out.json")));
    for (const json& row : written.at("rows")) {
      if (row.at("name") == name) return row;
    }
    return {};
  }
};

TEST_F(bench_compare_runs, a_verdict_is_of_both) {
  const json first = document({row("a", 125, 4), row("b", 80, 5), row("c", 130, 6)});
  const Finished both =
      compare_both(first, document({row("a", 130, 7), row("b", 75, 8), row("c", 70, 9)}));
  EXPECT_EQ(both.code, 1) << both.err;
  for (const char* words :
       {"last.json; where ", " disagrees, they are UNSURE", "SLOW     a\n", "FAST     b\n",
        "UNSURE   c (FAST, but SLOW in ", "1 SLOW, 0 INVALID, 1 FAST, 0 SAME, 1 UNSURE"}) {
    EXPECT_NE(both.out.find(words), std::string::npos) << words << "\n" << both.out;
  }
  const Finished once =
      compare_both(first, document({row("a", 100, 7), row("b", 130, 8), row("c", 100, 9)}));
  EXPECT_EQ(once.code, 0) << "each is slower once: " << once.out;
  EXPECT_EQ(verdict_of("a").at("verdict"), "UNSURE");
  EXPECT_EQ(compare_both(document({row("b", 80, 5)}), document({row("a", 130, 7)})).code, 0);
  EXPECT_NE(verdict_of("a").at("reason").dump().find("SLOW, but not measured in "),
            std::string::npos);
}

TEST_F(bench_compare_runs, what_is_wrong_once_is_wrong) {
  const json right = document({row("a", 100, 7), row("b", 100, 8)});
  const json wrong = document({row("a", 100, 7), invalid("b"), invalid("c")});
  const Finished first = compare_both(wrong, right);
  EXPECT_EQ(first.code, 1);
  EXPECT_NE(first.out.find("INVALID  b (condition 3, right: y, in "), std::string::npos)
      << first.out;
  for (const char* name : {"b", "c"}) {  // c was not measured again
    EXPECT_EQ(verdict_of(name).at("verdict"), "INVALID");
    EXPECT_FALSE(verdict_of(name).contains("b_us"));
    EXPECT_FALSE(verdict_of(name).contains("ratio"));
  }
  EXPECT_EQ(compare_both(right, wrong).code, 1);
  EXPECT_EQ(verdict_of("a").at("verdict"), "SAME");
}

TEST_F(bench_compare_runs, what_is_said_of_the_first_is_said) {
  const Finished done = compare_both(document({row("a", 100, 7)}, "another GPU"),
                                     document({row("a", 100, 8), row("new", 1, 1)}));
  EXPECT_NE(done.out.find("B on another GPU"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("last.json: new\n"), std::string::npos) << done.out;
  const std::string one = folder_.file("first.json");
  const Finished twice = run_command({CLAM_BENCH_BINARY, "--compare", one, one, one});
  EXPECT_EQ(twice.code, 2);
  EXPECT_NE(twice.err.find("is compared twice: give each run once"), std::string::npos);
}

TEST_F(bench_compare_files, another_device_and_missing_rows_are_said) {
  const Finished done = compare(document({row("x", 100, 1), row("gone", 1, 1)}),
                                document({row("x", 100, 2), row("new", 1, 1)}, "another GPU"));
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_NE(done.out.find("A was measured on a GPU (driver 1), B on another GPU (driver 1)"),
            std::string::npos)
      << done.out;
  EXPECT_NE(done.out.find("a.json: gone\n"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("b.json: new\n"), std::string::npos) << done.out;
}

TEST_F(bench_compare_files, nothing_in_common_is_no_success) {
  json filtered = row("x", 100, 1);
  filtered = {{"name", "x"}, {"outcome", "not run"}};
  const json skipped = {{"name", "x"}, {"outcome", "skipped"}};
  const json x = document({row("x", 100, 1)});
  const std::pair<json, json> cases[] = {{x, document({row("y", 100, 1)})},
                                         {x, document({filtered})},
                                         {document({skipped}), document({skipped})}};
  for (const auto& [a, b] : cases) {
    const Finished done = compare(a, b);
    EXPECT_EQ(done.code, 2);
    EXPECT_NE(done.err.find("have no measured row in common; measure the same"), std::string::npos)
        << done.err;
  }
  const Finished some = compare(document({row("x", 100, 1), row("y", 100, 2)}),
                                document({filtered, row("y", 100, 3)}));
  EXPECT_EQ(some.code, 0) << some.err;
  EXPECT_NE(some.out.find("a.json: x\n"), std::string::npos) << some.out;
  EXPECT_EQ(some.out.find("UNSURE   x"), std::string::npos) << some.out;
}

TEST_F(bench_compare_files, what_is_compared_is_not_overwritten) {
  const json x = document({row("x", 100, 1)});
  const Finished done = compare(x, x, {"--json", folder_.file("a.json")});
  EXPECT_EQ(done.code, 2);
  EXPECT_NE(done.err.find("a.json is compared: let --json name another file"), std::string::npos)
      << done.err;
  EXPECT_EQ(json::parse(read_file(folder_.file("a.json"))), x);
}

TEST_F(bench_compare_files, files_that_cannot_be_compared_get_a_sentence) {
  const json good = document({row("x", 100, 1)});
  const auto changed = [&](const char* patch) { return good.patch(json::parse(patch)); };
  const struct {
    json a;
    const char* sentence;
  } cases[] = {
      {changed(R"([{"op":"remove","path":"/clam/schema"}])"),
       "a.json has no schema number: an older clam-bench wrote it, so measure again"},
      {changed(R"([{"op":"replace","path":"/clam/schema","value":2}])"),
       "a.json is of schema '2', and this clam reads schema 1"},
      {changed(R"([{"op":"replace","path":"/clam/rows/0/us/median","value":"7"}])"),
       "a.json: clam.rows[0].us.median is not a number"},
      {changed(R"([{"op":"replace","path":"/clam/rows/0/samples_us/1","value":null}])"),
       "a.json: clam.rows[0].samples_us is not a list of numbers"},
      {changed(R"([{"op":"replace","path":"/clam/rows/0/samples_us/1","value":-3}])"),
       "a.json: clam.rows[0].us is not above 0 everywhere, nor is samples_us"},
      {changed(R"([{"op":"replace","path":"/clam/device","value":7}])"),
       "a.json: clam.device is not an object"},
      {json::array(), "a.json is JSON without clam's rows: give a file of clam-bench"},
      {{{"benchmarks", 1}}, "a.json is a file of Google Benchmark without clam's rows"},
      {document({{{"name", 7}, {"samples_us", 3}}}), "a.json: clam.rows[0].name is not a text"}};
  for (const auto& each : cases) {
    const Finished done = compare(each.a, good);
    EXPECT_EQ(done.code, 2);
    EXPECT_NE(done.err.find(each.sentence), std::string::npos) << done.err;
    EXPECT_EQ(done.out, "");
  }
  write_file(folder_.file("text"), "{");
  const std::string missing = folder_.file("missing"), text = folder_.file("text");
  EXPECT_EQ(run_command({CLAM_BENCH_BINARY, "--compare", text, text}).code, 2);
  EXPECT_EQ(run_command({CLAM_BENCH_BINARY, "--compare", missing, text}).code, 2);
  EXPECT_EQ(run_command({CLAM_BENCH_BINARY, "--compare", text}).code, 2) << "one file alone";
}

}  // namespace
}  // namespace clam::test
