// SPDX-License-Identifier: MIT
// gpu_table.cpp - the Mali GPUs as data, with where each figure comes from.
//
// Ids, and with them families, and fp32 rates: ARM-software/libGPUInfo, source/libgpuinfo.cpp
// (multiply-adds of an engine times engines). fp16 is twice fp32: so says Arm's GPU data sheet of
// 2021 up to Mali-G78, clpeak measured it on Mali-G610 (below), and for the others it is derived.
//  - Mali-T760, T860: the data sheet's 28 flops count dot-product units that no multiply-add can
//    use; clpeak reaches 14.4 of the 16 given here (ysh329/OpenCL-101#7).
//  - Mali-G52 with three engines a core, as in Amlogic's chips; RK3566 and RK3568 have two: 16, 32.
//  - Mali-G51, G31, G310 and G510 come with fewer engines too; these are i.MX 95's G310 (variant 2,
//    derived) and the widest G510.
// Cores are what the OpenCL driver counts: Kirin 710's "MP4" are two (ComputeLibrary#398), S922X's
// "MP6" are two of three engines.
// Warps: the same data sheet; Midgard runs vectors of 128 bits and has none.
// Quirks: reports that name the GPU; none was tried here.
#include "clam/gpu.hpp"

namespace clam {
namespace {

struct Memory {
  double gb_per_s;
  bool is_measured;
};
constexpr Memory measured(double gb_per_s) { return {gb_per_s, true}; }
/// What a GPU may draw of a memory whose interface could move `peak` GB/s. RK3588 was measured at
/// 0.8 of its 33.8, RK3399 at 0.6 of its 12.8.
constexpr Memory assumed(double peak) { return {0.6 * peak, false}; }

constexpr const char* kNoBoard = "an assumed board";

constexpr Quirk kInplaceScan{"gvc-inplace-scan",
                             "a scan in place in global memory corrupts valid counts and boxes; "
                             "scan in local memory, double "
                             "buffered",
                             "apache/tvm#3298"};
constexpr Quirk kQueueFlood{
    "queue-flood",
    "thousands of launches without a wait end in CL_OUT_OF_HOST_MEMORY or hang; bound the queue",
    "apache/tvm#16276"};
constexpr Quirk kEnqueueLeak{
    "enqueue-leak",
    "with driver r18p0 host memory grows with every enqueue; watch it, update the driver",
    "ysh329/OpenCL-101#40"};
constexpr Quirk kCrossQueueEvent{"cross-queue-event",
                                 "clFinish never returns while it waits for an event of a queue "
                                 "that was not flushed; flush every "
                                 "queue first",
                                 "CHIP-SPV/chipStar: CHIPBackendOpenCL.cc"};
constexpr Quirk kCallback{
    "callback-without-flush",
    "the callback of an event never comes without a clFlush after clSetEventCallback",
    "CHIP-SPV/chipStar: CHIPBackendOpenCL.cc"};
constexpr Quirk kLinkProgram{
    "link-program", "clLinkProgram fails with -59 after a separate compile; use one clBuildProgram",
    "CHIP-SPV/chipStar#1368"};
constexpr Quirk kLateRelease{
    "late-release",
    "the driver asserts at exit when static destructors release programs; release before main ends",
    "halide/Halide#8588"};
constexpr Quirk kNeverExits{
    "never-exits",
    "the process may hang at exit after right results; release everything, in order, before it",
    "halide/Halide#4313, ARM-software/ComputeLibrary#781"};
constexpr Quirk kGroupSize{
    "group-size-lie",
    "a launch within the device's limit fails with -5 when a kernel needs many registers; ask "
    "CL_KERNEL_WORK_GROUP_SIZE",
    "opencv/opencv#13108"};
constexpr Quirk kInfoLies{
    "info-lies",
    "clGetDeviceInfo says 5 MHz, and groups of 384 where a dimension takes 256; measure the peak",
    "96boards-hikey/linux#59"};
constexpr Quirk kOutOfBounds{"oob-read",
                             "one read past a buffer ends every queue of the context; run suspects "
                             "in a process of their own",
                             "alibaba/MNN: a comment in its source"};
constexpr Quirk kSubBufferImage{"subbuffer-image",
                                "an image made of a sub-buffer reads wrong values; use the buffer",
                                "LiteRT: tflite gpu/cl/environment.cc"};
constexpr Quirk kWinogradHalf{"winograd-fp16-inf",
                              "Winograd's transforms in half give inf and NaN; accumulate in float",
                              "tensorflow/tensorflow#45974"};

/// Lanes that run together, and multiply-adds in fp32 of a core and clock.
struct Core {
  int warp;
  double fma_f32;
};
constexpr Core kMidgard{1, 8};
constexpr Core kBifrostSmall{4, 8}, kBifrost{4, 12}, kBifrostWide{8, 24};
constexpr Core kValhall{16, 32}, kValhallDouble{16, 64}, kValhallQuad{16, 128};

struct Id {
  std::uint32_t arch_major, product;
};

struct Board {
  int cores;
  const char* name;
  Memory memory;
};

Gpu::Family family_of(std::uint32_t arch_major) {
  if (arch_major >= 12) return Gpu::Family::fifth;
  if (arch_major >= 9) return Gpu::Family::valhall;
  return arch_major >= 6 ? Gpu::Family::bifrost : Gpu::Family::midgard;
}

Gpu row(const char* key, const char* model, Id id, Core core, Board board, std::uint32_t mesa_id,
        const std::vector<Quirk>& quirks) {
  const auto [arch_major, product] = id;
  const auto [warp, fma_f32] = core;
  const auto [cores, name, memory] = board;
  const auto [gb_per_s, is_measured] = memory;
  return {
      key,  model,    family_of(arch_major), arch_major, product, warp, fma_f32, 2 * fma_f32, cores,
      name, gb_per_s, is_measured,           mesa_id,    quirks};
}

}  // namespace

const std::vector<Gpu>& all_gpus() {
  // Boards were measured by cixtech/bios#3 (CIX P1), ysh329/OpenCL-101#7 (RK3399) and
  // clehaxze.tw/gemlog/2022/07-11-mixtile-blade-3-opencl-perf.gmi (RK3588).
  static const std::vector<Gpu> gpus{
      row("g720", "G720", {12, 0}, kValhallQuad, {10, "CIX P1", measured(44)}, 0, {kOutOfBounds}),
      row("g620", "G620", {12, 1}, kValhallQuad, {4, kNoBoard, assumed(51.2)}, 0, {kOutOfBounds}),
      row("g715", "G715", {11, 2}, kValhallQuad, {7, "Tensor G3", assumed(68.3)}, 0,
          {kOutOfBounds}),
      row("g615", "G615", {11, 3}, kValhallQuad, {6, "Dimensity 8300", assumed(68.3)}, 0,
          {kOutOfBounds}),
      row("g710", "G710", {10, 2}, kValhallDouble, {7, "Tensor G2", assumed(51.2)}, 0,
          {kLateRelease, kOutOfBounds}),
      row("g610", "G610", {10, 7}, kValhallDouble, {4, "RK3588", measured(27.2)}, 0xa867,
          {kQueueFlood, kOutOfBounds}),
      row("g510", "G510", {10, 3}, kValhallDouble, {4, kNoBoard, assumed(34.1)}, 0, {kOutOfBounds}),
      row("g310", "G310", {10, 4}, kValhall, {1, "i.MX 95", assumed(25.6)}, 0xac74, {kOutOfBounds}),
      row("g78", "G78", {9, 2}, kValhall, {20, "Tensor", assumed(51.2)}, 0, {}),
      row("g68", "G68", {9, 4}, kValhall, {4, "Exynos 1280", assumed(34.1)}, 0, {}),
      row("g77", "G77", {9, 0}, kValhall, {11, "Exynos 990", assumed(44)}, 0, {}),
      row("g57", "G57", {9, 1}, kValhall, {5, "Genio 1200", assumed(34.1)}, 0x9091, {}),
      row("g76", "G76", {7, 1}, kBifrostWide, {10, "Kirin 980", assumed(34.1)}, 0x7211,
          {kEnqueueLeak, kSubBufferImage}),
      row("g52", "G52", {7, 2}, kBifrostWide, {2, "S922X", assumed(10.6)}, 0x7212,
          {kCrossQueueEvent, kCallback, kLinkProgram}),
      row("g31", "G31", {7, 3}, kBifrostSmall, {2, "S905X3", assumed(10.6)}, 0x7093, {}),
      row("g51", "G51", {7, 0}, kBifrost, {2, "Kirin 710", assumed(14.9)}, 0x7090, {kWinogradHalf}),
      row("g72", "G72", {6, 1}, kBifrost, {12, "Kirin 970", assumed(29.9)}, 0x6221,
          {kSubBufferImage}),
      row("g71", "G71", {6, 0}, kBifrost, {8, "Kirin 960", assumed(28.8)}, 0x6000,
          {kNeverExits, kInfoLies}),
      row("t860", "T860", {0, 0x0860}, kMidgard, {4, "RK3399", measured(7.3)}, 0x0860,
          {kInplaceScan, kGroupSize}),
      row("t760", "T760", {0, 0x0750}, kMidgard, {4, "RK3288", assumed(10.6)}, 0x0750,
          {kGroupSize}),
  };
  return gpus;
}

}  // namespace clam
