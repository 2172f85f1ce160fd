// SPDX-License-Identifier: MIT
// proof.cpp - proof.json, and the verdict that its rows give.
#include "proof.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "atomic_file.hpp"
#include "error.hpp"
#include "kernels.hpp"

namespace clam {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Guilt = Blame::Guilt;

std::string in(const std::string& folder, const std::string& file) {
  return (fs::path(folder) / file).string();
}

bool same_driver(const DeviceInfo& a, const DeviceInfo& b) {
  return a.name == b.name && a.platform == b.platform && a.device_version == b.device_version &&
         a.driver_version == b.driver_version;
}

/// Other devices of one driver: what it does wrong on both may be its fault on both.
bool related(const DeviceInfo& a, const DeviceInfo& b) {
  return a.platform == b.platform && a.driver_version == b.driver_version;
}

json to_json(const ProofRow& row) {
  json written{{"device", clam::to_json(row.device)},
               {"date", row.date},
               {"files", row.files},
               {"seen", nullptr},
               {"cannot", nullptr},
               {"simulator", row.is_simulator},
               {"report", row.report}};
  if (row.cannot) {
    written["cannot"] = *row.cannot;
  } else {
    written["seen"] = clam::to_json(row.seen);
  }
  return written;
}

ProofRow row_from_json(const json& from) {
  ProofRow row;
  row.device = device_from_json(from.at("device"));
  row.date = from.at("date").get<std::string>();
  row.files = from.at("files").get<std::string>();
  row.is_simulator = from.at("simulator").get<bool>();
  row.report = from.at("report").get<std::vector<std::string>>();
  if (from.at("cannot").is_null()) {
    row.seen = seen_from_json(from.at("seen"));
  } else {
    row.cannot = from.at("cannot").get<std::string>();
  }
  return row;
}

/// How the other drivers did that ran these bytes.
struct Count {
  std::vector<std::string> right, wrong, wrong_too;  ///< too: on other devices of the same driver
  bool simulated = false, reported = false;
};

Count count(const Bundle& bundle, const Proof& proof, const std::string& files) {
  Count found;
  for (const ProofRow& row : proof.rows) {
    if (row.files != files || row.cannot) continue;
    found.simulated = found.simulated || row.is_simulator;
    found.reported = found.reported || !row.report.empty();
    if (same_driver(row.device, bundle.device)) continue;
    auto& names = row.seen.right()                     ? found.right
                  : related(row.device, bundle.device) ? found.wrong_too
                                                       : found.wrong;
    names.push_back(row.device.name);
  }
  return found;
}

std::string drivers(std::size_t number) {
  return fmt::format("{} other driver{}", number, number == 1 ? "" : "s");
}

std::string simulator_words(const Count& count) {
  if (count.reported) return "; the simulator Oclgrind reports faults in the kernel";
  return count.simulated ? "; the simulator Oclgrind reports nothing" : "";
}

Blame blame_when_right(const Count& count) {
  if (count.reported) {
    return {Guilt::kernel,
            "The result is right, and yet the kernel is suspect: the simulator "
            "Oclgrind reports faults in it"};
  }
  if (!count.wrong.empty()) {
    return {Guilt::unknown, fmt::format("Right where it was recorded, wrong on {}: record it there",
                                        count.wrong.front())};
  }
  return {Guilt::nobody, fmt::format("The result is right where it was recorded, and on {}",
                                     drivers(count.right.size())) +
                             simulator_words(count)};
}

}  // namespace

void Proof::add(ProofRow row) {
  const auto same = std::find_if(rows.begin(), rows.end(), [&](const ProofRow& each) {
    return same_driver(each.device, row.device);
  });
  if (same == rows.end()) {
    rows.push_back(std::move(row));
  } else {
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
             anonymous(written.dump(2, ' ', false, json::error_handler_t::replace)) + "\n");
}

Blame find_blame(const Bundle& bundle, const Proof& proof, const std::string& files) {
  const Count found = count(bundle, proof, files);
  if (bundle.seen.right()) return blame_when_right(found);
  const std::size_t right = found.right.size(), wrong = found.wrong.size();
  if (found.reported) {
    return {Guilt::kernel,
            fmt::format("The kernel itself is suspect: the simulator Oclgrind reports "
                        "faults in it (right on {} of {})",
                        right, drivers(right + wrong))};
  }
  if (right + wrong == 0 && !found.wrong_too.empty()) {
    return {Guilt::unknown,
            fmt::format("Not known yet: wrong on {} too, and that is the same driver",
                        found.wrong_too.front())};
  }
  if (right + wrong == 0) {
    return {Guilt::unknown, "Not known yet: no other driver has run these files"};
  }
  if (right == 0) {
    return {Guilt::kernel, fmt::format("Wrong on all, here and on {}: the kernel itself is suspect",
                                       drivers(wrong)) +
                               simulator_words(found)};
  }
  if (wrong > 0) {
    return {Guilt::unknown, fmt::format("Right on {} of {}, wrong on {} too: the kernel may be at "
                                        "fault",
                                        right, drivers(right + wrong), found.wrong.front()) +
                                simulator_words(found)};
  }
  return {Guilt::driver, fmt::format("The kernel looks innocent: right on {}", drivers(right)) +
                             simulator_words(found)};
}

}  // namespace clam
