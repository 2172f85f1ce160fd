// SPDX-License-Identifier: MIT
// conv2d_nchw.cpp - how conv2d is computed with layout=nchw.
#include <fmt/core.h>

#include <algorithm>

#include "conv2d_plan.hpp"

namespace clam {
namespace {

using namespace conv2d_plan;

// ---- the choice ----

/// Variants leave a problem to a later one of `timed` that is predicted to be faster.
void compare(std::vector<Timed>& timed) {
  for (auto own = timed.begin(); own + 1 != timed.end(); ++own) {
    own->variant.outdone =
        [clocks = own->clocks, others = std::vector<Timed>(own + 1, timed.end())](
            const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted) -> Reason {
      if (problem.choice("algo") == "winograd") return {};
      const double least = clocks(problem, device, wanted);
      for (const Timed& other : others) {
        if (other.variant.refuses(problem, device)) continue;
        if (other.clocks(problem, device, wanted) >= least) continue;
        return fmt::format("{} is predicted to be faster", other.variant.name);
      }
      return {};
    };
  }
}

// ---- conv2d_plain ----

Reason refuses_plain(const Problem& problem, const DeviceInfo&) {
  if (Reason reason = cannot_read_nchw(problem)) return reason;
  return sums_in_half_throughout(problem);
}

void plan_plain(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                Plan& plan) {
  const Conv2d conv(problem);
  const int lx = std::min(4, group_items(device, wanted)), ly = group_items(device, wanted) / lx;
  plan.launches.push_back(group_launch(
      "conv2d.cl", "conv2d_plain",
      options(problem, device, fmt::format("-DCONV2D_LX={} -DCONV2D_LY={}", lx, ly)), {lx, ly},
      conv.ow(), conv.oh(), std::int64_t{conv.n} * conv.k, any_filter_arguments(conv, "w")));
}

}  // namespace

std::vector<Variant> conv2d_nchw_variants() {
  std::vector<Timed> timed{winograd(), product(), product_rows(), three_by_three()};
  compare(timed);
  return {timed[0].variant,
          timed[1].variant,
          timed[2].variant,
          depthwise(),
          timed[3].variant,
          {"conv2d_plain", "any filter; weights that change", refuses_plain, plan_plain}};
}

}  // namespace clam
