// SPDX-License-Identifier: MIT
// record_failure.hpp - a case that a test saw fail, as a bundle for the driver's authors.
#pragma once

#include "check/verify.hpp"

namespace clam::test {

/// Writes it into a folder of its own in CLAM_TEST_RECORD_FAILURES, where that is set, and says so.
void record_failure(const Plan& plan, const Tensors& inputs, const Reference& reference);

}  // namespace clam::test
