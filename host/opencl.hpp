// SPDX-License-Identifier: MIT
// opencl.hpp - the C++ bindings, configured in one place: OpenCL 1.2, errors as exceptions.
#pragma once

#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_TARGET_OPENCL_VERSION 120
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

/// `wanted`: "P:D", or part of a device's or platform's name (any case), or "" for CLAM_DEVICE,
/// else the best: a Mali, then another GPU, then an accelerator, then a CPU.
/// Throws DeviceError listing what there is, and NoDevice saying how to get a driver.
DeviceEntry select_device(const std::string& wanted = "");

/// "clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES (-5)"
std::string describe(const cl::Error& error);

}  // namespace clam
