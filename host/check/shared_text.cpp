// SPDX-License-Identifier: MIT
#include "shared_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <sstream>

#include "clam/error.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/contracts.hpp"
#include "runtime/refuse.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;

const std::string kBegin = "//@shared", kEnd = "//@end", kOptions = "options";

/// What stands behind the head of a shared file, which ends at the first empty line.
std::string body_of(const std::string& name, const std::string& text) {
  const std::size_t head = text.find("\n\n");
  throw_if(head == text.npos || text.back() != '\n',
           "shared/{}.cl: needs a head, an empty line, and text that ends with its line", name);
  return text.substr(head + 2);
}

/// What refuses a number that is not legal, and says which are: a range, powers of two, or a list.
std::string refusal(const std::string& file, const DefineTag& define) {
  constexpr std::size_t kShort = 3;  // numbers that are listed
  std::vector<int> numbers;
  for (const std::string& value : define.values) numbers.push_back(std::stoi(value));
  const auto each = [&](auto follows) {
    return numbers.size() > kShort && std::adjacent_find(numbers.begin(), numbers.end(),
                                                         std::not_fn(follows)) == numbers.end();
  };
  const bool range = each([](int a, int b) { return b == a + 1; });
  const bool powers = each([](int a, int b) { return b == 2 * a; });
  std::string differs, legal;
  if (range || powers) {
    differs = fmt::format("{0} < {1} || {0} > {2}", define.name, numbers.front(), numbers.back());
    if (powers) differs += fmt::format(" || {0} & ({0} - 1)", define.name);
    legal = fmt::format("{}{} to {}", powers ? "a power of two from " : "", numbers.front(),
                        numbers.back());
  } else {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const bool last = i + 1 == numbers.size();
      if (i > 0) differs += i % kShort == 0 ? " && \\\n    " : " && ";
      differs += fmt::format("{} != {}", define.name, numbers[i]);
      legal += fmt::format("{}{}", i == 0 ? "" : last ? " or " : ", ", numbers[i]);
    }
  }
  return fmt::format("#if {}\n#error \"{}: {} must be {}\"\n#endif\n", differs, file, define.name,
                     legal);
}

/// The default of each option, and what refuses a number that is not legal.
std::string options_text(const FileTags& tags) {
  std::string text;
  for (const DefineTag& define : tags.defines) {
    if (define.fallback == "off") continue;
    text += fmt::format("#ifndef {0}\n#define {0} {1}\n#endif\n", define.name, define.fallback);
    const bool numbers = !define.values.empty() && std::isdigit(define.fallback[0]);
    if (numbers) text += refusal(tags.file, define);
  }
  return text;
}

/// The text with `body(NAME)` between each //@shared NAME and its //@end.
std::string with_bodies(const std::string& file, const std::string& text,
                        const SharedSource& body) {
  std::istringstream lines(text);
  std::string result, open;
  int number = 0;
  const auto reject = [&](const std::string& what) { refuse("{}:{}: {}", file, number, what); };
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
    result += body(open);
  }
  if (!open.empty()) reject(fmt::format("the copy of {} has no //@end", open));
  return result;
}

}  // namespace

std::string with_shared_text(const std::string& file, const std::string& text,
                             const SharedSource& source) {
  bool has_options = false;
  std::string options;
  const auto body = [&](const std::string& name) {
    if (name != kOptions) return body_of(name, source(name));
    has_options = true;
    return options;
  };
  const std::string copied = with_bodies(file, text, body);
  if (!has_options) return copied;
  options = options_text(read_tags({file, copied, file, ""}));  // copies may have //@define too
  return with_bodies(file, copied, body);
}

std::vector<std::string> sync_shared_text(const std::string& folder) {
  const auto source = [&](const std::string& name) {
    return read_file(folder + "/shared/" + name + ".cl");
  };
  throw_if(!fs::is_directory(folder + "/shared"),
           "{} is no folder of kernels with a folder shared in it: give one like kernels",
           in_quotes(folder));
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
