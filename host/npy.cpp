// SPDX-License-Identifier: MIT
// npy.cpp - NumPy's .npy files. Format: numpy.lib.format, versions 1.0 and 2.0.
#include <fmt/core.h>

#include <cstring>
#include <regex>

#include "atomic_file.hpp"
#include "error.hpp"
#include "tensor.hpp"

namespace clam {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

[[noreturn]] void reject(const std::string& path, const std::string& why) {
  throw BadArgument(fmt::format("{}: not a usable .npy file: {}", path, why));
}

/// The header's text and where the data begin.
std::pair<std::string, std::size_t> split_header(const std::string& path, const std::string& file) {
  if (file.size() < 10 || file.compare(0, 6, kMagic) != 0) reject(path, "it does not start as one");
  const int version = file[6];
  if (version != 1 && version != 2) reject(path, fmt::format("version {} is unknown", version));
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

std::string field(const std::string& path, const std::string& header, const std::string& pattern,
                  const char* what) {
  std::smatch match;
  if (!std::regex_search(header, match, std::regex(pattern))) {
    reject(path, fmt::format("its header has no {}", what));
  }
  return match[1];
}

Shape parse_shape(const std::string& path, const std::string& text) {
  Shape shape;
  const std::regex number("[0-9]+");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), number);
       it != std::sregex_iterator(); ++it) {
    if (it->str().size() > 10) reject(path, "an extent is too large");
    shape.push_back(std::stoll(it->str()));
    if (shape.back() < 1) reject(path, "an extent is 0");
  }
  return shape;
}

std::size_t elements(const std::string& path, const Shape& shape) {
  try {
    return static_cast<std::size_t>(count(shape));
  } catch (const BadArgument& error) {
    reject(path, error.what());
  }
}

/// f8 and i8 are what NumPy makes by default; they are stored as f32 and i32.
HostTensor convert(const std::string& path, const std::string& descr, const Shape& shape,
                   std::string_view data) {
  const bool wide = descr == "<f8" || descr == "<i8";
  if (!wide && descr != "<f4" && descr != "<f2" && descr != "<i4") {
    reject(path, fmt::format("element type '{}' is none of <f4 <f2 <i4 <f8 <i8", descr));
  }
  const Dtype dtype = descr[1] == 'i' ? Dtype::i32 : descr == "<f2" ? Dtype::f16 : Dtype::f32;
  const std::size_t needed =
      elements(path, shape) * static_cast<std::size_t>(size_of(dtype)) * (wide ? 2 : 1);
  if (data.size() != needed) {
    reject(path, fmt::format("shape {} needs {} bytes of data, it has {}", to_string(shape), needed,
                             data.size()));
  }
  HostTensor tensor(dtype, shape);  // only now: a damaged shape may ask for more than there is
  if (!wide) {
    std::memcpy(tensor.data(), data.data(), needed);
    return tensor;
  }
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    if (dtype == Dtype::f32) {
      double value;
      std::memcpy(&value, data.data() + 8 * i, 8);
      tensor.set(i, value);
    } else {
      std::int64_t value;
      std::memcpy(&value, data.data() + 8 * i, 8);
      if (value != static_cast<std::int32_t>(value))
        reject(path, fmt::format("{} does not fit int32", value));
      tensor.set(i, static_cast<double>(value));
    }
  }
  return tensor;
}

}  // namespace

HostTensor read_npy(const std::string& path) {
  const std::string file = read_file(path);
  const auto [header, start] = split_header(path, file);
  const std::string descr = field(path, header, R"('descr'\s*:\s*'([^']*)')", "'descr'");
  const std::string fortran =
      field(path, header, R"('fortran_order'\s*:\s*(True|False))", "'fortran_order'");
  const std::string shape_text = field(path, header, R"('shape'\s*:\s*\(([0-9,\s]*)\))", "'shape'");
  if (fortran == "True") reject(path, "it is in Fortran order; save it with np.ascontiguousarray");
  return convert(path, descr, parse_shape(path, shape_text), std::string_view(file).substr(start));
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
