// SPDX-License-Identifier: MIT
// list.cpp - `clam list`: the ops, what a problem line of each may say, and the tiles of a problem.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "clam/op.hpp"
#include "cli.hpp"
#include "tune/candidates.hpp"

namespace clam::cli {
namespace {

struct ListRequest : PlanRequest {
  bool tiles = false;
};

const char* check_name(Check check) {
  return check == Check::exact ? "exact" : check == Check::zero_mean ? "zero_mean" : "hard";
}

/// "m=", "act=none", "bias": how the field stands in a problem line.
std::string usage(const Field& field) {
  if (field.kind == Field::Kind::flag) return fmt::format("[{}]", field.name);
  if (field.fallback.empty()) return field.name + "=";
  return fmt::format("[{}={}]", field.name, field.fallback);
}

std::string field_text(const Field& field) {
  std::string text = fmt::format("  {:<16} {:<8} {}", field.name, name(field.kind), field.about);
  if (!field.choices.empty()) text += fmt::format(": {}", fmt::join(field.choices, "|"));
  if (field.kind == Field::Kind::flag) return text + "\n";
  if (field.fallback.empty()) return text + " (required)\n";
  return text + fmt::format(" (default {})\n", field.fallback);
}

/// The op's case with the largest measure.
template <typename Measure>
Problem largest(const Op& op, const Measure& measure) {
  const std::vector<Problem> problems = problems_of(proof_of(op).cases, "f32");
  return *std::max_element(
      problems.begin(), problems.end(),
      [&](const Problem& a, const Problem& b) { return measure(a) < measure(b); });
}

/// The case with the most tensors, to show them by.
Problem example(const Op& op) {
  return largest(op, [&](const Problem& problem) { return op.tensors(problem).size(); });
}

std::string tensor_text(const TensorSpec& spec) {
  return fmt::format("  {:<16} {:<8} {}[{}]\n", spec.name,
                     spec.role == TensorSpec::Role::input ? "input" : "output", name(spec.dtype),
                     to_string(spec.shape));
}

std::string op_text(const Op& op) {
  std::string text = fmt::format("{}\n  {}\n\nfields\n", op.name, op.about);
  for (const Field& field : op.fields) text += field_text(field);
  const Problem problem = example(op);
  text += fmt::format("\ntensors of '{}'\n", problem.text());
  for (const TensorSpec& spec : op.tensors(problem)) text += tensor_text(spec);
  text += "\nvariants, preferred first\n";
  for (const Variant& variant : op.variants) {
    text += fmt::format("  {:<28} {}\n", variant.name, variant.about);
  }
  text += "\ndata sets\n";
  for (const DataSet& set : proof_of(op).data_sets) {
    text += fmt::format("  {:<16} {:<10} {}\n", set.name, check_name(set.check), set.about);
  }
  return text + fmt::format("\n{} cases for `clam verify --all`\n", proof_of(op).cases.size());
}

std::string short_text(const Op& op) {
  std::string words;
  for (const Field& field : op.fields) words += " " + usage(field);
  return fmt::format("{}{}\n  {}\n", op.name, words, op.about);
}

json op_json(const Op& op) {
  json result = to_json(op), sets = json::array();
  for (const DataSet& set : proof_of(op).data_sets) {
    sets.push_back({{"name", set.name}, {"check", check_name(set.check)}, {"about", set.about}});
  }
  const Problem problem = example(op);
  result.update({{"example", {{"problem", problem.text()}, {"tensors", op.tensors(problem)}}},
                 {"data_sets", sets},
                 {"cases", proof_of(op).cases}});
  return result;
}

// ---- tiles ----

/// Of an op alone its largest case, which most tiles fit.
Problem problem_of(const std::string& line) {
  if (line.find_first_of(" \t") != line.npos) return Problem::parse(line);
  return largest(find_op(line), flops_of);
}

std::string tiles_text(const std::vector<tune::Listed>& all) {
  std::size_t width = 0;
  for (const tune::Listed& one : all) width = std::max(width, one.words().size());
  std::string text = "in us at 1 GHz as predicted; first what the model chooses\n";
  for (const tune::Listed& one : all) {
    const std::string time =
        one.clocks > 0 ? fmt::format("{:9.1f}", one.clocks / 1e3) : "no prediction";
    text += fmt::format("  {:<{}}  {}\n", one.words(), width,
                        one.refused ? "no: " + *one.refused : time);
  }
  return text;
}

int list_tiles(Cli& cli, const ListRequest& request) {
  if (request.words.empty()) throw BadArgument("tiles of what? Name a problem line or an op");
  const DeviceInfo device = planned_for(cli, request);
  json tiles = json::array();
  for (const std::string& line : problem_lines(request.words)) {
    const Problem problem = problem_of(line);
    const std::vector<tune::Listed> all = tune::list_candidates(problem, device);
    json rows = json::array();
    for (const tune::Listed& one : all) {
      rows.push_back({{"variant", one.variant}, {"tile", one.tile}, {"clocks", one.clocks}});
      if (one.refused) rows.back()["refused"] = *one.refused;
    }
    cli.out.text(problem.text() + "\n" + tiles_text(all));
    tiles.push_back({{"problem", problem.text()}, {"device", device.name}, {"candidates", rows}});
  }
  cli.out.report("clam_list", {{"tiles", tiles}});
  return kFine;
}

int list(Cli& cli, const ListRequest& request) {
  if (request.tiles) return list_tiles(cli, request);
  const std::vector<std::string>& names = request.words;
  std::vector<const Op*> ops;
  for (const std::string& name : names) ops.push_back(&find_op(name));
  if (names.empty()) ops = all_ops();
  json written = json::array();
  std::string text;
  for (const Op* op : ops) {
    if (!text.empty() && !names.empty()) text += "\n";
    text += names.empty() ? short_text(*op) : op_text(*op);
    written.push_back(op_json(*op));
  }
  cli.out.text(text);
  cli.out.report("clam_list", {{"ops", written}});
  return kFine;
}

}  // namespace

void add_list(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<ListRequest>(
      app, cli, "list", "the ops; with names, everything about those ops", list);
  sub->add_option("op", request->words, "ops to show in full; with --tiles, problem lines too");
  CLI::Option* tiles =
      sub->add_flag("--tiles", request->tiles, "the variants and tiles of a problem, as predicted");
  sub->add_option("--gpu", request->gpu, "tiles for a board with this Mali, such as g610 or t860")
      ->needs(tiles);
  sub->add_flag("--generic", request->generic, "tiles for a generic device, without using a device")
      ->needs(tiles);
}

}  // namespace clam::cli
