// SPDX-License-Identifier: MIT
// malioc.hpp - Arm's own offline compiler, where it is installed: its JSON report as data.
//
// The form is that of `malioc --format json` (schema "performance"): shaders[] of one file and core
// each, with variants[] of performance.{total,longest_path}_cycles, whose cycle_count[] goes by
// performance.pipelines[], and properties[] of name and value. No kernel's name is in it.
#pragma once

#include <string>
#include <string_view>

#include "clam/gpu.hpp"
#include "clam/kernels.hpp"

namespace clam::mali {

/// One kernel by malioc's report, in cycles of a core.
struct MaliocReport {
  double total_cycles = 0;         ///< of the slowest pipeline, each instruction once
  double longest_path_cycles = 0;  ///< 0: not known, as a loop's trips are not
  std::string bound_by;            ///< the slowest pipeline: "arith_fma"
  int work_registers = 0, occupancy_percent = 0;
  bool spills = false;
};

/// Of the first kernel and variant. Throws BadArgument naming the key that is missing or wrong, or
/// with malioc's own error.
MaliocReport parse_malioc(std::string_view json);

/// One kernel's report for the GPU, by the program `malioc`. The options' definitions are written
/// into the file that malioc gets. Throws DeviceError with its words where it gives no report.
MaliocReport ask_malioc(const std::string& malioc, const Gpu& gpu, const KernelSource& source,
                        const std::string& options, const std::string& kernel);

}  // namespace clam::mali
