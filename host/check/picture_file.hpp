// SPDX-License-Identifier: MIT
// picture_file.hpp - a PNG or JPEG as it lies in its file, to be drawn behind boxes.
#pragma once

#include <string>

namespace clam {

/// The bytes of a picture, and what its header says of them. Pixels are not decoded.
struct PictureFile {
  std::string type;  ///< "image/png" or "image/jpeg"
  int width = 0, height = 0;
  std::string bytes;
};

/// Throws BadArgument, one sentence that begins with `name`, for bytes that are no whole PNG or
/// JPEG of 1 to 65535 pixels each way.
PictureFile parse_picture(const std::string& name, std::string bytes);

/// The same for a file of at most 64 MiB. Throws BadArgument.
PictureFile read_picture(const std::string& file);

std::string to_base64(const std::string& bytes);

}  // namespace clam
