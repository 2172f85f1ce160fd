// SPDX-License-Identifier: MIT
// tolerance.cpp - how far rounding alone may take the outputs of right drivers apart.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "judge.hpp"

namespace clam {
namespace {

using Role = TensorSpec::Role;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// About every second place, in an order that looks like none (splitmix64).
bool is_chosen(std::uint64_t place, int turn) {
  std::uint64_t x = place + static_cast<std::uint64_t>(turn) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return ((x >> 31) & 1) != 0;
}

/// The value one step farther from zero. A whole number, or one that has no further, stays.
void nudge(HostTensor& tensor, std::int64_t i) {
  const double value = tensor.get(i);
  if (!std::isfinite(value) || value == std::nearbyint(value)) return;
  const std::uint32_t before = tensor.bits(i);
  tensor.set_bits(i, before + 1);
  if (!std::isfinite(tensor.get(i))) tensor.set_bits(i, before);
}

/// Half a step of the dtype at 1.
double half_step(Dtype dtype) { return dtype == Dtype::f16 ? 0x1p-11 : 0x1p-24; }

double lower_median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median of the sizes of what is neither 0 nor infinite; outliers do not move it.
double median_size(const HostTensor& tensor) {
  std::vector<double> sizes;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double size = std::fabs(tensor.get(i));
    if (std::isfinite(size) && size > 0) sizes.push_back(size);
  }
  return lower_median(std::move(sizes));
}

/// What nudges change of an element on one driver.
double change(const Answer& answer, const std::string& name, std::int64_t i) {
  const HostTensor& first = answer.runs[0].at(name);
  double most = 0;
  for (std::size_t run = 1; run < answer.runs.size(); ++run) {
    if (answer.runs[run].count(name) == 0) continue;
    const HostTensor& other = answer.runs[run].at(name);
    if (first.bits(i) == other.bits(i)) continue;
    if (first.dtype() == Dtype::i32) return kInfinity;
    const double a = first.get(i), b = other.get(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return kInfinity;
    most = std::max(most, std::fabs(a - b));
  }
  return most;
}

bool asks_for_less(const Bundle& bundle) {
  for (const auto& [file, text] : bundle.kernels) {
    if (text.find("native_") != text.npos || text.find("half_") != text.npos) return true;
  }
  const std::vector<Build> builds = builds_of(bundle);
  return std::any_of(builds.begin(), builds.end(), [](const Build& build) {
    return build.options.find("-cl-fast-relaxed-math") != build.options.npos ||
           build.options.find("-cl-unsafe-math-optimizations") != build.options.npos;
  });
}

using Answers = std::vector<const Answer*>;

/// Whether no driver changed the element from what was in memory before.
bool is_untouched(const HostTensor& before, const Answers& answers, const std::string& name,
                  std::int64_t i) {
  return std::all_of(answers.begin(), answers.end(), [&](const Answer* answer) {
    return answer->runs[0].at(name).bits(i) == before.bits(i);
  });
}

HostTensor tolerance(const TensorSpec& spec, const std::optional<HostTensor>& before,
                     const Answers& all, double roundings) {
  HostTensor result(Dtype::f32, spec.shape);
  std::vector<double> medians;
  for (const Answer* answer : all) medians.push_back(median_size(answer->runs[0].at(spec.name)));
  const double median = lower_median(medians), step = half_step(spec.dtype);
  for (std::int64_t i = 0; i < result.size(); ++i) {
    if (before && is_untouched(*before, all, spec.name, i)) continue;
    std::vector<double> changes, sizes;
    for (const Answer* answer : all) {
      if (answer->runs.size() > 1) changes.push_back(change(*answer, spec.name, i));
      const double size = std::fabs(answer->runs[0].at(spec.name).get(i));
      if (std::isfinite(size)) sizes.push_back(size);
    }
    const double least =
        spec.dtype == Dtype::i32 ? 0 : step * std::max(lower_median(sizes), median);
    result.set(i, roundings * std::max(lower_median(changes), least));
  }
  return result;
}

}  // namespace

Bundle nudged(const Bundle& bundle, int turn) {
  Bundle other = bundle;
  std::uint64_t place = 0;
  for (auto& [name, tensor] : other.inputs) {
    if (tensor.dtype() == Dtype::i32) continue;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      if (is_chosen(++place, turn)) nudge(tensor, i);
    }
  }
  for (Launch* launch : launches_of(*other.plan)) {
    for (Arg& arg : launch->args) {
      auto* const real = std::get_if<float>(&arg);
      if (!real || !is_chosen(++place, turn)) continue;
      HostTensor one(Dtype::f32, {1});
      one.set(0, *real);
      nudge(one, 0);
      *real = static_cast<float>(one.get(0));
    }
  }
  return other;
}

Tensors tolerances(const Bundle& bundle, const std::vector<Answer>& answers) {
  Answers all;
  for (const Answer& answer : answers) {
    if (answer.has_outputs()) all.push_back(&answer);
  }
  Tensors result;
  const double roundings = asks_for_less(bundle) ? kRoundingsOfNative : kRoundings;
  for (const TensorSpec& spec : bundle.plan->tensors) {
    if (spec.role != Role::output || all.empty()) continue;
    const auto held = bundle.inputs.find(spec.name);
    std::optional<HostTensor> before;
    if (held != bundle.inputs.end()) before = from_buffer(spec, held->second);
    result[spec.name] = tolerance(spec, before, all, roundings);
  }
  return result;
}

}  // namespace clam
