// SPDX-License-Identifier: MIT
// guarded_buffer.hpp - a tensor on the device that shows what is read or written outside it.
#pragma once

#include <cstdint>
#include <vector>

#include "clam/op.hpp"
#include "clam/runtime.hpp"
#include "clam/tensor.hpp"

namespace clam {

/// The tensor whose elements lie from `base` on, at the places of its spec.
HostTensor gathered(const std::uint8_t* base, const TensorSpec& spec);
/// Writes its elements to these places.
void scatter(const HostTensor& tensor, const TensorSpec& spec, std::uint8_t* base);

/// A tensor on the device between two guard bands. The bands, and gaps between strided rows, hold a
/// pattern (NaN for floats). So a read outside changes the result, and a write outside is seen.
class GuardedBuffer {
 public:
  GuardedBuffer(Runtime& runtime, const TensorSpec& spec);
  /// Writes the tensor's elements; everything else becomes the pattern. Batch items of an input may
  /// share places. Throws BadArgument if elements that share a place differ.
  void upload(const HostTensor& tensor);
  /// Fills the elements with poison_bits(dtype, iteration), everything else with the pattern.
  void poison(int iteration);
  HostTensor download();
  /// Which byte outside the tensor was overwritten, as of the last download; else empty.
  Reason trespass() const;
  const cl::Buffer& buffer() const { return window_; }
  const TensorSpec& spec() const { return spec_; }

 private:
  std::vector<std::uint8_t> image(const HostTensor& tensor) const;
  void refuse_shared_places(const HostTensor& tensor) const;
  Runtime* runtime_;
  TensorSpec spec_;
  std::int64_t guard_;
  cl::Buffer whole_, window_;
  std::vector<std::uint8_t> expected_, seen_;
};

}  // namespace clam
