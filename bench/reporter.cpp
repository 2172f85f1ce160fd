// SPDX-License-Identifier: MIT
#include "reporter.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <iterator>

namespace clam::bench {
namespace {

std::unique_ptr<benchmark::BenchmarkReporter> standard_reporter(const std::string& format) {
  std::unique_ptr<benchmark::BenchmarkReporter> reporter;
  if (format == "json") reporter = std::make_unique<benchmark::JSONReporter>();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  // Deprecated for years, and still the one way to the csv that --benchmark_format promises.
  if (format == "csv") reporter = std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
  if (reporter) {
    reporter->SetOutputStream(&std::cout);
    reporter->SetErrorStream(&std::cerr);
  }
  return reporter;
}

/// The variation of counters that are all 0 is 0/0, and JSON has no word for that.
void drop_not_finite(benchmark::UserCounters& counters) {
  for (auto counter = counters.begin(); counter != counters.end();) {
    counter = std::isfinite(counter->second.value) ? std::next(counter) : counters.erase(counter);
  }
}

}  // namespace

Reporter::Reporter(const Selection& selection, std::vector<Result>& results, Table& table,
                   const std::string& format)
    : results_(results), table_(table), standard_(standard_reporter(format)) {
  for (std::size_t i = 0; i < selection.rows.size(); ++i) rows_[selection.rows[i].name] = i;
  json_.SetOutputStream(&json_text_);
  json_.SetErrorStream(&std::cerr);
}

bool Reporter::ReportContext(const Context& context) {
  return json_.ReportContext(context) && (!standard_ || standard_->ReportContext(context));
}

std::vector<benchmark::BenchmarkReporter::Run> Reporter::renamed(
    const std::vector<Run>& runs) const {
  std::vector<Run> kept;
  for (const Run& run : runs) {
    const auto row = rows_.find(run.run_name.function_name);
    if (row != rows_.end() && results_[row->second].outcome == Outcome::skipped) continue;
    kept.push_back(run);
    kept.back().run_name.time_type.clear();
    kept.back().run_name.min_time.clear();
    drop_not_finite(kept.back().counters);
  }
  return kept;
}

/// With --benchmark_repetitions the result of a row is the median of its repetitions.
void Reporter::take_median(std::size_t row, const std::vector<Run>& runs) {
  std::vector<double> us;
  for (const Run& run : runs) {
    const auto counter = run.counters.find("us");
    const bool counts = run.run_type == Run::RT_Iteration || run.aggregate_name == "median";
    if (counts && counter != run.counters.end()) us.push_back(counter->second.value);
  }
  if (us.empty()) return;
  std::sort(us.begin(), us.end());
  results_[row].us = (us[(us.size() - 1) / 2] + us[us.size() / 2]) / 2;
}

void Reporter::ReportRuns(const std::vector<Run>& runs) {
  const std::vector<Run> kept = renamed(runs);
  if (kept.empty()) return;
  json_.ReportRuns(kept);
  if (standard_) standard_->ReportRuns(kept);
  const auto row = rows_.find(kept.front().run_name.function_name);
  if (row == rows_.end()) return;
  take_median(row->second, kept);
  if (!standard_) table_.row_done(row->second);
}

void Reporter::Finalize() {
  json_.Finalize();
  if (standard_) standard_->Finalize();
}

}  // namespace clam::bench
