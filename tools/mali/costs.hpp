// SPDX-License-Identifier: MIT
// costs.hpp - the instructions of each row of kernels/costs.json, measured by a compiler.
#pragma once

#include <string>
#include <vector>

#include "clam/kernels.hpp"
#include "compile.hpp"

namespace clam::mali {

/// A row whose numbers follow from what a work-item executes, for several problems.
struct CostRow {
  std::string kernel, dtype, acc, tile;
  std::vector<double> numbers;  ///< empty: it spills, or was not measured
  bool spills = false;
  std::string not_measured{};  ///< why not, as a phrase
};

/// Compiles every row of the text that a probe is known for, for a Mali-G610. Throws BadArgument
/// where the text is no table of costs.
std::vector<CostRow> measure_costs(const std::string& text, Compiler& compiler,
                                   const KernelFiles& files);

/// The text with these rows as those of `compiler`, "Mesa 25". One that spills loses its numbers.
/// One that was not compiled stays, and so do all others.
std::string with_costs(const std::string& text, const std::vector<CostRow>& rows,
                       const std::string& compiler);

/// Solves a system of as many equations as unknowns. Throws BadArgument where it has no solution.
std::vector<double> solve(std::vector<std::vector<double>> equations, std::vector<double> right);

}  // namespace clam::mali
