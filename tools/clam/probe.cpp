// SPDX-License-Identifier: MIT
// probe.cpp - `clam probe`: known faults of drivers, each looked for in a process of its own.
#include "probe/probe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "bundle/last_words.hpp"
#include "case_child.hpp"
#include "check/clock.hpp"
#include "cli.hpp"
#include "probe/history.hpp"
#include "process/clean_end.hpp"
#include "process/isolate.hpp"
#include "process/scratch_folder.hpp"
#include "record.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

namespace clam::cli {
namespace {

using Verdict = ProbeResult::Verdict;

constexpr const char* kProgram = "repro.c";

std::string readme_of(const Probe& probe, const std::string& detail, const DeviceInfo& device) {
  return fmt::format(
      "# {}\n\nSeen on {} ({}, driver {}):\n\n    {}\n\nReported on {} ({}).\n\n## To run it\n\n"
      "```\ncc {} -lOpenCL && ./a.out\n```\n\nprints PASS, or FAIL with what was seen (exit code "
      "0, 1; 2: it cannot run here). `./a.out 0 1` takes the\nsecond device of the first platform. "
      "With clam: `clam probe {}`.\n\ndevice.txt: device, driver, libraries, clocks, kernel log. "
      "Made by clam {}; MIT licence.\n",
      probe.symptom, device.name, device.platform, device.driver_version, anonymous(detail),
      probe.reported_on, probe.source, kProgram, probe.name, CLAM_VERSION);
}

/// The program that shows a fault of the API itself. Throws Unsupported where the probe has none.
std::string program_of(const Probe& probe) {
  try {
    return probe_file(probe.name, kProgram);
  } catch (const BadArgument&) {
    throw Unsupported(
        fmt::format("it is about the API itself; `clam probe {}` is what repeats it", probe.name));
  }
}

void write_program(const Probe& probe, const std::string& detail, const DeviceInfo& device,
                   const std::string& folder) {
  const std::string program = program_of(probe);
  StagedFolder staged(folder, true, "device.txt");
  write_file(staged.path() + "/" + kProgram, program);
  write_file(staged.path() + "/device.txt", device_text(device));
  write_file(staged.path() + "/README.md", readme_of(probe, detail, device));
  staged.publish();
}

/// Writes `folder`: a bundle of a probe that is data; of one that is code its C program, if it has
/// one, with device.txt and a README. Throws Unsupported where there is neither.
void record_probe(Cli& cli, const Probe& probe, const std::string& detail,
                  const LocalDevice& device, const std::string& folder) {
  if (probe.run.is_null()) return write_program(probe, detail, device.facts, folder);
  const Bundle bundle = record_bundle(cli, bundle_of(probe), device, folder, probe.limit_s);
  if (bundle.seen.right()) {
    cli.out.note(fmt::format("{}: this time it came out right; `clam replay {} --times 20`",
                             probe.name, folder));
  }
}

struct ProbeRequest {
  std::vector<std::string> names;
  bool all = false, destructive = false, isolate = true;
  int limit_s = 0;              ///< 0: each probe's own
  std::string record_failures;  ///< a folder for those that are bad; empty: none
};

/// A probe and what became of it.
struct Row {
  Probe probe;
  ProbeResult result;
  double seconds = 0;
  std::string repeat;
};

std::vector<Probe> wanted_probes(const ProbeRequest& request) {
  const std::vector<Probe> known = all_probes();
  if (request.all) {
    if (!request.names.empty()) throw BadArgument("give names or --all, not both");
    return known;
  }
  std::vector<Probe> wanted;
  for (const std::string& name : request.names) {
    const Probe* found = find_by_name(known, name);
    throw_if(!found, "there is no probe {}; `clam probe` lists them{}", in_quotes(name),
             did_you_mean(name, names_of(known)));
    wanted.push_back(*found);
  }
  return wanted;
}

int list(Cli& cli) {
  json probes = json::array();
  for (const Probe& probe : all_probes()) {
    cli.out.line(fmt::format("{:<23} {}{}", probe.name, probe.symptom,
                             probe.destructive ? " (with --destructive)" : ""));
    probes.push_back(probe);
  }
  cli.out.report("clam_probes", {{"probes", probes}});
  return kFine;
}

/// What another process of this program made of the probe.
ProbeResult isolated(const Row& row, const ProbeRequest& request, const std::string& device) {
  std::vector<std::string> words = child_words(device, {"probe", row.probe.name, "--no-isolate"});
  if (request.destructive) words.push_back("--destructive");
  const int limit = request.limit_s ? request.limit_s : row.probe.limit_s;
  const ScratchFolder folder;  // drivers that crash leave files where they are
  const Fate fate = run_isolated(words, std::chrono::seconds(limit), {folder.path(), true});
  const json report = fate.answer();
  const bool told = report.contains("probes");
  ProbeResult result;
  if (told) {
    const json& probe = report["probes"].at(0);
    result = {verdict_of(probe.at("verdict").get<std::string>()),
              probe.at("detail").get<std::string>()};
  }
  if (const Reason misfortune = fate.misfortune()) {
    const std::string seen = told ? "it came to " + std::string(word(result.verdict)) +
                                        (result.detail.empty() ? "" : ": " + result.detail) +
                                        "; but then "
                                  : "";
    const std::string cause = cause_of(steady(fate.errors));
    return {fate.hung ? Verdict::hang : Verdict::crash,
            seen + *misfortune + (cause.empty() ? "" : "; " + cause)};
  }
  if (told) return result;
  constexpr int kNotStarted = 126;  // or 127: no fault of a driver
  if (fate.code >= kNotStarted) throw IoError("cannot start this program again: " + words[0]);
  return {Verdict::crash, fmt::format("its process ended with {} and gave no result", fate.code)};
}

void run_row(Row& row, const ProbeRequest& request, const LocalDevice& device) {
  const Clock::time_point start = Clock::now();
  if (row.probe.destructive && !request.destructive) {
    row.result = {Verdict::skip,
                  "may cost others on this device their work; --destructive runs it"};
  } else if (request.isolate) {
    row.result = isolated(row, request, device.id());
  } else {
    row.result = run_probe(row.probe, device.entry.device);
  }
  row.seconds = seconds_since(start);
}

void print(Output& out, const Row& row) {
  const ProbeResult& result = row.result;
  if (out.quiet() && !result.bad()) return;
  const std::string verdict = fmt::format("{:<5}", word(result.verdict));
  const bool skipped = result.verdict == Verdict::skip;
  out.line(fmt::format("{} {:<23} {}{}; reported on {} ({})",
                       out.marked(verdict, !result.bad() && !skipped, result.bad()), row.probe.name,
                       skipped ? fmt::format("({}) ", result.detail) : "", row.probe.symptom,
                       row.probe.reported_on, row.probe.source));
  if (!result.bad()) {
    if (!skipped && !result.detail.empty()) out.line(fmt::format("{:<6}{}", "", result.detail));
    return;
  }
  out.text(fmt::format("{0:<6}seen: {1}\n{0:<6}what to do: {2}\n{0:<6}repeat with: {3}\n", "",
                       result.detail, row.probe.advice, row.repeat));
}

void to_json(json& result, const Row& row) {
  result = row.probe;
  result["verdict"] = word(row.result.verdict);
  result["detail"] = row.result.detail;
  result["seconds"] = row.seconds;
  result["repeat"] = row.repeat;
}

/// Each bad one as a folder for the driver's authors.
void record_failure(Cli& cli, const ProbeRequest& request, const Row& row,
                    const LocalDevice& device) {
  if (request.record_failures.empty() || !row.result.bad()) return;
  const std::string folder = request.record_failures + "/" + row.probe.name;
  try {
    record_probe(cli, row.probe, row.result.detail, device, folder);
    cli.out.line(fmt::format("{:<6}recorded in {}", "", folder));
  } catch (const Error& error) {
    cli.out.note(fmt::format("{} is not recorded: {}", row.probe.name, error.what()));
  }
}

/// Counts by verdict, in words and in the report; then the exit code.
int conclude(Cli& cli, const std::vector<Row>& rows, json& report) {
  std::string text;
  bool bad = false, ran = false;
  for (const Verdict verdict :
       {Verdict::ok, Verdict::bug, Verdict::hang, Verdict::crash, Verdict::skip}) {
    const auto count = std::count_if(rows.begin(), rows.end(), [verdict](const Row& row) {
      return row.result.verdict == verdict;
    });
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word(verdict));
    report["counts"][word(verdict)] = count;
  }
  for (const Row& row : rows) {
    bad = bad || row.result.bad();
    ran = ran || row.result.verdict == Verdict::ok;
  }
  report["probes"] = rows;
  cli.out.line(text);
  cli.out.report("clam_probe", report);
  return bad ? kCheckFailed : ran ? kFine : kNothingRan;
}

int probe(Cli& cli, const ProbeRequest& request) {
  if (!request.all && request.names.empty()) return list(cli);
  std::optional<CleanEnd> clean_end;
  if (request.isolate) clean_end.emplace();
  std::vector<Row> rows;
  if (!request.record_failures.empty()) make_folder(request.record_failures);
  for (Probe& wanted : wanted_probes(request)) rows.push_back({std::move(wanted), {}, 0, {}});
  const LocalDevice device = chosen_device(cli);
  const DeviceInfo& info = device.facts;
  json report{
      {"device_id", device.id()}, {"device", clam::to_json(info)}, {"counts", json::object()}};
  if (!cli.out.quiet()) {
    cli.out.line(fmt::format("device {} {} ({}, {}, driver {})", device.id(), info.name,
                             info.platform, info.device_version, info.driver_version));
  }
  json history = probe_history(info);
  for (Row& row : rows) {
    cli.out.progress("probing " + row.probe.name);
    row.repeat = fmt::format("clam probe {}{} --device {}", row.probe.name,
                             row.probe.destructive ? " --destructive" : "", device.id());
    run_row(row, request, device);
    print(cli.out, row);
    remember(history, row.probe.name, row.result);
    if (request.isolate) keep_history(info, history);  // at once: the next run may end the machine
    record_failure(cli, request, row, device);
  }
  return conclude(cli, rows, report);
}

}  // namespace

void add_probe(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<ProbeRequest>(
      app, cli, "probe", "look for known faults of drivers; without a name, list them", probe);
  sub->add_option("name", request->names, "probes to run");
  sub->add_flag("--all", request->all, "run every probe");
  sub->add_flag("--destructive", request->destructive,
                "also run probes that may end the work of other programs on this device");
  sub->add_option("--limit", request->limit_s,
                  "seconds until a probe counts as HANG (default: its own limit, mostly 20)")
      ->check(CLI::PositiveNumber);
  sub->add_option("--record-failures", request->record_failures,
                  "write each fault as a folder in this folder, for the driver's authors");
  sub->add_flag("--isolate,!--no-isolate", request->isolate,
                "run each probe in a process of its own (default); --no-isolate is for a debugger");
}

}  // namespace clam::cli
