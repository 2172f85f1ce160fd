// SPDX-License-Identifier: MIT
// reporter.hpp - takes Google Benchmark's reports: into its own JSON, and into the table.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "table.hpp"

namespace clam::bench {

/// Reports carry names without Google Benchmark's endings (/manual_time), and no skipped rows.
class Reporter : public benchmark::BenchmarkReporter {
 public:
  /// `format`: of --benchmark_format, or of --benchmark_out_format where there is no table; with a
  /// table "console" shows it while rows come in.
  Reporter(const Selection& selection, const std::vector<Result>& results, Table* table,
           const std::string& format);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

  /// Google Benchmark's JSON; empty when nothing was run.
  std::string json() const { return json_text_.str(); }

 private:
  std::vector<Run> renamed(const std::vector<Run>& runs) const;
  void put_measured(Run& run, const Result& result) const;

  const std::vector<Result>& results_;
  Table* table_;
  std::map<std::string, std::size_t> rows_;  ///< by name
  std::ostringstream json_text_;
  benchmark::JSONReporter json_;
  std::unique_ptr<benchmark::BenchmarkReporter> standard_;  ///< prints what the table does not
};

}  // namespace clam::bench
