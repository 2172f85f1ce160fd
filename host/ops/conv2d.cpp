// SPDX-License-Identifier: MIT
// conv2d.cpp - the fields of conv2d, and how it is computed.
#include <fmt/core.h>

#include <algorithm>

#include "../error.hpp"
#include "conv2d_cases.hpp"
#include "shared/activation.hpp"
#include "shared/geometry.hpp"

namespace clam {
namespace {

constexpr int kTile = Conv2d::kTile;
constexpr int kParts = Conv2d::kParts;
constexpr int kHighest = 16;  ///< tiles of a group along the channels
/// Strides, pads and dilations: kernels multiply them by indices, in int.
constexpr int kLargestStep = 1 << 20;

// ---- the problem ----

using Values = std::map<std::string, std::string, std::less<>>;

/// `whole` stands for those of `parts` that are not given. Parts that are alike become the whole,
/// and parts with the default of the whole are left out.
void unite(Values& values, const std::string& whole,
           const std::vector<std::pair<std::string, int>>& parts, const std::string& absent,
           int fallback) {
  const int first = parts.front().second;
  const bool alike =
      std::all_of(parts.begin(), parts.end(), [&](const auto& p) { return p.second == first; });
  values[whole] = std::to_string(alike ? first : fallback);
  for (const auto& [part, value] : parts) {
    values[part] = alike || value == fallback ? absent : std::to_string(value);
  }
}

/// The filter lies within the padded input at least once.
void check_extent(const Problem& problem, const std::string& field, int taps, std::int64_t reach,
                  std::int64_t padded, const char* what) {
  if (reach <= padded) return;
  bad_field(problem, field,
            fmt::format("makes a filter of {} taps reach over {} {}, but the padded input has {}",
                        taps, reach, what, padded));
}

void check_conv2d(const Problem& problem, Values& values) {
  const Conv2d conv(problem);
  for (const auto& [name, channels] : {std::pair{"c", conv.c}, std::pair{"k", conv.k}}) {
    if (channels % conv.groups == 0) continue;
    bad_field(problem, "groups", fmt::format("does not divide {}={}", name, channels));
  }
  check_extent(problem, "r", conv.r, Conv2d::reach(conv.r, conv.dilation_h),
               Conv2d::padded(conv.h, conv.pad_t, conv.pad_b), "rows");
  check_extent(problem, problem.integer("s") == 0 ? "r" : "s", conv.s,
               Conv2d::reach(conv.s, conv.dilation_w),
               Conv2d::padded(conv.w, conv.pad_l, conv.pad_r), "columns");
  unite(values, "stride", {{"stride_h", conv.stride_h}, {"stride_w", conv.stride_w}}, "0", 1);
  unite(
      values, "pad",
      {{"pad_t", conv.pad_t}, {"pad_l", conv.pad_l}, {"pad_b", conv.pad_b}, {"pad_r", conv.pad_r}},
      "-1", 0);
  unite(values, "dilation", {{"dilation_h", conv.dilation_h}, {"dilation_w", conv.dilation_w}}, "0",
        1);
  if (conv.s == conv.r) values["s"] = "0";
}

std::vector<Field> conv2d_fields() {
  const auto step = [](const char* name, const char* about, const char* fallback) {
    return integer(name, about, fallback, std::min(1, std::stoi(fallback)), kLargestStep);
  };
  return {extent("n", "images", "1"),
          extent("c", "input channels"),
          extent("h", "rows of x"),
          extent("w", "columns of x"),
          extent("k", "output channels"),
          extent("r", "rows of the filter"),
          integer("s", "columns of the filter; 0: as many as rows", "0", 0),
          dtype_field(),
          choice("acc", "accumulator", {"f32", "chunk", "f16"}, "f32"),
          step("stride", "rows and columns of x from an output to the next", "1"),
          step("stride_h", "rows alone; 0: as stride", "0"),
          step("stride_w", "columns alone; 0: as stride", "0"),
          step("pad", "rows and columns around x that are left out of the sums", "0"),
          step("pad_t", "rows above x; -1: as pad", "-1"),
          step("pad_l", "columns left of x; -1: as pad", "-1"),
          step("pad_b", "rows below x; -1: as pad", "-1"),
          step("pad_r", "columns right of x; -1: as pad", "-1"),
          step("dilation", "rows and columns of x from a tap to the next", "1"),
          step("dilation_h", "rows alone; 0: as dilation", "0"),
          step("dilation_w", "columns alone; 0: as dilation", "0"),
          extent("groups", "groups of channels that see only each other", "1"),
          choice("layout", "order of the axes", {"nchw", "nhwc"}, "nchw"),
          flag("bias", "b[k] is added"),
          flag("residual", "r, of y's shape, is added after the activation"),
          choice("act", "activation", activation_names(), "none")};
}

std::vector<TensorSpec> conv2d_tensors(const Problem& problem) {
  using Role = TensorSpec::Role;
  const Conv2d conv(problem);
  const auto spec = [&](const char* name, Role role, int images, int channels, int rows,
                        int columns) {
    const Shape shape =
        conv.nhwc ? Shape{images, rows, columns, channels} : Shape{images, channels, rows, columns};
    return TensorSpec{name, role, conv.dtype, shape, {}, 0};
  };
  std::vector<TensorSpec> specs{spec("x", Role::input, conv.n, conv.c, conv.h, conv.w),
                                spec("w", Role::input, conv.k, conv.cg(), conv.r, conv.s)};
  if (conv.bias) specs.push_back({"b", Role::input, conv.dtype, {conv.k}, {}, 0});
  if (conv.residual) {
    specs.push_back(spec("r", Role::input, conv.n, conv.k, conv.oh(), conv.ow()));
  }
  specs.push_back(spec("y", Role::output, conv.n, conv.k, conv.oh(), conv.ow()));
  if (conv.residual) specs.back().may_be = "r";
  return specs;
}

// ---- launches ----

/// All launches of a problem take these, whether they use them or not, so that they share programs.
std::string common_options(const Problem& problem, const std::string& geometry) {
  std::string options = problem.dtype() == Dtype::f16 ? "-DCLAM_F16 " : "";
  options += geometry;
  if (problem.flag("bias")) options += " -DCONV2D_BIAS=1";
  if (problem.flag("residual")) options += " -DCONV2D_RESIDUAL=1";
  if (problem.choice("act") != "none") options += " -DCONV2D_ACT=" + problem.choice("act");
  return options;
}

/// x, weights, b, r, y, and then ints.
std::vector<Arg> arguments(const Conv2d& conv, const char* weights,
                           std::initializer_list<int> ints) {
  const auto optional = [](bool present, const char* name) -> Arg {
    if (present) return BufferArg{name};
    return NullArg{};
  };
  std::vector<Arg> args{BufferArg{"x"}, BufferArg{weights}, optional(conv.bias, "b"),
                        optional(conv.residual, "r"), BufferArg{"y"}};
  args.insert(args.end(), ints.begin(), ints.end());
  return args;
}

/// The work-items that a device and the caller allow in a group.
int group_items(const DeviceInfo& device, const PlanOptions& wanted) {
  const Group group = choose_group(1, 1, device, wanted);
  return group.y;
}

/// How conv2d_1x1, conv2d_3x3 and conv2d_direct cut the outputs.
struct Tiling {
  int columns = 0;  ///< tiles along the map
  int rows = 0;     ///< tiles along the channels
  int parts = 1;    ///< work-items that share the sums of a tile
  int vectors = 1;  ///< of 4 pixels in a tile; 2 only in conv2d_1x1
  int lx = 1, ly = 1;
};

/// Instructions of a Mali-G610 for a tile: each channel's, and those around the sum.
struct TileWork {
  double channel, rest;
};

/// The time of all warps by the model: four a clock and core, or one warp's latency.
double predicted(double items, double instructions, const DeviceInfo& device) {
  constexpr double kWarp = 16, kPerClock = 4, kLatency = 12.5;
  const double warps = std::ceil(items / kWarp);
  return instructions *
         std::max(warps / (kPerClock * static_cast<double>(device.compute_units)), kLatency);
}

/// Sums are cut into parts where tiles are too few to keep a device busy.
int choose_parts(const Conv2d& conv, const Tiling& tiling, const TileWork& work,
                 const DeviceInfo& device) {
  constexpr double kAddingUp = 200;
  const double items = 1.0 * tiling.columns * tiling.rows * conv.n;
  const double whole = predicted(items, work.channel * conv.cg() + work.rest, device);
  const double cut =
      predicted(items * kParts, work.channel * conv.part() + work.rest + kAddingUp, device);
  const bool can = device.max_work_items.size() > 2 && device.max_work_items[2] >= kParts;
  return can && cut < whole ? kParts : 1;
}

/// 64 work-items: 16 x 4 tiles, or 4 x 16 on small maps, or 4 x 1 in 16 parts. No other shapes, so
/// that problems share programs.
void choose_lanes(Tiling& tiling, const DeviceInfo& device, const PlanOptions& wanted) {
  const int items = group_items(device, wanted);
  if (items < tiling.parts) tiling.parts = 1;
  const int tiles = std::min(items / tiling.parts, tiling.parts > 1 ? kParts : items);
  tiling.lx = std::min(tiles, tiling.parts > 1 || tiling.columns < 16 ? 4 : 16);
  tiling.ly = std::min(tiles / tiling.lx, kHighest);
}

std::string geometry_options(const Tiling& tiling) {
  return fmt::format("-DCONV2D_LX={} -DCONV2D_LY={} -DCONV2D_PARTS={}", tiling.lx, tiling.ly,
                     tiling.parts);
}

Launch tile_launch(const char* file, const char* kernel, const std::string& options,
                   const Tiling& tiling, int n, std::vector<Arg> args) {
  return {file,
          kernel,
          options,
          {round_up(tiling.columns, tiling.lx), round_up(tiling.rows, tiling.ly), n * tiling.parts},
          {tiling.lx, tiling.ly, tiling.parts},
          std::move(args)};
}

/// Weights packed once, in panels of the group's height.
void add_packed(const Conv2d& conv, const char* file, const char* kernel, const Tiling& tiling,
                const std::string& options, int taps, std::vector<Arg> args, Plan& plan) {
  const std::int64_t rows = round_up(tiling.rows, tiling.ly);
  plan.buffers.push_back(
      {"w_packed", BufferSpec::Role::packed, rows * kTile * conv.products() * size_of(conv.dtype)});
  plan.pack.push_back({file,
                       kernel,
                       options,
                       {round_up(taps, tiling.lx), rows, 1},
                       {tiling.lx, tiling.ly, 1},
                       std::move(args)});
}

// ---- conv2d_1x1 ----

Reason packed_too_large(const Conv2d& conv, const DeviceInfo& device) {
  const std::int64_t tiles = std::int64_t{conv.groups} * ceil_div(conv.kg(), kTile);
  const std::int64_t rows = (tiles + kHighest - 1) / kHighest * kHighest;
  return too_large("packed w", rows * kTile * conv.products() * size_of(conv.dtype), device);
}

bool has_pads(const Conv2d& conv) {
  return conv.pad_t > 0 || conv.pad_l > 0 || conv.pad_b > 0 || conv.pad_r > 0;
}

Reason supports_1x1(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = conv2d_not_offered(problem)) return reason;
  const Conv2d conv(problem);
  if (conv.r > 1 || conv.s > 1) return fmt::format("the filter is {}x{}, not 1x1", conv.r, conv.s);
  if (conv.stride_h > 1 || conv.stride_w > 1) return "the stride is over 1";
  if (has_pads(conv)) return "the input is padded";
  if (conv.groups > 1) return fmt::format("groups={} is over 1", conv.groups);
  if (conv.h * conv.w % kTile != 0) {
    return fmt::format("h*w={} is no multiple of {}", conv.h * conv.w, kTile);
  }
  return packed_too_large(conv, device);
}

/// Two vectors a tile where that is quicker; else one, and maybe in parts. Beside two vectors the
/// longest activations would spill.
Tiling tiling_1x1(const Conv2d& conv, bool long_act, const DeviceInfo& device,
                  const PlanOptions& wanted) {
  constexpr TileWork kOne{31, 120}, kTwo{53, 200};
  const int vectors = conv.h * conv.w / kTile;
  Tiling one, two;
  one.columns = vectors;
  two.columns = ceil_div(vectors, 2);
  one.rows = two.rows = ceil_div(conv.k, kTile);
  two.vectors = 2;
  choose_lanes(two, device, wanted);
  const double rows = 1.0 * one.rows * conv.n;
  const double time_one = predicted(one.columns * rows, kOne.channel * conv.c + kOne.rest, device);
  const double time_two = predicted(two.columns * rows, kTwo.channel * conv.c + kTwo.rest, device);
  // A tile that is moved left needs as many vectors before it.
  if (!long_act && time_two < time_one && vectors >= 2 * 16) {
    two.columns = ceil_div(vectors, 2 * two.lx) * two.lx;
    return two;
  }
  one.parts = choose_parts(conv, one, kOne, device);
  choose_lanes(one, device, wanted);
  return one;
}

void plan_1x1(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
              Plan& plan) {
  const Conv2d conv(problem);
  const std::string& act = problem.choice("act");
  const Tiling tiling = tiling_1x1(conv, act == "gelu" || act == "tanh", device, wanted);
  const std::string options = common_options(
      problem, fmt::format("{} -DCONV2D_VECTORS={}", geometry_options(tiling), tiling.vectors));
  add_packed(conv, "conv2d_1x1.cl", "conv2d_1x1_pack", tiling, options, conv.c,
             {BufferArg{"w"}, BufferArg{"w_packed"}, conv.c, conv.k}, plan);
  plan.launches.push_back(
      tile_launch("conv2d_1x1.cl", "conv2d_1x1", options, tiling, conv.n,
                  arguments(conv, "w_packed", {conv.c, conv.h * conv.w, conv.k})));
}

// ---- conv2d_depthwise ----

/// What conv2d_depthwise and conv2d_3x3 ask of the rows of x.
Reason cannot_read_rows(const Conv2d& conv) {
  if (conv.r != 3 || conv.s != 3)
    return fmt::format("the filter is {}x{}, not 3x3", conv.r, conv.s);
  if (conv.stride_h != conv.stride_w || conv.stride_h > 2) return "the stride is neither 1 nor 2";
  if (conv.dilation_h > 1 || conv.dilation_w > 1) return "the dilation is over 1";
  if (conv.pad_l != 1) return fmt::format("pad_l={}, not 1", conv.pad_l);
  if (conv.w % kTile != 0) return fmt::format("w={} is no multiple of {}", conv.w, kTile);
  if (std::int64_t{conv.ow()} * conv.stride_w > conv.w) {
    return fmt::format("pad_r={} makes rows of y longer than those of x", conv.pad_r);
  }
  return {};
}

Reason supports_depthwise(const Problem& problem, const DeviceInfo&) {
  if (Reason reason = conv2d_not_offered(problem)) return reason;
  const Conv2d conv(problem);
  if (conv.groups != conv.c || conv.groups != conv.k) {
    return fmt::format("groups={} is not both c={} and k={}", conv.groups, conv.c, conv.k);
  }
  return cannot_read_rows(conv);
}

int depthwise_rows(const Conv2d& conv, const DeviceInfo& device) {
  const std::int64_t columns = std::int64_t{conv.n} * conv.k * ceil_div(conv.ow(), kTile);
  if (conv.stride_h == 1) {
    return choose_rows({{4, 430}, {2, 300}, {1, 220}}, conv.oh(), columns, conv.oh(), device);
  }
  return choose_rows({{4, 560}, {2, 360}, {1, 250}}, conv.oh(), columns, conv.oh(), device);
}

void plan_depthwise(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                    Plan& plan) {
  constexpr int kWidest = 4;
  const Conv2d conv(problem);
  const int rows = depthwise_rows(conv, device), planes = conv.n * conv.k;
  const int columns = ceil_div(conv.ow(), kTile), tiles = ceil_div(conv.oh(), rows);
  const int items = group_items(device, wanted);
  const int lx = std::min(kWidest, items), ly = std::min(kWidest, items / lx);
  const int lz = static_cast<int>(
      std::min<std::int64_t>(items / lx / ly, floor_power_of_two(device.max_work_items[2])));
  const std::string options = common_options(
      problem, fmt::format("-DCONV2D_LX={} -DCONV2D_LY={} -DCONV2D_LZ={} -DCONV2D_ROWS={} "
                           "-DCONV2D_STRIDE={}",
                           lx, ly, lz, rows, conv.stride_h));
  plan.launches.push_back(
      {"conv2d_depthwise.cl",
       "conv2d_depthwise",
       options,
       {round_up(columns, lx), round_up(tiles, ly), round_up(planes, lz)},
       {lx, ly, lz},
       arguments(conv, "w", {conv.k, planes, conv.h, conv.w, conv.oh(), conv.ow(), conv.pad_t})});
}

// ---- conv2d_3x3 and conv2d_direct ----

Tiling tiling_rows(const Conv2d& conv, const TileWork& work, const DeviceInfo& device,
                   const PlanOptions& wanted) {
  Tiling tiling;
  tiling.columns = ceil_div(conv.ow(), kTile) * conv.oh();
  tiling.rows = conv.groups * ceil_div(conv.kg(), kTile);
  tiling.parts = choose_parts(conv, tiling, work, device);
  choose_lanes(tiling, device, wanted);
  return tiling;
}

void add_pack(const Conv2d& conv, const Tiling& tiling, const std::string& options, Plan& plan) {
  const auto taps = static_cast<int>(conv.products());
  add_packed(conv, "conv2d.cl", "conv2d_pack", tiling, options, taps,
             {BufferArg{"w"}, BufferArg{"w_packed"}, conv.groups, conv.kg(), taps}, plan);
}

Reason supports_3x3(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = conv2d_not_offered(problem)) return reason;
  const Conv2d conv(problem);
  if (Reason reason = cannot_read_rows(conv)) return reason;
  return packed_too_large(conv, device);
}

void plan_3x3(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
              Plan& plan) {
  const Conv2d conv(problem);
  const Tiling tiling = tiling_rows(conv, {240, 250}, device, wanted);
  const std::string options = common_options(
      problem, fmt::format("{} -DCONV2D_STRIDE={}", geometry_options(tiling), conv.stride_h));
  add_pack(conv, tiling, options, plan);
  plan.launches.push_back(tile_launch("conv2d.cl", "conv2d_3x3", options, tiling, conv.n,
                                      arguments(conv, "w_packed",
                                                {conv.groups, conv.cg(), conv.h, conv.w, conv.kg(),
                                                 conv.oh(), conv.ow(), conv.pad_t})));
}

Reason supports_direct(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = conv2d_not_offered(problem)) return reason;
  return packed_too_large(Conv2d(problem), device);
}

/// The ints of conv2d_direct and conv2d_plain.
std::vector<Arg> direct_arguments(const Conv2d& conv, const char* weights) {
  return arguments(
      conv, weights,
      {conv.groups, conv.cg(), conv.h, conv.w, conv.kg(), conv.r, conv.s, conv.oh(), conv.ow(),
       conv.stride_h, conv.stride_w, conv.pad_t, conv.pad_l, conv.dilation_h, conv.dilation_w});
}

void plan_direct(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                 Plan& plan) {
  const Conv2d conv(problem);
  const TileWork work{20 + 60.0 * conv.r * conv.s, 300};
  const Tiling tiling = tiling_rows(conv, work, device, wanted);
  const std::string options = common_options(problem, geometry_options(tiling));
  add_pack(conv, tiling, options, plan);
  plan.launches.push_back(tile_launch("conv2d.cl", "conv2d_direct", options, tiling, conv.n,
                                      direct_arguments(conv, "w_packed")));
}

// ---- conv2d_plain ----

Reason supports_plain(const Problem& problem, const DeviceInfo&) {
  return conv2d_not_offered(problem);
}

void plan_plain(const Problem& problem, const DeviceInfo& device, const PlanOptions& wanted,
                Plan& plan) {
  const Conv2d conv(problem);
  Tiling tiling;
  tiling.lx = std::min(4, group_items(device, wanted));
  tiling.ly = group_items(device, wanted) / tiling.lx;
  plan.launches.push_back({"conv2d.cl",
                           "conv2d_plain",
                           common_options(problem, geometry_options(tiling)),
                           {round_up(conv.ow(), tiling.lx), round_up(conv.oh(), tiling.ly),
                            std::int64_t{conv.n} * conv.k},
                           {tiling.lx, tiling.ly, 1},
                           direct_arguments(conv, "w")});
}

}  // namespace

Reason conv2d_not_offered(const Problem& problem) {
  if (problem.choice("acc") != "f32") {
    return fmt::format("no kernel accumulates with acc={}", problem.choice("acc"));
  }
  if (problem.choice("layout") != "nchw") {
    return fmt::format("no kernel reads layout={}", problem.choice("layout"));
  }
  return {};
}

const Op& conv2d_op() {
  static const Op op{
      "conv2d",
      "y[n,k,oy,ox] = act(sum_c,r,s w[k,c,r,s] * x[n,c,iy,ix] + b[k]) + r[n,k,oy,ox]",
      conv2d_fields(),
      check_conv2d,
      conv2d_tensors,
      {{"conv2d_1x1", "a matrix product for each image; weights packed once", supports_1x1,
        plan_1x1},
       {"conv2d_depthwise", "a 3x3 filter for each channel", supports_depthwise, plan_depthwise},
       {"conv2d_3x3", "3x3, stride 1 or 2, aligned rows; weights packed once", supports_3x3,
        plan_3x3},
       {"conv2d_direct", "any filter; weights packed once", supports_direct, plan_direct},
       {"conv2d_plain", "any filter; weights that change", supports_plain, plan_plain}},
      conv2d_data_sets(),
      conv2d_reference,
      conv2d_flops,
      conv2d_bytes,
      conv2d_cases(),
      conv2d_small_cases(),
      false,  // measures_native_exp2
      true,   // sums_products
  };
  return op;
}

}  // namespace clam
