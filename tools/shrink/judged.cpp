// SPDX-License-Identifier: MIT
// judged.cpp - a launch of others made smaller, where drivers say what is right in each case, or
// nothing is compared.
#include <fmt/format.h>

#include "check/graph.hpp"
#include "search.hpp"
#include "steps.hpp"

namespace clam {
namespace {

using Role = TensorSpec::Role;

/// The launch of this number in a case.
Launch& launch_in(Bundle& bundle, std::size_t number) {
  return *launches_of(*bundle.plan).at(number);
}

/// A number that may be smaller: whether some are tried with success.
template <typename Set>
bool shrink_number(Shrinking& shrinking, const std::string& what, std::int64_t least,
                   std::int64_t value, const Set& set) {
  std::int64_t now = value;
  smallest(least, value, [&](std::int64_t smaller) {
    if (shrinking.over()) return false;
    Bundle candidate = shrinking.smallest();
    set(candidate, smaller);
    const bool taken =
        shrinking.take(candidate, what, std::to_string(value), std::to_string(smaller));
    if (taken) now = smaller;
    return taken;
  });
  return now != value;
}

bool shrink_groups(Shrinking& shrinking, std::size_t number, std::size_t dimension) {
  Bundle bundle = shrinking.smallest();
  const Launch& launch = launch_in(bundle, number);
  const auto unit = launch.group_size() > 0 ? launch.local[dimension] : std::int64_t{1};
  const std::int64_t groups = launch.global[dimension] / unit;
  return shrink_number(shrinking,
                       fmt::format("groups of {}, dimension {}:", launch.kernel, dimension), 1,
                       groups, [&](Bundle& candidate, std::int64_t fewer) {
                         launch_in(candidate, number).global[dimension] = fewer * unit;
                       });
}

bool shrink_offset(Shrinking& shrinking, std::size_t number) {
  Bundle candidate = shrinking.smallest();
  Launch& launch = launch_in(candidate, number);
  if (launch.offset == Launch().offset) return false;
  const std::string before = fmt::format("{}", fmt::join(launch.offset, " "));
  launch.offset = Launch().offset;
  return shrinking.take(candidate, "first id of " + launch.kernel, before, "0");
}

/// Whole numbers: trips, extents, strides. 0 and 1 are tried first.
bool shrink_whole(Shrinking& shrinking, std::size_t number, std::size_t argument) {
  Bundle bundle = shrinking.smallest();
  const Launch& launch = launch_in(bundle, number);
  const auto* value = std::get_if<std::int32_t>(&launch.args[argument]);
  if (!value || *value <= 0) return false;
  return shrink_number(shrinking, fmt::format("argument {} of {}", argument, launch.kernel), 0,
                       *value, [&](Bundle& candidate, std::int64_t smaller) {
                         launch_in(candidate, number).args[argument] =
                             static_cast<std::int32_t>(smaller);
                       });
}

bool shrink_real(Shrinking& shrinking, std::size_t number, std::size_t argument) {
  for (const float value : {0.0f, 1.0f}) {
    Bundle candidate = shrinking.smallest();
    Launch& launch = launch_in(candidate, number);
    auto* now = std::get_if<float>(&launch.args[argument]);
    if (!now || *now == 0 || *now == value) return false;
    const std::string before = fmt::format("{:.9g}", *now);
    *now = value;
    if (shrinking.take(candidate, fmt::format("argument {} of {}", argument, launch.kernel), before,
                       fmt::format("{}", static_cast<int>(value)))) {
      return true;
    }
  }
  return false;
}

bool for_each_argument(Shrinking& shrinking,
                       bool (*step)(Shrinking&, std::size_t launch, std::size_t argument)) {
  bool smaller = false;
  Bundle bundle = shrinking.smallest();
  const std::size_t launches = launches_of(*bundle.plan).size();
  for (std::size_t number = 0; number < launches; ++number) {
    const std::size_t arguments = launch_in(bundle, number).args.size();
    for (std::size_t i = 0; i < arguments; ++i) smaller = step(shrinking, number, i) || smaller;
  }
  return smaller;
}

std::string shown(const HostTensor& tensor) {
  return is_constant(tensor) ? "all " + value_text(tensor.dtype(), tensor.bits(0)) : "as recorded";
}

/// To the first value with which it still fails.
bool shrink_input(Shrinking& shrinking, const std::string& name) {
  const HostTensor now = shrinking.smallest().inputs.at(name);
  const auto& wrong = shrinking.smallest().seen.first_wrong;
  for (const std::uint32_t bits : values_to_try(now, wrong ? wrong->index : -1)) {
    if (shrinking.over()) return false;
    Bundle candidate = shrinking.smallest();
    HostTensor& tensor = candidate.inputs.at(name);
    tensor = filled(now.dtype(), now.shape(), bits);
    if (shrinking.take(candidate, name, shown(now), shown(tensor))) return true;
  }
  return false;
}

bool shrink_inputs(Shrinking& shrinking) {
  return any_smaller(Bundle(shrinking.smallest()).inputs,
                     [&](const auto& input) { return shrink_input(shrinking, input.first); });
}

/// Those of one dense axis, as buffers of a recorded launch are.
bool shrink_buffer(Shrinking& shrinking, const TensorSpec& spec) {
  if (!spec.is_dense() || spec.shape.size() != 1) return false;
  return shrink_number(shrinking, "elements of " + spec.name, 1, spec.shape[0],
                       [&](Bundle& candidate, std::int64_t fewer) {
                         for (TensorSpec& each : candidate.plan->tensors) {
                           if (each.name == spec.name) each.shape = {fewer};
                         }
                         const auto held = candidate.inputs.find(spec.name);
                         if (held != candidate.inputs.end())
                           held->second = reshaped(held->second, {fewer});
                       });
}

}  // namespace

bool shrink_sizes(Shrinking& shrinking) {
  bool smaller = false;
  Bundle bundle = shrinking.smallest();
  const std::size_t launches = launches_of(*bundle.plan).size();
  for (std::size_t number = 0; number < launches; ++number) {
    for (const std::size_t dimension : {2, 1, 0}) {
      smaller = shrink_groups(shrinking, number, dimension) || smaller;
    }
    smaller = shrink_offset(shrinking, number) || smaller;
  }
  return for_each_argument(shrinking, shrink_whole) || smaller;
}

bool shrink_values(Shrinking& shrinking) {
  const bool smaller = for_each_argument(shrinking, shrink_real);
  return shrink_inputs(shrinking) || smaller;
}

bool shrink_foreign_data(Shrinking& shrinking) {
  if (shrinking.outcome() == Seen::Outcome::wrong || !shrinking.smallest().expected.empty()) {
    shrinking.note("the inputs stay: nothing says what is right for others");
    return false;
  }
  const bool smaller = shrink_inputs(shrinking);
  if (smaller) {
    shrinking.note("look whether the kernels may be run on zeros, or on one value throughout");
  }
  return smaller;
}

bool shrink_buffers(Shrinking& shrinking) {
  return any_smaller(Plan(*shrinking.smallest().plan).tensors,
                     [&](const TensorSpec& spec) { return shrink_buffer(shrinking, spec); });
}

}  // namespace clam
