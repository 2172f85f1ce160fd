// SPDX-License-Identifier: MIT
#include "callers.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdint>
#include <cstring>

#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define CLAM_HAS_BACKTRACE 1
#endif

namespace watch {
namespace {

using nlohmann::json;

constexpr std::size_t kMost = 16;

/// A function of the program that the dynamic linker finds, of whatever type it is taken for.
struct Symbol {
  void* address;
  template <typename Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(address);
  }
};

/// Python's C interface, where this program has Python in it, of 3.9 and newer.
struct Python {
  bool is_here = true;
  int (*is_initialized)() = find("Py_IsInitialized");
  void* (*own_thread)() = find("PyGILState_GetThisThreadState");
  void (*take_error)(void**, void**, void**) = find("PyErr_Fetch");
  void (*give_error)(void*, void*, void*) = find("PyErr_Restore");
  void (*clear_error)() = find("PyErr_Clear");
  int (*take_lock)() = find("PyGILState_Ensure");
  void (*give_lock)(int) = find("PyGILState_Release");
  void* (*frame)() = find("PyEval_GetFrame");
  void* (*code_of)(void*) = find("PyFrame_GetCode");
  int (*line_of)(void*) = find("PyFrame_GetLineNumber");
  void* (*caller_of)(void*) = find("PyFrame_GetBack");
  void* (*attribute)(void*, const char*) = find("PyObject_GetAttrString");
  const char* (*utf8)(void*) = find("PyUnicode_AsUTF8");
  void (*release)(void*) = find("Py_DecRef");

  std::string text_of(void* object, const char* name) const {
    void* const value = attribute(object, name);
    const char* const text = value ? utf8(value) : nullptr;
    const std::string copy = text ? text : "?";
    if (!text) clear_error();  // a name that is no UTF-8
    if (value) release(value);
    return copy;
  }

 private:
  Symbol find(const char* name) {
    void* const address = ::dlsym(RTLD_DEFAULT, name);
    is_here = is_here && address;
    return {address};
  }
};

json python_callers() {
  json all = json::array();
  static const Python python;
  if (!python.is_here || python.is_initialized() == 0) return all;
  // A thread that Python does not know may be waited for by one that holds the lock.
  if (!python.own_thread()) return all;
  const int lock = python.take_lock();
  void *type = nullptr, *error = nullptr, *trace = nullptr;
  python.take_error(&type, &error, &trace);
  void* frame = python.frame();  // borrowed, unlike those behind it
  for (bool owned = false; frame && all.size() < kMost; owned = true) {
    void* const code = python.code_of(frame);
    all.push_back({{"file", python.text_of(code, "co_filename")},
                   {"line", python.line_of(frame)},
                   {"function", python.text_of(code, "co_name")}});
    python.release(code);
    void* const caller = python.caller_of(frame);
    if (owned) python.release(frame);
    frame = caller;
  }
  python.give_error(type, error, trace);
  python.give_lock(lock);
  return all;
}

json native_callers() {
  json all = json::array();
#ifdef CLAM_HAS_BACKTRACE
  Dl_info own{};
  ::dladdr(reinterpret_cast<void*>(&python_callers), &own);
  std::array<void*, 2 * kMost> places{};
  const int count = ::backtrace(places.data(), static_cast<int>(places.size()));
  for (int i = 0; i < count && all.size() < kMost; ++i) {
    Dl_info info{};
    link_map* map = nullptr;
    // Of the call, not of what comes back to.
    void* const place = static_cast<char*>(places[static_cast<std::size_t>(i)]) - 1;
    if (::dladdr1(place, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) continue;
    if (std::strcmp(info.dli_fname, own.dli_fname) == 0) continue;
    const auto offset = reinterpret_cast<std::uintptr_t>(place) - (map ? map->l_addr : 0);
    all.push_back({{"path", info.dli_fname},
                   {"offset", offset},
                   {"function", info.dli_sname ? info.dli_sname : ""}});
  }
#endif
  return all;
}

}  // namespace

json callers() {
  json python = python_callers();
  return python.empty() ? native_callers() : python;
}

}  // namespace watch
