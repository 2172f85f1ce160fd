// SPDX-License-Identifier: MIT
// match_assignment.cpp - the fields of match_assignment, and how it is computed.
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr int kFewestLanes = 4;  ///< of a line: they read each other's findings as vectors
constexpr int kMostLanes = 16;   ///< items side by side, which fill a cache line
constexpr int kLeastGroup = kFewestLanes * kFewestLanes;

void check(const Problem& p, Schema::Values&) {
  count({p.integer("m"), p.integer("n")});
  const float threshold = p.number("threshold");
  bad_field_if(!(threshold >= 0) || !std::isfinite(threshold), p, "threshold",
               "needs a finite number of 0 or more");
}

std::vector<TensorSpec> tensors(const Problem& p) {
  const std::int64_t m = p.integer("m"), n = p.integer("n");
  const Dtype dtype = p.dtype();
  return {input("sim", dtype, {m, n}),   input("z0", dtype, {m}),
          input("z1", dtype, {n}),       output("scores", dtype, {m, n}),
          output("m0", Dtype::i32, {m}), output("m1", Dtype::i32, {n}),
          output("s0", dtype, {m}),      output("s1", dtype, {n})};
}

/// Of a group, and along either of its axes.
std::int64_t most_items(const DeviceInfo& device) {
  return std::min({device.max_work_group, device.max_work_items[0] * kFewestLanes,
                   device.max_work_items[1] * kFewestLanes});
}

Reason refuses(const Problem& p, const DeviceInfo& device) {
  const std::int64_t longest = std::max(p.integer("m"), p.integer("n"));
  if (Reason reason = too_large("a row's statistics", longest * 8, device)) return reason;
  return reason_if(most_items(device) < kLeastGroup,
                   "{} items share what they find, a group has at most {}", kLeastGroup,
                   most_items(device));
}

/// As many lanes down as across in the largest group; a smaller one keeps those across.
Group group_of(const Request& request) {
  constexpr int kItems = kMostLanes * kMostLanes;
  const int items = group_size(kItems, kLeastGroup, most_items(request.device), request);
  const int y = std::clamp(items / kMostLanes, kFewestLanes, kMostLanes);
  return {items / y, y};
}

void plan(const Request& request, Plan& plan) {
  const Problem& p = request.problem;
  const int m = p.integer("m"), n = p.integer("n");
  const Group group = group_of(request);
  const std::string options =
      fmt::format("{}-DMATCH_LX={} -DMATCH_LY={}", dtype_option(p.dtype()), group.x, group.y);
  const auto add = [&](const char* kernel, int across, int down, std::vector<Arg> args) {
    plan.launches.push_back(group_launch("match_assignment.cl", kernel, options, group,
                                         across * group.x, down * group.y, 1, std::move(args)));
  };
  plan.buffers = {scratch("rows", 8LL * m), scratch("columns", 8LL * n), scratch("best", 4LL * m)};
  const int row_groups = ceil_div(m, group.y), column_groups = ceil_div(n, group.x);
  add("match_assignment_statistics", row_groups + column_groups, 1,
      arg_list("sim", "z0", "z1", "rows", "columns", m, n));
  add("match_assignment_scores", 1, row_groups,
      arg_list("sim", "rows", "columns", "scores", "m0", "s0", "best", m, n));
  add("match_assignment_matches", column_groups, 1,
      arg_list("sim", "rows", "columns", "best", "m0", "m1", "s0", "s1", m, n,
               p.number("threshold")));
}

/// Of an element: a comparison, a difference, an exponential and a sum in either direction, four
/// sums to its score, and a comparison in either direction.
double flops(const Problem& problem) { return 14.0 * problem.integer("m") * problem.integer("n"); }

}  // namespace

Op match_assignment_op() {
  return {
      {"match_assignment",
       "scores = log_softmax(sim, rows) + log_softmax(sim, columns) + log sigmoid(z0) + log "
       "sigmoid(z1), and the mutual best of rows and columns",
       {extent("m", "points of the first set: rows of sim"),
        extent("n", "points of the second set: columns of sim"), dtype_field(),
        number("threshold", "a match has a higher exp of its score", "0.1")},
       check,
       tensors},
      {{"match_assignment_scores", "the only one: statistics, scores by rows, matches by columns",
        refuses, planned(plan)}},
      flops};
}

}  // namespace clam
