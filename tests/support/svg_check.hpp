// SPDX-License-Identifier: MIT
// svg_check.hpp - whether a text is whole XML, as far as pictures need it.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <vector>

namespace clam::test {

/// How often `words` stand in `text`.
inline std::size_t count_of(const std::string& text, const std::string& words) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(words, at)) != text.npos; at += words.size()) ++count;
  return count;
}

/// What is wrong with character data, or with an attribute's value.
inline std::string text_fault(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') return "a < in text";
    if (static_cast<unsigned char>(text[i]) < ' ' && text[i] != '\n') return "a control character";
    if (text[i] != '&') continue;
    const std::string rest = text.substr(i, 6);
    const bool known = rest.rfind("&amp;", 0) == 0 || rest.rfind("&lt;", 0) == 0 ||
                       rest.rfind("&gt;", 0) == 0 || rest.rfind("&quot;", 0) == 0;
    if (!known) return "a bare &";
  }
  return "";
}

/// What is wrong with ` name="value" name="value"`.
inline std::string attributes_fault(const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] != ' ') return "no blank before an attribute";
    const std::size_t equals = text.find("=\"", at);
    if (equals == text.npos || equals == at + 1) return "an attribute without a value in quotes";
    for (std::size_t i = at + 1; i < equals; ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (!std::isalnum(c) && c != '-' && c != ':') return "a bad name of an attribute";
    }
    const std::size_t end = text.find('"', equals + 2);
    if (end == text.npos) return "a value that does not end";
    const std::string fault = text_fault(text.substr(equals + 2, end - equals - 2));
    if (!fault.empty()) return fault;
    at = end + 1;
  }
  return "";
}

/// Empty for one element with others nested in it, properly closed; else what is wrong. Knows tags,
/// attributes in double quotes, text and the first line <?xml ... ?>: no comments, no CDATA.
inline std::string xml_fault(const std::string& xml) {
  std::size_t at = 0;
  if (xml.rfind("<?xml", 0) == 0) at = xml.find("?>") + 2;
  std::vector<std::string> open;
  bool any = false;
  while (at < xml.size()) {
    const std::size_t begin = std::min(xml.find('<', at), xml.size());
    const std::string text = xml.substr(at, begin - at);
    const std::string fault = text_fault(text);
    if (!fault.empty()) return fault;
    if (open.empty() && text.find_first_not_of(" \n") != text.npos) return "text outside";
    if (begin == xml.size()) break;
    const std::size_t end = xml.find('>', begin);
    if (end == xml.npos) return "a tag that does not end";
    std::string tag = xml.substr(begin + 1, end - begin - 1);
    at = end + 1;
    if (!tag.empty() && tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1))
        return "</" + tag.substr(1) + "> closes nothing";
      open.pop_back();
      continue;
    }
    if (open.empty() && any) return "a second element";
    any = true;
    const bool closed = !tag.empty() && tag.back() == '/';
    if (closed) tag.pop_back();
    const std::string name = tag.substr(0, tag.find(' '));
    const std::string wrong = attributes_fault(tag.substr(name.size()));
    if (name.empty() || !wrong.empty()) return "<" + tag + ">: " + wrong;
    if (!closed) open.push_back(name);
  }
  if (!open.empty()) return "<" + open.back() + "> is not closed";
  return any ? "" : "no element";
}

}  // namespace clam::test
