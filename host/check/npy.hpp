// SPDX-License-Identifier: MIT
// npy.hpp - tensors as NumPy's .npy files.
#pragma once

#include <string>

#include "clam/tensor.hpp"

namespace clam {

/// Reads NumPy's .npy, version 1 and 2, little-endian f4, f2 and i4, C order. f8 is rounded to f32,
/// and i8 narrowed to i32. Throws BadArgument that names the file and what is wrong with it.
HostTensor read_npy(const std::string& path);
/// The same of a file that was read; `path` is for messages.
HostTensor parse_npy(const std::string& file, const std::string& path);
/// Writes under a temporary name, syncs and renames, so the file is never half-written. Throws
/// IoError.
void write_npy(const std::string& path, const HostTensor& tensor);

}  // namespace clam
