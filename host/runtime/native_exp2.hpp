// SPDX-License-Identifier: MIT
// native_exp2.hpp - how far native_exp2 of a driver is from 2^x: OpenCL leaves that to the driver.
#pragma once

#include <string>
#include <vector>

#include "clam/device.hpp"
#include "clam/opencl.hpp"

namespace clam {

/// The largest error of native_exp2 in ulp, over arguments from -infinity to 0 whose results the
/// device can hold. It is at least 0.5, the error of rounding. It is 1e6 if native_exp2 is wrong
/// for -infinity, for NaN or for results that are too small. Reciprocals in [1, 5], by native_recip
/// and a step of Newton, count too: activations take them. Negative if the kernel does not run.
double measure_native_exp2(const cl::CommandQueue& queue, const DeviceInfo& info);

/// The same, measured once for a device and driver: the figure lies in a file in `cache_dir`.
/// `cache_dir` empty: measured anew.
double native_exp2_ulp(const cl::CommandQueue& queue, const DeviceInfo& info,
                       const std::string& cache_dir);

/// Where the figure of this device and driver lies; "" without a folder.
std::string native_exp2_file(const DeviceInfo& info, const std::string& cache_dir);

/// The largest error of `results` for `arguments`, as measure_native_exp2 counts it: of all y =
/// 2^x, and then of all 1 / (1 + 4 y).
double largest_exp2_error(const std::vector<float>& arguments, const std::vector<float>& results,
                          bool denormals);
/// From -infinity to 0, dense where softmax needs them, and NaN.
std::vector<float> exp2_arguments();

}  // namespace clam
