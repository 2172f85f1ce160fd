// SPDX-License-Identifier: MIT
// watched_runs.hpp - programs that are watched, and drivers that lie to them.
#pragma once

#include "run_clam.hpp"
#include "scripted.hpp"

namespace clam::test {

/// Debian's Python, for which pyopencl is built there.
inline const std::string kPython = "/usr/bin/python3";
inline constexpr const char* kNoPyopencl = "pyopencl is not here (tools/setup python)";
inline bool has_pyopencl() { return run_command({kPython, "-c", "import pyopencl"}).code == 0; }

/// A program of tests/bundle under it.
inline std::vector<std::string> python_program(const std::string& file,
                                               const std::vector<std::string>& arguments = {}) {
  std::vector<std::string> words{kPython, "-W", "ignore", CLAM_SOURCE_DIR "/tests/bundle/" + file};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

inline Finished watch(const std::string& target, std::vector<std::string> flags,
                      const std::vector<std::string>& program,
                      const std::vector<std::string>& environment = {}) {
  flags.insert(flags.begin(), {"watch", "-o", target});
  flags.push_back("--");
  flags.insert(flags.end(), program.begin(), program.end());
  return run_clam(flags, environment);
}

/// A compiler that takes one piece of a text for another.
inline nlohmann::json misreads(const std::string& text, const std::string& becomes) {
  return scripted::lie("clCreateProgramWithSource", "replace",
                       {{"text", text}, {"becomes", becomes}});
}

/// The driver of the tests as one of another platform, with these lies.
inline nlohmann::json platform_script(const std::string& name,
                                      const nlohmann::json& lies = nlohmann::json::array()) {
  nlohmann::json script{{"device", {{"platform", name}}}};
  if (!lies.empty()) script["lies"] = lies;
  return script;
}

/// The same as a command for --with; its words have no blanks.
inline std::string other_platform(const TemporaryFolder& folder, const std::string& name,
                                  const nlohmann::json& lies = nlohmann::json::array()) {
  write_file(folder.file(name + ".json"), platform_script(name, lies).dump());
  return "env LD_LIBRARY_PATH=" CLAM_SCRIPTED_OPENCL_DIR " CLAM_SCRIPTED_OPENCL=" +
         folder.file(name + ".json");
}

/// A small program on CLBlast's C interface: y = A x. Its kernels are CLBlast's own.
inline constexpr const char* kBlas = R"(
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <clblast_c.h>
#include <stdio.h>
int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  clGetPlatformIDs(1, &platform, 0);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, 0);
  cl_context context = clCreateContext(0, 1, &device, 0, 0, 0);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, 0);
  float a[64 * 48], x[48], y[64] = {0};
  for (int i = 0; i < 64 * 48; ++i) a[i] = (float)(i % 13) / 7;
  for (int i = 0; i < 48; ++i) x[i] = (float)(i % 5) - 2;
  cl_mem ab = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof a, a, 0);
  cl_mem xb = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof x, x, 0);
  cl_mem yb = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof y, y, 0);
  if (CLBlastSgemv(CLBlastLayoutRowMajor, CLBlastTransposeNo, 64, 48, 1, ab, 0, 48, xb, 0, 1, 0, yb, 0,
                   1, &queue, 0)) return 3;
  clEnqueueReadBuffer(queue, yb, CL_TRUE, 0, sizeof y, y, 0, 0, 0);
  for (int i = 0; i < 64; ++i) printf("%a ", y[i]);
  return 0;
}
)";

/// That program, compiled into a folder; empty where it cannot be.
inline std::string compiled_blas(const TemporaryFolder& folder) {
  write_file(folder.file("blas.c"), kBlas);
  const Finished made = run_command(
      {"/bin/sh", "-c", "cd " + folder.path() + " && cc blas.c -lOpenCL -lclblast -o blas"});
  return made.code == 0 ? folder.file("blas") : "";
}

}  // namespace clam::test
