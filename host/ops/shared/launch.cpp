// SPDX-License-Identifier: MIT
#include "launch.hpp"

#include <fmt/core.h>

#include <cctype>
#include <utility>

namespace clam {

decltype(Variant::plan) planned(Launch (*launch)(const Request&)) {
  return [launch](const Problem& problem, const DeviceInfo& device, const PlanOptions& options,
                  Plan& plan) {
    plan.launches = {launch({problem, device, options, plan.variant})};
  };
}

decltype(Variant::plan) planned(void (*add)(const Request&, Plan&)) {
  return [add](const Problem& problem, const DeviceInfo& device, const PlanOptions& options,
               Plan& plan) {
    add({problem, device, options, plan.variant}, plan);
  };
}

double planned_clocks(const decltype(Variant::plan)& plan, const Request& request) {
  Plan made;
  plan(request.problem, request.device, request.options, made);
  return made.clocks;
}

const char* dtype_option(Dtype dtype) { return dtype == Dtype::f16 ? "-DCLAM_F16 " : ""; }

Arg buffer_if(bool present, const std::string& name) {
  if (present) return BufferArg{name};
  return NullArg{};
}

Launch group_launch(const char* file, std::string kernel, std::string options, Group group,
                    std::int64_t columns, std::int64_t rows, std::int64_t depth,
                    std::vector<Arg> args, int parts) {
  return {file,
          std::move(kernel),
          std::move(options),
          {round_up(columns, group.x), round_up(rows, group.y), depth * parts},
          {group.x, group.y, parts},
          std::move(args)};
}

Launch own_launch(const Request& request, const std::string& options, Group group,
                  const Items& items, std::vector<Arg> args) {
  const std::string file = request.problem.schema().name + ".cl";
  return group_launch(file.c_str(), request.variant,
                      dtype_option(request.problem.dtype()) + options, group, items.columns,
                      items.rows, items.planes, std::move(args));
}

Launch row_launch(const Request& request, const std::string& options, int across,
                  const Items& items, std::vector<Arg> args, const std::string& more) {
  const Group group =
      lower_group(choose_group(as_int(items.columns), across, request), as_int(items.rows));
  std::string op = request.problem.schema().name;
  for (char& letter : op) letter = static_cast<char>(std::toupper(letter));
  return own_launch(
      request, fmt::format("{0}-D{1}_LX={2} -D{1}_LY={3}{4}", options, op, group.x, group.y, more),
      group, items, std::move(args));
}

}  // namespace clam
