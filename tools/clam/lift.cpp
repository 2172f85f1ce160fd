// SPDX-License-Identifier: MIT
// lift.cpp - `clam lift`: one problem's kernels, launches and a host, for another runtime.
#include "lift/lift.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "bundle/case.hpp"
#include "clam/error.hpp"
#include "cli.hpp"

namespace clam::cli {
namespace {

struct LiftRequest : PlanRequest {
  std::string target;
  bool force = false;
};

int lift(Cli& cli, const LiftRequest& request) {
  if (request.target.empty()) throw BadArgument("lift where to? Give -o FOLDER");
  StagedFolder folder(request.target, request.force, "launches.h");
  Bundle bundle;
  take_plan(make_plan(cli, request), KernelFiles::from_environment(), bundle);
  lift_kernels(bundle);
  const bool checks = take_usual_data(bundle);
  write_lifted(folder.path(), bundle);
  folder.publish();
  if (!checks)
    cli.out.note(fmt::format("no data: the tensors exceed {} MiB, so host.c checks nothing",
                             kMostBytes >> 20));
  cli.out.line(fmt::format("{} as {} in {}; there: cc host.c -lOpenCL -lm && ./a.out",
                           bundle.problem, bundle.variant, request.target));
  cli.out.json({{"clam_lift", 1},
                {"folder", request.target},
                {"plan", to_json(*bundle.plan)},
                {"checks", checks}});
  return kFine;
}

}  // namespace

void add_lift(CLI::App& app, Cli& cli) {
  const auto [sub, request] = add_command<LiftRequest>(
      app, cli, "lift", "write a problem's kernels, launches and a C host, for another runtime",
      lift);
  add_plan_options(sub, *request);
  sub->add_option("-o,--output", request->target, "the folder to write");
  sub->add_flag("--force", request->force, "replace a lifted problem that is there");
}

}  // namespace clam::cli
