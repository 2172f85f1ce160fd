// SPDX-License-Identifier: MIT
// The outputs of nms, from who is kept.
#include "check/parallel.hpp"
#include "ops/nms.hpp"
#include "shared/suppression_reference.hpp"

namespace clam {
namespace {

/// Writes the rows of candidates, those that are not kept as -1 or, `compact`, not at all.
void write_rows(const Suppression& s, bool compact, const HostTensor& data, std::int64_t b,
                const Selected& selected, HostTensor& out) {
  std::int64_t place = 0;
  for (std::int64_t i = b * s.n * s.e; i < (b + 1) * s.n * s.e; ++i) out.set(i, -1);
  for (std::size_t c = 0; c < selected.rows.size(); ++c) {
    const bool keep = selected.keep[c];
    const std::int64_t from = (b * s.n + selected.rows[c]) * s.e, to = (b * s.n + place) * s.e;
    for (std::int64_t i = 0; keep && i < s.e; ++i) out.set_bits(to + i, data.bits(from + i));
    place += keep || !compact;
  }
}

void write_indices(const Suppression& s, const HostTensor& indices, std::int64_t b,
                   const Selected& selected, HostTensor& box_indices, HostTensor& box_count) {
  std::int64_t place = 0;
  for (std::int64_t i = 0; i < s.n; ++i) box_indices.set(b * s.n + i, -1);
  for (std::size_t c = 0; c < selected.rows.size(); ++c) {
    if (!selected.keep[c]) continue;
    box_indices.set_bits(b * s.n + place++, indices.bits(b * s.n + selected.rows[c]));
  }
  box_count.set(b, static_cast<double>(place));
}

}  // namespace

Reference nms_reference(const Problem& p, const Tensors& inputs, const ReferenceOptions& options) {
  const Suppression s = nms_asks(p);
  const bool with_indices = p.flag("return_indices");
  const std::vector<Selected> sets = select(s, inputs, options);
  HostTensor out(p.dtype(), with_indices ? Shape{1} : Shape{s.sets, s.n, s.e});
  HostTensor box_indices(Dtype::i32, {s.sets, s.n}), box_count(Dtype::i32, {s.sets, 1});
  parallel_for(s.sets, [&](std::int64_t b) {
    const Selected& selected = sets[static_cast<std::size_t>(b)];
    if (with_indices) {
      write_indices(s, inputs.at("indices"), b, selected, box_indices, box_count);
    } else {
      write_rows(s, p.flag("invalid_to_bottom"), inputs.at("data"), b, selected, out);
    }
  });
  Reference reference;
  if (with_indices) {
    reference["box_indices"].exact = std::move(box_indices);
    reference["box_count"].exact = std::move(box_count);
  } else {
    reference["out"].exact = std::move(out);
  }
  return reference;
}

}  // namespace clam
