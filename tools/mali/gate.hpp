// SPDX-License-Identifier: MIT
// gate.hpp - which plans the gate compiles for which GPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check/workload.hpp"
#include "clam/gpu.hpp"
#include "clam/plan.hpp"
#include "compile.hpp"
#include "expectations.hpp"

namespace clam::mali {

/// The plans of every workload in both dtypes; then those that launch a kernel which was not yet
/// there in their dtype and with their accumulator: of the workloads with the accumulators of half,
/// of other orders of operands at such sizes, of every small case with each of its variants (in f32
/// all of these). Between them stand large problems whose rows are no whole vectors. So each kernel
/// of each op is there in both dtypes, with each accumulator. For a device with this GPU.
std::vector<Plan> every_plan(const Gpu& gpu);

/// The gate's GPUs, those that take longest first.
std::vector<const Gpu*> gate_gpus();
/// What the gate compiles: of the G610 every plan; of the G52 the same, but of the small cases
/// those alone that bring a kernel in a dtype; of the others the preferred plans of the workloads,
/// at most kFewKernels kernels, each kernel once in each dtype before a second time; of Midgard
/// what an SSD head needs: dense, direct conv2d, softmax, get_valid_counts, nms.
std::vector<Plan> gate_plans(const Gpu& gpu);
/// Of gate_plans those that launch a kernel which none before has in its dtype and with its
/// accumulator.
std::vector<Plan> once_plans(const Gpu& gpu);

using Fingerprint = std::function<std::string(const KernelId&)>;
/// Leaves out the kernels that have the fingerprint of their figures, and returns them. One in
/// kSample of these stays, drawn by all fingerprints together.
std::vector<KernelId> leave_out_unchanged(std::vector<KernelId>& kernels,
                                          const Expectations& expectations, const std::string& gpu,
                                          const Fingerprint& fingerprint);

constexpr int kSample = 40;
constexpr int kFewKernels = 24;

}  // namespace clam::mali
