// SPDX-License-Identifier: MIT
// forwarded.cpp - all other functions of OpenCL 1.2: the script may still lie in them, but they
// take no time of their own.
#include "commands.hpp"
#include "next.hpp"

using scripted::enter;
using scripted::Orders;

// A function that returns a status.
#define CALL(name, parameters, arguments)                     \
  cl_int name parameters {                                    \
    const Orders orders = enter(#name);                       \
    if (const auto status = orders.refusal()) return *status; \
    return NEXT(name) arguments;                              \
  }

// One that makes an object, and leaves its status in `status`.
#define MAKE(type, name, parameters, arguments, status) \
  type name parameters {                                \
    if (refused(enter(#name), status)) return nullptr;  \
    return NEXT(name) arguments;                        \
  }

// One that enqueues a command, whose event is `event`.
#define COMMAND(name, parameters, arguments, event)                                                \
  cl_int name parameters {                                                                         \
    scripted::memory_changes();                                                                    \
    return scripted::command(enter(#name), 0, false, event, [&] { return NEXT(name) arguments; }); \
  }

extern "C" {

CALL(clGetDeviceIDs, (cl_platform_id a, cl_device_type b, cl_uint c, cl_device_id* d, cl_uint* e),
     (a, b, c, d, e))
CALL(clCreateSubDevices,
     (cl_device_id a, const cl_device_partition_property* b, cl_uint c, cl_device_id* d,
      cl_uint* e),
     (a, b, c, d, e))
CALL(clRetainDevice, (cl_device_id a), (a))
CALL(clReleaseDevice, (cl_device_id a), (a))
CALL(clRetainContext, (cl_context a), (a))
CALL(clReleaseContext, (cl_context a), (a))
CALL(clGetContextInfo, (cl_context a, cl_context_info b, size_t c, void* d, size_t* e),
     (a, b, c, d, e))
CALL(clRetainCommandQueue, (cl_command_queue a), (a))
CALL(clGetCommandQueueInfo,
     (cl_command_queue a, cl_command_queue_info b, size_t c, void* d, size_t* e), (a, b, c, d, e))
CALL(clRetainMemObject, (cl_mem a), (a))
CALL(clReleaseMemObject, (cl_mem a), (a))
CALL(clGetSupportedImageFormats,
     (cl_context a, cl_mem_flags b, cl_mem_object_type c, cl_uint d, cl_image_format* e,
      cl_uint* f),
     (a, b, c, d, e, f))
CALL(clGetMemObjectInfo, (cl_mem a, cl_mem_info b, size_t c, void* d, size_t* e), (a, b, c, d, e))
CALL(clGetImageInfo, (cl_mem a, cl_image_info b, size_t c, void* d, size_t* e), (a, b, c, d, e))
CALL(clSetMemObjectDestructorCallback, (cl_mem a, void(CL_CALLBACK* b)(cl_mem, void*), void* c),
     (a, b, c))
CALL(clRetainSampler, (cl_sampler a), (a))
CALL(clReleaseSampler, (cl_sampler a), (a))
CALL(clGetSamplerInfo, (cl_sampler a, cl_sampler_info b, size_t c, void* d, size_t* e),
     (a, b, c, d, e))
CALL(clRetainProgram, (cl_program a), (a))
CALL(clCompileProgram,
     (cl_program a, cl_uint b, const cl_device_id* c, const char* d, cl_uint e, const cl_program* f,
      const char** g, void(CL_CALLBACK* h)(cl_program, void*), void* i),
     (a, b, c, d, e, f, g, h, i))
CALL(clUnloadPlatformCompiler, (cl_platform_id a), (a))
CALL(clGetProgramBuildInfo,
     (cl_program a, cl_device_id b, cl_program_build_info c, size_t d, void* e, size_t* f),
     (a, b, c, d, e, f))
CALL(clRetainKernel, (cl_kernel a), (a))
CALL(clReleaseKernel, (cl_kernel a), (a))
CALL(clGetKernelInfo, (cl_kernel a, cl_kernel_info b, size_t c, void* d, size_t* e),
     (a, b, c, d, e))
CALL(clGetKernelArgInfo,
     (cl_kernel a, cl_uint b, cl_kernel_arg_info c, size_t d, void* e, size_t* f),
     (a, b, c, d, e, f))
CALL(clRetainEvent, (cl_event a), (a))
CALL(clSetUserEventStatus, (cl_event a, cl_int b), (a, b))
CALL(clSetCommandQueueProperty,
     (cl_command_queue a, cl_command_queue_properties b, cl_bool c, cl_command_queue_properties* d),
     (a, b, c, d))
CALL(clEnqueueWaitForEvents, (cl_command_queue a, cl_uint b, const cl_event* c), (a, b, c))
CALL(clEnqueueBarrier, (cl_command_queue a), (a))
CALL(clUnloadCompiler, (void), ())

MAKE(cl_context, clCreateContextFromType,
     (const cl_context_properties* a, cl_device_type b,
      void(CL_CALLBACK* c)(const char*, const void*, size_t, void*), void* d, cl_int* e),
     (a, b, c, d, e), e)
MAKE(cl_mem, clCreateImage,
     (cl_context a, cl_mem_flags b, const cl_image_format* c, const cl_image_desc* d, void* e,
      cl_int* f),
     (a, b, c, d, e, f), f)
MAKE(cl_program, clCreateProgramWithBuiltInKernels,
     (cl_context a, cl_uint b, const cl_device_id* c, const char* d, cl_int* e), (a, b, c, d, e), e)
MAKE(cl_event, clCreateUserEvent, (cl_context a, cl_int* b), (a, b), b)
MAKE(void*, clEnqueueMapImage,
     (cl_command_queue a, cl_mem b, cl_bool c, cl_map_flags d, const size_t* e, const size_t* f,
      size_t* g, size_t* h, cl_uint i, const cl_event* j, cl_event* k, cl_int* l),
     (a, b, c, d, e, f, g, h, i, j, k, l), l)
MAKE(cl_mem, clCreateImage2D,
     (cl_context a, cl_mem_flags b, const cl_image_format* c, size_t d, size_t e, size_t f, void* g,
      cl_int* h),
     (a, b, c, d, e, f, g, h), h)
MAKE(cl_mem, clCreateImage3D,
     (cl_context a, cl_mem_flags b, const cl_image_format* c, size_t d, size_t e, size_t f,
      size_t g, size_t h, void* i, cl_int* j),
     (a, b, c, d, e, f, g, h, i, j), j)
MAKE(cl_command_queue, clCreateCommandQueue,
     (cl_context a, cl_device_id b, cl_command_queue_properties c, cl_int* d), (a, b, c, d), d)
MAKE(cl_sampler, clCreateSampler,
     (cl_context a, cl_bool b, cl_addressing_mode c, cl_filter_mode d, cl_int* e), (a, b, c, d, e),
     e)

COMMAND(clEnqueueReadBufferRect,
        (cl_command_queue a, cl_mem b, cl_bool c, const size_t* d, const size_t* e, const size_t* f,
         size_t g, size_t h, size_t i, size_t j, void* k, cl_uint l, const cl_event* m,
         cl_event* n),
        (a, b, c, d, e, f, g, h, i, j, k, l, m, n), n)
COMMAND(clEnqueueWriteBufferRect,
        (cl_command_queue a, cl_mem b, cl_bool c, const size_t* d, const size_t* e, const size_t* f,
         size_t g, size_t h, size_t i, size_t j, const void* k, cl_uint l, const cl_event* m,
         cl_event* n),
        (a, b, c, d, e, f, g, h, i, j, k, l, m, n), n)
COMMAND(clEnqueueCopyBufferRect,
        (cl_command_queue a, cl_mem b, cl_mem c, const size_t* d, const size_t* e, const size_t* f,
         size_t g, size_t h, size_t i, size_t j, cl_uint k, const cl_event* l, cl_event* m),
        (a, b, c, d, e, f, g, h, i, j, k, l, m), m)
COMMAND(clEnqueueReadImage,
        (cl_command_queue a, cl_mem b, cl_bool c, const size_t* d, const size_t* e, size_t f,
         size_t g, void* h, cl_uint i, const cl_event* j, cl_event* k),
        (a, b, c, d, e, f, g, h, i, j, k), k)
COMMAND(clEnqueueWriteImage,
        (cl_command_queue a, cl_mem b, cl_bool c, const size_t* d, const size_t* e, size_t f,
         size_t g, const void* h, cl_uint i, const cl_event* j, cl_event* k),
        (a, b, c, d, e, f, g, h, i, j, k), k)
COMMAND(clEnqueueFillImage,
        (cl_command_queue a, cl_mem b, const void* c, const size_t* d, const size_t* e, cl_uint f,
         const cl_event* g, cl_event* h),
        (a, b, c, d, e, f, g, h), h)
COMMAND(clEnqueueCopyImage,
        (cl_command_queue a, cl_mem b, cl_mem c, const size_t* d, const size_t* e, const size_t* f,
         cl_uint g, const cl_event* h, cl_event* i),
        (a, b, c, d, e, f, g, h, i), i)
COMMAND(clEnqueueCopyImageToBuffer,
        (cl_command_queue a, cl_mem b, cl_mem c, const size_t* d, const size_t* e, size_t f,
         cl_uint g, const cl_event* h, cl_event* i),
        (a, b, c, d, e, f, g, h, i), i)
COMMAND(clEnqueueCopyBufferToImage,
        (cl_command_queue a, cl_mem b, cl_mem c, size_t d, const size_t* e, const size_t* f,
         cl_uint g, const cl_event* h, cl_event* i),
        (a, b, c, d, e, f, g, h, i), i)
COMMAND(clEnqueueMigrateMemObjects,
        (cl_command_queue a, cl_uint b, const cl_mem* c, cl_mem_migration_flags d, cl_uint e,
         const cl_event* f, cl_event* g),
        (a, b, c, d, e, f, g), g)
COMMAND(clEnqueueNativeKernel,
        (cl_command_queue a, void(CL_CALLBACK* b)(void*), void* c, size_t d, cl_uint e,
         const cl_mem* f, const void** g, cl_uint h, const cl_event* i, cl_event* j),
        (a, b, c, d, e, f, g, h, i, j), j)
COMMAND(clEnqueueMarkerWithWaitList,
        (cl_command_queue a, cl_uint b, const cl_event* c, cl_event* d), (a, b, c, d), d)
COMMAND(clEnqueueBarrierWithWaitList,
        (cl_command_queue a, cl_uint b, const cl_event* c, cl_event* d), (a, b, c, d), d)
COMMAND(clEnqueueMarker, (cl_command_queue a, cl_event* b), (a, b), b)

void* clGetExtensionFunctionAddress(const char* a) {
  enter("clGetExtensionFunctionAddress");
  return NEXT(clGetExtensionFunctionAddress)(a);
}

}  // extern "C"
