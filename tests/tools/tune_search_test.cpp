// SPDX-License-Identifier: MIT
// tune_search_test.cpp - the search of `clam tune` on simulated times: which candidate wins.
#include <gtest/gtest.h>

#include <limits>

#include "bench/statistics.hpp"
#include "clam/gpu.hpp"
#include "simulated_board.hpp"
#include "tune/search.hpp"

namespace clam::tune {
namespace {

using test::SimulatedBoard;
using test::some_candidates;

Found search_on(SimulatedBoard& board, const std::vector<Candidate>& candidates,
                const SearchOptions& options = {}) {
  State state;
  return search(candidates, std::ref(board), state, options);
}

// ---- which are measured ----

std::vector<std::string> words_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> words;
  for (const Candidate& one : candidates) words.push_back(one.words());
  return words;
}

using Words = std::vector<std::string>;

TEST(tune_search, takes_the_models_choice_first_and_then_by_prediction) {
  const std::vector<Candidate> all{
      {"own", "", 150}, {"none", "", 0}, {"slow", "", 201}, {"b", "", 190}, {"a", "", 100}};
  EXPECT_EQ(words_of(to_measure(all)), (Words{"own", "a", "b", "none"}));
  SearchOptions options;
  options.all = true;
  EXPECT_EQ(words_of(to_measure(all, options)), (Words{"own", "a", "b", "slow", "none"}));
  options = {};
  options.most = 3;
  EXPECT_EQ(words_of(to_measure(all, options)), (Words{"own", "a", "none"}));
  options.most = 1;
  EXPECT_EQ(words_of(to_measure(all, options)), (Words{"own"}));
  EXPECT_TRUE(to_measure({}).empty());
}

TEST(tune_search, without_candidates_finds_nothing) {
  SimulatedBoard board(some_candidates());
  const Found found = search_on(board, {});
  EXPECT_TRUE(found.best.variant.empty());
  EXPECT_TRUE(board.asked.empty());
}

// ---- statistics ----

/// Of 100 boards, those on which the found candidate takes at most 5 % more than the fastest of
/// all.
int near_the_fastest(const std::string& line, const SearchOptions& options) {
  const std::vector<Candidate> all = candidates(Problem::parse(line), gpu_device(find_gpu("g610")));
  int near = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimulatedBoard board(all, seed);
    board.noise = 0.01 + 0.01 * double(seed % 2);
    const Found found = search_on(board, all, options);
    EXPECT_LE(board.asked.size(), 20U);
    near += board.us.at(found.best.words()) <= 1.05 * board.least_us();
  }
  return near;
}

const char* const kLines[] = {"dense m=1024 n=1024 k=1024 dtype=f16",
                              "batch_matmul batch=4 m=512 n=64 k=512 dtype=f32",
                              "conv2d c=64 h=56 w=56 k=64 r=3 pad=1 dtype=f32 bias act=relu",
                              "conv2d c=256 h=32 w=32 k=256 r=1 dtype=f16 acc=chunk",
                              "attention heads=4 nq=512 nk=512 d=64 dtype=f32"};

TEST(tune_search, finds_one_within_5_percent_of_the_fastest_on_95_of_100_boards) {
  for (const char* line : kLines) EXPECT_GE(near_the_fastest(line, {}), 95) << line;
}

TEST(tune_search, of_few_measurements_finds_it_seldom) {
  SearchOptions few;
  few.most = 4;
  EXPECT_LT(near_the_fastest(kLines[0], few), 95);
}

TEST(tune_search, a_tie_keeps_the_earlier_prediction) {
  const std::vector<Candidate> all = some_candidates();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimulatedBoard board(all, seed);
    for (auto& [words, us] : board.us) us = 100;
    board.us.at("dense_packed M0=7") = 98.5;
    const Found found = search_on(board, all);
    EXPECT_EQ(found.best.words(), "dense_packed M0=0") << seed;
    EXPECT_EQ(found.share, 1);
  }
}

// ---- bad ones ----

TEST(tune_search, a_fast_one_that_is_bad_never_wins) {
  const std::vector<Candidate> all = some_candidates();
  for (const Fate fate : {Fate::wrong, Fate::crashed, Fate::hung, Fate::refused}) {
    SimulatedBoard board(all);
    for (auto& [words, us] : board.us) us = 100;
    board.us.at("dense_packed M0=3") = 1;
    board.us.at("dense_packed M0=5") = 50;
    board.coming["dense_packed M0=3"] = {fate};
    const Found found = search_on(board, all);
    EXPECT_EQ(found.best.words(), "dense_packed M0=5") << name(fate);
    EXPECT_EQ(found.bad, 1);
    EXPECT_NEAR(found.share, 0.5, 0.02);
    EXPECT_NEAR(found.untuned_us, 100, 2);
  }
}

TEST(tune_search, where_the_models_choice_is_bad_the_next_is_the_baseline) {
  const std::vector<Candidate> all = some_candidates();
  SimulatedBoard board(all);
  for (auto& [words, us] : board.us) us = 100;
  board.coming["dense_packed M0=0"] = {Fate::wrong};
  const Found found = search_on(board, all);
  EXPECT_EQ(found.best.words(), "dense_packed M0=1");
  EXPECT_EQ(found.untuned_us, 0);
  EXPECT_EQ(to_text(found).find("untuned"), std::string::npos);
}

TEST(tune_search, where_all_are_bad_there_is_no_best) {
  const std::vector<Candidate> all = some_candidates();
  SimulatedBoard board(all);
  for (const Candidate& one : all) board.coming[one.words()] = {Fate::crashed};
  const Found found = search_on(board, all);
  EXPECT_TRUE(found.best.variant.empty());
  EXPECT_EQ(to_text(found), "9 of 9: none is right yet; 9 bad");
}

TEST(tune_search, a_time_that_is_none_is_bad) {
  const std::vector<Candidate> all = some_candidates();
  for (const double us : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    SimulatedBoard board(all);
    State state;
    const Measure measure = [&](const Candidate& candidate, const Candidate* rival) {
      Trial trial = board(candidate, rival);
      if (candidate.tile == "M0=2") trial.samples_us.back() = us;
      if (candidate.tile == "M0=3") trial.samples_us.clear(), trial.rounds_us.clear();
      return trial;
    };
    const Found found = search(all, measure, state);
    EXPECT_EQ(found.bad, 2) << us;
    EXPECT_EQ(state.record_of(all[2]).why, "no times came of it");
  }
}

// ---- clocks that move ----

TEST(tune_search, a_moved_clock_is_asked_three_times_more) {
  const std::vector<Candidate> all = some_candidates();
  SimulatedBoard board(all);
  for (auto& [words, us] : board.us) us = 100;
  board.us.at("dense_packed M0=2") = 50;
  board.us.at("dense_packed M0=4") = 1;
  board.coming["dense_packed M0=2"] = std::vector<Fate>(3, Fate::unsteady);
  board.coming["dense_packed M0=4"] = std::vector<Fate>(4, Fate::unsteady);
  const Found found = search_on(board, all);
  EXPECT_EQ(std::count(board.asked.begin(), board.asked.end(), "dense_packed M0=2"), 4);
  EXPECT_EQ(std::count(board.asked.begin(), board.asked.end(), "dense_packed M0=4"), 4);
  EXPECT_EQ(found.best.words(), "dense_packed M0=2");
  EXPECT_EQ(found.bad, 0);
  EXPECT_EQ(found.unsteady, 1);
}

/// Rivals are measured in the same run, so times of other runs do not count.
TEST(tune_search, times_that_drift_leave_the_same_winner) {
  const std::vector<Candidate> all = some_candidates();
  int misleading = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimulatedBoard steady(all, seed);
    const std::string winner = search_on(steady, all).best.words();
    for (const double drift : {0.9, 0.97, 1.03, 1.1}) {
      SimulatedBoard board(all, seed);
      board.drift = drift;
      State state;
      const Found found = search(all, std::ref(board), state);
      EXPECT_EQ(found.best.words(), winner) << seed << " " << drift;
      EXPECT_NEAR(found.share, steady.us.at(winner) / steady.us.at(all[0].words()), 0.05);
      const Record* least = &state.records().front();
      for (const Record& one : state.records()) least = one.us < least->us ? &one : least;
      misleading += least->variant + " " + least->tile != winner;
    }
  }
  EXPECT_GT(misleading, 20) << "the least time of all runs would do";
}

// ---- progress ----

TEST(tune_search, progress_is_one_line) {
  Found progress;
  progress.done = 3, progress.of = 17, progress.bad = 1;
  progress.best = {"dense_packed", "M0=4,N0=8", 1};
  progress.us = 41.23, progress.untuned_us = 49.6, progress.share = 0.831;
  EXPECT_EQ(to_text(progress),
            "3 of 17: best dense_packed M0=4,N0=8 41.23 us, 0.83 of the untuned plan; 1 bad");
  progress.share = 1, progress.us = 1.5, progress.bad = 0, progress.unsteady = 2;
  EXPECT_EQ(to_text(progress),
            "3 of 17: best dense_packed M0=4,N0=8 1.50 us, the untuned plan; 2 unsteady");
}

TEST(tune_search, tells_of_each_candidate) {
  const std::vector<Candidate> all = some_candidates();
  SimulatedBoard board(all);
  std::vector<int> done;
  SearchOptions options;
  options.progress = [&](const Found& progress) {
    done.push_back(progress.done);
    EXPECT_EQ(progress.of, 9);
    EXPECT_EQ(board.asked.size(), done.size());
  };
  search_on(board, all, options);
  EXPECT_EQ(done, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

}  // namespace
}  // namespace clam::tune
