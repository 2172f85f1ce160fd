// SPDX-License-Identifier: MIT
// every_op_device_test.cpp - what the kernels of each op must hold: all cases, with all data sets,
// in all variants and groups of all sizes; random problems; runs after one another and in place.
#include <cmath>
#include <optional>
#include <sstream>

#include "check/ops/shared/random.hpp"
#include "clam/error.hpp"
#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "every_op.hpp"
#include "op_device.hpp"

namespace clam::every_op_device_test {
namespace {

using test::OpDevice;

// ---- small cases ----

/// Every kernel, on the smallest problems that launch it.
void expect_every_kernel_right(const OpProof& proof, const std::string& dtype) {
  std::set<std::string> seen;
  const auto problems = test::smallest(proof, dtype, test::runtime().device(), seen);
  ASSERT_FALSE(problems.empty());
  for (const auto& [problem, variant] : problems) {
    SCOPED_TRACE(problem.text() + " " + variant);
    Trial trial(test::runtime(), problem, {variant});
    for (const test::Sample& sample : OpDevice::samples_of(problem)) {
      OpDevice::expect_pass(trial, sample);
    }
  }
}

TEST_OF_EVERY_OP(OpDevice, every_kernel_is_right_in_f32) {
  expect_every_kernel_right(proof, "f32");
}

TEST_OF_EVERY_OP(OpDevice, every_kernel_is_right_in_f16) {
  CLAM_NEEDS_F16();
  expect_every_kernel_right(proof, "f16");
}

// ---- all cases ----

TEST_OF_EVERY_OP(OpDevice, every_case_passes_every_set_in_f32) {
  for (const Problem& problem : test::of_this_run(problems_of(proof.cases, "f32"))) {
    expect_all_sets_pass(problem);
  }
}

TEST_OF_EVERY_OP(OpDevice, every_case_passes_every_set_in_f16) {
  CLAM_NEEDS_F16();
  for (const Problem& problem : test::of_this_run(problems_of(proof.cases, "f16"))) {
    expect_all_sets_pass(problem);
  }
}

// ---- tiles ----

/// A tile of a variant, and a problem that can have it on the device.
struct Tiled {
  const Problem* problem;
  const DeviceInfo* device;
  std::string variant, tile;
};

/// Each tile of each variant once, for the driver here and for a Mali's, whose tiles are others.
std::vector<Tiled> every_tile(const std::vector<Problem>& problems,
                              const std::vector<DeviceInfo>& devices) {
  constexpr double kMostFlops = 1 << 24;
  std::set<std::string> seen;
  std::vector<Tiled> all;
  for (const DeviceInfo& device : devices) {
    for (const Problem& problem : problems) {
      if (flops_of(problem) > kMostFlops) continue;
      for (const Variant& variant : op_of(problem).variants) {
        if (!variant.tilings || variant.refuses(problem, device)) continue;
        const std::string acc =
            op_of(problem).sums_products ? problem.choice("acc") : std::string();
        for (const Tiling& tiling : variant.tilings(problem, device, {})) {
          const std::string name = variant.name + acc + tiling.words + device.platform;
          if (tiling.refused || !seen.insert(name).second) continue;
          all.push_back({&problem, &device, variant.name, tiling.words});
        }
      }
    }
  }
  return all;
}

void expect_every_tile_right(const OpProof& proof, const std::string& dtype) {
  const std::vector<Problem> problems = problems_of(proof.cases, dtype);
  const std::vector<DeviceInfo> devices{test::runtime().device(), gpu_device(find_gpu("g610"))};
  for (const Tiled& tiled : test::of_this_run(every_tile(problems, devices))) {
    SCOPED_TRACE(tiled.problem->text() + " " + tiled.variant + " " + tiled.tile);
    const Plan plan = make_plan(*tiled.problem, *tiled.device, {tiled.variant, 0, tiled.tile});
    Trial trial(test::runtime(), plan);
    OpDevice::expect_pass(trial, OpDevice::samples_of(*tiled.problem).front());
  }
}

TEST_OF_EVERY_OP(OpDevice, every_tile_is_right_in_f32) { expect_every_tile_right(proof, "f32"); }

TEST_OF_EVERY_OP(OpDevice, every_tile_is_right_in_f16) {
  CLAM_NEEDS_F16();
  expect_every_tile_right(proof, "f16");
}

// ---- random problems ----

/// At most 64, small ones as often as large ones.
int random_extent(Random& random) {
  return static_cast<int>(std::lround(std::exp2(6 * random.uniform())));
}

/// The problem with other extents, or nothing where the op has no such problem, or a large one.
std::optional<Problem> with_other_extents(const Problem& one, Random& random) {
  constexpr std::int64_t kMost = 1 << 18;
  std::istringstream words(one.text());
  std::string line, word;
  words >> line;
  while (words >> word) {
    const std::string name = word.substr(0, word.find('='));
    for (const Field& field : one.schema().fields) {
      if (field.name != name) continue;
      if (field.kind == Field::Kind::extent) {
        word = fmt::format("{}={}", name, random_extent(random));
      } else if (field.kind == Field::Kind::shape) {
        Shape shape = one.shape(name);
        for (std::int64_t& extent : shape) extent = random_extent(random);
        if (!shape.empty()) word = name + "=" + to_string(shape);
      }
    }
    line += " " + word;
  }
  try {
    const Problem other = Problem::parse(line);
    for (const TensorSpec& spec : other.tensors()) {
      if (count(spec.shape) > kMost) return {};
    }
    return other;
  } catch (const BadArgument&) {
    return {};
  }
}

/// `own`: how the op draws them; may be nullptr.
Problem any_problem(const OpProof& proof, const test::RandomProblems* own, Random& random) {
  if (own) return Problem::parse(own->draw(random) + " dtype=f32");
  const std::vector<Problem> cases = problems_of(proof.cases, "f32");
  for (int tries = 0; tries < 1000; ++tries) {
    const auto other = with_other_extents(cases[random.bits() % cases.size()], random);
    if (other) return *other;
  }
  throw std::logic_error("the test of " + proof.op + " needs RandomProblems");
}

TEST(every_op, has_random_problems_also_where_it_draws_none_itself) {
  for (const Op* op : {all_ops().front(), all_ops().back()}) {
    Random random(1);
    std::set<std::string> drawn;
    for (int i = 0; i < 20; ++i) {
      drawn.insert(any_problem(proof_of(*op), nullptr, random).text());
    }
    EXPECT_GT(drawn.size(), 10U) << op->name;
  }
}

/// The plans of a CPU on a GPU, and the other way round, where they differ.
void expect_all_sets_pass_as_elsewhere(const Problem& problem) {
  DeviceInfo other = test::runtime().device();
  other.type = other.type == "cpu" ? "gpu" : "cpu";
  std::vector<test::Sample> samples;
  for (const Variant& variant : op_of(problem).variants) {
    if (variant.refuses(problem, other)) continue;
    const Plan plan = make_plan(problem, other, {variant.name, 0});
    if (to_text(plan) == to_text(make_plan(problem, test::runtime().device(), {variant.name, 0}))) {
      continue;
    }
    SCOPED_TRACE(fmt::format("{} {} as a {}", problem.text(), variant.name, other.type));
    if (samples.empty()) samples = OpDevice::samples_of(problem);
    Trial trial(test::runtime(), plan);
    for (const test::Sample& sample : samples) OpDevice::expect_pass(trial, sample);
  }
}

TEST_OF_EVERY_OP(OpDevice, random_problems_pass) {
  constexpr int kUsual = 6;
  const test::RandomProblems* own = test::RandomProblems::find(op.name);
  Random random(test::seed());
  for (int i = test::random_problems_of_this_run(own ? own->count : kUsual); i > 0; --i) {
    const Problem problem = any_problem(proof, own, random);
    for (const std::string& dtype : dtypes()) {
      expect_all_sets_pass(problem.with("dtype", dtype));
      expect_all_sets_pass_as_elsewhere(problem.with("dtype", dtype));
    }
  }
}

// ---- groups ----

std::vector<Problem> group_problems(const OpProof& proof, const std::string& dtype) {
  const std::vector<std::string>& own = test::GroupSizes::of(proof.op).cases;
  return problems_of(own.empty() ? proof.small_cases : own, dtype);
}

/// A plan in groups of up to so many work-items, as GPUs get it, or CPUs: any device runs either.
struct Grouped {
  int limit;
  const char* type;
  Plan plan;
};

/// The different plans of a variant.
std::vector<Grouped> grouped(const Problem& problem, const Variant& variant) {
  std::vector<Grouped> all;
  std::set<std::string> texts;
  DeviceInfo device = test::runtime().device();
  for (const char* type : {"gpu", "cpu"}) {
    device.type = type;
    for (const int limit : {1, 4, 16, 32, 64, 128, 256}) {
      if (limit < test::GroupSizes::of(problem.schema().name).least) continue;
      const Plan plan = make_plan(problem, device, {variant.name, limit});
      if (texts.insert(to_text(plan)).second) all.push_back({limit, type, plan});
    }
  }
  return all;
}

/// Nothing where the kernels cannot have groups as large as planned here.
std::optional<Trial> trial_of(const Plan& plan) {
  try {
    return Trial(test::runtime(), plan);
  } catch (const Unsupported&) {
    return {};
  }
}

TEST_OF_EVERY_OP(OpDevice, groups_of_every_size_pass) {
  constexpr int kLeast = 16;  // what any device has
  const bool bits_follow_group = test::GroupSizes::of(op.name).bits == test::Bits::follow_group;
  for (const std::string& dtype : dtypes()) {
    for (const Problem& problem : test::of_this_run(group_problems(proof, dtype))) {
      const std::vector<test::Sample> samples = samples_of(problem);
      for (const Variant& variant : op.variants) {
        if (variant.refuses(problem, test::runtime().device())) continue;
        int trials = 0;
        std::map<std::string, Tensors> bits;  // of the first size, by data set and type
        for (const auto& [limit, type, plan] : grouped(problem, variant)) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", problem.text(), variant.name, limit, type));
          std::optional<Trial> trial = trial_of(plan);
          if (!trial) continue;
          ++trials;
          for (const test::Sample& sample : samples) {
            const Tensors outputs = expect_pass(*trial, sample);
            if (limit < kLeast || bits_follow_group) continue;
            EXPECT_TRUE(outputs == bits.emplace(sample.set + type, outputs).first->second)
                << sample.set;
          }
        }
        EXPECT_GT(trials, 0);
      }
    }
  }
}

// ---- one run after another ----

/// Whether it launches a kernel that `seen` lacks, or one whose output may lie on an input where
/// `seen` has none that does.
bool tells_more(const Plan& plan, std::set<std::string>& seen) {
  bool more = test::launches_new_kernel(plan, seen);
  for (const TensorSpec& output : plan.tensors) {
    if (!test::place_of(plan, output)) continue;
    const std::string& kernel = plan.launches.back().kernel;
    more |= seen.insert(kernel + ": " + output.name + " on " + output.may_be).second;
  }
  return more;
}

/// Problems of several groups. Without --full, those come first with which other tests run every
/// kernel, as a program of theirs is built once. Of the others only what these have not is left.
std::vector<Problem> problems_to_repeat(const OpProof& proof, const std::string& dtype) {
  std::vector<Problem> problems;
  if (!std::getenv("CLAM_TEST_FULL")) problems = problems_of(proof.small_cases, dtype);
  for (const Problem& problem : group_problems(proof, dtype)) problems.push_back(problem);
  return problems;
}

/// Nothing is left of other inputs, and the same give the same bits. Weights stay packed.
void expect_repeats(Trial& trial, const std::vector<test::Sample>& samples) {
  std::vector<Tensors> first;
  for (const test::Sample& sample : samples) first.push_back(OpDevice::expect_pass(trial, sample));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_TRUE(OpDevice::run(trial, samples[i].inputs) == first[i]) << samples[i].set;
  }
  trial.run(2);
  EXPECT_TRUE(trial.download() == first.back()) << "not packed again";
  for (const test::Sample& sample : samples) test::expect_pass_in_place(trial, sample);
}

TEST_OF_EVERY_OP(OpDevice, runs_repeat_their_bits_and_outputs_lie_where_they_may) {
  for (const std::string& dtype : dtypes()) {
    std::set<std::string> seen;
    for (const Problem& problem : problems_to_repeat(proof, dtype)) {
      for (const Variant& variant : op.variants) {
        if (variant.refuses(problem, test::runtime().device())) continue;
        const Plan plan = make_plan(problem, test::runtime().device(), {variant.name, 0});
        if (!tells_more(plan, seen)) continue;
        SCOPED_TRACE(problem.text() + " " + variant.name);
        std::vector<test::Sample> samples = samples_of(problem);
        samples.push_back(sample_of(problem, proof.data_sets.front(), test::seed() + 1));
        Trial trial(test::runtime(), plan);
        expect_repeats(trial, samples);
      }
    }
  }
}

}  // namespace
}  // namespace clam::every_op_device_test
