// SPDX-License-Identifier: MIT
// watch_test.cpp - `clam watch`: the launches of programs that know nothing of it, as bundles.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "bundle/bundle.hpp"
#include "bundle_runs.hpp"
#include "c_compiler.hpp"
#include "pattern.hpp"
#include "watched_runs.hpp"

namespace clam::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A program with sub-buffers that overlap, a mapped buffer, local memory, a structure, a null
/// buffer, a first id, and a group that the driver chooses. Its output is on standard output.
constexpr const char* kProgram = R"(
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

static const char *source =
    "typedef struct { float by[2]; long row; } parts;\n"
    "__kernel void sum_rows(__global const float* x, __global float* y, __local float* part,\n"
    "                       const parts p, __global const int* unused, const char last) {\n"
    "  const int lid = get_local_id(0);\n"
    "  part[lid] = x[get_group_id(0) * 4 + lid];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  if (lid == 0) y[get_group_id(0)] += part[0] + part[1] + part[2] + part[3] + p.by[1] + last;\n"
    "}\n"
    "__kernel void shift(__global const int* from, __global int* to) {\n"
    "  to[get_global_id(0)] = from[get_global_id(0)] + 1;\n"
    "}\n";

int main(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int e;
  clGetPlatformIDs(1, &platform, 0);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, 0);
  cl_context context = clCreateContext(0, 1, &device, 0, 0, &e);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &e);
  cl_program program = clCreateProgramWithSource(context, 1, &source, 0, &e);
  if (clBuildProgram(program, 1, &device, "-DUNUSED=1", 0, 0)) return 3;
  cl_kernel sum = clCreateKernel(program, "sum_rows", &e), shift = clCreateKernel(program, "shift", &e);
  cl_mem x = clCreateBuffer(context, CL_MEM_READ_ONLY, 64, 0, &e);
  cl_mem y = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS, 16, 0, &e);
  cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, 16, 0, &e);
  float *mapped = clEnqueueMapBuffer(queue, x, CL_TRUE, CL_MAP_WRITE, 0, 64, 0, 0, 0, &e);
  for (int i = 0; i < 16; ++i) mapped[i] = (float)i;
  clEnqueueUnmapMemObject(queue, x, mapped, 0, 0, 0);
  const float one = 1;
  clEnqueueFillBuffer(queue, y, &one, 4, 0, 16, 0, 0, 0);
  struct { float by[2]; long row; } p;
  memset(&p, 0, sizeof p);
  p.by[1] = 0.5f;
  const char last = -2;
  cl_mem none = 0;
  clSetKernelArg(sum, 0, sizeof x, &x);
  clSetKernelArg(sum, 1, sizeof y, &y);
  clSetKernelArg(sum, 2, 16, 0);
  clSetKernelArg(sum, 3, sizeof p, &p);
  clSetKernelArg(sum, 4, sizeof none, &none);
  clSetKernelArg(sum, 5, 1, &last);
  const size_t items = 16, group = 4;
  for (int i = 0; i < 3; ++i)
    if (clEnqueueNDRangeKernel(queue, sum, 1, 0, &items, &group, 0, 0, 0)) return 4;
  clEnqueueCopyBuffer(queue, y, out, 0, 0, 16, 0, 0, 0);
  float sums[4];
  clEnqueueReadBuffer(queue, out, CL_TRUE, 0, 16, sums, 0, 0, 0);
  printf("%g %g %g %g\n", sums[0], sums[1], sums[2], sums[3]);

  cl_uint align = 0;
  clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align, &align, 0);
  align /= 8;
  int words[4096] = {0};
  for (int i = 0; i < 4096; ++i) words[i] = i;
  cl_mem whole = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof words, words, &e);
  const cl_buffer_region low = {0, 2 * align}, high = {align, 2 * align};
  cl_mem from = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &low, &e);
  cl_mem to = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &high, &e);
  clSetKernelArg(shift, 0, sizeof from, &from);
  clSetKernelArg(shift, 1, sizeof to, &to);
  const size_t first = 2, count = 5;
  if (clEnqueueNDRangeKernel(queue, shift, 1, &first, &count, 0, 0, 0, 0)) return 5;
  clEnqueueReadBuffer(queue, whole, CL_TRUE, 0, sizeof words, words, 0, 0, 0);
  long total = 0;
  for (int i = 0; i < 4096; ++i) total += (long)words[i] * (i % 7);
  printf("%ld\n", total);
  return 0;
}
)";

/// The program, compiled once into a folder; empty: there is no compiler.
std::string compiled(const TemporaryFolder& folder) {
  if (!has_compiler()) return "";
  write_file(folder.file("program.c"), kProgram);
  const Finished made = run_command(
      {"/bin/sh", "-c", "cd " + folder.path() + " && cc -g program.c -lOpenCL -o program"});
  EXPECT_EQ(made.code, 0) << made.err;
  return folder.file("program");
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(watch_device, a_c_programs_launches_become_bundles_that_print_the_same_bits) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string program = compiled(folder);
  if (program.empty()) GTEST_SKIP() << "there is no C compiler with OpenCL";
  const Finished bare = run_command({program});
  ASSERT_EQ(bare.code, 0) << bare.out;
  const std::string target = folder.file("seen");
  const Finished watched = watch(target, {}, {program});
  EXPECT_EQ(watched.code, 0) << watched.err;
  EXPECT_EQ(watched.out.rfind(bare.out, 0), 0u) << "the program says the same:\n" << watched.out;
  EXPECT_TRUE(contains(watched.out, "2 bundles recorded, not judged")) << watched.out;
  const std::vector<std::string> wanted{"001-sum_rows", "002-shift"};
  EXPECT_EQ(names_in(target), wanted) << "the second launch of a kind is not written";
  for (const std::string& name : wanted) {
    const std::string path = target + "/" + name;
    const Bundle bundle = read_bundle(path);
    EXPECT_FALSE(bundle.judged);
    const Finished alone = run_c(path);
    EXPECT_EQ(alone.code, 0) << name << alone.out << alone.err;
    EXPECT_EQ(run_clam({"replay", path}).code, 0) << name;
    for (const char* file : {"README.md", "case.json", "plan.json", "device.txt", "replay.c"}) {
      const std::string text = read_file(path + "/" + file);
      EXPECT_EQ(anonymous(text), text) << file;
      EXPECT_FALSE(contains(text, folder.path())) << file << " names where the program lies";
    }
  }
  const Bundle sum = read_bundle(target + "/001-sum_rows"),
               shift = read_bundle(target + "/002-shift");
  EXPECT_EQ(sum.expected.at("y").get(3), 1 + 12 + 13 + 14 + 15 + 0.5 - 2);
  EXPECT_EQ(sum.inputs.at("y").get(3), 1) << "what it adds to, read though the host may not";
  ASSERT_FALSE(sum.callers.empty());
  EXPECT_TRUE(contains(sum.callers[0], "program.c:") && contains(sum.callers[0], " in main"))
      << sum.callers[0];
  EXPECT_EQ(shift.plan->tensors.size(), 1u) << "parts that overlap are one tensor";
  EXPECT_EQ(shift.plan->launches[0].offset[0], 2);
  EXPECT_TRUE(
      contains(read_file(target + "/001-sum_rows/README.md"), "# Recorded, not judged: sum_rows"));
}

TEST(watch_device, a_layer_of_the_loader_sees_the_same) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string program = compiled(folder);
  if (program.empty()) GTEST_SKIP() << "there is no C compiler with OpenCL";
  const Finished bare = run_command({program});
  // A loader that has layers knows their variable.
  const std::string knows = "grep -q OPENCL_LAYERS \"$(ldd " + program +
                            " | sed -n 's/.*libOpenCL.*=> \\([^ ]*\\).*/\\1/p')\"";
  if (run_command({"/bin/sh", "-c", knows}).code != 0) GTEST_SKIP() << "the loader has no layers";
  const Finished watched = watch(folder.file("seen"), {"--layer"}, {program});
  EXPECT_EQ(watched.code, 0) << watched.out << watched.err;
  EXPECT_EQ(watched.out.rfind(bare.out, 0), 0u) << watched.out;
  EXPECT_EQ(names_in(folder.file("seen")), (std::vector<std::string>{"001-sum_rows", "002-shift"}));
  EXPECT_EQ(run_clam({"replay", "--all", folder.file("seen"), "--limit", "1000"}).code, 0);
}

TEST(watch_device, one_launch_or_the_kernels_of_a_name) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string program = compiled(folder);
  if (program.empty()) GTEST_SKIP() << "there is no C compiler with OpenCL";
  ASSERT_EQ(watch(folder.file("third"), {"--launch", "3"}, {program}).code, 0);
  const Bundle third = read_bundle(folder.file("third/001-sum_rows"));
  EXPECT_EQ(third.inputs.at("y").get(0), 1 + 2 * (6 + 0.5 - 2)) << "two launches have run before";
  ASSERT_EQ(watch(folder.file("named"), {"--kernel", "^sh"}, {program}).code, 0);
  EXPECT_EQ(names_in(folder.file("named")), std::vector<std::string>{"001-shift"});
  const Finished little = watch(folder.file("little"), {"--limit", "100"}, {program});
  EXPECT_EQ(little.code, 0) << little.out << little.err;
  EXPECT_TRUE(
      contains(little.err, "kernel shift is not recorded: its buffers exceed what --limit leaves"))
      << little.err;
}

TEST(watch_device, a_library_with_kernels_of_its_own) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string program = compiled_blas(folder);
  if (program.empty()) GTEST_SKIP() << "there is no C compiler with OpenCL and CLBlast";
  const Finished bare = run_command({program});
  ASSERT_EQ(bare.code, 0) << bare.out << bare.err;
  const Finished watched = watch(folder.file("seen"), {}, {program});
  EXPECT_EQ(watched.code, 0) << watched.out << watched.err;
  EXPECT_EQ(watched.out.rfind(bare.out, 0), 0u) << watched.out;
  const std::vector<std::string> names = names_in(folder.file("seen"));
  ASSERT_EQ(names.size(), 1u) << watched.out << watched.err;
  EXPECT_TRUE(contains(names[0], "Xgemv")) << names[0];
  EXPECT_EQ(run_c(folder.file("seen/" + names[0])).code, 0);
  const Bundle bundle = read_bundle(folder.file("seen/" + names[0]));
  for (const TensorSpec& spec : bundle.plan->tensors) {
    EXPECT_EQ(spec.dtype, Dtype::f32) << spec.name << ": CLBlast calls them real";
  }
}

TEST(watch_device, a_thousand_random_launches_of_pyopencl_leave_the_same_bits) {
  CLAM_NEEDS_DEVICE();
  if (!has_pyopencl()) GTEST_SKIP() << kNoPyopencl;
  const TemporaryFolder folder;
  const std::vector<std::string> program = python_program("watched.py", {"7", "1000"});
  const std::vector<std::string> environment{"PYOPENCL_NO_CACHE=1",
                                             "XDG_CACHE_HOME=" + folder.path()};
  const Finished bare = run_command(program, environment);
  ASSERT_EQ(bare.code, 0) << bare.out << bare.err;
  const bool all = is_weekly();  // some 650 launches that differ; else those of one kernel
  const Finished watched =
      watch(folder.file("seen"),
            all ? std::vector<std::string>{} : std::vector<std::string>{"--kernel", "^turn$"},
            program, environment);
  EXPECT_EQ(watched.code, 0) << watched.out << watched.err;
  EXPECT_EQ(watched.out.rfind(bare.out, 0), 0u) << watched.out;
  const std::vector<std::string> names = names_in(folder.file("seen"));
  EXPECT_GE(names.size(), all ? 600u : 5u) << watched.err;
  for (std::size_t i = 0; i < names.size(); i += std::max<std::size_t>(1, names.size() / 5)) {
    const Finished again = run_clam({"replay", folder.file("seen/" + names[i])});
    EXPECT_EQ(again.code, 0) << names[i] << again.out << again.err;
  }
}

TEST(watch_device, a_program_that_opens_its_opencl_itself) {
  CLAM_NEEDS_DEVICE();
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own library must be the first";
#endif
  const TemporaryFolder folder;
  const Finished watched = watch(folder.file("seen"), {},
                                 {CLAM_BINARY, "run", kSoftmax, "--fill", "zero_mean", "--check"});
  EXPECT_EQ(watched.code, 0) << watched.out << watched.err;
  EXPECT_TRUE(contains(watched.out, "check of dst: pass")) << watched.out;
  ASSERT_GE(names_in(folder.file("seen")).size(), 1u) << watched.out << watched.err;
  const Bundle bundle = read_bundle(folder.file("seen/") + names_in(folder.file("seen")).back());
  EXPECT_EQ(bundle.kernels.begin()->second, KernelFiles().get("softmax.cl").text);
}

/// The launch that a program was at is there, whatever ended it.
TEST(watch_scripted, what_was_in_flight_is_written) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  const std::string program = compiled(folder);
  if (program.empty()) GTEST_SKIP() << "there is no C compiler with OpenCL";
  const auto lying = [](const char* does) {
    return scripted::on(scripted::lying("clEnqueueNDRangeKernel", does, {{"kernel", "shift"}}));
  };
  const Finished crashed = watch(folder.file("crashed"), {}, {program}, lying("crash"));
  EXPECT_EQ(crashed.code, 1) << crashed.out << crashed.err;
  EXPECT_TRUE(contains(crashed.out, "the program ended with 134")) << crashed.out;
  const Bundle bundle = read_bundle(folder.file("crashed/002-shift"));
  EXPECT_EQ(bundle.seen.outcome, Seen::Outcome::crashed);
  EXPECT_EQ(bundle.inputs.size(), 1u);
  EXPECT_EQ(read_bundle(folder.file("crashed/001-sum_rows")).seen.outcome, Seen::Outcome::right);

  // Somebody ends the program that hangs, once its bundle is there.
  const std::string hung = folder.file("hung");
  const std::string id = folder.file("id");
  write_file(folder.file("end.sh"),
             fmt::format("while [ ! -e {}/in-flight-shift ]; do sleep 0.1; done\n"
                         "kill -KILL $(cat {})\n",
                         hung, id));
  const Finished ended =
      run_command({"/bin/sh", "-c",
                   fmt::format("sh {} & {} watch --hang 1 -o {} -- sh -c 'echo $$ >{}; exec {}'",
                               folder.file("end.sh"), CLAM_BINARY, hung, id, program)},
                  lying("hang"));
  EXPECT_TRUE(contains(ended.out, "the program ended with 137")) << ended.out << ended.err;
  EXPECT_EQ(read_bundle(hung + "/002-shift").seen.outcome, Seen::Outcome::hung);
  EXPECT_FALSE(fs::exists(hung + "/in-flight-shift")) << "it is not there twice";
}

/// A pyopencl program of `x[i] += 1` over eight elements, with `body` for what launches it.
std::string adding_program(const TemporaryFolder& folder, const std::string& name,
                           const std::string& body, const std::string& type = "int",
                           const std::string& dtype = "int32") {
  write_file(folder.file(name), fmt::format(R"(
import ctypes, threading
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, """#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef {0} own;
__kernel void add(__global own* x) {{ x[get_global_id(0)] += 1; }}""").build()
x = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(8, dtype=np.{1}))
{2}
left = np.empty(8, np.{1})
cl.enqueue_copy(queue, left, x)
print(left)
)",
                                            type, dtype, body));
  return folder.file(name);
}

/// Under clam watch it says the same, in the same time.
void expect_the_same(const TemporaryFolder& folder, const std::string& program, bool is_recorded) {
  const std::vector<std::string> words{kPython, "-W", "ignore", program};
  const Finished bare = run_command(words);
  ASSERT_EQ(bare.code, 0) << bare.err;
  const std::string target = folder.file("seen-" + fs::path(program).stem().string());
  const Finished watched = watch(target, {}, words);
  EXPECT_EQ(watched.code, is_recorded ? 0 : 77) << watched.out << watched.err;
  EXPECT_EQ(watched.out.rfind(bare.out, 0), 0u) << watched.out << watched.err;
}

TEST(watch_device, programs_that_hold_what_a_recording_waits_for) {
  CLAM_NEEDS_DEVICE();
  if (!has_compiler()) GTEST_SKIP() << "there is no C compiler with OpenCL";
  if (!has_pyopencl()) GTEST_SKIP() << kNoPyopencl;
  const TemporaryFolder folder;
  // The launch waits for a copy that waits for the program.
  expect_the_same(folder, adding_program(folder, "event.py", R"(
own = cl.UserEvent(context)
copied = cl.enqueue_copy(queue, x, np.full(8, 5, np.int32), is_blocking=False, wait_for=[own])
program.add(queue, (8,), None, x, wait_for=[copied])
own.set_status(cl.command_execution_status.COMPLETE)
queue.finish())"),
                  false);
  // A thread that launches while another one has Python's lock and waits for it.
  expect_the_same(folder, adding_program(folder, "thread.py", R"(
kernel = program.add
kernel.set_args(x)
opencl, threads = ctypes.PyDLL("libOpenCL.so.1"), ctypes.PyDLL(None)
size = (ctypes.c_size_t * 1)(8)
launch = ctypes.CFUNCTYPE(ctypes.c_int)
import subprocess, os, tempfile
source = """#include <pthread.h>
#include <stddef.h>
typedef int (*enqueue)(void*, void*, unsigned, const size_t*, const size_t*, const size_t*, unsigned, const void*, void*);
struct all { enqueue call; void *queue, *kernel; };
static void* work(void* p) { struct all* a = p; size_t n = 8; a->call(a->queue, a->kernel, 1, 0, &n, 0, 0, 0, 0); return 0; }
void launch(enqueue call, void* queue, void* kernel) {
  struct all a = {call, queue, kernel}; pthread_t t;
  pthread_create(&t, 0, work, &a); pthread_join(t, 0); }"""
with tempfile.TemporaryDirectory() as d:
    open(d + "/t.c", "w").write(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", d + "/t.so", d + "/t.c", "-lpthread"], check=True)
    helper = ctypes.PyDLL(d + "/t.so")
helper.launch(ctypes.cast(opencl.clEnqueueNDRangeKernel, ctypes.c_void_p), ctypes.c_void_p(queue.int_ptr),
              ctypes.c_void_p(kernel.int_ptr))
queue.finish())"),
                  true);
  // A path that is no UTF-8 leaves no error behind.
  fs::create_directory(folder.file("caf\xe9"));
  expect_the_same(folder,
                  adding_program(folder, "caf\xe9/program.py", "program.add(queue, (8,), None, x)"),
                  true);
}

TEST(watch_device, elements_are_known_by_what_the_programs_types_are) {
  CLAM_NEEDS_DEVICE();
  if (!has_pyopencl()) GTEST_SKIP() << kNoPyopencl;
  const TemporaryFolder folder;
  for (const auto& [type, dtype] : std::map<std::string, std::string>{{"float", "float32"},
                                                                      {"unsigned int", "uint32"},
                                                                      {"uint2", "int64"},
                                                                      {"double", "float64"}}) {
    const std::string target = folder.file("seen-" + type);
    const std::string program =
        adding_program(folder, type + ".py", "program.add(queue, (8,), None, x)", type, dtype);
    const std::vector<std::string> words{kPython, "-W", "ignore", program};
    if (type == "double" && run_command(words).code != 0) continue;  // it has none
    ASSERT_EQ(watch(target, {}, words).code, 0);
    const Bundle bundle = read_bundle(target + "/001-add");
    EXPECT_EQ(bundle.plan->tensors[0].dtype, type == "float" ? Dtype::f32 : Dtype::i32) << type;
    EXPECT_EQ(bundle.opaque.size(), type == "double" ? 1u : 0u) << type;
  }
}

TEST(watch_device, includes_that_include_each_other_come_to_an_end) {
  CLAM_NEEDS_DEVICE();
  if (!has_pyopencl()) GTEST_SKIP() << kNoPyopencl;
  const TemporaryFolder folder;
  for (const char* name : {"a", "b", "c"}) {
    write_file(folder.file(std::string(name) + ".h"),
               fmt::format("#ifndef {0}_H\n#define {0}_H\n#include \"a.h\"\n#include \"b.h\"\n"
                           "#include \"c.h\"\n#define HAS_{0} 1\n#endif\n",
                           name));
  }
  write_file(folder.file("program.py"), R"(
import numpy as np, pyopencl as cl, sys
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
text = '#include "a.h"\n__kernel void by(__global int* x) { x[get_global_id(0)] += HAS_a + HAS_b + HAS_c; }'
program = cl.Program(context, text).build(options=["-I", sys.argv[1]])
x = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(8, dtype=np.int32))
program.by(queue, (8,), None, x)
queue.finish()
)");
  ASSERT_EQ(watch(folder.file("seen"), {},
                  {kPython, "-W", "ignore", folder.file("program.py"), folder.path()})
                .code,
            0);
  EXPECT_EQ(run_clam({"replay", folder.file("seen/001-by"), "--limit", "1000"}).code, 0);
}

// ---- against a second driver ----

TEST(watch_scripted, a_miscompiled_kernel_is_found_while_the_program_runs) {
  CLAM_NEEDS_DEVICE();
  if (!has_pyopencl()) GTEST_SKIP() << kNoPyopencl;
  const TemporaryFolder folder;
  const auto check = [&](const std::string& target, int kernels, const json& lies) {
    std::vector<std::string> environment = scripted::on(platform_script("Board", lies));
    environment.push_back("CLAM_OCLGRIND=off");
    return watch(folder.file(target), {"--check", "--with", other_platform(folder, "Other")},
                 python_program("checked.py", {std::to_string(kernels)}), environment);
  };
  const Finished right = check("right", 3, json::array());
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_TRUE(contains(right.out, "3 launches checked, 0 differ")) << right.out << right.err;
  EXPECT_TRUE(fs::is_empty(folder.file("right")));

  const Finished wrong = check("wrong", 30, json::array({misreads("* 4.5f", "* 4.50001f")}));
  EXPECT_EQ(wrong.code, 1) << wrong.out << wrong.err;
  EXPECT_TRUE(contains(wrong.out, "30 launches checked, 1 differs")) << wrong.out;
  EXPECT_EQ(names_in(folder.file("wrong")), std::vector<std::string>{"001-step_4"});
  EXPECT_TRUE(contains(wrong.err,
                       "kernel step_4, launched from checked.py:29 in main: Other gives "
                       "something else: y["))
      << wrong.err;
  const Bundle bundle = read_bundle(folder.file("wrong/001-step_4"));
  EXPECT_FALSE(bundle.judged) << "nobody knows which one is right";
  // The second driver is the first one: nothing is compared.
  std::vector<std::string> same = scripted::on(platform_script("Other"));
  same.push_back("CLAM_OCLGRIND=off");
  const Finished none =
      watch(folder.file("none"), {"--check", "--with", other_platform(folder, "Other")},
            python_program("checked.py", {"1"}), same);
  EXPECT_EQ(none.code, 77) << none.out << none.err;
  EXPECT_TRUE(contains(none.err, "the second driver is the same as the first")) << none.err;
  const std::vector<std::string> callers{"checked.py:29 in main", "checked.py:34 in <module>"};
  EXPECT_EQ(bundle.callers, callers);
}

TEST(watch, a_check_needs_a_second_driver) {
  const TemporaryFolder folder;
  expect_refusal(watch(folder.file("a"), {"--with", "true"}, {"true"}), 2, "add --check");
  expect_refusal(watch(folder.file("b"), {"--check", "--with", "no-such-driver"}, {"true"}), 2,
                 "no-such-driver");
  EXPECT_FALSE(fs::exists(folder.file("b")));
}

// ---- the page ----

/// The commands of tools/README.md under this heading.
std::vector<std::string> commands_under(const std::string& heading) {
  const std::string page = read_file(CLAM_SOURCE_DIR "/tools/README.md");
  const std::string fence = "```text\n";
  const std::size_t start = page.find(fence, page.find("## " + heading + "\n")) + fence.size();
  std::istringstream lines(page.substr(start, page.find("```", start) - start));
  std::vector<std::string> commands;
  for (std::string line; std::getline(lines, line);) commands.push_back(line);
  return commands;
}

/// Word by word, on a board whose compiler misreads one kernel of six. What tools/with-driver gives
/// there is the driver of the tests, as two other platforms.
TEST(watch_scripted, the_five_commands_of_the_page_lead_to_a_text_for_the_tracker) {
  CLAM_NEEDS_DEVICE();
  if (!has_pyopencl()) GTEST_SKIP() << kNoPyopencl;
  const TemporaryFolder folder;
  for (const char* name : {"build", "tools", "bin"}) fs::create_directory(folder.file(name));
  fs::create_symlink(CLAM_BINARY, folder.file("build/clam"));
  fs::create_symlink(CLAM_BUILD_DIR "/libclam_watch.so", folder.file("build/libclam_watch.so"));
  fs::create_symlink(kPython, folder.file("bin/python3"));
  for (const char* name : {"pocl", "llvmpipe"}) other_platform(folder, name);
  std::string command = other_platform(folder, "NAME");
  command.replace(command.find("NAME.json"), 4, "$name");
  write_file(folder.file("tools/with-driver"),
             "#!/bin/sh\nname=$1\nshift\nexec " + command + " \"$@\"\n");
  fs::permissions(folder.file("tools/with-driver"), fs::perms::owner_all);
  std::string program = read_file(CLAM_SOURCE_DIR "/tests/bundle/checked.py");
  program.replace(program.find("int(sys.argv[1])"), 16, "6");
  write_file(folder.file("program.py"), program);
  std::vector<std::string> environment = scripted::on(
      platform_script("Board", nlohmann::json::array({misreads("* 4.5f", "* 4.625f")})));
  environment.push_back("PATH=" + folder.file("bin") + ":" + std::getenv("PATH"));
  const std::vector<std::string> commands = commands_under("My runtime gives wrong results");
  ASSERT_EQ(commands.size(), 5u);
  const int codes[] = {1, 1, 0, 1, 0};  // wrong, wrong, made smaller, wrong, shown
  Finished last;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    last =
        run_command({"/bin/sh", "-c", "cd " + folder.path() + " && " + commands[i]}, environment);
    ASSERT_EQ(last.code, codes[i]) << commands[i] << "\n" << last.out << last.err;
  }
  for (const char* words :
       {"# A wrong result: step_4", "The program launched it from:", "program.py:29 in main",
        "The kernel is probably right", "Shrunk from", "cc replay.c -lOpenCL -lm && ./a.out"}) {
    EXPECT_TRUE(contains(last.out, words)) << words << " not in\n" << last.out;
  }
}

// ---- what a bundle says of the person ----

TEST(watch_device, files_that_a_source_includes_are_in_it) {
  CLAM_NEEDS_DEVICE();
  if (!has_pyopencl()) GTEST_SKIP() << kNoPyopencl;
  const TemporaryFolder folder;
  write_file(folder.file("parts.h"), "#pragma once\n#define BY 3\n");
  write_file(folder.file("more.h"), "#include \"parts.h\"\n#define MORE (BY + 1)\n");
  write_file(folder.file("program.py"), R"(
import numpy as np, pyopencl as cl, sys
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
text = '#include "parts.h"\n#include <more.h>\n__kernel void by(__global int* x) { x[get_global_id(0)] += BY * MORE; }'
program = cl.Program(context, text).build(options=["-I", sys.argv[1], "-DUSED=1"])
x = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(8, dtype=np.int32))
program.by(queue, (8,), None, x)
queue.finish()
)");
  const Finished watched = watch(
      folder.file("seen"), {}, {kPython, "-W", "ignore", folder.file("program.py"), folder.path()});
  ASSERT_EQ(watched.code, 0) << watched.out << watched.err;
  const Bundle bundle = read_bundle(folder.file("seen/001-by"));
  EXPECT_EQ(
      bundle.kernels.at("by.cl").rfind("#pragma once\n#define BY 3\n#define MORE (BY + 1)\n", 0),
      0u)
      << bundle.kernels.at("by.cl");
  EXPECT_EQ(bundle.plan->launches[0].options, "-DUSED=1");
  EXPECT_EQ(bundle.expected.at("x").get(1), 1 + 12);
  fs::remove(folder.file("parts.h"));
  EXPECT_EQ(run_clam({"replay", folder.file("seen/001-by"), "--limit", "1000"}).code, 0);
}

TEST(watch_device, nothing_of_who_and_where_is_kept) {
  CLAM_NEEDS_DEVICE();
  if (!has_pyopencl()) GTEST_SKIP() << kNoPyopencl;
  const TemporaryFolder folder;
  const std::string home = folder.file("data/janes-home"), work = home + "/secret-project";
  for (const char* part : {"", "/janes-headers", "/secret-tmp"})
    fs::create_directories(work + part);
  write_file(work + "/janes-headers/parts.h", "// by Jane Doe's account janedoe\n#define BY 3\n");
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const bool has_host = std::string(host).size() > 1 && !names_nobody(host);
  write_file(work + "/program.py", R"(
import os, sys
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
source = """// written by janedoe in /home/jane-laptop/kernels, /Users/janemac/kernels, HOME/janes-kernels
// on HOST, for root-of-jane's /home/jane.doe@corp.example/x
#line 3 "/home/jane-builder/by.cl"
#pragma jane '/home/jane-pragma/x'
#if 0
#error Jane's file: /home/jane-error/k.cl
#endif
#include "parts.h"
__constant char where[] = "/home/jane-string/by.cl";
/* janedoe /home/jane-comment */
__kernel void by(__global int* x, int max) { x[get_global_id(0)] += BY + max; }
""".replace("HOME", os.environ["HOME"]).replace("HOST", os.uname().nodename)
program = cl.Program(context, source).build(options=[
    "-I", "janes-headers", "-I/home/jane-include", '-DPLACE="/home/jane-define/x"', "-DUSED"])
x = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.arange(8, dtype=np.int32))
def janes_part():
    program.by(queue, (8,), None, x, np.int32(2))
janes_part()
queue.finish()
)");
  const std::vector<std::string> environment{
      "HOME=" + home,       "USER=janedoe",           "LOGNAME=janedoe",
      "SUDO_USER=max",      "API_KEY=secret-api-key", "TMPDIR=" + work + "/secret-tmp",
      "MAIL=/var/mail/jdoe"};
  const Finished watched = run_command(
      {"/bin/sh", "-c",
       fmt::format("cd {} && {} watch -o seen -- {} -W ignore {}/program.py --token secret-token",
                   work, CLAM_BINARY, kPython, work)},
      environment);
  ASSERT_EQ(watched.code, 0) << watched.out << watched.err;
  ASSERT_EQ(names_in(work + "/seen"), std::vector<std::string>{"001-by"}) << watched.err;
  std::vector<std::string> secrets{
      "janedoe",     "janes-home",     "secret-project", "janes-headers", "secret-tmp",
      "jane-laptop", "janemac",        "jane.doe",       "corp.example",  "jane-builder",
      "jane-pragma", "jane-error",     "jane-string",    "jane-comment",  "jane-include",
      "jane-define", "secret-api-key", "secret-token",   "jdoe",          "/data/",
      folder.path(), "program.py --",  "/home/",         "/Users/"};
  EXPECT_GE(secrets.size(), 20u);
  for (const auto& [name, text] : files_of(work + "/seen/001-by")) {
    for (const std::string& secret : secrets)
      EXPECT_FALSE(contains(text, secret)) << secret << " in " << name << ":\n" << text;
    // Other words may have a short name of a host in them.
    const bool names_host = has_host && has_pattern(text, fmt::format("\\b{}\\b", host));
    EXPECT_FALSE(names_host) << text;
  }
  // Where they were known, so that the test could have seen them.
  const Bundle bundle = read_bundle(work + "/seen/001-by");
  EXPECT_EQ(bundle.callers[0], "program.py:22 in janes_part");
  EXPECT_TRUE(contains(bundle.kernels.at("by.cl"), "int max)")) << "code keeps its names";
  EXPECT_TRUE(contains(bundle.kernels.at("by.cl"), "#define BY 3")) << bundle.kernels.at("by.cl");
  EXPECT_EQ(run_clam({"replay", work + "/seen/001-by", "--limit", "1000"}).code, 0);
}

TEST(watch, what_cannot_be_watched_is_said) {
  const TemporaryFolder folder;
  const Finished none = watch(folder.file("none"), {}, {"true"});
  EXPECT_EQ(none.code, 77) << none.out << none.err;
  EXPECT_TRUE(contains(none.out, "no OpenCL launch was seen")) << none.out;
  const Finished missing = watch(folder.file("missing"), {}, {"no-such-program"});
  EXPECT_EQ(missing.code, 77);
  EXPECT_TRUE(contains(missing.err, "no-such-program cannot be started")) << missing.err;
  EXPECT_TRUE(contains(missing.out, "the program ended with 127")) << missing.out;
  const Finished pattern = watch(folder.file("pattern"), {"--kernel", "("}, {"true"});
  EXPECT_EQ(pattern.code, 2);
  EXPECT_TRUE(contains(pattern.err, "this is no regular expression")) << pattern.err;
  EXPECT_FALSE(fs::exists(folder.file("pattern")));
  write_file(folder.file("there"), "");
  EXPECT_EQ(watch(folder.path(), {}, {"true"}).code, 2) << "a folder with something in it stays";
}

}  // namespace
}  // namespace clam::test
