// SPDX-License-Identifier: MIT
// sim.cpp - a case as a file of the simulator Oclgrind: one launch, its arguments in order.
#include <fmt/core.h>

#include <cmath>
#include <set>

#include "bundle.hpp"
#include "clam/error.hpp"
#include "process/shell_quoted.hpp"

namespace clam {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw BadArgument(fmt::format("--format oclgrind: {}", why));
}

/// Numbers that are read back as they were; else all are written as their bits.
bool is_readable(const HostTensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.get(i);
    if (!std::isfinite(value) || (value != 0 && std::fabs(value) < 1e-37)) return false;
  }
  return true;
}

std::string values_text(const HostTensor& tensor, bool readable) {
  constexpr std::int64_t kInLine = 8;
  std::string text;
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const std::string value = !readable                      ? fmt::format("{:08x}", tensor.bits(i))
                              : tensor.dtype() == Dtype::i32 ? fmt::format("{}", tensor.get(i))
                                                             : fmt::format("{:.9g}", tensor.get(i));
    text += value + (i % kInLine == kInLine - 1 || i + 1 == tensor.size() ? "\n" : " ");
  }
  return text;
}

std::string tensor_text(const HostTensor& tensor) {
  const bool readable = is_readable(tensor);
  const char* type = !readable ? "uint hex" : tensor.dtype() == Dtype::i32 ? "int" : "float";
  return fmt::format("<size={} {}>\n{}", tensor.bytes(), type, values_text(tensor, readable));
}

struct ArgumentWriter {
  const Bundle& bundle;

  std::string operator()(const BufferArg& a) const {
    if (a.offset != 0) refuse("it knows no offsets into buffers");
    const auto input = bundle.inputs.find(a.name);
    if (input != bundle.inputs.end()) return tensor_text(input->second);
    const TensorSpec* output = bundle.plan->tensor(a.name);
    if (!output) {
      return fmt::format("<size={} uchar fill=255>\n", bundle.plan->buffer(a.name)->bytes);
    }
    const bool integers = output->dtype == Dtype::i32;
    return fmt::format("<size={} {} fill={} dump>\n", output->bytes(), integers ? "int" : "float",
                       integers ? "2075998928" : "-12345.5");
  }
  std::string operator()(std::int32_t value) const {
    return fmt::format("<size=4 int> {}\n", value);
  }
  std::string operator()(float value) const {
    HostTensor one(Dtype::f32, {1});
    one.set(0, value);
    return tensor_text(one);
  }
  std::string operator()(const LocalArg& a) const {
    return fmt::format("<size={} uchar>\n", a.bytes);
  }
  std::string operator()(const NullArg&) const { return "<null uint>\n"; }
};

/// Each argument has memory of its own there.
void refuse_shared(const Launch& launch) {
  std::set<std::string> names;
  for (const Arg& arg : launch.args) {
    const auto* buffer = std::get_if<BufferArg>(&arg);
    if (buffer && !names.insert(buffer->name).second) {
      refuse(fmt::format("two of its arguments cannot be one buffer, as {} is", buffer->name));
    }
  }
}

std::string size_text(const std::array<std::int64_t, 3>& size) {
  return fmt::format("{} {} {}\n", size[0], size[1], size[2]);
}

}  // namespace

std::string sim_text(const Bundle& bundle) {
  if (bundle.build_only()) refuse("there is nothing to run");
  const Plan& plan = *bundle.plan;
  if (!plan.pack.empty() || plan.launches.size() != 1) {
    refuse(fmt::format("its file has one launch, and this plan has {}",
                       plan.pack.size() + plan.launches.size()));
  }
  if (bundle.needs_fp16()) refuse("it has no half");
  const Launch& launch = plan.launches.front();
  refuse_shared(launch);
  const std::string options =
      launch.options.empty() ? "" : " --build-options " + shell_quoted(launch.options);
  std::string text =
      fmt::format("# oclgrind-kernel{} kernel.sim\n{}\n{}\n", options, launch.file, launch.kernel);
  text += size_text(launch.global) + size_text(launch.local);
  for (const Arg& arg : launch.args) text += "\n" + std::visit(ArgumentWriter{bundle}, arg);
  return text;
}

}  // namespace clam
