// SPDX-License-Identifier: MIT
#include "verify.hpp"

#include <fmt/core.h>

#include <cstring>

#include "clam/error.hpp"

namespace clam {
namespace {

constexpr std::int64_t kGuardBytes = 4096;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Bytes around and between elements: NaN or an odd number around inputs, so that a read outside
/// shows; around outputs no NaN, which a kernel that reads one might write back unseen.
int pattern(const TensorSpec& spec) {
  if (spec.role == TensorSpec::Role::output) return 0x5A;
  return spec.dtype == Dtype::i32 ? 0xA5 : 0xFF;
}

/// A simulator sees itself what happens outside a buffer; bands would hide it.
std::int64_t guard_bytes(const DeviceInfo& device) {
  if (device.name.find("Oclgrind") != std::string::npos) return 0;
  return round_up(kGuardBytes, device.mem_base_addr_align);
}

}  // namespace

GuardedBuffer::GuardedBuffer(Runtime& runtime, const TensorSpec& spec)
    : runtime_(&runtime), spec_(spec), guard_(guard_bytes(runtime.device())) {
  try {
    whole_ = cl::Buffer(runtime.context(), CL_MEM_READ_WRITE,
                        static_cast<cl::size_type>(2 * guard_ + spec.bytes()));
    if (guard_ == 0) {
      window_ = whole_;
      return;
    }
    cl_buffer_region region{static_cast<std::size_t>(guard_),
                            static_cast<std::size_t>(spec.bytes())};
    window_ = whole_.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region);
  } catch (const cl::Error& error) {
    throw DeviceError(fmt::format("cannot allocate {} bytes for tensor {}: {}", spec.bytes(),
                                  spec.name, describe(error)),
                      error.err());
  }
}

std::vector<std::uint8_t> GuardedBuffer::image(const HostTensor& tensor) const {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(2 * guard_ + spec_.bytes()),
                                  static_cast<std::uint8_t>(pattern(spec_)));
  std::uint8_t* base = bytes.data() + guard_;
  if (spec_.strides.empty()) {
    std::memcpy(base + spec_.offset * size_of(spec_.dtype), tensor.data(), tensor.bytes());
    return bytes;
  }
  const auto size = static_cast<std::size_t>(size_of(spec_.dtype));
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    std::memcpy(base + static_cast<std::size_t>(spec_.position(i)) * size,
                tensor.data() + static_cast<std::size_t>(i) * size, size);
  }
  return bytes;
}

void GuardedBuffer::refuse_shared_places(const HostTensor& tensor) const {
  if (spec_.strides.empty()) return;
  const auto size = static_cast<std::size_t>(size_of(spec_.dtype));
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const auto element = static_cast<std::size_t>(i),
               place = static_cast<std::size_t>(spec_.position(i));
    if (std::memcmp(expected_.data() + guard_ + place * size, tensor.data() + element * size,
                    size) != 0) {
      throw BadArgument(
          fmt::format("tensor {}: element {} lies on another, which has another value; "
                      "elements that share a place must be equal",
                      spec_.name, i));
    }
  }
}

void GuardedBuffer::upload(const HostTensor& tensor) {
  if (tensor.dtype() != spec_.dtype || tensor.shape() != spec_.shape) {
    throw BadArgument(fmt::format("tensor {} is {}[{}], needs {}[{}]", spec_.name,
                                  name(tensor.dtype()), to_string(tensor.shape()),
                                  name(spec_.dtype), to_string(spec_.shape)));
  }
  expected_ = image(tensor);
  refuse_shared_places(tensor);
  try {
    runtime_->queue().enqueueWriteBuffer(whole_, CL_TRUE, 0, expected_.size(), expected_.data());
  } catch (const cl::Error& error) {
    throw DeviceError(fmt::format("cannot write tensor {}: {}", spec_.name, describe(error)),
                      error.err());
  }
}

void GuardedBuffer::poison(int iteration) {
  HostTensor tensor(spec_.dtype, spec_.shape);
  fill_poison(tensor, iteration);
  upload(tensor);
}

HostTensor GuardedBuffer::download() {
  seen_.resize(static_cast<std::size_t>(2 * guard_ + spec_.bytes()));
  try {
    runtime_->queue().enqueueReadBuffer(whole_, CL_TRUE, 0, seen_.size(), seen_.data());
  } catch (const cl::Error& error) {
    throw DeviceError(fmt::format("cannot read tensor {}: {}", spec_.name, describe(error)),
                      error.err());
  }
  HostTensor tensor(spec_.dtype, spec_.shape);
  const auto size = static_cast<std::size_t>(size_of(spec_.dtype));
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    std::memcpy(tensor.data() + static_cast<std::size_t>(i) * size,
                seen_.data() + guard_ + static_cast<std::size_t>(spec_.position(i)) * size, size);
  }
  // An output's elements may change; an input's may not.
  if (spec_.role == TensorSpec::Role::output) expected_ = image(tensor);
  return tensor;
}

Reason GuardedBuffer::trespass() const {
  if (seen_ == expected_) return {};
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i] == expected_[i]) continue;
    return fmt::format("{} tensor {} was overwritten at byte {} (its {} bytes start at 0)",
                       spec_.role == TensorSpec::Role::output ? "memory around" : "input",
                       spec_.name, static_cast<std::int64_t>(i) - guard_, spec_.bytes());
  }
  return {};
}

Trial::Trial(Runtime& runtime, const Problem& problem, const PlanOptions& options)
    : runtime_(&runtime), executable_(runtime.prepare(problem, options)) {
  allocate();
}

Trial::Trial(Runtime& runtime, const Plan& plan)
    : runtime_(&runtime), executable_(runtime.prepare(plan)) {
  allocate();
}

void Trial::allocate() {
  for (const TensorSpec& spec : plan().tensors) {
    const auto placed = buffers_.emplace(spec.name, GuardedBuffer(*runtime_, spec)).first;
    bindings_[spec.name] = placed->second.buffer();
  }
}

void Trial::upload(const Tensors& inputs) {
  for (auto& [name, buffer] : buffers_) {
    if (buffer.spec().role == TensorSpec::Role::output) continue;
    const auto found = inputs.find(name);
    if (found == inputs.end())
      throw BadArgument(fmt::format("{}: input '{}' is missing", plan().problem, name));
    buffer.upload(found->second);
  }
  pack();
}

std::vector<LaunchTime> Trial::pack() { return runtime_->pack(executable_, bindings_); }

void Trial::poison(int iteration) {
  for (auto& [name, buffer] : buffers_) {
    if (buffer.spec().role == TensorSpec::Role::output) buffer.poison(iteration);
  }
}

void Trial::enqueue() { runtime_->enqueue(executable_, bindings_); }

std::vector<LaunchTime> Trial::run(int iteration) {
  poison(iteration);
  enqueue();
  return runtime_->finish();
}

Tensors Trial::download() {
  Tensors outputs;
  for (auto& [name, buffer] : buffers_) {
    HostTensor tensor = buffer.download();
    if (buffer.spec().role == TensorSpec::Role::output) outputs.emplace(name, std::move(tensor));
  }
  return outputs;
}

Reason Trial::trespass() const {
  for (const auto& [name, buffer] : buffers_) {
    if (const Reason reason = buffer.trespass()) return reason;
  }
  return {};
}

bool Verification::pass() const { return reason().empty(); }

std::string Verification::reason() const {
  if (fault) return *fault;
  for (const auto& [name, verdict] : outputs) {
    if (!verdict.pass) return fmt::format("{}: {}", name, verdict.reason);
  }
  return outputs.empty() ? "nothing was compared" : "";
}

double Verification::worst_ratio() const {
  double worst = 0;
  for (const auto& [name, verdict] : outputs) worst = std::max(worst, verdict.worst_ratio);
  return worst;
}

Verification compare_all(const Reference& reference, const Tensors& outputs, Reason trespass,
                         int iteration) {
  Verification verification;
  verification.fault = std::move(trespass);
  for (const auto& [name, expected] : reference) {
    const auto output = outputs.find(name);
    if (output == outputs.end()) {
      verification.fault = fmt::format("output '{}' is missing", name);
      continue;
    }
    verification.outputs[name] = compare(output->second, expected, iteration);
  }
  return verification;
}

Verification judge(const Problem& problem, const std::string& variant, const DataSet& set,
                   const Tensors& inputs, const Tensors& outputs, Reason trespass,
                   const DeviceInfo& device, int iteration) {
  const Reference reference =
      reference_of(problem, inputs, reference_options(set.check, device, variant));
  Verification verification = compare_all(reference, outputs, std::move(trespass), iteration);
  verification.problem = problem.text();
  verification.variant = variant;
  verification.data_set = set.name;
  return verification;
}

namespace {

Verification run_and_judge(Runtime& runtime, Trial& trial, const DataSet& set, std::uint64_t seed) {
  constexpr int kIteration = 1;
  const Problem problem = Problem::parse(trial.plan().problem);
  const Tensors inputs = make_inputs(problem, set, seed);
  refuse_bad_inputs(problem, inputs);
  trial.upload(inputs);
  trial.run(kIteration);
  const Tensors outputs = trial.download();
  return judge(problem, trial.plan().variant, set, inputs, outputs, trial.trespass(),
               runtime.device(), kIteration);
}

}  // namespace

Verification verify(Runtime& runtime, const Problem& problem, const DataSet& set,
                    std::uint64_t seed, const PlanOptions& options) {
  Trial trial(runtime, problem, options);
  return run_and_judge(runtime, trial, set, seed);
}

Verification verify(Runtime& runtime, const Plan& plan, const DataSet& set, std::uint64_t seed) {
  Trial trial(runtime, plan);
  return run_and_judge(runtime, trial, set, seed);
}

}  // namespace clam
