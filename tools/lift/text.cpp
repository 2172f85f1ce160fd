// SPDX-License-Identifier: MIT
#include "text.hpp"

#include <algorithm>

#include "dead.hpp"
#include "expression.hpp"
#include "lines.hpp"
#include "tokens/letters.hpp"

namespace clam {
namespace {

/// Of macros those that are a number, a type or a name, and are not put together with other names.
Macros simple_of(const TakenLines& taken) {
  Macros simple;
  for (const auto& [name, own] : taken.fixed) {
    std::size_t words = 0, numbers = 0, signs = 0;
    for (const Token& token : own.body) {
      words += token.is_name() || token.is("*");
      numbers += token.kind == Token::Kind::number;
      signs += token.is_one_of({"(", ")", "-"});
    }
    const bool is_number = numbers == 1 && numbers + signs == own.body.size();
    if (words == own.body.size() || is_number) simple[name] = own;
  }
  for (const Tokens& line : taken.lines) {
    for (std::size_t i = 1; i + 1 < line.size(); ++i) {
      if (line[i].is("##")) simple.erase(line[i - 1].text), simple.erase(line[i + 1].text);
    }
  }
  return simple;
}

// ---- comments ----

std::vector<std::string> split(const std::string& text, const std::string& by) {
  std::vector<std::string> parts;
  for (std::size_t at = 0, end; at <= text.size(); at = end + by.size()) {
    end = std::min(text.find(by, at), text.size());
    parts.push_back(text.substr(at, end - at));
  }
  return parts;
}

/// Writes the pieces that are kept, with what comments say of them.
class Writer {
 public:
  Writer(const Macros& simple, Names gone) : simple_(simple), gone_(std::move(gone)) {}

  std::string text(const std::vector<Piece>& pieces) const {
    std::string text, heading;
    bool apart = true;
    for (const Piece& piece : pieces) {
      const std::string before = piece.tokens[0].before;
      const std::string above = comment(before, false);
      const std::size_t own = above.rfind("\n\n") == above.npos ? 0 : above.rfind("\n\n") + 2;
      const std::size_t at = above.rfind("// ----", own);
      if (at != above.npos) heading = above.substr(at, above.find('\n', at) - at) + "\n\n";
      apart = apart || above[0] == '\n' || own > 0;
      if (!piece.is_kept || piece.tokens[0].text.empty()) continue;
      const std::size_t start = std::min(above.find_first_not_of('\n', own), above.size());
      text += (apart ? "\n" : "") + heading + above.substr(start);
      text += text_of(piece.tokens).substr(before.size()) + "\n";
      heading.clear();
      apart = false;
    }
    return text;
  }

  /// Whole lines of a comment, as they are here: without paragraphs about what is not here, with
  /// numbers for the options. The first comment of a file has no paragraph about options.
  std::string comment(const std::string& before, bool is_first) const {
    std::string text, paragraph;
    bool stays = true, stayed = true, follows = is_first;
    for (const std::string& line : split(before.substr(before[0] == '\n'), "\n")) {
      if (starts_with(line, "//") && !starts_with(line, "//@") && line != "//") {
        paragraph += "//" + with_values(line.substr(2)) + "\n";
        stays = stays && is_here(line, is_first);
        continue;
      }
      if (!paragraph.empty()) stayed = stays && (stayed || !starts_with(paragraph, "//  "));
      if (stayed && !paragraph.empty()) text += (follows ? "//\n" : "") + paragraph;
      follows = line == "//" && (follows || (stayed && !paragraph.empty()));
      if (line.empty() || starts_with(line, "//@end")) text += "\n";
      if (starts_with(line, "//@")) text += tag(line);
      paragraph.clear();
      stays = true;
    }
    if (!text.empty() && text.back() == '\n') text.pop_back();  // that of the line of the code
    return text;
  }

 private:
  std::string with_values(const std::string& text) const {
    return text_of(replaced(tokens_of(text), simple_));
  }

  bool is_here(const std::string& line, bool is_first) const {
    bool asks = is_first;
    for (const Token& word : tokens_of(line.substr(2))) {
      if (gone_.count(word.text) > 0 || (asks && simple_.count(word.text) > 0)) return false;
      asks = is_first || word.is_one_of({"With", "with", "without", "Where", "where"});
    }
    return true;
  }

  /// A tag with numbers for the options, and without the conditions that these decide.
  std::string tag(const std::string& line) const {
    if (starts_with(line, "//@needs")) {
      return needs(line.substr(std::min(line.size(), line.find_first_not_of(' ', 8))));
    }
    for (const char* other : {"//@end", "//@shared", "//@define", "//@loop"}) {
      if (starts_with(line, other)) return "";
    }
    std::size_t end = starts_with(line, "//@null") ? line.rfind(" if ") : line.npos;
    if (starts_with(line, "//@layout")) end = line.rfind("; ");
    if (starts_with(line, "//@arg")) end = line.rfind("  ");
    const std::string rest = line.substr(std::min(end, line.size())), own = with_values(rest);
    const Number holds =
        starts_with(rest, " if ") ? value_of(tokens_of(own.substr(4)), {}) : Number();
    if (holds && *holds == 0) return "";
    const bool is_prose = own != rest && rest.find('[') == rest.npos;
    std::string text =
        "//@" + with_values(line.substr(3, end - 3)) + (holds || is_prose ? "" : own);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }

  std::string needs(const std::string& conditions) const {
    std::string all;
    for (const std::string& condition : split(with_values(conditions), ", ")) {
      std::string open;
      bool holds = false;
      for (const std::string& one : split(condition, " || ")) {
        const Number value = value_of(tokens_of(one), {});
        holds = holds || value.value_or(0) != 0;
        if (!value) open += (open.empty() ? "" : " || ") + one;
      }
      if (!holds) all += (all.empty() ? "//@needs  " : ", ") + open;
    }
    return all + (all.empty() ? "" : "\n");
  }

  const Macros& simple_;
  Names gone_;
};

}  // namespace

std::string lifted_text(const std::string& text, const Wanted& wanted, std::string& others) {
  const std::string head = tokens_of(text)[0].before;
  TakenLines taken = taken_lines(defines_of(wanted.options, others) + text.substr(head.size()));
  const Macros simple = simple_of(taken);
  for (Tokens& line : taken.lines) {
    Definition own(directive_of(line) == "define" ? line : Tokens());
    own.parameters.insert(own.name);
    line = replaced(line, simple, own.parameters);
  }
  const auto is_empty = [](const Tokens& line) { return line.empty(); };  // of an empty macro
  taken.lines.erase(std::remove_if(taken.lines.begin(), taken.lines.end(), is_empty),
                    taken.lines.end());
  const Names kernels(wanted.kernels.begin(), wanted.kernels.end());
  std::vector<Piece> pieces = pieces_of(taken.lines);
  keep_needed(pieces, kernels);
  for (int passes = wanted.keeps_dead ? 0 : 3; passes > 0; --passes) {
    pieces = without_dead(pieces, taken.fixed);
    keep_needed(pieces, kernels);
  }
  Names gone, here;
  for (const Piece& piece : pieces) {
    Names& names = piece.is_kept ? here : gone;
    for (const std::string& name : piece.defines) {
      const bool is_word =
          std::all_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
      if (!is_word && simple.count(name) == 0) names.insert(name);
    }
  }
  for (const std::string& line : split(text, "\n")) {
    const Tokens words = tokens_of(starts_with(line, "//@define ") ? line.substr(10) : "");
    const std::string name = words.empty() ? "" : words[0].text;
    if (!name.empty() && simple.count(name) == 0) gone.insert({name, "D" + name});  // -DNAME
  }
  for (const std::string& name : here) gone.erase(name);
  const Writer writer(simple, gone);
  const std::size_t title = std::min({head.find("\n//\n"), head.find("\n\n"), head.size()});
  std::string above = writer.comment(head.substr(title), true);
  above.erase(above.find_last_not_of('\n') + 1);
  return head.substr(0, title) + "\n" + wanted.note + above + (above.empty() ? "" : "\n") +
         writer.text(pieces);
}

}  // namespace clam
