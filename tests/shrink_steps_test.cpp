// SPDX-License-Identifier: MIT
// shrink_steps_test.cpp - launches, options and text that a fault does not need, without a device.
#include <gtest/gtest.h>

#include <algorithm>

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
