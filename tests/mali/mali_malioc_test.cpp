// SPDX-License-Identifier: MIT
// The reader of malioc's JSON. listings/malioc_softmax.json is written by hand in the form of its
// "performance" schema: malioc itself is not free to ship.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "clam/error.hpp"
#include "mali/malioc.hpp"
#include "test_errors.hpp"

namespace clam::mali {
namespace {

using nlohmann::json;

json sample() {
  return json::parse(std::ifstream(CLAM_SOURCE_DIR "/tests/mali/listings/malioc_softmax.json"));
}

const char* const kPerformance = "/shaders/0/variants/0/performance";

json with(const std::string& pointer, const json& value) {
  json report = sample();
  report[json::json_pointer(pointer)] = value;
  return report;
}

json without(const std::string& parent, const std::string& key) {
  json report = sample();
  report[json::json_pointer(parent)].erase(key);
  return report;
}

TEST(mali, malioc_report_is_read) {
  const MaliocReport report = parse_malioc(sample().dump());
  EXPECT_DOUBLE_EQ(report.total_cycles, 3.5);
  EXPECT_DOUBLE_EQ(report.longest_path_cycles, 4.25);
  EXPECT_EQ(report.bound_by, "arith_cvt") << "arith_total says less";
  EXPECT_EQ(report.work_registers, 30);
  EXPECT_EQ(report.occupancy_percent, 100);
  EXPECT_FALSE(report.spills);
}

TEST(mali, malioc_unknown_trips_leave_the_longest_path_open) {
  const std::string path = std::string(kPerformance) + "/longest_path_cycles/cycle_count";
  const MaliocReport report = parse_malioc(
      with(path, json::array({nullptr, nullptr, nullptr, nullptr, nullptr, nullptr})).dump());
  EXPECT_EQ(report.longest_path_cycles, 0);
  EXPECT_DOUBLE_EQ(report.total_cycles, 3.5);
}

TEST(mali, malioc_hostile_reports_are_refused_by_key) {
  const std::string performance = kPerformance, total = performance + "/total_cycles/cycle_count";
  const std::string property = "/shaders/0/variants/0/properties/0";
  const struct {
    json report;
    const char* sentence;
  } faults[] = {
      {json::array(), "shaders is missing"},
      {json::object(), "shaders is missing"},
      {with("/shaders", 7), "shaders is no list"},
      {with("/shaders", json::array()), "shaders is empty"},
      {with("/shaders/0", "none"), "shaders[0].variants is missing"},
      {with("/shaders/0/variants", json::array()), "shaders[0].variants is empty"},
      {without(performance, "pipelines"), "variants[0].performance.pipelines is missing"},
      {without(performance, "longest_path_cycles"), "performance.longest_path_cycles is missing"},
      {with(total, {1, 2}), "total_cycles.cycle_count has 2 entries"},
      {with(total + "/1", "many"), "total_cycles.cycle_count[1] is no number"},
      {with(total + "/1", -1), "total_cycles.cycle_count[1] is no count"},
      {with(performance + "/pipelines/1", 1), "performance.pipelines[1] is no text"},
      {without(property, "value"), "properties[0].value is missing"},
      {with(property + "/name", "registers"), "properties has no work_registers_used"},
      {with(property + "/value", 1e99), "properties[0].value is too large"},
      {with("/shaders/0/variants/0/properties/2/value", 1), "is neither true nor false"},
      {with("/shaders/0/errors", {"unknown type 'half8'"}), "refused the kernel: unknown type"},
      {with("/shaders/0/errors", {{{"line", 1}}}), "shaders[0].errors[0] is no text"},
  };
  for (const auto& fault : faults) {
    EXPECT_THROWS_SAYING(parse_malioc(fault.report.dump()), BadArgument, fault.sentence);
  }
  for (const char* text : {"", "{", "malioc: command not found", "{\"shaders\":"}) {
    EXPECT_THROWS_SAYING(parse_malioc(text), BadArgument, "malioc's report: it is not JSON");
  }
  EXPECT_THROWS_SAYING(parse_malioc(std::string(100000, '[')), BadArgument, "it is not JSON");
}

}  // namespace
}  // namespace clam::mali
