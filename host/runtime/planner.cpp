// SPDX-License-Identifier: MIT
#include "clam/planner.hpp"

#include <algorithm>

#include "clam/job_limit.hpp"
#include "clam/op.hpp"
#include "clam/tuned.hpp"
#include "refuse.hpp"

namespace clam {
namespace {

Reason cannot_run(const Variant& variant, const Problem& problem, const DeviceInfo& device) {
  if (problem.dtype() == Dtype::f16 && !device.fp16) return "the device has no cl_khr_fp16";
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.bytes() > device.max_alloc_bytes) {
      return fmt::format("tensor {} needs {} bytes, the device allows {} in one buffer", spec.name,
                         spec.bytes(), device.max_alloc_bytes);
    }
  }
  return variant.refuses(problem, device);
}

/// Why it is not the best choice, where the caller leaves it to the plan.
Reason is_outdone(const Variant& variant, const Problem& problem, const DeviceInfo& device,
                  const PlanOptions& options) {
  if (!options.variant.empty() || !variant.outdone) return {};
  PlanOptions untiled = options;  // a tile that is asked for is one of the best variant
  untiled.tile.clear();
  return variant.outdone(problem, device, untiled);
}

Plan plan_variant(const Variant& variant, const Problem& problem, const DeviceInfo& device,
                  const PlanOptions& options) {
  throw_if(!options.tile.empty() && !variant.tilings, "{} has no tiles to choose from",
           variant.name);
  Plan plan;
  plan.problem = problem.text();
  plan.variant = variant.name;
  plan.device = device;
  plan.tensors = problem.tensors();
  variant.plan(problem, device, options, plan);
  check(plan);
  return plan;
}

/// Why it comes last, where the caller leaves the choice to the plan.
Reason is_too_long(const Variant& variant, const Problem& problem, const DeviceInfo& device,
                   const PlanOptions& options) {
  if (!options.variant.empty() || job_limit(device).seconds == 0) return {};
  return predicted_too_long(problem, plan_variant(variant, problem, device, {}), device);
}

/// What the variants and their models choose, without rows.
Plan model_plan(const Problem& problem, const DeviceInfo& device, const PlanOptions& options) {
  std::string reasons;
  std::optional<Plan> too_long;
  const Op& op = op_of(problem);
  const Variant* wanted = options.variant.empty() ? nullptr : &find_variant(op, options.variant);
  for (const Variant& variant : op.variants) {
    if (wanted && wanted != &variant) continue;
    Reason reason = cannot_run(variant, problem, device);
    if (!reason) reason = is_outdone(variant, problem, device, options);
    if (!reason) {
      Plan plan = plan_variant(variant, problem, device, options);
      if (!predicted_too_long(problem, plan, device)) return plan;
      if (!too_long) too_long = std::move(plan);  // unless a later one stays below the limit
      continue;
    }
    if (reasons.find(*reason) == std::string::npos)
      reasons += (reasons.empty() ? "" : "; ") + *reason;
  }
  if (too_long) return *too_long;
  throw Unsupported(fmt::format("{}: cannot run on {}: {}", problem.text(), device.name, reasons));
}

/// Makes the plan as the row says, or returns why it does not count.
Reason plan_by_row(const TunedRow& row, const Tuned& rows, const Problem& problem,
                   const DeviceInfo& device, const PlanOptions& options, Plan& plan) {
  if (!rows.is_of_today(row)) return "its kernel files have changed since";
  const Variant& variant = find_variant(op_of(problem), row.variant);
  if (Reason reason = cannot_run(variant, problem, device)) return reason;
  PlanOptions measured = options;
  measured.variant = row.variant;
  measured.tile = row.tile;
  try {
    plan = plan_variant(variant, problem, device, measured);
  } catch (const BadArgument&) {
    return fmt::format("{} has no tile {} here", row.variant, in_quotes(row.tile));
  } catch (const Unsupported&) {
    return fmt::format("{} cannot have the tile {} here", row.variant, in_quotes(row.tile));
  }
  if (kernels_hash(plan, rows.files()) != row.kernels)
    return "its plan launches other kernel files now";
  return predicted_too_long(problem, plan, device);
}

/// What `clam plan --why` says of a row, and why it does not count.
std::string match_text(const TunedMatch& match, const Reason& refused) {
  const TunedRow& row = *match.row;
  const bool exact = match.distance == 0;
  return fmt::format("tuned    {} {}, {} {}{}on {} core{} with {} {}: {}{}{}, {:.1f} us ({}){}{}\n",
                     refused ? "not the"
                     : exact ? "the"
                             : "the nearest",
                     exact ? "exact row" : fmt::format("row, {:.2f} away", match.distance),
                     row.date, exact ? "" : row.problem, exact ? "" : " ", row.cores,
                     row.cores == 1 ? "" : "s", row.driver, row.driver_version, row.variant,
                     row.tile.empty() ? "" : " ", row.tile, row.us, *match.table,
                     refused ? ": " : "", refused.value_or(""));
}

/// The plan of the nearest row that counts. `why` gets a line for it and each nearer one.
std::optional<Plan> measured_plan(const Problem& problem, const DeviceInfo& device,
                                  const PlanOptions& options, std::string* why = nullptr) {
  const std::shared_ptr<const Tuned> rows = options.tuned ? options.tuned : Tuned::built_in();
  if (rows->empty() || !options.tile.empty()) return {};
  for (const TunedMatch& match : rows->matches(problem, device)) {
    if (!options.variant.empty() && match.row->variant != options.variant) continue;
    const bool far = match.distance > Tuned::kFarthest;
    Plan plan;
    const Reason reason = far ? fmt::format("{:g} is the farthest that counts", Tuned::kFarthest)
                              : plan_by_row(*match.row, *rows, problem, device, options, plan);
    if (why) *why += match_text(match, reason);
    if (!reason) return plan;
    if (far) break;
  }
  return {};
}

/// Which row was taken, or why none.
std::string rows_text(const Problem& problem, const DeviceInfo& device,
                      const PlanOptions& options) {
  if (!options.tile.empty()) return "tuned    no row is looked for: the tile is named\n";
  std::string text;
  if (measured_plan(problem, device, options, &text)) return text;
  if (!text.empty()) return text + "tuned    no row counts, so the model chooses\n";
  return fmt::format(
      "tuned    no row of this GPU and driver has the problem's words{}, so the model "
      "chooses\n",
      options.variant.empty() ? "" : " and this variant");
}

/// An empty plan where `make` finds none.
template <typename Make>
Plan plan_or_none(Make make, const Problem& problem, const DeviceInfo& device,
                  const PlanOptions& options) {
  try {
    return make(problem, device, options);
  } catch (const Unsupported&) {
    return {};
  }
}

/// 0 where there is no plan, or its tile was not chosen by predicted clocks.
double predicted_clocks_of(const Problem& problem, const DeviceInfo& device) {
  return plan_or_none(model_plan, problem, device, {}).clocks;
}

std::string compare_accumulators(const Problem& problem, const DeviceInfo& device) {
  if (!op_of(problem).sums_products || problem.dtype() != Dtype::f16) return "";
  if (problem.choice("acc") != "f32") return "";
  const double f16 = predicted_clocks_of(problem, device);
  const double f32 = predicted_clocks_of(problem.with("dtype", "f32"), device);
  if (f16 == 0 || f32 == 0 || f16 <= f32) return "";
  std::string text = fmt::format(
      "note     by Mesa's compiler, not Arm's: dtype=f16 with float sums is predicted to take "
      "{:.2f} "
      "of the time of dtype=f32",
      f16 / f32);
  for (const char* acc : {"chunk", "f16"}) {
    const double half = predicted_clocks_of(problem.with("acc", acc), device);
    if (half > 0 && half < f32) text += fmt::format("; acc={} {:.2f}", acc, half / f32);
  }
  return text + "\n";
}

/// The fastest first, then those that are refused.
std::string tilings_text(const Variant& variant, const Problem& problem, const DeviceInfo& device,
                         const PlanOptions& options) {
  if (!variant.tilings) return "";
  std::vector<Tiling> tilings = variant.tilings(problem, device, options);
  if (tilings.empty()) return "";
  std::stable_sort(tilings.begin(), tilings.end(), [](const Tiling& a, const Tiling& b) {
    return !a.refused && (b.refused || a.clocks.predicted < b.clocks.predicted);
  });
  std::string text =
      fmt::format("\nThe main launch of {}, by tiles, in us at 1 GHz, as predicted. Costs: {}.\n",
                  variant.name, tilings.front().costs);
  for (const Tiling& one : tilings) {
    const Clocks& of = one.clocks;
    text += fmt::format("{:<28}", one.words);
    if (one.refused) {
      text += fmt::format(" no: {}\n", *one.refused);
      continue;
    }
    text += fmt::format("{:>9.1f}: issue {:.1f}, latency {:.1f}", of.predicted / 1e3,
                        of.issue / 1e3, of.latency / 1e3);
    if (of.loads > 0) text += fmt::format(", loads {:.1f}", of.loads / 1e3);
    if (of.dram > 0) text += fmt::format(", memory {:.1f}", of.dram / 1e3);
    text += "\n";
  }
  return text;
}

}  // namespace

Plan make_plan(const Problem& problem, const DeviceInfo& device, const PlanOptions& options) {
  if (std::optional<Plan> plan = measured_plan(problem, device, options)) return *std::move(plan);
  return model_plan(problem, device, options);
}

Reason row_refused(const TunedRow& row, const DeviceInfo& device, const Tuned& rows) {
  Plan plan;
  return plan_by_row(row, rows, Problem::parse(row.problem), device, {}, plan);
}

std::string explain_plan(const Problem& problem, const DeviceInfo& device,
                         const PlanOptions& options) {
  std::string text, tilings;
  const std::string chosen = plan_or_none(make_plan, problem, device, options).variant;
  for (const Variant& variant : op_of(problem).variants) {
    const Reason reason = cannot_run(variant, problem, device);
    Reason outdone;
    if (!reason) outdone = is_outdone(variant, problem, device, options);
    if (!reason && !outdone) outdone = is_too_long(variant, problem, device, options);
    const bool choose = variant.name == chosen;
    if (choose) tilings = tilings_text(variant, problem, device, options);
    text += fmt::format("{:<8} {}: {}\n",
                        choose   ? "chosen"
                        : reason ? "no"
                                 : "possible",
                        variant.name,
                        reason    ? *reason
                        : outdone ? fmt::format("{}; {}", variant.about, *outdone)
                                  : variant.about);
  }
  return text + rows_text(problem, device, options) + compare_accumulators(problem, device) +
         tilings;
}

}  // namespace clam
