// SPDX-License-Identifier: MIT
// recorded.hpp - the folders that the preloaded library writes, read as bundles.
#pragma once

#include <string>
#include <vector>

#include "bundle/bundle.hpp"

namespace clam::watch {

/// A launch that was written, complete or cut off.
struct Recorded {
  std::string folder;
  std::int64_t process = 0, number = 0;
  bool in_flight = false;  ///< the program ended before the launch did
};

/// Those in a folder, in the order of their launches.
std::vector<Recorded> find_recorded(const std::string& folder);

/// The launch with what was in memory before as inputs, and what was there after as what is
/// expected, bit for bit. `program`: how it was called, for people. `devices`: those that are here.
/// Throws BadArgument where it is damaged or too large for a bundle.
Bundle read_recorded(const Recorded& recorded, const std::string& program,
                     const std::vector<DeviceInfo>& devices);

/// Where in the program the launch came from, innermost first: "model.py:41 in forward", or
/// "model.cpp:41 in forward" of a program with debug information, else "model+0x1234". No folders.
std::vector<std::string> callers_of(const Recorded& recorded);

}  // namespace clam::watch
