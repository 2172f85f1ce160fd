// SPDX-License-Identifier: MIT
// nms_cases.hpp - the problems, data and counts of nms, for tests and benches.
#pragma once

#include <string>
#include <vector>

#include "../op.hpp"
#include "shared/box_sets.hpp"
#include "shared/suppression.hpp"
#include "shared/tensor_bytes.hpp"

namespace clam {

Reference nms_reference(const Problem& problem, const Tensors& inputs,
                        const ReferenceOptions& options);

Suppression nms_asks(const Problem& problem);

/// How many boxes are compared depends on the data: nothing can be said of a problem.
inline double nms_flops(const Problem&) { return 0; }

namespace nms_data {

/// Where the rows of an op go that has `data` of n rows of e elements, and perhaps `count` and
/// `indices`. Elements without a meaning get their number; indices are distinct and far from row
/// numbers.
inline box_sets::Rows rows(const Problem& p, Tensors& inputs) {
  const auto put = [&](int item, int row, const box_sets::Row& values) {
    HostTensor& data = inputs.at("data");
    const int e = p.integer("e"), coord = p.integer("coord_start"), id = p.integer("id_index");
    const std::int64_t place = static_cast<std::int64_t>(item) * p.integer("n") + row;
    for (int i = 0; i < e; ++i) data.set(place * e + i, i);
    for (int i = 0; i < 4; ++i) {
      data.set(place * e + coord + i, values.box[static_cast<std::size_t>(i)]);
    }
    data.set(place * e + p.integer("score_index"), values.score);
    if (id >= 0) data.set(place * e + id, values.id);
    if (inputs.count("indices")) inputs.at("indices").set(place, 1000000 + 3 * row + item);
  };
  box_sets::Rows rows{p.integer("batch"), p.integer("n"), put, nullptr};
  if (inputs.count("count")) {
    rows.count = [&](int item, int count) { inputs.at("count").set(item, count); };
  }
  return rows;
}

/// Detections with one element in twelve replaced by a special one, every fifth box turned over and
/// every seventh flat; counts outside of 0 to n.
inline void special(const Problem& p, std::uint64_t seed, Tensors& inputs) {
  box_sets::every(rows(p, inputs), seed);
  Random random(seed);
  box_sets::turn_boxes(inputs.at("data"), p.integer("e"), p.integer("coord_start"));
  box_sets::make_special_rows(inputs.at("data"), random, p.integer("e"), p.integer("coord_start"));
  constexpr int kFar = 2147483647;
  const int n = p.integer("n");
  const int counts[] = {n < kFar - 1000 ? n + 1000 : kFar, -5, n, kFar, -kFar};
  for (int item = 0; inputs.count("count") && item < p.integer("batch"); ++item) {
    inputs.at("count").set(item, counts[item % 5]);
  }
}

}  // namespace nms_data

/// All are compared bit for bit.
inline std::vector<DataSet> nms_data_sets() {
  return suppression_data_sets<nms_data::rows, nms_data::special>();
}

/// One below, at and above every boundary: a word of 32 candidates, the 256 candidates of the
/// single group, the 1024 rows that are sorted together, the 4096 candidates of one mask.
inline std::vector<std::string> nms_cases() {
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

inline std::vector<std::string> nms_small_cases() {
  return {"nms n=200 iou_threshold=1", "nms n=1",
          "nms batch=2 n=65 return_indices max_output_size=20",
          "nms n=129 e=5 id_index=-1 score_index=0 coord_start=1 invalid_to_bottom",
          "nms n=1025 top_k=40"};
}

}  // namespace clam
