// SPDX-License-Identifier: MIT
// box_picture.hpp - boxes as an SVG picture, for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "box_rows.hpp"
#include "picture_file.hpp"

namespace clam {

struct PictureBox {
  enum class Mark {
    suppressed,  ///< thin, dashed, grey
    kept,        ///< in the colour of its class, with its score
    suspect,     ///< red, with its row
  };
  Box box;
  Mark mark = Mark::kept;
  std::int64_t row = 0;  ///< in its batch item
};

struct BoxPicture {
  std::string title;          ///< one line, as plain text
  std::string kept = "kept";  ///< what the legend calls each mark
  std::string suppressed = "suppressed";
  std::string suspect = "suspect";
  bool has_classes = true;
  std::vector<PictureBox> boxes;        ///< in any order
  std::vector<std::string> notes = {};  ///< further lines of the legend
  /// Drawn behind the boxes, which lie in its pixels. Boxes whose finite coordinates are all within
  /// -0.5 to 1.5 are taken as parts of its width and height.
  std::optional<PictureFile> behind = {};
};

/// At most so many boxes are drawn, suspects first, then kept and suppressed ones by score.
inline constexpr std::size_t kMostDrawn = 2000;

/// 800 units wide; the scale is that of the boxes' extents, y downwards as in images. The same
/// boxes give the same bytes. Boxes with NaN or infinities are counted, not drawn.
std::string to_svg(const BoxPicture& picture);

}  // namespace clam
