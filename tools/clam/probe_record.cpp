// SPDX-License-Identifier: MIT
#include "probe_record.hpp"

#include <fmt/core.h>

#include "clam/error.hpp"
#include "probe/values.hpp"
#include "record.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::cli {
namespace {

using nlohmann::json;
using Role = TensorSpec::Role;

constexpr const char* kProgram = "repro.c";

/// As a probe judges: so many units in the last place off, floats by value, integers bit for bit.
void take_expected(const TensorSpec& spec, const json& wanted, Bundle& bundle) {
  HostTensor expected(spec.dtype, spec.shape);
  fill(expected, wanted);
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

void take_buffer(const json& arg, Bundle& bundle) {
  TensorSpec spec;
  spec.name = arg.at("buffer").get<std::string>();
  spec.dtype = parse_dtype(arg.at("type").get<std::string>());
  spec.shape = {arg.at("count").get<std::int64_t>()};
  const bool has_values = arg.contains("values") || arg.contains("iota");
  spec.role = has_values ? Role::input : Role::output;
  if (has_values && arg.contains("expect")) {
    throw Unsupported(fmt::format(
        "its kernel writes over its input {}, and a bundle keeps the two apart", spec.name));
  }
  if (has_values) {
    HostTensor initial(spec.dtype, spec.shape);
    fill(initial, arg);
    bundle.inputs[spec.name] = initial;
  } else if (arg.contains("expect")) {
    take_expected(spec, arg.at("expect"), bundle);
  }
  bundle.plan->tensors.push_back(spec);
}

Arg take_arg(const json& arg, Bundle& bundle) {
  if (arg.contains("int")) return arg.at("int").get<std::int32_t>();
  if (arg.contains("local_bytes")) return LocalArg{arg.at("local_bytes").get<std::int64_t>()};
  take_buffer(arg, bundle);
  return BufferArg{bundle.plan->tensors.back().name};
}

std::string readme_of(const Probe& probe, const std::string& detail, const DeviceInfo& device) {
  return fmt::format(
      "# {}\n\nSeen on {} ({}, driver {}):\n\n    {}\n\nReported on {} ({}).\n\n## To run it\n\n"
      "```\ncc {} -lOpenCL && ./a.out\n```\n\nprints PASS, or FAIL with what was seen (exit code "
      "0, 1; 2: it cannot run here). `./a.out 0 1` takes the\nsecond device of the first platform. "
      "With clam: `clam probe {}`.\n\ndevice.txt: device, driver, libraries, clocks, kernel log. "
      "Made by clam {}; MIT licence.\n",
      probe.symptom, device.name, device.platform, device.driver_version, anonymous(detail),
      probe.reported_on, probe.source, kProgram, probe.name, CLAM_VERSION);
}

/// The program that shows a fault of the API itself; empty where the probe has none.
std::string program_of(const Probe& probe) {
  try {
    return probe_file(probe.name, kProgram);
  } catch (const BadArgument&) {
    return "";
  }
}

void write_program(const Probe& probe, const std::string& detail, const DeviceInfo& device,
                   const std::string& folder) {
  const std::string program = program_of(probe);
  if (program.empty()) {
    throw Unsupported(
        fmt::format("it is about the API itself; `clam probe {}` is what repeats it", probe.name));
  }
  StagedFolder staged(folder, true, "device.txt");
  write_file(staged.path() + "/" + kProgram, program);
  write_file(staged.path() + "/device.txt", device_text(device));
  write_file(staged.path() + "/README.md", readme_of(probe, detail, device));
  staged.publish();
}

}  // namespace

Bundle bundle_of(const Probe& probe) {
  Bundle bundle;
  const std::string file = probe.run.value("file", "kernel.cl");
  const std::string options = probe.run.value("options", "");
  bundle.problem = fmt::format("probe {}: {}", probe.name, probe.symptom);
  bundle.kernels[file] = probe_file(probe.name, file);
  if (!probe.run.contains("global")) {
    bundle.file = file, bundle.options = options;
    return bundle;
  }
  bundle.plan.emplace();
  bundle.plan->problem = bundle.problem;
  bundle.plan->device = generic_device();
  Launch launch{file, probe.run.at("kernel").get<std::string>(), options, {}, {}, {}};
  launch.global = {probe.run.at("global").get<std::int64_t>(), 1, 1};
  launch.local = {probe.run.at("local").get<std::int64_t>(), 1, 1};
  for (const json& arg : probe.run.at("args")) launch.args.push_back(take_arg(arg, bundle));
  bundle.plan->launches.push_back(launch);
  return bundle;
}

void record_probe(Cli& cli, const Probe& probe, const std::string& detail, const DeviceEntry& entry,
                  const std::string& folder) {
  if (probe.run.is_null()) {
    return write_program(probe, detail, query_device(entry.device), folder);
  }
  const Bundle bundle = record_bundle(cli, bundle_of(probe), entry, folder, probe.limit_s);
  if (bundle.seen.right()) {
    cli.out.note(fmt::format("{}: this time it came out right; `clam replay {} --times 20`",
                             probe.name, folder));
  }
}

}  // namespace clam::cli
