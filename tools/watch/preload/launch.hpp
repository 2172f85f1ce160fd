// SPDX-License-Identifier: MIT
// launch.hpp - what a launch is: its kernel, its arguments, its sizes.
#pragma once

#include <CL/cl.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace watch {

struct Parameter {
  enum class Kind { buffer, local, value, other };
  std::string name, type;  ///< "src", "float*"
  Kind kind = Kind::value;
  bool only_read = false;  ///< const, or constant memory
};

struct Argument {
  std::size_t size = 0;
  bool is_null = true;  ///< local memory, or a null buffer
  std::vector<std::uint8_t> bytes;
};

/// A kernel object and what was set on it.
struct Kernel {
  bool is_described = false;
  std::string name, source, source_hash, options;
  std::string refused;  ///< why its launches cannot be recorded; empty: they can
  std::vector<Parameter> parameters;
  std::map<cl_uint, Argument> arguments;
};

struct Launch {
  std::size_t dimensions = 1;  // as wide as the others: the bytes of a launch are compared
  std::array<std::size_t, 3> offset{0, 0, 0}, global{1, 1, 1}, local{0, 0, 0};  ///< local 0: any

  Launch(cl_uint count, const size_t* offsets, const size_t* globals, const size_t* locals);
};

/// Name, source, options and parameters, as the driver gives them. Where it gives no parameters,
/// the program is built once more with -cl-kernel-arg-info.
void describe(cl_kernel kernel, Kernel& known);

/// A part of memory that a launch may touch, and where in it each argument begins.
struct Range {
  cl_mem memory = nullptr;  ///< no sub-buffer
  std::size_t first = 0, bytes = 0;
  bool only_read = true;
};
struct Memory {
  std::vector<Range> ranges;
  struct Place {
    std::size_t range, offset;
  };
  std::map<cl_uint, Place> places;  ///< by argument; a null buffer has none
};

/// Ranges that overlap are one. Throws std::runtime_error with a phrase for what is no buffer.
Memory memory_of(const Kernel& kernel);

}  // namespace watch
