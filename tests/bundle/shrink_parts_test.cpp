// SPDX-License-Identifier: MIT
// shrink_parts_test.cpp - how a search goes on: what is run, what is said, and what a case is made
// again from; without a device.
#include <gtest/gtest.h>

#include "planted.hpp"
#include "run_clam.hpp"
#include "shrink/making.hpp"
#include "shrink/steps.hpp"

namespace clam::test {
namespace {

using Outcome = Seen::Outcome;

const auto kAlways = [](const Bundle&) { return true; };

// ---- what is run, and what is said ----

TEST(shrink, nothing_is_run_twice_unless_it_was_cut_off) {
  int runs = 0;
  bool ends = false, over = false;
  Shrinking shrinking(
      chain(), [&](Bundle&) { return ++runs, over = ends, false; }, [](const std::string&) {},
      [&] { return over; });
  Bundle other = chain();
  other.inputs["a"].set(0, 1);
  ends = true;
  EXPECT_FALSE(shrinking.still_fails(other));  // cut off
  EXPECT_FALSE(shrinking.still_fails(other));  // the time is over
  EXPECT_EQ(runs, 1);
  ends = over = false;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(shrinking.still_fails(other));
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(shrinking.take(chain(), "nothing", "1", "1"));  // the same as it is
  EXPECT_EQ(runs, 2);
}

TEST(shrink, what_was_taken_is_said_at_once_and_in_the_end_as_one_step) {
  Planted planted(chain(), Outcome::wrong, kAlways);
  for (int i = 1; i < 4; ++i) {
    Bundle less = planted.shrinking.smallest();
    less.inputs["a"].set(0, i);
    EXPECT_TRUE(planted.shrinking.take(less, "a", std::to_string(i - 1), std::to_string(i)));
  }
  EXPECT_EQ(planted.told,
            (std::vector<std::string>{"a 0 -> 1, still wrong", "a 1 -> 2, still wrong",
                                      "a 2 -> 3, still wrong"}));
  EXPECT_EQ(planted.shrinking.steps(), (std::vector<std::string>{"a 0 -> 3"}));
  for (const char* note : {"one", "two", "one"}) planted.shrinking.note(note);
  EXPECT_EQ(planted.shrinking.notes(), (std::vector<std::string>{"one", "two"}));
}

// ---- what a case is made again from ----

std::optional<Making> made(const Bundle& bundle) {
  std::string why_not;
  std::optional<Making> making = making_of(bundle, why_not);
  EXPECT_TRUE(making) << why_not;
  return making;
}

TEST(shrink, a_case_is_known_by_its_seed_its_group_and_further_options) {
  Bundle start = bundle_of("softmax shape=9x300 dtype=f32", "", 32, 7);
  for (Launch& launch : start.plan->launches) launch.options += " -DMORE -w";
  const std::optional<Making> making = made(start);
  ASSERT_TRUE(making);
  EXPECT_EQ(making->max_work_group, 32);
  EXPECT_TRUE(making->given.empty());
  EXPECT_EQ(making->more_options.at("softmax.cl"), "-DMORE -w");
  Planted planted(start, Outcome::wrong, [](const Bundle& bundle) {
    return contains(bundle.plan->launches[0].options, " -DMORE");
  });
  EXPECT_EQ(planted.shrink().problem, "softmax shape=1 dtype=f32");
}

TEST(shrink, a_plan_that_is_another_is_none_of_this_clams) {
  const Bundle own = bundle_of("dense m=20 n=8 k=30 dtype=f32");
  ASSERT_TRUE(made(own));
  const auto is_known = [](const Bundle& bundle) {
    std::string why_not;
    const bool known = making_of(bundle, why_not).has_value();
    EXPECT_NE(known, why_not.size() > 0);
    return known;
  };
  Bundle other = own;
  other.plan->launches.push_back(other.plan->launches[0]);
  EXPECT_FALSE(is_known(other));
  other = own;
  other.plan->launches[0].options = "-DBEFORE " + other.plan->launches[0].options;
  EXPECT_FALSE(is_known(other));
  other = own;
  other.variant = "dense_of_another_time";
  EXPECT_FALSE(is_known(other));
  other = own;
  other.bounds.at("y").set(3, 1000);
  EXPECT_FALSE(is_known(other));
  other = own;
  ASSERT_FALSE(other.plan->pack.empty());
  other.plan->pack[0].options += " -DONE";
  EXPECT_FALSE(is_known(other)) << "launches of one file with different further options";
}

TEST(shrink, an_input_of_one_value_is_no_given_one) {
  Bundle start = bundle_of("dense m=20 n=8 k=30 dtype=f32", "dense_plain");
  Making making = *made(start);
  making.given["x"] = filled(Dtype::f32, {1}, 0x40400000u);  // 3
  const std::optional<Making> again = made(making.bundle(start));
  ASSERT_TRUE(again);
  ASSERT_EQ(again->given.size(), 1u);
  EXPECT_TRUE(is_constant(again->given.at("x")));
  EXPECT_EQ(again->given.at("x").bits(0), 0x40400000u);
}

TEST(shrink, inputs_are_tried_that_the_problem_gives_a_result_for) {
  for (const Problem& problem : problems_of(proof_of(find_op("gather")).small_cases, "f32")) {
    const Bundle start = bundle_of(problem.text());
    Planted planted(start, Outcome::wrong, [](const Bundle& bundle) {
      Tensors inputs;
      for (const TensorSpec& spec : bundle.plan->tensors) {
        if (spec.role == TensorSpec::Role::input) {
          inputs[spec.name] = from_buffer(spec, bundle.inputs.at(spec.name));
        }
      }
      EXPECT_NO_THROW(refuse_bad_inputs(Problem::parse(bundle.problem), inputs));
      return true;
    });
    planted.shrink();
    EXPECT_GT(planted.runs, 2);
  }
}

// ---- problems ----

TEST(shrink, a_word_that_goes_is_a_step_in_words) {
  Planted planted(bundle_of("dense m=2 n=2 k=4 dtype=f32 bias act=relu"), Outcome::wrong, kAlways);
  planted.shrink();
  const std::string steps = nlohmann::json(planted.shrinking.steps()).dump();
  EXPECT_TRUE(contains(steps, "bias given -> left out")) << steps;
  EXPECT_TRUE(contains(steps, "act relu -> none")) << steps;
}

TEST(shrink, axes_that_are_as_long_get_small_together_and_then_each_alone) {
  Planted planted(
      bundle_of("concat axis=1 shape_a=3x6x7 shape_b=3x6x7 dtype=f32"), Outcome::wrong,
      [](const Bundle& bundle) { return Problem::parse(bundle.problem).shape("shape_b")[1] >= 4; });
  const Problem small = Problem::parse(planted.shrink().problem);
  EXPECT_EQ(small.shape("shape_a"), (Shape{1, 1}));
  EXPECT_EQ(small.shape("shape_b"), (Shape{1, 4}));
}

TEST(shrink, of_the_kernels_of_others_it_says_what_stays) {
  Bundle start = chain();
  start.expected.clear();
  start.inputs["a"].set(1, 5);
  Planted planted(start, Outcome::crashed,
                  [](const Bundle& bundle) { return bundle.plan.has_value(); });
  EXPECT_EQ(planted.shrink().inputs.at("a").get(1), 0);
  const std::string notes = nlohmann::json(planted.shrinking.notes()).dump();
  EXPECT_TRUE(contains(notes, "the extents stay: its kernels are of no problem")) << notes;
}

// ---- data ----

TEST(shrink, a_value_is_looked_for_that_is_not_zero_and_what_it_is_is_said) {
  Planted planted(bundle_of("dense m=4 n=4 k=4 dtype=f32", "dense_plain"), Outcome::wrong,
                  [](const Bundle& bundle) { return bundle.inputs.at("x").get(0) != 0; });
  EXPECT_EQ(planted.shrink().inputs.at("x").get(0), 1);
  const std::string steps = nlohmann::json(planted.shrinking.steps()).dump();
  EXPECT_TRUE(contains(steps, "x data set zero_mean -> all 1")) << steps;
  EXPECT_TRUE(contains(steps, "w data set zero_mean -> all 0")) << steps;
}

TEST(shrink, of_a_nan_it_says_so_and_of_given_data_that_they_were) {
  Bundle start = bundle_of("dense m=2 n=2 k=8 dtype=f32", "dense_plain");
  Making making = *made(start);
  HostTensor given(Dtype::f32, {2, 8});
  for (std::int64_t i = 0; i < 16; ++i) given.set(i, i + 2);
  given.set_bits(9, 0x7FC00000u);
  making.given["x"] = given;
  Planted planted(making.bundle(start), Outcome::wrong, [](const Bundle& bundle) {
    for (std::int64_t i = 0; i < bundle.inputs.at("x").size(); ++i) {
      if (std::isnan(bundle.inputs.at("x").get(i))) return true;
    }
    return false;
  });
  planted.shrink();
  const std::string steps = nlohmann::json(planted.shrinking.steps()).dump();
  EXPECT_TRUE(contains(steps, "x as given -> all nan")) << steps;
}

TEST(shrink, sizes_that_a_value_makes_possible_are_tried_after_it) {
  Planted planted(bundle_of("dense m=40 n=4 k=4 dtype=f32", "dense_plain"), Outcome::wrong,
                  [](const Bundle& bundle) {
                    const bool zero = bundle.inputs.at("x").get(0) == 0;
                    return zero || Problem::parse(bundle.problem).integer("m") >= 20;
                  });
  EXPECT_EQ(Problem::parse(planted.shrink().problem).integer("m"), 1);
}

TEST(shrink, inputs_at_strides_are_read_as_they_lie) {
  const Bundle start = bundle_of("dense m=3 n=2 k=4 dtype=f32 ldx=7", "dense_plain");
  const double guilty = start.inputs.at("x").get(7);  // x[1,0]
  Planted planted(start, Outcome::wrong, [&](const Bundle& bundle) {
    const HostTensor& x = bundle.inputs.at("x");
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (x.get(i) == guilty) return true;
    }
    return false;
  });
  EXPECT_EQ(planted.shrink().problem, "dense m=1 n=1 k=1 dtype=f32");
  EXPECT_EQ(planted.shrinking.smallest().inputs.at("x").get(0), guilty);
}

TEST(shrink, elements_of_several_inputs_are_left_out_and_of_large_ones_none) {
  Bundle start = bundle_of("dense m=2 n=2 k=10 dtype=f32", "dense_plain");
  Making making = *made(start);
  for (const char* name : {"x", "w"}) {
    HostTensor given(Dtype::f32, {2, 10});
    for (std::int64_t i = 0; i < 20; ++i) given.set(i, i + 2);
    making.given[name] = given;
  }
  Planted planted(making.bundle(start), Outcome::wrong, [](const Bundle& bundle) {
    const HostTensor &x = bundle.inputs.at("x"), &w = bundle.inputs.at("w");
    return x.get(3) == 5 && x.get(15) == 17 && w.get(4) == 6 && w.get(9) == 11;
  });
  const Bundle& small = planted.shrink();
  for (const char* name : {"x", "w"}) {
    std::int64_t others = 0;
    for (std::int64_t i = 0; i < 20; ++i) others += small.inputs.at(name).get(i) != 0;
    EXPECT_EQ(others, 2) << name;
  }
  Bundle large = bundle_of("softmax shape=2x2100 dtype=f32");
  Making of_large = *made(large);
  HostTensor given(Dtype::f32, {2, 2100});
  for (std::int64_t i = 0; i < given.size(); ++i) given.set(i, i % 17);
  of_large.given["src"] = given;
  Planted all(of_large.bundle(large), Outcome::wrong, [](const Bundle& bundle) {
    const HostTensor& src = bundle.inputs.at("src");
    return src.size() == 4200 && src.get(30) == 13 && src.get(4000) == 5;
  });
  all.shrink();
  EXPECT_LT(all.runs, 40);
}

}  // namespace
}  // namespace clam::test
