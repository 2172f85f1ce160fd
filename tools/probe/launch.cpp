// SPDX-License-Identifier: MIT
// launch.cpp - probes that are data: one kernel, its arguments, and what must come out.
//
//   "run": {"kernel": "scan", "file": "kernel.cl", "options": "", "global": 256, "local": 64,
//           "times": 10, "args": [ARGUMENT, ...]}
//   without "global" the kernel is built and not launched
// ARGUMENT is {"int": 7}, {"local_bytes": 256} or
//   {"buffer": "sums", "type": "i32", "count": 256, INITIAL, "expect": {VALUES, "ulp": 2}}
// INITIAL and VALUES are "values": [1, 2] (repeated as often as needed) or "iota": [first, step];
// without INITIAL the buffer is filled with NaN. "ulp" is how far off a value may be, else 0.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "check/compare.hpp"
#include "check/launch_guard.hpp"
#include "clam/error.hpp"
#include "stage.hpp"

namespace clam {
namespace {

using nlohmann::json;

/// A buffer argument, and what it must hold in the end.
class Operand {
 public:
  Operand(const Stage& stage, const json& spec)
      : name_(spec.at("buffer").get<std::string>()),
        initial_(parse_dtype(spec.at("type").get<std::string>()),
                 Shape{spec.at("count").get<std::int64_t>()}),
        expected_(initial_),
        buffer_(stage.context, CL_MEM_READ_WRITE, initial_.bytes()) {
    fill(initial_, spec);
    checked_ = spec.contains("expect");
    if (!checked_) return;
    fill(expected_, spec["expect"]);
    ulp_ = spec["expect"].value("ulp", 0.0);
  }

  const cl::Buffer& buffer() const { return buffer_; }

  void upload(const cl::CommandQueue& queue) const {
    queue.enqueueWriteBuffer(buffer_, CL_TRUE, 0, initial_.bytes(), initial_.data());
  }

  /// Empty, or a sentence about the first wrong element.
  std::string check(const cl::CommandQueue& queue) const {
    if (!checked_) return "";
    HostTensor seen = expected_;
    fill_poison(seen);
    queue.enqueueReadBuffer(buffer_, CL_TRUE, 0, seen.bytes(), seen.data());
    std::int64_t first = -1, wrong = 0;
    for (std::int64_t i = 0; i < seen.size(); ++i) {
      if (is_right(seen.get(i), expected_.get(i))) continue;
      if (wrong++ == 0) first = i;
    }
    if (wrong == 0) return "";
    return fmt::format("{}[{}] is {:.9g}, not {:.9g}; {} of {} elements are wrong", name_, first,
                       seen.get(first), expected_.get(first), wrong, seen.size());
  }

 private:
  bool is_right(double value, double wanted) const {
    return std::fabs(value - wanted) <= ulp_ * spacing(expected_.dtype(), wanted);
  }

  std::string name_;
  HostTensor initial_, expected_;
  cl::Buffer buffer_;
  bool checked_ = false;
  double ulp_ = 0;
};

std::vector<Operand> set_arguments(const Stage& stage, cl::Kernel& kernel, const json& args) {
  std::vector<Operand> operands;
  cl_uint place = 0;
  for (const json& arg : args) {
    if (arg.contains("int")) {
      kernel.setArg(place, arg["int"].get<cl_int>());
    } else if (arg.contains("local_bytes")) {
      kernel.setArg(place, cl::Local(arg["local_bytes"].get<std::size_t>()));
    } else {
      operands.emplace_back(stage, arg);
      kernel.setArg(place, operands.back().buffer());
    }
    ++place;
  }
  return operands;
}

ProbeResult launch(const Stage& stage, const json& run) {
  cl::Kernel kernel = stage.kernel(probe_file(stage.probe.name, run.value("file", "kernel.cl")),
                                   run.at("kernel").get<std::string>(), run.value("options", ""));
  if (!run.contains("global")) return ok();
  const auto global = run["global"].get<std::size_t>(), local = run.at("local").get<std::size_t>();
  const std::size_t most = kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(stage.device);
  if (local > most) {
    return skip(
        fmt::format("it takes groups of {}, and the kernel runs in {} at most", local, most));
  }
  const std::vector<Operand> operands = set_arguments(stage, kernel, run.at("args"));
  const int times = run.value("times", 1);
  for (int time = 1; time <= times; ++time) {
    for (const Operand& operand : operands) operand.upload(stage.queue);
    cl::Event event;
    stage.queue.enqueueNDRangeKernel(kernel, cl::NullRange, global, local, nullptr, &event);
    stage.queue.finish();
    if (Reason ended = ended_by_driver(stage.info, LaunchTime::of(event))) return skip(*ended);
    for (const Operand& operand : operands) {
      const std::string what = operand.check(stage.queue);
      if (what.empty()) continue;
      return bug(times == 1 ? what : fmt::format("in run {} of {}: {}", time, times, what));
    }
  }
  return ok();
}

}  // namespace

ProbeResult run_launch(const Stage& stage) {
  try {
    return launch(stage, stage.probe.run);
  } catch (const json::exception& error) {
    throw BadArgument(fmt::format("probe {}: {}", stage.probe.name, error.what()));
  }
}

using nlohmann::json;

void fill(HostTensor& tensor, const json& spec) {
  if (spec.contains("iota")) {
    const auto first = spec["iota"].at(0).get<double>(), step = spec["iota"].at(1).get<double>();
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      tensor.set(i, first + step * static_cast<double>(i));
    }
  } else if (spec.contains("values")) {
    const auto values = spec["values"].get<std::vector<double>>();
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      tensor.set(i, values.at(static_cast<std::size_t>(i) % values.size()));
    }
  } else {
    fill_poison(tensor);
  }
}

double spacing(Dtype dtype, double value) {
  if (dtype == Dtype::i32) return 1;
  const int least = dtype == Dtype::f16 ? -14 : -126, digits = dtype == Dtype::f16 ? 10 : 23;
  const int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  return std::ldexp(1.0, exponent - digits);
}

}  // namespace clam
