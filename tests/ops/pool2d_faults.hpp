// SPDX-License-Identifier: MIT
// pool2d_faults.hpp - a pool2d in float on the host, right or with a fault.
#pragma once

#include <algorithm>
#include <cmath>

#include "check/op_proof.hpp"
#include "ops/pool2d.hpp"

namespace clam::pool2d_faults {

enum class Fault { none, drop_last, half_sum, other_count };

/// A window computed like a kernel, in float, element after element.
inline float window(const Pool2d& pool, const HostTensor& x, std::int64_t first, std::int64_t step,
                    int top, int left, Fault fault) {
  float sum = 0, largest = -std::numeric_limits<float>::infinity();
  const int bottom = std::min(top + pool.r, pool.h), right = std::min(left + pool.s, pool.w);
  int elements = 0;
  for (int iy = std::max(top, 0); iy < bottom; ++iy) {
    for (int ix = std::max(left, 0); ix < right; ++ix, ++elements) {
      if (fault == Fault::drop_last && iy == bottom - 1 && ix == right - 1) break;
      const auto v = static_cast<float>(x.get(first + (std::int64_t{iy} * pool.w + ix) * step));
      if (v > largest || std::isnan(v)) largest = v;
      sum += v;
      if (fault == Fault::half_sum) sum = static_cast<float>(round_to_half(sum));
    }
  }
  if (pool.max) return largest;
  int counts = pool.counts();
  if (fault == Fault::other_count) counts = counts == 1 ? 0 : 1;
  if (counts == 0) return sum * pool.scale();
  if (counts == 2) {
    elements = (std::min(top + pool.r, pool.h + pool.pad_b) - top) *
               (std::min(left + pool.s, pool.w + pool.pad_r) - left);
  }
  return sum / static_cast<float>(elements);
}

inline HostTensor computed(const Problem& problem, const Tensors& inputs, Fault fault) {
  const Pool2d pool(problem);
  HostTensor y(pool.dtype, pool.shape(pool.oh(), pool.ow()));
  const std::int64_t outputs = std::int64_t{pool.oh()} * pool.ow();
  for (std::int64_t i = 0; i < pool.maps() * outputs; ++i) {
    const std::int64_t map = i / outputs, oy = i % outputs / pool.ow(), ox = i % pool.ow();
    const std::int64_t image = map / pool.c, c = map % pool.c;
    const std::int64_t first = pool.nhwc ? image * pool.pixels() * pool.c + c : map * pool.pixels();
    const std::int64_t at = pool.nhwc ? (image * outputs + i % outputs) * pool.c + c : i;
    y.set(at,
          static_cast<double>(window(pool, inputs.at("x"), first, pool.nhwc ? pool.c : 1,
                                     static_cast<int>(oy) * pool.stride_h - pool.pad_t,
                                     static_cast<int>(ox) * pool.stride_w - pool.pad_l, fault)));
  }
  return y;
}

}  // namespace clam::pool2d_faults
