// SPDX-License-Identifier: MIT
// rotary.cpp - the fields of rotary, and how it is computed.
#include <fmt/core.h>

#include <algorithm>

#include "../error.hpp"
#include "rotary_cases.hpp"
#include "shared/geometry.hpp"

namespace clam {
namespace {

constexpr int kVector = 4;   ///< elements of a vector load
constexpr int kAcross = 16;  ///< items side by side in a group at most

void check(const Problem& problem, std::map<std::string, std::string, std::less<>>& values) {
  const std::int64_t matrices = std::int64_t{problem.integer("batch")} * problem.integer("heads");
  if (matrices > 2147483647) bad_field(problem, "heads", "batch * heads is over 2147483647");
  const Rotary rotary(problem);
  const char* field = problem.integer("rotary_dim") == 0 ? "d" : "rotary_dim";
  if (rotary.rotary_dim % 2 != 0) bad_field(problem, field, "needs pairs of elements");
  if (rotary.rotary_dim > rotary.d) {
    bad_field(problem, field, fmt::format("needs at most d={}", rotary.d));
  }
  if (rotary.rotary_dim == rotary.d) values["rotary_dim"] = "0";
}

std::vector<Field> fields() {
  return {extent("batch", "stacks of heads"),
          extent("heads", "matrices that share the tables"),
          extent("n", "positions: rows of a matrix"),
          extent("d", "elements of a row"),
          dtype_field(),
          integer("rotary_dim", "elements of a row that are rotated; 0: all", "0", 0),
          choice("pairing", "which two elements are rotated together", {"adjacent", "halves"},
                 "adjacent")};
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  using Role = TensorSpec::Role;
  const int n = problem.integer("n"), d = problem.integer("d");
  const Shape shape{problem.integer("batch"), problem.integer("heads"), n, d}, table{n, d};
  std::vector<TensorSpec> specs{{"src", Role::input, problem.dtype(), shape, {}, 0},
                                {"cos", Role::input, problem.dtype(), table, {}, 0},
                                {"sin", Role::input, problem.dtype(), table, {}, 0},
                                {"dst", Role::output, problem.dtype(), shape, {}, 0}};
  specs.back().may_be = "src";
  return specs;
}

// ---- launches ----

/// Vectors where no pair, no half and no row divides one.
int unit_of(const Rotary& rotary) {
  const int rotated = rotary.halves ? rotary.rotary_dim / 2 : rotary.rotary_dim;
  return rotary.d % kVector == 0 && rotated % kVector == 0 ? kVector : 1;
}

/// Matrices of an item: as many as the time model likes. An item takes 28 instructions, and 37 more
/// a matrix (listings of a G610).
int choose_heads(const Rotary& rotary, int items, const DeviceInfo& device) {
  int best = 1;
  double least = 0;
  for (const int heads : {4, 2, 1}) {
    if (rotary.matrices % heads != 0) continue;
    const double all = static_cast<double>(rotary.matrices / heads) * rotary.n * items;
    const double clocks = predicted_clocks(all, 28 + 37.0 * heads, device);
    if (least > 0 && clocks >= least) continue;
    least = clocks;
    best = heads;
  }
  return best;
}

void add_launch(const char* kernel, const Problem& problem, const DeviceInfo& device,
                const PlanOptions& wanted, Plan& plan) {
  const Rotary rotary(problem);
  const int unit = unit_of(rotary);
  const int width = rotary.halves ? 2 * unit : std::max(2, unit);  // rotated elements of an item
  const int items = rotary.rotary_dim / width + (rotary.d - rotary.rotary_dim) / unit;
  const int heads = choose_heads(rotary, items, device);
  const Group group = lower_group(choose_group(items, kAcross, device, wanted), rotary.n);
  plan.launches.push_back(
      {"rotary.cl",
       kernel,
       fmt::format("{}-DROTARY_UNIT={} -DROTARY_HEADS={} -DROTARY_LX={} -DROTARY_LY={}",
                   problem.dtype() == Dtype::f16 ? "-DCLAM_F16 " : "", unit, heads, group.x,
                   group.y),
       {round_up(items, group.x), round_up(rotary.n, group.y), rotary.matrices / heads},
       {group.x, group.y, 1},
       {BufferArg{"src"}, BufferArg{"cos"}, BufferArg{"sin"}, BufferArg{"dst"}, rotary.n, rotary.d,
        rotary.rotary_dim, items}});
}

void plan_adjacent(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                   Plan& plan) {
  add_launch("rotary_adjacent", problem, device, wanted, plan);
}

void plan_halves(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                 Plan& plan) {
  add_launch("rotary_halves", problem, device, wanted, plan);
}

Reason supports_adjacent(const Problem& problem, const DeviceInfo&) {
  if (!Rotary(problem).halves) return {};
  return "pairs are halves apart, not side by side";
}

Reason supports_halves(const Problem& problem, const DeviceInfo&) {
  if (Rotary(problem).halves) return {};
  return "pairs are side by side, not halves apart";
}

}  // namespace

const Op& rotary_op() {
  static const Op op{
      "rotary",
      "dst = src * cos + rotate(src) * sin",
      fields(),
      check,
      tensors,
      {{"rotary_adjacent", "pairs side by side", supports_adjacent, plan_adjacent},
       {"rotary_halves", "pairs halves of rotary_dim apart", supports_halves, plan_halves}},
      rotary_data_sets(),
      rotary_reference,
      rotary_flops,
      tensor_bytes,
      rotary_cases(),
      rotary_small_cases()};
  return op;
}

}  // namespace clam
