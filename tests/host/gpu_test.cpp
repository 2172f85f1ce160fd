// SPDX-License-Identifier: MIT
#include "clam/gpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "check/op_proof.hpp"
#include "clam/error.hpp"
#include "clam/op.hpp"
#include "clam/planner.hpp"
#include "golden.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

using By = Identity::By;

/// On Arm's own driver.
DeviceInfo arm_device(const std::string& name, std::uint32_t id, std::int64_t cores) {
  DeviceInfo device;
  device.name = name;
  device.vendor = "ARM";
  device.platform = "ARM Platform";
  device.vendor_id = id;
  device.compute_units = cores;
  return device;
}

DeviceInfo other_device(const std::string& name, const std::string& platform, std::uint32_t id) {
  DeviceInfo device = arm_device(name, id, 4);
  device.vendor = platform == "rusticl" ? "Arm" : platform;
  device.platform = platform;
  return device;
}

void expect(const DeviceInfo& device, const std::string& key, By by) {
  const Identity who = identify(device);
  EXPECT_EQ(who.gpu ? who.gpu->key : "", key) << device.name << ": " << who.text();
  EXPECT_EQ(who.by, by) << device.name << ": " << who.text();
}

// ---- the table ----

TEST(gpu, table_is_whole) {
  std::set<std::string> keys;
  std::set<std::pair<std::uint32_t, std::uint32_t>> ids;
  for (const Gpu& gpu : all_gpus()) {
    EXPECT_TRUE(keys.insert(gpu.key).second) << gpu.key;
    EXPECT_TRUE(ids.insert({gpu.arch_major, gpu.product}).second) << gpu.key;
    EXPECT_EQ(&find_gpu(gpu.key), &gpu);
    std::string model = gpu.key;
    model[0] = static_cast<char>(std::toupper(model[0]));
    EXPECT_EQ(gpu.model, model);
    EXPECT_EQ(gpu.fma_f16, 2 * gpu.fma_f32) << gpu.key;
    EXPECT_GE(gpu.cores, 1) << gpu.key;
    EXPECT_GE(gpu.gb_per_s, 1) << gpu.key;
    for (const Quirk& quirk : gpu.quirks) {
      EXPECT_NE(std::string(quirk.source), "") << gpu.key << " " << quirk.name;
    }
  }
  for (const char* key :
       {"t760", "t860", "g71",  "g72",  "g51",  "g76",  "g52",  "g31",  "g77",  "g57",
        "g78",  "g68",  "g710", "g510", "g310", "g610", "g715", "g615", "g720", "g620"}) {
    EXPECT_EQ(keys.count(key), 1u) << key;
  }
}

TEST(gpu, families_stand_newest_first_and_have_their_warps) {
  const std::vector<Gpu>& gpus = all_gpus();
  EXPECT_TRUE(std::is_sorted(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) {
    return a.arch_major > b.arch_major;
  }));
  for (const Gpu& gpu : gpus) {
    const bool wide_bifrost = gpu.key == std::string("g52") || gpu.key == std::string("g76");
    const int bifrost = wide_bifrost ? 8 : 4;
    const int warp = gpu.family == Gpu::Family::midgard   ? 1
                     : gpu.family == Gpu::Family::bifrost ? bifrost
                                                          : 16;
    EXPECT_EQ(gpu.warp, warp) << gpu.key;
  }
}

/// Mesa's ids are the upper half of the GPU_ID register.
TEST(gpu, ids_of_mesa_and_of_arms_driver_agree) {
  int known = 0;
  for (const Gpu& gpu : all_gpus()) {
    if (gpu.mesa_id == 0) continue;
    ++known;
    expect(arm_device("a board", gpu.mesa_id << 16, gpu.cores), gpu.key, By::id);
  }
  EXPECT_GE(known, 9);
}

TEST(gpu, an_unknown_key_names_the_keys) {
  EXPECT_THROWS_SAYING(find_gpu("g61"), BadArgument, "unknown GPU 'g61'; clam knows g720 ");
  EXPECT_THROWS_SAYING(find_gpu(""), BadArgument, "unknown GPU ''");
  EXPECT_THROWS_SAYING(find_gpu("\x1b[31m"), BadArgument, "unknown GPU '?[31m'");
  try {
    find_gpu(std::string(65536, 'g'));
  } catch (const BadArgument& error) {
    EXPECT_LT(std::string(error.what()).size(), 300u);
  }
}

// ---- who a device is ----

/// As people have published them.
TEST(gpu, published_devices) {
  const struct {
    DeviceInfo device;
    const char* key;
    By by;
  } published[] = {
      {arm_device("Mali-G610 MC6 r0p0", 0xa8670000, 6), "g610", By::id},  // sgminer-arm#12
      {arm_device("Mali-G52", 0x72120000, 2), "g52", By::id},             // ComputeLibrary#999
      {arm_device("Mali-G71", 0x60a00002, 8), "g71", By::id},             // 96boards-hikey/linux#59
      {arm_device("Mali-T860", 0x08602000, 4), "t860", By::id},     // stripe-terminal-android#185
      {arm_device("Mali-T628", 0x06200010, 2), "t760", By::guess},  // plaidml#227
      {arm_device("Mali-T604", 0x69560000, 4), "t760", By::guess},
      {arm_device("Mali-LODX r0p0", 0xa8670000, 4), "g610", By::id},  // armnn#704, its name
      {arm_device("Mali-G710 r0p0", 0, 7), "g710", By::name},         // GPGPUTasks2025#60
      {other_device("Mali-G610 (Panfrost)", "rusticl", 0), "g610", By::name},  // Mesa 25.0
      {other_device("Mali-T860 (Panfrost)", "rusticl", 0), "t860", By::name},
      {other_device("Mali-G610 MC4 (Panfrost)", "rusticl", 0), "g610", By::name},  // Mesa 26.0
      {other_device("Mali-G52 r1 (Panfrost)", "rusticl", 0), "g52", By::name},     // RK3576
      {other_device("cpu-cortex-a76-0x1", "Portable Computing Language", 0x13b5), "", By::nothing},
      {other_device("llvmpipe (LLVM 19.1.7, 256 bits)", "rusticl", 0), "", By::nothing},
      {other_device("NVIDIA T600", "NVIDIA CUDA", 0x10de), "", By::nothing},
  };
  for (const auto& one : published) expect(one.device, one.key, one.by);
}

TEST(gpu, every_id_is_its_own) {
  const struct {
    std::uint32_t id;
    std::int64_t cores;
    const char* key;
  } ids[] = {{0x60000000, 8, "g71"},   {0x62210000, 12, "g72"},  {0x70900000, 2, "g51"},
             {0x72110000, 10, "g76"},  {0x72120000, 2, "g52"},   {0x70930000, 2, "g31"},
             {0x90800000, 11, "g77"},  {0x90910000, 5, "g57"},   {0x90930000, 2, "g57"},
             {0x92020000, 20, "g78"},  {0x92040000, 4, "g68"},   {0xa8620000, 7, "g710"},
             {0xac730000, 4, "g510"},  {0xac740000, 1, "g310"},  {0xa8670000, 4, "g610"},
             {0xb8a20000, 11, "g715"}, {0xb8a20000, 7, "g715"},  {0xb8a20000, 6, "g615"},
             {0xb8a30000, 6, "g615"},  {0xc8700000, 12, "g720"}, {0xc8700000, 5, "g620"},
             {0xc8710000, 4, "g620"},  {0x07500001, 4, "t760"},  {0x08602000, 4, "t860"}};
  for (const auto& one : ids) expect(arm_device("", one.id, one.cores), one.key, By::id);
}

TEST(gpu, every_row_is_found_by_its_name) {
  for (const Gpu& gpu : all_gpus()) {
    const Identity who = identify(gpu_device(gpu));
    EXPECT_EQ(who.gpu, &gpu) << who.text();
    EXPECT_EQ(who.by, By::name);
    EXPECT_EQ(who.cores, gpu.cores);
    const std::string model = gpu.model;
    expect(other_device("Mali-" + model + " r0p0", "rusticl", 0), gpu.key, By::name);
    expect(other_device("Immortalis-" + model + " MC11", "rusticl", 0), gpu.key, By::name);
    expect(other_device("Mali-" + model + "-Immortalis MC10", "rusticl", 0), gpu.key, By::name);
    expect(other_device("arm mali-" + model + "MP4", "rusticl", 0), gpu.key, By::name);
  }
}

TEST(gpu, an_id_means_nothing_on_a_driver_that_is_not_arms) {
  expect(other_device("Mali-G52 (Panfrost)", "rusticl", 0xa8670000), "g52", By::name);
  expect(other_device("a thing", "rusticl", 0xa8670000), "", By::nothing);
  DeviceInfo vendor_alone = arm_device("cpu", 0xa8670000, 4);
  vendor_alone.platform = "Portable Computing Language";
  expect(vendor_alone, "", By::nothing);
  DeviceInfo platform_alone = arm_device("a thing", 0xa8670000, 4);
  platform_alone.vendor = "Arm";
  expect(platform_alone, "", By::nothing);
}

TEST(gpu, a_guess_is_said_as_a_guess) {
  const struct {
    DeviceInfo device;
    const char *key, *words;
  } guesses[] = {
      {other_device("Mali-G999", "rusticl", 0), "g720", "(a guess from its name 'Mali-G999')"},
      {other_device("Mali-G925-Immortalis MC12", "rusticl", 0), "g720", "a guess from its name"},
      {other_device("Mali-G78AE", "rusticl", 0), "g78", "a guess from its name"},
      {other_device("Mali-T880", "rusticl", 0), "t860", "a guess from its name"},
      {other_device("Mali G1-Ultra MC12", "rusticl", 0), "g720", "a guess from its name"},
      {other_device("Mali-LODX r0p0", "rusticl", 0), "g610",
       "perhaps like Mali-G610, Valhall, 4 cores"},
      {arm_device("Mali-LODX r0p0", 0, 4), "g610", "(a guess from its name 'Mali-LODX r0p0')"},
      {arm_device("Mali-NEWX", 0xd8010000, 4), "g720", "(a guess from its id 0xd8010000)"},
      {arm_device("Mali-TBAX", 0x90050000, 4), "g78", "(a guess from its id 0x90050000)"},
      {arm_device("Mali-G999", 0x70050000, 4), "g76", "(a guess from its id 0x70050000)"},
  };
  for (const auto& one : guesses) {
    expect(one.device, one.key, By::guess);
    EXPECT_NE(identify(one.device).text().find(one.words), std::string::npos)
        << identify(one.device).text();
  }
  // From arch 14 on the register has 64 bits: what is left of it must not be read.
  expect(arm_device("Mali-NEWX", 0xe0000000, 4), "", By::nothing);
  expect(arm_device("Mali-G720", 0xe0070000, 12), "g720", By::name);
}

TEST(gpu, id_and_name_that_disagree) {
  const Identity who = identify(arm_device("Mali-G52 MC2", 0xa8670000, 4));
  EXPECT_EQ(who.gpu, &find_gpu("g610"));
  EXPECT_EQ(who.text(),
            "Mali-G610, Valhall, 4 cores, warps of 16, 64 fp32 and 128 fp16 multiply-adds a core "
            "and clock (by its id 0xa8670000; its name 'Mali-G52 MC2' says otherwise)");
  for (const char* name : {"Mali-G610 r0p0", "Mali-LODX r0p0", "Mali"}) {
    EXPECT_EQ(identify(arm_device(name, 0xa8670000, 4)).text().find("otherwise"), std::string::npos)
        << name;
  }
  // One id, two names by the number of cores: the name decides, and nothing disagrees.
  const Identity shared = identify(arm_device("Mali-G715 MC6", 0xb8a20000, 6));
  EXPECT_EQ(shared.gpu, &find_gpu("g715"));
  EXPECT_EQ(shared.text().find("otherwise"), std::string::npos) << shared.text();
}

TEST(gpu, cores_are_the_devices_else_the_names) {
  DeviceInfo device = other_device("Mali-G72 MP12", "rusticl", 0);
  const auto cores = [&](std::int64_t compute_units) {
    device.compute_units = compute_units;
    return identify(device).cores;
  };
  EXPECT_EQ(cores(4), 4);
  for (const std::int64_t implausible : {0, -1, 33, 1 << 30}) EXPECT_EQ(cores(implausible), 12);
  device.name = "Mali-G72 MP99";
  EXPECT_EQ(cores(0), 0);
  EXPECT_NE(identify(device).text().find("cores unknown"), std::string::npos);
  device.name = "Mali-G72";
  EXPECT_NE(identify(other_device("Mali-G72", "rusticl", 0)).text().find("4 cores"),
            std::string::npos);
  EXPECT_EQ(cores(1), 1);
  EXPECT_NE(identify(device).text().find(", 1 core,"), std::string::npos);
}

TEST(gpu, hostile_names) {
  const std::string nul("Mali-G610\0G52", 13);
  const struct {
    std::string name;
    const char* key;
  } names[] = {{"", ""},
               {std::string(65536, 'G'), ""},
               {"Mali-" + std::string(65536, '9'), ""},
               {"Mali-G" + std::string(65536, '9'), "g720"},
               {"Mali-T" + std::string(65536, '9'), "t860"},
               {"Mali-G61" + std::string(65536, '0'), "g720"},
               {std::string(65536, '-') + "Mali-G52", "g52"},
               {"\xff\xfe\xc3\x28 Mali\xe2\x80\x93G610", "g610"},
               {"Mali-G\xc3\xb6", ""},
               {nul, "g610"},
               {"Mali\n-\nG31\x1b[31m", "g31"},
               {"MC MP Mali-G57 MC MP MCMP MC0 MP999999999999999999999", "g57"},
               {"Mali-MC4", ""},
               {"Mali-MP4MC4", ""},
               {"Mali", ""},
               {"Malicious-G610", ""}};
  for (const auto& one : names) {
    for (const DeviceInfo& device : {arm_device(one.name, 0, 4), arm_device(one.name, ~0u, -5),
                                     other_device(one.name, "rusticl", 0)}) {
      const Identity who = identify(device);
      const std::string text = who.text();
      EXPECT_EQ(who.gpu ? who.gpu->key : "", std::string(one.key)) << text;
      EXPECT_LT(text.size(), 300u);
      EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
        return c >= ' ' && c <= '~';
      })) << text;
      EXPECT_NO_THROW(to_json(who).dump());
    }
  }
}

TEST(gpu, identity_as_json) {
  const nlohmann::json known = to_json(identify(arm_device("Mali-G610 r0p0", 0xa8670000, 4)));
  EXPECT_EQ(known["gpu"], "g610");
  EXPECT_EQ(known["by"], "id");
  EXPECT_EQ(known["family"], "Valhall");
  EXPECT_EQ(known["cores"], 4);
  EXPECT_EQ(known["warp"], 16);
  EXPECT_EQ(known["fma_f32"], 64);
  EXPECT_EQ(known["fma_f16"], 128);
  ASSERT_GE(known["quirks"].size(), 1u);
  EXPECT_EQ(known["quirks"][0]["name"], "queue-flood");
  EXPECT_EQ(known["quirks"][0]["source"], "apache/tvm#16276");
  const nlohmann::json unknown = to_json(identify(DeviceInfo{}));
  EXPECT_TRUE(unknown["gpu"].is_null());
  EXPECT_EQ(unknown["by"], "nothing");
  EXPECT_EQ(unknown["text"], "no Mali that clam knows");
}

// ---- plans without a device ----

/// tests/ops/golden/gpus.txt: plans under "KEY: problem".
TEST(gpu, golden_plans) {
  test::expect_golden("gpus.txt", [](const std::string& heading) {
    const std::size_t colon = heading.find(": ");
    const Gpu& gpu = find_gpu(heading.substr(0, colon));
    const Problem problem = Problem::parse(heading.substr(colon + 2));
    return std::string(gpu.key) + ": " + to_text(make_plan(problem, gpu_device(gpu)));
  });
}

TEST(gpu, every_gpu_has_a_plan_for_every_op) {
  for (const Gpu& gpu : all_gpus()) {
    const DeviceInfo device = gpu_device(gpu);
    for (const Op* op : all_ops()) {
      for (const char* dtype : {" dtype=f32", " dtype=f16"}) {
        const Plan plan = make_plan(Problem::parse(proof_of(*op).cases[0] + dtype), device);
        for (const Launch& launch : plan.launches) {
          EXPECT_LE(launch.local[0] * launch.local[1] * launch.local[2], device.max_work_group)
              << gpu.key << " " << launch.kernel;
        }
      }
    }
  }
}

}  // namespace
}  // namespace clam
