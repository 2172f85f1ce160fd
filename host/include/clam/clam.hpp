// SPDX-License-Identifier: MIT
// clam.hpp - the one header to include: Problems, Plans, and a Runtime that runs them.
#pragma once

#include "device.hpp"
#include "error.hpp"
#include "gpu.hpp"
#include "job_limit.hpp"
#include "kernels.hpp"
#include "memory.hpp"
#include "op.hpp"
#include "opencl.hpp"
#include "plan.hpp"
#include "planner.hpp"
#include "problem.hpp"
#include "program_cache.hpp"
#include "runtime.hpp"
#include "tensor.hpp"
#include "tuned.hpp"
