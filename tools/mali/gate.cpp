// SPDX-License-Identifier: MIT
#include "gate.hpp"

#include <map>
#include <set>
#include <tuple>

#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "clam/op.hpp"
#include "clam/planner.hpp"

namespace clam::mali {
namespace {

constexpr const char* kDtypes[] = {"f32", "f16"};
constexpr const char* kHalfAccs[] = {"chunk", "f16"};

/// What no workload has: other orders of operands, at the workloads' sizes. Small cases have these
/// too, but not their tiles.
struct LargeCase {
  const char* problem;
  const char* variant;
};
constexpr LargeCase kLarge[] = {
    {"dense m=192 n=512 k=512 dtype=f32", "dense_packed"},
    {"dense m=192 n=512 k=512 dtype=f32", "dense_both_packed"},
    {"dense m=192 n=512 k=512 dtype=f32", "dense_nt"},
    {"dense m=192 n=512 k=512 dtype=f32 trans_w=0", "dense_nn"},
    {"batch_matmul batch=4 m=192 n=192 k=192 dtype=f32 ta=1", "batch_matmul_tn"},
    {"conv2d c=256 h=32 w=32 k=256 r=3 dtype=f32 layout=nhwc pad=1 bias", "conv2d_nhwc"},
    {"conv2d c=512 h=32 w=32 k=512 r=3 dtype=f32 layout=nhwc pad=1 groups=512 bias",
     "conv2d_nhwc_depthwise"},
};
/// The same where kernels have other code: few rows, rows of the output that are no whole vectors,
/// a small map in parts, a part of a chunk, many queries, and one query.
constexpr LargeCase kOtherCode[] = {
    {"dense m=1 n=4096 k=4096 dtype=f32", "dense_packed"},
    {"dense m=16 n=4096 k=4096 dtype=f32", "dense_packed"},
    {"conv2d c=256 h=4 w=4 k=256 r=3 dtype=f32 stride=2 pad=1 bias act=relu", "conv2d_3x3"},
    {"conv2d c=62 h=9 w=9 k=64 r=1 dtype=f32 bias", "conv2d_product"},
    {"attention heads=8 nq=1024 nk=1024 d=64 dtype=f32", "attention_online"},
    {"attention heads=32 nq=1 nk=4096 d=128 dtype=f32", "attention_online"},
    {"dense m=192 n=511 k=512 dtype=f32", "dense_packed"},
    {"dense m=192 n=511 k=512 dtype=f32", "dense_both_packed"},
    {"dense m=192 n=511 k=512 dtype=f32", "dense_nt"},
    {"dense m=192 n=512 k=512 dtype=f32 trans_w=0 ldy=513", "dense_nn"},
    {"batch_matmul batch=4 m=192 n=191 k=192 dtype=f32 tb=1", "batch_matmul_nt"},
    {"batch_matmul batch=4 m=192 n=192 k=192 dtype=f32 ldc=193", "batch_matmul_nn"},
    {"batch_matmul batch=4 m=192 n=192 k=192 dtype=f32 ta=1 ldc=193", "batch_matmul_tn"},
};

/// Nothing where the variant does not take the problem.
void add_plan(const Problem& problem, const DeviceInfo& device, const std::string& variant,
              std::vector<Plan>& plans) {
  try {
    plans.push_back(make_plan(problem, device, {variant, 0}));
  } catch (const Unsupported&) {
    // Said by `clam plan --why`, and no kernel's fault.
  }
}

/// Of all workloads.
std::vector<Problem> workload_problems() {
  std::vector<Problem> all;
  for (const std::string& name : workload_names()) {
    for (const Problem& problem : read_workload(name).problems()) all.push_back(problem);
  }
  return all;
}

/// The variant that is planned of each op, by its name; "": the preferred one.
using VariantOf = std::map<std::string, const char*>;

/// Of the workloads' problems in both dtypes; `only`: of these ops alone.
std::vector<Plan> workload_plans(const DeviceInfo& device, const VariantOf& only = {}) {
  std::vector<Plan> plans;
  const std::vector<Problem> problems = workload_problems();
  for (const char* dtype : kDtypes) {
    for (const Problem& each : problems) {
      const auto variant = only.find(each.schema().name);
      if (!only.empty() && variant == only.end()) continue;
      add_plan(each.with("dtype", dtype), device, only.empty() ? "" : variant->second, plans);
    }
  }
  return plans;
}

using DtypedKernel = std::pair<std::string, std::string>;  // kernel, its dtype and accumulator

/// Whether a kernel of the plan was not seen before in its dtype and with its accumulator.
bool add_kernels(const Plan& plan, std::set<DtypedKernel>& seen) {
  const Problem problem = Problem::parse(plan.problem);
  const std::string acc = op_of(problem).sums_products ? problem.choice("acc") : "";
  bool brings_new = false;
  for (const Launch* launch : launches_of(plan)) {
    const bool is_half = launch->options.find("-DCLAM_F16") != std::string::npos;
    brings_new |= seen.emplace(launch->kernel, (is_half ? "f16 " : "f32 ") + acc).second;
  }
  return brings_new;
}

/// Plans with a kernel that none before has in its dtype, then the others; as many as fit.
std::vector<Plan> first_of_each(const std::vector<Plan>& plans, std::size_t most) {
  std::vector<Plan> chosen;
  std::set<DtypedKernel> seen;
  std::set<std::tuple<std::string, std::string, std::string>> kernels;
  for (const bool is_first_time : {true, false}) {
    for (const Plan& plan : plans) {
      std::set<DtypedKernel> seen_then = seen;
      if (!add_kernels(plan, seen_then) && is_first_time) continue;
      auto then = kernels;
      for (const Launch* one : launches_of(plan))
        then.emplace(one->file, one->kernel, one->options);
      if (then.size() > most || then.size() == kernels.size()) continue;
      kernels = std::move(then), seen = std::move(seen_then);
      chosen.push_back(plan);
    }
  }
  return chosen;
}

/// Every small case with each of its variants.
std::vector<Plan> small_plans(const DeviceInfo& device, const char* dtype) {
  std::vector<Plan> plans;
  for (const Op* op : all_ops()) {
    for (const Problem& problem : problems_of(proof_of(*op).small_cases, dtype)) {
      for (const Variant& variant : op->variants) add_plan(problem, device, variant.name, plans);
    }
  }
  return plans;
}

/// The problem of f32 in halves with each accumulator that it takes.
std::vector<Problem> with_half_accs(const Problem& problem) {
  std::vector<Problem> problems;
  if (!op_of(problem).sums_products) return problems;
  for (const char* acc : kHalfAccs) {
    try {
      problems.push_back(problem.with("dtype", "f16").with("acc", acc));
    } catch (const BadArgument&) {
      // More products than half sums are allowed to have.
    }
  }
  return problems;
}

/// The case in both dtypes, and with each accumulator.
void add_large(const LargeCase& large, const DeviceInfo& device, std::vector<Plan>& plans) {
  const Problem problem = Problem::parse(large.problem);
  for (const char* dtype : kDtypes) {
    add_plan(problem.with("dtype", dtype), device, large.variant, plans);
  }
  for (const Problem& half : with_half_accs(problem)) {
    add_plan(half, device, large.variant, plans);
  }
}

/// The large cases in everything, then the workloads with the accumulators of half: among these are
/// problems of a few elements, whose tiles are small.
std::vector<Plan> large_plans(const DeviceInfo& device) {
  std::vector<Plan> plans;
  for (const LargeCase& large : kLarge) add_large(large, device, plans);
  for (const Problem& problem : workload_problems()) {
    for (const Problem& half : with_half_accs(problem)) add_plan(half, device, "", plans);
  }
  return plans;
}

/// Those of `plans` that have a kernel which no plan before has in its dtype and accumulator.
void add_new(const std::vector<Plan>& plans, std::set<DtypedKernel>& seen,
             std::vector<Plan>& chosen) {
  for (const Plan& plan : plans) {
    if (add_kernels(plan, seen)) chosen.push_back(plan);
  }
}

/// Each kernel once in every dtype and accumulator, at a large tile where it has one.
std::vector<Plan> once_of_each(const DeviceInfo& device) {
  std::vector<Plan> plans;
  std::set<DtypedKernel> seen;
  add_new(large_plans(device), seen, plans);
  add_new(workload_plans(device), seen, plans);
  for (const char* dtype : kDtypes) add_new(small_plans(device, dtype), seen, plans);
  return plans;
}

}  // namespace

std::vector<Plan> every_plan(const Gpu& gpu) {
  const DeviceInfo device = gpu_device(gpu);
  std::vector<Plan> plans = workload_plans(device);
  std::set<DtypedKernel> seen;
  for (const Plan& plan : plans) add_kernels(plan, seen);
  add_new(large_plans(device), seen, plans);
  for (const LargeCase& large : kOtherCode) add_large(large, device, plans);
  for (const Plan& plan : small_plans(device, kDtypes[0])) {
    plans.push_back(plan);
    add_kernels(plan, seen);
  }
  add_new(small_plans(device, kDtypes[1]), seen, plans);
  return plans;
}

std::vector<const Gpu*> gate_gpus() {
  std::vector<const Gpu*> gpus;
  for (const char* key : {"g610", "g52", "t860", "g310", "g57", "g76", "g72", "g31", "g51"}) {
    gpus.push_back(&find_gpu(key));
  }
  return gpus;
}

std::vector<Plan> gate_plans(const Gpu& gpu) {
  const std::string key = gpu.key;
  if (key == "g610") return every_plan(gpu);
  const DeviceInfo device = gpu_device(gpu);
  if (key == "g52") return once_of_each(device);
  static const VariantOf ssd_head{{"dense", ""},
                                  {"softmax", ""},
                                  {"get_valid_counts", ""},
                                  {"nms", ""},
                                  {"conv2d", "conv2d_product"}};
  const bool is_midgard = gpu.family == Gpu::Family::midgard;
  return first_of_each(workload_plans(device, is_midgard ? ssd_head : VariantOf()), kFewKernels);
}

std::vector<Plan> once_plans(const Gpu& gpu) {
  std::vector<Plan> plans;
  std::set<DtypedKernel> seen;
  add_new(gate_plans(gpu), seen, plans);
  return plans;
}

std::vector<KernelId> leave_out_unchanged(std::vector<KernelId>& kernels,
                                          const Expectations& expectations, const std::string& gpu,
                                          const Fingerprint& fingerprint) {
  std::vector<std::string> prints;
  std::string all;
  for (const KernelId& kernel : kernels) all += prints.emplace_back(fingerprint(kernel));
  std::vector<KernelId> rest, left_out;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto& [file, options, kernel] = kernels[i];
    const auto then = expectations.figures.find({gpu, file, kernel, options});
    const bool is_known = then != expectations.figures.end() &&
                          then->second.fingerprint == prints[i] &&
                          (then->second.full_occupancy || expectations.half_reason(gpu, kernel));
    const bool is_drawn =
        std::stoul(hash_text(prints[i] + all).substr(0, 4), nullptr, 16) % kSample == 0;
    (!is_known || is_drawn ? rest : left_out).push_back(kernels[i]);
  }
  kernels = std::move(rest);
  return left_out;
}

}  // namespace clam::mali
