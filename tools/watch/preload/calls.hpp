// SPDX-License-Identifier: MIT
// calls.hpp - the functions that are followed.
#pragma once

namespace watch {

/// This library's function of an OpenCL name; nullptr: it is not followed.
void* own_function(const char* name);

}  // namespace watch
