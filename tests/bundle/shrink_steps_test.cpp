// SPDX-License-Identifier: MIT
// shrink_steps_test.cpp - launches, options and text that a fault does not need, without a device.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "planted.hpp"
#include "run_clam.hpp"
#include "shrink/steps.hpp"

namespace clam::test {
namespace {

using Outcome = Seen::Outcome;
using Role = TensorSpec::Role;

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
    const BufferArg last = std::get<BufferArg>(small.plan->launches.back().args[1]);
    EXPECT_EQ(last.name, tensor);  // they stay in order
  }
}

TEST(shrink, of_a_crash_the_guilty_launch_stays_with_those_that_write_what_it_reads) {
  for (const char* guilty : {"b", "c", "d"}) {
    Planted planted(chain(), Outcome::crashed, [&](const Bundle& bundle) {
      if (!bundle.plan) return false;
      for (const Launch& launch : bundle.plan->launches) {
        if (std::get<BufferArg>(launch.args[1]).name == guilty) return true;
      }
      return false;
    });
    const Bundle& small = planted.shrink();
    const bool is_c = guilty == std::string("c");  // its launch reads what b's wrote
    EXPECT_EQ(small.plan->launches.size(), is_c ? 2u : 1u) << guilty;
    EXPECT_EQ(small.expected.size(), guilty == std::string("b") ? 0u : 1u) << guilty;
  }
}

TEST(shrink, with_a_launch_its_tensors_and_its_file_go) {
  Bundle start = chain();
  start.plan->tensors.push_back(start.plan->tensors[0]);
  start.plan->tensors.back().name = "e";
  start.inputs["e"] = start.bounds["c"] = start.bounds["d"] = start.inputs["a"];
  start.plan->launches[2].args[0] = BufferArg{"e"};
  start.plan->launches[2].file = "other.cl";
  start.kernels["other.cl"] = kScaleSource;
  for (const char* outcome : {"wrong", "crashed"}) {
    const bool wrong = outcome == std::string("wrong");
    Planted planted(start, wrong ? Outcome::wrong : Outcome::crashed,
                    [](const Bundle& bundle) { return bundle.plan && bundle.plan->tensor("c"); });
    EXPECT_TRUE(shrink_launches(planted.shrinking));
    const Bundle& small = planted.shrinking.smallest();
    EXPECT_EQ(small.plan->launches.size(), 2u);
    for (const auto* all : {&small.inputs, &small.expected, &small.bounds}) {
      EXPECT_EQ(all->size(), 1u) << outcome;
      EXPECT_EQ(all->count("d") + all->count("e"), 0u) << outcome;
    }
    EXPECT_EQ(small.kernels.size(), 1u);
    EXPECT_EQ(small.kernels.count("other.cl"), 0u);
    EXPECT_FALSE(shrink_launches(planted.shrinking));
  }
}

TEST(shrink, inputs_of_others_become_zeros_where_nothing_is_compared) {
  for (const Outcome outcome : {Outcome::wrong, Outcome::crashed, Outcome::hung}) {
    for (const bool compares : {false, true}) {
      Bundle start = chain();
      start.inputs["a"].set(2, 7);
      if (!compares) start.expected.clear();
      Planted planted(start, outcome, [](const Bundle&) { return true; });
      const bool may = outcome != Outcome::wrong && !compares;
      EXPECT_EQ(shrink_foreign_data(planted.shrinking), may);
      EXPECT_EQ(planted.shrinking.smallest().inputs.at("a").get(2), may ? 0 : 7);
      ASSERT_EQ(planted.shrinking.notes().size(), 1u);
      EXPECT_TRUE(contains(planted.shrinking.notes()[0], may ? "run on zeros" : "the inputs stay"));
    }
  }
}

TEST(shrink, options_that_change_nothing_go_where_kernels_run) {
  Bundle start = chain();
  const std::string text = "#ifndef TILE\n#define TILE 4\n#endif\nint x = USED;\n";
  start.kernels["scale.cl"] = text;
  for (Launch& launch : start.plan->launches) {
    launch.options =
        "-cl-mad-enable -DUSED=1 -D TILE=4 -DNOT_THERE -cl-denorms-are-zero -cl-opt-disable";
  }
  Planted planted(start, Outcome::wrong, [](const Bundle& bundle) {
    return contains(bundle.plan->launches[0].options, "-cl-opt-disable");
  });
  EXPECT_EQ(planted.shrink().plan->launches[0].options,
            "-DUSED=1 -D TILE=4 -cl-denorms-are-zero -cl-opt-disable");
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

TEST(shrink, a_definition_goes_where_its_name_stands_nowhere) {
  for (const std::string& text :
       {std::string("int x;\n"), std::string("int FACTORS, A_FACTOR;\n"),
        std::string("#if A\n#define OTHER 1\n#endif\n"), std::string("#error don't\n"),
        std::string("// FACTOR\nconst char* name = \"FACTOR\";\n")}) {
    for (const char* option : {"-DFACTOR=1", "-DFACTOR", "-D FACTOR=1.5f"}) {
      EXPECT_EQ(options_left(option, text), "") << text;
    }
  }
}

TEST(shrink, a_definition_stays_where_the_text_may_be_another_without_it) {
  const std::string one = "-DFACTOR=1", same = with_default("1");
  for (const std::string& text :
       {same, with_default("1.5f"), with_default("1 << 3"), with_default("1 + N"),
        with_default("(1)"), with_default("1 \\\n + 1"), "int before = FACTOR;\n" + same,
        "#if A\n" + same + "#endif\n", same + "#ifdef FACTOR\n#endif\n", same + "#undef FACTOR\n",
        same + "#if defined(FACTOR)\n#endif\n", same + "#define FACTOR 2\n",
        same + "#define JOIN(a, b) a##b\n", same + "#include \"other.h\"\n",
        std::string("int a = JOIN(FAC, TOR);\n#define JOIN(a, b) a##b\n"),
        std::string("int a = FAC\\\nTOR;\n"), std::string("#ifdef FACTOR\n#endif\n"),
        std::string("#ifndef FACTOR\n#define FACTOR 1\n#define MORE\n#endif\n"),
        std::string("#ifndef FACTOR\n#define FACTOR(x) 1\n#endif\n"),
        std::string("#ifdef FACTOR\n#define FACTOR 1\n#endif\n"),
        std::string("#ifndef FACTOR or\n#define FACTOR 1\n#endif\n"),
        std::string("#ifndef FACTOR\n#undef FACTOR 1\n#endif\n"),
        std::string("#ifndef FACTOR\n#define OTHER 1\n#endif\nint x = FACTOR;\n"),
        std::string("xifndef FACTOR\nxdefine FACTOR 1\nxendif\n"),
        // Signs that put names together, or hide them.
        "%:define A 1\n" + same, "?\?=define A 1\n" + same, "int \\u0041;\n" + same,
        "int \\U00000041;\n" + same, std::string("int a = FAC\\ \nTOR;\n"),
        // In front of the default stands the name itself, behind what looks like a comment.
        "a = \"\\\"//\" FACTOR;\n" + same, "a = \"//\" FACTOR;\n" + same,
        "int/**/FACTOR;\n" + same}) {
    EXPECT_EQ(options_left(one, text), one) << text;
  }
  for (const char* options :
       {"-UFACTOR", "-U FACTOR", "-DFACTOR=2 -DFACTOR=1", "-DFACTOR=1 -UFACTOR",
        "-DFACTOR=1 -D OTHER=FACTOR", "-DFACTOR=", "-D__FACTOR__=1", "-Dcl_factor=1", "-DNO(a)=1",
        "-DFACTOR=1 -cl-unknown=a##b", "-cl-std=CL2.0", "-cl-unknown"}) {
    const std::string other =
        std::string(options).find("OTHER") == std::string::npos ? "" : "OTHER";
    EXPECT_EQ(options_left(options, same + "int " + other + ";\n"), options);
  }
  EXPECT_EQ(options_left("-cl-fast-relaxed-math", "#ifdef __FAST_RELAXED_MATH__\n#endif\n"),
            "-cl-fast-relaxed-math");
  EXPECT_EQ(options_left("-cl-finite-math-only", "#ifdef __FINITE_MATH_ONLY__\n#endif\n"),
            "-cl-finite-math-only");
}

/// Each build of a file has options of its own.
TEST(shrink, an_option_goes_from_its_own_build_alone) {
  Bundle start = chain();
  Plan& plan = *start.plan;
  start.kernels["scale.cl"] = "int USED;\n";
  for (Launch& launch : plan.launches) launch.options = "-DUSED=1 -DNOT_THERE";
  plan.launches[1].options = "-DUSED=2 -DNOT_THERE";
  plan.pack = {plan.launches[0]};
  plan.launches.erase(plan.launches.begin());
  Planted planted(start, Outcome::wrong, [](const Bundle& bundle) {
    EXPECT_EQ(bundle.plan->pack[0].options, bundle.plan->launches[1].options);
    return contains(bundle.plan->launches[0].options, "NOT_THERE");
  });
  EXPECT_TRUE(shrink_options(planted.shrinking));
  const Plan small = *planted.shrinking.smallest().plan;
  EXPECT_EQ(small.pack[0].options, "-DUSED=1");
  EXPECT_EQ(small.launches[0].options, "-DUSED=2 -DNOT_THERE");
  EXPECT_FALSE(shrink_options(planted.shrinking));
}

TEST(shrink, a_build_keeps_the_options_and_the_file_that_it_fails_with) {
  Bundle start = chain();
  start.variant = "chain";
  start.data_set = "any";
  start.plan->launches[2].file = "other.cl";
  start.plan->launches[2].options = "-U A -I there -DB -cl-std=CL1.2 -cl-unknown";
  start.kernels["other.cl"] = "guilty\n";
  Planted planted(start, Outcome::crashed, [](const Bundle& bundle) {
    return bundle.kernels.count("other.cl") > 0 &&
           contains(bundle.kernels.at("other.cl"), "guilty") &&
           (bundle.plan || contains(bundle.options, "-I there"));
  });
  const Bundle& small = planted.shrink();
  EXPECT_EQ(small.file, "other.cl");
  EXPECT_EQ(small.options, "-I there");
  EXPECT_EQ(small.variant + small.data_set, "");
  EXPECT_EQ(small.kernels.size(), 1u);
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

TEST(shrink, what_lies_under_conditions_comes_out_of_them) {
  const std::string text =
      "#if A\n#ifdef B\nint x = {\n#if C\nguilty\n#endif\n};\n#endif\n#endif\n";
  for (const Outcome outcome : {Outcome::crashed, Outcome::build_failed}) {
    Planted planted(build_of(text), outcome, [](const Bundle& bundle) {
      const std::string& now = bundle.kernels.at("a.cl");
      int depth = 0;
      std::istringstream stream(now);
      for (std::string line; std::getline(stream, line);) {
        depth += line.compare(0, 3, "#if") == 0 ? 1 : line == "#endif" ? -1 : 0;
      }
      return depth == 0 && contains(now, "{") == contains(now, "}") && contains(now, "guilty");
    });
    EXPECT_EQ(planted.shrink().kernels.at("a.cl"), "guilty\n");
    const std::string notes = nlohmann::json(planted.shrinking.notes()).dump();
    EXPECT_EQ(contains(notes, "is OpenCL C"), outcome == Outcome::build_failed) << notes;
  }
}

TEST(shrink, comments_and_empty_lines_go_in_one_step) {
  std::string text = "guilty_first\n";
  for (int i = 0; i < 300; ++i) text += i % 2 ? "  // a comment\n" : " \t\n\n";
  Planted planted(build_of(text + "guilty_last\n"), Outcome::crashed, [](const Bundle& bundle) {
    const std::string& now = bundle.kernels.at("a.cl");
    return contains(now, "guilty_first") && contains(now, "guilty_last");
  });
  EXPECT_EQ(planted.shrink().kernels.at("a.cl"), "guilty_first\nguilty_last\n");
  EXPECT_LT(planted.runs, 10);
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
