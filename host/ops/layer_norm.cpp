// SPDX-License-Identifier: MIT
// layer_norm.cpp - the fields of layer_norm, and how it is computed.
#include "ops/shared/activation.hpp"
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
int items_of(const Request& request) {
  const std::int64_t most = std::min<std::int64_t>(kMostItems, most_along_xy(request.device));
  return group_size(kMostItems, kSmallestGroup, most, request);
}

Launch launch(const char* kernel, const Request& request, const HeldRows& share) {
  const Problem& problem = request.problem;
  const int rows = problem.integer("rows"), n = problem.integer("n");
  std::string options = dtype_option(problem.dtype());
  options += fmt::format("-DLAYER_NORM_UNIT={} -DLAYER_NORM_LANES={} -DLAYER_NORM_ROWS={}",
                         share.unit, share.lanes, share.rows);
  if (share.held > 0) options += fmt::format(" -DLAYER_NORM_HELD={}", share.held);
  options += act_options(problem, "LAYER_NORM_ACT", request.device);
  return group_launch("layer_norm.cl", kernel, options, {share.lanes, share.rows}, share.lanes,
                      rows, 1,
                      arg_list("src", "gamma", "beta", "dst", rows, n, problem.number("eps")));
}

// ---- variants ----

Reason refuses_long_row(const Problem&, const DeviceInfo& device) {
  return no_group(most_along_xy(device));
}

Reason refuses_row(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = refuses_long_row(problem, device)) return reason;
  const int n = problem.integer("n");
  return not_held(n, hold_rows(n, items_of({problem, device, {}})));
}

Launch long_row(const Request& request) {
  return launch("layer_norm_row_long", request,
                share_long_rows(request.problem.integer("n"), items_of(request)));
}

/// A row that the lanes of a smaller group cannot hold is read three times.
Launch row(const Request& request) {
  const HeldRows share = hold_rows(request.problem.integer("n"), items_of(request));
  return share.fits() ? launch("layer_norm_row", request, share) : long_row(request);
}

/// A sum; a difference, its square and their sum; a product and a multiply-add, and the difference
/// again.
double flops(const Problem& problem) {
  return 8.0 * problem.integer("rows") * problem.integer("n");
}

}  // namespace

Op layer_norm_op() {
  Op op{{"layer_norm", "dst = act((src - mean) / sqrt(variance + eps) * gamma + beta), row by row",
         with_activation({extent("rows", "rows of src and dst"), extent("n", "elements of a row"),
                          dtype_field(), number("eps", "added to the variance", "1e-05")}),
         check_layer_norm, layer_norm_tensors},
        {{"layer_norm_row", "rows held in registers: one read", refuses_row, planned(row)},
         {"layer_norm_row_long", "rows of any length: three reads", refuses_long_row,
          planned(long_row)}},
        flops};
  op.takes_native_exp2 = takes_exp;
  return op;
}

}  // namespace clam
