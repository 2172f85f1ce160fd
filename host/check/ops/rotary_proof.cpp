// SPDX-License-Identifier: MIT
// rotary_proof.cpp - rotary in double, and how far from it a device may be. Let u = 2^-24. Each
// of the two products may be rounded, or one fused into the sum: u |src cos| + u |rotate(src) sin|;
// the sum is rounded, u |dst|, which in f32 is the rounding to the output. What is copied is exact.
#include "ops/rotary.hpp"
#include "shared/proof.hpp"

namespace clam::rotary {
namespace {

Reference reference(const Problem& problem, const Tensors& inputs,
                    const ReferenceOptions& options) {
  const Rotary rotary(problem);
  const Dtype dtype = problem.dtype();
  const HostTensor &src = inputs.at("src"), &cos = inputs.at("cos"), &sin = inputs.at("sin");
  const double u = 0x1p-24, last = unit_roundoff(dtype) + (dtype == Dtype::f16 ? u : 0);
  return by_rows(
      problem, std::int64_t{rotary.matrices} * rotary.n, [&](std::int64_t row, Expected& dst) {
        for (int j = 0; j < rotary.d; ++j) {
          const std::int64_t at = row * rotary.d + j, place = row % rotary.n * rotary.d + j;
          if (j >= rotary.rotary_dim) {
            dst.set(at, {src.get(at), 0});
            continue;
          }
          const double sign = rotary.is_first(j) ? -1 : 1, c = cos.get(place), s = sin.get(place);
          const double a = src.get(at) * c, b = sign * src.get(at - j + rotary.partner(j)) * s;
          // Denormals may be lost in the operands or the products.
          const double lost = crumb(dtype, options.denormals, 3 * 0x1p-149,
                                    (3 + (std::fabs(c) + std::fabs(s))) * 0x1p-126);
          const double error = u * (std::fabs(a) + std::fabs(b)) + last * std::fabs(a + b) + lost;
          const bool is_exact = options.check == Check::exact || !std::isfinite(a + b);
          dst.set(at, {a + b, is_exact ? 0 : error});
        }
      });
}

// ---- data sets and cases ----

/// Sums of products of small whole numbers; sin has no zero, cos has some.
void exact(const Problem&, std::uint64_t seed, Tensors& inputs) {
  Random random(seed);
  const auto fill = [&](const char* name, const auto& value) {
    fill_tensor(inputs.at(name), random, [&](Random&, std::int64_t) { return value(); });
  };
  fill("src", [&] { return random.integer(-7, 7); });
  fill("cos", [&] { return random.integer(-1, 1); });
  fill("sin", [&] { return random.integer(0, 1) * 4 - 2; });
}

/// Angles i * 10000^(-2 j / rotary_dim), as in models.
void angles(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  const Rotary rotary(problem);
  Random random(seed);
  const auto angle = [&](std::int64_t at) {
    const int i = static_cast<int>(at / rotary.d), j = static_cast<int>(at % rotary.d);
    const int pair = rotary.halves ? j % std::max(1, rotary.rotary_dim / 2) : j / 2;
    return i * std::pow(10000.0, -2.0 * pair / rotary.rotary_dim);
  };
  fill_tensor(inputs.at("src"), random, normal);
  fill_tensor(inputs.at("cos"), random,
              [&](Random&, std::int64_t at) { return std::cos(angle(at)); });
  fill_tensor(inputs.at("sin"), random,
              [&](Random&, std::int64_t at) { return std::sin(angle(at)); });
}

/// NaN, infinities and -0 in places; where elements are copied, too.
void special(const Problem& problem, std::uint64_t seed, Tensors& inputs) {
  angles(problem, seed, inputs);
  HostTensor& src = inputs.at("src");
  for (std::int64_t i = 0; i < src.size(); ++i) {
    if (i % 61 == 11) src.set(i, kNan);
    if (i % 53 == 31) src.set(i, i % 2 == 0 ? kInfinity : -kInfinity);
    if (i % 7 == 3) src.set(i, -0.0);
  }
}

}  // namespace

OpProof proof() {
  return {
      "rotary",
      // In zero_mean every element has a cosine and a sine of its own, as no model has them.
      {{"exact", Check::exact, "small whole numbers", exact},
       {"zero_mean", Check::hard, "N(0,1), tables too: a wrong column shows", filled(normal)},
       {"angles", Check::hard, "cosines and sines of the angles of models", angles},
       {"special", Check::hard, "NaN, infinities and -0 in places", special}},
      reference,
      // Vectors of 4 where d and rotary_dim allow; 1, 2 or 4 matrices an item; groups 16 wide.
      {"batch={1,2} heads=4 n=192 d=64{, pairing=halves}",
       "batch=1 heads=1 n=1 d=2{, pairing=halves}", "batch=1 heads=3 n=5 d=6{, pairing=halves}",
       "batch=3 heads=2 n=7 d=20{, pairing=halves}", "batch=1 heads=5 n=17 d=8{, pairing=halves}",
       "batch=2 heads=2 n=9 d=128{, pairing=halves}", "batch=1 heads=4 n=33 d=68{, pairing=halves}",
       "batch=1 heads=1 n=63 d=34{, pairing=halves}",
       "batch=1 heads=7 n=3 d=96 rotary_dim=32{, pairing=halves}",
       "batch=2 heads=1 n=65 d=80 rotary_dim=20{, pairing=halves}",
       "batch=1 heads=2 n=5 d={7 rotary_dim=6,24 rotary_dim=2}{, pairing=halves}",
       "batch=1 heads=1 n=300 d=16 rotary_dim=12{, pairing=halves}",
       "batch=1 heads=8 n=37 d=64 ldsrc=768 headsrc=64 lddst=512 headdst=64{, pairing=halves}",
       "batch=1 heads=3 n=5 d=6 ldsrc=23 headsrc=7 offsrc=2 lddst=7 offdst=3{, pairing=halves}",
       "batch=2 heads=2 n=6 d=12 rotary_dim=8 ldsrc=16 offsrc=4 lddst=20 offdst=8{, "
       "pairing=halves}"},
      {"batch=1 heads=2 n=5 d=8", "batch=1 heads=3 n=3 d=7 rotary_dim=4",
       "batch=1 heads=4 n=5 d=12 rotary_dim=8 pairing=halves",
       "batch=1 heads=1 n=3 d=6 rotary_dim=4 pairing=halves",
       "batch=1 heads=2 n=3 d=12 rotary_dim=8 ldsrc=24 headsrc=12 lddst=28 headdst=12"}};
}

}  // namespace clam::rotary
