// SPDX-License-Identifier: MIT
// part.hpp - JSON of a file that a person gave, read so that whatever is wrong has a name.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clam/error.hpp"
#include "report.hpp"
#include "runtime/atomic_file.hpp"

namespace clam {

/// Whether a shell that is given the line would have clam-bench measure a row, and do nothing else:
/// what is not in single quotes means only itself, and no flag writes a file.
bool runs_clam_bench(std::string_view line);

/// A value of the file that knows where it stands, so that a wrong one can be named.
class Part {
 public:
  using json = nlohmann::json;

  Part(const json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  const json& value() const { return *value_; }

  /// The object under `key`; an empty one where there is none.
  Part object(const std::string& key) const {
    static const json none = json::object();
    const json* found = find(key);
    if (!found) return {none, where_ + "." + key};
    if (!found->is_object()) wrong(key, "an object");
    return {*found, where_ + "." + key};
  }

  std::vector<Part> objects(const std::string& key) const {
    std::vector<Part> parts;
    for (const auto& item : list(key, "a list")) {
      const std::string name = fmt::format("{}[{}]", key, parts.size());
      if (!item.is_object()) wrong(name, "an object");
      parts.emplace_back(item, where_ + "." + name);
    }
    return parts;
  }

  std::vector<std::string> texts(const std::string& key) const {
    std::vector<std::string> texts;
    for (const auto& item : list(key, "a list")) {
      if (!item.is_string()) wrong(fmt::format("{}[{}]", key, texts.size()), "a text");
      texts.push_back(item.get<std::string>());
    }
    return texts;
  }

  ReportRow::Figure figure(const std::string& key) const {
    const json* found = find(key);
    if (!found) return {};
    if (!found->is_number()) wrong(key, "a number");
    return found->get<double>();
  }

  /// An empty list where there is none.
  std::vector<double> figures(const std::string& key) const {
    std::vector<double> figures;
    for (const auto& item : list(key, "a list of numbers")) {
      if (!item.is_number()) wrong(key, "a list of numbers");
      figures.push_back(item.get<double>());
    }
    return figures;
  }

  std::string text(const std::string& key) const {
    const json* found = find(key);
    if (!found) return "";
    if (!found->is_string()) wrong(key, "a text");
    return found->get<std::string>();
  }

  std::string needed_text(const std::string& key) const {
    if (!find(key)) throw BadArgument(fmt::format("{} lacks \"{}\"", where_, key));
    return text(key);
  }

  /// What a person will paste into a shell: clam-bench with its words, and nothing that a shell
  /// would do besides.
  std::string needed_command(const std::string& key) const {
    const std::string line = needed_text(key);
    const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
    if (std::any_of(line.begin(), line.end(), is_control)) {
      wrong(key, "one line of plain text: it has control characters");
    }
    if (!runs_clam_bench(line))
      wrong(key, "a command that has clam-bench measure a row, and nothing else");
    return line;
  }

 private:
  const json* find(const std::string& key) const {
    const auto found = value_->find(key);
    return found == value_->end() ? nullptr : &*found;
  }

  /// An empty one where there is none.
  const json& list(const std::string& key, const char* wanted) const {
    static const json none = json::array();
    const json* found = find(key);
    if (found && !found->is_array()) wrong(key, wanted);
    return found ? *found : none;
  }

  [[noreturn]] void wrong(const std::string& key, const char* wanted) const {
    throw BadArgument(fmt::format("{}.{} is not {}", where_, key, wanted));
  }

  const json* value_;
  std::string where_;
};

/// What `read` gives; whatever it refuses is said of the file.
template <typename Read>
auto of_file(const std::string& path, const Read& read) {
  try {
    return read();
  } catch (const BadArgument& error) {
    throw BadArgument(fmt::format("{}: {}", path, error.what()));
  }
}

/// Throws BadArgument, with the path, for text that is none; `writer` writes such files.
inline nlohmann::json parse_json_file(const std::string& path, const char* writer) {
  const std::string text = read_file(path);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw BadArgument(
        fmt::format("{} is not JSON (byte {}): give a file of {}", path, error.byte, writer));
  } catch (const nlohmann::json::exception&) {
    throw BadArgument(fmt::format("{} holds a number that is out of range", path));
  }
}

/// The text with some characters as others; those that `as` does not have stay.
inline std::string respelled(const std::string& text, const std::map<char, std::string>& as) {
  std::string result;
  for (const char c : text) {
    const auto found = as.find(c);
    result += found == as.end() ? std::string(1, c) : found->second;
  }
  return result;
}

/// The lines of a board's card.
ReportBoard::Facts device_facts(const Part& device, const ReportBoard& board,
                                const std::vector<std::string>& replaced);
ReportBoard::Facts clock_facts(const Part& board);
ReportBoard::Facts peak_facts(const Part& peaks);

}  // namespace clam
