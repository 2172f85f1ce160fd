// SPDX-License-Identifier: MIT
// callers.hpp - where in the program a launch comes from.
#pragma once

#include <nlohmann/json.hpp>

namespace watch {

/// The functions that are being called, innermost first, a JSON object each: of Python {"file",
/// "line", "function"} where the program is one, else of native code {"path", "offset",
/// "function"}, the offset in the file's own addresses. It may wait for Python's lock: not to be
/// called with a lock of this library's own.
nlohmann::json callers();

}  // namespace watch
