// SPDX-License-Identifier: MIT
// api_program.cpp - probes of programs: linked, saved and loaded again, and what they print; and of
// a process's end, where what they leave behind is the point, and the parent process sees whether
// it ends well.
#include <fmt/core.h>
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "check/clock.hpp"
#include "clam/error.hpp"
#include "stage.hpp"

namespace clam {
namespace {

/// Compiled apart and linked: clLinkProgram.
ProbeResult link_program(const Stage& stage) {
  const cl::Program caller(stage.context, std::string("int twice(int value);\n"
                                                      "__kernel void go(__global int* dst) {\n"
                                                      "  dst[get_global_id(0)] = twice(21);\n"
                                                      "}\n"));
  const cl::Program called(stage.context,
                           std::string("int twice(int value);\n"
                                       "int twice(int value) { return 2 * value; }\n"));
  const cl_device_id device = stage.device();
  std::array<cl_program, 2> parts{caller(), called()};
  for (const cl_program part : parts) {
    const cl_int status =
        ::clCompileProgram(part, 1, &device, "", 0, nullptr, nullptr, nullptr, nullptr);
    if (status != CL_SUCCESS) throw cl::Error(status, "clCompileProgram");
  }
  cl_int status = CL_SUCCESS;
  const cl::Program linked(
      ::clLinkProgram(stage.context(), 1, &device, "", 2, parts.data(), nullptr, nullptr, &status));
  if (status != CL_SUCCESS) {
    const std::string log = linked() ? linked.getBuildInfo<CL_PROGRAM_BUILD_LOG>(stage.device) : "";
    return bug("clLinkProgram gave {} ({}) {}", cl_status_name(status), status,
               log.substr(0, log.find('\n')));
  }
  const cl::Buffer dst = stage.zeros(kCounts);
  const cl::Kernel kernel = with(cl::Kernel(linked, "go"), dst);
  stage.launch(kernel);
  return judged(wrong_count(stage.read(dst, kCounts), 42));
}

/// Of the stage's device; empty where the driver gives none.
std::vector<unsigned char> binary_of(const cl::Program& program) {
  const auto binaries = program.getInfo<CL_PROGRAM_BINARIES>();
  return binaries.empty() ? std::vector<unsigned char>() : binaries[0];
}

/// Loaded, not built.
cl::Program load(const Stage& stage, const std::vector<unsigned char>& binary) {
  const unsigned char* bytes = binary.data();
  const std::size_t size = binary.size();
  const cl_device_id device = stage.device();
  cl_int loaded = CL_SUCCESS, status = CL_SUCCESS;
  cl::Program program(
      ::clCreateProgramWithBinary(stage.context(), 1, &device, &size, &bytes, &loaded, &status));
  if (status == CL_SUCCESS && loaded == CL_SUCCESS) return program;
  throw cl::Error(status != CL_SUCCESS ? status : loaded, "clCreateProgramWithBinary");
}

/// Saved after its kernel ran, loaded in the same context, built and run.
ProbeResult binary_reload(const Stage& stage) {
  cl::Program program(stage.context, std::string(kAddOne));
  program.build({stage.device}, "");
  const std::string wrong = stage.run_add_one(program);
  if (!wrong.empty()) return bug("from source, " + wrong);
  const std::vector<unsigned char> binary = binary_of(program);
  if (binary.empty()) return skip("the device's driver gives no binary");
  cl::Program again = load(stage, binary);
  again.build({stage.device}, "");
  return judged(stage.run_add_one(again), "from its own binary, ");
}

/// Seconds until the program of binary-before-kernel is built and has run. `early`: its binary as
/// it is before the kernel is made.
double seconds_until_run(const Stage& stage, cl::Program& program, const std::string& options,
                         std::vector<unsigned char>* early = nullptr) {
  const cl::Buffer dst = stage.zeros(kCounts);
  Clock::duration aside{};
  const Clock::time_point start = Clock::now();
  program.build({stage.device}, options.c_str());
  if (early) {
    const Clock::time_point before = Clock::now();
    *early = binary_of(program);
    aside = Clock::now() - before;
  }
  const cl::Kernel kernel = with(cl::Kernel(program, "much"), dst);
  stage.launch(kernel);
  stage.queue.finish();
  return std::chrono::duration<double>(Clock::now() - start - aside).count();
}

ProbeResult binary_before_kernel(const Stage& stage) {
  constexpr double kWorthIt = 0.02, kMuch = 0.5, kLittle = 0.25;
  const std::string text = probe_file(stage.probe.name, "kernel.cl");
  const auto salt = std::chrono::system_clock::now().time_since_epoch().count() % 1000000;
  const auto options = [salt](int program) { return fmt::format("-DSALT={}.{}f", salt, program); };
  std::vector<unsigned char> early;
  cl::Program first(stage.context, text), second(stage.context, text);
  const double source = seconds_until_run(stage, first, options(1), &early);
  seconds_until_run(stage, second, options(2));
  const std::vector<unsigned char> late = binary_of(second);
  if (early.empty() || late.empty()) return skip("the device's driver gives no binary");
  cl::Program from_early = load(stage, early);
  const double early_seconds = seconds_until_run(stage, from_early, "");
  cl::Program from_late = load(stage, late);
  const double late_seconds = seconds_until_run(stage, from_late, "");
  const std::string times = fmt::format(
      "from source {:.3f} s, from a binary read before the kernel was made {:.3f} s, and after "
      "{:.3f} s",
      source, early_seconds, late_seconds);
  const bool is_bug =
      source > kWorthIt && early_seconds > kMuch * source && late_seconds < kLittle * source;
  return is_bug ? bug(times) : ok(times);
}

/// Drivers print through C's streams, so standard output is a file while the kernel runs.
ProbeResult printf_silent(const Stage& stage) {
  constexpr const char* kExpected = "clam 42 ends";
  const cl::Buffer value = stage.zeros(1);
  const std::vector<cl_int> answer{42};
  stage.queue.enqueueWriteBuffer(value, CL_TRUE, 0, sizeof(cl_int), answer.data());
  const cl::Kernel kernel = with(stage.own_kernel("speak"), value);
  FILE* const file = ::tmpfile();
  const int own = ::dup(STDOUT_FILENO);
  if (!file || own < 0) return skip("no temporary file to catch its output");
  ::fflush(stdout);
  ::dup2(::fileno(file), STDOUT_FILENO);
  const Reason refused = stage.refusal(kernel, 1, 1);
  ::fflush(stdout);
  ::dup2(own, STDOUT_FILENO);
  ::close(own);
  std::array<char, 4096> bytes{};
  ::rewind(file);
  const std::string text(bytes.data(), ::fread(bytes.data(), 1, bytes.size(), file));
  ::fclose(file);
  if (refused) return bug(*refused);
  if (text.find(kExpected) != text.npos) return ok();
  if (text.empty()) return bug("nothing came on standard output");
  return bug("'{}' came on standard output, not '{}'", text.substr(0, 80), kExpected);
}

// ---- the end of the process ----

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
  kept->launch(*kernel);
  return judged(wrong_count(kept->read(*counts, kCounts), 1));
}

}  // namespace

std::vector<CodeProbe> program_probes() {
  return {{"link-program", link_program},
          {"binary-reload", binary_reload},
          {"binary-before-kernel", binary_before_kernel},
          {"printf-silent", printf_silent},
          {"late-release", late_release},
          {"never-exits", never_exits}};
}

}  // namespace clam
