// SPDX-License-Identifier: MIT
// What kernel files share has one source, and no other text stands in two of them.
#include "check/shared_text.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "check/ops/shared/random.hpp"
#include "clam/error.hpp"
#include "clam/kernels.hpp"
#include "contains.hpp"
#include "pattern.hpp"
#include "run_clam.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::test {
namespace {

const std::string kKernels = std::string(CLAM_SOURCE_DIR) + "/kernels";
constexpr const char* kHead = "// SPDX-License-Identifier: MIT\n// what it is\n\n";

/// The most lines of code that two places may have alike: parameter lists of kernels are.
constexpr std::size_t kMostAlike = 8;

std::string source(const std::string& name) {
  return read_file(kKernels + "/shared/" + name + ".cl");
}

std::string synced(const std::string& text) {
  return with_shared_text("dense.cl", text, [](const std::string& name) {
    return kHead + ("int " + name + "(int x) { return x; }\n");
  });
}

TEST(shared_text, every_copy_is_that_of_its_source) {
  std::set<std::string> used;
  for (const std::string& file : embedded_files()) {
    const std::string text = read_file(kKernels + "/" + file);
    EXPECT_EQ(with_shared_text(file, text,
                               [&](const std::string& name) {
                                 used.insert(name);
                                 return source(name);
                               }),
              text)
        << file << ": build/clam manifest --sync kernels writes it";
  }
  for (const auto& entry : std::filesystem::directory_iterator(kKernels + "/shared")) {
    EXPECT_EQ(used.count(entry.path().stem().string()), 1u) << entry.path() << " is in no kernel";
  }
}

TEST(shared_text, a_copy_is_written_anew) {
  EXPECT_EQ(synced("a\n//@shared same\nold\nolder\n//@end\nb\n"),
            "a\n//@shared same\nint same(int x) { return x; }\n//@end\nb\n");
}

/// A switch is not defined by default; names cannot be compared, and any number is legal without a
/// list.
TEST(shared_text, options_are_made_of_the_tags) {
  const std::string tags =
      "//@define A_F16 off\n//@define A_ACT none {none,relu}\n//@define A_LD 0\n"
      "//@define A_WG 4 {1,2,4,8}\n//@define A_ROWS 1 {1,2,3,4}\n//@define A_VEC 1 {1,2,4}\n"
      "//@define A_SUM 6 {1,2,3,4,6}\n//@kernel a\n//@global 1\n//@local 1\n";
  EXPECT_EQ(synced(tags + "//@shared options\nold\n//@end\n"),
            tags +
                "//@shared options\n"
                "#ifndef A_ACT\n#define A_ACT none\n#endif\n"
                "#ifndef A_LD\n#define A_LD 0\n#endif\n"
                "#ifndef A_WG\n#define A_WG 4\n#endif\n"
                "#if A_WG < 1 || A_WG > 8 || A_WG & (A_WG - 1)\n"
                "#error \"dense.cl: A_WG must be a power of two from 1 to 8\"\n#endif\n"
                "#ifndef A_ROWS\n#define A_ROWS 1\n#endif\n"
                "#if A_ROWS < 1 || A_ROWS > 4\n"
                "#error \"dense.cl: A_ROWS must be 1 to 4\"\n#endif\n"
                "#ifndef A_VEC\n#define A_VEC 1\n#endif\n"
                "#if A_VEC != 1 && A_VEC != 2 && A_VEC != 4\n"
                "#error \"dense.cl: A_VEC must be 1, 2 or 4\"\n#endif\n"
                "#ifndef A_SUM\n#define A_SUM 6\n#endif\n"
                "#if A_SUM != 1 && A_SUM != 2 && A_SUM != 3 && \\\n    A_SUM != 4 && A_SUM != 6\n"
                "#error \"dense.cl: A_SUM must be 1, 2, 3, 4 or 6\"\n#endif\n"
                "//@end\n");
}

TEST(shared_text, options_of_a_copy_are_options_of_the_file) {
  const std::string text =
      "//@shared options\n//@end\n//@shared act\n//@end\n//@kernel a\n//@global 1\n//@local 1\n";
  const std::string written = with_shared_text("a.cl", text, [](const std::string&) {
    return kHead + std::string("//@define A_ALPHA 0.2f\n");
  });
  EXPECT_TRUE(contains(written, "#define A_ALPHA 0.2f\n")) << written;
}

TEST(shared_text, marks_that_do_not_match_are_refused) {
  EXPECT_THROWS_SAYING(synced("a\n//@shared one\nb\n"), BadArgument,
                       "dense.cl:3: the copy of one has no //@end");
  EXPECT_THROWS_SAYING(synced("//@shared one\n//@shared two\n//@end\n"), BadArgument,
                       "dense.cl:2: the copy of one has no //@end yet");
  EXPECT_THROWS_SAYING(synced("a\n//@end\n"), BadArgument, "dense.cl:2: this //@end ends nothing");
  EXPECT_THROWS_SAYING(synced("//@shared\n//@end\n"), BadArgument,
                       "dense.cl:1: //@shared needs a name");
  EXPECT_THROWS_SAYING(
      with_shared_text("dense.cl", "//@shared x\n//@end\n", [](const std::string&) { return "x"; }),
      BadArgument, "shared/x.cl: needs a head, an empty line");
}

TEST(shared_text, the_command_writes_a_changed_source_into_all_files) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("shared"));
  write_file(folder.file("shared/one.cl"), std::string(kHead) + "int one;\n");
  write_file(folder.file("a.cl"), "//@shared one\n//@end\n");
  write_file(folder.file("b.cl"), "int b;\n");
  const Finished wrote = run_clam({"manifest", "--sync", folder.path()});
  EXPECT_EQ(wrote.code, 0) << wrote.err;
  EXPECT_EQ(wrote.out, "wrote " + folder.file("a.cl") + "\n");
  EXPECT_EQ(read_file(folder.file("a.cl")), "//@shared one\nint one;\n//@end\n");
  const Finished again = run_clam({"manifest", "--sync", folder.path()});
  EXPECT_EQ(again.out, "every copy is that of its source\n");
  write_file(folder.file("b.cl"), "//@shared two\n//@end\n");
  const Finished missing = run_clam({"manifest", "--sync", folder.path()});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(contains(missing.err, "shared/two.cl")) << missing.err;
  for (const char* no_kernels : {"none", "shared", "a.cl"}) {
    const Finished refused = run_clam({"manifest", "--sync", folder.file(no_kernels)});
    EXPECT_EQ(refused.code, 2);
    EXPECT_TRUE(contains(refused.err, "is no folder of kernels")) << refused.err;
  }
}

// ---- copies by hand ----

/// Lines of code with one blank between words. Comments, options with their defaults and checks,
/// and shared text are none of them; shared text parts what stands around it.
std::vector<std::string> code_of(const std::string& text) {
  const char* not_code = "#\\s*(if|ifdef|ifndef|else|elif|endif|error)\\b.*|#define \\w+( [^(]*)?";
  std::vector<std::string> code;
  std::istringstream lines(text);
  bool shared = false;
  for (std::string line; std::getline(lines, line);) {
    line = replaced(replaced(line, "\\s+", " "), "^ | ?\\\\?$", "");
    if (line.rfind("//@shared", 0) == 0) {
      shared = true;
      code.push_back("shared text " + std::to_string(code.size()));
    }
    if (!shared && !line.empty() && line.rfind("//", 0) != 0 && match(line, not_code).empty()) {
      code.push_back(line);
    }
    if (line == "//@end") shared = false;
  }
  return code;
}

/// Runs of more lines than kMostAlike that stand in two places.
std::vector<std::string> copies(const std::map<std::string, std::string>& files) {
  std::map<std::vector<std::string>, std::string> first;
  std::vector<std::string> found;
  for (const auto& [file, text] : files) {
    const std::vector<std::string> code = code_of(text);
    for (std::size_t i = 0; i + kMostAlike < code.size(); ++i) {
      const std::vector<std::string> run(
          code.begin() + static_cast<std::ptrdiff_t>(i),
          code.begin() + static_cast<std::ptrdiff_t>(i + kMostAlike + 1));
      const auto [at, is_new] = first.emplace(run, file);
      if (is_new || code[i].rfind("shared text", 0) == 0) continue;
      found.push_back(at->second + " and " + file + " have: " + code[i]);
    }
  }
  return found;
}

TEST(shared_text, kernel_files_have_no_copies_by_hand) {
  std::map<std::string, std::string> files;
  for (const std::string& file : embedded_files()) files[file] = KernelFiles().get(file).text;
  EXPECT_EQ(copies(files), std::vector<std::string>());
}

TEST(shared_text, a_copy_by_hand_is_seen_and_a_shared_one_is_none) {
  std::string function = "float f(float x) {\n";
  for (int i = 0; i < 9; ++i) function += "  x = x * " + std::to_string(i) + ";\n";
  EXPECT_EQ(copies({{"a.cl", "int a;\n" + function}, {"b.cl", "// why\n" + function}}).front(),
            "a.cl and b.cl have: float f(float x) {");
  const std::string shared = "//@shared f\n" + function + "//@end\n";
  EXPECT_EQ(copies({{"a.cl", shared}, {"b.cl", shared}}), std::vector<std::string>());
}

// ---- divide ----

/// Dividends and divisors up to the largest int: multiples, and what lies next to them.
struct Divisions {
  std::vector<cl_int> a, b;

  Divisions() {
    Random random(seed());
    for (int i = 0; i < 31 * 200; ++i) {
      const int power = 1 << (i % 31), high = power - 1 + power;
      const int divisor = i < 62 ? power - i / 31 : random.integer(power, high);
      if (divisor < 1) continue;
      const int most = kLargest / divisor;
      for (const std::int64_t of : {random.integer(0, most - 1), 1, most}) {
        for (const int more : {-1, 0, 1}) add(of * divisor + more, divisor);
      }
      add(kLargest, divisor);
    }
    add(kLargest, kLargest);
  }

 private:
  static constexpr int kLargest = 2147483647;
  void add(std::int64_t dividend, int divisor) {
    if (dividend < 0 || dividend > kLargest) return;
    a.push_back(static_cast<cl_int>(dividend));
    b.push_back(divisor);
  }
};

/// How many quotients of shared/divide.cl are wrong, where half_recip is off by the factor `off`.
int wrong_quotients(const std::string& off) {
  const Divisions all;
  std::string text = source("divide") +
                     "__kernel void each(__global int* a, __global int* b) {\n"
                     "  const int i = get_global_id(0);\n  b[i] = divide(a[i], b[i]);\n}\n";
  const std::string call = "half_recip(of)";
  text.replace(text.find(call), call.size(), off + " * " + call);
  cl::Program program(runtime().context(), text);
  program.build("-cl-std=CL1.2");
  cl::CommandQueue queue = runtime().queue();
  std::vector<cl_int> quotients = all.b;
  const cl::Buffer a(queue, all.a.begin(), all.a.end(), true);
  const cl::Buffer b(queue, quotients.begin(), quotients.end(), false);
  cl::KernelFunctor<cl::Buffer, cl::Buffer> each(program, "each");
  each(cl::EnqueueArgs(queue, cl::NDRange(quotients.size())), a, b);
  cl::copy(queue, b, quotients.begin(), quotients.end());
  int wrong = 0;
  for (std::size_t i = 0; i < quotients.size(); ++i) wrong += quotients[i] != all.a[i] / all.b[i];
  return wrong;
}

/// OpenCL allows half_recip an error of 8192 ulp, which is 2^-10.
TEST(shared_text_device, divide_is_exact_with_the_worst_reciprocal_and_not_with_one_a_tenth_off) {
  CLAM_NEEDS_DEVICE();
  for (const char* off : {"1.0f", "1.00097f", "0.99903f"})
    EXPECT_EQ(wrong_quotients(off), 0) << off;
  EXPECT_GT(wrong_quotients("1.1f"), 0);
}

}  // namespace
}  // namespace clam::test
