// SPDX-License-Identifier: MIT
#include "kernel_text.hpp"

#include <algorithm>
#include <cctype>

#include "runtime/text.hpp"
#include "starts_with.hpp"

namespace clam::mali {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Where the comment, string or character at `at` ends; `at` itself when there is none.
std::size_t skip_dead_text(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  if (starts_with(rest, "//")) return std::min(text.find('\n', at), text.size());
  if (starts_with(rest, "/*")) return std::min(text.find("*/", at + 2), text.size() - 2) + 2;
  const char quote = rest[0];
  if (quote != '"' && quote != '\'') return at;
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != quote) end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

/// A kernel's text: [begin, end).
struct KernelText {
  std::string name;
  std::size_t begin, end;
};

/// The end of the block that `{` at `open` begins; npos when there is none.
std::size_t end_of_block(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    const std::size_t after = skip_dead_text(text, at);
    if (after != at) {
      at = after - 1;
      continue;
    }
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at + 1;
  }
  return text.npos;
}

/// The kernel whose `__kernel` stands at `begin`: its name stands after `void`, whatever attributes
/// or macros stand before. False when that is not its form.
bool read_kernel(std::string_view text, std::size_t begin, KernelText& kernel) {
  const std::size_t is_void = text.find("void", begin), open = text.find('{', begin);
  if (is_void == text.npos || open == text.npos || is_void > open) return false;
  std::size_t name = text.find_first_not_of(" \t\n", is_void + 4);
  std::size_t end = name;
  while (end < text.size() && is_word(text[end])) ++end;
  kernel = {std::string(text.substr(name, end - name)), begin, end_of_block(text, open)};
  return kernel.end != text.npos;
}

/// All kernels of a file in order; empty when one of them is not understood.
std::vector<KernelText> kernel_texts(std::string_view text) {
  std::vector<KernelText> kernels;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t after = skip_dead_text(text, at);
    if (after != at) {
      at = after - 1;
      continue;
    }
    if (at > 0 && is_word(text[at - 1])) continue;
    const std::string_view rest = text.substr(at);
    if (!starts_with(rest, "__kernel ") && !starts_with(rest, "kernel ")) continue;
    KernelText kernel;
    if (!read_kernel(text, at, kernel)) return {};
    at = kernel.end - 1;
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace

std::string only_kernels(std::string_view text, const std::vector<std::string>& wanted) {
  std::string result(text);
  for (const KernelText& kernel : kernel_texts(text)) {
    if (std::find(wanted.begin(), wanted.end(), kernel.name) != wanted.end()) continue;
    for (std::size_t i = kernel.begin; i < kernel.end; ++i) {
      if (result[i] != '\n') result[i] = ' ';
    }
  }
  return result;
}

std::string code_of(std::string_view text, const std::string& kernel) {
  const std::string cut = only_kernels(text, {kernel});
  std::string code;
  for (std::size_t at = 0, after; at < cut.size(); at = after) {
    after = std::max(skip_dead_text(cut, at), at + 1);
    const bool is_comment = after > at + 1 && cut[at] == '/';
    if (!is_comment) code.append(cut, at, after - at);
    if (code.empty() || code.back() != '\n') continue;
    code.pop_back();
    code.erase(code.find_last_not_of(" \t\n") + 1);
    code += '\n';
  }
  return code;
}

std::string tags_of(std::string_view text) {
  std::string tags;
  for (const std::string_view line : split(text, '\n')) {
    if (starts_with(line, "//@")) tags.append(line) += '\n';
  }
  return tags;
}

}  // namespace clam::mali
