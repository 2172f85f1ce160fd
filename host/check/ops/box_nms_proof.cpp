// SPDX-License-Identifier: MIT
// box_nms_proof.cpp - the output of box_nms, from who is kept.
#include "nms_data.hpp"
#include "shared/suppression_reference.hpp"

namespace clam::box_nms {
namespace {

/// Makes the four coordinates of a kept row what its output has. In float, operation by operation.
void convert(BoxForm form, const DeviceFloat& a, HostTensor& out, std::int64_t at) {
  for (int axis = 0; axis < 2; ++axis) {
    const float first = a(static_cast<float>(out.get(at + axis)));
    const float second = a(static_cast<float>(out.get(at + axis + 2)));
    float low, high;
    if (form == BoxForm::to_center) {
      low = a(0.5f * a(first + second));
      high = a(second - first);
    } else {
      const float half = a(0.5f * second);
      low = a(first - half);
      high = a(first + half);
    }
    out.set(at + axis, low);
    out.set(at + axis + 2, high);
  }
}

/// The values of `exact`: a NaN that was computed may have any payload. They have no margin, except
/// that a device which is not held to denormals may keep or drop one.
Expected by_value(const HostTensor& exact, const ReferenceOptions& options) {
  const bool is_sharp = options.denormals || exact.dtype() == Dtype::f16;
  Expected expected = Expected::of_size(exact.size());
  for (std::int64_t i = 0; i < exact.size(); ++i) {
    expected.set(i, {exact.get(i), is_sharp ? 0 : 2 * kSmallest});
  }
  return expected;
}

Reference reference(const Problem& p, const Tensors& inputs, const ReferenceOptions& options) {
  const Suppression s = box_nms_asks(p);
  const BoxForm form = box_nms_form(p);
  const std::vector<Selected> sets = select(s, inputs, options);
  HostTensor out(p.dtype(), {s.sets, s.n, s.e});
  for (std::int64_t b = 0; b < s.sets; ++b) {
    const Selected& selected = sets[b];
    write_rows(s, true, inputs.at("data"), b, selected, out);
    const std::int64_t kept = selected.kept.size();
    for (std::int64_t row = b * s.n; form != BoxForm::as_is && row < b * s.n + kept; ++row) {
      convert(form, DeviceFloat{options.denormals}, out, row * s.e + s.coord_start);
    }
  }
  return {{"out", form == BoxForm::as_is ? Expected{out} : by_value(out, options)}};
}

// ---- data sets and cases ----

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

void special(const Problem& p, Random& random, Tensors& inputs) {
  box_sets::make_special_boxes(inputs.at("data"), random, p.integer("e"), p.integer("coord_start"),
                               p.choice("in_format") == "center");
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
  box_sets::fill(rows, seed, box_sets::kEvery);
}

std::vector<DataSet> data_sets() {
  std::vector<DataSet> sets = suppression_data_sets(rows_of, special);
  sets.push_back({"background", Check::exact, "the best third of the rows is of the class to drop",
                  background});
  return sets;
}

}  // namespace

OpProof proof() {
  return {
      "box_nms",
      data_sets(),
      reference,
      // What nms has no word for, and one case of each way through the core.
      {"n=122640 iou_threshold=0.45 valid_thresh=0.01 topk=400 id_index=0",
       "batch=3 n=1500 topk=40 id_index=0 background_id=3",
       "batch=2 n=300 id_index=0 background_id=0 force_suppress=1",
       "batch=2 n=300 id_index=0 force_suppress=1",
       "n=517 e=7 id_index=6 background_id=-2 valid_thresh=-2", "n=700 in_format=center",
       "n=700 in_format=center id_index=0 out_format=center",
       "batch=2 n=700 in_format=center out_format=corner iou_threshold=0.25",
       "n=700 out_format=center", "n=517 e=5 score_index=0 coord_start=1 out_format=center",
       "n=517 e=7 id_index=6 score_index=0 coord_start=1 valid_thresh=-1",
       "n=700 valid_thresh=-inf", "n=700 iou_threshold={0,1}", "n=1000 iou_threshold=0.14285715",
       "n=4097 id_index=0", "n=2", "n=1 e=5 score_index=4 coord_start=0"},
      {"n=200 out_format=center", "batch=2 n=65 id_index=0 background_id=1",
       "n=300 in_format=center out_format=corner", "n=1025 topk=40 id_index=0"}};
}

}  // namespace clam::box_nms
