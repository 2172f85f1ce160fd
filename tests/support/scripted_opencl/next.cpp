// SPDX-License-Identifier: MIT
#include "next.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace scripted {
namespace {

constexpr const char* kName = "/libOpenCL.so.1";

/// Where the system's loader would look, behind this library's own folder.
std::vector<std::string> folders() {
  std::vector<std::string> all;
  const char* path = std::getenv("LD_LIBRARY_PATH");
  std::istringstream stream(path ? path : "");
  for (std::string folder; std::getline(stream, folder, ':');) all.push_back(folder);
  all.push_back(CLAM_NEXT_OPENCL_DIR);
  for (const char* folder : {"/usr/local/lib", "/usr/lib64", "/usr/lib"}) all.push_back(folder);
  return all;
}

bool is_this_library(const std::string& file) {
  Dl_info own{};
  struct stat here {
  }, there{};
  return ::dladdr(reinterpret_cast<void*>(&next_function), &own) != 0 &&
         ::stat(own.dli_fname, &here) == 0 && ::stat(file.c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/// By its path: by its name alone the loader would give this library again.
void* open_next() {
  for (const std::string& folder : folders()) {
    const std::string file = folder + kName;
    if (is_this_library(file)) continue;
    if (void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  std::fprintf(stderr, "the scripted OpenCL finds no other libOpenCL.so.1 to build kernels with\n");
  std::abort();
}

}  // namespace

void* next_function(const char* name) {
  static void* const library = open_next();
  if (void* function = ::dlsym(library, name)) return function;
  std::fprintf(stderr, "the OpenCL beneath the scripted one has no %s\n", name);
  std::abort();
}

}  // namespace scripted
