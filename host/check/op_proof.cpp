// SPDX-License-Identifier: MIT
#include "op_proof.hpp"

#include <algorithm>

#include "runtime/refuse.hpp"
#include "runtime/words.hpp"

namespace clam {
namespace {

/// Adds the lines of a case with one word of each {a,b} in it, those of the first slowest.
void expand(const std::string& line, std::vector<std::string>& lines) {
  const std::size_t begin = line.find('{'), end = line.find('}');
  if (begin == line.npos) return lines.push_back(line);
  for (std::size_t at = begin + 1, next; at <= end; at = next + 1) {
    next = std::min(line.find(',', at), end);
    expand(line.substr(0, begin) + line.substr(at, next - at) + line.substr(end + 1), lines);
  }
}

}  // namespace

std::vector<std::string> case_lines(const std::string& op, const std::vector<std::string>& cases) {
  std::vector<std::string> lines;
  for (const std::string& each : cases) expand(op + " " + each, lines);
  return lines;
}

OpProof::OpProof(std::string op, std::vector<DataSet> data_sets, ReferenceOf reference,
                 const std::vector<std::string>& cases, const std::vector<std::string>& small_cases,
                 BadInputs bad_inputs, std::vector<std::string> own_bounds)
    : op(std::move(op)),
      data_sets(std::move(data_sets)),
      reference(reference),
      cases(case_lines(this->op, cases)),
      small_cases(case_lines(this->op, small_cases)),
      own_bounds(std::move(own_bounds)),
      bad_inputs(bad_inputs) {}

Expected Expected::of_size(std::int64_t size) {
  Expected expected;
  expected.value.resize(size);
  expected.bound.resize(expected.value.size());
  return expected;
}

void Expected::set(std::int64_t at, Bounded element) {
  value[at] = element.value;
  bound[at] = element.error;
}

const OpProof& proof_of(const Schema& op) {
  for (const OpProof& proof : all_proofs()) {
    if (proof.op == op.name) return proof;
  }
  throw std::logic_error("no proof of " + op.name);
}

const OpProof& proof_of(const Problem& problem) { return proof_of(problem.schema()); }

const DataSet& usual_data_set(const Problem& problem) {
  const std::vector<DataSet>& sets = proof_of(problem).data_sets;
  const auto found = std::find_if(sets.begin(), sets.end(),
                                  [](const DataSet& s) { return s.check == Check::zero_mean; });
  return found == sets.end() ? sets.front() : *found;
}

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

ReferenceOptions reference_options(Check check, const DeviceInfo& device,
                                   const std::string& variant) {
  return {check, device.denormals_f32, device.native_exp2_ulp, variant};
}

bool has_own_bound(const Problem& problem, const std::string& variant) {
  const std::vector<std::string>& own = proof_of(problem).own_bounds;
  return std::find(own.begin(), own.end(), variant) != own.end();
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
    refuse("{}: {}", problem.schema().name, *reason);
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
