// SPDX-License-Identifier: MIT
// decode_box.hpp - the corners of SSD's boxes in double, with the error that a device's floats may
// have.
#pragma once

#include <array>

#include "proof.hpp"

namespace clam {

/// An anchor by its centre and size, and its box's offsets, in the order x y w h.
struct BoxOperands {
  std::array<double, 4> anchor, offsets, variances;
  bool from_corners = false;  ///< a device has computed centre and size from corners
  bool denormals = true;      ///< ReferenceOptions::denormals
};

/// The corners x0 y0 x1 y1 in float, before they are clipped and stored. Let u = 2^-24. Of
///   t = p * v * size              two products: 2 u |t|
///   centre = t + anchor           u |centre|
///   half = exp(p * v) * size / 2  u |p v| from the argument, 6 u of exp (3 ulp), u of the product
///   corner = centre -+ half       u |corner|
/// and from_corners costs another u of the anchor's centre and of its size, and so of t and half.
std::array<Bounded, 4> decode_box(const BoxOperands& in);

/// A corner between 0 and 1.
Bounded clipped(Bounded corner);
/// A number that is stored in a dtype.
Bounded stored(Bounded number, Dtype dtype);

/// Element `row` of a tensor of fours.
std::array<double, 4> load4(const HostTensor& tensor, std::int64_t row);

}  // namespace clam
