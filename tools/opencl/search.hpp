// SPDX-License-Identifier: MIT
// search.hpp - which OpenCL library a program uses. It is looked for at the first call of OpenCL.
#pragma once

#include <string>
#include <vector>

namespace clam::opencl {

inline constexpr const char* kTaken = "taken";  ///< outcome of the attempt that ends a search

/// A library that was tried.
struct Attempt {
  std::string library;  ///< as it was asked for: "libOpenCL.so.1", or a path
  std::string file;     ///< where it lies; empty: it could not be opened
  std::string outcome;  ///< kTaken, or why not, one phrase
};

struct Search {
  std::vector<Attempt> tried;  ///< in order; ends with the one that shows a device, if one does
  std::string taken;           ///< the file of the library in use; empty: there is none
};

/// Looks through the list once, and takes the first library that shows a device. If none does, it
/// takes the first that is an OpenCL library, whose errors are then seen. The list:
///   - CLAM_OPENCL, and then nothing else
///   - one that is loaded already: somebody preloaded it
///   - the ICD loader: libOpenCL.so.1, libOpenCL.so
///   - drivers that need no loader: libmali.so.1, libmali.so, libMali.so, libMaliOpenCL.so.1,
///     libGLES_mali.so
///   - files in folders of vendors and of Android
/// Opening a driver may print, and a broken one may end the process.
const Search& search();

/// A function of the library in use; nullptr where it has none of that name.
void* function(const char* name);

}  // namespace clam::opencl
