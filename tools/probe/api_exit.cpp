// SPDX-License-Identifier: MIT
// api_exit.cpp - probes of a process's end: what they leave behind is the point, and the parent
// process sees whether it ends well.
#include "stage.hpp"

namespace clam {
namespace {

// Made before any driver is loaded, so destroyed after the driver's own objects, as the programs of
// runtimes that keep them in globals are.
cl::Program kept_until_exit;

ProbeResult late_release(const Stage& stage) {
  cl::Program program(stage.context, std::string(kAddOne));
  program.build({stage.device}, "");
  const std::string wrong = stage.run_add_one(program);
  kept_until_exit = program;
  return judged(wrong);
}

/// Nothing is released: context, queue and kernel live when the process ends.
ProbeResult never_exits(const Stage& stage) {
  const auto* kept = new Stage(stage.probe, stage.device);
  const auto* counts = new cl::Buffer(kept->zeros(kCounts));
  const auto* kernel = new cl::Kernel(kept->add_one(*counts));
  kept->queue.enqueueNDRangeKernel(*kernel, cl::NullRange, kCounts, kCounts);
  return judged(wrong_count(kept->read(*counts, kCounts), 1));
}

}  // namespace

std::vector<CodeProbe> exit_probes() {
  return {{"late-release", late_release}, {"never-exits", never_exits}};
}

}  // namespace clam
