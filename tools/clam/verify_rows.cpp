// SPDX-License-Identifier: MIT
// verify_rows.cpp - from the words of the command line to the rows of the report.
#include "verify_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "check/workload.hpp"
#include "process/shell_quoted.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

namespace clam::cli {
namespace {

using Rows = std::vector<VerifyRow>;

Rows rows_of_all_cases(const std::string& dtype) {
  const std::vector<std::string> dtypes =
      dtype.empty() ? std::vector<std::string>{"f32", "f16"} : std::vector<std::string>{dtype};
  Rows rows;
  for (const Op* op : all_ops()) {
    for (const std::string& each : dtypes) {
      for (const Problem& problem : problems_of(proof_of(*op).cases, each))
        rows.push_back({problem});
    }
  }
  return rows;
}

/// "conv1, conv2": the layers of the model that are this very problem.
std::string layers_of(const Workload& workload, const Problem& problem) {
  std::string names;
  for (const Workload::Node& node : workload.nodes) {
    if (!node.problem || *node.problem != problem) continue;
    names += (names.empty() ? "" : ", ") + node.name;
  }
  return names;
}

/// Without the nodes that the graph has.
Workload standing_alone(Workload workload) {
  auto& nodes = workload.nodes;
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [](const Workload::Node& node) { return node.in_graph(); }),
              nodes.end());
  return workload;
}

Rows rows_of_workload(const VerifyRequest& request, bool with_graph) {
  const std::string& dtype = request.dtype;
  Workload workload = read_workload(request.workload, request.parameters);
  if (!with_graph) workload = standing_alone(std::move(workload));
  Rows rows;
  for (const Problem& problem : workload.problems()) {
    rows.push_back({problem.in_float(dtype)});
    rows.back().layers = layers_of(workload, problem);
  }
  return rows;
}

Rows named_rows(const VerifyRequest& request, const Graph* graph) {
  const int sources = !request.words.empty() + request.all + !request.workload.empty();
  throw_if(sources != 1,
           "verify what? Give problems, or --all, or --workload NAME, one of the three");
  if (!request.dtype.empty()) parse_dtype(request.dtype);
  if (request.all) return rows_of_all_cases(request.dtype);
  if (graph && !request.mode.empty()) return {};
  if (!request.workload.empty()) return rows_of_workload(request, graph == nullptr);
  Rows rows;
  for (const std::string& line : problem_lines(request.words)) {
    rows.push_back({parse_as(line, request.dtype)});
  }
  return rows;
}

bool knows(const Op& op, const VerifyRequest& request) {
  const bool any_variant = request.variant.empty() || request.variant == "all";
  return (any_variant || find_by_name(op.variants, request.variant)) &&
         (request.set == "all" || find_by_name(proof_of(op).data_sets, request.set));
}

/// Throws BadArgument for an op that does not know them, with the one that it does not know.
void require_known(const Op& op, const VerifyRequest& request) {
  const bool any_variant = request.variant.empty() || request.variant == "all";
  if (!any_variant) find_variant(op, request.variant);
  if (request.set != "all") find_data_set(op, request.set);
}

constexpr Words<8> kStatusWords{"not run", "pass", "FAIL",  "BLIND",
                                "CONST",   "skip", "ERROR", "on cpu"};
std::string repeat_command(const Session& session, const VerifyRequest& request,
                           const VerifyRow& row, const std::string& set) {
  return session.repeat(
      fmt::format("verify {} --variant {}{} --set {} --seed {}{}", shell_quoted(row.text),
                  row.variant, request.tile.empty() ? "" : " --tile " + request.tile, set,
                  request.seed, request.gpu.empty() ? "" : " --gpu " + request.gpu));
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
  const std::string verdict = marked_word(out, row.status);
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

void add_graph_options(CLI::App* sub, VerifyRequest& request) {
  sub->add_option("--workload", request.workload,
                  "the layers of a model: a name, a file or a folder");
  add_repeatable(sub, "--set", request.sets,
                 "NAME=VALUE, a parameter of the workload; of `clam verify` also the data set to "
                 "use (default: all)");
  sub->add_option("--tensors", request.tensors,
                  "folder of NAME.npy files for the inputs of the graph (default: generated)");
  sub->add_option("--dtype", request.dtype, "run in this dtype, not that of the problems");
  add_seed(sub, request.seed);
  sub->add_option("--record-failures", request.record_failures,
                  "write a bundle of each row, or node of the graph, that fails into this folder, "
                  "as `clam record` does");
}

void take_parameter(const std::string& text, VerifyRequest& request) {
  const std::size_t equals = text.find('=');
  const std::string value = equals == text.npos ? "" : text.substr(equals + 1);
  const bool digits =
      !value.empty() && value.size() < 11 && value.find_first_not_of("0123456789") == value.npos;
  if (!digits) throw BadArgument(fmt::format("--set {}: write NAME=WHOLE_NUMBER", text));
  request.parameters[text.substr(0, equals)] = std::stoll(value);
}

Rows select_rows(const VerifyRequest& request, const Graph* graph) {
  Rows rows = named_rows(request, graph);
  const auto unknown = [&](const VerifyRow& row) { return !knows(op_of(row.problem), request); };
  const auto first = std::find_if(rows.begin(), rows.end(), unknown);
  if (first == rows.end()) return rows;
  const Op& op = op_of(first->problem);
  const bool all_unknown = std::all_of(rows.begin(), rows.end(), unknown);
  // Asked for by name, every op must know the words; over many ops, those that do are run.
  if (all_unknown || !request.words.empty()) require_known(op, request);
  rows.erase(std::remove_if(rows.begin(), rows.end(), unknown), rows.end());
  return rows;
}

Rows rows_on(const DeviceInfo& device, const VerifyRequest& request, const Rows& rows) {
  const bool only_f32 = request.all && request.dtype.empty() && !device.fp16;
  Rows chosen;
  for (VerifyRow row : rows) {
    if (only_f32 && row.problem.dtype() == Dtype::f16) continue;
    row.variant = request.variant == "all" ? "" : request.variant;
    const std::size_t before = chosen.size();
    if (request.variant == "all") {
      for (const Variant& each : op_of(row.problem).variants) {
        if (!try_plan(row.problem, device, {each.name, 0})) continue;
        chosen.push_back(row);
        chosen.back().variant = each.name;
      }
    }
    if (chosen.size() == before) chosen.push_back(std::move(row));
  }
  return chosen;
}

void conclude(VerifyRow& row) {
  bool passed = false;
  row.status = Status::blind;
  row.reason =
      "no check proves anything, because zeros would be within the bounds: use another data set";
  for (const Verification& each : row.sets) {
    passed = passed || each.pass();
    if (each.pass() || is_only_blind(each)) continue;
    row.status = Status::fail;
    row.reason = each.data_set + ": " + each.reason();
    return;
  }
  if (!passed) return;
  row.status = Status::pass;
  row.reason.clear();
}

const char* word(Status status) { return word_of(kStatusWords, status); }

Status status_of(const std::string& word) {
  if (const auto status = find_word<Status>(kStatusWords, word)) return *status;
  throw BadArgument(fmt::format("'{}' is no status of a row", word));
}

std::string marked_word(const Output& out, Status status) {
  return out.marked(fmt::format("{:<7}", word(status)), status == Status::pass, is_bad(status));
}

bool is_bad(Status status) {
  return status == Status::fail || status == Status::blind || status == Status::constant ||
         status == Status::error;
}

void print_row(Output& out, const Session& session, const VerifyRequest& request,
               const VerifyRow& row) {
  if (out.quiet() && !is_bad(row.status)) return;
  const bool plain = row.status == Status::pass;
  out.text(line_text(out, row) + (plain ? "" : details(session, request, row)));
}

json row_json(const Session& session, const VerifyRequest& request, const VerifyRow& row) {
  json sets = json::array();
  for (const Verification& each : row.sets) {
    sets.push_back({{"data_set", each.data_set},
                    {"pass", each.pass()},
                    {"reason", each.reason()},
                    {"fault", each.fault ? json(*each.fault) : json()},
                    {"outputs", each.outputs},
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
