// SPDX-License-Identifier: MIT
// proof.hpp - what proofs are written with: numbers of data sets, sums and their errors, loops on
// all cores, and texts of problems.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "check/op_proof.hpp"
#include "check/parallel.hpp"
#include "fill.hpp"
#include "summation.hpp"
