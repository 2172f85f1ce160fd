// SPDX-License-Identifier: MIT
// conv2d_plan.hpp - what the plans of conv2d share: options, arguments, tilings and packed weights.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "clam/plan.hpp"
#include "conv2d_problem.hpp"
#include "ops/shared/accumulator.hpp"
#include "ops/shared/geometry.hpp"

namespace clam {

constexpr int kConvTile = Conv2d::kTile;
constexpr int kConvHighest = 16;  ///< tiles of a group along the channels

/// How a kernel cuts the outputs.
struct ConvTiling {
  int columns = 0;  ///< tiles along the map
  int rows = 0;     ///< tiles along the channels
  int parts = 1;    ///< work-items that share the sums of a tile
  int vectors = 1;  ///< of 4 pixels in a tile; 2 only in conv2d_3x3
  int lx = 1, ly = 1;
};

/// Instructions of a Mali-G610 for a tile: each channel's, and those around the sum.
struct ConvWork {
  double channel, rest;
};

namespace conv2d_plan {

// The model of `clam mali`: a launch, memory, and an instruction of a warp that runs alone.
constexpr double kLaunchClocks = 10000, kBytesPerClock = 27.2, kLatencyClocks = 25;

/// The buffer, or null where it is absent.
Arg optional_buffer(bool present, const char* name);

/// Why kernels for layout=nchw cannot compute the problem, on any device; empty when they can.
Reason cannot_read_nchw(const Problem& problem);

/// What all kernels of conv2d take: dtype, then `geometry`, then what follows the sum.
std::string options(const Problem& problem, const DeviceInfo& device, const std::string& geometry);

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

/// The work-items that a device and the caller allow in a group.
int group_items(const DeviceInfo& device, const PlanOptions& wanted);

/// Clocks of a tiling, parts included: those of predicted_clocks, or a warp's latency.
double predicted(const Conv2d& conv, const ConvTiling& tiling, const ConvWork& work,
                 const DeviceInfo& device);
/// Sums are cut into parts where tiles are too few to keep a device busy.
int choose_parts(const Conv2d& conv, const ConvTiling& tiling, const ConvWork& work,
                 const DeviceInfo& device);
/// 64 work-items: 16 x 4 tiles, or 4 x 16 on small maps, or 4 x 1 in 16 parts. No other shapes, so
/// that problems share programs.
void choose_lanes(ConvTiling& tiling, const DeviceInfo& device, const PlanOptions& wanted);
std::string geometry_options(const ConvTiling& tiling);

Launch tile_launch(const char* file, const char* kernel, const std::string& options,
                   const ConvTiling& tiling, int n, std::vector<Arg> args);
/// Weights packed once, in panels of the group's height.
void add_packed(const Conv2d& conv, const char* file, const char* kernel, const ConvTiling& tiling,
                const std::string& options, int taps, std::vector<Arg> args, Plan& plan);
/// The same by conv2d_pack.
void add_pack(const Conv2d& conv, const ConvTiling& tiling, Plan& plan);
Reason packed_too_large(const Conv2d& conv, const DeviceInfo& device);

// conv2d_product: planes are x or maps; conv2d_product_rows: they are rows. Clocks are those of all
// launches.
Reason refuses_product(const Problem& problem, const DeviceInfo& device);
Reason refuses_product_rows(const Problem& problem, const DeviceInfo& device);
void plan_product(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                  Plan& plan);
void plan_product_rows(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                       Plan& plan);
double product_clocks(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted);
double product_rows_clocks(const Problem& problem, const DeviceInfo& device,
                           const PlanOptions& wanted);

// conv2d_depthwise.
Reason refuses_depthwise_nchw(const Problem& problem, const DeviceInfo& device);
void plan_depthwise_nchw(const Problem& problem, const DeviceInfo& device,
                         const PlanOptions& wanted, Plan& plan);

/// Why Winograd's sum cannot compute the problem, on any device; empty when it can.
Reason not_winograd(const Problem& problem);
Reason refuses_winograd(const Problem& problem, const DeviceInfo& device);
void plan_winograd(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                   Plan& plan);
/// Clocks of its launches.
double winograd_clocks(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted);

}  // namespace conv2d_plan

/// Variants for layout=nchw and for layout=nhwc, in the order of preference.
std::vector<Variant> conv2d_nchw_variants();
std::vector<Variant> conv2d_nhwc_variants();

}  // namespace clam
