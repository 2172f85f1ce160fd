// SPDX-License-Identifier: MIT
// concat_cases.hpp - the problems and data of concat, for tests and benches.
#pragma once

#include <string>
#include <vector>

#include "../op.hpp"
#include "shared/copies.hpp"

namespace clam {

/// Rows of a and b, which alternate in dst.
struct Concat {
  std::int64_t rows, na, nb;
  explicit Concat(const Problem& problem);
};

Reference concat_reference(const Problem& problem, const Tensors& inputs,
                           const ReferenceOptions& options);

inline std::vector<DataSet> concat_data_sets() {
  return {{"bits", Check::exact, "any bits, NaN and denormals among them",
           [](const Problem&, std::uint64_t seed, Tensors& inputs) {
             copy_data::fill(seed, inputs, copy_data::any);
           }},
          {"numbered", Check::exact, "element i has the bits of i: a wrong place shows",
           [](const Problem&, std::uint64_t seed, Tensors& inputs) {
             copy_data::fill(seed, inputs, copy_data::numbered);
           }}};
}

/// In units of 1, 2, 4 and 8 elements; around groups along a row and across.
inline std::vector<std::string> concat_cases() {
  return {"concat axis=1 shape_a=192x256 shape_b=192x256",
          "concat axis=0 shape_a=1 shape_b=1",
          "concat axis=0 shape_a=5x7 shape_b=3x7",
          "concat axis=1 shape_a=17x6 shape_b=17x10",
          "concat axis=1 shape_a=3x4 shape_b=3x12",
          "concat axis=1 shape_a=65x8 shape_b=65x16",
          "concat axis=1 shape_a=2x129 shape_b=2x128",
          "concat axis=2 shape_a=4x192x32 shape_b=4x192x1",
          "concat axis=1 shape_a=2x3x5x7 shape_b=2x4x5x7",
          "concat axis=3 shape_a=2x3x5x1 shape_b=2x3x5x64",
          "concat axis=0 shape_a=1000x8 shape_b=24x8",
          "concat axis=1 shape_a=1x24528 shape_b=1x9216"};
}

inline std::vector<std::string> concat_small_cases() {
  return {"concat axis=1 shape_a=5x3 shape_b=5x4", "concat axis=1 shape_a=3x8 shape_b=3x12"};
}

}  // namespace clam
