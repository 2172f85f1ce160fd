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
#include "check/ops/shared/random.hpp"
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

/// What tests of every op have to know of one: a constant in the op's own test.
template <typename Own>
class OfOp {
 public:
  OfOp(const OfOp&) = delete;
  OfOp& operator=(const OfOp&) = delete;
  /// nullptr where the op has none.
  static const Own* find(const std::string& op) {
    const auto found = all().find(op);
    return found == all().end() ? nullptr : found->second;
  }

 protected:
  explicit OfOp(const std::string& op) { all().emplace(op, static_cast<const Own*>(this)); }

 private:
  static std::map<std::string, const Own*>& all() {
    static std::map<std::string, const Own*> all;
    return all;
  }
};

/// An op computed on the host as its kernels do, in float. Its results are held against the
/// reference, for problems of at most `most_flops`.
struct Simulation : OfOp<Simulation> {
  using Compute = HostTensor (*)(const Problem&, const Tensors& inputs);
  Simulation(const std::string& op, double most_flops, Compute compute)
      : OfOp(op), most_flops(most_flops), compute(compute) {}

  double most_flops;
  Compute compute;
};

/// What the bits of a result do when the size of groups changes. Where work-items of a group share
/// sums, they follow it.
enum class Bits { same, follow_group };

/// How an op is tested in groups of every size. An op without it has the `usual` ones.
struct GroupSizes : OfOp<GroupSizes> {
  /// Cases are given without the op's name; "n={1,2}" stands for "n=1" and "n=2".
  GroupSizes(const std::string& op, int least, Bits bits,
             const std::vector<std::string>& cases = {})
      : OfOp(op), least(least), bits(bits), cases(case_lines(op, cases)) {}
  static const GroupSizes& of(const std::string& op) {
    static const GroupSizes usual("", 16, Bits::same);
    const GroupSizes* own = find(op);
    return own ? *own : usual;
  }

  int least;  ///< the smallest limit on the work-items of a group that all plans keep
  Bits bits;
  /// Problems of several groups for each main kernel. Empty: the small cases of the proof.
  std::vector<std::string> cases;
};

/// Problems of an op that are drawn. An op without it gets cases with other extents.
struct RandomProblems : OfOp<RandomProblems> {
  /// Returns a line no larger than those of the cases, without dtype.
  using Draw = std::string (*)(Random&);
  RandomProblems(const std::string& op, int count, Draw draw)
      : OfOp(op), count(count), draw(draw) {}

  int count;  ///< how many a test draws
  Draw draw;
};

}  // namespace clam::test
