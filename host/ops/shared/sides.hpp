// SPDX-License-Identifier: MIT
// sides.hpp - words of a problem that stand for several, one for each side: stride for stride_h and
// stride_w, pad for pad_t, pad_l, pad_b and pad_r.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "clam/problem.hpp"

namespace clam {

/// Pads, strides and dilations: kernels multiply them by indices, in int.
constexpr int kLargestStep = 1 << 20;

/// A field of such steps, from 1 or, where that is the fallback, from 0 or -1 on.
Field step_field(const char* name, const char* about, const char* fallback);

/// The field's value, or where it is `absent`, that of the word that stands for it.
int or_else(const Problem& problem, const char* field, int absent, int other);

/// `whole` stands for those of `parts` that are not given. Parts that are alike become the whole,
/// and parts with the default of the whole are left out.
void unite(Schema::Values& values, const std::string& whole,
           const std::vector<std::pair<std::string, int>>& parts, const std::string& absent,
           int fallback);

}  // namespace clam
