// SPDX-License-Identifier: MIT
// opencl.hpp - the C++ bindings for OpenCL 1.2, with errors as exceptions.
//
// Their macros are definitions of the target clam::clam and of clam.pc, so that a file which
// includes CL/opencl.hpp by itself sees the same classes.
#pragma once

#ifndef CL_HPP_ENABLE_EXCEPTIONS
#error "clam needs CL_HPP_ENABLE_EXCEPTIONS and its other definitions: link clam::clam or use clam.pc"
#endif
#include <CL/opencl.hpp>
#include <string>
#include <vector>

#include "device.hpp"

namespace clam {

/// Reads the facts of a device. Throws DeviceError.
DeviceInfo query_device(const cl::Device& device);

struct DeviceEntry {
  int platform = 0, index = 0;  ///< "P:D"
  cl::Device device;
};
/// Every device of every platform; empty when there is none.
std::vector<DeviceEntry> list_devices();

/// `wanted` is "P:D", or part of a device's or platform's name in any case. If it is empty,
/// CLAM_DEVICE is used instead. If that is empty too, the best device is chosen: a Mali, then
/// another GPU, then an accelerator, then a CPU. Throws a DeviceError that lists the devices, or a
/// NoDevice that says how to get a driver.
DeviceEntry select_device(const std::string& wanted = "");

/// "clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES (-5)"
std::string describe(const cl::Error& error);

}  // namespace clam
