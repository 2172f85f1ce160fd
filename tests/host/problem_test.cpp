// SPDX-License-Identifier: MIT
#include "clam/problem.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "clam/error.hpp"
#include "clam/op.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

/// A random legal text for a field, or "" to leave it out.
std::string random_value(const Field& field, std::mt19937_64& random) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  if (!field.fallback.empty() && below(2) == 0) return "";
  switch (field.kind) {
    case Field::Kind::extent:
      return std::to_string(1 + below(below(2) ? 8 : 300));
    case Field::Kind::integer:
      return std::to_string(field.min +
                            below(std::min<std::int64_t>(field.max - field.min + 1, 600)));
    case Field::Kind::number: {
      const char* numbers[] = {"0",   "-0",   "0.01",        "1e-45", "3.4028235e38",
                               "inf", "-inf", "0.1000000015"};
      return numbers[below(8)];
    }
    case Field::Kind::flag:
      return "1";
    case Field::Kind::choice:
      return field.choices[static_cast<std::size_t>(
          below(static_cast<std::int64_t>(field.choices.size())))];
    case Field::Kind::numbers: {
      const char* lists[] = {"1", "0.1x0.1x0.2x0.2", "-1x0.5", "1e-05x3e+10", "inf", "-0x0x0x0"};
      return lists[below(6)];
    }
    case Field::Kind::integers: {
      const char* lists[] = {"0", "1", "1,0", "0,1", "2,0,1", "-1,2", "1,1,1", "3", "0,2147483647"};
      return lists[below(9)];
    }
    case Field::Kind::axes: {
      const char* orders[] = {"0", "1-0", "0-2-1", "2-1-0", "0-1-2", "3-0-2-1", "0-2-1-3"};
      return orders[below(7)];
    }
    case Field::Kind::subset: {
      const char* subsets[] = {"0", "1", "0-1", "1-3", "0-2-3"};
      return subsets[below(5)];
    }
    case Field::Kind::shape: {
      std::string text = std::to_string(1 + below(40));
      for (std::int64_t more = below(4); more > 0; --more) {
        text += "x" + std::to_string(1 + below(20));
      }
      return text;
    }
  }
  return "";
}

/// Nothing for a random combination that the op's rules refuse.
std::optional<Problem> parsed(const std::string& line) {
  try {
    return Problem::parse(line);
  } catch (const BadArgument&) {
    return std::nullopt;
  }
}

TEST(problem, text_and_fields_round_trip) {
  std::mt19937_64 random(test::seed());
  const int most = test::is_weekly() ? 1000 : 110;
  for (const Op* op : all_ops()) {
    int accepted = 0;
    for (int i = 0; i < 60000 && accepted < most; ++i) {
      std::string line = op->name;
      for (const Field& field : op->fields) {
        const std::string value = random_value(field, random);
        if (!value.empty()) line += " " + field.name + "=" + value;
      }
      const std::optional<Problem> problem = parsed(line);
      if (!problem) continue;
      ++accepted;
      const std::string text = problem->text();
      ASSERT_EQ(Problem::parse(text).text(), text) << line;
      std::map<std::string, std::string> values;
      for (const Field& field : op->fields) values[field.name] = problem->text_of(field.name);
      ASSERT_EQ(Problem::make(*op, values).text(), text) << line;
    }
    EXPECT_GT(accepted, 100) << op->name;
  }
}

TEST(problem, canonical_form_leaves_defaults_out_and_always_names_the_dtype) {
  EXPECT_EQ(Problem::parse("get_valid_counts dtype=f32 batch=1 e=6 n=5 score_threshold=0.0").text(),
            "get_valid_counts n=5 dtype=f32");
  EXPECT_EQ(Problem::parse("  dense\tk=512 n=512  m=192 act=none bias dtype=f16").text(),
            "dense m=192 n=512 k=512 dtype=f16 bias");
  EXPECT_EQ(Problem::parse("get_valid_counts n=122640 dtype=f32 score_threshold=1e-2").text(),
            "get_valid_counts n=122640 dtype=f32 score_threshold=0.01");
}

TEST(problem, a_changed_copy_is_checked_too) {
  const Problem problem = Problem::parse("dense m=2 n=3 k=4 dtype=f32");
  EXPECT_EQ(problem.with("dtype", "f16").text(), "dense m=2 n=3 k=4 dtype=f16");
  EXPECT_THROWS_SAYING(problem.with("m", "0"), BadArgument, "dense: m='0', needs 1 to 2147483647");
}

TEST(problem, bad_lines_are_refused_in_one_sentence) {
  EXPECT_THROWS_SAYING(Problem::parse(""), BadArgument, "empty problem");
  EXPECT_THROWS_SAYING(Problem::parse("densse m=1"), BadArgument,
                       "unknown op 'densse'; clam knows dense");
  EXPECT_THROWS_SAYING(Problem::parse("dense mm=1"), BadArgument,
                       "unknown word 'mm'; it knows m n k");
  EXPECT_THROWS_SAYING(Problem::parse("dense m=1 n=1 k=1"), BadArgument, "dense: dtype is missing");
  EXPECT_THROWS_SAYING(Problem::parse("dense n=1 k=1 dtype=f32"), BadArgument,
                       "dense: m is missing");
  EXPECT_THROWS_SAYING(Problem::parse("dense m=1 m=1 n=1 k=1 dtype=f32"), BadArgument,
                       "m is given twice");
  EXPECT_THROWS_SAYING(Problem::parse("dense m n=1 k=1 dtype=f32"), BadArgument, "m needs a value");
  EXPECT_THROWS_SAYING(Problem::parse("dense m=x n=1 k=1 dtype=f32"), BadArgument,
                       "m='x', needs a whole number");
  EXPECT_THROWS_SAYING(Problem::parse("dense m=1.5 n=1 k=1 dtype=f32"), BadArgument,
                       "needs a whole number");
  EXPECT_THROWS_SAYING(Problem::parse("dense m=-3 n=1 k=1 dtype=f32"), BadArgument,
                       "needs 1 to 2147483647");
  EXPECT_THROWS_SAYING(Problem::parse("dense m=99999999999999999999 n=1 k=1 dtype=f32"),
                       BadArgument, "needs 1 to 2147483647");
  EXPECT_THROWS_SAYING(Problem::parse("dense m=1 n=1 k=1 dtype=f64"), BadArgument,
                       "dtype='f64', knows f32 f16");
  EXPECT_THROWS_SAYING(Problem::parse("dense m=1 n=1 k=1 dtype=f32 bias=2"), BadArgument,
                       "is a flag");
  EXPECT_THROWS_SAYING(Problem::parse("dense m=1 n=1 k=1 dtype=f32 alpha=nan"), BadArgument,
                       "needs a number");
  EXPECT_THROWS_SAYING(Problem::parse("dense m=1 n=1 k=1 dtype=f32 alpha=1e99"), BadArgument,
                       "does not fit a float");
  EXPECT_THROWS_SAYING(Problem::parse("dense m=65536 n=65536 k=1 dtype=f32"), BadArgument,
                       "2147483647");
}

TEST(problem, hostile_lines_are_quoted_short_and_printable) {
  try {
    Problem::parse("dense " + std::string(100000, 'x') + "\x1b[31m=1");
    FAIL();
  } catch (const BadArgument& error) {
    EXPECT_LT(std::string(error.what()).size(), 400u);
    EXPECT_EQ(std::string(error.what()).find('\x1b'), std::string::npos);
  }
  EXPECT_THROWS_SAYING(Problem::parse("\x1b[31m"), BadArgument, "unknown op '?[31m'");
}

}  // namespace
}  // namespace clam
