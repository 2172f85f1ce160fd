// SPDX-License-Identifier: MIT
// expect.cpp - a case put together: its kernels, its inputs, and what is right.
#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "case.hpp"
#include "check/compare.hpp"
#include "clam/error.hpp"
#include "clam/kernels.hpp"

namespace clam {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Around inputs, as in verification: a read between rows shows in the result.
std::uint32_t input_gap(Dtype dtype) { return dtype == Dtype::i32 ? 0xA5A5A5A5u : 0xFFFFFFFFu; }

/// A folder of the machine that the driver is sent to is none that others have.
void refuse_folders(const std::string& file, const std::string& options) {
  if ((" " + options).find(" -I") == std::string::npos) return;
  throw BadArgument(
      fmt::format("{} is built with '{}': a bundle stands alone, so put the files "
                  "that it includes into it, and leave out -I",
                  file, options));
}

/// A name for a kernel file in the bundle: its own, without folders, unless another file has it.
std::string bundled_name(const KernelSource& source, const Bundle& bundle) {
  const std::string own = std::filesystem::path(source.file).filename().string();
  std::string name = own;
  for (int number = 2;; ++number) {
    const auto taken = bundle.kernels.find(name);
    if (taken == bundle.kernels.end() || taken->second == source.text) return name;
    name = fmt::format("{}_{}", number, own);
  }
}

/// The distance of the farthest other value that is as right; 0 where there is none.
double reach(const Expected& expected, std::size_t i) {
  double farthest = 0;
  if (!expected.other.empty() && !std::isnan(expected.other[i])) {
    farthest = std::fabs(expected.other[i] - expected.value[i]);
  }
  if (expected.also.empty()) return farthest;
  for (const double value : expected.also[i]) {
    farthest = std::max(farthest, std::fabs(value - expected.value[i]));
  }
  return farthest;
}

/// The bound around `stored`, a value as it fits its dtype, that holds what `bound` around `value`
/// does.
double bound_of_stored(double value, double bound, double stored) {
  if (std::isnan(value)) return 0;
  if (std::isinf(stored)) {  // too large for float: infinite is right, and what is in reach of it
    const double largest = std::numeric_limits<float>::max();
    return std::fabs(value) - bound > largest ? 0 : kInfinity;
  }
  return bound + std::fabs(value - stored);
}

/// Rounded up to float.
void set_bound(HostTensor& bounds, std::int64_t i, double bound) {
  float rounded = static_cast<float>(bound);
  if (static_cast<double>(rounded) < bound) rounded = std::nextafter(rounded, INFINITY);
  bounds.set(i, rounded);
}

}  // namespace

void take_plan(const Plan& plan, const KernelFiles& files, Bundle& bundle) {
  bundle.plan = plan;
  bundle.problem = plan.problem;
  bundle.variant = plan.variant;
  for (Launch* launch : launches_of(*bundle.plan)) {
    const KernelSource source = files.get(launch->file);
    if (!source.options.empty()) {
      launch->options += (launch->options.empty() ? "" : " ") + source.options;
    }
    refuse_folders(launch->file, launch->options);
    launch->file = bundled_name(source, bundle);
    bundle.kernels[launch->file] = source.text;
  }
}

void take_inputs(const Tensors& inputs, Bundle& bundle) {
  for (const TensorSpec& spec : bundle.plan->tensors) {
    const bool is_output = spec.role == TensorSpec::Role::output;
    if (is_output && inputs.count(spec.name) == 0) continue;
    const std::uint32_t gap = is_output ? poison_bits(spec.dtype) : input_gap(spec.dtype);
    bundle.inputs[spec.name] = in_buffer(spec, inputs.at(spec.name), gap);
  }
}

void expect(const TensorSpec& spec, const HostTensor& exact, Bundle& bundle) {
  // Between its elements lies what replay.c puts there, which must stay as it was.
  bundle.expected[spec.name] = in_buffer(spec, exact, poison_bits(spec.dtype));
}

void expect(const TensorSpec& spec, const Expected& expected, Bundle& bundle) {
  if (expected.bit_exact()) return expect(spec, expected.exact, bundle);
  const Dtype stored = spec.dtype == Dtype::i32 ? Dtype::i32 : Dtype::f32;
  HostTensor values(stored, spec.shape), bounds(Dtype::f32, spec.shape);
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    values.set(i, expected.value[at]);
    const double bound = expected.bound[at] + reach(expected, at);
    set_bound(bounds, i, bound_of_stored(expected.value[at], bound, values.get(i)));
  }
  constexpr std::uint32_t kAnything = 0x7F800000u;  // an infinite bound
  bundle.expected[spec.name] = in_buffer(spec, values, 0);
  bundle.bounds[spec.name] = in_buffer(spec, bounds, kAnything);
}

}  // namespace clam
