// SPDX-License-Identifier: MIT
// concat.cpp - the fields of concat, and how it is computed.
#include "concat.hpp"

#include <numeric>

#include "shared/axes.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr const char* kInputs[] = {"a", "b", "c", "d"};

std::string field_of(const char* input) { return std::string("shape_") + input; }

/// The shapes of the inputs that there are.
std::vector<Shape> shapes_of(const Problem& problem) {
  std::vector<Shape> shapes;
  for (const char* input : kInputs) shapes.push_back(problem.shape(field_of(input)));
  while (shapes.back().empty()) shapes.pop_back();
  return shapes;
}

void check(const Problem& problem, Schema::Values& values) {
  const std::vector<Shape> shapes = shapes_of(problem);
  const Shape& a = shapes.front();
  const std::size_t axis = positive_axis(problem, a.size());
  for (std::size_t input = 1; input < shapes.size(); ++input) {
    Shape alike = shapes[input];
    if (alike.size() == a.size()) alike[axis] = a[axis];
    if (alike == a) continue;
    bad_field(
        problem, field_of(kInputs[input]),
        alike.empty() ? "shape_d needs it" : "needs the extents of shape_a but along the axis");
  }
  values["axis"] = std::to_string(axis);
}

std::vector<Field> fields() {
  return {axis_field("along which one follows the other", ""),
          shape("shape_a", "extents of a"),
          shape("shape_b", "extents of b"),
          shape("shape_c", "extents of c; none: there is no c", "none"),
          shape("shape_d", "extents of d; none: there is no d", "none"),
          moved_dtype_field()};
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  const std::vector<Shape> shapes = shapes_of(problem);
  const std::size_t axis = positive_axis(problem, shapes.front().size());
  std::vector<TensorSpec> specs;
  Shape all = shapes.front();
  all[axis] = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    specs.push_back(input(kInputs[i], problem.dtype(), shapes[i]));
    all[axis] += shapes[i][axis];
  }
  specs.push_back(output("dst", problem.dtype(), all));
  return specs;
}

Reason refuses_two(const Problem& problem, const DeviceInfo&) {
  const std::size_t inputs = shapes_of(problem).size();
  return reason_if(inputs != 2, "there are {} inputs", inputs);
}

Reason refuses_more(const Problem& problem, const DeviceInfo&) {
  return reason_if(shapes_of(problem).size() <= 2, "there are two inputs");
}

Launch rows(const Request& request) {
  const Concat concat(request.problem);
  std::int64_t n = 0, common = 0;
  for (const std::int64_t width : concat.widths) {
    n += width;
    common = std::gcd(common, width);
  }
  const int unit = copy_unit({common}, request.problem.dtype());
  const std::size_t given = concat.widths.size(), most = given == 2 ? 2 : std::size(kInputs);
  std::vector<Arg> args;
  for (std::size_t i = 0; i < most; ++i) args.push_back(buffer_if(i < given, kInputs[i]));
  append_args(args, "dst", concat.rows);
  for (std::size_t i = 0; i < most; ++i) append_args(args, i < given ? concat.widths[i] : 0);
  return row_launch(request, fmt::format("-DCONCAT_UNIT={} ", unit), kAcrossCopy,
                    {n / unit, concat.rows, 1}, std::move(args));
}

}  // namespace

Concat::Concat(const Problem& problem) {
  for (const Shape& shape : shapes_of(problem)) {
    const AroundAxis around(problem, shape);
    rows = around.outer;
    widths.push_back(around.n * around.inner);
  }
}

Op concat_op() {
  return {{"concat", "dst = a, b, c and d, one behind the other along an axis", fields(), check,
           tensors},
          {{"concat_rows", "two inputs: in units of up to 16 bytes", refuses_two, planned(rows)},
           {"concat_four", "three or four: the same", refuses_more, planned(rows)}}};
}

}  // namespace clam
