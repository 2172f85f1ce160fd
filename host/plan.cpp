// SPDX-License-Identifier: MIT
#include "plan.hpp"

#include <fmt/core.h>

#include <cmath>

#include "error.hpp"
#include "number_text.hpp"
#include "op.hpp"

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
  };
  return std::visit(Printer{}, arg);
}

std::string size_text(const std::array<std::int64_t, 3>& size) {
  return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
}

std::string launch_text(const char* title, const Launch& launch) {
  std::string args;
  for (const Arg& arg : launch.args) args += (args.empty() ? "" : ", ") + arg_text(arg);
  return fmt::format("{} {}:{} global {} local {}\n    args ({})\n    options {}\n", title,
                     launch.file, launch.kernel, size_text(launch.global), size_text(launch.local),
                     args, launch.options.empty() ? "none" : launch.options);
}

/// Size of a tensor or buffer of the plan; 0 when it has none of that name.
std::int64_t bytes_of(const Plan& plan, const std::string& name) {
  if (const TensorSpec* tensor = plan.tensor(name)) return tensor->bytes();
  const BufferSpec* buffer = plan.buffer(name);
  return buffer ? buffer->bytes : 0;
}

void check(const Plan& plan, const Launch& launch) {
  const auto reject = [&](const std::string& why) {
    throw BadArgument(fmt::format("plan: launch of {}: {}", launch.kernel, why));
  };
  if (launch.file.empty() || launch.kernel.empty()) reject("file and kernel must be named");
  for (int axis = 0; axis < 3; ++axis) {
    if (launch.local[axis] < 1 || launch.global[axis] < 1) reject("sizes must be at least 1");
    if (launch.global[axis] % launch.local[axis] != 0) {
      reject(fmt::format("global {} is no multiple of local {}", size_text(launch.global),
                         size_text(launch.local)));
    }
  }
  for (const Arg& arg : launch.args) {
    if (const auto* local = std::get_if<LocalArg>(&arg); local && local->bytes < 1) {
      reject("local_bytes must be at least 1");
    }
    const auto* buffer = std::get_if<BufferArg>(&arg);
    if (!buffer) continue;
    const std::int64_t bytes = bytes_of(plan, buffer->name);
    if (bytes == 0) {
      reject(
          fmt::format("argument '{}' is neither a tensor nor a buffer of the plan", buffer->name));
    }
    if (buffer->offset < 0 || buffer->offset >= bytes) {
      reject(fmt::format("offset {} is outside '{}' of {} bytes", buffer->offset, buffer->name,
                         bytes));
    }
    if (buffer->offset % plan.device.mem_base_addr_align != 0) {
      reject(fmt::format("offset {} of '{}' is no multiple of {}", buffer->offset, buffer->name,
                         plan.device.mem_base_addr_align));
    }
  }
}

/// The variants to try, in order: the one asked for, or all.
std::vector<const Variant*> candidates(const Op& op, const PlanOptions& options) {
  if (!options.variant.empty()) return {&find_variant(op, options.variant)};
  std::vector<const Variant*> all;
  for (const Variant& variant : op.variants) all.push_back(&variant);
  return all;
}

Reason cannot_store(const Problem& problem, const DeviceInfo& device) {
  if (problem.dtype() == Dtype::f16 && !device.fp16) return "the device has no cl_khr_fp16";
  for (const TensorSpec& spec : problem.op().tensors(problem)) {
    if (spec.bytes() > device.max_alloc_bytes) {
      return fmt::format("tensor {} needs {} bytes, the device allows {} in one buffer", spec.name,
                         spec.bytes(), device.max_alloc_bytes);
    }
  }
  return {};
}

Reason cannot_run(const Variant& variant, const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = cannot_store(problem, device)) return reason;
  return variant.supports(problem, device);
}

/// Why it is not the best choice, where the caller leaves it to the plan.
Reason is_outdone(const Variant& variant, const Problem& problem, const DeviceInfo& device,
                  const PlanOptions& options) {
  if (!options.variant.empty() || !variant.outdone) return {};
  return variant.outdone(problem, device, options);
}

Plan plan_variant(const Variant& variant, const Problem& problem, const DeviceInfo& device,
                  const PlanOptions& options) {
  Plan plan;
  plan.problem = problem.text();
  plan.variant = variant.name;
  plan.device = device;
  plan.tensors = problem.op().tensors(problem);
  variant.plan(problem, device, options, plan);
  check(plan);
  return plan;
}

}  // namespace

const TensorSpec* Plan::tensor(const std::string& name) const {
  for (const TensorSpec& spec : tensors) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

const BufferSpec* Plan::buffer(const std::string& name) const {
  for (const BufferSpec& spec : buffers) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

void check(const Plan& plan) {
  if (plan.launches.empty()) throw BadArgument("plan: it has no launches");
  for (const TensorSpec& tensor : plan.tensors) {
    if (plan.tensor(tensor.name) != &tensor) {
      throw BadArgument(fmt::format("plan: '{}' names two tensors", tensor.name));
    }
  }
  for (const BufferSpec& buffer : plan.buffers) {
    if (buffer.bytes < 1)
      throw BadArgument(fmt::format("plan: buffer {} has no bytes", buffer.name));
    if (plan.tensor(buffer.name)) {
      throw BadArgument(fmt::format("plan: '{}' names a tensor and a buffer", buffer.name));
    }
  }
  for (const Launch& launch : plan.pack) check(plan, launch);
  for (const Launch& launch : plan.launches) check(plan, launch);
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

Plan make_plan(const Problem& problem, const DeviceInfo& device, const PlanOptions& options) {
  std::string reasons;
  for (const Variant* variant : candidates(problem.op(), options)) {
    Reason reason = cannot_run(*variant, problem, device);
    if (!reason) reason = is_outdone(*variant, problem, device, options);
    if (!reason) return plan_variant(*variant, problem, device, options);
    if (reasons.find(*reason) == std::string::npos)
      reasons += (reasons.empty() ? "" : "; ") + *reason;
  }
  throw Unsupported(fmt::format("{}: cannot run on {}: {}", problem.text(), device.name, reasons));
}

namespace {

/// 0 where there is no plan, or its tile was not chosen by predicted clocks.
double predicted_clocks_of(const Problem& problem, const DeviceInfo& device) {
  try {
    return make_plan(problem, device).clocks;
  } catch (const Unsupported&) {
    return 0;
  }
}

std::string compare_accumulators(const Problem& problem, const DeviceInfo& device) {
  if (!problem.op().sums_products || problem.dtype() != Dtype::f16) return "";
  if (problem.choice("acc") != "f32") return "";
  const double f16 = predicted_clocks_of(problem, device);
  const double f32 = predicted_clocks_of(problem.with("dtype", "f32"), device);
  if (f16 == 0 || f32 == 0 || f16 <= f32) return "";
  std::string text = fmt::format(
      "note     by Mesa's compiler, not Arm's: dtype=f16 with float sums is predicted to take "
      "{:.2f} "
      "of the time of dtype=f32",
      f16 / f32);
  for (const char* acc : {"chunk", "f16"}) {
    const double half = predicted_clocks_of(problem.with("acc", acc), device);
    if (half > 0 && half < f32) text += fmt::format("; acc={} {:.2f}", acc, half / f32);
  }
  return text + "\n";
}

}  // namespace

std::string explain_plan(const Problem& problem, const DeviceInfo& device,
                         const PlanOptions& options) {
  std::string text;
  bool chosen = false;
  for (const Variant& variant : problem.op().variants) {
    const Reason reason = cannot_run(variant, problem, device);
    const bool wanted = options.variant.empty() || options.variant == variant.name;
    Reason outdone;
    if (!reason) outdone = is_outdone(variant, problem, device, options);
    const bool choose = !reason && !outdone && wanted && !chosen;
    chosen = chosen || choose;
    text += fmt::format("{:<8} {}: {}\n",
                        choose   ? "chosen"
                        : reason ? "no"
                                 : "possible",
                        variant.name,
                        reason    ? *reason
                        : outdone ? fmt::format("{}; {}", variant.about, *outdone)
                                  : variant.about);
  }
  return text + compare_accumulators(problem, device);
}

}  // namespace clam
