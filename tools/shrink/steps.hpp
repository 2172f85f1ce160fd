// SPDX-License-Identifier: MIT
// steps.hpp - what can be left out of any case.
#pragma once

#include <string>

#include "shrinking.hpp"

namespace clam {

/// A plan that the compiler fails on becomes a build of the one file that it fails on.
bool shrink_to_build(Shrinking& shrinking);
/// Launches that the failure does not need.
bool shrink_launches(Shrinking& shrinking);
/// Build options that it does not need. Where kernels run, only those that change nothing of what
/// they compute; with `all` whatever they change.
bool shrink_options(Shrinking& shrinking, bool all = false);
/// The files by whole statements, of a build then by lines: of these most are cases that no
/// compiler takes.
bool shrink_text(Shrinking& shrinking);

// Of a plan whose expectation is found anew for each case.

/// Groups of a launch, its first id, and whole numbers among its arguments.
bool shrink_sizes(Shrinking& shrinking);
/// Inputs and real arguments, to one value: 0, 1, or one that the input has.
bool shrink_values(Shrinking& shrinking);
/// The ends of buffers. Only where somebody sees whether the kernel reads behind them.
bool shrink_buffers(Shrinking& shrinking);
/// 0, 1, and values that the tensor has: first of all that of the element `wrong_at`, if it is one.
/// Of a tensor of one value throughout only those that are simpler.
std::vector<std::uint32_t> values_to_try(const HostTensor& tensor, std::int64_t wrong_at);
/// One value throughout, by its bits.
HostTensor filled(Dtype dtype, const Shape& shape, std::uint32_t bits);
/// Whether it is one value throughout, bit for bit.
bool is_constant(const HostTensor& tensor);
/// The value of these bits.
std::string value_text(Dtype dtype, std::uint32_t bits);
/// Inputs of a plan of others, to one value, where nothing is compared.
bool shrink_foreign_data(Shrinking& shrinking);

}  // namespace clam
