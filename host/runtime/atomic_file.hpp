// SPDX-License-Identifier: MIT
// atomic_file.hpp - files that are either whole or not there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace clam {

/// Writes under a temporary name in the same folder, syncs, renames. A path that is a device or a
/// pipe (/dev/stdout) is written in place. Throws IoError with the path and the system's reason;
/// what was there before then stays as it was.
void write_file(const std::string& path, std::string_view bytes);

/// JSON text for files and pipes; bytes of driver strings that are no UTF-8 are replaced.
std::string json_text(const nlohmann::json& value);

/// Throws IoError if write_file to this path would fail for its folder or its rights. Call it
/// before long work whose result would be lost.
void require_writable(const std::string& path);

/// The folder, and those above it, unless they are there. Throws IoError with the system's reason.
void make_folder(const std::string& path);

/// Whole file. Throws BadArgument with the path and the system's reason.
std::string read_file(const std::string& path);

}  // namespace clam
