// SPDX-License-Identifier: MIT
// real.cpp - the program's own OpenCL library, found; and dlsym, by which some programs find it.
#include "real.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "calls.hpp"

namespace watch {
namespace {

using Dlsym = void* (*)(void*, const char*);

/// glibc's dlsym, by the versions that it has on Mali's processors and on a PC.
Dlsym find_dlsym() {
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.4", "GLIBC_2.2.5"}) {
    if (void* found = ::dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<Dlsym>(found);
  }
  std::fprintf(stderr, "clam watch: this system's dlsym is of no version that it knows\n");
  std::abort();
}

/// Not a static of a function: calls of other names must reach it with nothing in between.
std::atomic<Dlsym> the_dlsym{nullptr};

Dlsym real_dlsym() {
  Dlsym known = the_dlsym.load(std::memory_order_relaxed);
  if (!known) the_dlsym = known = find_dlsym();
  return known;
}

/// A function of the library that the program has looked up by dlsym, if it did.
std::atomic<void*> looked_up{nullptr};

void* open_again(const char* file) { return ::dlopen(file, RTLD_LAZY | RTLD_NOLOAD); }

void* find_library() {
  Dl_info info{};
  if (void* function = looked_up; function && ::dladdr(function, &info) != 0) {
    if (void* library = open_again(info.dli_fname)) return library;
  }
  if (real_dlsym()(RTLD_NEXT, "clEnqueueNDRangeKernel")) return RTLD_NEXT;
  for (const char* name : {"libOpenCL.so.1", "libOpenCL.so", "libmali.so.1", "libmali.so",
                           "libMali.so", "libMaliOpenCL.so.1", "libGLES_mali.so"}) {
    if (void* library = open_again(name)) return library;
  }
  return nullptr;
}

/// Whether the code at this address belongs to a library that has the function itself: an OpenCL
/// before another one, which looks up what lies beneath. It must not be led back to this library.
bool is_of_an_opencl(void* code, const char* name) {
  Dl_info caller{}, its{};
  if (::dladdr(code, &caller) == 0) return false;
  void* const library = open_again(caller.dli_fname);
  void* const own = library ? real_dlsym()(library, name) : nullptr;
  return own && ::dladdr(own, &its) != 0 && std::strcmp(its.dli_fname, caller.dli_fname) == 0;
}

}  // namespace

void* real_function(const char* name, void* function_beneath) {
  if (function_beneath) return function_beneath;
  static void* const library = find_library();
  void* const function = library ? real_dlsym()(library, name) : nullptr;
  if (function) return function;
  std::fprintf(stderr, "clam watch: the OpenCL library of this program has no %s\n", name);
  std::abort();
}

}  // namespace watch

/// Programs that open their OpenCL themselves get this library's functions, too. The call for any
/// other name goes on as a jump, since RTLD_NEXT depends on who calls.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) {
  if (std::strncmp(name, "cl", 2) != 0) return watch::real_dlsym()(handle, name);
  void* const found = watch::real_dlsym()(handle, name);
  void* const own = found ? watch::own_function(name) : nullptr;
  if (!own || own == found) return found;
  if (watch::is_of_an_opencl(__builtin_return_address(0), name)) return found;
  void* none = nullptr;
  watch::looked_up.compare_exchange_strong(none, found);
  return own;
}
