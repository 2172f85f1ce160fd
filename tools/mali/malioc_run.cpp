// SPDX-License-Identifier: MIT
// malioc_run.cpp - asks Arm's offline compiler, where somebody installed it.
#include <fmt/core.h>

#include "check/manifest.hpp"
#include "clam/error.hpp"
#include "kernel_text.hpp"
#include "malioc.hpp"
#include "process/process.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::mali {

MaliocReport ask_malioc(const std::string& malioc, const Gpu& gpu, const KernelSource& source,
                        const std::string& options, const std::string& kernel) {
  const ScratchFolder folder;
  const std::string file = folder.file(kernel + ".cl");
  std::string text;
  for (const BuildOption& option : build_options(options + " " + source.options)) {
    if (option.is_define()) text += fmt::format("#define {} {}\n", option.name, option.value);
  }
  write_file(file, text + only_kernels(source.text, {kernel}));
  Process process(
      {malioc, "--format", "json", "-c", fmt::format("Mali-{}", gpu.model), "--opencl", file}, {});
  std::string report, line;
  constexpr std::chrono::seconds kPatience(60);
  while (process.read_line(line, kPatience) == Process::Read::line) {
    if (report.empty() && line.find('{') == line.npos) continue;  // what it says before its report
    report += line + "\n";
  }
  try {
    return parse_malioc(report).front();
  } catch (const BadArgument& error) {
    throw DeviceError(
        fmt::format("malioc gives no report of {} for {}: {}", kernel, gpu.key, error.what()));
  }
}

}  // namespace clam::mali
