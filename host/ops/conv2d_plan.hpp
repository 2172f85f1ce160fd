// SPDX-License-Identifier: MIT
// conv2d_plan.hpp - what the plans of conv2d share: options, arguments, tilings and packed weights.
#pragma once

#include "conv2d_problem.hpp"
#include "ops/shared/activation.hpp"
#include "ops/shared/op.hpp"
#include "ops/shared/tiling.hpp"

namespace clam::conv2d_plan {

constexpr int kConvTile = Conv2d::kTile;
constexpr int kConvHighest = 16;  ///< tiles of a group along the channels
constexpr int kGroup = 64;        ///< work-items of a group, where nothing else is wanted
constexpr double kPlainActivation = 6;  ///< activation_instructions of relu and its like

/// Why kernels for this layout cannot compute the problem, on any device; empty when they can.
Reason cannot_read(const Problem& problem, const char* layout);
/// The same of those that have no sums in half.
Reason cannot_sum(const Problem& problem, const char* layout);
/// Why it is no plain 3x3 filter of strides up to `most_stride` that are alike; empty when it is.
Reason not_3x3(const Conv2d& conv, int most_stride);

/// What all kernels of conv2d take: dtype and group, then `more`, then what follows the sum.
std::string options(const Request& request, Group group, const std::string& more = "");

/// dtype and the sides of a group, which all kernels take first.
std::string group_options(Dtype dtype, Group group);

/// " -DNAME=VALUE..." that fix extents as constants. They spare address arithmetic and cost a build
/// of their own, which only a large problem repays: empty for others.
std::string fixed(const Conv2d& conv, std::initializer_list<std::pair<const char*, int>> extents);

/// " -DCONV2D_SPLIT=1" where the device gains by it.
std::string split_addresses(const DeviceInfo& device);

/// Why no group is a plain product of pixels and weights; empty when each is one.
Reason not_pointwise(const Conv2d& conv);

/// x, weights, b, r, y, and then ints.
std::vector<Arg> arguments(const Conv2d& conv, const char* weights,
                           std::initializer_list<int> ints);

/// The ints of the kernels for any filter.
std::vector<Arg> any_filter_arguments(const Conv2d& conv, const char* weights);

/// Instructions of Mesa's compilers for the activation of four outputs.
double activation_instructions(const Problem& problem, const DeviceInfo& device);

/// The work-items that a device and the caller allow in a group.
int group_items(const Request& request);

/// Weights packed once by conv2d_pack, for `rows` tiles of channels, in panels of the group's
/// height.
void add_pack(const Conv2d& conv, Group group, int rows, Plan& plan);
Reason packed_too_large(const Conv2d& conv, const DeviceInfo& device);

/// Why Winograd's sum cannot compute the problem, on any device; empty when it can.
Reason not_winograd(const Problem& problem);

// Variants for layout=nchw.
Variant winograd();
Variant product();       ///< planes are x or maps
Variant product_rows();  ///< planes are rows
Variant three_by_three();
Variant depthwise();

/// Those for layout=nhwc, in the order of preference.
std::vector<Variant> nhwc_variants();

}  // namespace clam::conv2d_plan
