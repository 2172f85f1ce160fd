// SPDX-License-Identifier: MIT
// markdown.cpp - `clam report --markdown`: tables that an issue or a forum shows, and that
// can be read where Markdown is not.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "mali/predicted_for.hpp"
#include "part.hpp"
#include "report.hpp"

namespace clam {
namespace {

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

std::string figure(const ReportRow::Figure& value) {
  if (!value) return "";
  return fmt::format("{:.{}f}", *value, *value < 10 ? 3 : *value < 1000 ? 1 : 0);
}

std::string percent(const ReportRow::Figure& value) {
  return value ? fmt::format("{:.0f} %", *value * 100) : "";
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
std::string facts_line(const ReportBoard::Facts& facts) {
  std::string line;
  for (const auto& [title, value] : facts.lines) {
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", title, value);
  }
  return line;
}

/// One line each for the device with its driver, its clocks and its peaks.
std::string head(const ReportBoard& board, const std::string& key) {
  std::string text = fmt::format("**{}{}**\n\n", key.empty() ? "" : key + ": ",
                                 plain(clamped(board.line, kLineWidth)));
  for (std::size_t i = 1; i < board.facts.size(); ++i) {
    const ReportBoard::Facts& facts = board.facts[i];
    text += facts.lines.empty() ? fmt::format("- {}\n", facts.instead)
                                : fmt::format("- {}: {}\n", facts.title,
                                              plain(clamped(facts_line(facts), kLineWidth)));
  }
  if (!board.refused.empty()) {
    const std::size_t more = board.refused.size() - 1;
    text += fmt::format("- no peak of {}{}\n", plain(clamped(board.refused[0], kReasonWidth)),
                        more > 0 ? fmt::format(" (and {} more)", more) : "");
  }
  text += fmt::format(
      "- measured {}{}\n", plain(clamped(board.date, kLineWidth)),
      board.version.empty() ? "" : " by clam " + plain(clamped(board.version, kLineWidth)));
  for (const std::string& warning : board.warnings) text += "- " + warning + "\n";
  return text + "\n";
}

/// What a cell shows for a row's time: a wrong row shows no figure.
std::string time_cell(const ReportRow& row) {
  return row.status == ReportRow::Status::ok ? figure(row.us) : name(row.status);
}

std::string table_of(const ReportBoard& board) {
  std::vector<Cells> lines = {{"problem", "us", "95 % interval", "GFLOP/s", "GB/s", "% of peak",
                               fmt::format("predicted us, {}", mali::kPredictedFor)}};
  for (const ReportRow& row : board.rows) {
    if (row.status == ReportRow::Status::skipped) continue;
    Cells cells = {code(clamped(row.name, kProblemWidth)), time_cell(row), "", "", "", "", ""};
    if (row.status == ReportRow::Status::ok) {
      if (row.low && row.high) cells[2] = figure(row.low) + " to " + figure(row.high);
      cells[3] = figure(row.gflop_per_s), cells[4] = figure(row.gb_per_s);
      cells[5] = percent(row.of_peak);
    }
    if (row.predicted_low && row.predicted_high) {
      cells[6] = figure(row.predicted_low) + " to " + figure(row.predicted_high);
    }
    lines.push_back(cells);
  }
  return lines.size() > 1 ? table(lines) + "\n" : "";
}

/// A line a problem, two columns a board; problems in the order in which they are first met.
std::string table_of(const std::vector<ReportBoard>& boards, const Cells& keys) {
  std::vector<Cells> lines = {{"problem"}};
  std::map<std::string, std::size_t> line_of;
  const std::size_t width = 1 + 2 * boards.size();
  for (std::size_t i = 0; i < boards.size(); ++i) {
    lines[0].push_back(keys[i] + " us");
    lines[0].push_back(keys[i] + " % of peak");
  }
  for (std::size_t i = 0; i < boards.size(); ++i) {
    for (const ReportRow& row : boards[i].rows) {
      const auto [found, fresh] = line_of.emplace(row.name, lines.size());
      if (fresh) {
        lines.emplace_back(width);
        lines.back()[0] = code(clamped(row.name, kProblemWidth));
      }
      Cells& cells = lines[found->second];
      cells[1 + 2 * i] = time_cell(row);
      if (row.status == ReportRow::Status::ok) cells[2 + 2 * i] = percent(row.of_peak);
    }
  }
  return lines.size() > 1 ? table(lines) + "\n" : "";
}

/// Where the time of a model goes, by op.
std::string table_of(const ReportBoard::Model& model, const std::string& key) {
  const auto ms = [](double us) { return fmt::format("{:.3f}", us / 1000); };
  std::vector<Cells> lines = {
      {key + code(clamped(model.name, kProblemWidth)), "nodes", "ms", "floor ms"}};
  for (const ModelTime::Op& op : model.time.ops) {
    lines.push_back(
        {op.name, std::to_string(op.nodes), ms(op.us), model.time.floor_us ? ms(op.floor_us) : ""});
  }
  lines.push_back(
      {"all", "", ms(model.time.us), model.time.floor_us ? ms(*model.time.floor_us) : ""});
  return table(lines) + "\n";
}

/// The wrong rows, the marked ones and those that did not run, with what was said of them.
std::string remarks(const ReportBoard& board, const std::string& key) {
  const std::string on = key.empty() ? "" : " on " + key;
  std::string invalid, marked, skipped;
  std::map<std::string, std::size_t> reasons;
  for (const ReportRow& row : board.rows) {
    const std::string problem = code(clamped(row.name, kProblemWidth));
    const std::string reason =
        row.reason.empty() ? "no reason is given" : plain(clamped(row.reason, kReasonWidth));
    if (row.status == ReportRow::Status::invalid) {
      invalid += fmt::format("- INVALID{}: {}: {}\n", on, problem, reason);
    } else if (row.status == ReportRow::Status::skipped) {
      ++reasons[reason];
    }
    for (const std::string& mark : row.marks) {
      marked +=
          fmt::format("- marked{}: {}: {}\n", on, problem, plain(clamped(mark, kReasonWidth)));
    }
  }
  for (const auto& [reason, count] : reasons) {
    skipped += fmt::format("- skipped{} ({}): {}\n", on, count, reason);
  }
  return invalid + marked + skipped;
}

}  // namespace

std::string to_markdown(const std::vector<ReportBoard>& boards) {
  Cells keys;
  for (std::size_t i = 0; i < boards.size(); ++i) {
    keys.push_back(boards.size() == 1 ? "" : fmt::format("[{}]", i + 1));
  }
  std::string text;
  for (std::size_t i = 0; i < boards.size(); ++i) text += head(boards[i], keys[i]);
  text += counts_text(boards) + "\n\n";
  text += boards.size() == 1 ? table_of(boards[0]) : table_of(boards, keys);
  for (std::size_t i = 0; i < boards.size(); ++i) {
    const std::string key = keys[i].empty() ? "" : keys[i] + " ";
    for (const ReportBoard::Model& model : boards[i].models) text += table_of(model, key);
  }
  for (std::size_t i = 0; i < boards.size(); ++i) text += remarks(boards[i], keys[i]);
  return text;
}

}  // namespace clam
