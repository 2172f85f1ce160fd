// SPDX-License-Identifier: MIT
// torchvision_nms_cases.cpp - the data sets and cases of torchvision_nms, for tests and benches.
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "nms_data.hpp"
#include "ops/torchvision_nms.hpp"

namespace clam {

Reference torchvision_nms_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

box_sets::Rows rows(const Problem& p, Tensors& inputs) {
  const auto put = [&](int, int row, const box_sets::Row& values) {
    for (int i = 0; i < 4; ++i) {
      inputs.at("boxes").set(std::int64_t{4} * row + i, values.box[static_cast<std::size_t>(i)]);
    }
    inputs.at("scores").set(row, values.score);
  };
  return {1, p.integer("n"), put, nullptr};
}

void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  box_sets::every(rows(p, inputs), seed);
  Random random(seed);
  box_sets::turn_boxes(inputs.at("boxes"), 4, 0);
  box_sets::make_special_rows(inputs.at("boxes"), random, 4, 0);
  box_sets::make_special(inputs.at("scores"), random);
}

std::vector<DataSet> data_sets() { return suppression_data_sets<rows, special>(); }

/// Each way through the core, by its boundaries.
std::vector<std::string> cases() {
  std::vector<std::string> cases = {"torchvision_nms n=1000 iou_threshold=0.25",
                                    "torchvision_nms n=1000 iou_threshold=0.14285715",
                                    "torchvision_nms n=700 iou_threshold=0",
                                    "torchvision_nms n=700 iou_threshold=1"};
  for (const int n : {1, 2, 32, 33, 256, 257, 1024, 1025, 4096, 4097}) {
    cases.push_back("torchvision_nms n=" + std::to_string(n));
  }
  return cases;
}

std::vector<std::string> small_cases() {
  return {"torchvision_nms n=200", "torchvision_nms n=300", "torchvision_nms n=1"};
}

}  // namespace

const OpProof& torchvision_nms_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "torchvision_nms";
    proof.data_sets = data_sets();
    proof.reference = torchvision_nms_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
