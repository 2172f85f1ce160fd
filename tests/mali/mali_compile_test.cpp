// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "check/manifest.hpp"
#include "clam/error.hpp"
#include "clam/op.hpp"
#include "clam/planner.hpp"
#include "foreign_plan.hpp"
#include "mali/compile.hpp"
#include "mali/kernel_text.hpp"
#include "process/process.hpp"
#include "runtime/atomic_file.hpp"
#include "scripted.hpp"
#include "test_errors.hpp"

namespace clam::mali {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Status = KernelCode::Status;

constexpr seconds kAmple(600);  // of what is not to be waited for in vain

/// A folder with kernel files, and the stand-in compiler.
class FakeCompiler {
 public:
  FakeCompiler() {
    options.command = {std::string(CLAM_SOURCE_DIR) + "/tests/mali/fake_mali_compiler.sh"};
    options.cache_dir = folder_.file("cache");
    options.patience = kAmple;
    ::setenv("CLAM_FAKE_LOG", folder_.file("starts").c_str(), 1);
  }
  ~FakeCompiler() {
    ::unsetenv("CLAM_FAKE_LOG");
    ::unsetenv("CLAM_FAKE_START");
    ::unsetenv("CLAM_FAKE_HANG");
  }

  /// A file with one kernel a body.
  void write(const std::string& file, const std::vector<std::string>& bodies) {
    std::string text = "// text before\n";
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      text +=
          "__kernel void k" + std::to_string(i) + "(__global float* x) {\n  " + bodies[i] + "\n}\n";
    }
    write_file(folder_.file(file), text);
  }
  std::vector<KernelCode> compile(const std::vector<KernelId>& kernels) {
    return Compiler(find_gpu("g610"), KernelFiles("", folder_.file("")), options).compile(kernels);
  }
  int starts() const {
    if (!std::filesystem::exists(folder_.file("starts"))) return 0;
    const std::string log = read_file(folder_.file("starts"));
    return static_cast<int>(std::count(log.begin(), log.end(), '\n'));
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  CompilerOptions options;

 private:
  test::TemporaryFolder folder_;
};

std::vector<Status> statuses(const std::vector<KernelCode>& codes) {
  std::vector<Status> result;
  for (const KernelCode& code : codes) result.push_back(code.status);
  return result;
}

TEST(mali, process_gives_lines_and_the_exit_code) {
  Process process({"sh", "-c", "echo one; echo two >&2; printf \"$WORD\"; exit 7"}, {"WORD=three"});
  std::string line;
  for (const char* expected : {"one", "two", "three"}) {
    ASSERT_EQ(process.read_line(line, kAmple), Process::Read::line);
    EXPECT_EQ(line, expected);
  }
  EXPECT_EQ(process.read_line(line, kAmple), Process::Read::end);
  EXPECT_EQ(process.wait(), 7);
}

TEST(mali, process_that_is_silent_is_ended) {
  std::string line;
  pid_t child = 0;
  {
    Process process({"sh", "-c", "echo $$; exec sleep 1000"}, {});
    ASSERT_EQ(process.read_line(line, kAmple), Process::Read::line);
    child = std::stoi(line);
    EXPECT_EQ(process.read_line(line, milliseconds(50)), Process::Read::nothing);
  }
  EXPECT_EQ(::kill(child, 0), -1);
}

TEST(mali, process_that_only_closed_its_output_is_ended) {
  Process process({"sh", "-c", "exec >/dev/null 2>&1; exec sleep 1000"}, {});
  std::string line;
  EXPECT_EQ(process.read_line(line, kAmple), Process::Read::end);
  EXPECT_EQ(process.wait(), 128 + SIGKILL);
}

TEST(mali, process_that_does_not_exist_says_so) {
  Process process({"/nowhere/compiler"}, {});
  EXPECT_EQ(process.wait(), 127);
}

TEST(mali, only_kernels_keeps_lines_and_all_that_is_no_kernel) {
  const std::string text =
      "float helper() { return 1.0f; }  // { __kernel void ghost() {\n"
      "/* __kernel void ghost2() { */\n"
      "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void\none(int a) {\n"
      "  if (a) { a = '}' == a; }  // }\n  const char* s = \"}\";\n}\n"
      "__kernel void two(int a) { }\n"
      "#define LAST 1\n";
  const std::string cut = only_kernels(text, {"two"});
  EXPECT_EQ(std::count(cut.begin(), cut.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
  EXPECT_EQ(cut.find("one"), cut.npos);
  EXPECT_EQ(cut.find("const char"), cut.npos) << "a brace in quotes ends no block";
  EXPECT_NE(cut.find("helper"), cut.npos);
  EXPECT_NE(cut.find("__kernel void two(int a) { }\n#define LAST 1\n"), cut.npos);
  EXPECT_EQ(only_kernels(text, {"one", "two"}), text);
  const std::string broken = "__kernel void one(int a) {\n__kernel void two(int a) {}\n";
  EXPECT_EQ(only_kernels(broken, {"two"}), broken) << "what is not understood stays whole";
}

TEST(mali, only_kernels_knows_every_kernel_of_the_suite) {
  for (const std::string& file : embedded_files()) {
    const FileTags tags = read_tags(KernelFiles().get(file));
    const std::string text = KernelFiles().get(file).text;
    const std::string none = only_kernels(text, {});
    EXPECT_EQ(none.find("\n__kernel"), none.npos) << file;
    for (const KernelTags& kernel : tags.kernels) {
      const std::string one = only_kernels(text, {kernel.name});
      EXPECT_NE(one.find(" " + kernel.name + "("), one.npos) << file;
      EXPECT_EQ(one.find("\n__kernel"), one.rfind("\n__kernel")) << file;
    }
  }
}

TEST(mali, kernels_of_plans_are_distinct) {
  const DeviceInfo device = gpu_device(find_gpu("g610"));
  const Plan plan = make_plan(Problem::parse("dense m=192 n=512 k=512 dtype=f32 bias"), device);
  const std::vector<KernelId> kernels = kernels_of({plan, plan});
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].options, kernels[1].options);
  EXPECT_EQ(kernels[0].kernel, "dense_pack_w");
  EXPECT_EQ(kernels[1].kernel, "dense_packed");
}

TEST(mali, compile_fills_each_kernel_and_the_cache_saves_the_start) {
  FakeCompiler fake;
  fake.write("a.cl", {"", "", ""});
  const std::vector<KernelId> kernels{
      {"a.cl", "-DX=1", "k0"}, {"a.cl", "-DX=1", "k2"}, {"a.cl", "-DX=2", "k1"}};
  const std::vector<KernelCode> codes = fake.compile(kernels);
  ASSERT_EQ(codes.size(), 3u);
  EXPECT_EQ(statuses(codes), std::vector<Status>(3, Status::compiled));
  EXPECT_EQ(codes[1].shader.kernel, "k2");
  EXPECT_EQ(codes[2].options, "-DX=2");
  EXPECT_EQ(fake.starts(), 1);
  EXPECT_EQ(fake.compile(kernels)[1].listing, codes[1].listing);
  EXPECT_EQ(fake.starts(), 1) << "all of it was in the cache";
  fake.write("a.cl", {"", "", "int changed;"});
  fake.compile({kernels[2]});
  EXPECT_EQ(fake.starts(), 1) << "a kernel does not depend on its neighbours";
  fake.compile(kernels);
  EXPECT_EQ(fake.starts(), 2) << "another text is another program";
  fake.write("a.cl", {"// a remark", "/* and\n another */", "int changed;"});
  fake.compile(kernels);
  EXPECT_EQ(fake.starts(), 2) << "comments are not compiled";
}

TEST(mali, damaged_cache_entries_are_compiled_anew) {
  FakeCompiler fake;
  fake.write("a.cl", {""});
  const std::vector<KernelId> kernels{{"a.cl", "", "k0"}};
  const std::string listing = fake.compile(kernels)[0].listing;
  for (const char* damage : {"", "compiled\n", "compiled\nshader: half of", "nonsense"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(fake.options.cache_dir + "/mali")) {
      write_file(entry.path().string(), damage);
    }
    EXPECT_EQ(fake.compile(kernels)[0].listing, listing) << damage;
  }
  EXPECT_EQ(fake.starts(), 5);
}

TEST(mali, crash_loses_its_kernel_alone) {
  FakeCompiler fake;
  fake.write("a.cl", {"", "CRASH", ""});
  fake.write("b.cl", {""});
  const std::vector<KernelCode> codes = fake.compile(
      {{"a.cl", "", "k0"}, {"a.cl", "", "k1"}, {"a.cl", "", "k2"}, {"b.cl", "", "k0"}});
  EXPECT_EQ(statuses(codes), (std::vector<Status>{Status::compiled, Status::crashed,
                                                  Status::compiled, Status::compiled}));
  EXPECT_EQ(codes[1].reason, "the compiler ended with signal 6: thread panicked at half log");
}

/// By a clock that the compiler itself moves on, where it hangs.
TEST(mali_scripted, hang_loses_its_kernel_alone_and_is_tried_again_next_time) {
  CLAM_ON_SCRIPTED_CLOCK();
  const test::scripted::SharedClock clock;
  test::scripted::play(clock.in());
  FakeCompiler fake;
  ::setenv("CLAM_FAKE_HANG", clock.jump().c_str(), 1);
  fake.options.patience = seconds(2);
  fake.write("a.cl", {"HANG"});
  fake.write("b.cl", {""});
  const std::vector<KernelId> kernels{{"a.cl", "", "k0"}, {"b.cl", "", "k0"}};
  const std::vector<KernelCode> codes = fake.compile(kernels);
  EXPECT_EQ(statuses(codes), (std::vector<Status>{Status::hung, Status::compiled}));
  EXPECT_EQ(codes[0].reason, "nothing came from the compiler for 2 s");
  const int before = fake.starts();
  fake.compile(kernels);
  EXPECT_EQ(fake.starts(), before + 1);
}

TEST(mali, refused_and_misread_kernels_say_why) {
  FakeCompiler fake;
  fake.write("a.cl", {"REFUSE"});
  fake.write("b.cl", {"MUMBLE"});
  fake.write("c.cl", {""});
  const std::vector<KernelCode> codes = fake.compile(
      {{"a.cl", "-DX=1", "k0"}, {"b.cl", "", "k0"}, {"c.cl", "", "k0"}, {"c.cl", "", "not_there"}});
  EXPECT_EQ(statuses(codes), (std::vector<Status>{Status::refused, Status::unread, Status::compiled,
                                                  Status::unread}));
  EXPECT_NE(codes[0].reason.find("error: refused with -DX=1"), std::string::npos);
  EXPECT_NE(codes[1].reason.find("MUMBLE"), std::string::npos) << codes[1].reason;
  EXPECT_EQ(codes[3].reason, "the compiler printed no listing of it");
  fake.compile({{"a.cl", "-DX=1", "k0"}});
  EXPECT_EQ(fake.starts(), 1) << "what does not build is remembered";
  fake.compile({{"b.cl", "", "k0"}});
  EXPECT_EQ(fake.starts(), 2) << "a better reader may understand the listing";
}

TEST(mali, kernel_that_does_not_build_fails_alone_and_can_be_mended) {
  FakeCompiler fake;
  fake.write("a.cl", {"", "REFUSE", ""});
  fake.write("b.cl", {""});
  const std::vector<KernelId> kernels{
      {"a.cl", "", "k0"}, {"a.cl", "", "k1"}, {"a.cl", "", "k2"}, {"b.cl", "", "k0"}};
  EXPECT_EQ(
      statuses(fake.compile(kernels)),
      (std::vector<Status>{Status::compiled, Status::refused, Status::compiled, Status::compiled}));
  fake.write("a.cl", {"", "", ""});
  EXPECT_EQ(statuses(fake.compile(kernels)), std::vector<Status>(4, Status::compiled));
}

TEST(mali, crashes_are_tried_again) {
  FakeCompiler fake;
  fake.write("a.cl", {"CRASH"});
  const std::vector<KernelId> kernels{{"a.cl", "", "k0"}};
  EXPECT_EQ(fake.compile(kernels)[0].status, Status::crashed);
  EXPECT_EQ(fake.compile(kernels)[0].status, Status::crashed);
  EXPECT_EQ(fake.starts(), 2);
}

TEST(mali, crash_after_the_listings_loses_nothing) {
  FakeCompiler fake;
  fake.write("a.cl", {"LATE", ""});
  fake.write("b.cl", {""});
  EXPECT_EQ(statuses(fake.compile({{"a.cl", "", "k0"}, {"a.cl", "", "k1"}, {"b.cl", "", "k0"}})),
            std::vector<Status>(3, Status::compiled));
}

TEST(mali, compiler_that_cannot_run_here_says_why) {
  FakeCompiler fake;
  fake.write("a.cl", {""});
  ::setenv("CLAM_FAKE_START", "none", 1);
  const std::vector<KernelId> kernels{{"a.cl", "", "k0"}};
  EXPECT_THROWS_SAYING(fake.compile(kernels), Unsupported, "no compiler here");
  fake.options.command = {"/nowhere/compiler"};
  EXPECT_THROWS_SAYING(fake.compile(kernels), DeviceError, "/nowhere/compiler");
  fake.options.command = {"/bin/sh", "-c", "exit 77"};
  EXPECT_THROWS_SAYING(fake.compile(kernels), Unsupported, "for the reason above");
  fake.options.patience = seconds(1);
  fake.options.command = {"/bin/sh", "-c", "exec sleep 1000"};
  EXPECT_THROWS_SAYING(fake.compile(kernels), DeviceError, "says nothing");
  EXPECT_THROW(Compiler(find_gpu("g78"), KernelFiles(), fake.options), Unsupported);
}

TEST(mali, progress_counts_to_the_end) {
  FakeCompiler fake;
  fake.write("a.cl", {"", "CRASH"});
  std::vector<int> done;
  fake.options.progress = [&](int now, int total) {
    EXPECT_EQ(total, 2);
    done.push_back(now);
  };
  fake.compile({{"a.cl", "", "k0"}, {"a.cl", "", "k1"}});
  EXPECT_EQ(done.back(), 2);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
}

}  // namespace
}  // namespace clam::mali
