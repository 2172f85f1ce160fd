// SPDX-License-Identifier: MIT
// shrink_search_test.cpp - what the search of `clam shrink` must find, and which faults are the
// same.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "planted.hpp"
#include "shrink/search.hpp"
#include "shrink/shrinking.hpp"

namespace clam::test {
namespace {

using Outcome = Seen::Outcome;

// ---- the search ----

TEST(shrink, the_smallest_number_is_found_in_few_questions) {
  for (std::int64_t least : {0, 1}) {
    for (std::int64_t wanted = least; wanted <= 200; ++wanted) {
      int asked = 0;
      const auto holds = [&](std::int64_t value) { return ++asked, value >= wanted; };
      EXPECT_EQ(smallest(least, 200, holds), wanted);
      EXPECT_LE(asked, 9);
    }
  }
}

bool has_all(const Parts& parts, const Parts& wanted) {
  return std::includes(parts.begin(), parts.end(), wanted.begin(), wanted.end());
}

TEST(shrink, what_is_small_already_is_not_asked_about) {
  const auto holds = [](std::int64_t) { return ADD_FAILURE(), false; };
  EXPECT_EQ(smallest(5, 3, holds), 3);
  EXPECT_EQ(smallest(3, 3, holds), 3);
}

TEST(shrink, one_part_of_many_is_found_in_few_questions) {
  for (const std::size_t wanted : {0, 400, 999}) {
    int asked = 0;
    const auto holds = [&](const Parts& parts) { return ++asked, has_all(parts, {wanted}); };
    EXPECT_EQ(needed(1000, holds), Parts{wanted});
    EXPECT_LT(asked, 60);
  }
}

TEST(shrink, many_parts_are_left_out_in_few_questions) {
  for (const Parts& wanted : {Parts{}, Parts{7}, Parts{0, 999}, Parts{3, 4, 5, 500, 501, 998}}) {
    int asked = 0;
    const auto holds = [&](const Parts& parts) { return ++asked, has_all(parts, wanted); };
    EXPECT_EQ(needed(1000, holds), wanted);
    EXPECT_LT(asked, 200);
  }
  // Some that go together only.
  const auto pairs = [](const Parts& parts) {
    return std::all_of(parts.begin(), parts.end(), [&](std::size_t part) {
      return std::binary_search(parts.begin(), parts.end(), part ^ 1);
    });
  };
  for (const std::size_t count : {2, 4, 64}) EXPECT_EQ(needed(count, pairs), Parts{}) << count;
}

TEST(shrink, where_a_number_does_for_some_only_one_less_does_not) {
  const auto holds = [](std::int64_t value) { return value % 7 == 3 || value > 90; };
  for (std::int64_t from = 1; from <= 100; ++from) {
    if (!holds(from)) continue;
    const std::int64_t found = smallest(1, from, holds);
    EXPECT_TRUE(holds(found)) << from;
    EXPECT_TRUE(found == 1 || !holds(found - 1)) << from << ": " << found;
  }
}

/// No single one of them can go.
bool is_minimal(const Parts& parts, const std::function<bool(const Parts&)>& holds) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Parts rest = parts;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    if (holds(rest)) return false;
  }
  return true;
}

TEST(shrink, of_parts_those_that_are_needed_and_no_others) {
  for (const Parts& wanted :
       {Parts{}, Parts{0}, Parts{59}, Parts{3, 17, 40}, Parts{0, 1, 58, 59}}) {
    const auto holds = [&](const Parts& parts) { return has_all(parts, wanted); };
    EXPECT_EQ(needed(60, holds), wanted);
  }
  EXPECT_EQ(needed(0, [](const Parts&) { return true; }), Parts{});
  EXPECT_EQ(needed(1, [](const Parts& parts) { return !parts.empty(); }), Parts{0});
}

TEST(shrink, parts_that_only_go_together_stay_and_no_single_one_can_go) {
  const auto holds = [](const Parts& parts) {
    const bool pair = has_all(parts, {4, 11}) == (has_all(parts, {4}) || has_all(parts, {11}));
    return has_all(parts, {7}) && pair && parts.size() % 3 != 2;
  };
  const Parts found = needed(30, holds);
  EXPECT_TRUE(holds(found));
  EXPECT_TRUE(is_minimal(found, holds));
  EXPECT_FALSE(is_minimal({1, 7, 9}, [](const Parts& parts) { return has_all(parts, {7}); }));
}

TEST(shrink, a_search_ends_soon_when_the_answer_is_always_no) {
  int asked = 0;
  EXPECT_EQ(needed(100, [&](const Parts&) { return ++asked, false; }).size(), 100u);
  EXPECT_LT(asked, 1000);
  EXPECT_EQ(smallest(1, 1 << 30, [](std::int64_t) { return false; }), 1 << 30);
}

// ---- the same fault ----

TEST(shrink, a_fault_is_the_same_with_other_places_and_sizes_and_not_with_another_cause) {
  const struct {
    Seen a, b;
    bool same;
  } pairs[] = {
      {failure(Outcome::wrong, "y[3] is 1", "y"), failure(Outcome::wrong, "y[9] is 7", "y"), true},
      {failure(Outcome::wrong, "y[3]", "y"), failure(Outcome::wrong, "z[3]", "z"), false},
      {failure(Outcome::wrong, "memory around tensor y was overwritten at byte 8"),
       failure(Outcome::wrong, "memory around tensor y was overwritten at byte 99"), true},
      {failure(Outcome::wrong, "memory around tensor y was overwritten at byte 8"),
       failure(Outcome::wrong, "input tensor x was overwritten at byte 8"), false},
      {failure(Outcome::wrong, "y[3]", "y"),
       failure(Outcome::wrong, "memory around tensor y was overwritten at byte 8"), false},
      {failure(Outcome::build_failed,
               "a.cl: CL_BUILD_PROGRAM_FAILURE (-11): a.cl:7:3: error: no x"),
       failure(Outcome::build_failed,
               "a.cl: CL_BUILD_PROGRAM_FAILURE (-11): a.cl:1:9: error: no x"),
       true},
      {failure(Outcome::build_failed,
               "a.cl: CL_BUILD_PROGRAM_FAILURE (-11): a.cl:7:3: error: no x"),
       failure(Outcome::build_failed,
               "a.cl: CL_BUILD_PROGRAM_FAILURE (-11): a.cl:7:3: error: no y"),
       false},
      {failure(Outcome::crashed, "its process was ended by signal 11 (Segmentation fault)"),
       failure(Outcome::crashed, "its process was ended by signal 6 (Aborted)"), false},
      {failure(Outcome::hung, "no result for 20 s"), failure(Outcome::hung, "no result for 5 s"),
       true},
      {failure(Outcome::device_error, "clFinish: CL_OUT_OF_RESOURCES (-5) in dense"),
       failure(Outcome::device_error, "clFinish: CL_OUT_OF_RESOURCES (-5) in softmax"), true},
      {failure(Outcome::device_error, "clFinish: CL_OUT_OF_RESOURCES (-5)"),
       failure(Outcome::device_error, "clFinish: CL_OUT_OF_HOST_MEMORY (-6)"), false},
      {failure(Outcome::wrong, "y[3]", "y"), failure(Outcome::crashed, "signal 11"), false},
      {failure(Outcome::wrong, "odd a"), failure(Outcome::wrong, "odd b"), false},
      {failure(Outcome::wrong, "input tensor x was overwritten at byte 8"),
       failure(Outcome::wrong, "input tensor x was overwritten at byte 12"), true},
      {failure(Outcome::build_failed, "a.cl(7,3): no x"),
       failure(Outcome::build_failed, "a.cl(12,1): no x"), true},
      {failure(Outcome::build_failed, "at line 3, column 5, no x"),
       failure(Outcome::build_failed, "at line 14, column 15, no x"), true},
      {failure(Outcome::build_failed, "error:5 units"),
       failure(Outcome::build_failed, "error:6 units"), false},
      {failure(Outcome::crashed, "its process ended with exit code 1 and gave no result"),
       failure(Outcome::crashed, "its process ended with exit code 1"), true},
      {failure(Outcome::crashed, "its process ended with exit code 1 and gave no result"),
       failure(Outcome::crashed, "its process ended with exit code 2 and gave no result"), false},
      {failure(Outcome::crashed, "its process was ended by signal 6 (Aborted)"),
       failure(Outcome::crashed, "it was ended by signal 6"), true},
      {failure(Outcome::device_error, "clFinish (-5)"), failure(Outcome::device_error, "one (-5)"),
       true},
      {failure(Outcome::device_error, "one CL_A"), failure(Outcome::device_error, "other CL_A"),
       true},
  };
  for (const auto& pair : pairs) {
    EXPECT_EQ(fault_of(pair.a) == fault_of(pair.b), pair.same) << pair.a.text() << "\n"
                                                               << pair.b.text();
  }
}

TEST(shrink, a_crash_is_the_same_where_the_driver_says_the_same) {
  const auto crash = [](const std::string& said) {
    return fault_of(
        failure(Outcome::crashed, "its process was ended by signal 6 (Aborted); " + said));
  };
  const struct {
    const char *a, *b;
    bool same;
  } pairs[] = {
      {"panicked at src/core/kernel.rs:310:9:", "panicked at src/core/kernel.rs:310:9:", true},
      {"panicked at src/core/kernel.rs:310:9:", "panicked at src/core/kernel.rs:512:17:", false},
      {"panicked at src/core/kernel.rs:310:9:", "panicked at src/api/util.rs:310:9:", false},
      {"panicked at 'the len is 5 but the index is 7', src/a.rs:3:1",
       "panicked at 'the len is 64 but the index is 64', src/a.rs:3:1", true},
      {"LLVM ERROR: Cannot select: 0x55a0: v4f32 = fexp2 t12",
       "LLVM ERROR: Cannot select: 0x7f10: v4f32 = fexp2 t12", true},
      {"LLVM ERROR: Cannot select: t12: f16 = flog2", "LLVM ERROR: Cannot select: t7: f16 = flog2",
       true},
      {"LLVM ERROR: Cannot select: t12: f16 = flog2", "LLVM ERROR: Cannot select: t12: f16 = fexp2",
       false},
      {"LLVM ERROR: Cannot select: t12: f16 = flog2", "LLVM ERROR: out of registers", false},
      {"LLVM ERROR: Cannot select: v4f32 = fexp2", "LLVM ERROR: Cannot select: v8f32 = fexp2",
       false},
      {"clc: ../a.c:12: emit: Assertion `n < 4' failed.",
       "clc: ../a.c:90: emit: Assertion `n < 4' failed.", false},
      {"clc: ../a.c:12: emit: Assertion `dst' failed.",
       "clc: ../a.c:12: emit: Assertion `src' failed.", false},
      {"scale.cl:7:3: UNREACHABLE", "scale.cl:12:41: UNREACHABLE", true},
  };
  for (const auto& pair : pairs) {
    EXPECT_EQ(crash(pair.a) == crash(pair.b), pair.same) << crash(pair.a) << "\n" << crash(pair.b);
  }
  EXPECT_NE(crash("panicked at a.rs:1:1:"),
            fault_of(failure(Outcome::crashed, "its process was ended by signal 6 (Aborted)")));
}

TEST(shrink, a_reason_of_any_length_is_read) {
  for (const Outcome outcome : {Outcome::wrong, Outcome::build_failed, Outcome::crashed,
                                Outcome::hung, Outcome::device_error}) {
    for (const char* unit : {"a", "1", "CL_", "0x", ":1", "(-", "Assertion "}) {
      std::string reason;
      while (reason.size() < 2000000) reason += unit;
      nlohmann::json read = to_json(failure(outcome, reason));
      EXPECT_FALSE(fault_of(failure(outcome, reason)).empty());
      const Seen seen = seen_from_json(read);
      EXPECT_LE(seen.reason.size(), 4096u);
      EXPECT_EQ(seen.reason, reason.substr(0, seen.reason.size()));
    }
  }
  std::string accents = "x";
  while (accents.size() < 5000) accents += "\xc3\xa9";
  EXPECT_EQ(seen_from_json(to_json(failure(Outcome::crashed, accents))).reason.size(), 4095u);
}

}  // namespace
}  // namespace clam::test
