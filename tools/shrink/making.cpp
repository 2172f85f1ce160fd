// SPDX-License-Identifier: MIT
// making.cpp - how the case of a problem was made, and the same made again.
#include "making.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bundle/case.hpp"
#include "clam/planner.hpp"
#include "runtime/refuse.hpp"
#include "steps.hpp"

namespace clam {
namespace {

using nlohmann::json;
using Role = TensorSpec::Role;

/// The groups that a Runtime may have come down to where a kernel allows fewer work-items; 0: the
/// plan's own.
constexpr int kGroups[] = {0, 1024, 512, 256, 128, 64, 32, 16};

void add_options(Launch& launch, const std::string& more) {
  if (!more.empty()) launch.options += (launch.options.empty() ? "" : " ") + more;
}

void take_more_options(const Making& making, Plan& plan) {
  for (Launch* launch : launches_of(plan)) {
    const auto more = making.more_options.find(launch->file);
    if (more != making.more_options.end()) add_options(*launch, more->second);
  }
}

/// What of a plan is run.
json run_of(const Plan& plan) {
  json written = to_json(plan);
  for (const char* other : {"device", "problem", "variant"}) written.erase(other);
  return written;
}

/// Whether `again`, with further options for each file, is the plan that was recorded.
bool is_same_plan(Plan recorded, Plan again, std::map<std::string, std::string>& more) {
  const std::vector<Launch*> old = launches_of(recorded), made = launches_of(again);
  more.clear();
  if (old.size() != made.size()) return false;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const std::string &whole = old[i]->options, &own = made[i]->options;
    if (whole.compare(0, own.size(), own) != 0) return false;
    std::string rest = whole.substr(own.size());
    rest.erase(0, rest.find_first_not_of(' '));
    if (!more.emplace(made[i]->file, rest).second && more[made[i]->file] != rest) return false;
    add_options(*made[i], rest);
  }
  return run_of(recorded) == run_of(again);
}

Plan plan_of(const Making& making) {
  return make_plan(making.problem, making.device, {making.variant, making.max_work_group});
}

/// Finds the group that the recorded plan was made with.
bool find_plan(const Plan& recorded, Making& making) {
  for (const int group : kGroups) {
    making.max_work_group = group;
    try {
      if (is_same_plan(recorded, plan_of(making), making.more_options)) return true;
    } catch (const Unsupported&) {
      // A variant that needs a larger group.
    }
  }
  return false;
}

/// Of each input: is it of the data set, or as it was given?
void find_sources(const Bundle& bundle, Making& making) {
  Tensors made;
  if (!bundle.data_set.empty()) {
    const Op& op = op_of(making.problem);
    made = make_inputs(making.problem, find_data_set(op, bundle.data_set), bundle.seed);
  }
  for (const TensorSpec& spec : bundle.plan->tensors) {
    if (spec.role != Role::input) continue;
    const HostTensor dense = from_buffer(spec, bundle.inputs.at(spec.name));
    if (made.count(spec.name) > 0 && made.at(spec.name) == dense) continue;
    making.given[spec.name] = dense;
  }
}

void take_data(const Making& making, bool expects, Bundle& bundle) {
  const Tensors inputs = making.inputs();
  take_inputs(inputs, bundle);
  const std::size_t others = making.given.size();
  bundle.data_set = others > 0 && others == inputs.size() ? "" : making.data_set;
  if (!expects) return;
  // Inputs of a data set are held to its own check, as when they were recorded; all others to the
  // one for any data.
  const Check check =
      others == 0 ? find_data_set(making.problem, making.data_set).check : Check::hard;
  const std::string variant = bundle.plan ? bundle.plan->variant : "";
  making.expecting(making.problem, inputs, reference_options(check, making.recorded, variant),
                   bundle);
}

}  // namespace

void expect_here(const Problem& problem, const Tensors& inputs, const ReferenceOptions& options,
                 Bundle& bundle) {
  bundle.expected.clear();
  bundle.bounds.clear();
  for (const auto& [name, expected] : reference_of(problem, inputs, options)) {
    // An output goes with the launches that write it.
    if (const TensorSpec* spec = bundle.plan->tensor(name)) expect(*spec, expected, bundle);
  }
}

bool Making::same_builds(const Bundle& like) const {
  return if_possible([&] {
    Bundle made;
    made.plan = plan_of(*this);
    take_more_options(*this, *made.plan);
    return builds_of(made) == builds_of(like);
  });
}

bool Making::has_plan(const Bundle& like) const {
  return if_possible([&] {
    Plan plan = plan_of(*this);
    const auto launches = launches_of(plan);
    return std::all_of(launches.begin(), launches.end(),
                       [&](const Launch* launch) { return like.kernels.count(launch->file) > 0; });
  });
}

Tensors Making::inputs() const {
  Tensors made;
  if (!data_set.empty()) made = make_inputs(problem, find_data_set(problem, data_set), seed);
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.role != Role::input) continue;
    const auto own = given.find(spec.name);
    if (own != given.end()) {
      made[spec.name] = is_constant(own->second)
                            ? filled(spec.dtype, spec.shape, own->second.bits(0))
                            : own->second;
    } else if (made.count(spec.name) == 0) {
      throw BadArgument(fmt::format("there is no data for {}", spec.name));
    }
  }
  refuse_bad_inputs(problem, made);
  return made;
}

Bundle Making::bundle(const Bundle& like) const {
  throw_if<Unsupported>(!has_plan(like), "{} does not take {} with the kernels of the case",
                        variant, problem.text());
  Bundle made = like;
  made.plan = plan_of(*this);
  made.problem = made.plan->problem;
  made.inputs.clear();
  made.kernels.clear();
  refuse_large(made.plan->tensors);
  for (Launch* launch : launches_of(*made.plan)) {
    made.kernels.insert(*like.kernels.find(launch->file));
  }
  take_more_options(*this, *made.plan);
  take_data(*this, true, made);
  return made;
}

Bundle Making::with_inputs(const Bundle& like) const {
  Bundle made = like;
  take_data(*this, !like.expected.empty(), made);
  for (const TensorSpec& spec : made.plan->tensors) {
    if (like.expected.count(spec.name) > 0) continue;
    made.expected.erase(spec.name);
    made.bounds.erase(spec.name);
  }
  return made;
}

HostTensor filled(Dtype dtype, const Shape& shape, std::uint32_t bits) {
  HostTensor tensor(dtype, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set_bits(i, bits);
  return tensor;
}

bool is_constant(const HostTensor& tensor) {
  for (std::int64_t i = 1; i < tensor.size(); ++i) {
    if (tensor.bits(i) != tensor.bits(0)) return false;
  }
  return true;
}

std::optional<Problem> problem_of(const Bundle& bundle) {
  try {
    return Problem::parse(bundle.problem);
  } catch (const BadArgument&) {
    return std::nullopt;
  }
}

std::optional<Making> making_of(const Bundle& bundle, std::string& why_not,
                                const Expecting& expecting) {
  const std::optional<Problem> problem = problem_of(bundle);
  if (!problem) {
    why_not = "its kernels are of no problem that clam knows";
    return std::nullopt;
  }
  try {
    Making making(*problem, expecting);
    making.variant = bundle.variant;
    making.data_set = bundle.data_set;
    making.seed = bundle.seed;
    making.device = bundle.plan->device;
    making.recorded = bundle.device;
    making.recorded.native_exp2_ulp = making.device.native_exp2_ulp;
    find_variant(op_of(making.problem), making.variant);
    if (!find_plan(*bundle.plan, making)) {
      why_not = "its plan is none that this clam makes of the problem";
      return std::nullopt;
    }
    find_sources(bundle, making);
    const Bundle again = making.bundle(bundle);
    if (again.expected == bundle.expected && again.bounds == bundle.bounds) return making;
    why_not = "what is expected is not what the reference says";
  } catch (const BadArgument& error) {
    why_not = error.what();
  } catch (const Unsupported& error) {
    why_not = error.what();
  }
  return std::nullopt;
}

bool take(Shrinking& shrinking, Making& making, const Making& smaller, const std::string& what,
          const std::string& from, const std::string& to) {
  if (shrinking.over()) return false;
  if (making.keeps_options && !smaller.same_builds(shrinking.smallest())) return false;
  return if_possible([&] {
    if (!shrinking.take(smaller.bundle(shrinking.smallest()), what, from, to)) return false;
    making = smaller;
    return true;
  });
}

}  // namespace clam
