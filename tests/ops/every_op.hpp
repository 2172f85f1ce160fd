// SPDX-License-Identifier: MIT
// every_op.hpp - tests that each op gets, also a new one. `TEST_OF_EVERY_OP(OpDevice, passes)` is
// the test softmax_device.passes, and so on for all ops; with testing::Test it is softmax.passes.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "check/op_proof.hpp"
#include "clam/op.hpp"
#include "clam/planner.hpp"
#include "test_device.hpp"

namespace clam::test {

/// Registers Case(op) for each op, in the suite that its own tests of this fixture are in.
template <typename Fixture, typename Case>
bool register_for_every_op(const char* name, const char* file, int line) {
  const std::string suffix = std::is_same_v<Fixture, testing::Test> ? "" : "_device";
  for (const Op* op : all_ops()) {
    testing::RegisterTest((op->name + suffix).c_str(), name, nullptr, nullptr, file, line,
                          [op]() -> Fixture* { return new Case(*op); });
  }
  return true;
}

/// The body knows `op`, and `proof`, which is the op's.
#define TEST_OF_EVERY_OP(Fixture, name)                                      \
  class name : public Fixture {                                              \
   public:                                                                   \
    explicit name(const Op& op) : op(op), proof(proof_of(op)) {}             \
                                                                             \
   private:                                                                  \
    void TestBody() override;                                                \
    const Op& op;                                                            \
    const OpProof& proof;                                                    \
  };                                                                         \
  const bool name##_is_registered =                                          \
      test::register_for_every_op<Fixture, name>(#name, __FILE__, __LINE__); \
  void name::TestBody()

/// Calls body(problem) for cases of an op in both dtypes.
template <typename Body>
void for_each_case(const std::vector<std::string>& cases, const Body& body) {
  for (const char* dtype : {"f32", "f16"}) {
    for (const Problem& problem : problems_of(cases, dtype)) {
      SCOPED_TRACE(problem.text());
      body(problem);
    }
  }
}
template <typename Body>
void for_each_case(const std::string& op, const Body& body) {
  for_each_case(proof_of(find_op(op)).cases, body);
}

/// A problem and the variant of its op that launches kernels which none before it launched.
struct Smallest {
  Problem problem;
  std::string variant;
};

/// Of an op's small cases as few as launch each kernel that they launch at all. Afterwards `seen`
/// has these kernels too.
inline std::vector<Smallest> smallest(const OpProof& proof, const std::string& dtype,
                                      const DeviceInfo& device, std::set<std::string>& seen) {
  std::vector<Smallest> chosen;
  for (const Problem& problem : problems_of(proof.small_cases, dtype)) {
    for (const Variant& variant : op_of(problem).variants) {
      if (variant.refuses(problem, device)) continue;
      const Plan plan = make_plan(problem, device, {variant.name, 0});
      if (launches_new_kernel(plan, seen)) chosen.push_back({problem, variant.name});
    }
  }
  return chosen;
}

/// An op computed on the host as its kernels do, in float. A test of an op has one as a constant;
/// its results are then held against the reference, for problems of at most `most_flops`.
struct Simulation {
  using Compute = HostTensor (*)(const Problem&, const Tensors& inputs);
  Simulation(const std::string& op, double most_flops, Compute compute)
      : most_flops(most_flops), compute(compute) {
    all().emplace(op, this);
  }
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// By op.
  static std::map<std::string, const Simulation*>& all() {
    static std::map<std::string, const Simulation*> all;
    return all;
  }

  double most_flops;
  Compute compute;
};

}  // namespace clam::test
