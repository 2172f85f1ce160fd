// SPDX-License-Identifier: MIT
// accumulator.hpp - the field acc of ops that sum products: in what a device may keep the sum.
#pragma once

#include <cstdint>

#include "clam/op.hpp"

namespace clam {

enum class Acc {
  f32,    ///< float
  chunk,  ///< half inside a chunk of at most kChunk products, in any order; float sums of chunks
  f16,    ///< half to the end of the sum; what follows it is float
};

/// The most products that acc=chunk sums in half.
constexpr int kChunk = 32;
/// The most products that acc=f16 sums. Up to 2048 a half counts ones; a positive sum of 4608
/// products loses 13 %.
constexpr int kHalfProducts = 1024;

Field acc_field();
/// f32 where the op has no such field.
Acc accumulator(const Problem& problem);
/// "f32", "chunk", "f16".
const char* name(Acc acc);
/// The most products of one sum in half: for HalfSummation.
int products_in_half(Acc acc);

/// A rule of the problem, for an op's `check`: a half accumulator needs dtype=f16.
void check_acc(const Problem& problem);

/// Why no kernel keeps the sum so, on any device; empty when one may.
Reason acc_not_offered(const Problem& problem);

/// The same as a Variant::refuses.
Reason refuses_acc(const Problem& problem, const DeviceInfo&);

/// Products of one output, padding and zeros included, of an op with `sums_products`.
std::int64_t products_of_sum(const Problem& problem);

}  // namespace clam
