// SPDX-License-Identifier: MIT
#include "clam/tensor.hpp"

#include <Imath/half.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "refuse.hpp"
#include "words.hpp"

namespace clam {
namespace {

constexpr Words<3> kDtypeWords{"f32", "f16", "i32"};

/// Rounds a double to half in one step. Going through float would round twice, so values that lie
/// between two halves are first made odd in float's last bit (round to odd keeps the direction).
std::uint16_t half_bits(double value) {
  float narrowed = static_cast<float>(value);
  if (std::isfinite(narrowed) && static_cast<double>(narrowed) != value) {
    std::uint32_t bits;
    if (std::fabs(static_cast<double>(narrowed)) > std::fabs(value)) {
      narrowed = std::nextafter(narrowed, 0.0f);
    }
    std::memcpy(&bits, &narrowed, sizeof bits);
    bits |= 1u;
    std::memcpy(&narrowed, &bits, sizeof bits);
  }
  return Imath::half(narrowed).bits();
}

Imath::half half_from_bits(std::uint16_t bits) {
  Imath::half value;
  value.setBits(bits);
  return value;
}

}  // namespace

const char* name(Dtype dtype) { return word_of(kDtypeWords, dtype); }

int size_of(Dtype dtype) { return dtype == Dtype::f16 ? 2 : 4; }

Dtype parse_dtype(std::string_view word) {
  if (const auto dtype = find_word<Dtype>(kDtypeWords, word)) return *dtype;
  throw BadArgument(fmt::format("unknown dtype {}; clam knows f32 f16 i32", in_quotes(word)));
}

std::int64_t count(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1) refuse("shape {} has an extent under 1", to_string(shape));
    if (elements > 2147483647 / extent) {
      refuse("shape {} has over 2147483647 elements", to_string(shape));
    }
    elements *= extent;
  }
  return elements;
}

std::string to_string(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::int64_t TensorSpec::span() const {
  const std::int64_t elements = count(shape);
  if (strides.empty()) return offset + elements;
  std::int64_t last = offset;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) last += (shape[axis] - 1) * strides[axis];
  return last + 1;
}

std::int64_t TensorSpec::position(std::int64_t i) const {
  if (strides.empty()) return offset + i;
  std::int64_t position = offset;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    position += i % shape[axis] * strides[axis];
    i /= shape[axis];
  }
  return position;
}

bool TensorSpec::operator==(const TensorSpec& other) const {
  return nlohmann::json(*this) == nlohmann::json(other);
}

void to_json(nlohmann::json& json, const TensorSpec& spec) {
  json = {{"name", spec.name},
          {"role", spec.role == TensorSpec::Role::input ? "input" : "output"},
          {"dtype", name(spec.dtype)},
          {"shape", spec.shape}};
  if (!spec.strides.empty()) json["strides"] = spec.strides;
  if (spec.offset) json["offset"] = spec.offset;
  if (!spec.may_be.empty()) json["may_be"] = spec.may_be;
}

void from_json(const nlohmann::json& json, TensorSpec& spec) {
  spec.name = json.at("name").get<std::string>();
  const std::string role = json.at("role").get<std::string>();
  throw_if(role != "input" && role != "output", "tensor {}: role is '{}', needs input or output",
           spec.name, role);
  spec.role = role == "input" ? TensorSpec::Role::input : TensorSpec::Role::output;
  spec.dtype = parse_dtype(json.at("dtype").get<std::string>());
  spec.shape = json.at("shape").get<Shape>();
  spec.strides = json.value("strides", std::vector<std::int64_t>{});
  spec.offset = json.value("offset", std::int64_t{0});
  spec.may_be = json.value("may_be", "");
  count(spec.shape);
  throw_if(!spec.strides.empty() && spec.strides.size() != spec.shape.size(),
           "tensor {}: {} strides for {} axes", spec.name, spec.strides.size(), spec.shape.size());
}

HostTensor::HostTensor(Dtype dtype, Shape shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      size_(count(shape_)),
      data_(static_cast<std::size_t>(size_) * size_of(dtype)) {}

double HostTensor::get(std::int64_t i) const {
  const std::uint32_t raw = bits(i);
  if (dtype_ == Dtype::f16)
    return static_cast<float>(half_from_bits(static_cast<std::uint16_t>(raw)));
  if (dtype_ == Dtype::i32) return static_cast<std::int32_t>(raw);
  float value;
  std::memcpy(&value, &raw, sizeof value);
  return value;
}

void HostTensor::set(std::int64_t i, double value) {
  if (dtype_ == Dtype::f16) return set_bits(i, half_bits(value));
  if (dtype_ == Dtype::i32)
    return set_bits(i, static_cast<std::uint32_t>(static_cast<std::int32_t>(value)));
  const float narrowed = static_cast<float>(value);
  std::memcpy(data_.data() + 4 * i, &narrowed, sizeof narrowed);
}

std::uint32_t HostTensor::bits(std::int64_t i) const {
  std::uint32_t bits = 0;
  std::memcpy(&bits, data_.data() + i * size_of(dtype_), size_of(dtype_));
  return bits;
}

void HostTensor::set_bits(std::int64_t i, std::uint32_t bits) {
  std::memcpy(data_.data() + i * size_of(dtype_), &bits, size_of(dtype_));
}

bool HostTensor::operator==(const HostTensor& other) const {
  return dtype_ == other.dtype_ && shape_ == other.shape_ && data_ == other.data_;
}

double round_to_half(double value) { return static_cast<float>(half_from_bits(half_bits(value))); }

}  // namespace clam
