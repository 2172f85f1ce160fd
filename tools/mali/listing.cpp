// SPDX-License-Identifier: MIT
#include "listing.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "clam/op.hpp"
#include "listing_parts.hpp"
#include "runtime/refuse.hpp"
#include "runtime/text.hpp"
#include "tokens/letters.hpp"

namespace clam::mali {
namespace {

constexpr std::string_view kHead = "shader: MESA_SHADER_KERNEL";
constexpr std::string_view kFigures = "SHADER-DB: MESA_SHADER_KERNEL shader: ";
constexpr std::string_view kNewFigures = "MESA_SHADER_KERNEL shader: ";  // Mesa 26
constexpr std::string_view kScratch = "scratch: ";
constexpr std::string_view kFunction = "decl_function ";
constexpr std::string_view kEntry = "(entrypoint)";
constexpr std::string_view kWrapped = "__wrapped_";  // Mesa's prefix of a kernel's entry
constexpr std::string_view kFirstClause = "clause_0:";

std::string_view without_blanks_at_ends(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The entry's name, or nothing when the line declares no entry.
std::string_view entry_name(std::string_view line) {
  if (!starts_with(line, kFunction) || line.find(kEntry) == std::string_view::npos) return {};
  line.remove_prefix(kFunction.size());
  if (starts_with(line, kWrapped)) line.remove_prefix(kWrapped.size());
  const auto end = std::find_if_not(line.begin(), line.end(), is_word);
  return line.substr(0, static_cast<std::size_t>(end - line.begin()));
}

/// An instruction of Valhall's final listing: three blanks, then a mnemonic. The listings of the
/// compiler's own passes begin with a result in small letters and end in a brace.
bool is_valhall_row(std::string_view line) {
  return line.size() > 3 && starts_with(line, "   ") && line[3] >= 'A' && line[3] <= 'Z';
}

/// What Mesa 26 prints of an instruction that its disassembler has no name for. Between blocks it
/// prints lines without blanks.
constexpr std::string_view kUnnamedRow = "   ";

std::vector<std::string_view> valhall_rows(const std::vector<std::string_view>& lines) {
  std::vector<std::string_view> rows;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const std::string_view row = without_blanks_at_ends(*line);
    if (*line == kUnnamedRow) rows.push_back(kUnnamed);
    if (row.empty()) continue;
    if (!is_valhall_row(*line)) break;
    rows.push_back(row);
  }
  std::reverse(rows.begin(), rows.end());
  return rows;
}

/// The final listing begins at the last first clause: the passes before it number no clauses.
std::vector<std::string_view> bifrost_rows(const std::vector<std::string_view>& lines) {
  const auto first = std::find(lines.rbegin(), lines.rend(), kFirstClause);
  if (first == lines.rend()) throw BadArgument("the listing has no 'clause_0:': the dump is cut");
  std::vector<std::string_view> rows;
  for (auto line = first.base() - 1; line != lines.end(); ++line) {
    const std::string_view row = without_blanks_at_ends(*line);
    if (!row.empty() && row != "{" && row != "}") rows.push_back(row);
  }
  return rows;
}

enum class Family { valhall, bifrost, midgard };

/// The head of a SHADER-DB line, or nothing when the line is another.
std::string_view head_of_figures(std::string_view line) {
  for (const std::string_view head : {kFigures, kNewFigures})
    if (starts_with(line, head)) return head;
  return {};
}

bool has_figure(const Cut& cut, std::string_view name) {
  return cut.figures.find(fmt::format(" {},", name)) != std::string_view::npos;
}

Family family_of(const Cut& cut) {
  if (has_figure(cut, "tuples")) return Family::bifrost;
  return has_figure(cut, "bundles") ? Family::midgard : Family::valhall;
}

/// Lines up to the SHADER-DB line, which is left out; it goes to `figures`.
std::vector<std::string_view> lines_of_shader(std::string_view text, std::string_view& figures) {
  std::vector<std::string_view> lines = split(text, '\n');
  const auto last = std::find_if(lines.begin(), lines.end(), ends_listing);
  if (last == lines.end())
    throw BadArgument("the listing has no SHADER-DB line of a kernel: the compiler did not finish");
  if (std::find_if(last + 1, lines.end(), ends_listing) != lines.end())
    throw BadArgument("the text holds more than one listing: cut it after each SHADER-DB line");
  figures = without_blanks_at_ends(last->substr(head_of_figures(*last).size()));
  lines.erase(last, lines.end());
  return lines;
}

Cut cut_out(std::string_view text) {
  Cut cut;
  const std::vector<std::string_view> lines = lines_of_shader(text, cut.figures);
  for (const std::string_view line : lines) {
    if (const std::string_view name = entry_name(line); !name.empty()) cut.kernel = name;
    if (starts_with(line, kScratch))
      cut.scratch_bytes = leading_int(line.substr(kScratch.size()), "the bytes of scratch");
  }
  throw_if(cut.kernel.empty(),
           "the listing names no kernel: it needs the line 'decl_function NAME () (entrypoint)'");
  const Family family = family_of(cut);
  if (family == Family::valhall) cut.rows = valhall_rows(lines);
  if (family == Family::bifrost) cut.rows = bifrost_rows(lines);
  return cut;
}

/// Occupancy: 1, 2 or, on Midgard, 4.
int threads_of(const Cut& cut) {
  const double threads = figure(cut, "threads");
  throw_if(threads != 1 && threads != 2 && threads != 4,
           "kernel '{}': {} threads in its SHADER-DB line, needs 1, 2 or 4", cut.kernel, threads);
  return static_cast<int>(threads);
}

/// What Mesa 26 calls a figure.
std::string_view new_name_of(std::string_view figure) {
  if (figure == "inst") return "instrs";
  if (figure == "texture") return "t";
  return figure;
}

/// Of mnemonics of both families.
constexpr std::string_view kTypes =
    " f16 f32 v2f16 i8 i16 i24 i32 i48 i64 i96 i128 v2i8 v2i16 v4i8 s16 s32 s64 v2s16 v4s8 u4 u6 "
    "u16 u32 u64 v2u16 v4u8 ";

/// "f64", "v2i99"
bool is_like_type(std::string_view word) {
  if (word.size() > 2 && word[0] == 'v') word.remove_prefix(2);
  return word.size() > 1 && std::string_view("fisu").find(word[0]) != word.npos &&
         std::all_of(word.begin() + 1, word.end(), is_digit);
}

void read_spills(const Cut& cut, Shader& shader) {
  const std::size_t end = cut.figures.find(" spills:fills");
  const std::size_t before = cut.figures.rfind(' ', end == std::string_view::npos ? 0 : end - 1);
  if (end == std::string_view::npos || before == std::string_view::npos)
    throw BadArgument(fmt::format("kernel '{}': no spills in its SHADER-DB line", cut.kernel));
  const std::string_view pair = cut.figures.substr(before + 1, end - before - 1);
  const std::size_t colon = std::min(pair.find(':'), pair.size() - 1);
  shader.spills = leading_int(pair, "the spills of the SHADER-DB line");
  shader.fills = leading_int(pair.substr(colon + 1), "the fills of the SHADER-DB line");
}

}  // namespace

int leading_int(std::string_view text, std::string_view what) {
  int value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr == text.data())
    throw BadArgument(fmt::format("{} is {}, which is no number", what, in_quotes(text)));
  return value;
}

double figure(const Cut& cut, std::string_view name) {
  const std::string_view new_name = new_name_of(name);
  for (const std::string_view one : split(cut.figures, ',')) {
    const std::string part(without_blanks_at_ends(one));
    const std::size_t blank = std::min(part.find(' '), part.size());
    char* stop = nullptr;
    const double value = std::strtod(part.c_str(), &stop);
    const std::string_view own = std::string_view(part).substr(std::min(blank + 1, part.size()));
    const bool is_number = stop == part.c_str() + blank && std::isfinite(value);
    if ((own == name || own == new_name) && is_number) return value;
  }
  refuse("kernel '{}': its SHADER-DB line has no figure '{}'", cut.kernel, name);
}

void expect_figure(const Cut& cut, std::string_view name, double count) {
  constexpr double kPrinted = 1e-5;  // the line has six decimals
  const double expected = figure(cut, name);
  if (std::fabs(expected - count) > kPrinted)
    throw BadArgument(fmt::format(
        "kernel '{}': the compiler says {} {}, its listing has {}: the dump is cut, or the tables "
        "of instructions do not fit this compiler",
        cut.kernel, expected, name, count));
}

UnitTable::UnitTable(std::initializer_list<Row> rows) {
  for (const Row& row : rows) {
    for (const std::string_view word : split(row.words, ' ')) units_.emplace(word, row.unit);
  }
}

Mnemonic UnitTable::find(std::string_view word) const {
  const std::size_t dot = std::min(word.find('.'), word.size() - 1);
  const std::string_view type = word.substr(dot + 1, word.find('.', dot + 1) - dot - 1);
  const bool has_type = kTypes.find(fmt::format(" {} ", type)) != kTypes.npos;
  const auto unit = units_.find(word.substr(0, word.find('.')));
  throw_if(unit == units_.end() || (!has_type && is_like_type(type)),
           "the listing has the unknown instruction {}: add it to the tables in tools/mali, with "
           "its unit",
           in_quotes(word));
  return {has_type ? word.substr(0, dot + 1 + type.size()) : unit->first, unit->second};
}

namespace {

/// The first are those of units, in the order of Unit.
constexpr double Counts::*kCounts[] = {
    &Counts::fma,     &Counts::cvt,     &Counts::sfu,        &Counts::load_store,
    &Counts::texture, &Counts::control, &Counts::issued,     &Counts::mac,
    &Counts::loads,   &Counts::stores,  &Counts::load_bytes, &Counts::store_bytes};

/// Bytes of the last word of "LOAD.i128".
double bytes_of(std::string_view name) {
  return leading_int(name.substr(name.rfind(".i") + 2), "the bits of a memory access") / 8.0;
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  for (const auto count : kCounts) this->*count += other.*count;
  return *this;
}

Counts& Counts::operator*=(double factor) {
  for (const auto count : kCounts) this->*count *= factor;
  return *this;
}

void count_instruction(const Mnemonic& mnemonic, Counts& counts) {
  if (mnemonic.unit != Unit::none) counts.*kCounts[static_cast<std::size_t>(mnemonic.unit)] += 1;
  const std::string_view name = mnemonic.name;
  const std::string_view base = name.substr(0, name.find('.'));
  if (name == "FMA.f32") counts.mac += 1;
  if (name == "FMA.v2f16") counts.mac += 2;
  if (base == "IDP") counts.mac += 4;
  const bool atomic = starts_with(base, "ATOM") && base != "ATOM_CX" && base != "ATOM_PRE" &&
                      base != "ATOM_POST";  // Bifrost's steps around the access itself
  const bool exchange = base == "AXCHG" || base == "ACMPXCHG";
  const bool returns = exchange || (atomic && name.find("_RETURN") != std::string_view::npos);
  if (base == "LOAD" || base == "LD_BUFFER" || returns)
    counts.loads += 1, counts.load_bytes += bytes_of(name);
  if (base == "STORE" || base == "ACMPSTORE" || atomic || exchange)
    counts.stores += 1, counts.store_bytes += bytes_of(name);
}

bool ends_listing(std::string_view line) { return !head_of_figures(line).empty(); }

std::string essence(std::string_view dump) {
  const Cut cut = cut_out(dump);
  std::string text = fmt::format("{}\n", kHead);
  if (cut.scratch_bytes != 0) text += fmt::format("{}{}\n", kScratch, cut.scratch_bytes);
  text += fmt::format("{}{} () {}\n", kFunction, cut.kernel, kEntry);
  for (const std::string_view row : cut.rows) {
    if (family_of(cut) == Family::valhall) text += "   ";
    text.append(row) += '\n';
  }
  return text += fmt::format("{}{}\n", kFigures, cut.figures);
}

Shader parse_listing(std::string_view listing) {
  const Cut cut = cut_out(listing);
  Shader shader;
  shader.kernel = cut.kernel;
  shader.scratch_bytes = cut.scratch_bytes;
  shader.threads = threads_of(cut);
  read_spills(cut, shader);
  const Family family = family_of(cut);
  if (family == Family::midgard) {
    shader.full_threads = 4;
    shader.whole.issued = figure(cut, "bundles");
    return shader;
  }
  build_blocks(family == Family::valhall ? valhall_steps(cut) : bifrost_steps(cut), shader);
  return shader;
}

}  // namespace clam::mali
