// SPDX-License-Identifier: MIT
// layer.hpp - the functions beneath this library where the ICD loader has it as a layer.
#pragma once

#include "calls.hpp"

namespace watch {

/// nullptr where this library is no layer.
void* function_beneath(const char* name);

}  // namespace watch
