// SPDX-License-Identifier: MIT
// box_nms_cases.cpp - the data sets and cases of box_nms, for tests and benches.
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "nms_data.hpp"
#include "ops/box_nms.hpp"

namespace clam {

Reference box_nms_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

/// As nms', with boxes in the form that the problem asks for.
box_sets::Rows rows_of(const Problem& p, Tensors& inputs) {
  box_sets::Rows rows = nms_data::rows(p, inputs);
  if (p.choice("in_format") == "corner") return rows;
  rows.put = [put = rows.put](int item, int row, box_sets::Row values) {
    values.box = box_sets::centered(values.box);
    put(item, row, values);
  };
  return rows;
}

void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  const int e = p.integer("e"), coord = p.integer("coord_start");
  if (p.choice("in_format") == "corner") return nms_data::special(p, seed, inputs);
  box_sets::every(rows_of(p, inputs), seed);
  Random random(seed);
  box_sets::negate_sizes(inputs.at("data"), e, coord);
  box_sets::make_special_rows(inputs.at("data"), random, e, coord);
}

/// Every third row is of the class that is dropped, and has the best score of all.
void background(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  box_sets::Rows rows = rows_of(p, inputs);
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

std::vector<DataSet> data_sets() {
  std::vector<DataSet> sets = suppression_data_sets<rows_of, special>();
  sets.push_back({"background", Check::exact, "the best third of the rows is of the class to drop",
                  background});
  return sets;
}

/// What nms has no word for, and one case of each way through the core.
std::vector<std::string> cases() {
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

std::vector<std::string> small_cases() {
  return {"box_nms n=200 out_format=center", "box_nms batch=2 n=65 id_index=0 background_id=1",
          "box_nms n=300 in_format=center out_format=corner", "box_nms n=1025 topk=40 id_index=0"};
}

}  // namespace

const OpProof& box_nms_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "box_nms";
    proof.data_sets = data_sets();
    proof.reference = box_nms_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
