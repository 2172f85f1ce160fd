// SPDX-License-Identifier: MIT
// torchvision_nms_proof.cpp - the outputs of torchvision_nms, from who is kept.
#include "shared/box_sets.hpp"
#include "shared/suppression_reference.hpp"

namespace clam::torchvision_nms {
namespace {

Reference reference(const Problem& p, const Tensors& inputs, const ReferenceOptions& options) {
  const Suppression s = torchvision_nms_asks(p);
  const Selected selected = select(s, inputs, options).front();
  HostTensor keep(Dtype::i32, {s.n}), count(Dtype::i32, {1});
  for (std::int64_t i = 0; i < s.n; ++i) keep.set(i, -1);
  std::int64_t place = 0;
  for (const std::int64_t row : selected.kept) keep.set(place++, row);
  count.set(0, place);
  return {{"keep_rows", {keep}}, {"keep_count", {count}}};
}

// ---- data sets and cases ----

box_sets::Rows rows(const Problem& p, Tensors& inputs) {
  const auto put = [&](int, int row, const box_sets::Row& values) {
    box_sets::put_box(inputs.at("boxes"), std::int64_t{4} * row, values.box);
    inputs.at("scores").set(row, values.score);
  };
  return {1, p.integer("n"), put, nullptr};
}

void special(const Problem&, Random& random, Tensors& inputs) {
  box_sets::make_special_boxes(inputs.at("boxes"), random, 4, 0, false);
  box_sets::make_special(inputs.at("scores"), random);
}

}  // namespace

OpProof proof() {
  return {"torchvision_nms",
          suppression_data_sets(rows, special),
          reference,
          // Each way through the core, by its boundaries.
          {"n=1000 iou_threshold={0.25,0.14285715}", "n=700 iou_threshold={0,1}",
           "n={1,2,32,33,256,257,1024,1025,4096,4097}"},
          {"n={200,300,1}"}};
}

}  // namespace clam::torchvision_nms
