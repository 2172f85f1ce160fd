// SPDX-License-Identifier: MIT
#include "tail.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "side.hpp"

namespace clam::peers {
namespace {

using Role = TensorSpec::Role;

constexpr std::int64_t kScanGroup = 256;

class ScanForm {
 public:
  ScanForm(const Problem& problem, const DeviceInfo& device)
      : batch_(problem.integer("batch")),
        n_(problem.integer("n")),
        e_(problem.integer("e")),
        group_(std::min(kScanGroup, device.max_work_group)) {
    const std::int64_t bytes = 4LL * batch_ * n_;
    plan_.problem = problem.text();
    plan_.variant = "scan_form";
    plan_.device = device;
    plan_.tensors = problem.tensors();
    plan_.buffers = {{"flags", BufferSpec::Role::scratch, bytes},
                     {"sums", BufferSpec::Role::scratch, bytes}};
    mark(problem);
    scan();
    move();
  }
  Plan take() { return std::move(plan_); }

 private:
  /// A work-item for each of `items`, in each batch item.
  void launch(const char* kernel, std::int64_t items, std::vector<Arg> args) {
    plan_.launches.push_back({"scan_form.cl",
                              kernel,
                              "",
                              {(items + group_ - 1) / group_ * group_, batch_, 1},
                              {group_, 1, 1},
                              std::move(args)});
  }
  void mark(const Problem& problem) {
    launch("scan_flags", n_,
           {BufferArg{"data"}, BufferArg{"flags"}, n_, e_, problem.integer("id_index"),
            problem.integer("score_index"), problem.number("score_threshold")});
    launch("scan_copy", n_, {BufferArg{"flags"}, BufferArg{"sums"}, n_});
  }
  void level(const char* kernel, std::int64_t width) {
    launch(kernel, (n_ + width - 1) / width,
           {BufferArg{"sums"}, n_, static_cast<std::int32_t>(width)});
  }
  void scan() {
    std::int64_t width = 2;
    for (; width / 2 < n_; width *= 2) level("scan_up", width);
    launch("scan_root", 1, {BufferArg{"sums"}, BufferArg{"count"}, n_});
    while ((width /= 2) >= 2) level("scan_down", width);
  }
  void move() {
    launch("scan_fill", n_, {BufferArg{"out"}, BufferArg{"indices"}, n_, e_});
    launch("scan_scatter", n_,
           {BufferArg{"data"}, BufferArg{"flags"}, BufferArg{"sums"}, BufferArg{"out"},
            BufferArg{"indices"}, n_, e_});
  }

  std::int32_t batch_, n_, e_;
  std::int64_t group_;
  Plan plan_;
};

/// get_valid_counts of float rows by a tree in global memory: flags, a copy of them, ceil(log2 n)
/// launches up the tree, its root, as many down, -1 everywhere, the rows that are valid: 39
/// launches for n=122640.
Plan scan_form(const Problem& problem, const DeviceInfo& device) {
  return ScanForm(problem, device).take();
}

constexpr std::int64_t kGroup = 64;
constexpr int kCountsLaunches = 3;  // of get_valid_counts, at most
constexpr double kCountsBar = 2, kNmsBar = 3;

/// 0, 1, 2, ...
HostTensor numbers(std::int64_t n) {
  HostTensor tensor(Dtype::i32, {n});
  for (std::int64_t i = 0; i < n; ++i) tensor.set(i, static_cast<double>(i));
  return tensor;
}

Plan floor_plan(const char* kernel, std::vector<TensorSpec> tensors, std::int64_t items,
                std::vector<Arg> args) {
  Plan plan;
  plan.problem = plan.variant = kernel;
  plan.tensors = std::move(tensors);
  plan.launches = {{"floor.cl",
                    kernel,
                    "",
                    {(items + kGroup - 1) / kGroup * kGroup, 1, 1},
                    {kGroup, 1, 1},
                    std::move(args)}};
  return plan;
}

/// Reads and writes `bytes` in all.
Subject copy_of(Runtime& runtime, double bytes) {
  const auto vectors = static_cast<std::int32_t>(bytes / 2 / 16);
  const HostTensor src = numbers(4LL * vectors);
  const Plan plan = floor_plan("floor_copy",
                               {{"src", Role::input, Dtype::i32, src.shape(), {}, 0},
                                {"dst", Role::output, Dtype::i32, src.shape(), {}, 0}},
                               vectors, {BufferArg{"src"}, BufferArg{"dst"}, vectors});
  return {runtime, plan, {{"src", src}}, {{"dst", {src, {}, {}}}}};
}

/// A group that does next to nothing.
Subject one_launch(Runtime& runtime) {
  const HostTensor dst = numbers(kGroup);
  const Plan plan =
      floor_plan("floor_launch", {{"dst", Role::output, Dtype::i32, dst.shape(), {}, 0}}, kGroup,
                 {BufferArg{"dst"}});
  return {runtime, plan, {}, {{"dst", {dst, {}, {}}}}};
}

Result result_of(const Task& task, const Side& clam) {
  Result result;
  result.variant = task.trial.plan().variant;
  result.clam_us = clam.median_us();
  return result;
}

Result measure_counts(Runtime& runtime, const Row& row, int turns) {
  Task task(runtime, row.problem, row.set);
  Subject form(runtime, scan_form(row.problem, runtime.device()), task.inputs, task.reference);
  // Where all rows are valid, they are read twice: their scores, then all of them.
  double bytes = bytes_of(row.problem);
  bytes += static_cast<double>(task.trial.plan().tensor("data")->bytes());
  Subject copy = copy_of(runtime, bytes), launch = one_launch(runtime);
  Sides sides;
  sides.push_back(std::make_unique<PlanSide>("clam", task));
  sides.push_back(std::make_unique<PlanSide>("scan_form", form));
  sides.push_back(std::make_unique<PlanSide>("floor_copy", copy));
  sides.push_back(std::make_unique<PlanSide>("floor_launch", launch));
  take_turns(sides, turns);
  Result result = result_of(task, *sides[0]);
  const double copy_us = sides[2]->median_us(), launch_us = sides[3]->median_us();
  result.yardsticks = {
      {"scan_form", fmt::format("a tree, {} launches", form.trial.plan().launches.size()),
       sides[1]->median_us(), 0},
      // The copy has a launch of its own.
      {"floor",
       fmt::format("{:.1f} MB copied in {:.1f} us, {} launches of {:.1f} us", bytes * 1e-6,
                   copy_us - launch_us, kCountsLaunches, launch_us),
       copy_us + (kCountsLaunches - 1) * launch_us, kCountsBar}};
  return result;
}

/// The rows that get_valid_counts would have found for it.
Problem counts_before(const Problem& nms) {
  return Problem::parse(fmt::format("get_valid_counts batch={} n={} e={} dtype={}",
                                    nms.integer("batch"), nms.integer("n"), nms.integer("e"),
                                    name(nms.dtype())));
}

Result measure_nms(Runtime& runtime, const Row& row, int turns) {
  Task task(runtime, row.problem, row.set), counts(runtime, counts_before(row.problem), row.set);
  Subject launch = one_launch(runtime);
  Sides sides;
  sides.push_back(std::make_unique<PlanSide>("clam", task));
  sides.push_back(std::make_unique<PlanSide>("get_valid_counts", counts));
  sides.push_back(std::make_unique<PlanSide>("floor_launch", launch));
  take_turns(sides, turns);
  Result result = result_of(task, *sides[0]);
  const double counts_us = sides[1]->median_us(), launch_us = sides[2]->median_us();
  const auto launches = task.trial.plan().launches.size();
  result.yardsticks = {{"floor",
                        fmt::format("get_valid_counts in {:.1f} us, {} launches of {:.1f} us",
                                    counts_us, launches, launch_us),
                        counts_us + static_cast<double>(launches) * launch_us, kNmsBar}};
  return result;
}

}  // namespace

std::vector<std::string> tail_sets(const Problem& problem) {
  if (problem.schema().name == "get_valid_counts") return {"few", "mixed", "every"};
  if (problem.schema().name == "nms") return {"few"};
  return {};
}

Result measure_tail(Runtime& runtime, const Row& row, int turns) {
  if (row.problem.dtype() != Dtype::f32) throw Unsupported("peers are compared in f32");
  return row.problem.schema().name == "nms" ? measure_nms(runtime, row, turns)
                                            : measure_counts(runtime, row, turns);
}

}  // namespace clam::peers
