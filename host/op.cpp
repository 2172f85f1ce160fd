// SPDX-License-Identifier: MIT
#include "op.hpp"

#include <fmt/core.h>

#include "error.hpp"

namespace clam {
namespace {

/// Finds by name or throws "unknown WHAT 'NAME'; OWNER knows A B C".
template <typename Items>
const auto& find_named(const Items& items, std::string_view name, const std::string& what,
                       const std::string& owner) {
  std::string known;
  for (const auto& item : items) {
    if (item.name == name) return item;
    known += " " + item.name;
  }
  throw BadArgument(fmt::format("unknown {} {}; {} knows{}", what, in_quotes(name), owner, known));
}

}  // namespace

const Op& find_op(std::string_view name) {
  std::string known;
  for (const Op* op : all_ops()) {
    if (op->name == name) return *op;
    known += " " + op->name;
  }
  throw BadArgument(fmt::format("unknown op {}; clam knows{}", in_quotes(name), known));
}

const Variant& find_variant(const Op& op, const std::string& name) {
  return find_named(op.variants, name, "variant", op.name);
}

const DataSet& find_data_set(const Op& op, const std::string& name) {
  return find_named(op.data_sets, name, "data set", op.name);
}

ReferenceOptions reference_options(Check check, const DeviceInfo& device) {
  return {check, device.denormals_f32, device.native_exp2_ulp};
}

std::vector<Problem> problems_of(const std::vector<std::string>& cases, const std::string& dtype) {
  std::vector<Problem> problems;
  for (const std::string& line : cases) {
    const bool sums_halves =
        line.find(" acc=chunk") != line.npos || line.find(" acc=f16") != line.npos;
    if (!sums_halves || dtype == "f16")
      problems.push_back(Problem::parse(line + " dtype=" + dtype));
  }
  return problems;
}

void refuse_bad_inputs(const Problem& problem, const Tensors& inputs) {
  const Op& op = problem.op();
  if (!op.bad_inputs) return;
  if (const Reason reason = op.bad_inputs(problem, inputs)) {
    throw BadArgument(fmt::format("{}: {}", op.name, *reason));
  }
}

Tensors make_inputs(const Problem& problem, const DataSet& set, std::uint64_t seed) {
  Tensors inputs;
  for (const TensorSpec& spec : problem.op().tensors(problem)) {
    if (spec.role == TensorSpec::Role::input)
      inputs.emplace(spec.name, HostTensor(spec.dtype, spec.shape));
  }
  set.fill(problem, seed, inputs);
  return inputs;
}

}  // namespace clam
