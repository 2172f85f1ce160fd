// SPDX-License-Identifier: MIT
// nms_proof.cpp - the outputs of nms, from who is kept.
#include "nms_data.hpp"
#include "shared/suppression_reference.hpp"

namespace clam::nms {
namespace {

void write_indices(const Suppression& s, const HostTensor& indices, std::int64_t b,
                   const Selected& selected, HostTensor& box_indices, HostTensor& box_count) {
  std::int64_t place = b * s.n;
  for (std::int64_t i = place; i < (b + 1) * s.n; ++i) box_indices.set(i, -1);
  for (const std::int64_t row : selected.kept) {
    box_indices.set_bits(place++, indices.bits(b * s.n + row));
  }
  box_count.set(b, selected.kept.size());
}

Reference reference(const Problem& p, const Tensors& inputs, const ReferenceOptions& options) {
  const Suppression s = nms_asks(p);
  const bool with_indices = p.flag("return_indices");
  const std::vector<Selected> sets = select(s, inputs, options);
  HostTensor out(p.dtype(), with_indices ? Shape{1} : Shape{s.sets, s.n, s.e});
  HostTensor box_indices(Dtype::i32, {s.sets, s.n}), box_count(Dtype::i32, {s.sets, 1});
  parallel_for(s.sets, [&](std::int64_t b) {
    const Selected& selected = sets[b];
    if (with_indices) {
      write_indices(s, inputs.at("indices"), b, selected, box_indices, box_count);
    } else {
      write_rows(s, p.flag("invalid_to_bottom"), inputs.at("data"), b, selected, out);
    }
  });
  if (with_indices) return {{"box_indices", {box_indices}}, {"box_count", {box_count}}};
  return {{"out", {out}}};
}

}  // namespace

OpProof proof() {
  return {
      "nms",
      suppression_data_sets(nms_data::rows, nms_data::special),
      reference,
      // All are compared bit for bit.
      // One below, at and above every boundary: a word of 32 candidates, the 256 candidates of the
      // single group, the 1024 rows that are sorted together, the 4096 candidates of one mask.
      {"n=122640 iou_threshold=0.45 top_k=400", "n=122640 top_k=1 return_indices",
       "batch=3 n=1500 top_k=40 score_min=-1", "batch=5 n=300 score_min=-1 return_indices",
       "batch=2 n=700 invalid_to_bottom score_min=-inf",
       "n=1000 iou_threshold={0.25,0.25 compare=gt,0.14285715}", "n=700 compare=gt",
       "n=700 iou_threshold=0 {score_min=-1,compare=gt}",
       "n=700 iou_threshold=-1 compare=gt force_suppress=1",
       "n=700 {iou_threshold,force_suppress,max_output_size}=1",
       "n=700 max_output_size=33 {return_indices,invalid_to_bottom}", "n=700 score_min={0.3,inf}",
       "n=517 e={5 score_index=0 id_index=-1,7 id_index=6 score_index=0} coord_start=1",
       "n=517 e=8 coord_start=4", "n=517 id_index=-1 return_indices", "n={4095,4097}",
       "n=1 e=5 id_index=-1 score_index=4 coord_start=0",
       "n={1,2,3,5,31,32,33,63,65,255,256,257,1023,1024,1025,2049}",
       "n=1024 top_k={1,32,33,256,257}"},
      {"n=200 iou_threshold=1", "n=1", "batch=2 n=65 return_indices max_output_size=20",
       "n=129 e=5 id_index=-1 score_index=0 coord_start=1 invalid_to_bottom", "n=1025 top_k=40"}};
}

}  // namespace clam::nms
