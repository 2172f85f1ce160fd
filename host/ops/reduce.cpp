// SPDX-License-Identifier: MIT
// reduce.cpp - the fields of reduce, and how it is computed.
#include "reduce.hpp"

#include "runtime/words.hpp"
#include "shared/op.hpp"

namespace clam {
namespace {

constexpr std::size_t kMostAxes = 4;

/// What the kernels make an op of; see reduce.cl.
struct Form {
  const char* name;
  int merge, term, root;
};
constexpr Form kForms[] = {{"sum", 0, 0, 0}, {"mean", 0, 0, 0},      {"max", 2, 0, 0},
                           {"min", 3, 0, 0}, {"prod", 1, 0, 0},      {"l1", 0, 2, 0},
                           {"l2", 0, 1, 1},  {"sum_square", 0, 1, 0}};

void check(const Problem& problem, Schema::Values&) {
  const Shape shape = problem.shape("shape");
  bad_field_if(shape.size() > kMostAxes, problem, "shape", "needs 1 to {} extents", kMostAxes);
  bad_field_if(problem.axes("axes").back() >= static_cast<int>(shape.size()), problem, "axes",
               "but shape has {} axes", shape.size());
}

std::vector<Field> fields() {
  return {choice("op", "what of the elements", names_of(kForms), ""),
          shape("shape", "extents of src"),
          subset("axes", "the axes along which they lie, ascending"), dtype_field()};
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  const Shape src = problem.shape("shape");
  Shape dst = src;
  for (const int axis : problem.axes("axes")) dst[static_cast<std::size_t>(axis)] = 1;
  return {input("src", problem.dtype(), src), output("dst", problem.dtype(), dst)};
}

// ---- launches ----

std::string options_of(const Problem& problem, int unit, int lanes, int rows) {
  const Form* form = find_by_name(kForms, problem.choice("op"));
  std::string options;
  if (form->merge) options += fmt::format("-DREDUCE_MERGE={} ", form->merge);
  if (form->term) options += fmt::format("-DREDUCE_TERM={} ", form->term);
  if (form->root) options += "-DREDUCE_ROOT=1 ";
  if (unit > 1) options += fmt::format("-DREDUCE_UNIT={} ", unit);
  return options + fmt::format("-DREDUCE_LANES={} -DREDUCE_ROWS={}", lanes, rows);
}

float scale_of(const Problem& problem, const Reduction& reduction) {
  return problem.choice("op") == "mean" ? 1.0f / static_cast<float>(reduction.elements()) : 1.0f;
}

Launch row(const Request& request) {
  const Problem& problem = request.problem;
  const Reduction r(problem);
  const Share share = share_pieces(r.r2, r.outer * r.blocks, request);
  const int rows = std::min(share.rows, power_of_two_over(r.blocks));
  return own_launch(request, options_of(problem, 1, share.lanes, rows), {share.lanes, rows},
                    {share.lanes, r.blocks, r.outer},
                    arg_list("src", "dst", r.r1, r.blocks, r.r2, scale_of(problem, r)));
}

/// Lanes share a column only where columns are too few to keep a device busy.
Launch column(const Request& request) {
  constexpr int kFew = 4, kItems = 64;
  constexpr std::int64_t kBusy = 4096;
  const Problem& problem = request.problem;
  const Reduction r(problem);
  const int unit = vector_unit(r.c), units = as_int(r.c / unit);
  const std::int64_t items = r.outer * r.blocks * units;
  const bool shared = items < kBusy && r.r2 > kFew;
  const int most = group_items(shared ? kLargestGroup : kItems, request);
  const int rows = std::min({power_of_two_over(units), shared ? kAcross : kItems, most});
  int lanes = 1;
  while (2 * lanes * rows <= most && r.r2 > kFew * lanes && items * lanes < kBusy) lanes *= 2;
  return own_launch(request, options_of(problem, unit, lanes, rows), {rows, lanes},
                    {units, lanes * r.blocks, r.outer},
                    arg_list("src", "dst", r.r1, r.r2, r.c, scale_of(problem, r)));
}

// ---- variants ----

Reason refuses_row(const Problem& problem, const DeviceInfo& device) {
  const std::int64_t c = Reduction(problem).c;
  if (c > 1) return fmt::format("elements of a result lie {} apart, not side by side", c);
  return no_lanes(device);
}

Reason refuses_column(const Problem&, const DeviceInfo& device) { return no_lanes(device); }

}  // namespace

Reduction::Extents Reduction::extents(const Problem& problem) {
  const Shape shape = problem.shape("shape");
  const std::vector<int> axes = problem.axes("axes");
  Extents extents{1, 1, 1, 1, 1};
  std::size_t at = extents.size() - 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1) continue;
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(axis)) != axes.end();
    if (reduced != (at % 2 == 1)) --at;
    extents[at] *= shape[axis];
  }
  return extents;
}

Op reduce_op() {
  return {{"reduce",
           "dst = the sum, mean, maximum, ... of src along some axes, which stay as extents of 1",
           fields(), check, tensors},
          {{"reduce_row", "results of elements side by side: lanes along them, in aligned vectors",
            refuses_row, planned(row)},
           {"reduce_column", "any: items along what stays, in vectors", refuses_column,
            planned(column)}},
          elements_of};  // a sum, a product or a comparison an element
}

}  // namespace clam
