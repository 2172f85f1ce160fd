// SPDX-License-Identifier: MIT
// tune_test.cpp - the candidates of `clam tune`: which there are, and that each is right.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "check/op_proof.hpp"
#include "check/verify.hpp"
#include "clam/error.hpp"
#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"
#include "tune/candidates.hpp"

namespace clam::tune {
namespace {

DeviceInfo board(const char* gpu) { return gpu_device(find_gpu(gpu)); }

/// Of each op, in both dtypes, those that the device can have.
std::vector<Problem> small_problems(const DeviceInfo& device) {
  std::vector<Problem> all;
  for (const Op* op : all_ops()) {
    for (const char* dtype : {"f32", "f16"}) {
      if (dtype == std::string("f16") && !device.fp16) continue;
      for (const Problem& problem : problems_of(proof_of(*op).small_cases, dtype)) {
        all.push_back(problem);
      }
    }
  }
  return all;
}

std::vector<Candidate> candidates_or_none(const Problem& problem, const DeviceInfo& device) {
  try {
    return candidates(problem, device);
  } catch (const Unsupported&) {
    return {};
  }
}

std::set<std::string> parts_of(const std::string& tile) {
  std::set<std::string> parts;
  std::istringstream text(tile);
  for (std::string part; std::getline(text, part, ',');) parts.insert(part);
  return parts;
}

// ---- which there are ----

TEST(tune, the_models_own_choice_comes_first_and_then_the_fastest) {
  for (const DeviceInfo& device : {board("g610"), board("g52"), generic_device()}) {
    for (const Problem& problem : small_problems(device)) {
      SCOPED_TRACE(problem.text() + " " + device.name);
      const std::vector<Candidate> all = candidates_or_none(problem, device);
      if (all.empty()) continue;
      const PlanOptions model = Candidate{}.options();
      EXPECT_EQ(to_text(make_plan(problem, device, all[0].options())),
                to_text(make_plan(problem, device, model)));
      for (std::size_t i = 2; i < all.size(); ++i) {
        EXPECT_TRUE(all[i].clocks == 0 ||
                    (all[i - 1].clocks > 0 && all[i - 1].clocks <= all[i].clocks));
      }
    }
  }
}

/// A tile's words are those of no other one, and each is a plan of its own.
TEST(tune, each_candidate_is_a_plan_of_its_own_of_the_same_problem) {
  int tiles = 0;
  for (const DeviceInfo& device : {board("g610"), generic_device()}) {
    for (const Problem& problem : small_problems(device)) {
      std::set<std::string> plans;
      const std::vector<Candidate> all = candidates_or_none(problem, device);
      for (const Candidate& one : all) {
        SCOPED_TRACE(problem.text() + " " + one.words());
        Plan plan = make_plan(problem, device, one.options());
        EXPECT_EQ(plan.problem, problem.text());
        EXPECT_EQ(plan.variant, one.variant);
        EXPECT_TRUE(plan.clocks == 0 || plan.clocks == one.clocks);
        plan.clocks = 0;
        EXPECT_TRUE(plans.insert(to_json(plan).dump()).second) << "another has the same launches";
        const std::set<std::string> own = parts_of(one.tile);
        tiles += !own.empty();
        for (const Candidate& other : all) {
          if (&other == &one || other.variant != one.variant) continue;
          const std::set<std::string> theirs = parts_of(other.tile);
          EXPECT_FALSE(std::includes(theirs.begin(), theirs.end(), own.begin(), own.end()))
              << other.words();
        }
      }
    }
  }
  EXPECT_GT(tiles, 500);
}

TEST(tune, winograd_is_a_candidate_beside_direct_sums) {
  const Problem problem = Problem::parse("conv2d c=64 h=56 w=56 k=64 r=3 pad=1 dtype=f32");
  const auto variants = [&](const char* algo) {
    std::set<std::string> names;
    for (const Candidate& one : candidates(problem.with("algo", algo), board("g610"))) {
      names.insert(one.variant);
    }
    return names;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(variants("winograd"), (Names{"conv2d_winograd"}));
  const Names direct = variants("direct");
  EXPECT_EQ(direct, (Names{"conv2d_3x3", "conv2d_plain", "conv2d_product", "conv2d_product_rows"}));
  Names both = direct;
  both.insert("conv2d_winograd");
  EXPECT_EQ(variants("auto"), both);
}

TEST(tune, x_is_packed_or_not_and_k_is_in_parts_or_not) {
  std::set<std::string> words;
  for (const Candidate& one :
       candidates(Problem::parse("dense m=192 n=512 k=512 dtype=f32"), board("g610"))) {
    words.insert(one.words());
  }
  for (const char* one :
       {"dense_packed M0=4,N0=8,PARTS=1", "dense_packed M0=4,N0=8,PARTS=2",
        "dense_both_packed M0=8,N0=4,PARTS=1", "dense_nt M0=6,N0=4,PARTS=1", "dense_plain"}) {
    EXPECT_TRUE(words.count(one)) << one;
  }
}

TEST(tune, what_is_refused_says_why_and_is_no_candidate) {
  const Problem problem = Problem::parse("dense m=2 n=512 k=512 dtype=f32");
  const std::vector<Listed> all = list_candidates(problem, board("g610"));
  std::map<std::string, std::string> reasons;
  for (const Listed& one : all) {
    if (one.refused) reasons[one.words()] = *one.refused;
  }
  EXPECT_EQ(reasons.at("dense_nn"), "w lies as w[n,k]");
  EXPECT_EQ(reasons.at("dense_packed M0=6,N0=4,PARTS=1"), "it is higher than the 2 rows");
  EXPECT_EQ(candidates(problem, board("g610")).size(), all.size() - reasons.size());
}

TEST(tune, where_nothing_can_be_had_the_reasons_are_said) {
  DeviceInfo device = generic_device();
  device.fp16 = false;
  EXPECT_THROWS_SAYING(candidates(Problem::parse("softmax shape=4x8 dtype=f16"), device),
                       Unsupported, "the device has no cl_khr_fp16");
}

// ---- that each is right ----

struct Built {
  Problem problem;
  const DeviceInfo* device;
  Candidate candidate;
};

void expect_right(const Built& built) {
  SCOPED_TRACE(built.problem.text() + " " + built.candidate.words());
  const Plan plan = make_plan(built.problem, *built.device, built.candidate.options());
  const DataSet& set = proof_of(built.problem).data_sets.front();
  const Verification result = verify(test::runtime(), plan, set, test::seed());
  EXPECT_TRUE(result.pass()) << result.reason();
}

/// Each candidate once, on the first small problem that has it.
std::vector<Built> all_built(const std::vector<DeviceInfo>& devices) {
  std::set<std::string> seen;
  std::vector<Built> all;
  for (const DeviceInfo& device : devices) {
    for (const Problem& problem : small_problems(test::runtime().device())) {
      for (const Candidate& one : candidates_or_none(problem, device)) {
        if (!seen.insert(device.name + name(problem.dtype()) + one.words()).second) continue;
        all.push_back({problem, &device, one});
      }
    }
  }
  return all;
}

TEST(tune_device, every_candidate_of_small_problems_builds_and_is_right) {
  CLAM_NEEDS_DEVICE();
  const std::vector<DeviceInfo> devices{test::runtime().device(), board("g610")};
  const std::vector<Built> all = all_built(devices);
  EXPECT_GT(all.size(), 100U);
  for (const Built& built : test::of_this_run(all)) expect_right(built);
}

TEST(tune_device, the_candidates_of_a_problem_are_right) {
  CLAM_NEEDS_DEVICE();
  const DeviceInfo& device = test::runtime().device();
  const Problem problem = Problem::parse("batch_matmul batch=2 m=8 n=16 k=16 dtype=f32");
  const std::vector<Candidate> all = candidates(problem, device);
  EXPECT_GT(all.size(), 2U);
  for (const Candidate& one : all) expect_right({problem, &device, one});
}

}  // namespace
}  // namespace clam::tune
