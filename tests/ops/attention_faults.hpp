// SPDX-License-Identifier: MIT
// attention_faults.hpp - an attention in float on the host, right or with a fault.
#pragma once

#include <cmath>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/attention.hpp"

namespace clam::attention_faults {

enum class Fault {
  none,
  half_scores,        ///< products of a score summed in half
  half_outputs,       ///< weighted v summed in half
  half_weights,       ///< weights rounded to half
  drop_last_key,      ///< the last key that a query sees is left out
  drop_last_product,  ///< the last column of q and k is left out
  no_scale,
  not_brought_down,  ///< sums stay as they are when the maximum rises
  wrong_kv_head,
  not_swapped,  ///< k and v of the query's own batch item
};

/// One query's output, like a kernel's: in float, key after key, by the maximum so far.
inline std::vector<float> query(const AttentionExtents& at, const Tensors& inputs, Fault fault,
                                std::int64_t row) {
  const std::int64_t head = row / at.nq % at.heads, item = row / at.nq / at.heads;
  const std::int64_t share = fault == Fault::wrong_kv_head ? 1 : at.heads / at.kv_heads;
  const std::int64_t other = fault == Fault::not_swapped ? item : at.kv_item(item);
  const std::int64_t of_kv = other * at.kv_heads + head / share % at.kv_heads;
  const std::int64_t products = at.d - (fault == Fault::drop_last_product ? 1 : 0);
  std::int64_t keys = at.causal ? std::min(at.nk, row % at.nq + 1) : at.nk;
  if (fault == Fault::drop_last_key) --keys;
  const auto number = [&](const char* name, std::int64_t i) {
    return static_cast<float>(inputs.at(name).get(i));
  };
  const auto in_half = [](float value) { return static_cast<float>(round_to_half(value)); };
  float most = -std::numeric_limits<float>::max(), total = 0;
  std::vector<float> o(static_cast<std::size_t>(at.dv));
  for (std::int64_t key = 0; key < keys; ++key) {
    float sum = 0;
    for (std::int64_t c = 0; c < products; ++c) {
      sum =
          std::fma(number("q", row * at.d + c), number("k", (of_kv * at.nk + key) * at.d + c), sum);
      if (fault == Fault::half_scores) sum = in_half(sum);
    }
    float x = fault == Fault::no_scale ? sum : at.scale * sum;
    if (inputs.count("mask")) {
      const std::int64_t size = inputs.at("mask").size(), rows = size / at.nk;
      const std::int64_t of_mask = rows == at.batch * at.nq && rows != at.batch * at.heads * at.nq
                                       ? item * at.nq + row % at.nq
                                       : row % rows;
      x += number("mask", of_mask * at.nk + key);
    }
    const float higher = std::isnan(x) ? x : std::fmax(most, x);
    const float down = fault == Fault::not_brought_down ? 1 : std::exp(most - higher);
    float w = std::exp(x - higher);
    total = total * down + w;
    if (fault == Fault::half_weights) w = in_half(w);
    for (std::int64_t c = 0; c < at.dv; ++c) {
      float& sum_of_v = o[static_cast<std::size_t>(c)];
      sum_of_v = std::fma(w, number("v", (of_kv * at.nk + key) * at.dv + c), sum_of_v * down);
      if (fault == Fault::half_outputs) sum_of_v = in_half(sum_of_v);
    }
    most = higher;
  }
  for (float& sum : o) sum = total == 0 ? 0 : sum / total;
  return o;
}

inline HostTensor computed(const Problem& problem, const Tensors& inputs, Fault fault) {
  const AttentionExtents at(problem);
  HostTensor o(problem.dtype(), {at.batch, at.heads, at.nq, at.dv});
  for (std::int64_t row = 0; row < at.batch * at.heads * at.nq; ++row) {
    const std::vector<float> values = query(at, inputs, fault, row);
    for (std::int64_t c = 0; c < at.dv; ++c) {
      o.set(row * at.dv + c, static_cast<double>(values[static_cast<std::size_t>(c)]));
    }
  }
  return o;
}

}  // namespace clam::attention_faults
