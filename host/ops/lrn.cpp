// SPDX-License-Identifier: MIT
// lrn.cpp - the fields of lrn, and how it is computed.
#include "lrn.hpp"

#include "ops/shared/tiling.hpp"
#include "shared/op.hpp"
#include "shared/sides.hpp"

namespace clam {
namespace {

constexpr int kVector = 4;    ///< pixels of a vector load
constexpr int kAcross = 64;   ///< items of a group side by side at most
constexpr int kMostHeld = 8;  ///< channels that an item holds: vectors of 9 leave the registers

/// So that what is divided by is above 0.
void check(const Problem& problem, Schema::Values&) {
  for (const char* field : {"alpha", "beta", "bias"}) {
    const float value = problem.number(field);
    if (!(value > 0) || !std::isfinite(value)) {
      bad_field(problem, field, "needs a finite number above 0");
    }
  }
}

std::vector<Field> fields() {
  return {extent("n", "images"),
          extent("c", "channels"),
          extent("h", "rows of a map"),
          extent("w", "columns of a map"),
          step_field("size", "channels whose squares are added", "5"),
          dtype_field(),
          number("alpha", "factor of the mean of the squares", "0.0001"),
          number("beta", "exponent", "0.75"),
          number("bias", "what is added to them", "1")};
}

std::vector<TensorSpec> tensors(const Problem& p) {
  const Shape shape{p.integer("n"), p.integer("c"), p.integer("h"), p.integer("w")};
  return {input("x", p.dtype(), shape), output("y", p.dtype(), shape)};
}

// ---- launches ----

/// Channels of an item of lrn_run: as many as the time model likes. A pixel of a channel takes two
/// instructions for each channel of the window, and a power; then there are load, store and loop.
/// An item takes 40 and 10 for each channel that it holds before its first (listings of a G610).
int choose_run(const Lrn& lrn, int unit, const DeviceInfo& device) {
  constexpr int kFewest = 4;
  const double step = unit * (2.0 * lrn.size + (lrn.three_quarters() ? 8 : 130)) + 25;
  std::vector<int> runs{lrn.c};
  while (runs.back() > kFewest) runs.push_back(ceil_div(runs.back(), 2));
  return quickest(runs, [&](int run) {
    const double items = double(lrn.n) * (lrn.pixels / unit) * ceil_div(lrn.c, run);
    return predicted_clocks(items, 40 + 10.0 * lrn.size + run * step, device);
  });
}

int unit_of(const Lrn& lrn) { return lrn.pixels % kVector == 0 ? kVector : 1; }

/// `rows`: items along the channels; `length`: the argument behind the extents.
void add_launch(const char* kernel, const Lrn& lrn, const std::string& options, int rows,
                int length, const DeviceInfo& device, const PlanOptions& wanted, Plan& plan) {
  const int unit = unit_of(lrn);
  plan.launches = {
      row_launch("lrn", kernel, fmt::format("{}-DLRN_UNIT={} ", options, unit), kAcross,
                 {lrn.pixels / unit, rows, lrn.n},
                 arg_list("x", "y", lrn.c, lrn.pixels, length, lrn.scale(), lrn.beta, lrn.bias),
                 device, wanted, lrn.three_quarters() ? " -DLRN_THREE_QUARTERS=1" : "")};
}

void plan_run(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
              Plan& plan) {
  const Lrn lrn(problem);
  const int run = choose_run(lrn, unit_of(lrn), device);
  add_launch("lrn_run", lrn,
             fmt::format("{}-DLRN_SIZE={} ", dtype_option(problem.dtype()), lrn.size),
             ceil_div(lrn.c, run), run, device, wanted, plan);
}

void plan_window(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                 Plan& plan) {
  const Lrn lrn(problem);
  add_launch("lrn_window", lrn, dtype_option(problem.dtype()), lrn.c, lrn.size, device, wanted,
             plan);
}

// ---- variants ----

Reason refuses_run(const Problem& problem, const DeviceInfo&) {
  const int size = problem.integer("size");
  if (size <= kMostHeld) return {};
  return fmt::format("size={} is over the {} channels that an item holds", size, kMostHeld);
}

/// A product and a sum for each channel of the window, then a product, a sum, a power, a product.
double flops(const Problem& problem) {
  const Lrn lrn(problem);
  return double(lrn.n) * lrn.c * lrn.pixels * (2.0 * lrn.size + 4);
}

}  // namespace

Op lrn_op() {
  return {
      {"lrn", "y = x / (bias + alpha / size * sum of x^2 over size channels)^beta", fields(), check,
       tensors},
      {{"lrn_run", "up to 8 channels: an item walks over channels and holds a window", refuses_run,
        plan_run},
       {"lrn_window", "any number of channels: a channel an item", refuses_nothing, plan_window}},
      flops,
      tensor_bytes};
}

}  // namespace clam
