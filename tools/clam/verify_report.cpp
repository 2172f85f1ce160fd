// SPDX-License-Identifier: MIT
// verify_report.cpp - a row of `clam verify` for people and for programs.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "process/shell_quoted.hpp"
#include "verify_rows.hpp"

namespace clam::cli {
namespace {

std::string repeat_command(const Session& session, const VerifyRequest& request,
                           const VerifyRow& row, const std::string& set) {
  return session.repeat(fmt::format("verify {} --variant {} --set {} --seed {}{}",
                                    shell_quoted(row.text), row.variant, set, request.seed,
                                    request.gpu.empty() ? "" : " --gpu " + request.gpu));
}

/// The data set to show in the row's line: a failed one, else the nearest to its bound.
const Verification* shown_set(const VerifyRow& row) {
  const auto rank = [](const Verification& each) {
    const bool failed = !each.pass() && !is_only_blind(each);
    return std::make_pair(failed, each.worst_ratio());
  };
  const Verification* shown = nullptr;
  for (const Verification& each : row.sets) {
    if (!shown || rank(each) > rank(*shown)) shown = &each;
  }
  return shown;
}

std::string line_text(const Output& out, const VerifyRow& row) {
  const std::string verdict = coloured(out, row.status, fmt::format("{:<7}", word(row.status)));
  const Verification* set = shown_set(row);
  std::string line = fmt::format(
      "{} {:>8}  {:<12} {:<26} {}", verdict, set ? fmt::format("{:.3g}", set->worst_ratio()) : "-",
      set ? set->data_set : "-", row.variant.empty() ? "-" : row.variant, row.text);
  if (!row.layers.empty()) line += fmt::format(" ({})", row.layers);
  for (const Verification& each : row.sets) {
    if (row.status == Status::pass && !each.pass())
      line += fmt::format(" ({} blind)", each.data_set);
  }
  return line + "\n";
}

/// Every measure of the outputs that failed, and the command that repeats each data set.
std::string details(const Session& session, const VerifyRequest& request, const VerifyRow& row) {
  if (row.sets.empty()) return indented(row.reason);
  std::string text;
  for (const Verification& each : row.sets) {
    if (each.pass() || (row.status == Status::fail && is_only_blind(each))) continue;
    if (each.fault) text += fmt::format("{}: {}\n", each.data_set, *each.fault);
    for (const auto& [name, verdict] : each.outputs) {
      if (!verdict.pass) text += fmt::format("{}, {}: {}", each.data_set, name, to_text(verdict));
    }
    text += "repeat with: " + repeat_command(session, request, row, each.data_set) + "\n";
  }
  return indented(text);
}

}  // namespace

const char* word(Status status) {
  switch (status) {
    case Status::waiting:
      return "not run";
    case Status::pass:
      return "pass";
    case Status::fail:
      return "FAIL";
    case Status::blind:
      return "BLIND";
    case Status::constant:
      return "CONST";
    case Status::skip:
      return "skip";
    case Status::error:
      return "ERROR";
    case Status::not_yet:
      return "not yet";
    case Status::on_cpu:
      return "on cpu";
  }
  throw std::logic_error("unknown status");
}

bool is_bad(Status status) {
  return status == Status::fail || status == Status::blind || status == Status::constant ||
         status == Status::error;
}

std::string coloured(const Output& out, Status status, const std::string& text) {
  return status == Status::pass ? out.green(text)
         : is_bad(status)       ? out.red(text)
                                : out.yellow(text);
}

void print_row(Output& out, const Session& session, const VerifyRequest& request,
               const VerifyRow& row) {
  if (out.quiet() && !row.is_bad()) return;
  const bool plain = row.status == Status::pass || row.status == Status::not_yet;
  out.text(line_text(out, row) + (plain ? "" : details(session, request, row)));
}

nlohmann::json row_json(const Session& session, const VerifyRequest& request,
                        const VerifyRow& row) {
  nlohmann::json sets = nlohmann::json::array();
  for (const Verification& each : row.sets) {
    nlohmann::json outputs = nlohmann::json::object();
    for (const auto& [name, verdict] : each.outputs) outputs[name] = to_json(verdict);
    sets.push_back({{"data_set", each.data_set},
                    {"pass", each.pass()},
                    {"reason", each.reason()},
                    {"fault", each.fault ? nlohmann::json(*each.fault) : nlohmann::json()},
                    {"outputs", outputs},
                    {"repeat", repeat_command(session, request, row, each.data_set)}});
  }
  return {{"problem", row.text},
          {"layers", row.layers},
          {"variant", row.variant},
          {"status", word(row.status)},
          {"reason", row.reason},
          {"seed", request.seed},
          {"sets", sets}};
}

}  // namespace clam::cli
