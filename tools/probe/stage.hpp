// SPDX-License-Identifier: MIT
// stage.hpp - what a probe works on: a context and a queue of its own.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "check/clock.hpp"
#include "clam/op.hpp"
#include "probe.hpp"

namespace clam {

struct Stage {
  Stage(const Probe& its_probe, const cl::Device& its_device);

  const Probe& probe;
  cl::Device device;
  DeviceInfo info;
  cl::Context context;
  cl::CommandQueue queue;  ///< in order, with profiling

  /// Throws cl::BuildError, or cl::Error where a driver compiles when the kernel is made.
  cl::Kernel kernel(const std::string& text, const std::string& name,
                    const std::string& options = "") const;
  /// The kernel of that name in the probe's kernel.cl.
  cl::Kernel own_kernel(const std::string& name) const;
  /// kAddOne on a buffer, as the kernel of a probe for which any will do. The buffer must outlive
  /// its launches: kernels keep no hold on their arguments.
  cl::Kernel add_one(const cl::Buffer& counts) const;
  /// `count` zeros.
  cl::Buffer zeros(std::size_t count) const;
  std::vector<cl_int> read(const cl::Buffer& buffer, std::size_t count) const;
  /// As many work-items as add_one has, in one group.
  void launch(const cl::Kernel& kernel, cl::Event* event = nullptr) const;
  /// Launches it and waits for its end; what OpenCL says against one of both, if it does.
  Reason refusal(const cl::Kernel& kernel, std::size_t global, std::size_t local) const;
  /// What is wrong after a launch of add_one of this program; empty where nothing is.
  std::string run_add_one(const cl::Program& program) const;
};

inline constexpr std::size_t kCounts = 64;  ///< work-items of add_one, and ints of its buffer
/// Adds 1 to each of the ints: launches that did not come, or came twice, show in their number.
inline constexpr const char* kAddOne =
    "__kernel void add_one(__global int* counts) {\n"
    "  counts[get_global_id(0)] += 1;\n"
    "}\n";

/// The kernel with these arguments set; the buffers must outlive its launches.
template <typename... Args>
cl::Kernel with(cl::Kernel kernel, const Args&... args) {
  cl_uint place = 0;
  (kernel.setArg(place++, args), ...);
  return kernel;
}
/// Waits for it, at most so long.
bool comes(const std::function<bool()>& it, Clock::duration patience);

/// Empty when every int is `expected`; else a sentence about the first that is not.
std::string wrong_count(const std::vector<cl_int>& counts, cl_int expected);

inline ProbeResult ok(std::string note = "") { return {ProbeResult::Verdict::ok, std::move(note)}; }
inline ProbeResult bug(std::string what) { return {ProbeResult::Verdict::bug, std::move(what)}; }
template <typename Part, typename... Parts>
ProbeResult bug(fmt::format_string<Part, Parts...> format, Part&& part, Parts&&... parts) {
  return bug(fmt::format(format, std::forward<Part>(part), std::forward<Parts>(parts)...));
}
inline ProbeResult hang(std::string what) { return {ProbeResult::Verdict::hang, std::move(what)}; }
inline ProbeResult skip(std::string why) { return {ProbeResult::Verdict::skip, std::move(why)}; }
/// BUG with what is wrong, behind what was done; OK where nothing is.
inline ProbeResult judged(const std::string& wrong, const std::string& done = "") {
  return wrong.empty() ? ok() : bug(done + wrong);
}

/// The launch that probe.json describes, held against what it says must come out.
ProbeResult run_launch(const Stage& stage);

/// Probes that are code, by name.
struct CodeProbe {
  const char* name;
  ProbeResult (*run)(const Stage&);
};
std::vector<CodeProbe> queue_probes();
std::vector<CodeProbe> program_probes();
std::vector<CodeProbe> limit_probes();

}  // namespace clam
