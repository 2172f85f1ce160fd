// SPDX-License-Identifier: MIT
#include "op_proof.hpp"

#include <fmt/core.h>

#include "clam/error.hpp"
#include "runtime/find_named.hpp"

namespace clam {

const OpProof& proof_of(const Schema& op) {
  for (const OpProof* proof : all_proofs()) {
    if (proof->op == op.name) return *proof;
  }
  throw std::logic_error("no proof of " + op.name);
}

const OpProof& proof_of(const Problem& problem) { return proof_of(problem.schema()); }

const DataSet& find_data_set(const Schema& op, const std::string& name) {
  return find_named(proof_of(op).data_sets, name, "data set", op.name);
}

const DataSet& find_data_set(const Problem& problem, const std::string& name) {
  return find_data_set(problem.schema(), name);
}

Reference reference_of(const Problem& problem, const Tensors& inputs,
                       const ReferenceOptions& options) {
  return proof_of(problem).reference(problem, inputs, options);
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
  const OpProof& proof = proof_of(problem);
  if (!proof.bad_inputs) return;
  if (const Reason reason = proof.bad_inputs(problem, inputs)) {
    throw BadArgument(fmt::format("{}: {}", problem.schema().name, *reason));
  }
}

Tensors make_inputs(const Problem& problem, const DataSet& set, std::uint64_t seed) {
  Tensors inputs;
  for (const TensorSpec& spec : problem.tensors()) {
    if (spec.role == TensorSpec::Role::input)
      inputs.emplace(spec.name, HostTensor(spec.dtype, spec.shape));
  }
  set.fill(problem, seed, inputs);
  return inputs;
}

}  // namespace clam
