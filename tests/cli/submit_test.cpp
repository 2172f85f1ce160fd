// SPDX-License-Identifier: MIT
// clam report --submit: of a results file that names its owner in twenty ways nothing of that is
// left.
#include "run_clam.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

/// A results file as clam-bench writes it.
json results() {
  return {
      {"context",
       {{"host_name", "vm"}, {"date", "2026-11-26T17:49:26+01:00"}, {"executable", "clam-bench"}}},
      {"benchmarks", {{{"name", "softmax"}}}},
      {"clam",
       {{"schema", 1},
        {"version", "0.1.0"},
        {"date", "2026-11-26T17:49:26Z"},
        {"device",
         {{"name", "Mali-G610 r0p0"},
          {"vendor", "ARM"},
          {"vendor_id", 0xa8670000u},
          {"platform", "ARM Platform"},
          {"type", "gpu"},
          {"device_version", "OpenCL 3.0 v1.g13p0-01eac0.2819f9d4dbe0b5a2f89c835d8484f9cd"},
          {"driver_version", "3.0"},
          {"extensions", "cl_khr_fp16 cl_arm_printf"},
          {"compute_units", 4}}},
        {"board", {{"before", {{"gpu_mhz", 1000.0}, {"gpu_governor", "performance"}}}}},
        {"peaks", {{"gflops_f32", 500.5}}},
        {"replaced_kernels", json::array()},
        {"rows",
         {{{"name", "softmax shape=8x64 dtype=f32"},
           {"problem", "softmax shape=8x64 dtype=f32"},
           {"op", "softmax"},
           {"dtype", "f32"},
           {"variant", "softmax_row"},
           {"kernel_hash", "8d9a8124de4bb90c"},
           {"outcome", "fine"},
           {"command", "clam-bench --problem 'softmax shape=8x64 dtype=f32'"},
           {"validity", "OK"},
           {"marks", {"clock moved 5.2 %"}},
           {"launches", 1},
           {"us", {{"median", 12.5}}}}}},
        {"workloads", json::array()}}}};
}

/// What --submit makes of it.
std::string submitted(const json& document, std::string* said = nullptr) {
  const TemporaryFolder folder;
  write_file(folder.file("mine.json"), document.dump());
  const Finished finished = run_clam({"report", "--submit", folder.file("mine.json")});
  EXPECT_EQ(finished.code, 0) << finished.err;
  if (said) *said = finished.out;
  return read_file(folder.file("mine-shared.json"));
}

TEST(submit, keeps_device_driver_clocks_rows_and_hashes) {
  const json kept = json::parse(submitted(results()))["clam"];
  const json before = results()["clam"];
  for (const char* key : {"name", "vendor", "vendor_id", "device_version", "driver_version",
                          "extensions", "compute_units"}) {
    EXPECT_EQ(kept["device"][key], before["device"][key]) << key;
  }
  EXPECT_EQ(kept["rows"], before["rows"]);
  EXPECT_EQ(kept["board"], before["board"]);
  EXPECT_EQ(kept["peaks"], before["peaks"]);
  EXPECT_EQ(kept["date"], "2026-11-26");
}

TEST(submit, nothing_of_who_and_where_is_kept) {
  struct Planted {
    const char *place, *text, *secret;
  };
  // Each where it can get in: under keys of others, in a driver's texts, in reasons, names and
  // marks.
  const Planted planted[] = {
      {"/context/host_name", "janes-laptop.example.org", "janes"},
      {"/context/executable", "/home/jane/clam/build/clam-bench", "/home"},
      {"/context/date", "2026-11-26T17:49:26+05:30", "05:30"},
      {"/context/load_avg", "machine-id 4c1f0d2e", "4c1f0d2e"},
      {"/clam/replaced_kernels/0", "dense.cl from /home/jane/kernels", "jane"},
      {"/clam/device/name", "Mali-G610 r0p0 jane@example.org", "jane"},
      {"/clam/device/driver_version", "3.0 built on 192.168.17.4", "192.168"},
      {"/clam/device/platform", "ARM Platform fe80::1ff:fe23:4567:890a", "fe23"},
      {"/clam/device/vendor", "ARM 00:1b:44:11:3a:b7", "1b:44"},
      {"/clam/device/platform_version", "OpenCL 3.0 123e4567-e89b-12d3-a456-426614174000", "e89b"},
      {"/clam/device/opencl_c_version", "OpenCL C 3.0 serial:RK99812", "RK99812"},
      {"/clam/device/device_version", "OpenCL 3.0 354859012345678", "3548590"},
      {"/clam/device/extensions", "cl_khr_fp16 JaneDoe", "JaneDoe"},
      {"/clam/device/serial", "0123456789abcdef", "0123456789abcdef"},
      {"/clam/board/before/gpu_governor", "janes_governor", "janes"},
      {"/clam/board/before/ssid", "The Doe Family", "Doe"},
      {"/clam/rows/0/reason", "condition 3, right: cannot read /home/jane/w.npy", "jane"},
      {"/clam/rows/0/marks/0", "measured at 12 Elm Street", "Elm"},
      {"/clam/rows/0/command", "clam-bench --json ~jane/r.json", "jane"},
      {"/clam/rows/0/variant", "janes_variant", "janes"},
      {"/clam/rows/0/problem", "softmax shape=8x64 dtype=f32 owner=jane", "jane"},
      {"/clam/workloads/0", "janes-secret-network", "secret"},
      {"/clam/git", "git@example.org:doe/clam.git", "doe"}};
  EXPECT_GE(std::size(planted), 20u);
  json all = results();
  for (const Planted& each : planted) {
    SCOPED_TRACE(each.place);
    json one = results();
    json value = std::string(each.place) == "/clam/workloads/0"
                     ? json{{"name", each.text}, {"nodes", {{{"name", each.text}, {"row", "x"}}}}}
                     : json(each.text);
    one[json::json_pointer(each.place)] = value;
    all[json::json_pointer(each.place)] = value;
    ASSERT_TRUE(contains(one.dump(), each.secret));
    std::string said;
    EXPECT_FALSE(contains(submitted(one, &said), each.secret));
    EXPECT_TRUE(contains(said, "left out: ")) << said;
  }
  const std::string kept = submitted(all);
  for (const Planted& each : planted) EXPECT_FALSE(contains(kept, each.secret)) << each.secret;
}

TEST(submit, says_what_it_left_out_and_its_file_is_read_like_any_other) {
  std::string said;
  json mine = results();
  mine["clam"]["device"]["serial"] = "RK0815";
  const std::string kept = submitted(mine, &said);
  for (const char* words : {"left out: context\n", "left out: clam.device.serial\n",
                            "left out: the time of day\n", "may be given to others"}) {
    EXPECT_TRUE(contains(said, words)) << said;
  }
  const TemporaryFolder folder;
  write_file(folder.file("shared.json"), kept);
  const Finished page = run_clam({"report", folder.file("shared.json"), "--markdown"});
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_TRUE(contains(page.out, "softmax shape=8x64 dtype=f32")) << page.out;
}

TEST(submit, refuses_what_is_no_results_file) {
  const TemporaryFolder folder;
  write_file(folder.file("a.json"), "{\"a\": 1}");
  expect_refusal(run_clam({"report", "--submit", folder.file("a.json")}), 2, "no results file");
  expect_refusal(run_clam({"report", "--submit", folder.file("none.json")}), 2, "none.json");
  write_file(folder.file("b.json"), results().dump());
  expect_refusal(
      run_clam({"report", "--submit", folder.file("b.json"), "-o", folder.file("b.json")}), 2,
      "let -o name another");
}

}  // namespace
}  // namespace clam::test
