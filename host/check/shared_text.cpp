// SPDX-License-Identifier: MIT
#include "shared_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "clam/error.hpp"
#include "runtime/atomic_file.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;

const std::string kBegin = "//@shared", kEnd = "//@end";

/// What stands behind the head of a shared file, which ends at the first empty line.
std::string body_of(const std::string& name, const std::string& text) {
  const std::size_t head = text.find("\n\n");
  if (head == text.npos || text.back() != '\n') {
    throw BadArgument(fmt::format(
        "shared/{}.cl: needs a head, an empty line, and text that ends with its line", name));
  }
  return text.substr(head + 2);
}

}  // namespace

std::string with_shared_text(const std::string& file, const std::string& text,
                             const SharedSource& source) {
  std::istringstream lines(text);
  std::string result, open;
  int number = 0;
  const auto reject = [&](const std::string& what) {
    throw BadArgument(fmt::format("{}:{}: {}", file, number, what));
  };
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const bool begins = line.compare(0, kBegin.size(), kBegin) == 0;
    if (begins && !open.empty()) reject(fmt::format("the copy of {} has no //@end yet", open));
    if (line == kEnd && open.empty()) reject("this //@end ends nothing");
    if (line == kEnd) open.clear();
    if (open.empty()) result += line + "\n";
    if (!begins) continue;
    open = line.substr(std::min(line.find_first_not_of(' ', kBegin.size()), line.size()));
    if (open.empty()) reject("//@shared needs a name");
    result += body_of(open, source(open));
  }
  if (!open.empty()) reject(fmt::format("the copy of {} has no //@end", open));
  return result;
}

std::vector<std::string> sync_shared_text(const std::string& folder) {
  const auto source = [&](const std::string& name) {
    return read_file(folder + "/shared/" + name + ".cl");
  };
  if (!fs::is_directory(folder + "/shared")) {
    throw BadArgument(in_quotes(folder) +
                      " is no folder of kernels with a folder shared in it: give one like kernels");
  }
  std::vector<std::string> changed;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".cl") continue;
    const std::string text = read_file(entry.path().string());
    const std::string synced = with_shared_text(file, text, source);
    if (synced == text) continue;
    write_file(entry.path().string(), synced);
    changed.push_back(file);
  }
  std::sort(changed.begin(), changed.end());
  return changed;
}

}  // namespace clam
