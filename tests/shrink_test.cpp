// SPDX-License-Identifier: MIT
// shrink_test.cpp - the search of `clam shrink`, held to what must be found, without a device.
#include "bundle/shrink.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

#include "bundle/case.hpp"
#include "foreign_plan.hpp"
#include "run_clam.hpp"

namespace clam::test {
namespace {

using Outcome = Seen::Outcome;
using Role = TensorSpec::Role;

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

TEST(shrink, where_a_number_does_for_some_only_one_less_does_not) {
  const auto holds = [](std::int64_t value) { return value % 7 == 3 || value > 90; };
  for (std::int64_t from = 1; from <= 100; ++from) {
    if (!holds(from)) continue;
    const std::int64_t found = smallest(1, from, holds);
    EXPECT_TRUE(holds(found)) << from;
    EXPECT_TRUE(found == 1 || !holds(found - 1)) << from << ": " << found;
  }
}

bool has_all(const Parts& parts, const Parts& wanted) {
  return std::includes(parts.begin(), parts.end(), wanted.begin(), wanted.end());
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

Seen failure(Outcome outcome, const std::string& reason, const std::string& tensor = "") {
  Seen seen;
  seen.outcome = outcome;
  seen.reason = reason;
  if (!tensor.empty()) seen.first_wrong = {tensor, 3, 1.5, 1};
  return seen;
}

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

// ---- cases made smaller, where the fault is a question about them ----

using Question = std::function<bool(const Bundle&)>;

/// A shrinking whose fault is where the answer is yes; it counts the runs.
struct Planted {
  Planted(Bundle bundle, Outcome outcome, const Question& question)
      : shrinking(
            started(std::move(bundle), outcome),
            [this, question](Bundle& smaller) { return ++runs, question(smaller); },
            [this](const std::string& step) { told.push_back(step); },
            [this] { return ++asked > patience; }) {}

  static Bundle started(Bundle bundle, Outcome outcome) {
    bundle.seen = failure(outcome, "planted");
    for (const TensorSpec& spec : bundle.plan ? bundle.plan->tensors : std::vector<TensorSpec>()) {
      if (spec.role == Role::output && !bundle.seen.first_wrong) {
        bundle.seen.first_wrong = {spec.name, 0, 1, 0};
      }
    }
    return bundle;
  }
  const Bundle& shrink() {
    clam::shrink(shrinking);
    return shrinking.smallest();
  }

  int runs = 0, asked = 0;
  int patience = std::numeric_limits<int>::max();  ///< questions until the time is over
  std::vector<std::string> told;
  Shrinking shrinking;
};

/// The case of a problem as `clam record` puts it together.
Bundle bundle_of(const std::string& line, const std::string& variant = "") {
  const Problem problem = Problem::parse(line);
  const DataSet& set = problem.op().data_sets.front();
  DeviceInfo device = generic_device();
  device.native_exp2_ulp = 3;
  Bundle bundle;
  bundle.device = device;
  bundle.data_set = set.name;
  take_plan(make_plan(problem, device, {variant, 0}), KernelFiles(), bundle);
  const Tensors inputs = make_inputs(problem, set, bundle.seed);
  take_inputs(inputs, bundle);
  for (const auto& [name, expected] :
       problem.op().reference(problem, inputs, reference_options(set.check, device))) {
    expect(*bundle.plan->tensor(name), expected, bundle);
  }
  return bundle;
}

/// Launches a -> b -> c and a -> d, of one kernel.
Bundle chain() {
  Bundle bundle;
  bundle.plan = scale_plan(4, 2);
  Plan& plan = *bundle.plan;
  const Launch one = plan.launches[0];
  plan.tensors = {{"a", Role::input, Dtype::f32, {4}, {}, 0},
                  {"c", Role::output, Dtype::f32, {4}, {}, 0},
                  {"d", Role::output, Dtype::f32, {4}, {}, 0}};
  plan.buffers = {{"b", BufferSpec::Role::scratch, 16}};
  plan.launches.clear();
  for (const auto& [from, to] :
       std::vector<std::pair<const char*, const char*>>{{"a", "b"}, {"b", "c"}, {"a", "d"}}) {
    plan.launches.push_back(one);
    plan.launches.back().args[0] = BufferArg{from};
    plan.launches.back().args[1] = BufferArg{to};
  }
  bundle.kernels["scale.cl"] = kScaleSource;
  bundle.inputs["a"] = bundle.expected["c"] = bundle.expected["d"] = HostTensor(Dtype::f32, {4});
  return bundle;
}

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

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A reference that takes long is not computed for candidates that nobody will run.
TEST(shrink, when_the_time_is_over_no_candidate_is_made) {
  constexpr const char* kSlow = "dense m=192 n=512 k=700 dtype=f32";
  Bundle start;
  const double once = seconds_of([&] { start = bundle_of(kSlow, "dense_plain"); });
  for (const int patience : {0, 20}) {
    Planted planted(start, Outcome::wrong, [](const Bundle&) { return false; });
    planted.patience = patience;
    EXPECT_LT(seconds_of([&] { planted.shrink(); }), once * (patience + 1));
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

TEST(shrink, options_that_change_with_the_extents_are_said_and_kept_where_the_fault_needs_them) {
  const Bundle start = bundle_of("softmax shape=4x6x500 dtype=f32");
  const std::string options = start.plan->launches[0].options;
  for (const bool needed : {false, true}) {
    Planted planted(start, Outcome::wrong, [&](const Bundle& bundle) {
      return !needed || contains(bundle.plan->launches[0].options, options);
    });
    const Bundle& small = planted.shrink();
    const std::string steps = nlohmann::json(planted.shrinking.steps()).dump();
    EXPECT_EQ(contains(steps, "options of softmax.cl: '" + options + "' -> "), !needed) << steps;
    EXPECT_EQ(contains(steps, "group of softmax_row: "), !needed) << steps;
    const Shape shape = Problem::parse(small.problem).shape("shape");
    EXPECT_EQ(shape == Shape{1}, !needed) << small.problem;
    EXPECT_LT(count(shape), 500) << small.problem;
  }
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
    const Problem problem = problems_of(op->small_cases, "f32").back();
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

// ---- launches and options ----

TEST(shrink, launches_behind_a_wrong_tensor_stay_and_others_go) {
  for (const char* tensor : {"c", "d"}) {
    Planted planted(chain(), Outcome::wrong, [](const Bundle&) { return true; });
    Bundle start = planted.shrinking.smallest();
    start.seen.first_wrong->tensor = tensor;
    Shrinking shrinking(
        start, [](Bundle&) { return true; }, [](const std::string&) {}, [] { return false; });
    EXPECT_TRUE(shrink_launches(shrinking));
    const Bundle& small = shrinking.smallest();
    EXPECT_EQ(small.plan->launches.size(), tensor == std::string("c") ? 2u : 1u);
    EXPECT_EQ(small.expected.size(), 1u);
    EXPECT_EQ(small.expected.count(tensor), 1u);
    EXPECT_EQ(small.plan->buffers.size(), tensor == std::string("c") ? 1u : 0u);
    EXPECT_NO_THROW(check(*small.plan));
  }
}

TEST(shrink, of_a_crash_only_the_guilty_launch_stays) {
  for (const char* guilty : {"b", "c", "d"}) {
    Planted planted(chain(), Outcome::crashed, [&](const Bundle& bundle) {
      if (!bundle.plan) return false;
      for (const Launch& launch : bundle.plan->launches) {
        if (std::get<BufferArg>(launch.args[1]).name == guilty) return true;
      }
      return false;
    });
    const Bundle& small = planted.shrink();
    EXPECT_EQ(small.plan->launches.size(), 1u) << guilty;
    EXPECT_EQ(small.expected.size(), guilty == std::string("d") ? 1u : 0u) << guilty;
    // c's launch reads what b's wrote.
    const auto& notes = planted.shrinking.notes();
    const bool warned = std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
      return contains(note, "left out may have written");
    });
    EXPECT_EQ(warned, guilty == std::string("c"));
  }
}

TEST(shrink, options_that_change_nothing_go_where_kernels_run) {
  Bundle start = chain();
  const std::string text = "#ifndef TILE\n#define TILE 4\n#endif\n// USED\n";
  start.kernels["scale.cl"] = text;
  for (Launch& launch : start.plan->launches) {
    launch.options =
        "-cl-mad-enable -DUSED=1 -D TILE=4 -DNOT_THERE -cl-denorms-are-zero -cl-opt-disable";
  }
  Planted planted(start, Outcome::wrong, [](const Bundle& bundle) {
    return contains(bundle.plan->launches[0].options, "-cl-opt-disable");
  });
  EXPECT_EQ(planted.shrink().plan->launches[0].options,
            "-DUSED=1 -cl-denorms-are-zero -cl-opt-disable");
}

/// What is left of the options where everything fails.
std::string options_left(const std::string& options, const std::string& text) {
  Bundle start = chain();
  start.kernels["scale.cl"] = text;
  for (Launch& launch : start.plan->launches) launch.options = options;
  Planted planted(start, Outcome::wrong, [](const Bundle&) { return true; });
  shrink_options(planted.shrinking);
  return planted.shrinking.smallest().plan->launches[0].options;
}

std::string with_default(const std::string& value) {
  return "#ifndef FACTOR\n#define FACTOR " + value + "\n#endif\nint x = FACTOR;\n";
}

TEST(shrink, a_definition_goes_where_the_text_is_the_same_without_it) {
  const std::string one = "-DFACTOR=1";
  for (const std::string& text :
       {std::string("int x;\n"), with_default("1"), with_default("1  // rows"),
        with_default("\\\n 1 /* rows */"), "#if 0\n#endif\n" + with_default("1"),
        std::string("/* a\n*/ # ifndef FACTOR\n\n#  define  FACTOR\t1\n# endif\n")}) {
    EXPECT_EQ(options_left(one, text), "") << text;
    EXPECT_EQ(options_left("-DFACTOR", text), "") << text;
  }
  EXPECT_EQ(options_left("-DFACTOR=1.5f", with_default("1.5f")), "");
}

TEST(shrink, a_definition_stays_where_the_text_may_be_another_without_it) {
  const std::string one = "-DFACTOR=1", same = with_default("1");
  for (const std::string& text :
       {with_default("1.5f"), with_default("1 << 3"), with_default("1 + N"), with_default("(1)"),
        with_default("1 \\\n + 1"), "int before = FACTOR;\n" + same, "#if A\n" + same + "#endif\n",
        "/*\n" + same + "*/\n", same + "#ifdef FACTOR\n#endif\n", same + "#undef FACTOR\n",
        same + "#if defined(FACTOR)\n#endif\n", same + "#define FACTOR 2\n",
        same + "#define JOIN(a, b) a##b\n", same + "#include \"other.h\"\n",
        std::string("int a = JOIN(FAC, TOR);\n#define JOIN(a, b) a##b\n"),
        std::string("int a = FAC\\\nTOR;\n"), std::string("#ifdef FACTOR\n#endif\n"),
        std::string("#ifndef FACTOR\n#define FACTOR 1\n#define MORE\n#endif\n"),
        std::string("#ifndef FACTOR\n#define FACTOR(x) 1\n#endif\n")}) {
    EXPECT_EQ(options_left(one, text), one) << text;
  }
  for (const char* options : {"-UFACTOR", "-U FACTOR", "-DFACTOR=2 -DFACTOR=1",
                              "-DFACTOR=1 -UFACTOR", "-DFACTOR=1 -D OTHER=FACTOR",
                              "-DFACTOR=", "-D__FACTOR__=1", "-cl-std=CL2.0", "-cl-unknown"}) {
    const std::string other =
        std::string(options).find("OTHER") == std::string::npos ? "" : "OTHER";
    EXPECT_EQ(options_left(options, same + "int " + other + ";\n"), options);
  }
  EXPECT_EQ(options_left("-cl-fast-relaxed-math", "#ifdef __FAST_RELAXED_MATH__\n#endif\n"),
            "-cl-fast-relaxed-math");
}

// ---- the text of a build ----

Bundle build_of(const std::string& text, const std::string& options = "") {
  Bundle bundle;
  bundle.file = "a.cl";
  bundle.problem = "build of a.cl";
  bundle.options = options;
  bundle.kernels["a.cl"] = text;
  return bundle;
}

TEST(shrink, the_text_of_a_build_comes_down_to_the_line_that_it_takes) {
  std::string text = "// a comment\n#define LONG \\\n  1\n#ifndef ROWS\n#define ROWS 4\n#endif\n";
  for (int i = 0; i < 20; ++i) {
    text += "__kernel void k" + std::to_string(i) + "(__global int* x) {\n  if (x[0]) {\n";
    text += i == 13 ? "    guilty();\n" : "    x[0] = 1;\n";
    text += "  }\n}\n\n";
  }
  Planted planted(build_of(text, "-DA=1 -w -DB"), Outcome::crashed, [](const Bundle& bundle) {
    const std::string& now = bundle.kernels.at("a.cl");
    // A compiler refuses braces that do not match, and crashes on one line only within a kernel.
    const bool whole =
        contains(now, "#if") == contains(now, "#endif") &&
        std::count(now.begin(), now.end(), '{') == std::count(now.begin(), now.end(), '}');
    return whole && contains(now, "__kernel") && contains(now, "guilty") &&
           contains(bundle.options, "-DB");
  });
  const Bundle& small = planted.shrink();
  EXPECT_EQ(small.kernels.at("a.cl"), "__kernel void k13(__global int* x) {\n    guilty();\n}\n");
  EXPECT_EQ(small.options, "-DB");
  EXPECT_LT(planted.runs, 150);
}

TEST(shrink, a_plan_on_which_the_compiler_fails_becomes_a_build) {
  Planted planted(chain(), Outcome::crashed, [](const Bundle& bundle) {
    return contains(bundle.kernels.begin()->second, "tile[i]");
  });
  const Bundle& small = planted.shrink();
  EXPECT_TRUE(small.build_only());
  EXPECT_EQ(small.problem, "build of scale.cl");
  EXPECT_TRUE(small.inputs.empty() && small.expected.empty());
  const std::string& text = small.kernels.at("scale.cl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

}  // namespace
}  // namespace clam::test
