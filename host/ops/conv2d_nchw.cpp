// SPDX-License-Identifier: MIT
// conv2d_nchw.cpp - how conv2d is computed with layout=nchw.
#include <fmt/core.h>

#include <algorithm>

#include "conv2d_plan.hpp"

namespace clam {
namespace {

using namespace conv2d_plan;

// ---- the choice ----

/// Variants that are compared by their clocks.
struct Timed {
  const char* name;
  Reason (*refuses)(const Problem&, const DeviceInfo&);
  double (*clocks)(const Problem&, const DeviceInfo&, const PlanOptions&);
};

constexpr Timed kTimed[] = {{"conv2d_winograd", refuses_winograd, winograd_clocks},
                            {"conv2d_product", refuses_product, product_clocks},
                            {"conv2d_product_rows", refuses_product_rows, product_rows_clocks},
                            {"conv2d_3x3", refuses_3x3, clocks_3x3}};

/// Whether a variant after kTimed[at] is predicted to be faster.
template <int at>
Reason outdone(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted) {
  if (problem.choice("algo") == "winograd") return {};
  const double own = kTimed[at].clocks(problem, device, wanted);
  for (const Timed* other = kTimed + at + 1; other != std::end(kTimed); ++other) {
    if (other->refuses(problem, device)) continue;
    if (other->clocks(problem, device, wanted) >= own) continue;
    return fmt::format("{} is predicted to be faster", other->name);
  }
  return {};
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
  return {{"conv2d_winograd", "3x3, stride 1, by Winograd's F(2x2,3x3); weights packed once",
           refuses_winograd, plan_winograd, outdone<0>, winograd_tilings},
          {"conv2d_product", "any filter, as a product of weights and planes; weights packed once",
           refuses_product, plan_product, outdone<1>, product_tilings},
          {"conv2d_product_rows", "a filter of several taps, whose rows are moved; the same",
           refuses_product_rows, plan_product_rows, outdone<2>, product_rows_tilings},
          {"conv2d_depthwise", "a filter for each channel; weights packed once",
           refuses_depthwise_nchw, plan_depthwise_nchw, nullptr, depthwise_tilings},
          {"conv2d_3x3", "3x3, stride 1 or 2, aligned rows; weights packed once", refuses_3x3,
           plan_3x3, nullptr, tilings_3x3},
          {"conv2d_plain", "any filter; weights that change", refuses_plain, plan_plain}};
}

}  // namespace clam
