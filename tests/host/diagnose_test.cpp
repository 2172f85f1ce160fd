// SPDX-License-Identifier: MIT
// Good boxes of every kind show no fault; each fault planted in them is called by its name.
#include "check/diagnose.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "check/op_proof.hpp"
#include "check/ops/shared/box_sets.hpp"
#include "check/ops/shared/random.hpp"
#include "ops/shared/suppression.hpp"
#include "pattern.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

using box_sets::Row;

constexpr int kE = 6;
constexpr double kInf = std::numeric_limits<double>::infinity();

/// Boxes as a table of rows, for tests to change.
class Table {
 public:
  Table(int rows, int valid, Dtype dtype = Dtype::f32) : tensor(dtype, {1, rows, kE}) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, -1);
    Random random(test::seed());
    const box_sets::Detector detector(test::seed());
    for (int row = 0; row < valid; ++row) put(row, detector(random));
  }

  void put(int row, const Row& values) {
    set(row, 0, values.id);
    set(row, 1, values.score);
    for (int i = 0; i < 4; ++i) set(row, 2 + i, values.box[static_cast<std::size_t>(i)]);
  }
  void set(int row, int i, double value) { tensor.set(row * kE + i, value); }
  double get(int row, int i) const { return tensor.get(row * kE + i); }
  void copy(int from, int to, int first = 0, int end = kE) {
    for (int i = first; i < end; ++i) {
      tensor.set_bits(to * kE + i, tensor.bits(from * kE + i));
    }
  }
  void swap(int a, int b) {
    for (int i = 0; i < kE; ++i) {
      const std::uint32_t bits = tensor.bits(a * kE + i);
      tensor.set_bits(a * kE + i, tensor.bits(b * kE + i));
      tensor.set_bits(b * kE + i, bits);
    }
  }
  /// The first `valid` rows, the best one first.
  void sort_by_score(int valid) {
    for (int i = 1; i < valid; ++i) {
      for (int j = i; j > 0 && get(j, 1) > get(j - 1, 1); --j) swap(j, j - 1);
    }
  }
  void scale(double factor) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      if (i % kE >= 2 && tensor.get(i - i % kE) >= 0) tensor.set(i, factor * tensor.get(i));
    }
  }

  HostTensor tensor;
};

Diagnosis look(const Table& boxes, const Table* good = nullptr,
               BoxOrigin origin = BoxOrigin::rows) {
  const BoxRows rows("boxes", boxes.tensor, {});
  if (!good) return diagnose(rows, nullptr, origin);
  const BoxRows good_rows("good", good->tensor, {});
  return diagnose(rows, &good_rows, origin);
}

std::string signatures(const Diagnosis& diagnosis) {
  std::string text;
  for (const Finding& finding : diagnosis.findings) {
    text += (text.empty() ? "" : " ") + finding.signature;
  }
  return text;
}

using Rows = std::vector<std::int64_t>;

Table in_order(int rows, int valid, Dtype dtype = Dtype::f32) {
  Table table(rows, valid, dtype);
  table.sort_by_score(valid);
  return table;
}

/// What the op's reference makes of a data set.
HostTensor reference_output(const std::string& line, const std::string& set) {
  const Problem problem = Problem::parse(line);
  const Tensors inputs = make_inputs(problem, find_data_set(problem, set), test::seed());
  return reference_of(problem, inputs, {Check::exact}).at("out").exact;
}

// ---- good boxes ----

TEST(diagnose, good_boxes_show_nothing) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
    for (const int valid : {0, 1, 2, 3, 9, 40, 700, 1000}) {
      SCOPED_TRACE(std::string(name(dtype)) + " " + std::to_string(valid));
      const Table counted(1000, valid, dtype);
      EXPECT_EQ(signatures(look(counted)), "");
      EXPECT_EQ(signatures(look(counted, &counted)), "");
      EXPECT_EQ(signatures(look(counted, nullptr, BoxOrigin::get_valid_counts)), "");
      const Table sorted = in_order(1000, valid, dtype);
      EXPECT_EQ(signatures(look(sorted)), "");
      EXPECT_EQ(signatures(look(sorted, &sorted, BoxOrigin::nms)), "");
      Table normalised = counted;
      normalised.scale(1.0 / 512);
      EXPECT_EQ(signatures(look(normalised)), "") << "coordinates 0..1";
    }
  }
}

TEST(diagnose, what_the_ops_give_shows_nothing) {
  for (const char* dtype : {"f32", "f16"}) {
    for (const char* set : {"boxes", "one", "none", "few", "every", "ties", "equal", "large"}) {
      SCOPED_TRACE(std::string(dtype) + " " + set);
      for (const char* words : {" n=700", " n=3 batch=4", " batch=3 n=1500 top_k=400",
                                " n=700 invalid_to_bottom score_min=-inf"}) {
        const HostTensor kept =
            reference_output("nms" + std::string(words) + " dtype=" + dtype, set);
        const BoxRows rows("kept", kept, {});
        EXPECT_EQ(signatures(diagnose(rows)), "") << words;
        EXPECT_EQ(signatures(diagnose(rows, &rows, BoxOrigin::nms)), "") << words;
      }
    }
  }
}

TEST(diagnose, rows_of_an_input_without_a_class_are_no_fault) {
  Table table(200, 200);
  for (int row = 0; row < 200; row += 3) table.set(row, 0, -1);
  EXPECT_EQ(signatures(look(table)), "");
}

TEST(diagnose, good_boxes_in_half_are_compared_in_half) {
  const Table good(300, 120);
  Table half(300, 120, Dtype::f16);
  for (std::int64_t i = 0; i < good.tensor.size(); ++i) half.tensor.set(i, good.tensor.get(i));
  EXPECT_EQ(signatures(look(half, &good)), "");
  EXPECT_EQ(signatures(look(good, &half)), "");
}

// ---- planted faults ----

/// A fault, and by which name it is called without and with the good rows.
struct Plant {
  const char* name;
  std::function<void(Table&)> plant;
  std::string alone, beside_good;
  Rows rows;  ///< of the first finding
  bool sorted = false;
};

const std::vector<Plant>& plants() {
  static const std::vector<Plant> plants = {
      {"scores_over_1",
       [](Table& t) {
         t.put(7, {1, 1.5823, {1.0613, 0.6429, 0.3381, 0}});
         t.put(30, {0, 1.1908, {1.4713, 1.3199, 0.7675, 0.5183}});
       },
       "stale_rows",
       "stale_rows lost_rows",
       {7, 30}},
      {"corners_of_0_to_2",
       [](Table& t) {
         t.put(12, {3, 0.7, {1.9, 1.4, 0.3, 0.2}});
       },
       "stale_rows",
       "stale_rows lost_rows",
       {12}},
      {"class_no_whole_number",
       [](Table& t) { t.set(12, 0, 0.37); },
       "stale_rows",
       "stale_rows lost_rows",
       {12}},
      {"nan",
       [](Table& t) { t.set(5, 3, std::nan("")); },
       "not_finite",
       "not_finite lost_rows",
       {5}},
      {"end_of_half",
       [](Table& t) { t.set(8, 4, 65504); },
       "half_overflow",
       "half_overflow lost_rows",
       {8}},
      {"copies",
       [](Table& t) {
         t.copy(3, 50);
         t.copy(3, 51);
       },
       "copies",
       "copies lost_rows",
       {50, 51}},
      {"rows_left_behind_the_end",
       [](Table& t) {
         for (int i = 0; i < kE; ++i) t.set(60, i, -1);
       },
       "rows_behind_the_end",
       "rows_behind_the_end lost_rows",
       {}},
      {"not_by_score", [](Table& t) { t.swap(10, 60); }, "not_by_score", "not_by_score", {}, true},
      {"moved", [](Table& t) { t.swap(10, 11); }, "", "out_of_order", {11}},
      {"all_zero",
       [](Table& t) {
         for (std::int64_t i = 0; i < t.tensor.size(); ++i) t.tensor.set(i, 0);
       },
       "constant",
       "constant",
       {}},
      {"all_one_row",
       [](Table& t) {
         for (int row = 1; row < 100; ++row) t.copy(0, row);
       },
       "constant",
       "copies lost_rows",
       {}},
      {"lost",
       [](Table& t) {
         for (int i = 0; i < kE; ++i) t.set(99, i, -1);
       },
       "",
       "lost_rows",
       {}},
      {"of_another_image",
       [](Table& t) {
         t.put(40, {2, 0.5, {33.25, 60.5, 80.75, 91.5}});
       },
       "",
       "unlike_good lost_rows",
       {}},
      {"centres_and_sizes",
       [](Table& t) {
         for (int row = 0; row < 100; ++row) {
           t.set(row, 4, 20 + row % 7);
           t.set(row, 5, 30 - row % 9);
         }
       },
       "not_corners",
       "",
       {}},
  };
  return plants;
}

TEST(diagnose, planted_faults_are_called_by_their_names) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
    for (const Plant& plant : plants()) {
      SCOPED_TRACE(std::string(plant.name) + " " + name(dtype));
      const Table good = plant.sorted ? in_order(300, 100, dtype) : Table(300, 100, dtype);
      Table bad = good;
      plant.plant(bad);
      const Diagnosis alone = look(bad);
      EXPECT_EQ(signatures(alone), plant.alone);
      if (!plant.rows.empty() && !plant.alone.empty()) {
        EXPECT_EQ(alone.findings.at(0).rows, plant.rows);
      }
      if (plant.beside_good.empty()) continue;
      const Diagnosis beside = look(bad, &good);
      EXPECT_EQ(signatures(beside), plant.beside_good);
      if (!plant.rows.empty()) {
        EXPECT_EQ(beside.findings.at(0).rows, plant.rows);
      }
    }
  }
}

TEST(diagnose, an_infinity_in_half_is_an_overflow) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
    Table bad(300, 100, dtype);
    bad.set(5, 1, kInf);
    EXPECT_EQ(signatures(look(bad)), dtype == Dtype::f16 ? "half_overflow" : "not_finite");
  }
}

TEST(diagnose, rows_that_are_there_twice_are_no_fault) {
  Table good(300, 100);
  good.copy(10, 40);
  good.copy(10, 41);
  EXPECT_EQ(signatures(look(good, &good)), "");
  Table bad = good;
  bad.swap(20, 60);
  EXPECT_EQ(signatures(look(bad, &good)), "out_of_order");
}

/// As kernels do that leave a suppressed row's box and take its score and class.
TEST(diagnose, a_row_without_score_and_class_is_not_torn) {
  const Table good(300, 100);
  Table bad = good;
  for (const int row : {100, 101}) {
    bad.copy(row - 60, row);
    bad.set(row, 0, -1);
    bad.set(row, 1, -1);
  }
  EXPECT_EQ(signatures(look(bad, &good)).find("torn_rows"), std::string::npos);
}

TEST(diagnose, two_equal_rows_are_copies) {
  Table two(300, 1);
  two.copy(0, 1);
  EXPECT_EQ(signatures(look(two)), "copies");
}

TEST(diagnose, every_place_between_two_elements_can_tear) {
  const Table good(300, 100);
  for (const int cut : {2, 3, 4}) {
    Table bad = good;
    bad.copy(70, 20, cut);
    const Diagnosis diagnosis = look(bad, &good);
    EXPECT_EQ(signatures(diagnosis), "torn_rows lost_rows") << cut;
    EXPECT_EQ(diagnosis.findings.at(0).rows, Rows{20}) << cut;
    EXPECT_EQ(diagnosis.findings.at(0).sure, Finding::Sure::certain);
  }
}

TEST(diagnose, torn_boxes_without_good_ones_are_hints) {
  Table turned(300, 100);
  turned.put(20, {3, 0.7, {400, 300, 450, 380}});
  turned.put(21, {3, 0.6, {100, 90, 150, 190}});
  turned.copy(21, 20, 4);  // from 400, 300 to 150, 190
  const Diagnosis over = look(turned);
  EXPECT_EQ(signatures(over), "torn_rows");
  EXPECT_EQ(over.findings.at(0).rows, Rows{20});
  EXPECT_EQ(over.findings.at(0).sure, Finding::Sure::hint);

  Table large(300, 0);
  for (int row = 0; row < 40; ++row) {
    const double x = 40.0 * row, y = 25.0 * row;
    large.put(row, {1, 0.9 - 0.01 * row, {x, y, x + 20 + 0.1 * row, y + 30}});
  }
  large.copy(39, 5, 4);
  const Diagnosis far = look(large);
  EXPECT_EQ(signatures(far), "large_boxes");
  EXPECT_EQ(far.findings.at(0).rows, Rows{5});
}

TEST(diagnose, more_rows_than_there_are_good_ones) {
  const Table good(300, 90);
  Table bad(300, 90);
  bad.copy(4, 90);
  EXPECT_EQ(signatures(look(bad, &good)), "copies too_many_rows");
  bad.put(90, {2, 0.5, {33.25, 60.5, 80.75, 91.5}});
  const Diagnosis diagnosis = look(bad, &good);
  EXPECT_EQ(signatures(diagnosis), "too_many_rows unlike_good");
  EXPECT_EQ(diagnosis.findings.at(0).rows, Rows{90});
}

TEST(diagnose, what_gave_the_rows_decides_on_order_and_gaps) {
  Table gap = in_order(300, 100);
  for (int i = 0; i < kE; ++i) gap.set(50, i, -1);
  EXPECT_EQ(signatures(look(gap)), "") << "by score with a gap, as nms leaves them";
  EXPECT_EQ(signatures(look(gap, nullptr, BoxOrigin::nms)), "");
  const Diagnosis counts = look(gap, nullptr, BoxOrigin::get_valid_counts);
  EXPECT_EQ(signatures(counts), "rows_behind_the_end");
  EXPECT_EQ(counts.findings.at(0).rows.front(), 51);
  EXPECT_EQ(counts.findings.at(0).sure, Finding::Sure::certain);
  EXPECT_EQ(signatures(look(Table(300, 100), nullptr, BoxOrigin::nms)), "not_by_score");
  EXPECT_EQ(parse_box_origin("nms"), BoxOrigin::nms);
  EXPECT_THROWS_SAYING(parse_box_origin("boxes"), BadArgument, "unknown format 'boxes'");
}

/// Rows that TVM's kernels of 2019 left on an RK3399 (Mali-T860), as printed in apache/tvm issue
/// 3298: score, class and corners.
TEST(diagnose, published_garbage_is_stale_rows) {
  Table table(100, 0);
  table.put(0, {0, 1.5823054, {1.0612862, 0.6428509, 0.33811423, 0}});
  table.put(1, {0, 1.5558598, {0.7675109, 0.5182781, 0.2734055, 0}});
  table.put(2, {1, 1.545749, {1.2887409, 1.0955629, 0.89454305, 0.7174907}});
  table.put(3, {1, 1.5409416, {1.107888, 1.1792644, 1.4139477, 1.3293245}});
  table.put(4, {0, 1.4165628, {2.0808587, 2.0669181, 1.6659384, 1.3989905}});
  const Diagnosis diagnosis = look(table);
  EXPECT_EQ(signatures(diagnosis), "stale_rows");
  EXPECT_EQ(diagnosis.findings.at(0).rows.size(), 5u);
  EXPECT_EQ(diagnosis.findings.at(0).sure, Finding::Sure::likely);
}

TEST(diagnose, an_item_of_a_batch_is_judged_by_its_own_good_rows) {
  HostTensor good(Dtype::f32, {2, 50, kE});
  const Table table(100, 100);
  for (std::int64_t i = 0; i < good.size(); ++i) good.set(i, table.tensor.get(i));
  HostTensor bad = good;
  for (int i = 0; i < kE; ++i) bad.set_bits(60 * kE + i, good.bits(10 * kE + i));
  const BoxRows rows("bad", bad, {}), good_rows("good", good, {});
  const Diagnosis diagnosis = diagnose(rows, &good_rows);
  EXPECT_EQ(signatures(diagnosis), "unlike_good lost_rows") << "row 10 is of the other item";
  EXPECT_EQ(diagnosis.findings.at(0).rows, Rows{60});
}

TEST(diagnose, other_formats) {
  const Table table(80, 80);
  for (const BoxFormat format : {BoxFormat{-1, 0, 1}, BoxFormat{5, 4, 0}}) {
    HostTensor moved(Dtype::f32, {80, kE});
    for (int row = 0; row < 80; ++row) {
      const auto put = [&](int i, double value) { moved.set(row * kE + i, value); };
      put(format.score_index, table.get(row, 1));
      if (format.id_index >= 0) put(format.id_index, table.get(row, 0));
      for (int i = 0; i < 4; ++i) put(format.coord_start + i, table.get(row, 2 + i));
    }
    EXPECT_EQ(signatures(diagnose(BoxRows("b", moved, format))), "");
    moved.set(9 * kE + format.score_index, 1.7);
    const Diagnosis diagnosis = diagnose(BoxRows("b", moved, format));
    EXPECT_EQ(signatures(diagnosis), "stale_rows");
    EXPECT_EQ(diagnosis.findings.at(0).rows, Rows{9});
  }
}

/// Each says one thing to do, and its command lines are ones that the ops take.
TEST(diagnose, advice_can_be_typed) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
    for (const Plant& plant : plants()) {
      const Table good(300, 100, dtype);
      Table bad = good;
      plant.plant(bad);
      for (const Finding& finding : look(bad, &good).findings) {
        EXPECT_FALSE(finding.what.empty());
        const auto commands = test::matches(finding.next, "`clam (verify|run) \"([^\"]+)\"[^`]*`");
        EXPECT_FALSE(commands.empty()) << finding.signature << ": " << finding.next;
        for (const test::Groups& command : commands)
          EXPECT_NO_THROW(Problem::parse(command[2])) << command[2];
      }
    }
  }
}

TEST(diagnose, rows_said_to_be_of_nms_are_advised_nms) {
  for (const Plant& plant : plants()) {
    const Table good = in_order(300, 100);
    Table bad = good;
    plant.plant(bad);
    for (const Finding& finding : look(bad, &good, BoxOrigin::nms).findings) {
      const auto commands = test::matches(finding.next, "`clam (verify|run) \"(\\w+) ");
      EXPECT_FALSE(commands.empty()) << finding.signature << ": " << finding.next;
      for (const test::Groups& command : commands)
        EXPECT_EQ(command[2], "nms") << finding.signature;
    }
  }
}

TEST(diagnose, rows_of_very_many_elements_are_torn_near_their_begin) {
  constexpr int kRows = 40, kLong = 20000;
  HostTensor good(Dtype::f32, {kRows, kLong});
  for (std::int64_t i = 0; i < good.size(); ++i) {
    const std::int64_t row = i / kLong;
    good.set(i, i % kLong == 0 ? 3 : i % kLong == 1 ? 0.9 - 0.01 * row : 20 + row + i % kLong);
  }
  for (const int cut : {2, 32, 33}) {
    HostTensor bad = good;
    for (int i = cut; i < kLong; ++i) bad.set_bits(5 * kLong + i, good.bits(9 * kLong + i));
    const BoxRows rows("bad", bad, {}), good_rows("good", good, {});
    const std::string wanted = cut <= 32 ? "torn_rows lost_rows" : "unlike_good lost_rows";
    EXPECT_EQ(signatures(diagnose(rows, &good_rows)), wanted) << cut;
  }
}

// ---- what is refused ----

TEST(diagnose, tensors_that_are_no_box_rows) {
  const auto refuse = [](Dtype dtype, const Shape& shape, const BoxFormat& format,
                         const std::string& sentence) {
    const HostTensor tensor(dtype, shape);
    EXPECT_THROWS_SAYING(BoxRows("b.npy", tensor, format), BadArgument, sentence);
  };
  refuse(Dtype::f32, {6}, {}, "b.npy holds f32[6], which are no box rows");
  refuse(Dtype::f32, {1, 1, 5, 6}, {}, "no box rows");
  refuse(Dtype::f32, {5, 4}, {}, "with e of 5 or more");
  refuse(Dtype::i32, {5, 6}, {}, "b.npy holds i32[5x6]");
  refuse(Dtype::f32, {5, 5}, {}, "coord-start 2 leaves no room for four coordinates");
  refuse(Dtype::f32, {5, 6}, {0, 1, -1}, "coord-start -1");
  refuse(Dtype::f32, {5, 6}, {0, 3, 2}, "score-index 3 is outside, or among");
  refuse(Dtype::f32, {5, 6}, {0, -1, 2}, "score-index -1");
  refuse(Dtype::f32, {5, 6}, {6, 1, 2}, "id-index 6");
  refuse(Dtype::f32, {5, 6}, {-2, 1, 2}, "id-index -2");
  refuse(Dtype::f32, {5, 6}, {1, 1, 2}, "the same");
}

TEST(diagnose, good_rows_of_another_shape) {
  const Table boxes(10, 5);
  const HostTensor other(Dtype::f32, {2, 10, kE});
  const BoxRows rows("b", boxes.tensor, {}), good("g", other, {});
  EXPECT_THROWS_SAYING(diagnose(rows, &good), BadArgument,
                       "the good rows are 2x10x6 and these 1x10x6");
}

}  // namespace
}  // namespace clam
