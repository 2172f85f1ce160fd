// SPDX-License-Identifier: MIT
// write.cpp - what `clam report` writes of boards: one page that holds its data, style and scripts,
// or tables that an issue or a forum shows, and that can be read where Markdown is not.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "mali/predicted_for.hpp"
#include "report.hpp"
#include "runtime/embedded.hpp"
#include "runtime/words.hpp"

namespace clam {
namespace {

using nlohmann::json;

/// The text with some characters as others; those that `as` does not have stay.
std::string respelled(const std::string& text, const std::map<char, std::string>& as) {
  std::string result;
  for (const char c : text) {
    const auto found = as.find(c);
    result += found == as.end() ? std::string(1, c) : found->second;
  }
  return result;
}

// ---- the page

/// A file of tools/report, or Chart.js; empty where the build had none.
std::string file_of_page(std::string_view name) {
  const EmbeddedFile* file = find_by_name(embedded_report(), name);
  return file ? std::string(file->text) : "";
}

std::string escaped(const std::string& text) {
  return respelled(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}});
}

/// JSON that cannot end the script element it stands in: no '<', and ASCII alone.
std::string for_script(const json& value) {
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return respelled(text, {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

std::string title_of(const std::vector<ReportBoard>& boards) {
  std::string title = "clam";
  const char* between = ": ";
  for (const ReportBoard& board : boards) {
    title += between + board["label"].get<std::string>();
    between = ", ";
  }
  return title;
}

// ---- Markdown

constexpr std::size_t kProblemWidth = 72, kReasonWidth = 200, kLineWidth = 240;

/// At most `width` characters (not bytes), in one line.
std::string clamped(const std::string& text, std::size_t width) {
  std::string line;
  std::size_t characters = 0;
  for (const char c : text) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (!continues && ++characters > width)
      return line.substr(0, line.find_last_not_of(' ') + 1) + "...";
    line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return line;
}

/// Text as it is: nothing in it is Markdown, HTML, a cell's end or a person's name.
std::string plain(const std::string& text) {
  std::map<char, std::string> as = {{'<', "&lt;"}, {'&', "&amp;"}};
  for (const char c : std::string("\\`*_[]|~@#")) as[c] = std::string("\\") + c;
  return respelled(text, as);
}

/// `code`; of a table even there a bar ends the cell.
std::string code(const std::string& text) {
  return "`" + respelled(text, {{'`', "'"}, {'|', "\\|"}}) + "`";
}

std::string text_of(const json& value) { return value.get<std::string>(); }

/// The figure under the key, as clam-bench prints it; empty where there is none.
std::string figure(const json& of, const char* key) {
  if (!of.contains(key)) return "";
  const double value = of[key];
  return fmt::format("{:.{}f}", value, value < 10 ? 3 : value < 1000 ? 1 : 0);
}

std::string interval(const json& of, const char* low, const char* high) {
  if (!of.contains(low) || !of.contains(high)) return "";
  return figure(of, low) + " to " + figure(of, high);
}

using Cells = std::vector<std::string>;

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// A table whose columns line up; the first is text, the others figures. Columns without any
/// figure are left out.
std::string table(const std::vector<Cells>& lines) {
  std::vector<std::size_t> widths(lines.front().size());
  for (std::size_t column = 0; column < widths.size(); ++column) {
    const bool any = std::any_of(lines.begin() + 1, lines.end(),
                                 [&](const Cells& line) { return !line[column].empty(); });
    for (const Cells& line : lines) {
      if (any)
        widths[column] = std::max({widths[column], characters(line[column]), std::size_t(4)});
    }
  }
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string rule = "|";
    text += "|";
    for (std::size_t column = 0; column < widths.size(); ++column) {
      if (widths[column] == 0) continue;
      const std::string& cell = lines[i][column];
      const std::string pad(widths[column] - characters(cell), ' ');
      text += column == 0 ? fmt::format(" {}{} |", cell, pad) : fmt::format(" {}{} |", pad, cell);
      rule += std::string(widths[column] + 1, '-') + (column == 0 ? "-|" : ":|");
    }
    text += i == 0 ? "\n" + rule + "\n" : "\n";
  }
  return text;
}

/// "f32 101.2 GFLOP/s, copy 9.1 GB/s"
std::string facts_line(const json& facts) {
  std::string line;
  for (const json& fact : facts["lines"]) {
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", text_of(fact[0]), text_of(fact[1]));
  }
  return line;
}

/// One line each for the device with its driver, its clocks and its peaks.
std::string head(const ReportBoard& board) {
  const auto line = [&](const char* key) {
    return plain(clamped(text_of(board[key]), kLineWidth));
  };
  std::string text = fmt::format("**{}**\n\n", line("line"));
  for (std::size_t i = 1; i < board["facts"].size(); ++i) {
    const json& facts = board["facts"][i];
    text += facts["lines"].empty() ? fmt::format("- {}\n", text_of(facts["instead"]))
                                   : fmt::format("- {}: {}\n", text_of(facts["title"]),
                                                 plain(clamped(facts_line(facts), kLineWidth)));
  }
  const json& refused = board["refused"];
  if (!refused.empty()) {
    const std::size_t more = refused.size() - 1;
    text += fmt::format("- no peak of {}{}\n", plain(clamped(text_of(refused[0]), kReasonWidth)),
                        more > 0 ? fmt::format(" (and {} more)", more) : "");
  }
  text += fmt::format("- measured {}{}\n", line("date"),
                      board["version"] == "" ? "" : " by clam " + line("version"));
  for (const json& warning : board["warnings"]) text += "- " + text_of(warning) + "\n";
  return text + "\n";
}

std::string problem_cell(const json& named) {
  return code(clamped(text_of(named["name"]), kProblemWidth));
}

/// A wrong row shows no figure.
std::string table_of_rows(const ReportBoard& board) {
  std::vector<Cells> lines = {{"problem", "us", "95 % interval", "GFLOP/s", "GB/s", "% of peak",
                               fmt::format("predicted us, {}", mali::kPredictedFor)}};
  for (const json& row : board["rows"]) {
    if (row["status"] == "skipped") continue;
    const std::string predicted = interval(row, "predicted_low", "predicted_high");
    Cells cells = {problem_cell(row), text_of(row["status"]), "", "", "", "", predicted};
    if (row["status"] == "OK") {
      cells = {cells[0],
               figure(row, "us"),
               interval(row, "low", "high"),
               figure(row, "gflop_per_s"),
               figure(row, "gb_per_s"),
               row.contains("of_peak") ? fmt::format("{:.0f} %", 100 * row["of_peak"].get<double>())
                                       : "",
               predicted};
    }
    lines.push_back(cells);
  }
  return lines.size() > 1 ? table(lines) + "\n" : "";
}

/// Where the time of a model goes, by op.
std::string table_of_model(const json& model) {
  const auto ms = [](const json& of, const char* key) {
    return of.contains(key) ? fmt::format("{:.3f}", of[key].get<double>() / 1000) : "";
  };
  std::vector<Cells> lines = {{problem_cell(model), "nodes", "ms", "floor ms"}};
  for (const json& op : model["ops"]) {
    lines.push_back({text_of(op["name"]), op["nodes"].dump(), ms(op, "us"), ms(op, "floor_us")});
  }
  lines.push_back({"all", "", ms(model, "us"), ms(model, "floor_us")});
  return table(lines) + "\n";
}

/// The wrong rows, the marked ones and those that did not run, with what was said of them.
std::string remarks(const ReportBoard& board) {
  std::string invalid, marked, skipped;
  std::map<std::string, std::size_t> reasons;
  for (const json& row : board["rows"]) {
    const std::string given = text_of(row["reason"]);
    const std::string reason =
        given.empty() ? "no reason is given" : plain(clamped(given, kReasonWidth));
    if (row["status"] == "INVALID") {
      invalid += fmt::format("- INVALID: {}: {}\n", problem_cell(row), reason);
    } else if (row["status"] == "skipped") {
      ++reasons[reason];
    }
    for (const json& mark : row["marks"]) {
      marked += fmt::format("- marked: {}: {}\n", problem_cell(row),
                            plain(clamped(text_of(mark), kReasonWidth)));
    }
  }
  for (const auto& [reason, count] : reasons) {
    skipped += fmt::format("- skipped ({}): {}\n", count, reason);
  }
  return invalid + marked + skipped;
}

}  // namespace

std::string to_html(const std::vector<ReportBoard>& boards) {
  const json data = {{"clam_report", 1},
                     {"version", CLAM_VERSION},
                     {"counts", counts_text(boards)},
                     {"predicted_for", mali::kPredictedFor},
                     {"boards", boards}};
  return fmt::format(
      fmt::runtime(file_of_page("page.html")), fmt::arg("title", escaped(title_of(boards))),
      fmt::arg("style", file_of_page("page.css")), fmt::arg("data", for_script(data)),
      fmt::arg("chart", file_of_page("chart.js")), fmt::arg("script", file_of_page("page.js")));
}

std::string to_markdown(const std::vector<ReportBoard>& boards) {
  std::string text;
  for (const ReportBoard& board : boards) {
    if (!text.empty()) text += "\n";
    text += head(board) + counts_text({board}) + "\n\n" + table_of_rows(board);
    for (const json& model : board["models"]) text += table_of_model(model);
    text += remarks(board);
  }
  return text;
}

}  // namespace clam
