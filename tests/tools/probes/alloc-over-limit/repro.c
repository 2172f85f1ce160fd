// SPDX-License-Identifier: MIT
// repro.c - a buffer larger than CL_DEVICE_MAX_MEM_ALLOC_SIZE must be refused.
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

int main(int count, char** words) {
  cl_ulong most = 0;
  cl_int error = 0;
  open_device(count, words);
  check(clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, 0),
        "clGetDeviceInfo");
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)most + (1 << 20), 0, &error);
  printf("at most %llu bytes, says the device; %llu were asked for\n", (unsigned long long)most,
         (unsigned long long)most + (1 << 20));
  if (buffer) return report(1, "clCreateBuffer gave a buffer, and status", error);
  const int refused = error == CL_INVALID_BUFFER_SIZE || error == CL_OUT_OF_RESOURCES ||
                      error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY;
  return report(refused ? 0 : 1, "clCreateBuffer gave no buffer, and status", error);
}
