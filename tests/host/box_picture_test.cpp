// SPDX-License-Identifier: MIT
// The SVG of boxes: whole XML, as many rectangles as there are boxes, and nothing of the user's
// text taken for markup.
#include "check/box_picture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "pattern.hpp"
#include "svg_check.hpp"

namespace clam {
namespace {

using Mark = PictureBox::Mark;
using test::count_of;

PictureBox box(double x, Mark mark = Mark::kept, double score = 0.5, double id = 0) {
  return {{id, score, x, 10, x + 20, 40}, mark, static_cast<std::int64_t>(x)};
}

std::string draw(std::vector<PictureBox> boxes, const std::string& title = "boxes") {
  BoxPicture picture;
  picture.title = title;
  picture.boxes = std::move(boxes);
  const std::string svg = to_svg(picture);
  EXPECT_EQ(test::xml_fault(svg), "");
  return svg;
}

TEST(box_picture, the_checker_sees_broken_xml) {
  EXPECT_EQ(test::xml_fault("<?xml version=\"1.0\"?><a b=\"1\"><c/>text</a>\n"), "");
  for (const char* broken :
       {"<a>", "<a></b>", "<a b=1/>", "<a b=\"<\"/>", "<a>&x</a>", "<a>a & b</a>", "<a/><b/>",
        "text", "", "<a b=\"1/>", "</a>", "<a>\x01</a>"}) {
    EXPECT_NE(test::xml_fault(broken), "") << broken;
  }
}

TEST(box_picture, a_rectangle_a_box) {
  const std::string svg =
      draw({box(0), box(30), box(60, Mark::suppressed), box(90, Mark::suspect)});
  EXPECT_EQ(count_of(svg, "<rect class=\"kept\""), 2u);
  EXPECT_EQ(count_of(svg, "<rect class=\"suppressed\""), 1u);
  EXPECT_EQ(count_of(svg, "<rect class=\"suspect\""), 1u);
  for (const char* words : {">2 kept<", ">1 suppressed<", ">1 suspect<", ">0: 0.50<", ">row 90<"}) {
    EXPECT_EQ(count_of(svg, words), words == std::string(">0: 0.50<") ? 2u : 1u) << words;
  }
  EXPECT_EQ(svg, draw({box(0), box(30), box(60, Mark::suppressed), box(90, Mark::suspect)}));
}

TEST(box_picture, no_boxes_at_all) {
  const std::string svg = draw({});
  EXPECT_EQ(count_of(svg, ">0 kept<"), 1u);
}

TEST(box_picture, text_is_no_markup) {
  const std::string svg = draw({box(0)}, "a<b & \"c\".npy\x1b[31m\xff");
  EXPECT_EQ(count_of(svg, "a&lt;b &amp; &quot;c&quot;.npy?[31m?"), 1u);
  EXPECT_EQ(count_of(draw({}, std::string(5000, 'x')), std::string(111, 'x')), 0u);
}

TEST(box_picture, numbers_that_cannot_be_drawn) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  PictureBox bad[] = {box(0), box(0), box(0)};
  bad[0].box.x0 = nan, bad[1].box.y1 = inf, bad[2].box.id = nan;
  const std::string svg = draw({bad[0], bad[1], bad[2], box(0)});
  EXPECT_EQ(count_of(svg, "<rect class=\"kept\""), 1u);
  EXPECT_EQ(count_of(svg, "3 with NaN or infinities not drawn"), 1u);
  PictureBox huge = box(0), point = box(0);
  huge.box.x1 = 3e38, huge.box.y0 = -3e38, huge.box.id = 3e38;
  point.box.x1 = point.box.x0, point.box.y1 = point.box.y0;
  for (const std::string& text : {draw({huge, box(5)}), draw({point}), draw({huge})}) {
    const auto places = test::matches(text, " (?:x|y|width|height)=\"([^\"]*)\"");
    for (const test::Groups& place : places) {
      EXPECT_FALSE(test::match(place[1], "-?[0-9]+(\\.[0-9]+)?%?").empty()) << place[0];
    }
    EXPECT_GT(places.size(), 8u);
  }
}

TEST(box_picture, a_suspect_far_off_does_not_shrink_the_others) {
  PictureBox far = box(0, Mark::suspect);
  far.box.x1 = 1e7;
  const std::string alone = draw({box(0), box(60)}), beside = draw({box(0), box(60), far});
  const auto widths = [](const std::string& svg) {
    const std::size_t at = svg.find("<rect class=\"kept\"");
    return svg.substr(svg.find("width=", at), 14);
  };
  EXPECT_EQ(widths(alone), widths(beside));
}

TEST(box_picture, thousands_of_boxes_are_cut_by_score) {
  std::vector<PictureBox> boxes;
  for (int i = 0; i < 3000; ++i)
    boxes.push_back(box(i, i % 2 ? Mark::suppressed : Mark::kept, i / 3000.0));
  const std::string svg = draw(boxes);
  EXPECT_EQ(count_of(svg, "<rect class=\"kept\""), 1500u);
  EXPECT_EQ(count_of(svg, "<rect class=\"suppressed\""), 500u);
  EXPECT_EQ(count_of(svg, "2000 of 3000 boxes drawn, the best by score"), 1u);
  EXPECT_EQ(count_of(svg, ">1500 kept<"), 1u);
  EXPECT_EQ(count_of(svg, "class=\"label\""), 40u);
}

}  // namespace
}  // namespace clam
