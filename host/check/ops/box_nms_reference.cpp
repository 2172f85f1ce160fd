// SPDX-License-Identifier: MIT
// The output of box_nms, from who is kept.
#include "ops/box_nms.hpp"
#include "shared/suppression_reference.hpp"

namespace clam {
namespace {

constexpr double kSmallest = 1.1754943508222875e-38;  ///< 2^-126, the smallest normal float

/// The four coordinates of a kept row, as its output has them. In float, operation by operation.
void convert(BoxForm form, const DeviceFloat& a, const HostTensor& data, std::int64_t from,
             HostTensor& out, std::int64_t to) {
  for (int axis = 0; axis < 2; ++axis) {
    const float first = a(static_cast<float>(data.get(from + axis)));
    const float second = a(static_cast<float>(data.get(from + axis + 2)));
    float low, high;
    if (form == BoxForm::to_center) {
      low = a(0.5f * a(first + second));
      high = a(second - first);
    } else {
      const float half = a(0.5f * second);
      low = a(first - half);
      high = a(first + half);
    }
    out.set(to + axis, static_cast<double>(low));
    out.set(to + axis + 2, static_cast<double>(high));
  }
}

/// The values of `exact`: a NaN that was computed may have any payload. They have no margin, except
/// that a device which is not held to denormals may keep or drop one.
Expected by_value(const HostTensor& exact, const ReferenceOptions& options) {
  Expected expected;
  for (std::int64_t i = 0; i < exact.size(); ++i) expected.value.push_back(exact.get(i));
  const bool is_sharp = options.denormals || exact.dtype() == Dtype::f16;
  expected.bound.assign(expected.value.size(), is_sharp ? 0 : 2 * kSmallest);
  return expected;
}

}  // namespace

Reference box_nms_reference(const Problem& p, const Tensors& inputs,
                            const ReferenceOptions& options) {
  const Suppression s = box_nms_asks(p);
  const BoxForm form = box_nms_form(p);
  const HostTensor& data = inputs.at("data");
  const std::vector<Selected> sets = select(s, inputs, options);
  HostTensor out(p.dtype(), {s.sets, s.n, s.e});
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, -1);
  for (std::int64_t b = 0; b < s.sets; ++b) {
    const Selected& selected = sets[static_cast<std::size_t>(b)];
    std::int64_t to = b * s.n * s.e;
    for (std::size_t c = 0; c < selected.rows.size(); ++c) {
      if (!selected.keep[c]) continue;
      const std::int64_t from = (b * s.n + selected.rows[c]) * s.e;
      for (std::int64_t i = 0; i < s.e; ++i) out.set_bits(to + i, data.bits(from + i));
      if (form != BoxForm::as_is) {
        convert(form, DeviceFloat{options.denormals}, data, from + s.coord_start, out,
                to + s.coord_start);
      }
      to += s.e;
    }
  }
  Reference reference;
  if (form == BoxForm::as_is) {
    reference["out"].exact = std::move(out);
  } else {
    reference["out"] = by_value(out, options);
  }
  return reference;
}

}  // namespace clam
