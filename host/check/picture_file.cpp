// SPDX-License-Identifier: MIT
#include "picture_file.hpp"

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "runtime/atomic_file.hpp"
#include "runtime/refuse.hpp"

namespace clam {
namespace {

using namespace std::string_literals;

constexpr std::uint64_t kLargestSide = 65535, kMostBytes = 64 << 20;
const std::string kPng = "\x89PNG\r\n\x1a\n"s, kPngEnd = "IEND"s;  // a checksum follows
const std::string kJpeg = "\xff\xd8"s, kJpegEnd = "\xff\xd9"s;

/// Big-endian numbers of a file, in order. Past its end it throws.
class Bytes {
 public:
  Bytes(const std::string& name, const std::string& bytes) : name_(name), bytes_(bytes) {}

  std::size_t at = 0;

  template <typename... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> why, Args&&... args) const {
    refuse("{} is not a usable picture: {}", name_, fmt::format(why, std::forward<Args>(args)...));
  }
  void skip(std::uint64_t count) {
    if (count > bytes_.size() - at) reject("it is cut off");
    at += count;
  }
  std::string text(std::size_t count) {
    skip(count);
    return bytes_.substr(at - count, count);
  }
  std::uint64_t number(std::size_t count) {
    std::uint64_t value = 0;
    for (const char c : text(count)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }

 private:
  const std::string& name_;
  const std::string& bytes_;
};

using Size = std::pair<std::uint64_t, std::uint64_t>;  ///< width and height

Size png_size(Bytes bytes, const std::string& file) {
  bytes.skip(kPng.size());
  if (bytes.number(4) != 13 || bytes.text(4) != "IHDR") bytes.reject("its IHDR is damaged");
  const std::uint64_t width = bytes.number(4), height = bytes.number(4);
  const std::size_t end = file.rfind(kPngEnd);
  if (end == file.npos || end + kPngEnd.size() + 4 > file.size()) bytes.reject("it is cut off");
  return {width, height};
}

/// A frame header of any kind. C4, C8 and CC are tables and reserved.
bool starts_frame(std::uint64_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

/// Walks over the segments up to the frame header. A thumbnail lies inside a segment before it.
Size jpeg_size(Bytes bytes, const std::string& file) {
  constexpr std::uint64_t kScan = 0xDA, kEnd = 0xD9;
  bytes.skip(kJpeg.size());
  while (true) {
    if (bytes.number(1) != 0xFF) bytes.reject("its markers are damaged");
    std::uint64_t marker = bytes.number(1);
    while (marker == 0xFF) marker = bytes.number(1);  // fill bytes
    if (marker == kScan || marker == kEnd) bytes.reject("it has no frame header");
    const std::uint64_t length = bytes.number(2);
    if (length < 2) bytes.reject("its markers are damaged");
    if (!starts_frame(marker)) {
      bytes.skip(length - 2);
      continue;
    }
    bytes.skip(1);
    const std::uint64_t height = bytes.number(2), width = bytes.number(2);
    if (file.find(kJpegEnd, bytes.at) == file.npos) bytes.reject("it is cut off");
    return {width, height};
  }
}

}  // namespace

PictureFile parse_picture(const std::string& name, std::string bytes) {
  const Bytes reader(name, bytes);
  const bool is_png = bytes.compare(0, kPng.size(), kPng) == 0;
  const bool is_jpeg = bytes.compare(0, kJpeg.size(), kJpeg) == 0;
  if (!is_png && !is_jpeg) reader.reject("it is no PNG and no JPEG");
  const auto [width, height] = is_png ? png_size(reader, bytes) : jpeg_size(reader, bytes);
  if (width < 1 || height < 1 || width > kLargestSide || height > kLargestSide) {
    reader.reject("its size is {} x {}, needs 1 to {}", width, height, kLargestSide);
  }
  return {is_png ? "image/png" : "image/jpeg", static_cast<int>(width), static_cast<int>(height),
          std::move(bytes)};
}

PictureFile read_picture(const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  const bool is_odd = std::filesystem::is_other(status);
  if (is_odd) refuse("cannot read {}: it is no file", file);
  if (std::filesystem::is_regular_file(status)) {
    const std::uint64_t size = std::filesystem::file_size(file, error);
    throw_if(!error && size > kMostBytes,
             "{} is not a usable picture: it has {} bytes, needs at most {}", file, size,
             kMostBytes);
  }
  return parse_picture(file, read_file(file));
}

std::string to_base64(const std::string& bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

}  // namespace clam
