// SPDX-License-Identifier: MIT
// nms_cases.cpp - the data sets and cases of nms, for tests and benches.
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "nms_data.hpp"
#include "ops/nms.hpp"
#include "shared/box_sets.hpp"

namespace clam {

Reference nms_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

/// All are compared bit for bit.
std::vector<DataSet> data_sets() {
  return suppression_data_sets<nms_data::rows, nms_data::special>();
}

/// One below, at and above every boundary: a word of 32 candidates, the 256 candidates of the
/// single group, the 1024 rows that are sorted together, the 4096 candidates of one mask.
std::vector<std::string> cases() {
  const auto with = [](const std::string& words) { return "nms " + words; };
  std::vector<std::string> cases = {with("n=122640 iou_threshold=0.45 top_k=400"),
                                    with("n=122640 top_k=1 return_indices"),
                                    with("batch=3 n=1500 top_k=40 score_min=-1"),
                                    with("batch=5 n=300 score_min=-1 return_indices"),
                                    with("batch=2 n=700 invalid_to_bottom score_min=-inf"),
                                    with("n=1000 iou_threshold=0.25"),
                                    with("n=1000 iou_threshold=0.25 compare=gt"),
                                    with("n=1000 iou_threshold=0.14285715"),
                                    with("n=700 compare=gt"),
                                    with("n=700 iou_threshold=0 score_min=-1"),
                                    with("n=700 iou_threshold=0 compare=gt"),
                                    with("n=700 iou_threshold=-1 compare=gt force_suppress=1"),
                                    with("n=700 iou_threshold=1"),
                                    with("n=700 force_suppress=1"),
                                    with("n=700 max_output_size=1"),
                                    with("n=700 max_output_size=33 return_indices"),
                                    with("n=700 max_output_size=33 invalid_to_bottom"),
                                    with("n=700 score_min=0.3"),
                                    with("n=700 score_min=inf"),
                                    with("n=517 e=5 score_index=0 id_index=-1 coord_start=1"),
                                    with("n=517 e=7 id_index=6 score_index=0 coord_start=1"),
                                    with("n=517 e=8 coord_start=4"),
                                    with("n=517 id_index=-1 return_indices"),
                                    with("n=4095"),
                                    with("n=4097"),
                                    with("n=1 e=5 id_index=-1 score_index=4 coord_start=0")};
  for (const int n : {1, 2, 3, 5, 31, 32, 33, 63, 65, 255, 256, 257, 1023, 1024, 1025, 2049}) {
    cases.push_back(with("n=" + std::to_string(n)));
  }
  for (const int top : {1, 32, 33, 256, 257}) {
    cases.push_back(with("n=1024 top_k=" + std::to_string(top)));
  }
  return cases;
}

std::vector<std::string> small_cases() {
  return {"nms n=200 iou_threshold=1", "nms n=1",
          "nms batch=2 n=65 return_indices max_output_size=20",
          "nms n=129 e=5 id_index=-1 score_index=0 coord_start=1 invalid_to_bottom",
          "nms n=1025 top_k=40"};
}

}  // namespace

const OpProof& nms_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "nms";
    proof.data_sets = data_sets();
    proof.reference = nms_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
