// SPDX-License-Identifier: MIT
// data.cpp - inputs of one value throughout, or of few that are not zero.
#include <fmt/core.h>

#include <algorithm>

#include "making.hpp"
#include "search.hpp"
#include "steps.hpp"

namespace clam {
namespace {

using Role = TensorSpec::Role;

constexpr std::int64_t kMostElements = 4096;  ///< of a tensor whose elements are looked at singly
constexpr std::size_t kMostValues = 8;        ///< that a tensor is tried with throughout

std::uint32_t bits_of(Dtype dtype, double value) {
  HostTensor one(dtype, {1});
  one.set(0, value);
  return one.bits(0);
}

std::string source_text(const Making& making, const TensorSpec& spec) {
  const auto own = making.given.find(spec.name);
  if (own == making.given.end()) return "data set " + making.data_set;
  return is_constant(own->second) ? "all " + value_text(spec.dtype, own->second.bits(0))
                                  : "as given";
}

/// An input of one value throughout.
bool make_constant(Shrinking& shrinking, Making& making, const TensorSpec& spec,
                   std::uint32_t bits) {
  Making smaller = making;
  smaller.given[spec.name] = filled(spec.dtype, spec.shape, bits);
  return take(shrinking, making, smaller, spec.name, source_text(making, spec),
              source_text(smaller, spec));
}

/// The inputs of a case as they are, without what lies between their elements.
HostTensor dense_input(const Bundle& bundle, const TensorSpec& spec) {
  return from_buffer(spec, bundle.inputs.at(spec.name));
}

/// With zeros for an input but for these elements.
Making with_zeros(Making making, const TensorSpec& spec, const HostTensor& whole,
                  const Parts& kept) {
  HostTensor rest(whole.dtype(), whole.shape());
  for (const std::size_t part : kept) {
    const auto i = static_cast<std::int64_t>(part);
    rest.set_bits(i, whole.bits(i));
  }
  making.given[spec.name] = rest;
  return making;
}

/// Whether it still fails with zeros outside of `kept`, tried without a step.
bool holds_with(Shrinking& shrinking, const Making& making, const TensorSpec& spec,
                const HostTensor& whole, const Parts& kept) {
  return !shrinking.over() && if_possible([&] {
    Bundle candidate = with_zeros(making, spec, whole, kept).with_inputs(shrinking.smallest());
    return shrinking.still_fails(candidate);
  });
}

/// The one element that it fails by, looked for in halves; nothing where there is no such one.
std::optional<std::uint32_t> guilty_value(Shrinking& shrinking, const Making& making,
                                          const TensorSpec& spec, const HostTensor& whole) {
  const auto holds = [&](const Parts& kept) {
    return holds_with(shrinking, making, spec, whole, kept);
  };
  const std::int64_t end = smallest(1, whole.size(), [&](std::int64_t count) {
    return holds(first_parts(static_cast<std::size_t>(count)));
  });
  if (!holds({static_cast<std::size_t>(end - 1)})) return std::nullopt;
  return whole.bits(end - 1);
}

/// To the first of some values with which it still fails.
bool shrink_input(Shrinking& shrinking, Making& making, const TensorSpec& spec) {
  if (shrinking.over()) return false;
  const HostTensor now = dense_input(shrinking.smallest(), spec);
  const auto& wrong = shrinking.smallest().seen.first_wrong;
  for (const std::uint32_t bits : values_to_try(now, wrong ? wrong->index : -1)) {
    if (make_constant(shrinking, making, spec, bits)) return true;
  }
  if (is_constant(now)) return false;
  const auto guilty = guilty_value(shrinking, making, spec, now);
  return guilty && make_constant(shrinking, making, spec, *guilty);
}

/// An input to the fewest elements that are not zero.
bool keep_few(Shrinking& shrinking, Making& making, const TensorSpec& spec) {
  if (shrinking.over()) return false;
  const HostTensor whole = dense_input(shrinking.smallest(), spec);
  if (is_constant(whole) || whole.size() > kMostElements) return false;
  const std::string from = source_text(making, spec);
  const auto holds = [&](const Parts& kept) {
    if (shrinking.over()) return false;
    const Making smaller = with_zeros(making, spec, whole, kept);
    const std::string to = fmt::format("zeros but for {} of {}", kept.size(), whole.size());
    const bool taken = if_possible([&] {
      return shrinking.take(smaller.with_inputs(shrinking.smallest()), spec.name, from, to);
    });
    if (taken) making = smaller;
    return taken;
  };
  return needed(static_cast<std::size_t>(whole.size()), holds).size() <
         static_cast<std::size_t>(whole.size());
}

}  // namespace

std::string value_text(Dtype dtype, std::uint32_t bits) {
  HostTensor one(dtype, {1});
  one.set_bits(0, bits);
  return value_text(one.get(0));
}

std::vector<std::uint32_t> values_to_try(const HostTensor& tensor, std::int64_t wrong_at) {
  std::vector<std::uint32_t> values;
  const auto add = [&](std::uint32_t bits) {
    const bool known = std::find(values.begin(), values.end(), bits) != values.end();
    if (!known && values.size() < kMostValues) values.push_back(bits);
  };
  add(bits_of(tensor.dtype(), 0));
  add(bits_of(tensor.dtype(), 1));
  if (wrong_at >= 0 && wrong_at < tensor.size()) add(tensor.bits(wrong_at));
  for (std::int64_t i = 0; i < tensor.size() && values.size() < kMostValues; ++i) {
    add(tensor.bits(i));
  }
  if (!is_constant(tensor)) return values;
  return {values.begin(), std::find(values.begin(), values.end(), tensor.bits(0))};
}

bool shrink_data(Shrinking& shrinking, Making& making) {
  return any_smaller(making.problem.tensors(), [&](const TensorSpec& spec) {
    return spec.role == Role::input && shrink_input(shrinking, making, spec);
  });
}

bool shrink_elements(Shrinking& shrinking, Making& making) {
  return any_smaller(Plan(*shrinking.smallest().plan).tensors, [&](const TensorSpec& spec) {
    return spec.role == Role::input && keep_few(shrinking, making, spec);
  });
}

}  // namespace clam
