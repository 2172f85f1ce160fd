// SPDX-License-Identifier: MIT
// pages.hpp - the pages of the project as a test reads them: their commands, links and sentences.
#pragma once

#include <string>
#include <vector>

namespace clam::test {

/// Paths of all Markdown pages of the project, from its folder; what tests compare with is left
/// out.
std::vector<std::string> pages();

/// The page in the source tree.
std::string page_text(const std::string& page);

/// The lines of all ```sh blocks, without comments.
std::vector<std::string> commands_of(const std::string& text);

/// What stands in `back quotes` outside of blocks.
std::vector<std::string> quoted_code(const std::string& text);

/// Links of the page that lead to no file or to no heading; addresses of the web are not asked.
std::vector<std::string> dead_links(const std::string& page, const std::string& text);

struct Limits {
  std::size_t lines, columns, characters;
};
/// A sentence for each limit that the text is over.
std::vector<std::string> over_limits(const std::string& text, const Limits& limits);

constexpr std::size_t kWordsOfASentence = 25;

/// Sentences of more than kWordsOfASentence words. Code in back quotes counts as one word; blocks,
/// tables and headings are left out.
std::vector<std::string> long_sentences_of_page(const std::string& text);
/// The same of what `--help` prints: each entry of a list stands alone.
std::vector<std::string> long_sentences_of_help(const std::string& text);
/// The same of the // comments of a C, C++ or OpenCL file, without //@ tags.
std::vector<std::string> long_sentences_of_comments(const std::string& text);

}  // namespace clam::test
