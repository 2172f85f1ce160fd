// SPDX-License-Identifier: MIT
// bundle_endings_test.cpp - what is left where recording and replaying cannot go on: by a signal,
// by folders that are no bundles, by one that cannot be written.
#include <filesystem>

#include "break_pack.hpp"
#include "bundle_runs.hpp"
#include "scripted.hpp"
#include "signalled.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kDense = "dense m=9 n=16 k=12 dtype=f32";

TEST(bundle_endings_device, a_folder_with_all_kinds_of_things_is_replayed) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write(folder, scale_bundle());
  fs::create_directory(folder.file("empty"));
  fs::create_directory_symlink(folder.file("nowhere"), folder.file("dangling"));
  write_file(folder.file("thesis.txt"), "mine");
  for (const char* name : {"broken", "newer"}) fs::copy(folder.file("case"), folder.file(name));
  fs::remove(folder.file("broken/plan.json"));
  write_file(folder.file("newer/case.json"), R"({"clam_bundle": 9, "clam": "7.0"})");
  const Finished finished = run_clam({"replay", "--all", folder.path(), "--json", "-"});
  EXPECT_EQ(finished.code, 2) << finished.err;
  const json results = parse_out(finished).at("results");
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].at("verdict"), "unreadable");
  EXPECT_TRUE(contains(results[0].at("reason"), "plan.json")) << results[0];
  EXPECT_EQ(results[1].at("verdict"), "still right");
  EXPECT_EQ(results[2].at("verdict"), "unreadable");
  EXPECT_EQ(results[2].at("reason"),
            "a newer clam wrote it (7.0): this one reads version 1, not 9");
}

/// Root may write everywhere, but not a folder in a file's place.
TEST(bundle_endings_device, a_row_that_cannot_be_written_leaves_the_verdict) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write(folder, scale_bundle());
  fs::remove(folder.file("case/README.md"));
  fs::create_directory(folder.file("case/README.md"));
  const Finished finished = replay(folder, {"--add-proof"});
  EXPECT_EQ(finished.code, 0) << finished.out;
  EXPECT_TRUE(contains(finished.out, "still right")) << finished.out;
  EXPECT_TRUE(contains(finished.err, "this is not in its proof: cannot write ")) << finished.err;
}

int clam_when_signalled(const TemporaryFolder& folder, const std::string& words, const char* signal,
                        const std::vector<std::string>& environment) {
  return code_when_signalled(folder, CLAM_BINARY " " + words, signal, environment);
}

TEST(bundle_endings_scripted, a_signal_leaves_nothing_half_written) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_pack(kernels, "for (volatile int again = 0; again < 2; again = 0)");
  const std::vector<std::string> hanging{"CLAM_KERNEL_DIR=" + kernels.path(), "CLAM_CACHE_DIR=off"};
  const std::string problem = fmt::format("'{}' --limit 60 --no-proof", kDense);
  EXPECT_EQ(clam_when_signalled(folder, "record " + problem + " -o case", "TERM", hanging),
            128 + 15);
  EXPECT_EQ(clam_when_signalled(folder, "record " + problem + " -o case", "INT", hanging), 128 + 2);
  EXPECT_TRUE(fs::is_empty(folder.file("tmp")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  {
    const scripted::SharedClock clock;
    const auto forever = clock.on({{"costs", {{{"kernel", "dense_pack_w"}, {"us", 1e12}}}}});
    ASSERT_EQ(record(folder, {kDense, "--limit", "5"}, &kernels, forever).code, 0);
  }
  const auto before = files_of(folder.file("case"));
  EXPECT_EQ(clam_when_signalled(folder, "replay case", "INT", {}), 128 + 2);
  EXPECT_EQ(clam_when_signalled(folder, "record --force " + problem + " -o case", "INT", hanging),
            128 + 2);
  const std::vector<std::string> lying = scripted::on(scripted::lying("clFinish", "hang"));
  EXPECT_EQ(clam_when_signalled(folder, "probe profiling-finish-hang", "HUP", lying), 128 + 1);
  EXPECT_TRUE(fs::is_empty(folder.file("tmp")));
  EXPECT_TRUE(files_of(folder.file("case")) == before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 2);
}

}  // namespace
}  // namespace clam::test
