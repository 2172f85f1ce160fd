// SPDX-License-Identifier: MIT
// next.hpp - the OpenCL library beneath this one, which builds and runs what the script lets it.
#pragma once

namespace scripted {

/// Of the library beneath. Ends the process with a sentence where there is none.
void* next_function(const char* name);

}  // namespace scripted

/// The function of the library beneath with this one's name.
#define NEXT(function)                                                                 \
  ([] {                                                                                \
    static const auto next =                                                           \
        reinterpret_cast<decltype(&::function)>(::scripted::next_function(#function)); \
    return next;                                                                       \
  }())
