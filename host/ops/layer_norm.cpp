// SPDX-License-Identifier: MIT
// layer_norm.cpp - the fields of layer_norm, and how it is computed.
#include "ops/shared/activation.hpp"
#include "ops/shared/lanes.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr int kMostItems = 64;  ///< of a group: more would add up more terms than the bound allows

// ---- the problem ----

void check_layer_norm(const Problem& problem, Schema::Values& values) {
  check_act(problem, values);
  const float eps = problem.number("eps");
  if (!std::isnormal(eps) || eps < 0) bad_field(problem, "eps", "needs a finite number above 0");
}

std::vector<TensorSpec> layer_norm_tensors(const Problem& problem) {
  const Dtype dtype = problem.dtype();
  const Shape shape{problem.integer("rows"), problem.integer("n")}, row{problem.integer("n")};
  return {input("src", dtype, shape), input("gamma", dtype, row), input("beta", dtype, row),
          output("dst", dtype, shape, "src")};
}

// ---- launches ----

/// Items of a group: what the caller allows, else as many as may be.
int group_items(const DeviceInfo& device, const PlanOptions& options) {
  const std::int64_t most = std::min<std::int64_t>(kMostItems, most_along_xy(device));
  return group_size(kMostItems, kSmallestGroup, most, options);
}

std::string options_of(const Problem& problem, const HeldRows& share, const DeviceInfo& device) {
  std::string options = dtype_option(problem.dtype());
  options += fmt::format("-DLAYER_NORM_UNIT={} -DLAYER_NORM_LANES={} -DLAYER_NORM_ROWS={}",
                         share.unit, share.lanes, share.rows);
  if (share.held > 0) options += fmt::format(" -DLAYER_NORM_HELD={}", share.held);
  return options + act_options(problem, "LAYER_NORM_ACT", device);
}

void add_launch(const char* kernel, const Problem& problem, const HeldRows& share,
                const DeviceInfo& device, Plan& plan) {
  const int rows = problem.integer("rows"), n = problem.integer("n");
  plan.launches = {
      group_launch("layer_norm.cl", kernel, options_of(problem, share, device),
                   {share.lanes, share.rows}, share.lanes, rows, 1,
                   arg_list("src", "gamma", "beta", "dst", rows, n, problem.number("eps")))};
}

// ---- variants ----

Reason refuses_long_row(const Problem&, const DeviceInfo& device) {
  return no_group(most_along_xy(device));
}

Reason refuses_row(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = refuses_long_row(problem, device)) return reason;
  const int n = problem.integer("n");
  return not_held(n, hold_rows(n, group_items(device, {})));
}

void plan_long_row(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                   Plan& plan) {
  const HeldRows share = share_long_rows(problem.integer("n"), group_items(device, wanted));
  add_launch("layer_norm_row_long", problem, share, device, plan);
}

/// A row that the lanes of a smaller group cannot hold is read three times.
void plan_row(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
              Plan& plan) {
  const HeldRows share = hold_rows(problem.integer("n"), group_items(device, wanted));
  if (!share.fits()) return plan_long_row(problem, device, wanted, plan);
  add_launch("layer_norm_row", problem, share, device, plan);
}

/// A sum; a difference, its square and their sum; a product and a multiply-add, and the difference
/// again.
double flops(const Problem& problem) {
  return 8.0 * problem.integer("rows") * problem.integer("n");
}

}  // namespace

Op layer_norm_op() {
  Op op{
      {"layer_norm", "dst = act((src - mean) / sqrt(variance + eps) * gamma + beta), row by row",
       with_activation({extent("rows", "rows of src and dst"), extent("n", "elements of a row"),
                        dtype_field(), number("eps", "added to the variance", "1e-05")}),
       check_layer_norm, layer_norm_tensors},
      {{"layer_norm_row", "rows held in registers: one read", refuses_row, plan_row},
       {"layer_norm_row_long", "rows of any length: three reads", refuses_long_row, plan_long_row}},
      flops,
      tensor_bytes};
  op.takes_native_exp2 = takes_exp;
  return op;
}

}  // namespace clam
