// SPDX-License-Identifier: MIT
#include "native_exp2.hpp"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "atomic_file.hpp"
#include "text.hpp"

namespace clam {
namespace {

constexpr double kWrong = 1e6;
using Limits = std::numeric_limits<float>;

// A probe, no kernel of the suite: it is built here alone and never planned for.
const char* const kProbe =
    "__kernel void native_exp2_probe(__global const float* src, __global float* dst) {\n"
    "  const uint i = get_global_id(0);\n"
    "  dst[i] = native_exp2(src[i]);\n"
    "  const float b = 1.0f + 4.0f * dst[i], r = native_recip(b);\n"
    "  dst[get_global_size(0) + i] = fma(fma(-b, r, 1.0f), r, r);\n"
    "}\n";

/// Everything that a driver says about itself and its device.
std::string identity(const DeviceInfo& info) {
  std::string text;
  for (const std::string& part :
       {info.name, info.vendor, info.platform, info.platform_version, info.device_version,
        info.driver_version, info.opencl_c_version}) {
    text += printable(part) + '\n';
  }
  return text;
}

constexpr const char* kTitle = "native_exp2 and native_recip, largest error in ulp";

/// Nothing (0) when the file is not there, or belongs to another driver.
double stored(const std::string& path, const std::string& who) {
  try {
    const std::string text = read_file(path), start = fmt::format("{}\n{}", kTitle, who);
    if (text.substr(0, start.size()) != start) return 0;
    const double ulp = std::stod(text.substr(start.size()));
    return ulp > 0 ? ulp : 0;
  } catch (const std::exception&) {
    return 0;  // not there, or damaged: measured again
  }
}

void store(const std::string& path, const std::string& who, double ulp) {
  try {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    write_file(path, fmt::format("{}\n{}{}\n", kTitle, who, ulp));
  } catch (const std::exception&) {
    // Only time is lost: the next one measures again.
  }
}

double in_ulp(double there, double exact) {
  return std::fabs(there - exact) / std::ldexp(1.0, std::max(std::ilogb(exact) - 23, -149));
}

/// Error of one result, in ulp.
double error_of(float argument, float result, bool denormals) {
  constexpr double kSmallest = 0x1p-126, kNothing = -160;
  if (std::isnan(argument)) return std::isnan(result) ? 0 : kWrong;
  const double exact = std::exp2(static_cast<double>(argument)), there = result;
  if (!(there >= 0)) return kWrong;
  if (argument <= kNothing) return there == 0 ? 0 : kWrong;  // activations multiply it by that
  if (exact < (denormals ? 0x1p-149 : kSmallest)) return there <= kSmallest ? 0 : kWrong;
  return std::min(in_ulp(there, exact), kWrong);
}

std::vector<float> run_probe(const cl::CommandQueue& queue, const std::vector<float>& arguments) {
  const cl::Context context = queue.getInfo<CL_QUEUE_CONTEXT>();
  cl::Program program(context, std::string(kProbe));
  program.build({queue.getInfo<CL_QUEUE_DEVICE>()}, "");
  const std::size_t bytes = arguments.size() * sizeof(float);
  const cl::Buffer src(context, CL_MEM_READ_ONLY, bytes),
      dst(context, CL_MEM_READ_WRITE, 2 * bytes);
  cl::Kernel kernel(program, "native_exp2_probe");
  kernel.setArg(0, src);
  kernel.setArg(1, dst);
  std::vector<float> results(2 * arguments.size(), -1);
  queue.enqueueWriteBuffer(src, CL_TRUE, 0, bytes, arguments.data());
  cl::Event event;
  queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(arguments.size()), cl::NullRange,
                             nullptr, &event);
  queue.flush();  // some drivers start nothing before
  event.wait();
  queue.enqueueReadBuffer(dst, CL_TRUE, 0, 2 * bytes, results.data());
  return results;
}

}  // namespace

std::vector<float> exp2_arguments() {
  constexpr int kUniform = 1 << 16, kSmall = 1 << 14;
  constexpr double kDeepest = -150;
  std::vector<float> arguments{
      0.0f, -0.0f, -Limits::infinity(), Limits::quiet_NaN(), -Limits::max(), -1e9f, -1e4f, -300.0f};
  for (int i = 1; i <= kUniform; ++i) {
    arguments.push_back(static_cast<float>(kDeepest * i / kUniform));
  }
  for (int i = 0; i < kSmall; ++i) {  // down to -2^-31, where the result is 1
    arguments.push_back(static_cast<float>(-std::exp2(-32.0 * i / kSmall + 1)));
  }
  while (arguments.size() % 64 != 0) arguments.push_back(-1.0f);
  return arguments;
}

double largest_exp2_error(const std::vector<float>& arguments, const std::vector<float>& results,
                          bool denormals) {
  const std::size_t n = arguments.size();
  double largest = 0.5;
  for (std::size_t i = 0; i < n; ++i) {
    largest = std::max(largest, error_of(arguments[i], results[i], denormals));
    if (std::isnan(results[i])) continue;
    const double inverse = 1 / (1 + 4.0 * results[i]);
    const double error = in_ulp(results[n + i], inverse);
    largest = std::max(largest, error <= kWrong ? error : kWrong);
  }
  return largest;
}

double measure_native_exp2(const cl::CommandQueue& queue, const DeviceInfo& info) {
  try {
    const std::vector<float> arguments = exp2_arguments();
    return largest_exp2_error(arguments, run_probe(queue, arguments), info.denormals_f32);
  } catch (const cl::Error&) {
    return -1;
  }
}

std::string native_exp2_file(const DeviceInfo& info, const std::string& cache_dir) {
  if (cache_dir.empty()) return "";
  const std::string who = identity(info);
  return fmt::format("{}/native_exp2-{:016x}.txt", cache_dir, XXH3_64bits(who.data(), who.size()));
}

double native_exp2_ulp(const cl::CommandQueue& queue, const DeviceInfo& info,
                       const std::string& cache_dir) {
  const std::string path = native_exp2_file(info, cache_dir), who = identity(info);
  const double known = path.empty() ? 0 : stored(path, who);
  if (known > 0) return known;
  const double ulp = measure_native_exp2(queue, info);
  if (ulp > 0 && !path.empty()) store(path, who, ulp);
  return ulp;
}

}  // namespace clam
