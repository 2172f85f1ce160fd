// SPDX-License-Identifier: MIT
#include "kernel_text.hpp"

#include <algorithm>

#include "runtime/text.hpp"
#include "tokens/letters.hpp"
#include "tokens/tokens.hpp"

namespace clam::mali {
namespace {

/// A kernel's text: [begin, end).
struct KernelText {
  std::string name;
  std::size_t begin, end;
};

/// The end of the block that `{` at `open` begins; npos when there is none.
std::size_t end_of_block(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); at = behind_token(text, at)) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at + 1;
  }
  return text.npos;
}

/// All kernels of a file in order; empty when one of them is not understood. A kernel's name stands
/// after `void`, whatever attributes or macros stand before.
std::vector<KernelText> kernel_texts(const std::string& text) {
  std::vector<KernelText> kernels;
  for (std::size_t at = 0, end; at < text.size(); at = end) {
    end = behind_token(text, at);
    const bool is_kernel =
        text.compare(at, end - at, "__kernel") == 0 || text.compare(at, end - at, "kernel") == 0;
    if (!is_kernel || text[end] != ' ') continue;
    const std::size_t is_void = text.find("void", at), open = text.find('{', at);
    if (is_void == text.npos || open == text.npos || is_void > open) return {};
    const std::size_t name = text.find_first_not_of(" \t\n", is_void + 4);
    end = end_of_block(text, open);
    if (end == text.npos) return {};
    kernels.push_back({text.substr(name, behind_token(text, name) - name), at, end});
  }
  return kernels;
}

}  // namespace

std::string only_kernels(std::string_view text, const std::vector<std::string>& wanted) {
  std::string result(text);
  for (const KernelText& kernel : kernel_texts(result)) {
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
  for (std::size_t at = 0, end; at < cut.size(); at = end) {
    end = behind_token(cut, at);
    if (cut.compare(at, 2, "//") == 0 || cut.compare(at, 2, "/*") == 0) continue;
    for (std::size_t i = at; i < end; ++i) {
      if (cut[i] == '\n') code.erase(code.find_last_not_of(" \t\n") + 1);
      code += cut[i];
    }
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
