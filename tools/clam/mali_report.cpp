// SPDX-License-Identifier: MIT
#include "mali_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace clam::mali {
static void to_json(nlohmann::json& text, const Interval& interval) {
  text = {interval.low, interval.high};
}

static void to_json(nlohmann::json& text, const LaunchTime& launch) {
  text = {{"kernel", launch.kernel},
          {"items", launch.items},
          {"issued_per_item", {launch.least.issued, launch.most.issued}},
          {"issue_us", launch.issue},
          {"latency_us", launch.latency},
          {"load_us", launch.load},
          {"dram_us", launch.dram}};
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Counts, issued, fma, cvt, sfu, load_store, texture, control, mac,
                                   loads, stores, load_bytes, store_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MaliocReport, total_cycles, longest_path_cycles, bound_by,
                                   work_registers, occupancy_percent, spills)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Shader, whole, spills, fills, scratch_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KernelCode, file, kernel, options)
}  // namespace clam::mali

namespace clam {
static void to_json(nlohmann::json& text, const ModelTime::Op& op) {
  text = {{"op", op.name}, {"us", op.us}, {"floor_us", op.floor_us}, {"nodes", op.nodes}};
}

static void to_json(nlohmann::json& text, const NodeTime& node) {
  text = {{"node", node.node}, {"us", node.excess()}};
}
}  // namespace clam

namespace clam::cli {
namespace {

using Status = mali::KernelCode::Status;

/// What a listing counts.
const char* unit(const Gpu& gpu) {
  if (gpu.family == Gpu::Family::midgard) return "bundles, units unknown";
  return gpu.family == Gpu::Family::bifrost ? "tuples, fma and cvt are their slots"
                                            : "instructions by unit";
}

std::string title(const MaliReport& report) {
  const Gpu& gpu = *report.gpu;
  return fmt::format("Mali-{} ({}), {} cores as on {}; {}; {:.1f} GB/s {}; inst: {}", gpu.model,
                     name(gpu.family), gpu.cores, gpu.board, report.compiler, gpu.gb_per_s,
                     gpu.bandwidth_measured ? "measured" : "assumed", unit(gpu));
}

// ---- kernels ----

std::string ratio(double over, double under) {
  return under > 0 ? fmt::format("{:.2f}", over / under) : "-";
}

std::string kernel_line(Output& out, const MaliReport& report, const MaliKernel& code) {
  const std::string what =
      fmt::format("{}{}{}", code.kernel, code.options.empty() ? "" : "  ", code.options);
  if (code.status != Status::compiled) {
    return fmt::format("{:>6}  {}\n        {}\n", out.red(name(code.status)), what, code.reason);
  }
  const mali::Shader& shader = code.shader;
  const int hot = mali::hot_loop(shader);
  const mali::Counts loop = hot < 0 ? mali::Counts{} : mali::own_trip(shader, std::size_t(hot));
  const bool leaks = shader.spills + shader.fills + shader.scratch_bytes > 0;
  const std::string spills =
      fmt::format("{}:{}+{}", shader.spills, shader.fills, shader.scratch_bytes);
  std::string malioc;
  if (report.has_malioc) {
    const auto& told = code.malioc;
    malioc = fmt::format(" {:>7} {:<10}", told ? fmt::format("{:.1f}", told->total_cycles) : "-",
                         told ? told->bound_by : "-");
  }
  const auto units = [&](double count) {
    return shader.blocks.empty() ? std::string("-") : fmt::format("{:.0f}", count);
  };
  return fmt::format(
      "{:>6.0f} {:>4} {:>4} {:>4} {:>4} {:>6} {:>6} {:>7} {:>5} {:>7}{}  {}\n", shader.whole.issued,
      units(shader.whole.fma), units(shader.whole.cvt), units(shader.whole.sfu),
      units(shader.whole.load_store), hot < 0 ? "-" : fmt::format("{:.0f}", loop.issued),
      ratio(loop.mac, loop.issued), ratio(16 * loop.mac, loop.load_bytes),
      shader.full_occupancy() ? "full" : "half", leaks ? out.red(spills) : spills, malioc, what);
}

// ---- predictions ----

std::string row_line(const MaliRow& row) {
  const MaliProblem& asked = *row.asked;
  const std::string what =
      fmt::format("{}{}{}", asked.node, asked.node.empty() ? "" : ": ", asked.problem.text());
  if (!row.time)
    return fmt::format("{:>18} {:>8} {:>6} {:>8} {:>6}  {}: {}\n", "-", "-", "-", "-", "-", what,
                       row.reason);
  const mali::PlanTime& time = *row.time;
  return fmt::format("{:>18} {:>8.0f} {:>6} {:>8} {:>6}  {}  [{}]{}\n",
                     fmt::format("{:.0f} to {:.0f}", time.us.low, time.us.high), row.floor_us,
                     time.mac > 0 ? fmt::format("{:.2f}", time.mac_per_issued()) : "-",
                     time.launches.size(),
                     asked.node.empty() ? "-" : fmt::format("{:g}", asked.calls), what, row.variant,
                     row.published.empty() ? "" : "  " + row.published);
}

std::string sums_text(const ModelSums& sums, const Workload& workload) {
  return fmt::format(
             "\n{}: {:.2f} to {:.2f} ms predicted for {}; floor {:.2f} ms{}\n", workload.name,
             sums.us.low / 1000, sums.us.high / 1000, mali::kPredictedFor, sums.floor_us() / 1000,
             sums.left_out
                 ? fmt::format("; {} of {} nodes have no prediction", sums.left_out, sums.nodes)
                 : "") +
         to_text(sums.time);
}

std::string ms(double us) { return fmt::format("{:.{}f}", us / 1000, us < 10000 ? 2 : 1); }

}  // namespace

// ---- kernels, rows and reports as JSON ----

static void to_json(json& result, const MaliKernel& code) {
  result = static_cast<const mali::KernelCode&>(code);
  result["status"] = name(code.status);
  if (code.judgement) {
    result["passes"] = !code.judgement->fails();
    result["verdict"] = code.judgement->sentence;
  }
  if (code.status != Status::compiled) {
    result["reason"] = code.reason;
    return;
  }
  const mali::Shader& shader = code.shader;
  result.update(json(shader));
  result["full_occupancy"] = shader.full_occupancy();
  result["hot_loop"] = mali::hot_loop(shader);
  result["loops"] = json::array();
  for (std::size_t loop = 0; loop < shader.loops.size(); ++loop) {
    json trip = mali::own_trip(shader, loop);
    trip["inside"] = shader.loops[loop].parent;
    result["loops"].push_back(std::move(trip));
  }
  if (code.malioc) result["malioc"] = *code.malioc;
}

static void to_json(json& result, const MaliRow& row) {
  result = {{"problem", row.asked->problem.text()}, {"calls", row.asked->calls}};
  if (!row.asked->node.empty()) result["node"] = row.asked->node;
  if (!row.published.empty()) result["published"] = row.published;
  if (!row.time) {
    result["reason"] = row.reason;
    return;
  }
  result["variant"] = row.variant;
  result["predicted_us"] = row.time->us;
  result["predicted_for"] = mali::kPredictedFor;
  result["floor_us"] = row.floor_us;
  if (row.time->mac > 0) result["mac_per_issued"] = row.time->mac_per_issued();
  result["launches"] = row.time->launches;
}

ModelSums::ModelSums(const std::vector<MaliRow>& rows) : nodes(rows.size()) {
  std::vector<NodeTime> times;
  for (const MaliRow& row : rows) {
    if (!row.time) {
      ++left_out;
      continue;
    }
    const MaliProblem& asked = *row.asked;
    const auto [low, high] = row.time->us;
    us += {asked.calls * low, asked.calls * high};
    times.push_back(
        {asked.node, asked.problem.schema().name, asked.calls, (low + high) / 2, row.floor_us});
  }
  time = model_time(std::move(times));
}

void print_kernels(Output& out, const MaliReport& report) {
  out.text(fmt::format("{}\n", title(report)));
  out.text(fmt::format("{:>6} {:>4} {:>4} {:>4} {:>4} {:>6} {:>6} {:>7} {:>5} {:>7}{}  {}\n",
                       "inst", "fma", "cvt", "sfu", "ls", "loop", "MAC/i", "MAC/16B", "warps",
                       "spills",
                       !report.has_malioc ? "" : fmt::format(" {:>7} {:<10}", "malioc", "bound by"),
                       "kernel and options"));
  for (const MaliKernel& kernel : report.kernels) out.text(kernel_line(out, report, kernel));
}

void print_predictions(Output& out, const MaliReport& report, const Workload* workload) {
  if (report.rows.empty()) return;
  out.text(
      fmt::format("\nPredicted at 1 GHz for {}; never run:\n{:>18} {:>8} {:>6} {:>8} {:>6}  {}\n",
                  mali::kPredictedFor, "us (Mesa)", "floor us", "MAC/i", "launches", "calls",
                  "problem [variant]"));
  for (const MaliRow& row : report.rows) out.text(row_line(row));
  if (workload) out.text(sums_text(ModelSums(report.rows), *workload));
}

void print_gpus(Output& out, const std::vector<MaliReport>& reports, const Workload& workload) {
  out.text(fmt::format("{}, predicted at 1 GHz for {}; never run:\n{:<8} {:>20} {:>10} {:>8}\n",
                       workload.title, mali::kPredictedFor, "GPU", "ms", "floor ms", "x floor"));
  for (const MaliReport& report : reports) {
    if (report.failure) {
      out.text(fmt::format("{:<8} {}\n", report.gpu->key, report.failure_text));
      continue;
    }
    const ModelSums sums(report.rows);
    out.text(fmt::format("{:<8} {:>20} {:>10.2f} {:>8.2f}{}\n", report.gpu->key,
                         fmt::format("{:.2f} to {:.2f}", sums.us.low / 1000, sums.us.high / 1000),
                         sums.floor_us() / 1000, sums.us.high / sums.floor_us(),
                         sums.left_out ? fmt::format(", without {} nodes", sums.left_out) : ""));
  }
}

json to_json(const MaliReport& report, const Workload* workload) {
  json result{{"gpu", report.gpu->key},
              {"compiler", report.compiler},
              {"kernels", report.kernels},
              {"problems", report.rows}};
  if (report.failure) result["failure"] = report.failure_text;
  if (!report.unchanged.empty()) result["unchanged"] = report.unchanged.size();
  if (!report.rows.empty()) result["leaves_out"] = mali::leaves_out();
  if (!workload) return result;
  const ModelSums sums(report.rows);
  result["workload"] = {{"name", workload->name},
                        {"predicted_us", sums.us},
                        {"predicted_for", mali::kPredictedFor},
                        {"floor_us", sums.floor_us()},
                        {"nodes_left_out", sums.left_out},
                        {"ops", sums.time.ops},
                        {"farthest_above_floor", sums.time.farthest}};
  return result;
}

std::optional<double> measured_us(const std::string& workload,
                                  const std::vector<MaliProblem>& nodes, const json& rows) {
  std::map<std::string, double> us_of;  // by node
  for (const json& row : rows) {
    if (row["status"] != "OK" || !row.contains("us")) continue;
    for (const json& node : row["nodes"]) us_of.emplace(node, row["us"]);
  }
  double sum = 0;
  for (const MaliProblem& node : nodes) {
    const auto us = us_of.find(workload + ": " + node.node);
    if (us == us_of.end()) return {};
    sum += us->second * node.calls;
  }
  return sum;
}

std::string models_table(const std::vector<ModelLine>& lines) {
  const bool measured = std::any_of(lines.begin(), lines.end(),
                                    [](const ModelLine& line) { return line.measured_us; });
  std::string table =
      fmt::format("| model | nodes | predicted ms, {} | floor ms |{}\n|---|---|---|---|{}\n",
                  mali::kPredictedFor, measured ? " measured ms |" : "", measured ? "---|" : "");
  for (const ModelLine& line : lines) {
    const ModelSums& sums = line.predicted;
    table += fmt::format(
        "| {} | {} | {} to {}{} | {} |", line.name, sums.nodes, ms(sums.us.low), ms(sums.us.high),
        sums.left_out ? fmt::format(", without {} nodes", sums.left_out) : "", ms(sums.floor_us()));
    if (measured) table += line.measured_us ? fmt::format(" {} |", ms(*line.measured_us)) : " - |";
    table += "\n";
  }
  return table;
}

}  // namespace clam::cli
