// SPDX-License-Identifier: MIT
// multibox_prior_cases.cpp - the data sets and cases of multibox_prior, for tests and benches.
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "ops/multibox_prior.hpp"

namespace clam {

Reference multibox_prior_reference(const Problem&, const Tensors& inputs, const ReferenceOptions&);

namespace {

std::vector<DataSet> data_sets() {
  return {{"none", Check::hard, "there are no inputs to fill",
           [](const Problem&, std::uint64_t, Tensors&) {}}};
}

/// Around the 16 to 256 boxes of a group; the six maps of an SSD of 300 pixels; sizes that overflow
/// when they are multiplied by the map's height, or divided by a ratio's root.
std::vector<std::string> cases() {
  const auto with = [](const std::string& words) { return "multibox_prior " + words; };
  std::vector<std::string> cases = {
      with("h=38 w=38 sizes=0.1x0.141 ratios=1x2x0.5"),
      with("h=19 w=19 sizes=0.2x0.272 ratios=1x2x0.5x3x0.33333334"),
      with("h=10 w=10 sizes=0.37x0.447 ratios=1x2x0.5x3x0.33333334 clip=1"),
      with("h=5 w=7 sizes=0.54x0.619 ratios=1x2x0.5 steps=0.0625x0.03125"),
      with("h=3 w=3 sizes=0.71x0.79 ratios=1x2x0.5 offsets=0.25x0.75"),
      with("h=1 w=1 sizes=0.88x0.961 ratios=3x2x0.5 clip=1"),
      with("h=3 w=300 sizes=3e+38x0.5 ratios=1x0.25"),
      with("h=3 w=300 sizes=3e+38x0.5 ratios=1x0.25 clip=1"),
      with("h=2 w=1000 sizes=1e-05x3 ratios=10x1e-05 offsets=-1x2"),
      with("h=1000 w=2 sizes=0.1x0.2x0.3x0.4x0.5x0.6x0.7x0.8x0.9x1x1.1x1.2x1.3x1.4x1.5x1.6")};
  for (const int w : {1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257}) {
    cases.push_back(with("h=3 w=" + std::to_string(w)));
  }
  return cases;
}

std::vector<std::string> small_cases() {
  return {"multibox_prior h=1 w=1",
          "multibox_prior h=3 w=33 sizes=0.2x0.272 ratios=1x2x0.5 clip=1"};
}

}  // namespace

const OpProof& multibox_prior_proof() {
  static const OpProof proof = [] {
    OpProof proof;
    proof.op = "multibox_prior";
    proof.data_sets = data_sets();
    proof.reference = multibox_prior_reference;
    proof.cases = cases();
    proof.small_cases = small_cases();
    return proof;
  }();
  return proof;
}

}  // namespace clam
