// SPDX-License-Identifier: MIT
// concat_cases.cpp - the data sets and cases of concat, for tests and benches.
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/concat.hpp"
#include "shared/copy_sets.hpp"

namespace clam {

Reference concat_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

std::vector<DataSet> data_sets() {
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
std::vector<std::string> cases() {
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

std::vector<std::string> small_cases() {
  return {"concat axis=1 shape_a=5x3 shape_b=5x4", "concat axis=1 shape_a=3x8 shape_b=3x12"};
}

}  // namespace

const OpProof& concat_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "concat";
    proof.data_sets = data_sets();
    proof.reference = concat_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
