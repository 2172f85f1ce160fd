// SPDX-License-Identifier: MIT
// malioc_run.cpp - asks Arm's offline compiler, where somebody installed it.
#include <fmt/core.h>

#include <sstream>

#include "clam/error.hpp"
#include "kernel_text.hpp"
#include "malioc.hpp"
#include "process/process.hpp"
#include "process/scratch_folder.hpp"
#include "runtime/atomic_file.hpp"

namespace clam::mali {
namespace {

/// "-DA=1 -DB" as "#define A 1" lines; other options have no such form and are left out.
std::string definitions(const std::string& options) {
  std::istringstream words(options);
  std::string text;
  for (std::string word; words >> word;) {
    if (word.substr(0, 2) != "-D") continue;
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals - 2);
    text +=
        fmt::format("#define {} {}\n", name, equals == word.npos ? "1" : word.substr(equals + 1));
  }
  return text;
}

}  // namespace

MaliocReport ask_malioc(const std::string& malioc, const Gpu& gpu, const KernelSource& source,
                        const std::string& options, const std::string& kernel) {
  const ScratchFolder folder;
  const std::string file = folder.file(kernel + ".cl");
  write_file(file,
             definitions(options + " " + source.options) + only_kernels(source.text, {kernel}));
  Process process(
      {malioc, "--format", "json", "-c", fmt::format("Mali-{}", gpu.model), "--opencl", file}, {});
  std::string text, line;
  constexpr std::chrono::seconds kPatience(60);
  while (process.read_line(line, kPatience) == Process::Read::line) {
    if (text.empty() && line.find('{') == line.npos) continue;  // what it says before its report
    text += line + "\n";
  }
  try {
    return parse_malioc(text).front();
  } catch (const BadArgument& error) {
    throw DeviceError(
        fmt::format("malioc gives no report of {} for {}: {}", kernel, gpu.key, error.what()));
  }
}

}  // namespace clam::mali
