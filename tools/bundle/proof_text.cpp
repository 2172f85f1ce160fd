// SPDX-License-Identifier: MIT
// proof_text.cpp - the proof as a part of the bundle's README.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "process/shell_quoted.hpp"
#include "proof.hpp"

namespace clam {
namespace {

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
  const bool plain = std::all_of(file.begin(), file.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
  return plain ? file : shell_quoted(file);
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

}  // namespace

std::string proof_text(const Bundle& bundle, const Proof& proof, const std::string& folder) {
  const std::string files = hash_of_files(bundle, folder);
  std::string names;
  for (const std::string& file : files_run(bundle, folder)) names += " " + as_word(file);
  return fmt::format(
      "## Is it the kernel?\n\n**{}.**\n\n{}{}\n"
      "`files` is the beginning of the hash of the files that were run, {}; "
      "`xxh128sum{} | xxh128sum` (Debian's package xxhash) prints it. On another driver or machine "
      "`clam replay FOLDER --add-proof` adds a row.\n",
      find_blame(bundle, proof, files).sentence, table(bundle, proof, files), reports(proof), files,
      names);
}

}  // namespace clam
