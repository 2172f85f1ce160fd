// SPDX-License-Identifier: MIT
// case.hpp - what is right in a case, and what comes of it on a device.
#pragma once

#include <string>

#include "bundle.hpp"
#include "check/op_proof.hpp"
#include "clam/kernels.hpp"
#include "clam/opencl.hpp"

namespace clam {

/// Puts the kernel files of a plan into the bundle, under plain names, their own options among the
/// launches', and the plan with them. Throws BadArgument where one would need a further folder.
void take_plan(const Plan& plan, const KernelFiles& files, Bundle& bundle);

/// The inputs that a plan needs, as they lie in their buffers, and what outputs hold before a run.
void take_inputs(const Tensors& inputs, Bundle& bundle);
/// These, dense again.
Tensors dense_inputs(const Bundle& bundle);

/// What an output must be: `exact` bit for bit, or the values of a reference with their bounds. An
/// element that has several right values gets a bound that takes them all in.
void expect(const TensorSpec& spec, const HostTensor& exact, Bundle& bundle);
void expect(const TensorSpec& spec, const Expected& expected, Bundle& bundle);

struct CaseRun {
  Seen seen;
  Reason cannot;  ///< why it cannot be tried on this device; then nothing was seen
};

/// Builds and runs the case on the device, in this process, from source alone. `folder`: where the
/// bundle's kernel files lie. `keep`: gets build.log and the program binaries; empty: nothing does.
/// `outputs`: gets those of the plan, dense, where it ran to its end.
CaseRun run_case(const cl::Device& device, const Bundle& bundle, const std::string& folder,
                 const std::string& keep, Tensors* outputs = nullptr);

/// These outputs, dense, held against what is expected.
Seen hold_outputs(const Bundle& bundle, const Tensors& outputs);

}  // namespace clam
