// SPDX-License-Identifier: MIT
#include "mali_models.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "mali/predicted_for.hpp"

namespace clam::cli {
namespace {

std::string ms(double us) { return fmt::format("{:.{}f}", us / 1000, us < 10000 ? 2 : 1); }

}  // namespace

std::optional<double> measured_us(const Workload& workload, const std::vector<ReportRow>& rows) {
  std::map<std::string, double> us_of;  // by node
  for (const ReportRow& row : rows) {
    if (row.status != ReportRow::Status::ok || !row.us) continue;
    for (const std::string& node : row.nodes) us_of.emplace(node, *row.us);
  }
  double sum = 0;
  for (const Workload::Node& node : workload.nodes) {
    if (!node.problem || !node.folded_into.empty()) continue;
    const auto us = us_of.find(workload.name + ": " + node.name);
    if (us == us_of.end()) return {};
    sum += us->second * static_cast<double>(std::max<std::int64_t>(node.calls, 1));
  }
  return sum;
}

std::string models_table(const std::vector<ModelLine>& lines) {
  const bool measured = std::any_of(lines.begin(), lines.end(),
                                    [](const ModelLine& line) { return line.measured_us; });
  std::string table =
      fmt::format("| model | nodes | predicted ms, {} | floor ms |{}\n|---|---|---|---|{}\n",
                  mali::kPredictedFor, measured ? " measured ms |" : "", measured ? "---|" : "");
  for (const ModelLine& line : lines) {
    const ModelSums& sums = line.predicted;
    table += fmt::format(
        "| {} | {} | {} to {}{} | {} |", line.name, sums.nodes, ms(sums.us.low), ms(sums.us.high),
        sums.left_out ? fmt::format(", without {} nodes", sums.left_out) : "", ms(sums.floor_us()));
    if (measured) table += line.measured_us ? fmt::format(" {} |", ms(*line.measured_us)) : " - |";
    table += "\n";
  }
  return table;
}

}  // namespace clam::cli
