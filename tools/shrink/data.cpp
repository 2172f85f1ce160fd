// SPDX-License-Identifier: MIT
// data.cpp - inputs of one value throughout, or of few that are not zero.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

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
  const auto constant = making.constants.find(spec.name);
  if (constant != making.constants.end()) {
    return "all " + value_text(spec.dtype, constant->second);
  }
  return making.given.count(spec.name) > 0 ? "as given" : "data set " + making.data_set;
}

/// An input of one value throughout.
bool make_constant(Shrinking& shrinking, Making& making, const TensorSpec& spec,
                   std::uint32_t bits) {
  Making smaller = making;
  smaller.given.erase(spec.name);
  smaller.constants[spec.name] = bits;
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
  making.constants.erase(spec.name);
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
  Parts parts(static_cast<std::size_t>(whole.size()));
  std::iota(parts.begin(), parts.end(), std::size_t{0});
  while (parts.size() > 1) {
    const auto middle = parts.begin() + static_cast<std::ptrdiff_t>(parts.size() / 2);
    const Parts first(parts.begin(), middle), second(middle, parts.end());
    if (holds_with(shrinking, making, spec, whole, first)) {
      parts = first;
    } else if (holds_with(shrinking, making, spec, whole, second)) {
      parts = second;
    } else {
      return std::nullopt;
    }
  }
  return whole.bits(static_cast<std::int64_t>(parts.front()));
}

/// To the first of some values with which it still fails.
bool shrink_input(Shrinking& shrinking, Making& making, const TensorSpec& spec) {
  if (shrinking.over()) return false;
  const HostTensor now = dense_input(shrinking.smallest(), spec);
  const auto& wrong = shrinking.smallest().seen.first_wrong;
  const auto constant = making.constants.find(spec.name);
  for (const std::uint32_t bits : values_to_try(now, wrong ? wrong->index : -1)) {
    // Those behind it are no simpler than the one that it has.
    if (constant != making.constants.end() && constant->second == bits) return false;
    if (make_constant(shrinking, making, spec, bits)) return true;
  }
  if (constant != making.constants.end()) return false;
  const auto guilty = guilty_value(shrinking, making, spec, now);
  return guilty && make_constant(shrinking, making, spec, *guilty);
}

/// An input to the fewest elements that are not zero.
bool keep_few(Shrinking& shrinking, Making& making, const TensorSpec& spec) {
  if (shrinking.over()) return false;
  const HostTensor whole = dense_input(shrinking.smallest(), spec);
  if (whole.size() < 2 || whole.size() > kMostElements) return false;
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
  return values;
}

bool shrink_data(Shrinking& shrinking, Making& making) {
  bool smaller = false;
  for (const TensorSpec& spec : making.problem.tensors()) {
    if (spec.role == Role::input) smaller = shrink_input(shrinking, making, spec) || smaller;
  }
  return smaller;
}

bool shrink_elements(Shrinking& shrinking, Making& making) {
  bool smaller = false;
  for (const TensorSpec& spec : Plan(*shrinking.smallest().plan).tensors) {
    if (spec.role != Role::input || making.constants.count(spec.name) > 0) continue;
    smaller = keep_few(shrinking, making, spec) || smaller;
  }
  return smaller;
}

bool shrink_foreign_data(Shrinking& shrinking) {
  const Bundle& smallest = shrinking.smallest();
  if (shrinking.outcome() == Seen::Outcome::wrong || !smallest.expected.empty()) {
    shrinking.note("the inputs stay: nothing says what is right for others");
    return false;
  }
  bool smaller = false;
  for (const TensorSpec& spec : Plan(*smallest.plan).tensors) {
    if (spec.role != Role::input) continue;
    Bundle candidate = shrinking.smallest();
    candidate.inputs[spec.name] = HostTensor(spec.dtype, {spec.span()});
    smaller = shrinking.take(candidate, spec.name, "as given", "all 0") || smaller;
  }
  if (smaller) shrinking.note("look whether the kernels may be run on zeros");
  return smaller;
}

}  // namespace clam
