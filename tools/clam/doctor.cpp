// SPDX-License-Identifier: MIT
// doctor.cpp - `clam doctor`: one page on whether this board can run clam, and what to type where
// not.
//
// Drivers may crash or hang where they do not fit. So whatever touches one runs in a process of its
// own.
#include <fmt/core.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "bundle/last_words.hpp"
#include "case_child.hpp"
#include "cli.hpp"
#include "doctor/findings.hpp"
#include "process/isolate.hpp"

namespace clam::cli {
namespace {

using doctor::Finding;
using doctor::Findings;

constexpr const char* kTestProblem = "softmax shape=64x192 dtype=f32";
/// The work takes a second; in an emulator a process needs half a minute to start.
std::chrono::seconds patience() {
  return std::chrono::seconds(std::getenv("CLAM_EMULATOR") ? 600 : 30);
}

/// clam with these words; what its driver prints is kept.
Fate run_clam(const Cli& cli, const std::vector<std::string>& command) {
  return run_isolated(child_words(cli.device, command), patience(), {"", true});
}

doctor::Looked look(const Cli& cli) {
  const Fate fate = run_clam(cli, {"info"});
  doctor::Looked looked{fate.answer(), "", fate.errors};
  if (const Reason misfortune = fate.misfortune()) {
    looked.end = *misfortune;
  } else if (looked.info.is_null()) {
    looked.end =
        fmt::format("its process ended with exit code {}", fate.code);  // as search.cpp does
  }
  return looked;
}

doctor::SelfTest run_self_test(const Cli& cli) {
  const Fate fate = run_clam(cli, {"run", kTestProblem, "--fill", "zero_mean", "--check"});
  doctor::SelfTest test;
  test.problem = kTestProblem;
  test.right = fate.code == kFine;
  if (const Reason misfortune = fate.misfortune()) {
    const std::string cause = cause_of(fate.errors);
    test.reason = *misfortune + (cause.empty() ? "" : "; " + cause);
  } else if (!test.right) {
    test.reason = fate.errors.substr(0, fate.errors.find('\n'));
  }
  const json answer = fate.answer();
  double ns = 0;
  for (const json& launch : answer.value("launch_ns", json::array())) ns += launch.get<double>();
  if (ns > 0) test.us = ns * 1e-3;
  return test;
}

void print(Output& out, const Findings& findings) {
  for (const Finding& finding : findings) {
    const std::string word =
        out.marked(fmt::format("{:<6}", name(finding.level)), finding.level == Finding::Level::ok,
                   finding.level == Finding::Level::fault);
    out.line(fmt::format("{}{:<14} {}", word, finding.topic, finding.text));
    if (!finding.command.empty()) out.line(fmt::format("{:<20} type: {}", "", finding.command));
  }
}

int diagnose_board(Cli& cli, bool) {
  const Machine machine;
  const doctor::Facts facts = doctor::read_facts(machine);
  Findings findings;
  append(findings, examine_gpu(facts));
  cli.out.progress("looking for OpenCL devices");
  const doctor::Looked looked = look(cli);
  append(findings, examine_opencl(machine, facts, looked));
  append(findings, examine_device(looked));
  if (!facts.device.empty() || !facts.driver.empty())
    append(findings, doctor::examine_clocks(Board(machine)));
  if (doctor::device_of(looked)) {
    cli.out.progress("running one launch");
    findings.push_back(examine_self_test(run_self_test(cli)));
  }
  int faults = 0, notes = 0;
  for (const Finding& finding : findings) {
    faults += finding.level == Finding::Level::fault;
    notes += finding.level == Finding::Level::note;
  }
  print(cli.out, findings);
  cli.out.line(counted(faults, "fault") + ", " + counted(notes, "note"));
  cli.out.report(
      "clam_doctor",
      {{"findings", findings}, {"faults", faults}, {"notes", notes}, {"info", looked.info}});
  return faults == 0 ? kFine : kCheckFailed;
}

}  // namespace

void add_doctor(CLI::App& app, Cli& cli) {
  add_command<bool>(app, cli, "doctor",
                    "can this board run clam? What is wrong, and what to type; then a test launch",
                    diagnose_board);
}

}  // namespace clam::cli
