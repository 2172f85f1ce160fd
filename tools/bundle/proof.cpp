// SPDX-License-Identifier: MIT
// proof.cpp - proof.json, and which files its rows are of.
#include "proof.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "clam/error.hpp"
#include "clam/kernels.hpp"
#include "process/shell_quoted.hpp"
#include "runtime/atomic_file.hpp"
#include "tokens/letters.hpp"

namespace clam {

namespace fs = std::filesystem;
using nlohmann::json;

/// What strangers wrote, made anonymous; facts of the device and this file's own words are not, or
/// a person or machine called as one of them would damage the file.
static void to_json(json& written, const ProofRow& row) {
  std::vector<std::string> report;
  for (const std::string& line : row.report) report.push_back(anonymous(line));
  written = {{"device", to_json(row.device)},
             {"date", row.date},
             {"files", row.files},
             {"seen", nullptr},
             {"cannot", nullptr},
             {"simulator", row.is_simulator},
             {"report", report}};
  if (row.runs > 1) written["runs"] = row.runs;
  if (row.cannot) {
    written["cannot"] = anonymous(*row.cannot);
  } else {
    written["seen"] = to_json(row.seen);
    written["seen"]["reason"] = anonymous(row.seen.reason);
  }
}

static void from_json(const json& from, ProofRow& row) {
  row.device = device_from_json(from.at("device"));
  row.date = from.at("date").get<std::string>();
  row.files = from.at("files").get<std::string>();
  row.runs = std::max(1, from.value("runs", 1));
  row.is_simulator = from.at("simulator").get<bool>();
  row.report = from.at("report").get<std::vector<std::string>>();
  if (from.at("cannot").is_null()) {
    row.seen = seen_from_json(from.at("seen"));
  } else {
    row.cannot = from.at("cannot").get<std::string>();
  }
}

namespace {

/// Whether many right runs come after one of the same files that went wrong, which they do not
/// undo.
bool is_lucky(const ProofRow& row, const ProofRow& before) {
  const bool right = !row.cannot && row.seen.right(),
             wrong = !before.cannot && !before.seen.right();
  return right && wrong && row.runs > 1 && row.files == before.files;
}

constexpr std::size_t kLongestCell = 160;

/// A text as a cell of a table: one line, not too long.
std::string cell(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > kLongestCell) text = text.substr(0, kLongestCell) + "...";
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2)
    text.insert(at, 1, '\\');
  return text;
}

std::string ratio_cell(const Seen& seen) {
  if (!ran_to_its_end(seen)) return "";
  return std::isfinite(seen.worst_ratio) ? fmt::format("{:.3g}", seen.worst_ratio) : "inf";
}

std::string row_text(const DeviceInfo& device, const std::string& outcome, const std::string& ratio,
                     const std::string& files) {
  return fmt::format("| {} | {}, {}, driver {} | {} | {} | {} |\n", cell(device.name),
                     cell(device.platform), cell(device.device_version),
                     cell(device.driver_version), cell(outcome), ratio, files.substr(0, 12));
}

std::string outcome_text(const ProofRow& row, const std::string& files) {
  std::string text = row.cannot ? "cannot run: " + *row.cannot : row.seen.text();
  if (row.runs > 1 && !row.cannot)
    text += fmt::format(row.seen.right() ? " ({} runs)" : " (in run {})", row.runs);
  if (!row.report.empty()) {
    text += "; **it reports faults**, see below";
  } else if (row.is_simulator && ran_to_its_end(row.seen) && !row.cannot) {
    text += "; no report";
  }
  return row.files == files ? text : text + " (of other files than these)";
}

std::string table(const Bundle& bundle, const Proof& proof, const std::string& files) {
  std::string text =
      "| device | platform and driver | outcome | worst error / bound | files "
      "|\n|---|---|---|---|---|\n";
  text +=
      row_text(bundle.device, bundle.seen.text() + " (recorded)", ratio_cell(bundle.seen), files);
  for (const ProofRow& row : proof.rows) {
    text += row_text(row.device, outcome_text(row, files), row.cannot ? "" : ratio_cell(row.seen),
                     row.files);
  }
  return text;
}

/// The name of a file as a shell takes it.
std::string as_word(const std::string& file) {
  return std::all_of(file.begin(), file.end(), is_plain) ? file : shell_quoted(file);
}

/// What the simulator said, as it said it.
std::string reports(const Proof& proof) {
  std::string text;
  for (const ProofRow& row : proof.rows) {
    if (row.report.empty()) continue;
    text += fmt::format("\nWhat {} ({}) reports:\n\n", row.device.name, row.device.driver_version);
    for (const std::string& line : row.report) text += line.empty() ? "\n" : "    " + line + "\n";
  }
  return text;
}

/// The files that are run, by name: kernels, plan, options and tensors.
std::vector<std::string> files_run(const Bundle& bundle, const std::string& folder) {
  std::vector<std::string> files{"options.txt"};
  for (const auto& [file, text] : bundle.kernels) files.push_back(file);
  if (bundle.plan) files.push_back("plan.json");
  for (const auto& [tensors, ending] : kTensorsRun) {
    for (const auto& [name, tensor] : bundle.*tensors) files.push_back(name + ending);
  }
  const auto is_gone = [&](const std::string& file) { return !fs::exists(path_in(folder, file)); };
  files.erase(std::remove_if(files.begin(), files.end(), is_gone), files.end());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

bool same_driver(const DeviceInfo& a, const DeviceInfo& b) {
  return a.name == b.name && a.platform == b.platform && a.device_version == b.device_version &&
         a.driver_version == b.driver_version;
}

int runs_of_proof(const Bundle& bundle) {
  constexpr int kPatience = 3;  // all right by luck: e^-3, one in 20
  return bundle.one_in > 1 && !bundle.seen.right() ? kPatience * bundle.one_in : 1;
}

bool ran_to_its_end(const Seen& seen) {
  return seen.right() || seen.outcome == Seen::Outcome::wrong;
}

void Proof::add(ProofRow row) {
  const auto same = std::find_if(rows.begin(), rows.end(), [&](const ProofRow& each) {
    return same_driver(each.device, row.device);
  });
  if (same == rows.end()) {
    rows.push_back(std::move(row));
  } else if (!is_lucky(row, *same)) {
    *same = std::move(row);
  }
}

std::string hash_of_files(const Bundle& bundle, const std::string& folder) {
  std::string lines;
  for (const std::string& file : files_run(bundle, folder)) {
    lines += fmt::format("{}  {}\n", hash_text(read_file(path_in(folder, file))), file);
  }
  return hash_text(lines);
}

Proof read_proof(const std::string& folder) {
  const std::string path = path_in(folder, "proof.json");
  Proof proof;
  if (!fs::exists(path)) return proof;
  try {
    const json read = json::parse(read_file(path));
    if (read.at("clam_proof") != 1) throw BadArgument("another version of clam wrote it");
    for (const json& row : read.at("rows")) proof.rows.push_back(row.get<ProofRow>());
    return proof;
  } catch (const std::exception& error) {
    throw BadArgument(fmt::format("{} is damaged, so remove it: {}", path, error.what()));
  }
}

void write_proof(const std::string& folder, const Proof& proof) {
  write_file(path_in(folder, "proof.json"), json_text({{"clam_proof", 1}, {"rows", proof.rows}}));
}

std::string proof_text(const Bundle& bundle, const Proof& proof, const std::string& folder) {
  const std::string files = hash_of_files(bundle, folder);
  std::string names;
  for (const std::string& file : files_run(bundle, folder)) names += " " + as_word(file);
  return fmt::format(
      "## Is it the kernel?\n\n**{}.**\n\n{}{}\n"
      "`files` is the beginning of the hash of the files that were run, {}; "
      "`xxh128sum{} | xxh128sum` (Debian's package xxhash) prints it. On another driver or machine "
      "`clam replay FOLDER --add-proof` adds a row.\n",
      find_blame(bundle, proof, files), table(bundle, proof, files), reports(proof), files, names);
}

}  // namespace clam
