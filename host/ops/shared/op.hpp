// SPDX-License-Identifier: MIT
// op.hpp - what the files of ops are written with: the launches of plans, what most ops say of
// their tensors, and texts.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "clam/op.hpp"
#include "counts.hpp"
#include "launch.hpp"
