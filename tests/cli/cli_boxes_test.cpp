// SPDX-License-Identifier: MIT
// The command line for wrong boxes: `clam diagnose`, and the pictures of `clam run --svg`.
#include "check/npy.hpp"
#include "run_clam.hpp"
#include "svg_check.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

/// Five boxes and a row of -1; `score` is that of row 1.
HostTensor five_boxes(double score, Dtype dtype = Dtype::f32) {
  HostTensor boxes(dtype, {1, 6, 6});
  for (int row = 0; row < 6; ++row) {
    const double x = 60.0 * row;
    const double values[] = {row % 2 + 0.0, row == 1 ? score : 0.9 - 0.1 * row, x, 20, x + 50, 90};
    for (int i = 0; i < 6; ++i) boxes.set(row * 6 + i, row == 5 ? -1 : values[i]);
  }
  return boxes;
}

// ---- diagnose ----

TEST(cli, diagnose_finds_nothing_in_good_boxes) {
  const TemporaryFolder folder;
  for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
    write_npy(folder.file("b.npy"), five_boxes(0.8, dtype));
    const Finished finished = run_clam({"diagnose", folder.file("b.npy"), folder.file("b.npy")});
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_TRUE(contains(finished.out, "5 valid, 1 of -1")) << finished.out;
    EXPECT_TRUE(contains(finished.out, "no known fault shows")) << finished.out;
  }
}

TEST(cli, diagnose_names_a_fault_its_rows_and_what_to_do) {
  const TemporaryFolder folder;
  const std::string bad = folder.file("bad.npy"), good = folder.file("good.npy");
  write_npy(bad, five_boxes(1.58));
  write_npy(good, five_boxes(0.8));
  const Finished text = run_clam({"diagnose", bad});
  EXPECT_EQ(text.code, 1);
  for (const char* words :
       {"\nstale_rows (hint): 1 row looks like one of another tensor", "  row 1: 1 1.58 60",
        "next: ", "`clam verify \"get_valid_counts n=6 dtype=f32\""}) {
    EXPECT_TRUE(contains(text.out, words)) << words << "\n" << text.out;
  }
  const Finished finished = run_clam({"diagnose", bad, good, "--json", "-"});
  EXPECT_EQ(finished.code, 1);
  const json report = parse_out(finished);
  EXPECT_EQ(report["clam_diagnose"], 1);
  EXPECT_EQ(report["valid"], 5);
  ASSERT_EQ(report["findings"].size(), 2u) << report;
  EXPECT_EQ(report["findings"][0]["signature"], "stale_rows");
  EXPECT_EQ(report["findings"][0]["rows"][0]["row"], 1);
  EXPECT_EQ(report["findings"][1]["signature"], "lost_rows");
  EXPECT_EQ(report["findings"][1]["sure"], "certain");
}

TEST(cli, diagnose_takes_other_formats) {
  const TemporaryFolder folder;
  HostTensor boxes(Dtype::f32, {3, 5});
  const double values[] = {0, 0, 9, 9, 0.9, 20, 20, 40, 50, 0.8, 60, 60, 90, 99, 0.95};
  for (int i = 0; i < 15; ++i) boxes.set(i, values[i]);
  write_npy(folder.file("b.npy"), boxes);
  const std::vector<std::string> words{
      "diagnose", folder.file("b.npy"), "--id-index", "-1", "--score-index",
      "4",        "--coord-start",      "0"};
  EXPECT_EQ(run_clam(words).code, 0) << run_clam(words).out;
  std::vector<std::string> nms = words;
  nms.insert(nms.end(), {"--format", "nms"});
  const Finished finished = run_clam(nms);
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(contains(finished.out, "not_by_score (certain)")) << finished.out;
  nms.back() = "yolo";
  expect_refusal(run_clam(nms), 2, "unknown format 'yolo'; clam knows rows");
}

TEST(cli, diagnose_refuses_what_are_no_boxes) {
  const TemporaryFolder folder;
  const std::string file = folder.file("b.npy"), other = folder.file("o.npy");
  write_npy(file, five_boxes(0.8));
  expect_refusal(run_clam({"diagnose"}), 2, "diagnose what? Give a .npy file");
  expect_refusal(run_clam({"diagnose", folder.file("no.npy")}), 2, "No such file");
  expect_refusal(run_clam({"diagnose", file, folder.path()}), 2, "it is a folder");
  expect_refusal(run_clam({"diagnose", file, "--score-index", "9"}), 2, "score-index 9 is outside");
  expect_refusal(run_clam({"diagnose", file, "--svg", "/dev/null/b.svg"}), 2, "cannot write");
  write_npy(other, HostTensor(Dtype::f32, {2, 6, 6}));
  expect_refusal(run_clam({"diagnose", file, other}), 2, "the good rows are 2x6x6");
  write_npy(other, HostTensor(Dtype::f32, {36}));
  expect_refusal(run_clam({"diagnose", other}), 2, "which are no box rows");
  const std::string bytes = read_file(file);
  for (const std::string& hostile : {std::string(), bytes.substr(0, 60),
                                     bytes.substr(0, bytes.size() - 1), "PK\x03\x04" + bytes}) {
    write_file(other, hostile);
    expect_refusal(run_clam({"diagnose", other}), 2, "not a usable .npy file");
  }
}

TEST(cli, diagnose_draws_suspects_red) {
  const TemporaryFolder folder;
  write_npy(folder.file("a&b.npy"), five_boxes(1.58));
  const Finished finished =
      run_clam({"diagnose", folder.file("a&b.npy"), "--svg", folder.file("b.svg")});
  EXPECT_EQ(finished.code, 1) << finished.err;
  const std::string svg = read_file(folder.file("b.svg"));
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_EQ(count_of(svg, "<rect class=\"kept\""), 4u);
  EXPECT_EQ(count_of(svg, "<rect class=\"suspect\""), 1u);
  EXPECT_EQ(count_of(svg, "stale_rows (hint): 1 row<"), 1u);
  EXPECT_EQ(count_of(svg, "a&amp;b.npy"), 1u);
}

// ---- run --svg ----

/// Three objects of two classes: rows 1 and 4 are killed by rows 0 and 3; row 5 has no class.
HostTensor detections() {
  HostTensor data(Dtype::f32, {1, 6, 6});
  const double rows[6][6] = {{0, 0.9, 10, 10, 110, 90},   {0, 0.8, 12, 12, 112, 92},
                             {1, 0.7, 10, 10, 110, 90},   {1, 0.6, 200, 40, 300, 240},
                             {1, 0.5, 205, 45, 305, 245}, {-1, 0, 400, 400, 500, 500}};
  for (std::int64_t i = 0; i < data.size(); ++i) data.set(i, rows[i / 6][i % 6]);
  return data;
}

/// The numbers of kept and suppressed boxes in the picture of a run.
std::pair<std::size_t, std::size_t> drawn(const TemporaryFolder& folder, const std::string& problem,
                                          const std::vector<std::string>& inputs) {
  const std::string file = folder.file("out.svg");
  std::vector<std::string> words{"run", problem, "--svg", file, "--in"};
  words.insert(words.end(), inputs.begin(), inputs.end());
  const Finished finished = run_clam(words);
  EXPECT_EQ(finished.code, 0) << finished.err;
  const std::string svg = read_file(file);
  EXPECT_EQ(xml_fault(svg), "");
  run_clam(words);
  EXPECT_EQ(read_file(file), svg) << "the same boxes, another picture";
  return {count_of(svg, "<rect class=\"kept\""), count_of(svg, "<rect class=\"suppressed\"")};
}

TEST(cli, run_draws_kept_and_suppressed_boxes) {
  CLAM_NEEDS_DEVICE();
  using Pair = std::pair<std::size_t, std::size_t>;
  const TemporaryFolder folder;
  HostTensor count(Dtype::i32, {1}), indices(Dtype::i32, {1, 6});
  count.set(0, 5);
  for (int i = 0; i < 6; ++i) indices.set(i, 100 + i);
  write_npy(folder.file("d.npy"), detections());
  write_npy(folder.file("c.npy"), count);
  write_npy(folder.file("i.npy"), indices);
  const std::string data = "data=" + folder.file("d.npy"), counts = "count=" + folder.file("c.npy");
  EXPECT_EQ(drawn(folder, "get_valid_counts n=6 dtype=f32", {data}), Pair(5, 0));
  EXPECT_EQ(drawn(folder, "get_valid_counts n=6 dtype=f32 score_threshold=0.65", {data}),
            Pair(3, 0));
  EXPECT_EQ(drawn(folder, "nms n=6 dtype=f32", {data, counts}), Pair(3, 2));
  EXPECT_EQ(drawn(folder, "nms n=6 dtype=f32 force_suppress=1", {data, counts}), Pair(2, 3));
  EXPECT_EQ(drawn(folder, "nms n=6 dtype=f32 return_indices",
                  {data, counts, "indices=" + folder.file("i.npy")}),
            Pair(3, 2));
  EXPECT_EQ(drawn(folder, "nms n=6 dtype=f32 max_output_size=1", {data, counts}), Pair(1, 4));
}

// ---- run --picture ----

std::string big_endian(std::uint32_t value, int bytes) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(value >> 8 * bytes & 255);
  return text;
}

std::string chunk(const std::string& type, const std::string& data) {
  return big_endian(static_cast<std::uint32_t>(data.size()), 4) + type + data + "sums";
}

/// What clam reads of a PNG; its pixels are none.
std::string png(std::uint32_t width, std::uint32_t height) {
  const std::string header = big_endian(width, 4) + big_endian(height, 4) + std::string(5, '\0');
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("IDAT", "pixels") + chunk("IEND", "");
}

/// A JPEG with a segment that holds another one's end, as a thumbnail does, before its header.
std::string jpeg(std::uint32_t width, std::uint32_t height) {
  const std::string thumbnail = "\xff\xc0 small \xff\xd9";
  return "\xff\xd8\xff\xe1" + big_endian(static_cast<std::uint32_t>(thumbnail.size()) + 2, 2) +
         thumbnail + "\xff\xff\xc2" + big_endian(11, 2) + "\x08" + big_endian(height, 2) +
         big_endian(width, 2) + "\x01\x01\x11" + "\xff\xdapixels\xff\xd9";
}

/// The picture of a run of get_valid_counts over `detections`, or over parts of 1000 pixels.
std::string behind(const TemporaryFolder& folder, const std::string& bytes, bool relative) {
  HostTensor data = detections();
  for (std::int64_t i = 0; relative && i < data.size(); ++i) {
    if (i % 6 >= 2) data.set(i, data.get(i) / 1000);
  }
  write_npy(folder.file("d.npy"), data);
  write_file(folder.file("p"), bytes);
  const Finished finished =
      run_clam({"run", "get_valid_counts n=6 dtype=f32", "--in", "data=" + folder.file("d.npy"),
                "--svg", folder.file("o.svg"), "--picture", folder.file("p")});
  EXPECT_EQ(finished.code, 0) << finished.err;
  const std::string svg = read_file(folder.file("o.svg"));
  EXPECT_EQ(xml_fault(svg), "");
  return svg;
}

/// The first number that is written behind `name` in the first tag that begins with `tag`.
double number_of(const std::string& svg, const std::string& tag, const std::string& name) {
  const std::size_t at = svg.find(" " + name + "=\"", svg.find(tag));
  return at == svg.npos ? -1 : std::stod(svg.substr(at + name.size() + 3));
}

TEST(cli, run_draws_a_picture_behind_boxes) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  for (const bool is_png : {true, false}) {
    const std::string bytes = is_png ? png(1000, 500) : jpeg(1000, 500);
    const std::string pixels = behind(folder, bytes, false);
    EXPECT_EQ(count_of(pixels, is_png ? "data:image/png;base64,iVBORw0KGgo"
                                      : "data:image/jpeg;base64,/9j/4"),
              1u);
    EXPECT_EQ(count_of(pixels, "boxes in pixels of a picture of 1000 x 500"), 1u);
    EXPECT_LT(pixels.find("<image"), pixels.find("<rect class=\"kept\""));
    // The last box that is written is the best one: 10 to 110 of 1000 pixels, 10 to 90 of 500.
    const std::size_t last = pixels.rfind("<rect class=\"kept\"");
    const std::string best = pixels.substr(last);
    const double width = number_of(pixels, "<image", "width"),
                 height = number_of(pixels, "<image", "height");
    EXPECT_NEAR(width, 2 * height, 0.02);
    EXPECT_NEAR(number_of(best, "<rect", "width"), 0.1 * width, 0.02);
    EXPECT_NEAR(number_of(best, "<rect", "height"), 0.16 * height, 0.02);
    EXPECT_NEAR(number_of(best, "<rect", "x"), number_of(pixels, "<image", "x") + 0.01 * width,
                0.02);
    // Parts of 1000 in both directions are half as high in this picture.
    const std::string parts = behind(folder, bytes, true);
    EXPECT_EQ(count_of(parts, "boxes of 0 to 1, in parts of a picture of 1000 x 500"), 1u);
    const std::string same = parts.substr(parts.rfind("<rect class=\"kept\""));
    EXPECT_NEAR(number_of(same, "<rect", "width"), 0.1 * width, 0.02);
    EXPECT_NEAR(number_of(same, "<rect", "height"), 0.08 * height, 0.02);
  }
}

TEST(cli, run_draws_decoded_boxes_over_a_score) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  HostTensor src(Dtype::f32, {1, 6, 3});
  const double values[] = {50, 100, 200, 50, 60, 70, 20, 20,  20,
                           10, 10,  10,  .9, .2, .3, .1, .25, 0};
  for (int i = 0; i < 18; ++i) src.set(i, values[i]);
  write_npy(folder.file("s.npy"), src);
  const auto boxes =
      drawn(folder, "yolo_decode n=3 classes=2 dtype=f32", {"src=" + folder.file("s.npy")});
  EXPECT_EQ(boxes.first, 2u);
  EXPECT_EQ(boxes.second, 0u);
}

TEST(cli, run_refuses_what_is_no_picture) {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& bytes, const std::string& words) {
    write_file(folder.file("p"), bytes);
    expect_refusal(run_clam({"run", kCounts, "--fill", "mixed", "--svg", folder.file("o.svg"),
                             "--picture", folder.file("p")}),
                   2, words);
  };
  expect("", "it is no PNG and no JPEG");
  expect("GIF89a", "it is no PNG and no JPEG");
  const std::string p = png(1000, 500), j = jpeg(1000, 500);
  for (const std::size_t size : {9u, 20u, 30u, 45u}) expect(p.substr(0, size), "it is cut off");
  expect(p.substr(0, p.size() - 1), "it is cut off");
  for (const std::size_t size : {2u, 5u, 12u, 25u}) expect(j.substr(0, size), "it is cut off");
  expect(j.substr(0, j.size() - 1), "it is cut off");
  expect("\xff\xd8pixels", "its markers are damaged");
  expect("\xff\xd8\xff\xda", "it has no frame header");
  expect(png(0, 5), "its size is 0 x 5, needs 1 to 65535");
  expect(png(5, 4000000000u), "its size is 5 x 4000000000, needs 1 to 65535");
  expect(jpeg(5, 0), "its size is 5 x 0, needs 1 to 65535");
  std::string damaged = p;
  damaged[12] = 'X';
  expect(damaged, "its IHDR is damaged");
  expect_refusal(run_clam({"run", kCounts, "--fill", "mixed", "--svg", folder.file("o.svg"),
                           "--picture", folder.file("none.png")}),
                 2, "No such file");
  expect_refusal(run_clam({"run", kCounts, "--fill", "mixed", "--picture", folder.file("p")}), 2,
                 "--picture is drawn by --svg FILE, which is missing");
}

TEST(cli, run_draws_only_boxes) {
  expect_refusal(
      run_clam({"run", "dense m=2 n=2 k=2 dtype=f32", "--fill", "exact", "--svg", "x.svg"}), 2,
      "--svg draws boxes, of get_valid_counts, nms and yolo_decode; dense has none");
  const TemporaryFolder folder;
  write_npy(folder.file("d.npy"), HostTensor(Dtype::f32, {1, 5, 5}));
  expect_refusal(run_clam({"run", "get_valid_counts n=5 e=5 dtype=f32", "--in",
                           "data=" + folder.file("d.npy"), "--svg", folder.file("x.svg")}),
                 2, "rows of 5 elements have no four coordinates beside class and score");
  expect_refusal(run_clam({"run", kCounts, "--fill", "mixed", "--svg", "/dev/null/x.svg"}), 2,
                 "cannot write /dev/null/x.svg");
}

}  // namespace
}  // namespace clam::test
