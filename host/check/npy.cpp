// SPDX-License-Identifier: MIT
// npy.cpp - NumPy's .npy files. Format: numpy.lib.format, versions 1.0 and 2.0.
#include "npy.hpp"

#include <fmt/core.h>

#include <charconv>
#include <cstring>

#include "clam/error.hpp"
#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"

namespace clam {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

template <typename... Args>
[[noreturn]] void reject(const std::string& path, fmt::format_string<Args...> why, Args&&... args) {
  refuse("{}: not a usable .npy file: {}", path, fmt::format(why, std::forward<Args>(args)...));
}

/// The header's text and where the data begin.
std::pair<std::string, std::size_t> split_header(const std::string& path, const std::string& file) {
  if (file.size() < 10 || file.compare(0, 6, kMagic) != 0) reject(path, "it does not start as one");
  const int version = file[6];
  if (version != 1 && version != 2) reject(path, "version {} is unknown", version);
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t start = 8 + length_bytes;
  if (file.size() < start) reject(path, "it is cut short");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= static_cast<std::size_t>(static_cast<std::uint8_t>(file[8 + i])) << (8 * i);
  }
  if (length > 65536 || file.size() - start < length) reject(path, "its header is cut short");
  return {file.substr(start, length), start + length};
}

/// What follows "'key':" in the header, a Python dictionary. Read by hand: a damaged header can be
/// long, and std::regex recurses once a letter.
std::string_view value_of(const std::string& path, std::string_view header,
                          const std::string& key) {
  const std::string quoted_key = "'" + key + "'";
  const std::size_t at = header.find(quoted_key);
  if (at == header.npos) reject(path, "its header has no {}", quoted_key);
  const std::size_t colon = header.find_first_not_of(' ', at + quoted_key.size());
  if (colon == header.npos || header[colon] != ':')
    reject(path, "its header is damaged at {}", quoted_key);
  const std::size_t start = header.find_first_not_of(' ', colon + 1);
  return start == header.npos ? "" : header.substr(start);
}

std::string parse_descr(const std::string& path, std::string_view header) {
  const std::string_view value = value_of(path, header, "descr");
  const std::size_t end = value.find('\'', 1);
  if (value.empty() || value[0] != '\'' || end == value.npos) {
    reject(path, "its element type is none of <f4 <f2 <i4 <f8 <i8");
  }
  return std::string(value.substr(1, end - 1));
}

Shape parse_shape(const std::string& path, std::string_view header) {
  constexpr std::size_t kMostAxes = 8;
  const std::string_view value = value_of(path, header, "shape");
  const std::size_t end = value.find(')');
  if (value.empty() || value[0] != '(' || end == value.npos) reject(path, "its 'shape' is damaged");
  std::string_view rest = value.substr(1, end - 1);
  Shape shape;
  for (std::size_t at; (at = rest.find_first_not_of(" ,")) != rest.npos;) {
    std::int64_t extent = 0;
    const auto [stop, error] = std::from_chars(rest.data() + at, rest.data() + rest.size(), extent);
    if (error == std::errc::result_out_of_range) reject(path, "an extent is too large");
    if (error != std::errc() || shape.size() == kMostAxes) reject(path, "its 'shape' is damaged");
    if (extent < 1) reject(path, "an extent is 0");
    shape.push_back(extent);
    rest.remove_prefix(stop - rest.data());
  }
  return shape;
}

std::size_t elements(const std::string& path, const Shape& shape) {
  try {
    return count(shape);
  } catch (const BadArgument& error) {
    reject(path, "{}", error.what());
  }
}

/// f8 and i8 are what NumPy makes by default; they are stored as f32 and i32.
HostTensor convert(const std::string& path, const std::string& descr, const Shape& shape,
                   std::string_view data) {
  const bool wide = descr == "<f8" || descr == "<i8";
  if (!wide && descr != "<f4" && descr != "<f2" && descr != "<i4") {
    reject(path, "element type {} is none of <f4 <f2 <i4 <f8 <i8", in_quotes(descr));
  }
  const Dtype dtype = descr[1] == 'i' ? Dtype::i32 : descr == "<f2" ? Dtype::f16 : Dtype::f32;
  const std::size_t needed = elements(path, shape) * size_of(dtype) * (wide ? 2 : 1);
  if (data.size() != needed) {
    reject(path, "shape {} needs {} bytes of data, it has {}", to_string(shape), needed,
           data.size());
  }
  HostTensor tensor(dtype, shape);  // only now: a damaged shape may ask for more than there is
  if (!wide) {
    std::memcpy(tensor.data(), data.data(), needed);
    return tensor;
  }
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    double real;
    std::int64_t whole;
    std::memcpy(&real, data.data() + 8 * i, 8);
    std::memcpy(&whole, data.data() + 8 * i, 8);
    const bool fits = dtype == Dtype::f32 || whole == static_cast<std::int32_t>(whole);
    if (!fits) reject(path, "{} does not fit int32", whole);
    tensor.set(i, dtype == Dtype::f32 ? real : static_cast<double>(whole));
  }
  return tensor;
}

}  // namespace

HostTensor read_npy(const std::string& path) { return parse_npy(read_file(path), path); }

HostTensor parse_npy(const std::string& file, const std::string& path) {
  const auto [header, start] = split_header(path, file);
  const std::string descr = parse_descr(path, header);
  const Shape shape = parse_shape(path, header);
  const std::string_view fortran = value_of(path, header, "fortran_order");
  if (fortran.rfind("True", 0) == 0) {
    reject(path, "it is in Fortran order; save it with np.ascontiguousarray");
  }
  if (fortran.rfind("False", 0) != 0) reject(path, "its 'fortran_order' is damaged");
  return convert(path, descr, shape, std::string_view(file).substr(start));
}

void write_npy(const std::string& path, const HostTensor& tensor) {
  const char* descr = tensor.dtype() == Dtype::f32   ? "<f4"
                      : tensor.dtype() == Dtype::f16 ? "<f2"
                                                     : "<i4";
  std::string shape;
  for (const std::int64_t extent : tensor.shape()) shape += std::to_string(extent) + ",";
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  // The data start at a multiple of 64 bytes; the header ends with a newline.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::string file(kMagic);
  file += {'\x01', '\x00', static_cast<char>(header.size() & 255),
           static_cast<char>(header.size() >> 8)};
  file += header;
  file.append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  write_file(path, file);
}

}  // namespace clam
