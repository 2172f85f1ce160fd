// SPDX-License-Identifier: MIT
// repro.c - two programs, compiled apart, must link and run.
//   cc repro.c -lOpenCL && ./a.out      prints PASS, or FAIL with what was seen
//   ./a.out 0 1                         on the second device of the first platform
// Ends with 0: PASS, 1: FAIL, 2: cannot run here.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static cl_device_id device;
static cl_context context;

static int report(int code, const char* what, long value) {
  printf("%s: %s (%ld)\n", code == 0 ? "PASS" : code == 1 ? "FAIL" : "CANNOT RUN", what, value);
  return code;
}

static void check(cl_int error, const char* what) {
  if (error) exit(report(2, what, error));
}

static void open_device(int count, char** words) {
  cl_platform_id platforms[32];
  cl_device_id devices[32];
  char name[256] = "", version[256] = "";
  cl_int error;
  const int platform = count > 1 ? atoi(words[1]) : 0, index = count > 2 ? atoi(words[2]) : 0;
  cl_uint platform_count = 0, device_count = 0;
  check(clGetPlatformIDs(32, platforms, &platform_count), "clGetPlatformIDs");
  if (platform < 0 || platform >= (int)platform_count) exit(report(2, "no platform", platform));
  check(clGetDeviceIDs(platforms[platform], CL_DEVICE_TYPE_ALL, 32, devices, &device_count),
        "clGetDeviceIDs");
  if (index < 0 || index >= (int)device_count) exit(report(2, "no device", index));
  device = devices[index];
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, 0);
  clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof version, version, 0);
  printf("device %s, driver %s\n", name, version);
  context = clCreateContext(0, 1, &device, 0, 0, &error);
  check(error, "clCreateContext");
}

static cl_program compiled(const char* text) {
  cl_int error;
  cl_program program = clCreateProgramWithSource(context, 1, &text, 0, &error);
  check(error, "clCreateProgramWithSource");
  check(clCompileProgram(program, 1, &device, "", 0, 0, 0, 0, 0), "clCompileProgram");
  return program;
}

int main(int count, char** words) {
  enum { kItems = 64 };
  const size_t items = kItems;
  cl_int error, link_error, values[kItems] = {0};
  char log[4096] = "";
  open_device(count, words);
  const cl_program parts[] = {
      compiled("int twice(int value);\n"
               "__kernel void go(__global int* dst) { dst[get_global_id(0)] = twice(21); }\n"),
      compiled("int twice(int value);\nint twice(int value) { return 2 * value; }\n")};
  cl_program linked = clLinkProgram(context, 1, &device, "", 2, parts, 0, 0, &link_error);
  if (link_error) {
    if (linked) {
      clGetProgramBuildInfo(linked, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, 0);
    }
    printf("%s\n", log);
    return report(1, "clLinkProgram", link_error);
  }
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  check(error, "clCreateCommandQueue");
  cl_mem dst = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof values, 0, &error);
  check(error, "clCreateBuffer");
  cl_kernel kernel = clCreateKernel(linked, "go", &error);
  if (error) return report(1, "clCreateKernel of the linked program", error);
  check(clSetKernelArg(kernel, 0, sizeof dst, &dst), "clSetKernelArg");
  check(clEnqueueNDRangeKernel(queue, kernel, 1, 0, &items, &items, 0, 0, 0),
        "clEnqueueNDRangeKernel");
  check(clEnqueueReadBuffer(queue, dst, CL_TRUE, 0, sizeof values, values, 0, 0, 0),
        "clEnqueueReadBuffer");
  for (int i = 0; i < kItems; ++i) {
    if (values[i] != 42) return report(1, "twice(21) is", values[i]);
  }
  return report(0, "twice(21) is", values[0]);
}
