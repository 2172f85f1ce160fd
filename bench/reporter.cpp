// SPDX-License-Identifier: MIT
#include "reporter.hpp"

#include <cmath>
#include <iostream>
#include <iterator>

namespace clam::bench {
namespace {

std::unique_ptr<benchmark::BenchmarkReporter> standard_reporter(const std::string& format) {
  if (format == "json") return std::make_unique<benchmark::JSONReporter>();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  // Deprecated for years, and still the one way to the csv that --benchmark_format promises.
  if (format == "csv") return std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
  return nullptr;
}

/// The variation of counters that are all 0 is 0/0, and JSON has no word for that.
void drop_not_finite(benchmark::UserCounters& counters) {
  for (auto counter = counters.begin(); counter != counters.end();) {
    counter = std::isfinite(counter->second.value) ? std::next(counter) : counters.erase(counter);
  }
}

}  // namespace

Reporter::Reporter(const Selection& selection, const std::vector<Result>& results, Table* table,
                   const std::string& format)
    : results_(results), table_(table), standard_(standard_reporter(format)) {
  if (!standard_ && !table_) standard_ = std::make_unique<benchmark::ConsoleReporter>();
  for (std::size_t i = 0; i < selection.rows.size(); ++i) rows_[selection.rows[i].name] = i;
  json_.SetOutputStream(&json_text_);
  json_.SetErrorStream(&std::cerr);
}

bool Reporter::ReportContext(const Context& context) {
  if (!json_.ReportContext(context)) return false;
  if (!standard_) return true;
  // Google Benchmark opens the file of --benchmark_out, and gives it to this reporter.
  standard_->SetOutputStream(&GetOutputStream());
  standard_->SetErrorStream(&GetErrorStream());
  return standard_->ReportContext(context);
}

/// A run was played from what had been measured: it carries the means, and is told the counts.
void Reporter::put_measured(Run& run, const Result& result) const {
  run.cpu_accumulated_time = 0;
  const auto pass = static_cast<std::size_t>(run.repetition_index);
  if (run.run_type != Run::RT_Iteration || pass >= result.passes.size()) return;
  const Pass& measured = result.passes[pass];
  run.iterations = measured.iterations;
  run.real_accumulated_time = measured.mean_us * 1e-6 * double(measured.iterations);
  run.cpu_accumulated_time = measured.host_us * 1e-6 * double(measured.iterations);
}

std::vector<benchmark::BenchmarkReporter::Run> Reporter::renamed(
    const std::vector<Run>& runs) const {
  std::vector<Run> kept;
  for (const Run& run : runs) {
    const auto row = rows_.find(run.run_name.function_name);
    if (row != rows_.end() && results_[row->second].outcome == Outcome::skipped) continue;
    kept.push_back(run);
    if (row != rows_.end()) put_measured(kept.back(), results_[row->second]);
    kept.back().run_name.time_type.clear();
    kept.back().run_name.min_time.clear();
    drop_not_finite(kept.back().counters);
  }
  return kept;
}

void Reporter::ReportRuns(const std::vector<Run>& runs) {
  const std::vector<Run> kept = renamed(runs);
  if (kept.empty()) return;
  json_.ReportRuns(kept);
  if (standard_) return standard_->ReportRuns(kept);
  const auto row = rows_.find(kept.front().run_name.function_name);
  if (row != rows_.end()) table_->row_done(row->second);
}

void Reporter::Finalize() {
  json_.Finalize();
  if (standard_) standard_->Finalize();
}

}  // namespace clam::bench
