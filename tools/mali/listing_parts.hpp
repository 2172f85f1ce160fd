// SPDX-License-Identifier: MIT
// listing_parts.hpp - what the files listing*.cpp share.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "listing.hpp"

namespace clam::mali {

/// A compiler's dump without all that nobody reads. Views into the dump.
struct Cut {
  std::string kernel;
  int scratch_bytes = 0;
  std::vector<std::string_view> rows;  ///< of the final listing, without blanks at their ends
  std::string_view figures;            ///< of the SHADER-DB line: "62 inst, 4.000000 cycles, ..."
};

/// The figure of that name, such as "inst". Throws BadArgument when the line has none.
double figure(const Cut& cut, std::string_view name);
/// Throws BadArgument, naming the kernel, when the listing's own count differs from the figure.
void expect_figure(const Cut& cut, std::string_view name, double count);

enum class Unit { fma, cvt, sfu, load_store, texture, control, none };

struct Mnemonic {
  std::string_view name;  ///< with its type, if it has one: "LOAD.i128"
  Unit unit = Unit::none;
};

/// Units by mnemonic, of whatever type. They are written as lists of words.
class UnitTable {
 public:
  struct Row {
    Unit unit;
    const char* words;
  };
  UnitTable(std::initializer_list<Row> rows);
  /// `word` is a mnemonic with its type and any modifiers. Throws BadArgument naming an unknown
  /// one.
  Mnemonic find(std::string_view word) const;

 private:
  std::map<std::string_view, Unit> units_;
};

/// Adds one instruction's unit, multiply-adds and memory accesses; `issued` is left alone.
void count_instruction(const Mnemonic& mnemonic, Counts& counts);

/// What is entered at its start and left at its end: an instruction, or a clause of them.
struct Step {
  Counts counts;
  int target = kNowhere;  ///< the step that its branch leads to; as many as there are: the end
  bool falls = true;      ///< the next step may follow
  static constexpr int kNowhere = -1;
};

/// How a listing's essence writes a row of Valhall that has no name.
constexpr std::string_view kUnnamed = "UNNAMED";

std::vector<Step> valhall_steps(const Cut& cut);
std::vector<Step> bifrost_steps(const Cut& cut);

/// Fills blocks, loops and the whole. Throws BadArgument where the code is not structured: a jump
/// out of the listing or into a loop, loops that overlap, no way to the end.
void build_blocks(const std::vector<Step>& steps, Shader& shader);

/// Element `i` of a list. Numbers of blocks and loops have a sign, for -1 is none.
template <typename List>
decltype(auto) nth(List& list, int i) {
  return list[static_cast<std::size_t>(i)];
}

/// The number that a text begins with. Throws BadArgument, saying what it should be.
int leading_int(std::string_view text, std::string_view what);

}  // namespace clam::mali
