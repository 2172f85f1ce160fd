// SPDX-License-Identifier: MIT
// The figures of kernels/FIGURES.md are those of tests/mali/mali_expectations.txt.
// CLAM_UPDATE_GOLDEN=1 writes them anew, and so does `clam mali --figures kernels/FIGURES.md`.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include "check/manifest.hpp"
#include "clam/error.hpp"
#include "clam/kernels.hpp"
#include "command.hpp"
#include "mali/figures.hpp"
#include "pattern.hpp"
#include "runtime/atomic_file.hpp"
#include "test_errors.hpp"

namespace clam::mali {
namespace {

const std::string kTree = CLAM_SOURCE_DIR;
const std::string kContracts = kTree + "/kernels/README.md";
const std::string kFigures = kTree + "/kernels/FIGURES.md";
const std::string kExpectations = kTree + "/tests/mali/mali_expectations.txt";

Expectations tree_expectations() {
  return parse_expectations(read_file(kExpectations), kExpectations);
}

std::string table_of(const std::string& op, const std::string& lines) {
  return figures_table(find_op(op), parse_expectations(lines, "there"));
}

/// The text without what is generated.
std::string by_hand(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  bool generated = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("<!-- figures of ", 0) == 0) generated = true;
    if (!generated) result += line + "\n";
    if (line == "<!-- end of figures -->") generated = false;
  }
  return result;
}

TEST(mali, figures_of_the_page_are_those_of_the_expectations) {
  const std::string anew = with_figures(read_file(kFigures), tree_expectations());
  const char* update = std::getenv("CLAM_UPDATE_GOLDEN");
  if (update && std::string(update) == "1") write_file(kFigures, anew);
  EXPECT_EQ(read_file(kFigures), anew)
      << "if this is meant: build/clam mali --figures kernels/FIGURES.md";
}

TEST(mali, figures_of_every_kernel_have_words_beside_them) {
  const std::string text = read_file(kContracts);
  for (const std::string& file : embedded_files()) {
    for (const KernelTags& kernel : read_tags(KernelFiles().get(file)).kernels) {
      EXPECT_TRUE(test::has_pattern(text, "\\b" + kernel.name + "\\b"))
          << kernel.name << " of " << file;
    }
  }
}

/// From the op's heading to the next; ops in front of nms have its room.
std::string room_of(const std::string& op, const std::string& text) {
  const std::size_t begin = text.find("\n## " + op + "\n");
  if (begin == text.npos) return "";
  return text.substr(begin, text.find("\n## ", begin + 1) - begin);
}

TEST(mali, figures_stand_beside_what_was_tried_and_contracts_have_a_picture) {
  const std::string figures = read_file(kFigures), contracts = read_file(kContracts);
  for (const Op* op : all_ops()) {
    const std::string name = op->name.substr(op->name.rfind("_nms") + 1);
    const std::string room = room_of(name, figures), contract = room_of(name, contracts);
    EXPECT_NE(contract.find("\n```text\n"), contract.npos) << op->name;
    EXPECT_NE(room.find("<!-- figures of " + name + " -->\n"), room.npos) << op->name;
    EXPECT_TRUE(test::has_pattern(room, "Tried and not taken|Nothing else was tried")) << op->name;
  }
}

/// A define that is renamed in its file would be lost in the tables.
TEST(mali, figures_are_told_apart_by_defines_that_exist) {
  std::set<std::string> known;
  for (const std::string& file : embedded_files()) {
    for (const DefineTag& define : read_tags(KernelFiles().get(file)).defines) {
      known.insert(define.name);
    }
  }
  for (const std::string& name : figures_defines()) EXPECT_EQ(known.count(name), 1u) << name;
}

constexpr const char* kDense =
    "gpu g610  Mesa 1\n"
    "300 16/40 full - dense.cl:dense_packed -DDENSE_M0=1 -DDENSE_LX=8\n"
    "1611 256/337 half - dense.cl:dense_packed -DDENSE_M0=4 -DDENSE_N0=8 -DDENSE_BIAS=1\n"
    "1600 256/337 half - dense.cl:dense_packed -DDENSE_M0=4 -DDENSE_N0=8\n"
    "1670 256/341 half - dense.cl:dense_packed -DDENSE_M0=4 -DDENSE_N0=8 -DDENSE_LDX=9\n"
    "1650 256/341 half - dense.cl:dense_packed -DDENSE_M0=4 -DDENSE_N0=8 -DDENSE_LDX=8\n"
    "1700 256/320 half - dense.cl:dense_packed -DCLAM_F16 -DDENSE_M0=6 -DDENSE_ACC=1\n"
    "1800 256/200 half - dense.cl:dense_packed -DCLAM_F16 -DDENSE_M0=6 -DDENSE_ACC=2\n"
    "gpu g52  Mesa 1\n"
    "900 64/80 full - dense.cl:dense_packed -DDENSE_M0=4\n";

TEST(mali, figures_a_row_is_a_kernel_with_the_tiles_that_do_best) {
  EXPECT_EQ(table_of("dense", kDense),
            "| Mesa 1 | of | tile | G610 | G52 |\n"
            "|---|---|---|---|---|\n"
            "| dense_packed | f32 | M0=4 |  | .80 900 |\n"
            "| dense_packed | f32 | M0=4 N0=8 | .75 1650h |  |\n"
            "| dense_packed | f16 acc=chunk | M0=6 | .80 1700h |  |\n"
            "| dense_packed | f16 acc=f16 | M0=6 | 1.28 1800h |  |\n");
}

TEST(mali, figures_halves_share_a_row_where_they_are_alike) {
  const std::string f32 = "gpu g610 Mesa 1\n769 1/51 full - nms.cl:nms_mask -DNMS_WG=64\n";
  const std::string f16 = " 1/51 full - nms.cl:nms_mask -DNMS_WG=64 -DCLAM_F16\n";
  EXPECT_EQ(table_of("nms", f32 + "775" + f16),
            "| Mesa 1 | of | tile | G610 |\n|---|---|---|---|\n"
            "| nms_mask | f32, f16 |  | 769 (51) |\n");
  EXPECT_NE(table_of("nms", f32 + "900" + f16).find("| nms_mask | f16 |  | 900 (51) |"),
            std::string::npos);
}

TEST(mali, figures_halves_have_a_row_of_their_own_where_they_alone_fail) {
  const std::string figures =
      "gpu g610 Mesa 1\n769 1/51 full - nms.cl:nms_mask -DNMS_WG=64\n"
      "769 1/51 full - nms.cl:nms_mask -DNMS_WG=64 -DCLAM_F16\n";
  const auto table = [&](const std::string& known) { return table_of("nms", known + figures); };
  const std::string halves = "cannot g610 nms_mask:f16 2026-11-21 it spills\n";
  EXPECT_NE(table("").find("| nms_mask | f32, f16 |  | 769 (51) |"), std::string::npos);
  EXPECT_NE(table(halves).find("| nms_mask | f32 |  | 769 (51) |"), std::string::npos);
  EXPECT_NE(table(halves).find("| nms_mask | f16 |  | 769 (51) s |"), std::string::npos);
  const std::string both = "cannot g610 nms_mask 2026-11-21 it spills\n";
  EXPECT_NE(table(both).find("| nms_mask | f32, f16 |  | 769 (51) s |"), std::string::npos);
}

TEST(mali, figures_strides_have_rows_and_known_failures_a_mark) {
  const std::string table =
      table_of("conv2d",
               "cannot g610 conv2d_3x3:f16 2026-11-21 it spills\ngpu g610 Mesa 1\n"
               "90 9/20 half - conv2d_3x3.cl:conv2d_3x3 -DCONV2D_VECTORS=2 -DCONV2D_STRIDE=1\n"
               "95 9/30 half - conv2d_3x3.cl:conv2d_3x3 -DCLAM_F16 -DCONV2D_VECTORS=2 "
               "-DCONV2D_STRIDE=1 -DCONV2D_CHUNK=4\n"
               "99 9/25 half - conv2d_3x3.cl:conv2d_3x3 -DCONV2D_VECTORS=2 -DCONV2D_STRIDE=2\n");
  EXPECT_NE(table.find("| conv2d_3x3 | f32 | VECTORS=2 STRIDE=1 | .45 90h |\n"), table.npos)
      << table;
  EXPECT_NE(table.find("| conv2d_3x3 | f32 | VECTORS=2 STRIDE=2 | .36 99h |\n"), table.npos)
      << table;
  EXPECT_NE(table.find("| f16 acc=chunk | VECTORS=2 STRIDE=1 | .30 95h s |\n"), table.npos)
      << table;
}

TEST(mali, figures_a_section_is_written_anew_and_the_rest_is_left) {
  const Expectations expectations = parse_expectations(kDense, "there");
  const std::string text = "# a\n<!-- figures of dense -->\nold\n<!-- end of figures -->\nb\n";
  const std::string anew = with_figures(text, expectations);
  EXPECT_EQ(by_hand(anew), "# a\nb\n");
  EXPECT_EQ(anew.find("old"), anew.npos);
  EXPECT_NE(anew.find(figures_table(find_op("dense"), expectations)), anew.npos);
  EXPECT_EQ(with_figures(anew, expectations), anew);
  Expectations other = expectations;
  other.figures.begin()->second.issued += 1;  // the one of G52
  EXPECT_NE(with_figures(anew, other), anew);
}

TEST(mali, figures_sections_that_cannot_be_written_are_refused) {
  const Expectations none;
  const auto write = [&](const std::string& text) { return with_figures(text, none); };
  EXPECT_THROWS_SAYING(write("# a\n"), BadArgument, "there is no section");
  EXPECT_THROWS_SAYING(write("<!-- figures of dense -->\n"), BadArgument,
                       "the figures of 'dense' do not end");
  EXPECT_THROWS_SAYING(write("<!-- figures of dense -->\n<!-- figures of nms -->\n"
                             "<!-- end of figures -->\n"),
                       BadArgument, "the figures of 'dense' do not end");
  EXPECT_THROWS_SAYING(write("<!-- figures of dens -->\n<!-- end of figures -->\n"), BadArgument,
                       "unknown op 'dens'");
}

}  // namespace
}  // namespace clam::mali
