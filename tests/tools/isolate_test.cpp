// SPDX-License-Identifier: MIT
// isolate_test.cpp - processes that crash or never end, and `clam verify` with a row in each.
#include "process/isolate.hpp"

#include <stdlib.h>

#include "clam/error.hpp"
#include "run_clam.hpp"
#include "scripted.hpp"
#include "tests/bundle/break_pack.hpp"

namespace clam::test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kDense = "dense m=9 n=16 k=12 dtype=f32";
constexpr const char* kSoftmax = "softmax shape=3x5 dtype=f32";

// Where a process is to end by itself: however slow the machine is, it does.
constexpr milliseconds kAmple{600000};

Fate shell(const std::string& script, milliseconds limit = kAmple) {
  return run_isolated({"/bin/sh", "-c", script}, limit);
}

TEST(isolate, what_a_process_prints_and_how_it_ended_comes_back) {
  const Fate fate = shell("echo one; echo two; exit 3");
  EXPECT_EQ(fate.out, "one\ntwo\n");
  EXPECT_EQ(fate.code, 3);
  EXPECT_FALSE(fate.misfortune());
}

TEST(isolate, it_works_where_it_is_told) {
  const TemporaryFolder folder;
  const Fate fate = run_isolated({"/bin/sh", "-c", "pwd"}, kAmple, {folder.path()});
  EXPECT_EQ(fate.out, folder.path() + "\n");
  EXPECT_EQ(run_isolated({"/bin/sh", "-c", "pwd"}, kAmple, {"/nowhere"}).code, 126);
}

TEST(isolate, a_crash_is_a_sentence) {
  const Fate fate = shell("echo before; kill -SEGV $$");
  EXPECT_EQ(fate.out, "before\n");
  ASSERT_TRUE(fate.misfortune());
  EXPECT_EQ(*fate.misfortune(), "its process was ended by signal 11 (Segmentation fault)");
}

/// By the clock of the scripted OpenCL, which the process itself moves on once it has begun. What
/// it printed before comes back, also where nobody looked between that and the end of its time.
TEST(isolate_scripted, what_never_ends_is_ended) {
  CLAM_ON_SCRIPTED_CLOCK();
  const scripted::SharedClock clock;
  scripted::play(clock.in());
  const Fate fate =
      shell("echo begun; " + clock.jump() + "; while :; do :; done", milliseconds(300));
  EXPECT_EQ(fate.out, "begun\n");
  EXPECT_TRUE(fate.hung);
  EXPECT_NE(fate.misfortune()->find("gave no result"), std::string::npos);
}

/// Whoever looks is stopped until the other has ended, and its time is over.
TEST(isolate_scripted, what_ended_while_nobody_looked_was_in_time) {
  CLAM_ON_SCRIPTED_CLOCK();
  const scripted::SharedClock clock;
  scripted::play(clock.in());
  const std::string goes_on =
      "for i in $(seq 60000); do grep -q ' Z ' /proc/$$/stat && break; sleep .01; done; "
      "kill -CONT $PPID";
  const Fate fate = shell("kill -STOP $PPID; (" + goes_on + ") >/dev/null & " + clock.jump() +
                              "; echo one; echo two; printf three; exit 3",
                          milliseconds(300));
  EXPECT_EQ(fate.out, "one\ntwo\nthree\n");
  EXPECT_EQ(fate.code, 3);
  EXPECT_FALSE(fate.hung);
}

TEST(isolate, what_never_stops_printing_is_ended_and_little_of_it_kept) {
  for (const char* script : {"exec yes", "exec tr '\\0' x < /dev/zero", "yes >&2 & exec sleep 100",
                             "yes >&2 & exec tr '\\0' x < /dev/zero"}) {
    const Fate fate = run_isolated({"/bin/sh", "-c", script}, milliseconds(1000), {"", true});
    EXPECT_TRUE(fate.hung) << script;
    EXPECT_LE(fate.out.size(), std::size_t{33} << 20) << script;
    EXPECT_LE(fate.errors.size(), std::size_t{1} << 20) << script;
  }
}

TEST(isolate, of_errors_the_end_is_kept_also_where_nobody_waits_for_output) {
  for (const char* before : {"", "exec >&-; "}) {
    const Fate fate = run_isolated(
        {"/bin/sh", "-c",
         before + std::string("echo first >&2; yes | head -c 5000000 >&2; echo last >&2; exit 3")},
        kAmple, {"", true});
    EXPECT_EQ(fate.code, 3);
    EXPECT_EQ(fate.errors.size(), std::size_t{1} << 20);
    EXPECT_EQ(fate.errors.substr(fate.errors.size() - 7), "y\nlast\n");
  }
  const Fate quiet = run_isolated({"/bin/sh", "-c", "echo one >&2"}, kAmple, {"", true});
  EXPECT_EQ(quiet.errors, "one\n");
  EXPECT_EQ(quiet.out, "");
}

TEST(isolate, a_line_of_any_length_comes_back) {
  const Fate fate = shell("head -c 5000000 /dev/zero | tr '\\0' x; echo; printf end");
  EXPECT_EQ(fate.out, std::string(5000000, 'x') + "\nend\n");
  EXPECT_FALSE(fate.hung);
}

TEST(isolate, in_an_emulator_this_program_is_started_through_it) {
  EXPECT_EQ(own_command(), std::vector<std::string>{own_program()});
  ::setenv("CLAM_EMULATOR", "/bin/echo -E A=1", 1);
  const std::vector<std::string> words{"/bin/echo", "-E", "A=1", own_program()};
  EXPECT_EQ(own_command(), words);
  EXPECT_TRUE(contains(run_isolated(own_command(), kAmple).out, own_program()));
  ::unsetenv("CLAM_EMULATOR");
}

/// Some loaders of OpenCL end these lists at their first ':' when they read them.
TEST(isolate_scripted, lists_of_drivers_reach_it_whole) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_file(folder.file("through.sh"),
             "echo \"$OCL_ICD_FILENAMES\" >>'" + folder.file("seen") + "'; exec \"$@\"\n");
  std::vector<std::string> environment = scripted::on();
  environment.push_back("CLAM_EMULATOR=/bin/sh " + folder.file("through.sh"));
  environment.push_back("OCL_ICD_FILENAMES=libone.so:libother.so");
  run_clam({"verify", "--isolate", "softmax shape=3x5 dtype=f32"}, environment);
  EXPECT_EQ(read_file(folder.file("seen")), "libone.so:libother.so\n");
}

TEST(isolate, a_program_that_is_not_there_is_127) {
  EXPECT_EQ(run_isolated({"/nowhere/at-all"}, kAmple).code, 127);
}

Finished verify(std::vector<std::string> words, const TemporaryFolder* kernels = nullptr,
                std::vector<std::string> environment = {}) {
  words.insert(words.begin(), {"verify", kDense, kSoftmax});
  if (kernels) {
    environment.insert(environment.end(),
                       {"CLAM_KERNEL_DIR=" + kernels->path(), "CLAM_CACHE_DIR=off"});
  }
  return run_clam(words, environment);
}

json results(const Finished& finished) { return parse_out(finished).at("results"); }

TEST(isolate_device, honest_rows_are_the_same_in_a_process_of_their_own) {
  CLAM_NEEDS_DEVICE();
  const Finished own = verify({"--isolate"});
  EXPECT_EQ(own.code, 0) << own.out << own.err;
  EXPECT_EQ(own.out, verify({"--no-isolate"}).out);
  EXPECT_EQ(results(verify({"--isolate", "--json", "-"})),
            results(verify({"--no-isolate", "--json", "-"})));
}

TEST(isolate_device, a_wrong_result_is_told_as_ever) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_kernel(kernels, "softmax.cl", "1.0f / ", "1.01f / ");
  const Finished own = verify({"--isolate"}, &kernels);
  EXPECT_EQ(own.code, 1) << own.out << own.err;
  EXPECT_EQ(own.out, verify({"--no-isolate"}, &kernels).out);
}

TEST(isolate_broken, a_crash_costs_one_row) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  break_pack(kernels, "*(volatile __global int*)8 = 1;");
  const Finished finished = verify({"--isolate"}, &kernels);
  EXPECT_EQ(finished.code, 3) << finished.out << finished.err;
  const bool dies = runtime().device().type == "cpu";  // a GPU refuses the write
  EXPECT_TRUE(
      contains(finished.out, dies ? "ended by signal 11 (Segmentation fault)" : " failed: "))
      << finished.out;
  EXPECT_TRUE(contains(finished.out, "1 passed, 1 failed, 0 skipped")) << finished.out;
}

/// The kernel really never ends; that the limit is over the script says.
TEST(isolate_scripted, a_hang_costs_one_row) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder kernels;
  const scripted::SharedClock clock;
  const auto forever = clock.on({{"costs", {{{"kernel", "dense_pack_w"}, {"us", 1e12}}}}});
  break_pack(kernels, "for (volatile int again = 0; again < 2; again = 0)");
  const Finished finished = verify({"--isolate", "--limit", "5"}, &kernels, forever);
  EXPECT_EQ(finished.code, 3) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "gave no result for 5 s")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "1 passed, 1 failed, 0 skipped")) << finished.out;
}

}  // namespace
}  // namespace clam::test
