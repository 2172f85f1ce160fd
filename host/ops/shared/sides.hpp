// SPDX-License-Identifier: MIT
// sides.hpp - words of a problem that stand for several, one for each side: stride for stride_h and
// stride_w, pad for pad_t, pad_l, pad_b and pad_r.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "clam/problem.hpp"

namespace clam {

/// Pads, strides and dilations: kernels multiply them by indices, in int.
constexpr int kLargestStep = 1 << 20;

/// Fields behind those that are there.
void append(std::vector<Field>& fields, const std::vector<Field>& more);

/// A field of such steps, from 1 or, where that is the fallback, from 0 or -1 on.
Field step_field(const char* name, const char* about, const char* fallback);

/// The field's value, or where it is `absent`, that of the word that stands for it.
int or_else(const Problem& problem, const char* field, int absent, int other);

/// `whole` stands for those of `parts` that are not given. Parts that are alike become the whole,
/// and parts with the default of the whole are left out.
void unite(Schema::Values& values, const std::string& whole,
           const std::vector<std::pair<std::string, int>>& parts, const std::string& absent,
           int fallback);

/// The words stride and pad of a checked problem, taken apart.
struct Sides {
  int stride_h, stride_w, pad_t, pad_l, pad_b, pad_r;

  explicit Sides(const Problem& problem);
  /// Afterwards what can be said in two ways has one text.
  void unite(Schema::Values& values) const;
};

/// stride and pad, each followed by its sides, and what the first of them says. `map`: what has the
/// pads, x or y.
std::vector<Field> stride_fields(const char* stride);
std::vector<Field> pad_fields(const char* pad, const char* map);

}  // namespace clam
