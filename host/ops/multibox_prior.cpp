// SPDX-License-Identifier: MIT
// multibox_prior: its Problem line, and its plan.
#include <algorithm>

#include "runtime/number_text.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr std::int64_t kMostCells = 2147483647;

template <typename Legal>
void check_numbers(const Problem& problem, const char* field, std::size_t count, const Legal& legal,
                   const char* rule) {
  const std::vector<float> numbers = problem.numbers(field);
  const bool all = std::all_of(numbers.begin(), numbers.end(), legal);
  if (!all || (count > 0 && numbers.size() != count)) bad_field(problem, field, rule);
}

void check(const Problem& problem, Schema::Values&) {
  const auto finite = [](float number) { return std::isfinite(number); };
  const auto positive = [](float number) { return std::isfinite(number) && number > 0; };
  for (const char* field : {"sizes", "ratios"}) {
    check_numbers(problem, field, 0, positive, "needs finite numbers above 0");
  }
  check_numbers(problem, "steps", 2, finite, "needs two finite numbers, of y and x");
  check_numbers(problem, "offsets", 2, finite, "needs two finite numbers, of y and x");
}

int boxes_of_cell(const Problem& p) {
  return static_cast<int>(p.numbers("sizes").size() + p.numbers("ratios").size()) - 1;
}

std::vector<TensorSpec> tensors(const Problem& p) {
  // No more than a tensor may have, so that the product stays one: that is refused all the same.
  const std::int64_t cells =
      std::min(std::int64_t{1} * p.integer("h") * p.integer("w"), kMostCells);
  return {output("anchors", p.dtype(), {1, cells * boxes_of_cell(p), 4})};
}

/// "0.2f,0.272f"; an option has no spaces.
std::string literals(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers) {
    text += (text.empty() ? "" : ",") + float_literal(number);
  }
  return text;
}

/// A step that is not given divides the map's side of 1.
float step(float given, int cells) { return given > 0 ? given : 1.0f / static_cast<float>(cells); }

Launch boxes(const Request& request) {
  const Problem& p = request.problem;
  const int h = p.integer("h"), w = p.integer("w"), group = usual_group(request);
  const std::vector<float> steps = p.numbers("steps"), offsets = p.numbers("offsets");
  return own_launch(
      request,
      fmt::format("-DMULTIBOX_PRIOR_WG={} -DMULTIBOX_PRIOR_SIZES={} -DMULTIBOX_PRIOR_RATIOS={}",
                  group, literals(p.numbers("sizes")), literals(p.numbers("ratios"))),
      {group, 1}, {w * boxes_of_cell(p), h, 1},
      arg_list("anchors", h, w, step(steps[0], h), step(steps[1], w), offsets[0], offsets[1],
               p.integer("clip")));
}

/// A sum an element.
double flops(const Problem& problem) {
  return static_cast<double>(count(problem.tensors()[0].shape));
}

}  // namespace

Op multibox_prior_op() {
  return {{"multibox_prior",
           "the corners of every cell's boxes: one a size, and one a ratio but the first",
           {extent("h", "rows of the feature map"), extent("w", "columns of the feature map"),
            dtype_field(), numbers("sizes", "of the boxes, in heights of the map", "1"),
            numbers("ratios", "of width to height", "1"),
            numbers("steps", "of y and x between cells; 0 or less: 1/h and 1/w", "-1x-1"),
            numbers("offsets", "of the centre in its cell, of y and x", "0.5x0.5"),
            integer("clip", "1: corners are kept between 0 and 1", "0", 0, 1)},
           check,
           tensors},
          {{"multibox_prior_boxes", "the only one", refuses_small_groups, planned(boxes)}},
          flops};
}

}  // namespace clam
