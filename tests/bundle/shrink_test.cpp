// SPDX-License-Identifier: MIT
// shrink_test.cpp - extents and data of a case get as small as its fault lets them, without a
// device.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "planted.hpp"
#include "run_clam.hpp"
#include "shrink/making.hpp"

namespace clam::test {
namespace {

using Outcome = Seen::Outcome;
using Role = TensorSpec::Role;

TEST(shrink, extents_end_where_the_fault_does) {
  Planted planted(bundle_of("dense m=192 n=512 k=300 dtype=f32 bias act=gelu"), Outcome::wrong,
                  [](const Bundle& bundle) {
                    const Problem problem = Problem::parse(bundle.problem);
                    return problem.integer("m") >= 5 && problem.integer("n") >= 37;
                  });
  EXPECT_EQ(planted.shrink().problem, "dense m=5 n=37 k=1 dtype=f32");
  EXPECT_LT(planted.runs, 60);
  EXPECT_GE(planted.told.size(), planted.shrinking.steps().size());
  EXPECT_EQ(planted.shrinking.steps().front(), "m 192 -> 5");
}

/// A reference that takes long is not computed for candidates that nobody will run.
TEST(shrink, when_the_time_is_over_no_candidate_is_made) {
  const Bundle start = bundle_of("dense m=19 n=51 k=70 dtype=f32", "dense_plain");
  for (const int patience : {0, 20}) {
    Planted planted(start, Outcome::wrong, [](const Bundle&) { return false; });
    planted.patience = patience;
    planted.shrink();
    EXPECT_LE(planted.references, patience + 1) << "of the case itself, and of a candidate each";
    EXPECT_LE(planted.runs, patience);
    const int runs = planted.runs, asked = planted.asked;
    EXPECT_GT(asked, patience);
    planted.shrink();
    EXPECT_EQ(planted.runs, runs);
    EXPECT_EQ(planted.asked, asked + 1);  // the first question ends it
  }
}

TEST(shrink, in_every_part_of_the_search_nothing_is_run_when_the_time_is_over) {
  const auto all_ends = [](const Bundle& start, Outcome outcome) {
    for (int patience = 0; patience < 60; ++patience) {
      Planted planted(start, outcome, [](const Bundle&) { return true; });
      planted.patience = patience;
      planted.shrink();
      EXPECT_LE(planted.runs, patience);
    }
  };
  all_ends(chain(), Outcome::crashed);
  all_ends(bundle_of("dense m=3 n=4 k=8 dtype=f32"), Outcome::wrong);
}

TEST(shrink, a_variant_that_takes_multiples_only_gets_to_the_next_one) {
  Planted planted(
      bundle_of("attention heads=2 nq=8 nk=40 d=60 dtype=f32"), Outcome::wrong,
      [](const Bundle& bundle) { return Problem::parse(bundle.problem).integer("d") >= 30; });
  EXPECT_EQ(Problem::parse(planted.shrink().problem).integer("d"), 32);
}

TEST(shrink, options_that_change_with_the_extents_are_kept_where_the_fault_needs_them) {
  const Bundle start = bundle_of("softmax shape=4x6x500 dtype=f32");
  const std::string options = start.plan->launches[0].options;
  for (const bool needed : {false, true}) {
    Planted planted(start, Outcome::wrong, [&](const Bundle& bundle) {
      return !needed || contains(bundle.plan->launches[0].options, options);
    });
    const Bundle& small = planted.shrink();
    const Shape shape = Problem::parse(small.problem).shape("shape");
    EXPECT_EQ(shape == Shape{1}, !needed) << small.problem;
    EXPECT_LT(count(shape), 500) << small.problem;
  }
}

/// It fails with its options, and with others where much is left of it.
TEST(shrink, a_fault_that_hangs_on_the_options_is_not_lost_for_one_that_does_not) {
  const Bundle start = bundle_of("softmax shape=500x24 axis=0 dtype=f32");
  const std::string options = start.plan->launches[0].options;
  Planted planted(start, Outcome::wrong, [&](const Bundle& bundle) {
    const Shape shape = Problem::parse(bundle.problem).shape("shape");
    const bool is_large = shape.size() == 2 && shape[1] >= 20;
    return bundle.plan->launches[0].options == options || (is_large && shape[0] <= 100);
  });
  const Bundle& small = planted.shrink();
  EXPECT_EQ(small.plan->launches[0].options, options);
  EXPECT_LT(count(Problem::parse(small.problem).shape("shape")), 500 * 20) << small.problem;
}

TEST(shrink, shapes_that_belong_together_get_small_together) {
  const struct {
    const char *from, *to;
  } lines[] = {
      {"softmax shape=4x6x50 dtype=f32 mask=50", "softmax shape=1 dtype=f32"},
      {"concat axis=1 shape_a=3x5x7 shape_b=3x9x7 dtype=f32", nullptr},
      {"binary op=add shape=4x5x6 shape_b=5x6 dtype=f32", "binary op=add shape=1 dtype=f32"},
      {"attention heads=4 nq=33 nk=65 d=64 dtype=f32 mask=qk",
       "attention heads=1 nq=1 nk=4 d=4 dtype=f32"},  // what its variant takes
      {"conv2d c=64 h=9 w=9 k=64 r=3 groups=64 pad=1 layout=nhwc dtype=f32",
       "conv2d c=4 h=1 w=1 k=4 r=3 groups=4 pad=1 layout=nhwc dtype=f32"},
  };
  for (const auto& line : lines) {
    Planted planted(bundle_of(line.from), Outcome::wrong, [](const Bundle&) { return true; });
    const std::string small = planted.shrink().problem;
    if (line.to) {
      EXPECT_EQ(small, Problem::parse(line.to).text());
    } else {
      EXPECT_EQ(Problem::parse(small).shape("shape_a"), Problem::parse(small).shape("shape_b"));
      EXPECT_EQ(count(Problem::parse(small).shape("shape_a")), 1) << small;
    }
  }
}

/// Every op's cases, where everything fails: no extent is left that could be one less.
TEST(shrink, a_case_of_every_op_gets_as_small_as_its_problems_can) {
  for (const Op* op : all_ops()) {
    const Problem problem = problems_of(proof_of(*op).small_cases, "f32").back();
    Planted planted(bundle_of(problem.text()), Outcome::crashed, [](const Bundle& bundle) {
      return bundle.plan.has_value();  // it is no fault of the compiler
    });
    std::string why_not;
    Bundle start = bundle_of(problem.text());
    std::optional<Making> making = making_of(start, why_not);
    ASSERT_TRUE(making) << problem.text() << ": " << why_not;
    while (shrink_problem(planted.shrinking, *making)) continue;
    for (const Field& field : op->fields) {
      if (field.kind != Field::Kind::extent) continue;
      const int extent = making->problem.integer(field.name);
      if (extent == 1) continue;
      EXPECT_THROW(
          {
            Making less = *making;
            less.problem = less.problem.with(field.name, std::to_string(extent - 1));
            (void)less.bundle(start);
          },
          Error)
          << making->problem.text();
    }
  }
}

TEST(shrink, data_becomes_the_one_value_that_it_takes) {
  const Bundle start = bundle_of("dense m=20 n=8 k=30 dtype=f32", "dense_plain");
  const float guilty = static_cast<float>(start.inputs.at("x").get(13 * 30 + 11));
  Planted planted(start, Outcome::wrong, [&](const Bundle& bundle) {
    const HostTensor& x = bundle.inputs.at("x");
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (x.get(i) == guilty) return true;
    }
    return false;
  });
  const Bundle& small = planted.shrink();
  EXPECT_EQ(small.problem, "dense m=1 n=1 k=1 dtype=f32");
  EXPECT_EQ(small.inputs.at("x").get(0), guilty);
  EXPECT_EQ(small.inputs.at("w").get(0), 0);
  EXPECT_EQ(small.expected.at("y").get(0), 0);
  EXPECT_EQ(small.data_set, "");
  std::string why_not;
  EXPECT_TRUE(making_of(small, why_not)) << why_not;  // it can be made again, and shrunk again
}

TEST(shrink, of_given_data_few_elements_are_left) {
  Bundle start = bundle_of("dense m=2 n=2 k=40 dtype=f32", "dense_plain");
  std::string why_not;
  Making making = *making_of(start, why_not);
  HostTensor given(Dtype::f32, {2, 40});
  for (std::int64_t i = 0; i < given.size(); ++i) given.set(i, i + 2);
  making.given["x"] = given;
  const auto has_both = [](const Bundle& bundle) {
    const HostTensor& x = bundle.inputs.at("x");
    return x.size() == 80 && x.get(7) == 9 && x.get(70) == 72;
  };
  Planted planted(making.bundle(start), Outcome::wrong, has_both);
  const Bundle& small = planted.shrink();
  std::int64_t others = 0;
  for (std::int64_t i = 0; i < 80; ++i) others += small.inputs.at("x").get(i) != 0;
  EXPECT_EQ(others, 2);
  EXPECT_TRUE(has_both(small));
  ASSERT_FALSE(planted.shrinking.notes().empty());
  EXPECT_TRUE(contains(planted.shrinking.notes().front(), "x is as it was given"));
}

TEST(shrink, elements_are_left_out_behind_launches_and_their_outputs) {
  Planted planted(bundle_of("dense m=3 n=4 k=8 dtype=f32"), Outcome::crashed,
                  [](const Bundle& bundle) {
                    if (!bundle.plan || bundle.inputs.count("w") == 0) return false;
                    const HostTensor& w = bundle.inputs.at("w");
                    const Plan& plan = *bundle.plan;
                    const Launch& first = plan.pack.empty() ? plan.launches[0] : plan.pack[0];
                    return first.kernel == "dense_pack_w" && w.size() == 32 &&
                           w.get(5) != w.get(9) && w.get(9) != 0;
                  });
  const Bundle& small = planted.shrink();
  EXPECT_EQ(small.plan->launches.size() + small.plan->pack.size(), 1u);
  EXPECT_EQ(small.plan->tensor("y"), nullptr);
  EXPECT_TRUE(small.expected.empty());
  std::int64_t others = 0;
  for (std::int64_t i = 0; i < 32; ++i) others += small.inputs.at("w").get(i) != 0;
  EXPECT_EQ(others, 1);
}

TEST(shrink, what_is_none_of_this_clams_keeps_its_extents) {
  const Bundle own = bundle_of("dense m=20 n=8 k=30 dtype=f32", "dense_plain");
  const auto why = [](Bundle bundle) {
    std::string why_not;
    EXPECT_FALSE(making_of(bundle, why_not));
    return why_not;
  };
  Bundle other = own;
  other.plan->launches[0].global[0] *= 2;
  EXPECT_TRUE(contains(why(other), "its plan is none")) << why(other);
  other = own;
  other.expected.at("y").set(0, 1000);
  EXPECT_TRUE(contains(why(other), "what is expected")) << why(other);
  other = own;
  other.problem = "a foreign kernel";
  EXPECT_TRUE(contains(why(other), "no problem that clam knows")) << why(other);
}

}  // namespace
}  // namespace clam::test
