// SPDX-License-Identifier: MIT
// tensor.hpp - tensors on the host, and how a tensor lies in a caller's buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace clam {

enum class Dtype { f32, f16, i32 };

const char* name(Dtype dtype);
/// Bytes of one element.
int size_of(Dtype dtype);
/// Throws BadArgument for a word that is no dtype.
Dtype parse_dtype(std::string_view word);

using Shape = std::vector<std::int64_t>;

/// Number of elements. Throws BadArgument if it exceeds 2^31-1 or an extent is below 1.
std::int64_t count(const Shape& shape);
std::string to_string(const Shape& shape);  ///< "192x512"

/// A named tensor of a Problem and its place in the caller's buffer, in elements.
struct TensorSpec {
  enum class Role { input, output };
  std::string name;
  Role role = Role::input;
  Dtype dtype = Dtype::f32;
  Shape shape;
  std::vector<std::int64_t> strides;  ///< of every axis, in elements; empty = dense row-major
  std::int64_t offset = 0;            ///< first element, in elements
  /// The input that this output may overwrite, element by element. Empty: none.
  std::string may_be = {};

  /// Elements from the buffer's start to one past the last element of the tensor.
  std::int64_t span() const;
  std::int64_t bytes() const { return span() * size_of(dtype); }
  /// Position of dense element `i` in the buffer, in elements.
  std::int64_t position(std::int64_t i) const;
  bool is_dense() const { return strides.empty() && offset == 0; }
  bool operator==(const TensorSpec&) const;
};

void to_json(nlohmann::json& json, const TensorSpec& spec);
void from_json(const nlohmann::json& json, TensorSpec& spec);

/// A dense row-major tensor in host memory; values are stored in their dtype, bit for bit.
class HostTensor {
 public:
  HostTensor() = default;
  HostTensor(Dtype dtype, Shape shape);

  Dtype dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return size_; }
  std::size_t bytes() const { return data_.size(); }
  std::uint8_t* data() { return data_.data(); }
  const std::uint8_t* data() const { return data_.data(); }

  /// Element i widened to double (i32 exactly).
  double get(std::int64_t i) const;
  /// Stores the value rounded once, to nearest even, to the tensor's dtype.
  void set(std::int64_t i, double value);
  /// Raw bits of element i (u16 for f16, u32 else).
  std::uint32_t bits(std::int64_t i) const;
  void set_bits(std::int64_t i, std::uint32_t bits);

  bool operator==(const HostTensor& other) const;  ///< same dtype, shape and bytes

 private:
  Dtype dtype_ = Dtype::f32;
  Shape shape_;
  std::int64_t size_ = 0;
  std::vector<std::uint8_t> data_;
};

/// Rounds to half and back, to nearest even.
double round_to_half(double value);

/// Tensors by name.
using Tensors = std::map<std::string, HostTensor>;

}  // namespace clam
