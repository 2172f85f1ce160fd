// SPDX-License-Identifier: MIT
#include "verify_graph.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "check/npy.hpp"
#include "clam/error.hpp"
#include "process/shell_quoted.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"

namespace clam {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PassReport, launches, copies, tensors, buffers, shared_bytes,
                                   apart_bytes)
}  // namespace clam

namespace clam::cli {
namespace {

constexpr double kHighCosine = 0.99;

constexpr const char* kChained =
    "graph, chained: each node on what the device made before.\n"
    "  own: compared with the reference of the same inputs, under its bound (exact: bit for bit)\n"
    "  chain: compared with references alone, from the graph's inputs on, without a bound. A row "
    "in\n"
    "  another place counts as an error.\n";

void refuse_options(const VerifyRequest& request) {
  const std::pair<const char*, bool> options[] = {{"--mode", !request.mode.empty()},
                                                  {"--on-cpu", !request.on_cpu.empty()},
                                                  {"--tensors", !request.tensors.empty()},
                                                  {"--dump", !request.dump.empty()},
                                                  {"--oracle", !request.oracle.empty()}};
  for (const auto& [option, given] : options) {
    throw_if(given,
             "{} needs the graph of a workload: --workload NAME whose nodes name their tensors, "
             "and neither a data set nor --variant, which check nodes alone",
             option);
  }
}

/// Both oracles where tensors are recorded. Throws BadArgument for one that is not there.
Oracles oracles_of(const VerifyRequest& request, const Graph& graph) {
  const bool recorded = std::any_of(graph.tensors.begin(), graph.tensors.end(),
                                    [](const auto& each) { return each.second.recorded.exists(); });
  if (request.oracle.empty()) return {true, recorded, request.recorded_share};
  throw_if(request.oracle != "references" && request.oracle != "recorded",
           "--oracle is {}; it may be references or recorded", in_quotes(request.oracle));
  const bool by_recorded = request.oracle == "recorded";
  throw_if(by_recorded && !recorded,
           "--oracle recorded: this workload has no recorded tensors; "
           "tools/import-onnx makes folders that have them");
  return {!by_recorded, by_recorded, request.recorded_share};
}

/// Of the errors, as a share of what is recorded.
double relative_rms(const Verdict& verdict) { return std::pow(10, -verdict.snr_db / 20); }

/// The output to show in the node's line: one that failed, else the nearest to its bound, else the
/// largest.
const std::pair<const std::string, Verdict>* shown(const std::map<std::string, Verdict>& outputs) {
  const auto rank = [](const Verdict& v) {
    return std::make_tuple(!v.pass, v.worst_ratio, v.elements);
  };
  const std::pair<const std::string, Verdict>* best = nullptr;
  for (const auto& each : outputs) {
    if (!best || rank(each.second) > rank(best->second)) best = &each;
  }
  return best;
}

bool is_exact(const Verdict& verdict) {
  return verdict.worst_ratio == 0 && verdict.worst_bound == 0;
}

std::string measures(const Verdict& v) {
  const bool fooled = v.cosine > kHighCosine && !v.pass;
  return fmt::format(
      "{:>8} {:>9} {:>9.3g} {:>8.3g} {:>9.3g} {:>7.2f} {:>9.2g} {:>6.2g} {:>9} {:>9.3g} {:>9.3g} "
      "{:>8.6f}{} ",
      is_exact(v) ? "exact" : fmt::format("{:.3g}", v.worst_ratio), v.worst_index, v.max_abs,
      v.max_ulp, v.rms, v.snr_db, v.bias, 100 * v.fraction_over,
      fmt::format("{}/{}/{}", v.nans, v.infs, v.poison), v.variance, v.reference_variance, v.cosine,
      fooled ? "!" : " ");
}

std::string relative(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.2g}", value);
}

std::string as_a_whole(const PassReport& whole) {
  constexpr double kMega = 1e-6;
  return fmt::format(
      "as a whole: {:.3f} ms by events, {:.3f} ms until the host knows, {} launches; {} tensors "
      "share {} buffers, {:.1f} MB (each in its own: {:.1f}){}{}\n",
      whole.best.ms, whole.best.wall_ms, whole.launches, whole.tensors, whole.buffers,
      kMega * double(whole.shared_bytes), kMega * double(whole.apart_bytes),
      whole.copies ? fmt::format(", {} copies", whole.copies) : "",
      whole.pass() ? "; outputs the same, bit for bit" : "");
}

nlohmann::json json_of(const PassReport& whole) {
  nlohmann::json json = whole;
  json.update(
      {{"ms", whole.best.ms}, {"wall_ms", whole.best.wall_ms}, {"same_bits", whole.pass()}});
  return json;
}

}  // namespace

std::string repeat_command(const Session& session, const VerifyRequest& request) {
  std::string words =
      fmt::format("verify --workload {} --mode {} --seed {}", shell_quoted(request.workload),
                  request.chained() ? "chained" : "isolated", request.seed);
  for (const auto& [name, value] : request.parameters) {
    words += fmt::format(" --set {}={}", name, value);
  }
  for (const std::string& node : request.on_cpu) words += " --on-cpu " + node;
  if (!request.oracle.empty()) words += " --oracle " + request.oracle;
  if (request.recorded_share > 0)
    words += fmt::format(" --recorded-rms {}", request.recorded_share);
  if (!request.dtype.empty()) words += " --dtype " + request.dtype;
  if (!request.gpu.empty()) words += " --gpu " + request.gpu;
  if (!request.tensors.empty()) words += " --tensors " + shell_quoted(request.tensors);
  return session.repeat(words);
}

std::optional<GraphCheck> GraphCheck::select(const VerifyRequest& request) {
  throw_if(!request.mode.empty() && request.mode != "isolated" && !request.chained(),
           "--mode is {}; it may be isolated or chained", in_quotes(request.mode));
  const bool alone = request.set != "all" || !request.variant.empty();
  std::optional<Workload> workload;
  if (!request.workload.empty()) workload = read_workload(request.workload, request.parameters);
  if (alone || !workload || !workload->has_graph()) {
    // A workload without a graph has nodes that are isolated anyway.
    VerifyRequest rest = request;
    if (workload && !alone && !request.chained()) rest.mode.clear();
    refuse_options(rest);
    return std::nullopt;
  }
  if (!request.dtype.empty()) parse_dtype(request.dtype);
  GraphCheck check;
  check.request_ = request;
  check.graph_ = make_graph(*workload, request.dtype);
  check.unsupported_ = workload->model.unsupported_text();
  for (const std::string& node : request.on_cpu) check.graph_.node(node);
  check.inputs_ = graph_inputs(check.graph_, request.seed, request.tensors);
  check.oracles_ = oracles_of(request, check.graph_);
  // Isolated, a second time with other inputs, where it is not files that say what they are.
  const bool made_up = std::any_of(check.graph_.tensors.begin(), check.graph_.tensors.end(),
                                   [](const auto& each) { return !each.second.fill.empty(); });
  if (!request.chained() && made_up) {
    check.second_ = graph_inputs(check.graph_, request.seed + 1, request.tensors);
  }
  if (!request.dump.empty()) {
    std::error_code error;
    fs::create_directories(request.dump, error);
    require_writable(request.dump + "/x.npy");
  }
  return check;
}

void GraphCheck::run(Session& session, Output& out, const DeviceInfo* planned_for) {
  GraphOptions options;
  options.on_cpu = {request_.on_cpu.begin(), request_.on_cpu.end()};
  options.oracles = oracles_;
  options.planned_for = planned_for;
  options.progress = [&out](const std::string& what) { out.progress("graph: " + what); };
  try {
    Runtime& runtime = session.runtime();
    peak_ = peak(runtime.device());
    run_ = request_.chained() ? verify_chained(runtime, graph_, inputs_, options)
                              : verify_isolated(runtime, graph_, inputs_, second_, options);
  } catch (const Unsupported& error) {
    refused_ = Status::skip;
    reason_ = error.what();
  } catch (const DeviceError& error) {
    refused_ = Status::error;
    reason_ = error.what();
  }
  if (!request_.dump.empty() && refused_ == Status::waiting) dump();
}

void GraphCheck::dump() const {
  for (const auto& [name, tensor] : graph_.tensors) {
    const auto made = run_.device.find(graph_.held(name));
    if (made == run_.device.end()) continue;
    const std::string path = request_.dump + "/" + name;
    write_npy(path + ".npy", reshaped(made->second, tensor.shape));
    const auto reference = run_.reference.find(graph_.held(name));
    if (graph_.tensors.at(graph_.holder(name)).is_input()) continue;
    if (reference == run_.reference.end()) continue;
    write_npy(path + ".reference.npy", reshaped(reference->second, tensor.shape));
  }
}

std::vector<NodeVerdict> GraphCheck::nodes() const {
  std::vector<NodeVerdict> verdicts;
  for (const Graph::Node& node : graph_.nodes) {
    verdicts.push_back({node.name, node.problem.text(), refused_, reason_, nullptr});
    if (run_.nodes.size() < verdicts.size()) continue;
    const NodeResult& result = run_.nodes[verdicts.size() - 1];
    NodeVerdict& verdict = verdicts.back();
    verdict.result = &result;
    verdict.reason = result.on_cpu()    ? ""
                     : result.constant  ? *result.constant
                     : result.own_passes() ? result.unlike_recorded().value_or("")
                                           : result.own.reason();
    verdict.status = result.on_cpu()                                          ? Status::on_cpu
                     : result.constant                                        ? Status::constant
                     : result.pass()                                          ? Status::pass
                     : is_only_blind(result.own) && !result.unlike_recorded() ? Status::blind
                                                                              : Status::fail;
  }
  if (run_.whole && !run_.whole->pass()) {
    verdicts.push_back({"all nodes", graph_.name, Status::fail, *run_.whole->differs, nullptr});
  }
  return verdicts;
}

/// How many times the error of the node's inputs, the largest of them, its own is.
double GraphCheck::growth(const std::string& node) const {
  double before = 0, own = 0;
  for (const NodeResult& result : run_.nodes) {
    if (result.node == node) own = result.grown();
    for (const auto& [input, name] : graph_.node(node).inputs) {
      if (graph_.tensors.at(graph_.holder(name)).maker == result.node) {
        before = std::max(before, result.grown());
      }
    }
  }
  return before > 0 ? own / before : std::nan("");
}

/// How near the node's time is to its least.
std::string GraphCheck::percent_of_peak(const std::string& node, double ms) const {
  if (!(ms > 0)) return "-";
  return fmt::format("{:.1f}", 100 * floor_ms(graph_.node(node).problem, *peak_) / ms);
}

/// What the lines of an isolated graph compare.
std::string GraphCheck::isolated() const {
  const char* inputs = oracles_.recorded ? "recorded" : "the references'";
  return fmt::format("graph, isolated: each node on {} inputs{}{}\n", inputs,
                     oracles_.references ? ", under its bound" : "",
                     second_.empty() ? "" : ", with two seeds");
}

std::string GraphCheck::header() const {
  std::string text =
      fmt::format("{}{:<7} {:>8} {:>9} {:>9} {:>8} {:>9} {:>7} {:>9} {:>6} {:>9} ",
                  request_.chained() ? kChained : isolated(), "verdict", "of bound", "worst at",
                  "max abs", "max ulp", "rms", "snr dB", "bias", "over %", "nan/inf/-");
  text += fmt::format("{:>9} {:>9} {:>9} ", "variance", "of ref", "cosine");
  if (request_.chained()) {
    text += fmt::format("{:>9} {:>9} {:>6} ", "chain cos", "chain rms", "grown");
  }
  if (oracles_.recorded) text += fmt::format("{:>9} {:>9} ", "rec. cos", "rec. rms");
  text += fmt::format("{:>8} ", "ms");
  if (peak_) text += fmt::format("{:>6} ", "% peak");
  return text + " node\n";
}

std::string GraphCheck::line(const Output& out, const NodeVerdict& node) const {
  std::string text = marked_word(out, node.status) + " ";
  if (!node.result) return text + fmt::format("{}: {}\n", node.node, node.problem);
  const NodeResult& result = *node.result;
  const auto* output = shown(result.on_cpu()              ? result.chain
                             : result.own.outputs.empty() ? result.recorded
                                                          : result.own.outputs);
  text +=
      output && !result.on_cpu() ? measures(output->second) : std::string(measures({}).size(), ' ');
  if (request_.chained()) {
    const auto* chain = output && !result.chain.empty() ? &result.chain.at(output->first) : nullptr;
    text += fmt::format("{:>9} {:>9} {:>6} ", chain ? fmt::format("{:.6f}", chain->cosine) : "-",
                        relative(result.grown()), relative(growth(node.node)));
  }
  if (oracles_.recorded) {
    const auto* worst = shown(result.recorded);
    text += worst ? fmt::format("{:>9.6f} {:>9} ", worst->second.cosine,
                                relative(relative_rms(worst->second)))
                  : fmt::format("{:>9} {:>9} ", "-", "-");
  }
  text += fmt::format("{:>8.3f} ", result.ms);
  if (peak_) text += fmt::format("{:>6} ", percent_of_peak(node.node, result.ms));
  return text + fmt::format(" {}{}{}: {}\n", node.node, output ? "." + output->first : "",
                            result.on_cpu() ? "" : " by " + result.variant, node.problem);
}

std::string GraphCheck::details(const Session& session, const NodeVerdict& node) const {
  if (!node.result) return indented(node.reason);
  std::string text;
  if (node.result->constant) text += *node.result->constant + "\n";
  if (node.result->own.fault) text += *node.result->own.fault + "\n";
  for (const auto& [name, verdict] : node.result->own.outputs) {
    if (!verdict.pass) text += name + ": " + to_text(verdict);
  }
  for (const auto& [name, verdict] : node.result->recorded) {
    if (!verdict.pass) text += name + ", as recorded: " + to_text(verdict);
  }
  return indented(text + "repeat with: " + repeat_command(session, request_));
}

void GraphCheck::print(const Session& session, Output& out) const {
  if (!out.quiet()) out.text(header());
  bool fooled = false;
  std::string said;
  for (const NodeVerdict& node : nodes()) {
    const bool bad = is_bad(node.status);
    if (out.quiet() && !bad) continue;
    // What the device cannot run at all is the reason of every node, and said once.
    const bool explained = !node.reason.empty() && node.reason != said;
    said = node.reason;
    out.text(line(out, node) + (explained ? details(session, node) : ""));
    for (const auto& [name, verdict] :
         node.result ? node.result->own.outputs : std::map<std::string, Verdict>{}) {
      fooled = fooled || (!verdict.pass && verdict.cosine > kHighCosine);
    }
  }
  if (fooled)
    out.text("  ! a cosine above .99 where the bound fails: it does not see this fault\n");
  if (run_.whole && !out.quiet()) out.text(as_a_whole(*run_.whole));
}

nlohmann::json GraphCheck::json(const Session& session) const {
  nlohmann::json lines = nlohmann::json::array();
  for (const NodeVerdict& node : nodes()) {
    nlohmann::json line{{"node", node.node},
                        {"problem", node.problem},
                        {"status", word(node.status)},
                        {"reason", node.reason}};
    if (node.result) {
      const NodeResult& result = *node.result;
      line["variant"] = result.variant;
      line["ms"] = result.ms;
      if (peak_ && result.ms > 0) {
        line["of_peak"] = floor_ms(graph_.node(node.node).problem, *peak_) / result.ms;
      }
      line["two_inputs_one_output"] = result.constant.has_value();
      line["own"] = result.own.outputs;
      line["chain"] = result.chain;
      line["recorded"] = result.recorded;
      if (!result.chain.empty()) line["chain_rms"] = result.grown();
    }
    lines.push_back(line);
  }
  nlohmann::json report{{"mode", request_.chained() ? "chained" : "isolated"},
                        {"seed", request_.seed},
                        {"parameters", request_.parameters},
                        {"on_cpu", request_.on_cpu},
                        {"nodes", lines},
                        {"repeat", repeat_command(session, request_)}};
  if (run_.whole) report["as_a_whole"] = json_of(*run_.whole);
  if (!unsupported_.empty()) report["unsupported"] = unsupported_;
  return report;
}

}  // namespace clam::cli
