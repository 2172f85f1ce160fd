// SPDX-License-Identifier: MIT
// foreign_plan.hpp - a tiny kernel that is none of clam's, and its Plan, for tests of everything
// that is written over plans.
#pragma once

#include <string>

#include "clam/plan.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::test {

inline constexpr const char* kScaleSource = R"(
__kernel void scale(__global const float* src, __global float* dst, float factor, int n) {
  const int i = get_global_id(0);
  if (i < n) dst[i] = src[i] * factor;
}
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void scale64(
    __global const float* src, __global float* dst, float factor, int n) {
  const int i = get_global_id(0);
  if (i < n) dst[i] = src[i] * factor;
}
__kernel void reverse(__global const float* src, __global float* dst, __local float* tile,
                      __global const float* unused, int n) {
  const int i = get_local_id(0);
  tile[i] = src[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n && unused == 0) dst[i] = tile[n - 1 - i];
}
)";

/// dst = src * factor over n elements, in groups of 16. Needs `folder` to hold scale.cl.
inline Plan scale_plan(std::int64_t n, float factor) {
  Plan plan;
  plan.problem = "a foreign kernel";
  plan.variant = "scale";
  plan.tensors = {{"src", TensorSpec::Role::input, Dtype::f32, {n}, {}, 0},
                  {"dst", TensorSpec::Role::output, Dtype::f32, {n}, {}, 0}};
  plan.launches = {{"scale.cl",
                    "scale",
                    "",
                    {(n + 15) / 16 * 16, 1, 1},
                    {16, 1, 1},
                    {BufferArg{"src"}, BufferArg{"dst"}, factor, static_cast<std::int32_t>(n)}}};
  return plan;
}

inline void write_scale_kernel(const TemporaryFolder& folder) {
  write_file(folder.file("scale.cl"), kScaleSource);
}

}  // namespace clam::test
