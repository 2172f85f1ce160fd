// SPDX-License-Identifier: MIT
// info.cpp - `clam info`: the devices, in the manner of clinfo, and what clam itself would use.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "case_child.hpp"
#include "clam/error.hpp"
#include "clam/gpu.hpp"
#include "clam/kernels.hpp"
#include "clam/opencl.hpp"
#include "clam/planner.hpp"
#include "clam/program_cache.hpp"
#include "clam/tuned.hpp"
#include "cli.hpp"
#include "opencl/search.hpp"
#include "probe/history.hpp"

namespace clam::opencl {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Attempt, library, file, outcome)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Search, taken, tried)
}  // namespace clam::opencl

namespace clam::cli {
namespace {

/// Which OpenCL library is in use, and why not those before it.
std::string library_text() {
  const opencl::Search& search = opencl::search();
  std::string text =
      fmt::format("OpenCL library: {}\n", search.taken.empty() ? "none" : search.taken);
  for (const opencl::Attempt& attempt : search.tried) {
    if (attempt.outcome == opencl::kTaken) continue;
    const bool has_file = !attempt.file.empty() && attempt.file != attempt.library;
    text += fmt::format("  tried {}{}: {}\n", attempt.library,
                        has_file ? " (" + attempt.file + ")" : "", attempt.outcome);
  }
  return text;
}

/// How many rows of the device plans take, and why not the first of the others.
std::string tuned_text(const DeviceInfo& device, const Tuned& tuned) {
  const std::vector<const TunedRow*> rows = tuned.of(device);
  std::size_t counted = 0;
  std::string reason;
  for (const TunedRow* row : rows) {
    const Reason refused = row_refused(*row, device, tuned);
    if (refused && reason.empty()) reason = fmt::format("; not {}: {}", row->problem, *refused);
    counted += !refused;
  }
  std::string text;
  if (!rows.empty()) {
    text = fmt::format("tuned plans: {} of {} rows count here{}\n", counted, rows.size(), reason);
  }
  const TunedFlush* flush = tuned.flush_of(device);
  if (flush) text += fmt::format("launches a flush, as measured: {}\n", flush->launches_a_flush);
  return text;
}

void print_own(Cli& cli, const KernelFiles& files, const Tuned& tuned) {
  cli.out.line("clam " CLAM_VERSION);
  cli.out.line(fmt::format("  kernel files: {} built in", embedded_files().size()));
  for (const std::string& line : files.overrides()) cli.out.line("  kernel file " + line);
  for (const std::string& note : tuned.notes()) cli.out.line("  tuned plans: " + note);
  cli.out.line("  program cache: " + cache_text());
  cli.out.text(indented(library_text()));
}

json own_json(const KernelFiles& files, const Tuned& tuned) {
  json kernels = json::array();
  for (const std::string& file : embedded_files()) {
    const KernelSource source = files.get(file);
    kernels.push_back({{"file", file}, {"origin", source.origin}, {"xxh3", source.hash()}});
  }
  return {{"cache_dir", ProgramCache::default_dir()},
          {"cache", cache_json()},
          {"kernel_files", kernels},
          {"opencl", opencl::search()},
          {"kernel_overrides", files.overrides()},
          {"tuned_notes", tuned.notes()},
          {"devices", json::array()}};
}

/// Who the device is, and the faults that others have met on its drivers.
std::string identity_text(const Identity& who, const json& history) {
  std::string text = "identity: " + who.text() + "\n";
  if (!who.gpu) return text;
  for (const Quirk& quirk : who.gpu->quirks) {
    text += fmt::format("reported on it: {}: {} ({})", quirk.name, quirk.about, quirk.source);
    if (history.contains(quirk.name)) {
      const json& result = history[quirk.name];
      text += fmt::format("; probed here: {} on {}", result.at("verdict").get<std::string>(),
                          result.at("date").get<std::string>());
    }
    text += "\n";
  }
  return text;
}

/// What `clam probe` last gave here: how many were fine, and each that was not.
std::string history_text(const json& history) {
  std::string faults;
  int fine = 0;
  for (const auto& [probe, result] : history.items()) {
    const std::string verdict = result.at("verdict"), detail = result.at("detail");
    fine += verdict == "OK";
    if (verdict == "OK") continue;
    faults += fmt::format("probed here: {}: {} on {}: {}\n", probe, verdict,
                          result.at("date").get<std::string>(), detail);
  }
  if (history.empty()) return "";
  return fmt::format("probed here: {} of {} known faults are not here\n{}", fine, history.size(),
                     faults);
}

int info(Cli& cli, bool names_only) {
  const KernelFiles files = KernelFiles::from_environment();
  const std::shared_ptr<const Tuned> tuned = Tuned::from_environment(files);
  json result = own_json(files, *tuned);
  if (!names_only) print_own(cli, files, *tuned);
  LocalDevice chosen;  // what commands would use
  try {
    chosen.entry = select_device(cli.device);
  } catch (const NoDevice& error) {
    cli.out.report("clam_info", result);
    cli.out.error(error.what());
    return kNothingRan;
  }
  const std::vector<DeviceEntry> entries =
      cli.device.empty() ? list_devices() : std::vector{chosen.entry};
  for (const DeviceEntry& entry : entries) {
    const DeviceInfo facts = query_device(entry.device);
    const std::string id = LocalDevice{entry, facts}.id();
    const Identity who = identify(facts);
    const json history = probe_history(facts);
    const bool is_chosen = id == chosen.id();
    if (names_only) {
      cli.out.line(fmt::format("{} {}", id, facts.name));
    } else {
      cli.out.line(fmt::format("\ndevice {}{}", id, is_chosen ? " (chosen)" : ""));
      cli.out.text(indented(identity_text(who, history) + history_text(history) +
                            tuned_text(facts, *tuned) + to_text(facts)));
    }
    json device = to_json(facts);
    device["id"] = id;
    device["chosen"] = is_chosen;
    device["identity"] = to_json(who);
    device["probes"] = history;
    device["tuned"] = tuned_text(facts, *tuned);
    result["devices"].push_back(std::move(device));
  }
  cli.out.report("clam_info", result);
  return kFine;
}

}  // namespace

void add_info(CLI::App& app, Cli& cli) {
  const auto [sub, names_only] =
      add_command<bool>(app, cli, "info", "OpenCL devices, replaced kernels, program cache", info);
  sub->add_flag("-l,--list", *names_only, "one line per device: P:D and its name");
}

}  // namespace clam::cli
