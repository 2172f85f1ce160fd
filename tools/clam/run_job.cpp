// SPDX-License-Identifier: MIT
#include "run_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "check/graph.hpp"
#include "check/manifest.hpp"
#include "check/npy.hpp"
#include "clam/error.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

namespace clam::cli {
namespace {

// ---- what a request leaves open ----

/// The problem of a line without a dtype in one that it can have; the names of its tensors and
/// their shapes do not depend on it.
Problem in_any_dtype(const std::string& line) {
  try {
    return Problem::parse(line + " dtype=f32");
  } catch (const BadArgument&) {
    return Problem::parse(line + " dtype=f16");  // half accumulators are of f16 alone
  }
}

std::vector<std::string> dtypes_of(const Schema& schema) {
  const Field* dtype = find_by_name(schema.fields, "dtype");
  return dtype ? dtype->choices : std::vector<std::string>();
}

/// A line without a dtype, with that of the given tensors; without any that has it, as it is.
std::string with_given_dtype(const std::string& line, const std::vector<std::string>& in,
                             std::vector<std::string>& assumed) {
  const Problem any = in_any_dtype(line);
  const std::vector<TensorSpec> tensors = any.tensors();
  const auto files = files_by_tensor("--in", in, tensors, Role::input);
  std::optional<Dtype> dtype;
  std::string from;
  for (const TensorSpec& spec : tensors) {
    const auto file = files.find(spec.name);
    if (file == files.end() || spec.dtype != any.dtype()) continue;  // indices are i32 always
    const Dtype own = read_npy(file->second).dtype();
    const std::vector<std::string> taken = dtypes_of(any.schema());
    throw_if(std::find(taken.begin(), taken.end(), name(own)) == taken.end(),
             "{}: {} holds {}, but {} takes {}; convert it first, as with NumPy's astype",
             spec.name, file->second, name(own), any.schema().name, fmt::join(taken, " or "));
    if (dtype && own != *dtype) {
      throw BadArgument(
          fmt::format("the tensors differ in dtype: {} is read as {}, {} as {}; convert one, as "
                      "with NumPy's astype",
                      from, name(*dtype), file->second, name(own)));
    }
    if (!dtype) from = file->second;
    dtype = own;
  }
  if (!dtype) return line;
  assumed.push_back(fmt::format("dtype={}, from {}", name(*dtype), from));
  return fmt::format("{} dtype={}", line, name(*dtype));
}

Shape without_leading_ones(const Shape& shape) {
  const auto first =
      std::find_if(shape.begin(), shape.end(), [](auto extent) { return extent != 1; });
  return {first, shape.end()};
}

/// What --in may name: the inputs, and of a plan that is no op's an output too, which holds the
/// tensor before the launches.
std::map<std::string, std::string> given_files(const RunRequest& request, const RunJob& job) {
  std::vector<TensorSpec> taken = job.tensors;
  for (TensorSpec& spec : taken) {
    if (!job.problem) spec.role = Role::input;
  }
  return files_by_tensor("--in", request.in, taken, Role::input);
}

/// The files given, and the rest from a data set when one is named.
Tensors make_run_inputs(const RunRequest& request, RunJob& job) {
  Tensors inputs;
  if (!request.fill.empty()) {
    inputs = make_inputs(*job.problem, find_data_set(*job.problem, request.fill), request.seed);
  }
  const auto files = given_files(request, job);
  std::vector<std::string> missing;
  for (const TensorSpec& spec : job.tensors) {
    const auto file = files.find(spec.name);
    if (file != files.end()) {
      inputs[spec.name] = read_tensor(spec, file->second, job.assumed);
    } else if (spec.role == Role::input && inputs.count(spec.name) == 0) {
      missing.push_back(spec.name);
    }
  }
  if (!missing.empty()) {
    throw BadArgument(
        fmt::format("inputs without a file: {}; add --in {}=FILE.npy{}", fmt::join(missing, " "),
                    missing[0], job.problem ? ", or --fill SET to make up what is not given" : ""));
  }
  return inputs;
}

/// Kernels that carry tags say what they need; a plan that contradicts them would only show as a
/// crash or garbage on the device.
void hold_to_tags(const Plan& plan, const KernelFiles& files) {
  for (const Launch* launch : launches_of(plan)) {
    const KernelSource source = files.get(launch->file);
    if (source.text.find("//@kernel " + launch->kernel) == std::string::npos) continue;
    if (const Reason reason = contradiction(read_tags(source), plan, *launch)) {
      throw BadArgument("plan: " + *reason);
    }
  }
}

/// The problem that a plan says it computes, if its words and its tensors are those of an op here.
std::optional<Problem> problem_of(const Plan& plan, std::string& why_not) {
  try {
    const Problem problem = Problem::parse(plan.problem);
    for (const TensorSpec& spec : problem.tensors()) {
      const TensorSpec* own = plan.tensor(spec.name);
      if (own && own->role == spec.role && own->dtype == spec.dtype && own->shape == spec.shape) {
        continue;
      }
      why_not = fmt::format("its tensors are not those of '{}': {} should be {}", plan.problem,
                            spec.name, type_text(spec.dtype, spec.shape));
      return std::nullopt;
    }
    return problem;
  } catch (const BadArgument& error) {
    why_not = error.what();
    return std::nullopt;
  }
}

Plan read_plan(const std::string& path) {
  const json plan = json::parse(read_file(path), nullptr, false);
  if (plan.is_discarded()) throw BadArgument(path + ": this is no JSON");
  try {
    return plan_from_json(plan);
  } catch (const BadArgument& error) {
    throw BadArgument(fmt::format("{}: {}", path, error.what()));
  }
}

RunJob job_of_plan(const RunRequest& request) {
  if (!request.words.empty()) throw BadArgument("give a problem or --plan, not both");
  throw_if(!request.variant.empty() || !request.tile.empty(),
           "--variant and --tile go with a problem; a plan has them");
  RunJob job;
  job.plan = read_plan(request.plan_file);
  job.tensors = job.plan->tensors;
  const fs::path folder = fs::path(request.plan_file).parent_path();
  job.plan_dir = folder.empty() ? "." : folder.string();
  hold_to_tags(*job.plan, KernelFiles::from_environment().with_plan_dir(job.plan_dir));
  std::string why_not;
  job.problem = problem_of(*job.plan, why_not);
  throw_if(!job.problem && (request.check || !request.fill.empty()),
           "{} needs a problem that clam knows, and this plan has none: {}",
           request.check ? "--check" : "--fill", why_not);
  return job;
}

RunJob job_of_problem(const RunRequest& request) {
  RunJob job;
  job.problem = requested_problem(request, job.assumed);
  if (!request.variant.empty()) find_variant(op_of(*job.problem), request.variant);
  job.tensors = job.problem->tensors();
  return job;
}

}  // namespace

void add_run_options(CLI::App* sub, RunRequest& request) {
  sub->add_option("problem", request.words,
                  "a problem line; without a dtype, that of the --in tensors is taken");
  sub->add_option("--plan", request.plan_file,
                  "take this plan (JSON), also one of another runtime, with the .cl files in its "
                  "folder");
  sub->add_option("--fill", request.fill,
                  "data set for the inputs that --in does not give (default of `clam record`: all, "
                  "until one fails)");
  add_seed(sub, request.seed);
  sub->add_option("--variant", request.variant, "take this variant, not the preferred one");
  sub->add_option("--tile", request.tile, "take this tile of it: M0=4,N0=8");
}

Problem requested_problem(const RunRequest& request, std::vector<std::string>& assumed) {
  const std::string line = one_problem_line(request.words);
  const bool is_open = !names_dtype(line) && !request.in.empty();
  return Problem::parse(is_open ? with_given_dtype(line, request.in, assumed) : line);
}

std::map<std::string, std::string> files_by_tensor(const char* option,
                                                   const std::vector<std::string>& texts,
                                                   const std::vector<TensorSpec>& tensors,
                                                   TensorSpec::Role role) {
  std::vector<std::string> names;
  for (const TensorSpec& spec : tensors) {
    if (spec.role == role) names.push_back(spec.name);
  }
  std::map<std::string, std::string> files;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    throw_if(equals == text.npos || equals + 1 == text.size(), "{} {}: write NAME=FILE.npy", option,
             text);
    const std::string tensor = text.substr(0, equals);
    throw_if(std::find(names.begin(), names.end(), tensor) == names.end(),
             "{} {}: there is no tensor '{}' here, only {}{}", option, text, tensor,
             fmt::join(names, " "), did_you_mean(tensor, names));
    throw_if(!files.emplace(tensor, text.substr(equals + 1)).second, "{}: {} is given twice",
             option, tensor);
  }
  return files;
}

HostTensor read_tensor(const TensorSpec& spec, const std::string& file,
                       std::vector<std::string>& assumed) {
  HostTensor tensor = read_npy(file);
  if (tensor.dtype() == spec.dtype && tensor.shape() == spec.shape) return tensor;
  if (tensor.dtype() == spec.dtype &&
      without_leading_ones(tensor.shape()) == without_leading_ones(spec.shape)) {
    assumed.push_back(fmt::format("{}, of shape {}, is taken as {}", file,
                                  to_string(tensor.shape()), to_string(spec.shape)));
    return reshaped(tensor, spec.shape);
  }
  const bool same_shape = tensor.shape() == spec.shape;
  refuse("{}: {} holds {}, but {} is needed{}", spec.name, file,
         type_text(tensor.dtype(), tensor.shape()), type_text(spec.dtype, spec.shape),
         same_shape ? "; convert it first, as with NumPy's astype" : "");
}

RunJob make_job(const RunRequest& request) {
  RunJob job = request.plan_file.empty() ? job_of_problem(request) : job_of_plan(request);
  job.out_files = files_by_tensor("--out", request.out, job.tensors, Role::output);
  job.inputs = make_run_inputs(request, job);
  return job;
}

}  // namespace clam::cli
