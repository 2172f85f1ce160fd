// SPDX-License-Identifier: MIT
// clock.hpp - a clock that goes on only where the script says that something takes time: of this
// process, or in a file of all that have it.
#pragma once

#include <cstdint>
#include <string>

namespace scripted {

/// Nanoseconds. Asking takes a few, so that no loop waits for ever for the clock alone.
std::int64_t now();
/// The host does something for so long.
void pass(std::int64_t ns);
/// The host waits until then, if it is not later already.
void pass_until(std::int64_t ns);
/// From here on it is the clock in this file, which is made where it is not there.
void share_clock(const std::string& file);
/// Of the script's microseconds and the like.
std::int64_t nanoseconds(double value, double unit);

}  // namespace scripted
