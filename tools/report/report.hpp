// SPDX-License-Identifier: MIT
// report.hpp - results files of clam-bench as `clam report` shows them: read, judged, written.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace clam {

/// A results file, checked, as the page and the table show it:
///   path, name, line      of the file; of the device, and with its driver in one line
///   label                 the name, told apart from that of other files
///   gpu                   "g610": the Mali that it is, as --gpu takes it; else empty
///   date, version         of the run, and of the clam-bench that measured
///   facts, warnings       see facts_of; what keeps the rows from being a board's own
///   peaks, peak_rows      of the roofline; what was measured for them, by width and size
///   refused               a sentence for each peak that could not be measured
///   rows                  of each what it is (name, problem, op, dtype, variant, command, nodes),
///                         its status ("OK", "INVALID", "skipped") with reason and marks, and its
///                         figures; one that was not measured is absent
///   models                of two measured nodes or more: a ModelTime, and how many are left_out
using ReportBoard = nlohmann::json;

/// Reads all, and gives boards of the same name labels that differ. Throws BadArgument, with the
/// path and what is wrong, for a file that is no results file.
std::vector<ReportBoard> read_boards(const std::vector<std::string>& paths);

/// Gives rows the time that a file of `clam mali --json` predicts for the same problem by the same
/// variant on the same GPU. Throws BadArgument where that is true of no row.
void add_predictions(const std::string& path, std::vector<ReportBoard>& boards);

/// Rows of this status.
std::size_t count_rows(const ReportBoard& board, const char* status);

/// "2 rows INVALID, 41 OK, 3 skipped"
std::string counts_text(const std::vector<ReportBoard>& boards);

/// One page that needs nothing else.
std::string to_html(const std::vector<ReportBoard>& boards);
/// Tables for an issue or a forum, board after board.
std::string to_markdown(const std::vector<ReportBoard>& boards);

}  // namespace clam
