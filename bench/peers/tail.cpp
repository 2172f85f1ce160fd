// SPDX-License-Identifier: MIT
#include "tail.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "side.hpp"

namespace clam::peers {
namespace {

constexpr std::int64_t kScanGroup = 256;
constexpr int kCountsLaunches = 3;  // of get_valid_counts, at most
constexpr double kCountsBar = 2, kNmsBar = 3;

/// get_valid_counts of float rows by a tree in global memory: flags, a copy of them, ceil(log2 n)
/// launches up the tree, its root, as many down, -1 everywhere, the rows that are valid: 39
/// launches for n=122640.
Plan scan_form(const Problem& problem, const DeviceInfo& device) {
  const std::int32_t batch = problem.integer("batch"), n = problem.integer("n"),
                     e = problem.integer("e");
  const std::int64_t bytes = 4LL * batch * n, group = std::min(kScanGroup, device.max_work_group);
  Plan plan;
  plan.problem = problem.text();
  plan.variant = "scan_form";
  plan.device = device;
  plan.tensors = problem.tensors();
  plan.buffers = {{"flags", BufferSpec::Role::scratch, bytes},
                  {"sums", BufferSpec::Role::scratch, bytes}};
  // A work-item for each of `items`, in each batch item.
  const auto launch = [&](const char* kernel, std::int64_t items, std::vector<Arg> args) {
    const std::int64_t rounded = (items + group - 1) / group * group;
    plan.launches.push_back(
        {"scan_form.cl", kernel, "", {rounded, batch, 1}, {group, 1, 1}, std::move(args)});
  };
  const BufferArg data{"data"}, flags{"flags"}, sums{"sums"}, out{"out"}, indices{"indices"};
  const auto level = [&](const char* kernel, std::int64_t width) {
    launch(kernel, (n + width - 1) / width, {sums, n, static_cast<std::int32_t>(width)});
  };
  launch("scan_flags", n,
         {data, flags, n, e, problem.integer("id_index"), problem.integer("score_index"),
          problem.number("score_threshold")});
  launch("scan_copy", n, {flags, sums, n});
  std::int64_t width = 2;
  for (; width / 2 < n; width *= 2) level("scan_up", width);
  launch("scan_root", 1, {sums, BufferArg{"count"}, n});
  while ((width /= 2) >= 2) level("scan_down", width);
  launch("scan_fill", n, {out, indices, n, e});
  launch("scan_scatter", n, {data, flags, sums, out, indices, n, e});
  return plan;
}

/// Reads so many floats and writes as many.
Task copy_of(Runtime& runtime, std::int64_t floats) {
  const Problem problem = Problem::parse(fmt::format("unary op=relu shape={} dtype=f32", floats));
  return {runtime, problem, usual_data_set(problem).name};
}

/// A group that does next to nothing.
Task one_launch(Runtime& runtime) { return copy_of(runtime, 64); }

/// The plans in turns. Returns the median of each in microseconds.
std::vector<double> medians_of(const std::vector<std::pair<const char*, Subject*>>& subjects,
                               int turns) {
  Sides sides;
  for (const auto& [name, subject] : subjects) {
    sides.push_back(std::make_unique<PlanSide>(name, *subject));
  }
  return take_turns(sides, turns);
}

Result result_of(const Task& task, double us, std::vector<Yardstick> yardsticks) {
  return {Outcome::fine, "", task.trial.plan().variant, us, std::move(yardsticks)};
}

Result measure_counts(Runtime& runtime, const Row& row, int turns) {
  Task task(runtime, row.problem, row.set);
  Subject form(runtime, scan_form(row.problem, runtime.device()), task.inputs, task.reference);
  // Where all rows are valid, they are read twice: their scores, then all of them.
  double bytes = bytes_of(row.problem);
  bytes += static_cast<double>(task.trial.plan().tensor("data")->bytes());
  Task copy = copy_of(runtime, static_cast<std::int64_t>(bytes / 2 / sizeof(float)));
  Task launch = one_launch(runtime);
  const std::vector<double> us = medians_of(
      {{"clam", &task}, {"scan_form", &form}, {"copy", &copy}, {"launch", &launch}}, turns);
  return result_of(
      task, us[0],
      {{"scan_form", fmt::format("a tree, {} launches", form.trial.plan().launches.size()), us[1],
        0},
       // The copy has a launch of its own.
       {"floor",
        fmt::format("{:.1f} MB copied in {:.1f} us, {} launches of {:.1f} us", bytes * 1e-6,
                    us[2] - us[3], kCountsLaunches, us[3]),
        us[2] + (kCountsLaunches - 1) * us[3], kCountsBar}});
}

/// The rows that get_valid_counts would have found for it.
Problem counts_before(const Problem& nms) {
  return Problem::parse(fmt::format("get_valid_counts batch={} n={} e={} dtype={}",
                                    nms.integer("batch"), nms.integer("n"), nms.integer("e"),
                                    name(nms.dtype())));
}

Result measure_nms(Runtime& runtime, const Row& row, int turns) {
  Task task(runtime, row.problem, row.set), counts(runtime, counts_before(row.problem), row.set);
  Task launch = one_launch(runtime);
  const std::vector<double> us =
      medians_of({{"clam", &task}, {"get_valid_counts", &counts}, {"launch", &launch}}, turns);
  const auto launches = task.trial.plan().launches.size();
  return result_of(task, us[0],
                   {{"floor",
                     fmt::format("get_valid_counts in {:.1f} us, {} launches of {:.1f} us", us[1],
                                 launches, us[2]),
                     us[1] + static_cast<double>(launches) * us[2], kNmsBar}});
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
