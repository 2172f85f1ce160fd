// SPDX-License-Identifier: MIT
// clam_c_test.cpp - clam.h: what it exports, what it says of mistakes, and a run through it.
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "c_compiler.hpp"
#include "clam/clam.h"
#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "clam/tuned.hpp"
#include "contains.hpp"
#include "pattern.hpp"
#include "scripted.hpp"

namespace clam::test {
namespace {

constexpr const char* kDense = "dense m=3 n=5 k=4 dtype=f32 bias";

clam_error no_error() { return {sizeof(clam_error), 0, 0, ""}; }

/// A plan for the generic device, or what went wrong.
struct Planned {
  explicit Planned(const char* problem, const clam_plan_options* options = nullptr,
                   const char* facts = nullptr, cl_device_id device = nullptr) {
    status = clam_plan_create(problem, device, facts, options, &plan, &error);
  }
  ~Planned() { clam_plan_destroy(plan); }
  clam_plan* plan = nullptr;
  clam_error error = no_error();
  clam_status status;
};

/// The functions that a text declares or lists, one for each match.
std::set<std::string> names_in(const std::string& text, const char* form) {
  std::set<std::string> names;
  for (const Groups& match : matches(text, form)) names.insert(match[1]);
  return names;
}

std::set<std::string> declared() {
  return names_in(read_file(CLAM_SOURCE_DIR "/host/include/clam/clam.h"), "(clam_[a-z_]+)\\(");
}

std::set<std::string> listed() {
  return names_in(read_file(CLAM_SOURCE_DIR "/host/c/clam.map"), "\\n    (clam_[a-z_]+);");
}

std::set<std::string> exported(const std::string& library) {
  const Finished nm = run_command({"/usr/bin/env", "nm", "-D", "--defined-only", library});
  EXPECT_EQ(nm.code, 0) << nm.err;
  return names_in(nm.out, " [A-Z] ([^@\\n]+)@@CLAM_1");
}

TEST(clam_c, exports_the_functions_of_the_list_and_no_others) {
  const std::string library = CLAM_BUILD_DIR "/libclam.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "libclam.so is not built here";
  EXPECT_EQ(listed().size(), 17u);
  EXPECT_EQ(exported(library), listed());
  const Finished all =
      run_command({"/usr/bin/env", "nm", "-D", "--defined-only", "--no-demangle", library});
  std::set<std::string> others = names_in(all.out, " [A-Za-z] ([^@\\n]+)");
  for (const std::string& name : listed()) others.erase(name);
  EXPECT_EQ(others, std::set<std::string>{"CLAM_1"});  // the version itself
}

TEST(clam_c, declares_what_it_exports) {
  std::set<std::string> functions = declared();
  EXPECT_EQ(functions, listed());
  functions.insert("clam_new");
  EXPECT_NE(functions, listed());
}

TEST(clam_c, knows_its_ops_contracts_and_sources) {
  EXPECT_STREQ(clam_version(), CLAM_VERSION);
  const nlohmann::json ops = nlohmann::json::parse(clam_ops()).at("ops");
  EXPECT_EQ(ops.size(), all_ops().size());
  EXPECT_EQ(ops[0].at("name"), "dense");
  EXPECT_EQ(ops[0].at("variants")[0].at("name"), "dense_packed");
  EXPECT_EQ(ops[0].at("fields")[0].at("kind"), "extent");
  const nlohmann::json files = nlohmann::json::parse(clam_manifest()).at("files");
  EXPECT_EQ(files.size(), embedded_files().size());
  for (const nlohmann::json& file : files) {
    const std::string name = file.at("file");
    EXPECT_EQ(clam_source(name.c_str()), KernelFiles().get(name).text) << name;
  }
  EXPECT_EQ(clam_source("none.cl"), nullptr);
  EXPECT_EQ(clam_source(nullptr), nullptr);
}

TEST(clam_c, plans_as_the_library_does) {
  const Planned generic(kDense), mali(kDense, nullptr, "g610"),
      by_facts(kDense, nullptr, to_json(gpu_device(find_gpu("g610"))).dump().c_str());
  ASSERT_EQ(generic.status, CLAM_OK) << generic.error.text;
  ASSERT_EQ(mali.status, CLAM_OK) << mali.error.text;
  const Problem problem = Problem::parse(kDense);
  EXPECT_EQ(clam_plan_json(generic.plan), to_json(make_plan(problem, generic_device())).dump(1));
  EXPECT_EQ(clam_plan_json(mali.plan),
            to_json(make_plan(problem, gpu_device(find_gpu("g610")))).dump(1));
  EXPECT_STREQ(clam_plan_json(mali.plan), clam_plan_json(by_facts.plan));
}

TEST(clam_c, names_the_tensors_and_their_places) {
  const Planned dense("dense m=3 n=5 k=4 dtype=f16 ldx=8 offx=16");
  ASSERT_EQ(dense.status, CLAM_OK) << dense.error.text;
  clam_tensor x{};
  x.size = sizeof x;
  ASSERT_EQ(clam_plan_tensor(dense.plan, 0, &x, nullptr), CLAM_OK);
  EXPECT_STREQ(x.name, "x");
  EXPECT_STREQ(x.dtype, "f16");
  EXPECT_EQ(x.is_output, 0);
  ASSERT_EQ(x.rank, 2);
  EXPECT_EQ(x.shape[1], 4);
  EXPECT_EQ(x.strides[0], 8);
  EXPECT_EQ(x.strides[1], 1);
  EXPECT_EQ(x.offset, 16);
  EXPECT_EQ(x.bytes, 2 * (16 + 2 * 8 + 4));
  clam_tensor w{};
  w.size = sizeof w;
  ASSERT_EQ(clam_plan_tensor(dense.plan, 1, &w, nullptr), CLAM_OK);
  EXPECT_EQ(w.strides[0], 4);  // dense: the library's own strides are empty
  clam_error error = no_error();
  EXPECT_EQ(clam_plan_tensor(dense.plan, 3, &x, &error), CLAM_BAD_ARGUMENT);
  EXPECT_TRUE(contains(error.text, "there is no tensor 3, it has 3")) << error.text;
  EXPECT_EQ(clam_plan_tensor(dense.plan, -1, &x, &error), CLAM_BAD_ARGUMENT);
}

TEST(clam_c, a_struct_is_read_by_its_size) {
  struct {
    clam_plan_options known{};
    std::int64_t later = 0;  ///< a field of a later version
  } newer;
  newer.known.variant = "dense_nt";
  newer.known.size = sizeof newer;
  const Planned dense(kDense, &newer.known);
  ASSERT_EQ(dense.status, CLAM_OK) << dense.error.text;
  EXPECT_TRUE(contains(clam_plan_json(dense.plan), "dense_nt"));
  newer.later = 1;
  const Planned set(kDense, &newer.known);
  EXPECT_EQ(set.status, CLAM_BAD_ARGUMENT);
  EXPECT_TRUE(contains(set.error.text, "older than clam.h")) << set.error.text;
  for (const std::size_t size : {std::size_t{0}, std::size_t{12}, sizeof newer.known - 1}) {
    newer.known.size = size;
    const Planned unsized(kDense, &newer.known);
    EXPECT_EQ(unsized.status, CLAM_BAD_ARGUMENT);
    EXPECT_TRUE(contains(unsized.error.text, "set their field `size`")) << unsized.error.text;
  }
  clam_plan_options older{};
  older.size = offsetof(clam_plan_options, tuned_dir);  // its caller has no such field
  older.tuned_dir = reinterpret_cast<const char*>(8);
  EXPECT_EQ(Planned(kDense, &older).status, CLAM_OK);
  clam_tensor tensor{};
  tensor.rank = 77;
  tensor.size = offsetof(clam_tensor, rank) + 2;
  EXPECT_EQ(clam_plan_tensor(dense.plan, 0, &tensor, nullptr), CLAM_BAD_ARGUMENT);
  EXPECT_EQ(tensor.rank, 77);
}

/// A table with the one row that the fastest way to compute kDense on this device is `variant`.
void write_row(const TemporaryFolder& folder, const DeviceInfo& device, const char* variant) {
  const Plan plan = make_plan(Problem::parse(kDense), device, {variant});
  TunedRow row = tuned_row(plan, "", {});
  row.us = 1;
  row.date = "2026-11-28";
  write_file(folder.file("table.json"), to_json(TunedTable{{row}}).dump());
}

TEST(clam_c, a_plan_takes_the_measured_rows_of_a_folder) {
  const TemporaryFolder folder;
  write_row(folder, gpu_device(find_gpu("g610")), "dense_nt");
  clam_plan_options options{};
  options.size = sizeof options;
  const Planned as_predicted(kDense, &options, "g610");
  options.tuned_dir = folder.path().c_str();
  const Planned as_measured(kDense, &options, "g610");
  EXPECT_TRUE(contains(clam_plan_json(as_predicted.plan), "\"variant\": \"dense_packed\""));
  EXPECT_TRUE(contains(clam_plan_json(as_measured.plan), "\"variant\": \"dense_nt\""));
  options.tuned_dir = "/nowhere";
  const Planned nowhere(kDense, &options, "g610");
  EXPECT_EQ(nowhere.status, CLAM_BAD_ARGUMENT);
  EXPECT_TRUE(contains(nowhere.error.text, "tuned_dir '/nowhere' is no folder"))
      << nowhere.error.text;
}

TEST(clam_c, an_error_fits_the_callers_struct) {
  const std::string word(300, 'q');
  for (const std::size_t room : {std::size_t{1}, std::size_t{20}, sizeof(clam_error::text)}) {
    clam_error error = no_error();
    error.size = offsetof(clam_error, text) + room;
    std::fill(std::begin(error.text), std::end(error.text), '#');
    clam_plan* plan = nullptr;
    EXPECT_EQ(clam_plan_create(word.c_str(), nullptr, nullptr, nullptr, &plan, &error),
              CLAM_BAD_ARGUMENT);
    EXPECT_EQ(plan, nullptr);
    EXPECT_EQ(error.status, CLAM_BAD_ARGUMENT);
    EXPECT_LT(std::char_traits<char>::length(error.text), room);
    if (room < sizeof error.text) {
      EXPECT_EQ(error.text[room], '#');
    }
  }
  clam_error none = no_error();
  none.size = 3;
  clam_plan* plan = nullptr;
  EXPECT_EQ(clam_plan_create("x", nullptr, nullptr, nullptr, &plan, &none), CLAM_BAD_ARGUMENT);
  EXPECT_EQ(none.status, 0);
}

TEST(clam_c, mistakes_are_sentences_and_no_crash) {
  const struct {
    const char *problem, *facts, *says;
  } mistakes[] = {{nullptr, nullptr, "problem is NULL"},
                  {"", nullptr, "op"},
                  {"dense m=0 n=1 k=1 dtype=f32", nullptr, "m='0'"},
                  {"matmul m=3", nullptr, "unknown op 'matmul'"},
                  {kDense, "g9999", "g9999"},
                  {kDense, "{", "no JSON"},
                  {kDense, "{\"compute_units\": \"four\"}", "compute_units"},
                  {kDense, "{\"compute_units\": 4}", "lack its `name`"}};
  for (const auto& mistake : mistakes) {
    const Planned planned(mistake.problem, nullptr, mistake.facts);
    EXPECT_EQ(planned.status, CLAM_BAD_ARGUMENT);
    EXPECT_TRUE(contains(planned.error.text, mistake.says)) << planned.error.text;
  }
  clam_runtime* runtime = nullptr;
  clam_executable* executable = nullptr;
  const Planned dense(kDense);
  EXPECT_EQ(clam_plan_create(kDense, nullptr, nullptr, nullptr, nullptr, nullptr),
            CLAM_BAD_ARGUMENT);
  EXPECT_EQ(clam_runtime_create(nullptr, nullptr, &runtime, nullptr), CLAM_BAD_ARGUMENT);
  EXPECT_EQ(clam_prepare(nullptr, dense.plan, &executable, nullptr), CLAM_BAD_ARGUMENT);
  EXPECT_EQ(clam_bind(nullptr, "x", nullptr, nullptr), CLAM_BAD_ARGUMENT);
  EXPECT_EQ(clam_pack(nullptr, nullptr), CLAM_BAD_ARGUMENT);
  EXPECT_EQ(clam_enqueue(nullptr, 0, nullptr, nullptr, nullptr), CLAM_BAD_ARGUMENT);
  EXPECT_EQ(clam_finish(nullptr, nullptr), CLAM_BAD_ARGUMENT);
  EXPECT_EQ(clam_plan_tensor(nullptr, 0, nullptr, nullptr), CLAM_BAD_ARGUMENT);
  EXPECT_EQ(clam_plan_json(nullptr), nullptr);
  EXPECT_EQ(clam_executable_plan(nullptr), nullptr);
  clam_plan_destroy(nullptr);
  clam_runtime_destroy(nullptr);
  clam_executable_destroy(nullptr);
}

/// The problem on this device through clam.h, with its tensors bound.
struct Hosted {
  Hosted() {
    const cl::Context context = runtime().context();
    queue = cl::CommandQueue(context, runtime().queue().getInfo<CL_QUEUE_DEVICE>());
    clam_plan* plan = nullptr;
    expect(clam_runtime_create(queue(), nullptr, &own, &error));
    expect(clam_plan_create(kDense, queue.getInfo<CL_QUEUE_DEVICE>()(), nullptr, nullptr, &plan,
                            &error));
    expect(clam_prepare(own, plan, &dense, &error));
    clam_plan_destroy(plan);
    std::iota(values.begin(), values.end(), -3.f);
    x = cl::Buffer(context, CL_MEM_COPY_HOST_PTR, 12 * sizeof(float), values.data());
    w = cl::Buffer(context, CL_MEM_COPY_HOST_PTR, 20 * sizeof(float), values.data());
    b = cl::Buffer(context, CL_MEM_COPY_HOST_PTR, 5 * sizeof(float), values.data());
    y = cl::Buffer(context, CL_MEM_READ_WRITE, 15 * sizeof(float));
  }
  ~Hosted() {
    clam_executable_destroy(dense);
    clam_runtime_destroy(own);
  }
  void expect(clam_status status) { EXPECT_EQ(status, CLAM_OK) << error.text; }
  void bind_all() {
    expect(clam_bind(dense, "x", x(), &error));
    expect(clam_bind(dense, "w", w(), &error));
    expect(clam_bind(dense, "b", b(), &error));
    expect(clam_bind(dense, "y", y(), &error));
  }
  void expect_right() {
    std::vector<float> result(15);
    queue.enqueueReadBuffer(y, CL_TRUE, 0, 15 * sizeof(float), result.data());
    for (std::size_t i = 0; i < 15; ++i) {
      float sum = values[i % 5];
      for (std::size_t k = 0; k < 4; ++k) sum += values[i / 5 * 4 + k] * values[i % 5 * 4 + k];
      EXPECT_EQ(result[i], sum) << i;
    }
  }

  clam_error error = no_error();
  cl::CommandQueue queue;
  clam_runtime* own = nullptr;
  clam_executable* dense = nullptr;
  std::vector<float> values = std::vector<float>(20);
  cl::Buffer x, w, b, y;
};

TEST(clam_c_device, computes_and_says_what_is_missing) {
  CLAM_NEEDS_DEVICE();
  Hosted host;
  EXPECT_EQ(clam_bind(host.dense, "z", host.x(), &host.error), CLAM_BAD_ARGUMENT);
  EXPECT_TRUE(contains(host.error.text, "it has no tensor 'z'")) << host.error.text;
  EXPECT_EQ(clam_enqueue(host.dense, 0, nullptr, nullptr, &host.error), CLAM_BAD_ARGUMENT);
  EXPECT_TRUE(contains(host.error.text, "call clam_pack first")) << host.error.text;
  EXPECT_EQ(clam_pack(host.dense, &host.error), CLAM_BAD_ARGUMENT);
  EXPECT_TRUE(contains(host.error.text, "no buffer is bound to 'w'")) << host.error.text;
  host.bind_all();
  host.expect(clam_pack(host.dense, &host.error));
  host.expect(clam_bind(host.dense, "x", host.b(), &host.error));
  EXPECT_EQ(clam_enqueue(host.dense, 0, nullptr, nullptr, &host.error), CLAM_BAD_ARGUMENT);
  EXPECT_TRUE(contains(host.error.text, "'x' needs 48 bytes")) << host.error.text;
  host.expect(clam_bind(host.dense, "x", host.x(), &host.error));
  host.expect(clam_enqueue(host.dense, 0, nullptr, nullptr, &host.error));
  host.expect_right();
  host.expect(clam_bind(host.dense, "w", nullptr, &host.error));  // they are packed
  host.expect(clam_enqueue(host.dense, 0, nullptr, nullptr, &host.error));
  host.expect_right();
  host.expect(clam_bind(host.dense, "w", host.w(), &host.error));
  EXPECT_EQ(clam_enqueue(host.dense, 0, nullptr, nullptr, &host.error), CLAM_BAD_ARGUMENT);
  EXPECT_TRUE(contains(host.error.text, "call clam_pack first")) << host.error.text;
  host.expect(clam_finish(host.own, &host.error));
  EXPECT_TRUE(
      contains(clam_plan_json(clam_executable_plan(host.dense)), "\"variant\": \"dense_packed\""));
}

TEST(clam_c_device, waits_for_the_events_that_it_is_given) {
  CLAM_NEEDS_DEVICE();
  Hosted host;
  host.bind_all();
  host.expect(clam_pack(host.dense, &host.error));
  cl::UserEvent gate(host.queue.getInfo<CL_QUEUE_CONTEXT>());
  const cl_event before = gate();
  cl_event raw = nullptr;
  EXPECT_EQ(clam_enqueue(host.dense, 1, nullptr, &raw, &host.error), CLAM_BAD_ARGUMENT);
  host.expect(clam_enqueue(host.dense, 1, &before, &raw, &host.error));
  const cl::Event done(raw);
  EXPECT_NE(done.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(), CL_COMPLETE);
  gate.setStatus(CL_COMPLETE);
  done.wait();
  host.expect_right();
}

TEST(clam_c_device, refuses_what_is_of_another_context_or_no_buffer) {
  CLAM_NEEDS_DEVICE();
  Hosted host;
  host.bind_all();
  host.expect(clam_pack(host.dense, &host.error));
  const cl::Context other(host.queue.getInfo<CL_QUEUE_DEVICE>());
  const cl::Buffer foreign(other, CL_MEM_READ_WRITE, 48);
  EXPECT_EQ(clam_bind(host.dense, "x", foreign(), &host.error), CLAM_BAD_ARGUMENT);
  EXPECT_TRUE(contains(host.error.text, "no buffer of the queue's context")) << host.error.text;
  cl::UserEvent elsewhere(other), failed(host.queue.getInfo<CL_QUEUE_CONTEXT>());
  failed.setStatus(-1);
  for (const cl_event before : {cl_event{nullptr}, elsewhere(), failed()}) {
    cl_event event = before;
    EXPECT_EQ(clam_enqueue(host.dense, 1, &before, &event, &host.error), CLAM_BAD_ARGUMENT);
    EXPECT_TRUE(contains(host.error.text, "of `wait`")) << host.error.text;
    EXPECT_EQ(event, nullptr);
  }
  host.expect(clam_enqueue(host.dense, 0, nullptr, nullptr, &host.error));  // nothing is tainted
  host.expect_right();
  elsewhere.setStatus(CL_COMPLETE);
}

TEST(clam_c_device, refuses_options_that_cannot_be) {
  CLAM_NEEDS_DEVICE();
  clam_runtime_options wrong[4] = {};
  wrong[0].kernel_dir = "/nowhere";
  wrong[1].cache_limit = -1;
  wrong[2].max_in_flight = 2147483647;
  wrong[3].tuned_dir = "/nowhere";
  for (clam_runtime_options& options : wrong) {
    options.size = sizeof options;
    clam_runtime* own = nullptr;
    EXPECT_EQ(clam_runtime_create(runtime().queue()(), &options, &own, nullptr), CLAM_BAD_ARGUMENT);
    EXPECT_EQ(own, nullptr);
  }
}

TEST(clam_c_device, a_runtime_takes_the_measured_rows_of_a_folder) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder;
  write_row(folder, runtime().device(), "dense_nt");
  clam_runtime_options options{};
  options.size = sizeof options;
  options.tuned_dir = folder.path().c_str();
  clam_error error = no_error();
  clam_runtime* own = nullptr;
  ASSERT_EQ(clam_runtime_create(runtime().queue()(), &options, &own, &error), CLAM_OK)
      << error.text;
  const cl::Device device = runtime().queue().getInfo<CL_QUEUE_DEVICE>();
  const Planned dense(kDense, nullptr, nullptr, device());
  clam_executable* executable = nullptr;
  EXPECT_EQ(clam_prepare(own, dense.plan, &executable, &error), CLAM_OK) << error.text;
  EXPECT_TRUE(
      contains(clam_plan_json(clam_executable_plan(executable)), "\"variant\": \"dense_nt\""));
  clam_executable_destroy(executable);
  clam_runtime_destroy(own);
}

TEST(clam_c_device, refuses_a_queue_that_is_out_of_order) {
  CLAM_NEEDS_DEVICE();
  cl_int status = CL_SUCCESS;
  const cl::CommandQueue queue(runtime().context(), runtime().queue().getInfo<CL_QUEUE_DEVICE>(),
                               CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
  if (status != CL_SUCCESS) GTEST_SKIP() << "the driver has no such queue";
  clam_runtime* own = nullptr;
  clam_error error = no_error();
  EXPECT_EQ(clam_runtime_create(queue(), nullptr, &own, &error), CLAM_BAD_ARGUMENT);
  EXPECT_TRUE(contains(error.text, "in-order")) << error.text;
}

TEST(clam_c_scripted, a_device_error_taints_and_is_named) {
  CLAM_ON_SCRIPTED_DEVICE();
  Hosted host;
  host.bind_all();
  host.expect(clam_pack(host.dense, &host.error));
  scripted::play(
      scripted::lying("clEnqueueNDRangeKernel", "refuse", {{"status", CL_OUT_OF_RESOURCES}}));
  EXPECT_EQ(clam_enqueue(host.dense, 0, nullptr, nullptr, &host.error), CLAM_DEVICE_FAILED);
  EXPECT_EQ(host.error.cl_status, CL_OUT_OF_RESOURCES);
  scripted::play();
  EXPECT_EQ(clam_enqueue(host.dense, 0, nullptr, nullptr, &host.error), CLAM_DEVICE_FAILED);
  EXPECT_TRUE(contains(host.error.text, "make a new context")) << host.error.text;
  EXPECT_EQ(clam_finish(host.own, &host.error), CLAM_DEVICE_FAILED);
}

TEST(clam_c_scripted, an_executable_of_a_tainted_runtime_waits_before_it_goes) {
  CLAM_ON_SCRIPTED_DEVICE();
  auto host = std::make_unique<Hosted>();
  host->bind_all();
  host->expect(clam_pack(host->dense, &host->error));
  cl_event raw = nullptr;
  host->expect(clam_enqueue(host->dense, 0, nullptr, &raw, &host->error));
  const cl::Event first(raw);
  scripted::play(
      scripted::lying("clEnqueueNDRangeKernel", "refuse", {{"status", CL_OUT_OF_RESOURCES}}));
  EXPECT_EQ(clam_enqueue(host->dense, 0, nullptr, nullptr, &host->error), CLAM_DEVICE_FAILED);
  const std::int64_t before = scripted::counts()["clWaitForEvents"];
  host.reset();
  EXPECT_EQ(scripted::counts()["clWaitForEvents"], before + 1);
}

TEST(clam_c_scripted, a_failure_is_not_lost_where_an_executable_goes) {
  CLAM_ON_SCRIPTED_DEVICE();
  Hosted host;
  host.bind_all();
  host.expect(clam_pack(host.dense, &host.error));
  scripted::play(scripted::lying("clEnqueueNDRangeKernel", "fail", {{"status", -5}}));
  host.expect(clam_enqueue(host.dense, 0, nullptr, nullptr, &host.error));
  clam_executable_destroy(host.dense);
  host.dense = nullptr;
  EXPECT_EQ(clam_finish(host.own, &host.error), CLAM_DEVICE_FAILED);
  EXPECT_TRUE(contains(host.error.text, "CL_OUT_OF_RESOURCES")) << host.error.text;
}

TEST(clam_c_scripted, a_kernel_that_does_not_build_gives_the_log) {
  CLAM_ON_SCRIPTED_DEVICE();
  Hosted host;
  scripted::play(scripted::lying("clBuildProgram", "refuse", {{"status", -11}}));
  const Planned other("softmax shape=3x7 dtype=f32", nullptr, nullptr,
                      host.queue.getInfo<CL_QUEUE_DEVICE>()());
  clam_executable* executable = nullptr;
  EXPECT_EQ(clam_prepare(host.own, other.plan, &executable, &host.error), CLAM_BUILD_FAILED);
  EXPECT_EQ(executable, nullptr);
  EXPECT_TRUE(contains(host.error.text, "softmax.cl")) << host.error.text;
}

/// The host of in_your_tree, against libclam.so, or against the library built anew with `flags`.
void expect_host_is_right(const std::string& build) {
  const std::string command = "cc -std=c99 -pedantic -Wall -Wextra -Werror -O1 -I" CLAM_SOURCE_DIR
                              "/host/include " +
                              build + " && ./host 1 && ./host 4";
  const TemporaryFolder folder;
  const Finished ran = run_command({"/bin/sh", "-c", "cd " + folder.path() + " && " + command});
  EXPECT_EQ(ran.out, "right\nright\n") << ran.err;
  EXPECT_EQ(ran.code, 0) << ran.err;
}

constexpr const char* kHost = CLAM_SOURCE_DIR "/tests/host/in_your_tree/main.c";

TEST(clam_c_device, a_host_in_c99_runs_on_threads) {
  CLAM_NEEDS_DEVICE();
  if (!std::filesystem::exists(CLAM_BUILD_DIR "/libclam.so"))
    GTEST_SKIP() << "libclam.so is not built here";
  if (!has_compiler()) GTEST_SKIP() << "there is no C compiler with OpenCL here";
  expect_host_is_right(std::string(kHost) + " -o host -L" CLAM_BUILD_DIR
                                            " -Wl,-rpath," CLAM_BUILD_DIR
                                            " -lclam -lOpenCL -lpthread");
}

/// Builds the library with the sanitizers, of one op, and the host against it.
void expect_clean(const std::string& sanitizers) {
  const TemporaryFolder build;
  const std::string flags = "-fsanitize=" + sanitizers + " -fno-omit-frame-pointer -g1";
  const Finished built = run_command(
      {"/bin/sh", "-c",
       "cmake -G Ninja -S " CLAM_SOURCE_DIR "/tests/host/in_your_tree -B " + build.path() +
           " -DCLAM_DIR=" CLAM_SOURCE_DIR " -DCLAM_OPS=dense -DCMAKE_CXX_FLAGS='-O0 " + flags +
           "' && cmake --build " + build.path() + " -j2 --target clam_host"});
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  expect_host_is_right(flags + " " + kHost + " -o host " + build.path() +
                       "/clam/libclam.a -lOpenCL -lpthread -lfmt -lxxhash -ldl -lstdc++ -lm");
}

TEST(clam_c_sanitized, no_address_or_undefined_behaviour_is_reported) {
  CLAM_NEEDS_DEVICE();
  if (!has_compiler()) GTEST_SKIP() << "there is no C compiler with OpenCL here";
  expect_clean("address,undefined");
}

TEST(clam_c_sanitized, no_race_is_reported) {
  CLAM_NEEDS_DEVICE();
  if (!has_compiler()) GTEST_SKIP() << "there is no C compiler with OpenCL here";
  expect_clean("thread");
}

}  // namespace
}  // namespace clam::test
