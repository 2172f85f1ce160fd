// SPDX-License-Identifier: MIT
// host.c - builds the kernels of launches.h, packs, runs them, and checks what they give. C99:
//   cc host.c -lOpenCL -lm && ./a.out    on the first GPU, or the first device where there is none
// Ends with 0: PASS, 1: FAIL, 2: cannot run here. It is the same for every lifted problem.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "launches.h"
static void need(int ok, const char *what, const char *which) {
  if (!ok) printf("CANNOT RUN: %s %s\n", what, which), exit(2);
}
static char *read_file(const char *name, int is_npy) {  // .npy: the tensor as it lies in its buffer
  FILE *file = fopen(name, "rb");
  need(file && fseek(file, 0, SEEK_END) == 0, "there is no file", name);
  const size_t size = (size_t)ftell(file);
  unsigned char *bytes = calloc(size + 12, 1);
  rewind(file);
  need(bytes && fread(bytes, 1, size, file) == size, "cannot read", name);
  return fclose(file), (char *)bytes + (is_npy ? 10 + bytes[8] + 256 * bytes[9] : 0);
}
static double value_at(const char *data, enum type type, size_t i) {
  if (type != F16) return type == I32 ? ((const cl_int *)data)[i] : ((const cl_float *)data)[i];
  const int bits = ((const cl_ushort *)data)[i], exponent = bits >> 10 & 31, rest = bits & 1023;
  const double value = exponent ? ldexp(1024 + rest, exponent - 25) : ldexp(rest, -24);
  return (bits >> 15 ? -1 : 1) * (exponent < 31 ? value : rest ? NAN : INFINITY);
}
static int is_right(double value, double expected, double bound, double largest) {
  return isinf(bound) || (isnan(value) && isnan(expected)) || fabs(value - expected) <= bound ||
         (isinf(value) && value * expected > 0 && fabs(expected) + bound > largest);
}
static size_t count_wrong(const struct buffer *b, cl_command_queue queue, cl_mem memory) {
  const char *expected = read_file(b->expected, 1), *bound = b->bound ? read_file(b->bound, 1) : 0;
  char *seen = malloc(b->bytes);
  size_t size = b->type == F16 ? 2 : 4, wrong = 0;
  need(!clEnqueueReadBuffer(queue, memory, 1, 0, b->bytes, seen, 0, 0, 0), "no result", b->name);
  for (size_t i = 0; i < b->bytes / size; ++i)
    wrong += bound ? !is_right(value_at(seen, b->type, i),
                               value_at(expected, b->type == I32 ? I32 : F32, i),
                               value_at(bound, F32, i), b->type == F16 ? 65504 : 3.402823466e38)
                   : memcmp(seen + i * size, expected + i * size, size) != 0;
  return printf("%s: %lu wrong\n", b->name, (unsigned long)wrong), wrong;
}
int main(void) {
  cl_platform_id platforms[16];
  cl_device_id device = 0;
  cl_uint found = 0, kinds[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL};
  clGetPlatformIDs(16, platforms, &found);
  for (cl_uint i = 0; i < 2 * found && !device; ++i)
    clGetDeviceIDs(platforms[i % found], kinds[i / found], 1, &device, 0);
  need(device != 0, "there is no", "OpenCL device");
  cl_context context = clCreateContext(0, 1, &device, 0, 0, 0);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, 0);
  cl_mem memory[sizeof buffers / sizeof buffers[0]];
  for (const struct buffer *b = buffers; b->name; ++b) {  // NaN where there is no input
    char *bytes = b->input ? read_file(b->input, 1) : memset(malloc(b->bytes), 0xFF, b->bytes);
    memory[b - buffers] = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, b->bytes, bytes, 0);
  }
  for (const struct launch *to = launches; to->file; ++to) {  // the first PACKS of them only once
    const char *text = read_file(to->file, 0);
    cl_program program = clCreateProgramWithSource(context, 1, &text, 0, 0);
    need(!clBuildProgram(program, 1, &device, to->options, 0, 0), "cannot build", to->file);
    cl_kernel kernel = clCreateKernel(program, to->kernel, 0);
    for (int i = 0; i < to->count; ++i) {
      const struct argument *a = &arguments[to->first + i];
      const cl_int n = (cl_int)a->value;
      const void *values[] = {&memory[a->kind == BUFFER ? n : 0], &n, &a->number, 0, 0, a->bytes};
      const size_t sizes[] = {sizeof(cl_mem), 4, 4, (size_t)n, sizeof(cl_mem), (size_t)n};
      clSetKernelArg(kernel, (cl_uint)i, sizes[a->kind], values[a->kind]);
    }
    need(!clEnqueueNDRangeKernel(queue, kernel, 3, 0, to->global, to->local, 0, 0, 0),
         "cannot launch", to->kernel);
  }
  size_t wrong = 0, checked = 0;
  for (const struct buffer *b = buffers; b->name; ++b)
    if (b->expected) wrong += count_wrong(b, queue, memory[b - buffers]), ++checked;
  return puts(!checked ? "NOT CHECKED" : wrong ? "FAIL" : "PASS"), !checked ? 2 : wrong > 0;
}
