// SPDX-License-Identifier: MIT
// cli_tiles_test.cpp - `clam list --tiles`.
#include "run_clam.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

constexpr const char* kDense = "dense m=192 n=512 k=512 dtype=f32";

TEST(cli, list_tiles_shows_times_and_reasons) {
  const Finished finished = run_clam({"list", "--tiles", kDense, "--gpu", "g610"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(contains(finished.out, std::string(kDense) + "\nin us at 1 GHz")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "  dense_packed M0=4,N0=8,PARTS=2           298.3\n"))
      << finished.out;
  EXPECT_TRUE(contains(finished.out, "no prediction\n")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "  no: w lies as w[n,k]\n")) << finished.out;
}

TEST(cli, list_tiles_of_an_op_takes_a_problem_of_its_own) {
  const Finished finished = run_clam({"list", "attention", "softmax", "--tiles", "--generic"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(contains(finished.out, "attention_online ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "\nsoftmax shape=")) << finished.out;
}

TEST(cli, list_tiles_as_json) {
  const json result =
      parse_out(run_clam({"list", "--tiles", kDense, "--gpu", "g610", "--json", "-"}));
  const json& tiles = result.at("tiles").at(0);
  EXPECT_EQ(tiles.at("problem"), kDense);
  const json& first = tiles.at("candidates").at(0);
  EXPECT_EQ(first.at("variant"), "dense_packed");
  EXPECT_EQ(first.at("tile"), "M0=5,N0=8,PARTS=4");
  EXPECT_GT(first.at("clocks"), 1000);
  EXPECT_TRUE(tiles.at("candidates").back().contains("refused"));
}

TEST(cli, list_tiles_refuses_what_it_cannot_list) {
  expect_refusal(run_clam({"list", "--tiles"}), 2, "tiles of what?");
  expect_refusal(run_clam({"list", "--tiles", "dens"}), 2, "dens");
  expect_refusal(run_clam({"list", "dense", "--generic"}), 2, "--tiles");
  expect_refusal(run_clam({"list", "--tiles", kDense, "--generic", "--gpu", "g610"}), 2,
                 "exclude each other");
}

}  // namespace
}  // namespace clam::test
