// SPDX-License-Identifier: MIT
// case.cpp - a case put together, and built and run on a device, in this process.
#include "case.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string_view>

#include "check/compare.hpp"
#include "check/verify.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "tokens/letters.hpp"

namespace clam {
namespace {

using Outcome = Seen::Outcome;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ---- building ----

/// Where the last ".cl" of a path ends that has no letter behind it; 0: there is none.
std::size_t end_of_file_name(std::string_view path) {
  constexpr std::string_view kEnding = ".cl";
  for (std::size_t at = path.size(); (at = path.rfind(kEnding, at - 1)) != path.npos && at > 1;) {
    const std::size_t end = at + kEnding.size();
    if (end == path.size() || !is_word(path[end])) return end;
  }
  return 0;
}

/// Logs name the file by where the driver keeps it for a while. By hand, in one go: std::regex runs
/// out of stack on a long line.
std::string cleaned(const std::string& raw, const std::string& file) {
  const std::string log = anonymous(raw);  // first: a home with a space in it is one name
  std::string rest;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t slash = std::min(log.find('/', at), log.size());
    const std::size_t end = std::min(log.find_first_of(" \t\r\n\v\f:'\"<>", slash), log.size());
    const std::size_t named = end_of_file_name(std::string_view(log).substr(slash, end - slash));
    rest.append(log, at, slash - at);
    if (named > 0 && !rest.empty() && rest.back() == '~') rest.pop_back();
    rest += named > 0 ? file : log.substr(slash, end - slash);
    at = named > 0 ? slash + named : end;
  }
  return rest;
}

struct BuildRecord {
  std::string log;
  std::vector<std::string> binaries;

  void add(const Build& build, const std::string& text) {
    const std::string own = cleaned(text, build.file);
    log += fmt::format("== {}, options: {}\n{}", build.file,
                       build.options.empty() ? "none" : build.options, own);
    if (own.empty()) log += "(the log is empty)";
    if (log.back() != '\n') log += '\n';
  }
  void add_binary(const cl::Program& program) {
    binaries.emplace_back();
    try {
      const auto all = program.getInfo<CL_PROGRAM_BINARIES>();
      if (!all.empty()) binaries.back().assign(all[0].begin(), all[0].end());
    } catch (const cl::Error&) {
      // The driver keeps it to itself.
    }
    if (anonymous(binaries.back()) == binaries.back()) return;
    binaries.back().clear();
    log += "(its binary names the person's folders, and is left out)\n";
  }
  void write(const std::string& folder) const {
    if (folder.empty()) return;
    write_file(path_in(folder, "build.log"), log);
    for (std::size_t i = 0; i < binaries.size(); ++i) {
      if (binaries[i].empty()) continue;
      write_file(path_in(folder, fmt::format("program-{}.bin", i + 1)), binaries[i]);
    }
  }
};

std::string log_of(const cl::Program& program, const cl::Device& device) {
  try {
    return program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device);
  } catch (const cl::Error&) {
    return "(the driver gave no build log)";
  }
}

/// The line of a log that says what is wrong.
std::string first_error(const std::string& log) {
  std::size_t at = log.find("error");
  if (at == log.npos) at = log.find("fatal");  // of an assembler, behind the compiler's warnings
  if (at == log.npos) return log.substr(0, log.find('\n'));
  const std::size_t start = log.rfind('\n', at) == log.npos ? 0 : log.rfind('\n', at) + 1;
  return log.substr(start, log.find('\n', at) - start);
}

Seen build_failed(const Build& build, const std::string& log, int code) {
  const std::string line = first_error(cleaned(log, build.file));
  return failed(Outcome::build_failed,
                fmt::format("{}: {} ({}){}{}", build.file, cl_status_name(code), code,
                            line.empty() ? "" : ": ", line));
}

/// A file built with nothing to run. Its kernels are made too: some drivers compile only then.
Seen build_alone(const cl::Context& context, const cl::Device& device, const Bundle& bundle,
                 BuildRecord& record) {
  const Build build = builds_of(bundle).front();
  cl::Program program(context, bundle.kernels.at(build.file));
  try {
    program.build({device}, build.options.c_str());
    std::vector<cl::Kernel> kernels;
    program.createKernels(&kernels);
    record.add(build, log_of(program, device));
    record.add_binary(program);
    return {};
  } catch (const cl::Error& error) {
    const std::string log = log_of(program, device);
    record.add(build, log);
    return build_failed(build, log, error.err());
  }
}

/// Every program of the plan, before anything runs: what a driver says of them is kept even where
/// a kernel then ends the process.
void build_all(Runtime& runtime, const cl::Device& device, const Bundle& bundle,
               BuildRecord& record) {
  std::vector<Build> done;
  for (const Launch* launch : launches_of(*bundle.plan)) {
    const Build build{launch->file, launch->options};
    try {
      const cl::Kernel kernel = runtime.programs().kernel(runtime.files().get(launch->file),
                                                          launch->options, launch->kernel);
      if (std::find(done.begin(), done.end(), build) != done.end()) continue;
      done.push_back(build);
      const cl::Program program = kernel.getInfo<CL_KERNEL_PROGRAM>();
      record.add(build, log_of(program, device));
      record.add_binary(program);
    } catch (const BuildFailure& failure) {
      record.add(build, failure.log);
      throw;
    }
  }
}

// ---- the result ----

/// Holds an output against what is expected of it; the first wrong element of all outputs is kept.
void judge(const TensorSpec& spec, const HostTensor& out, const Bundle& bundle, Seen& seen) {
  const auto wanted = bundle.expected.find(spec.name), bounded = bundle.bounds.find(spec.name);
  if (wanted == bundle.expected.end()) return;
  const bool exact = bounded == bundle.bounds.end();
  const HostTensor& expected = wanted->second;
  std::int64_t wrong = 0, first = -1, first_place = -1;
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const std::int64_t place = spec.position(i);
    const double ratio = exact ? (out.bits(i) == expected.bits(place) ? 0 : kInfinity)
                               : error_ratio(spec.dtype, out.get(i), expected.get(place),
                                             bounded->second.get(place));
    seen.worst_ratio = std::max(seen.worst_ratio, ratio);
    if (ratio <= 1) continue;
    ++wrong;
    if (first < 0 || place < first_place) first = i, first_place = place;
  }
  if (wrong == 0) return;
  const double value = out.get(first), right = expected.get(first_place);
  seen.outcome = Outcome::wrong;
  if (!seen.first_wrong) seen.first_wrong = {spec.name, first_place, value, right};
  const std::string within =
      exact ? " bit for bit" : fmt::format(" +- {:.3g}", bounded->second.get(first_place));
  seen.reason += fmt::format("{}{}[{}] is {}, expected {}{}; {} of {} elements are wrong",
                             seen.reason.empty() ? "" : "; ", spec.name, first_place,
                             value_text(value), value_text(right), within, wrong, out.size());
}

Seen run_plan(Runtime& runtime, const Bundle& bundle, Tensors* kept) {
  Trial trial(runtime, *bundle.plan);
  trial.upload(dense_inputs(bundle));
  trial.run(1);
  const Tensors outputs = trial.download();
  Seen seen = hold_outputs(bundle, outputs);
  if (const Reason trespass = trial.trespass()) {
    seen.outcome = Outcome::wrong;
    seen.reason += (seen.reason.empty() ? "" : "; ") + *trespass;
  }
  if (kept) *kept = outputs;
  return seen;
}

CaseRun attempt(const cl::Device& device, const Bundle& bundle, const std::string& folder,
                BuildRecord& record, const std::string& keep, Tensors* outputs) {
  try {
    const cl::Context context(device);
    if (bundle.build_only()) return {build_alone(context, device, bundle, record), {}};
    RuntimeOptions options;  // no cache: a stored binary would hide what the compiler does today
    options.files = KernelFiles("", folder);
    Runtime runtime(context, cl::CommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE), options);
    build_all(runtime, device, bundle, record);
    record.write(keep);
    return {run_plan(runtime, bundle, outputs), {}};
  } catch (const BuildFailure& failure) {
    return {build_failed({failure.file, failure.options}, failure.log, failure.code), {}};
  } catch (const Unsupported& error) {
    return {{}, error.what()};
  } catch (const DeviceError& error) {
    return {failed(Outcome::device_error, anonymous(error.what())), {}};
  } catch (const cl::Error& error) {
    return {failed(Outcome::device_error, describe(error)), {}};
  }
}

// ---- what is right ----

/// Around inputs, as in verification: a read between rows shows in the result.
std::uint32_t input_gap(Dtype dtype) { return dtype == Dtype::i32 ? 0xA5A5A5A5u : 0xFFFFFFFFu; }

/// A folder of the machine that the driver is sent to is none that others have.
void refuse_folders(const std::string& file, const std::string& options) {
  throw_if((" " + options).find(" -I") != std::string::npos,
           "{} is built with '{}': a bundle stands alone, so put the files that it includes into "
           "it, and leave out -I",
           file, options);
}

/// A name for a kernel file in the bundle: its own, without folders, unless another file has it.
std::string bundled_name(const KernelSource& source, const Bundle& bundle) {
  const std::string own = std::filesystem::path(source.file).filename().string();
  std::string name = own;
  for (int number = 2;; ++number) {
    const auto taken = bundle.kernels.find(name);
    if (taken == bundle.kernels.end() || taken->second == source.text) return name;
    name = fmt::format("{}_{}", number, own);
  }
}

/// The distance of the farthest other value that is as right; 0 where there is none.
double reach(const Expected& expected, std::size_t i) {
  double farthest = 0;
  if (!expected.other.empty() && !std::isnan(expected.other[i])) {
    farthest = std::fabs(expected.other[i] - expected.value[i]);
  }
  if (expected.also.empty()) return farthest;
  for (const double value : expected.also[i]) {
    farthest = std::max(farthest, std::fabs(value - expected.value[i]));
  }
  return farthest;
}

/// The bound around `stored`, a value as it fits its dtype, that holds what `bound` around `value`
/// does.
double bound_of_stored(double value, double bound, double stored) {
  if (std::isnan(value)) return 0;
  if (std::isinf(stored)) {  // too large for float: infinite is right, and what is in reach of it
    const double largest = std::numeric_limits<float>::max();
    return std::fabs(value) - bound > largest ? 0 : kInfinity;
  }
  return bound + std::fabs(value - stored);
}

/// Rounded up to float.
void set_bound(HostTensor& bounds, std::int64_t i, double bound) {
  float rounded = static_cast<float>(bound);
  if (static_cast<double>(rounded) < bound) rounded = std::nextafter(rounded, INFINITY);
  bounds.set(i, rounded);
}

}  // namespace

std::string value_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.9g}", value);
}

Tensors dense_inputs(const Bundle& bundle) {
  Tensors inputs;
  for (const TensorSpec& spec : bundle.plan->tensors) {
    const auto held = bundle.inputs.find(spec.name);
    if (held != bundle.inputs.end()) inputs[spec.name] = from_buffer(spec, held->second);
  }
  return inputs;
}

Seen hold_outputs(const Bundle& bundle, const Tensors& outputs) {
  Seen seen;
  for (const TensorSpec& spec : bundle.plan->tensors) {
    if (spec.role == TensorSpec::Role::output) judge(spec, outputs.at(spec.name), bundle, seen);
  }
  return seen;
}

CaseRun run_case(const cl::Device& device, const Bundle& bundle, const std::string& folder,
                 const std::string& keep, Tensors* outputs) {
  if (bundle.needs_fp16() && !query_device(device).fp16) {
    return {{}, "the device has no cl_khr_fp16"};
  }
  BuildRecord record;
  const CaseRun run = attempt(device, bundle, folder, record, keep, outputs);
  record.write(keep);
  return run;
}

void take_plan(const Plan& plan, const KernelFiles& files, Bundle& bundle) {
  bundle.plan = plan;
  bundle.problem = plan.problem;
  bundle.variant = plan.variant;
  for (Launch* launch : launches_of(*bundle.plan)) {
    const KernelSource source = files.get(launch->file);
    if (!source.options.empty()) {
      launch->options += (launch->options.empty() ? "" : " ") + source.options;
    }
    refuse_folders(launch->file, launch->options);
    launch->file = bundled_name(source, bundle);
    bundle.kernels[launch->file] = source.text;
  }
}

void take_inputs(const Tensors& inputs, Bundle& bundle) {
  for (const TensorSpec& spec : bundle.plan->tensors) {
    const bool is_output = spec.role == TensorSpec::Role::output;
    if (is_output && inputs.count(spec.name) == 0) continue;
    const std::uint32_t gap = is_output ? poison_bits(spec.dtype) : input_gap(spec.dtype);
    bundle.inputs[spec.name] = in_buffer(spec, inputs.at(spec.name), gap);
  }
}

void expect(const TensorSpec& spec, const HostTensor& exact, Bundle& bundle) {
  // Between its elements lies what replay.c puts there, which must stay as it was.
  bundle.expected[spec.name] = in_buffer(spec, exact, poison_bits(spec.dtype));
}

void expect(const TensorSpec& spec, const Expected& expected, Bundle& bundle) {
  if (expected.bit_exact()) return expect(spec, expected.exact, bundle);
  HostTensor values(held_as(spec.dtype), spec.shape), bounds(Dtype::f32, spec.shape);
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    values.set(i, expected.value[at]);
    const double bound = expected.bound[at] + reach(expected, at);
    set_bound(bounds, i, bound_of_stored(expected.value[at], bound, values.get(i)));
  }
  constexpr std::uint32_t kAnything = 0x7F800000u;  // an infinite bound
  bundle.expected[spec.name] = in_buffer(spec, values, 0);
  bundle.bounds[spec.name] = in_buffer(spec, bounds, kAnything);
}

}  // namespace clam
