// SPDX-License-Identifier: MIT
// bundle_piglit_test.cpp - cases as tests of piglit: the very text, read back by piglit's grammar,
// and a sentence for what that cannot say.
#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>

#include "bundle_runs.hpp"
#include "clam/error.hpp"
#include "test_errors.hpp"

namespace clam::test {
namespace {

/// A line of the comment, as piglit's parser takes it; what it does not know is a failure.
const std::regex& line_form() {
  static const std::string number = "(nan|-?inf|[+-]?[0-9]+(\\.[0-9]+)?(e[+-]?[0-9]+)?)";
  static const std::string type = "(uchar|int|float)";
  static const std::regex form(
      "\\[(config|test)\\]|name: [^/#]+|kernel_name: \\w+|build_options: [^#]+|"
      "clc_version_min: [0-9]{2}|dimensions: 3|require_device_extensions: [\\w ]+|"
      "(global|local)_size: [0-9]+ [0-9]+ [0-9]+|arg_in: [0-9]+ (int|float) " +
      number + "|arg_in: [0-9]+ buffer int\\[1\\] NULL|arg_in: [0-9]+ buffer " + type +
      "\\[[0-9]+\\] repeat " + number + "|arg_(in|out): [0-9]+ buffer " + type + "\\[[0-9]+\\]( " +
      number + ")+( tolerance [0-9]+ ulp)?");
  return form;
}

/// The lines between the marks, those that end with a backslash joined with the next.
std::vector<std::string> lines_of(const std::string& text) {
  const std::size_t end = text.find("!*/");
  EXPECT_EQ(text.rfind("/*!\n", 0), 0u) << text;
  EXPECT_NE(end, text.npos) << text;
  std::string config = text.substr(4, end - 4);
  config = std::regex_replace(config, std::regex(" \\\\\n +"), " ");
  std::vector<std::string> lines;
  std::istringstream stream(config);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

/// Every line is one that piglit reads, and a buffer has as many values as it says.
void expect_readable(const std::string& text) {
  for (const std::string& line : lines_of(text)) {
    EXPECT_TRUE(std::regex_match(line, line_form())) << line;
    std::smatch size;
    static const std::regex list(
        "arg_\\w+: [0-9]+ buffer \\w+\\[([0-9]+)\\] ([^tNr].*?)"
        "( tolerance .*)?");
    if (!std::regex_match(line, size, list)) continue;
    std::istringstream values(size[2]);
    std::string value;
    long count = 0;
    while (values >> value) ++count;
    EXPECT_EQ(count, std::stol(size[1])) << line;
  }
}

TEST(bundle_piglit, a_case_is_this_text) {
  Bundle bundle = scale_bundle();
  bundle.problem = "half of it / #1";
  bundle.plan->launches[0].options = "-DFOUR=4 -cl-std=CL1.1";
  const std::string text = piglit_text(bundle);
  EXPECT_EQ(text.substr(0, text.find("!*/") + 3), R"(/*!
[config]
name: half of it    1
clc_version_min: 11
build_options: -DFOUR=4 -cl-std=CL1.1

[test]
name: scale
kernel_name: scale
dimensions: 3
global_size: 16 1 1
local_size: 16 1 1
arg_in: 0 buffer float[4] \
  0 3 6 9
arg_in: 1 buffer float[4] repeat -12345.5
arg_out: 1 buffer float[4] \
  0 1.5 3 4.5
arg_in: 2 float 0.5
arg_in: 3 int 4
!*/)");
  EXPECT_EQ(text.substr(text.find("!*/") + 5), kScaleSource);
  expect_readable(text);
}

TEST(bundle_piglit, values_that_are_no_numbers_and_large_and_small_ones_are_readable) {
  Bundle bundle = scale_bundle();
  const double values[] = {NAN, -INFINITY, 1.17549435e-38, -3.40282347e38};
  for (int i = 0; i < 4; ++i) bundle.inputs.at("src").set(i, values[i]);
  const std::string text = piglit_text(bundle);
  EXPECT_TRUE(contains(text, "  nan -inf 1.17549435e-38 -3.40282347e+38\n")) << text;
  expect_readable(text);
}

/// `bundle` with bounds for what is expected.
Bundle with_bounds(Bundle bundle, const std::vector<double>& values,
                   const std::vector<double>& bounds) {
  HostTensor expected(Dtype::f32, {4}), bound(Dtype::f32, {4});
  for (int i = 0; i < 4; ++i) {
    expected.set(i, values[static_cast<std::size_t>(i)]);
    bound.set(i, bounds[static_cast<std::size_t>(i)]);
  }
  bundle.expected["dst"] = expected;
  bundle.bounds["dst"] = bound;
  return bundle;
}

TEST(bundle_piglit, a_bound_is_a_tolerance_that_no_right_element_exceeds) {
  const double ulp = std::nextafter(1.0f, 2.0f) - 1.0;
  Bundle bundle = with_bounds(scale_bundle(), {1, 2, 4, 1}, {ulp, 5 * ulp, 4 * ulp, 0});
  EXPECT_TRUE(contains(piglit_text(bundle), "  1 2 4 1 tolerance 3 ulp\n")) << piglit_text(bundle);
  expect_readable(piglit_text(bundle));
  bundle.seen = wrong_at(0, 1 + 10 * ulp);
  bundle.seen.first_wrong->tensor = "dst";
  EXPECT_TRUE(contains(piglit_text(bundle), "tolerance 3 ulp"));
  bundle.seen.first_wrong->value = 1 + 2 * ulp;  // wrong by its own bound, right by the largest
  EXPECT_THROWS_SAYING(piglit_text(bundle), BadArgument, "hide that dst[0] is wrong");
  bundle.seen.first_wrong->value = NAN;
  EXPECT_TRUE(contains(piglit_text(bundle), "tolerance 3 ulp"));
  EXPECT_THROWS_SAYING(piglit_text(with_bounds(scale_bundle(), {0, 1, 1, 1}, {1e-6, 0, 0, 0})),
                       BadArgument, "which is any value");
}

TEST(bundle_piglit, between_elements_an_output_stays_as_it_was) {
  for (const Dtype dtype : {Dtype::f32, Dtype::i32}) {
    Bundle bundle = scale_bundle();
    TensorSpec& spec = bundle.plan->tensors[1];
    spec.dtype = dtype;
    spec.shape = {2, 2};
    spec.strides = {3, 1};
    HostTensor dst(dtype, {2, 2});
    for (int i = 0; i < 4; ++i) dst.set(i, i + 1);
    expect(spec, dst, bundle);
    const std::string before = dtype == Dtype::i32 ? "2075998928" : "-12345.5";
    std::string text = piglit_text(bundle);
    EXPECT_TRUE(contains(text, "[5] repeat " + before + "\n")) << text;
    EXPECT_TRUE(contains(text, "  1 2 " + before + " 3 4\n")) << text;
    if (dtype == Dtype::i32) continue;
    const double ulp = std::nextafter(4.0f, 5.0f) - 4.0;
    Expected bounded;
    bounded.value = {1, 2, 3, 4};
    bounded.bound = {0, 0, 0, ulp};
    expect(spec, bounded, bundle);
    text = piglit_text(bundle);
    EXPECT_TRUE(contains(text, "  1 2 -12345.5 3 4 tolerance 1 ulp\n")) << text;
  }
}

TEST(bundle_piglit, a_name_is_one_line_of_text_and_a_version_a_number) {
  Bundle bundle = scale_bundle();
  bundle.problem = "two\nlines!*/ \xc3\xa9";
  for (const char* options : {"-cl-std=CLC++1.0", "-cl-std=CL", "-cl-std=CL1"}) {
    bundle.plan->launches[0].options = options;
    const std::string text = piglit_text(bundle);
    EXPECT_TRUE(contains(text, "\nname: two lines!*    \nclc_version_min: 12\n")) << text;
  }
  bundle.plan->launches[0].options = "-cl-std=CL3.0";
  EXPECT_TRUE(contains(piglit_text(bundle), "clc_version_min: 30\n"));
}

TEST(bundle_piglit, what_it_cannot_say_is_refused_in_words) {
  const auto refused = [](auto change, const std::string& words) {
    Bundle bundle = scale_bundle();
    change(bundle);
    EXPECT_THROWS_SAYING(piglit_text(bundle), BadArgument, words);
  };
  using B = Bundle&;
  refused([](B b) { b.plan->launches.push_back(b.plan->launches[0]); }, "this plan has 2");
  refused([](B b) { b.plan->launches[0].args.push_back(LocalArg{64}); }, "local memory");
  refused([](B b) { b.plan->launches[0].args[1] = BufferArg{"src"}; }, "cannot be one buffer");
  refused([](B b) { b.plan->launches[0].args[1] = BufferArg{"dst", 64}; }, "no offsets");
  refused([](B b) { b.plan->tensors[0].dtype = Dtype::f16; }, "rounds half otherwise");
  refused([](B b) { b.plan->tensors[0].shape = {9000}; }, "a smaller problem");
  refused([](B b) { b.plan->launches[0].options = "-DX=#"; }, "cannot hold a #");
  refused([](B b) { b.kernels["scale.cl"] += "/*! mine */"; }, "has a comment with /*!");
  refused([](B b) { b.seen.outcome = Seen::Outcome::wrong; }, "lies around them");
}

TEST(bundle_piglit, a_build_alone_has_no_test) {
  const TemporaryFolder folder;
  Bundle bundle;
  bundle.file = "k.cl";
  bundle.options = "-DA=1";
  bundle.problem = "build of k.cl";
  bundle.kernels["k.cl"] = "__kernel void k() {}\n";
  bundle.device = generic_device();
  write(folder, bundle, {false, false, true});
  const std::string text = read_file(folder.file("case/piglit.cl"));
  EXPECT_EQ(text,
            "/*!\n[config]\nname: build of k.cl\nclc_version_min: 12\nbuild_options: -DA=1\n"
            "!*/\n\n__kernel void k() {}\n");
  expect_readable(text);
  EXPECT_TRUE(contains(read_file(folder.file("case/README.md")), "cl-program-tester piglit.cl"));
}

TEST(bundle_piglit_device, a_recorded_case_has_it) {
  CLAM_NEEDS_DEVICE();
  const TemporaryFolder folder, kernels;
  break_softmax(kernels, "1.01");
  const std::vector<std::string> words{kSoftmax, "--fill", "zero_mean", "--format", "piglit"};
  const Finished recorded = record(folder, words, &kernels);
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  const std::string text = read_file(folder.file("case/piglit.cl"));
  expect_readable(text);
  EXPECT_TRUE(contains(text, " ulp\n")) << text;
  const std::string kernel = read_file(folder.file("case/softmax.cl"));
  EXPECT_EQ(text.substr(text.size() - kernel.size()), kernel);
  expect_refusal(run_clam({"record", "dense m=9 n=16 k=12 dtype=f32", "--no-proof", "--format",
                           "piglit", "-o", folder.file("dense")}),
                 2, "--format piglit: a test of it is one launch, and this plan has");
}

}  // namespace
}  // namespace clam::test
