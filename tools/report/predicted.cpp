// SPDX-License-Identifier: MIT
// predicted.cpp - what `clam mali --json` predicts, beside what was measured.
#include <map>

#include "clam/gpu.hpp"
#include "part.hpp"
#include "report.hpp"

namespace clam {
namespace {

using Prediction =
    std::pair<std::string, std::string>;  ///< a problem, and the variant that takes it

/// The rows of one GPU. A problem of several nodes stands there once a node, always with the same
/// time.
std::map<Prediction, ReportRow> predictions_of(const Part& gpu) {
  std::map<Prediction, ReportRow> predictions;
  for (const Part& problem : gpu.objects("problems")) {
    const std::vector<double> us = problem.figures("predicted_us");
    if (us.size() != 2) continue;
    ReportRow row;
    row.predicted_low = us[0], row.predicted_high = us[1];
    predictions[{problem.needed_text("problem"), problem.text("variant")}] = row;
  }
  return predictions;
}

int add_to(ReportBoard& board, const std::map<Prediction, ReportRow>& predictions) {
  int added = 0;
  for (ReportRow& row : board.rows) {
    const auto found = predictions.find({row.problem, row.variant});
    if (found == predictions.end()) continue;
    row.predicted_low = found->second.predicted_low;
    row.predicted_high = found->second.predicted_high;
    ++added;
  }
  return added;
}

}  // namespace

void take_prediction(const Part& part, ReportRow& row) {
  const Part predicted = part.object("predicted_us");
  row.predicted_low = predicted.figure("low"), row.predicted_high = predicted.figure("high");
}

void add_predictions(const std::string& path, std::vector<ReportBoard>& boards) {
  const nlohmann::json document = parse_json_file(path, "clam mali --json");
  if (!document.is_object() || !document.contains("clam_mali")) {
    throw BadArgument(path + " predicts nothing: give a file of clam mali --json");
  }
  int added = 0, boards_of_it = 0;
  std::string names;
  for (const Part& gpu : Part(document, path).objects("gpus")) {
    const std::string key = gpu.needed_text("gpu");
    const std::map<Prediction, ReportRow> predictions = predictions_of(gpu);
    names += std::string(names.empty() ? "Mali-" : ", Mali-") +
             of_file(path, [&] { return find_gpu(key).model; });
    for (ReportBoard& board : boards) {
      if (board.gpu != key) continue;
      ++boards_of_it;
      added += add_to(board, predictions);
    }
  }
  if (added > 0) return;
  throw BadArgument(fmt::format(
      "{} is about {}, and {}", path, names.empty() ? "no GPU" : names,
      boards_of_it == 0 ? "none of the results is of one"
                        : "none of its problems was measured there by the same variant"));
}

}  // namespace clam
