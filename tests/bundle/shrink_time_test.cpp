// SPDX-License-Identifier: MIT
// shrink_time_test.cpp - `clam shrink` where its own processes take long, or go wrong: each is
// started through a shell script, as through an emulator. How long is said by the clock of the
// scripted OpenCL.
#include <fmt/core.h>

#include <filesystem>

#include "bundle_runs.hpp"
#include "scripted.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using scripted::SharedClock;

/// A softmax that is wrong, recorded.
void record_wrong(const TemporaryFolder& folder) {
  const TemporaryFolder kernels;
  break_softmax(kernels, "1.01");
  const Finished finished = record(folder, {kSoftmax}, &kernels, scripted::on());
  ASSERT_EQ(finished.code, 0) << finished.err;
}

/// Has this program's own processes do `script` first, whose words are "$*".
std::string through(const TemporaryFolder& folder, const std::string& script) {
  write_file(folder.file("through.sh"), script + "\nexec \"$@\"\n");
  return "CLAM_EMULATOR=/bin/sh " + folder.file("through.sh");
}

Finished shrink(const TemporaryFolder& folder, const std::string& script,
                const SharedClock& clock) {
  std::vector<std::string> environment = clock.on();
  environment.push_back(through(folder, script));
  return run_clam({"shrink", folder.file("case"), "--no-proof", "--times", "1", "--time", "5"},
                  environment);
}

/// A reference that does not end, and does `then` once it is asked.
std::string slow_reference(const std::string& then) {
  return "case \"$*\" in *--reference-only) echo $$ >> \"${0%/*}/asked\"; " + then +
         " exec sleep 1000 ;; esac";
}

/// Whether the first process that was asked is gone.
bool is_ended(const TemporaryFolder& folder) {
  return !fs::exists("/proc/" + std::to_string(std::stol(read_file(folder.file("asked")))));
}

TEST(shrink_time_scripted, a_reference_that_has_begun_ends_with_the_time) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  record_wrong(folder);
  const SharedClock clock;
  const Finished finished = shrink(folder, slow_reference(clock.jump() + ";"), clock);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(is_ended(folder));
  EXPECT_TRUE(contains(finished.out, "so this is the smallest so far")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "its reference takes longer than there is time"))
      << finished.out;
  EXPECT_FALSE(read_bundle(folder.file("case-small")).shrunk->complete);
}

TEST(shrink_time_scripted, a_reference_that_has_begun_ends_when_it_is_interrupted) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  record_wrong(folder);
  const SharedClock clock;
  const Finished finished = run_shell(
      fmt::format(
          "cd '{0}' && {{ {1} \"$CLAM\" shrink case --no-proof --times 1 > out & "
          "for i in $(seq 36000); do sleep 0.1; kill -0 $! || break; [ -e asked ] && break; done; "
          "kill -TERM $!; wait $!; }}",
          folder.path(), "env '" + through(folder, slow_reference("")) + "'"),
      clock.on());
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(is_ended(folder));
  EXPECT_TRUE(contains(read_file(folder.file("out")), "interrupted")) << finished.out;
}

TEST(shrink_time_scripted, a_reference_that_fails_costs_the_extents_and_is_said) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  record_wrong(folder);
  const SharedClock clock;
  const Finished finished =
      shrink(folder, "case \"$*\" in *--reference-only) kill -9 $$ ;; esac", clock);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(contains(finished.out, "its reference gave nothing, and ended with 137"))
      << finished.out;
}

/// The last run of the smallest crashes and says why; what the search saw was wrong results.
TEST(shrink_time_scripted, the_last_run_of_the_smallest_hides_nothing_that_the_search_saw) {
  CLAM_NEEDS_DEVICE();
  for (const bool fails_otherwise : {true, false}) {
    const TemporaryFolder folder;
    record_wrong(folder);
    const std::string otherwise = fails_otherwise ? "kill -SEGV $$" : "";
    const Finished finished =
        shrink(folder,
               "case \"$*\" in *--here*case-small*|*case-small*--here*) echo last words >&2; " +
                   otherwise + " ;; esac",
               SharedClock());
    EXPECT_EQ(finished.code, 0) << finished.err;
    const Bundle small = read_bundle(folder.file("case-small"));
    EXPECT_EQ(small.seen.outcome, Seen::Outcome::wrong) << small.seen.text();
    EXPECT_EQ(small.problem, "softmax shape=1 dtype=f32");
    EXPECT_EQ(fs::exists(folder.file("case-small/driver.log")), !fails_otherwise);
    EXPECT_EQ(fs::exists(folder.file("case-small/build.log")), !fails_otherwise);
    const std::string readme = read_file(folder.file("case-small/README.md"));
    EXPECT_FALSE(contains(readme, "signal 11")) << readme;
  }
}

}  // namespace
}  // namespace clam::test
