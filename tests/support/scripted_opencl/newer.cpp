// SPDX-License-Identifier: MIT
// newer.cpp - functions of OpenCL 2, and for OpenGL, that programs are linked with, as pyopencl is.
// Queues and copies of kernels are made; shared virtual memory, pipes, SPIR-V and what belongs to
// OpenGL there are none.
#include "lies.hpp"
#include "next.hpp"
// After state.hpp, which says what of OpenCL is wanted.
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <sys/mman.h>

using scripted::enter;

// A function that is refused.
#define NONE(name, parameters)   \
  cl_int name parameters {       \
    enter(#name);                \
    return CL_INVALID_OPERATION; \
  }

// One that makes nothing.
#define NOTHING(type, name, parameters)         \
  type name parameters {                        \
    enter(#name);                               \
    if (status) *status = CL_INVALID_OPERATION; \
    return nullptr;                             \
  }

namespace {

constexpr size_t kLine = 64;  // bytes of a cache's line

/// Arm's import of host memory and of descriptors, where the script's `extensions` name it. The
/// memory is used as it is; of a descriptor it is mapped, and stays so.
cl_mem CL_API_CALL import_memory(cl_context context, cl_mem_flags flags,
                                 const cl_import_properties_arm* properties, void* memory,
                                 size_t size, cl_int* status) {
  if (refused(enter("clImportMemoryARM"), status)) return nullptr;
  const bool is_descriptor = properties && properties[1] == CL_IMPORT_TYPE_DMA_BUF_ARM;
  if (is_descriptor) {
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, *static_cast<int*>(memory), 0);
  }
  if (memory == MAP_FAILED || reinterpret_cast<uintptr_t>(memory) % kLine != 0 ||
      size % kLine != 0) {
    if (status) *status = CL_INVALID_VALUE;
    return nullptr;
  }
  return NEXT(clCreateBuffer)(context, flags | CL_MEM_USE_HOST_PTR, size, memory, status);
}

}  // namespace

extern "C" {

void* clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char* name) {
  enter("clGetExtensionFunctionAddressForPlatform");
  const auto script = scripted::script();
  const auto extensions = script->texts.find("extensions");
  if (std::string(name) == "clImportMemoryARM" && extensions != script->texts.end() &&
      extensions->second.find("cl_arm_import_memory") != std::string::npos) {
    return reinterpret_cast<void*>(import_memory);
  }
  return NEXT(clGetExtensionFunctionAddressForPlatform)(platform, name);
}

cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                    const cl_queue_properties* properties,
                                                    cl_int* status) {
  cl_command_queue_properties wanted = 0;
  for (; properties && *properties != 0; properties += 2) {
    if (*properties == CL_QUEUE_PROPERTIES) wanted = properties[1];
  }
  return clCreateCommandQueue(context, device, wanted, status);
}

cl_kernel clCloneKernel(cl_kernel source, cl_int* status) {
  if (refused(enter("clCloneKernel"), status)) return nullptr;
  cl_kernel copy = NEXT(clCloneKernel)(source, status);
  const std::lock_guard lock(scripted::mutex());
  if (copy)
    scripted::state().kernels[copy] = scripted::KernelRecord(scripted::state().kernels[source]);
  return copy;
}

NOTHING(cl_mem, clCreatePipe,
        (cl_context, cl_mem_flags, cl_uint, cl_uint, const cl_pipe_properties*, cl_int* status))
NOTHING(cl_program, clCreateProgramWithIL, (cl_context, const void*, size_t, cl_int* status))
NOTHING(cl_sampler, clCreateSamplerWithProperties,
        (cl_context, const cl_sampler_properties*, cl_int* status))
NOTHING(cl_mem, clCreateFromGLBuffer, (cl_context, cl_mem_flags, cl_GLuint, cl_int* status))
NOTHING(cl_mem, clCreateFromGLRenderbuffer, (cl_context, cl_mem_flags, cl_GLuint, cl_int* status))
NOTHING(cl_mem, clCreateFromGLTexture2D,
        (cl_context, cl_mem_flags, cl_GLenum, cl_GLint, cl_GLuint, cl_int* status))
NOTHING(cl_mem, clCreateFromGLTexture3D,
        (cl_context, cl_mem_flags, cl_GLenum, cl_GLint, cl_GLuint, cl_int* status))

void* clSVMAlloc(cl_context, cl_svm_mem_flags, size_t, cl_uint) { return nullptr; }
void clSVMFree(cl_context, void*) {}

NONE(clEnqueueSVMFree, (cl_command_queue, cl_uint, void*[],
                        void(CL_CALLBACK*)(cl_command_queue, cl_uint, void*[], void*), void*,
                        cl_uint, const cl_event*, cl_event*))
NONE(clEnqueueSVMMap,
     (cl_command_queue, cl_bool, cl_map_flags, void*, size_t, cl_uint, const cl_event*, cl_event*))
NONE(clEnqueueSVMMemFill,
     (cl_command_queue, void*, const void*, size_t, size_t, cl_uint, const cl_event*, cl_event*))
NONE(clEnqueueSVMMemcpy,
     (cl_command_queue, cl_bool, void*, const void*, size_t, cl_uint, const cl_event*, cl_event*))
NONE(clEnqueueSVMMigrateMem, (cl_command_queue, cl_uint, const void**, const size_t*,
                              cl_mem_migration_flags, cl_uint, const cl_event*, cl_event*))
NONE(clEnqueueSVMUnmap, (cl_command_queue, void*, cl_uint, const cl_event*, cl_event*))
NONE(clGetPipeInfo, (cl_mem, cl_pipe_info, size_t, void*, size_t*))
NONE(clSetKernelArgSVMPointer, (cl_kernel, cl_uint, const void*))
NONE(clGetDeviceAndHostTimer, (cl_device_id, cl_ulong*, cl_ulong*))
NONE(clGetHostTimer, (cl_device_id, cl_ulong*))
NONE(clGetKernelSubGroupInfo, (cl_kernel, cl_device_id, cl_kernel_sub_group_info, size_t,
                               const void*, size_t, void*, size_t*))
NONE(clSetDefaultDeviceCommandQueue, (cl_context, cl_device_id, cl_command_queue))
NONE(clSetProgramSpecializationConstant, (cl_program, cl_uint, size_t, const void*))
NONE(clEnqueueAcquireGLObjects,
     (cl_command_queue, cl_uint, const cl_mem*, cl_uint, const cl_event*, cl_event*))
NONE(clEnqueueReleaseGLObjects,
     (cl_command_queue, cl_uint, const cl_mem*, cl_uint, const cl_event*, cl_event*))
NONE(clGetGLObjectInfo, (cl_mem, cl_gl_object_type*, cl_GLuint*))
NONE(clGetGLTextureInfo, (cl_mem, cl_gl_texture_info, size_t, void*, size_t*))

}  // extern "C"
