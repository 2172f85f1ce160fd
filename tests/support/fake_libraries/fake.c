/* SPDX-License-Identifier: MIT
   fake.c - libraries as boards have them, to be found or passed over. A -D chooses:

     NO_PLATFORM  an ICD loader without a usable .icd file
     NO_DEVICE    a platform without a device: rusticl without RUSTICL_ENABLE
     GLES_ONLY    a libmali without OpenCL
     NEXT="file"  a phone's library, which gives no function to dlsym: those of the OpenCL library `file`
                  come from loadOpenCLPointer, after enableOpenCL
     ABORTS="text"  a blob that finds another kernel driver than its own: it says so, and aborts */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(GLES_ONLY)
int eglGetError(void) { return 0; }
#elif defined(NEXT)
static int enabled;
void enableOpenCL(void) { enabled = 1; }
void* loadOpenCLPointer(const char* name) {
  return enabled ? dlsym(dlopen(NEXT, RTLD_NOW), name) : NULL;
}
#else
int clGetPlatformIDs(unsigned entries, void** platforms, unsigned* count) {
#if defined(ABORTS)
  fprintf(stderr, "%s\n", ABORTS);
  abort();
#elif defined(NO_PLATFORM)
  (void)entries, (void)platforms;
  if (count) *count = 0;
  return -1001;
#else
  static int platform;
  if (entries && platforms) platforms[0] = &platform;
  if (count) *count = 1;
  return 0;
#endif
}
int clGetDeviceIDs(void* platform, unsigned long type, unsigned entries, void** devices,
                   unsigned* count) {
  (void)platform, (void)type, (void)entries, (void)devices;
  if (count) *count = 0;
  return -1;
}
int clGetPlatformInfo(void* platform, unsigned what, unsigned long size, char* value,
                      unsigned long* needs) {
  (void)platform, (void)what;
  if (size && value) *value = 0;
  if (needs) *needs = 1;
  return 0;
}
#endif
