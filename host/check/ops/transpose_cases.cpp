// SPDX-License-Identifier: MIT
// transpose_cases.cpp - the data sets and cases of transpose, for tests and benches.
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/transpose.hpp"
#include "shared/copy_sets.hpp"

namespace clam {

Reference transpose_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

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

/// Blocks of 4 x 4, groups of 4 x 16 of them; tiles of 16 x 16; rows in units of 1 to 8 elements.
std::vector<std::string> cases() {
  return {
      // What models run: heads split and merged, and layouts.
      "transpose shape=192x4x64 perm=1-0-2",
      "transpose shape=4x192x64 perm=0-2-1",
      "transpose shape=1x64x56x56 perm=0-2-3-1",
      "transpose shape=1x13x13x18 perm=0-3-1-2",
      // Copies.
      "transpose shape=1 perm=0",
      "transpose shape=5x7 perm=0-1",
      "transpose shape=1x300x1 perm=2-1-0",
      "transpose shape=2x3x4x8 perm=0-1-2-3",
      // Rows: in every unit, around groups; three axes and four.
      "transpose shape=3x5x7 perm=1-0-2",
      "transpose shape=17x3x6 perm=1-0-2",
      "transpose shape=3x65x4 perm=1-0-2",
      "transpose shape=16x17x8 perm=1-0-2",
      "transpose shape=3x4x5x6 perm=2-1-0-3",
      "transpose shape=2x3x4x5 perm=0-2-1-3",
      "transpose shape=5x6x7x9 perm=2-1-0-3",
      // Blocks: one, around a group, three axes and four.
      "transpose shape=4x4 perm=1-0",
      "transpose shape=64x16 perm=1-0",
      "transpose shape=68x20 perm=1-0",
      "transpose shape=12x60 perm=1-0",
      "transpose shape=3x8x12 perm=2-1-0",
      "transpose shape=8x5x12 perm=2-0-1",
      "transpose shape=8x5x12 perm=1-2-0",
      "transpose shape=8x3x5x12 perm=3-2-1-0",
      "transpose shape=2x8x3x12 perm=0-3-2-1",
      // Tiles: around one, thin ones, three axes and four.
      "transpose shape=2x3 perm=1-0",
      "transpose shape=15x16 perm=1-0",
      "transpose shape=17x33 perm=1-0",
      "transpose shape=1x1000x3 perm=0-2-1",
      "transpose shape=3x1001 perm=1-0",
      "transpose shape=5x7x9 perm=2-1-0",
      "transpose shape=5x7x9 perm=1-2-0",
      "transpose shape=3x18x5x19 perm=3-2-1-0",
      "transpose shape=7x2x5x3 perm=2-3-0-1",
      "transpose shape=2x17x3x18 perm=1-3-2-0",
  };
}

std::vector<std::string> small_cases() {
  return {"transpose shape=3x4x5 perm=1-0-2", "transpose shape=8x2x3x12 perm=3-2-1-0",
          "transpose shape=17x2x3x18 perm=3-2-1-0", "transpose shape=3x2x2x8 perm=2-1-0-3"};
}

}  // namespace

const OpProof& transpose_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "transpose";
    proof.data_sets = data_sets();
    proof.reference = transpose_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
