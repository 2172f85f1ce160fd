// SPDX-License-Identifier: MIT
// layer_norm.cpp - the fields of layer_norm, and how it is computed.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "clam/op.hpp"
#include "ops/shared/activation.hpp"
#include "ops/shared/launch.hpp"
#include "shared/counts.hpp"

namespace clam {
namespace {

constexpr int kHeld = 16;        ///< elements of a row that a lane holds in registers
constexpr int kVector = 4;       ///< elements of a vector load
constexpr int kFewestLanes = 4;  ///< of a row: they read each other's partial results as a vector
constexpr int kSmallestGroup = 16;
constexpr int kLargestGroup = 64;  ///< more lanes would add up more terms than the bound allows

// ---- the problem ----

void check_layer_norm(const Problem& problem, Schema::Values& values) {
  check_act(problem, values);
  const float eps = problem.number("eps");
  if (!std::isnormal(eps) || eps < 0) bad_field(problem, "eps", "needs a finite number above 0");
}

std::vector<TensorSpec> layer_norm_tensors(const Problem& problem) {
  const Dtype dtype = problem.dtype();
  const Shape shape{problem.integer("rows"), problem.integer("n")}, row{problem.integer("n")};
  std::vector<TensorSpec> specs{input("src", dtype, shape), input("gamma", dtype, row),
                                input("beta", dtype, row), output("dst", dtype, shape)};
  specs.back().may_be = "src";
  return specs;
}

// ---- launches ----

/// How a group shares rows.
struct Share {
  int unit, lanes, rows;
  int held;  ///< units of a lane
  bool fits() const { return held * unit <= kHeld; }
};

/// Of a group, and along either of its axes.
std::int64_t most_items(const DeviceInfo& device) {
  return std::min({device.max_work_group, device.max_work_items[0], device.max_work_items[1]});
}

/// Items of a group: what the caller allows, else as many as may be.
int group_items(const DeviceInfo& device, const PlanOptions& options) {
  const int wanted = options.max_work_group > 0 ? options.max_work_group : kLargestGroup;
  return floor_power_of_two(std::max<std::int64_t>(
      std::min<std::int64_t>({wanted, kLargestGroup, most_items(device)}), kSmallestGroup));
}

/// As few lanes as hold a row, and as many rows as fill a group.
Share share_row(int n, const DeviceInfo& device, const PlanOptions& options) {
  const int items = group_items(device, options);
  Share share{n % kVector == 0 ? kVector : 1, kFewestLanes, 1, 0};
  const int units = n / share.unit;
  while (share.lanes < items && ceil_div(units, share.lanes) * share.unit > kHeld) share.lanes *= 2;
  share.held = ceil_div(units, share.lanes);
  share.rows = items / share.lanes;
  return share;
}

/// A row a group.
Share share_long_row(int n, const DeviceInfo& device, const PlanOptions& options) {
  return {n % kVector == 0 ? kVector : 1, group_items(device, options), 1, 0};
}

std::string options_of(const Problem& problem, const Share& share, const DeviceInfo& device) {
  std::string options = dtype_option(problem.dtype());
  options += fmt::format("-DLAYER_NORM_UNIT={} -DLAYER_NORM_LANES={} -DLAYER_NORM_ROWS={}",
                         share.unit, share.lanes, share.rows);
  if (share.held > 0) options += fmt::format(" -DLAYER_NORM_HELD={}", share.held);
  return options + act_options(problem, "LAYER_NORM_ACT", device);
}

void add_launch(const char* kernel, const Problem& problem, const Share& share,
                const DeviceInfo& device, Plan& plan) {
  const int rows = problem.integer("rows"), n = problem.integer("n");
  plan.launches = {
      group_launch("layer_norm.cl", kernel, options_of(problem, share, device),
                   {share.lanes, share.rows}, share.lanes, rows, 1,
                   arg_list("src", "gamma", "beta", "dst", rows, n, problem.number("eps")))};
}

// ---- variants ----

Reason refuses_long_row(const Problem&, const DeviceInfo& device) {
  if (most_items(device) >= kSmallestGroup) return {};
  return fmt::format("the device has no work-groups of {} work-items", kSmallestGroup);
}

Reason refuses_row(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = refuses_long_row(problem, device)) return reason;
  const int n = problem.integer("n");
  const Share share = share_row(n, device, {});
  if (share.fits()) return {};
  return fmt::format("n={} is over the {} elements that {} lanes hold", n, kHeld * share.lanes,
                     share.lanes);
}

void plan_long_row(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                   Plan& plan) {
  const Share share = share_long_row(problem.integer("n"), device, wanted);
  add_launch("layer_norm_row_long", problem, share, device, plan);
}

/// A row that the lanes of a smaller group cannot hold is read three times.
void plan_row(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
              Plan& plan) {
  const Share share = share_row(problem.integer("n"), device, wanted);
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
  Op op;
  op.name = "layer_norm";
  op.about = "dst = act((src - mean) / sqrt(variance + eps) * gamma + beta), row by row";
  op.fields =
      with_activation({extent("rows", "rows of src and dst"), extent("n", "elements of a row"),
                       dtype_field(), number("eps", "added to the variance", "1e-05")});
  op.check = check_layer_norm;
  op.tensors = layer_norm_tensors;
  op.variants = {
      {"layer_norm_row", "rows held in registers: one read", refuses_row, plan_row},
      {"layer_norm_row_long", "rows of any length: three reads", refuses_long_row, plan_long_row}};
  op.flops = flops;
  op.bytes = tensor_bytes;
  op.takes_native_exp2 = takes_exp;
  return op;
}

}  // namespace clam
