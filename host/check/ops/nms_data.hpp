// SPDX-License-Identifier: MIT
// nms_data.hpp - what the data sets of nms are made of.
#pragma once

#include "shared/box_sets.hpp"

namespace clam::nms_data {

/// Where the rows of an op go that has `data` of n rows of e elements, and perhaps `count` and
/// `indices`. Elements without a meaning get their number; indices are distinct and far from row
/// numbers.
inline box_sets::Rows rows(const Problem& p, Tensors& inputs) {
  const auto put = [&](int item, int row, const box_sets::Row& values) {
    HostTensor& data = inputs.at("data");
    const int e = p.integer("e"), coord = p.integer("coord_start"), id = p.integer("id_index");
    const std::int64_t place = std::int64_t{item} * p.integer("n") + row;
    for (int i = 0; i < e; ++i) data.set(place * e + i, i);
    box_sets::put_box(data, place * e + coord, values.box);
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
inline void special(const Problem& p, Random& random, Tensors& inputs) {
  box_sets::make_special_boxes(inputs.at("data"), random, p.integer("e"), p.integer("coord_start"),
                               false);
  constexpr int kFar = 2147483647;
  const int n = p.integer("n");
  const int counts[] = {n < kFar - 1000 ? n + 1000 : kFar, -5, n, kFar, -kFar};
  for (int item = 0; inputs.count("count") && item < p.integer("batch"); ++item) {
    inputs.at("count").set(item, counts[item % 5]);
  }
}

}  // namespace clam::nms_data
