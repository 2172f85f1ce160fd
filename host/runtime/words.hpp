// SPDX-License-Identifier: MIT
// words.hpp - the words of an enumeration that counts from 0, as a list in its order; and things
// that have a name.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clam/error.hpp"

namespace clam {

template <std::size_t N>
using Words = std::array<const char*, N>;

template <typename Enum, std::size_t N>
const char* word_of(const Words<N>& words, Enum value) {
  return words.at(static_cast<std::size_t>(value));
}

/// The enumerator of this word, if it is one.
template <typename Enum, std::size_t N>
std::optional<Enum> find_word(const Words<N>& words, std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

/// The item of this name, or null.
template <typename Items>
auto find_by_name(Items& items, std::string_view name) {
  const auto found = std::find_if(std::begin(items), std::end(items),
                                  [&](const auto& item) { return item.name == name; });
  return found == std::end(items) ? nullptr : &*found;
}

/// The names of items, in their order.
template <typename Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.emplace_back(item.name);
  return names;
}

struct ItsName {
  template <typename Item>
  const auto& operator()(const Item& item) const {
    return item.name;
  }
};

/// The item whose `name_of` it is. Throws BadArgument "unknown WHAT 'NAME'; OWNER knows A B C".
template <typename Items, typename NameOf = ItsName>
const auto& find_named(const Items& items, std::string_view name, const char* what,
                       const std::string& owner, const NameOf& name_of = {}) {
  for (const auto& item : items) {
    if (name_of(item) == name) return item;
  }
  std::string known;
  for (const auto& item : items) known += fmt::format(" {}", name_of(item));
  throw BadArgument(fmt::format("unknown {} {}; {} knows{}", what, in_quotes(name), owner, known));
}

}  // namespace clam
