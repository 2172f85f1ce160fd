// SPDX-License-Identifier: MIT
#include "launch.hpp"

#include <fmt/core.h>

#include <cctype>
#include <utility>

namespace clam {

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

Launch row_launch(std::string op, std::string kernel, const std::string& options, int across,
                  const Items& items, std::vector<Arg> args, const DeviceInfo& device,
                  const PlanOptions& wanted, const std::string& more) {
  const std::string file = op + ".cl";
  const Group group =
      lower_group(choose_group(as_int(items.columns), across, device, wanted), as_int(items.rows));
  for (char& letter : op) letter = static_cast<char>(std::toupper(letter));
  return group_launch(
      file.c_str(), std::move(kernel),
      fmt::format("{0}-D{1}_LX={2} -D{1}_LY={3}{4}", options, op, group.x, group.y, more), group,
      items.columns, items.rows, items.planes, std::move(args));
}

}  // namespace clam
