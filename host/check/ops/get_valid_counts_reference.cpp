// SPDX-License-Identifier: MIT
// get_valid_counts as its definition reads, bit for bit.
#include "check/op_proof.hpp"
#include "check/parallel.hpp"

namespace clam {
namespace {

/// Every comparison with a NaN is false.
bool is_valid(const Problem& p, const HostTensor& data, std::int64_t first) {
  const int id_index = p.integer("id_index");
  const double score = data.get(first + p.integer("score_index"));
  return score > static_cast<double>(p.number("score_threshold")) &&
         (id_index < 0 || data.get(first + id_index) >= 0);
}

}  // namespace

Reference get_valid_counts_reference(const Problem& p, const Tensors& inputs,
                                     const ReferenceOptions&) {
  const HostTensor& data = inputs.at("data");
  const std::int64_t batch = p.integer("batch"), n = p.integer("n"), e = p.integer("e");
  HostTensor count(Dtype::i32, {batch}), out(p.dtype(), {batch, n, e});
  HostTensor indices(Dtype::i32, {batch, n});
  parallel_for(batch, [&](std::int64_t b) {
    std::int64_t place = 0;
    for (std::int64_t row = 0; row < n; ++row) {
      const std::int64_t from = (b * n + row) * e, to = (b * n + place) * e;
      if (!is_valid(p, data, from)) continue;
      for (std::int64_t i = 0; i < e; ++i) out.set_bits(to + i, data.bits(from + i));
      indices.set(b * n + place, static_cast<double>(row));
      ++place;
    }
    count.set(b, static_cast<double>(place));
    for (std::int64_t i = place * e; i < n * e; ++i) out.set(b * n * e + i, -1);
    for (std::int64_t i = place; i < n; ++i) indices.set(b * n + i, -1);
  });
  Reference reference;
  reference["count"].exact = std::move(count);
  reference["out"].exact = std::move(out);
  reference["indices"].exact = std::move(indices);
  return reference;
}

}  // namespace clam
