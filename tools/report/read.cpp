// SPDX-License-Identifier: MIT
// read.cpp - reads results files (bench/results.schema.json) for `clam report`.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>

#include "bench/results_file.hpp"
#include "check/model_time.hpp"
#include "clam/gpu.hpp"
#include "report.hpp"
#include "runtime/refuse.hpp"

namespace clam {
namespace {

using nlohmann::json;

constexpr const char* kNotAsked = "not asked for in this run";

/// Only "fine" is a time, and no word of `validity` but OK makes it one that can be believed.
const char* status_of(const Part& row) {
  const std::string outcome = row.needed_text("outcome");
  if (outcome == "skipped" || outcome == "not run") return "skipped";
  return outcome == "fine" && row.text("validity") == "OK" ? "OK" : "INVALID";
}

Part::Figure ratio(Part::Figure above, Part::Figure below) {
  if (!above || !below || *above <= 0 || *below <= 0) return {};
  return *above / *below;
}

void put(const char* key, Part::Figure value, json& to) {
  if (value) to[key] = *value;
}

/// Without the problem that it may start with, so that the same reason reads the same in all rows.
std::string reason_of(const Part& row) {
  const std::string reason = row.text("reason"), start = row.text("problem") + ": ";
  if (reason.empty() && row.text("outcome") == "not run") return kNotAsked;
  return reason.rfind(start, 0) == 0 ? reason.substr(start.size()) : reason;
}

/// What an INVALID row claims: shown as that, so that whoever reads the reason sees how far off it
/// is.
void take_claim(const Part& claimed, json& row) {
  const Part::Figure us = claimed.figure("us"), flops = claimed.figure("flops"),
                     bytes = claimed.figure("bytes"), ns = us ? *us * 1e3 : us;
  put("us", us, row);
  put("gflop_per_s", ratio(flops, ns), row);
  put("gb_per_s", ratio(bytes, ns), row);
  put("flop_per_byte", ratio(flops, bytes), row);
}

/// Whether a shell that is given the line would have clam-bench measure a row, and do nothing else:
/// what is not in single quotes means only itself, and no flag writes a file.
bool runs_clam_bench(const std::string& line) {
  constexpr std::size_t kLongest = 4000;  // std::regex takes stack for each character
  static const std::string word = R"((?:'[^']*'|\\'|[\w./:,=+@%-])+)";
  static const std::regex command("(?:CLAM_KERNEL_DIR=" + word + " )?(?:CLAM_TUNED_DIR=" + word +
                                  " )?clam-bench(?: --(?:problem|variant|device) " + word + ")*");
  return line.size() <= kLongest && std::regex_match(line, command);
}

/// What a person will paste into a shell: clam-bench with its words, and nothing that a shell
/// would do besides.
std::string command_of(const Part& row) {
  const std::string line = row.needed_text("command");
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  if (std::any_of(line.begin(), line.end(), is_control)) {
    row.wrong("command", "one line of plain text: it has control characters");
  }
  if (!runs_clam_bench(line)) {
    row.wrong("command", "a command that has clam-bench measure a row, and nothing else");
  }
  return line;
}

json read_row(const Part& part) {
  json row = {{"name", part.needed_text("name")},
              {"op", part.needed_text("op")},
              {"dtype", part.needed_text("dtype")},
              {"command", command_of(part)},
              {"problem", part.text("problem")},
              {"variant", part.text("variant")},
              {"reason", reason_of(part)},
              {"marks", part.texts("marks")},
              {"nodes", json::array()},
              {"status", status_of(part)}};
  const Part us = part.object("us");
  put("us", us.figure("median"), row);
  us.copy_figures({"low", "high", "cv"}, row);
  part.copy_figures({"gflop_per_s", "gb_per_s", "of_peak", "launches"}, row);
  part.object("predicted_us").copy_figures({"low", "high"}, row, "predicted_");
  const Part::Figure nominal = ratio(part.figure("flops"), part.figure("bytes"));
  put("flop_per_byte",
      nominal ? nominal : ratio(part.figure("gflop_per_s"), part.figure("gb_per_s")), row);
  if (row["status"] == "INVALID" && !row.contains("us")) take_claim(part.object("claimed"), row);
  return row;
}

json model_json(const std::string& name, const ModelTime& time, std::size_t left_out) {
  json model = {{"name", name},
                {"left_out", left_out},
                {"us", time.us},
                {"ops", json::array()},
                {"farthest", json::array()}};
  put("floor_us", time.floor_us, model);
  for (const ModelTime::Op& op : time.ops) {
    model["ops"].push_back({{"name", op.name}, {"us", op.us}, {"nodes", op.nodes}});
    if (time.floor_us) model["ops"].back()["floor_us"] = op.floor_us;
  }
  for (const NodeTime& node : time.farthest) {
    model["farthest"].push_back({{"name", node.node},
                                 {"op", node.op},
                                 {"calls", node.calls},
                                 {"us", node.calls * node.us}});
    if (node.floor_us) model["farthest"].back()["floor_us"] = node.calls * *node.floor_us;
  }
  return model;
}

/// Gives rows the nodes that show them, "lightglue-192: dense_3", and the board the model, with
/// the times of its rows. A node whose kernel does another's work too is that one.
void add_workload(const Part& workload, ReportBoard& board) {
  const std::string name = workload.text("name");
  std::vector<NodeTime> nodes;
  std::size_t left_out = 0;
  for (const Part& node : workload.objects("nodes")) {
    const std::string of = node.text("name"), row_name = node.text("row");
    if (of.empty()) continue;
    json& rows = board["rows"];
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const json& each) { return each["name"] == row_name; });
    if (row != rows.end()) (*row)["nodes"].push_back(name.empty() ? of : name + ": " + of);
    if (!node.text("folded_into").empty()) continue;
    if (row == rows.end() || (*row)["status"] != "OK" || !row->contains("us")) {
      ++left_out;
      continue;
    }
    NodeTime time{of, (*row)["op"], node.figure("calls").value_or(1), (*row)["us"], {}};
    if (row->contains("of_peak")) time.floor_us = (*row)["of_peak"].get<double>() * time.us;
    nodes.push_back(std::move(time));
  }
  if (nodes.size() < 2) return;
  board["models"].push_back(model_json(name, model_time(std::move(nodes)), left_out));
}

/// What the page shows of it, and nothing else.
json peak_row(const Part& part) {
  json row = {{"name", part.text("name")}, {"dtype", part.text("dtype")}};
  part.copy_figures({"bytes", "us", "gflop_per_s", "gb_per_s"}, row);
  return row;
}

std::string device_line(const Part& device, const std::string& name) {
  std::string line = fmt::format("{} ({}, driver {}; {}", name, device.text("platform"),
                                 device.text("driver_version"), device.text("type"));
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

std::vector<std::string> warnings_of(const Part& own) {
  std::vector<std::string> warnings;
  for (const std::string& domain : own.object("board").object("before").texts("unpinned")) {
    warnings.push_back("Not held at its top: " + domain +
                       ". Measure again with tools/bench --pin.");
  }
  if (own.object("device").text("type") == "cpu") {
    warnings.push_back("This is a CPU: its times say nothing about a GPU.");
  }
  if (!own.texts("replaced_kernels").empty()) {
    warnings.push_back("Kernel files were replaced for this run.");
  }
  return warnings;
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
  for (json& row : board["rows"]) {
    const auto found = predictions.find({row["problem"], row["variant"]});
    if (found == predictions.end()) continue;
    row["predicted_low"] = found->second[0], row["predicted_high"] = found->second[1];
    ++added;
  }
  return added;
}

/// A text of a results file, or a figure and how the card shows it.
struct Fact {
  const char *key, *title, *unit = "";
  std::string (*shown)(double) = nullptr;
};

std::string whole(double value) { return fmt::format("{:.0f}", value); }
std::string kib(double bytes) { return whole(bytes / 1024); }
std::string digits(double value) {
  return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 1000 ? 1 : 0);
}

const std::vector<Fact> kDevice = {{"platform", "platform"},
                                   {"driver_version", "driver"},
                                   {"device_version", "OpenCL"},
                                   {"type", "kind"},
                                   {"compute_units", "compute units", "", whole},
                                   {"max_clock_mhz", "stated clock", " MHz", whole},
                                   {"fp16", "fp16"}};

const std::vector<Fact> kClocks = {{"gpu_mhz", "GPU", " MHz", whole},
                                   {"gpu_min_mhz", "least GPU clock", " MHz", whole},
                                   {"gpu_max_mhz", "most GPU clock", " MHz", whole},
                                   {"gpu_governor", "GPU governor"},
                                   {"memory_mhz", "memory", " MHz", whole},
                                   {"gpu_celsius", "GPU temperature", " C", whole},
                                   {"cpu_governor", "CPU governor"}};

const std::vector<Fact> kPeaks = {{"gflops_f32", "f32", " GFLOP/s", digits},
                                  {"gflops_f16", "f16", " GFLOP/s", digits},
                                  {"gb_per_s_copy", "copy", " GB/s", digits},
                                  {"gb_per_s_read", "read", " GB/s", digits},
                                  {"gb_per_s_write", "write", " GB/s", digits},
                                  {"last_cache_bytes", "last cache", " KiB", kib},
                                  {"launch_us", "a launch", " us", digits},
                                  {"build_ms", "a build", " ms", digits},
                                  {"map_gb_per_s", "map", " GB/s", digits},
                                  {"upload_gb_per_s", "upload", " GB/s", digits},
                                  {"download_gb_per_s", "download", " GB/s", digits}};

/// Empty where the file does not have it.
std::string text_of(const Fact& fact, const Part& part) {
  const auto found = part.value().find(fact.key);
  if (found == part.value().end()) return "";
  if (found->is_boolean() && !fact.shown) return *found ? "yes" : "no";
  return fact.shown ? fact.shown(part.needed_figure(fact.key)) : part.text(fact.key);
}

/// A list of [title, value]: "850 MHz" where it stayed, else "850 to 600 MHz".
json lines_of(const std::vector<Fact>& facts, const Part& before, const Part& after) {
  json lines = json::array();
  for (const Fact& fact : facts) {
    const std::string first = text_of(fact, before), last = text_of(fact, after);
    const bool one = first.empty() || last.empty() || first == last;
    const std::string text = one ? std::max(first, last) : first + " to " + last;
    if (!text.empty()) lines.push_back({fact.title, text + fact.unit});
  }
  return lines;
}

json device_lines(const Part& own) {
  json lines = lines_of(kDevice, own.object("device"), own.object("device"));
  const std::string version = own.text("version");
  lines.push_back(
      {"measured", own.needed_text("date") + (version.empty() ? "" : ", clam " + version)});
  for (const std::string& file : own.texts("replaced_kernels")) {
    lines.push_back({"replaced kernel", file});
  }
  return lines;
}

/// What the card of a board says of its device, its clocks and its measured peaks: for each
/// {"title", "lines": [[title, value]...], "instead": one sentence where there are no lines}.
json facts_of(const Part& own) {
  const Part board = own.object("board"), peaks = own.object("peaks");
  const char* no_peaks = peaks.texts("refused").empty() ? "Peaks were not measured in this run."
                                                        : "No peak could be measured.";
  return {{{"title", "Device"}, {"lines", device_lines(own)}, {"instead", ""}},
          {{"title", "Clocks, before to after"},
           {"lines", lines_of(kClocks, board.object("before"), board.object("after"))},
           {"instead", "This machine shows no clock of the device."}},
          {{"title", "Measured peaks"},
           {"lines", lines_of(kPeaks, peaks, peaks)},
           {"instead", no_peaks}}};
}

ReportBoard read_results(const std::string& path) {
  const json document = parse_json_file(path, "clam-bench --json");
  const Part own = own_part(document, path);
  const Part device = own.object("device"), peaks = own.object("peaks");
  std::string name = device.needed_text("name");
  if (name.empty()) name = "a device without a name";
  ReportBoard board = {{"path", path},
                       {"name", name},
                       {"label", name},
                       {"line", device_line(device, name)},
                       {"gpu", of_file(path, [&] { return gpu_key(device); })},
                       {"date", own.needed_text("date")},
                       {"version", own.text("version")},
                       {"facts", facts_of(own)},
                       {"warnings", warnings_of(own)},
                       {"peaks", nullptr},
                       {"peak_rows", json::array()},
                       {"refused", peaks.texts("refused")},
                       {"rows", json::array()},
                       {"models", json::array()}};
  peaks.copy_figures({"gflops_f32", "gflops_f16", "gb_per_s_copy"}, board["peaks"]);
  for (const Part& row : peaks.objects("rows")) board["peak_rows"].push_back(peak_row(row));
  for (const Part& row : own.objects("rows")) board["rows"].push_back(read_row(row));
  if (board["rows"].empty()) throw BadArgument(path + " has no rows: nothing was measured");
  for (const Part& workload : own.objects("workloads")) add_workload(workload, board);
  return board;
}

}  // namespace

std::vector<ReportBoard> read_boards(const std::vector<std::string>& paths) {
  std::vector<ReportBoard> boards;
  for (const std::string& path : paths) boards.push_back(read_results(path));
  std::map<std::string, int> names, labels;
  for (const ReportBoard& board : boards) ++names[board["name"]];
  for (ReportBoard& board : boards) {
    if (names[board["name"]] == 1) continue;
    const std::filesystem::path path(board["path"].get<std::string>());
    std::string label =
        fmt::format("{} ({})", board["name"].get<std::string>(), path.filename().string());
    // The same file name in two folders, or one file given twice.
    if (const int again = labels[label]++) label += fmt::format(" {}", again + 1);
    board["label"] = label;
  }
  return boards;
}

std::size_t count_rows(const ReportBoard& board, const char* status) {
  const json& rows = board["rows"];
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [&](const json& row) { return row["status"] == status; }));
}

std::string counts_text(const std::vector<ReportBoard>& boards) {
  std::size_t invalid = 0, ok = 0, skipped = 0;
  for (const ReportBoard& board : boards) {
    invalid += count_rows(board, "INVALID");
    ok += count_rows(board, "OK");
    skipped += count_rows(board, "skipped");
  }
  const std::string head = fmt::format("{} row{} INVALID", invalid, invalid == 1 ? "" : "s");
  return fmt::format("{}, {} OK, {} skipped", invalid > 0 ? head : "no row INVALID", ok, skipped);
}

void add_predictions(const std::string& path, std::vector<ReportBoard>& boards) {
  const nlohmann::json document = parse_json_file(path, "clam mali --json");
  throw_if(!document.is_object() || !document.contains("clam_mali"),
           "{} predicts nothing: give a file of clam mali --json", path);
  int added = 0, boards_of_it = 0;
  std::string names;
  for (const Part& gpu : Part(document, path).objects("gpus")) {
    const std::string key = gpu.needed_text("gpu");
    const auto predictions = predictions_of(gpu);
    names += std::string(names.empty() ? "Mali-" : ", Mali-") +
             of_file(path, [&] { return find_gpu(key).model; });
    for (ReportBoard& board : boards) {
      if (board["gpu"] != key) continue;
      ++boards_of_it;
      added += add_to(board, predictions);
    }
  }
  if (added > 0) return;
  refuse("{} is about {}, and {}", path, names.empty() ? "no GPU" : names,
         boards_of_it == 0 ? "none of the results is of one"
                           : "none of its problems was measured there by the same variant");
}

}  // namespace clam
