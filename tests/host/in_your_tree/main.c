/* SPDX-License-Identifier: MIT */
/* main.c - a host in C99 that lends clam its queue and buffers: y = w x + b on threads of its own.
 *
 *     host [THREADS]     each thread has a runtime; all use one context and one plan
 */
#define _POSIX_C_SOURCE 200809L
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clam/clam.h"

enum { M = 3, N = 5, K = 4, ROUNDS = 20 };

static cl_context context;
static cl_device_id device;
static clam_plan *plan;

static void check(clam_status status, const clam_error *error) {
  if (status == CLAM_OK) return;
  fprintf(stderr, "%s\n", error->text);
  exit(1);
}

static void check_cl(cl_int status, const char *what) {
  if (status == CL_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, (int)status);
  exit(1);
}

static cl_mem filled(const char *name, float *x, float *w, float *b) {
  float *from = strcmp(name, "x") == 0 ? x : strcmp(name, "w") == 0 ? w : b;
  size_t bytes = sizeof(float) * (from == x ? M * K : from == w ? N * K : N);
  cl_int status = CL_SUCCESS;
  cl_mem buffer =
      clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, from, &status);
  check_cl(status, "clCreateBuffer");
  return buffer;
}

static void *work(void *argument) {
  float x[M * K], w[N * K], b[N], y[M * N];
  cl_int status = CL_SUCCESS;
  cl_mem buffers[4], result;
  cl_event done;
  clam_error error = {sizeof error, 0, 0, ""};
  clam_runtime *runtime;
  clam_executable *dense;
  clam_tensor tensor = {sizeof tensor, NULL, NULL, 0, 0, NULL, NULL, 0, 0};
  int i, j, k, count = 0, round, wrong = 0, number = *(int *)argument;
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  check_cl(status, "clCreateCommandQueue");
  for (i = 0; i < M * K; ++i) x[i] = (float)(i + number);
  for (i = 0; i < N * K; ++i) w[i] = (float)(i % 3);
  for (i = 0; i < N; ++i) b[i] = (float)i;

  check(clam_runtime_create(queue, NULL, &runtime, &error), &error);
  check(clam_prepare(runtime, plan, &dense, &error), &error);
  result = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof y, NULL, &status);
  check_cl(status, "clCreateBuffer");
  for (i = 0; clam_plan_tensor(plan, i, &tensor, NULL) == CLAM_OK; ++i) {
    cl_mem buffer = tensor.is_output ? result : (buffers[count++] = filled(tensor.name, x, w, b));
    check(clam_bind(dense, tensor.name, buffer, &error), &error);
  }
  check(clam_pack(dense, &error), &error);
  for (round = 0; round < ROUNDS; ++round) {
    check(clam_enqueue(dense, 0, NULL, &done, &error), &error);
    check_cl(clEnqueueReadBuffer(queue, result, CL_TRUE, 0, sizeof y, y, 1, &done, NULL),
             "clEnqueueReadBuffer");
    clReleaseEvent(done);
    for (i = 0; i < M * N; ++i) {
      float sum = b[i % N];
      for (j = i / N * K, k = i % N * K; k < (i % N + 1) * K; ++j, ++k) sum += x[j] * w[k];
      wrong += y[i] != sum;
    }
  }
  check(clam_finish(runtime, &error), &error);
  clam_runtime_destroy(runtime); /* in any order */
  clam_executable_destroy(dense);
  while (count > 0) clReleaseMemObject(buffers[--count]);
  clReleaseMemObject(result);
  clReleaseCommandQueue(queue);
  *(int *)argument = wrong;
  return NULL;
}

int main(int argc, char **argv) {
  enum { MOST = 16 };
  pthread_t threads[MOST];
  int numbers[MOST], count = argc > 1 ? atoi(argv[1]) : 1, wrong = 0, i;
  cl_platform_id platform;
  clam_error error = {sizeof error, 0, 0, ""};
  cl_int status = clGetPlatformIDs(1, &platform, NULL);
  if (count < 1 || count > MOST) return 2;
  check_cl(status, "clGetPlatformIDs");
  check_cl(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  check_cl(status, "clCreateContext");
  check(clam_plan_create("dense m=3 n=5 k=4 dtype=f32 bias", device, NULL, NULL, &plan, &error),
        &error);
  for (i = 0; i < count; ++i) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0) return 1;
  }
  for (i = 0; i < count; ++i) {
    pthread_join(threads[i], NULL);
    wrong += numbers[i];
  }
  clam_plan_destroy(plan);
  clReleaseContext(context);
  puts(wrong == 0 ? "right" : "wrong");
  return wrong != 0;
}
