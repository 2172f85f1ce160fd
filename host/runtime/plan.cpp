// SPDX-License-Identifier: MIT
#include "clam/plan.hpp"

#include <fmt/format.h>

#include "number_text.hpp"
#include "refuse.hpp"
#include "words.hpp"

namespace clam {
namespace {

std::string arg_text(const Arg& arg) {
  struct Printer {
    std::string operator()(const BufferArg& a) const {
      return a.offset ? fmt::format("{}+{}", a.name, a.offset) : a.name;
    }
    std::string operator()(std::int32_t value) const { return std::to_string(value); }
    std::string operator()(float value) const { return number_text(value) + "f"; }
    std::string operator()(const LocalArg& a) const { return fmt::format("local[{}]", a.bytes); }
    std::string operator()(const NullArg&) const { return "none"; }
    std::string operator()(const BytesArg& a) const {
      return fmt::format("bytes {:02x}", fmt::join(a.bytes, " "));
    }
  };
  return std::visit(Printer{}, arg);
}

std::string size_text(const std::array<std::int64_t, 3>& size) {
  return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
}

std::string launch_text(const char* title, const Launch& launch) {
  std::string args, more;
  for (const Arg& arg : launch.args) args += (args.empty() ? "" : ", ") + arg_text(arg);
  if (launch.offset != Launch().offset) more += " offset " + size_text(launch.offset);
  if (launch.dimensions != 3) more += fmt::format(" dimensions {}", launch.dimensions);
  return fmt::format("{} {}:{} global {} local {}{}\n    args ({})\n    options {}\n", title,
                     launch.file, launch.kernel, size_text(launch.global),
                     launch.group_size() == 0 ? "any" : size_text(launch.local), more, args,
                     launch.options.empty() ? "none" : launch.options);
}

/// Size of a tensor or buffer of the plan; 0 when it has none of that name.
std::int64_t bytes_of(const Plan& plan, const std::string& name) {
  if (const TensorSpec* tensor = plan.tensor(name)) return tensor->bytes();
  const BufferSpec* buffer = plan.buffer(name);
  return buffer ? buffer->bytes : 0;
}

template <typename... Args>
void reject_if(const Launch& launch, bool wrong, fmt::format_string<Args...> why, Args&&... args) {
  if (!wrong) return;
  throw BadArgument(fmt::format("plan: launch of {}: {}", launch.kernel,
                                fmt::format(why, std::forward<Args>(args)...)));
}

void check(const Plan& plan, const Launch& launch) {
  reject_if(launch, launch.file.empty() || launch.kernel.empty(), "file and kernel must be named");
  reject_if(launch, launch.dimensions < 1 || launch.dimensions > 3, "dimensions must be 1, 2 or 3");
  const bool any_group = launch.local == std::array<std::int64_t, 3>{};
  for (int axis = 0; axis < 3; ++axis) {
    reject_if(launch, launch.global[axis] < 1 || (launch.local[axis] < 1 && !any_group),
              "sizes must be at least 1; only local may be 0, in all axes: the driver chooses");
    reject_if(launch, launch.offset[axis] < 0, "offset must not be negative");
    reject_if(launch,
              axis >= launch.dimensions && (launch.global[axis] != 1 || launch.local[axis] > 1),
              "it has {} dimensions, and a size in another", launch.dimensions);
    if (!any_group && launch.global[axis] % launch.local[axis] != 0) {
      reject_if(launch, true, "global {} is no multiple of local {}", size_text(launch.global),
                size_text(launch.local));
    }
  }
  for (const Arg& arg : launch.args) {
    const auto* local = std::get_if<LocalArg>(&arg);
    reject_if(launch, local && local->bytes < 1, "local_bytes must be at least 1");
    const auto* buffer = std::get_if<BufferArg>(&arg);
    if (!buffer) continue;
    const std::int64_t bytes = bytes_of(plan, buffer->name);
    reject_if(launch, bytes == 0, "argument '{}' is neither a tensor nor a buffer of the plan",
              buffer->name);
    reject_if(launch, buffer->offset < 0 || buffer->offset >= bytes,
              "offset {} is outside '{}' of {} bytes", buffer->offset, buffer->name, bytes);
    reject_if(launch, buffer->offset % plan.device.mem_base_addr_align != 0,
              "offset {} of '{}' is no multiple of {}", buffer->offset, buffer->name,
              plan.device.mem_base_addr_align);
  }
}

}  // namespace

const TensorSpec* Plan::tensor(const std::string& name) const {
  return find_by_name(tensors, name);
}

const BufferSpec* Plan::buffer(const std::string& name) const {
  return find_by_name(buffers, name);
}

void check(const Plan& plan) {
  if (plan.launches.empty()) throw BadArgument("plan: it has no launches");
  for (const TensorSpec& tensor : plan.tensors) {
    throw_if(plan.tensor(tensor.name) != &tensor, "plan: '{}' names two tensors", tensor.name);
  }
  for (const BufferSpec& buffer : plan.buffers) {
    throw_if(buffer.bytes < 1, "plan: buffer {} has no bytes", buffer.name);
    throw_if(plan.tensor(buffer.name), "plan: '{}' names a tensor and a buffer", buffer.name);
  }
  for (const Launch* launch : launches_of(plan)) check(plan, *launch);
}

std::string to_text(const Plan& plan) {
  std::string text =
      fmt::format("{}\nvariant {} for {}\n", plan.problem, plan.variant, plan.device.name);
  for (const TensorSpec& spec : plan.tensors) {
    text += fmt::format("{:<7} {} {}[{}]{}\n",
                        spec.role == TensorSpec::Role::input ? "input" : "output", spec.name,
                        name(spec.dtype), to_string(spec.shape),
                        spec.is_dense() ? "" : fmt::format(" in {} elements", spec.span()));
  }
  for (const BufferSpec& spec : plan.buffers) {
    text += fmt::format("{:<7} {} {} bytes\n",
                        spec.role == BufferSpec::Role::packed ? "packed" : "scratch", spec.name,
                        spec.bytes);
  }
  for (const Launch& launch : plan.pack) text += launch_text("pack  ", launch);
  for (const Launch& launch : plan.launches) text += launch_text("launch", launch);
  return text;
}

}  // namespace clam
