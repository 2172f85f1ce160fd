// SPDX-License-Identifier: MIT
// read.cpp - reads results files (bench/results.schema.json) for `clam report`.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <sstream>

#include "clam/gpu.hpp"
#include "part.hpp"
#include "report.hpp"
#include "runtime/words.hpp"

namespace clam {
namespace {

using nlohmann::json;

constexpr Words<3> kReportRowStatusWords{"OK", "INVALID", "skipped"};

constexpr int kSchema = 1;
constexpr const char* kNotAsked = "not asked for in this run";

/// The part that is clam's own, of a version that is known here.
const json& own_part(const json& document, const std::string& path) {
  const bool object = document.is_object();
  if (!object || !document.contains("clam") || !document.at("clam").is_object()) {
    const bool google = object && document.contains("benchmarks");
    throw BadArgument(fmt::format("{} {} without clam's rows: give a file of clam-bench --json",
                                  path, google ? "is a file of Google Benchmark" : "is JSON"));
  }
  const json& own = document.at("clam");
  if (!own.contains("schema")) {
    throw BadArgument(path +
                      " has no schema number: an older clam-bench wrote it, so measure again");
  }
  const json& schema = own.at("schema");
  if (!schema.is_number_integer() || schema != kSchema) {
    throw BadArgument(
        fmt::format("{} is of schema {}, and this clam reads schema {}; measure "
                    "again with this version",
                    path, in_quotes(schema.dump(-1, ' ', true)), kSchema));
  }
  return own;
}

/// Only "fine" is a time, and no word of `validity` but OK makes it one that can be believed.
ReportRow::Status status_of(const Part& row) {
  const std::string outcome = row.needed_text("outcome");
  if (outcome == "skipped" || outcome == "not run") return ReportRow::Status::skipped;
  const std::string validity = row.text("validity");
  const bool valid = outcome == "fine" && validity == "OK";
  return valid ? ReportRow::Status::ok : ReportRow::Status::invalid;
}

ReportRow::Figure ratio(ReportRow::Figure above, ReportRow::Figure below) {
  if (!above || !below || *above <= 0 || *below <= 0) return {};
  return *above / *below;
}

/// Without the problem that it may start with, so that the same reason reads the same in all rows.
std::string reason_of(const Part& row) {
  const std::string reason = row.text("reason"), start = row.text("problem") + ": ";
  if (reason.empty() && row.text("outcome") == "not run") return kNotAsked;
  return reason.rfind(start, 0) == 0 ? reason.substr(start.size()) : reason;
}

/// What an INVALID row claims: shown as that, so that whoever reads the reason sees how far off it
/// is.
void take_claim(const Part& claimed, ReportRow& row) {
  row.us = claimed.figure("us");
  const auto rate = [&](const char* key) {
    const ReportRow::Figure each_us = ratio(claimed.figure(key), row.us);
    return each_us ? ReportRow::Figure(*each_us * 1e-3) : each_us;
  };
  row.gflop_per_s = rate("flops"), row.gb_per_s = rate("bytes");
  row.flop_per_byte = ratio(claimed.figure("flops"), claimed.figure("bytes"));
}

ReportRow read_row(const Part& part) {
  ReportRow row;
  row.name = part.needed_text("name");
  row.op = part.needed_text("op");
  row.dtype = part.needed_text("dtype");
  row.command = part.needed_command("command");
  row.variant = part.text("variant"), row.problem = part.text("problem");
  row.reason = reason_of(part);
  row.marks = part.texts("marks");
  row.status = status_of(part);
  const Part us = part.object("us");
  row.us = us.figure("median"), row.cv = us.figure("cv");
  row.low = us.figure("low"), row.high = us.figure("high");
  row.gflop_per_s = part.figure("gflop_per_s"), row.gb_per_s = part.figure("gb_per_s");
  row.of_peak = part.figure("of_peak");
  const Part predicted = part.object("predicted_us");
  row.predicted_low = predicted.figure("low"), row.predicted_high = predicted.figure("high");
  row.launches = part.figure("launches");
  row.flop_per_byte = ratio(part.figure("flops"), part.figure("bytes"));
  if (!row.flop_per_byte) row.flop_per_byte = ratio(row.gflop_per_s, row.gb_per_s);
  if (row.status == ReportRow::Status::invalid && !row.us) take_claim(part.object("claimed"), row);
  return row;
}

/// Gives rows the nodes that show them: "lightglue-192: dense_3".
void add_nodes(const Part& own, std::vector<ReportRow>& rows) {
  for (const Part& workload : own.objects("workloads")) {
    const std::string name = workload.text("name");
    for (const Part& node : workload.objects("nodes")) {
      const std::string of = node.text("name");
      ReportRow* row = find_by_name(rows, node.text("row"));
      if (row && !of.empty()) row->nodes.push_back(name.empty() ? of : name + ": " + of);
    }
  }
}

/// Its nodes with the times of their rows. A node whose kernel does another's work too is that one.
ReportBoard::Model model_of(const Part& workload, const std::vector<ReportRow>& rows) {
  ReportBoard::Model model{workload.text("name"), {}, 0};
  std::vector<NodeTime> nodes;
  for (const Part& node : workload.objects("nodes")) {
    if (!node.text("folded_into").empty() || node.text("name").empty()) continue;
    const ReportRow* row = find_by_name(rows, node.text("row"));
    if (!row || row->status != ReportRow::Status::ok || !row->us) {
      ++model.left_out;
      continue;
    }
    NodeTime time{node.text("name"), row->op, node.figure("calls").value_or(1), *row->us, {}};
    if (row->of_peak) time.floor_us = *row->of_peak * *row->us;
    nodes.push_back(std::move(time));
  }
  model.time = model_time(std::move(nodes));
  return model;
}

/// What the page shows of it, and nothing else.
json peak_row(const Part& part) {
  json row = {{"name", part.text("name")}, {"dtype", part.text("dtype")}};
  for (const char* key : {"bytes", "us", "gflop_per_s", "gb_per_s"}) {
    if (const auto value = part.figure(key)) row[key] = *value;
  }
  return row;
}

std::string device_line(const Part& device) {
  std::string line = device.needed_text("name");
  if (line.empty()) line = "a device without a name";
  line += fmt::format(" ({}, driver {}; {}", device.text("platform"), device.text("driver_version"),
                      device.text("type"));
  if (const auto units = device.figure("compute_units")) {
    line += fmt::format(", {:.0f} compute unit{}", *units, *units == 1 ? "" : "s");
  }
  return line + ")";
}

/// The Mali that it is, by its id or its own name; empty for all else.
std::string gpu_key(const Part& device) {
  const Identity who = identify(device_from_json(device.value()));
  return who.by == Identity::By::id || who.by == Identity::By::name ? who.gpu->key : "";
}

std::vector<std::string> warnings(const Part& device, const std::vector<std::string>& replaced,
                                  const std::vector<std::string>& unpinned) {
  std::vector<std::string> warnings;
  for (const std::string& domain : unpinned) {
    warnings.push_back("Not held at its top: " + domain +
                       ". Measure again with tools/bench --pin.");
  }
  if (device.text("type") == "cpu") {
    warnings.push_back("This is a CPU: its times say nothing about a GPU.");
  }
  if (!replaced.empty()) warnings.push_back("Kernel files were replaced for this run.");
  return warnings;
}

/// The line with what stands in quotes as one letter; empty where a quote is not closed.
std::string without_quotes(std::string_view line) {
  std::string bare;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\'') {
      i = line.find('\'', i + 1);
      if (i == line.npos) return "";
      bare += 'q';
    } else if (line.substr(i, 2) == "\\'") {
      bare += 'q';
      ++i;
    } else {
      bare += line[i];
    }
  }
  return bare;
}

/// Whether it is the same to a shell in quotes or not.
bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view(" _-./:,=+@%").find(c) != std::string_view::npos;
  });
}

using Prediction =
    std::pair<std::string, std::string>;  ///< a problem, and the variant that takes it

/// The times of one GPU, from and to. A problem of several nodes stands there once a node, always
/// with the same time.
std::map<Prediction, std::vector<double>> predictions_of(const Part& gpu) {
  std::map<Prediction, std::vector<double>> predictions;
  for (const Part& problem : gpu.objects("problems")) {
    const std::vector<double> us = problem.figures("predicted_us");
    if (us.size() != 2) continue;
    predictions[{problem.needed_text("problem"), problem.text("variant")}] = us;
  }
  return predictions;
}

int add_to(ReportBoard& board, const std::map<Prediction, std::vector<double>>& predictions) {
  int added = 0;
  for (ReportRow& row : board.rows) {
    const auto found = predictions.find({row.problem, row.variant});
    if (found == predictions.end()) continue;
    row.predicted_low = found->second[0], row.predicted_high = found->second[1];
    ++added;
  }
  return added;
}

}  // namespace

const char* name(ReportRow::Status status) { return word_of(kReportRowStatusWords, status); }

std::size_t ReportBoard::count(ReportRow::Status status) const {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [&](const ReportRow& row) { return row.status == status; }));
}

ReportBoard read_results(const std::string& path) {
  const json document = parse_json_file(path, "clam-bench --json");
  const Part own(own_part(document, path), path + ": clam");
  const Part device = own.object("device"), peaks = own.object("peaks");
  const std::vector<std::string> replaced = own.texts("replaced_kernels");
  ReportBoard board;
  board.path = path;
  board.line = device_line(device);
  board.name = device.text("name").empty() ? "a device without a name" : device.text("name");
  board.label = board.name, board.gpu = of_file(path, [&] { return gpu_key(device); });
  board.date = own.needed_text("date"), board.version = own.text("version");
  board.facts = {device_facts(device, board, replaced), clock_facts(own.object("board")),
                 peak_facts(peaks)};
  board.warnings =
      warnings(device, replaced, own.object("board").object("before").texts("unpinned"));
  for (const char* key : {"gflops_f32", "gflops_f16", "gb_per_s_copy"}) {
    if (const auto value = peaks.figure(key)) board.peaks[key] = *value;
  }
  board.refused = peaks.texts("refused");
  board.peak_rows = json::array();
  for (const Part& row : peaks.objects("rows")) board.peak_rows.push_back(peak_row(row));
  for (const Part& part : own.objects("rows")) board.rows.push_back(read_row(part));
  add_nodes(own, board.rows);
  if (board.rows.empty()) throw BadArgument(path + " has no rows: nothing was measured");
  for (const Part& workload : own.objects("workloads")) {
    board.models.push_back(model_of(workload, board.rows));
    if (board.models.back().time.farthest.size() < 2) board.models.pop_back();
  }
  return board;
}

std::vector<ReportBoard> read_boards(const std::vector<std::string>& paths) {
  std::vector<ReportBoard> boards;
  for (const std::string& path : paths) boards.push_back(read_results(path));
  std::map<std::string, int> names, labels;
  for (const ReportBoard& board : boards) ++names[board.name];
  for (ReportBoard& board : boards) {
    if (names[board.name] == 1) continue;
    board.label += " (" + std::filesystem::path(board.path).filename().string() + ")";
    // The same file name in two folders, or one file given twice.
    if (const int again = labels[board.label]++) board.label += fmt::format(" {}", again + 1);
  }
  return boards;
}

std::string counts_text(const std::vector<ReportBoard>& boards) {
  std::size_t invalid = 0, ok = 0, skipped = 0;
  for (const ReportBoard& board : boards) {
    invalid += board.count(ReportRow::Status::invalid);
    ok += board.count(ReportRow::Status::ok);
    skipped += board.count(ReportRow::Status::skipped);
  }
  const std::string head = fmt::format("{} row{} INVALID", invalid, invalid == 1 ? "" : "s");
  return fmt::format("{}, {} OK, {} skipped", invalid > 0 ? head : "no row INVALID", ok, skipped);
}

bool runs_clam_bench(std::string_view line) {
  const std::string bare = without_quotes(line);
  if (!is_plain(bare)) return false;
  std::istringstream words(bare);
  std::string word, value;
  words >> word;
  for (const char* folder : {"CLAM_KERNEL_DIR=", "CLAM_TUNED_DIR="}) {
    if (word.rfind(folder, 0) == 0) words >> word;
  }
  if (word != "clam-bench") return false;
  while (words >> word) {
    const bool known = word == "--problem" || word == "--variant" || word == "--device";
    if (!known || !(words >> value)) return false;
  }
  return true;
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
    const auto predictions = predictions_of(gpu);
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
