// SPDX-License-Identifier: MIT
// The outputs of onnx_nms, from who is kept.
#include "ops/onnx_nms.hpp"
#include "shared/suppression_reference.hpp"

namespace clam {

Reference onnx_nms_reference(const Problem& p, const Tensors& inputs,
                             const ReferenceOptions& options) {
  const Suppression s = onnx_nms_asks(p);
  const std::vector<Selected> sets = select(s, inputs, options);
  HostTensor selected(Dtype::i32, {s.sets * onnx_nms_most(p), 3}), count(Dtype::i32, {1});
  for (std::int64_t i = 0; i < selected.size(); ++i) selected.set(i, -1);
  std::int64_t place = 0;
  for (std::int64_t set = 0; set < s.sets; ++set) {
    const Selected& of_set = sets[static_cast<std::size_t>(set)];
    for (std::size_t c = 0; c < of_set.rows.size(); ++c) {
      if (!of_set.keep[c]) continue;
      selected.set(3 * place, static_cast<double>(set / p.integer("classes")));
      selected.set(3 * place + 1, static_cast<double>(set % p.integer("classes")));
      selected.set(3 * place + 2, static_cast<double>(of_set.rows[c]));
      ++place;
    }
  }
  count.set(0, static_cast<double>(place));
  Reference reference;
  reference["selected"].exact = std::move(selected);
  reference["selected_count"].exact = std::move(count);
  return reference;
}

}  // namespace clam
