// SPDX-License-Identifier: MIT
// places.hpp - where the elements of a strided tensor lie.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "clam/op.hpp"

namespace clam {

/// A field that says where a tensor lies, in elements; 0: as usual.
Field place(const char* name, const char* about);

/// The field's number, or what stands for it where it is 0.
std::int64_t given_or(const Problem& problem, const std::string& field, std::int64_t otherwise);

/// A row stride, the field "ld" + name, holds a row. It is left out where it is the row's length.
void check_row_stride(const Problem& problem, Schema::Values& values, const std::string& name,
                      std::int64_t row);

/// The tensor from the element on that the field "off" + name says, and with such strides unless
/// the fields of all those words + name are 0.
TensorSpec placed(const Problem& problem, TensorSpec spec, std::initializer_list<const char*> words,
                  std::vector<std::int64_t> strides);

/// An axis of a tensor, and the word of the problem that says its stride, in elements.
struct StridedAxis {
  std::int64_t stride, extent;
  const char* field;
};

/// Throws BadArgument with the field of the axis, where elements of an output of such axes, around
/// rows of `columns` in one piece, would share places. Ordered by stride, what repeats must reach
/// past what lies inside it.
void require_distinct(const Problem& problem, const std::string& output, std::int64_t columns,
                      std::vector<StridedAxis> axes);

}  // namespace clam
