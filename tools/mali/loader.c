// SPDX-License-Identifier: MIT
// loader.c - builds OpenCL programs on whatever driver it is run on, and launches nothing.
//
//     loader JOBS       JOBS has one line a program: NAME <tab> SOURCE FILE <tab> BUILD OPTIONS
//
// The driver prints its listings on standard error; between them stand the lines of this program:
//     clam: begin NAME
//     clam: end NAME ok              or "failed", and after it the build log up to "clam: log end"
// Built with -rdynamic, since it also stands in for three functions of libdrm (below).
// It ends with _exit, because drivers that never ran anything may crash on their way out.
//
// CLAM_MALI_LIBRARY may name a folder of one GPU and driver, where Mesa's library of functions is kept as
// the compiler reads it: to read it anew takes half a minute in an emulator. It is Mesa's own cache, closed
// before the first program is built: a program that is found in a cache is not compiled, and nothing is
// printed about it.
#include <CL/cl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kMaxKernels = 64 };  // of a program

// The simulated kernel driver knows no fences, and Mesa 25.0 crashes for want of one when it uploads
// the tables of a kernel (log has one). Nothing is ever computed, so every fence is reached at once.
int drmSyncobjExportSyncFile(int fd, uint32_t handle, int* sync_file) {
  (void)fd, (void)handle;
  *sync_file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return *sync_file < 0;
}

int drmSyncobjImportSyncFile(int fd, uint32_t handle, int sync_file) {
  (void)fd, (void)handle, (void)sync_file;
  return 0;
}

int drmSyncobjWait(int fd, uint32_t* handles, unsigned count, int64_t timeout, unsigned flags,
                   uint32_t* first) {
  (void)fd, (void)handles, (void)count, (void)timeout, (void)flags;
  if (first) *first = 0;
  return 0;
}

static void stop(const char* what, int code) {
  fprintf(stderr, "clam: stop %s (%d)\n", what, code);
  _exit(3);
}

// ---- the library of functions ----

static int library = -1;

// Its path leads through a descriptor of this process, so that it can be closed under Mesa; which takes files
// by their paths in one of its modes alone. Without the folder Mesa caches nothing, as the caller has told it.
static void show_library(void) {
  const char* folder = getenv("CLAM_MALI_LIBRARY");
  char path[32];
  if (!folder || access(folder, W_OK) != 0) return;
  library = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (library < 0) return;
  snprintf(path, sizeof path, "/proc/self/fd/%d", library);
  const char* other_modes[] = {"MESA_SHADER_CACHE_DISABLE", "MESA_DISK_CACHE_SINGLE_FILE",
                               "MESA_DISK_CACHE_DATABASE", "MESA_DISK_CACHE_READ_ONLY_FOZ_DBS",
                               "MESA_DISK_CACHE_COMBINE_RW_WITH_RO_FOZ"};
  for (size_t i = 0; i < sizeof other_modes / sizeof *other_modes; ++i) unsetenv(other_modes[i]);
  setenv("MESA_SHADER_CACHE_DIR", path, 1);
  setenv("MESA_DISK_CACHE_MULTI_FILE", "true", 1);
}

// Whether `folder`, or one in it, has a file of the library's size. Mesa renames what it has written.
static int has_library(const char* folder) {
  enum { kLeast = 100000 };
  DIR* entries = opendir(folder);
  int found = 0;
  for (struct dirent* entry; entries && !found && (entry = readdir(entries));) {
    const size_t length = strlen(entry->d_name);
    const int unfinished = length > 4 && strcmp(entry->d_name + length - 4, ".tmp") == 0;
    char path[4096];
    struct stat what;
    if (entry->d_name[0] == '.' || unfinished || strcmp(entry->d_name, "index") == 0) continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (stat(path, &what) != 0) continue;
    found = S_ISDIR(what.st_mode) ? has_library(path) : what.st_size >= kLeast;
  }
  if (entries) closedir(entries);
  return found;
}

// Mesa writes it from a thread of its own, so the first time that is waited for. Where a file stands for
// the folder nothing is found or written any more.
static void hide_library(void) {
  enum { kPause = 50000, kPauses = 200 };  // of microseconds: ten seconds in all
  if (library < 0) return;
  for (int i = 0; i < kPauses && !has_library(getenv("CLAM_MALI_LIBRARY")); ++i) usleep(kPause);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing < 0 || dup2(nothing, library) < 0) stop("the cache cannot be closed", errno);
}

static cl_device_id first_device(void) {
  cl_platform_id platforms[8];
  cl_uint count = 0;
  cl_device_id device;
  if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) count = 0;
  for (cl_uint i = 0; i < count && i < 8; ++i) {
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS) {
      return device;
    }
  }
  stop("the driver shows no device", (int)count);
  return NULL;
}

static char* read_text(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) stop(path, -1);
  const long size = ftell(file);
  rewind(file);
  char* text = size < 0 ? NULL : malloc((size_t)size + 1);
  if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) stop(path, -1);
  text[size] = '\0';
  fclose(file);
  return text;
}

static void print_log(cl_program program, cl_device_id device) {
  size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char* log = calloc(size + 1, 1);
  if (log) clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
  fprintf(stderr, "%s\nclam: log end\n", log ? log : "");
  free(log);
}

static void build(cl_context context, cl_device_id device, const char* name, const char* path,
                  const char* options) {
  fprintf(stderr, "clam: begin %s\n", name);
  char* text = read_text(path);
  const char* source = text;
  cl_int error = CL_SUCCESS;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
  if (error == CL_SUCCESS) error = clBuildProgram(program, 1, &device, options, NULL, NULL);
  if (error == CL_SUCCESS) {
    // Some drivers compile here, not at the build.
    cl_kernel kernels[kMaxKernels];
    cl_uint count = 0;
    error = clCreateKernelsInProgram(program, kMaxKernels, kernels, &count);
    for (cl_uint i = 0; error == CL_SUCCESS && i < count; ++i) clReleaseKernel(kernels[i]);
  }
  fprintf(stderr, "clam: end %s %s\n", name, error == CL_SUCCESS ? "ok" : "failed");
  if (error != CL_SUCCESS) print_log(program, device);
  fflush(stderr);
  clReleaseProgram(program);
  free(text);
}

int main(int count, char** arguments) {
  if (count != 2) stop("usage: loader JOBS", count);
  show_library();
  const cl_device_id device = first_device();
  cl_int error = CL_SUCCESS;
  const cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  if (error != CL_SUCCESS) stop("no context", error);
  hide_library();
  char* jobs = read_text(arguments[1]);
  for (char* line = strtok(jobs, "\n"); line; line = strtok(NULL, "\n")) {
    char* path = strchr(line, '\t');
    char* options = path ? strchr(path + 1, '\t') : NULL;
    if (!options) stop("a job needs NAME, SOURCE and OPTIONS", -1);
    *path++ = '\0';
    *options++ = '\0';
    build(context, device, line, path, options);
  }
  fflush(stderr);
  _exit(0);
}
