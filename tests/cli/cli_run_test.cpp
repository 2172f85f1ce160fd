// SPDX-License-Identifier: MIT
// What `clam run` takes from the given tensors where the line leaves it out.
#include "check/npy.hpp"
#include "run_clam.hpp"

namespace clam::test {
namespace {

using nlohmann::json;

constexpr const char* kAnyCounts = "get_valid_counts n=5 score_threshold=0.5";

class cli_run : public testing::Test {
 protected:
  /// A file of this dtype and shape whose values are small whole numbers.
  std::string npy(const std::string& name, Dtype dtype, const Shape& shape) const {
    HostTensor tensor(dtype, shape);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, double(i % 3));
    write_npy(folder_.file(name), tensor);
    return folder_.file(name);
  }
  std::string counts(const Shape& shape) const {
    HostTensor data(Dtype::f32, shape);
    const HostTensor values = counts_data();
    for (std::int64_t i = 0; i < data.size(); ++i) data.set(i, values.get(i));
    write_npy(folder_.file("d.npy"), data);
    return folder_.file("d.npy");
  }

  TemporaryFolder folder_;
};

class cli_run_device : public cli_run {
 protected:
  void SetUp() override { CLAM_NEEDS_DEVICE(); }
};

TEST_F(cli_run_device, a_line_without_a_dtype_takes_that_of_the_tensors) {
  const std::string file = counts({1, 5, 6});
  const Finished finished = run_clam({"run", kAnyCounts, "--in", "data=" + file, "--check"});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.out, "get_valid_counts n=5 dtype=f32")) << finished.out;
  EXPECT_EQ(finished.err, "clam: assumed: dtype=f32, from " + file + "\n");
  const json report =
      parse_out(run_clam({"run", kAnyCounts, "--in", "data=" + file, "--json", "-"}));
  EXPECT_EQ(report["assumed"], json::array({"dtype=f32, from " + file}));
  EXPECT_EQ(report["outputs"][0]["max"], 3);
}

TEST_F(cli_run_device, what_the_line_says_is_not_assumed) {
  const std::string file = counts({1, 5, 6});
  for (const char* line : {kCounts, "get_valid_counts\tn=5\tdtype=f32\tscore_threshold=0.5"}) {
    const Finished finished = run_clam({"run", line, "--in", "data=" + file, "--json", "-"});
    EXPECT_EQ(finished.err, "");
    EXPECT_EQ(parse_out(finished)["assumed"], json::array());
  }
}

TEST_F(cli_run_device, leading_ones_may_be_left_out_or_added) {
  for (const Shape& shape : {Shape{5, 6}, Shape{1, 1, 5, 6}}) {
    const std::string file = counts(shape);
    const std::string phrase = file + ", of shape " + to_string(shape) + ", is taken as 1x5x6";
    const Finished finished =
        run_clam({"run", kCounts, "--in", "data=" + file, "--check", "--json", "-"});
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_EQ(finished.err, "clam: assumed: " + phrase + "\n");
    const json report = parse_out(finished);
    EXPECT_EQ(report["assumed"], json::array({phrase}));
    EXPECT_EQ(report["outputs"][0]["max"], 3);
  }
}

TEST_F(cli_run_device, both_at_once_and_other_inputs_filled) {
  const Finished finished =
      run_clam({"run", "dense", "m=1", "n=4", "k=8", "--in", "x=" + npy("x.npy", Dtype::f32, {8}),
                "--fill", "exact", "--check"});
  EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
  EXPECT_TRUE(contains(finished.err, "assumed: dtype=f32, from ")) << finished.err;
  EXPECT_TRUE(contains(finished.err, "of shape 8, is taken as 1x8\n")) << finished.err;
  EXPECT_EQ(run_clam({"run", "dense m=1 n=4 k=8", "--in", "x=" + folder_.file("x.npy"), "--fill",
                      "exact", "--quiet"})
                .err,
            "");
}

TEST_F(cli_run_device, indices_do_not_say_what_the_data_are) {
  const std::string src = npy("src.npy", Dtype::f32, {3, 8}), index = npy("i.npy", Dtype::i32, {2});
  const std::string line = "gather shape=3x8 axis=0 count=2";
  const Finished finished =
      run_clam({"run", line, "--in", "index=" + index, "--in", "src=" + src, "--check"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.err, "clam: assumed: dtype=f32, from " + src + "\n");
  expect_refusal(run_clam({"run", line, "--in", "index=" + index, "--fill", "rows"}), 2,
                 "gather: dtype is missing");
}

TEST_F(cli_run_device, half_tensors_make_a_half_problem) {
  CLAM_NEEDS_F16();
  const std::string file = npy("x.npy", Dtype::f16, {2, 8});
  for (const char* line : {"dense m=2 n=4 k=8", "dense m=2 n=4 k=8 acc=f16"}) {
    const Finished finished = run_clam({"run", line, "--in", "x=" + file, "--fill", "exact"});
    EXPECT_EQ(finished.code, 0) << finished.out << finished.err;
    EXPECT_TRUE(contains(finished.out, "y f16[2x4]")) << finished.out;
  }
}

TEST_F(cli_run, tensors_that_disagree_are_refused_in_one_sentence) {
  const std::string x = npy("x.npy", Dtype::f32, {2, 8}), w = npy("w.npy", Dtype::f16, {4, 8});
  const std::vector<std::string> given{"--in", "x=" + x, "--in", "w=" + w};
  const auto run = [&](const std::string& line) {
    std::vector<std::string> words{"run", line};
    words.insert(words.end(), given.begin(), given.end());
    return run_clam(words);
  };
  expect_refusal(
      run("dense m=2 n=4 k=8"), 2,
      "the tensors differ in dtype: " + x + " is read as f32, " + w + " as f16; convert");
  expect_refusal(run("dense m=2 n=4 k=8 dtype=f32"), 2,
                 "w: " + w + " holds f16[4x8], but f32[4x8]");
}

TEST_F(cli_run, a_dtype_that_no_op_has_is_refused) {
  const std::string file = npy("x.npy", Dtype::i32, {2, 8});
  expect_refusal(run_clam({"run", "dense m=2 n=4 k=8", "--in", "x=" + file, "--fill", "exact"}), 2,
                 "x: " + file + " holds i32, but dense takes f32 or f16; convert it");
}

TEST_F(cli_run, what_else_is_wrong_is_said_as_ever) {
  const std::string file = npy("x.npy", Dtype::f32, {2, 8});
  const auto run = [&](const std::string& line, const std::string& in) {
    return run_clam({"run", line, "--in", in, "--fill", "exact"});
  };
  expect_refusal(run("dense m=2 n=4", "x=" + file), 2, "dense: k is missing");
  expect_refusal(run("dense m=2 n=4 k=8", "z=" + file), 2, "there is no tensor 'z' here");
  expect_refusal(run("dense m=2 n=4 k=8", "x=" + folder_.file("no.npy")), 2, "cannot read");
  expect_refusal(run("dense m=2 n=4 k=8 acc=f16", "x=" + file), 2, "acc=f16");
  // Ones that do not lead, and other extents, are another shape.
  for (const Shape& shape : {Shape{8, 2}, Shape{2, 8, 1}, Shape{2, 1, 8}, Shape{16}}) {
    expect_refusal(run("dense m=2 n=4 k=8", "x=" + npy("y.npy", Dtype::f32, shape)), 2,
                   "holds f32[" + to_string(shape) + "], but f32[2x8] is needed");
  }
  expect_refusal(run_clam({"run", "dense m=2 n=4 k=8", "--fill", "exact"}), 2,
                 "dense: dtype is missing");
}

}  // namespace
}  // namespace clam::test
