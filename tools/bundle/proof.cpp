// SPDX-License-Identifier: MIT
// proof.cpp - proof.json, and the verdict that its rows give.
#include "proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
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

/// Of one vendor's stack, whatever its version: what one does wrong, the other may do too.
bool related(const DeviceInfo& a, const DeviceInfo& b) { return a.platform == b.platform; }

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

using Rows = std::vector<const ProofRow*>;

/// How drivers did that ran these bytes.
struct Tally {
  Rows right, alike, otherwise;  ///< alike: it went wrong as where it was recorded

  std::size_t all() const { return right.size() + alike.size() + otherwise.size(); }
  const ProofRow* failed() const {
    if (!alike.empty()) return alike.front();
    return otherwise.empty() ? nullptr : otherwise.front();
  }
};

struct Count {
  Tally others;     ///< drivers of other platforms
  Tally relatives;  ///< other versions and devices of the driver where it was recorded
  bool reported = false, silent = false;  ///< silent: the simulator ran to its end
};

Count count(const Bundle& bundle, const Proof& proof, const std::string& files) {
  Count found;
  for (const ProofRow& row : proof.rows) {
    if (row.files != files) continue;
    // What it saw before its time was over, it saw.
    found.reported = found.reported || !row.report.empty();
    if (row.cannot) continue;
    found.silent = found.silent || (row.is_simulator && ran_to_its_end(row.seen));
    if (same_driver(row.device, bundle.device)) continue;
    Tally& tally = related(row.device, bundle.device) ? found.relatives : found.others;
    Rows& rows = row.seen.right()                          ? tally.right
                 : row.seen.outcome == bundle.seen.outcome ? tally.alike
                                                           : tally.otherwise;
    rows.push_back(&row);
  }
  return found;
}

std::string drivers(std::size_t number) {
  return fmt::format("{} other driver{}", number, number == 1 ? "" : "s");
}

std::string versions(std::size_t number) {
  return number == 1 ? "1 other version or device of the same driver"
                     : fmt::format("{} other versions or devices of the same driver", number);
}

/// Drivers that failed, but not as where it was recorded: the first with what came of it.
std::string otherwise_text(const Rows& rows) {
  constexpr std::size_t kMost = 100;
  const ProofRow& row = *rows.front();
  std::string what = row.seen.text();
  what = what.substr(0, std::min(what.find('\n'), kMost));
  return fmt::format("fails otherwise on {}{}: {}", row.device.name,
                     rows.size() == 1 ? "" : fmt::format(" and {} more", rows.size() - 1), what);
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// What the driver's own other versions and devices made of it settles nothing, and is told apart.
std::vector<std::string> relatives_parts(const Bundle& bundle, const Tally& tally) {
  std::vector<std::string> parts;
  if (!tally.right.empty()) parts.push_back("right on " + versions(tally.right.size()));
  if (!tally.alike.empty()) {
    parts.push_back(
        fmt::format("{} on {} too", name(bundle.seen.outcome), versions(tally.alike.size())));
  }
  if (!tally.otherwise.empty()) {
    parts.push_back(otherwise_text(tally.otherwise) + ", of the same driver");
  }
  return parts;
}

/// What stands behind a verdict.
std::string remarks(const Bundle& bundle, const Count& found) {
  const std::vector<std::string> parts = relatives_parts(bundle, found.relatives);
  return (parts.empty() ? "" : "; " + joined(parts)) +
         (found.silent ? "; the simulator Oclgrind reports nothing" : "");
}

Blame blame_when_right(const Bundle& bundle, const Count& found) {
  if (found.reported) {
    return {Guilt::kernel,
            "The result is right, and yet the kernel is suspect: the simulator "
            "Oclgrind reports faults in it"};
  }
  for (const Tally* tally : {&found.others, &found.relatives}) {
    const ProofRow* failed = tally->failed();
    if (!failed) continue;
    return {Guilt::unknown, fmt::format("Right where it was recorded, {} on {}: record it there",
                                        name(failed->seen.outcome), failed->device.name)};
  }
  const std::size_t right = found.others.right.size();
  return {Guilt::nobody,
          "The result is right where it was recorded" +
              (right ? ", and on " + drivers(right) : "; no other driver has run these files") +
              remarks(bundle, found)};
}

/// Where drivers of other platforms do not agree, or not on what is wrong.
std::string disagreement(const Bundle& bundle, const Tally& others) {
  std::vector<std::string> parts;
  if (!others.right.empty()) {
    parts.push_back(fmt::format("right on {} of {}", others.right.size(), drivers(others.all())));
  }
  if (!others.alike.empty()) {
    parts.push_back(
        fmt::format("{} on {} too", name(bundle.seen.outcome), others.alike.front()->device.name));
  }
  if (!others.otherwise.empty()) parts.push_back(otherwise_text(others.otherwise));
  return "Not known yet: " + joined(parts) +
         (others.alike.empty() ? "" : "; the kernel may be at fault");
}

std::string capitalised(std::string text) {
  text.at(0) = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace

bool ran_to_its_end(const Seen& seen) {
  return seen.right() || seen.outcome == Seen::Outcome::wrong;
}

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
  const Tally& others = found.others;
  if (bundle.seen.right()) return blame_when_right(bundle, found);
  if (found.reported) {
    const std::string right =
        fmt::format(" (right on {} of {})", others.right.size(), drivers(others.all()));
    return {Guilt::kernel,
            "The kernel itself is suspect: the simulator Oclgrind reports faults in it" +
                (others.all() ? right : "")};
  }
  if (others.all() == 0) {
    std::vector<std::string> parts = relatives_parts(bundle, found.relatives);
    parts.push_back("no other driver has run these files");
    return {Guilt::unknown, "Not known yet: " + joined(parts)};
  }
  if (others.alike.size() == others.all()) {
    return {Guilt::kernel,
            fmt::format("{} on all, here and on {}: the kernel itself is suspect",
                        capitalised(name(bundle.seen.outcome)), drivers(others.all())) +
                remarks(bundle, found)};
  }
  if (others.right.size() == others.all()) {
    return {Guilt::driver,
            fmt::format("The kernel looks innocent: right on {}", drivers(others.all())) +
                remarks(bundle, found)};
  }
  return {Guilt::unknown, disagreement(bundle, others) + remarks(bundle, found)};
}

}  // namespace clam
