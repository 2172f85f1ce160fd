// SPDX-License-Identifier: MIT
// torchvision_nms_cases.hpp - the problems and data of torchvision_nms, for tests and benches.
#pragma once

#include <string>
#include <vector>

#include "nms_cases.hpp"

namespace clam {

Reference torchvision_nms_reference(const Problem& problem, const Tensors& inputs,
                                    const ReferenceOptions& options);
Suppression torchvision_nms_asks(const Problem& problem);

namespace torchvision_nms_data {

inline box_sets::Rows rows(const Problem& p, Tensors& inputs) {
  const auto put = [&](int, int row, const box_sets::Row& values) {
    for (int i = 0; i < 4; ++i) {
      inputs.at("boxes").set(std::int64_t{4} * row + i, values.box[static_cast<std::size_t>(i)]);
    }
    inputs.at("scores").set(row, values.score);
  };
  return {1, p.integer("n"), put, nullptr};
}

inline void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  box_sets::every(rows(p, inputs), seed);
  Random random(seed);
  box_sets::turn_boxes(inputs.at("boxes"), 4, 0);
  box_sets::make_special_rows(inputs.at("boxes"), random, 4, 0);
  box_sets::make_special(inputs.at("scores"), random);
}

}  // namespace torchvision_nms_data

inline std::vector<DataSet> torchvision_nms_data_sets() {
  return suppression_data_sets<torchvision_nms_data::rows, torchvision_nms_data::special>();
}

/// Each way through the core, by its boundaries.
inline std::vector<std::string> torchvision_nms_cases() {
  std::vector<std::string> cases = {"torchvision_nms n=1000 iou_threshold=0.25",
                                    "torchvision_nms n=1000 iou_threshold=0.14285715",
                                    "torchvision_nms n=700 iou_threshold=0",
                                    "torchvision_nms n=700 iou_threshold=1"};
  for (const int n : {1, 2, 32, 33, 256, 257, 1024, 1025, 4096, 4097}) {
    cases.push_back("torchvision_nms n=" + std::to_string(n));
  }
  return cases;
}

inline std::vector<std::string> torchvision_nms_small_cases() {
  return {"torchvision_nms n=200", "torchvision_nms n=300", "torchvision_nms n=1"};
}

}  // namespace clam
