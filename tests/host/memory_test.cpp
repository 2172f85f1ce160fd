// SPDX-License-Identifier: MIT
// memory_test.cpp - buffers that host and device share: they hold what the host wrote, and nothing
// is copied by a call.
#include "clam/memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "contains.hpp"
#include "scripted.hpp"
#include "test_errors.hpp"

namespace clam::test {
namespace {

constexpr std::int64_t kBytes = 4096;
constexpr int kFloats = kBytes / 4;

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};
using Lines = std::unique_ptr<float, Freed>;

Lines aligned(std::int64_t alignment, std::int64_t bytes = kBytes) {
  return Lines(static_cast<float*>(
      std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(bytes))));
}

cl::Device device_of(Runtime& own) { return own.queue().getInfo<CL_QUEUE_DEVICE>(); }

/// y = 2 x + 1 in these buffers, of which the host writes x and reads y by mapping.
void expect_shared(Runtime& own, const cl::Buffer& x, const cl::Buffer& y) {
  Executable executable =
      own.prepare(Problem::parse("unary op=relu shape=1024 dtype=f32 scale=2 shift=1"));
  for (int round = 0; round < 3; ++round) {
    {
      const Mapped mapped(own.queue(), x, CL_MAP_WRITE_INVALIDATE_REGION);
      auto* values = static_cast<float*>(mapped.data());
      for (int i = 0; i < kFloats; ++i) values[i] = static_cast<float>(i + round);
    }
    own.enqueue(executable, {{"src", x}, {"dst", y}});
    const Mapped mapped(own.queue(), y, CL_MAP_READ);
    const auto* results = static_cast<const float*>(mapped.data());
    for (int i = 0; i < kFloats; ++i)
      ASSERT_EQ(results[i], 2.f * static_cast<float>(i + round) + 1);
  }
  own.finish();
}

/// By all ways that this device has.
void expect_all_shared(Runtime& own) {
  const cl::Device device = device_of(own);
  const cl::Context context = own.context();
  expect_shared(own, host_visible(context, kBytes), host_visible(context, kBytes));
  const std::int64_t alignment = shared_alignment(device);
  ASSERT_EQ(kBytes % alignment, 0);
  const Lines x = aligned(alignment), y = aligned(alignment);
  const cl::Buffer on_y = wrap(context, device, y.get(), kBytes);
  expect_shared(own, wrap(context, device, x.get(), kBytes), on_y);
  const Mapped mapped(own.queue(), on_y, CL_MAP_READ);
  EXPECT_EQ(mapped.data(), y.get());
  EXPECT_EQ(y.get()[1], 2.f * (1 + 2) + 1);
  const cl::Buffer both = host_visible(context, 4 * kBytes);
  const cl::Buffer half = part(both, device, 2 * kBytes, 2 * kBytes);
  expect_shared(own, part(half, device, kBytes, kBytes), part(half, device, 0, kBytes));
}

TEST(memory_device, host_and_device_see_what_the_other_wrote) {
  CLAM_NEEDS_DEVICE();
  expect_all_shared(*fresh_runtime());
}

TEST(memory_device, memory_that_a_driver_would_copy_is_refused) {
  CLAM_NEEDS_DEVICE();
  const auto own = fresh_runtime();
  const cl::Device device = device_of(*own);
  const std::int64_t alignment = shared_alignment(device);
  const Lines memory = aligned(alignment);
  const cl::Context context = own->context();
  float* at = memory.get();
  EXPECT_THROWS_SAYING(wrap(context, device, at + 1, kBytes - alignment), BadArgument,
                       "multiples of");
  EXPECT_THROWS_SAYING(wrap(context, device, at, kBytes - 4), BadArgument, "aligned_alloc");
  EXPECT_THROWS_SAYING(wrap(context, device, nullptr, kBytes), BadArgument, "at 0x0");
  EXPECT_THROWS_SAYING(wrap(context, device, at, 0), BadArgument, "at least one byte");
  EXPECT_THROWS_SAYING(host_visible(context, -1), BadArgument, "at least one byte");
  EXPECT_THROWS_SAYING(import_dma_buf(context, device, -1, 64), BadArgument, "negative");
  part(cl::Buffer(context, CL_MEM_READ_ONLY, kBytes), device, 0, 64);  // flags of its own
  const cl::Buffer whole = host_visible(context, kBytes);
  EXPECT_THROWS_SAYING(part(whole, device, kBytes, 4), BadArgument,
                       "not inside a buffer of 4096 bytes");
  EXPECT_THROWS_SAYING(part(whole, device, 0, kBytes + 1), BadArgument, "not inside");
  EXPECT_THROWS_SAYING(part(whole, device, -4, 4), BadArgument, "not inside");
  EXPECT_THROWS_SAYING(part(whole, device, 4, 4), BadArgument, "a part begins at a multiple of");
}

TEST(memory_device, a_dma_buf_is_refused_where_the_device_cannot_import_it) {
  CLAM_NEEDS_DEVICE();
  const auto own = fresh_runtime();
  if (own->device().has_extension("cl_arm_import_memory_dma_buf")) GTEST_SKIP() << "it can";
  EXPECT_THROWS_SAYING(import_dma_buf(own->context(), device_of(*own), 0, kBytes), Unsupported,
                       "cl_arm_import_memory_dma_buf");
}

/// Calls that copy a buffer's bytes.
std::int64_t copies() {
  std::int64_t sum = 0;
  for (const auto& [call, count] : scripted::counts()) {
    for (const char* word : {"Read", "Write", "Copy", "Fill"}) {
      if (contains(call, std::string("clEnqueue") + word)) sum += count;
    }
  }
  return sum;
}

nlohmann::json with_import() {
  return {{"device",
           {{"extensions",
             "cl_khr_fp64 cl_arm_import_memory cl_arm_import_memory_host "
             "cl_arm_import_memory_dma_buf"}}}};
}

TEST(memory_scripted, no_call_copies) {
  CLAM_ON_SCRIPTED_DEVICE();
  const auto own = fresh_runtime();
  const std::int64_t before = copies();
  expect_all_shared(*own);
  EXPECT_EQ(copies(), before);
  EXPECT_EQ(scripted::counts()["clImportMemoryARM"], 0);
  float value = 0;
  own->queue().enqueueReadBuffer(host_visible(own->context(), 4), CL_TRUE, 0, 4, &value);
  EXPECT_EQ(copies(), before + 1);
}

TEST(memory_scripted, memory_is_imported_where_the_device_can) {
  CLAM_ON_SCRIPTED_DEVICE();
  scripted::play(with_import());
  const auto own = fresh_runtime();
  const std::int64_t before = copies();
  expect_all_shared(*own);
  EXPECT_EQ(copies(), before);
  EXPECT_EQ(scripted::counts()["clImportMemoryARM"], 2);
  scripted::play([] {
    nlohmann::json script = with_import();
    script["lies"] = {{{"call", "clImportMemoryARM"}, {"does", "refuse"}, {"status", -6}}};
    return script;
  }());
  const Lines memory = aligned(shared_alignment(device_of(*own)));
  EXPECT_THROWS_SAYING(wrap(own->context(), device_of(*own), memory.get(), kBytes), DeviceError,
                       "clImportMemoryARM of 4096 bytes failed: CL_OUT_OF_HOST_MEMORY");
}

TEST(memory_scripted, a_dma_buf_is_read_and_written_in_place) {
  CLAM_ON_SCRIPTED_DEVICE();
  scripted::play(with_import());
  const auto own = fresh_runtime();
  const int in = memfd_create("in", 0), out = memfd_create("out", 0);
  ASSERT_EQ(ftruncate(in, kBytes) | ftruncate(out, kBytes), 0);
  std::vector<float> values(kFloats, 3.f);
  ASSERT_EQ(write(in, values.data(), kBytes), kBytes);
  const cl::Device device = device_of(*own);
  const cl::Buffer x = import_dma_buf(own->context(), device, in, kBytes),
                   y = import_dma_buf(own->context(), device, out, kBytes);
  Executable executable =
      own->prepare(Problem::parse("unary op=relu shape=1024 dtype=f32 scale=2 shift=1"));
  own->enqueue(executable, {{"src", x}, {"dst", y}});
  own->finish();
  ASSERT_EQ(pread(out, values.data(), kBytes, 0), kBytes);
  for (const float value : values) ASSERT_EQ(value, 7.f);
  close(in);
  close(out);
}

}  // namespace
}  // namespace clam::test
