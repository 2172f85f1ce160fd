// SPDX-License-Identifier: MIT
// number_text.hpp - floats as text, the same with every version of every library: problems and
// plans are compared by their text.
#pragma once

#include <string>

namespace clam {

/// The fewest digits that read back as `value`: "0.25", "16777216", "1e-05" (below 0.0001 and from
/// 1e16 on with an exponent), "inf", "-inf", "nan".
std::string number_text(float value);

/// The same as a literal of OpenCL C: "1.0f", "0.25f", "1e-05f", "-INFINITY". No NaN.
std::string float_literal(float value);

}  // namespace clam
