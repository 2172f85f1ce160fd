// SPDX-License-Identifier: MIT
// replay.c - runs the kernels of this folder on an OpenCL device and holds what they give against
// what is right. C99; it needs the OpenCL headers and library only:
//   cc replay.c -lOpenCL -lm && ./a.out    prints PASS, or FAIL and the first wrong element
//   ./a.out -d 0:1    on the second device of the first platform (or CL_DEVICE=0:1 ./a.out), not
//                     on the first GPU, or the first device where there is none
//   ./a.out -n 20     so many times: a race is not wrong every time
// Ends with 0: PASS, 1: FAIL, 2: cannot run here. Its files lie beside it or in the current folder.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { F32, F16, I32 };
enum role { INPUT, OUTPUT, SCRATCH };
enum kind { BUFFER, INT, FLOAT, LOCAL, NONE, BYTES };

struct buffer {
  const char *name;  // 0 ends the table
  enum role role;
  enum type type;
  size_t bytes;
  const char *input, *expected, *bound;  // .npy files; 0: none. Without bound: bit for bit
};
struct argument {
  enum kind kind;
  long value;         // BUFFER: its place in the table; INT; LOCAL, BYTES: how many
  size_t offset;      // BUFFER: bytes
  float number;       // FLOAT
  const char *bytes;  // BYTES: a value of another type; else 0
};
struct launch {
  const char *file, *kernel;  // file 0 ends the table; kernel 0: the file is built, nothing is run
  const char *options;
  size_t global[3], local[3], offset[3], dimensions;  // local 0: the driver chooses
  int first, count;                                   // of its arguments
};
// single file: begin
struct embedded {  // a file in this one: lines of text, or bytes
  const char *name;
  const char *const *lines;
  const unsigned char *bytes;
  size_t size;
};
// single file: end

// ---- tables: begin ----
static const char title[] = "";  // those of a bundle stand here; each ends with a row of zeros
static const int needs_fp16 = 0;
static const struct buffer buffers[] = {{0, SCRATCH, F32, 0, 0, 0, 0}};
static const struct argument arguments[] = {{NONE, 0, 0, 0, 0}};
static const struct launch launches[] = {{0, 0, 0, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0}};
static const struct embedded embedded[] = {{0, 0, 0, 0}};
// ---- tables: end ----

enum { kPass, kFail, kCannot, kGuard = 4096 };  // kGuard: bytes around a tensor
enum {
  kBuffers = sizeof buffers / sizeof *buffers,
  kLaunches = sizeof launches / sizeof *launches
};

static cl_context context;
static cl_command_queue queue;
static cl_device_id device;
static cl_int error;  // of the last call
static cl_kernel kernels[kLaunches];
static cl_program programs[kLaunches];
static cl_mem memory[kBuffers];
static unsigned char *images[kBuffers];  // what a buffer held at first
static char folder[4096];                // of the program, with its slash

static void stop(int result, const char *what, const char *which, long code) {
  printf("%s: %s %s", result == kFail ? "FAIL" : "CANNOT RUN", what, which);
  printf(code ? " (%ld)\n" : "\n", code);
  exit(result);
}
static void cannot(const char *what, const char *which) { stop(kCannot, what, which, 0); }
static void check(cl_int code, const char *what, const char *which) {
  if (code) stop(kFail, what, which, code);
}

static unsigned char *allocate(size_t size) {
  unsigned char *bytes = calloc(size + 1, 1);
  if (!bytes) cannot("not enough memory", "");
  return bytes;
}

// single file: begin
static unsigned char *read_embedded(const struct embedded *file, size_t *size) {
  *size = file->size;
  for (const char *const *line = file->lines; line && *line; ++line) *size += strlen(*line);
  unsigned char *bytes = allocate(*size);
  if (file->bytes) memcpy(bytes, file->bytes, file->size);
  for (const char *const *line = file->lines; line && *line; ++line) strcat((char *)bytes, *line);
  return bytes;
}
// single file: end

static unsigned char *read_file(const char *name, size_t *size) {
  // single file: begin
  for (const struct embedded *known = embedded; known->name; ++known) {
    if (strcmp(known->name, name) == 0) return read_embedded(known, size);
  }
  // single file: end
  char path[sizeof folder + 256];
  sprintf(path, "%s%.255s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file) file = fopen(name, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) cannot("there is no file", name);
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char *bytes = allocate(*size);
  if (fread(bytes, 1, *size, file) != *size) cannot("cannot read", name);
  fclose(file);
  return bytes;
}

struct npy {
  enum type type;
  const unsigned char *data;
};
static struct npy expectations[kBuffers], bounds[kBuffers];

static size_t size_of(enum type type) { return type == F16 ? 2 : 4; }
static size_t whole_size(const struct buffer *buffer) { return buffer->bytes + 2 * kGuard; }

// NumPy's format, versions 1 and 2; the shape does not matter here.
static struct npy read_npy(const char *name, size_t count) {
  char header[1024] = "";
  size_t size;
  const unsigned char *file = read_file(name, &size);
  if (size < 12 || memcmp(file, "\x93NUMPY", 6) != 0) cannot("this is no .npy file:", name);
  const size_t start = file[6] == 1 ? 10 : 12;
  size_t length = file[8] | (size_t)file[9] << 8;
  if (file[6] != 1) length |= (size_t)file[10] << 16 | (size_t)file[11] << 24;
  if (length >= sizeof header || start + length > size) cannot("damaged header:", name);
  memcpy(header, file + start, length);
  if (strstr(header, "'fortran_order': True")) cannot("in Fortran order:", name);
  const enum type type = strstr(header, "'<f2'") ? F16 : strstr(header, "'<i4'") ? I32 : F32;
  if (type == F32 && !strstr(header, "'<f4'")) cannot("none of <f4 <f2 <i4:", name);
  if (size - start - length != count * size_of(type)) cannot("wrong size:", name);
  return (struct npy){type, file + start + length};
}

static double half_value(unsigned bits) {
  const int exponent = (int)(bits >> 10 & 31);
  const double fraction = bits & 1023;
  double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  if (exponent == 31) value = fraction > 0 ? NAN : INFINITY;
  return bits & 0x8000 ? -value : value;
}

static double value_at(const unsigned char *data, enum type type, size_t i) {
  if (type == F16) return half_value(data[2 * i] | (unsigned)data[2 * i + 1] << 8);
  float single;
  int integer;
  memcpy(&single, data + 4 * i, 4);
  memcpy(&integer, data + 4 * i, 4);
  return type == I32 ? (double)integer : (double)single;
}

// Within an infinite bound (a gap between rows) lies everything. A sum that may exceed the largest
// number may be infinite.
static int is_right(double value, double expected, double bound, enum type type) {
  const double largest = type == F16 ? 65504.0 : 3.4028234663852886e38;
  if (isinf(bound)) return 1;
  if (isnan(value) || isnan(expected)) return isnan(value) && isnan(expected);
  if (isinf(value)) return (value > 0) == (expected > 0) && fabs(expected) + bound > largest;
  return fabs(value - expected) <= bound;
}

static const char *info(cl_device_info what) {
  char *text = (char *)allocate(65536);
  clGetDeviceInfo(device, what, 65536, text, 0);
  return text;
}

static void find_device(const char *wanted) {
  cl_platform_id platforms[32];
  cl_device_id devices[32];
  cl_device_type type = 0;
  cl_uint platform_count = 0;
  int is_gpu = 0;
  clGetPlatformIDs(32, platforms, &platform_count);
  for (cl_uint p = 0; p < platform_count && p < 32; ++p) {
    cl_uint count = 0;
    clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 32, devices, &count);
    for (cl_uint d = 0; d < count && d < 32; ++d) {
      char name[32];
      sprintf(name, "%u:%u", (unsigned)p, (unsigned)d);
      clGetDeviceInfo(devices[d], CL_DEVICE_TYPE, sizeof type, &type, 0);
      if (wanted && strcmp(wanted, name) != 0) continue;
      if (!wanted && device && (is_gpu || !(type & CL_DEVICE_TYPE_GPU))) continue;
      device = devices[d];
      is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
    }
  }
  if (!device) cannot("there is no OpenCL device", wanted ? wanted : "");
  printf("device %s, %s, driver %s\n", info(CL_DEVICE_NAME), info(CL_DEVICE_VERSION),
         info(CL_DRIVER_VERSION));
  if (needs_fp16 && !strstr(info(CL_DEVICE_EXTENSIONS), "cl_khr_fp16"))
    cannot("there is no", "cl_khr_fp16");
}

static cl_program build(const struct launch *launch) {
  size_t size, log_size = 0;
  const char *source = (const char *)read_file(launch->file, &size);
  cl_program program = clCreateProgramWithSource(context, 1, &source, &size, &error);
  check(error, "clCreateProgramWithSource:", launch->file);
  error = clBuildProgram(program, 1, &device, launch->options, 0, 0);
  if (!error) return program;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, 0, &log_size);
  unsigned char *log = allocate(log_size);
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, log_size, log, 0);
  printf("build log of %s with options '%s':\n%s\n", launch->file, launch->options, log);
  check(error, "clBuildProgram:", launch->file);
  return program;
}

static int same(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

static void build_all(void) {
  cl_uint count;
  for (int i = 0; launches[i].file; ++i) {
    const struct launch *to = &launches[i];
    for (int j = 0; j < i && !programs[i]; ++j) {
      if (same(launches[j].file, to->file) && same(launches[j].options, to->options))
        programs[i] = programs[j];
    }
    if (!programs[i]) programs[i] = build(to);
    if (!to->kernel) {
      check(clCreateKernelsInProgram(programs[i], 0, 0, &count), "no kernel in", to->file);
      continue;
    }
    kernels[i] = clCreateKernel(programs[i], to->kernel, &error);
    check(error, "clCreateKernel:", to->kernel);
    size_t allowed = 0;
    clGetKernelWorkGroupInfo(kernels[i], device, CL_KERNEL_WORK_GROUP_SIZE, sizeof allowed,
                             &allowed, 0);
    if (allowed < to->local[0] * to->local[1] * to->local[2])
      stop(kCannot, "fewer work-items in a group are allowed for", to->kernel, (long)allowed);
  }
}

// Inputs, of an OUTPUT too; NaN in all else shows what nobody wrote; around a tensor a pattern.
static void prepare(const struct buffer *buffer, int i) {
  static const unsigned poison[] = {0x7FC0DE00u, 0x7E55u, 0x7BADBAD0u};
  const size_t size = size_of(buffer->type), count = buffer->bytes / size;
  images[i] = allocate(whole_size(buffer));
  memset(images[i], buffer->role == OUTPUT ? 0x5A : 0xFF, whole_size(buffer));
  unsigned char *own = images[i] + kGuard;
  for (size_t at = 0; buffer->role == OUTPUT && at < count; ++at)
    memcpy(own + at * size, &poison[buffer->type], size);
  if (buffer->input) memcpy(own, read_npy(buffer->input, count).data, buffer->bytes);
  if (buffer->expected) expectations[i] = read_npy(buffer->expected, count);
  if (buffer->bound) bounds[i] = read_npy(buffer->bound, count);
  memory[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, whole_size(buffer), 0, &error);
  if (error) stop(kCannot, "clCreateBuffer:", buffer->name, error);
}

static void fill_buffers(void) {
  for (int i = 0; buffers[i].name; ++i) {
    if (!images[i]) prepare(&buffers[i], i);
    check(clEnqueueWriteBuffer(queue, memory[i], 1, 0, whole_size(buffers + i), images[i], 0, 0, 0),
          "clEnqueueWriteBuffer:", buffers[i].name);
  }
}

static cl_int set_argument(cl_kernel kernel, cl_uint index, const struct argument *argument) {
  const long i = argument->value;
  const cl_int integer = (cl_int)i;
  const struct buffer *buffer = &buffers[argument->kind == BUFFER ? i : 0];
  const cl_buffer_region part = {kGuard + argument->offset, buffer->bytes - argument->offset};
  cl_mem own = 0;
  error = CL_SUCCESS;
  if (argument->kind == BUFFER)
    own = clCreateSubBuffer(memory[i], 0, CL_BUFFER_CREATE_TYPE_REGION, &part, &error);
  if (error) stop(kCannot, "clCreateSubBuffer:", buffer->name, error);
  if (argument->kind == INT) return clSetKernelArg(kernel, index, sizeof integer, &integer);
  if (argument->kind == FLOAT) return clSetKernelArg(kernel, index, 4, &argument->number);
  if (argument->kind == LOCAL || argument->kind == BYTES)
    return clSetKernelArg(kernel, index, (size_t)integer, argument->bytes);
  return clSetKernelArg(kernel, index, sizeof own, &own);
}

static void run(int is_first) {
  static cl_event events[kLaunches];
  for (int i = 0; launches[i].file; ++i) {
    const struct launch *to = &launches[i];
    for (int j = 0; is_first && j < to->count; ++j) {
      check(set_argument(kernels[i], (cl_uint)j, &arguments[to->first + j]),
            "clSetKernelArg:", to->kernel);
    }
    check(clEnqueueNDRangeKernel(queue, kernels[i], (cl_uint)to->dimensions, to->offset, to->global,
                                 to->local[0] ? to->local : 0, 0, 0, &events[i]),
          "clEnqueueNDRangeKernel:", to->kernel);
  }
  clFlush(queue);
  for (int i = 0; launches[i].file; ++i) {
    error = clWaitForEvents(1, &events[i]);
    cl_int status = CL_COMPLETE;
    clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, 0);
    check(status != CL_COMPLETE ? status : error, "the execution of", launches[i].kernel);
    clReleaseEvent(events[i]);
  }
}

static int compare(const struct buffer *buffer, const unsigned char *seen, struct npy expected,
                   struct npy bound) {
  const size_t size = size_of(buffer->type), count = buffer->bytes / size;
  size_t first = 0, wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    const int right = bound.data ? is_right(value_at(seen, buffer->type, i),
                                            value_at(expected.data, expected.type, i),
                                            value_at(bound.data, bound.type, i), buffer->type)
                                 : !memcmp(seen + i * size, expected.data + i * size, size);
    if (!right && wrong++ == 0) first = i;
  }
  if (wrong == 0) return kPass;
  printf("FAIL: %s[%lu] is %.9g, expected %.9g", buffer->name, (unsigned long)first,
         value_at(seen, buffer->type, first), value_at(expected.data, expected.type, first));
  if (bound.data) printf(" +- %.3g", value_at(bound.data, bound.type, first));
  printf("%s; %lu of %lu elements are wrong\n", bound.data ? "" : " bit for bit",
         (unsigned long)wrong, (unsigned long)count);
  return kFail;
}

static int judge(void) {
  int result = kPass;
  for (int i = 0; buffers[i].name; ++i) {
    const struct buffer *buffer = &buffers[i];
    const size_t whole = whole_size(buffer);
    if (buffer->role == SCRATCH) continue;
    unsigned char *seen = allocate(whole), *own = seen + kGuard;
    check(clEnqueueReadBuffer(queue, memory[i], CL_TRUE, 0, whole, seen, 0, 0, 0),
          "clEnqueueReadBuffer:", buffer->name);
    if (expectations[i].data) result |= compare(buffer, own, expectations[i], bounds[i]);
    if (buffer->role == OUTPUT) memcpy(own, images[i] + kGuard, buffer->bytes);  // it may change
    if (memcmp(seen, images[i], whole) != 0) {
      printf("FAIL: %s %s was overwritten\n", buffer->role == OUTPUT ? "memory around" : "input",
             buffer->name);
      result = kFail;
    }
    free(seen);
  }
  return result;
}

int main(int argc, char **argv) {
  const char *wanted = getenv("CL_DEVICE"), *slash = strrchr(argv[0], '/');
  long times = 1, failed = 0, i = 1;
  for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
    if (argv[i][1] == 'd') wanted = argv[i + 1];
    if (argv[i][1] == 'n') times = atol(argv[i + 1]);
  }
  if (i < argc || times < 1) cannot("usage: replay [-d PLATFORM:DEVICE] [-n TIMES]", "");
  if (slash && (size_t)(slash - argv[0]) + 2 < sizeof folder)
    memcpy(folder, argv[0], (size_t)(slash - argv[0]) + 1);
  setvbuf(stdout, 0, _IOLBF, 4096);
  printf("%s\n", title);
  find_device(wanted);
  context = clCreateContext(0, 1, &device, 0, 0, &error);
  if (error) stop(kCannot, "clCreateContext", "", error);
  queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
  if (error) stop(kCannot, "clCreateCommandQueue", "", error);
  build_all();
  for (long n = 0; n < times && launches[0].kernel; ++n) {
    fill_buffers();
    run(n == 0);
    failed += judge() != kPass;
  }
  if (times > 1) printf("%ld of %ld runs failed\n", failed, times);
  if (failed == 0) printf("PASS\n");
  return failed ? kFail : kPass;
}
