// SPDX-License-Identifier: MIT
// table.hpp - the table for people: a block for each workload, a line for each of its nodes; or a
// line for each row, where rows are shown once.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "measure.hpp"
#include "peaks.hpp"
#include "rows.hpp"

namespace clam::bench {

class Table {
 public:
  /// `results` runs beside `selection.rows`, and may still change.
  Table(const Selection& selection, const std::vector<Result>& results, const DeviceInfo& device,
        std::FILE* out);

  /// Device, driver, replaced kernels.
  void head(const std::vector<std::string>& overrides);
  /// What a row's "% peak" is of.
  void peaks(const Peaks& peaks);
  /// Says so when the peaks came out higher at the end, for the rows above were held against less.
  void peaks_again(const Peaks& peaks);
  /// A line of its own under the head.
  void say(const std::string& line);
  /// Prints the lines up to the next one that shows this row.
  void row_done(std::size_t row);
  /// What was skipped and why, the rows that are farthest from their peak,
  /// and the counts. Call once, at the end.
  void foot();

 private:
  /// A line of a block; or where rows are shown once, a row of the one table.
  struct Place {
    const Block* block;  ///< null: of the one table
    Line line;
  };
  void show(const Place& place);
  /// Unless it was printed last.
  void show_head(const Place& place);
  void show_farthest();
  void show_models();
  std::string figures_of(const Row& row, const Result& result) const;
  std::string published_cell(const Block& block, const Line& line, const std::string& column) const;
  std::size_t column_width(const Block& block, const Workload::Column& column) const;

  const Selection& selection_;
  const std::vector<Result>& results_;
  const DeviceInfo& device_;
  std::FILE* out_;
  MeasuredPeak peak_;
  std::vector<Place> places_;  ///< all, in order
  std::size_t next_ = 0;       ///< the first place that is not shown
  std::optional<const Block*> shown_block_;  ///< whose head was printed last
};

}  // namespace clam::bench
