// SPDX-License-Identifier: MIT
// object_reader.hpp - reads the keys of a JSON object, and says where a wrong one stands.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace clam {

/// One JSON object with the words that lead to it, for messages: "FILE: node 'x': ". What is wrong
/// throws BadArgument that begins with them.
class ObjectReader {
 public:
  /// The object outlives the reader.
  ObjectReader(const nlohmann::json& object, std::string where);

  [[noreturn]] void fail(const std::string& key, const std::string& what) const;
  void only(std::initializer_list<std::string_view> known) const;
  /// Names of tensors, of which those of nodes are a part, are names of files too.
  void check_name(const std::string& key, const std::string& name) const;

  const std::string& where() const { return where_; }
  bool has(const char* key) const;
  const nlohmann::json& at(const char* key) const;
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
