// SPDX-License-Identifier: MIT
// every_op_test.cpp - what each op must hold without a device: its groups keep to their limit, and
// its data sets let right outputs pass and catch wrong ones.
#include "every_op.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "check/manifest.hpp"
#include "check/verify.hpp"
#include "clam/planner.hpp"
#include "faults.hpp"

namespace clam::every_op_test {
namespace {

TEST(every_op, has_small_cases_that_launch_each_kernel) {
  std::set<std::string> launched, all;
  for (const std::string& file : embedded_files()) {
    for (const KernelTags& kernel : read_tags(KernelFiles().get(file)).kernels) {
      all.insert(kernel.name);
    }
  }
  for (const Op* op : all_ops()) {
    for (const char* dtype : {"f32", "f16"}) {
      test::smallest(proof_of(*op), dtype, generic_device(), launched);
    }
  }
  EXPECT_EQ(launched, all);
}

TEST_OF_EVERY_OP(testing::Test, groups_stay_within_the_limit) {
  constexpr int kMost = 256;
  test::for_each_case(op.name, [&](const Problem& problem) {
    for (const Variant& variant : op.variants) {
      if (variant.refuses(problem, generic_device())) continue;
      for (const int limit : {1, 2, 4, 16, 17, 32, 63, 64, 100, 128, 256, 1024}) {
        if (limit < test::GroupSizes::of(op.name).least) continue;
        SCOPED_TRACE(variant.name + " " + std::to_string(limit));
        const Plan plan = make_plan(problem, generic_device(), {variant.name, limit});
        for (const auto* launches : {&plan.pack, &plan.launches}) {
          for (const Launch& launch : *launches) {
            const std::int64_t items = launch.local[0] * launch.local[1] * launch.local[2];
            EXPECT_LE(items, std::min(limit, kMost)) << launch.kernel;
          }
        }
      }
    }
  });
}

// Fixed, so that small cases cannot pass or fail by chance.
constexpr std::uint64_t kSeed = 1;

TEST_OF_EVERY_OP(testing::Test, honest_outputs_pass_every_set) {
  const test::Simulation* simulation = test::Simulation::find(op.name);
  test::for_each_case(test::of_this_run(proof.cases), [&](const Problem& problem) {
    for (const DataSet& set : proof.data_sets) {
      const Tensors inputs = make_inputs(problem, set, kSeed);
      const Reference reference = reference_of(problem, inputs, {set.check});
      const Verification rounded = compare_all(reference, test::rounded(problem, reference), {}, 0);
      EXPECT_TRUE(rounded.pass()) << set.name << ": " << rounded.reason();
      if (!simulation || op.flops(problem) > simulation->most_flops) continue;
      const Verdict in_float =
          compare(simulation->compute(problem, inputs), reference.begin()->second);
      EXPECT_TRUE(in_float.pass) << set.name << ", in float: " << in_float.reason;
    }
  });
}

struct Honest {
  const DataSet* set;
  Reference reference;
  Tensors outputs;
};

Honest honest(const Problem& problem, const DataSet& set, std::uint64_t seed) {
  Reference reference = reference_of(problem, make_inputs(problem, set, seed), {set.check});
  Tensors outputs = test::rounded(problem, reference);
  return {&set, std::move(reference), std::move(outputs)};
}

/// One of each data set, of other random numbers each, and at least two. Without CLAM_TEST_FULL
/// large problems have only two.
std::vector<Honest> honest_outputs(const Op& op, const OpProof& proof, const Problem& problem) {
  constexpr double kLargeFlops = 5e4, kLargeBytes = 1e4;
  const bool is_large = op.flops(problem) > kLargeFlops || op.bytes(problem) > kLargeBytes;
  const std::vector<DataSet>& sets = proof.data_sets;
  const bool all = !is_large || std::getenv("CLAM_TEST_FULL");
  const std::size_t count = std::max<std::size_t>(2, all ? sets.size() : 0);
  std::vector<Honest> outputs;
  for (std::size_t i = 0; i < count; ++i) {
    outputs.push_back(honest(problem, sets[i % sets.size()], kSeed + i));
  }
  return outputs;
}

/// An output as faulty kernels leave it; `before` is what was there.
std::map<std::string, HostTensor> faulty(const HostTensor& y, const HostTensor& before) {
  const std::int64_t n = y.shape().back() > 1 ? y.shape().back() : y.size();
  HostTensor unwritten = y;
  unwritten.set_bits(y.size() - 1, poison_bits(y.dtype()));
  return {{"all zero", test::all_zero(y)},
          {"constant", test::constant(y)},
          {"swapped columns", test::swapped_columns(y, n)},
          {"wrong tile", test::wrong_tile(y, n)},
          {"stale last row", test::stale_last_row(y, before, n)},
          {"last element not written", unwritten}};
}

/// Whether one has other numbers than the other, or, where bits count, other bits.
bool differ(const HostTensor& a, const HostTensor& b, bool bits_count) {
  for (std::int64_t i = 0; i < a.size(); ++i) {
    if (a.bits(i) == b.bits(i)) continue;
    const bool alike = a.get(i) == b.get(i) || (std::isnan(a.get(i)) && std::isnan(b.get(i)));
    if (bits_count || !alike) return true;
  }
  return false;
}

/// Sums wholly in half may be off by more than sums of positive numbers differ.
bool is_too_wide(const Problem& problem, const DataSet& set) {
  return set.check == Check::hard && problem.text().find(" acc=f16") != std::string::npos;
}

/// With --full for all cases of the op.
TEST_OF_EVERY_OP(testing::Test, faulty_outputs_are_caught) {
  int caught = 0;
  std::vector<std::string> cases = proof.small_cases;
  if (std::getenv("CLAM_TEST_FULL")) {
    const std::vector<std::string> others = test::of_this_run(proof.cases);
    cases.insert(cases.end(), others.begin(), others.end());
  }
  test::for_each_case(cases, [&](const Problem& problem) {
    const std::vector<Honest> all = honest_outputs(op, proof, problem);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_too_wide(problem, *all[i].set)) continue;
      for (const auto& [name, y] : all[i].outputs) {
        const Expected& expected = all[i].reference.at(name);
        for (const auto& [fault, wrong] : faulty(y, all[(i + 1) % all.size()].outputs.at(name))) {
          if (fault != "last element not written" && !differ(y, wrong, expected.bit_exact()))
            continue;
          EXPECT_FALSE(compare(wrong, expected).pass)
              << all[i].set->name << " " << name << ": " << fault;
          ++caught;
        }
      }
    }
  });
  EXPECT_GT(caught, 0);
}

}  // namespace
}  // namespace clam::every_op_test
