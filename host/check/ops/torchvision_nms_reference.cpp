// SPDX-License-Identifier: MIT
// The outputs of torchvision_nms, from who is kept.
#include "ops/torchvision_nms.hpp"
#include "shared/suppression_reference.hpp"

namespace clam {

Reference torchvision_nms_reference(const Problem& p, const Tensors& inputs,
                                    const ReferenceOptions& options) {
  const Suppression s = torchvision_nms_asks(p);
  const Selected selected = select(s, inputs, options).front();
  HostTensor keep(Dtype::i32, {s.n}), count(Dtype::i32, {1});
  for (std::int64_t i = 0; i < s.n; ++i) keep.set(i, -1);
  std::int64_t place = 0;
  for (std::size_t c = 0; c < selected.rows.size(); ++c) {
    if (selected.keep[c]) keep.set(place++, static_cast<double>(selected.rows[c]));
  }
  count.set(0, static_cast<double>(place));
  Reference reference;
  reference["keep_rows"].exact = std::move(keep);
  reference["keep_count"].exact = std::move(count);
  return reference;
}

}  // namespace clam
