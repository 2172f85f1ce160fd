// SPDX-License-Identifier: MIT
// layer.cpp - this library as a layer of the ICD loader (OPENCL_LAYERS), for programs that the
// dynamic linker's preloading does not reach. The functions that are followed are the same.
#include <cstring>

#include "calls.hpp"
#include "real.hpp"

#ifdef CLAM_HAS_LAYERS

namespace watch {

const cl_icd_dispatch* beneath = nullptr;

namespace {

template <typename Member>
void follow(Member& member, const char* name) {
  if (void* own = own_function(name)) std::memcpy(&member, &own, sizeof own);
}

}  // namespace
}  // namespace watch

extern "C" {

cl_int clGetLayerInfo(cl_layer_info what, size_t size, void* value, size_t* needed) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  const char* const name = "clam watch";
  const void* const answer =
      what == CL_LAYER_API_VERSION ? static_cast<const void*>(&version) : name;
  const std::size_t bytes = what == CL_LAYER_API_VERSION ? sizeof version : std::strlen(name) + 1;
  if (what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME) return CL_INVALID_VALUE;
  if (value && size < bytes) return CL_INVALID_VALUE;
  if (value) std::memcpy(value, answer, bytes);
  if (needed) *needed = bytes;
  return CL_SUCCESS;
}

cl_int clInitLayer(cl_uint entries, const cl_icd_dispatch* target, cl_uint* own_entries,
                   const cl_icd_dispatch** own) {
  constexpr cl_uint kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);
  if (!target || !own || !own_entries || entries < kEntries) return CL_INVALID_VALUE;
  static cl_icd_dispatch table;
  table = *target;
  watch::beneath = target;
#define FOLLOW(function) watch::follow(table.function, #function);
  CLAM_FOLLOWED(FOLLOW)
#undef FOLLOW
  *own = &table;
  *own_entries = kEntries;
  return CL_SUCCESS;
}

}  // extern "C"

#endif
