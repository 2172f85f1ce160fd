// SPDX-License-Identifier: MIT
// plan.cpp - `clam plan`: how a problem would be computed. Needs no device.
#include "clam/plan.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "clam/gpu.hpp"
#include "clam/op.hpp"
#include "clam/opencl.hpp"
#include "clam/planner.hpp"
#include "cli.hpp"
#include "runtime/refuse.hpp"

namespace clam::cli {
namespace {

struct ToldRequest : PlanRequest {
  bool why = false;
};

/// The facts of a board that is not here.
DeviceInfo board_with(Cli& cli, const std::string& key) {
  const Gpu& gpu = gpu_named(key);
  cli.out.note(
      fmt::format("the plan for Mali-{} as on {}, {}, with Mesa's driver: no device was asked",
                  gpu.model, gpu.board, counted(gpu.cores, "core")));
  return gpu_device(gpu);
}

/// Constant inputs are packed once, which is no part of a call.
std::string packing_text(const Plan& plan) {
  if (plan.pack.empty()) return "";
  std::int64_t bytes = 0;
  for (const BufferSpec& buffer : plan.buffers) {
    if (buffer.role == BufferSpec::Role::packed) bytes += buffer.bytes;
  }
  return fmt::format("once: {}, {} bytes packed; a call: {}\n",
                     counted(plan.pack.size(), "pack launch", "es"), bytes,
                     counted(plan.launches.size(), "launch", "es"));
}

int plan(Cli& cli, const ToldRequest& request) {
  std::string why;
  const Plan plan = make_plan(cli, request, request.why ? &why : nullptr);
  cli.out.text(why + (request.why ? "\n" : "") + to_text(plan) + packing_text(plan));
  cli.out.json(to_json(plan));
  return kFine;
}

}  // namespace

/// One that was asked for must be there.
DeviceInfo planned_for(Cli& cli, const PlanRequest& request) {
  throw_if(request.gpu.has_value() + request.generic + !cli.device.empty() > 1,
           "plan for one device: --gpu, --generic and --device exclude each other");
  if (request.gpu) return board_with(cli, *request.gpu);
  if (request.generic) return generic_device();
  try {
    return query_device(select_device(cli.device).device);
  } catch (const NoDevice&) {
    cli.out.note("no OpenCL device here, so this is the plan for a generic one");
    return generic_device();
  }
}

Plan make_plan(Cli& cli, const PlanRequest& request, std::string* why) {
  const Problem problem = Problem::parse(one_problem_line(request.words));
  if (!request.options.variant.empty()) find_variant(op_of(problem), request.options.variant);
  const DeviceInfo device = planned_for(cli, request);
  PlanOptions options = request.options;
  options.tuned = Tuned::from_environment();
  for (const std::string& note : options.tuned->notes()) cli.out.note(note);
  if (why) *why = explain_plan(problem, device, options);
  return make_plan(problem, device, options);
}

std::optional<Plan> try_plan(const Problem& problem, const DeviceInfo& device,
                             const PlanOptions& options) {
  try {
    return make_plan(problem, device, options);
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

void add_plan_options(CLI::App* sub, PlanRequest& request) {
  sub->add_option("problem", request.words, "a problem line");
  sub->add_option("--variant", request.options.variant, "plan this variant, not the preferred one");
  sub->add_option("--tile", request.options.tile,
                  "use this tile, not the measured or predicted one: M0=4,N0=8");
  sub->add_option("--gpu", request.gpu, "plan for a board with this Mali, such as g610 or t860");
  sub->add_flag("--generic", request.generic, "plan for a generic device, without using a device");
}

void add_plan(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<ToldRequest>(
      app, cli, "plan", "how a problem would be computed, launch by launch", plan);
  add_plan_options(sub, *request);
  sub->add_option("--max-work-group", request->options.max_work_group,
                  "at most this many work-items per group")
      ->check(CLI::PositiveNumber);
  sub->add_flag("--why", request->why,
                "say why each variant is chosen or not, which measured row applies, and the clocks "
                "of each tile");
}

}  // namespace clam::cli
