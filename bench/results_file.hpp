// SPDX-License-Identifier: MIT
// results_file.hpp - results files of clam-bench (results.schema.json) and other JSON that a person
// gave, read so that whatever is wrong has a name.
#pragma once

#include <fmt/core.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"

namespace clam {

constexpr int kResultsSchema = 1;  ///< of bench/results.schema.json

/// A value of the file that knows where it stands, so that a wrong one can be named.
class Part {
 public:
  using json = nlohmann::json;
  using Figure = std::optional<double>;

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

  Figure figure(const std::string& key) const {
    const json* found = find(key);
    if (!found) return {};
    if (!found->is_number()) wrong(key, "a number");
    return found->get<double>();
  }

  double needed_figure(const std::string& key) const {
    const Figure value = figure(key);
    if (!value) throw BadArgument(fmt::format("{} lacks \"{}\"", where_, key));
    return *value;
  }

  /// Those of the figures that are there, into `to`, under PREFIXkey.
  void copy_figures(std::initializer_list<const char*> keys, json& to,
                    const std::string& prefix = "") const {
    for (const char* key : keys) {
      if (const Figure value = figure(key)) to[prefix + key] = *value;
    }
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

  [[noreturn]] void wrong(const std::string& key, const char* wanted) const {
    throw BadArgument(fmt::format("{}.{} is not {}", where_, key, wanted));
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
    refuse("{} is not JSON (byte {}): give a file of {}", path, error.byte, writer);
  } catch (const nlohmann::json::exception&) {
    throw BadArgument(fmt::format("{} holds a number that is out of range", path));
  }
}

/// The part of a results file that is clam's own, of the schema that is known here. The document
/// outlives it.
inline Part own_part(const nlohmann::json& document, const std::string& path) {
  const bool object = document.is_object();
  if (!object || !document.contains("clam") || !document.at("clam").is_object()) {
    const bool google = object && document.contains("benchmarks");
    throw BadArgument(fmt::format("{} {} without clam's rows: give a file of clam-bench --json",
                                  path, google ? "is a file of Google Benchmark" : "is JSON"));
  }
  const nlohmann::json& own = document.at("clam");
  if (!own.contains("schema")) {
    throw BadArgument(path +
                      " has no schema number: an older clam-bench wrote it, so measure again");
  }
  const nlohmann::json& schema = own.at("schema");
  throw_if(!schema.is_number_integer() || schema != kResultsSchema,
           "{} is of schema {}, and this clam reads schema {}; measure again with this version",
           path, in_quotes(schema.dump(-1, ' ', true)), kResultsSchema);
  return {own, path + ": clam"};
}

}  // namespace clam
