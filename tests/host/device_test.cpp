// SPDX-License-Identifier: MIT
#include "clam/device.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "clam/error.hpp"
#include "clam/opencl.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam {
namespace {

TEST(device, json_round_trips) {
  std::mt19937_64 random(test::seed());
  for (int i = 0; i < 200; ++i) {
    DeviceInfo info = generic_device();
    info.name = "Mali-G" + std::to_string(random() % 1000) + " r0p0: a name";
    info.vendor_id = static_cast<std::uint32_t>(random());
    info.max_alloc_bytes = static_cast<std::int64_t>(random() >> 2);
    info.max_work_items = {static_cast<std::int64_t>(random() % 1024), 1, 7};
    info.fp16 = random() % 2;
    info.extensions = random() % 2 ? "" : "cl_khr_fp16 cl_khr_icd";
    EXPECT_EQ(device_from_json(to_json(info)), info);
  DeviceInfo other = info;  // its text is part of the key of cached programs
  other.driver_version += "1";
  EXPECT_NE(to_text(other), to_text(info));
  }
}

TEST(device, extensions_match_whole_words_only) {
  DeviceInfo info;
  info.extensions = "cl_khr_fp16_extra cl_khr_icd";
  EXPECT_FALSE(info.has_extension("cl_khr_fp16"));
  EXPECT_TRUE(info.has_extension("cl_khr_icd"));
}

TEST(device, hostile_driver_strings_become_printable) {
  DeviceInfo info;
  info.name = std::string(65536, 'a') + "\x1b[31m\n\xff";
  const std::string text = to_text(info);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NO_THROW(to_json(info).dump());
}

TEST(device, damaged_forms_are_refused) {
  EXPECT_THROWS_SAYING(device_from_json({{"compute_units", "4"}}), BadArgument,
                       "\"compute_units\" has the wrong type");
  EXPECT_THROWS_SAYING(device_from_json({{"mem_base_addr_align", 0}}), BadArgument,
                       "needs 1 or more");
  EXPECT_THROWS_SAYING(device_from_json(3), BadArgument, "needs to be an object");
}

TEST(device_device, facts_are_plausible_and_round_trip) {
  CLAM_NEEDS_DEVICE();
  const DeviceInfo& info = test::runtime().device();
  EXPECT_FALSE(info.name.empty());
  EXPECT_GE(info.compute_units, 1);
  EXPECT_GE(info.max_work_group, 16);
  EXPECT_GE(info.mem_base_addr_align, 16);
  EXPECT_EQ(info.fp16, info.has_extension("cl_khr_fp16"));
  EXPECT_EQ(device_from_json(to_json(info)), info);
}

TEST(device_device, is_found_by_number_and_by_part_of_its_name) {
  CLAM_NEEDS_DEVICE();
  const DeviceEntry first = list_devices().front();
  EXPECT_EQ(
      select_device(std::to_string(first.platform) + ":" + std::to_string(first.index)).device(),
      first.device());
  const std::string name = test::runtime().device().name;
  EXPECT_EQ(query_device(select_device(name.substr(1)).device).name, name);
  EXPECT_THROWS_SAYING(select_device("nosuch"), DeviceError,
                       "no OpenCL device matches 'nosuch'; there is");
  EXPECT_THROWS_SAYING(select_device("9:9"), DeviceError, "no OpenCL device matches '9:9'");
}

}  // namespace
}  // namespace clam
