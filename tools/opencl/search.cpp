// SPDX-License-Identifier: MIT
#include "search.hpp"

#include <CL/cl.h>
#include <dlfcn.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "check/clock.hpp"
#include "clam/error.hpp"
#include "machine/machine.hpp"

namespace clam::opencl {
namespace {

/// An open library, and how it gives its functions.
struct Library {
  void* handle = nullptr;
  void* (*pointer)(const char*) = nullptr;  ///< Pixel phones: what dlsym does elsewhere
  std::string file = {};

  void* find(const char* name) const { return pointer ? pointer(name) : ::dlsym(handle, name); }
  template <typename Function>
  Function* find_as(const char* name) const {
    return reinterpret_cast<Function*>(find(name));
  }
};

/// A library of Pixel phones gives nothing to dlsym but two functions of its own.
void ask_as_pixel(Library& library) {
  const auto enable = library.find_as<void()>("enableOpenCL");
  const auto pointer = library.find_as<void*(const char*)>("loadOpenCLPointer");
  if (!enable || !pointer) return;
  enable();
  library.pointer = pointer;
}

/// While it lives, a library that crashes ends the program with one sentence and exit code 3.
class CrashSentence {
 public:
  explicit CrashSentence(const std::string& library) {
    sentence() = "clam: the OpenCL library " + library +
                 " crashed while it looked for devices; `clam doctor` says why\n";
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction own {};
      own.sa_handler = end;
      ::sigaction(kSignals[i], &own, &before_[i]);
    }
    looks = 1;
  }
  ~CrashSentence() {
    looks = 0;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction now {};
      ::sigaction(kSignals[i], nullptr, &now);
      if (now.sa_handler == end)
        ::sigaction(kSignals[i], &before_[i], nullptr);  // not a driver's own
    }
  }
  CrashSentence(const CrashSentence&) = delete;
  CrashSentence& operator=(const CrashSentence&) = delete;

 private:
  static constexpr std::array<int, 4> kSignals{SIGABRT, SIGSEGV, SIGBUS, SIGILL};
  static std::string& sentence() {
    static std::string text;
    return text;
  }
  /// A driver that took the signals over gives them back to whom it took them from, also later.
  static void end(int signal) {
    constexpr int kDeviceFailed = 3;
    if (!looks) {
      ::signal(signal, SIG_DFL);
      ::raise(signal);
      return;
    }
    const std::string& text = sentence();
    if (::write(STDERR_FILENO, text.data(), text.size()) < 0) ::_exit(kDeviceFailed);
    ::_exit(kDeviceFailed);
  }
  static inline volatile sig_atomic_t looks = 0;
  struct sigaction before_[kSignals.size()];
};

/// Empty where the library shows a device; else why it does not.
std::string lacks_device(const Library& library) {
  const auto platforms_of = library.find_as<decltype(clGetPlatformIDs)>("clGetPlatformIDs");
  const auto devices_of = library.find_as<decltype(clGetDeviceIDs)>("clGetDeviceIDs");
  cl_uint count = 0;
  cl_int status = platforms_of(0, nullptr, &count);
  if (status != CL_SUCCESS || count == 0) {
    return status == CL_SUCCESS ? "shows no platform"
                                : fmt::format("shows no platform ({})", cl_status_name(status));
  }
  std::vector<cl_platform_id> platforms(count);
  platforms_of(count, platforms.data(), nullptr);
  for (const cl_platform_id platform : platforms) {
    cl_uint devices = 0;
    status = devices_of(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
    if (status == CL_SUCCESS && devices > 0) return "";
  }
  return fmt::format("shows {} platform{} without a device", count, count == 1 ? "" : "s");
}

/// The Khronos loader reads these lists in place, and ends each at its first ':'. What is started
/// later would have the first entry alone, so they are set again.
class KeptLists {
 public:
  KeptLists() {
    for (const char* name : {"OCL_ICD_FILENAMES", "OPENCL_LAYERS"}) {
      if (const char* value = std::getenv(name)) lists_.emplace_back(name, value);
    }
  }
  ~KeptLists() {
    for (const auto& [name, value] : lists_) ::setenv(name, value.c_str(), 1);
  }

 private:
  std::vector<std::pair<const char*, std::string>> lists_;
};

/// The file that a function of the library lies in.
std::string file_of(void* function, const std::string& otherwise) {
  Dl_info info{};
  return ::dladdr(function, &info) != 0 && info.dli_fname ? Machine().own_path(info.dli_fname)
                                                          : otherwise;
}

class Finder {
 public:
  Finder() {
    look();
    if (!in_use_.handle) in_use_ = first_;
    search_.taken = in_use_.file;
  }

  const Search& search() const { return search_; }
  void* function(const char* name) const { return in_use_.handle ? in_use_.find(name) : nullptr; }

 private:
  void look() {
    const char* own = std::getenv("CLAM_OPENCL");
    if (own && *own) {
      takes(own, own);
      return;
    }
    // As a program that was linked with it would.
    const bool is_loaded = ::dlsym(RTLD_DEFAULT, "clGetPlatformIDs") != nullptr;
    if (is_loaded && takes("a library that is loaded already", "")) return;
    if (takes_any_of({"libOpenCL.so.1", "libOpenCL.so", "libmali.so.1", "libmali.so", "libMali.so",
                      "libMaliOpenCL.so.1", "libGLES_mali.so"})) {
      return;
    }
    for (const std::string& file : machine_.opencl_drivers()) {
      if (takes(file, machine_.real_path(file))) return;
    }
  }

  bool takes_any_of(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (!machine_.is_made_up()) {
        if (takes(name, name)) return true;
        continue;
      }
      const std::vector<std::string> files = machine_.libraries(name);
      if (files.empty()) search_.tried.push_back({name, "", "is in no folder of libraries"});
      for (const std::string& file : files) {
        if (takes(name, machine_.real_path(file))) return true;
      }
    }
    return false;
  }

  /// Tries one. An empty path is what is loaded already.
  bool takes(const std::string& name, const std::string& path) {
    Attempt& attempt = search_.tried.emplace_back(Attempt{name, "", ""});
    const KeptLists kept;
    Library library;
    library.handle = ::dlopen(path.empty() ? nullptr : path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library.handle) {
      const char* error = ::dlerror();
      attempt.outcome = error ? error : "cannot be opened";
      return false;
    }
    if (std::find(opened_.begin(), opened_.end(), library.handle) != opened_.end()) {
      search_.tried.pop_back();  // another name of one that was tried
      return false;
    }
    opened_.push_back(library.handle);
    if (!library.find("clGetPlatformIDs")) ask_as_pixel(library);
    void* const known = library.find("clGetPlatformIDs");
    if (!known || !library.find("clGetDeviceIDs")) {
      attempt.file = path;
      attempt.outcome = "has no functions of OpenCL";
      return false;
    }
    library.file = attempt.file = file_of(known, path);
    {
      const CrashSentence in_case(attempt.file);
      attempt.outcome = lacks_device(library);
    }
    if (!first_.handle) first_ = library;
    if (!attempt.outcome.empty()) return false;
    attempt.outcome = kTaken;
    in_use_ = library;
    return true;
  }

  const Machine machine_;
  Search search_;
  Library in_use_, first_;  ///< first_: that has functions of OpenCL
  std::vector<void*> opened_;
};

/// A clock that the library brings is found through it.
const bool kClockAsks = (Clock::ask(&function), true);

const Finder& finder() {
  static const Finder found;
  return found;
}

}  // namespace

const Search& search() { return finder().search(); }

void* function(const char* name) { return finder().function(name); }

}  // namespace clam::opencl
