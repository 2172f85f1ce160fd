// SPDX-License-Identifier: MIT
// browser.hpp - opens pages in Chromium, without a window, and reads what became of them.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "command.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::test {

/// The program; empty where there is none. One that comes as a snap reads no temporary folder.
inline const std::string& chromium() {
  static const std::string path = [] {
    const std::string found = run_command({"/bin/sh", "-c", "command -v chromium"}).out;
    const std::string line = found.substr(0, found.find('\n'));
    return line.rfind("/snap/", 0) == 0 ? "" : line;
  }();
  return path;
}

struct Seen {
  std::string dom;      ///< the document after its scripts have run
  std::string console;  ///< what they complained of, a line each
};

enum class Scheme { light, dark };

/// `script` runs after the page's own. Give a page that is whole.
inline Seen look_at(std::string page, const std::string& script = "",
                    Scheme scheme = Scheme::light) {
  const TemporaryFolder folder;
  const std::size_t end = page.rfind("</body>");
  if (!script.empty()) page.insert(end, "<script>" + script + "</script>");
  write_file(folder.file("page.html"), page);
  const Finished finished = run_command(
      {"/usr/bin/timeout", "3600", chromium(), "--headless", "--no-sandbox", "--disable-gpu",
       "--disable-dev-shm-usage", "--user-data-dir=" + folder.file("profile"), "--no-first-run",
       "--window-size=1280,900", "--virtual-time-budget=3000", "--enable-logging=stderr",
       fmt::format("--blink-settings=preferredColorScheme={}", scheme == Scheme::dark ? 0 : 1),
       "--dump-dom", "file://" + folder.file("page.html")},
      {"HOME=" + folder.path()});
  EXPECT_EQ(finished.code, 0) << finished.err;
  Seen seen{finished.out, ""};
  std::istringstream lines(finished.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("CONSOLE") != line.npos) seen.console += line + "\n";
  }
  return seen;
}

}  // namespace clam::test

#define CLAM_NEEDS_BROWSER()                                      \
  if (::clam::test::chromium().empty()) {                         \
    GTEST_SKIP() << "chromium is not here (tools/setup browser)"; \
  }                                                               \
  static_assert(true, "")
