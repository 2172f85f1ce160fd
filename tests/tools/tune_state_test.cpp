// SPDX-License-Identifier: MIT
// tune_state_test.cpp - a search of `clam tune` that is stopped, ended or finds a strange file.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "clam/error.hpp"
#include "runtime/atomic_file.hpp"
#include "simulated_board.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"
#include "tune/state.hpp"

namespace clam::tune {
namespace {

using nlohmann::json;
using test::SimulatedBoard;
using test::some_candidates;
using test::TemporaryFolder;

const StateKey kKey{"Mali-G610", "25.0.7", "0123", "dense m=8 n=8 k=8 dtype=f32"};

/// Of these candidates two are bad, and one is measured twice.
SimulatedBoard a_board() {
  SimulatedBoard board(some_candidates(), 5);
  board.us.at("dense_packed M0=6") = 40;
  board.coming["dense_packed M0=2"] = {Fate::wrong};
  board.coming["dense_packed M0=3"] = {Fate::unsteady};
  board.coming["dense_packed M0=5"] = {Fate::hung};
  return board;
}

struct Ended {};

/// What happens in a search, counted: a question whether to stop, the start and the end of a
/// measurement, a candidate that is done. At one of them the search ends: by an exception, by
/// `stop`, or with its process.
class Moments {
 public:
  enum class By { exception, stop, signal };
  Moments(std::string log, int last, By by) : log_(std::move(log)), last_(last), by_(by) {}

  Found search_on(const std::string& path) {
    State state(path, kKey);
    SearchOptions options;
    options.stop = [this] { return pass() && by_ == By::stop; };
    options.progress = [this](const Found&) { pass(); };
    const Measure measure = [&](const Candidate& candidate, const Candidate* rival) {
      std::ofstream(log_, std::ios::app) << candidate.words() << "\n";
      pass();
      SimulatedBoard board = a_board();
      auto& fates = board.coming[candidate.words()];
      const int tries = state.record_of(candidate).tries;
      fates.erase(fates.begin(), fates.begin() + std::min<long>(tries, long(fates.size())));
      const Trial trial = board(candidate, rival);
      pass();
      return trial;
    };
    return tune::search(some_candidates(), measure, state, options);
  }

 private:
  bool pass() {
    if (++at_ != last_) return false;
    if (by_ == By::exception) throw Ended();
    if (by_ == By::signal) std::raise(SIGKILL);
    return true;
  }

  std::string log_;
  int at_ = 0, last_;
  By by_;
};

/// Whether the search came to its end.
bool search_until(int last, Moments::By by, const std::string& path, const std::string& log) {
  if (by != Moments::By::signal) {
    try {
      return !Moments(log, last, by).search_on(path).stopped;
    } catch (const Ended&) {
      return false;
    }
  }
  const pid_t child = ::fork();
  if (child == 0) {
    Moments(log, last, by).search_on(path);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status);
}

std::multiset<std::string> lines_of(const std::string& path) {
  std::multiset<std::string> lines;
  std::istringstream text(read_file(path));
  for (std::string line; std::getline(text, line);) lines.insert(line);
  return lines;
}

std::string summary(const Found& found) {
  return fmt::format("{} {} {} {}", to_text(found), found.best.clocks, found.untuned_us,
                     found.share);
}

/// Whether the file says that a candidate is being measured.
bool is_under_way(const std::string& path) {
  if (!std::filesystem::exists(path)) return false;
  const json file = json::parse(read_file(path));
  for (const json& trial : file.at("trials")) {
    if (trial.at("running") != "") return true;
  }
  return false;
}

class tune_state : public testing::Test {
 protected:
  tune_state() {
    std::filesystem::create_directories(machine_.path() + kRandom);
    ::setenv("CLAM_MACHINE", machine_.path().c_str(), 1);
    start_machine(0);
  }
  ~tune_state() override { ::unsetenv("CLAM_MACHINE"); }

  void start_machine(int time) {
    write_file(machine_.path() + kRandom + "/boot_id", fmt::format("start-{}\n", time));
  }

  Found whole() {
    const TemporaryFolder folder;
    const Found found =
        Moments(folder.file("log"), 0, Moments::By::stop).search_on(folder.file("s"));
    measured_ = lines_of(folder.file("log"));
    return found;
  }

  static constexpr const char* kRandom = "/proc/sys/kernel/random";
  TemporaryFolder machine_;
  std::multiset<std::string> measured_;  ///< by a search that nothing ends
};

TEST_F(tune_state, a_search_that_ended_at_any_of_50_moments_goes_on) {
  const std::string expected = summary(whole());
  ASSERT_EQ(measured_.size(), 10U);
  ASSERT_NE(expected.find("M0=6 40"), std::string::npos) << expected;
  std::mt19937_64 random(test::seed());
  constexpr int kMoments = 4 * 9 + 3;
  int ended = 0;
  for (int i = 0; i < 50; ++i) {
    const auto by = static_cast<Moments::By>(i % 3);
    const int last = 1 + static_cast<int>(random() % kMoments);
    SCOPED_TRACE(fmt::format("{} at moment {}", i % 3, last));
    const TemporaryFolder folder;
    const std::string path = folder.file("state"), log = folder.file("log");
    std::ofstream(log).close();
    ended += !search_until(last, by, path, log);
    const bool was_under_way = is_under_way(path);
    EXPECT_TRUE(by == Moments::By::signal || !was_under_way);
    EXPECT_EQ(summary(Moments(log, 0, by).search_on(path)), expected);
    std::multiset<std::string> twice = lines_of(log);
    for (const std::string& line : measured_) {
      ASSERT_TRUE(twice.count(line)) << line;
      twice.erase(twice.find(line));
    }
    // Only what was under way when it ended.
    EXPECT_LE(twice.size(), by == Moments::By::stop ? 0U : 1U);
    EXPECT_TRUE(by != Moments::By::signal || twice.size() == (was_under_way ? 1U : 0U));
  }
  EXPECT_GT(ended, 35);
}

TEST_F(tune_state, a_search_that_ends_again_and_again_comes_to_its_end) {
  const std::string expected = summary(whole());
  const TemporaryFolder folder;
  const std::string path = folder.file("state"), log = folder.file("log");
  std::mt19937_64 random(test::seed());
  int ends = 0;
  while (!search_until(2 + static_cast<int>(random() % 20), Moments::By::signal, path, log)) ++ends;
  EXPECT_GT(ends, 3);
  EXPECT_LE(lines_of(log).size(), measured_.size() + std::size_t(ends));
  EXPECT_EQ(summary(Moments(log, 0, Moments::By::stop).search_on(path)), expected);
}

TEST_F(tune_state, a_search_that_is_done_measures_nothing_until_it_is_told_to) {
  const TemporaryFolder folder;
  const std::string path = folder.file("state");
  SimulatedBoard board = a_board();
  std::string expected;
  {
    State state(path, kKey);
    expected = summary(search(some_candidates(), std::ref(board), state));
    board.asked.clear();
    EXPECT_EQ(summary(search(some_candidates(), std::ref(board), state)), expected);
  }
  State state(path, kKey);
  EXPECT_EQ(summary(search(some_candidates(), std::ref(board), state)), expected);
  EXPECT_TRUE(board.asked.empty());
  state.measure_anew();
  EXPECT_EQ(summary(search(some_candidates(), std::ref(board), state)), expected);
  EXPECT_EQ(board.asked.size(), 7U) << "what was bad is tried again";
  board.asked.clear();
  state.measure_anew(true);
  search(some_candidates(), std::ref(board), state);
  EXPECT_EQ(board.asked.size(), 8U) << "what hung is, under other limits";
}

TEST_F(tune_state, what_is_no_fault_of_a_candidate_stops_the_search_and_counts_nothing) {
  State state;
  const Measure nobody = [](const Candidate&, const Candidate*) -> Trial {
    throw NotMeasured("no device");
  };
  for (int i = 0; i < 2 * Record::kMostTries; ++i) {
    const Found found = search(some_candidates(), nobody, state);
    EXPECT_TRUE(found.stopped);
    EXPECT_EQ(found.why, "no device");
    EXPECT_EQ(found.done, 0);
  }
  SimulatedBoard board = a_board();
  EXPECT_EQ(summary(search(some_candidates(), std::ref(board), state)), summary(whole()));
}

TEST_F(tune_state, with_all_nothing_is_measured_twice_either) {
  const TemporaryFolder folder;
  State state(folder.file("state"), kKey);
  SimulatedBoard board(some_candidates());
  SearchOptions some;
  some.most = 4;
  EXPECT_EQ(search(some_candidates(), std::ref(board), state, some).of, 4);
  some.all = true;
  EXPECT_EQ(search(some_candidates(), std::ref(board), state, some).done, 9);
  EXPECT_EQ(board.asked.size(), 9U);
  EXPECT_EQ(std::set<std::string>(board.asked.begin(), board.asked.end()).size(), 9U);
}

TEST_F(tune_state, times_beside_a_candidate_that_is_no_more_do_not_count) {
  State state;
  SimulatedBoard board = a_board();
  search(some_candidates(), std::ref(board), state);
  board.asked.clear();
  std::vector<Candidate> fewer = some_candidates();
  fewer.erase(fewer.begin() + 6);
  const Found found = search(fewer, std::ref(board), state);
  EXPECT_NE(found.best.words(), "dense_packed M0=6");
  EXPECT_EQ(board.asked.size(), 6U);
  fewer.erase(fewer.begin() + 2);  // a bad one was never compared with
  EXPECT_EQ(summary(search(fewer, std::ref(board), state)).find("7 of 7"), 0U);
  EXPECT_EQ(board.asked.size(), 6U);
}

// ---- files that do not count ----

std::string whole_state(const std::string& path) {
  State state(path, kKey);
  SimulatedBoard board = a_board();
  search(some_candidates(), std::ref(board), state);
  return read_file(path);
}

void expect_anew(const std::string& text, const std::string& reason, const StateKey& key = kKey) {
  const TemporaryFolder folder;
  const std::string path = folder.file("state");
  write_file(path, text);
  State state(path, key);
  EXPECT_EQ(state.note(), fmt::format("{0}: {1}, so the search starts anew; it is kept as {0}.old",
                                      path, reason));
  EXPECT_TRUE(state.records().empty());
  EXPECT_EQ(read_file(path + ".old"), text);
  SimulatedBoard board = a_board();
  EXPECT_EQ(search(some_candidates(), std::ref(board), state).best.words(), "dense_packed M0=6");
}

TEST_F(tune_state, a_strange_file_is_one_sentence_and_the_search_starts_anew) {
  const TemporaryFolder folder;
  const std::string text = whole_state(folder.file("state"));
  const auto with = [&](const char* where, const json& value) {
    json file = json::parse(text);
    file[json::json_pointer(where)] = value;
    return file.dump();
  };
  expect_anew(text, "it is of another device",
              {"Mali-G52", kKey.driver, kKey.kernels, kKey.problem});
  expect_anew(text, "it is of another driver", {kKey.device, "26", kKey.kernels, kKey.problem});
  expect_anew(text, "it is of another kernels", {kKey.device, kKey.driver, "4567", kKey.problem});
  expect_anew(text, "it is of another problem",
              {kKey.device, kKey.driver, kKey.kernels, "softmax"});
  expect_anew(with("/clam_tune", 2), "a newer clam wrote it");
  for (const std::string& damaged :
       {std::string(), std::string("{"), std::string("[1]"), std::string("{}"),
        std::string(9, '\0'), text.substr(0, text.size() / 2), with("/clam_tune", "1"),
        with("/trials", 5), with("/trials/0/fate", "fast"), with("/trials/0/us", -1),
        with("/trials/0/us", "1"), with("/trials/0/tries", 1e300), with("/trials/0/tries", -1),
        with("/trials/1/ratio", 0), with("/trials/0/variant", nullptr),
        with("/trials/0/running", 5), with("/trials/0", "x"), with("/trials/0/us", nullptr)}) {
    expect_anew(damaged, "it is damaged");
  }
}

TEST_F(tune_state, no_damage_ends_the_program) {
  const TemporaryFolder folder;
  const std::string path = folder.file("state"), whole = whole_state(path);
  std::mt19937_64 random(test::seed());
  int anew = 0;
  for (int i = 0; i < 400; ++i) {
    std::string text = whole;
    if (i % 4 == 0) text.resize(random() % text.size());
    for (int k = 0; k < 3 && !text.empty(); ++k) text[random() % text.size()] = char(random());
    std::ofstream(path, std::ios::binary) << text;
    const State state(path, kKey);
    anew += !state.note().empty();
  }
  EXPECT_GT(anew, 200);
}

TEST_F(tune_state, what_cannot_be_read_is_left_alone) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("state"));
  EXPECT_THROWS_SAYING(State(folder.file("state"), kKey), BadArgument, "state");
  EXPECT_TRUE(std::filesystem::is_directory(folder.file("state")));
  EXPECT_THROWS_SAYING(State(folder.file("nowhere/state"), kKey), IoError, "nowhere/state.lock");
}

// ---- one at a time ----

TEST_F(tune_state, a_second_search_with_the_same_file_says_so) {
  const TemporaryFolder folder;
  const std::string path = folder.file("state");
  {
    const State first(path, kKey);
    EXPECT_THROWS_SAYING(State(path, kKey), IoError,
                         "another process searches with " + path + ": wait until it is done");
    const State other(folder.file("other"), kKey);
  }
  const State second(path, kKey);
}

TEST_F(tune_state, a_process_that_is_killed_leaves_no_lock) {
  const TemporaryFolder folder;
  const std::string path = folder.file("state");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const State state(path, kKey);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THROWS_SAYING(State(path, kKey), IoError, "another process");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(State(path, kKey));
  ::close(ready[0]), ::close(ready[1]);
}

TEST_F(tune_state, files_have_names_of_their_own) {
  const std::string name = state_file_name(kKey);
  EXPECT_EQ(name.substr(0, 6), "dense-");
  EXPECT_EQ(name, state_file_name(kKey));
  std::set<std::string> names{name};
  for (auto part : {&StateKey::device, &StateKey::driver, &StateKey::kernels, &StateKey::problem}) {
    StateKey other = kKey;
    other.*part += "x";
    names.insert(state_file_name(other));
  }
  EXPECT_EQ(names.size(), 5U);
}

// ---- a machine that goes down ----

TEST_F(tune_state, a_candidate_with_which_the_machine_goes_down_twice_is_bad) {
  const TemporaryFolder folder;
  const std::string path = folder.file("state");
  std::vector<std::string> fates;
  for (int start = 0; start < 4; ++start) {
    start_machine(start);
    State state(path, kKey);
    Record record = state.record_of(some_candidates()[1]);
    fates.push_back(fmt::format("{} {}", name(record.fate), record.why));
    if (start == 3) break;
    state.save_running(record, true);
    // Ended by Ctrl-C: what happens to the machine then has another reason.
    if (start == 1) state.save_running(record, false);
  }
  EXPECT_EQ(fates[0], "unsteady ");
  EXPECT_EQ(fates[1], "unsteady ");
  EXPECT_EQ(fates[2], "unsteady ");
  EXPECT_EQ(fates[3], "crashed the machine went down while it ran, 2 times");
}

}  // namespace
}  // namespace clam::tune
