// SPDX-License-Identifier: MIT
#include "conv2d_plan.hpp"

namespace clam::conv2d_plan {

Reason cannot_read(const Problem& problem, const char* layout) {
  if (Reason reason = acc_not_offered(problem)) return reason;
  return reason_if(problem.choice("layout") != layout, "this variant reads layout={}", layout);
}

/// Where half sums would gain nothing, float ones keep the promise of acc=chunk; not of acc=f16.
Reason cannot_sum(const Problem& problem, const char* layout) {
  if (Reason reason = cannot_read(problem, layout)) return reason;
  return reason_if(accumulator(problem) == Acc::f16,
                   "this variant has no sums in half: use acc=chunk, which is as fast here");
}

Reason not_3x3(const Conv2d& conv, int most_stride) {
  if (conv.r != 3 || conv.s != 3) {
    return fmt::format("the filter is {}x{}, not 3x3", conv.r, conv.s);
  }
  if (conv.stride_h != conv.stride_w || conv.stride_h > most_stride) {
    return most_stride == 1 ? "the stride is over 1" : "the stride is neither 1 nor 2";
  }
  if (conv.dilation_h > 1 || conv.dilation_w > 1) return "the dilation is over 1";
  return {};
}

std::string group_options(Dtype dtype, Group group) {
  return fmt::format("{}-DCONV2D_LX={} -DCONV2D_LY={}", dtype_option(dtype), group.x, group.y);
}

std::string options(const Request& request, Group group, const std::string& more) {
  std::string text = group_options(request.problem.dtype(), group) + more;
  if (request.problem.flag("bias")) text += " -DCONV2D_BIAS=1";
  if (request.problem.flag("residual")) text += " -DCONV2D_RESIDUAL=1";
  return text + act_options(request.problem, "CONV2D_ACT", request.device);
}

std::vector<Arg> arguments(const Conv2d& conv, const char* weights,
                           std::initializer_list<int> ints) {
  std::vector<Arg> args =
      arg_list("x", weights, buffer_if(conv.bias, "b"), buffer_if(conv.residual, "r"), "y");
  args.insert(args.end(), ints.begin(), ints.end());
  return args;
}

double activation_instructions(const Problem& problem, const DeviceInfo& device) {
  constexpr double kNative = 52, kExp = 220;
  const std::string& act = problem.choice("act");
  if (!takes_exp(problem) && act != "tanh" && act != "exp") return kPlainActivation;
  return (act == "silu" || act == "sigmoid") && takes_native(problem, device) ? kNative : kExp;
}

int group_items(const Request& request) { return choose_group(1, 1, request).y; }

std::string fixed(const Conv2d& conv, std::initializer_list<std::pair<const char*, int>> extents) {
  constexpr double kLarge = 1 << 22;
  if (static_cast<double>(conv.outputs()) * static_cast<double>(conv.products()) < kLarge)
    return {};
  std::string text;
  for (const auto& [name, value] : extents) text += fmt::format(" -D{}={}", name, value);
  return text;
}

std::string split_addresses(const DeviceInfo& device) {
  return splits_addresses(device) ? " -DCONV2D_SPLIT=1" : "";
}

Reason not_pointwise(const Conv2d& conv) {
  if (conv.r > 1 || conv.s > 1) return fmt::format("the filter is {}x{}, not 1x1", conv.r, conv.s);
  if (conv.stride_h > 1 || conv.stride_w > 1) return "the stride is over 1";
  return reason_if(conv.pad_t > 0 || conv.pad_l > 0 || conv.pad_b > 0 || conv.pad_r > 0,
                   "the input is padded");
}

void add_pack(const Conv2d& conv, Group group, int rows, Plan& plan) {
  const auto taps = static_cast<int>(conv.products());
  plan.buffers.push_back(packed_w(std::int64_t{round_up(rows, group.y)} * kConvTile *
                                  conv.products() * size_of(conv.dtype)));
  // No more options than it looks at: plans of other kernels share its program.
  plan.pack.push_back(group_launch("conv2d.cl", "conv2d_pack", group_options(conv.dtype, group),
                                   group, taps, rows, 1,
                                   arg_list("w", "w_packed", conv.groups, conv.kg(), taps)));
}

Reason packed_too_large(const Conv2d& conv, const DeviceInfo& device) {
  const std::int64_t tiles = std::int64_t{conv.groups} * ceil_div(conv.kg(), kConvTile);
  const std::int64_t rows = round_up(tiles, kConvHighest);
  return too_large("packed w", rows * kConvTile * conv.products() * size_of(conv.dtype), device);
}

std::vector<Arg> any_filter_arguments(const Conv2d& conv, const char* weights) {
  return arguments(
      conv, weights,
      {conv.groups, conv.cg(), conv.h, conv.w, conv.kg(), conv.r, conv.s, conv.oh(), conv.ow(),
       conv.stride_h, conv.stride_w, conv.pad_t, conv.pad_l, conv.dilation_h, conv.dilation_w});
}

}  // namespace clam::conv2d_plan
