// SPDX-License-Identifier: MIT
#include "object_reader.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace clam {

using nlohmann::json;

ObjectReader::ObjectReader(const json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) fail("", "is no JSON object");
}

void ObjectReader::only(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : object_.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    fail("", "unknown key '{}'; it may have {}", key.substr(0, 60), fmt::join(known, " "));
  }
}

void ObjectReader::check_name(const std::string& key, const std::string& name) const {
  constexpr const char* kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  if (!name.empty() && name[0] != '.' && name.find_first_not_of(kLetters) == name.npos) return;
  fail(key, "has {}; a name is of letters, digits and _ - . alone", in_quotes(name));
}

bool ObjectReader::has(const char* key) const { return object_.contains(key); }

const json& ObjectReader::at(const char* key) const {
  if (!has(key)) fail(key, "is missing");
  return object_.at(key);
}

const json& ObjectReader::list(const char* key, const char* needs, std::size_t least) const {
  const json& value = at(key);
  if (!value.is_array() || value.size() < least) fail(key, "needs {}", needs);
  return value;
}

std::map<std::string, json> ObjectReader::object(const char* key, const char* needs) const {
  if (!has(key)) return {};
  if (!at(key).is_object()) fail(key, "needs {}", needs);
  return at(key).get<std::map<std::string, json>>();
}

std::string ObjectReader::text(const char* key) const {
  const json& value = at(key);
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    fail(key, "needs a text that is not empty");
  }
  return value.get<std::string>();
}

std::vector<std::string> ObjectReader::names(const char* key) const {
  std::vector<std::string> names;
  for (const json& name : list(key, "a list of names")) {
    if (!name.is_string()) fail(key, "needs a list of names");
    names.push_back(name.get<std::string>());
  }
  return names;
}

std::int64_t ObjectReader::whole(const char* key, std::int64_t least) const {
  const json& value = at(key);
  if (!value.is_number_integer() || value.get<std::int64_t>() < least) {
    fail(key, "needs a whole number of at least {}", least);
  }
  return value.get<std::int64_t>();
}

double ObjectReader::positive(const std::string& key, const json& value) const {
  if (!value.is_number() || !(value.get<double>() > 0)) fail(key, "needs a number above 0");
  return value.get<double>();
}

void ObjectReader::range(const std::string& key, const json& value) const {
  const bool pair = value.is_array() && value.size() == 2;
  if (!pair || positive(key, value[0]) > positive(key, value[1])) fail(key, "needs [least, most]");
}

}  // namespace clam
