// SPDX-License-Identifier: MIT
#include "figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "check/manifest.hpp"
#include "clam/error.hpp"
#include "clam/gpu.hpp"
#include "runtime/refuse.hpp"

namespace clam::mali {
namespace {

/// The options that make a tile, as the files of kernels name them; others shape groups, fix
/// extents or add to the epilogue.
constexpr const char* kTileDefines[] = {"DENSE_M0",        "DENSE_N0",     "BMM_M0",
                                        "BMM_N0",          "CONV2D_ROWS",  "CONV2D_VECTORS",
                                        "CONV2D_CHANNELS", "SOFTMAX_UNIT", "SOFTMAX_HELD",
                                        "CONV2D_RUN",      "ATT_ROWS",     "ATT_LANES"};
constexpr const char* kStride = "CONV2D_STRIDE";
constexpr const char* kAccumulators[] = {"DENSE_ACC", "BMM_ACC", "CONV2D_ACC", "ATT_ACC"};
constexpr const char* kChunk = "CONV2D_CHUNK";
/// f16 has no row of its own where all its figures are this near to those of f32.
constexpr double kAlike = .05;

using Defines = std::map<std::string, std::string>;

Defines read_defines(const std::string& options) {
  Defines defines;
  for (const BuildOption& option : build_options(options)) {
    if (option.is_define()) defines[option.name] = option.value;
  }
  return defines;
}

std::string value_of(const Defines& defines, const std::string& name) {
  const auto found = defines.find(name);
  return found == defines.end() ? "" : found->second;
}

/// In the order of rows.
constexpr const char* kTypes[] = {"f32", "f16", "f16 acc=chunk", "f16 acc=f16"};
enum Type { kF32, kF16, kChunkSums, kHalfSums };

Type type_of(const Defines& defines) {
  if (defines.count("CLAM_F16") == 0) return kF32;
  std::string acc =
      value_of(defines, kChunk).empty() || value_of(defines, kChunk) == "0" ? "" : "1";
  for (const char* name : kAccumulators) acc += value_of(defines, name);
  return acc == "1" ? kChunkSums : acc == "2" ? kHalfSums : kF16;
}

/// "DENSE_M0" and 4: "M0=4"; empty where it is not defined.
std::string short_define(const Defines& defines, const std::string& name) {
  const std::string value = value_of(defines, name);
  return value.empty() ? "" : fmt::format("{}={}", name.substr(name.find('_') + 1), value);
}

std::string tile_of(const Defines& defines) {
  std::vector<std::string> words;
  for (const char* name : kTileDefines) {
    if (defines.count(name) > 0) words.push_back(short_define(defines, name));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

/// Multiply-adds an instruction of the hot loop.
double rate(const Figures& figures) {
  return figures.loop_issued > 0 ? double(figures.loop_mac) / figures.loop_issued : 0;
}

/// Of one tile the slowest loop is shown, so that no plan of it does worse, and then the shortest
/// kernel, which is the one with the plainest epilogue.
bool is_shown_before(const Figures& a, const Figures& b) {
  return std::make_pair(rate(a), a.issued) < std::make_pair(rate(b), b.issued);
}

using Cells = std::map<std::string, Figures>;  ///< by GPU
using Tiles = std::map<std::string, Cells>;

using RowKey = std::tuple<std::string, std::string, Type>;  ///< kernel, stride
using Groups = std::map<RowKey, Tiles>;

bool is_of(const Op& op, const std::string& file) {
  const std::string stem = file.substr(0, file.rfind('.'));
  return stem == op.name || stem.compare(0, op.name.size() + 1, op.name + "_") == 0;
}

Groups groups_of(const Op& op, const Expectations& expectations) {
  Groups groups;
  for (const auto& [key, figures] : expectations.figures) {
    if (!is_of(op, key.file)) continue;
    const Defines defines = read_defines(key.options);
    const RowKey row{key.kernel, short_define(defines, kStride), type_of(defines)};
    Cells& cells = groups[row][tile_of(defines)];
    const auto [cell, is_first] = cells.emplace(key.gpu, figures);
    if (!is_first && is_shown_before(figures, cell->second)) cell->second = figures;
  }
  return groups;
}

/// The tiles that are the best of the kernel on one of the GPUs. Midgard's listings show no loops.
std::set<std::string> fastest_tiles(const Tiles& tiles) {
  std::map<std::string, std::pair<std::string, Figures>> best;  // by GPU
  for (const auto& [tile, cells] : tiles) {
    for (const auto& [gpu, figures] : cells) {
      if (figures.loop_mac == 0) continue;
      const auto [entry, is_first] = best.emplace(gpu, std::make_pair(tile, figures));
      if (!is_first && rate(figures) > rate(entry->second.second)) entry->second = {tile, figures};
    }
  }
  std::set<std::string> names;
  for (const auto& [gpu, entry] : best) names.insert(entry.first);
  return names;
}

/// The tile that most GPUs have, and of several the largest kernel.
std::string commonest_tile(const Tiles& tiles) {
  const auto weight = [](const Cells& cells) {
    int most = 0;
    for (const auto& [gpu, figures] : cells) most = std::max(most, figures.issued);
    return std::make_pair(cells.size(), most);
  };
  return std::max_element(
             tiles.begin(), tiles.end(),
             [&](const auto& a, const auto& b) { return weight(a.second) < weight(b.second); })
      ->first;
}

struct Row {
  std::string kernel, type, tile;
  Cells cells;
};

/// The rate says something of a kernel whose loop sums products.
bool sums_in_a_loop(const Op& op, const Tiles& tiles) {
  return op.sums_products && std::any_of(tiles.begin(), tiles.end(), [](const auto& tile) {
           return std::any_of(tile.second.begin(), tile.second.end(),
                              [](const auto& cell) { return cell.second.loop_mac > 1; });
         });
}

std::vector<Row> rows_of(const Op& op, const Groups& groups) {
  std::vector<Row> rows;
  for (const auto& [key, tiles] : groups) {
    const auto& [kernel, stride, type] = key;
    const bool loops = sums_in_a_loop(op, tiles);
    const std::set<std::string> shown =
        loops ? fastest_tiles(tiles) : std::set<std::string>{commonest_tile(tiles)};
    for (const std::string& tile : shown) {
      const std::string gap = tile.empty() || stride.empty() ? "" : " ";
      rows.push_back({kernel, kTypes[type], tile + gap + stride, tiles.at(tile)});
    }
  }
  return rows;
}

bool are_alike(double a, double b) { return std::abs(a - b) <= kAlike * std::max(a, b); }

/// Whether the f32 row says what this row of f16 would.
bool says_the_same(const Row& f32, const Row& f16) {
  if (f32.kernel != f16.kernel || f32.tile != f16.tile) return false;
  return std::all_of(f16.cells.begin(), f16.cells.end(), [&](const auto& cell) {
    const auto other = f32.cells.find(cell.first);
    return other != f32.cells.end() && are_alike(other->second.issued, cell.second.issued) &&
           are_alike(rate(other->second), rate(cell.second)) &&
           other->second.full_occupancy == cell.second.full_occupancy;
  });
}

/// Whether the compiler is known to fail, with some options at least.
bool is_known_to_fail(const std::string& gpu, const Row& row, const Expectations& expectations) {
  const auto fails = [&](const char* options) {
    return expectations.known_failure(gpu, {"", options, row.kernel}) != nullptr;
  };
  return (row.type.find("f32") != std::string::npos && fails("")) ||
         (row.type.find("f16") != std::string::npos && fails("-DCLAM_F16"));
}

/// Whether neither is known to fail where the other is not: a row of both would hide which.
bool fail_alike(const Row& a, const Row& b, const Expectations& expectations) {
  const std::vector<Gpu>& gpus = all_gpus();
  return std::all_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
    return is_known_to_fail(gpu.key, a, expectations) == is_known_to_fail(gpu.key, b, expectations);
  });
}

std::vector<Row> merged(std::vector<Row> rows, const Expectations& expectations) {
  for (Row& f32 : rows) {
    if (f32.type != "f32") continue;
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      return row.type == "f16" && says_the_same(f32, row) && fail_alike(f32, row, expectations);
    });
    if (same == rows.end()) continue;
    f32.type = "f32, f16";
    same->kernel.clear();
  }
  rows.erase(
      std::remove_if(rows.begin(), rows.end(), [](const Row& row) { return row.kernel.empty(); }),
      rows.end());
  return rows;
}

/// ".76 1611h"; of an op that sums no products "305 (47)", with one trip of its loop
std::string cell_text(const Op& op, const Figures& figures) {
  std::string text = fmt::format("{}{}", figures.issued, figures.full_occupancy ? "" : "h");
  if (op.sums_products && figures.loop_mac > 1) {
    const std::string digits = fmt::format("{:.2f}", rate(figures));
    return (digits[0] == '0' ? digits.substr(1) : digits) + " " + text;
  }
  if (figures.loop_issued > 0) text += fmt::format(" ({})", figures.loop_issued);
  return text;
}

std::vector<const Gpu*> columns_of(const std::vector<Row>& rows) {
  std::vector<const Gpu*> columns;
  for (const Gpu& gpu : all_gpus()) {
    const auto has_it = [&](const Row& row) { return row.cells.count(gpu.key) > 0; };
    if (std::any_of(rows.begin(), rows.end(), has_it)) columns.push_back(&gpu);
  }
  return columns;
}

std::string row_text(const Op& op, const Row& row, const std::vector<const Gpu*>& columns,
                     const Expectations& expectations) {
  std::string text = fmt::format("| {} | {} | {} |", row.kernel, row.type, row.tile);
  for (const Gpu* gpu : columns) {
    const auto cell = row.cells.find(gpu->key);
    const bool fails = is_known_to_fail(gpu->key, row, expectations);
    const std::string figures = cell == row.cells.end() ? "" : cell_text(op, cell->second);
    text += fmt::format(" {}{} |", figures, fails ? (figures.empty() ? "s" : " s") : "");
  }
  return text + "\n";
}

constexpr std::string_view kBegin = "<!-- figures of ", kEnd = "<!-- end of figures -->";

/// Where a line that begins so ends before it; npos where there is none from `at` on.
std::size_t line_with(const std::string& text, std::string_view start, std::size_t at) {
  return text.find(fmt::format("\n{}", start), at);
}

}  // namespace

std::string figures_table(const Op& op, const Expectations& expectations) {
  const std::vector<Row> rows = merged(rows_of(op, groups_of(op, expectations)), expectations);
  const std::vector<const Gpu*> columns = columns_of(rows);
  std::set<std::string> compilers;
  std::string models, rule = "|---|---|---|";
  for (const Gpu* gpu : columns) {
    compilers.insert(expectations.compilers.at(gpu->key));
    models += fmt::format(" {} |", gpu->model);
    rule += "---|";
  }
  std::string table =
      fmt::format("| {} | of | tile |{}\n{}\n", fmt::join(compilers, ", "), models, rule);
  for (const Row& row : rows) table += row_text(op, row, columns, expectations);
  return table;
}

std::vector<std::string> figures_defines() {
  std::vector<std::string> names{kStride, kChunk};
  names.insert(names.end(), std::begin(kTileDefines), std::end(kTileDefines));
  names.insert(names.end(), std::begin(kAccumulators), std::end(kAccumulators));
  return names;
}

std::string with_sections(std::string_view text,
                          const std::function<std::string(const std::string&)>& table_of) {
  std::string result = fmt::format("\n{}", text);
  std::size_t begin = line_with(result, kBegin, 0);
  throw_if(begin == result.npos, "there is no section '{}... -->' to write", kBegin);
  for (; begin != result.npos; begin = line_with(result, kBegin, begin)) {
    const std::size_t name = begin + 1 + kBegin.size();
    const std::string section = result.substr(name, result.find_first_of(" \n", name) - name);
    begin = std::min(result.find('\n', name), result.size());
    const std::size_t end = line_with(result, kEnd, begin);
    throw_if(end == result.npos || line_with(result, kBegin, begin) < end,
             "the figures of {} do not end: write '{}' where they should", in_quotes(section),
             kEnd);
    result.replace(begin + 1, end - begin, table_of(section));
  }
  return result.substr(1);
}

std::string with_figures(std::string_view text, const Expectations& expectations) {
  return with_sections(text, [&](const std::string& section) {
    return figures_table(find_op(section), expectations);
  });
}

}  // namespace clam::mali
