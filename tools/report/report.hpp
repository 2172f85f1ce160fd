// SPDX-License-Identifier: MIT
// report.hpp - results files of clam-bench as `clam report` shows them: read, judged, written.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/model_time.hpp"

namespace clam {

/// A row of a results file. A figure that the file lacks was not measured.
struct ReportRow {
  enum class Status { ok, invalid, skipped };
  using Figure = std::optional<double>;

  std::string name, op, dtype, problem, variant, reason, command;
  std::vector<std::string> marks;
  std::vector<std::string> nodes;  ///< of workloads that show it: "lightglue-192: dense_3"
  Status status = Status::ok;
  Figure us, low, high, cv;  ///< median, and the interval of the median
  Figure gflop_per_s, gb_per_s, flop_per_byte;
  Figure of_peak;  ///< 1 is the floor
  Figure predicted_low, predicted_high;
  Figure launches;
};

/// A results file: the rows of one run on one board.
struct ReportBoard {
  /// Lines under a heading, or one sentence on why there are none.
  struct Facts {
    std::string title;
    std::vector<std::pair<std::string, std::string>> lines;
    std::string instead;
  };

  std::string path;
  std::string name;   ///< of the device
  std::string label;  ///< the same, told apart from that of other files
  std::string line;   ///< device, platform, driver, in one line
  std::string gpu;    ///< "g610": the Mali that it is, as --gpu takes it; else empty
  std::string date, version;
  std::vector<Facts> facts;           ///< device, clocks, measured peaks
  std::vector<std::string> warnings;  ///< what keeps the rows from being a board's own
  nlohmann::json peaks;               ///< numbers alone, for the roofline; null: not measured
  nlohmann::json peak_rows;           ///< what was measured for them, by width and size
  std::vector<std::string> refused;   ///< a sentence for each peak that could not be measured
  std::vector<ReportRow> rows;
  /// A model of two nodes or more that were measured, and how many were not.
  struct Model {
    std::string name;
    ModelTime time;
    std::size_t left_out = 0;
  };
  std::vector<Model> models;

  std::size_t count(ReportRow::Status status) const;
};

const char* name(ReportRow::Status status);

/// Throws BadArgument, with the path and what is wrong, for a file that is no results file.
ReportBoard read_results(const std::string& path);
/// Reads all, and gives boards of the same name labels that differ.
std::vector<ReportBoard> read_boards(const std::vector<std::string>& paths);

/// Gives rows the time that a file of `clam mali --json` predicts for the same problem by the same
/// variant on the same GPU. Throws BadArgument where that is true of no row.
void add_predictions(const std::string& path, std::vector<ReportBoard>& boards);

/// "2 rows INVALID, 41 OK, 3 skipped"
std::string counts_text(const std::vector<ReportBoard>& boards);

/// One page that needs nothing else.
std::string to_html(const std::vector<ReportBoard>& boards);
/// Tables for an issue or a forum.
std::string to_markdown(const std::vector<ReportBoard>& boards);

}  // namespace clam
