// SPDX-License-Identifier: MIT
// proof.cpp - proof.json, and which files its rows are of.
#include "proof.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "clam/kernels.hpp"
#include "runtime/atomic_file.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string in(const std::string& folder, const std::string& file) {
  return (fs::path(folder) / file).string();
}

/// What strangers wrote, made anonymous; facts of the device and this file's own words are not, or
/// a person or machine called as one of them would damage the file.
json to_json(const ProofRow& row) {
  std::vector<std::string> report;
  for (const std::string& line : row.report) report.push_back(anonymous(line));
  json written{{"device", clam::to_json(row.device)},
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
    written["seen"] = clam::to_json(row.seen);
    written["seen"]["reason"] = anonymous(row.seen.reason);
  }
  return written;
}

ProofRow row_from_json(const json& from) {
  ProofRow row;
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
  return row;
}

/// Whether many right runs come after one of the same files that went wrong, which they do not
/// undo.
bool is_lucky(const ProofRow& row, const ProofRow& before) {
  const bool right = !row.cannot && row.seen.right(),
             wrong = !before.cannot && !before.seen.right();
  return right && wrong && row.runs > 1 && row.files == before.files;
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

std::vector<std::string> files_run(const Bundle& bundle, const std::string& folder) {
  std::vector<std::string> files{"options.txt"};
  for (const auto& [file, text] : bundle.kernels) files.push_back(file);
  if (bundle.plan) files.push_back("plan.json");
  const auto add = [&](const auto& tensors, const char* ending) {
    for (const auto& [name, tensor] : tensors) files.push_back(name + ending);
  };
  add(bundle.inputs, ".npy");
  add(bundle.expected, ".expected.npy");
  add(bundle.bounds, ".bound.npy");
  const auto is_gone = [&](const std::string& file) { return !fs::exists(in(folder, file)); };
  files.erase(std::remove_if(files.begin(), files.end(), is_gone), files.end());
  std::sort(files.begin(), files.end());
  return files;
}

std::string hash_of_files(const Bundle& bundle, const std::string& folder) {
  std::string lines;
  for (const std::string& file : files_run(bundle, folder)) {
    lines += fmt::format("{}  {}\n", hash_text(read_file(in(folder, file))), file);
  }
  return hash_text(lines);
}

Proof read_proof(const std::string& folder) {
  const std::string path = in(folder, "proof.json");
  Proof proof;
  if (!fs::exists(path)) return proof;
  try {
    const json read = json::parse(read_file(path));
    if (read.at("clam_proof") != 1) throw BadArgument("another version of clam wrote it");
    for (const json& row : read.at("rows")) proof.rows.push_back(row_from_json(row));
    return proof;
  } catch (const std::exception& error) {
    throw BadArgument(fmt::format("{} is damaged, so remove it: {}", path, error.what()));
  }
}

void write_proof(const std::string& folder, const Proof& proof) {
  json rows = json::array();
  for (const ProofRow& row : proof.rows) rows.push_back(to_json(row));
  const json written{{"clam_proof", 1}, {"rows", rows}};
  write_file(in(folder, "proof.json"),
             written.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace clam
