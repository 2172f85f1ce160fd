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
/// Build options and groups that are others now, as they are with other extents, as steps.
void tell_changes(Shrinking& shrinking, const Bundle& before);
/// The files, of a build or of a plan: kernels, then blocks, then lines.
bool shrink_text(Shrinking& shrinking);
/// The same by whole statements, for what must still run: far fewer cases that no compiler takes.
bool shrink_statements(Shrinking& shrinking);

// Of a plan whose expectation is found anew for each case.

/// Groups of a launch, its first id, and whole numbers among its arguments.
bool shrink_sizes(Shrinking& shrinking);
/// Inputs and real arguments, to one value: 0, 1, or one that the input has.
bool shrink_values(Shrinking& shrinking);
/// The ends of buffers. Only where somebody sees whether the kernel reads behind them.
bool shrink_buffers(Shrinking& shrinking);
/// 0, 1, and values that the tensor has: first of all that of the element `wrong_at`, if it is one.
std::vector<std::uint32_t> values_to_try(const HostTensor& tensor, std::int64_t wrong_at);
/// Whether it is one value throughout, bit for bit.
bool is_constant(const HostTensor& tensor);
/// The value of these bits.
std::string value_text(Dtype dtype, std::uint32_t bits);
/// Inputs of a plan of others, to zeros, where nothing is compared.
bool shrink_foreign_data(Shrinking& shrinking);

}  // namespace clam
