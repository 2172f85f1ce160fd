// SPDX-License-Identifier: MIT
// binary.cpp - the fields of binary, how shapes broadcast, and how it is computed.
#include "binary.hpp"

#include "runtime/words.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr int kVector = 4;  ///< elements of an item of binary_vector
constexpr std::size_t kMostExtents = 4;

/// Words of a Problem line, and the functions of binary.cl.
struct Operation {
  const char *name, *function;
};
constexpr Operation kOperations[] = {{"add", "sum"},     {"sub", "difference"},
                                     {"mul", "product"}, {"div", "quotient"},
                                     {"max", "larger"},  {"min", "smaller"}};

/// The shape of b; where none is given, a's.
Shape shape_of_b(const Problem& problem) {
  const Shape shape = problem.shape("shape_b");
  return shape.empty() ? problem.shape("shape") : shape;
}

/// Extent of axis i, counted from the last one; 1 where the shape has no such axis.
std::int64_t extent_from_end(const Shape& shape, std::size_t i) {
  return i < shape.size() ? shape[shape.size() - 1 - i] : 1;
}

// ---- the problem ----

void check_shapes(const Problem& problem, Schema::Values& values) {
  const Shape a = problem.shape("shape"), b = shape_of_b(problem);
  if (a.size() > kMostExtents) bad_field(problem, "shape", "needs up to 4 extents");
  if (b.size() > kMostExtents) bad_field(problem, "shape_b", "needs up to 4 extents");
  for (std::size_t i = 0; i < kMostExtents; ++i) {
    const std::int64_t of_a = extent_from_end(a, i), of_b = extent_from_end(b, i);
    bad_field_if(of_a != of_b && of_a != 1 && of_b != 1, problem, "shape_b",
                 "needs extents that are 1 or those of shape={}", to_string(a));
  }
  count(a);
  count(b);
  count(BinaryAxes(problem).shape);
  if (a == b) values["shape_b"] = "none";
}

std::vector<TensorSpec> binary_tensors(const Problem& problem) {
  const Dtype dtype = problem.dtype();
  const Shape a = problem.shape("shape"), b = shape_of_b(problem);
  const Shape c = BinaryAxes(problem).shape;
  return {input("a", dtype, a), input("b", dtype, b),
          output("c", dtype, c,
                 a == c   ? "a"
                 : b == c ? "b"
                          : "")};
}

// ---- launches ----

std::string options_of(const Problem& problem, const BinaryAxes& axes, Group group, bool vectors) {
  const BinaryAxis& row = axes.merged[0];
  std::string options = fmt::format("-DBINARY_OP={} -DBINARY_X={} -DBINARY_Y={} -DBINARY_RANK={}",
                                    find_by_name(kOperations, problem.choice("op"))->function,
                                    group.x, group.y, axes.rank);
  if (row.step_a == 0) options += " -DBINARY_A=0";
  if (row.step_b == 0) options += " -DBINARY_B=0";
  if (vectors && row.extent % kVector == 0) options += " -DBINARY_WHOLE=1";
  return options;
}

/// Items of `elements` each along the rows of c.
template <int elements>
Launch items(const Request& request) {
  const BinaryAxes axes(request.problem);
  const auto& [n0, n1, n2, n3] = axes.merged;
  const int columns = ceil_div(as_int(n0.extent), elements), rows = as_int(n1.extent);
  const Group group = lower_group(choose_group(columns, kLargestGroup, request), rows);
  return own_launch(request, options_of(request.problem, axes, group, elements == kVector), group,
                    {columns, rows, n2.extent * n3.extent},
                    arg_list("a", "b", "c", n0.extent, rows, n2.extent, n1.step_a, n2.step_a,
                             n3.step_a, n1.step_b, n2.step_b, n3.step_b));
}

// ---- variants ----

Reason refuses_vector(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = refuses_small_groups(problem, device)) return reason;
  const BinaryAxes axes(problem);
  const std::int64_t n = axes.merged[0].extent;
  return reason_if(axes.rank != 1 && n % kVector != 0,
                   "rows of {} elements do not all start on a vector of {}", n, kVector);
}

double flops(const Problem& problem) {
  return static_cast<double>(count(BinaryAxes(problem).shape));
}

}  // namespace

BinaryAxes::BinaryAxes(const Problem& problem) {
  const Shape a = problem.shape("shape"), b = shape_of_b(problem);
  std::int64_t step_a = 1, step_b = 1;
  int used = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::int64_t of_a = extent_from_end(a, i), of_b = extent_from_end(b, i);
    const std::int64_t extent = std::max(of_a, of_b);
    shape.insert(shape.begin(), extent);
    if (extent == 1) continue;
    const BinaryAxis axis{extent, of_a == 1 ? 0 : step_a, of_b == 1 ? 0 : step_b};
    step_a *= of_a;
    step_b *= of_b;
    all.push_back(axis);
    BinaryAxis* inner = used > 0 ? &merged[static_cast<std::size_t>(used - 1)] : nullptr;
    if (inner && (inner->step_a == 0) == (axis.step_a == 0) &&
        (inner->step_b == 0) == (axis.step_b == 0)) {
      inner->extent *= extent;
    } else {
      merged[static_cast<std::size_t>(used++)] = axis;
    }
  }
  rank = std::max(used, 1);
}

std::array<std::int64_t, 2> BinaryAxes::operands(std::int64_t i) const {
  std::array<std::int64_t, 2> at{0, 0};
  for (const BinaryAxis& axis : all) {
    at[0] += i % axis.extent * axis.step_a;
    at[1] += i % axis.extent * axis.step_b;
    i /= axis.extent;
  }
  return at;
}

Op binary_op() {
  return {
      {"binary",
       "c = a op b, element by element, each repeated along the axes that it does not have",
       {choice("op", "the operation", names_of(kOperations), ""),
        shape("shape", "extents of a, up to 4"), dtype_field(),
        shape("shape_b", "extents of b; the same from the last one on, or 1 in either; none: a's",
              "none")},
       check_shapes,
       binary_tensors},
      {{"binary_vector", "rows of whole vectors, or one row: four elements an item", refuses_vector,
        planned(items<kVector>)},
       {"binary_plain", "any rows: an element an item", refuses_small_groups, planned(items<1>)}},
      flops};
}

}  // namespace clam
