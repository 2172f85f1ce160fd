// SPDX-License-Identifier: MIT
// repro.c - an image made of the second half of a buffer must show that half.
//   cc repro.c -lOpenCL && ./a.out      prints PASS, or FAIL with what was seen
//   ./a.out 0 1                         on the second device of the first platform
// Ends with 0: PASS, 1: FAIL, 2: cannot run here.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const char* const kSource =
    "__kernel void copy(read_only image2d_t src, __global float* dst) {\n"
    "  const sampler_t plain = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;"
    "\n"
    "  const int x = get_global_id(0), y = get_global_id(1);\n"
    "  vstore4(read_imagef(src, plain, (int2)(x, y)), x + y * get_global_size(0), dst);\n"
    "}\n";

static size_t alignment(cl_device_info what) {
  cl_uint pixels = 0;
  clGetDeviceInfo(device, what, sizeof pixels, &pixels, 0);
  return pixels ? pixels : 1;
}

int main(int count, char** words) {
  enum { kHeight = 8, kPixel = 16, kPitchAlignment = 0x104A, kBaseAlignment = 0x104B };
  cl_int error;
  cl_uint base_bits = 0;
  open_device(count, words);
  size_t width = 64;  // a multiple of both alignments of images, in pixels
  while (width % alignment(kPitchAlignment) || width % alignment(kBaseAlignment)) width += 64;
  const size_t floats = width * kHeight * 4, bytes = floats * sizeof(float);
  clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof base_bits, &base_bits, 0);
  if (base_bits && bytes % (base_bits / 8)) return report(2, "no place suits", base_bits);

  float* values = malloc(2 * bytes);
  if (!values) return report(2, "not enough memory", 0);
  for (size_t i = 0; i < 2 * floats; ++i) values[i] = (float)i;
  cl_mem whole =
      clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 2 * bytes, values, &error);
  check(error, "clCreateBuffer");
  const cl_buffer_region region = {bytes, bytes};
  cl_mem half =
      clCreateSubBuffer(whole, CL_MEM_READ_ONLY, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  check(error, "clCreateSubBuffer");
  const cl_image_format format = {CL_RGBA, CL_FLOAT};
  cl_image_desc shape;
  memset(&shape, 0, sizeof shape);
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = width;
  shape.image_height = kHeight;
  shape.image_row_pitch = width * kPixel;
  shape.buffer = half;
  cl_mem image = clCreateImage(context, CL_MEM_READ_ONLY, &format, &shape, 0, &error);
  check(error, "clCreateImage: it may not make images of buffers");

  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  check(error, "clCreateCommandQueue");
  cl_mem dst = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, 0, &error);
  check(error, "clCreateBuffer");
  cl_program program = clCreateProgramWithSource(context, 1, (const char**)&kSource, 0, &error);
  check(error, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "", 0, 0), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "copy", &error);
  check(error, "clCreateKernel");
  check(clSetKernelArg(kernel, 0, sizeof image, &image), "clSetKernelArg");
  check(clSetKernelArg(kernel, 1, sizeof dst, &dst), "clSetKernelArg");
  const size_t items[2] = {width, kHeight};
  check(clEnqueueNDRangeKernel(queue, kernel, 2, 0, items, 0, 0, 0, 0), "clEnqueueNDRangeKernel");
  check(clEnqueueReadBuffer(queue, dst, CL_TRUE, 0, bytes, values, 0, 0, 0), "clEnqueueReadBuffer");
  for (size_t i = 0; i < floats; ++i) {
    if (values[i] == (float)(floats + i)) continue;
    printf("float %lu of the image is %g, not %g\n", (unsigned long)i, values[i],
           (float)(floats + i));
    return report(1, "wrong value", (long)values[i]);
  }
  return report(0, "all floats of the image are right, of", (long)floats);
}
