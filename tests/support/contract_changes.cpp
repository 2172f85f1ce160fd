// SPDX-License-Identifier: MIT
#include "contract_changes.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>

#include "clam/error.hpp"
#include "pattern.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;
using Numbers = std::pair<int, int>;

const std::string kMark = " | ";  ///< between key and value in a text

bool starts_with(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

bool has(const Lines& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

std::string joined(const Lines& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// What commas outside of parentheses divide.
Lines divided(const std::string& text) {
  Lines found(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      found.emplace_back();
    } else if (c != ' ' || !found.back().empty()) {
      found.back() += c;
    }
  }
  return found;
}

// ---- of tags ----

std::string value_of(const DefineTag& define) {
  const Lines values = define.is_switch() ? Lines{"off", "on"} : define.values;
  return define.fallback + (values.empty() ? "" : " {" + joined(values, ",") + "}");
}

std::string value_of(const ArgTag& arg) {
  if (arg.kind == ArgTag::Kind::scalar) return arg.name + " " + arg.type;
  const std::string null = arg.null_if.empty() ? "" : ", null if " + arg.null_if;
  return arg.name + " " + name(arg.kind) + " " + arg.type + "[" + arg.size + "]" + null;
}

std::vector<ContractItem> items_of(const KernelTags& kernel) {
  std::vector<ContractItem> items;
  for (std::size_t i = 0; i < kernel.args.size(); ++i)
    items.push_back({"argument " + std::to_string(i), value_of(kernel.args[i])});
  items.push_back({"global", joined(kernel.global, ", ")});
  items.push_back({"local", joined(kernel.local, ", ")});
  for (const std::string& layout : kernel.layouts) items.push_back({"layout " + layout, ""});
  for (const std::string& needs : kernel.needs) {
    for (const std::string& need : divided(needs)) items.push_back({"need " + need, ""});
  }
  return items;
}

// ---- differences ----

/// Whether a value of before still means the same: a define has more legal values, or an argument
/// may be null where it might not.
bool only_allows_more(const std::string& key, const std::string& before, const std::string& now) {
  if (starts_with(key, "argument")) return starts_with(now, before + ", null if ");
  if (!starts_with(key, "-D")) return false;
  const Groups was = match(before, "([^ ]+) \\{(.*)\\}"),
               is = match(now, "([^ ]+)(?: \\{(.*)\\})?");
  if (was.empty() || is.empty() || was[1] != is[1]) return false;
  const Lines legal = divided(is[2]), needed = divided(was[2]);
  return is[2].empty() || std::all_of(needed.begin(), needed.end(),
                                      [&](const std::string& value) { return has(legal, value); });
}

bool is_argument(const ContractItem& item) { return starts_with(item.key, "argument"); }

std::vector<ContractItem> arguments_of(const ContractPart& part) {
  std::vector<ContractItem> arguments;
  std::copy_if(part.items.begin(), part.items.end(), std::back_inserter(arguments), is_argument);
  return arguments;
}

/// The arguments that are gone, where those of now are the others, in their order.
std::vector<ContractItem> gone_arguments(const ContractPart& before, const ContractPart& now) {
  std::vector<ContractItem> gone;
  const std::vector<ContractItem> left = arguments_of(now);
  auto next = left.begin();
  for (const ContractItem& argument : arguments_of(before)) {
    if (next != left.end() && next->value == argument.value) {
      ++next;
    } else {
      gone.push_back(argument);
    }
  }
  return next == left.end() ? gone : std::vector<ContractItem>{};
}

void compare(const ContractPart& before, const ContractPart& now,
             std::vector<ContractChange>& changes) {
  const auto say = [&](const std::string& words, bool breaks) {
    changes.push_back({now.name + ": " + words, breaks});
  };
  const std::vector<ContractItem> gone = gone_arguments(before, now);
  for (const auto& [key, value] : gone) say(key + " '" + value + "' is gone", true);
  for (const ContractItem& item : before.items) {
    if (!gone.empty() && is_argument(item)) continue;
    const auto& [key, value] = item;
    const ContractItem* same = now.find(key);
    if (!same) {
      say(key + " is gone", !starts_with(key, "need "));
    } else if (same->value != value) {
      say(key + " was '" + value + "', is '" + same->value + "'",
          !only_allows_more(key, value, same->value));
    }
  }
  for (const auto& [key, value] : now.items) {
    if (before.find(key)) continue;
    const bool asks = starts_with(key, "argument") || starts_with(key, "need ");
    say(key + " is new" + (value.empty() ? "" : ": '" + value + "'"), asks);
  }
}

// ---- the changelog ----

std::optional<Numbers> numbers(const std::string& version) {
  const Groups parts = match(version, "([0-9]{1,4})\\.([0-9]{1,4})");
  if (parts.empty()) return std::nullopt;
  return Numbers{std::stoi(parts[1]), std::stoi(parts[2])};
}

struct Section {
  std::string version;
  Lines listed;  ///< its items in back quotes
};

Section newest_of(const std::string& page) {
  std::istringstream lines(page);
  Section found;
  for (std::string line; std::getline(lines, line);) {
    if (starts_with(line, "## ")) {
      if (!found.version.empty()) break;
      found.version = line.substr(3);
    }
    const Groups item = match(line, "- `(.*)`");
    if (!item.empty() && !found.version.empty()) found.listed.push_back(item[1]);
  }
  return found;
}

std::optional<std::string> wrong_version(const Contracts& before, const Contracts& now,
                                         const std::vector<ContractChange>& changes) {
  const auto was = numbers(before.version), is = numbers(now.version);
  if (!was || !is) return "kernels/VERSION is '" + now.version + "'; write MAJOR.MINOR";
  Numbers least = *was;
  std::string why = ", the last that was released";
  for (const ContractChange& change : changes) {
    const Numbers asked =
        change.breaks ? Numbers{was->first + 1, 0} : Numbers{was->first, was->second + 1};
    if (asked <= least) continue;
    least = asked;
    why = ", for " + change.line;
  }
  if (*is >= least) return std::nullopt;
  return "kernels/VERSION is " + now.version + ", and must be at least " +
         std::to_string(least.first) + "." + std::to_string(least.second) + why;
}

}  // namespace

const ContractItem* ContractPart::find(const std::string& key) const {
  const auto is_it = [&](const ContractItem& item) { return item.key == key; };
  const auto found = std::find_if(items.begin(), items.end(), is_it);
  return found == items.end() ? nullptr : &*found;
}

const ContractPart* Contracts::find(const std::string& wanted) const {
  const auto is_it = [&](const ContractPart& part) { return part.name == wanted; };
  const auto found = std::find_if(parts.begin(), parts.end(), is_it);
  return found == parts.end() ? nullptr : &*found;
}

Contracts contracts_of(const std::string& version, const std::vector<FileTags>& files) {
  Contracts contracts{version, {}};
  for (const FileTags& tags : files) {
    contracts.parts.push_back({tags.file, {}});
    for (const DefineTag& define : tags.defines)
      contracts.parts.back().items.push_back({"-D" + define.name, value_of(define)});
    for (const KernelTags& kernel : tags.kernels)
      contracts.parts.push_back({tags.file + " " + kernel.name, items_of(kernel)});
  }
  return contracts;
}

Contracts contracts_of_the_tree() {
  const fs::path folder = fs::path(CLAM_SOURCE_DIR) / "kernels";
  Lines names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".cl") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  std::vector<FileTags> files;
  for (const std::string& file : names)
    files.push_back(read_tags({file, read_file((folder / file).string()), file, ""}));
  return contracts_of(kernels_version(), files);
}

std::string text_of(const Contracts& contracts) {
  std::string text = "kernels " + contracts.version + "\n";
  for (const ContractPart& part : contracts.parts) {
    text += "\n" + part.name + "\n";
    for (const auto& [key, value] : part.items)
      text += "  " + key + (value.empty() ? "" : kMark + value) + "\n";
  }
  return text;
}

Contracts read_contracts(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const Groups version = match(line, "kernels (.*)");
  if (version.empty()) throw BadArgument("contracts must begin with 'kernels VERSION'");
  Contracts contracts{version[1], {}};
  while (std::getline(lines, line)) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == line.npos) continue;
    if (start == 0) {
      contracts.parts.push_back({line, {}});
      continue;
    }
    if (contracts.parts.empty()) throw BadArgument("contracts: no kernel has '" + line + "'");
    const std::string item = line.substr(start);
    const std::size_t end = std::min(item.find(kMark), item.size());
    const std::string value = item.substr(std::min(end + kMark.size(), item.size()));
    contracts.parts.back().items.push_back({item.substr(0, end), value});
  }
  return contracts;
}

std::vector<ContractChange> changes_between(const Contracts& before, const Contracts& now) {
  std::vector<ContractChange> changes;
  for (const ContractPart& part : before.parts) {
    const ContractPart* same = now.find(part.name);
    if (same) {
      compare(part, *same, changes);
    } else {
      changes.push_back({part.name + " is gone", true});
    }
  }
  for (const ContractPart& part : now.parts) {
    if (!before.find(part.name)) changes.push_back({part.name + " is new", false});
  }
  return changes;
}

std::vector<std::string> changelog_faults(const Contracts& before, const Contracts& now,
                                          const std::string& page) {
  const std::string file = "kernels/CHANGELOG.md";
  const std::vector<ContractChange> changes = changes_between(before, now);
  const Section section = newest_of(page);
  Lines found, lines;
  if (section.version != now.version) {
    found.push_back(file + " begins with '## " + section.version + "', and kernels/VERSION is " +
                    now.version + "; make them the same");
  }
  if (const auto wrong = wrong_version(before, now, changes)) found.push_back(*wrong);
  for (const ContractChange& change : changes) {
    lines.push_back(change.line);
    if (!has(section.listed, change.line))
      found.push_back(file + " lacks this line:\n- `" + change.line + "`");
  }
  for (const std::string& line : section.listed) {
    if (now.version != before.version && !has(lines, line))
      found.push_back(file + " lists what is no change: " + line);
  }
  return found;
}

}  // namespace clam::test
