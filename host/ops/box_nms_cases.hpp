// SPDX-License-Identifier: MIT
// box_nms_cases.hpp - the problems and data of box_nms, for tests and benches.
#pragma once

#include <string>
#include <vector>

#include "nms_cases.hpp"

namespace clam {

Reference box_nms_reference(const Problem& problem, const Tensors& inputs,
                            const ReferenceOptions& options);
Suppression box_nms_asks(const Problem& problem);
/// What becomes of the coordinates of a kept row.
BoxForm box_nms_form(const Problem& problem);

namespace box_nms_data {

/// As nms', with boxes in the form that the problem asks for.
inline box_sets::Rows rows(const Problem& p, Tensors& inputs) {
  box_sets::Rows rows = nms_data::rows(p, inputs);
  if (p.choice("in_format") == "corner") return rows;
  rows.put = [put = rows.put](int item, int row, box_sets::Row values) {
    values.box = box_sets::centered(values.box);
    put(item, row, values);
  };
  return rows;
}

inline void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  const int e = p.integer("e"), coord = p.integer("coord_start");
  if (p.choice("in_format") == "corner") return nms_data::special(p, seed, inputs);
  box_sets::every(rows(p, inputs), seed);
  Random random(seed);
  box_sets::negate_sizes(inputs.at("data"), e, coord);
  box_sets::make_special_rows(inputs.at("data"), random, e, coord);
}

/// Every third row is of the class that is dropped, and has the best score of all.
inline void background(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  box_sets::Rows rows = box_nms_data::rows(p, inputs);
  rows.put = [put = rows.put, id = p.integer("background_id")](int item, int row,
                                                               box_sets::Row values) {
    if (row % 3 == 0) {
      values.id = id;
      values.score += 1;
    }
    put(item, row, values);
  };
  box_sets::every(rows, seed);
}

}  // namespace box_nms_data

inline std::vector<DataSet> box_nms_data_sets() {
  std::vector<DataSet> sets = suppression_data_sets<box_nms_data::rows, box_nms_data::special>();
  sets.push_back({"background", Check::exact, "the best third of the rows is of the class to drop",
                  box_nms_data::background});
  return sets;
}

/// What nms has no word for, and one case of each way through the core.
inline std::vector<std::string> box_nms_cases() {
  return {"box_nms n=122640 iou_threshold=0.45 valid_thresh=0.01 topk=400 id_index=0",
          "box_nms batch=3 n=1500 topk=40 id_index=0 background_id=3",
          "box_nms batch=2 n=300 id_index=0 background_id=0 force_suppress=1",
          "box_nms batch=2 n=300 id_index=0 force_suppress=1",
          "box_nms n=517 e=7 id_index=6 background_id=-2 valid_thresh=-2",
          "box_nms n=700 in_format=center",
          "box_nms n=700 in_format=center id_index=0 out_format=center",
          "box_nms batch=2 n=700 in_format=center out_format=corner iou_threshold=0.25",
          "box_nms n=700 out_format=center",
          "box_nms n=517 e=5 score_index=0 coord_start=1 out_format=center",
          "box_nms n=517 e=7 id_index=6 score_index=0 coord_start=1 valid_thresh=-1",
          "box_nms n=700 valid_thresh=-inf",
          "box_nms n=700 iou_threshold=0",
          "box_nms n=700 iou_threshold=1",
          "box_nms n=1000 iou_threshold=0.14285715",
          "box_nms n=4097 id_index=0",
          "box_nms n=2",
          "box_nms n=1 e=5 score_index=4 coord_start=0"};
}

inline std::vector<std::string> box_nms_small_cases() {
  return {"box_nms n=200 out_format=center", "box_nms batch=2 n=65 id_index=0 background_id=1",
          "box_nms n=300 in_format=center out_format=corner", "box_nms n=1025 topk=40 id_index=0"};
}

}  // namespace clam
