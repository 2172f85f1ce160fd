// SPDX-License-Identifier: MIT
// gather_cases.cpp - the data sets and cases of gather, for tests and benches.
#include <fmt/core.h>

#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/gather.hpp"
#include "shared/copy_sets.hpp"

namespace clam {

Reference gather_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

/// The first and the last slice, then any, some of them again.
void fill_index(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const int last = static_cast<int>(Gather(problem).extent) - 1;
  Random random(seed);
  HostTensor& index = inputs.at("index");
  for (std::int64_t j = 0; j < index.size(); ++j) {
    index.set(j, j == 0 ? last : j == 1 ? 0 : random.integer(0, last));
  }
}

std::vector<DataSet> data_sets() {
  return {{"bits", Check::exact, "any bits, NaN and denormals among them",
           [](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
             copy_data::fill(seed, inputs, copy_data::any);
             fill_index(problem, seed, inputs);
           }},
          {"numbered", Check::exact, "element i has the bits of i: a wrong place shows",
           [](const Problem& problem, std::uint64_t seed, Tensors& inputs) {
             copy_data::fill(seed, inputs, copy_data::numbered);
             fill_index(problem, seed, inputs);
           }}};
}

/// In units of 1, 2, 4 and 8 elements; around groups along a slice and across.
std::vector<std::string> cases() {
  return {"gather shape=192x256 axis=0 count=100", "gather shape=1 axis=0 count=1",
          "gather shape=7 axis=0 count=33",        "gather shape=5x6 axis=0 count=17",
          "gather shape=5x12 axis=0 count=3",      "gather shape=9x8 axis=0 count=65",
          "gather shape=3x260 axis=0 count=2",     "gather shape=2x5x7 axis=1 count=4",
          "gather shape=3x4x5x8 axis=2 count=9",   "gather shape=6x50 axis=1 count=70",
          "gather shape=1000x3 axis=0 count=1001"};
}

std::vector<std::string> small_cases() {
  return {"gather shape=2x5x3 axis=1 count=7", "gather shape=3x9x8 axis=1 count=5",
          "gather shape=4x6 axis=1 count=5"};
}

/// Kernels clamp such an index; where the host has it, it is refused.
Reason bad_inputs(const Problem& problem, const Tensors& inputs) {
  const std::int64_t extent = Gather(problem).extent;
  const HostTensor& index = inputs.at("index");
  for (std::int64_t j = 0; j < index.size(); ++j) {
    const double named = index.get(j);
    if (named >= 0 && named < static_cast<double>(extent)) continue;
    return fmt::format("index[{}]={}, needs 0 to {}, the {} slices of src", j, named, extent - 1,
                       extent);
  }
  return {};
}

}  // namespace

const OpProof& gather_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "gather";
    proof.data_sets = data_sets();
    proof.reference = gather_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    proof.bad_inputs = bad_inputs;
    return proof;
  }();
  return proof;
}

}  // namespace clam
