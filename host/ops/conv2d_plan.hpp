// SPDX-License-Identifier: MIT
// conv2d_plan.hpp - what the plans of conv2d share: options, arguments, tilings and packed weights.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "clam/plan.hpp"
#include "conv2d_problem.hpp"
#include "ops/shared/accumulator.hpp"
#include "ops/shared/launch.hpp"
#include "ops/shared/tiling.hpp"

namespace clam {

constexpr int kConvTile = Conv2d::kTile;
constexpr int kConvHighest = 16;  ///< tiles of a group along the channels

namespace conv2d_plan {

/// Why kernels for layout=nchw cannot compute the problem, on any device; empty when they can.
Reason cannot_read_nchw(const Problem& problem);

/// What all kernels of conv2d take: dtype, then `geometry`, then what follows the sum.
std::string options(const Problem& problem, const DeviceInfo& device, const std::string& geometry);

/// dtype and the sides of a group, which all kernels take first.
std::string group_options(Dtype dtype, Group group);

/// Those alone that say what follows the sum, each after a space.
std::string epilogue_options(const Problem& problem, const DeviceInfo& device);

/// " -DNAME=VALUE..." that fix extents as constants. They spare address arithmetic and cost a build
/// of their own, which only a large problem repays: empty for others.
std::string fixed(const Conv2d& conv, std::initializer_list<std::pair<const char*, int>> extents);

/// " -DCONV2D_SPLIT=1" where the device gains by it.
std::string split_addresses(const DeviceInfo& device);

/// Why the problem is no plain product of pixels and weights; empty when it is one.
Reason not_pointwise(const Conv2d& conv);

/// x, weights, b, r, y, and then ints.
std::vector<Arg> arguments(const Conv2d& conv, const char* weights,
                           std::initializer_list<int> ints);

/// The ints of the kernels for any filter.
std::vector<Arg> any_filter_arguments(const Conv2d& conv, const char* weights);

/// Where half sums would gain nothing, float ones keep the promise of acc=chunk; not of acc=f16.
Reason sums_in_half_throughout(const Problem& problem);

/// The work-items that a device and the caller allow in a group.
int group_items(const DeviceInfo& device, const PlanOptions& wanted);

/// Weights packed once by conv2d_pack, for `rows` tiles of channels, in panels of the group's
/// height.
void add_pack(const Conv2d& conv, Group group, int rows, Plan& plan);
Reason packed_too_large(const Conv2d& conv, const DeviceInfo& device);

/// Why Winograd's sum cannot compute the problem, on any device; empty when it can.
Reason not_winograd(const Problem& problem);

/// A variant for layout=nchw that is compared with others by the clocks of its launches.
struct Timed {
  Variant variant;
  double (*clocks)(const Problem&, const DeviceInfo&, const PlanOptions&);
};
Timed winograd();
Timed product();       ///< planes are x or maps
Timed product_rows();  ///< planes are rows
Timed three_by_three();
Variant depthwise();

}  // namespace conv2d_plan

/// Variants for layout=nchw and for layout=nhwc, in the order of preference.
std::vector<Variant> conv2d_nchw_variants();
std::vector<Variant> conv2d_nhwc_variants();

}  // namespace clam
