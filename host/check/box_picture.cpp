// SPDX-License-Identifier: MIT
#include "box_picture.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

namespace clam {
namespace {

using Mark = PictureBox::Mark;

constexpr double kWidth = 800, kMargin = 24, kLine = 18, kLetter = 7.2;  ///< units of the picture
constexpr double kLeastHeight = 120, kMostHeight = 1000;  ///< of the view that boxes lie in
constexpr double kRim = 0.04;                             ///< of the view, around the boxes
constexpr std::size_t kCrowd = 200, kMostLabels = 40, kLongestLine = 110;

/// Dark enough for white ground, and apart for most eyes.
constexpr std::array<const char*, 8> kColours = {"#1f6fb4", "#2a8a3e", "#8e4fb0", "#c2670c",
                                                 "#0f8b8d", "#7a5230", "#c23b87", "#5a6b1f"};
constexpr const char* kRed = "#d00000";

/// Text between tags or in quotes: what XML means something by is written out, and what a file must
/// not hold is a question mark.
std::string escaped(const std::string& text) {
  static const std::map<char, const char*> kMarkup = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
  std::string safe;
  for (const char c : text.substr(0, kLongestLine)) {
    const auto markup = kMarkup.find(c);
    const bool printable = c >= ' ' && c <= '~';
    safe += markup != kMarkup.end() ? markup->second : std::string(1, printable ? c : '?');
  }
  return text.size() > kLongestLine ? safe + "..." : safe;
}

std::string colour(const PictureBox& box) {
  if (box.mark == Mark::suspect) return kRed;
  const double count = kColours.size(), id = box.box.id;
  const auto place = static_cast<std::size_t>(id - count * std::floor(id / count));
  return kColours[place % kColours.size()];
}

/// The boxes to draw, the most important one first; each from its lower corner to its higher.
std::vector<PictureBox> chosen(const std::vector<PictureBox>& boxes) {
  std::vector<PictureBox> chosen;
  for (const PictureBox& given : boxes) {
    if (!given.box.is_finite()) continue;
    Box& box = chosen.emplace_back(given).box;
    std::tie(box.x0, box.x1) = std::minmax({box.x0, box.x1});
    std::tie(box.y0, box.y1) = std::minmax({box.y0, box.y1});
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const PictureBox& a, const PictureBox& b) {
    return a.mark != b.mark ? a.mark > b.mark : a.box.score > b.box.score;
  });
  if (chosen.size() > kMostDrawn) chosen.resize(kMostDrawn);
  return chosen;
}

/// What is shown of the boxes' plane: the picture behind them, or what they cover. Suspects do not
/// count, where there are others: one of them can be so far off that nothing else would be seen.
Box shown(const std::vector<PictureBox>& boxes, const std::optional<PictureFile>& behind) {
  if (behind) return {0, 0, 0, 0, double(behind->width), double(behind->height)};
  if (boxes.empty()) return {0, 0, 0, 0, 1, 1};
  Box all = boxes.back().box;  // no suspect, where there are others
  for (const auto& [box, mark, row] : boxes) {
    if (mark == Mark::suspect && boxes.back().mark != Mark::suspect) continue;
    all.x0 = std::min(all.x0, box.x0), all.x1 = std::max(all.x1, box.x1);
    all.y0 = std::min(all.y0, box.y0), all.y1 = std::max(all.y1, box.y1);
  }
  return all;
}

/// From the boxes' coordinates to the picture's, whose part from `top` on shows them.
class View {
 public:
  View(const Box& shown, double top) : top(top) {
    const double least = 1e-6 * std::max({1.0, std::fabs(shown.x0), std::fabs(shown.y0)});
    const double w = std::max(shown.x1 - shown.x0, least), h = std::max(shown.y1 - shown.y0, least);
    const double inside = (kWidth - 2 * kMargin) / (1 + 2 * kRim);
    const double high = std::clamp(inside * h / w, kLeastHeight, kMostHeight);
    scale_ = std::min(inside / w, high / h);
    height = high * (1 + 2 * kRim);
    x_ = kWidth / 2 - scale_ * (shown.x0 + shown.x1) / 2;
    y_ = top + height / 2 - scale_ * (shown.y0 + shown.y1) / 2;
  }

  double x(double value) const { return bounded(x_ + scale_ * value); }
  double y(double value) const { return bounded(y_ + scale_ * value); }
  /// The attributes of a rectangle.
  std::string place(double x0, double y0, double x1, double y1) const {
    return fmt::format("x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"", x(x0), y(y0),
                       x(x1) - x(x0), y(y1) - y(y0));
  }

  double top, height;

 private:
  /// Viewers give up on huge numbers; what is so far outside is cut off anyway.
  static double bounded(double value) { return std::clamp(value, -1e5, 1e5); }

  double scale_, x_, y_;
};

std::string text(double x, double y, const std::string& words, const std::string& attributes = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y,
                     attributes.empty() ? "" : " " + attributes, escaped(words));
}

std::string rectangle(const View& view, const PictureBox& drawn) {
  const auto& [id, score, x0, y0, x1, y1] = drawn.box;
  const char* marks[] = {"suppressed", "kept", "suspect"};
  const std::string stroke =
      drawn.mark == Mark::kept ? fmt::format(" stroke=\"{}\"", colour(drawn)) : "";
  return fmt::format("<rect class=\"{}\" {}{}/>\n", marks[static_cast<int>(drawn.mark)],
                     view.place(x0, y0, x1, y1), stroke);
}

/// A kept box's class and score, or a suspect's row, on the upper edge.
std::string label(const View& view, const PictureBox& drawn, bool has_classes) {
  const Box& box = drawn.box;
  const std::string words = drawn.mark == Mark::suspect ? fmt::format("row {}", drawn.row)
                            : has_classes ? fmt::format("{:g}: {:.2f}", box.id, box.score)
                                          : fmt::format("{:.2f}", box.score);
  const double x = std::clamp(view.x(box.x0), kMargin, kWidth - 3 * kMargin);
  const double y = std::clamp(view.y(box.y0), view.top, view.top + view.height - kLine);
  return text(x + 3, y + 13, words,
              fmt::format("class=\"label\" style=\"fill:{}\"", colour(drawn)));
}

/// How many boxes there are of each mark, drawn or not, and notes below. The first line is at `y`,
/// which becomes the line after the last one.
std::string legend(const BoxPicture& picture, std::size_t drawn, const Box& shown, double& y) {
  std::map<Mark, std::size_t> counts;
  std::size_t finite = 0;
  for (const PictureBox& box : picture.boxes) {
    ++counts[box.mark];
    finite += box.box.is_finite();
  }
  std::string svg;
  double x = kMargin;
  const auto count = [&](Mark mark, const std::string& name, const char* swatch) {
    if (mark != Mark::kept && counts[mark] == 0) return;
    const std::string words = fmt::format("{} {}", counts[mark], name);
    svg +=
        fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"18\" height=\"10\"/>\n",
                    swatch, x, y - 10);
    svg += text(x + 24, y, words);
    x += 24 + kLetter * words.size() + kMargin;
  };
  count(Mark::suspect, picture.suspect, "red");
  count(Mark::kept, picture.kept, "black");
  count(Mark::suppressed, picture.suppressed, "grey");
  if (counts[Mark::kept] > 0 && picture.has_classes) svg += text(x, y, "labels are class: score");
  std::vector<std::string> notes = picture.notes;
  notes.push_back(fmt::format("x from {:.4g} to {:.4g}, y from {:.4g} down to {:.4g}", shown.x0,
                              shown.x1, shown.y0, shown.y1));
  if (finite < picture.boxes.size()) {
    notes.push_back(
        fmt::format("{} with NaN or infinities not drawn", picture.boxes.size() - finite));
  }
  if (drawn < finite) {
    notes.push_back(fmt::format("{} of {} boxes drawn, the best by score", drawn, finite));
  }
  for (const std::string& note : notes) svg += text(kMargin, y += kLine, note);
  y += kLine;
  return svg;
}

constexpr const char* kStyle =
    "<style>\n"
    "text { font: 13px sans-serif; fill: #222 }\n"
    "rect { fill: none }\n"
    ".title { font-weight: bold; font-size: 14px }\n"
    ".label { font-size: 12px; font-weight: bold; paint-order: stroke; stroke: #fff; "
    "stroke-width: 3px }\n"
    ".kept { stroke-width: 2px }\n"
    ".crowd .kept { stroke-width: 1px }\n"
    ".crowd .suppressed { stroke-width: 0.4px }\n"
    ".suppressed { stroke: #9a9a9a; stroke-width: 0.8px; stroke-dasharray: 4 3 }\n"
    ".suspect { stroke: #d00000; stroke-width: 2.5px }\n"
    ".frame { stroke: #cccccc }\n"
    ".grey { stroke: #9a9a9a; stroke-dasharray: 4 3 }\n"
    ".black { stroke: #222; stroke-width: 2px }\n"
    ".red { stroke: #d00000; stroke-width: 2.5px }\n"
    "</style>\n";

/// The file itself, over the whole view. Its orientation tag, if it has one, is not followed: the
/// boxes are of its pixels as they are stored.
std::string image(const View& view, const PictureFile& file) {
  return fmt::format(
      "<image {} preserveAspectRatio=\"none\" style=\"image-orientation:none\" "
      "href=\"data:{};base64,{}\"/>\n",
      view.place(0, 0, file.width, file.height), file.type, to_base64(file.bytes));
}

/// There are boxes, and all are parts of a picture rather than pixels.
bool are_relative(const std::vector<PictureBox>& boxes) {
  const auto is_part = [](double value) { return value >= -0.5 && value <= 1.5; };
  return !boxes.empty() && std::all_of(boxes.begin(), boxes.end(), [&](const PictureBox& drawn) {
    const Box& box = drawn.box;
    return !box.is_finite() ||
           (is_part(box.x0) && is_part(box.y0) && is_part(box.x1) && is_part(box.y1));
  });
}

/// The boxes in pixels of the picture behind them, and a note of how they were taken.
BoxPicture in_pixels(BoxPicture picture) {
  const PictureFile& behind = *picture.behind;
  const std::string size = fmt::format("{} x {}", behind.width, behind.height);
  if (!are_relative(picture.boxes)) {
    picture.notes.push_back("boxes in pixels of a picture of " + size);
    return picture;
  }
  picture.notes.push_back("boxes of 0 to 1, in parts of a picture of " + size);
  for (PictureBox& drawn : picture.boxes) {
    for (double* x : {&drawn.box.x0, &drawn.box.x1}) *x *= behind.width;
    for (double* y : {&drawn.box.y0, &drawn.box.y1}) *y *= behind.height;
  }
  return picture;
}

}  // namespace

std::string to_svg(const BoxPicture& given) {
  const BoxPicture picture = given.behind ? in_pixels(given) : given;
  const std::vector<PictureBox> drawn = chosen(picture.boxes);
  const Box extents = shown(drawn, picture.behind);
  double y = kMargin + 4;
  const std::string title = text(kMargin, y, picture.title, "class=\"title\"");
  y += kLine + 2;
  const std::string under = legend(picture, drawn.size(), extents, y);
  const View view(extents, y - 4);
  const double height = view.top + view.height + kMargin;
  const std::string place =
      fmt::format("x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"", kMargin, view.top,
                  kWidth - 2 * kMargin, view.height);
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\">\n",
      kWidth, height);
  svg += kStyle;
  svg += fmt::format("<clipPath id=\"field\"><rect {}/></clipPath>\n", place);
  svg += "<rect width=\"100%\" height=\"100%\" style=\"fill:#ffffff\"/>\n" + title + under;
  svg += fmt::format("<rect class=\"frame\" {}/>\n<g clip-path=\"url(#field)\"{}>\n", place,
                     drawn.size() > kCrowd ? " class=\"crowd\"" : "");
  if (picture.behind) svg += image(view, *picture.behind);
  for (auto box = drawn.rbegin(); box != drawn.rend(); ++box) svg += rectangle(view, *box);
  std::string labels;  // over all boxes, the best one on top
  std::size_t labelled = 0;
  for (const PictureBox& box : drawn) {
    if (box.mark == Mark::suppressed || ++labelled > kMostLabels) break;
    labels = label(view, box, picture.has_classes) + labels;
  }
  return svg + labels + "</g>\n</svg>\n";
}

}  // namespace clam
