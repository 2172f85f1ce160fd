// SPDX-License-Identifier: MIT
// new_op_proof.cpp - new_op in double, as the formula reads, and the data and cases of its tests. One
// float product and one rounding to T: the bound is half a unit in the last place of each.
#include <cmath>
#include <random>

#include "shared/summation.hpp"

namespace clam::new_op {
namespace {

Reference reference(const Problem& p, const Tensors& inputs, const ReferenceOptions&) {
  const HostTensor& src = inputs.at("src");
  const double u = unit_roundoff(Dtype::f32) + unit_roundoff(p.dtype());
  const double tiny = std::ldexp(1.0, p.dtype() == Dtype::f16 ? -25 : -126);
  Expected dst;
  for (std::int64_t i = 0; i < src.size(); ++i) {
    const double value = static_cast<double>(p.number("factor")) * src.get(i);
    dst.value.push_back(value);
    dst.bound.push_back(u * std::fabs(value) + tiny);
  }
  return {{"dst", dst}};
}

void zero_mean(const Problem&, std::uint64_t seed, Tensors& inputs) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  HostTensor& src = inputs.at("src");
  for (std::int64_t i = 0; i < src.size(); ++i) src.set(i, normal(random));
}

}  // namespace

OpProof proof() {
  return {"new_op",
          {{"zero_mean", Check::zero_mean, "N(0,1)", zero_mean}},
          reference,
          {"n={1,63,64,10007}", "n=65 factor=-0.1"},
          {"n=129"}};
}

}  // namespace clam::new_op
