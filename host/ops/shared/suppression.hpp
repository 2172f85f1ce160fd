// SPDX-License-Identifier: MIT
// suppression.hpp - non-maximum suppression, as the ops that ask for it share it: what each of them
// means, and the plan up to its output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clam/op.hpp"

namespace clam {

/// What an op asks of the kernels of nms.cl. Sets of rows are independent; row r of set s has its
/// score at element (s*n + r)*score_step + score_index of `scores`, and its box and class in row r
/// of item s / (sets / items) of `boxes`, whose rows have e elements.
struct Suppression {
  static constexpr int kUnlimited = 2147483647;

  std::int64_t items = 1, sets = 1, n = 1;
  int top_k = kUnlimited;  ///< best rows of a set that are looked at
  int limit = kUnlimited;  ///< most boxes that a set keeps
  std::string scores, boxes;
  std::string count;  ///< valid rows of each set; empty: all are
  int score_step = 1, score_index = 0;
  int e = 4, coord_start = 0;
  int id_index = -1;          ///< of a row of boxes; -1: classes are not compared
  int background_index = -1;  ///< element after the first of a set's scores; -1: all classes count
  float background = -1;      ///< rows of this class are no candidates
  float iou_threshold = 0.5f;
  float score_min = 0;  ///< a candidate has a higher score; -inf: any but NaN
  bool gt = false;      ///< an overlap of exactly iou_threshold does not kill
  bool center = false;  ///< boxes are (x, y, width, height), with x and y in the middle
  bool turned = false;  ///< a box of negative width or height overlaps none; else it is turned

  std::int64_t top() const { return n < top_k ? n : top_k; }
};

/// What each op asks, and what more its reference must know of it.
Suppression nms_asks(const Problem& problem);
Suppression onnx_nms_asks(const Problem& problem);
std::int64_t onnx_nms_most(const Problem& problem);  ///< boxes that a class keeps, at least 1
Suppression torchvision_nms_asks(const Problem& problem);
Suppression box_nms_asks(const Problem& problem);
enum class BoxForm { as_is, to_center, to_corner };
BoxForm box_nms_form(const Problem& problem);  ///< what becomes of the coordinates of a kept row

/// Rules of the fields e, coord_start, score_index and id_index of an op whose rows hold all.
void check_row(const Problem&);

/// What the launch that writes an op's outputs must know of those before it, which leave buffers
/// `rows`, `candidates`, `keep`, `kept` and `totals` (see nms_output.cl).
struct Decided {
  int group;            ///< work-items of a group
  std::int64_t top;     ///< most candidates of a set
  std::int64_t chunks;  ///< entries of `totals` for each set
};

/// An op in front of the core.
struct FrontEnd {
  Suppression (*asks)(const Problem&);
  Launch (*output)(const Problem&, const Decided&);
};

/// An op of such words, in three variants; the names are those of the core's main kernels.
Op suppression_op(Schema words, const FrontEnd& front);

/// Of rows of `data`, by the fields that nms and box_nms share; `top_k` names the most rows looked
/// at.
Suppression suppression_of_rows(const Problem& problem, std::string_view top_k);

/// The launch of nms_output.cl that writes rows of `boxes` to `out`.
Launch rows_output(const Problem&, const Suppression&, const Decided&, bool compact, BoxForm form);
/// The one that writes, of each set, `indices` (empty: row numbers) of kept rows, and their number.
Launch indices_output(const Suppression&, const Decided&, const std::string& indices,
                      const std::string& to, const std::string& count);

}  // namespace clam
