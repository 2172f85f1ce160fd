// SPDX-License-Identifier: MIT
// lift.hpp - the kernels of one plan for another runtime: .cl files for it alone, its launches as a
// C header, a C host that runs and checks them, and what that needs.
#pragma once

#include <string>

#include "bundle/bundle.hpp"

namespace clam {

/// Each kernel file of the bundle's plan as one of its own, for its options alone. Throws
/// BadArgument for a file that is not understood.
void lift_kernels(Bundle& bundle, bool keeps_dead = false);

/// Inputs of the problem's usual data set and what is right for them, unless they exceed
/// kMostBytes. Returns whether they are there.
bool take_usual_data(Bundle& bundle);

/// The .cl files, launches.h, host.c, and the tensors as .npy, as they lie in their buffers.
void write_lifted(const std::string& folder, const Bundle& bundle);

}  // namespace clam
