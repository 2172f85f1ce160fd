// SPDX-License-Identifier: MIT
// object_reader.hpp - reads the keys of a JSON object, and says where a wrong one stands.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/refuse.hpp"

namespace clam {

/// One JSON object with the words that lead to it, for messages: "FILE: node 'x': ". What is wrong
/// throws BadArgument that begins with them.
class ObjectReader {
 public:
  /// The object outlives the reader.
  ObjectReader(const nlohmann::json& object, std::string where);

  template <typename... Args>
  [[noreturn]] void fail(const std::string& key, fmt::format_string<Args...> what,
                         Args&&... args) const {
    refuse("{}: {}{}{}", where_, key, key.empty() ? "" : " ",
           fmt::format(what, std::forward<Args>(args)...));
  }
  void only(std::initializer_list<std::string_view> known) const;
  /// Names of tensors, of which those of nodes are a part, are names of files too.
  void check_name(const std::string& key, const std::string& name) const;

  const std::string& where() const { return where_; }
  bool has(const char* key) const;
  const nlohmann::json& at(const char* key) const;
  /// Its elements, at least so many. `needs` is for the message: "a list of extents".
  const nlohmann::json& list(const char* key, const char* needs = "a list",
                             std::size_t least = 0) const;
  /// What its object has, by key. Empty: it is missing.
  std::map<std::string, nlohmann::json> object(const char* key, const char* needs) const;
  std::string text(const char* key) const;                ///< not empty
  std::vector<std::string> names(const char* key) const;  ///< a list of texts, maybe empty
  std::int64_t whole(const char* key, std::int64_t least = 1) const;
  double positive(const std::string& key, const nlohmann::json& value) const;
  void range(const std::string& key, const nlohmann::json& value) const;  ///< [least, most]

 private:
  const nlohmann::json& object_;
  std::string where_;
};

}  // namespace clam
