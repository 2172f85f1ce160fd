// SPDX-License-Identifier: MIT
// error.hpp - what the library throws. It never prints, ends the program or keeps global state.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace clam {

/// Base of all exceptions of the library. `what()` is one sentence that says what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller's input is wrong: an unknown word, shapes that contradict each other, a value out of
/// range, a damaged file. It is thrown before any launch. Exit code 2.
class BadArgument : public Error {
 public:
  using Error::Error;
};

/// The result could not be written (disk full, no permission). Exit code 2.
class IoError : public Error {
 public:
  using Error::Error;
};

/// OpenCL or its driver failed, or a device is missing. `code` is the OpenCL status (0 if none).
/// Exit code 3.
class DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& what, int code = 0) : Error(what), code(code) {}
  int code;
};

/// There is no OpenCL device at all. Exit code 77: nothing could run here.
class NoDevice : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// A kernel did not build: `what()` names file, options, device and quotes the driver's log.
class BuildFailure : public DeviceError {
 public:
  BuildFailure(std::string file, std::string options, std::string device, std::string log,
               int code);
  std::string file, options, device, log;
};

/// This problem cannot run on this device, for the reason given. That is a skip, not a fault.
class Unsupported : public Error {
 public:
  using Error::Error;
};

/// A word in quotes, for an error's sentence. It is cut after 60 characters, and unprintable
/// characters become '?', because the word may come from a hostile input.
std::string in_quotes(std::string_view word);

/// The symbolic name of an OpenCL status, e.g. "CL_OUT_OF_RESOURCES".
const char* cl_status_name(int code);

}  // namespace clam
