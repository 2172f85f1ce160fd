// SPDX-License-Identifier: MIT
// cache.cpp - `clam cache`: what is kept on disk so that it need not be built again.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "clam/program_cache.hpp"
#include "cli.hpp"
#include "runtime/cache_folder.hpp"

namespace clam::cli {
namespace {

using Contents = CacheFolder::Contents;

constexpr const char* kOff = "off (CLAM_CACHE_DIR=off, or no home folder)";

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / CacheFolder::kMegabyte);
}

std::string limit_text(const CacheFolder& folder) {
  return fmt::format("{} MB", folder.limit() / CacheFolder::kMegabyte);
}

/// "1 program, 12 listings of Mali compilers"
std::string entries_text(const Contents& contents) {
  const std::string programs = counted(contents.programs, "program");
  if (contents.listings == 0) return programs;
  return fmt::format("{}, {} of Mali compilers", programs, counted(contents.listings, "listing"));
}

json contents_json(const Contents& contents) {
  return {{"entries", contents.entries()},
          {"programs", contents.programs},
          {"listings", contents.listings},
          {"bytes", contents.bytes}};
}

int cache(Cli& cli, bool clears) {
  CacheFolder folder(ProgramCache::default_dir(), ProgramCache::limit_from_environment());
  json report;
  if (folder.dir().empty()) {
    cli.out.line(fmt::format("place    {}", kOff));
  } else if (clears) {
    const Contents removed = folder.clear();
    cli.out.line(fmt::format("removed {}, {}, from {}", entries_text(removed),
                             megabytes(removed.bytes), folder.dir()));
    report["removed"] = contents_json(removed);
  } else {
    const Contents contents = folder.contents();
    cli.out.line(fmt::format("place    {}", folder.dir()));
    cli.out.line(fmt::format("entries  {}", entries_text(contents)));
    cli.out.line(fmt::format("size     {}", megabytes(contents.bytes)));
    cli.out.line(fmt::format("limit    {}; what was not used for the longest time goes first",
                             limit_text(folder)));
  }
  report.update(cache_json());
  cli.out.report("clam_cache", report);
  return kFine;
}

}  // namespace

std::string cache_text() {
  const CacheFolder folder(ProgramCache::default_dir(), ProgramCache::limit_from_environment());
  if (folder.dir().empty()) return kOff;
  const Contents contents = folder.contents();
  return fmt::format("{}, {}, {} of at most {}", folder.dir(), entries_text(contents),
                     megabytes(contents.bytes), limit_text(folder));
}

json cache_json() {
  const CacheFolder folder(ProgramCache::default_dir(), ProgramCache::limit_from_environment());
  json report = contents_json(folder.contents());
  report["dir"] = folder.dir();
  report["limit_bytes"] = folder.limit();
  return report;
}

void add_cache(CLI::App& app, Cli& cli) {
  const auto [sub, clears] = add_command<bool>(
      app, cli, "cache", "the folder of built programs: where it is, how large, how to empty it",
      cache);
  sub->add_flag("--clear", *clears, "remove what is in it");
}

}  // namespace clam::cli
