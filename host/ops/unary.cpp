// SPDX-License-Identifier: MIT
// unary.cpp - the fields of unary, and how it is computed.
#include "unary.hpp"

#include <limits>

#include "runtime/words.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr int kVector = 4;  ///< elements of an item

void check_unary(const Problem& problem, Schema::Values& values) {
  const UnaryRange& range = unary_range(problem);
  check_number(problem, values, "alpha", "op", range.alpha);
  check_number(problem, values, "beta", "op", range.beta);
  if (problem.choice("op") == "clip") check_clip(problem, "alpha", "beta");
  count(problem.shape("shape"));
  check_finite(problem, {"scale", "shift"});
}

std::vector<TensorSpec> unary_tensors(const Problem& problem) {
  const Shape shape = problem.shape("shape");
  return {input("src", problem.dtype(), shape), output("dst", problem.dtype(), shape, "src")};
}

/// The kernel's word for a function.
std::string function_of(const std::string& op) {
  static const std::map<std::string, std::string> others{
      {"erf", "erf_rational"}, {"abs", "fabs"}, {"neg", "negate"}, {"pow", "power"}};
  const auto other = others.find(op);
  return other == others.end() ? op : other->second;
}

std::string options_of(const Problem& problem, int group) {
  const UnaryRange& range = unary_range(problem);
  std::string options = fmt::format("-DUNARY_WG={} -DUNARY_OP={}", group, function_of(range.name));
  options += number_option("ALPHA", problem, "alpha", range.alpha);
  options += number_option("BETA", problem, "beta", range.beta);
  if (!is_affine(problem)) options += " -DUNARY_AFFINE=0";
  if (count(problem.shape("shape")) % kVector == 0) options += " -DUNARY_WHOLE=1";
  return options;
}

Launch vectors(const Request& request) {
  const Problem& problem = request.problem;
  const auto n = static_cast<int>(count(problem.shape("shape")));
  const int group = usual_group(request);
  return own_launch(request, options_of(problem, group), {group, 1}, {ceil_div(n, kVector), 1, 1},
                    arg_list("src", "dst", n, problem.number("scale"), problem.number("shift")));
}

/// A function counts as one operation, and so do a product and a sum before it.
double flops(const Problem& problem) { return (is_affine(problem) ? 3 : 1) * elements_of(problem); }

}  // namespace

const std::vector<UnaryRange>& unary_ranges() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  static const std::vector<UnaryRange> ranges{
      {"exp", -8, 8, -20, 6, true},
      {"log", 0.0625, 16, -120, 120, false},
      {"erf", -4, 4, -100, 7, true},
      {"gelu", -6, 6, -20, 7, true},
      {"gelu_tanh", -6, 6, -100, 7, true},
      {"sigmoid", -6, 6, -20, 7, true},
      {"silu", -6, 6, -100, 7, true},
      {"tanh", -6, 6, -100, 7, true},
      {"relu", -8, 8, -120, 120, true},
      {"relu6", -3, 9, -120, 120, true},
      {"sqrt", 0.0625, 16, -120, 120, false},
      {"rsqrt", 0.0625, 16, -120, 120, false},
      {"sin", -10, 10, -100, 10, true},
      {"cos", -10, 10, -20, 10, true},
      {"hard_swish", -5, 5, -20, 7, true},
      {"clip", -4, 4, -120, 120, true, -kInfinity, kInfinity},
      {"leaky_relu", -8, 8, -110, 120, true, 0.01f},
      {"hard_sigmoid", -5, 5, -20, 7, true, 0.2f, 0.5f},
      {"elu", -4, 4, -20, 7, true, 1.0f},
      {"softplus", -8, 8, -20, 6, true},
      {"mish", -6, 6, -100, 6, true},
      {"abs", -8, 8, -120, 120, true},
      {"neg", -8, 8, -120, 120, true},
      {"reciprocal", 0.0625, 16, -120, 120, true},
      {"pow", 0.0625, 4, -7, 7, true, 2.0f},
      {"floor", -3000, 3000, -2, 22, true},
      {"ceil", -3000, 3000, -2, 22, true},
  };
  return ranges;
}

const UnaryRange& unary_range(const Problem& problem) {
  return *find_by_name(unary_ranges(), problem.choice("op"));
}

Op unary_op() {
  return {{"unary",
           "dst = op(scale * src + shift), element by element",
           {choice("op", "the function", names_of(unary_ranges()), ""),
            shape("shape", "extents of src and dst"), dtype_field(),
            number("scale", "factor of src", "1"), number("shift", "added to it", "0"),
            number("alpha",
                   "slope of leaky_relu below 0 (0.01) or of hard_sigmoid (0.2); factor of "
                   "elu (1); exponent of pow (2); least of clip (-inf)",
                   kOwnNumber),
            number("beta", "hard_sigmoid of 0 (0.5); most of clip (inf)", kOwnNumber)},
           check_unary,
           unary_tensors},
          {{"unary_vector", "the only one", refuses_small_groups, planned(vectors)}},
          flops};
}

}  // namespace clam
