// SPDX-License-Identifier: MIT
// Measured choices: which row a plan takes, and tables that cannot be used.
#include "clam/tuned.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "clam/gpu.hpp"
#include "clam/planner.hpp"
#include "clam/runtime.hpp"
#include "contains.hpp"
#include "runtime/atomic_file.hpp"
#include "test_device.hpp"
#include "test_errors.hpp"

namespace clam::test::tuned {
namespace {

using nlohmann::json;
using Rows = std::vector<TunedRow>;

// The model takes another variant or another tile for it.
constexpr const char* kProblem = "dense m=192 n=512 k=512 dtype=f16 bias";
constexpr const char* kVariant = "dense_packed";

DeviceInfo g610() { return gpu_device(find_gpu("g610")); }

json to_json(const Rows& rows) { return clam::to_json(TunedTable{rows}); }
std::string words_of(const Plan& plan) { return to_json(plan).dump(); }

Plan plan_of_model(const std::string& problem, const DeviceInfo& device = g610()) {
  return make_plan(Problem::parse(problem), device, {"", 0, "", std::make_shared<const Tuned>()});
}

/// A tile of the variant that can be had and that the model does not take.
std::string other_tile(const std::string& line, const char* variant = kVariant) {
  const Problem problem = Problem::parse(line);
  const std::string model = words_of(make_plan(problem, g610(), {variant, 0}));
  for (const Tiling& one : find_variant(op_of(problem), variant).tilings(problem, g610(), {})) {
    if (one.refused) continue;
    if (words_of(make_plan(problem, g610(), {variant, 0, one.words})) != model) return one.words;
  }
  throw std::logic_error("the model has no choice");
}

Plan plan_of(const std::string& line, const std::string& tile, const char* variant = kVariant) {
  return make_plan(Problem::parse(line), g610(), {variant, 0, tile});
}

/// A row as clam tune would write it on a board with a G610 and Mesa's driver.
TunedRow row_of(const std::string& line, const std::string& tile, const char* variant = kVariant) {
  TunedRow row = tuned_row(plan_of(line, tile, variant), tile, {});
  row.us = 123.4;
  row.date = "2026-11-27";
  return row;
}

std::shared_ptr<const Tuned> table_of(const Rows& rows, const KernelFiles& files = {}) {
  auto tuned = std::make_shared<Tuned>(files);
  tuned->add(to_json(rows).dump(), "test.json");
  EXPECT_EQ(tuned->notes(), std::vector<std::string>());
  return tuned;
}

Plan plan_with(const Rows& rows, const std::string& line = kProblem,
               const DeviceInfo& device = g610(), PlanOptions options = {}) {
  options.tuned = table_of(rows);
  return make_plan(Problem::parse(line), device, options);
}

std::string why_with(const Rows& rows, const std::string& line = kProblem,
                     const DeviceInfo& device = g610(), PlanOptions options = {}) {
  options.tuned = table_of(rows);
  return explain_plan(Problem::parse(line), device, options);
}

void expect_the_models(const Rows& rows, const std::string& reason,
                       const std::string& line = kProblem, const DeviceInfo& device = g610()) {
  EXPECT_EQ(words_of(plan_with(rows, line, device)), words_of(plan_of_model(line, device)));
  const std::string why = why_with(rows, line, device);
  EXPECT_TRUE(contains(why, reason)) << why << "lacks: " << reason;
  EXPECT_TRUE(contains(why, "so the model chooses\n")) << why;
}

// ---- which row ----

TEST(tuned, the_exact_row_is_taken) {
  const std::string tile = other_tile(kProblem);
  const Rows rows{row_of(kProblem, tile)};
  EXPECT_EQ(words_of(plan_with(rows)), words_of(plan_of(kProblem, tile)));
  EXPECT_NE(words_of(plan_with(rows)), words_of(plan_of_model(kProblem)));
  const std::string why = why_with(rows);
  EXPECT_TRUE(contains(why,
                       "tuned    the exact row, 2026-11-27 on 4 cores with mesa 25.0.7: "
                       "dense_packed " +
                           tile + ", 123.4 us (test.json)\n"))
      << why;
  EXPECT_EQ(rows[0].gpu, "g610");
  EXPECT_EQ(rows[0].kernels, KernelFiles().get("dense.cl").hash());
}

TEST(tuned, a_row_may_choose_another_variant) {
  const Rows rows{row_of(kProblem, "", "dense_nt")};
  ASSERT_NE(plan_of_model(kProblem).variant, "dense_nt");
  EXPECT_EQ(words_of(plan_with(rows)),
            words_of(make_plan(Problem::parse(kProblem), g610(), {"dense_nt", 0})));
  EXPECT_TRUE(contains(why_with(rows), "chosen   dense_nt: "));
}

TEST(tuned, without_rows_plans_are_the_models) {
  for (const char* line : {kProblem, "softmax shape=4x192 dtype=f32",
                           "conv2d c=64 h=56 w=56 k=64 r=3 pad=1 dtype=f16"}) {
    EXPECT_EQ(words_of(plan_with({}, line)), words_of(plan_of_model(line)));
    // No board has run clam, so none is built in.
    EXPECT_EQ(words_of(make_plan(Problem::parse(line), g610())), words_of(plan_of_model(line)));
  }
  EXPECT_TRUE(Tuned::built_in()->empty());
  expect_the_models({}, "no row of this GPU and driver has the problem's words");
}

TEST(tuned, the_nearest_row_is_taken_up_to_a_factor_of_two) {
  const std::string near = "dense m=200 n=512 k=512 dtype=f16 bias";
  const std::string edge = "dense m=384 n=512 k=512 dtype=f16 bias";
  const std::string far = "dense m=385 n=512 k=512 dtype=f16 bias";
  const std::string both = "dense m=288 n=700 k=512 dtype=f16 bias";
  const std::string tile = other_tile(kProblem);
  const Rows rows{row_of(kProblem, tile)};
  for (const std::string& line : {near, edge}) {
    EXPECT_EQ(words_of(plan_with(rows, line)), words_of(plan_of(line, tile))) << line;
  }
  const std::string why = why_with(rows, near);
  EXPECT_TRUE(contains(why, "tuned    the nearest row, 0.06 away, 2026-11-27 dense m=192 n=512"))
      << why;
  expect_the_models(rows, ": 1 is the farthest that counts\n", far);
  expect_the_models(rows, "tuned    not the row, 1.04 away", both);
  const std::string two = why_with({rows[0], rows[0]}, far);
  EXPECT_EQ(two.find("not the row"), two.rfind("not the row")) << "one is enough: " << two;
}

TEST(tuned, of_several_near_rows_the_nearest_that_can_be_had) {
  const std::string tile = other_tile(kProblem);
  TunedRow nearer = row_of("dense m=190 n=512 k=512 dtype=f16 bias", tile);
  const TunedRow farther = row_of("dense m=150 n=512 k=512 dtype=f16 bias", tile);
  nearer.tile = "M0=77,N0=8";
  EXPECT_EQ(words_of(plan_with({farther, nearer})), words_of(plan_of(kProblem, tile)));
  const std::string why = why_with({farther, nearer});
  EXPECT_TRUE(contains(why, "tuned    not the row, 0.02 away")) << why;
  EXPECT_TRUE(contains(why, ": dense_packed has no tile 'M0=77,N0=8' here\n")) << why;
  EXPECT_TRUE(contains(why, "tuned    the nearest row, 0.36 away")) << why;
}

TEST(tuned, words_that_are_no_extents_must_be_equal) {
  const Rows rows{row_of(kProblem, other_tile(kProblem))};
  for (const char* line :
       {"dense m=192 n=512 k=512 dtype=f32 bias", "dense m=192 n=512 k=512 dtype=f16",
        "dense m=192 n=512 k=512 dtype=f16 bias act=relu"}) {
    expect_the_models(rows, "no row of this GPU and driver has the problem's words", line);
  }
}

TEST(tuned, shapes_are_extents_and_their_number_is_not) {
  const Tuned tuned = [] {
    Tuned all;
    all.add(to_json(Rows{row_of("softmax shape=4x192 dtype=f32", "", "softmax_row")}).dump(), "t");
    return all;
  }();
  const auto distances = [&](const char* line) {
    std::vector<double> found;
    for (const TunedMatch& match : tuned.matches(Problem::parse(line), g610())) {
      found.push_back(match.distance);
    }
    return found;
  };
  EXPECT_EQ(distances("softmax shape=4x192 dtype=f32"), std::vector<double>{0});
  EXPECT_EQ(distances("softmax shape=8x96 dtype=f32"), std::vector<double>{2});
  EXPECT_EQ(distances("softmax shape=1x4x192 dtype=f32"), std::vector<double>());
}

TEST(tuned, other_cores_are_a_distance) {
  const Rows rows{row_of(kProblem, other_tile(kProblem))};
  DeviceInfo device = g610();
  device.compute_units = 3;
  EXPECT_EQ(words_of(plan_with(rows, kProblem, device)),
            words_of(make_plan(Problem::parse(kProblem), device, {kVariant, 0, rows[0].tile})));
  EXPECT_TRUE(contains(why_with(rows, kProblem, device), "the nearest row, 0.42 away"));
  device.compute_units = 1;
  expect_the_models(rows, "2.00 away", kProblem, device);
}

TEST(tuned, rows_of_another_gpu_or_driver_never_count) {
  const std::string tile = other_tile(kProblem);
  TunedRow gpu = row_of(kProblem, tile), driver = gpu;
  gpu.gpu = "g710";
  driver.driver = "arm";
  expect_the_models({gpu, driver}, "no row of this GPU and driver has the problem's words");
  DeviceInfo guessed = g610();
  guessed.name = "Mali-G612 (Panfrost)";  // the nearest Mali that clam knows is a G610
  ASSERT_EQ(identify(guessed).gpu, &find_gpu("g610"));
  expect_the_models({row_of(kProblem, tile)}, "no row of this GPU", kProblem, guessed);
}

TEST(tuned, rows_of_other_kernels_never_count) {
  TunedRow row = row_of(kProblem, other_tile(kProblem));
  row.kernels = "0123456789abcdef";
  expect_the_models({row}, ": its kernel files have changed since\n");
  row.kernels = KernelFiles().get("softmax.cl").hash();
  expect_the_models({row}, ": its plan launches other kernel files now\n");
  row.kernels = "";
  expect_the_models({row}, ": its kernel files have changed since\n");
}

TEST(tuned, replaced_kernels_have_rows_of_their_own) {
  const TemporaryFolder folder;
  break_kernel(folder, "dense.cl", "SPDX-License-Identifier", "Licence");
  const KernelFiles mine(folder.path());
  const std::string tile = other_tile(kProblem);
  const Plan tuned_plan = plan_of(kProblem, tile);
  TunedRow shipped = row_of(kProblem, tile), own = tuned_row(tuned_plan, tile, mine);
  ASSERT_NE(shipped.kernels, own.kernels);
  const auto plan = [&](const TunedRow& row, const KernelFiles& files) {
    return words_of(
        make_plan(Problem::parse(kProblem), g610(), {"", 0, "", table_of({row}, files)}));
  };
  const std::string tuned = words_of(tuned_plan), model = words_of(plan_of_model(kProblem));
  EXPECT_EQ(plan(shipped, {}), tuned);
  EXPECT_EQ(plan(own, {}), model);
  EXPECT_EQ(plan(shipped, mine), model);
  EXPECT_EQ(plan(own, mine), tuned);
  write_file(folder.file("dense.options"), "-cl-fast-relaxed-math\n");
  EXPECT_EQ(plan(own, mine), model) << "other options make another kernel";
}

TEST(tuned, what_the_caller_names_he_gets) {
  const std::string tile = other_tile(kProblem);
  const Rows rows{row_of(kProblem, tile)};
  const Problem problem = Problem::parse(kProblem);
  const Plan packed = plan_with(rows, kProblem, g610(), {kVariant, 0});
  EXPECT_EQ(words_of(packed), words_of(plan_of(kProblem, tile))) << "a row of that variant counts";
  const Plan other = plan_with(rows, kProblem, g610(), {"dense_nt", 0});
  EXPECT_EQ(words_of(other), words_of(make_plan(problem, g610(), {"dense_nt", 0})));
  EXPECT_TRUE(contains(why_with(rows, kProblem, g610(), {"dense_nt", 0}),
                       "has the problem's words and this variant, so the model chooses\n"));
  const std::string model = plan_of_model(kProblem).variant;
  for (const Tiling& one : find_variant(op_of(problem), model).tilings(problem, g610(), {})) {
    if (one.refused) continue;
    const PlanOptions named{"", 0, one.words};
    EXPECT_EQ(words_of(plan_with(rows, kProblem, g610(), named)),
              words_of(make_plan(problem, g610(), named)));
    EXPECT_TRUE(contains(why_with(rows, kProblem, g610(), named), "the tile is named"));
  }
  EXPECT_THROWS_SAYING(plan_with(rows, kProblem, g610(), {"dense_magic", 0}), BadArgument,
                       "unknown variant 'dense_magic'");
}

/// A Runtime that halves its groups plans again, and keeps the row.
TEST(tuned, smaller_groups_keep_the_row) {
  const std::string tile = other_tile(kProblem);
  const PlanOptions small{"", 32};
  EXPECT_EQ(words_of(plan_with({row_of(kProblem, tile)}, kProblem, g610(), small)),
            words_of(make_plan(Problem::parse(kProblem), g610(), {kVariant, 32, tile})));
}

TEST(tuned, the_devices_driver_version_comes_first_then_the_date) {
  const std::string tile = other_tile(kProblem);
  TunedRow good = row_of(kProblem, tile);
  TunedRow newer_driver = row_of(kProblem, "", "dense_nt");
  newer_driver.driver_version = "26.1.0";
  newer_driver.date = "2027-01-01";
  TunedRow older = row_of(kProblem, "", "dense_nt");
  older.date = "2026-11-26";
  const std::string wanted = words_of(plan_of(kProblem, tile));
  EXPECT_EQ(words_of(plan_with({newer_driver, older, good})), wanted);
  EXPECT_EQ(words_of(plan_with({good, older, newer_driver})), wanted);
  EXPECT_EQ(plan_with({good, older, newer_driver}, kProblem,
                      [] {
                        DeviceInfo later = g610();
                        later.driver_version = "26.1.0";
                        return later;
                      }())
                .variant,
            "dense_nt");
  older.date = good.date;
  EXPECT_EQ(plan_with({good, older}).variant, "dense_nt") << "of one day, the one that came last";
}

TEST(tuned, a_plan_that_its_kernel_driver_would_end_is_not_taken) {
  const std::string line = "dense m=4096 n=4096 k=4096 dtype=f32";
  const Rows rows{row_of(line, "", "dense_plain")};
  expect_the_models(rows, "a launch is predicted to take", line);
}

TEST(tuned, every_variant_with_tiles_takes_each_of_its_tiles) {
  int tiles = 0;
  for (const char* line : {kProblem, "conv2d c=64 h=28 w=28 k=64 r=3 pad=1 dtype=f16",
                           "conv2d c=64 h=28 w=28 k=64 r=3 pad=1 groups=64 dtype=f16",
                           "batch_matmul batch=4 m=64 n=64 k=64 dtype=f32"}) {
    const Problem problem = Problem::parse(line);
    for (const Variant& variant : op_of(problem).variants) {
      if (!variant.tilings || variant.refuses(problem, g610())) continue;
      for (const Tiling& one : variant.tilings(problem, g610(), {})) {
        if (one.refused || ++tiles % 5 != 0) continue;
        const Rows rows{row_of(line, one.words, variant.name.c_str())};
        EXPECT_EQ(words_of(plan_with(rows, line)),
                  words_of(plan_of(line, one.words, variant.name.c_str())))
            << line << " " << one.words;
      }
    }
  }
  EXPECT_GT(tiles, 50);
}

TEST(tuned, threads_may_share_the_rows) {
  const auto rows = table_of({row_of(kProblem, other_tile(kProblem))});
  const std::string wanted =
      words_of(make_plan(Problem::parse(kProblem), g610(), {"", 0, "", rows}));
  std::vector<std::string> got(4);
  std::vector<std::thread> threads;
  for (std::string& one : got) {
    threads.emplace_back([&] {
      one = words_of(make_plan(Problem::parse(kProblem), g610(), {"", 0, "", rows}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(got, std::vector<std::string>(4, wanted));
}

// ---- devices ----

TEST(tuned, drivers_have_families) {
  const auto family = [](const char* platform) {
    DeviceInfo device;
    device.platform = platform;
    return driver_family(device);
  };
  EXPECT_EQ(driver_family(g610()), "mesa");
  EXPECT_EQ(family("ARM Platform"), "arm");
  EXPECT_EQ(family("Clover"), "mesa");
  EXPECT_EQ(family("Portable Computing Language"), "pocl");
  EXPECT_EQ(family("Some\x1b[31m \xff"), "Some?[31m ?");
}

// ---- tables ----

TEST(tuned, a_table_reads_back) {
  TunedRow row = row_of(kProblem, other_tile(kProblem));
  row.share = 0.25;
  const Rows rows{row, row_of("softmax shape=4x192 dtype=f32", "", "softmax_row")};
  const json written = to_json(rows);
  EXPECT_EQ(written["clam_tuned"], 1);
  EXPECT_EQ(written["rows"][0]["share"], 0.25);
  EXPECT_EQ(clam::to_json(tuned_from_json(json::parse(written.dump()))), written);

  TunedTable both{rows, {tuned_flush(g610(), RuntimeOptions::kWhenWaiting, 1.5)}};
  const json with_launches = clam::to_json(both);
  EXPECT_EQ(with_launches["launches"][0]["launches_a_flush"], -1);
  EXPECT_EQ(clam::to_json(tuned_from_json(json::parse(with_launches.dump()))), with_launches);
}

int flush_here(const std::vector<TunedFlush>& launches, const DeviceInfo& device = g610()) {
  Tuned tuned;
  tuned.add(clam::to_json(TunedTable{{}, launches}).dump(), "t.json");
  EXPECT_EQ(tuned.notes(), std::vector<std::string>());
  const TunedFlush* found = tuned.flush_of(device);
  return found ? found->launches_a_flush : 0;
}

/// The driver version of the device first, else that of its driver which came last.
TEST(tuned, when_the_queue_is_flushed_is_of_the_device_and_its_driver) {
  const TunedFlush one = tuned_flush(g610(), 4, 1);
  TunedFlush newer = tuned_flush(g610(), 16, 1), of_arm = one, of_g52 = one;
  newer.driver_version = "26.1.0";
  of_arm.driver = "arm";
  of_g52.gpu = "g52";
  EXPECT_EQ(flush_here({}), 0);
  EXPECT_EQ(flush_here({of_arm, of_g52}), 0);
  EXPECT_EQ(flush_here({one, newer}), 4);
  EXPECT_EQ(flush_here({newer, one}), 4);
  EXPECT_EQ(flush_here({newer, of_arm}), 16);
  for (const json& wrong : {json(0), json(-2), json(1.5), json("8"), json(1e300), json()}) {
    json table = clam::to_json(TunedTable{{}, {one}});
    table["launches"][0]["launches_a_flush"] = wrong;
    Tuned tuned;
    tuned.add(table.dump(), "t.json");
    EXPECT_EQ(tuned.flush_of(g610()), nullptr) << wrong;
    ASSERT_EQ(tuned.notes().size(), 1u) << wrong;
    EXPECT_TRUE(contains(tuned.notes()[0], "launches 1: the key \"launches_a_flush\" is missing"))
        << tuned.notes()[0];
  }
}

/// A table that cannot be used is one sentence, and the model chooses.
TEST(tuned, damaged_foreign_and_newer_tables_are_one_note) {
  const std::string good = to_json(Rows{row_of(kProblem, other_tile(kProblem))}).dump();
  json newer = json::parse(good);
  newer["clam_tuned"] = 2;
  std::string deep = "{\"clam_tuned\":1,\"rows\":";
  deep.append(100000, '[');
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"", "t.json is not used: it is damaged, for it is no JSON"},
           {good.substr(0, good.size() / 2), "it is damaged"},
           {good + "}", "it is damaged"},
           {std::string(1000, '\0'), "it is damaged"},
           {deep, "it is damaged"},
           {"{\"clam_tuned\":1,\"rows\":[{\"us\":1e999}]}", "it is damaged"},
           {"{\"clam_plan\": 1}", "t.json is not used: it is no table of tuned plans"},
           {"[1]", "it is no table"},
           {"null", "it is no table"},
           {"{\"clam_tuned\": \"1\"}", "it is no table"},
           {newer.dump(), "t.json is not used: its form is 2, and this clam reads form 1 alone"},
           {"{\"clam_tuned\": 1}", "it has no list \"rows\""},
           {"{\"clam_tuned\": 1, \"rows\": {}}", "it has no list \"rows\""}}) {
    Tuned tuned;
    tuned.add(text, "t.json");
    EXPECT_TRUE(tuned.empty()) << words;
    ASSERT_EQ(tuned.notes().size(), 1u) << words;
    EXPECT_TRUE(contains(tuned.notes()[0], words)) << tuned.notes()[0] << " lacks: " << words;
    EXPECT_FALSE(contains(tuned.notes()[0], "\n"));
    tuned.add(good, "u.json");
    EXPECT_FALSE(tuned.empty()) << "other tables are used";
  }
}

TEST(tuned, a_row_that_cannot_be_used_is_left_out_alone) {
  const TunedRow good = row_of(kProblem, other_tile(kProblem));
  const json row = to_json(Rows{good})["rows"][0];
  const auto with = [&](const char* key, const json& value) {
    json bad = row;
    bad[key] = value;
    return bad;
  };
  for (const auto& [bad, words] : std::vector<std::pair<json, std::string>>{
           {with("problem", "densest m=1"), "unknown op 'densest'"},
           {with("problem", "dense m=1"), "n is missing"},
           {with("variant", "dense_magic"), "unknown variant 'dense_magic'"},
           {with("variant", "dense_plain"), "dense_plain has no tiles, yet tile is "},
           {with("cores", 0), "the key \"cores\" is missing, or its value is wrong"},
           {with("cores", 4.5), "\"cores\""},
           {with("cores", true), "\"cores\""},
           {with("cores", 1e300), "\"cores\""},
           {with("cores", std::uint64_t(-1)), "\"cores\""},
           {with("us", -1), "\"us\""},
           {with("us", "1"), "\"us\""},
           {with("share", nullptr), "\"share\""},
           {with("gpu", 610), "\"gpu\""},
           {json(1), "\"gpu\""},
           {json::object(), "\"gpu\""}}) {
    json table = to_json(Rows{good});
    table["rows"] = {bad, row, bad};
    Tuned tuned;
    tuned.add(table.dump(), "t.json");
    ASSERT_EQ(tuned.notes().size(), 1u) << words;
    EXPECT_TRUE(contains(tuned.notes()[0], "t.json, 2 rows left out: row 1: ")) << tuned.notes()[0];
    EXPECT_TRUE(contains(tuned.notes()[0], words)) << tuned.notes()[0] << " lacks: " << words;
    EXPECT_EQ(tuned.of(g610()).size(), 1u) << words;
    EXPECT_THROWS_SAYING(tuned_from_json(table), BadArgument, words);
  }
}

TEST(tuned, folders_add_to_what_is_built_in) {
  const TemporaryFolder folder;
  const std::string tile = other_tile(kProblem);
  write_file(folder.file("b.json"), to_json(Rows{row_of(kProblem, tile)}).dump());
  write_file(folder.file("a.json"), "{");
  write_file(folder.file("c.txt"), "no table");
  std::filesystem::create_directory(folder.file("d.json"));
  const auto tuned = Tuned::with_folder(folder.path());
  ASSERT_EQ(tuned->notes().size(), 2u);
  EXPECT_TRUE(contains(tuned->notes()[0], folder.file("a.json") + " is not used"));
  EXPECT_TRUE(contains(tuned->notes()[1], folder.file("d.json")));
  EXPECT_EQ(words_of(make_plan(Problem::parse(kProblem), g610(), {"", 0, "", tuned})),
            words_of(plan_of(kProblem, tile)));
  const auto none = Tuned::with_folder(folder.file("none"));
  ASSERT_EQ(none->notes().size(), 1u);
  EXPECT_TRUE(contains(none->notes()[0], "/none is no folder, so no tuned plans are read there"));
}

TEST(tuned, a_row_says_why_it_does_not_count) {
  const TunedRow good = row_of(kProblem, other_tile(kProblem));
  TunedRow old = good, unknown = good;
  old.kernels = "0123456789abcdef";
  unknown.tile = "M0=77";
  const auto rows = table_of({good, old, unknown});
  ASSERT_EQ(rows->of(g610()).size(), 3u);
  EXPECT_EQ(row_refused(good, g610(), *rows), Reason());
  EXPECT_EQ(*row_refused(old, g610(), *rows), "its kernel files have changed since");
  EXPECT_EQ(*row_refused(unknown, g610(), *rows), "dense_packed has no tile 'M0=77' here");
}

}  // namespace
}  // namespace clam::test::tuned
