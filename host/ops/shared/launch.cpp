// SPDX-License-Identifier: MIT
#include "launch.hpp"

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

}  // namespace clam
