// SPDX-License-Identifier: MIT
// c_compiler.hpp - the system's C compiler, for the programs that clam writes for others.
#pragma once

#include "command.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"

namespace clam::test {

/// Whether C programs with OpenCL can be built where the tests run: not in a stand-in's folder.
inline bool has_compiler() {
  static const bool works = [] {
    const TemporaryFolder folder;
    write_file(folder.file("try.c"),
               "#include <CL/cl.h>\nint main(void) { return clFinish(0) == 0; }\n");
    return run_command({"/bin/sh", "-c",
                        "cd " + folder.path() +
                            " && cc -DCL_TARGET_OPENCL_VERSION=120 try.c -lOpenCL -o try"})
               .code == 0;
  }();
  return works;
}

/// Compiles replay.c of the folder as the READMEs say, with every warning an error, and runs it.
inline Finished run_c(const std::string& folder, const std::string& arguments = "") {
  return run_command({"/bin/sh", "-c",
                      "cd " + folder +
                          " && cc -std=c99 -O2 -Wall -Wextra -pedantic -Werror replay.c -o replay "
                          "-lOpenCL -lm && ./replay " +
                          arguments});
}

}  // namespace clam::test
