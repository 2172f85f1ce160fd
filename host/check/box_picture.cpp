// SPDX-License-Identifier: MIT
#include "box_picture.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace clam {
namespace {

using Mark = PictureBox::Mark;

constexpr double kWidth = 800, kMargin = 24, kLine = 18, kLetter = 7.2;  ///< units of the picture
constexpr double kLeastHeight = 120, kMostHeight = 1000;  ///< of the view that boxes lie in
constexpr double kRim = 0.04;                             ///< of the view, around the boxes
constexpr std::size_t kCrowd = 200, kMostLabels = 40, kMostClasses = 8, kLongestLine = 110;

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

std::size_t colour_index(double id) {
  const double count = kColours.size();
  return static_cast<std::size_t>(id - count * std::floor(id / count)) % kColours.size();
}

std::string colour(const PictureBox& box) {
  return box.mark == Mark::suspect ? kRed : kColours[colour_index(box.box.id)];
}

/// What a legend counts: all boxes that were given, drawn or not.
struct Totals {
  std::map<Mark, std::size_t> of;
  std::size_t not_finite = 0;
  std::map<double, std::size_t> classes;  ///< kept boxes of each

  explicit Totals(const std::vector<PictureBox>& boxes) {
    for (const PictureBox& box : boxes) {
      ++of[box.mark];
      not_finite += !box.box.is_finite();
      if (box.mark == Mark::kept && std::isfinite(box.box.id)) ++classes[box.box.id];
    }
  }
};

/// The boxes to draw, the most important one first.
std::vector<PictureBox> chosen(const std::vector<PictureBox>& boxes) {
  std::vector<PictureBox> chosen;
  for (const PictureBox& box : boxes) {
    if (box.box.is_finite()) chosen.push_back(box);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const PictureBox& a, const PictureBox& b) {
    return a.mark != b.mark ? a.mark > b.mark : a.box.score > b.box.score;
  });
  if (chosen.size() > kMostDrawn) chosen.resize(kMostDrawn);
  return chosen;
}

/// From the boxes' coordinates to the picture's.
class View {
 public:
  /// Suspects do not count, where there are others: one of them can be so far off that nothing else
  /// would be seen.
  View(const std::vector<PictureBox>& boxes, double top, const std::optional<PictureFile>& behind)
      : top_(top) {
    if (behind) {
      right = behind->width;
      lower = behind->height;
    } else {
      take_extents(boxes);
    }
    place();
  }

  double x(double value) const { return bounded(x_ + scale_ * value); }
  double y(double value) const { return bounded(y_ + scale_ * value); }
  double top() const { return top_; }
  double height() const { return height_; }

  double left = 0, right = 1, upper = 0, lower = 1;  ///< the boxes' extents, or the picture's

 private:
  void take_extents(const std::vector<PictureBox>& boxes) {
    const bool only_suspects = std::all_of(boxes.begin(), boxes.end(), [](const PictureBox& box) {
      return box.mark == Mark::suspect;
    });
    bool any = false;
    for (const auto& [box, mark, row] : boxes) {
      if (mark == Mark::suspect && !only_suspects) continue;
      const double x0 = std::min(box.x0, box.x1), x1 = std::max(box.x0, box.x1);
      const double y0 = std::min(box.y0, box.y1), y1 = std::max(box.y0, box.y1);
      left = any ? std::min(left, x0) : x0;
      right = any ? std::max(right, x1) : x1;
      upper = any ? std::min(upper, y0) : y0;
      lower = any ? std::max(lower, y1) : y1;
      any = true;
    }
  }

  void place() {
    const double least = 1e-6 * std::max({1.0, std::fabs(left), std::fabs(upper)});
    const double w = std::max(right - left, least), h = std::max(lower - upper, least);
    const double inside = (kWidth - 2 * kMargin) / (1 + 2 * kRim);
    height_ = std::clamp(inside * h / w, kLeastHeight, kMostHeight);
    scale_ = std::min(inside / w, height_ / h);
    height_ *= 1 + 2 * kRim;
    x_ = kWidth / 2 - scale_ * (left + right) / 2;
    y_ = top_ + height_ / 2 - scale_ * (upper + lower) / 2;
  }

  /// Viewers give up on huge numbers; what is so far outside is cut off anyway.
  static double bounded(double value) { return std::clamp(value, -1e5, 1e5); }

  double top_, height_, scale_, x_, y_;
};

std::string text(double x, double y, const std::string& words, const std::string& attributes = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y,
                     attributes.empty() ? "" : " " + attributes, escaped(words));
}

std::string rectangle(const View& view, const PictureBox& drawn) {
  const Box& box = drawn.box;
  const double x0 = view.x(std::min(box.x0, box.x1)), x1 = view.x(std::max(box.x0, box.x1));
  const double y0 = view.y(std::min(box.y0, box.y1)), y1 = view.y(std::max(box.y0, box.y1));
  const char* marks[] = {"suppressed", "kept", "suspect"};
  const char* mark = marks[static_cast<int>(drawn.mark)];
  const std::string stroke =
      drawn.mark == Mark::kept ? fmt::format(" stroke=\"{}\"", colour(drawn)) : "";
  return fmt::format(
      "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"{}/>\n", mark,
      x0, y0, x1 - x0, y1 - y0, stroke);
}

/// A kept box's class and score, or a suspect's row, on the upper edge.
std::string label(const View& view, const PictureBox& drawn, bool has_classes) {
  const Box& box = drawn.box;
  const std::string words = drawn.mark == Mark::suspect ? fmt::format("row {}", drawn.row)
                            : has_classes ? fmt::format("{:g}: {:.2f}", box.id, box.score)
                                          : fmt::format("{:.2f}", box.score);
  const double x = std::clamp(view.x(std::min(box.x0, box.x1)), kMargin, kWidth - 3 * kMargin);
  const double y =
      std::clamp(view.y(std::min(box.y0, box.y1)), view.top(), view.top() + view.height() - kLine);
  return text(x + 3, y + 13, words,
              fmt::format("class=\"label\" style=\"fill:{}\"", colour(drawn)));
}

/// Swatches and their meanings in lines, from the line `y` on; `y` becomes the line after them.
class Legend {
 public:
  explicit Legend(double y) : y_(y) {}

  /// `swatch`: attributes of its rectangle; empty: there is none.
  void entry(const std::string& words, const std::string& swatch = "") {
    const double indent = swatch.empty() ? 0 : 24;
    const double width = indent + kLetter * words.size();
    if (x_ + width > kWidth - kMargin) new_line();
    if (!swatch.empty()) {
      svg_ += fmt::format("<rect {} x=\"{:.1f}\" y=\"{:.1f}\" width=\"18\" height=\"10\"/>\n",
                          swatch, x_, y_ - 10);
    }
    svg_ += text(x_ + indent, y_, words);
    x_ += width + kMargin;
  }
  void new_line() {
    if (x_ > kMargin) x_ = kMargin, y_ += kLine;
  }
  const std::string& svg() const { return svg_; }
  double y() const { return y_; }

 private:
  std::string svg_;
  double x_ = kMargin, y_;
};

Legend legend(const BoxPicture& picture, Totals totals, std::size_t drawn, double y) {
  Legend legend(y);
  const auto count = [&](Mark mark, const std::string& name, const char* swatch) {
    if (mark != Mark::kept && totals.of[mark] == 0) return;
    legend.entry(fmt::format("{} {}", totals.of[mark], name), swatch);
  };
  count(Mark::suspect, picture.suspect, "class=\"red\"");
  count(Mark::kept, picture.kept, "class=\"black\"");
  count(Mark::suppressed, picture.suppressed, "class=\"grey\"");
  if (totals.of[Mark::kept] > 0 && picture.has_classes) legend.entry("labels are class: score");
  legend.new_line();
  std::vector<std::pair<double, std::size_t>> classes(totals.classes.begin(), totals.classes.end());
  std::stable_sort(classes.begin(), classes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  const std::size_t listed = picture.has_classes ? std::min(classes.size(), kMostClasses) : 0;
  for (std::size_t i = 0; i < listed; ++i) {
    const auto& [id, count] = classes[i];
    legend.entry(fmt::format("class {:g}: {}", id, count),
                 fmt::format("stroke=\"{}\" stroke-width=\"2\"", kColours[colour_index(id)]));
  }
  if (listed > 0 && listed < classes.size()) {
    legend.entry(fmt::format("and {} more", classes.size() - listed));
  }
  legend.new_line();
  std::vector<std::string> notes = picture.notes;
  const std::size_t finite = picture.boxes.size() - totals.not_finite;
  if (totals.not_finite > 0) {
    notes.push_back(fmt::format("{} with NaN or infinities not drawn", totals.not_finite));
  }
  if (drawn < finite)
    notes.push_back(fmt::format("{} of {} boxes drawn, the best by score", drawn, finite));
  for (const std::string& note : notes) {
    legend.entry(note);
    legend.new_line();
  }
  return legend;
}

constexpr const char* kStyle =
    "<style>\n"
    "text { font: 13px sans-serif; fill: #222 }\n"
    "rect { fill: none }\n"
    ".title { font-weight: bold; font-size: 14px }\n"
    ".small { font-size: 11px; fill: #666 }\n"
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

/// The ends of the axes, under and beside the view.
std::string axes(const View& view) {
  const double bottom = view.top() + view.height() + 14;
  const auto x_end = [&](double value, const char* anchor) {
    return text(view.x(value), bottom, fmt::format("x {:.4g}", value),
                fmt::format("class=\"small\" text-anchor=\"{}\"", anchor));
  };
  const auto y_end = [&](double value) {
    return fmt::format(
        "<text class=\"small\" transform=\"translate({:.1f} {:.1f}) rotate(-90)\" "
        "text-anchor=\"middle\">y {:.4g}</text>\n",
        kMargin - 6, view.y(value), value);
  };
  return x_end(view.left, "middle") + x_end(view.right, "middle") + y_end(view.upper) +
         y_end(view.lower);
}

/// The file itself, over the whole view. Its orientation tag, if it has one, is not followed: the
/// boxes are of its pixels as they are stored.
std::string image(const View& view, const PictureFile& file) {
  return fmt::format(
      "<image x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
      "preserveAspectRatio=\"none\" style=\"image-orientation:none\" "
      "href=\"data:{};base64,{}\"/>\n",
      view.x(0), view.y(0), view.x(view.right) - view.x(0), view.y(view.lower) - view.y(0),
      file.type, to_base64(file.bytes));
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
  const Totals totals(picture.boxes);
  double y = kMargin + 4;
  const std::string title = text(kMargin, y, picture.title, "class=\"title\"");
  const Legend under = legend(picture, totals, drawn.size(), y + kLine + 2);
  const View view(drawn, under.y() - 4, picture.behind);
  const double height = view.top() + view.height() + kMargin;
  const std::string place =
      fmt::format("x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"", kMargin,
                  view.top(), kWidth - 2 * kMargin, view.height());
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\">\n",
      kWidth, height);
  svg += kStyle;
  svg += fmt::format("<clipPath id=\"field\"><rect {}/></clipPath>\n", place);
  svg += "<rect width=\"100%\" height=\"100%\" style=\"fill:#ffffff\"/>\n" + title + under.svg();
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
  return svg + labels + "</g>\n" + axes(view) + "</svg>\n";
}

}  // namespace clam
