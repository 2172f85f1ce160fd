// SPDX-License-Identifier: MIT
// cli_model_test.cpp - `clam` on the folder of an imported model: run, verify, and what each
// refuses.
#include "check/compare.hpp"
#include "model_folder.hpp"
#include "run_clam.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

constexpr std::int64_t kSide = 8;

class cli_model : public testing::Test {
 protected:
  Finished run(std::vector<std::string> words) const {
    words.insert(words.begin(), {"run", "--workload", model_.path()});
    return run_clam(words);
  }
  /// The same model, every node of which is supported.
  void support_all() {
    model_.json["model"]["nodes"].erase(2);
    model_.write();
  }

  TemporaryFolder folder_, files_;
  ModelFolder model_{folder_, kSide};
};

TEST_F(cli_model, outputs_are_written_and_held_against_what_is_recorded) {
  CLAM_NEEDS_DEVICE();
  const std::string file = files_.file("flat.npy");
  const Finished finished = run({"--out", "flat=" + file});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(contains(finished.out, "flat f32[6x64]: min ")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "beside what is recorded: pass")) << finished.out;
  EXPECT_TRUE(contains(finished.out, "1 of 3 nodes of five.onnx not supported")) << finished.out;
  EXPECT_TRUE(compare_recorded(read_npy(file), read_npy(model_.file("flat")), 1e-6).pass);
  model_.record_anew("positive", 9);
  EXPECT_EQ(run({}).code, 1) << "an output that is not what is recorded";
}

TEST_F(cli_model, a_given_input_takes_the_recorded_ones_place) {
  CLAM_NEEDS_DEVICE();
  const std::string x = files_.file("x.npy"), y = files_.file("y.npy");
  write_npy(x, HostTensor(Dtype::f32, {1, 3, kSide, kSide}));
  expect_refusal(run({"--in", "x=" + x}), 2, "they are those of the recorded input alone");
  support_all();
  const Finished finished = run({"--in", "x=" + x, "--out", "positive=" + y, "--json", "-"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(parse_out(finished)["recorded"].empty());
  EXPECT_TRUE(read_npy(y) == HostTensor(Dtype::f32, {1, 4, kSide, kSide})) << "zeros make zeros";
}

TEST_F(cli_model, what_does_not_fit_is_refused) {
  CLAM_NEEDS_DEVICE();
  support_all();
  const std::string small = files_.file("small.npy");
  write_npy(small, HostTensor(Dtype::f32, {1, 3, kSide, 1}));
  expect_refusal(run({"--in", "x=" + small}), 2, "but f32[1x3x8x8] is needed");
  expect_refusal(run({"--in", "wa=" + small}), 2, "there is no tensor 'wa' here, only x");
  expect_refusal(run({"--out", "y=" + small}), 2,
                 "there is no tensor 'y' here, only positive flat");
  expect_refusal(run({"--check"}), 2, "--check does not go with --workload");
  std::filesystem::resize_file(model_.file("wa", "values"), 7);
  expect_refusal(run({}), 2, "the folder is damaged: import the model again");
  expect_refusal(run_clam({"run", "--workload", files_.path()}), 2, "workload.json");
}

TEST_F(cli_model, verify_names_what_is_not_supported_in_its_last_line) {
  CLAM_NEEDS_DEVICE();
  for (const char* oracle : {"references", "recorded"}) {
    const Finished finished = run_clam({"verify", "--workload", model_.path(), "--oracle", oracle});
    EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
    EXPECT_TRUE(contains(finished.out,
                         "\n4 passed, 0 failed, 0 skipped; 1 of 3 nodes of five.onnx not supported "
                         "(Mystery; 25 % of the multiply-adds), their recorded outputs stand in\n"))
        << finished.out;
  }
  model_.record_anew("positive", 9);
  const std::vector<std::string> words{"verify", "--workload", model_.path(), "--mode", "chained"};
  const Finished differs = run_clam(words);
  EXPECT_EQ(differs.code, 1);
  EXPECT_TRUE(contains(differs.out, "dst, as recorded: FAIL: the rms error is ")) << differs.out;
  expect_refusal(run_clam({"verify", "--workload", "lightglue-192-fused", "--oracle", "recorded"}),
                 2, "this workload has no recorded tensors");
}

}  // namespace
}  // namespace clam::test
