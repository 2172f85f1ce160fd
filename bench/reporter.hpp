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
  /// `format`: of --benchmark_format; "console" shows the table while rows come in.
  Reporter(const Selection& selection, std::vector<Result>& results, Table& table,
           const std::string& format);

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

  /// Google Benchmark's JSON; empty when nothing was run.
  std::string json() const { return json_text_.str(); }

  /// The runs as they are to be reported anywhere.
  std::vector<Run> renamed(const std::vector<Run>& runs) const;

 private:
  void put_measured(Run& run, const Result& result) const;

  std::vector<Result>& results_;
  Table& table_;
  std::map<std::string, std::size_t> rows_;  ///< by name
  std::ostringstream json_text_;
  benchmark::JSONReporter json_;
  std::unique_ptr<benchmark::BenchmarkReporter> standard_;  ///< prints json or csv
};

/// For the file of --benchmark_out, which Google Benchmark opens and gives to it.
class FileReporter : public benchmark::BenchmarkReporter {
 public:
  FileReporter(const Reporter& reporter, const std::string& format);
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  const Reporter& reporter_;
  std::unique_ptr<benchmark::BenchmarkReporter> standard_;
};

}  // namespace clam::bench
