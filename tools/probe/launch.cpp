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

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "bundle/case.hpp"
#include "check/compare.hpp"
#include "check/launch_guard.hpp"
#include "clam/error.hpp"
#include "stage.hpp"

namespace clam {
namespace {

using nlohmann::json;
using Role = TensorSpec::Role;

// ---- the data ----

/// By "values" or "iota".
HostTensor filled(const TensorSpec& spec, const json& by) {
  const bool counts = by.contains("iota");
  const auto numbers = by.at(counts ? "iota" : "values").get<std::vector<double>>();
  HostTensor tensor(spec.dtype, spec.shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const auto place = static_cast<std::size_t>(i) % numbers.size();
    tensor.set(i, counts ? numbers.at(0) + numbers.at(1) * static_cast<double>(i) : numbers[place]);
  }
  return tensor;
}

/// Distance of neighbours in the dtype, near `value`.
double spacing(Dtype dtype, double value) {
  const int least = dtype == Dtype::f16 ? -14 : -126, digits = dtype == Dtype::f16 ? 10 : 23;
  const int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  return std::ldexp(1.0, exponent - digits);
}

/// So many units in the last place off, floats by value, integers bit for bit.
void take_expected(const TensorSpec& spec, const json& wanted, Bundle& bundle) {
  const HostTensor expected = filled(spec, wanted);
  if (spec.dtype == Dtype::i32) {
    bundle.expected[spec.name] = expected;
    return;
  }
  const double ulp = wanted.value("ulp", 0.0);
  HostTensor values(Dtype::f32, spec.shape), bounds(Dtype::f32, spec.shape);
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    values.set(i, expected.get(i));
    bounds.set(i, ulp * spacing(spec.dtype, expected.get(i)));
  }
  bundle.expected[spec.name] = values;
  bundle.bounds[spec.name] = bounds;
}

Arg take_arg(const json& arg, Bundle& bundle) {
  if (arg.contains("int")) return arg.at("int").get<std::int32_t>();
  if (arg.contains("local_bytes")) return LocalArg{arg.at("local_bytes").get<std::int64_t>()};
  TensorSpec spec;
  spec.name = arg.at("buffer").get<std::string>();
  spec.dtype = parse_dtype(arg.at("type").get<std::string>());
  spec.shape = {arg.at("count").get<std::int64_t>()};
  const bool has_values = arg.contains("values") || arg.contains("iota");
  spec.role = has_values && !arg.contains("expect") ? Role::input : Role::output;
  if (has_values) bundle.inputs[spec.name] = filled(spec, arg);
  if (arg.contains("expect")) take_expected(spec, arg.at("expect"), bundle);
  bundle.plan->tensors.push_back(spec);
  return BufferArg{spec.name};
}

// ---- the launch ----

using Buffers = std::map<std::string, cl::Buffer>;

Buffers set_arguments(const Stage& stage, const Bundle& bundle, cl::Kernel& kernel) {
  Buffers buffers;
  cl_uint place = 0;
  for (const Arg& arg : bundle.plan->launches[0].args) {
    if (const auto* number = std::get_if<std::int32_t>(&arg)) {
      kernel.setArg(place++, *number);
    } else if (const auto* local = std::get_if<LocalArg>(&arg)) {
      kernel.setArg(place++, cl::Local(static_cast<std::size_t>(local->bytes)));
    } else {
      const TensorSpec& spec = *bundle.plan->tensor(std::get<BufferArg>(arg).name);
      const auto bytes = static_cast<std::size_t>(spec.bytes());
      buffers[spec.name] = cl::Buffer(stage.context, CL_MEM_READ_WRITE, bytes);
      kernel.setArg(place++, buffers[spec.name]);
    }
  }
  return buffers;
}

/// What is in every buffer before and behind a launch.
Tensors poison(const Bundle& bundle) {
  Tensors tensors;
  for (const TensorSpec& spec : bundle.plan->tensors) {
    tensors[spec.name] = HostTensor(spec.dtype, spec.shape);
    fill_poison(tensors[spec.name]);
  }
  return tensors;
}

ProbeResult run(const Stage& stage, const Bundle& bundle, int times) {
  const Launch& launch = bundle.plan->launches[0];
  cl::Kernel kernel = stage.kernel(bundle.kernels.at(launch.file), launch.kernel, launch.options);
  const auto global = static_cast<std::size_t>(launch.global[0]),
             local = static_cast<std::size_t>(launch.local[0]);
  const std::size_t most = kernel.getWorkGroupInfo<CL_KERNEL_WORK_GROUP_SIZE>(stage.device);
  if (local > most) {
    return skip(
        fmt::format("it takes groups of {}, and the kernel runs in {} at most", local, most));
  }
  const Buffers buffers = set_arguments(stage, bundle, kernel);
  for (int time = 1; time <= times; ++time) {
    Tensors before = poison(bundle), after = before;
    for (const auto& [name, values] : bundle.inputs) before[name] = values;
    for (const auto& [name, buffer] : buffers) {
      const HostTensor& values = before.at(name);
      stage.queue.enqueueWriteBuffer(buffer, CL_TRUE, 0, values.bytes(), values.data());
    }
    cl::Event event;
    stage.queue.enqueueNDRangeKernel(kernel, cl::NullRange, global, local, nullptr, &event);
    stage.queue.finish();
    if (Reason ended = ended_by_driver(stage.info, LaunchTime::of(event))) return skip(*ended);
    for (const auto& [name, buffer] : buffers) {
      HostTensor& values = after.at(name);
      stage.queue.enqueueReadBuffer(buffer, CL_TRUE, 0, values.bytes(), values.data());
    }
    const Seen seen = hold_outputs(bundle, after);
    if (seen.right()) continue;
    return bug(times == 1 ? seen.reason
                          : fmt::format("in run {} of {}: {}", time, times, seen.reason));
  }
  return ok();
}

}  // namespace

Bundle bundle_of(const Probe& probe) {
  Bundle bundle;
  bundle.problem = fmt::format("probe {}: {}", probe.name, probe.symptom);
  try {
    const json& run = probe.run;
    const std::string file = run.value("file", "kernel.cl"), options = run.value("options", "");
    bundle.kernels[file] = probe_file(probe.name, file);
    if (!run.contains("global")) {
      bundle.file = file, bundle.options = options;
      return bundle;
    }
    Launch launch{file, run.at("kernel").get<std::string>(), options, {}, {}, {}};
    launch.global = {run.at("global").get<std::int64_t>(), 1, 1};
    launch.local = {run.at("local").get<std::int64_t>(), 1, 1};
    bundle.plan.emplace();
    bundle.plan->problem = bundle.problem;
    bundle.plan->device = generic_device();
    for (const json& arg : run.at("args")) launch.args.push_back(take_arg(arg, bundle));
    bundle.plan->launches.push_back(launch);
    return bundle;
  } catch (const json::exception& error) {
    throw BadArgument(fmt::format("probe {}: {}", probe.name, error.what()));
  }
}

ProbeResult run_launch(const Stage& stage) {
  const Bundle bundle = bundle_of(stage.probe);
  try {
    if (!bundle.build_only()) return run(stage, bundle, stage.probe.run.value("times", 1));
    stage.kernel(bundle.kernels.at(bundle.file), stage.probe.run.at("kernel").get<std::string>(),
                 bundle.options);
    return ok();
  } catch (const json::exception& error) {
    throw BadArgument(fmt::format("probe {}: {}", stage.probe.name, error.what()));
  }
}

}  // namespace clam
