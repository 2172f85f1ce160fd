// SPDX-License-Identifier: MIT
// softmax.cpp - the fields of softmax, and how it is computed.
#include "softmax.hpp"

#include "shared/op.hpp"

namespace clam {
namespace {

// ---- the problem ----

void check_mask(const Problem& problem) {
  const Shape shape = problem.shape("shape"), mask = problem.shape("mask");
  if (mask.size() <= shape.size() && std::equal(mask.rbegin(), mask.rend(), shape.rbegin())) return;
  bad_field(problem, "mask", "needs the last extents of shape=" + to_string(shape));
}

void check_softmax(const Problem& problem, Schema::Values& values) {
  count(problem.shape("shape"));
  const std::size_t extents = problem.shape("shape").size();
  const std::size_t axis = positive_axis(problem, extents);
  values["axis"] = axis == extents - 1 ? "-1" : std::to_string(axis);
  check_mask(problem);
  check_finite(problem, {"scale"});
}

std::vector<Field> softmax_fields() {
  return {shape("shape", "extents of src and dst"),
          dtype_field(),
          axis_field("along which elements add up to 1", "-1"),
          integer("log", "1: the logarithm of the softmax", "0", 0, 1),
          number("scale", "factor of src", "1"),
          shape("mask", "extents of the mask, the last of shape; it is added after scale", "none")};
}

std::vector<TensorSpec> softmax_tensors(const Problem& problem) {
  const Dtype dtype = problem.dtype();
  const Shape shape = problem.shape("shape"), mask = problem.shape("mask");
  std::vector<TensorSpec> specs{input("src", dtype, shape)};
  if (!mask.empty()) specs.push_back(input("mask", dtype, mask));
  specs.push_back(output("dst", dtype, shape, "src"));
  return specs;
}

// ---- launches ----

/// For rows in one piece: as few lanes as hold a row, and as many rows as fill a group.
HeldRows share_row(const SoftmaxRows& rows, const Request& request) {
  HeldRows share = hold_rows(as_int(rows.n), group_items(kUsualGroup, request));
  // Rows past the mask's last one would be computed for nothing in every block.
  if (rows.blocks > 1) share.rows = std::min(share.rows, power_of_two_over(rows.masked()));
  return share;
}

/// For long rows in one piece: a group each; a large one where every lane has several units.
HeldRows share_long_row(const SoftmaxRows& rows, const Request& request) {
  constexpr int kSeveral = 4;
  const std::int64_t units = rows.n / vector_unit(rows.n);
  const bool large = units >= kSeveral * kLargestGroup;
  return share_long_rows(as_int(rows.n), group_items(large ? kLargestGroup : kUsualGroup, request));
}

/// For rows across the memory: items side by side fill a cache line, lanes the rest of the group.
HeldRows share_column(const SoftmaxRows& rows, const Request& request) {
  const int items = group_items(kLargestGroup, request);
  HeldRows share{1, kFewestLanes, 1, 0};
  share.rows = std::min({kAcross, power_of_two_over(rows.inner), items / kFewestLanes});
  const auto hold = [&] { share.held = as_int(ceil_div(rows.n, share.lanes)); };
  for (hold(); 2 * share.lanes * share.rows <= items && !share.fits(); hold()) share.lanes *= 2;
  return share;
}

std::string options_of(const Request& request, const HeldRows& share) {
  const Problem& problem = request.problem;
  std::string options = dtype_option(problem.dtype());
  options += fmt::format("-DSOFTMAX_UNIT={} -DSOFTMAX_LANES={} -DSOFTMAX_ROWS={}", share.unit,
                         share.lanes, share.rows);
  if (share.held > 0) options += fmt::format(" -DSOFTMAX_HELD={}", share.held);
  if (!problem.shape("mask").empty()) {
    options += " -DSOFTMAX_MASK=1";
  } else if (problem.number("scale") != 1) {
    options += " -DSOFTMAX_SCALE=1";
  }
  if (problem.integer("log") == 1) options += " -DSOFTMAX_LOG=1";
  if (exponentiates_natively(request.device)) options += " -DSOFTMAX_NATIVE=1";
  return options;
}

Launch rows_launch(const char* kernel, const Request& request, const HeldRows& share) {
  const SoftmaxRows rows(request.problem);
  return group_launch("softmax.cl", kernel, options_of(request, share), {share.lanes, share.rows},
                      share.lanes, rows.masked(), rows.blocks,
                      arg_list("src", buffer_if(rows.mask > 0, "mask"), "dst", rows.masked(),
                               rows.n, request.problem.number("scale")));
}

Launch columns_launch(const char* kernel, const Request& request, const HeldRows& share) {
  const SoftmaxRows rows(request.problem);
  return group_launch(
      "softmax.cl", kernel, options_of(request, share), {share.rows, share.lanes}, rows.inner,
      share.lanes * rows.blocks, rows.masked(),
      arg_list("src", buffer_if(rows.mask > 0, "mask"), "dst", rows.masked(), rows.n, rows.inner,
               rows.mask_step(), rows.mask_period(), request.problem.number("scale")));
}

// ---- variants ----

bool in_one_piece(const SoftmaxRows& rows) { return rows.inner == 1 && rows.mask_step() == 1; }

Reason refuses_long_row(const Problem& problem, const DeviceInfo& device) {
  const SoftmaxRows rows(problem);
  if (in_one_piece(rows)) return no_lanes(device, "row");
  if (rows.inner == 1) return "the mask does not reach as far as the axis";
  return fmt::format("elements of a row lie {} apart, not side by side", rows.inner);
}

Reason refuses_row(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = refuses_long_row(problem, device)) return reason;
  const SoftmaxRows rows(problem);
  return not_held(as_int(rows.n), share_row(rows, {problem, device, {}}));
}

Reason refuses_long_column(const Problem& problem, const DeviceInfo& device) {
  if (!in_one_piece(SoftmaxRows(problem))) return no_lanes(device, "row");
  return "a row lies in one piece, and so does its mask";
}

Reason refuses_column(const Problem& problem, const DeviceInfo& device) {
  if (Reason reason = refuses_long_column(problem, device)) return reason;
  const SoftmaxRows rows(problem);
  return not_held(as_int(rows.n), share_column(rows, {problem, device, {}}));
}

Launch long_row(const Request& request) {
  return rows_launch("softmax_row_long", request,
                     share_long_row(SoftmaxRows(request.problem), request));
}

/// A row that the lanes of a smaller group cannot hold is read twice.
Launch row(const Request& request) {
  const HeldRows share = share_row(SoftmaxRows(request.problem), request);
  return share.fits() ? rows_launch("softmax_row", request, share) : long_row(request);
}

Launch long_column(const Request& request) {
  HeldRows share = share_column(SoftmaxRows(request.problem), request);
  if (!share.fits()) share.held = 0;  // else it stays, and both kernels are built at once
  return columns_launch("softmax_column_long", request, share);
}

Launch column(const Request& request) {
  const HeldRows share = share_column(SoftmaxRows(request.problem), request);
  return share.fits() ? columns_launch("softmax_column", request, share) : long_column(request);
}

/// A comparison, a difference, an exponential, a sum and a product an element.
double flops(const Problem& problem) { return 5 * elements_of(problem); }

}  // namespace

SoftmaxRows::SoftmaxRows(const Problem& problem) : AroundAxis(problem, problem.shape("shape")) {
  const Shape shape = problem.shape("shape"), mask_shape = problem.shape("mask");
  if (mask_shape.empty()) return;
  mask = count(mask_shape);
  mask_along_axis = shape.size() - mask_shape.size() <= positive_axis(problem, shape.size());
  if (mask_along_axis) blocks = count(shape) / mask;
}

Op softmax_op() {
  Op op{
      {"softmax", "dst = exp(x - max x) / sum exp(x - max x) along an axis, x = scale * src + mask",
       softmax_fields(), check_softmax, softmax_tensors},
      {{"softmax_row", "rows in one piece, each held in registers: one read", refuses_row,
        planned(row)},
       {"softmax_row_long", "rows in one piece of any length: two reads", refuses_long_row,
        planned(long_row)},
       {"softmax_column", "rows across the memory, held in registers: one read", refuses_column,
        planned(column)},
       {"softmax_column_long", "rows across the memory of any length: two reads",
        refuses_long_column, planned(long_column)}},
      flops};
  op.takes_native_exp2 = [](const Problem&) { return true; };
  return op;
}

}  // namespace clam
