// SPDX-License-Identifier: MIT
// gather_cases.hpp - the problems and data of gather, for tests and benches.
#pragma once

#include <string>
#include <vector>

#include "../op.hpp"
#include "shared/copies.hpp"

namespace clam {

/// Element (o, j, i) of dst is element (o, index[j], i) of src.
struct Gather {
  std::int64_t outer, extent, inner, count;
  explicit Gather(const Problem& problem);
};

Reference gather_reference(const Problem& problem, const Tensors& inputs,
                           const ReferenceOptions& options);

/// src is read where it is gathered alone.
inline double gather_bytes(const Problem& problem) {
  const Gather gather(problem);
  return 2.0 * static_cast<double>(gather.outer * gather.count * gather.inner) *
             size_of(problem.dtype()) +
         4.0 * static_cast<double>(gather.count);
}

namespace gather_data {

/// The first and the last slice, then any, some of them again.
inline void fill_index(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const int last = static_cast<int>(Gather(problem).extent) - 1;
  Random random(seed);
  HostTensor& index = inputs.at("index");
  for (std::int64_t j = 0; j < index.size(); ++j) {
    index.set(j, j == 0 ? last : j == 1 ? 0 : random.integer(0, last));
  }
}

}  // namespace gather_data

inline std::vector<DataSet> gather_data_sets() {
  return {{"bits", Check::exact, "any bits, NaN and denormals among them",
           [](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
             copy_data::fill(seed, inputs, copy_data::any);
             gather_data::fill_index(problem, seed, inputs);
           }},
          {"numbered", Check::exact, "element i has the bits of i: a wrong place shows",
           [](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
             copy_data::fill(seed, inputs, copy_data::numbered);
             gather_data::fill_index(problem, seed, inputs);
           }}};
}

/// In units of 1, 2, 4 and 8 elements; around groups along a slice and across.
inline std::vector<std::string> gather_cases() {
  return {"gather shape=192x256 axis=0 count=100", "gather shape=1 axis=0 count=1",
          "gather shape=7 axis=0 count=33",        "gather shape=5x6 axis=0 count=17",
          "gather shape=5x12 axis=0 count=3",      "gather shape=9x8 axis=0 count=65",
          "gather shape=3x260 axis=0 count=2",     "gather shape=2x5x7 axis=1 count=4",
          "gather shape=3x4x5x8 axis=2 count=9",   "gather shape=6x50 axis=1 count=70",
          "gather shape=1000x3 axis=0 count=1001"};
}

inline std::vector<std::string> gather_small_cases() {
  return {"gather shape=2x5x3 axis=1 count=7", "gather shape=3x9x8 axis=1 count=5",
          "gather shape=4x6 axis=1 count=5"};
}

}  // namespace clam
