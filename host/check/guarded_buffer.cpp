// SPDX-License-Identifier: MIT
#include "guarded_buffer.hpp"

#include <fmt/core.h>

#include <cstring>

#include "clam/error.hpp"
#include "compare.hpp"
#include "runtime/refuse.hpp"

namespace clam {
namespace {

constexpr std::int64_t kGuardBytes = 4096;

/// Bytes around and between elements: NaN or an odd number around inputs, so that a read outside
/// shows; around outputs no NaN, which a kernel that reads one might write back unseen.
int pattern(const TensorSpec& spec) {
  if (spec.role == TensorSpec::Role::output) return 0x5A;
  return spec.dtype == Dtype::i32 ? 0xA5 : 0xFF;
}

/// Throws DeviceError that names what the device cannot do.
template <typename Action>
void attempt(const std::string& what, const Action& action) {
  try {
    action();
  } catch (const cl::Error& error) {
    throw DeviceError(fmt::format("cannot {}: {}", what, describe(error)), error.err());
  }
}

/// A simulator sees itself what happens outside a buffer; bands would hide it.
std::int64_t guard_bytes(const DeviceInfo& device) {
  if (device.name.find("Oclgrind") != std::string::npos) return 0;
  const std::int64_t align = device.mem_base_addr_align;
  return (kGuardBytes + align - 1) / align * align;
}

}  // namespace

HostTensor gathered(const std::uint8_t* base, const TensorSpec& spec) {
  HostTensor tensor(spec.dtype, spec.shape);
  const std::int64_t size = size_of(spec.dtype), run = spec.strides.empty() ? tensor.size() : 1;
  for (std::int64_t i = 0; i < tensor.size(); i += run) {
    std::memcpy(tensor.data() + i * size, base + spec.position(i) * size, run * size);
  }
  return tensor;
}

void scatter(const HostTensor& tensor, const TensorSpec& spec, std::uint8_t* base) {
  const std::int64_t size = size_of(spec.dtype), run = spec.strides.empty() ? tensor.size() : 1;
  for (std::int64_t i = 0; i < tensor.size(); i += run) {
    std::memcpy(base + spec.position(i) * size, tensor.data() + i * size, run * size);
  }
}

GuardedBuffer::GuardedBuffer(Runtime& runtime, const TensorSpec& spec)
    : runtime_(&runtime), spec_(spec), guard_(guard_bytes(runtime.device())) {
  attempt(fmt::format("allocate {} bytes for tensor {}", spec.bytes(), spec.name), [&] {
    whole_ = cl::Buffer(runtime.context(), CL_MEM_READ_WRITE,
                        static_cast<cl::size_type>(2 * guard_ + spec.bytes()));
    window_ = whole_;
    if (guard_ == 0) return;
    cl_buffer_region region{static_cast<std::size_t>(guard_),
                            static_cast<std::size_t>(spec.bytes())};
    window_ = whole_.createSubBuffer(CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region);
  });
}

std::vector<std::uint8_t> GuardedBuffer::image(const HostTensor& tensor) const {
  std::vector<std::uint8_t> bytes(2 * guard_ + spec_.bytes(),
                                  static_cast<std::uint8_t>(pattern(spec_)));
  scatter(tensor, spec_, bytes.data() + guard_);
  return bytes;
}

void GuardedBuffer::refuse_shared_places(const HostTensor& tensor) const {
  if (spec_.strides.empty()) return;
  const HostTensor written = gathered(expected_.data() + guard_, spec_);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    throw_if(written.bits(i) != tensor.bits(i),
             "tensor {}: element {} lies on another, which has another value; elements that share "
             "a place must be equal",
             spec_.name, i);
  }
}

void GuardedBuffer::upload(const HostTensor& tensor) {
  throw_if(tensor.dtype() != spec_.dtype || tensor.shape() != spec_.shape,
           "tensor {} is {}[{}], needs {}[{}]", spec_.name, name(tensor.dtype()),
           to_string(tensor.shape()), name(spec_.dtype), to_string(spec_.shape));
  expected_ = image(tensor);
  refuse_shared_places(tensor);
  attempt("write tensor " + spec_.name, [&] {
    runtime_->queue().enqueueWriteBuffer(whole_, CL_TRUE, 0, expected_.size(), expected_.data());
  });
}

void GuardedBuffer::poison(int iteration) {
  HostTensor tensor(spec_.dtype, spec_.shape);
  fill_poison(tensor, iteration);
  upload(tensor);
}

HostTensor GuardedBuffer::download() {
  seen_.resize(2 * guard_ + spec_.bytes());
  attempt("read tensor " + spec_.name, [&] {
    runtime_->queue().enqueueReadBuffer(whole_, CL_TRUE, 0, seen_.size(), seen_.data());
  });
  HostTensor tensor = gathered(seen_.data() + guard_, spec_);
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

}  // namespace clam
